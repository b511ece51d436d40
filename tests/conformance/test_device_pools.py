# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Device pools: tokens, requests, the table of requests and the bytes of every pool, against the engine's own."""

from __future__ import annotations

import functools

import cases
import lane
import ours
import pytest

_RUNS = [(version, family) for version in cases.ALL for family in cases.FAMILIES if version in family.versions]
_COUNTED_DRAFT = ("0.5.14", "0.5.17", "0.5.23")  # versions that load the draft before they size the pools


@pytest.fixture(scope="module")
def asked():
    """All cases of all families by version, put to each engine at once: its import takes longer than a hundred cases."""

    @functools.cache
    def of(version):
        made = [
            (family.name, case)
            for family in cases.FAMILIES
            if version in family.versions
            for case in lane.generated(family.name, lambda rng, make=family.make: make(rng, version))
        ]
        answers = lane.answers(version, "device", [_as_engine_sees(case, version) for _name, case in made])
        return [(name, case, answer) for (name, case), answer in zip(made, answers, strict=True)]

    return of


@pytest.mark.parametrize(("version", "family"), _RUNS, ids=[f"{version}-{family.name}" for version, family in _RUNS])
def test_the_pools_are_those_of_the_engine(version, family, asked, record):
    rows = [(case, answer) for name, case, answer in asked(version) if name == family.name]
    theirs = [answer for _case, answer in rows]
    lane.nothing_broken(version, theirs)
    made = [ours.device(case, version) for case, _answer in rows]
    found = lane.differences([case for case, _answer in rows], theirs, made)
    record(version, family.name, len(rows), sum("refused" in answer for answer in theirs), len(found))
    assert not found, lane.told(found, len(rows))


def _as_engine_sees(case, version):
    """The engine of some versions has loaded the draft when it looks at the free memory; with drafts it lets 48 requests run."""
    seen = {key: value for key, value in case.items() if key not in ("spec", "draft_spec")}
    if case.get("speculation"):
        if version in _COUNTED_DRAFT:
            seen["free_after_bytes"] -= case["draft_weights_bytes"]
        seen["max_running_requests"] = case["max_running_requests"] or 48
    return seen
