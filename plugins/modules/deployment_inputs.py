#!/usr/bin/python
# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# The action plugin of this name does the work; this file documents it.

from __future__ import annotations

DOCUMENTATION = r"""
module: deployment_inputs
short_description: Refuse variables that a playbook of the collection cannot work with
version_added: 0.1.0
author:
  - blackwell.inference contributors (@blackwell-inference)
description:
  - Checks, on the controller and in one task, the variables that begin with C(inference_) and the profile that was read. Fails with a sentence for the first
    that is wrong, before anything is touched. No value of C(inference_environment) or C(inference_api_key) is shown.
  - Reads what the locks pin, once for the whole run.
  - The playbooks of the collection call it. It reads the variables of the play by their names; its options say only what it cannot know.
extends_documentation_fragment:
  - blackwell.inference.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
options:
  purpose:
    description: Which playbook asks, and so what has to be there. Only V(deploy) needs a lock, and only V(release) can do without a profile.
    type: str
    choices: [deploy, plan, verify, release]
    required: true
  variables:
    description: Every variable that begins with C(inference_) and that the playbooks read.
    type: list
    elements: str
    required: true
  profiles:
    description: Names of the profiles that the collection ships.
    type: list
    elements: str
    required: true
  locks:
    description: Folder with the locks that the collection ships.
    type: path
    required: true
"""

EXAMPLES = r"""
- name: Refuse what cannot work
  blackwell.inference.deployment_inputs:
    purpose: deploy
    variables: "{{ known_variables }}"
    profiles: [kimi-k2.5]
    locks: roles/sglang_runtime/files
  register: inputs
"""

RETURN = r"""
inputs:
  description: What the locks pin. Empty unless O(purpose=deploy).
  returned: success
  type: dict
  contains:
    sglang_lock_digest:
      description: SHA-256 of the engine's lock.
      type: str
      returned: O(purpose=deploy)
      sample: 5c1d7d1f9f3d4b0e8f3c1c3f7b8c9d0e5c1d7d1f9f3d4b0e8f3c1c3f7b8c9d0e
    sglang_versions:
      description: Version of each distribution of the engine's environment.
      type: dict
      returned: O(purpose=deploy)
      sample: {sglang: 0.5.9}
    toolbox_versions:
      description: The same of the modules' libraries.
      type: dict
      returned: O(purpose=deploy)
      sample: {psutil: 7.2.2}
msg:
  description: What was seen, what was expected and what to do.
  returned: on a refusal
  type: str
  sample: "No profile was named. Set inference_profile to one of kimi-k2.5, or to the path of a profile file of your own."
"""
