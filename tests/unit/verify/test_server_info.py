# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Level `server_info`: what the engine says of itself, and what of it misleads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.sglang.api import Answer
from ansible_collections.blackwell.inference.plugins.module_utils.verify.server_info import check_server_info
from ansible_collections.blackwell.inference.tests.unit.verify.design_host import (
    INFO,
    SERVER_INFO_FACTS,
    failed,
    skipped,
    with_plan,
)

ADVICE = "The process runs with other arguments than the plan's; deploy again, which restarts it."


def test_the_design_hosts_server_is_what_was_planned() -> None:
    checks = check_server_info(SERVER_INFO_FACTS)
    assert failed(checks) == {}
    assert skipped(checks) == {"context length": "skipped: the plan leaves it to the model, which allows 262144"}


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (
            "version",
            "0.5.8",
            "server info shows version 0.5.8; 0.5.9 was expected. Another engine runs than was deployed; deploy again, which restarts it.",
        ),
        (
            "max_total_num_tokens",
            116171,
            "server info shows max_total_num_tokens 116171 tokens; 159294 tokens was expected, give or take 1432 tokens "
            "(the driver's own use varies from start to start). Compare the journal's free memory with the plan's: "
            "other processes may hold GPU memory, or the plan needs this start's calibration.",
        ),
        ("tp_size", 4, f"server info shows tp_size 4; 8 was expected. {ADVICE}"),
        (
            "enable_hierarchical_cache",
            False,
            f"server info shows enable_hierarchical_cache False; True was expected. {ADVICE}",
        ),
        ("hicache_ratio", 2.0, f"server info shows hicache_ratio 2; 4 was expected. {ADVICE}"),
        (
            "hicache_write_policy",
            "write_back",
            f"server info shows hicache_write_policy write_back; write_through was expected. {ADVICE}",
        ),
        ("mem_fraction_static", 0.85, f"server info shows mem_fraction_static 0.85; 0.88 was expected. {ADVICE}"),
        (
            "max_total_num_tokens",
            None,
            "server info shows no max_total_num_tokens; 159294 tokens was expected. Compare the journal's free memory with the plan's: "
            "other processes may hold GPU memory, or the plan needs this start's calibration.",
        ),
    ],
    ids=lambda value: str(value) if not isinstance(value, str) or " " not in value else "",
)
def test_one_wrong_value_fails_by_name(key: str, value: Any, message: str) -> None:
    assert failed(check_server_info(replace(SERVER_INFO_FACTS, info={**INFO, key: value}))) == {key: message}


def test_a_ratio_that_a_size_overrides_means_nothing() -> None:
    sized = replace(SERVER_INFO_FACTS, info={**INFO, "hicache_ratio": 2.0, "hicache_size": 48})
    checks = check_server_info(with_plan({"arguments": {"hicache-size": 48}}, sized))
    assert failed(checks) == {}
    assert (
        skipped(checks)["hicache_ratio"] == "skipped: hicache_size 48 overrides it; the 2.0 that is shown has no effect"
    )


def test_the_context_length_in_force_is_the_model_lists() -> None:
    checks = check_server_info(with_plan({"arguments.context-length": 131072}, SERVER_INFO_FACTS))
    assert failed(checks) == {
        "context length": f"/v1/models shows context length 262144; 131072 was expected. {ADVICE}"
    }


def test_a_page_size_that_was_asked_for() -> None:
    assert failed(check_server_info(with_plan({"arguments.page-size": "64"}, SERVER_INFO_FACTS))) == {
        "page_size": f"server info shows page_size 1; 64 was expected. {ADVICE}"
    }


def test_no_answer() -> None:
    facts = replace(SERVER_INFO_FACTS, info={}, info_answer=Answer(error="Connection refused"))
    assert failed(check_server_info(facts)) == {
        "answer": "server info answered Connection refused; the server's own figures were expected. Read the unit's journal."
    }
