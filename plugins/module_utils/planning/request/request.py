# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All that a plan is made from, and which cards the process will see. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ...core.errors import Refusal
from ...model.attention import kv_geometries
from ...model.spec import ModelSpec
from ...sglang.sizing_rules import SizingRules
from .calibration import Calibration
from .host import GpuState, HostState
from .parallelism import Parallelism, Speculation, speculation_of
from .profile_rule import ProfileRule
from .serving import ServingPolicy

VARIABLE = "CUDA_VISIBLE_DEVICES"


def visible_cards(
    cards: Sequence[GpuState], environment: Mapping[str, Any]
) -> tuple[tuple[GpuState, ...], Refusal | None]:
    """The usable cards in the order of CUDA_VISIBLE_DEVICES, which counts usable cards from 0, or names them by the beginning of their UUID.

    CUDA itself takes a list up to its first wrong entry and says nothing; here a wrong entry is refused.
    """
    usable = tuple(card for card in cards if card.usable)
    given = environment.get(VARIABLE)
    if given is None:
        return usable, None
    found: list[GpuState] = []
    for word in (word.strip() for word in str(given).split(",")):
        matching = _named(usable, word)
        if len(matching) != 1 or matching[0] in found:
            return (), _refusal(str(given), word, usable)
        found += matching
    return tuple(found), None


def _named(usable: Sequence[GpuState], word: str) -> list[GpuState]:
    if word.isdecimal():
        return list(usable[int(word) : int(word) + 1])
    return [card for card in usable if word.startswith("GPU-") and card.uuid.startswith(word)]


def _refusal(given: str, word: str, usable: Sequence[GpuState]) -> Refusal:
    there = f"0 to {len(usable) - 1}" if len(usable) > 1 else "0 alone" if usable else "none"
    return Refusal(
        "visible_devices",
        f"{VARIABLE} in the environment is '{given}', where '{word}' names no usable GPU, or one that is named already; "
        f"the usable ones are {there}, or by UUID. Correct it, or leave it out and choose GPUs with base-gpu-id and gpu-id-step in arguments.",
    )


_INDEXED_PAGE = 64
_BLACKWELL = 10  # major compute capability


@dataclass(frozen=True)
class PlanRequest:
    """`arguments` are the operator's further engine flags, already validated; some of them change what is allocated."""

    model: ModelSpec
    rules: SizingRules
    dialect: str
    serving: ServingPolicy
    host: HostState
    calibration: Calibration = field(default_factory=Calibration)
    arguments: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    recorded_calibration: bool = False  # measured at an earlier start of this instance, and so part of the plan
    environment: Mapping[str, Any] = field(default_factory=dict)  # of the engine's process
    profile_rules: tuple[ProfileRule, ...] = ()  # what the profile warns of
    draft: ModelSpec | None = None  # a checkpoint of its own that drafts; None where the model's own MTP layers do
    draft_model_path: str | None = None

    @property
    def ranks(self) -> int:
        """GPU worker processes, each with a card of its own: tp of each pipeline stage."""
        return self.serving.tp * self.serving.pp

    @property
    def parallelism(self) -> Parallelism:
        return Parallelism(self.serving.tp, self.serving.pp, self.serving.dp)

    @cached_property
    def speculation(self) -> Speculation | None:
        """What drafts, and how; None where nothing does."""
        return speculation_of(self.serving, self.draft)

    @property
    def kv_cache_dtype(self) -> str:
        asked = {"bf16": "bfloat16", "auto": None}.get(
            self.serving.kv_cache_dtype or "auto", self.serving.kv_cache_dtype
        )
        if asked or not self.indexed:
            return asked or self.model.kv_cache_dtype
        # Whatever the checkpoint says, the engine takes fp8 from Blackwell on; cards that nobody described count as such.
        majors = (text.partition(".")[0] for text in self.host.compute_capabilities)
        older = any(major.isdecimal() and int(major) < _BLACKWELL for major in majors)
        return "bfloat16" if older else "fp8_e4m3"

    @property
    def indexed(self) -> bool:
        """Whether a sparse indexer chooses what is attended to: such a model's pages and KV type are the engine's own, since 0.5.5."""
        geometries = kv_geometries(self.model.attention)
        return self.serving.device == "cuda" and any(getattr(one, "index_head_dim", None) for one in geometries)

    @property
    def context_length(self) -> int:
        return self.serving.context_length or self.model.max_position_embeddings

    @property
    def page_size(self) -> int:
        """The page size in effect: a sparse indexer has its own, and an attention backend replaces one that it cannot serve."""
        asked = _INDEXED_PAGE if self.indexed else self.serving.page_size or 1
        backend = self.arguments.get("attention-backend")
        for row in self.rules.backend_pages:
            if row.backend == backend:
                return asked if asked in row.page_sizes else row.page_sizes[0]
        return asked

    @property
    def decode_graphs(self) -> bool:
        off = self.arguments.get("disable-cuda-graph") or self.arguments.get("disable-decode-cuda-graph")
        return not off and self.arguments.get("cuda-graph-backend-decode") != "disabled"

    @property
    def prefill_graph(self) -> bool:
        off = self.arguments.get("disable-cuda-graph") or self.arguments.get("disable-prefill-cuda-graph")
        return not off and self.arguments.get("cuda-graph-backend-prefill") != "disabled"

    @property
    def gpus(self) -> tuple[GpuState, ...]:
        """The cards that the engine will use: the first ones that it sees, or those that base-gpu-id and gpu-id-step lead to among them."""
        first, step = max(0, self.arguments.get("base-gpu-id") or 0), max(1, self.arguments.get("gpu-id-step") or 1)
        seen, _refusal = visible_cards(self.host.gpus, self.environment)
        return seen[first::step][: self.ranks]

    @property
    def multimodal_reserve_bytes(self) -> int:
        if not self.model.multimodal:
            return 0
        transported = self.arguments.get("mm-feature-transport") in ("cuda_ipc", "cuda_vmm")
        return self.rules.multimodal_reserve_bytes + (
            self.rules.multimodal_transport_reserve_bytes if transported else 0
        )
