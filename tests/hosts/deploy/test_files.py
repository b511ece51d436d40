# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders and files of the instance: whose they are, and who else may read or write them."""

from __future__ import annotations

import pytest
from testinfra.host import Host

from ansible_collections.blackwell.inference.tests.hosts.deploy import instance
from ansible_collections.blackwell.inference.tests.hosts.listing import Entry, Listing, listing


def folder(mode: str = "0755", user: str = "root", group: str = "root") -> Entry:
    return Entry("directory", user, group, mode)


def file(mode: str = "0644", user: str = "root", group: str = "root") -> Entry:
    return Entry("regular file", user, group, mode)


ENTRIES = {
    # What the engine reads, a key included: nobody else may, and it itself may not write there.
    "/etc/sglang": folder(),
    f"/etc/sglang/{instance.NAME}": folder("0750", "root", instance.USER),
    instance.CONFIG: file("0640", "root", instance.USER),
    instance.ENVIRONMENT: file("0640", "root", instance.USER),
    # What root runs for it: nobody else may write there.
    instance.UNIT_FILE: file(),
    instance.PROGRAMS: folder(),
    f"{instance.PROGRAMS}/wait-for-api": file(),
    f"{instance.PROGRAMS}/require-free-gpus": file(),
    # Records, for everybody to read.
    instance.RECORDS: folder(),
    f"{instance.RECORDS}/plan.json": file(),
    f"{instance.RECORDS}/plan.txt": file(),
    f"{instance.RECORDS}/plan.html": file(),
    f"{instance.RECORDS}/instance.prom": file(),
    f"{instance.RECORDS}/verdict.json": file(),
    f"{instance.RECORDS}/calibration.json": file(),
    # What the running process was started with, a key included.
    instance.RUNTIME: folder("0750", instance.USER, instance.USER),
    f"{instance.RUNTIME}/started/{instance.UNIT}": file("0640", instance.USER, instance.USER),
    f"{instance.RUNTIME}/started/server.yaml": file("0640", instance.USER, instance.USER),
    f"{instance.RUNTIME}/started/environment": file("0640", instance.USER, instance.USER),
    # The Python environments; in the engine's root each has a folder of its own.
    "/opt/blackwell-inference": folder(),
    instance.TOOLBOX: folder(),
    instance.ENGINE_ROOT: folder(),
}
each_path = pytest.mark.parametrize("path", ENTRIES)


@pytest.fixture(scope="session")
def files(host: Host) -> Listing:
    return listing(host, ENTRIES)


@each_path
def test_file_or_folder_is_there(files: Listing, path: str) -> None:
    assert files[path].kind == ENTRIES[path].kind


@each_path
def test_owner_of(files: Listing, path: str) -> None:
    assert files[path].user == ENTRIES[path].user


@each_path
def test_group_of(files: Listing, path: str) -> None:
    assert files[path].group == ENTRIES[path].group


@each_path
def test_mode_of(files: Listing, path: str) -> None:
    assert files[path].mode == ENTRIES[path].mode
