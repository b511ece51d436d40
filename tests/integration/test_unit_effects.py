# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the unit of the role does on a kernel of its own: locked memory without limit, and an end by the kernel when it takes too much.

The role is played on a booted host; what it has written there comes into the virtual machine, where each task would take seconds.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.tests.doubles.engine.build import build
from ansible_collections.blackwell.inference.tests.engine.tiny_models import make
from ansible_collections.blackwell.inference.tests.testhost import host as hosts
from ansible_collections.blackwell.inference.tests.testhost.site import Site
from ansible_collections.blackwell.inference.tests.testhost.vm import Vm
from ansible_collections.blackwell.inference.tests.testhost.vm_image import SUITE

pytestmark = pytest.mark.vm
PLAYBOOK = Path(__file__).with_name("unit_on_vm.yml")
UNIT = "sglang-vm.service"
MEMORY_MAX_BYTES = 256 << 20
PINNED_BYTES = 512 << 20
DEADLINE_SECONDS = 240
WRITTEN = (
    "dev/shm/meminfo",
    "etc/sglang",
    "etc/systemd/system",
    "opt/sglang",
    "usr/local/lib",
    "var/lib/blackwell-inference",
)
PACK = f"tar -cC / --exclude=__pycache__ {' '.join(WRITTEN)}"
START = f"""
set -eu
useradd --system --uid "$0" --home-dir /nonexistent --no-create-home --shell /usr/sbin/nologin sglang
tar -xpC /
systemctl daemon-reload
systemctl start --no-block {UNIT}
until pid=$(systemctl show --value --property=MainPID {UNIT}) && [ "$pid" != 0 ]; do sleep 0.2; done
cat /proc/$pid/limits
echo "memory.max $(cat /sys/fs/cgroup/$(systemctl show --value --property=ControlGroup {UNIT})/memory.max)"
"""
LOOK = f"""
for second in $(seq {DEADLINE_SECONDS}); do
    systemctl show --property=Result {UNIT} | grep oom-kill && break
    sleep 1
done
echo "ssh is $(systemctl is-active ssh.service)"
systemctl stop {UNIT}
journalctl --unit={UNIT} --output=cat --lines=50 >&2
"""


@pytest.fixture
def host(site: Site) -> Iterator[hosts.Host]:
    host = hosts.up(site, f"unit-{os.getpid()}", SUITE, owner_pid=os.getpid())
    yield host
    hosts.down(host)


def test_the_roles_unit_locks_without_limit_and_dies_alone(host: hosts.Host, vm: Vm, tmp_path: Path) -> None:
    play(host, tmp_path)
    packed = subprocess.run([*host.ssh, PACK], capture_output=True, check=True).stdout
    uid = host.execute("id", "--user", "sglang").stdout.strip()

    command = ["sh", "-c", START, uid]
    started = subprocess.run([*vm.ssh, shlex.join(command)], input=packed, capture_output=True, check=False)
    assert started.returncode == 0, started.stderr.decode()
    lines = [line.split() for line in started.stdout.decode().splitlines()]
    assert ["Max", "locked", "memory", "unlimited", "unlimited", "bytes"] in lines
    assert ["memory.max", str(MEMORY_MAX_BYTES)] in lines

    ended = vm.execute(LOOK)
    assert ended.stdout.splitlines() == ["Result=oom-kill", "ssh is active"], ended.stderr


def play(host: hosts.Host, directory: Path) -> None:
    variables = {
        "unit_on_vm_wheel": str(build("0.5.9", directory)),
        "unit_on_vm_model": str(make("tiny-llama", directory)),
        "unit_on_vm_memory_max_bytes": MEMORY_MAX_BYTES,
        "unit_on_vm_pinned_bytes": PINNED_BYTES,
    }
    inventory = directory / "inventory.json"
    inventory.write_text(json.dumps(host.inventory), encoding="utf-8")
    program = str(Path(sys.executable).with_name("ansible-playbook"))
    command = [program, "--inventory", str(inventory), "--extra-vars", json.dumps(variables), str(PLAYBOOK)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ), cwd="/")
    assert done.returncode == 0, done.stdout + done.stderr
