# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""topology_facts as Ansible runs it: against the described hosts' NVML, on hosts with and without the libraries, for root and for others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.blackwell.inference.tests.doubles.nvml.build import build
from ansible_collections.blackwell.inference.tests.doubles.nvml.description import HOSTS, load
from ansible_collections.blackwell.inference.tests.integration.ad_hoc import ansible, result_of
from ansible_collections.blackwell.inference.tests.testhost import host as hosts
from ansible_collections.blackwell.inference.tests.testhost.host import Host
from ansible_collections.blackwell.inference.tests.testhost.site import CHECKOUT, Site

MODULE = "blackwell.inference.topology_facts"
SERVER = "rtx-pro-6000-server-8x"
NAMES = sorted(path.stem for path in HOSTS.glob("*.json"))
# What Ansible itself may leave behind, and what changes by itself.
PASSED_OVER = ("/proc", "/sys", "/run", "/tmp", "/dev", "/var/log", "/root/.ansible")

Run = Callable[..., tuple[dict[str, Any], str]]


def here(arguments: dict[str, Any], python: str = sys.executable, **environment: str) -> dict[str, Any]:
    options = ["localhost", "-m", MODULE, "-a", json.dumps(arguments), "-e", f"ansible_python_interpreter={python}"]
    return result_of(ansible(*options, **environment))


def topology_of(result: dict[str, Any]) -> dict[str, Any]:
    assert "ansible_facts" in result, result.get("msg")
    assert not result["changed"]
    return result["ansible_facts"]["blackwell_topology"]


@pytest.mark.parametrize("name", NAMES)
def test_every_described_host(name):
    topology = topology_of(here({"nvml_library": str(build())}, FAKE_NVML=str(HOSTS / f"{name}.json")))
    described = load(name)
    mismatch = described["driver"]["version"] != described["driver"]["kernel_module_version"]
    assert [gpu["state"] for gpu in topology["gpus"]] == [
        "lost" if gpu.get("state") == "GPU_IS_LOST" else "ok" for gpu in described["gpus"] if not mismatch
    ]
    assert bool(topology["driver"]["error"]) == mismatch
    assert topology["schema"] == 1
    assert topology["memory"]["total_bytes"] == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert topology["kernel"]["release"] == os.uname().release


def test_a_hung_gpu_hangs_no_play_and_leaves_no_process(tmp_path):
    fault = {"function": "nvmlDeviceGetName*", "gpu": 3, "delay_ms": 120000}
    description = tmp_path / "hung.json"
    description.write_text(json.dumps({**load(SERVER), "faults": [fault]}))
    started = time.monotonic()
    arguments = {"nvml_library": str(build()), "nvml_timeout_seconds": 3}
    topology = topology_of(here(arguments, FAKE_NVML=str(description)))
    assert time.monotonic() - started < 60
    assert [gpu["state"] for gpu in topology["gpus"]] == ["ok"] * 3 + ["timeout"] + ["ok"] * 4
    assert topology["interconnect"]["ancestor"][0][1] == "PIX"
    assert processes_with(str(description)) == []


def processes_with(word: str) -> list[str]:
    found = []
    for home in Path("/proc").glob("[0-9]*"):
        try:
            if f"FAKE_NVML={word}".encode() in (home / "environ").read_bytes():
                found.append(home.name)
        except OSError:
            continue
    return found


def test_a_library_that_is_not_there_is_a_fact():
    library = "/nonexistent/libnvidia-ml.so.1"
    topology = topology_of(here({"nvml_library": library}))
    assert (topology["gpus"], topology["driver"]["error"]) == (
        [],
        f"The NVIDIA library {library} could not be loaded: {library}: cannot open shared object file: No such file or directory. "
        "Name a library for this machine with nvml_library.",
    )


def test_a_timeout_that_is_none_is_refused():
    result = here({"nvml_timeout_seconds": 0})
    assert result["msg"] == "nvml_timeout_seconds is 0: more than 0 was expected, for example 20."


def test_without_libraries_and_without_a_way_to_fetch_them(tmp_path, bare_python):
    empty = tmp_path / "wheels"
    empty.mkdir()
    arguments = ["-m", MODULE, "-a", "toolbox=/nonexistent", "-e", f"ansible_python_interpreter={bare_python}"]
    result = result_of(ansible("localhost", *arguments, "-e", f"toolbox_wheels={empty}"))
    assert "ansible_facts" not in result
    lock = CHECKOUT / "roles/toolbox/files/requirements.txt"
    assert result["msg"].startswith(
        f"The Python libraries nvidia-ml-py and psutil cannot be imported: looked for in {bare_python} "
        "and in the toolbox /nonexistent, which does not exist. The role blackwell.inference.toolbox installs them there. "
        f"The folder {empty} on the controller holds no wheel of nvidia-ml-py 13.615.71 and psutil 7.2.2 for {os.uname().machine} with a hash of the lock "
    )
    assert str(lock.relative_to(CHECKOUT)) in result["msg"]


