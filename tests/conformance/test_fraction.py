# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fraction, the prefill chunk and the largest decode graph that the engine chooses where nobody fixed them."""

from __future__ import annotations

import lane
import models
import ours
import pytest

VERSIONS = ("0.5.5", "0.5.9", "0.5.23")


def _case(rng, version):
    kinds = (models.llama, models.deepseek) if version == "0.5.5" else (models.llama, models.deepseek, models.kimi)
    model = rng.choice(kinds)(rng)
    tp = rng.choice((1, 2, 4, 8))
    return {
        "config": model.config,
        "spec": model.spec,
        "card_mib": rng.choice(
            (16_000, 24_000, 32_607, 49_140, 81_559, 97_887, 143_771, 183_359, rng.randint(18_000, 280_000))
        ),
        "tp": tp,
        "pp": rng.choice((1, 1, 2)),
        "dp": rng.choice([dp for dp in (1, 1, 1, 2, 4) if dp <= tp]),
        "chunk": rng.choice((None, None, -1, 1024, 4096, 8192)),
        "max_prefill_tokens": rng.choice((16384, 4096)),
        "graph_batch": rng.choice((None, None, 8, 160, 400)),
        "max_running_requests": rng.choice((None, None, 32, 1000)),
        "prefill_graph": rng.choice((False, True)) and version != "0.5.5",
        "speculation": rng.choice(
            (None, None, {"algorithm": "EAGLE"}, {"algorithm": "NGRAM"}, {"algorithm": "STANDALONE"})
        ),
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_the_fraction_is_the_one_that_the_engine_chooses(version, record):
    cases = lane.generated("fraction", lambda rng: _case(rng, version))
    theirs = lane.answers(version, "fraction", cases)
    lane.nothing_broken(version, theirs)
    found = lane.differences(cases, theirs, [ours.fraction(case, version) for case in cases])
    record(version, "fraction", len(cases), 0, len(found))
    assert not found, lane.told(found, len(cases))
