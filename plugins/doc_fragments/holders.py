# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options by which a module finds the processes that hold GPUs, and ends them."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  grace_seconds:
    description: How long a process has between TERM and KILL.
    type: float
    default: 30
  scan_timeout_seconds:
    description: How long the search for holders may be silent before the process that it looks at is left out.
    type: float
    default: 20
"""
