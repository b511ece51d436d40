# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each described host tells one story: NVML, /dev, /sys and /proc agree, and every figure says where it is from."""

from __future__ import annotations

import functools
import json
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.blackwell.inference.tests.doubles.nvml import nodes as device_nodes
from ansible_collections.blackwell.inference.tests.doubles.nvml.description import HOSTS, load, ranges_of
from ansible_collections.blackwell.inference.tests.doubles.nvml.dress import dress

NAMES = sorted(path.stem for path in HOSTS.glob("*.json"))
# A stand-in for what opens on this machine, so that these tests need no root.
NUMBERS = [(7, number) for number in range(9)] + [(203, 0), (203, 1)]

READ_GPUS = """
def read(index):
    gpu = N.nvmlDeviceGetHandleByIndex(index)
    pci = N.nvmlDeviceGetPciInfo(gpu)
    return {
        "name": N.nvmlDeviceGetName(gpu), "uuid": N.nvmlDeviceGetUUID(gpu), "minor": N.nvmlDeviceGetMinorNumber(gpu),
        "address": pci.busIdLegacy.lower(), "device": pci.pciDeviceId, "subsystem": pci.pciSubSystemId,
        "vbios": N.nvmlDeviceGetVbiosVersion(gpu), "bar1": N.nvmlDeviceGetBAR1MemoryInfo(gpu).bar1Total,
        "width": N.nvmlDeviceGetCurrPcieLinkWidth(gpu),
        "cpus": list(N.nvmlDeviceGetCpuAffinity(gpu, 4)),
        "nodes": attempt(lambda: list(N.nvmlDeviceGetMemoryAffinity(gpu, 1, 0))),
        "hmm": N.nvmlDeviceGetAddressingMode(gpu),
    }
N.nvmlInit()
tell([attempt(read, index) for index in range(N.nvmlDeviceGetCount())])
"""


class Dressed:
    """What a program finds on a dressed host, at the paths it would use."""

    def __init__(self, tree: Path) -> None:
        self.tree = tree
        self.root = tree / "overmount"

    def text(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8").strip()

    def names(self, path: str) -> list[str]:
        return sorted(entry.name for entry in (self.root / path).iterdir())

    def nodes(self) -> dict[str, dict[str, Any]]:
        return {node["path"]: node for node in json.loads((self.tree / "nodes.json").read_text(encoding="utf-8"))}

    def graphics(self) -> list[str]:
        folder = "sys/bus/pci/devices"
        return [address for address in self.names(folder) if self.text(f"{folder}/{address}/class").startswith("0x03")]

    def kibibytes(self, path: str, name: str) -> int:
        (found,) = re.findall(rf"\b{name}:\s+(\d+) kB", self.text(path))
        return int(found)


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="session")
def wardrobe(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Dressed]:
    """Every tree is made once and only read."""

    @functools.cache
    def made(name: str) -> Dressed:
        tree = tmp_path_factory.mktemp(name)
        dress(load(name), tree, NUMBERS)
        return Dressed(tree)

    return made


@pytest.fixture
def dressed(name: str, wardrobe: Callable[[str], Dressed]) -> Dressed:
    return wardrobe(name)


@pytest.fixture(scope="session")
def sightings() -> dict[str, list[dict[str, Any]]]:
    return {}


