# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of an instance: why it must be started, what lies on the host, who listens."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import ObservationError
from ansible_collections.blackwell.inference.plugins.module_utils.deploy import installed, state
from ansible_collections.blackwell.inference.plugins.module_utils.deploy.start_digest import start_digest
from ansible_collections.blackwell.inference.plugins.module_utils.observe import process, systemd
from ansible_collections.blackwell.inference.tests.unit.verify.design_host import UNIT

WANTED = {"config": "port: 30000\n", "environment": "A=1\n", "unit": "[Service]\nUser=sglang\n"}
RUNNING = replace(UNIT, invocation_id="0a", cgroup_memory_bytes=1)


@pytest.mark.parametrize(
    ("unit", "started", "digest", "reasons"),
    [
        (RUNNING, WANTED, start_digest(WANTED), []),
        (replace(RUNNING, active_state="inactive", main_pid=0), WANTED, None, ["sglang-kimi.service is inactive"]),
        (replace(RUNNING, active_state="failed", main_pid=0), {}, None, ["sglang-kimi.service is failed"]),
        (RUNNING, {**WANTED, "config": "port: 30001\n"}, start_digest(WANTED), ["port: 30001 becomes 30000"]),
        (
            RUNNING,
            {"config": WANTED["config"], "unit": WANTED["unit"]},
            start_digest(WANTED),
            ["the environment that the running process was started with is not recorded"],
        ),
        (RUNNING, WANTED, "0" * 64, ["the running process was started from another unit than the file shows"]),
        (RUNNING, WANTED, None, ["the running process was started from another unit than the file shows"]),
        (
            replace(RUNNING, drop_ins=("/run/x.conf",)),
            WANTED,
            start_digest(WANTED),
            ["the drop-in /run/x.conf changes what is started"],
        ),
    ],
    ids=[
        "as wanted",
        "inactive",
        "failed",
        "tampered config",
        "no record",
        "older unit loaded",
        "no digest",
        "drop-in",
    ],
)
def test_reasons_to_start(unit, started, digest, reasons):
    assert [reason.what for reason in state.start_reasons(unit, WANTED, started, digest)] == reasons


def test_a_file_is_compared_by_content_owner_and_mode(tmp_path):
    path = tmp_path / "server.yaml"
    path.write_text("port: 30000\n")
    path.chmod(0o640)
    owner, group = path.owner(), path.group()
    wanted = installed.WantedFile("config", str(path), "port: 30000\n", "config", owner, group, "0640")
    assert installed.file_differences(wanted) == ()
    assert installed.file_differences(replace(wanted, content="port: 1\n", mode="0600")) == ("content", "mode")
    assert installed.file_differences(replace(wanted, owner="nobody", group="nogroup")) == ("owner", "group")
    assert installed.file_differences(replace(wanted, path=str(tmp_path / "none"))) == ("absent",)
    link = tmp_path / "link"
    link.symlink_to(path)
    assert installed.file_differences(replace(wanted, path=str(link))) == ("type",)


def test_a_directory_is_compared_by_owner_and_mode(tmp_path):
    path = tmp_path / "kimi"
    path.mkdir(mode=0o750)
    path.chmod(0o750)
    wanted = installed.WantedDirectory(str(path), path.owner(), path.group(), "0750")
    assert installed.directory_differences(wanted) == ()
    assert installed.directory_differences(replace(wanted, mode="0755")) == ("mode",)
    assert installed.directory_differences(replace(wanted, owner="nobody", group="nogroup")) == ("owner", "group")
    assert installed.directory_differences(replace(wanted, path=str(tmp_path / "none"))) == ("absent",)
    (tmp_path / "file").touch()
    assert installed.directory_differences(replace(wanted, path=str(tmp_path / "file"))) == ("type",)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_group_that_was_made_anew_left_its_directories_to_a_number(tmp_path):
    os.chown(tmp_path, 0, 64123)
    wanted = installed.WantedDirectory(str(tmp_path), "root", "root", oct(tmp_path.stat().st_mode & 0o7777)[2:])
    assert installed.directory_differences(wanted) == ("group",)


