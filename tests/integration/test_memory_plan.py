# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""memory_plan as Ansible runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleActionFail

from ansible_collections.blackwell.inference.tests.integration.action_process import run_action
from ansible_collections.blackwell.inference.tests.integration.module_process import TREE, run_module

ROOT = Path(__file__).parents[2]
GIB = 1 << 30
CARD = {"state": "ok", "memory_total_bytes": 102641958912, "memory_free_bytes": int(95.01 * GIB)}
TOPOLOGY = {
    "schema": 1,
    "gpus": [{"index": index, "uuid": f"GPU-{index}", **CARD} for index in range(8)],
    "memory": {"total_bytes": 449 * GIB, "available_bytes": 445 * GIB},
    "cgroup": {"version": 2, "limit_bytes": None, "current_bytes": None, "limiting_path": None},
    "memlock": {"soft_bytes": 8 << 20, "hard_bytes": 8 << 20},
    "virtualisation": {"kind": "kvm", "proxmox": True},
}


def profile(name: str) -> dict[str, Any]:
    return yaml.safe_load((ROOT / "playbooks" / "profiles" / f"{name}.yml").read_text())["inference_profile_data"]


def options(name: str = "kimi-k2.5", serving: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    data = profile(name)
    return {
        "topology": TOPOLOGY,
        "model": data["model"],
        "engine_version": data["sglang_version"],
        "serving": {**data["serving"], **(serving or {})},
        "arguments": data["arguments"],
        "calibration": data.get("measured", {}),
        **more,
    }


def run(arguments: dict[str, Any], check: bool = False) -> dict[str, Any]:
    """On the controller; a call on the host would fail the test."""
    return run_action("memory_plan", {key: value for key, value in arguments.items() if value is not None}, check=check)


def environment(folder: Path) -> dict[str, str]:
    return {
        "ANSIBLE_COLLECTIONS_PATH": str(TREE),
        "ANSIBLE_LOCAL_TEMP": str(folder / "local"),
        "ANSIBLE_REMOTE_TEMP": str(folder / "remote"),
        "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
        "ANSIBLE_NOCOLOR": "1",
    }


@pytest.mark.parametrize("check", [False, True], ids=["run", "check mode"])
def test_the_design_host(check: bool) -> None:
    result = run(options(), check=check)
    assert result["changed"] is False
    plan = result["plan"]
    assert (plan["schema"], plan["engine"], plan["device"], plan["ranks"]) == (
        1,
        {"version": "0.5.9", "dialect": "0.5.9"},
        "cuda",
        8,
    )
    assert plan["pool"] == {"tokens": 159294, "cell_bytes": 70272, "kv_bytes": 159294 * 70272}
    assert plan["arguments"]["hicache-size"] == 48
    assert plan["host_cache"]["bytes_total"] == 683061 * 70272 * 8
    assert result["plan_text"] == "\n".join([*result["report"], ""])
    assert result["plan_html"].startswith("<!DOCTYPE html>")
    assert result["report"][0] == "kimi-k2.5 on SGLang 0.5.9 (dialect 0.5.9), cuda, 8 ranks"


def test_a_null_takes_a_wish_of_the_profile_away() -> None:
    plan = run(options(serving={"hicache_size": None, "hicache_ratio": 4.0}))["plan"]
    assert plan["arguments"]["hicache-ratio"] == 4.0
    assert "hicache-size" not in plan["arguments"]
    assert plan["host"]["available_after_start_bytes"] / GIB == pytest.approx(78, abs=2)


def test_a_second_run_while_the_server_stands_plans_the_same_bytes() -> None:
    first = run(options())
    full = [{**gpu, "memory_free_bytes": 5 * GIB} for gpu in TOPOLOGY["gpus"]]
    standing = {**TOPOLOGY, "gpus": full, "memory": {"total_bytes": 449 * GIB, "available_bytes": 77 * GIB}}
    came = [{"unit": "sglang-other.service", "memory_bytes": 20 * GIB}]
    records = {"plan": first["plan"], "verdict": None, "calibration": None}
    second = run(options(topology=standing, recorded=records, other_engines=came, instance_running=True))
    assert json.dumps(second["plan"]) == json.dumps(first["plan"])
    assert second["plan_text"] == first["plan_text"]


def test_a_later_plan_stands_on_what_the_first_start_measured() -> None:
    model = {**profile("kimi-k2.5")["model"], "identity": "f00d"}
    first = run(options(model=model))["plan"]
    measured = {
        "engine_version": "0.5.9",
        "measured": "journal 2026-02-24",
        "model": first["model"],
        "ranks": 8,
        "free_before_load_bytes": int(94.04 * GIB),
        "free_after_load_bytes": int(22.71 * GIB),
        "arguments": first["arguments"],
    }
    records = {"plan": first, "verdict": {"passed": True}, "calibration": measured}
    unchanged = run(options(model=model, recorded=records, instance_running=True))["plan"]
    assert json.dumps(unchanged) == json.dumps(first)
    changed = run(options(model=model, recorded=records, instance_running=True, serving={"hicache_size": 40}))["plan"]
    assert changed["pool"]["tokens"] == pytest.approx((22.71 - 94.04 * 0.12) * GIB / 70272, abs=1)
    records = {**records, "plan": changed}
    again = run(options(model=model, recorded=records, instance_running=True, serving={"hicache_size": 40}))["plan"]
    assert json.dumps(again) == json.dumps(changed)


@pytest.mark.parametrize("record", [[1], "x", 7])
def test_a_recorded_plan_that_is_none_is_left_aside_with_a_warning(record: Any) -> None:
    result = run(options(recorded={"plan": record}, instance_running=True))
    assert result["plan"]["notes"][0].startswith("The instance runs and no earlier plan says what was free")
    (warning,) = result["warnings"]
    assert warning.startswith("The recorded plan is ")
    assert warning.endswith(" where a dictionary was expected: it is left aside.")


def test_hardware_that_nobody_owns_yet() -> None:
    result = run(options(topology=None, hardware={"gpus": 8, "gpu_memory_gib": 95.59, "ram_gib": 449}))
    assert result["plan"]["pool"]["tokens"] == 159294


def test_the_tiny_model_on_this_machine() -> None:
    result = run(options("tiny-llama", topology=None, hardware={"gpus": 0, "ram_gib": 16}))
    assert result["plan"]["gpu"] is None
    assert result["plan"]["pool"]["tokens"] == 40000
    assert result["plan"]["engine"]["dialect"] == "0.5.23"


@pytest.mark.parametrize(
    ("more", "name", "words"),
    [
        ({"serving": {"tp": 6}}, "tensor_parallel", "serving.tp is 6, which does not divide its 64 attention heads"),
        ({"serving": {"tp": 16}}, "gpu_count", "asks for 16 usable GPUs; this host has 8"),
        ({"serving": {"mem_fraction_static": 0.93}}, "headroom", "leaves 0.83 GiB free"),
        ({"serving": {"hicache_size": 300}}, "host_memory", "2,400 GB in all"),
        ({"serving": {"tp": "8"}}, "serving_value", "serving.tp is the text '8'"),
        ({"serving": {"tensor": 8}}, "serving_key", "serving has the key 'tensor'"),
        ({"arguments": {"mem-fractoin": 1}}, "argument", "has no flag --mem-fractoin"),
        ({"engine_version": "0.5.4"}, "input", "SGLang 0.5.4 is older than 0.5.5"),
        ({"topology": {"gpus": []}}, "input", "memory in The topology is nothing"),
        ({"model": {"name": "x"}}, "input", "The model given to planning: architecture is missing"),
        ({"calibration": {"graph_bytes": "x"}}, "input", "The calibration: graph_bytes is the text 'x'"),
    ],
)
def test_bad_input_ends_with_a_sentence_and_a_name(more: dict[str, Any], name: str, words: str) -> None:
    result = run(options(**more))
    assert result["failed"] is True
    assert words in result["msg"]
    assert [row["name"] for row in result["refusals"]] == [name]
    assert "plan" not in result


def test_a_refusal_shows_the_figures_that_led_to_it() -> None:
    result = run(options(serving={"mem_fraction_static": 0.93}))
    assert (
        "  = free after graph capture                        0.83  headroom; at least 0.88 GiB must stay"
        in result["report"]
    )
    assert '<p class="state bad">Refused: it cannot be started as it is asked for</p>' in result["plan_html"]


def test_a_refusal_before_any_figure_has_no_page() -> None:
    result = run(options(serving={"tp": 6}))
    assert set(result) == {"failed", "msg", "refusals"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"topology": None}, "one of the following is required: topology, hardware"),
        ({"hardware": {}}, "parameters are mutually exclusive: topology|hardware"),
        ({"model": None}, "missing required arguments: model"),
        ({"instance_running": "perhaps"}, "argument 'instance_running' is of type str and we were unable to convert to bool"),
        (
            {"tp": 8},
            "Unsupported parameters for (blackwell.inference.memory_plan) module: tp. Supported parameters include: arguments, calibration, draft_model",
        ),
    ],
)  # fmt: skip
def test_options_are_checked_in_the_words_of_ansible(changes: dict[str, Any], message: str) -> None:
    result = run(options(**changes))
    assert result["failed"] is True
    assert result["msg"].startswith(message)


