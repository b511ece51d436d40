# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The end of a play: plan, change, start, verdict and where things are, in seven lines."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.blackwell.inference.plugins.plugin_utils.columns import COLUMNS
from ansible_collections.blackwell.inference.plugins.plugin_utils.summary import (
    Run,
    change_line,
    curl_line,
    plan_line,
    start_line,
    summary_lines,
    verdict_line,
)
from ansible_collections.blackwell.inference.tests.unit.plugin_utils.kimi_plan import PLAN

AS_IT_WAS = {
    "unit": {"unit_file_state": "enabled"},
    "process": {"running": True},
    "restart": {"required": False, "reasons": []},
    "differing_files": [],
    "differing_directories": [],
}
VERDICT = {
    "passed": True,
    "levels": [
        {
            "level": "unit",
            "checks": [{"name": "active", "outcome": "passed"}, {"name": "memlock", "outcome": "skipped"}],
        },
        {"level": "api", "checks": [{"name": "models", "outcome": "passed"}]},
    ],
}
RUN = Run(
    host="gpu1",
    unit="sglang-kimi.service",
    url="http://127.0.0.1:30000",
    served_model_name="kimi-k2.5",
    plan=PLAN,
    seen=AS_IT_WAS,
    readiness=None,
    verdict=VERDICT,
    calibration={"start_seconds": 431.2},
    estimate_seconds=779,
    installed=(),
    key=False,
    page="/var/lib/blackwell-inference/kimi/plan.html",
)


def restart(*reasons: str, running: bool = True) -> dict[str, object]:
    told = [{"input": "config", "what": reason} for reason in reasons]
    return {**AS_IT_WAS, "process": {"running": running}, "restart": {"required": True, "reasons": told}}


def test_a_second_run_says_that_nothing_changed():
    assert summary_lines(RUN) == [
        "kimi-k2.5 on gpu1: http://127.0.0.1:30000/v1 (sglang-kimi.service)",
        "Plan: 159,294 tokens on each of 8 ranks, 39 requests of 4,000 at once, host cache 384.00 GB, 5.53 GiB of a card free",
        "Change: nothing changed",
        "Start: none was needed; the last one took 431 s",
        "Verdict: passed: 2 checks, 1 skipped (memlock)",
        "Ask it: curl http://127.0.0.1:30000/v1/chat/completions --json "
        '\'{"model": "kimi-k2.5", "messages": [{"role": "user", "content": "Hello"}]}\'',
        "Logs: journalctl --unit sglang-kimi.service; page: /var/lib/blackwell-inference/kimi/plan.html",
    ]


@pytest.mark.parametrize(
    ("run", "line"),
    [
        (
            replace(RUN, seen=restart("mem-fraction-static: 0.88 becomes 0.85")),
            "restarted because mem-fraction-static: 0.88 becomes 0.85",
        ),
        (
            replace(
                RUN,
                installed=("the engine",),
                seen={
                    **restart("sglang-kimi.service is inactive", running=False),
                    "differing_files": ["config", "unit"],
                },
            ),
            "installed the engine, wrote config, unit, started because sglang-kimi.service is inactive",
        ),
        (replace(RUN, seen=restart("a", "b", "c", "d", "e")), "restarted because a; b; c; and 2 more"),
        (replace(RUN, seen={**AS_IT_WAS, "differing_files": ["labels"]}), "wrote labels"),
        (
            replace(RUN, checked=True, seen={**AS_IT_WAS, "differing_files": ["labels"]}),
            "this check would have written labels",
        ),
        (replace(RUN, seen={**AS_IT_WAS, "unit": {"unit_file_state": "disabled"}}), "enabled the unit at boot"),
        (replace(RUN, seen={**AS_IT_WAS, "differing_directories": ["/etc/sglang"]}), "put right /etc/sglang"),
        (
            replace(RUN, checked=True, seen=restart("port: 1 becomes 2")),
            "this check would have restarted because port: 1 becomes 2",
        ),
    ],
)
def test_what_changed_is_told_with_its_reason(run, line):
    assert change_line(run) == line


def test_a_start_is_told_beside_what_was_planned():
    started = replace(RUN, seen=restart("x"), readiness={"elapsed_seconds": 431.2})
    assert start_line(started) == "took 431 s, about 779 s were planned"
    assert start_line(replace(started, readiness=None)) == "about 779 s were planned"
    assert start_line(replace(RUN, calibration={})) == "none was needed"


def test_what_was_not_verified_has_no_verdict():
    assert verdict_line(replace(RUN, verdict=None, checked=True), 90) == "none, because nothing was started"
    assert verdict_line(replace(RUN, verdict={**VERDICT, "passed": False}), 90).startswith("failed: ")


def test_what_a_line_does_not_hold_is_counted_or_cut():
    assert verdict_line(RUN, 20) == "passed: 2 checks, 1 skipped"
    lines = summary_lines(replace(RUN, seen=restart(*(f"flag-{number}: {'x' * 60}" for number in range(9)))))
    change = next(line for line in lines if line.startswith("Change: "))
    assert len(change) <= COLUMNS
    assert change.startswith("Change: restarted because flag-0: ")
    assert change.endswith(" …")


def test_a_key_is_named_and_quotes_are_the_shells():
    line = curl_line(replace(RUN, key=True, served_model_name="it's"))
    assert line.startswith(
        'curl http://127.0.0.1:30000/v1/chat/completions --header "Authorization: Bearer $API_KEY" --json '
    )
    assert """it'"'"'s""" in line


def test_one_rank_without_a_card_or_a_cache():
    plan = {**PLAN, "ranks": 1, "gpu": None, "host_cache": {"enabled": False}}
    assert plan_line(plan) == "159,294 tokens, 39 requests of 4,000 at once"
