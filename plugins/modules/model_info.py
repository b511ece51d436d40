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
  description:
    - The facts of the checkpoint, each with where it came from in RV(ignore:sources).
    - RV(ignore:kv_cache_dtype) is what C(auto) means for it.
    - RV(ignore:identity) changes when the checkpoint changes, and is null from a profile.
  returned: success
  type: dict
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
