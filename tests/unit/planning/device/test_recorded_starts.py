# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts of the real engine on a CPU, as recorded: its journal, server info and metrics against the plan for the same command line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.model.config import model_from_config
from ansible_collections.blackwell.inference.plugins.module_utils.model.spec import Weights
from ansible_collections.blackwell.inference.plugins.module_utils.planning.plan import MemoryPlan
from ansible_collections.blackwell.inference.tests.engine.tiny_models import CONFIGS

ROOT = Path(__file__).parents[4]
RECORDED = ROOT / "tests" / "data" / "sglang"
WISHES = {
    "--max-total-tokens": ("max_total_tokens", int),
    "--page-size": ("page_size", int),
    "--hicache-ratio": ("hicache_ratio", float),
    "--hicache-size": ("hicache_size", int),
}
STARTS = ["0.5.9/cpu-llama-hicache", "0.5.23/cpu-llama-hicache", "0.5.23/cpu-deepseek-hicache"]


def command_line(recorded: Path) -> tuple[str, dict[str, float]]:
    """(the model's name, the serving wishes) behind a recorded command line."""
    words = json.loads((recorded / "PROVENANCE.json").read_text())["command"].split()
    given = [(WISHES[word], words[place + 1]) for place, word in enumerate(words) if word in WISHES]
    return words[words.index("--served-model-name") + 1], {key: kind(value) for (key, kind), value in given}


@pytest.fixture(params=STARTS)
def start(request: pytest.FixtureRequest, plan: Callable[..., MemoryPlan]) -> tuple[MemoryPlan, Path]:
    recorded = RECORDED / request.param
    name, options = command_line(recorded)
    planned = plan(
        version=request.param.split("/")[0],
        model=model_from_config(name, CONFIGS[name], None, Weights(279168, 4, "safetensors"), "f00d", name),
        hardware={"gpus": 0, "ram_gib": 24, "ram_available_gib": 22},
        device="cpu",
        tp=1,
        mem_fraction_static=None,
        **options,
    )
    return planned, recorded


def test_pool_and_running_requests(start: tuple[MemoryPlan, Path]) -> None:
    planned, recorded = start
    (line,) = re.findall(
        r"max_total_num_tokens=(\d+),.* max_running_requests=(\d+), context_len=(\d+)",
        (recorded / "journal.log").read_text(),
    )
    assert planned.tokens == int(line[0])
    assert planned.requests.limit == int(line[1])
    assert planned.settings["context_length"] == int(line[2])


def test_what_the_server_says_of_itself(start: tuple[MemoryPlan, Path]) -> None:
    planned, recorded = start
    info = json.loads((recorded / "server_info.json").read_text())
    assert (planned.tokens, planned.request.page_size) == (info["max_total_num_tokens"], info["page_size"])
    assert planned.requests.limit == info["internal_states"][0]["effective_max_running_requests_per_dp"]


def test_host_pool(start: tuple[MemoryPlan, Path]) -> None:
    """0.5.9 prints the pool in GB of two decimals only, which are 0.00 here."""
    planned, recorded = start
    lines = re.findall(r"Allocating kv hierarchical KV host pool: (\d+) tokens", (recorded / "journal.log").read_text())
    total = re.findall(
        r"^sglang:hicache_host_total_tokens\{.*\} ([\d.]+)$", (recorded / "metrics.txt").read_text(), re.MULTILINE
    )
    seen = {int(line) for line in lines} | {int(float(value)) for value in total}
    assert seen <= {planned.pool.tokens}
    assert seen or planned.request.rules.engine_version == "0.5.9"
