# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running requests and their table."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.pools import running_requests
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.dialect import dialect_for


@pytest.mark.parametrize(
    ("version", "tokens", "context", "asked", "limit", "rows"),
    [
        pytest.param("0.5.9", 159294, 262144, None, 2048, 2048, id="the design host: the least"),
        pytest.param("0.5.9", 980344, 163840, None, 3063, 3063, id="DeepSeek-R1 on 8 B200, as its log says"),
        pytest.param("0.5.23", 40000, 2048, None, 4096, 4096, id="a tiny model on a CPU: the most"),
        pytest.param(
            "0.5.9", 1000, 2048, None, 500, 2048, id="half the tokens may run, and up to 0.5.9 the table is longer"
        ),
        pytest.param("0.5.10", 1000, 2048, None, 500, 500, id="since 0.5.10 at most half the tokens"),
        pytest.param("0.5.9", 159294, 262144, 64, 64, 64, id="asked for"),
        pytest.param("0.5.9", 159294, 262144, 9000, 9000, 9000, id="0.5.9 takes any number"),
        pytest.param("0.5.13", 159294, 262144, 9000, 2048, 2048, id="0.5.10 to 0.5.13 cut to the estimate"),
        pytest.param("0.5.14", 10000, 262144, 9000, 5000, 5000, id="since 0.5.14 cut to half the tokens"),
        pytest.param("0.5.23", 159294, 262144, 9000, 9000, 9000, id="0.5.23 takes what half the tokens allow"),
    ],
)
def test_limit(version, tokens, context, asked, limit, rows):
    found = running_requests(tokens, tokens, context, asked, dialect_for(version).rules)
    assert (found.limit, found.rows) == (limit, rows)
    assert found.cut_from == (asked if asked is not None and asked != limit else None)


@pytest.mark.parametrize(
    ("version", "asked", "expected"),
    [
        pytest.param("0.5.9", None, 2048 * 262148 * 4, id="2.000 GiB on the design host"),
        pytest.param("0.5.11", None, 2048 * 262148 * 4, id="up to 0.5.11 a row a request"),
        pytest.param("0.5.12", None, 2049 * 262148 * 4, id="since 0.5.12 one row more"),
        pytest.param("0.5.9", 64, 64 * 262148 * 4, id="fewer requests give the memory back"),
    ],
)
def test_table(version, asked, expected):
    assert running_requests(159294, 159294, 262144, asked, dialect_for(version).rules).table_bytes == expected


@pytest.mark.parametrize(
    ("version", "rows"),
    [
        pytest.param("0.5.9", 3063, id="0.5.9: from the tokens that fit"),
        pytest.param("0.5.10", 2048, id="since 0.5.10: from the capped pool"),
        pytest.param("0.5.23", 2048, id="and still in 0.5.23"),
    ],
)
def test_whether_a_cap_on_tokens_shortens_the_table(version, rows):
    found = running_requests(40000, 980344, 163840, None, dialect_for(version).rules)
    assert (found.rows, found.limit) == (rows, min(rows, 20000))


@pytest.mark.parametrize("asked", [None, 64])
@pytest.mark.parametrize("tokens", [3000, 40000, 980344])
@pytest.mark.parametrize(("version", "resolved"), [("0.5.9", False), ("0.5.23", True)])
def test_the_engine_double_makes_the_same_table(monkeypatch, version, resolved, tokens, asked):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "doubles" / "engine" / "package"))
    monkeypatch.setitem(
        sys.modules, "sglang.version", SimpleNamespace(__version__=version)
    )  # only a built double has one
    double = importlib.import_module("sglang.double.sizing")
    rules = dialect_for(version).rules
    found = running_requests(tokens, 980344, 163840, asked, rules)
    rows, running = double._requests(asked, 980344, tokens, 163840, SimpleNamespace(info_is_resolved=resolved))
    assert (found.rows + rules.request_rows_extra, found.limit) == (rows, running)
