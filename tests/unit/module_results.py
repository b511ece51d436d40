# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each module returns, made by the code that makes it on a host: enough variants to show each key at least once."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.blackwell.inference.plugins.action.deployment_inputs import ActionModule
from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import PlanningError
from ansible_collections.blackwell.inference.plugins.module_utils.deploy import installed, state
from ansible_collections.blackwell.inference.plugins.module_utils.deploy.installation import Installation
from ansible_collections.blackwell.inference.plugins.module_utils.model.spec import model_from_dict
from ansible_collections.blackwell.inference.plugins.module_utils.model.weight_shares import Share, WeightShares
from ansible_collections.blackwell.inference.plugins.module_utils.observe.files import HostFiles, Unread
from ansible_collections.blackwell.inference.plugins.module_utils.observe.kernel_log import KernelEntry, KernelLog
from ansible_collections.blackwell.inference.plugins.module_utils.observe.nvml.gpus import ChildNvmlReader
from ansible_collections.blackwell.inference.plugins.module_utils.observe.topology import observe
from ansible_collections.blackwell.inference.plugins.module_utils.planning.planner import plan_memory
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.host import host_from_topology
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.request import PlanRequest
from ansible_collections.blackwell.inference.plugins.module_utils.proxmox.escalation import release as release_guest
from ansible_collections.blackwell.inference.plugins.module_utils.release.kernel_faults import read_evidence
from ansible_collections.blackwell.inference.plugins.module_utils.release.release import list_holders, release
from ansible_collections.blackwell.inference.plugins.module_utils.release.request import ReleaseRequest
from ansible_collections.blackwell.inference.plugins.module_utils.sglang import api
from ansible_collections.blackwell.inference.plugins.module_utils.verify.calibration import calibration_of
from ansible_collections.blackwell.inference.plugins.module_utils.verify.verdict import Level
from ansible_collections.blackwell.inference.plugins.module_utils.verify.verify import LEVELS, verdict_of
from ansible_collections.blackwell.inference.plugins.module_utils.wait import watch
from ansible_collections.blackwell.inference.tests.doubles.nvml.build import build
from ansible_collections.blackwell.inference.tests.doubles.nvml.description import load
from ansible_collections.blackwell.inference.tests.doubles.nvml.dress import dress
from ansible_collections.blackwell.inference.tests.unit.model.test_families import NAMES as MODELS
from ansible_collections.blackwell.inference.tests.unit.model.test_families import published
from ansible_collections.blackwell.inference.tests.unit.proxmox import test_escalation as guests
from ansible_collections.blackwell.inference.tests.unit.release import scripted
from ansible_collections.blackwell.inference.tests.unit.verify.design_host import PLANNED, READING, changed_plan
from ansible_collections.blackwell.inference.tests.unit.verify.test_verify import FACTS

Result = dict[str, Any]
ROLES = Path(__file__).parents[2] / "roles"
UNREAD = (Unread("/proc/1/maps", "Permission denied"),)
# A stand-in for device nodes that open on this machine, so that no root is needed.
NODE_NUMBERS = [(7, number) for number in range(9)] + [(203, 0), (203, 1)]


def topology_facts(folder: Path, setenv: Callable[[str, str], None]) -> list[Result]:
    """Of two described hosts, through the double of the NVML library: one with a fabric, one with a lost GPU."""
    results = []
    for name in ("b200-8x", "rtx-pro-6000-server-8x-lost"):
        tree = folder / name
        tree.mkdir()
        dress(load(name), tree, NODE_NUMBERS)
        setenv("FAKE_NVML", str(tree / "rootfs/etc/fake-nvml.json"))
        files = HostFiles(str(tree / "overmount"))
        found = observe(files, ChildNvmlReader(files, str(build()), 20), "none").as_dict()
        results.append({"ansible_facts": {"blackwell_topology": json.loads(json.dumps(found))}})
    return results


def model_info() -> list[Result]:
    """Each kind of attention, and one checkpoint whose tensors were read."""
    share = Share(1, 2, 3, 4, 8)
    read = model_from_dict(published("kimi-k2.5").as_dict())
    shares = WeightShares(((60, share),), first=share, last=share, every=share, draft=share, tied=True)
    read = replace(
        read, weights=replace(read.weights, tensors=7, by_dtype={"BF16": 1}, replicated_bytes=1, shares=shares)
    )
    return [{"model": model.as_dict()} for model in (read, *map(published, MODELS))]


def memory_plan(request_for: Callable[..., PlanRequest], topology: Result) -> list[Result]:
    host = host_from_topology(topology, [{"unit": "sglang-other.service", "memory_bytes": 1 << 30}])
    drafting = {"version": "0.5.14", "speculative_algorithm": "EAGLE3", "speculative_num_steps": 3}
    drafting |= {"speculative_eagle_topk": 1, "speculative_num_draft_tokens": 4, "mem_fraction_static": 0.86}
    cpu = {
        "hardware": {"gpus": 0, "ram_gib": 64, "ram_available_gib": 60},
        "device": "cpu",
        "tp": 1,
        "mem_fraction_static": None,
    }
    requests = [
        request_for(hicache_size=48, mem_fraction_static=0.93, force=["headroom"]),
        request_for(replaced={"host": host, "recorded_calibration": True}, hicache_ratio=2.0),
        request_for(replaced={"draft": published("kimi-k25-eagle3"), "draft_model_path": "/srv/draft"}, **drafting),
        request_for(model=replace(published("glm-5.2"), draft_layers=1), speculative_algorithm="NEXTN"),
        request_for(version="0.5.23", model=published("llama-3.1-8b"), calibration={}, max_total_tokens=4000, **cpu),
    ]
    results: list[Result] = [{"plan": plan_memory(request).as_dict()} for request in requests]
    try:
        plan_memory(request_for(mem_fraction_static=0.93))
    except PlanningError as refused:
        results.append(refused.details)
    return results


