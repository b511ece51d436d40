# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the operator wishes for. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Callable

from ...core.errors import FORCEABLE, PlanningError, Refusal
from ...core.fields import describe, is_number, is_whole

_COUNT_MAX = 1 << 40
# The engine keeps six tokens of a context or pool to itself, and has to have one left for a request (since 0.5.5).
_LEAST_TOKENS = 7
TARGETS = ("latency", "long_context", "throughput")
_FRACTIONS = ("mem_fraction_static", "hicache_ratio", "swa_full_tokens_ratio", "mamba_full_memory_ratio")


@dataclass(frozen=True)
class ServingPolicy:
    """Wishes; None means: not asked for, planning or the engine decides.

    `dp` above 1 is attention data parallelism: groups inside tp. `target` says what values that nobody fixed are chosen for.
    """

    device: str = "cuda"
    tp: int = 1
    pp: int = 1
    dp: int = 1
    target: str = "throughput"
    mem_fraction_static: float | None = None
    context_length: int | None = None
    max_running_requests: int | None = None
    max_total_tokens: int | None = None
    chunked_prefill_size: int | None = None
    max_prefill_tokens: int | None = None
    cuda_graph_max_bs: int | None = None
    page_size: int | None = None
    kv_cache_dtype: str | None = None
    hicache: bool | None = None
    hicache_size: int | None = None
    hicache_ratio: float | None = None
    hicache_write_policy: str | None = None
    hicache_io_backend: str | None = None
    hicache_mem_layout: str | None = None
    speculative_algorithm: str | None = None
    speculative_num_steps: int | None = None
    speculative_eagle_topk: int | None = None
    speculative_num_draft_tokens: int | None = None
    swa_full_tokens_ratio: float | None = None
    mamba_full_memory_ratio: float | None = None
    max_mamba_cache_size: int | None = None
    mamba_ssm_dtype: str | None = None
    request_tokens: int = 4000
    headroom_gib: float | None = None
    host_reserve_gib: float = 10.0
    disk_bytes_per_second: float = 2e9
    force: tuple[str, ...] = ()

    @property
    def cached(self) -> bool:
        """Whether a host cache is asked for: said outright, or by giving it a size or ratio."""
        return (
            bool(self.hicache)
            if self.hicache is not None
            else self.hicache_size is not None or self.hicache_ratio is not None
        )


@dataclass(frozen=True)
class _Wish:
    expected: str
    good: Callable[[Any], bool]


def _count(minimum: int = 1) -> _Wish:
    return _Wish(
        f"a whole number of at least {minimum}", lambda value: is_whole(value) and minimum <= value <= _COUNT_MAX
    )


def _one_of(*names: str) -> _Wish:
    return _Wish(f"one of {', '.join(names)}", lambda value: isinstance(value, str) and value in names)


_FRACTION = _Wish("a number above 0 and below 1", lambda value: is_number(value) and 0 < value < 1)
_SHARE = _Wish("a number above 0 and at most 1", lambda value: is_number(value) and 0 < value <= 1)
_POSITIVE = _Wish("a number above 0", lambda value: is_number(value) and 0 < value <= _COUNT_MAX)
_SIZE_GIB = _Wish("a number of GiB, 0 or more", lambda value: is_number(value) and 0 <= value <= _COUNT_MAX)
_FORCE = _Wish(
    f"a list of refusals to override, out of {', '.join(sorted(FORCEABLE))}",
    lambda value: (
        isinstance(value, (list, tuple)) and all(isinstance(name, str) and name in FORCEABLE for name in value)
    ),
)

