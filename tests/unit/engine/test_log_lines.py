# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every shape of line, as the versions write it, is known for what it is. Texts from SGLang's sources, see the table itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.engine.log_lines import (
    LINES,
    events,
    is_access_log,
    is_at_work,
    split_lines,
)
from ansible_collections.blackwell.inference.plugins.module_utils.engine.version import EngineVersion

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
    ("listening", "", "INFO:     Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)", {}),
    ("fired_up", "", "[2026-02-24 10:00:00] The server is fired up and ready to roll!", {}),
]


@pytest.mark.parametrize(
    ("name", "rank", "line", "groups"), CASES, ids=[f"{case[0]} {case[2][22:60]}" for case in CASES]
)
def test_a_line_is_known(name: str, rank: str, line: str, groups: dict[str, str]) -> None:
    (event,) = events(split_lines(line))
    assert event.name == name
    assert not rank or event.rank == rank
    assert {key: value for key, value in event.match.groupdict().items() if key in groups} == groups


def test_every_pattern_has_a_case() -> None:
    assert {line.name for line in LINES} == {case[0] for case in CASES}


@pytest.mark.parametrize("version", ["0.5.9", "0.5.23"])
def test_a_recorded_start_uses_only_patterns_of_its_version(version: str) -> None:
    text = (RECORDINGS / version / "cpu-llama-hicache" / "journal.log").read_bytes().decode()
    of_version = [
        line
        for line in LINES
        if EngineVersion.parse(line.first) <= EngineVersion.parse(version) <= EngineVersion.parse(line.last)
    ]
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
