# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that take numbers, of SGLang since 0.5.5. Made by tests/tools/make_flag_tables.py from tests/data/sglang/flags."""

from __future__ import annotations

ROWS = """
0.5.10- amount context-length max-prefill-tokens max-total-tokens
0.5.21- amount cuda-graph-prefill-max-context
0.5.5-0.5.6.post2 number load-watch-interval
0.5.5-0.5.7 number hybrid-kvcache-ratio
0.5.5- number dynamic-batch-tokenizer-batch-timeout eplb-min-rebalancing-utilization-threshold gc-warning-threshold-secs hicache-ratio
0.5.5- number mamba-full-memory-ratio mem-fraction-static schedule-conservativeness speculative-accept-threshold-acc speculative-accept-threshold-single
0.5.5- number swa-full-tokens-ratio tbo-token-distribution-threshold watchdog-timeout
0.5.7- number soft-watchdog-timeout
0.5.8- number prefill-delayer-token-usage-low-watermark
0.5.12- number lora-drain-wait-threshold prefill-delayer-max-delay-ms prefill-delayer-queue-min-ratio
0.5.16- number elastic-ep-scale-timeout
0.5.21- number disaggregation-decode-host-receive-threshold hicache-host-memory-fraction
0.5.5- number-list bucket-e2e-request-latency bucket-inter-token-latency bucket-time-to-first-token
0.5.8- number-list prefill-delayer-forward-passes-buckets prefill-delayer-wait-seconds-buckets
0.5.5-0.5.9 whole context-length disaggregation-decode-dp disaggregation-decode-tp disaggregation-prefill-pp max-prefill-tokens max-total-tokens
0.5.5-0.5.9 whole mm-max-concurrent-calls mm-per-request-timeout speculative-ngram-branch-length speculative-ngram-max-match-window-size
0.5.5-0.5.9 whole speculative-ngram-min-match-window-size
0.5.5-0.5.10 whole ds-heavy-channel-num ds-heavy-token-num ds-sparse-decode-threshold multi-item-scoring-delimiter
0.5.5-0.5.13 whole data-parallel-size expert-parallel-size pipeline-parallel-size tensor-parallel-size
0.5.5-0.5.19 whole cuda-graph-max-bs piecewise-cuda-graph-max-tokens
0.5.5- whole base-gpu-id chunked-prefill-size cpu-offload-gb decode-log-interval disaggregation-bootstrap-port disaggregation-decode-polling-interval
0.5.5- whole dist-timeout dynamic-batch-tokenizer-batch-size ep-num-redundant-experts eplb-rebalance-layers-per-chunk eplb-rebalance-num-iterations
0.5.5- whole expert-distribution-recorder-buffer-size gpu-id-step hicache-size kt-cpuinfer kt-max-deferred-experts-per-token kt-num-gpu-experts
0.5.5- whole kt-threadpool-count log-requests-level max-loaded-loras max-lora-chunk-size max-lora-rank max-loras-per-batch max-mamba-cache-size
0.5.5- whole max-queued-requests max-running-requests moe-dense-tp-size nccl-port nnodes node-rank num-continuous-decode-steps num-reserved-decode-tokens
0.5.5- whole offload-group-size offload-num-in-group offload-prefetch-step page-size port pp-max-micro-batch-size priority-scheduling-preemption-threshold
0.5.5- whole random-seed remote-instance-weight-loader-seed-instance-service-port scheduler-recv-interval sm-group-num speculative-eagle-topk
0.5.5- whole speculative-ngram-capacity speculative-ngram-max-bfs-breadth speculative-ngram-min-bfs-breadth speculative-num-draft-tokens
0.5.5- whole speculative-num-steps stream-interval tokenizer-worker-num torch-compile-max-bs triton-attention-num-kv-splits triton-attention-split-tile-size
0.5.6 whole dllm-block-size
0.5.7- whole mamba-track-interval pp-async-batch-depth prefill-max-requests
0.5.8- whole prefill-delayer-max-delay-passes
0.5.9-0.5.13 whole attention-context-parallel-size moe-data-parallel-size
0.5.10- whole default-priority-value engine-info-bootstrap-port speculative-ngram-max-trie-depth
0.5.11 whole speculative-dflash-draft-window-size
0.5.11-0.5.15 whole grpc-http-sidecar-port
0.5.11- whole batch-notify-size speculative-dflash-block-size speculative-ngram-external-corpus-max-tokens speculative-ngram-external-sam-budget
0.5.11- whole weight-loader-prefetch-num-threads
0.5.12- whole detokenizer-worker-num speculative-draft-window-size
0.5.13-0.5.15 whole optimistic-prefill-retries
0.5.13-0.5.19 whole speculative-dflash-draft-window-size
0.5.13- whole asr-max-buffer-seconds asr-max-concurrent-sessions encoder-bootstrap-port kv-canary-sweep-interval load-snapshot-publish-interval
0.5.14- whole attn-cp-size cuda-graph-max-bs-decode cuda-graph-max-bs-prefill disaggregation-decode-extra-slots dp-size ep-size int8-mamba-ckpt-size
0.5.14- whole moe-dp-size pp-size tp-size
0.5.15- whole dcp-size decoupled-spec-rank linear-replayssm-cache-len mamba-cache-philox-rounds min-free-slots-delay
0.5.16- whole elastic-ep-initial-size elastic-ep-join-rank-offset fuseep-mode grpc-port max-ep-size optimistic-prefill-attempts smg-http-sidecar-port
0.5.16- whole speculative-dspark-block-size
0.5.17- whole dwdp-size mamba-max-states-per-path mm-io-worker-num mm-processor-worker-num weight-cache-timeout
0.5.18- whole c128-page-size http2-max-concurrent-streams media-url-max-file-size-mb mm-preprocess-cache-size-mb
0.5.19- whole gated-launch-port hicache-storage-prefetch-retry-max-attempts hicache-storage-prefetch-retry-poll-interval
0.5.19- whole http2-initial-connection-window-size prefill-decode-interval
0.5.20- whole sampling-mask-max-tokens speculative-domino-candidate-pool-size
0.5.21- whole constrained-json-max-whitespace-cnt cuda-graph-max-seq-len-prefill grpc-response-timeout-secs shared-experts-tp-size
0.5.21- whole speculative-draft-sink-size swa-prefix-tails
0.5.22- whole attn-dp-size dsa-triton-union
0.5.23- whole paged-experts-num-resident prefill-decode-interval-min-bs
0.5.5-0.5.19 whole-list cuda-graph-bs
0.5.5- whole-list debug-tensor-dump-layers numa-node
0.5.8-0.5.19 whole-list piecewise-cuda-graph-tokens
0.5.10- whole-list gc-threshold
0.5.14- whole-list cuda-graph-bs-decode cuda-graph-bs-prefill
0.5.23- whole-list return-aux-hidden-state-layer-ids
"""
