# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The server config: what we render is read back by the engine's parser as it was meant, and what we refuse is refused there too."""

from __future__ import annotations

import random

import lane
import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import EngineError
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.arguments import (
    checked_arguments,
    engine_arguments,
)
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.dialect import dialect_for

VERSIONS = ("0.5.5", "0.5.9", "0.5.14", "0.5.17", "0.5.23")
# serving key -> how a value of it is made
SETTINGS = {
    "device": lambda rng: "cuda",
    "tp": lambda rng: rng.choice((1, 2, 4, 8)),
    "pp": lambda rng: rng.choice((1, 2)),
    "mem_fraction_static": lambda rng: round(rng.uniform(0.1, 0.99), 3),
    "context_length": lambda rng: rng.randint(1024, 262144),
    "max_running_requests": lambda rng: rng.randint(1, 4096),
    "max_total_tokens": lambda rng: rng.randint(1, 10_000_000),
    "chunked_prefill_size": lambda rng: rng.choice((-1, 2048, 8192)),
    "max_prefill_tokens": lambda rng: rng.randint(1, 65536),
    "cuda_graph_max_bs": lambda rng: rng.randint(1, 512),
    "page_size": lambda rng: rng.choice((1, 16, 64)),
    "kv_cache_dtype": lambda rng: rng.choice(("auto", "bfloat16", "fp8_e4m3", "fp8_e5m2")),
    "hicache": lambda rng: True,
    "hicache_size": lambda rng: rng.randint(1, 500),
    "hicache_ratio": lambda rng: round(rng.uniform(0.5, 8), 2),
    "hicache_write_policy": lambda rng: rng.choice(("write_back", "write_through", "write_through_selective")),
    "hicache_io_backend": lambda rng: rng.choice(("direct", "kernel")),
    "hicache_mem_layout": lambda rng: rng.choice(("layer_first", "page_first", "page_first_direct")),
    "speculative_algorithm": lambda rng: rng.choice(("EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "NGRAM")),
    "speculative_num_steps": lambda rng: rng.randint(1, 8),
    "speculative_eagle_topk": lambda rng: rng.randint(1, 8),
    "speculative_num_draft_tokens": lambda rng: rng.randint(1, 32),
    "swa_full_tokens_ratio": lambda rng: round(rng.uniform(0.1, 1), 2),
    "mamba_full_memory_ratio": lambda rng: round(rng.uniform(0.1, 2), 2),
    "max_mamba_cache_size": lambda rng: rng.randint(1, 1000),
    "mamba_ssm_dtype": lambda rng: rng.choice(("bfloat16", "float32")),
}
VALUES = {
    "switch": lambda rng: True,
    "whole": lambda rng: rng.randint(1, 64),
    "amount": lambda rng: rng.randint(1, 65536),
    "number": lambda rng: round(rng.uniform(0.1, 0.9), 2),
}


def _case(rng: random.Random, version: str):
    """Settings of the plan and further flags out of the version's table; every fifth case has a value that the flag does not take."""
    flags = dialect_for(version).flags.flags
    keys = rng.sample(sorted(SETTINGS), rng.randint(1, 8))
    further = {}
    for name in rng.sample(sorted(flags), 12):
        flag = flags[name]
        if name == flag.name and (flag.choices or flag.kind in VALUES):
            further[name] = _value(rng, flag)
    chosen = sorted(name for name, flag in flags.items() if flag.choices and flag.kind == "text" and not flag.many)
    wrong = {rng.choice(chosen): "nonsense"} if rng.random() < 0.2 else {}
    return {"settings": {key: SETTINGS[key](rng) for key in keys}, "further": further, "wrong": wrong}


def _value(rng: random.Random, flag):
    value = rng.choice(flag.choices) if flag.choices else VALUES[flag.kind](rng)
    value = int(value) if flag.kind == "whole" else value
    return [value] if flag.many else value


def _taken(dialect, flags):
    """Those flags that we take; what planning or the instance decides is theirs."""
    taken = {}
    for name, value in flags.items():
        try:
            taken |= checked_arguments(dialect, {name: value})
        except EngineError as refusal:
            if "decides" not in str(refusal) and "server config" not in str(refusal):
                raise
    return taken


def _rendered(case, version):
    """(what the server config holds, what we make of it)"""
    dialect = dialect_for(version)
    ours = engine_arguments(dialect, case["settings"], _taken(dialect, case["further"]))
    if not case["wrong"]:
        return ours, ours
    with pytest.raises(EngineError):
        checked_arguments(dialect, case["wrong"])
    return {**ours, **case["wrong"]}, {"refused": True}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_engine_reads_what_we_render(version, record):
    cases = lane.generated(f"arguments {version}", lambda rng: _case(rng, version))
    rendered = [_rendered(case, version) for case in cases]
    asked = [{"arguments": arguments} for arguments, _ours in rendered]
    theirs = lane.answers(version, "arguments", asked)
    lane.nothing_broken(version, theirs)
    found = lane.differences(asked, theirs, [made for _arguments, made in rendered])
    record(version, "arguments", len(cases), sum("refused" in answer for answer in theirs), len(found))
    assert not found, lane.told(found, len(cases))
