# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a plan should not do in silence. Private to the collection, may change any time."""

from __future__ import annotations

from ..core.units import gib_text
from .device.gpu_budget import GpuBudget, proposed_headroom_bytes
from .host.pools import HostCache
from .request.host import OTHER_HARDWARE, UNKNOWN
from .request.request import PlanRequest

# By the source of the host's figure, which a plan keeps: a later run that stands on it says the same.
_UNSEEN = {
    UNKNOWN: "The instance runs and no earlier plan says what was free before it started: free memory is estimated from the totals.",
    OTHER_HARDWARE: "The hardware differs from that of the earlier plan, which is not used: free memory is estimated from the totals.",
}

_OF_DRAFTS = ("speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens")
_ALLOCATORS = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
_SEGMENTS = (
    "{name} turns expandable_segments on, whose memory the ranks cannot share for one-shot all-reduce over PCIe: "
    "leave it out where the engine is to use that."
)


def plan_notes(request: PlanRequest, gpu: GpuBudget | None, tokens: int, pool: HostCache | None) -> tuple[str, ...]:
    """Sentences for the report, in a fixed order."""
    serving = request.serving
    notes: list[str] = [note for source, note in _UNSEEN.items() if source == request.host.memory_source]
    lost = [gpu for gpu in request.host.gpus if not gpu.usable]
    if serving.device == "cuda" and lost:
        notes.append(f"Not used: GPU {', '.join(f'{gpu.index} ({gpu.state})' for gpu in lost)}.")
    if gpu is not None:
        notes += _gpu_notes(request, gpu)
    if tokens < request.context_length:
        # No refusal: the design host serves a context of 262,144 from a pool of 159,277 tokens, as most requests are short.
        notes.append(
            f"The context length is {request.context_length:,} and the pool holds {tokens:,} tokens: the engine "
            "rejects a request that is longer than the pool, not than the context."
        )
    notes += [_SEGMENTS.format(name=name) for name in _ALLOCATORS if gpu is not None and _expandable(request, name)]
    if serving.page_size is not None and request.page_size != serving.page_size:
        backend = request.arguments.get("attention-backend")
        who = (
            "The engine, for this model's sparse attention," if request.indexed else f"The attention backend {backend}"
        )
        notes.append(f"{who} replaces page_size {serving.page_size} by {request.page_size}.")
    notes += _draft_notes(request)
    if pool is not None and serving.hicache_size is not None and serving.hicache_ratio is not None:
        notes.append(
            f"hicache_size {serving.hicache_size} beats hicache_ratio {serving.hicache_ratio:g}, which is not used."
        )
    if pool is not None:
        notes += _transfer_notes(request)
    if pool is not None and pool.tokens <= tokens:
        notes.append(
            f"The host cache holds {pool.tokens:,} tokens, no more than the device's {tokens:,}: it can hardly add a hit."
        )
    return tuple(notes)


def _draft_notes(request: PlanRequest) -> list[str]:
    """Wishes for drafts that the engine does not follow."""
    serving, drafting = request.serving, request.speculation
    given = [key for key in _OF_DRAFTS if getattr(serving, key) is not None]
    if drafting is None:
        return [f"{', '.join(given)} without a speculative_algorithm: nothing drafts."] if given else []
    asked = serving.speculative_num_draft_tokens
    if asked is None or asked == drafting.draft_tokens:
        return []
    return [
        f"speculative_num_draft_tokens {asked} is replaced by {drafting.draft_tokens}: a chain of drafts (topk 1) verifies one token more than it has steps."
    ]


def _expandable(request: PlanRequest, name: str) -> bool:
    said = str(request.environment.get(name, "")).replace(" ", "").lower()
    return request.serving.tp > 1 and "expandable_segments:true" in said


def _transfer_notes(request: PlanRequest) -> list[str]:
    """Layouts and backends that the engine replaces with a warning (since 0.5.9)."""
    layout = request.serving.hicache_mem_layout or request.rules.hicache_layout_default
    backend = request.serving.hicache_io_backend or "kernel"
    if (layout, backend) == ("page_first_direct", "kernel"):
        return ["The engine replaces hicache_io_backend kernel by direct, as the layout page_first_direct asks for it."]
    if (layout, backend) == ("page_first", "direct"):
        return [
            "The engine replaces the layout page_first by page_first_direct, as hicache_io_backend direct asks for it."
        ]
    return []


def _gpu_notes(request: PlanRequest, gpu: GpuBudget) -> list[str]:
    serving = request.serving
    notes = []
    if serving.mem_fraction_static is None:
        notes.append(
            f"mem_fraction_static is not given: {gpu.fraction:g} is chosen, the highest that leaves enough free."
        )
    if serving.max_total_tokens is not None and serving.max_total_tokens > gpu.pools.profiled_tokens:
        notes.append(
            f"max_total_tokens {serving.max_total_tokens:,} is more than the {gpu.pools.profiled_tokens:,} tokens that fit: the engine takes the latter."
        )
    if gpu.requests.cut_from is not None:
        notes.append(
            f"max_running_requests {gpu.requests.cut_from:,} is lowered to {gpu.requests.limit:,} by SGLang {request.rules.engine_version}."
        )
    proposed = proposed_headroom_bytes(request, gpu)
    if gpu.tokens and gpu.headroom_bytes < proposed:
        notes.append(
            f"{gib_text(gpu.headroom_bytes)} stay free on each card, less than the {gib_text(proposed)} that a fraction chosen here would leave: "
            "a large prefill may run out of memory."
        )
    estimated = [
        line.name for line in gpu.ledger.lines if line.name == "weights" and line.source.startswith("estimate")
    ]
    if estimated:
        notes.append(
            "The weights of a rank are estimated from the checkpoint's size; the first verified start measures them."
        )
    return notes
