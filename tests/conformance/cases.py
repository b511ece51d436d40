# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Generated starts, a family for each kind of pool. A case is JSON: what both sides size their device pools from."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import models

GIB = 1 << 30
ALL = ("0.5.5", "0.5.9", "0.5.14", "0.5.17", "0.5.23")
Case = dict[str, Any]
Maker = Callable[[random.Random, str], Case]


@dataclass(frozen=True)
class Family:
    name: str
    versions: Sequence[str]
    make: Maker


def latent(rng: random.Random, version: str) -> Case:
    return _start(rng, rng.choice((models.deepseek, models.kimi) if version != "0.5.5" else (models.deepseek,))(rng))


def grouped(rng: random.Random, version: str) -> Case:
    return _start(rng, rng.choice((models.llama, models.qwen3))(rng))


def fp8(rng: random.Random, version: str) -> Case:
    make = rng.choice((models.llama, models.qwen3, models.deepseek, models.gpt_oss, models.qwen3_next))
    return _start(rng, make(rng)) | {"kv_cache_dtype": rng.choice(("fp8_e4m3", "fp8_e5m2"))}


def fp4(rng: random.Random, version: str) -> Case:
    return _start(rng, rng.choice((models.llama, models.deepseek))(rng)) | {"kv_cache_dtype": "fp4_e2m1"}


def sparse(rng: random.Random, version: str) -> Case:
    case = _start(rng, models.deepseek_sparse(rng)) | {"kv_cache_dtype": rng.choice(("auto", "fp8_e4m3"))}
    return case | {"page_size": 64}  # the only one that the engine's indexer takes


def sliding(rng: random.Random, version: str) -> Case:
    case = _start(rng, models.gpt_oss(rng))
    return case | {"swa_full_tokens_ratio": rng.choice((None, None, 0.1, 0.25, 0.5, 0.8, 1.0))}


def state(rng: random.Random, version: str) -> Case:
    case = _start(rng, models.qwen3_next(rng))
    return case | {
        "mamba_full_memory_ratio": rng.choice((None, None, 0.1, 0.5, 2.0)),
        "max_state_slots": rng.choice((None, None, None, rng.randint(8, 600))),
        "radix_cache": rng.choice((True, True, False)),
        "state_extra_buffer": rng.choice((False, False, True)) and version not in ("0.5.5",),
    }


def stages(rng: random.Random, version: str) -> Case:
    case = rng.choice((latent, grouped, sliding, state))(rng, version)
    pp = rng.choice([pp for pp in (2, 3, 4, 8) if pp <= case["spec"]["layers"]] or [1])
    if case["spec"]["attention"]["kind"] == "sliding":
        case["page_size"] = 1  # some versions stop at larger pages where a stage has sliding layers alone
    return case | {"pp": pp, "pp_rank": rng.randrange(pp)}


def groups(rng: random.Random, version: str) -> Case:
    case = rng.choice((latent, grouped, sliding, state))(rng, version)
    return case | {"tp": (tp := rng.choice((2, 4, 8))), "dp": rng.choice([dp for dp in (2, 4, 8) if dp <= tp])}


def drafts(rng: random.Random, version: str) -> Case:
    """EAGLE-3 with a checkpoint of its own, or the MTP layer of a latent-attention checkpoint."""
    own = rng.random() < 0.7
    model = rng.choice((models.llama, models.deepseek, models.gpt_oss) if own else (models.deepseek,))(rng)
    if not own:
        model.config["num_nextn_predict_layers"] = model.spec["draft_layers"] = 1
    draft = models.eagle3(rng, model) if own else None
    topk = rng.choice((1, 1, 2, 4))
    steps = rng.randint(1, 6)
    case = _start(rng, model)
    weights = int(rng.uniform(0, 0.1) * case["free_after_bytes"])
    return case | {
        "page_size": case["page_size"] if topk == 1 else 1,
        "speculation": {
            "algorithm": "EAGLE3" if own else "EAGLE",
            "steps": steps,
            "topk": topk,
            "draft_tokens": steps + 1 if topk == 1 else rng.randint(2, 32),
        },
        "draft_config": draft.config if draft else model.config,
        "draft_spec": draft.spec if draft else None,
        "draft_weights_bytes": weights,
    }


def requests(rng: random.Random, version: str) -> Case:
    """Small pools, where the limits of requests bite."""
    case = rng.choice((grouped, latent))(rng, version)
    return case | {
        "max_total_tokens": rng.choice((None, rng.randint(64, 20_000), rng.randint(64, 2_000_000))),
        "max_running_requests": rng.choice((None, rng.randint(1, 64), rng.randint(64, 10_000))),
    }


FAMILIES = (
    Family("latent attention", ALL, latent),
    Family("grouped attention", ALL, grouped),
    Family("fp8", ALL, fp8),
    Family("fp4", ("0.5.9", "0.5.14"), fp4),
    Family("sparse indexer", ALL, sparse),
    Family("sliding window", ALL, sliding),
    Family("state", ALL, state),
    Family("pipeline stages", ALL, stages),
    Family("attention groups", ALL, groups),
    Family("drafts", ALL, drafts),
    Family("request table", ALL, requests),
)


def _start(rng: random.Random, model: models.Model) -> Case:
    before = int(rng.uniform(8, 180) * GIB)
    longest = model.spec["max_position_embeddings"]
    return {
        "config": model.config,
        "spec": model.spec,
        "tp": rng.choice((1, 2, 4, 8)),
        "pp": 1,
        "pp_rank": 0,
        "dp": 1,
        "page_size": rng.choice((1, 1, 16, 32, 64)),
        "kv_cache_dtype": "auto",
        "context_length": rng.choice((None, None, rng.randint(1024, longest))),
        "fraction": round(rng.uniform(0.4, 0.96), rng.choice((2, 3, 6))),
        "free_before_bytes": before,
        "free_after_bytes": int(before * rng.uniform(0.05, 0.999)),
        "max_total_tokens": rng.choice((None, None, None, rng.randint(1000, 1_000_000))),
        "max_running_requests": rng.choice((None, None, rng.randint(1, 512))),
    }
