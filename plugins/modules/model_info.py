#!/usr/bin/python
# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: model_info
short_description: Read what planning needs to know of a model
version_added: 0.1.0
author: blackwell.inference contributors (@blackwell-inference)
description:
  - Reads C(config.json), C(hf_quant_config.json), the index and the headers of the C(.safetensors) files of a model directory. No weight is read.
  - Or takes the facts from a profile, before anything is downloaded.
  - Figures of the text model are looked for in C(text_config) first, as the engine does.
extends_documentation_fragment:
  - blackwell.inference.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
options:
  path:
    description: Model directory on the host.
    type: path
  reader:
    description:
      - User that must be able to read the directory as well, the one that the engine runs as. A user who does not exist yet may do what everybody may.
      - Only with O(path).
    type: str
  profile:
    description: The dictionary C(model) of a profile.
    type: dict
"""

EXAMPLES = r"""
- name: Know the model
  blackwell.inference.model_info:
    path: /srv/models/kimi-k2.5
    reader: sglang
  register: served

- name: Know a model that is not downloaded yet
  blackwell.inference.model_info:
    profile: "{{ inference_profile_data.model }}"
"""

RETURN = r"""
model:
  description: The facts of the checkpoint that planning needs.
  type: dict
  returned: success
  contains:
    name: {type: str, returned: always, description: "Name of the directory, or what the profile says."}
    architecture:
      description: Class that the engine serves the model with, the first of C(architectures) in C(config.json).
      type: str
      returned: always
    model_type: {type: str, returned: always, description: The C(model_type) of C(config.json).}
    quantization:
      description: For example V(compressed-tensors int4), V(modelopt_fp4) or V(fp8). Null without one.
      type: str
      returned: always
    dtype: {type: str, returned: always, description: "V(bfloat16), V(float16) or V(float32)."}
    kv_cache_dtype:
      description: What C(auto) means for this checkpoint, V(bfloat16) or V(fp8_e4m3) for example.
      type: str
      returned: always
    layers: {type: int, returned: always, description: Layers of the text model.}
    hidden_size: {type: int, returned: always, description: Width of the text model.}
    vocab_size: {type: int, returned: always, description: Tokens that the model knows.}
    max_position_embeddings:
      description: Longest context in tokens, with the checkpoint's own rope scaling.
      type: int
      returned: always
    multimodal: {type: bool, returned: always, description: Whether the model reads more than text.}
    experts: {type: int, returned: always, description: Experts of a layer. Null for a dense model.}
    attention:
      description: What the engine keeps of a token, by kind of attention.
      type: dict
      returned: always
      contains:
        kind:
          description: >-
            V(mla), V(gqa), V(sliding), V(hybrid), or V(other), whose pools planning does not size and M(blackwell.inference.memory_plan)
            refuses.
          type: str
          returned: always
        heads: {type: int, returned: "for C(mla), C(gqa) and C(other)", description: Attention heads.}
        kv_lora_rank: {type: int, returned: for C(mla), description: Width of the latent that stands for keys and values.}
        qk_rope_head_dim: {type: int, returned: for C(mla), description: Width of the rope key beside it.}
        index_head_dim: {type: int, returned: for C(mla), description: Width of the key of a sparse indexer. Null without one.}
        index_pattern:
          description: One letter a layer, V(k) keeps index keys, V(r) reuses those of a layer before. Null if every layer keeps them.
          type: str
          returned: for C(mla)
        kv_heads: {type: int, returned: for C(gqa), description: Heads of keys and values.}
        head_dim: {type: int, returned: for C(gqa), description: Width of a key.}
        v_head_dim: {type: int, returned: for C(gqa), description: Width of a value.}
        full:
          description: The layers that see every token.
          type: dict
          returned: for C(sliding) and C(hybrid)
          contains:
            kind: {type: str, returned: always, description: "V(gqa), or V(mla) in some hybrids."}
            heads: {type: int, returned: always, description: Attention heads.}
            kv_heads: {type: int, returned: for C(gqa), description: Heads of keys and values.}
            head_dim: {type: int, returned: for C(gqa), description: Width of a key.}
            v_head_dim: {type: int, returned: for C(gqa), description: Width of a value.}
            kv_lora_rank: {type: int, returned: for C(mla), description: Width of the latent.}
            qk_rope_head_dim: {type: int, returned: for C(mla), description: Width of the rope key.}
            index_head_dim: {type: int, returned: for C(mla), description: "Width of the indexer's key. Null without one."}
            index_pattern: {type: str, returned: for C(mla), description: As that of the whole model.}
        sliding:
          description: The layers that see the last tokens alone.
          type: dict
          returned: for C(sliding)
          contains:
            kind: {type: str, returned: always, description: Always V(gqa).}
            heads: {type: int, returned: always, description: Attention heads.}
            kv_heads: {type: int, returned: always, description: Heads of keys and values.}
            head_dim: {type: int, returned: always, description: Width of a key.}
            v_head_dim: {type: int, returned: always, description: Width of a value.}
        window: {type: int, returned: for C(sliding), description: Tokens that they see.}
        state:
          description: What a layer of linear attention or Mamba keeps of a request.
          type: dict
          returned: for C(hybrid)
          contains:
            value_heads: {type: int, returned: always, description: Heads of values.}
            key_heads: {type: int, returned: always, description: "Heads of keys, or groups."}
            value_head_dim: {type: int, returned: always, description: Width of a value head.}
            key_head_dim: {type: int, returned: always, description: "Width of a key head, or size of the state."}
            conv_kernel: {type: int, returned: always, description: Width of the convolution.}
            dtype: {type: str, returned: always, description: "Type of the state, V(float32) or V(bfloat16) for example."}
        pattern:
          description: One letter a layer, V(f) full attention, V(s) sliding window, V(l) keeps a state, V(n) keeps nothing.
          type: str
          returned: for C(sliding) and C(hybrid)
        what: {type: str, returned: for C(other), description: What the attention is.}
    weights:
      description: The weights on the disk.
      type: dict
      returned: always
      contains:
        total_bytes: {type: int, returned: always, description: Bytes of all tensors.}
        files:
          description: Weight files. 0 with a total of 0 for a directory without weights, for which planning wants C(load-format) C(dummy).
          type: int
          returned: always
        tensors: {type: int, returned: always, description: Tensors. Null from a profile that does not tell them.}
        by_dtype: {type: dict, returned: always, description: "Bytes by the type of the tensors, for example C(BF16)."}
        replicated_bytes: {type: int, returned: always, description: Bytes that every rank holds whole. Null if not known.}
        per_rank_bytes: {type: int, returned: always, description: Bytes of one rank as measured. Null if nobody measured them.}
        per_rank_tp:
          description: Number of ranks at which C(per_rank_bytes) was measured. Null if nobody did.
          type: int
          returned: always
        shares:
          description: The bytes by how the engine divides them over ranks. Null if they are not known.
          type: dict
          returned: always
          contains:
            layers:
              description: Runs of layers that hold the same, in order.
              type: list
              elements: dict
              returned: always
              contains:
                count: {type: int, returned: always, description: Layers of the run. The other figures are those of one of its layers.}
                replicated_bytes: {type: int, returned: always, description: Whole on every rank.}
                tensor_bytes: {type: int, returned: always, description: Divided by C(tp).}
                attention_bytes: {type: int, returned: always, description: Divided by C(tp) / C(dp).}
                kv_bytes: {type: int, returned: always, description: "Divided by C(tp) / C(dp), into C(kv_heads) parts at most."}
                kv_heads: {type: int, returned: always, description: Heads of keys and values.}
            first:
              description: What the first pipeline stage holds besides.
              type: dict
              returned: always
              contains: &share
                replicated_bytes: {type: int, returned: always, description: Whole on every rank.}
                tensor_bytes: {type: int, returned: always, description: Divided by C(tp).}
                attention_bytes: {type: int, returned: always, description: Divided by C(tp) / C(dp).}
                kv_bytes: {type: int, returned: always, description: "Divided by C(tp) / C(dp), into C(kv_heads) parts at most."}
                kv_heads: {type: int, returned: always, description: Heads of keys and values.}
            last:
              description: What the last pipeline stage holds besides.
              type: dict
              returned: always
              contains: *share
            every:
              description: What every pipeline stage holds besides.
              type: dict
              returned: always
              contains: *share
            draft:
              description: The layers for multi-token prediction, which the served model does not load.
              type: dict
              returned: always
              contains: *share
            tied: {type: bool, returned: always, description: Whether the last stage needs the embedding of the first one too.}
        source: {type: str, returned: always, description: V(safetensors) or V(profile).}
    identity:
      description: >-
        SHA-256 over C(config.json), C(hf_quant_config.json), the index and each shard's header and size. It changes when the checkpoint
        does. Null from a profile.
      type: str
      returned: always
    draft_layers: {type: int, returned: always, description: "Layers for multi-token prediction beside RV(ignore:layers). 0 without any."}
    vision_rotary_dim:
      description: Half a head of the vision tower. Null without a tower, or if its heads are not told.
      type: int
      returned: always
    vision_layers: {type: int, returned: always, description: Layers of the vision tower. Null without one.}
    vision_width: {type: int, returned: always, description: Width of the vision tower. Null without one.}
    sources: {type: dict, returned: always, description: "Where a fact comes from, by the fact's name."}
  sample:
    name: kimi-k2.5
    architecture: KimiK25ForConditionalGeneration
    model_type: kimi_k25
    quantization: compressed-tensors int4
    dtype: bfloat16
    kv_cache_dtype: bfloat16
    layers: 61
    hidden_size: 7168
    vocab_size: 163840
    max_position_embeddings: 262144
    multimodal: true
    experts: 384
    attention: {kind: mla, kv_lora_rank: 512, qk_rope_head_dim: 64, heads: 64}
    weights:
      total_bytes: 595137126400
      files: 64
      tensors: 208325
      replicated_bytes: 2823356416
      source: safetensors
      shares: {layers: [{count: 60, replicated_bytes: 35816960, tensor_bytes: 9600780288, attention_bytes: 188743680}]}
    identity: 6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d
    sources: {attention: config.json text_config, weights: safetensors}
