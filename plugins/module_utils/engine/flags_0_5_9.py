# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of SGLang 0.5.9. Made by tests/tools/make_flag_tables.py from tests/data/sglang/flags/0.5.9.json."""

from __future__ import annotations

from ansible_collections.blackwell.inference.plugins.module_utils.engine.flag_table import FlagTable

TABLE = FlagTable.of(
    version="0.5.9",
    by_kind={
        "deprecated": """
        hybrid-kvcache-ratio prefill-round-robin-balance
        """,
        "json": """
        extra-metric-labels forward-hooks limit-mm-data-per-request mm-process-config preferred-sampling-params
        remote-instance-weight-loader-send-weights-group-ports
        """,
        "number": """
        dynamic-batch-tokenizer-batch-timeout eplb-min-rebalancing-utilization-threshold gc-warning-threshold-secs hicache-ratio
        mamba-full-memory-ratio mem-fraction-static prefill-delayer-token-usage-low-watermark schedule-conservativeness
        soft-watchdog-timeout speculative-accept-threshold-acc speculative-accept-threshold-single swa-full-tokens-ratio
        tbo-token-distribution-threshold watchdog-timeout
        """,
        "number list": """
        bucket-e2e-request-latency bucket-inter-token-latency bucket-time-to-first-token prefill-delayer-forward-passes-buckets
        prefill-delayer-wait-seconds-buckets
        """,
        "switch": """
        abort-on-priority-when-disabled allow-auto-truncate checkpoint-engine-wait-weights-before-ready collect-tokens-histogram
        constrained-json-disable-any-whitespace delete-ckpt-after-loading disable-chunked-prefix-cache disable-cuda-graph
        disable-cuda-graph-padding disable-custom-all-reduce disable-fast-image-processor disable-flashinfer-autotune
        disable-flashinfer-cutlass-moe-fp4-allgather disable-hicache-numa-detect disable-hybrid-swa-memory disable-outlines-disk-cache
        disable-overlap-schedule disable-radix-cache disable-shared-experts-fusion disable-tokenizer-batch-decode
        disaggregation-decode-enable-offload-kvcache enable-attn-tp-input-scattered enable-broadcast-mm-inputs-process enable-cache-report
        enable-cudagraph-gc enable-custom-logit-processor enable-deterministic-inference enable-double-sparsity enable-dp-attention
        enable-dp-lm-head enable-draft-weights-cpu-backup enable-dynamic-batch-tokenizer enable-dynamic-chunking enable-eplb
        enable-expert-distribution-metrics enable-flashinfer-allreduce-fusion enable-fp32-lm-head enable-fused-qk-norm-rope
        enable-hierarchical-cache enable-layerwise-nvtx-marker enable-lmcache enable-lora enable-lora-overlap-loading enable-memory-saver
        enable-metrics enable-metrics-for-all-schedulers enable-mixed-chunk enable-mscclpp enable-multi-layer-eagle enable-multimodal
        enable-nan-detection enable-nccl-nvls enable-nsa-prefill-context-parallel enable-p2p-check enable-pdmux enable-piecewise-cuda-graph
        enable-precise-embedding-interpolation enable-prefill-delayer enable-prefix-mm-cache enable-priority-scheduling
        enable-profile-cuda-graph enable-request-time-stats-logging enable-return-hidden-states enable-return-routed-experts
        enable-single-batch-overlap enable-symm-mem enable-tokenizer-batch-encode enable-torch-compile enable-torch-compile-debug-mode
        enable-torch-symm-mem enable-trace enable-two-batch-overlap enable-weights-cpu-backup encoder-only export-metrics-to-file
        flashinfer-mla-disable-ragged grpc-mode is-embedding keep-mm-feature-on-device language-only log-requests mm-enable-dp-encoder
        quantize-and-serve remote-instance-weight-loader-start-seed-via-transfer-engine schedule-low-priority-values-first show-time-cost
        skip-server-warmup skip-tokenizer-init sleep-on-idle stream-output triton-attention-reduce-in-fp32 trust-remote-code
        weight-loader-disable-mmap
        """,
        "text": """
        admin-api-key api-key attention-backend chat-template completion-template config constrained-json-whitespace-pattern
        crash-dump-folder custom-sigquit-handler debug-tensor-dump-inject debug-tensor-dump-input-file debug-tensor-dump-output-folder
        decode-attention-backend decrypted-config-file decrypted-draft-config-file deepep-config deepep-mode device disaggregation-ib-device
        disaggregation-mode disaggregation-transfer-backend dist-init-addr dllm-algorithm dllm-algorithm-config download-dir
        ds-channel-config-path ds-heavy-channel-type dtype elastic-ep-backend encoder-transfer-backend ep-dispatch-algorithm eplb-algorithm
        expert-distribution-recorder-mode export-metrics-to-file-dir fastapi-root-path file-storage-path flashinfer-mxfp4-moe-precision
        fp4-gemm-backend fp8-gemm-backend grammar-backend hf-chat-template-name hicache-io-backend hicache-mem-layout
        hicache-storage-backend hicache-storage-backend-extra-config hicache-storage-prefetch-policy hicache-write-policy
        hierarchical-sparse-attention-extra-config host init-expert-location json-model-override-args kt-method kt-weight-path
        kv-cache-dtype kv-events-config load-balance-method load-format log-level log-level-http log-requests-format lora-backend
        lora-eviction-policy mamba-backend mamba-scheduler-strategy mamba-ssm-dtype mm-attention-backend model-checksum model-impl
        model-loader-extra-config model-path modelopt-checkpoint-restore-path modelopt-checkpoint-save-path modelopt-export-path
        modelopt-quant moe-a2a-backend moe-runner-backend mooncake-ib-device nsa-decode-backend nsa-prefill-backend nsa-prefill-cp-mode
        offload-mode otlp-traces-endpoint pdmux-config-path piecewise-cuda-graph-compiler prefill-attention-backend quantization
        quantization-param-path radix-eviction-policy reasoning-parser remote-instance-weight-loader-backend
        remote-instance-weight-loader-seed-instance-ip revision rl-on-policy-target rl-quant-profile sampling-backend sampling-defaults
        schedule-policy served-model-name speculative-algorithm speculative-attention-mode speculative-draft-attention-backend
        speculative-draft-load-format speculative-draft-model-path speculative-draft-model-quantization speculative-draft-model-revision
        speculative-moe-a2a-backend speculative-moe-runner-backend speculative-ngram-match-type speculative-token-map
        tokenizer-metrics-custom-labels-header tokenizer-mode tokenizer-path tool-call-parser tool-server torchao-config warmups
        weight-version
        """,
        "text list": """
        custom-weight-loader encoder-urls generation-tokens-buckets log-requests-target lora-paths lora-target-modules prompt-tokens-buckets
        tokenizer-metrics-allowed-custom-labels uvicorn-access-log-exclude-prefixes
        """,
        "whole": """
        attention-context-parallel-size base-gpu-id chunked-prefill-size context-length cpu-offload-gb cuda-graph-max-bs data-parallel-size
        decode-log-interval disaggregation-bootstrap-port disaggregation-decode-dp disaggregation-decode-polling-interval
        disaggregation-decode-tp disaggregation-prefill-pp dist-timeout ds-heavy-channel-num ds-heavy-token-num ds-sparse-decode-threshold
        dynamic-batch-tokenizer-batch-size ep-num-redundant-experts eplb-rebalance-layers-per-chunk eplb-rebalance-num-iterations
        expert-distribution-recorder-buffer-size expert-parallel-size gpu-id-step hicache-size kt-cpuinfer kt-max-deferred-experts-per-token
        kt-num-gpu-experts kt-threadpool-count log-requests-level mamba-track-interval max-loaded-loras max-lora-chunk-size max-lora-rank
        max-loras-per-batch max-mamba-cache-size max-prefill-tokens max-queued-requests max-running-requests max-total-tokens
        mm-max-concurrent-calls mm-per-request-timeout moe-data-parallel-size moe-dense-tp-size multi-item-scoring-delimiter nccl-port
        nnodes node-rank num-continuous-decode-steps num-reserved-decode-tokens offload-group-size offload-num-in-group
        offload-prefetch-step page-size piecewise-cuda-graph-max-tokens pipeline-parallel-size port pp-async-batch-depth
        pp-max-micro-batch-size prefill-delayer-max-delay-passes prefill-max-requests priority-scheduling-preemption-threshold random-seed
        remote-instance-weight-loader-seed-instance-service-port scheduler-recv-interval sm-group-num speculative-eagle-topk
        speculative-ngram-branch-length speculative-ngram-capacity speculative-ngram-max-bfs-breadth speculative-ngram-max-match-window-size
        speculative-ngram-min-bfs-breadth speculative-ngram-min-match-window-size speculative-num-draft-tokens speculative-num-steps
        stream-interval tensor-parallel-size tokenizer-worker-num torch-compile-max-bs triton-attention-num-kv-splits
        triton-attention-split-tile-size
        """,
        "whole list": """
        cuda-graph-bs debug-tensor-dump-layers numa-node piecewise-cuda-graph-tokens
        """,
    },
    choices="""
    attention-backend: aiter ascend cutlass_mla dual_chunk_flash_attn fa3 fa4 flashinfer flashmla flex_attention intel_amx intel_xpu nsa
    torch_native triton trtllm_mha trtllm_mla wave decode-attention-backend: aiter ascend cutlass_mla dual_chunk_flash_attn fa3 fa4
    flashinfer flashmla flex_attention intel_amx intel_xpu nsa torch_native triton trtllm_mha trtllm_mla wave deepep-mode: auto low_latency
    normal disaggregation-mode: decode null prefill disaggregation-transfer-backend: ascend fake mooncake mori nixl dtype: auto bfloat16
    float float16 float32 half elastic-ep-backend: mooncake none encoder-transfer-backend: mooncake zmq_to_scheduler zmq_to_tokenizer
    flashinfer-mxfp4-moe-precision: bf16 default fp4-gemm-backend: auto flashinfer_cudnn flashinfer_cutlass flashinfer_trtllm
    fp8-gemm-backend: aiter auto cutlass deep_gemm flashinfer_deepgemm flashinfer_trtllm triton grammar-backend: llguidance none outlines
    xgrammar hicache-io-backend: direct kernel kernel_ascend hicache-mem-layout: layer_first page_first page_first_direct
    page_first_kv_split page_head hicache-storage-backend: aibrix dynamic eic file hf3fs mooncake nixl hicache-storage-prefetch-policy:
    best_effort timeout wait_complete hicache-write-policy: write_back write_through write_through_selective kv-cache-dtype: auto bf16
    bfloat16 fp4_e2m1 fp8_e4m3 fp8_e5m2 load-balance-method: auto follow_bootstrap_room round_robin total_requests total_tokens load-format:
    auto bitsandbytes dummy fastsafetensors flash_rl gguf layered npcache private pt remote remote_instance safetensors sharded_state
    log-requests-format: json text log-requests-level: 0 1 2 3 lora-backend: ascend csgmv torch_native triton lora-eviction-policy: fifo lru
    lora-target-modules: all down_proj embed_tokens gate_proj gate_up_proj k_proj lm_head o_proj q_proj qkv_proj up_proj v_proj
    mamba-backend: flashinfer triton mamba-scheduler-strategy: auto extra_buffer no_buffer mamba-ssm-dtype: bfloat16 float16 float32
    max-lora-chunk-size: 128 16 32 64 mm-attention-backend: aiter_attn ascend_attn fa3 fa4 sdpa triton_attn moe-a2a-backend: ascend_fuseep
    deepep flashinfer mooncake mori none moe-runner-backend: auto cutlass deep_gemm flashinfer_cutedsl flashinfer_cutlass flashinfer_mxfp4
    flashinfer_trtllm triton triton_kernel nsa-decode-backend: aiter fa3 flashmla_auto flashmla_kv flashmla_sparse tilelang trtllm
    nsa-prefill-backend: aiter fa3 flashmla_auto flashmla_kv flashmla_sparse tilelang trtllm nsa-prefill-cp-mode: in-seq-split
    round-robin-split piecewise-cuda-graph-compiler: eager inductor prefill-attention-backend: aiter ascend cutlass_mla
    dual_chunk_flash_attn fa3 fa4 flashinfer flashmla flex_attention intel_amx intel_xpu nsa torch_native triton trtllm_mha trtllm_mla wave
    quantization: auto-round awq awq_marlin bitsandbytes compressed-tensors fp8 gguf gptq gptq_marlin marlin modelopt modelopt_fp4
    modelopt_fp8 modelslim moe_wna16 mxfp4 mxfp8 petit_nvfp4 qoq quark_int4fp8_moe w4afp8 w8a8_fp8 w8a8_int8 radix-eviction-policy: lfu lru
    reasoning-parser: deepseek-r1 deepseek-v3 glm45 gpt-oss interns1 kimi kimi_k2 minimax minimax-append-think nano_v3 qwen3 qwen3-thinking
    step3 step3p5 remote-instance-weight-loader-backend: nccl transfer_engine rl-on-policy-target: fsdp sampling-backend: ascend flashinfer
    pytorch sampling-defaults: model openai schedule-policy: dfs-weight fcfs lof lpm priority random routing-key speculative-algorithm:
    EAGLE EAGLE3 NEXTN NGRAM STANDALONE speculative-attention-mode: decode prefill speculative-draft-load-format: auto bitsandbytes dummy
    fastsafetensors flash_rl gguf layered npcache private pt remote remote_instance safetensors sharded_state
    speculative-draft-model-quantization: auto-round awq awq_marlin bitsandbytes compressed-tensors fp8 gguf gptq gptq_marlin marlin
    modelopt modelopt_fp4 modelopt_fp8 modelslim moe_wna16 mxfp4 mxfp8 petit_nvfp4 qoq quark_int4fp8_moe unquant w4afp8 w8a8_fp8 w8a8_int8
    speculative-moe-a2a-backend: ascend_fuseep deepep flashinfer mooncake mori none speculative-moe-runner-backend: auto cutlass deep_gemm
    flashinfer_cutedsl flashinfer_cutlass flashinfer_mxfp4 flashinfer_trtllm triton triton_kernel speculative-ngram-match-type: BFS PROB
    tokenizer-mode: auto slow tool-call-parser: deepseekv3 deepseekv31 deepseekv32 gigachat3 glm glm45 glm47 gpt-oss hermes interns1 kimi_k2
    lfm2 llama3 mimo minimax-m2 mistral pythonic qwen qwen25 qwen3_coder step3 step3p5 trinity
    """,
    aliases="""
    attn-cp-size: attention-context-parallel-size dp-size: data-parallel-size ep: expert-parallel-size ep-size: expert-parallel-size model:
    model-path moe-dp-size: moe-data-parallel-size nccl-init-addr: dist-init-addr pp-size: pipeline-parallel-size speculative-draft-model:
    speculative-draft-model-path tp-size: tensor-parallel-size
    """,
)
