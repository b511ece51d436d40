# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is observed of each described host: its trees in /proc and /sys and its NVML library must be read as one story."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.files import HostFiles
from ansible_collections.blackwell.inference.plugins.module_utils.observe.nvml.gpus import ChildNvmlReader
from ansible_collections.blackwell.inference.plugins.module_utils.observe.topology import HostTopology, observe
from ansible_collections.blackwell.inference.tests.doubles.nvml.build import build
from ansible_collections.blackwell.inference.tests.doubles.nvml.description import HOSTS, gpus, load
from ansible_collections.blackwell.inference.tests.doubles.nvml.dress import dress

NAMES = sorted(path.stem for path in HOSTS.glob("*.json"))
P2P = {"OK": "OK", "CNS": "CHIPSET_NOT_SUPPORTED", "GNS": "GPU_NOT_SUPPORTED", "NS": "NOT_SUPPORTED"}
IOMMU = {None: "off", "identity": "passthrough", "DMA-FQ": "translated"}
SERVER = "rtx-pro-6000-server-8x"

Observe = Callable[..., HostTopology]


@pytest.fixture(scope="module")
def dressed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The tree of a described host, made once."""
    trees: dict[str, Path] = {}

    def tree(name: str) -> Path:
        if name not in trees:
            trees[name] = tmp_path_factory.mktemp(name)
            dress(load(name), trees[name])
        return trees[name]

    return tree


@pytest.fixture
def observed(dressed: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Observe:
    """`observed(name)`; `faults` happen in the library alone."""
    monkeypatch.setattr(psutil, "PROCFS_PATH", "/proc")

    def read(name: str, faults: Sequence[dict[str, Any]] = (), timeout_seconds: float = 20) -> HostTopology:
        description = tmp_path / "host.json"
        description.write_text(json.dumps({**load(name), "faults": list(faults)}))
        monkeypatch.setenv("FAKE_NVML", str(description))
        files = HostFiles(str(dressed(name) / "overmount"))
        return observe(files, ChildNvmlReader(files, str(build()), timeout_seconds), None)

    return read


def hang(function: str, **gpu: int) -> dict[str, Any]:
    return {"function": function, "delay_ms": 60000, **gpu}


def levels(description: dict[str, Any], count: int) -> list[list[str]]:
    """The matrix of a description, which gives rows or one word for all pairs."""
    given = description["topology"]["levels"]
    rows = [row.split() for row in given] if isinstance(given, list) else [[given] * count for _row in range(count)]
    return [["SELF" if row == column else rows[row][column] for column in range(count)] for row in range(count)]


@pytest.mark.parametrize("name", NAMES)
def test_memory_kernel_and_bus(observed, name):
    description = load(name)
    topology = observed(name)
    nodes = description["numa_nodes"]
    assert [node.cpus for node in topology.memory.numa_nodes] == [node["cpus"] for node in nodes]
    assert topology.memory.total_bytes == pytest.approx(
        sum(node["memory_bytes"] for node in nodes), abs=4096 * len(nodes)
    )
    assert topology.memory.available_bytes == pytest.approx(description["memory"]["available_bytes"], abs=4096)
    assert topology.kernel.command_line == description["system"]["cmdline"]
    assert topology.kernel.iommu_mode == IOMMU[description["iommu_group_type"]]
    uvm = next(module for module in topology.kernel.modules if module.name == "nvidia_uvm")
    assert uvm.parameters.get("uvm_disable_hmm") == description["modules"]["nvidia_uvm"].get("uvm_disable_hmm")
    assert topology.driver.kernel_module_version == description["driver"]["kernel_module_version"]
    assert topology.driver.kernel_module_open is True
    assert [device.address for device in topology.pci_gpus] == sorted(
        gpu["pci"]["address"] for gpu in gpus(description)
    )
    assert topology.cpu.sockets == description["cpu"]["sockets"]
    assert topology.cpu.model == description["cpu"]["model"]
    assert topology.virtualisation.kind == (
        "kvm" if description["system"]["dmi"]["sys_vendor"] == "QEMU" else "bare_metal"
    )


@pytest.mark.parametrize("name", [name for name in NAMES if "mismatch" not in name])
def test_gpus_and_interconnect(observed, name):
    description = load(name)
    topology = observed(name)
    described = gpus(description)
    assert topology.driver.error is None
    assert topology.driver.nvml_version == description["driver"]["nvml_version"]
    for gpu, wanted in zip(topology.gpus, described, strict=True):
        assert gpu.pci_address == wanted["pci"]["address"]
        assert gpu.numa_node == (wanted["numa_node"] if wanted["numa_node"] >= 0 else None)
        if wanted.get("state") == "GPU_IS_LOST":
            assert (gpu.state, gpu.uuid) == ("lost", None)
            continue
        assert (gpu.state, gpu.error, gpu.uuid, gpu.name) == ("ok", None, wanted["uuid"], wanted["name"])
        assert gpu.memory_total_bytes == wanted["memory"]["total_bytes"]
        assert gpu.memory_reserved_bytes == wanted["memory"]["reserved_bytes"]
        assert gpu.memory_total_bytes == gpu.memory_used_bytes + gpu.memory_free_bytes + gpu.memory_reserved_bytes
        assert gpu.bar1_total_bytes == wanted["bar1"]["total_bytes"]
        assert gpu.compute_capability == "{major}.{minor}".format(**wanted["compute_capability"])
        assert gpu.pcie["max_generation"] == wanted["pcie"]["max_generation"]
        assert gpu.power["max_watts"] == wanted["power"]["max_mw"] / 1000
    alive = [gpu.index for gpu in topology.gpus if gpu.state == "ok"]
    expected = levels(description, len(described))
    read = P2P[description["topology"]["p2p"]["read"]]
    for row in range(len(described)):
        for column in range(len(described)):
            seen = (topology.interconnect.ancestor[row][column], topology.interconnect.p2p_read[row][column])
            if row not in alive or column not in alive:
                assert seen == (None, None)
            else:
                assert seen == (expected[row][column], "SELF" if row == column else read)


def test_nvlinks_and_fabric(observed):
    topology = observed("b200-8x")
    assert {gpu.nvlinks_active for gpu in topology.gpus} == {18}
    assert [gpu.fabric for gpu in topology.gpus] == [{"state": "completed", "status": "SUCCESS"}] * 8


def test_cards_without_nvlink_have_neither(observed):
    topology = observed(SERVER)
    assert {(gpu.nvlinks_active, gpu.fabric) for gpu in topology.gpus} == {(None, None)}


def test_a_library_newer_than_the_module_names_both(observed):
    topology = observed("rtx-pro-6000-server-8x-mismatch")
    assert topology.gpus == ()
    assert len(topology.pci_gpus) == 8
    assert topology.driver.error == (
        "The NVIDIA library is of version 595.71.05 and the loaded kernel module of version 595.58.03: they must be the same. "
        "After a driver upgrade reload the module or reboot; in a container install the host's driver version."
    )


def test_hung_gpus_cost_the_others_nothing(observed):
    topology = observed(
        SERVER, [hang("nvmlDeviceGetMemoryInfo*", gpu=3), hang("nvmlDeviceGetHandleByIndex*", gpu=5)], 2
    )
    assert [gpu.state for gpu in topology.gpus] == ["ok", "ok", "ok", "timeout", "ok", "timeout", "ok", "ok"]
    assert topology.gpus[3].error == (
        "GPU 3 told nothing: nvmlDeviceGetMemoryInfo did not return within 2 seconds. Look for NVRM or Xid in the kernel log; "
        "a hung GPU needs a reset or a reboot of the host."
    )
    assert topology.gpus[5].error.startswith(
        "GPU 5 told nothing: nvmlDeviceGetHandleByIndex did not return within 2 seconds."
    )
    assert topology.gpus[3].pci_address == gpus(load(SERVER))[3]["pci"]["address"]
    assert topology.interconnect.ancestor[4] == ["SYS", "SYS", "SYS", None, "SELF", None, "NODE", "NODE"]


def test_a_hung_driver_is_a_fact(observed):
    topology = observed(SERVER, [hang("nvmlInit*")], 1)
    assert topology.gpus == ()
    assert topology.driver.error == (
        "NVML told nothing: nvmlInit did not return within 1 seconds. Look for NVRM or Xid in the kernel log; a hung driver needs a reboot of the host."
    )


def test_a_hung_interconnect_is_noted(observed):
    topology = observed(SERVER, [hang("nvmlDeviceGetP2PStatus", gpu=2)], 1)
    assert [gpu.state for gpu in topology.gpus] == ["ok"] * 8
    assert [(note.what, note.why) for note in topology.unread if note.what == "interconnect"] == [
        ("interconnect", "nvmlDeviceGetP2PStatus did not return within 1 seconds")
    ]
    assert topology.interconnect.p2p_read[1][0] == "OK"
    assert topology.interconnect.p2p_read[7] == [None] * 8


def test_facts_change_nothing(observed, tmp_path, monkeypatch):
    log = tmp_path / "calls"
    monkeypatch.setenv("FAKE_NVML_LOG", str(log))
    observed(SERVER)
    calls = {line.split()[1] for line in log.read_text().splitlines()}
    assert "nvmlDeviceGetMemoryInfo_v2" in calls
    assert [call for call in calls if "Set" in call or "Clear" in call or "Reset" in call] == []


def test_the_result_travels_as_json(observed):
    result = json.loads(json.dumps(observed("design-host").as_dict()))
    assert len(result["gpus"]) == 8
