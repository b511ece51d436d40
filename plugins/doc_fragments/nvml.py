# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options by which a module reads NVML."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  nvml_library:
    description:
      - Path of the NVML library.
      - By default the loader's C(libnvidia-ml.so.1).
    type: path
  nvml_timeout_seconds:
    description:
      - How long NVML may take for one answer, for example for one GPU.
      - Reading NVML as a whole takes at most six times as long, however many GPUs hang.
    type: float
    default: 20
"""
