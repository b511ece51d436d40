# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one token costs on one rank, by the kind of attention. Private to the collection, may change any time."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Callable, Union

from ..core.fields import Fields, describe

_MAX_HEADS = 65_536
_MAX_DIMENSION = 65_536
_MAX_WINDOW = 1_000_000_000

ELEMENT_BYTES = {"bfloat16": 2, "float16": 2, "fp8_e4m3": 1, "fp8_e5m2": 1}
STATE_BYTES = {"bfloat16": 2, "float16": 2, "float32": 4}
LAYER_KINDS = {
    "f": "full attention",
    "s": "sliding-window attention",
    "l": "linear attention or state space",
    "n": "no cache",
    "k": "index keys of its own",
    "r": "those of an earlier layer",
}


@dataclass(frozen=True)
class MlaGeometry:
    """One latent and one rope key a layer, whole on every rank; with `index_head_dim` also the key of a sparse indexer (DSA).

    `index_pattern` has one letter a layer: k keeps index keys, r reuses the choice of an earlier layer and needs none (since
    SGLang 0.5.18; before, every layer keeps them). None: every layer keeps index keys.
    """

    kv_lora_rank: int
    qk_rope_head_dim: int
    heads: int
    index_head_dim: int | None = None
    kind: str = "mla"
    index_pattern: str | None = None


@dataclass(frozen=True)
class GqaGeometry:
    """Keys and values of each head; a rank keeps its share of the heads, and one whole head where there are fewer heads than ranks."""

    heads: int
    kv_heads: int
    head_dim: int
    v_head_dim: int
    kind: str = "gqa"


@dataclass(frozen=True)
class SlidingGeometry:
    """Layers that see every token and layers that see the last `window` ones, each kind with a pool of its own.

    `pattern` has one letter a layer, in order: f full attention, s sliding window.
    """

    full: GqaGeometry
    sliding: GqaGeometry
    window: int
    pattern: str
    kind: str = "sliding"

    @property
    def heads(self) -> int:
        return self.full.heads


@dataclass(frozen=True)
class StateGeometry:
    """What a linear-attention or state-space layer keeps of a request instead of keys and values: a convolution window and a state.

    Gated delta net: linear_num_value_heads, linear_num_key_heads, linear_value_head_dim, linear_key_head_dim; Mamba 2: heads, groups, head
    dimension, state size; KDA: as many key heads as value heads. `dtype` is the state's, 2 or 4 bytes; the window is bfloat16.
    """

    value_heads: int
    key_heads: int
    value_head_dim: int
    key_head_dim: int
    conv_kernel: int
    dtype: str = "float32"


@dataclass(frozen=True)
class HybridGeometry:
    """Full-attention layers among layers that keep a state. `pattern` has one letter a layer: f, l, or n for a layer without a cache."""

    full: MlaGeometry | GqaGeometry
    state: StateGeometry
    pattern: str
    kind: str = "hybrid"

    @property
    def heads(self) -> int:
        return self.full.heads


@dataclass(frozen=True)
class OtherAttention:
    """Attention whose pools this version of the collection does not size; planning refuses it with `what`."""

    what: str
    heads: int
    kind: str = "other"


Attention = Union[MlaGeometry, GqaGeometry, SlidingGeometry, HybridGeometry, OtherAttention]
Geometry = Union[MlaGeometry, GqaGeometry]


def kv_geometries(attention: Attention) -> tuple[Geometry, ...]:
    """The kinds of attention in it that keep keys and values, the full one first; none where they are not known."""
    if isinstance(attention, SlidingGeometry):
        return attention.full, attention.sliding
    if isinstance(attention, HybridGeometry):
        return (attention.full,)
    return () if isinstance(attention, OtherAttention) else (attention,)


def attention_as_dict(attention: Attention) -> dict[str, Any]:
    return asdict(attention)


def attention_from_dict(fields: Fields) -> Attention:
    """Attention as a profile or `model_info` writes it."""
    return _READERS[fields.choice("kind", _READERS)](fields)


def _mla(fields: Fields) -> MlaGeometry:
    return MlaGeometry(
        fields.whole("kv_lora_rank", 1, _MAX_DIMENSION),
        fields.whole("qk_rope_head_dim", 1, _MAX_DIMENSION),
        fields.whole("heads", 1, _MAX_HEADS),
        fields.optional_whole("index_head_dim", 1, _MAX_DIMENSION),
        index_pattern=_pattern(fields, "kr", "index_pattern") if fields.has("index_pattern") else None,
    )


def _gqa(fields: Fields) -> GqaGeometry:
    head_dim = fields.whole("head_dim", 1, _MAX_DIMENSION)
    return GqaGeometry(
        heads=fields.whole("heads", 1, _MAX_HEADS),
        kv_heads=fields.whole("kv_heads", 1, _MAX_HEADS),
        head_dim=head_dim,
        v_head_dim=fields.optional_whole("v_head_dim", 1, _MAX_DIMENSION) or head_dim,
    )


def _sliding(fields: Fields) -> SlidingGeometry:
    return SlidingGeometry(
        full=_gqa(fields.within("full")),
        sliding=_gqa(fields.within("sliding")),
        window=fields.whole("window", 1, _MAX_WINDOW),
        pattern=_pattern(fields, "fs"),
    )


def _hybrid(fields: Fields) -> HybridGeometry:
    full, state = fields.within("full"), fields.within("state")
    return HybridGeometry(
        full=_mla(full) if full.choice("kind", {"mla": 1, "gqa": 1}) == "mla" else _gqa(full),
        state=StateGeometry(
            value_heads=state.whole("value_heads", 1, _MAX_HEADS),
            key_heads=state.whole("key_heads", 1, _MAX_HEADS),
            value_head_dim=state.whole("value_head_dim", 1, _MAX_DIMENSION),
            key_head_dim=state.whole("key_head_dim", 1, _MAX_DIMENSION),
            conv_kernel=state.whole("conv_kernel", 1, _MAX_DIMENSION),
            dtype=state.choice("dtype", STATE_BYTES) if state.has("dtype") else "float32",
        ),
        pattern=_pattern(fields, "fln"),
    )


def _pattern(fields: Fields, letters: str, key: str = "pattern") -> str:
    pattern = fields.text(key)
    if set(pattern) - set(letters):
        known = ", ".join(f"{letter} ({LAYER_KINDS[letter]})" for letter in letters)
        raise fields.error(
            f"{fields.where}: {key} is {describe(pattern)}; expected one letter a layer out of {known}: {fields.advice}."
        )
    return pattern


def _other(fields: Fields) -> OtherAttention:
    return OtherAttention(fields.text("what"), fields.whole("heads", 1, _MAX_HEADS))


_READERS: dict[str, Callable[[Fields], Attention]] = {
    "mla": _mla,
    "gqa": _gqa,
    "sliding": _sliding,
    "hybrid": _hybrid,
    "other": _other,
}
