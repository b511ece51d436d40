# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: rendered_template
short_description: A template rendered with the variables as they are
version_added: 0.1.0
author:
  - blackwell.inference contributors (@blackwell-inference)
description:
  - Returns what a template of the role comes to. The variables are not copied for it, as P(ansible.builtin.template#lookup) does, which takes most of the time
    of a task that renders several files beside a large plan.
  - The variables that Ansible adds to templates, such as C(template_path), are not there.
options:
  _terms:
    description: Names of files in the role's folder C(templates).
    type: list
    elements: str
    required: true
  template_vars:
    description: Further variables for the template.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Show what would be written
  ansible.builtin.debug:
    msg: "{{ lookup('blackwell.inference.rendered_template', 'server.yaml.j2') }}"
"""

RETURN = r"""
_raw:
  description: The texts, in the order of the names.
  type: list
  elements: str
"""

from typing import Any

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase
from ansible.template import trust_as_template


class LookupModule(LookupBase):  # type: ignore[misc]
    def run(self, terms: list[str], variables: dict[str, Any] | None = None, **kwargs: Any) -> list[str]:
        self.set_options(var_options=variables, direct=kwargs)
        known = {**(variables or {}), **self.get_option("template_vars")}
        templar = self._templar.copy_with_new_env(available_variables=known)
        return [templar.template(self._source(term, variables), escape_backslashes=False) for term in terms]

    def _source(self, term: str, variables: dict[str, Any] | None) -> Any:
        path = self.find_file_in_search_path(variables, "templates", term)
        if not path:
            raise AnsibleLookupError(f"There is no template {term} in the folder templates of the role.")
        with open(path, encoding="utf-8") as file:
            return trust_as_template(file.read())
