# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that take texts or JSON, of SGLang since 0.5.5. Made by tests/tools/make_flag_tables.py from tests/data/sglang/flags."""

from __future__ import annotations

ROWS = """
0.5.5-0.5.7 json piecewise-cuda-graph-tokens
0.5.5- json remote-instance-weight-loader-send-weights-group-ports
0.5.6- json forward-hooks mm-process-config
0.5.7- json limit-mm-data-per-request preferred-sampling-params
0.5.9- json extra-metric-labels
0.5.14- json cuda-graph-config
0.5.15- json decoupled-spec-connect-endpoints
0.5.16- json default-chat-template-kwargs sidecar-args
0.5.20- json radix-eviction-policy-config
0.5.23- json unified-cache-external-linker-config
0.5.5 text kt-amx-method kt-amx-weight-path
0.5.5-0.5.6.post2 text preferred-sampling-params
0.5.5-0.5.10 text ds-channel-config-path ds-heavy-channel-type
0.5.5-0.5.13 text debug-tensor-dump-inject
0.5.5-0.5.17 text torchao-config
0.5.5-0.5.19 text nsa-decode-backend nsa-prefill-backend piecewise-cuda-graph-compiler
0.5.5- text api-key attention-backend chat-template completion-template config constrained-json-whitespace-pattern crash-dump-folder
0.5.5- text debug-tensor-dump-input-file debug-tensor-dump-output-folder decode-attention-backend decrypted-config-file decrypted-draft-config-file
0.5.5- text deepep-config deepep-mode device disaggregation-ib-device disaggregation-mode disaggregation-transfer-backend dist-init-addr download-dir dtype
0.5.5- text elastic-ep-backend ep-dispatch-algorithm eplb-algorithm expert-distribution-recorder-mode file-storage-path flashinfer-mxfp4-moe-precision
0.5.5- text grammar-backend hicache-io-backend hicache-mem-layout hicache-storage-backend hicache-storage-backend-extra-config
0.5.5- text hicache-storage-prefetch-policy hicache-write-policy host init-expert-location json-model-override-args kv-cache-dtype kv-events-config
0.5.5- text load-balance-method load-format log-level log-level-http lora-backend lora-eviction-policy mamba-ssm-dtype mm-attention-backend model-impl
0.5.5- text model-loader-extra-config model-path modelopt-checkpoint-restore-path modelopt-checkpoint-save-path modelopt-export-path modelopt-quant
0.5.5- text moe-a2a-backend moe-runner-backend mooncake-ib-device offload-mode otlp-traces-endpoint pdmux-config-path prefill-attention-backend quantization
0.5.5- text quantization-param-path radix-eviction-policy reasoning-parser remote-instance-weight-loader-seed-instance-ip revision rl-on-policy-target
0.5.5- text sampling-backend sampling-defaults schedule-policy served-model-name speculative-algorithm speculative-attention-mode
0.5.5- text speculative-draft-load-format speculative-draft-model-path speculative-draft-model-revision speculative-moe-runner-backend
0.5.5- text speculative-ngram-match-type speculative-token-map tokenizer-metrics-custom-labels-header tokenizer-mode tokenizer-path tool-call-parser
0.5.5- text tool-server warmups weight-version
0.5.5.post1- text kt-method kt-weight-path
0.5.5.post3- text export-metrics-to-file-dir
0.5.6- text dllm-algorithm fastapi-root-path
0.5.6.post1- text dllm-algorithm-config speculative-moe-a2a-backend
0.5.6.post2- text fp8-gemm-backend rl-quant-profile
0.5.7-0.5.13 text custom-sigquit-handler
0.5.7-0.5.19 text mamba-scheduler-strategy
0.5.7- text encoder-transfer-backend log-requests-format remote-instance-weight-loader-backend speculative-draft-attention-backend
0.5.7- text speculative-draft-model-quantization
0.5.8-0.5.9 text hierarchical-sparse-attention-extra-config
0.5.8-0.5.13 text nsa-prefill-cp-mode
0.5.8- text admin-api-key fp4-gemm-backend hf-chat-template-name model-checksum
0.5.9- text mamba-backend
0.5.10-0.5.19 text prefill-cp-mode
0.5.10- text hisparse-config linear-attn-backend linear-attn-decode-backend linear-attn-prefill-backend modelexpress-config ssl-ca-certs ssl-certfile
0.5.10- text ssl-keyfile ssl-keyfile-password
0.5.11- text msprobe-dump-config speculative-adaptive-config speculative-ngram-external-corpus-path tokenizer-backend
0.5.12- text forward-pass-metrics-ipc-name forward-pass-metrics-worker-id model-config-parser
0.5.13-0.5.19 text dsa-prefill-cp-mode
0.5.13- text deepep-dispatcher-output-dtype dsa-decode-backend dsa-prefill-backend dsa-topk-backend kv-canary kv-canary-real-data lmcache-config-file
0.5.13- text radix-cache-backend trace-modules
0.5.14-0.5.21 text cuda-graph-tc-compiler
0.5.14- text cp-strategy cuda-graph-backend-decode cuda-graph-backend-prefill flashinfer-allreduce-fusion-backend mamba-radix-cache-strategy
0.5.15- text bf16-gemm-backend decoupled-spec-bind-endpoint decoupled-spec-role dsa-paged-mqa-logits-backend spec-trace-dir
0.5.16- text elastic-ep-join-mode flexkv-config-file mm-feature-transport retraction-policy sidecar speculative-dspark-confidence-sts-path
0.5.16- text speculative-dspark-sps-table-path
0.5.17- text dcp-comm-backend linear-attn-verify-backend return-hidden-states-mode weight-cache-mode weight-cache-socket
0.5.18- text disaggregation-decode-retraction-backup expert-balancedness-report-mode image-processor-backend mm-global-cache-backend
0.5.18- text speculative-draft-kv-cache-dtype startup-weight-load-mode
0.5.19- text deepep-v2-mode dsv4-prefill-backend hicache-host-memory-mode load-publish-endpoint speculative-dsa-topk-backend
0.5.20- text dsv4-attn-backend flashinfer-a2a-dispatch-type ple-offload-backend ple-offload-dir unified-cache-external-linker-backend uno-lora-path
0.5.21- text boundary-reduction otlp-service-name prefill-kv-cache-dequant-dtype
0.5.22- text disaggregation-decode-allocation-policy qsa-indexer-dtype watermark-config
0.5.23- text monokernel-backend
0.5.5- text-list custom-weight-loader generation-tokens-buckets lora-paths lora-target-modules prompt-tokens-buckets tokenizer-metrics-allowed-custom-labels
0.5.7- text-list encoder-urls
0.5.8- text-list log-requests-target uvicorn-access-log-exclude-prefixes
0.5.13- text-list encoder-register-urls
0.5.17- text-list flashinfer-autotune-skip-ops
0.5.18- text-list allowed-media-domains
"""
