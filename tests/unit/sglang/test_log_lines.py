# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every shape of line, as the versions write it, is known for what it is. Texts from SGLang's sources, see the table itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.sglang.log_lines import (
    LINES,
    LinePattern,
    events,
    is_access_log,
    is_at_work,
    split_lines,
)
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.version import EngineVersion

RECORDINGS = Path(__file__).parents[2] / "data" / "sglang"

CASES = [
    ("distributed", "", "[2026-02-24 10:00:00 TP3] Init torch distributed begin.", {}),
    ("distributed", "", "[2026-02-24 10:00:00 TP3] Init parallel begin.", {}),
    ("weights_begin", "TP3", "[2026-02-24 10:00:00 TP3] Load weight begin. avail mem=94.04 GB", {"free": "94.04"}),
    (
        "shards",
        "",
        "\rLoading safetensors checkpoint shards:  19% Completed | 12/64 [00:10<00:43,  1.2it/s]\n",
        {"loaded": "12", "total": "64"},
    ),
    ("shards", "", "Multi-thread loading shards: 100% Completed | 4/4 [00:00<00:00, 24it/s]", {"loaded": "4"}),
    (
        "weights_end",
        "TP0",
        "[2026-02-24 10:00:00 TP0] Load weight end. type=KimiK25ForConditionalGeneration, dtype=torch.bfloat16, avail mem=21.71 GB, mem usage=72.33 GB.",
        {"free": "21.71", "size": "72.33"},
    ),
    (
        "weights_end",
        "DP1 TP0 EP2",
        "[2026-02-24 10:00:00.123 DP1 TP0 EP2] Load weight end. elapsed=1.5 s, type=X, quant=fp8, avail mem=21.71 GB, mem usage=72.33 GB.",
        {"free": "21.71"},
    ),
    (
        "reserve",
        "TP0",
        "[2026-02-24 10:00:00 TP0] Reserving 0.10 GB of the KV budget for post-sizing multimodal allocations (x)",
        {"size": "0.10"},
    ),
    (
        "pool",
        "TP0",
        "[2026-02-24 10:00:00 TP0] KV Cache is allocated. #tokens: 159277, KV size: 10.42 GB",
        {"tokens": "159277", "kv": "10.42"},
    ),
    (
        "pool",
        "TP0",
        "[2026-02-24 10:00:00 TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 7, K size: 0.30 GB, V size: 0.31 GB",
        {"tokens": "7", "k": "0.30", "v": "0.31"},
    ),
    ("pool_end", "TP0", "[2026-02-24 10:00:00 TP0] Memory pool end. avail mem=9.22 GB", {"free": "9.22"}),
    (
        "graph_begin",
        "TP0",
        "[2026-02-24 10:00:00 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=9.22 GB",
        {},
    ),
    (
        "graph",
        "TP0",
        "[2026-02-24 10:00:00 TP0] Capture cuda graph end. Time elapsed: 30.10 s. mem usage=3.75 GB. avail mem=5.47 GB.",
        {"size": "3.75", "free": "5.47"},
    ),
    (
        "graph",
        "TP0",
        "[2026-02-24 10:00:00 TP0] Capture decode cuda graph end. bs=[1, 2], elapsed=30.10 s, mem usage=3.75 GB, avail mem=5.47 GB.",
        {"size": "3.75", "free": "5.47"},
    ),
    (
        "totals",
        "TP0",
        "[2026-02-24 10:00:00 TP0] max_total_num_tokens=159277, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2048, "
        "context_len=262144, available_gpu_mem=5.47 GB",
        {"tokens": "159277", "requests": "2048", "context": "262144", "device": "gpu", "free": "5.47"},
    ),
    (
        "host_pool",
        "TP7",
        "[2026-02-24 10:00:00 TP7] Allocating 44.77 GB host memory for hierarchical KV cache.",
        {"size": "44.77"},
    ),
    (
        "host_pool",
        "TP7",
        "[2026-02-24 10:00:00 TP7] Allocating kv hierarchical KV host pool: 637109 tokens, 44.77 GB host memory.",
        {"tokens": "637109", "size": "44.77"},
    ),
    (
        "sliding",
        "TP0",
        "[2026-02-24 10:00:00 TP0] Use Sliding window memory pool. full_layer_tokens=1000, swa_layer_tokens=800",
        {"full": "1000", "swa": "800"},
    ),
    (
        "sliding",
        "TP0",
        "[2026-02-24 10:00:00 TP0] Use sliding window memory pool. full_layer_tokens=1000, swa_layer_tokens=800",
        {"full": "1000", "swa": "800"},
    ),
    (
        "sliding",
        "TP0",
        "[2026-02-24 10:00:00 TP0] Use sliding window memory pool (all SWA). swa_layer_tokens=800",
        {"full": None, "swa": "800"},
    ),
    (
        "state",
        "TP0",
        "[2026-02-24 10:00:00 TP0] Mamba Cache is allocated. max_mamba_cache_size: 115, conv_state size: 0.06GB, ssm_state size: 2.01GB ",
        {"slots": "115", "conv": "0.06", "ssm": "2.01", "draft_ssm": None},
    ),
    (
        "state",
        "TP0",
        "[2026-02-24 10:00:00 TP0] Mamba Cache is allocated. max_mamba_cache_size: 115, conv_state size: 0.06GB, ssm_state size: 2.01GB "
        "intermediate_ssm_state_cache size: 1.50GB intermediate_conv_window_cache size: 0.02GB ",
        {"slots": "115", "draft_ssm": "1.50", "draft_conv": "0.02"},
    ),
    (
        "pool",
        "TP0",
        "[2026-02-24 10:00:00 TP0] Full KV Cache is allocated. dtype: torch.bfloat16, #tokens: 1000, K size: 0.30 GB, V size: 0.31 GB",
        {"label": "Full", "tokens": "1000"},
    ),
    (
        "pool",
        "TP0",
        "[2026-02-24 10:00:00 TP0] SWA KV Cache is allocated. dtype: torch.bfloat16, #tokens: 800, K size: 0.20 GB, V size: 0.20 GB",
        {"label": "SWA", "tokens": "800"},
    ),
    (
        "graph",
        "TP0",
        "[2026-02-24 10:00:00 TP0] Capture draft extend cuda graph end. Time elapsed: 3.10 s. mem usage=0.25 GB. avail mem=5.22 GB.",
        {"what": "draft extend cuda graph", "size": "0.25"},
    ),
    (
        "graph",
        "TP0",
        "[2026-02-24 10:00:00 TP0] Capture piecewise CUDA graph end. Time elapsed: 3.10 s. mem usage=0.25 GB. avail mem=5.22 GB.",
        {"what": "piecewise CUDA graph", "size": "0.25"},
    ),
    (
        "graph",
        "TP0",
        "[2026-02-24 10:00:00 TP0] Capture target prefill CUDA graph end. elapsed=3.10 s, mem usage=1.25 GB, avail mem=5.22 GB.",
        {"what": "target prefill CUDA graph", "size": "1.25"},
    ),
    (
        "graph",
        "TP0",
        "[2026-02-24 10:00:00 TP0] Capture target verify CUDA graph end. elapsed=3.10 s, mem usage=1.25 GB, avail mem=5.22 GB.",
        {"what": "target verify CUDA graph"},
    ),
    (
        "graph_begin",
        "TP0",
        "[2026-02-24 10:00:00 TP0] Capture draft extend cuda graph begin (step 1). This can take up to several minutes. avail mem=9.22 GB",
        {},
    ),
    (
        "graph_begin",
        "TP0",
        "[2026-02-24 10:00:00 TP0] Capture draft decode CUDA graph begin. backend=full, num_tokens_per_bs=4, bs=[1, 2], avail mem=9.22 GB",
        {},
    ),
    (
        "host_pool",
        "TP0",
        "[2026-02-24 10:00:00 TP0] Allocating draft hierarchical KV host pool: 637109 tokens, 2.77 GB host memory.",
        {"label": "draft", "tokens": "637109", "size": "2.77"},
    ),
    (
        "host_pool",
        "TP0",
        "[2026-02-24 10:00:00 TP0] Allocating kv hierarchical KV host pool: 637109 tokens, 44.77 GB host memory, "
        "packed MTP KV layers: target_layers=61, draft_layers=1, total_layers=62.",
        {"label": "kv", "size": "44.77"},
    ),
    (
        "host_side_pool",
        "TP0",
        "[2026-02-24 10:00:00 TP0] Allocating 4.20 GB host memory for hierarchical Mamba cache (layout=page_first).",
        {"label": "hierarchical Mamba cache", "size": "4.20", "slots": None},
    ),
    (
        "host_side_pool",
        "TP0",
        "[2026-02-24 10:00:00 TP0] Allocating 4.20 GB host memory for hierarchical Mamba cache (230 state slots, layout=page_first).",
        {"slots": "230"},
    ),
    (
        "host_side_pool",
        "TP0",
        "[2026-02-24 10:00:00 TP0] Allocating 4.20 GB host memory for NSA indexer (layout=layer_first).",
        {"label": "NSA indexer"},
    ),
    (
        "host_side_pool",
        "TP0",
        "[2026-02-24 10:00:00 TP0] Allocating 4.20 GB host memory for DSA indexer (layout=page_first), 3 layers",
        {"label": "DSA indexer"},
    ),
    (
        "host_side_pool",
        "TP0",
        "[2026-02-24 10:00:00 TP0] Allocating 4.20 GB host memory for MiniMax sparse index-K (layout=page_first).",
        {"label": "MiniMax sparse index-K"},
    ),
    (
        "host_side_pool",
        "TP0",
        "[2026-02-24 10:00:00 TP0] Allocating 4.20 GB host memory for V4 paged pool 'deepseek_v4_c4' (layers=3, pages=4, item_bytes=5, layout=page_first).",
        {"label": "V4 paged pool 'deepseek_v4_c4'"},
    ),
    ("listening", "", "INFO:     Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)", {}),
    ("fired_up", "", "[2026-02-24 10:00:00] The server is fired up and ready to roll!", {}),
]


