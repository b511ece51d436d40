# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What molecule/deploy/converge.yml deploys, and where that lies on a host. Facts that several tests go by stand here alone."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
from pathlib import Path

from testinfra.host import Host

from ansible_collections.blackwell.inference.plugins.filter.pinned_versions import pinned_versions
from ansible_collections.blackwell.inference.tests.testhost.site import CHECKOUT

NAME = "kimi"
MODEL = "kimi-k2.5"
UNIT = f"sglang-{NAME}.service"
UNIT_FILE = f"/etc/systemd/system/{UNIT}"
USER = "sglang"
PORT = 30000
ENGINES = {"debian12": "0.5.9", "debian13": "0.5.23"}
MEMORY_MAX = 477815111680
"""Bytes that the design host has available: the plan counts on them, and no more may be taken."""

CONFIG = f"/etc/sglang/{NAME}/server.yaml"
ENVIRONMENT = f"/etc/sglang/{NAME}/environment"
PROGRAMS = "/usr/local/lib/blackwell-inference"
RECORDS = f"/var/lib/blackwell-inference/{NAME}"
RUNTIME = f"/run/sglang-{NAME}"
CACHES = f"/var/cache/sglang-{NAME}"
TOOLBOX = "/opt/blackwell-inference/toolbox"
ENGINE_ROOT = "/opt/sglang"

KEY = rf"""
import json, re
key = json.loads(re.search(r'^api-key: (".+")$', open("{CONFIG}").read(), re.MULTILINE)[1])
"""
"""The beginning of a program for the host: there the key stays, because a test that fails prints its commands and their output."""

# Shorter values, such as 1 and true, stand in every second line of a journal and are no secrets.
SECRET_LENGTH = 4


@functools.cache
def engine_lock(machine: str) -> str:
    """Text of the lock that the host's engine was installed by, as Ansible's lookup reads it."""
    wheels = Path(os.environ["BLACKWELL_CACHE"]) / "molecule/deploy/wheels"
    return (wheels / f"requirements-{ENGINES[machine]}.txt").read_text(encoding="utf-8").rstrip()


def engine_path(machine: str) -> str:
    digest = hashlib.sha256(engine_lock(machine).encode()).hexdigest()
    return f"{ENGINE_ROOT}/{ENGINES[machine]}-{digest[:8]}"


def cache(machine: str) -> str:
    """Where the engine keeps the kernels that it compiled."""
    return f"{CACHES}/{engine_path(machine).rpartition('/')[2]}"


def environments(machine: str) -> dict[str, dict[str, str]]:
    """What each Python environment of the host must hold: version by distribution, by folder."""
    toolbox = (CHECKOUT / "roles/toolbox/files/requirements.txt").read_text(encoding="utf-8")
    return {engine_path(machine): pinned_versions(engine_lock(machine)), TOOLBOX: pinned_versions(toolbox)}


def secrets(host: Host) -> tuple[str, ...]:
    """Every value of the engine's environment file and its API key, as far as the host has them."""
    environment = host.run("cat %s", ENVIRONMENT).stdout
    config = host.run("cat %s", CONFIG).stdout
    written = re.findall(r'^\w+=(".*")$', environment, re.MULTILINE)
    written += re.findall(r'^(?:admin-)?api-key: (".*")$', config, re.MULTILINE)
    values = {str(json.loads(text)) for text in written}
    return tuple(sorted((value for value in values if len(value) >= SECRET_LENGTH), key=len, reverse=True))
