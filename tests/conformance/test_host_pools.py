# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host pools of keys and values: tokens, bytes, and whether the engine's own check lets them be, against the engine's classes."""

from __future__ import annotations

import lane
import ours
import pytest

GB, GIB = 10**9, 1 << 30
VERSIONS = ("0.5.5", "0.5.9", "0.5.23")


def _latent(rng):
    return {"kind": "mla", "kv_lora_rank": rng.choice((64, 256, 512)), "qk_rope_head_dim": rng.choice((16, 64))}


def _grouped(rng):
    return {"kind": "gqa", "kv_heads": rng.choice((1, 2, 8)), "head_dim": rng.choice((64, 128, 256))}


def _case(rng, shape):
    page = rng.choice((1, 16, 32, 64, 128))
    size_gb = rng.choice((None, None, rng.randint(1, 600)))
    return {
        "shape": shape(rng),
        "layers": rng.randint(1, 96),
        "dtype": rng.choice(("bfloat16", "fp8_e4m3")),
        "page_size": page,
        "device_tokens": rng.randint(1, 20_000) * page,
        "size_gb": size_gb,
        "ratio": None if size_gb and rng.random() < 0.5 else round(rng.uniform(0.5, 12), rng.choice((0, 1, 3))),
        "layout": rng.choice(("layer_first", "page_first")),
        "available_bytes": int(rng.uniform(4, 1200) * GIB),
    }


FAMILIES = {"host pool, latent": _latent, "host pool, grouped": _grouped}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("version", VERSIONS)
def test_host_pools_are_those_of_the_engine(version, family, record):
    cases = lane.generated(family, lambda rng: _case(rng, FAMILIES[family]))
    theirs = lane.answers(version, "host", cases)
    lane.nothing_broken(version, theirs)
    found = lane.differences(cases, theirs, [ours.host(case, version) for case in cases])
    record(version, family, len(cases), sum("refused" in answer for answer in theirs), len(found))
    assert not found, lane.told(found, len(cases))


def _auto_case(rng):
    case = _case(rng, rng.choice((_latent, _grouped)))
    return case | {"fraction": rng.choice((0.3, 0.8, 1.0)), "ranks": rng.choice((1, 2, 8))}


def test_the_ratio_is_the_one_that_the_engine_chooses(record):
    version, family = "0.5.23", "host pool, auto ratio"
    cases = lane.generated(family, _auto_case)
    theirs = lane.answers(version, "auto_ratio", cases)
    lane.nothing_broken(version, theirs)
    found = lane.differences(cases, theirs, [ours.host_ratio(case, version) for case in cases])
    record(version, family, len(cases), sum("refused" in answer for answer in theirs), len(found))
    assert not found, lane.told(found, len(cases))