def test_it_does_not_support_async() -> None:
    with pytest.raises(AnsibleActionFail, match=r"^This action \(memory_plan\) does not support async\.$"):
        run_action("memory_plan", options(), async_seconds=10)


def test_the_module_by_itself_says_who_plans() -> None:
    result = run_module("memory_plan", {"hardware": {}, "model": {}, "engine_version": "0.5.9"}, {})
    assert result["msg"] == (
        "The module memory_plan was run by itself; it plans nothing on a host. A task that calls blackwell.inference.memory_plan was expected, "
        "whose action plugin plans on the controller."
    )


PLAY = """
- hosts: unreachable
  gather_facts: false
  become: true
  module_defaults:
    group/blackwell.inference.all: {engine_version: "%(engine_version)s"}
  vars:
    data: "{{ lookup('ansible.builtin.file', profile) | from_yaml }}"
    asked: "{{ data.inference_profile_data.serving | combine({'tp': 4 * 2}) }}"
  tasks:
    - name: Plan
      blackwell.inference.memory_plan:
        hardware: {gpus: 8, gpu_memory_gib: 95.59, ram_gib: 449}
        model: "{{ data.inference_profile_data.model }}"
        serving: "{{ asked }}"
        arguments: "{{ data.inference_profile_data.arguments }}"
        calibration: "{{ data.inference_profile_data.measured }}"
        environment: {SINCE: 2026-02-24}
        recorded: {plan: [1]}
        instance_running: "yes"
      loop: [first, second]
      run_once: true
      delegate_to: elsewhere
      register: planned
    - name: Keep what came of it
      ansible.builtin.copy:
        content: "{{ planned | to_json }}"
        dest: "{{ kept }}"
      delegate_to: localhost
      become: false
      check_mode: false
"""


