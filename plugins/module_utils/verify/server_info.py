# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Level `server_info`: what the engine says of itself, against the plan. Private to the collection, may change any time.

Readings that mislead, SGLang since 0.5.9: hicache_ratio shows its default when hicache_size overrides it; context_length is null unless it was
asked for, while the model list shows the one in force; page_size of the front process may be stale, while the scheduler's is in force.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..sglang import api
from .evidence import Evidence
from .planned import Planned
from .verdict import FAILED, Check, near, plain, same, skipped

SOURCE = "server info"
ADVICE = "The process runs with other arguments than the plan's; deploy again, which restarts it."
# Engine flag of the plan -> key of the server info that must repeat it.
ASKED = (
    ("hicache-size", "hicache_size"),
    ("hicache-write-policy", "hicache_write_policy"),
    ("kv-cache-dtype", "kv_cache_dtype"),
    ("max-running-requests", "max_running_requests"),
    ("mem-fraction-static", "mem_fraction_static"),
    ("model-path", "model_path"),
    ("page-size", "page_size"),
    ("reasoning-parser", "reasoning_parser"),
    ("tool-call-parser", "tool_call_parser"),
)


@dataclass(frozen=True)
class ServerInfoFacts:
    """`info` is the answer as one flat dictionary, empty where there was none."""

    planned: Planned
    engine_version: str
    models: api.Answer
    info_answer: api.Answer
    info: Mapping[str, Any]


def gather_server_info(evidence: Evidence) -> ServerInfoFacts:
    answer, info = evidence.server_info
    question = evidence.question
    return ServerInfoFacts(question.planned, question.engine_version, evidence.models, answer, info)


def check_server_info(facts: ServerInfoFacts) -> tuple[Check, ...]:
    if not facts.info:
        message = f"{SOURCE} answered {facts.info_answer.said}; the server's own figures were expected. Read the unit's journal."
        return (Check("answer", FAILED, "server info", None, SOURCE, message),)
    planned, info = facts.planned, facts.info
    checks = [
        same(
            "version",
            facts.engine_version,
            info.get("version"),
            SOURCE,
            "Another engine runs than was deployed; deploy again, which restarts it.",
        ),
        near(
            "max_total_num_tokens",
            planned.tokens,
            info.get("max_total_num_tokens"),
            SOURCE,
            planned.token_tolerance(),
            "Compare the journal's free memory with the plan's: other processes may hold GPU memory, or the plan needs this start's calibration.",
            lambda tokens: f"{tokens} tokens",
        ),
        same("tp_size", planned.ranks, info.get("tp_size"), SOURCE, ADVICE),
        same(
            "enable_hierarchical_cache",
            bool(planned.host_cache.get("enabled")),
            bool(info.get("enable_hierarchical_cache")),
            SOURCE,
            ADVICE,
        ),
        _context_length(facts),
    ]
    checks.extend(_repeated(facts, flag, key) for flag, key in ASKED if planned.argument(flag) is not None)
    checks.extend(_ratio(facts))
    return tuple(checks)


def _repeated(facts: ServerInfoFacts, flag: str, key: str) -> Check:
    """An argument that the server must repeat. Arguments may be text; numbers of the same value are the same."""
    asked, seen = facts.planned.argument(flag), facts.info.get(key)
    return same(key, _number(asked), _number(seen), SOURCE, ADVICE, _text)


def _context_length(facts: ServerInfoFacts) -> Check:
    asked = facts.planned.argument("context-length")
    models = api.model_list(facts.models)
    seen = models.context_length if models else facts.info.get("context_length")
    source = api.MODELS if models else SOURCE
    if asked is None:
        return skipped("context length", None, seen, source, f"the plan leaves it to the model, which allows {seen}")
    return same("context length", int(asked), seen, source, ADVICE)


def _ratio(facts: ServerInfoFacts) -> tuple[Check, ...]:
    """A size overrides the ratio, and the server info shows the ratio's default all the same."""
    asked, size = facts.planned.argument("hicache-ratio"), facts.planned.argument("hicache-size")
    seen = facts.info.get("hicache_ratio")
    if size:
        why = f"hicache_size {size} overrides it; the {seen} that is shown has no effect"
        return (skipped("hicache_ratio", asked, seen, SOURCE, why),)
    return (_repeated(facts, "hicache-ratio", "hicache_ratio"),) if asked is not None else ()


def _number(value: Any) -> Any:
    try:
        return float(value) if not isinstance(value, bool) else value
    except (TypeError, ValueError):
        return value


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else plain(value)
