# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fraction that the engine would choose itself."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.auto_fraction import (
    AutoFraction,
    auto_fraction,
)
from ansible_collections.blackwell.inference.tests.unit.planning.device.pool_cases import rules_of

KIMI_TOWER = (27, 1152)  # what the engine reads: the checkpoint's own names are others, so its defaults hold


def asked(**changes):
    card = {
        "card_mib": 97887,
        "tp": 8,
        "pp": 1,
        "dp": 1,
        "chunk": 8192,
        "max_prefill_tokens": 16384,
        "graph_batch": 512,
        "mla": True,
    }
    return AutoFraction(**{**card, **changes})


@pytest.mark.parametrize(
    ("version", "changes", "fraction"),
    [
        # of the 0.5.23 resolver, on 8 cards of 97,887 MiB
        pytest.param("0.5.23", {"mla": False}, 0.848, id="text"),
        pytest.param("0.5.23", {"mla": False, "tp": 1, "graph_batch": 256}, 0.863, id="text, one card"),
        pytest.param("0.5.23", {"vision": KIMI_TOWER}, 0.771456, id="Kimi-K2.5"),
        pytest.param(
            "0.5.23",
            {"vision": KIMI_TOWER, "chunk": 4096},
            0.814214,
            id="Kimi-K2.5, chunks of 4,096: the floor of 10 GiB",
        ),
        pytest.param("0.5.23", {"vision": KIMI_TOWER, "graph_batch": 32}, 0.780554, id="Kimi-K2.5, 32 requests"),
        pytest.param("0.5.23", {"vision": KIMI_TOWER, "graph_batch": 64}, 0.779644, id="Kimi-K2.5, batches of 64"),
        pytest.param(
            "0.5.18",
            {"vision": KIMI_TOWER, "prefill_graph_tokens": 2048},
            0.757810,
            id="Kimi-K2.5 with a prefill graph",
        ),
        pytest.param(
            "0.5.9", {"vision": KIMI_TOWER, "algorithm": "EAGLE"}, 0.752352, id="Kimi-K2.5 with EAGLE up to 0.5.9"
        ),
        pytest.param("0.5.13", {"vision": KIMI_TOWER, "algorithm": "EAGLE3"}, 0.733247, id="0.5.10 to 0.5.13"),
        pytest.param(
            "0.5.14", {"vision": KIMI_TOWER, "algorithm": "EAGLE3"}, 0.771456, id="nothing for drafts since 0.5.14"
        ),
        pytest.param("0.5.9", {"vision": KIMI_TOWER, "algorithm": "NGRAM"}, 0.771456, id="n-grams take nothing"),
    ],
)
def test_known_values(version, changes, fraction):
    assert auto_fraction(asked(**changes), rules_of(version)) == pytest.approx(fraction, abs=5e-7)


@pytest.mark.parametrize(
    ("version", "changes", "held_mib"),
    [
        pytest.param("0.5.9", {}, 512 + 12288 + 1024 + 1024, id="plain"),
        pytest.param("0.5.9", {"chunk": -1}, 512 + 1.5 * 16384 + 2048, id="no chunks"),
        pytest.param("0.5.9", {"dp": 2}, 14848 + 512 * 2 * 4.5, id="groups, many requests"),
        pytest.param("0.5.9", {"dp": 2, "graph_batch": 256}, 512 + 12288 + 512 + 1024 + 256 * 2 * 3, id="groups"),
        pytest.param("0.5.9", {"algorithm": "STANDALONE"}, 14848 + 6144, id="a standalone draft"),
        pytest.param("0.5.6", {"prefill_graph_tokens": 4096}, 14848 + 1024, id="a quarter MiB a token in 0.5.6"),
        pytest.param("0.5.7", {"prefill_graph_tokens": 4096}, 14848 + 512, id="an eighth in 0.5.7"),
        pytest.param("0.5.8", {"prefill_graph_tokens": 8192}, 14848 + 8 * 57, id="8 MiB for each of 57 sizes in 0.5.8"),
        pytest.param("0.5.9", {"prefill_graph_tokens": 8192}, 14848 + 8 * 58, id="58 in 0.5.9, MLA too"),
        pytest.param(
            "0.5.14", {"prefill_graph_tokens": 8192, "mla": False}, 14848 + 8 * 58, id="58 of others than MLA"
        ),
        pytest.param("0.5.14", {"decode_graphs": False}, 14848, id="decode graphs are counted even when off"),
        pytest.param("0.5.15", {"decode_graphs": False}, 13824, id="not since 0.5.15"),
    ],
)
def test_what_is_held_back(version, changes, held_mib):
    assert auto_fraction(asked(**changes), rules_of(version)) == round((97887 - held_mib) / 97887, 3)


def test_a_small_card_has_no_floor():
    small = asked(card_mib=24564, tp=1, chunk=2048, graph_batch=24)
    assert auto_fraction(small, rules_of("0.5.9")) == round((24564 - 512 - 3072 - 48 - 128) / 24564, 3)
