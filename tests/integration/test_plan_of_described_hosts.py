# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a described host to its plan: what topology_facts reads there is what memory_plan stands on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from ansible_collections.blackwell.inference.plugins.module_utils.observe.files import HostFiles
from ansible_collections.blackwell.inference.plugins.module_utils.observe.nvml.gpus import ChildNvmlReader
from ansible_collections.blackwell.inference.plugins.module_utils.observe.topology import observe
from ansible_collections.blackwell.inference.tests.doubles.nvml.build import build
from ansible_collections.blackwell.inference.tests.doubles.nvml.description import load
from ansible_collections.blackwell.inference.tests.doubles.nvml.dress import dress
from ansible_collections.blackwell.inference.tests.integration.action_process import run_action

ROOT = Path(__file__).parents[2]
LLAMA = {
    "name": "llama-8b",
    "architecture": "LlamaForCausalLM",
    "model_type": "llama",
    "quantization": None,
    "dtype": "bfloat16",
    "kv_cache_dtype": "bfloat16",
    "layers": 32,
    "hidden_size": 4096,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "multimodal": False,
    "experts": None,
    "attention": {"kind": "gqa", "heads": 32, "kv_heads": 8, "head_dim": 128, "v_head_dim": 128},
    "weights": {"total_bytes": 16060522496, "files": 4, "source": "profile"},
}

PlanOn = Callable[..., dict[str, Any]]


@pytest.fixture
def plan_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PlanOn:
    """`plan_on("design-host", tp=8)`: Kimi-K2.5 as its profile has it, or another model, on a described host."""
    monkeypatch.setattr(psutil, "PROCFS_PATH", "/proc")

    def planned(name: str, model: dict[str, Any] | None = None, **serving: Any) -> dict[str, Any]:
        description = tmp_path / "host.json"
        description.write_text(json.dumps(load(name)))
        monkeypatch.setenv("FAKE_NVML", str(description))
        if not (tmp_path / name).exists():
            dress(load(name), tmp_path / name)
        files = HostFiles(str(tmp_path / name / "overmount"))
        topology = observe(files, ChildNvmlReader(files, str(build()), 20), None).as_dict()
        profile = yaml.safe_load((ROOT / "playbooks" / "profiles" / "kimi-k2.5.yml").read_text())[
            "inference_profile_data"
        ]
        wishes = {**profile["serving"], **serving} if model is None else serving
        task = {
            "topology": topology,
            "model": model or profile["model"],
            "engine_version": "0.5.9",
            "serving": wishes,
            "calibration": profile["measured"] if model is None else {},
        }
        return run_action("memory_plan", json.loads(json.dumps(task)))

    return planned


@pytest.mark.parametrize(("fraction", "tokens"), [(0.85, 116187), (0.88, 159294)])
def test_the_design_host(plan_on: PlanOn, fraction: float, tokens: int) -> None:
    plan = plan_on("design-host", mem_fraction_static=fraction)["plan"]
    assert plan["pool"]["tokens"] == tokens
    assert plan["gpu"]["capacity"]["source"] == "nvml"
    assert plan["observation"]["memory"]["source"] == "meminfo"


def test_the_design_host_refuses_what_died_there(plan_on: PlanOn) -> None:
    assert "leaves 0.83 GiB free" in plan_on("design-host", mem_fraction_static=0.93)["msg"]
    assert "2,400 GB in all" in plan_on("design-host", hicache_size=300)["msg"]


def test_the_same_cards_in_another_machine(plan_on: PlanOn) -> None:
    assert plan_on("rtx-pro-6000-server-8x")["plan"]["pool"]["tokens"] == 159294


def test_a_lost_card(plan_on: PlanOn) -> None:
    lost = plan_on("rtx-pro-6000-server-8x-lost")
    assert "this host has 8, of which 7 can be used; GPU 3 (0000:76:00.0) is in state lost." in lost["msg"]
    plan = plan_on("rtx-pro-6000-server-8x-lost", model=LLAMA, tp=4)["plan"]
    assert plan["notes"][0] == "Not used: GPU 3 (lost)."


def test_libraries_newer_than_the_kernel_module(plan_on: PlanOn) -> None:
    assert "this host shows none (" in plan_on("rtx-pro-6000-server-8x-mismatch")["msg"]


def test_kimi_does_not_fit_on_four_cards(plan_on: PlanOn) -> None:
    assert (
        "expected weights that fit: raise tp, or choose a smaller checkpoint."
        in plan_on("rtx-pro-6000-maxq-4x", tp=4)["msg"]
    )


@pytest.mark.parametrize(
    ("name", "tp", "batch"), [("rtx-5090-2x-vm", 2, 24), ("b200-8x", 8, 512), ("rtx-pro-6000-maxq-4x", 4, 512)]
)
def test_a_small_model_fits_anywhere(plan_on: PlanOn, name: str, tp: int, batch: int) -> None:
    plan = plan_on(name, model=LLAMA, tp=tp)["plan"]
    assert plan["gpu"]["headroom_bytes"] >= plan["observation"]["gpus"][0]["total_bytes"] // 20
    assert plan["gpu"]["graph_batch"] == batch
    assert plan["pool"]["cell_bytes"] == 131072 // tp