"""

import os
from collections import Counter
from dataclasses import replace

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import InferenceError
from ansible_collections.blackwell.inference.plugins.module_utils.model.checkpoint import (
    ModelDirectory,
    read_model_directory,
    require_readable,
)
from ansible_collections.blackwell.inference.plugins.module_utils.model.config import model_from_config
from ansible_collections.blackwell.inference.plugins.module_utils.model.spec import ModelSpec, Weights, model_from_dict
from ansible_collections.blackwell.inference.plugins.module_utils.model.tensor_placement import is_replicated, shares_of


def weights_of(directory: ModelDirectory) -> Weights:
    tensors = [tensor for shard in directory.shards for tensor in shard.tensors]
    by_dtype: Counter[str] = Counter()
    for tensor in tensors:
        by_dtype[tensor.dtype] += tensor.size_bytes
    return Weights(
        total_bytes=sum(tensor.size_bytes for tensor in tensors),
        files=len(directory.shards),
        source="safetensors",
        tensors=len(tensors),
        by_dtype=dict(by_dtype),
        replicated_bytes=sum(tensor.size_bytes for tensor in tensors if is_replicated(tensor.name)),
    )


def model_at(path: str, reader: str | None) -> ModelSpec:
    directory = read_model_directory(path)
    if reader is not None:
        require_readable(directory.files, reader)
    name = os.path.basename(os.path.normpath(path))
    model = model_from_config(
        name, directory.config, directory.quant_config, weights_of(directory), directory.identity, path
    )
    rows = [(tensor.name, tensor.dtype, tensor.size_bytes) for shard in directory.shards for tensor in shard.tensors]
    shares = shares_of(rows, model.layers, model.attention) if rows else None
    return replace(model, weights=replace(model.weights, shares=shares))


def main() -> None:
    module = AnsibleModule(
        argument_spec={"path": {"type": "path"}, "reader": {"type": "str"}, "profile": {"type": "dict"}},
        required_one_of=[("path", "profile")],
        mutually_exclusive=[("path", "profile")],
        supports_check_mode=True,
    )
    try:
        if module.params["path"] is not None:
            model = model_at(module.params["path"], module.params["reader"])
        else:
            model = model_from_dict(module.params["profile"], "The profile's model")
    except InferenceError as error:
        module.fail_json(msg=str(error), **error.details)
    module.exit_json(changed=False, model=model.as_dict())


if __name__ == "__main__":
    main()
