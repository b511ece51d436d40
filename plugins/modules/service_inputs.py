#!/usr/bin/python
# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# The action plugin of this name does the work; this file documents it.

from __future__ import annotations

DOCUMENTATION = r"""
module: service_inputs
short_description: Refuse what no unit of an engine can be made of
version_added: 0.1.0
author:
  - blackwell.inference contributors (@blackwell-inference)
description:
  - Checks, on the controller, the values that become part of a unit's name, of paths and of an environment file. Fails with a sentence for the first of them
    that cannot be carried.
  - Role P(blackwell.inference.sglang_service#role) calls it; the sentences name the role's variables.
extends_documentation_fragment:
  - blackwell.inference.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
options:
  instance:
    description: Name of the instance.
    type: str
    required: true
  description:
    description: What people read in the unit's description.
    type: str
    default: ""
  model_path:
    description: Directory of the weights on the host.
    type: str
    default: ""
  environment:
    description: Environment variables of the engine's process. Their values are never shown.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Refuse a name that systemd cannot carry
  blackwell.inference.service_inputs:
    instance: kimi
    model_path: /srv/models/kimi-k2.5
"""

RETURN = r"""
msg:
  description: What was seen, what was expected and what to do.
  returned: on a refusal
  type: str
  sample: "The instance is called Kimi 2. A name of lower-case letters, digits, hyphens and underscores was expected."
"""
