#!/usr/bin/python
# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# The action plugin of this name does the work; this file documents it.

from __future__ import annotations

DOCUMENTATION = r"""
module: deployment_summary
short_description: Say what a run did and where things are
version_added: 0.1.0
author:
  - blackwell.inference contributors (@blackwell-inference)
description:
  - Prints, in seven lines between those of the play, the plan, what changed and why, how long the start took beside what was planned, the verdict, a question
    to ask the server, and where its logs and its page are.
  - Fetches the page from the host if O(page) names a file on the controller.
  - No key is shown; if O(key) is true the question names C($API_KEY).
extends_documentation_fragment:
  - blackwell.inference.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
options:
  unit:
    description: Name of the unit.
    type: str
    required: true
  url:
    description: Address of the API as seen from the host.
    type: str
    required: true
  served_model_name:
    description: Name of the model that clients ask for.
    type: str
    required: true
  plan:
    description: The plan that the server runs by, as M(blackwell.inference.memory_plan) returns it.
    type: dict
    required: true
  deployment:
    description: What differed from what is wanted, as M(blackwell.inference.deployment_info) returns it.
    type: dict
    required: true
  readiness:
    description: How the start ended, as M(blackwell.inference.server_ready) returns it. Left out if nothing was started.
    type: dict
  verdict:
    description: The verdict, as M(blackwell.inference.server_verify) returns it. Left out if nothing was verified.
    type: dict
  calibration:
    description: Figures of the last start, as M(blackwell.inference.server_verify) returns them.
    type: dict
  estimate_seconds:
    description: How long the start was expected to take, as M(blackwell.inference.plan_report) returns it.
    type: float
    default: 0
  installed:
    description: What this run installed.
    type: list
    elements: str
    default: []
  key:
    description: Whether clients must present a key.
    type: bool
    default: false
  page_on_host:
    description: The page on the host.
    type: path
    required: true
  page:
    description: File on the controller that the page is fetched to after a verification. Without it, and in check mode, it is not.
    type: path
"""

EXAMPLES = r"""
- name: Report the result
  blackwell.inference.deployment_summary:
    unit: sglang-kimi.service
    url: http://127.0.0.1:30000
    served_model_name: kimi-k2.5
    plan: "{{ planned.plan }}"
    deployment: "{{ seen.deployment }}"
    verdict: "{{ verified.verdict }}"
    page_on_host: /var/lib/blackwell-inference/kimi/plan.html
"""

RETURN = r"""
summary:
  description: The lines that were shown.
  returned: success
  type: list
  elements: str
  sample: ["Change: nothing changed"]
"""
