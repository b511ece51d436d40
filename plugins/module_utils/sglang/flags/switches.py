# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Switches, and options without effect, of SGLang since 0.5.5. Made by tests/tools/make_flag_tables.py from tests/data/sglang/flags."""

from __future__ import annotations

ROWS = """
0.5.8-0.5.13 idle hybrid-kvcache-ratio
0.5.8-0.5.19 idle prefill-round-robin-balance
0.5.10-0.5.13 idle enable-piecewise-cuda-graph
0.5.11-0.5.19 idle collect-tokens-histogram
0.5.18-0.5.19 idle enable-expert-distribution-metrics
0.5.5-0.5.7 switch prefill-round-robin-balance
0.5.5-0.5.9 switch enable-piecewise-cuda-graph
0.5.5-0.5.10 switch collect-tokens-histogram enable-double-sparsity
0.5.5-0.5.12 switch enable-nan-detection
0.5.5-0.5.17 switch enable-expert-distribution-metrics
0.5.5-0.5.19 switch stream-output
0.5.5-0.5.20 switch keep-mm-feature-on-device
0.5.5- switch abort-on-priority-when-disabled allow-auto-truncate checkpoint-engine-wait-weights-before-ready constrained-json-disable-any-whitespace
0.5.5- switch delete-ckpt-after-loading disable-chunked-prefix-cache disable-cuda-graph disable-cuda-graph-padding disable-custom-all-reduce
0.5.5- switch disable-fast-image-processor disable-flashinfer-cutlass-moe-fp4-allgather disable-hybrid-swa-memory disable-outlines-disk-cache
0.5.5- switch disable-overlap-schedule disable-radix-cache disable-shared-experts-fusion disable-tokenizer-batch-decode
0.5.5- switch disaggregation-decode-enable-offload-kvcache enable-cache-report enable-cudagraph-gc enable-custom-logit-processor
0.5.5- switch enable-deterministic-inference enable-dp-attention enable-dp-lm-head enable-dynamic-batch-tokenizer enable-eplb
0.5.5- switch enable-flashinfer-allreduce-fusion enable-fp32-lm-head enable-hierarchical-cache enable-lmcache enable-lora enable-memory-saver enable-metrics
0.5.5- switch enable-metrics-for-all-schedulers enable-mixed-chunk enable-mscclpp enable-multimodal enable-nccl-nvls enable-p2p-check enable-pdmux
0.5.5- switch enable-priority-scheduling enable-profile-cuda-graph enable-request-time-stats-logging enable-return-hidden-states enable-single-batch-overlap
0.5.5- switch enable-symm-mem enable-tokenizer-batch-encode enable-torch-compile enable-torch-symm-mem enable-trace enable-two-batch-overlap
0.5.5- switch enable-weights-cpu-backup flashinfer-mla-disable-ragged grpc-mode is-embedding log-requests quantize-and-serve
0.5.5- switch schedule-low-priority-values-first show-time-cost skip-server-warmup skip-tokenizer-init sleep-on-idle triton-attention-reduce-in-fp32
0.5.5- switch trust-remote-code weight-loader-disable-mmap
0.5.5.post3- switch enable-attn-tp-input-scattered enable-broadcast-mm-inputs-process enable-draft-weights-cpu-backup enable-layerwise-nvtx-marker
0.5.5.post3- switch export-metrics-to-file
0.5.6-0.5.6.post2 switch enable-flashinfer-autotune
0.5.6-0.5.13 switch enable-nsa-prefill-context-parallel
0.5.6- switch enable-torch-compile-debug-mode mm-enable-dp-encoder
0.5.6.post1- switch enable-fused-qk-norm-rope
0.5.7-0.5.8 switch disaggregation-decode-enable-fake-auto
0.5.7- switch disable-flashinfer-autotune enable-dynamic-chunking enable-multi-layer-eagle enable-precise-embedding-interpolation enable-prefix-mm-cache
0.5.7- switch enable-return-routed-experts encoder-only language-only remote-instance-weight-loader-start-seed-via-transfer-engine
0.5.8-0.5.9 switch disable-hicache-numa-detect
0.5.8- switch enable-lora-overlap-loading enable-prefill-delayer
0.5.10-0.5.13 switch disable-piecewise-cuda-graph enforce-piecewise-cuda-graph
0.5.10-0.5.19 switch enable-prefill-context-parallel
0.5.10- switch disable-priority-preemption enable-adaptive-dispatch-to-encoder enable-aiter-allreduce-fusion enable-elastic-expert-backup
0.5.10- switch enable-fused-moe-sum-all-reduce enable-hisparse enable-mfu-metrics enable-mm-global-cache enable-ssl-refresh enable-streaming-session
0.5.10- switch enforce-disable-flashinfer-allreduce-fusion experts-shared-outer-loras incremental-streaming-output pre-warm-nccl
0.5.10- switch stream-response-default-include-usage use-ray
0.5.11-0.5.12 switch record-nolora-graph
0.5.11-0.5.19 switch enable-breakable-cuda-graph
0.5.11-0.5.20 switch elastic-ep-rejoin
0.5.11-0.5.22 switch speculative-skip-dp-mlp-sync
0.5.11- switch debug-cuda-graph disaggregation-decode-enable-radix-cache enable-dp-attention-local-control-broadcast enable-http2 enable-mis
0.5.11- switch enable-quant-communications enforce-shared-experts-fusion lora-strict-loading lora-use-virtual-experts speculative-adaptive
0.5.11- switch strip-thinking-cache weight-loader-prefetch-checkpoints
0.5.12-0.5.15 switch enable-deepep-waterfill
0.5.12- switch enable-forward-pass-metrics enable-return-indexer-topk enable-strict-thinking prefill-only-disable-kv-cache
0.5.12- switch weight-loader-drop-cache-after-load
0.5.13-0.5.19 switch enable-dsa-prefill-context-parallel
0.5.13- switch disable-attn-tp-gather enable-deepseek-v4-fp4-indexer
0.5.14- switch disable-decode-cuda-graph disable-prefill-cuda-graph enable-int8-mamba-checkpoint enable-prefill-cp speculative-use-rejection-sampling
0.5.15- switch enable-linear-replayssm enable-mamba-cache-stochastic-rounding enable-page-major-kv-layout enable-session-radix-cache enable-tf32-matmul
0.5.15- switch enable-unified-memory
0.5.16-0.5.19 switch enable-gdn-replayssm-spec
0.5.16- switch dllm-fdfo enable-dsa-cache-layer-split enable-flexkv enable-scattered-sconv enable-waterfill smg-grpc-mode
0.5.16- switch speculative-dspark-align-verify-tokens-to-graph-tier
0.5.17- switch dcp-replicate-q-proj enable-cp-decode-attn-tp enable-linear-replayssm-spec
0.5.18- switch enable-tp-lm-head-all-to-all language-model-only mlx-enable-sampling trust-mm-content-hashes
0.5.19- switch enable-dense-mlp-attn-tp enable-layernorm-sp enable-lean-attention enable-shared-experts-attn-tp enable-w4a4-mxfp4-megamoe
0.5.20- switch enable-response-store enable-unified-cache-external-linker ple-offload-embedding return-input-ids return-output-ids
0.5.21- switch disable-aiter-allreduce-fusion-in-decode disable-aiter-allreduce-fusion-in-prefill disaggregation-enable-kv-checksum
0.5.21- switch enable-decoder-swa-bounded-replay enable-encoder-swa-bounded-replay enable-linker-mla-dedup enable-pd-role-switch trust-request-chat-template
0.5.22- switch enable-dsa-fused-indexer enable-kv-cache-sharding enable-watermark speculative-enable-w4a4-mxfp4-megamoe speculative-use-block-verification
0.5.23- switch enable-amd-monokernel enable-http-worker-reuseport enable-megamoe-for-layernorm-sp enable-nvidia-megakernel enable-paged-experts
0.5.23- switch enable-return-aux-hidden-states
"""
