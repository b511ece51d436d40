# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: pinned_versions
short_description: The versions that a hash-locked requirements file pins
version_added: 0.1.0
author:
  - blackwell.inference contributors (@blackwell-inference)
description:
  - Reads a requirements file in pip's format in which every requirement is pinned with C(==), and returns the version of each distribution.
options:
  _input:
    description: Text of the requirements file.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Show what a lock pins
  ansible.builtin.debug:
    msg: "{{ lookup('ansible.builtin.file', 'requirements.txt') | blackwell.inference.pinned_versions }}"
"""

RETURN = r"""
_value:
  description: Version by name of the distribution.
  type: dict
"""

import re
from typing import Any, Callable

from ansible.errors import AnsibleFilterError

_PIN = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(\[[^\]]*\])?\s*==\s*(?P<version>[^\s;]+)(?P<marker>\s*;[^#]*?)?(\s+--hash=\S+)*"
)


def pinned_versions(text: str) -> dict[str, str]:
    """Versions by name. Every requirement must be pinned with `==`; options and comments are passed over.

    A requirement with an environment marker need not apply on the host, so it is not among them.
    """
    pins: dict[str, str] = {}
    for line in re.sub(r"\\\n", " ", text).splitlines():
        requirement = line.partition(" #")[0].strip()
        if not requirement or requirement.startswith(("#", "-")):
            continue
        match = _PIN.fullmatch(requirement)
        if match is None:
            raise AnsibleFilterError(
                f"The requirement {requirement!r} pins no version. Every line of a lock was expected to read name==version with its hashes; "
                "write the lock again with a tool that pins and hashes."
            )
        if match["marker"] is None:
            pins[match["name"]] = match["version"]
    return pins


class FilterModule:
    """Filters of the collection that read requirement locks."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"pinned_versions": pinned_versions}