@pytest.mark.parametrize("check", [False, True], ids=["run", "check mode"])
def test_in_a_play_it_reaches_no_host(tmp_path: Path, check: bool) -> None:
    """Values as Ansible templates them, defaults of the group, a loop, another host to delegate to: and no connection for any of it."""
    (tmp_path / "play.yml").write_text(PLAY % {"engine_version": profile("kimi-k2.5")["sglang_version"]})
    inventory = "unreachable ansible_host=192.0.2.1\nelsewhere ansible_host=192.0.2.2\n"
    (tmp_path / "hosts").write_text(inventory + "localhost ansible_connection=local\n")
    given = {"profile": str(ROOT / "playbooks" / "profiles" / "kimi-k2.5.yml"), "kept": str(tmp_path / "kept.json")}
    command = [str(Path(sys.executable).parent / "ansible-playbook"), "-i", str(tmp_path / "hosts")]
    command += [str(tmp_path / "play.yml"), "-e", json.dumps(given), *(["--check"] if check else [])]
    done = subprocess.run(
        command, env={**os.environ, **environment(tmp_path)}, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((tmp_path / "kept.json").read_text())["results"]
    assert [result["plan"]["pool"]["tokens"] for result in results] == [159294] * 2
    assert results[0]["changed"] is False
    assert results[0]["plan_text"] == "\n".join([*results[0]["report"], ""])
    assert results[0]["plan_html"].startswith("<!DOCTYPE html>")
    assert "The recorded plan is a list where a dictionary was expected: it is left aside." in done.stdout + done.stderr


def test_as_an_ad_hoc_task(tmp_path: Path) -> None:
    """The whole way: argument parsing, module transfer, JSON."""
    arguments = options(topology=None, hardware={"gpus": 8, "gpu_memory_gib": 95.59, "ram_gib": 449})
    task = {key: value for key, value in arguments.items() if value is not None}
    command = [str(Path(sys.executable).parent / "ansible"), "-i", "localhost,", "-c", "local", "localhost"]
    module = ["-m", "blackwell.inference.memory_plan", "-a", json.dumps(task)]
    done = subprocess.run(
        [*command, *module],
        env={**os.environ, **environment(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout.split("=>", 1)[1])["plan"]["pool"]["tokens"] == 159294