SHOW = """ActiveState=inactive
DropInPaths=/etc/systemd/system/sglang-kimi.service.d/own.conf
ControlGroup=/system.slice/sglang-kimi.service
FragmentPath=/etc/systemd/system/sglang-kimi.service
InvocationID=24b1c3
LoadState=loaded
MemoryCurrent=4096
Result=success
SubState=dead
UnitFileState=enabled
"""


def systemctl(arguments: list[str]) -> tuple[int, str, str]:
    return 0, SHOW, ""


def deployment_info(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Result]:
    """An instance of which nothing is on the host, and another engine that runs."""
    monkeypatch.setattr(state, "other_engines", lambda unit, directory: {"sglang-other.service": 1 << 30})
    kinds = ("config", "environment", "unit")
    files = [installed.WantedFile(kind, f"/none/{kind}", "", kind, "root", "root", "0640") for kind in kinds]
    directories = (installed.WantedDirectory("/none", "root", "root", "0755"),)
    environments = ({"path": "/none", "requirements": {"torch": "2.9.1"}, "engine": True},)
    asked = {"files": tuple(files), "environments": environments, "users": ("nobody-here",), "packages": ("none",)}
    results: list[Result] = []
    for port in (None, 1):
        wanted = state.Wanted("sglang-kimi.service", port, folder, folder, directories=directories, **asked)
        results.append({"deployment": state.read_deployment(systemctl, wanted)})
    return results


def gpu_release() -> list[Result]:
    """Of a machine that has all of it: a holder that was ended, one that is not ours, leftovers, an Xid and another fault."""
    ours, other = scripted.holder(10), scripted.stranger(20)
    cards = [scripted.gpu(0, 40 << 30, {10: 40 << 30, 20: None})]
    look = scripted.seen(cards, [ours, other], [scripted.segment("psm_1")])
    request = ReleaseRequest(unit=scripted.UNIT, uid=scripted.SERVICE_UID, environment=scripted.MARK)
    after = scripted.seen([scripted.gpu()])
    return [
        {"release": list_holders(scripted.ScriptedHost(look, evidence=evidence()), request).as_dict()},
        {"release": replace(release(scripted.ScriptedHost(look, after), request), unread=UNREAD).as_dict()},
    ]


def evidence() -> Any:
    xid = "NVRM: Xid (PCI:0000:00:00): 79, pid=1, name=python3, GPU has fallen off the bus."
    fault = "NVRM: GPU 0000:00:00.0: unexpected WPR2 already up, cannot proceed with booting GSP"
    entries = tuple(KernelEntry(1_700_000_000.0, line) for line in (xid, fault))
    return read_evidence(KernelLog(True, "boot", entries), ["0000:00:00.0"])


def proxmox_gpu_guests() -> list[Result]:
    seen = guests.state(guests.CONTAINER, guests.RANK, guests.KVM, others=(guests.VM,), unread=UNREAD)
    told = release_guest(guests.FakeDoor(seen), guests.request("none"))
    whole = seen.host.as_dict()
    return [{"guests": {**whole, "release": None}}, {"guests": {**whole, "release": told.as_dict()}}]


def server_ready() -> list[Result]:
    wish = watch.Wish("sglang-kimi.service", "SGLang", api.Server("http://127.0.0.1:1", None), 300, 430.0, 64, None)
    return [{"readiness": watch.watch_start(systemctl, wish, watch.Watch(), 0)}]


def server_verify() -> list[Result]:
    """The design host, the same with a draft, and a server on a CPU that logged no pools."""
    levels = tuple(Level(name, LEVELS[name].check(facts)) for name, facts in FACTS.items())
    verdict = verdict_of(levels, "kimi", "a1", "2026-02-24T10:12:00Z", "2026-02-24T10:12:03Z")
    journal = READING.journal
    drafting = tuple(replace(rank, draft_weights_bytes=1 << 30, weights_bytes=2 << 30) for rank in journal.ranks)
    bare = tuple(replace(rank, pools=(), host_pools=(), graphs=()) for rank in journal.ranks)
    starts = [(PLANNED, journal), (PLANNED, replace(journal, ranks=drafting))]
    starts.append((changed_plan({"device": "cpu", "gpu": None}), replace(journal, ranks=bare)))
    figures = [calibration_of(plan, "0.5.9", replace(READING, journal=start)) for plan, start in starts]
    return [{"verdict": verdict, "calibration": one} for one in figures]


def pinned_environment(folder: Path) -> list[Result]:
    """Nothing was begun."""
    return [{"installation": Installation(folder / "env", folder / "lock", "python3", run=folder).look()}]


def deployment_inputs() -> list[Result]:
    """With the locks that ship, and of a play that needs none."""
    locks = {"__inference_sglang_lock": "sglang_runtime/files/requirements-0.5.23.txt"}
    locks["__inference_toolbox_lock"] = "toolbox/files/requirements.txt"
    action = object.__new__(ActionModule)
    action._value = lambda name: str(ROLES / locks[name])
    return [{"inputs": action._locks()}, {"inputs": {}}]
