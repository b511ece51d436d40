# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The small virtual machine: limits bite there, as they do not in a container of a machine that has none to give."""

from __future__ import annotations

import time

import pytest

from ansible_collections.blackwell.inference.tests.testhost.vm import Vm

pytestmark = pytest.mark.vm


def test_an_unlimited_memlock_is_unlimited(vm: Vm) -> None:
    printed = vm.execute("systemd-run --quiet --pipe --property=LimitMEMLOCK=infinity cat /proc/self/limits").stdout
    limits = [line.split() for line in printed.splitlines() if line.startswith("Max locked memory")]
    assert limits == [["Max", "locked", "memory", "unlimited", "unlimited", "bytes"]]


def test_a_unit_above_its_memory_max_is_killed(vm: Vm) -> None:
    hungry = "python3 -c 'bytearray(64 << 20).hex()'"
    report = vm.execute(f"systemd-run --wait --property=MemoryMax=32M {hungry}", check=False).stderr
    assert "Finished with result: oom-kill" in report.splitlines()


def test_its_clock_is_right_after_the_snapshot(vm: Vm) -> None:
    here, there = time.time(), int(vm.execute("date +%s").stdout)
    assert there == pytest.approx(here, abs=60)  # seconds; a snapshot is hours or days old