@pytest.mark.parametrize(
    ("name", "rank", "line", "groups"), CASES, ids=[f"{case[0]} {case[2][22:90]}" for case in CASES]
)
def test_a_line_is_known(name: str, rank: str, line: str, groups: dict[str, str]) -> None:
    (event,) = events(split_lines(line))
    assert event.name == name
    assert not rank or event.rank == rank
    assert {key: value for key, value in event.match.groupdict().items() if key in groups} == groups


def test_every_pattern_has_a_case() -> None:
    assert {line.name for line in LINES} == {case[0] for case in CASES}


def written_by(line: LinePattern, version: str) -> bool:
    parsed = EngineVersion.parse(version)
    return EngineVersion.parse(line.first) <= parsed and (line.last is None or parsed <= EngineVersion.parse(line.last))


@pytest.mark.parametrize("version", ["0.5.9", "0.5.23"])
def test_a_recorded_start_uses_only_patterns_of_its_version(version: str) -> None:
    text = (RECORDINGS / version / "cpu-llama-hicache" / "journal.log").read_bytes().decode()
    of_version = [line for line in LINES if written_by(line, version)]
    expressions = {event.match.re.pattern for event in events(split_lines(text))}
    assert expressions <= {line.expression for line in of_version}
    assert {"weights_begin", "weights_end", "pool", "pool_end", "totals", "host_pool", "fired_up"} <= {
        line.name for line in of_version if line.expression in expressions
    }


