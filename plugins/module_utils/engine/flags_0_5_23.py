# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of SGLang 0.5.23. Made by tests/tools/make_flag_tables.py from tests/data/sglang/flags/0.5.23.json."""

from __future__ import annotations

from ansible_collections.blackwell.inference.plugins.module_utils.engine.flag_table import FlagTable

TABLE = FlagTable.of(
    version="0.5.23",
    by_kind={
        "amount": """
        context-length cuda-graph-prefill-max-context max-prefill-tokens max-total-tokens
        """,
        "deprecated": """
        disable-cuda-graph enable-dp-attention monokernel-backend
        """,
        "json": """
        cuda-graph-config decoupled-spec-connect-endpoints default-chat-template-kwargs extra-metric-labels forward-hooks
        limit-mm-data-per-request mm-process-config preferred-sampling-params radix-eviction-policy-config
        remote-instance-weight-loader-send-weights-group-ports sidecar-args unified-cache-external-linker-config
        """,
        "number": """
        disaggregation-decode-host-receive-threshold dynamic-batch-tokenizer-batch-timeout elastic-ep-scale-timeout
        eplb-min-rebalancing-utilization-threshold gc-warning-threshold-secs hicache-host-memory-fraction hicache-ratio
        lora-drain-wait-threshold mamba-full-memory-ratio mem-fraction-static prefill-delayer-max-delay-ms prefill-delayer-queue-min-ratio
        prefill-delayer-token-usage-low-watermark schedule-conservativeness soft-watchdog-timeout speculative-accept-threshold-acc
        speculative-accept-threshold-single swa-full-tokens-ratio tbo-token-distribution-threshold watchdog-timeout
        """,
        "number list": """
        bucket-e2e-request-latency bucket-inter-token-latency bucket-time-to-first-token prefill-delayer-forward-passes-buckets
        prefill-delayer-wait-seconds-buckets
        """,
        "switch": """
        abort-on-priority-when-disabled allow-auto-truncate checkpoint-engine-wait-weights-before-ready
        constrained-json-disable-any-whitespace dcp-replicate-q-proj debug-cuda-graph delete-ckpt-after-loading
        disable-aiter-allreduce-fusion-in-decode disable-aiter-allreduce-fusion-in-prefill disable-attn-tp-gather
        disable-chunked-prefix-cache disable-cuda-graph-padding disable-custom-all-reduce disable-decode-cuda-graph
        disable-fast-image-processor disable-flashinfer-autotune disable-flashinfer-cutlass-moe-fp4-allgather disable-hybrid-swa-memory
        disable-outlines-disk-cache disable-overlap-schedule disable-prefill-cuda-graph disable-priority-preemption disable-radix-cache
        disable-shared-experts-fusion disable-tokenizer-batch-decode disaggregation-decode-enable-offload-kvcache
        disaggregation-decode-enable-radix-cache disaggregation-enable-kv-checksum dllm-fdfo enable-adaptive-dispatch-to-encoder
        enable-aiter-allreduce-fusion enable-amd-monokernel enable-attn-tp-input-scattered enable-broadcast-mm-inputs-process
        enable-cache-report enable-cp-decode-attn-tp enable-cudagraph-gc enable-custom-logit-processor enable-decoder-swa-bounded-replay
        enable-deepseek-v4-fp4-indexer enable-dense-mlp-attn-tp enable-deterministic-inference enable-dp-attention-local-control-broadcast
        enable-dp-lm-head enable-draft-weights-cpu-backup enable-dsa-cache-layer-split enable-dsa-fused-indexer
        enable-dynamic-batch-tokenizer enable-dynamic-chunking enable-elastic-expert-backup enable-encoder-swa-bounded-replay enable-eplb
        enable-flashinfer-allreduce-fusion enable-flexkv enable-forward-pass-metrics enable-fp32-lm-head enable-fused-moe-sum-all-reduce
        enable-fused-qk-norm-rope enable-hierarchical-cache enable-hisparse enable-http-worker-reuseport enable-http2
        enable-int8-mamba-checkpoint enable-kv-cache-sharding enable-layernorm-sp enable-layerwise-nvtx-marker enable-lean-attention
        enable-linear-replayssm enable-linear-replayssm-spec enable-linker-mla-dedup enable-lmcache enable-lora enable-lora-overlap-loading
        enable-mamba-cache-stochastic-rounding enable-megamoe-for-layernorm-sp enable-memory-saver enable-metrics
        enable-metrics-for-all-schedulers enable-mfu-metrics enable-mis enable-mixed-chunk enable-mm-global-cache enable-mscclpp
        enable-multi-layer-eagle enable-multimodal enable-nccl-nvls enable-nvidia-megakernel enable-p2p-check enable-page-major-kv-layout
        enable-paged-experts enable-pd-role-switch enable-pdmux enable-precise-embedding-interpolation enable-prefill-cp
        enable-prefill-delayer enable-prefix-mm-cache enable-priority-scheduling enable-profile-cuda-graph enable-quant-communications
        enable-request-time-stats-logging enable-response-store enable-return-aux-hidden-states enable-return-hidden-states
        enable-return-indexer-topk enable-return-routed-experts enable-scattered-sconv enable-session-radix-cache
        enable-shared-experts-attn-tp enable-single-batch-overlap enable-ssl-refresh enable-streaming-session enable-strict-thinking
        enable-symm-mem enable-tf32-matmul enable-tokenizer-batch-encode enable-torch-compile enable-torch-compile-debug-mode
        enable-torch-symm-mem enable-tp-lm-head-all-to-all enable-trace enable-two-batch-overlap enable-unified-cache-external-linker
        enable-unified-memory enable-w4a4-mxfp4-megamoe enable-waterfill enable-watermark enable-weights-cpu-backup encoder-only
        enforce-disable-flashinfer-allreduce-fusion enforce-shared-experts-fusion experts-shared-outer-loras export-metrics-to-file
        flashinfer-mla-disable-ragged grpc-mode incremental-streaming-output is-embedding language-model-only language-only log-requests
        lora-strict-loading lora-use-virtual-experts mlx-enable-sampling mm-enable-dp-encoder ple-offload-embedding pre-warm-nccl
        prefill-only-disable-kv-cache quantize-and-serve remote-instance-weight-loader-start-seed-via-transfer-engine return-input-ids
        return-output-ids schedule-low-priority-values-first show-time-cost skip-server-warmup skip-tokenizer-init sleep-on-idle
        smg-grpc-mode speculative-adaptive speculative-dspark-align-verify-tokens-to-graph-tier speculative-enable-w4a4-mxfp4-megamoe
        speculative-use-block-verification speculative-use-rejection-sampling stream-response-default-include-usage strip-thinking-cache
        triton-attention-reduce-in-fp32 trust-mm-content-hashes trust-remote-code trust-request-chat-template use-ray
        weight-loader-disable-mmap weight-loader-drop-cache-after-load weight-loader-prefetch-checkpoints
        """,
        "text": """
        admin-api-key api-key attention-backend bf16-gemm-backend boundary-reduction chat-template completion-template config
        constrained-json-whitespace-pattern cp-strategy crash-dump-folder cuda-graph-backend-decode cuda-graph-backend-prefill
        dcp-comm-backend debug-tensor-dump-input-file debug-tensor-dump-output-folder decode-attention-backend decoupled-spec-bind-endpoint
        decoupled-spec-role decrypted-config-file decrypted-draft-config-file deepep-config deepep-dispatcher-output-dtype deepep-mode
        deepep-v2-mode device disaggregation-decode-allocation-policy disaggregation-decode-retraction-backup disaggregation-ib-device
        disaggregation-mode disaggregation-transfer-backend dist-init-addr dllm-algorithm dllm-algorithm-config download-dir
        dsa-decode-backend dsa-paged-mqa-logits-backend dsa-prefill-backend dsa-topk-backend dsv4-attn-backend dsv4-prefill-backend dtype
        elastic-ep-backend elastic-ep-join-mode encoder-transfer-backend ep-dispatch-algorithm eplb-algorithm
        expert-balancedness-report-mode expert-distribution-recorder-mode export-metrics-to-file-dir fastapi-root-path file-storage-path
        flashinfer-a2a-dispatch-type flashinfer-allreduce-fusion-backend flashinfer-mxfp4-moe-precision flexkv-config-file
        forward-pass-metrics-ipc-name forward-pass-metrics-worker-id fp4-gemm-backend fp8-gemm-backend grammar-backend hf-chat-template-name
        hicache-host-memory-mode hicache-io-backend hicache-mem-layout hicache-storage-backend hicache-storage-backend-extra-config
        hicache-storage-prefetch-policy hicache-write-policy hisparse-config host image-processor-backend init-expert-location
        json-model-override-args kt-method kt-weight-path kv-cache-dtype kv-canary kv-canary-real-data kv-events-config linear-attn-backend
        linear-attn-decode-backend linear-attn-prefill-backend linear-attn-verify-backend lmcache-config-file load-balance-method
        load-format load-publish-endpoint log-level log-level-http log-requests-format lora-backend lora-eviction-policy mamba-backend
        mamba-radix-cache-strategy mamba-ssm-dtype mm-attention-backend mm-feature-transport mm-global-cache-backend model-checksum
        model-config-parser model-impl model-loader-extra-config model-path modelexpress-config modelopt-checkpoint-restore-path
        modelopt-checkpoint-save-path modelopt-export-path modelopt-quant moe-a2a-backend moe-runner-backend mooncake-ib-device
        msprobe-dump-config offload-mode otlp-service-name otlp-traces-endpoint pdmux-config-path ple-offload-backend ple-offload-dir
        prefill-attention-backend prefill-kv-cache-dequant-dtype qsa-indexer-dtype quantization quantization-param-path radix-cache-backend
        radix-eviction-policy reasoning-parser remote-instance-weight-loader-backend remote-instance-weight-loader-seed-instance-ip
        retraction-policy return-hidden-states-mode revision rl-on-policy-target rl-quant-profile sampling-backend sampling-defaults
        schedule-policy served-model-name sidecar spec-trace-dir speculative-adaptive-config speculative-algorithm
        speculative-attention-mode speculative-draft-attention-backend speculative-draft-kv-cache-dtype speculative-draft-load-format
        speculative-draft-model-path speculative-draft-model-quantization speculative-draft-model-revision speculative-dsa-topk-backend
        speculative-dspark-confidence-sts-path speculative-dspark-sps-table-path speculative-moe-a2a-backend speculative-moe-runner-backend
        speculative-ngram-external-corpus-path speculative-ngram-match-type speculative-token-map ssl-ca-certs ssl-certfile ssl-keyfile
        ssl-keyfile-password startup-weight-load-mode tokenizer-backend tokenizer-metrics-custom-labels-header tokenizer-mode tokenizer-path
        tool-call-parser tool-server trace-modules unified-cache-external-linker-backend uno-lora-path warmups watermark-config
        weight-cache-mode weight-cache-socket weight-version
        """,
        "text list": """
        allowed-media-domains custom-weight-loader encoder-register-urls encoder-urls flashinfer-autotune-skip-ops generation-tokens-buckets
        log-requests-target lora-paths lora-target-modules prompt-tokens-buckets tokenizer-metrics-allowed-custom-labels
        uvicorn-access-log-exclude-prefixes
        """,
        "whole": """
        asr-max-buffer-seconds asr-max-concurrent-sessions attn-cp-size attn-dp-size base-gpu-id batch-notify-size c128-page-size
        chunked-prefill-size constrained-json-max-whitespace-cnt cpu-offload-gb cuda-graph-max-bs-decode cuda-graph-max-bs-prefill
        cuda-graph-max-seq-len-prefill dcp-size decode-log-interval decoupled-spec-rank default-priority-value detokenizer-worker-num
        disaggregation-bootstrap-port disaggregation-decode-extra-slots disaggregation-decode-polling-interval dist-timeout dp-size
        dsa-triton-union dwdp-size dynamic-batch-tokenizer-batch-size elastic-ep-initial-size elastic-ep-join-rank-offset
        encoder-bootstrap-port engine-info-bootstrap-port ep-num-redundant-experts ep-size eplb-rebalance-layers-per-chunk
        eplb-rebalance-num-iterations expert-distribution-recorder-buffer-size fuseep-mode gated-launch-port gpu-id-step grpc-port
        grpc-response-timeout-secs hicache-size hicache-storage-prefetch-retry-max-attempts hicache-storage-prefetch-retry-poll-interval
        http2-initial-connection-window-size http2-max-concurrent-streams int8-mamba-ckpt-size kt-cpuinfer kt-max-deferred-experts-per-token
        kt-num-gpu-experts kt-threadpool-count kv-canary-sweep-interval linear-replayssm-cache-len load-snapshot-publish-interval
        log-requests-level mamba-cache-philox-rounds mamba-max-states-per-path mamba-track-interval max-ep-size max-loaded-loras
        max-lora-chunk-size max-lora-rank max-loras-per-batch max-mamba-cache-size max-queued-requests max-running-requests
        media-url-max-file-size-mb min-free-slots-delay mm-io-worker-num mm-preprocess-cache-size-mb mm-processor-worker-num
        moe-dense-tp-size moe-dp-size nccl-port nnodes node-rank num-continuous-decode-steps num-reserved-decode-tokens offload-group-size
        offload-num-in-group offload-prefetch-step optimistic-prefill-attempts page-size paged-experts-num-resident port
        pp-async-batch-depth pp-max-micro-batch-size pp-size prefill-decode-interval prefill-decode-interval-min-bs
        prefill-delayer-max-delay-passes prefill-max-requests priority-scheduling-preemption-threshold random-seed
        remote-instance-weight-loader-seed-instance-service-port sampling-mask-max-tokens scheduler-recv-interval shared-experts-tp-size
        sm-group-num smg-http-sidecar-port speculative-dflash-block-size speculative-domino-candidate-pool-size speculative-draft-sink-size
        speculative-draft-window-size speculative-dspark-block-size speculative-eagle-topk speculative-ngram-capacity
        speculative-ngram-external-corpus-max-tokens speculative-ngram-external-sam-budget speculative-ngram-max-bfs-breadth
        speculative-ngram-max-trie-depth speculative-ngram-min-bfs-breadth speculative-num-draft-tokens speculative-num-steps
        stream-interval swa-prefix-tails tokenizer-worker-num torch-compile-max-bs tp-size triton-attention-num-kv-splits
        triton-attention-split-tile-size weight-cache-timeout weight-loader-prefetch-num-threads
        """,
        "whole list": """
        cuda-graph-bs-decode cuda-graph-bs-prefill debug-tensor-dump-layers gc-threshold numa-node return-aux-hidden-state-layer-ids
        """,
    },
    choices="""
    attention-backend: aiter ascend compressed cutedsl_mla dsa dsv4 fa3 fa4 flashinfer flashmla flex_attention hpc_ops intel_amx intel_xpu
    llada2_cfg_flashinfer minicpm_flashattn minicpm_flashinfer nsa qsa tokenspeed_mla torch_native triton trtllm_mha trtllm_mla wave
    bf16-gemm-backend: auto cutedsl gemv torch boundary-reduction: ar auto rs rs+rsv rsv cp-strategy: interleave zigzag
    cuda-graph-backend-decode: breakable disabled full cuda-graph-backend-prefill: breakable disabled full dcp-comm-backend: a2a ag_rs
    fi_a2a decode-attention-backend: aiter ascend compressed cutedsl_mla dsa dsv4 fa3 fa4 flashinfer flashmla flex_attention hpc_ops
    intel_amx intel_xpu llada2_cfg_flashinfer minicpm_flashattn minicpm_flashinfer nsa qsa tokenspeed_mla torch_native triton trtllm_mha
    trtllm_mla wave decoupled-spec-role: drafter null verifier deepep-dispatcher-output-dtype: auto bf16 fp8 int8 nvfp4 deepep-mode: auto
    low_latency normal deepep-v2-mode: direct hybrid disaggregation-decode-allocation-policy: early prefill_complete
    disaggregation-decode-retraction-backup: cpu_tensor host_pool none disaggregation-mode: decode null prefill
    disaggregation-transfer-backend: ascend fake mooncake mooncake_tcp mori nixl dsa-decode-backend: aiter fa3 flashinfer_sparse_mla
    flashmla_auto flashmla_kv flashmla_sparse flashmla_sparse_q8 intel_xpu tilelang triton trtllm dsa-paged-mqa-logits-backend: aiter auto
    cutedsl deepgemm dsa-prefill-backend: aiter fa3 flashinfer_sparse_mla flashmla_auto flashmla_kv flashmla_sparse flashmla_sparse_q8
    intel_xpu tilelang triton triton_sparse_mla trtllm dsa-topk-backend: flashinfer sgl-kernel torch dsa-triton-union: 0 2 4
    dsv4-attn-backend: auto flashmla flashmla_mega trtllm dsv4-prefill-backend: auto flashmla_sparse flashmla_sparse_q8 dtype: auto bfloat16
    float float16 float32 half elastic-ep-backend: mooncake nixl none elastic-ep-join-mode: recover scale encoder-transfer-backend: auto
    mooncake zmq_to_scheduler zmq_to_tokenizer ep-dispatch-algorithm: dynamic fake lp static expert-balancedness-report-mode: both off
    prometheus server_log expert-distribution-recorder-mode: per_pass per_token stat stat_approx flashinfer-a2a-dispatch-type: auto bf16
    mxfp8 nvfp4 flashinfer-allreduce-fusion-backend: auto cutedsl mnnvl trtllm flashinfer-mxfp4-moe-precision: bf16 default fp8
    fp4-gemm-backend: auto flashinfer_cudnn flashinfer_cutedsl flashinfer_cutlass flashinfer_trtllm marlin fp8-gemm-backend: aiter auto
    cutlass deep_gemm flashinfer_cutedsl flashinfer_cutlass flashinfer_deepgemm flashinfer_trtllm triton fuseep-mode: 1 2 grammar-backend:
    llguidance none outlines xgrammar hicache-host-memory-mode: buffer_only cache hicache-io-backend: direct kernel kernel_ascend
    hicache-mem-layout: layer_first page_first page_first_direct page_first_kv_split page_head hicache-storage-backend: aibrix dynamic eic
    file hf3fs mooncake mori nixl npu_memcache seaweedfs shm sim simm tensorcast hicache-storage-prefetch-policy: best_effort timeout
    wait_complete hicache-write-policy: write_back write_through write_through_selective image-processor-backend: auto pil torchvision
    kv-cache-dtype: auto bf16 bfloat16 fp4_mx_block16 fp8_e4m3 fp8_e5m2 mxfp8 nvfp4 kv-canary: log none raise kv-canary-real-data: all none
    partial linear-attn-backend: cutedsl flashinfer flashkda helion intel_xpu nvidia_kda ptx_kda triton linear-attn-decode-backend: cutedsl
    flashinfer flashkda helion intel_xpu nvidia_kda ptx_kda triton linear-attn-prefill-backend: cutedsl flashinfer flashkda helion intel_xpu
    nvidia_kda ptx_kda triton linear-attn-verify-backend: cutedsl flashinfer flashkda helion intel_xpu nv_cutedsl nvidia_kda ptx_kda triton
    load-balance-method: auto follow_bootstrap_room round_robin total_requests total_tokens load-format: auto bitsandbytes dummy expert_pack
    fastsafetensors flash_rl gguf instanttensor layered mistral npcache presharded private pt remote remote_instance runai_streamer
    safetensors sharded_state log-requests-format: json text log-requests-level: 0 1 2 3 lora-backend: ascend csgmv torch_native triton
    triton_v2 lora-eviction-policy: fifo lru lora-target-modules: all down_proj embed_tokens gate_proj gate_up_proj k_proj
    kv_a_proj_with_mqa kv_b_proj lm_head o_proj q_a_proj q_b_proj q_proj qkv_proj qkvr up_proj v_proj weights_proj wk wo_ud wq_b
    mamba-backend: flashinfer triton mamba-radix-cache-strategy: auto extra_buffer extra_buffer_lazy no_buffer mamba-ssm-dtype: bfloat16
    float16 float32 max-lora-chunk-size: 128 16 32 64 mm-attention-backend: aiter_attn amx_attn ascend_attn fa3 fa4 flashinfer_cudnn sdpa
    triton_attn xpu_attn mm-feature-transport: cpu cuda_ipc cuda_vmm mm-global-cache-backend: mooncake moe-a2a-backend: ascend_fuseep
    ascend_tp deepep deepep_v2 flashinfer flashinfer_megamoe megamoe mooncake mori nixl none pplx moe-runner-backend: aiter auto cutlass
    deep_gemm experimental_sgl_marlin experimental_sgl_trtllm flashinfer_cutedsl flashinfer_cutlass flashinfer_megamoe flashinfer_mxfp4
    flashinfer_trtllm flashinfer_trtllm_routed hpc_ops humming intel_xpu lora_cutedsl lora_marlin lora_triton marlin megamoe triton
    triton_kernel monokernel-backend: amd ple-offload-backend: file pinned prefill-attention-backend: aiter ascend compressed cutedsl_mla
    dsa dsv4 fa3 fa4 flashinfer flashmla flex_attention hpc_ops intel_amx intel_xpu llada2_cfg_flashinfer minicpm_flashattn
    minicpm_flashinfer nsa qsa tokenspeed_mla torch_native triton trtllm_mha trtllm_mla wave prefill-kv-cache-dequant-dtype: auto fp8_e4m3
    nvfp4 qsa-indexer-dtype: auto bfloat16 fp8_e4m3 quantization: auto-round auto-round-int8 awq awq_marlin bitsandbytes compressed-tensors
    fp8 gguf gptq gptq_marlin humming mlx_q4 mlx_q8 modelopt modelopt_fp4 modelopt_fp8 modelopt_mixed modelslim moe_wna16 mxfp4 mxfp8
    mxfp_w4a8 nvfp4_online petit_nvfp4 quark quark_int4fp8_moe quark_mxfp4 unquant w4afp8 w8a8_fp8 w8a8_int8 radix-eviction-policy: lfu lru
    priority slru tlru reasoning-parser: apertus2509 auto beam cohere_command4 deepseek-r1 deepseek-v3 deepseek-v4 deepseek-v41 dots gemma4
    gigachat35 glm45 gpt-oss granite_thinking_parser hunyuan inkling interns1 iquest_q1 k2_horizon kimi kimi_k2 kimi_k3 ling3 mimo minimax
    minimax-append-think minimax-m3 mistral muse nanbeige nemotron_3 poolside_v1 qwen3 qwen3-thinking response_template step3 step3p5
    remote-instance-weight-loader-backend: modelexpress nccl transfer_engine retraction-policy: length priority return-hidden-states-mode:
    full last rl-on-policy-target: fsdp sampling-backend: ascend flashinfer intel_xpu pytorch sampling-defaults: model openai
    schedule-policy: dfs-weight fcfs hrrn lof lpm priority random routing-key shortest-prefill-first speculative-attention-mode: decode
    prefill speculative-draft-kv-cache-dtype: auto bf16 bfloat16 fp8_e4m3 fp8_e5m2 speculative-draft-load-format: auto bitsandbytes dummy
    expert_pack fastsafetensors flash_rl gguf instanttensor layered mistral npcache presharded private pt remote remote_instance
    runai_streamer safetensors sharded_state speculative-draft-model-quantization: auto-round auto-round-int8 awq awq_marlin bitsandbytes
    compressed-tensors fp8 gguf gptq gptq_marlin humming mlx_q4 mlx_q8 modelopt modelopt_fp4 modelopt_fp8 modelopt_mixed modelslim moe_wna16
    mxfp4 mxfp8 mxfp_w4a8 nvfp4_online petit_nvfp4 quark quark_int4fp8_moe quark_mxfp4 unquant w4afp8 w8a8_fp8 w8a8_int8
    speculative-dsa-topk-backend: flashinfer sgl-kernel torch speculative-moe-a2a-backend: ascend_fuseep ascend_tp deepep deepep_v2
    flashinfer megamoe mooncake mori nixl none pplx speculative-moe-runner-backend: aiter auto cutlass deep_gemm experimental_sgl_marlin
    experimental_sgl_trtllm flashinfer_cutedsl flashinfer_cutlass flashinfer_megamoe flashinfer_mxfp4 flashinfer_trtllm
    flashinfer_trtllm_routed hpc_ops humming intel_xpu lora_cutedsl lora_marlin lora_triton marlin megamoe triton triton_kernel
    speculative-ngram-match-type: BFS PROB startup-weight-load-mode: overlap serial tokenizer-backend: fastokens huggingface tokenizer-mode:
    auto slow tool-call-parser: apertus2509 auto beam cohere_command4 deepseekv3 deepseekv31 deepseekv32 deepseekv4 deepseekv41 dots gemma4
    gigachat3 gigachat35 glm glm45 glm47 gpt-oss hermes hunyuan inkling interns1 iquest_q1 k2_horizon kimi_k2 kimi_k3 lfm2 ling3 llama3 mimo
    minicpm5 minimax-m2 minimax-m3 mistral muse nanbeige poolside_v1 pythonic qwen qwen25 qwen3_coder response_template spark25 step3
    step3p5 trinity unified-cache-external-linker-backend: dynamic mooncake mori weight-cache-mode: client daemon off
    """,
    aliases="""
    attention-context-parallel-size: attn-cp-size attention-data-parallel-size: attn-dp-size context-bucket: cuda-graph-prefill-max-context
    data-parallel-size: dp-size decode-context-parallel-size: dcp-size enable-hicache: enable-hierarchical-cache ep: ep-size
    expert-parallel-size: ep-size grpc-http-sidecar-port: smg-http-sidecar-port hierarchical-sparse-attention-extra-config: hisparse-config
    model: model-path moe-data-parallel-size: moe-dp-size nccl-init-addr: dist-init-addr no-dcp-replicate-q-proj: dcp-replicate-q-proj
    no-dllm-fdfo: dllm-fdfo no-enable-decoder-swa-bounded-replay: enable-decoder-swa-bounded-replay no-enable-dsa-fused-indexer:
    enable-dsa-fused-indexer no-enable-fused-qk-norm-rope: enable-fused-qk-norm-rope no-enable-tf32-matmul: enable-tf32-matmul
    no-enable-tp-lm-head-all-to-all: enable-tp-lm-head-all-to-all no-experts-shared-outer-loras: experts-shared-outer-loras
    no-lora-strict-loading: lora-strict-loading no-mm-enable-dp-encoder: mm-enable-dp-encoder no-ple-offload-embedding:
    ple-offload-embedding no-speculative-enable-w4a4-mxfp4-megamoe: speculative-enable-w4a4-mxfp4-megamoe pipeline-parallel-size: pp-size
    speculative-draft-model: speculative-draft-model-path tensor-parallel-size: tp-size
    """,
)