def test_directories_that_differ_are_listed_and_a_record_may_be_anything(tmp_path):
    (tmp_path / "plan.json").write_text("[1]")
    folders = [
        {"path": str(tmp_path), "owner": tmp_path.owner(), "group": tmp_path.group(), "mode": "0700"},
        {"path": str(tmp_path / "none"), "owner": "root", "group": "root", "mode": "0755"},
    ]
    tmp_path.chmod(0o700)
    wanted = state.Wanted("x.service", None, tmp_path, Path("/none"), (), (), (), (), state.wanted_directories(folders))
    seen = state.read_deployment(lambda arguments: (0, SHOW, ""), wanted)
    assert seen["differing_directories"] == [str(tmp_path / "none")]
    assert seen["directories"][1] == {"path": str(tmp_path / "none"), "differs": ["absent"]}
    assert seen["records"]["plan"] == [1]


def test_a_file_that_may_not_be_read_is_told(monkeypatch):
    def denied(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "lstat", denied)
    wanted = installed.WantedFile("config", "/etc/sglang/kimi/server.yaml", "", "config", "root", "root", "0640")
    with pytest.raises(ObservationError) as told:
        installed.file_differences(wanted)
    assert str(told.value) == (
        "/etc/sglang/kimi/server.yaml cannot be read: permission denied. A user who may read it was expected; run this as root, for example with become."
    )


@pytest.mark.parametrize(
    ("wanted", "found", "foreign"),
    [
        ("# Ansible managed: blackwell.inference\n", "[Unit]\nDescription=by hand\n", True),
        ("# Ansible managed: blackwell.inference\n", "# Ansible managed: blackwell.inference\nchanged\n", False),
        ("{}", "[]", False),
    ],
    ids=["made by hand", "ours, changed by hand", "a record"],
)
def test_a_hand_made_file_does_not_say_that_it_is_ours(tmp_path, wanted, found, foreign):
    path = tmp_path / "unit"
    path.write_text(found)
    assert (
        installed.is_foreign(installed.WantedFile("unit", str(path), wanted, "unit", "root", "root", "0644")) is foreign
    )


def make_environment(root: Path, *folders: str, cut_off: tuple[str, ...] = ()) -> str:
    site = root / "lib" / "python3.11" / "site-packages"
    for folder in (*folders, *cut_off):
        (site / folder).mkdir(parents=True)
    for folder in folders:
        (site / folder / "RECORD").touch()
    (root / "bin").mkdir()
    (root / "bin" / "python").touch(mode=0o755)
    return str(root)


@pytest.mark.parametrize(
    ("folders", "cut_off", "missing", "differs"),
    [
        (("nvidia_ml_py-13.615.71.dist-info", "psutil-7.2.2.dist-info"), (), {}, {}),
        (("nvidia_ml_py-13.615.71.dist-info",), (), {"psutil": "7.2.2"}, {}),
        (("nvidia_ml_py-13.0.0.dist-info", "psutil-7.2.2.dist-info"), (), {}, {"nvidia-ml-py": "13.0.0"}),
        (("psutil-7.2.2.dist-info",), ("nvidia_ml_py-13.615.71.dist-info",), {"nvidia-ml-py": "13.615.71"}, {}),
    ],
    ids=["complete", "missing", "other version", "installation cut off"],
)
def test_an_environment_against_its_pins(tmp_path, folders, cut_off, missing, differs):
    path = make_environment(tmp_path / "venv", *folders, cut_off=cut_off)
    state = installed.environment_state(path, {"nvidia-ml-py": "13.615.71", "psutil": "7.2.2"})
    assert state == {
        "path": path,
        "exists": True,
        "complete": not missing and not differs,
        "missing": missing,
        "differs": differs,
    }


def test_an_environment_whose_interpreter_was_replaced_holds_nothing(tmp_path):
    path = Path(make_environment(tmp_path / "venv", "psutil-7.2.2.dist-info"))
    (path / "bin" / "python").unlink()
    for version, complete in (("python3.11", True), ("python3.13", False)):
        (tmp_path / version).touch(mode=0o755)
        (path / "bin" / "python").symlink_to(tmp_path / version)
        assert installed.environment_state(str(path), {"psutil": "7.2.2"})["complete"] is complete
        (path / "bin" / "python").unlink()


def test_an_environment_that_is_not_there(tmp_path):
    assert installed.environment_state(str(tmp_path / "none"), {})["complete"] is False


