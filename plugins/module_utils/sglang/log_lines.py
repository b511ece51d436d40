# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines that SGLang logs while it starts, as a table of patterns. Private to the collection, may change any time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from re import Match
from typing import NamedTuple

FIRED_UP = "The server is fired up and ready to roll!"
"""The line that ends a start, SGLang since 0.4.9: the server is up."""


class LinePattern(NamedTuple):
    """One shape of a line, and the SGLang versions that write it. `last` is None unless a later version words it otherwise."""

    name: str
    first: str
    last: str | None
    expression: str


_SLIDING = (
    r"Use {} window memory pool(?: \(all SWA\))?\. (?:full_layer_tokens=(?P<full>\d+), )?swa_layer_tokens=(?P<swa>\d+)"
)
_TOKENS = r"#tokens: (?P<tokens>\d+), (?:K size: (?P<k>[\d.]+) GB, V size: (?P<v>[\d.]+) GB|KV size: (?P<kv>[\d.]+) GB)"

# A size may be negative: what was used is a difference of two looks at the free memory, and others free memory meanwhile.
# All shapes are tried on every line: no two versions mean different things by the same words, and a post release may move a boundary.
LINES = (
    LinePattern("distributed", "0.4.9", "0.5.20", r"Init torch distributed begin"),
    LinePattern("distributed", "0.5.21", None, r"Init parallel begin"),
    LinePattern("weights_begin", "0.4.9", None, r"Load weight begin\. avail mem=(?P<free>-?[\d.]+) GB"),
    LinePattern(
        "shards",
        "0.4.9",
        None,
        r"(?:Loading \S+ checkpoint shards|Multi-thread loading shards): +\d+% Completed \| (?P<loaded>\d+)/(?P<total>\d+)",
    ),
    LinePattern(
        "weights_end",
        "0.4.9",
        None,
        r"Load weight end\..*?avail mem=(?P<free>-?[\d.]+) GB, mem usage=(?P<size>-?[\d.]+) GB",
    ),
    LinePattern("reserve", "0.5.18", None, r"Reserving (?P<size>-?[\d.]+) GB of the KV budget"),
    LinePattern("sliding", "0.5.5", "0.5.6.post2", _SLIDING.format("Sliding")),
    LinePattern("sliding", "0.5.7", None, _SLIDING.format("sliding")),
    LinePattern(
        "state",
        "0.5.4",
        None,
        r"Mamba Cache is allocated\. max_mamba_cache_size: (?P<slots>\d+), "
        r"conv_state size: (?P<conv>[\d.]+)GB, ssm_state size: (?P<ssm>[\d.]+)GB"
        r"(?: +intermediate_ssm_state_cache size: (?P<draft_ssm>[\d.]+)GB +intermediate_conv_window_cache size: (?P<draft_conv>[\d.]+)GB)?",
    ),
    LinePattern("pool", "0.4.9", "0.5.12.post1", r"KV Cache is allocated\. " + _TOKENS),
    # Since 0.5.17 the two pools of a sliding-window hybrid are labelled Full and SWA.
    LinePattern(
        "pool",
        "0.5.13",
        None,
        r"(?:\] (?P<label>\S.*?) )?KV Cache is allocated\. dtype: [^,]+, " + _TOKENS,
    ),
    LinePattern("pool_end", "0.4.9", None, r"Memory pool end\. avail mem=(?P<free>-?[\d.]+) GB"),
    LinePattern("graph_begin", "0.4.9", None, r"Capture .*? begin(?:\.| \(step)"),
    LinePattern(
        "graph",
        "0.4.9",
        None,
        r"Capture (?P<what>.*?) end\..*?mem usage=(?P<size>-?[\d.]+) GB[.,] avail mem=(?P<free>-?[\d.]+) GB",
    ),
    LinePattern(
        "totals",
        "0.4.9",
        None,
        r"max_total_num_tokens=(?P<tokens>\d+), .*?max_running_requests=(?P<requests>\d+), context_len=(?P<context>\d+)"
        r"(?:, available_(?P<device>gpu|cpu)_mem=(?P<free>-?[\d.]+) GB)?",
    ),
    LinePattern(
        "host_pool", "0.4.9", "0.5.16", r"Allocating (?P<size>-?[\d.]+) GB host memory for hierarchical KV cache"
    ),
    LinePattern(
        "host_pool",
        "0.5.17",
        None,
        r"Allocating (?P<label>\S+) hierarchical KV host pool: (?P<tokens>\d+) tokens, (?:.*?)(?P<size>-?[\d.]+) GB host memory",
    ),
    # Pools beside the one of the KV cache: states since 0.5.10, keys of an indexer since 0.5.11 (NSA; DSA since 0.5.13), further ones since.
    LinePattern(
        "host_side_pool",
        "0.5.10",
        None,
        r"Allocating (?P<size>-?[\d.]+) GB host memory for "
        r"(?P<label>hierarchical Mamba cache|[ND]SA indexer|MiniMax [^(]*?|V4 (?:paged|state) pool '[^']*')"
        r" \((?:(?P<slots>\d+) state slots)?",
    ),
    LinePattern("listening", "0.4.9", None, r"Uvicorn running on "),
    LinePattern("fired_up", "0.4.9", None, re.escape(FIRED_UP)),
)
_COMPILED = tuple((line.name, re.compile(line.expression)) for line in LINES)
_PREFIX = re.compile(r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?P<rank>(?: [A-Z_]+\d+)*)\] ")
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_BATCH = re.compile(r"\b(?:Prefill|Decode) batch\b")
_ACCESS = re.compile(r"\"(?:GET|HEAD|POST|PUT|DELETE) \S+ HTTP/[\d.]+\" \d{3}")


class Event(NamedTuple):
    """A line that says something of the start: which pattern, by which rank."""

    name: str
    rank: str
    match: Match[str]


def split_lines(message: str) -> list[str]:
    """The lines of a journal message: a progress bar is one message whose updates are separated by carriage returns."""
    return [line for line in re.split(r"[\r\n]+", _ESCAPES.sub("", message)) if line.strip()]


def is_argument_dump(line: str) -> bool:
    """`server_args=...` repeats every flag, secrets included, so it is neither searched nor shown."""
    return "server_args=" in line


def events(lines: Iterable[str]) -> Iterator[Event]:
    for line in lines:
        if is_argument_dump(line):
            continue
        prefix = _PREFIX.match(line)
        for name, expression in _COMPILED:
            match = expression.search(line)
            if match:
                yield Event(name, prefix.group("rank").strip() if prefix else "", match)
                break


def is_at_work(line: str) -> bool:
    """A line of a server that is up: a batch, or somebody who asked."""
    return _BATCH.search(line) is not None or is_access_log(line)


def is_access_log(line: str) -> bool:
    """A line that only says that somebody asked: a probe that polls the API makes one each time."""
    return _ACCESS.search(line) is not None
