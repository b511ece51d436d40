# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hosts that the loop is tried on: the design host, played by the doubles, with Kimi-K2.5 in holes instead of weights."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.tests.doubles.checkpoint import write_checkpoint
from ansible_collections.blackwell.inference.tests.doubles.engine.build import build
from ansible_collections.blackwell.inference.tests.integration.loop.machine import ROOT, Machine
from ansible_collections.blackwell.inference.tests.testhost import host as hosts
from ansible_collections.blackwell.inference.tests.testhost.site import Site

DATA = ROOT / "tests" / "data"
KIMI_SHARDS = 64
KIMI_BYTES = 547 * 10**9
VERSION = "0.5.9"
MEMINFO = "/dev/shm/meminfo"
"""The host's memory, where a hardened unit may still read and write it: systemd gives such a unit a /proc without the covers."""


@pytest.fixture(scope="session")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What every machine gets to see below /srv: wheels of the engine double, and the checkpoint."""
    directory = tmp_path_factory.mktemp("srv")
    for version in ("0.5.9", "0.5.23"):
        build(version, directory / "wheels")
    config = json.loads((DATA / "models" / "kimi-k2.5" / "config.json").read_text(encoding="utf-8"))
    write_checkpoint(directory / "models" / "kimi-k2.5", config, KIMI_SHARDS, KIMI_BYTES // KIMI_SHARDS)
    write_checkpoint(directory / "models" / "truncated", config, 2, 1 << 20)
    os.truncate(directory / "models" / "truncated" / "model-00001-of-000002.safetensors", 1 << 19)
    directory.parent.chmod(0o755)
    directory.chmod(0o755)
    return directory


def boot(site: Site, name: str, parts: Path, directory: Path) -> Machine:
    """A host that looks like the design host and can install the engine double."""
    pid = os.getpid()
    host = hosts.up(
        site,
        f"{name}-{pid}",
        "bookworm",
        owner_pid=pid,
        dress=DATA / "hosts" / "design-host.json",
        binds=[f"{parts}:/srv"],
    )
    host.execute("sh", "-c", f"cp /proc/meminfo {MEMINFO} && chmod 666 {MEMINFO} && mount --bind {MEMINFO} /proc/meminfo")
    variables = {
        "inference_profile": "kimi-k2.5",
        "inference_sglang_wheels": "/srv/wheels",
        "inference_sglang_requirements": str(parts / "wheels" / f"requirements-{VERSION}.txt"),
        "inference_environment": {"ENGINE_DOUBLE_MEMINFO": MEMINFO, "ENGINE_DOUBLE_SECONDS": "2"},
    }
    return Machine(host, directory, variables)


@pytest.fixture(scope="session")
def untouched(site: Site, parts: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine that no play may touch: every test on it proves that it did not."""
    machine = boot(site, "untouched", parts, tmp_path_factory.mktemp("untouched"))
    yield machine
    hosts.down(machine.host)


@pytest.fixture
def virgin(site: Site, parts: Path, tmp_path: Path) -> Iterator[Machine]:
    """A machine of this test alone that no play has touched."""
    machine = boot(site, "virgin", parts, tmp_path)
    yield machine
    hosts.down(machine.host)


@pytest.fixture(scope="session")
def deployed(site: Site, parts: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine with Kimi-K2.5 deployed and verified; a test that spoils it proves that a run puts it right."""
    machine = boot(site, "deployed", parts, tmp_path_factory.mktemp("deployed"))
    machine.play("deploy.yml").expect()
    yield machine
    hosts.down(machine.host)
