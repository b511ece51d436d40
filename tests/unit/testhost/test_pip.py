# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a test host is told of the machine's package indexes: those that it can reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.tests.testhost import pip


@pytest.mark.parametrize(
    ("file", "environment", "expected"),
    [
        ("", {}, ""),
        ("[global]\ncert = /etc/ca.crt\nextra-index-url = file:///srv/simple\n", {}, ""),
        ("[global]\nindex-url = https://mirror/simple\n", {}, "[global]\nindex-url = https://mirror/simple\n"),
        (
            "[global]\nextra-index-url =\n  file:///srv/simple\n  http://second/simple\ntrusted-host = second\n",
            {},
            "[global]\nextra-index-url = http://second/simple\ntrusted-host = second\n",
        ),
        (
            "[global]\nindex-url = https://mirror/simple\n",
            {"PIP_INDEX_URL": "https://other/simple"},
            "[global]\nindex-url = https://other/simple\n",
        ),
    ],
    ids=["nothing", "files of the machine", "an index", "a second one", "environment first"],
)
def test_a_host_gets_the_indexes_it_can_reach(
    file: str, environment: dict[str, str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pip.conf").write_text(file)
    monkeypatch.setattr(pip, "FILES", (tmp_path / "pip.conf",))
    for setting in pip.SETTINGS:
        monkeypatch.delenv(f"PIP_{setting.upper().replace('-', '_')}", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert pip.configuration() == expected
