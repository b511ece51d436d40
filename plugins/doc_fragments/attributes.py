# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every module of the collection says about check mode, diff mode and module defaults."""

from __future__ import annotations


class ModuleDocFragment:
    # The module itself adds `support` to check_mode and diff_mode: sanity refuses a module that forgets it.
    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying the target.
  diff_mode:
    description: Returns details on what has changed (or possibly needs changing in C(check_mode)), when in diff mode.
  platform:
    description: Target OS/families that can be operated against.
    support: full
    platforms: linux
  action_group:
    description: Use C(group/blackwell.inference.all) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - blackwell.inference.all
"""
