# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures of an earlier start of the same model. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...core.errors import PlanningError
from ...core.fields import Fields
from .parallelism import Parallelism

_MAX_BYTES = 1 << 50


@dataclass(frozen=True)
class Calibration:
    """Per-rank figures; each optional. They hold for `ranks` ranks on cards of `gpu_memory_total_bytes`, where those are given.

    `pp` and `dp` say how the ranks shared the weights: stages hold layers of their own, and attention groups each a whole attention.
    """

    free_before_load_bytes: int | None = None
    free_after_load_bytes: int | None = None
    draft_weights_bytes: int | None = None
    graph_bytes: int | None = None
    prefill_graph: bool = True  # whether graph_bytes holds a prefill graph, if the measured version captured one
    graph_batch: int | None = None  # the largest decode graph among graph_bytes
    activation_bytes: int | None = None
    ranks: int | None = None
    pp: int = 1
    dp: int = 1
    gpu_memory_total_bytes: int | None = None
    measured: str = "an earlier start"
    kind: str = "measured"  # "profile": on another host

    @property
    def source(self) -> str:
        return f"{self.kind}: {self.measured}"

    @property
    def weights_bytes(self) -> int | None:
        if self.free_before_load_bytes is None or self.free_after_load_bytes is None:
            return None
        return self.free_before_load_bytes - self.free_after_load_bytes

    def shares_as(self, world: Parallelism) -> bool:
        """Whether the weights of a rank were measured with the same ranks, stages and attention groups."""
        return self.ranks in (None, world.world) and (self.pp, self.dp) == (world.pp, world.dp)

    def fits(self, ranks: int, gpu_total_bytes: int) -> bool:
        """Whether the figures speak of this many ranks and of such cards (to 1 %: cards of one name differ by their ECC and display modes)."""
        same_card = (
            self.gpu_memory_total_bytes is None
            or abs(self.gpu_memory_total_bytes - gpu_total_bytes) <= gpu_total_bytes // 100
        )
        return (self.ranks is None or self.ranks == ranks) and same_card


def calibration_from_dict(data: Any) -> Calibration:
    """A Calibration from `server_verify` or from `measured` of a profile; what planning does not use is left aside."""
    if data is None:
        return Calibration()
    fields = Fields.of(
        data, "The calibration", "remove it, or measure again by verifying a running server", PlanningError
    )
    found = Calibration(
        free_before_load_bytes=fields.optional_whole("free_before_load_bytes", 1, _MAX_BYTES),
        free_after_load_bytes=fields.optional_whole("free_after_load_bytes", 0, _MAX_BYTES),
        draft_weights_bytes=fields.optional_whole("draft_weights_bytes", 0, _MAX_BYTES),
        graph_bytes=fields.optional_whole("graph_bytes", 0, _MAX_BYTES),
        prefill_graph=fields.flag("prefill_graph") if fields.has("prefill_graph") else Calibration.prefill_graph,
        graph_batch=fields.optional_whole("graph_batch", 0, _MAX_BYTES),
        activation_bytes=fields.optional_whole("activation_bytes", 0, _MAX_BYTES),
        ranks=fields.optional_whole("ranks", 1, 4096),
        pp=fields.optional_whole("pp", 1, 4096) or 1,
        dp=fields.optional_whole("dp", 1, 4096) or 1,
        gpu_memory_total_bytes=fields.optional_whole("gpu_memory_total_bytes", 1, _MAX_BYTES),
        measured=fields.optional_text("measured") or Calibration.measured,
        kind=fields.choice("kind", {"measured": 1, "profile": 1}) if fields.has("kind") else Calibration.kind,
    )
    if found.weights_bytes is not None and found.weights_bytes < 0:
        raise PlanningError(
            f"The calibration says {found.free_before_load_bytes} bytes were free before the weights were loaded and {found.free_after_load_bytes} after; "
            "expected less after than before: remove it, or measure again by verifying a running server."
        )
    return found
