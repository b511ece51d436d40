# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a profile says does not run."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import PlanningError
from ansible_collections.blackwell.inference.plugins.module_utils.planning.profile_rules import (
    suitability_notes,
    suitability_refusals,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.profile_rule import (
    ProfileRule,
    profile_rules_from,
)

WHY = "It garbles."


def rows(level: str = "refuse", **when: object) -> tuple[ProfileRule, ...]:
    return profile_rules_from([{"when": when, "why": WHY, "level": level}])


@pytest.mark.parametrize(
    ("when", "options", "holds"),
    [
        ({"compute_capability": "12.0"}, {"hardware": {"compute_capability": "12.0"}}, True),
        ({"compute_capability": "12.0"}, {"hardware": {"compute_capability": "10.0"}}, False),
        ({"compute_capability": "12.0"}, {"hardware": {"gpu_name": "RTX PRO 6000"}}, True),
        ({"compute_capability": "12.0"}, {"hardware": {"gpu_name": None}}, False),
        ({"kv_cache_dtype": "fp8_e4m3"}, {"kv_cache_dtype": "fp8_e4m3"}, True),
        ({"kv_cache_dtype": "fp8_e4m3"}, {}, False),
        ({"kv_cache_dtype": "bfloat16"}, {"kv_cache_dtype": "auto"}, True),
        ({"quantization": "compressed-tensors int4"}, {}, True),
        ({"engine_below": "0.5.18"}, {"version": "0.5.9"}, True),
        ({"engine_below": "0.5.9"}, {"version": "0.5.9"}, False),
        ({"engine_below": "0.5.18"}, {"version": "0.5.23"}, False),
        ({"ranks_below": 8}, {"tp": 4}, True),
        ({"ranks_below": 8}, {"tp": 8}, False),
        ({"gpu_memory_gib_below": 100}, {}, True),
        ({"gpu_memory_gib_below": 95}, {}, False),
        ({"ranks_below": 8, "engine_below": "0.5.9"}, {"tp": 4, "version": "0.5.9"}, False),
    ],
)
def test_conditions(request_for, when, options, holds):
    request = request_for(**{**options, "replaced": {"profile_rules": rows(**when)}})
    assert [refusal.message for refusal in suitability_refusals(request)] == (
        ["kimi-k2.5: It garbles. Change what it names."] if holds else []
    )


def test_a_refusal_can_be_forced_and_a_note_refuses_nothing(request_for):
    refusing = request_for(replaced={"profile_rules": rows(ranks_below=9)})
    assert [(refusal.name, refusal.overridable) for refusal in suitability_refusals(refusing)] == [("unsuited", True)]
    noting = request_for(replaced={"profile_rules": rows("note", ranks_below=9)})
    assert suitability_refusals(noting) == ()
    assert suitability_notes(noting) == ("kimi-k2.5: It garbles.",)
    assert suitability_notes(refusing) == ()


def test_no_rows():
    assert profile_rules_from(None) == profile_rules_from([]) == ()


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"why": WHY}, "when in A row of refuses in the profile is nothing; expected a dictionary"),
        (
            {"when": {}, "why": WHY},
            "A row of refuses in the profile has no condition in when; expected compute_capability, ",
        ),
        ({"when": {"cards": 4}, "why": WHY}, "has the condition 'cards'; expected compute_capability, engine_below, "),
        (
            {"when": {"compute_capability": 12.0}, "why": WHY},
            'has compute_capability 12.0; expected a text like "12.0"',
        ),
        ({"when": {"engine_below": "new"}, "why": WHY}, "has engine_below the text 'new'; expected a version like"),
        (
            {"when": {"ranks_below": "8"}, "why": WHY},
            "has ranks_below the text '8'; expected a number of ranks above 0",
        ),
        ({"when": {"ranks_below": 8}}, "why is missing; expected a text"),
        (
            {"when": {"ranks_below": 8}, "why": WHY, "level": "no"},
            "level is the text 'no'; expected one of note, refuse",
        ),
        (7, "A row of refuses in the profile is 7; expected a dictionary"),
    ],
)
def test_rows_that_say_nothing_clear(row, problem):
    with pytest.raises(PlanningError) as refused:
        profile_rules_from([row])
    assert problem in str(refused.value)
    assert str(refused.value).endswith("see Profile in docs/interface.md.")
