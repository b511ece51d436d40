#!/usr/bin/python
# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# The action plugin of this name does the work; this file documents it.

from __future__ import annotations

DOCUMENTATION = r"""
module: show_text
short_description: Show lines of text as they are
version_added: 0.1.0
author:
  - blackwell.inference contributors (@blackwell-inference)
description:
  - Prints the lines between those of the play, one below the other, whatever the callback is and however it formats
    results. A line of more than 100 columns is wrapped.
extends_documentation_fragment:
  - blackwell.inference.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
options:
  lines:
    description: The lines.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Report the result
  blackwell.inference.show_text:
    lines: ["The GPUs are free."]
"""

RETURN = r"""
{}
"""
