# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Backends to choose from of SGLang since 0.5.5. Made by tests/tools/make_flag_tables.py from tests/data/sglang/flags."""

from __future__ import annotations

ROWS = """
0.5.17- attention-backend,decode-attention-backend,moe-runner-backend hpc_ops
0.5.17- prefill-attention-backend,speculative-moe-runner-backend hpc_ops
0.5.5-0.5.19 attention-backend,decode-attention-backend,prefill-attention-backend cutlass_mla dual_chunk_flash_attn
0.5.5- attention-backend,decode-attention-backend,prefill-attention-backend aiter ascend fa3 fa4 flashinfer flashmla flex_attention intel_amx intel_xpu nsa
0.5.5- attention-backend,decode-attention-backend,prefill-attention-backend torch_native triton trtllm_mha trtllm_mla wave
0.5.12- attention-backend,decode-attention-backend,prefill-attention-backend compressed dsv4 tokenspeed_mla
0.5.13- attention-backend,decode-attention-backend,prefill-attention-backend cutedsl_mla dsa
0.5.19- attention-backend,decode-attention-backend,prefill-attention-backend minicpm_flashattn minicpm_flashinfer
0.5.20- attention-backend,decode-attention-backend,prefill-attention-backend qsa
0.5.22- attention-backend,decode-attention-backend,prefill-attention-backend llada2_cfg_flashinfer
0.5.15- bf16-gemm-backend auto cutedsl
0.5.17- bf16-gemm-backend torch
0.5.19 bf16-gemm-backend flashinfer_pr4266
0.5.19- bf16-gemm-backend gemv
0.5.14-0.5.21 cuda-graph-backend-decode,cuda-graph-backend-prefill tc_piecewise
0.5.14- cuda-graph-backend-decode,cuda-graph-backend-prefill breakable disabled full
0.5.17- dcp-comm-backend a2a ag_rs fi_a2a
0.5.5- disaggregation-transfer-backend ascend fake mooncake nixl
0.5.9- disaggregation-transfer-backend mori
0.5.13- disaggregation-transfer-backend mooncake_tcp
0.5.22- dsa-decode-backend intel_xpu
0.5.13- dsa-decode-backend,dsa-prefill-backend aiter fa3 flashmla_auto flashmla_kv flashmla_sparse tilelang trtllm
0.5.16- dsa-decode-backend,dsa-prefill-backend flashmla_sparse_q8
0.5.17- dsa-decode-backend,dsa-prefill-backend flashinfer_sparse_mla
0.5.20- dsa-decode-backend,dsa-prefill-backend triton
0.5.15- dsa-paged-mqa-logits-backend aiter auto cutedsl deepgemm
0.5.22- dsa-prefill-backend intel_xpu triton_sparse_mla
0.5.13- dsa-topk-backend flashinfer sgl-kernel torch
0.5.20- dsv4-attn-backend auto flashmla trtllm
0.5.23- dsv4-attn-backend flashmla_mega
0.5.19- dsv4-prefill-backend auto flashmla_sparse flashmla_sparse_q8
0.5.5- elastic-ep-backend mooncake none
0.5.10- elastic-ep-backend,moe-a2a-backend,speculative-moe-a2a-backend nixl
0.5.7- encoder-transfer-backend mooncake zmq_to_scheduler zmq_to_tokenizer
0.5.17- encoder-transfer-backend auto
0.5.14- flashinfer-allreduce-fusion-backend auto mnnvl trtllm
0.5.21- flashinfer-allreduce-fusion-backend cutedsl
0.5.8- fp4-gemm-backend auto flashinfer_cudnn flashinfer_cutlass flashinfer_trtllm
0.5.10-0.5.15 fp4-gemm-backend cutlass
0.5.12- fp4-gemm-backend flashinfer_cutedsl
0.5.13- fp4-gemm-backend marlin
0.5.6.post2- fp8-gemm-backend aiter auto cutlass deep_gemm flashinfer_trtllm triton
0.5.9- fp8-gemm-backend flashinfer_deepgemm
0.5.10- fp8-gemm-backend flashinfer_cutlass
0.5.18- fp8-gemm-backend flashinfer_cutedsl
0.5.5- grammar-backend llguidance none outlines xgrammar
0.5.5- hicache-io-backend direct kernel
0.5.5.post3- hicache-io-backend kernel_ascend
0.5.5- hicache-storage-backend aibrix dynamic eic file hf3fs mooncake nixl
0.5.11- hicache-storage-backend simm
0.5.15- hicache-storage-backend mori
0.5.17- hicache-storage-backend shm
0.5.19- hicache-storage-backend sim
0.5.20- hicache-storage-backend npu_memcache
0.5.21- hicache-storage-backend tensorcast
0.5.22- hicache-storage-backend seaweedfs
0.5.18- image-processor-backend auto pil torchvision
0.5.10- linear-attn-backend,linear-attn-decode-backend,linear-attn-prefill-backend cutedsl flashinfer triton
0.5.15- linear-attn-backend,linear-attn-decode-backend,linear-attn-prefill-backend flashkda
0.5.17- linear-attn-backend,linear-attn-decode-backend,linear-attn-prefill-backend nvidia_kda ptx_kda
0.5.18- linear-attn-backend,linear-attn-decode-backend,linear-attn-prefill-backend helion
0.5.18- linear-attn-verify-backend helion
0.5.19- linear-attn-backend,linear-attn-decode-backend,linear-attn-prefill-backend intel_xpu
0.5.19- linear-attn-verify-backend,moe-runner-backend,speculative-moe-runner-backend intel_xpu
0.5.17- linear-attn-verify-backend cutedsl flashinfer flashkda nv_cutedsl nvidia_kda ptx_kda triton
0.5.5- lora-backend csgmv triton
0.5.6.post1- lora-backend torch_native
0.5.23- lora-backend triton_v2
0.5.5.post3- lora-backend,sampling-backend ascend
0.5.9- mamba-backend flashinfer triton
0.5.5- mm-attention-backend aiter_attn ascend_attn fa3 sdpa triton_attn
0.5.9- mm-attention-backend fa4
0.5.10- mm-attention-backend flashinfer_cudnn
0.5.13- mm-attention-backend amx_attn xpu_attn
0.5.18- mm-global-cache-backend mooncake
0.5.5- moe-a2a-backend deepep mooncake none
0.5.6- moe-a2a-backend ascend_fuseep
0.5.20- moe-a2a-backend,moe-runner-backend,speculative-moe-runner-backend flashinfer_megamoe
0.5.9- moe-a2a-backend,speculative-moe-a2a-backend flashinfer mori
0.5.12- moe-a2a-backend,speculative-moe-a2a-backend megamoe
0.5.16- moe-a2a-backend,speculative-moe-a2a-backend ascend_tp
0.5.17- moe-a2a-backend,speculative-moe-a2a-backend pplx
0.5.19- moe-a2a-backend,speculative-moe-a2a-backend deepep_v2
0.5.5- moe-runner-backend,speculative-moe-runner-backend auto cutlass deep_gemm flashinfer_cutedsl flashinfer_cutlass flashinfer_mxfp4 flashinfer_trtllm
0.5.5- moe-runner-backend,speculative-moe-runner-backend triton triton_kernel
0.5.10- moe-runner-backend,speculative-moe-runner-backend flashinfer_trtllm_routed
0.5.11- moe-runner-backend,speculative-moe-runner-backend aiter
0.5.12- moe-runner-backend,speculative-moe-runner-backend marlin
0.5.13- moe-runner-backend,speculative-moe-runner-backend experimental_sgl_trtllm
0.5.16- moe-runner-backend,speculative-moe-runner-backend experimental_sgl_marlin humming
0.5.18- moe-runner-backend,speculative-moe-runner-backend megamoe
0.5.23- moe-runner-backend,speculative-moe-runner-backend lora_cutedsl lora_marlin lora_triton
0.5.23- monokernel-backend amd
0.5.5-0.5.19 nsa-decode-backend,nsa-prefill-backend aiter fa3 flashmla_auto flashmla_kv flashmla_sparse tilelang
0.5.9-0.5.19 nsa-decode-backend,nsa-prefill-backend trtllm
0.5.16-0.5.19 nsa-decode-backend,nsa-prefill-backend flashmla_sparse_q8
0.5.17-0.5.19 nsa-decode-backend,nsa-prefill-backend flashinfer_sparse_mla
0.5.20- ple-offload-backend file pinned
0.5.7- remote-instance-weight-loader-backend nccl transfer_engine
0.5.10- remote-instance-weight-loader-backend modelexpress
0.5.5- sampling-backend flashinfer pytorch
0.5.21- sampling-backend intel_xpu
0.5.19- speculative-dsa-topk-backend flashinfer sgl-kernel torch
0.5.6.post1- speculative-moe-a2a-backend ascend_fuseep deepep mooncake none
0.5.11- tokenizer-backend fastokens huggingface
0.5.20- unified-cache-external-linker-backend mooncake mori
0.5.23- unified-cache-external-linker-backend dynamic
"""
