# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which tensors every rank holds whole. Private to the collection, may change any time."""

from __future__ import annotations

import re

# By name, as the engine's model classes place them (0.5.9 to 0.5.23): norms, expert routers, the latent down-projections
# of MLA and the vision side are replicated; everything else is divided by the tensor parallel size.
_REPLICATED = re.compile(
    r"norm|(?:^|\.)gate\.(?:weight|e_score_correction_bias)$"
    r"|\.q_a_proj\.|\.kv_a_proj_with_mqa\.|\.fused_qkv_a_proj"
    r"|^vision|\.vision_tower\.|^visual\.|\.visual\.|mm_projector"
)


def is_replicated(tensor_name: str) -> bool:
    return _REPLICATED.search(tensor_name) is not None
