# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host pool's size, as the engine's own classes gave it."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GB
from ansible_collections.blackwell.inference.plugins.module_utils.planning.host_cache import host_pool, largest_size_gb

KIMI = 70272


@pytest.mark.parametrize(
    ("device", "cell", "page", "size", "ratio", "tokens"),
    [
        pytest.param(159277, KIMI, 1, None, 4.0, 637109, id="ratio 4.0 on the design host, one page more"),
        pytest.param(159277, KIMI, 1, 48, None, 683061, id="48 GB"),
        pytest.param(159277, KIMI, 1, 48, 4.0, 683061, id="a size beats a ratio"),
        pytest.param(159277, KIMI, 64, None, 4.0, 637120, id="pages of 64"),
        pytest.param(1000, KIMI, 1, None, 2.0, 2001, id="a small pool"),
        pytest.param(2048, 256, 16, None, 8.0, 16400, id="0.5.23 on a CPU, ratio 8, pages of 16"),
        pytest.param(40000, 256, 16, None, 2.0, 80016, id="0.5.23 on a CPU with two ranks"),
        pytest.param(40000, 480, 1, 1, None, 2083334, id="1 GB of a tiny MLA model"),
        pytest.param(1000, KIMI, 1, None, 1.5, 1501, id="a fraction of a token does not count"),
    ],
)
def test_tokens(device, cell, page, size, ratio, tokens):
    assert host_pool(device, cell, page, size, ratio).tokens == tokens


def test_gigabytes_are_decimal():
    assert host_pool(159277, KIMI, 1, None, 4.0).bytes_per_rank / GB == pytest.approx(44.7709, abs=5e-5)
    assert host_pool(0, KIMI, 1, 48, None).bytes_per_rank / GB == pytest.approx(48.0001, abs=5e-5)


def test_a_pool_says_only_what_the_engine_will_be_told():
    both = host_pool(159277, KIMI, 1, 48, 4.0)
    assert (both.size_gb, both.ratio) == (48, None)


@pytest.mark.parametrize(
    ("budget", "page", "expected"),
    [
        pytest.param(48 * GB, 1, 47, id="the added page makes 48 GB a little more than 48 GB"),
        pytest.param(48 * GB + KIMI, 1, 48, id="with a page of room 48 GB fit"),
        pytest.param(48 * GB + KIMI, 64, 47, id="larger pages need more room"),
        pytest.param(GB - 1, 1, 0, id="less than one GB"),
        pytest.param(0, 1, 0, id="nothing"),
    ],
)
def test_largest_size(budget, page, expected):
    assert largest_size_gb(budget, KIMI, page) == expected