def test_a_half_written_record_is_none(tmp_path):
    record = tmp_path / "plan.json"
    assert installed.read_record(record) is None
    record.write_text('{"tokens": 1')
    assert installed.read_record(record) is None
    record.write_text('{"tokens": 1}')
    assert installed.read_record(record) == {"tokens": 1}


def test_packages_that_dpkg_does_not_know_are_missing():
    def dpkg(arguments):
        assert arguments[-2:] == ["g++", "libnuma1"]
        return 1, "g++ installed\nlibnuma1 config-files\n", "no packages found matching libnuma1"

    assert installed.missing_packages(dpkg, ["g++", "libnuma1"]) == ("libnuma1",)
    assert installed.missing_packages(lambda arguments: (127, "", "not found"), ["g++"]) == ("g++",)


SHOW = """ActiveState=active
ControlGroup=/system.slice/sglang-kimi.service
DropInPaths=/run/systemd/system/service.d/zzz-lxc-service.conf /etc/systemd/system/sglang-.service.d/all.conf \
/run/systemd/system.control/sglang-kimi.service.d/50-MemoryMax.conf /etc/systemd/system/sglang-kimi.service.d/own.conf
FragmentPath=/etc/systemd/system/sglang-kimi.service
InvocationID=24b1c3
LoadState=loaded
MainPID=77
MemoryCurrent=[not set]
NeedDaemonReload=yes
NRestarts=2
Result=success
SubState=running
UnitFileState=enabled
"""


def test_a_unit_as_systemctl_shows_it():
    unit = systemd.unit_state(lambda arguments: (0, SHOW, ""), "sglang-kimi.service")
    assert (unit.running, unit.need_daemon_reload, unit.main_pid, unit.n_restarts) == (True, True, 77, 2)
    assert unit.cgroup_memory_bytes is None
    assert (
        systemd.unit_state(
            lambda arguments: (0, SHOW.replace("[not set]", "18446744073709551615"), ""), "x"
        ).cgroup_memory_bytes
        is None
    )


def test_drop_ins_that_other_units_share_are_left_alone():
    unit = systemd.unit_state(lambda arguments: (0, SHOW, ""), "sglang-kimi.service")
    assert unit.drop_ins == (
        "/run/systemd/system.control/sglang-kimi.service.d/50-MemoryMax.conf",
        "/etc/systemd/system/sglang-kimi.service.d/own.conf",
    )


def test_a_host_without_systemd_is_told():
    with pytest.raises(
        ObservationError,
        match=r"systemctl show x ended with status 1: System has not been booted\. A host that runs systemd as PID 1 was expected",
    ):
        systemd.unit_state(lambda arguments: (1, "", "System has not been booted"), "x")


def test_the_listener_of_a_port_is_found_by_its_socket():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        assert process.listener_of(port) == (False, None)
        listener.listen()
        assert process.listener_of(port) == (True, os.getpid())
    assert process.listener_of(port) == (False, None)


@pytest.mark.parametrize("number", [0, -1, 65536])
def test_a_port_that_cannot_be_is_refused(number):
    wanted = state.Wanted("x.service", number, Path("/none"), Path("/none"), (), (), (), ())
    with pytest.raises(ObservationError) as told:
        state.read_deployment(lambda arguments: (0, SHOW, ""), wanted)
    assert (
        str(told.value) == f"The port is {number}; a number from 1 to 65535 was expected. Choose one in inference_port."
    )


def test_the_environment_of_a_process_is_what_it_was_started_with():
    assert process.environment_of(os.getpid()).get("PATH") == os.environ["PATH"]
    assert process.environment_of(2**22 + 1) == {}


@pytest.mark.parametrize(
    ("cgroup", "unit"),
    [
        ("0::/system.slice/sglang-kimi.service\n", "sglang-kimi.service"),
        ("0::/user.slice/user-0.slice/session-1.scope\n", "session-1.scope"),
        ("12:memory:/\n0::/system.slice/a.service/payload\n", "a.service"),
        ("0::/\n", None),
    ],
)
def test_the_unit_of_a_process(tmp_path, cgroup, unit):
    (tmp_path / "5").mkdir()
    (tmp_path / "5" / "cgroup").write_text(cgroup)
    assert process.unit_of(5, proc=tmp_path) == unit