def test_the_argument_dump_is_no_line_of_the_start() -> None:
    assert not list(
        events(["[2026-02-24 10:00:00] server_args=ServerArgs(x='The server is fired up and ready to roll!')"])
    )


def test_a_progress_bar_is_as_many_lines_as_updates() -> None:
    assert split_lines("\rshards: 1/2\x1b[A\n\rshards: 2/2\r\n") == ["shards: 1/2", "shards: 2/2"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('[2026-02-24 10:00:00] INFO:     127.0.0.1:5 - "GET /v1/models HTTP/1.1" 200 OK', True),
        ("[2026-02-24 10:00:00 TP0] Decode batch, #running-req: 1", True),
        ("Traceback (most recent call last):", False),
    ],
)
def test_a_server_at_work_is_told_from_a_start(line: str, expected: bool) -> None:
    assert is_at_work(line) is expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('[2026-02-24 10:00:00] INFO:     127.0.0.1:5 - "GET /v1/models HTTP/1.1" 200 OK', True),
        ("[2026-02-24 10:00:00] Prefill batch, #new-seq: 1", False),
    ],
)
def test_answers_to_polls_are_told_from_work(line: str, expected: bool) -> None:
    assert is_access_log(line) is expected


@pytest.mark.parametrize(
    "line",
    [
        "[2026-02-24 10:00:00 TP0] Load weight end. Committed real weights after CUDA graph capture in 3.00 s (2.00 GB)",
        "[2026-02-24 10:00:00 TP0] Capture Frozen-KV MTP draft cuda graph end.",
        "[2026-02-24 10:00:00 TP0] KV Cache skipped (no-op pool). Logical #tokens: 5, ",
        "[2026-02-24 10:00:00 TP0] HiCache swa host pool (5 tokens) is smaller than the device pool (9 tokens);",
    ],
)
def test_a_line_without_figures_is_none_of_those_with_them(line: str) -> None:
    assert not list(events([line]))


@pytest.mark.parametrize("version", ["0.5.5", "0.5.6.post2", "0.5.9", "0.5.12", "0.5.16", "0.5.20", "0.5.23"])
def test_each_version_writes_every_kind_of_line_that_it_has_in_one_row(version: str) -> None:
    rows = [line.name for line in LINES if written_by(line, version)]
    assert len(rows) == len(set(rows))
    assert {
        "distributed",
        "weights_begin",
        "weights_end",
        "sliding",
        "state",
        "pool",
        "pool_end",
        "graph",
        "totals",
        "host_pool",
    } <= set(rows)
