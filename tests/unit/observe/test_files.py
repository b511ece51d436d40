# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The readers of the host's files: absent is an answer, unreadable is a note or empty."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.blackwell.inference.plugins.module_utils.observe.files import Unread, text_of


def test_absent_files_and_directories_are_answers(make_host):
    files = make_host({"/proc/version": "Linux"})
    assert files.text("/proc/none") is None
    assert files.text("/proc/version/below-a-file") is None
    assert files.number("/sys/none") is None
    assert files.names("/sys/none") == ()
    assert files.link_name("/sys/none") is None
    assert files.unread == ()


def test_what_cannot_be_read_is_noted_once_with_the_reason(make_host):
    files = make_host({"/sys/driver/file": "x"})
    assert files.text("/sys/driver") is None
    assert files.text("/sys/driver") is None
    assert files.unread == (Unread("/sys/driver", "Is a directory"),)


def test_a_number_that_is_none_is_noted(make_host):
    files = make_host({"/sys/count": "12\n", "/sys/odd": "many\n"})
    assert files.number("/sys/count") == 12
    assert files.number("/sys/odd") is None
    assert files.unread == (Unread("/sys/odd", "holds 'many' where a number was expected"),)


def test_text_loses_outer_space_and_survives_bytes_that_are_no_text(make_host):
    files = make_host({"/a": " \n two words \n"})
    Path(files.path("/b")).write_bytes(b"\xff\n")
    assert files.text("/a") == "two words"
    assert files.text("/b") == "\ufffd"


def test_text_of_a_file_that_comes_and_goes(tmp_path):
    (tmp_path / "limits").write_bytes(b" soft \xff\n")
    assert text_of(tmp_path / "limits") == " soft \ufffd\n"
    assert text_of(str(tmp_path / "none")) == ""
    assert text_of(tmp_path) == ""


def test_a_link_gives_the_name_of_its_target(make_host):
    files = make_host({"/sys/device/driver": Path("../../bus/pci/drivers/vfio-pci")})
    assert files.link_name("/sys/device/driver") == "vfio-pci"


def test_names_are_sorted(make_host):
    assert make_host({"/sys/b": "", "/sys/a": ""}).names("/sys") == ("a", "b")
