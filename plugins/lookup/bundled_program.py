# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: bundled_program
short_description: A program for the host, made of the collection's own modules
version_added: 0.1.0
author:
  - blackwell.inference contributors (@blackwell-inference)
description:
  - Returns the text of one Python program that runs the function C(main) of a module of the collection.
    The program holds that module and all of the collection that it imports, so it runs on a host without Ansible and without the collection.
  - The sources stand in the program as they are, to be read on the host and to be compared with C(--diff).
    The same version of the collection gives the same text on every controller.
  - The program needs Python 3.9 or newer and no other file. While it runs it keeps its parts in a temporary folder that only its user can enter,
    below C(TMPDIR). The folder is removed however the program ends, except by KILL.
options:
  _terms:
    description: Names of modules below C(plugins/module_utils), with dots for slashes and without C(.py). Each must have a function C(main).
    type: list
    elements: str
    required: true
notes:
  - Libraries that are not of the collection are looked for by the Python that runs the program.
  - A module that imports Ansible, directly or by another, is refused.
"""

EXAMPLES = r"""
- name: Install the program that reads the GPUs
  ansible.builtin.copy:
    content: "{{ lookup('blackwell.inference.bundled_program', 'observe.nvml.child') }}"
    dest: /usr/local/lib/blackwell-inference/read-gpus
    mode: "0644"
"""

RETURN = r"""
_raw:
  description: The text of each program, in the order of the names.
  type: list
  elements: str
"""

import os
from pathlib import Path
from typing import Any

from ansible import constants
from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

from ansible_collections.blackwell.inference.plugins.plugin_utils.bundle import BundleError, program


class LookupModule(LookupBase):  # type: ignore[misc]
    def run(self, terms: list[str], variables: dict[str, Any] | None = None, **kwargs: Any) -> list[str]:
        self.set_options(var_options=variables, direct=kwargs)
        try:
            return [bundled(term, Path(constants.DEFAULT_LOCAL_TMP)) for term in terms]
        except BundleError as refused:
            raise AnsibleLookupError(str(refused)) from None


def bundled(term: str, folder: Path) -> str:
    """The program, made once in a run: `folder` is the run's own, which all its workers share and Ansible removes at the end."""
    kept = folder / f"bundled-program-{term}"
    if kept.exists():
        return kept.read_text(encoding="utf-8")
    text = program(term)
    if folder.is_dir():
        half = kept.with_name(f"{kept.name}-{os.getpid()}")
        half.write_text(text, encoding="utf-8")
        half.replace(kept)  # another worker sees all of it or nothing
    return text
