# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options by which a module finds a running server."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  unit:
    description: Name of the systemd unit.
    type: str
    required: true
  url:
    description: Address of the server's API as seen from the host.
    type: str
    default: http://127.0.0.1:30000
  api_key:
    description: Key that clients must present. Never logged.
    type: str
"""
