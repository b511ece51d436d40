# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The unit that the role writes, where its limits bite: locked memory without a limit, and a death that stays inside the unit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.tests.doubles.engine.build import build
from ansible_collections.blackwell.inference.tests.engine.tiny_models import make
from ansible_collections.blackwell.inference.tests.testhost.vm import Vm

pytestmark = pytest.mark.vm
PLAYBOOK = Path(__file__).with_name("unit_on_vm.yml")
UNIT = "sglang-vm.service"
MEMORY_MAX_BYTES = 256 << 20
PINNED_BYTES = 512 << 20
DEADLINE_SECONDS = 240


def test_the_roles_unit_locks_without_limit_and_dies_alone(vm: Vm, tmp_path: Path) -> None:
    variables = {
        "unit_on_vm_wheel": str(build("0.5.9", tmp_path)),
        "unit_on_vm_model": str(make("tiny-llama", tmp_path)),
        "unit_on_vm_memory_max_bytes": MEMORY_MAX_BYTES,
        "unit_on_vm_pinned_bytes": PINNED_BYTES,
    }
    inventory = tmp_path / "inventory.json"
    inventory.write_text(json.dumps(vm.inventory), encoding="utf-8")
    program = str(Path(sys.executable).with_name("ansible-playbook"))
    command = [program, "--inventory", str(inventory), "--extra-vars", json.dumps(variables), str(PLAYBOOK)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ), cwd="/")
    assert done.returncode == 0, done.stdout + done.stderr

    limits = vm.execute(f"cat /proc/$(systemctl show --value --property=MainPID {UNIT})/limits").stdout
    assert ["Max", "locked", "memory", "unlimited", "unlimited", "bytes"] in [
        line.split() for line in limits.splitlines()
    ]
    group = vm.execute(f"systemctl show --value --property=ControlGroup {UNIT}").stdout.strip()
    assert int(vm.execute(f"cat /sys/fs/cgroup{group}/memory.max").stdout) == MEMORY_MAX_BYTES

    until = time.monotonic() + DEADLINE_SECONDS
    while "oom-kill" not in vm.execute(f"systemctl show --property=Result {UNIT}").stdout:
        assert time.monotonic() < until, vm.execute(f"journalctl --unit={UNIT} --output=cat --lines=50").stdout
        time.sleep(2)
    assert vm.execute("systemctl is-active ssh.service").stdout.strip() == "active"
    vm.execute(f"systemctl disable --now {UNIT}; systemctl reset-failed {UNIT}", check=False)
