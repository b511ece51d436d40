# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory that only the Proxmox host can explain: the playbook goes on there, as far as was consented to, and comes back for the proof.

The guest is a booted host whose fake NVML shows memory of nobody; the Proxmox host a double on this machine, with a real process in its container. What a
kernel does when that process ends, a thread does here: it gives the memory back.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.tests.doubles.holders.stage import Stage
from ansible_collections.blackwell.inference.tests.doubles.holders.stage import stage as staged
from ansible_collections.blackwell.inference.tests.doubles.pve.host import PveHost
from ansible_collections.blackwell.inference.tests.doubles.pve.pve import alive
from ansible_collections.blackwell.inference.tests.integration.loop.machine import Played
from ansible_collections.blackwell.inference.tests.testhost.site import CHECKOUT, Site

pytestmark = pytest.mark.testhost

GPU = 0
GIB = 1 << 30
RANK = {"name": "sglang::schedul", "unit": "sglang-kimi.service", "nodes": ["nvidia0", "nvidiactl", "nvidia-uvm"]}
CONTAINER = ["hostname: inference", "dev0: /dev/nvidia0,mode=0666", "dev1: /dev/nvidia-uvm,mode=0666"]
OTHER = ["hostname: other", "dev0: /dev/nvidia1,mode=0666", "dev1: /dev/nvidia-uvm,mode=0666"]


@pytest.fixture(scope="module")
def guest(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with staged(site, tmp_path_factory.mktemp("guest"), "below", []) as made:
        yield made


@pytest.fixture
def pve(tmp_path: Path) -> Iterator[PveHost]:
    folder = tmp_path / "pve"
    folder.mkdir()
    host = PveHost(folder)
    yield host
    host.close()


@contextmanager
def memory_of(guest: Stage, pid: int) -> Iterator[None]:
    """The guest's GPU is full as long as the process lives, which the guest cannot see."""
    over = threading.Event()

    def give_back() -> None:
        while alive(pid) and not over.is_set():
            time.sleep(0.1)
        guest.describe(GPU)

    guest.describe(GPU, processes=[{"pid": 4_000_000, "used_bytes": 40 * GIB, "kind": "compute", "hidden": True}])
    kernel = threading.Thread(target=give_back)
    kernel.start()
    try:
        yield
    finally:
        over.set()
        kernel.join()


def released(guest: Stage, pve: PveHost, tmp_path: Path, container: str, consent: str) -> Played:
    python = tmp_path / "python-on-proxmox"
    settings = "".join(f"export {name}='{value}'\n" for name, value in pve.environment.items())
    python.write_text(f'#!/bin/sh\n{settings}exec {" ".join(pve.entrance)} {sys.executable} "$@"\n')
    python.chmod(0o755)
    host = {"ansible_connection": "local", "ansible_python_interpreter": str(python)}
    inventory = tmp_path / "inventory.json"
    inventory.write_text(json.dumps({**guest.host.inventory, "proxmox": {"hosts": {"pve1": host}}}))
    variables = {
        "inference_instance": "kimi",
        "inference_proxmox_host": "pve1",
        "inference_proxmox_guest": int(container),
        "inference_proxmox_consent": consent,
        "gpu_release_deadline_seconds": 4,
    }
    command = [
        str(Path(sys.executable).with_name("ansible-playbook")),
        f"--inventory={inventory}",
        f"--extra-vars={json.dumps(variables)}",
        str(CHECKOUT / "playbooks/release-gpus.yml"),
    ]
    ansible = {
        "ANSIBLE_CONFIG": str(CHECKOUT / "tests/ansible.cfg"),
        "ANSIBLE_COLLECTIONS_PATH": os.environ.get("ANSIBLE_COLLECTIONS_PATH", str(CHECKOUT / ".tree")),
        "ANSIBLE_CALLBACK_RESULT_FORMAT": "json",
        "ANSIBLE_NOCOLOR": "1",
    }
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **ansible}, cwd="/")
    return Played(done.returncode, done.stdout + done.stderr)


def test_the_host_releases_what_was_consented_to(guest, pve, tmp_path):
    container, other = (
        pve.container(CONTAINER, [RANK]),
        pve.container(OTHER, [{**RANK, "nodes": ["nvidia1", "nvidia-uvm"]}]),
    )
    (rank,) = [pid for name, pid in pve.processes(container).items() if name == RANK["name"]]
    (bystander,) = [pid for name, pid in pve.processes(other).items() if name == RANK["name"]]
    with memory_of(guest, rank):
        played = released(guest, pve, tmp_path, container, "processes")
    assert played.returncode == 0, played.text[-3000:]
    assert "Proxmox | Release on the host what belongs to this guest" in played.changed_tasks
    assert "The GPUs are free." in played.text
    assert (alive(rank), alive(bystander)) == (False, True)


def test_without_consent_it_ends_with_what_the_host_would_need(guest, pve, tmp_path):
    container = pve.container(CONTAINER, [RANK])
    (rank,) = [pid for name, pid in pve.processes(container).items() if name == RANK["name"]]
    with memory_of(guest, rank):
        played = released(guest, pve, tmp_path, container, "none")
    assert played.returncode != 0
    assert f"Set consent to processes: ends process {rank} (sglang::schedul) of guest {container}." in played.text
    assert alive(rank)
