#!/usr/bin/python
# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# The action plugin of this name does the work; this file documents it.

from __future__ import annotations

DOCUMENTATION = r"""
module: plan_report
short_description: Show a plan as text, keep its page, and fail if it was refused
version_added: 0.1.0
author:
  - blackwell.inference contributors (@blackwell-inference)
description:
  - Prints the plan between the lines of the play, in at most 100 columns, whatever the callback is and however it formats results. Rows that would read 0.00
    and settings that nobody chose are left to the page.
  - A plan that is the same as O(recorded_plan) is told in a few lines, without its tables.
  - With O(refusal) the task fails with that sentence, below the figures.
extends_documentation_fragment:
  - blackwell.inference.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
options:
  plan:
    description: The plan, as M(blackwell.inference.memory_plan) returns it. Empty if the refusal came before there were figures.
    type: dict
    default: {}
  recorded_plan:
    description: The plan of the last run, as C(records) of M(blackwell.inference.deployment_info) holds it.
    type: dict
    default: {}
  calibration:
    description: Figures of the last start, as C(records) of M(blackwell.inference.deployment_info) holds them, to estimate the next one by it.
    type: dict
  page:
    description:
      - File on the controller that the plan is written to as an HTML page, also if it was refused.
      - Without it, and in check mode, none is written.
    type: path
  refusal:
    description: Why the plan was refused.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Show the plan
  blackwell.inference.plan_report:
    plan: "{{ planned.plan }}"
    page: kimi.html
"""

RETURN = r"""
estimate_seconds:
  description:
    - How long a start takes. What the last one took, if it was one of the same checkpoint, engine version, ranks and host cache; else the plan's estimate.
  returned: when there are figures
  type: float
  sample: 431.2
msg:
  description: What O(refusal) said, or why the page could not be written.
  returned: on failure
  type: str
  sample: "mem_fraction_static 0.93 leaves 0.83 GiB free on each card after graph capture."
"""
