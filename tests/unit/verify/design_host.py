# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The start of the design host at 0.88 with a host cache of ratio 4.0, as verification finds it (8 ranks, Kimi-K2.5, SGLang 0.5.9, 2026-02-24)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB, gib_to_bytes
from ansible_collections.blackwell.inference.plugins.module_utils.observe.systemd import UnitState
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.api import Answer
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.start_log import parse_start
from ansible_collections.blackwell.inference.plugins.module_utils.verify.evidence import StartReading
from ansible_collections.blackwell.inference.plugins.module_utils.verify.host_memory import HostMemoryFacts
from ansible_collections.blackwell.inference.plugins.module_utils.verify.journal import JournalFacts
from ansible_collections.blackwell.inference.plugins.module_utils.verify.planned import Planned
from ansible_collections.blackwell.inference.plugins.module_utils.verify.server_info import ServerInfoFacts
from ansible_collections.blackwell.inference.plugins.module_utils.verify.unit_and_api import ApiFacts, UnitFacts
from ansible_collections.blackwell.inference.plugins.module_utils.verify.verdict import Check
from ansible_collections.blackwell.inference.plugins.module_utils.wait.progress import Counters

CELL = 70272
HOST_TOKENS = 637177
PLAN: dict[str, Any] = {
    "schema": 1,
    "engine": {"version": "0.5.9", "dialect": "0.5.9"},
    "device": "cuda",
    "ranks": 8,
    "model": {"name": "kimi-k2.5", "identity": "f00d"},
    "gpu": {
        "tokens": 159294,
        "cell_bytes": CELL,
        "cards": list(range(8)),
        "graph_batch": 512,
        "headroom_bytes": gib_to_bytes("5.53"),
        "mem_fraction_static": 0.88,
        "lines": [
            {"name": "CUDA context and NCCL", "size_bytes": GIB, "source": "measured: 2026-02-24"},
            {"name": "weights", "size_bytes": gib_to_bytes("72.33"), "source": "measured: 2026-02-24"},
            {"name": "KV cache", "size_bytes": 159294 * CELL, "source": "plan"},
            {"name": "CUDA graphs", "size_bytes": gib_to_bytes("3.75"), "source": "measured: 2026-02-24"},
        ],
    },
    "host": {
        "capacity": {"name": "available memory before the start", "size_bytes": 445 * GIB, "source": "meminfo"},
        "lines": [
            {"name": "host cache of 8 ranks", "size_bytes": 8 * HOST_TOKENS * CELL, "source": "plan"},
            {"name": "8 rank processes", "size_bytes": 32 * GIB, "source": "measured"},
        ],
        "left_bytes": 78 * GIB,
        "reserve_bytes": 10 * GIB,
        "available_after_start_bytes": 78 * GIB,
        "available_after_start_tolerance_bytes": 2 * GIB,
    },
    "host_cache": {
        "enabled": True,
        "tokens": HOST_TOKENS,
        "bytes_per_rank": HOST_TOKENS * CELL,
        "bytes_total": 8 * HOST_TOKENS * CELL,
        "page_size": 1,
    },
    "pool": {"tokens": 159294, "kv_bytes": 159294 * CELL, "cell_bytes": CELL},
    "arguments": {
        "mem-fraction-static": 0.88,
        "hicache-ratio": 4.0,
        "hicache-write-policy": "write_through",
        "tp-size": 8,
    },
    "forced": [],
    "observation": {
        "gpus": [{"index": index, "total_bytes": 102641958912} for index in range(8)],
        "memory": {"available_bytes": 445 * GIB, "zfs_arc_bytes": 0},
        "other_engines": [],
    },
}
RANK_LINES = (
    "[2026-02-24 10:00:00 TP{rank}] Load weight begin. avail mem=94.04 GB",
    "[2026-02-24 10:04:00 TP{rank}] Load weight end. type=KimiK25ForConditionalGeneration, dtype=torch.bfloat16, avail mem=21.71 GB, mem usage=72.33 GB.",
    "[2026-02-24 10:04:01 TP{rank}] KV Cache is allocated. #tokens: 159277, KV size: 10.42 GB",
    "[2026-02-24 10:04:01 TP{rank}] Memory pool end. avail mem=9.22 GB",
    "[2026-02-24 10:05:00 TP{rank}] Capture cuda graph end. Time elapsed: 30.10 s. mem usage=3.75 GB. avail mem=5.47 GB.",
    "[2026-02-24 10:05:01 TP{rank}] Allocating 44.77 GB host memory for hierarchical KV cache.",
)
LINES = (
    *(line.format(rank=rank) for line in RANK_LINES for rank in range(8)),
    "[2026-02-24 10:05:01 TP0] max_total_num_tokens=159277, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2048, "
    "context_len=262144, available_gpu_mem=5.47 GB",
    "[2026-02-24 10:11:00] The server is fired up and ready to roll!",
)
INFO = {
    "version": "0.5.9",
    "max_total_num_tokens": 159277,
    "tp_size": 8,
    "page_size": 1,
    "enable_hierarchical_cache": True,
    "hicache_ratio": 4.0,
    "hicache_size": 0,
    "hicache_write_policy": "write_through",
    "mem_fraction_static": 0.88,
    "context_length": None,
}
UNIT = UnitState(
    name="sglang-kimi.service",
    load_state="loaded",
    active_state="active",
    sub_state="running",
    unit_file_state="enabled",
    fragment_path="/etc/systemd/system/sglang-kimi.service",
    drop_ins=(),
    need_daemon_reload=False,
    main_pid=4711,
    invocation_id="a1",
    result="success",
    n_restarts=0,
    control_group="/system.slice/sglang-kimi.service",
    cgroup_memory_bytes=None,
)
MODELS = Answer(200, {"data": [{"id": "kimi-k2.5", "max_model_len": 262144}]})
CHAT = Answer(200, {"choices": [{"message": {"content": None, "reasoning_content": "The user wants"}}]})
PLANNED = Planned.read(PLAN)
READING = StartReading(parse_start(LINES), started=1_771_927_200_000_000, fired_up=1_771_927_860_000_000)
EXPECTED_UNIT = {"LimitMEMLOCK": "infinity", "KillMode": "control-group"}
UNIT_FACTS = UnitFacts(
    unit=UNIT,
    expected_unit=EXPECTED_UNIT,
    unit_properties=EXPECTED_UNIT,
    memlock="unlimited",
    manager_memlock="unlimited",
    invocation_after="a1",
)
API_FACTS = ApiFacts(
    unit=UNIT,
    port=30000,
    served_model_name="kimi-k2.5",
    listener_is_ours=True,
    listener_said="process 4711 of sglang-kimi.service",
    models=MODELS,
    chat=CHAT,
)
SERVER_INFO_FACTS = ServerInfoFacts(
    planned=PLANNED, engine_version="0.5.9", models=MODELS, info_answer=Answer(200, INFO), info=INFO
)
JOURNAL_FACTS = JournalFacts(planned=PLANNED, start=READING.journal, start_rotated=False, info=INFO)
HOST_MEMORY_FACTS = HostMemoryFacts(
    planned=PLANNED,
    seconds_since_start=60.0,
    available_bytes=78 * GIB,
    zfs_arc_bytes=0,
    other_engines={},
    meminfo_is_shared=False,
    memory=Counters(memory={"anonymous": 40 * GIB, "file": 0, "shared": 8 * HOST_TOKENS * CELL}),
    oom_kills=0,
)
Facts = TypeVar("Facts", ServerInfoFacts, JournalFacts, HostMemoryFacts)


def changed_plan(changes: Mapping[str, Any]) -> Planned:
    """Another plan; a dotted key reaches into it."""
    plan: dict[str, Any] = {key: (dict(value) if isinstance(value, dict) else value) for key, value in PLAN.items()}
    for key, value in changes.items():
        section, _dot, name = key.partition(".")
        if name:
            plan[section][name] = value
        else:
            plan[section] = value
    return Planned.read(plan)


def with_plan(changes: Mapping[str, Any], facts: Facts) -> Facts:
    """The same facts against another plan."""
    return replace(facts, planned=changed_plan(changes))


def with_line(old: str, new: str, count: int = -1) -> JournalFacts:
    """The facts of a start that logged something else."""
    text = "\n".join(LINES)
    if old not in text:
        raise ValueError(f"no line has {old!r}")
    return replace(JOURNAL_FACTS, start=parse_start(text.replace(old, new, count).split("\n")))


def failed(checks: tuple[Check, ...]) -> dict[str, str]:
    return {check.name: check.message for check in checks if check.outcome == "failed"}


def skipped(checks: tuple[Check, ...]) -> dict[str, str]:
    return {check.name: check.message for check in checks if check.outcome == "skipped"}
