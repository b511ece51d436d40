# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts that nobody here made: the same arithmetic explains their pools."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import gib_to_bytes
from ansible_collections.blackwell.inference.plugins.module_utils.planning.attention import GqaGeometry, cell_bytes
from ansible_collections.blackwell.inference.plugins.module_utils.planning.gpu_budget import profiled_tokens


@pytest.mark.parametrize("index", range(4))
def test_tokens_within_one_percent(other_starts, index):
    start = other_starts[index]
    geometry = GqaGeometry(start["heads"], start["kv_heads"], start["head_dim"], start["head_dim"])
    cell = cell_bytes(geometry, start["layers"], start["tp"], start["kv_cache_dtype"])
    before, after = gib_to_bytes(start["free_before_gib"]), gib_to_bytes(start["free_after_gib"])
    tokens = profiled_tokens(before, before - after, 0, start["fraction"], cell)
    assert tokens == pytest.approx(start["tokens"], rel=0.01), start[
        "name"
    ]  # small pools feel the rounding to 0.01 GiB
