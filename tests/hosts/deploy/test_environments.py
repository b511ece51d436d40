# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python environments: the engine's, and the toolbox that modules take their libraries from."""

from __future__ import annotations

import json

import pytest
from testinfra.host import Host

from ansible_collections.blackwell.inference.tests.hosts.deploy import instance
from ansible_collections.blackwell.inference.tests.testhost import host as hosts

LIST = """
import importlib.metadata, json
print(json.dumps({found.name: found.version for found in importlib.metadata.distributions()}))
"""
KINDS = ("engine", "toolbox")


@pytest.fixture(params=KINDS)
def folder(request: pytest.FixtureRequest, machine: hosts.Host) -> str:
    return instance.engine_path(machine.name) if request.param == "engine" else instance.TOOLBOX


def test_environment_belongs_to_root(host: Host, folder: str) -> None:
    assert host.file(folder).user == "root"


def test_others_may_only_read_the_environment(host: Host, folder: str) -> None:
    assert f"{host.file(folder).mode:04o}" == "0755"


def test_environment_holds_what_the_lock_pins(host: Host, machine: hosts.Host, folder: str) -> None:
    pinned = instance.environments(machine.name)[folder]
    installed = json.loads(host.check_output("%s -c %s", f"{folder}/bin/python", LIST))
    wrong = {name: installed.get(name) for name, version in pinned.items() if installed.get(name) != version}
    assert wrong == {}, f"The lock pins {pinned}."


def test_engine_of_another_version_finds_an_empty_cache(host: Host, machine: hosts.Host) -> None:
    caches = host.check_output("find %s -mindepth 1 -maxdepth 1", instance.CACHES)
    assert caches.splitlines() == [instance.cache(machine.name)]


def test_only_the_engine_reads_its_cache(host: Host, machine: hosts.Host) -> None:
    cache = host.file(instance.cache(machine.name))
    assert (cache.user, cache.group, f"{cache.mode:04o}") == (instance.USER, instance.USER, "0750")


def test_no_engine_lies_beside_the_one_that_was_asked_for(host: Host, machine: hosts.Host) -> None:
    folders = host.check_output("find %s -mindepth 1 -maxdepth 1 -type d", instance.ENGINE_ROOT)
    assert folders.splitlines() == [instance.engine_path(machine.name)]
