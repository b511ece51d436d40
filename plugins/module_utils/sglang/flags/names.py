# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Further names of options, and barred names, of SGLang since 0.5.5. Made by tests/tools/make_flag_tables.py from tests/data/sglang/flags."""

from __future__ import annotations

VERSIONS = """
 0.5.5 0.5.5.post1 0.5.5.post3 0.5.6 0.5.6.post1 0.5.6.post2 0.5.7 0.5.8 0.5.9 0.5.10 0.5.11 0.5.12 0.5.13 0.5.14 0.5.15 0.5.16 0.5.17 0.5.18 0.5.19 0.5.20
 0.5.21 0.5.22 0.5.23
"""

ALIASES = """
0.5.9-0.5.13 attention-context-parallel-size attn-cp-size
0.5.14- attn-cp-size attention-context-parallel-size
0.5.22- attn-dp-size attention-data-parallel-size
0.5.21- cuda-graph-prefill-max-context context-bucket
0.5.5-0.5.13 data-parallel-size dp-size
0.5.17- dcp-replicate-q-proj no-dcp-replicate-q-proj
0.5.15- dcp-size decode-context-parallel-size
0.5.5- dist-init-addr nccl-init-addr
0.5.16- dllm-fdfo no-dllm-fdfo
0.5.14- dp-size data-parallel-size
0.5.14-0.5.19 dsa-prefill-cp-mode nsa-prefill-cp-mode
0.5.14-0.5.19 enable-breakable-cuda-graph disable-piecewise-cuda-graph enforce-piecewise-cuda-graph
0.5.23- enable-decoder-swa-bounded-replay no-enable-decoder-swa-bounded-replay
0.5.22- enable-dsa-fused-indexer no-enable-dsa-fused-indexer
0.5.14-0.5.19 enable-dsa-prefill-context-parallel enable-nsa-prefill-context-parallel
0.5.23- enable-fused-qk-norm-rope no-enable-fused-qk-norm-rope
0.5.23- enable-hierarchical-cache enable-hicache
0.5.23- enable-tf32-matmul no-enable-tf32-matmul
0.5.18- enable-tp-lm-head-all-to-all no-enable-tp-lm-head-all-to-all
0.5.14- ep-size ep expert-parallel-size
0.5.5-0.5.13 expert-parallel-size ep ep-size
0.5.10- experts-shared-outer-loras no-experts-shared-outer-loras
0.5.12- hisparse-config hierarchical-sparse-attention-extra-config
0.5.11- lora-strict-loading no-lora-strict-loading
0.5.23- mm-enable-dp-encoder no-mm-enable-dp-encoder
0.5.5- model-path model
0.5.9-0.5.13 moe-data-parallel-size moe-dp-size
0.5.14- moe-dp-size moe-data-parallel-size
0.5.5-0.5.13 pipeline-parallel-size pp-size
0.5.20- ple-offload-embedding no-ple-offload-embedding
0.5.14- pp-size pipeline-parallel-size
0.5.11-0.5.12 record-nolora-graph no-record-nolora-graph
0.5.16- smg-http-sidecar-port grpc-http-sidecar-port
0.5.5- speculative-draft-model-path speculative-draft-model
0.5.12 speculative-draft-window-size speculative-dflash-draft-window-size
0.5.22- speculative-enable-w4a4-mxfp4-megamoe no-speculative-enable-w4a4-mxfp4-megamoe
0.5.5-0.5.13 tensor-parallel-size tp-size
0.5.14- tp-size tensor-parallel-size
"""

BARRED = """
0.5.8-0.5.13 barred hybrid-kvcache-ratio
0.5.8-0.5.19 barred prefill-round-robin-balance
0.5.8- barred lora-paths
0.5.10-0.5.13 barred enable-piecewise-cuda-graph
0.5.10-0.5.19 barred incremental-streaming-output stream-output
0.5.10- barred experts-shared-outer-loras no-experts-shared-outer-loras
0.5.11-0.5.12 barred no-record-nolora-graph record-nolora-graph
0.5.11-0.5.19 barred collect-tokens-histogram
0.5.11- barred lora-strict-loading no-lora-strict-loading
0.5.13-0.5.19 barred dsa-decode-backend dsa-prefill-backend dsa-prefill-cp-mode enable-dsa-prefill-context-parallel enable-nsa-prefill-context-parallel
0.5.13-0.5.19 barred speculative-draft-window-size
0.5.14-0.5.19 barred cuda-graph-backend-prefill cuda-graph-bs-decode cuda-graph-bs-prefill cuda-graph-max-bs-decode cuda-graph-max-bs-prefill
0.5.14-0.5.19 barred cuda-graph-tc-compiler disable-piecewise-cuda-graph enable-breakable-cuda-graph enable-prefill-context-parallel
0.5.14-0.5.19 barred enforce-piecewise-cuda-graph mamba-radix-cache-strategy prefill-cp-mode
0.5.14- barred disable-cuda-graph
0.5.16- barred dllm-fdfo no-dllm-fdfo
0.5.17-0.5.19 barred enable-gdn-replayssm-spec enable-linear-replayssm-spec
0.5.17- barred dcp-replicate-q-proj no-dcp-replicate-q-proj
0.5.18-0.5.19 barred enable-expert-distribution-metrics
0.5.18- barred enable-tp-lm-head-all-to-all no-enable-tp-lm-head-all-to-all
0.5.20- barred no-ple-offload-embedding ple-offload-embedding
0.5.22- barred enable-dp-attention enable-dsa-fused-indexer no-enable-dsa-fused-indexer no-speculative-enable-w4a4-mxfp4-megamoe
0.5.22- barred speculative-enable-w4a4-mxfp4-megamoe
0.5.23- barred enable-decoder-swa-bounded-replay enable-fused-qk-norm-rope enable-tf32-matmul mm-enable-dp-encoder no-enable-decoder-swa-bounded-replay
0.5.23- barred no-enable-fused-qk-norm-rope no-enable-tf32-matmul no-mm-enable-dp-encoder
"""
