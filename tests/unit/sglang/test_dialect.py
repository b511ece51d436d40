# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which dialect a version speaks, and its sizing rules."""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise
from typing import Literal, get_args, get_origin, get_type_hints

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import EngineError
from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB, MIB
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.dialect import (
    COMPANIONS,
    OLDEST,
    dialect_for,
    flag_names,
)
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.flags.table import VERSIONS
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.sizing_history import rows_of
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.sizing_rules import SizingRules
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.version import EngineVersion


@pytest.mark.parametrize(
    ("version", "name", "notes"),
    [
        ("0.5.5", "0.5.5", ()),
        ("0.5.5.post2", "0.5.5.post1", ()),
        ("0.5.9", "0.5.9", ()),
        ("0.5.10.post1", "0.5.10", ()),
        ("0.5.12", "0.5.12", ()),
        ("0.5.15rc1", "0.5.15", ()),
        ("0.5.23", "0.5.23", ()),
        (
            "0.5.23.post1",
            "0.5.23",
            ("SGLang 0.5.23.post1 is newer than any version known here: it is treated like 0.5.23.",),
        ),
        ("0.6.1", "0.5.23", ("SGLang 0.6.1 is newer than any version known here: it is treated like 0.5.23.",)),
    ],
)
def test_dialect(version, name, notes):
    dialect = dialect_for(version)
    assert (dialect.name, dialect.flags.version, dialect.notes) == (name, name, notes)
    assert dialect.rules.engine_version == version


@pytest.mark.parametrize("version", ["0.5.4.post3", "0.4.9", "0.0.1"])
def test_older_than_the_oldest_is_refused(version):
    with pytest.raises(EngineError) as refused:
        dialect_for(version)
    assert str(refused.value) == (
        f"SGLang {version} is older than 0.5.5, the oldest version that is known here: "
        "set inference_sglang_version to 0.5.5 or newer, for example 0.5.23."
    )


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("multimodal_reserve_bytes", {"0.5.9": 0, "0.5.17": 0, "0.5.18": 100 * MIB, "0.5.23": 100 * MIB}),
        ("request_rows_extra", {"0.5.9": 0, "0.5.11": 0, "0.5.12": 1, "0.5.23": 1}),
        ("running_requests_halved", {"0.5.9": False, "0.5.10": True}),
        (
            "running_requests_cap",
            {
                "0.5.9": "none",
                "0.5.10": "estimate",
                "0.5.13": "estimate",
                "0.5.14": "half_tokens",
                "0.5.23": "half_tokens",
            },
        ),
        ("graph_batch_follows_running_requests", {"0.5.21": False, "0.5.22": True}),
        ("host_must_exceed_device", {"0.5.9": True, "0.5.14": True, "0.5.15": False}),
        ("host_check_reserve_bytes", {"0.5.9": 10 * GIB, "0.5.23": 10 * GIB}),
        ("host_check_divides", {"0.5.18": False, "0.5.19": True}),
        ("host_check_knows_cgroup", {"0.5.20": False, "0.5.21": True}),
        ("hicache_layout_default", {"0.5.13": "layer_first", "0.5.14": "page_first"}),
        ("staging_pages", {"0.5.13": 0, "0.5.14": 64}),
        ("hicache_ratio_default", {"0.5.9": 2.0, "0.5.23": 2.0}),
        ("hicache_auto_fraction", {"0.5.20": None, "0.5.21": 0.8}),
        ("hicache_size_split", {"0.5.16": False, "0.5.17": True}),
        ("hicache_size_min_over_stages", {"0.5.14": False, "0.5.15": True}),
        ("hicache_sliding", {"0.5.12": False, "0.5.13": True}),
        ("hicache_state", {"0.5.9": False, "0.5.10": True}),
        ("hicache_index_keys", {"0.5.9": "row", "0.5.10": "row", "0.5.11": "pool"}),
        ("hicache_draft", {"0.5.10": "none", "0.5.11": "pool", "0.5.17": "pool", "0.5.18": "packed"}),
        ("hicache_draft_exact", {"0.5.22": False, "0.5.23": True}),
        ("host_pools_shared", {"0.5.12": False, "0.5.13": True}),
        ("host_binding", {"0.5.9": "preferred", "0.5.10": "bound"}),
        ("loader_threads", {"0.5.9": 1, "0.5.10": 8}),
    ],
)
def test_sizing_quirks_begin_where_they_were_first_seen(field, values):
    assert {version: getattr(dialect_for(version).rules, field) for version in values} == values


RULES = {rule.name: rule for rule in fields(SizingRules)}
TYPES = get_type_hints(SizingRules)
CODES = {name: get_args(kind) for name, kind in TYPES.items() if get_origin(kind) is Literal}
CODES_OF_OTHERS = {"host_binding_asked": {""}}
"""What a type that two rules share holds for the other one."""


@pytest.mark.parametrize("name", [name for name in RULES if name != "engine_version"])
def test_a_history_is_of_known_versions_in_order_and_every_row_changes_something(name):
    rows = rows_of(RULES[name])
    assert rows[0][0] == OLDEST
    assert [version for version, _value in rows] == [version for version in VERSIONS if version in dict(rows)]
    assert all(one != other for (_then, one), (_now, other) in pairwise(rows))


@pytest.mark.parametrize("name", CODES)
def test_every_code_of_a_rule_occurs_and_no_other(name):
    assert {value for _version, value in rows_of(RULES[name])} == set(CODES[name]) - CODES_OF_OTHERS.get(name, set())


def test_no_rule_takes_codes_of_any_text():
    """A bare text is for what is a name of the engine's own: of a version, a flag or a variable."""
    assert {name for name, kind in TYPES.items() if kind is str} == {
        "engine_version",
        "stage_drafts_switch",
        "dflash_groups_flag",
        "host_binding_switch",
    }


@pytest.mark.parametrize(
    ("key", "version", "flag"),
    [
        ("cuda_graph_max_bs", "0.5.5", "cuda-graph-max-bs"),
        ("cuda_graph_max_bs", "0.5.19", "cuda-graph-max-bs"),
        ("cuda_graph_max_bs", "0.5.20", "cuda-graph-max-bs-decode"),
        ("cuda_graph_max_bs", "0.5.23", "cuda-graph-max-bs-decode"),
        ("dp", "0.5.21", "dp-size"),
        ("dp", "0.5.22", "attn-dp-size"),
    ],
)
def test_a_flag_that_was_renamed(key, version, flag):
    assert flag_names(EngineVersion.parse(version))[key] == flag


@pytest.mark.parametrize("version", VERSIONS)
def test_every_planned_flag_is_one_that_the_server_config_takes(version):
    table = dialect_for(version).flags
    flags = {*flag_names(EngineVersion.parse(version)).values()}
    flags |= {name for flag in flags for name in COMPANIONS.get(flag, {})}
    assert [flag for flag in sorted(flags) if flag not in table.flags or flag in table.barred] == []
