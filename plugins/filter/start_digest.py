# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: start_digest
short_description: Digest of all that an engine process reads at start
version_added: 0.1.0
author:
  - blackwell.inference contributors (@blackwell-inference)
description:
  - One digest of the server config, the environment file and the unit, over the lines that reach the process. Comments, the unit's description and
    what only systemd acts on change nothing in it.
options:
  _input:
    description: The three texts, under the keys V(config), V(environment) and V(unit).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show the digest
  ansible.builtin.debug:
    msg: "{{ {'config': config, 'environment': environment, 'unit': unit} | blackwell.inference.start_digest }}"
"""

RETURN = r"""
_value:
  description: SHA-256 in hexadecimal.
  type: str
"""

from typing import Any, Callable

from ansible_collections.blackwell.inference.plugins.module_utils.deploy.start_digest import start_digest


class FilterModule:
    """Filters of the collection that speak of an engine's start."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"start_digest": start_digest}
