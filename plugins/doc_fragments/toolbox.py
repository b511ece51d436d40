# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options by which a module finds its Python libraries."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  toolbox:
    description: Virtual environment with the Python libraries, made by the role P(blackwell.inference.toolbox#role).
    type: path
    default: /opt/blackwell-inference/toolbox
  wheels:
    description:
      - Wheels on the host to take the libraries from, for this one run.
      - The action plugin sets it when the host has no libraries, after it has brought the wheels.
    type: list
    elements: path
requirements:
  - nvidia-ml-py 13.615.71 and psutil 7.2.2, brought by the role P(blackwell.inference.toolbox#role)
"""