# Which of the KV cache's data types a version has, its flag table knows.
WISHES: dict[str, _Wish] = {
    "device": _one_of("cuda", "cpu"),
    "tp": _count(),
    "pp": _count(),
    "dp": _count(),
    "target": _one_of(*TARGETS),
    "mem_fraction_static": _FRACTION,
    "context_length": _count(_LEAST_TOKENS),
    "max_running_requests": _count(),
    "max_total_tokens": _count(_LEAST_TOKENS),
    "chunked_prefill_size": _Wish(
        "a whole number of at least 1, or -1 to turn chunking off",
        lambda value: is_whole(value) and (value == -1 or 1 <= value <= _COUNT_MAX),
    ),
    "max_prefill_tokens": _count(),
    "cuda_graph_max_bs": _count(),
    "page_size": _count(),
    "kv_cache_dtype": _one_of(
        "auto", "bfloat16", "bf16", "fp4_e2m1", "fp4_mx_block16", "fp8_e4m3", "fp8_e5m2", "mxfp8", "nvfp4"
    ),
    "hicache": _Wish("true or false", lambda value: isinstance(value, bool)),
    "hicache_size": _Wish(
        "a whole number of GB (10^9 bytes) per rank, at least 1",
        lambda value: is_whole(value) and 1 <= value <= _COUNT_MAX,
    ),
    "hicache_ratio": _POSITIVE,
    "hicache_write_policy": _one_of("write_back", "write_through", "write_through_selective"),
    "hicache_io_backend": _one_of("direct", "kernel"),
    "hicache_mem_layout": _one_of("layer_first", "page_first", "page_first_direct"),
    "speculative_algorithm": _one_of("DFLASH", "EAGLE", "EAGLE3", "NEXTN", "NGRAM", "STANDALONE"),
    "speculative_num_steps": _count(),
    "speculative_eagle_topk": _count(),
    "speculative_num_draft_tokens": _count(),
    "swa_full_tokens_ratio": _SHARE,
    "mamba_full_memory_ratio": _POSITIVE,
    "max_mamba_cache_size": _count(),
    "mamba_ssm_dtype": _one_of("bfloat16", "float32"),
    "request_tokens": _count(),
    "headroom_gib": _SIZE_GIB,
    "host_reserve_gib": _SIZE_GIB,
    "disk_bytes_per_second": _POSITIVE,
    "force": _FORCE,
}


def serving_from_dict(data: Mapping[str, Any]) -> ServingPolicy:
    """Wishes from a dictionary; a null counts as not asked for."""
    if not isinstance(data, Mapping):
        raise _refused(
            "serving_type",
            f"serving is {describe(data)}; expected a dictionary of wishes such as {{tp: 8, mem_fraction_static: 0.88}}.",
        )
    given = {str(key): value for key, value in data.items() if value is not None}
    for key, value in given.items():
        wish = WISHES.get(key)
        if wish is None:
            raise _refused(
                "serving_key",
                f"serving has the key '{key}', which planning does not know; it knows {', '.join(sorted(WISHES))}. "
                "Correct the spelling, or give an engine flag that needs no planning in arguments.",
            )
        if not wish.good(value):
            advice = (
                " Write it without quotes."
                if isinstance(value, str) and value.replace(".", "", 1).isdigit()
                else " Correct it in inference_serving or in the profile."
            )
            raise _refused("serving_value", f"serving.{key} is {_shown(key, value)}; expected {wish.expected}.{advice}")
    for key in _FRACTIONS:
        if key in given:
            given[key] = float(given[key])
    if "force" in given:
        given["force"] = tuple(sorted(set(given["force"])))
    policy = ServingPolicy(**given)
    if policy.hicache is False and (policy.hicache_size is not None or policy.hicache_ratio is not None):
        raise _refused(
            "serving_value",
            "serving.hicache is false, and yet hicache_size or hicache_ratio is given: leave the size and the ratio out, or set hicache to true.",
        )
    return policy


def _shown(key: str, value: Any) -> str:
    """A list of refusals is shown by what is wrong in it."""
    if key != "force" or not isinstance(value, (list, tuple)):
        return describe(value)
    return f"a list with {', '.join(describe(name) for name in value if name not in FORCEABLE)}"


def _refused(name: str, message: str) -> PlanningError:
    return PlanningError(message, refusals=[Refusal(name, message).as_dict()])