@pytest.fixture
def bare_python(tmp_path: Path) -> str:
    """A Python without any library, whatever the machine's own has."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    return str(tmp_path / "bare/bin/python")


@pytest.mark.gpu
def test_a_real_gpu():
    topology = topology_of(here({}))
    assert topology["driver"]["error"] is None
    assert [gpu["state"] for gpu in topology["gpus"]] == ["ok"] * len(topology["gpus"])
    assert topology["gpus"]
    for gpu in topology["gpus"]:
        assert gpu["uuid"].startswith("GPU-")
        assert 0 < gpu["memory_total_bytes"] >= gpu["memory_used_bytes"]
    assert topology["driver"]["version"] == topology["driver"]["kernel_module_version"]


# On a host of its own


@pytest.fixture(scope="module")
def gpu_host(site: Site) -> Iterator[Host]:
    """A host dressed as the server: GPUs in /sys and /proc, the NVML library where the loader looks."""
    pid = os.getpid()
    host = hosts.up(site, f"facts-{pid}", "trixie", dress=HOSTS / f"{SERVER}.json", owner_pid=pid)
    host.execute("install", "-d", "-m", "700", "/root/.ansible/tmp")
    host.execute("useradd", "--create-home", "plain")
    host.execute("install", "-d", "-o", "plain", "-m", "700", "/home/plain/.ssh")
    host.execute(
        "install", "-o", "plain", "-m", "600", "/root/.ssh/authorized_keys", "/home/plain/.ssh/authorized_keys"
    )
    yield host
    hosts.down(host)


@pytest.fixture
def on_host(gpu_host: Host, tmp_path: Path) -> Run:
    """An ad-hoc call on the host; gives its result and all that was printed."""

    def run(*arguments: str, module: str = MODULE) -> tuple[dict[str, Any], str]:
        inventory = tmp_path / "inventory.json"
        inventory.write_text(json.dumps(gpu_host.inventory))
        output = ansible("inference", "-i", str(inventory), "-m", module, *arguments)
        return result_of(output), output

    return run


def tree_of(host: Host) -> list[str]:
    prune = [word for path in PASSED_OVER for word in ("-path", path, "-o")][:-1]
    find = ["find", "/", "-xdev", "(", *prune, ")", "-prune", "-o", "-printf", "%p %y %s %m %U %T@\\n"]
    return sorted(host.execute(*find).stdout.splitlines())


def round_trips(output: str) -> int:
    """Calls of the connection, as -vvv shows them."""
    return sum(" SSH: EXEC " in line or "> PUT " in line for line in output.splitlines())


@pytest.mark.testhost
def test_a_check_on_a_virgin_host_leaves_nothing(gpu_host, on_host):
    before = tree_of(gpu_host)
    result, _output = on_host("--check")
    topology = topology_of(result)
    assert [gpu["state"] for gpu in topology["gpus"]] == ["ok"] * 8
    assert {gpu["numa_node"] for gpu in topology["gpus"]} == {0, 1}
    assert [gpu["pci_address"] for gpu in topology["gpus"]] == [device["address"] for device in topology["pci_gpus"]]
    assert topology["driver"]["kernel_module_open"]
    assert topology["unread"] == []
    assert tree_of(gpu_host) == before
    assert gpu_host.execute("find", "/root/.ansible/tmp", "-mindepth", "1").stdout == ""


@pytest.mark.testhost
def test_another_user_than_root_is_told_what_it_could_not_read(on_host):
    result, _output = on_host("-u", "plain", "-e", "ansible_user=plain")
    topology = topology_of(result)
    assert len(topology["gpus"]) == 8
    assert {"what": "/proc/1/environ", "why": "Permission denied"} in topology["unread"]


@pytest.mark.testhost
def test_with_the_toolbox_facts_are_one_round_trip(gpu_host, on_host, tmp_path):
    arguments = ["-m", "ansible.builtin.include_role", "-a", "name=blackwell.inference.toolbox"]
    inventory = tmp_path / "inventory.json"
    inventory.write_text(json.dumps(gpu_host.inventory))

    def install(*more: str) -> str:
        return ansible("inference", "-i", str(inventory), *arguments, *more)

    assert "CHANGED" in install("--check"), "a check says that it would build the environment"
    assert gpu_host.execute("test", "-e", "/opt/blackwell-inference", check=False).returncode == 1
    assert "FAILED" not in install()
    output = install()
    assert "CHANGED" not in output
    assert "FAILED" not in output
    result, output = on_host("-vvv", "-e", "ansible_pipelining=true")
    assert len(topology_of(result)["gpus"]) == 8
    assert round_trips(output) == 1
    pip = "/opt/blackwell-inference/toolbox/bin/pip"
    gpu_host.execute(pip, "uninstall", "--yes", "psutil")
    assert "CHANGED" in install(), "what was taken out by hand is put back"
    gpu_host.execute("/opt/blackwell-inference/toolbox/bin/python", "-c", "import psutil, pynvml")