@pytest.fixture
def gpus(machine, name: str, sightings: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """By NVML, those that are lost excepted; a mismatch is looked at as if it were none."""
    if name not in sightings:
        host = machine(name)
        host.content["driver"]["kernel_module_version"] = host.content["driver"]["version"]
        sightings[name] = [gpu for gpu in host.ask(READ_GPUS) if gpu != "GpuIsLost"]
    return sightings[name]


def test_the_shipped_hosts():
    assert NAMES == [
        "b200-8x",
        "design-host",
        "rtx-5090-2x-vm",
        "rtx-pro-6000-maxq-4x",
        "rtx-pro-6000-server-8x",
        "rtx-pro-6000-server-8x-lost",
        "rtx-pro-6000-server-8x-mismatch",
    ]


def test_pci_devices_are_those_of_nvml(gpus, name, dressed):
    lost = [gpu["pci"]["address"] for gpu in load(name)["gpus"] if gpu.get("state") == "GPU_IS_LOST"]
    assert sorted([gpu["address"] for gpu in gpus] + lost) == dressed.graphics()
    for gpu in gpus:
        folder = f"sys/bus/pci/devices/{gpu['address']}"
        assert (
            int(dressed.text(f"{folder}/vendor"), 16) | int(dressed.text(f"{folder}/device"), 16) << 16 == gpu["device"]
        )
        subsystem = int(dressed.text(f"{folder}/subsystem_device"), 16) << 16
        assert int(dressed.text(f"{folder}/subsystem_vendor"), 16) | subsystem == gpu["subsystem"]
        assert int(dressed.text(f"{folder}/current_link_width")) == gpu["width"]
        regions = [[int(word, 16) for word in line.split()] for line in dressed.text(f"{folder}/resource").splitlines()]
        assert max(last - first + 1 for first, last, flags in regions if flags) >= gpu["bar1"]
        assert gpu["bar1"] in [last - first + 1 for first, last, flags in regions if flags]


def test_affinity_is_that_of_sysfs(gpus, dressed):
    for gpu in gpus:
        folder = f"sys/bus/pci/devices/{gpu['address']}"
        cpus = [bit for bit in range(256) if gpu["cpus"][bit // 64] >> (bit % 64) & 1]
        assert ranges_of(cpus) == dressed.text(f"{folder}/local_cpulist")
        node = int(dressed.text(f"{folder}/numa_node"))
        if node < 0:
            assert gpu["nodes"] == "NotSupported"
        else:
            assert gpu["nodes"] == [1 << node]
            assert dressed.text(f"sys/devices/system/node/node{node}/cpulist") == dressed.text(
                f"{folder}/local_cpulist"
            )


def test_the_driver_names_the_gpus_of_nvml(gpus, dressed):
    for gpu in gpus:
        text = dressed.text(f"proc/driver/nvidia/gpus/{gpu['address']}/information")
        lines = {key.strip(): value.strip() for key, value in (line.split(":", 1) for line in text.splitlines())}
        assert (lines["Model"], lines["GPU UUID"], int(lines["Device Minor"])) == (
            gpu["name"],
            gpu["uuid"],
            gpu["minor"],
        )
        assert (lines["Bus Location"], lines["Video BIOS"]) == (gpu["address"], gpu["vbios"].lower())


def test_every_gpu_has_its_node_and_every_number_stands_for_one_node(name, dressed):
    nodes = dressed.nodes()
    minors = sorted(gpu["minor"] for gpu in load(name)["gpus"])
    assert sorted(nodes) == sorted(
        [f"/dev/nvidia{minor}" for minor in minors] + ["/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidiactl"]
    )
    assert len({(node["major"], node["minor"]) for node in nodes.values()}) == len(nodes)


def test_proc_devices_names_the_majors_of_the_nodes_and_nothing_else_by_them(name, dressed):
    characters = dressed.text("proc/devices").split("\n\n")[0].splitlines()[1:]
    listed = [(int(major), family) for major, family in (line.split() for line in characters)]
    wanted = set()
    for path, node in dressed.nodes().items():
        family = re.sub(r"nvidia\d+", "nvidia", path.removeprefix("/dev/")).removesuffix("-tools")
        wanted.add((node["major"], family))
    assert {entry for entry in listed if entry[1].startswith("nvidia")} == wanted
    assert [entry for entry in listed if entry[0] in {major for major, _family in wanted} and entry not in wanted] == []


def test_memory_adds_up(name, dressed):
    total = dressed.kibibytes("proc/meminfo", "MemTotal")
    nodes = [node for node in dressed.names("sys/devices/system/node") if node.startswith("node")]
    assert total == sum(dressed.kibibytes(f"sys/devices/system/node/{node}/meminfo", "MemTotal") for node in nodes)
    free, available = (dressed.kibibytes("proc/meminfo", key) for key in ("MemFree", "MemAvailable"))
    assert free <= available <= total
    assert available * 1024 == load(name)["memory"]["available_bytes"]


def test_processors_are_those_of_the_numa_nodes(name, dressed):
    online = dressed.text("sys/devices/system/cpu/online")
    numbers = [int(number) for number in re.findall(r"^processor\s*: (\d+)$", dressed.text("proc/cpuinfo"), re.M)]
    assert ranges_of(numbers) == online
    description = load(name)
    sockets = {dressed.text(f"sys/devices/system/cpu/cpu{number}/topology/physical_package_id") for number in numbers}
    assert len(sockets) == description["cpu"]["sockets"]
    if len(description["numa_nodes"]) == len(sockets):
        for node, described in enumerate(description["numa_nodes"]):
            first = re.match(r"\d+", described["cpus"]).group()
            assert dressed.text(f"sys/devices/system/cpu/cpu{first}/topology/physical_package_id") == str(node)


def test_modules_and_driver_are_of_one_version(machine, name, dressed):
    driver = load(name)["driver"]
    loaded = driver["kernel_module_version"]
    assert f"Kernel Module for x86_64  {loaded}  " in dressed.text("proc/driver/nvidia/version")
    for module in dressed.names("sys/module"):
        if module.startswith("nvidia"):
            assert dressed.text(f"sys/module/{module}/version") == loaded
    started = machine(name).ask("tell(attempt(N.nvmlInit))")
    assert started == (None if driver["version"] == loaded else "LibRmVersionMismatch")


def test_hmm_is_off_where_the_module_was_told_so(gpus, dressed):
    told = dressed.text("sys/module/nvidia_uvm/parameters/uvm_disable_hmm")
    assert {gpu["hmm"] for gpu in gpus} == {{"Y": 0, "N": 1}[told]}


def test_iommu_groups_hold_each_function_once(name, dressed):
    folder = "sys/kernel/iommu_groups"
    members = {
        address: group for group in dressed.names(folder) for address in dressed.names(f"{folder}/{group}/devices")
    }
    if load(name)["iommu_group_type"] is None:
        assert members == {}
        return
    assert sorted(members) == dressed.names("sys/bus/pci/devices")
    for address, group in members.items():
        link = dressed.root / "sys/bus/pci/devices" / address / "iommu_group"
        assert link.resolve() == (dressed.root / folder / group).resolve()


def test_links_lead_somewhere(dressed):
    links = [path for path in dressed.tree.rglob("*") if path.is_symlink()]
    assert links
    assert [str(path) for path in links if not path.exists()] == []


def test_the_library_lies_where_the_loader_looks_and_answers_from_the_same_description(name, dressed):
    library = dressed.tree / "rootfs/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"
    assert os.readlink(library) == f"libnvidia-ml.so.{load(name)['driver']['version']}"
    assert json.loads((dressed.tree / "rootfs/etc/fake-nvml.json").read_text(encoding="utf-8")) == load(name)


def test_replaced_directories_are_in_the_tree(dressed):
    replaced = json.loads((dressed.tree / "overmount.json").read_text(encoding="utf-8"))["replace"]
    assert [path for path in replaced if not (dressed.root / path.lstrip("/")).is_dir()] == []


# Descriptions


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    if isinstance(value, dict):
        return {key: leaf for name, inner in value.items() for key, leaf in leaves(inner, f"{path}.{name}").items()}
    if isinstance(value, list):
        return {
            key: leaf for place, inner in enumerate(value) for key, leaf in leaves(inner, f"{path}[{place}]").items()
        }
    return {path: value}


@pytest.mark.parametrize(
    ("name", "difference"),
    [
        ("rtx-pro-6000-server-8x-lost", {".gpus[3].state": "GPU_IS_LOST"}),
        (
            "rtx-pro-6000-server-8x-mismatch",
            {".driver.version": "595.71.05", ".driver.nvml_version": "13.595.71.05"},
        ),
    ],
)
def test_a_variant_differs_from_its_machine_in_its_fault_only(name, difference):
    def plain(which: str) -> dict[str, Any]:
        return {key: value for key, value in load(which).items() if key not in ("description", "provenance")}

    base, variant = leaves(plain("rtx-pro-6000-server-8x")), leaves(plain(name))
    assert {key: value for key, value in variant.items() if base.get(key) != value} == difference


def test_provenance_names_a_public_source_or_says_estimate(name):
    provenance = load(name)["provenance"]
    elsewhere = r"github\.com/\S+/\S+|nvml\.h|NVIDIA's|QEMU|measured on|logs/asus-report|\w\.json"
    own_words = r"estimate|assumption|invented|[Tt]he same|in the same place"
    assert [key for key, source in provenance.items() if not re.search(f"{elsewhere}|{own_words}", source)] == []


@pytest.mark.parametrize("key", ["uuid", "minor"])
def test_gpus_are_told_apart(name, key):
    values = [gpu[key] for gpu in load(name)["gpus"]]
    assert len(set(values)) == len(values)


@pytest.mark.parametrize("name", ["design-host"])
def test_the_design_host_is_the_measured_one(dressed):
    total, available = (dressed.kibibytes("proc/meminfo", key) for key in ("MemTotal", "MemAvailable"))
    assert (total, available) == (449 << 20, 445 << 20)


# Nodes


def test_uvm_has_a_major_of_its_own_where_one_is_left():
    made = {node["path"]: node["major"] for node in device_nodes.nodes(load("rtx-5090-2x-vm"), NUMBERS)}
    assert (made["/dev/nvidia0"], made["/dev/nvidia-uvm"], made["/dev/nvidia-uvm-tools"]) == (7, 203, 203)


def test_too_few_numbers_are_refused():
    with pytest.raises(device_nodes.NodeError) as refusal:
        device_nodes.nodes(load("design-host"), NUMBERS[:10])
    assert str(refusal.value) == (
        "11 device nodes need as many numbers of devices that can be opened, and this kernel has 10 of the candidates: "
        "add harmless ones to CANDIDATES in nodes.py."
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes device nodes")
def test_chosen_numbers_can_be_opened_and_are_not_what_everybody_holds(tmp_path):
    for node in device_nodes.nodes(load("rtx-pro-6000-server-8x")):
        path = Path("/dev/shm") / f"{tmp_path.name}-{os.getpid()}"
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(node["major"], node["minor"]))
        try:
            os.close(os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK))
        finally:
            path.unlink()
        assert (node["major"], node["minor"]) != (1, 3)
