# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the engine's user may read what root read."""

from __future__ import annotations

import os

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import ObservationError
from ansible_collections.blackwell.inference.plugins.module_utils.model import checkpoint
from ansible_collections.blackwell.inference.plugins.module_utils.model.checkpoint import Reader, require_readable

READ, ENTER = 4, 1
SGLANG = Reader("sglang", 990, frozenset([990, 44]))
NOT_YET = Reader("sglang", None, frozenset())


@pytest.mark.parametrize(
    ("reader", "mode", "uid", "gid", "right", "may"),
    [
        pytest.param(SGLANG, 0o644, 0, 0, READ, True, id="everybody"),
        pytest.param(SGLANG, 0o640, 0, 0, READ, False, id="root and its group"),
        pytest.param(SGLANG, 0o640, 0, 44, READ, True, id="a group of its own"),
        pytest.param(SGLANG, 0o400, 990, 0, READ, True, id="the owner"),
        pytest.param(SGLANG, 0o044, 990, 990, READ, False, id="the owner, shut out by the first class"),
        pytest.param(SGLANG, 0o750, 0, 0, ENTER, False, id="a folder of root"),
        pytest.param(SGLANG, 0o751, 0, 0, ENTER, True, id="a folder to pass through"),
        pytest.param(NOT_YET, 0o640, 0, 0, READ, False, id="a user to come, root's file"),
        pytest.param(NOT_YET, 0o644, 0, 0, READ, True, id="a user to come, everybody's file"),
        pytest.param(Reader("root", 0, frozenset([0])), 0o000, 5, 5, READ, True, id="root"),
    ],
)
def test_who_may_read_what(reader, mode, uid, gid, right, may):
    assert reader.may(mode, uid, gid, right) is may


def test_a_file_of_everybody_is_readable_for_a_user_who_does_not_exist():
    require_readable(["/etc/passwd"], "no-such-user")


def test_a_file_of_the_owner_alone_is_told_with_what_to_do(tmp_path):
    file = tmp_path / "model.safetensors"
    file.touch(mode=0o644)
    tmp_path.chmod(0o700)
    with pytest.raises(ObservationError) as told:
        require_readable([str(file)], "no-such-user")
    step = str(told.value).partition("no-such-user: ")[2].partition(" has the mode 0700.")[0]
    assert str(tmp_path).startswith(step)
    assert str(told.value) == (
        f"{file} cannot be read by the user no-such-user: {step} has the mode 0700. A path that the engine's own user can read was expected; "
        "give others the right to read the files and to enter the folders (chmod a+rX), or put the model elsewhere."
    )


def test_a_link_is_followed_to_where_the_file_is(tmp_path):
    (tmp_path / "blob").touch(mode=0o600)
    link = tmp_path / "model.safetensors"
    link.symlink_to(tmp_path / "blob")
    assert checkpoint._way(str(link))[-1] == os.path.realpath(tmp_path / "blob")
    assert checkpoint._way(str(link))[:2] == ["/", f"/{str(link).split('/')[1]}"]


def test_an_access_list_of_its_own_is_not_judged_by_the_mode(tmp_path, monkeypatch):
    file = tmp_path / "model.safetensors"
    file.touch(mode=0o600)
    monkeypatch.setattr(os, "listxattr", lambda step: ["system.posix_acl_access"])
    require_readable([str(file)], "no-such-user")
