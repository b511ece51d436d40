# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Other choices of SGLang since 0.5.5. Made by tests/tools/make_flag_tables.py from tests/data/sglang/flags."""

from __future__ import annotations

ROWS = """
0.5.21- boundary-reduction ar auto rs rs+rsv rsv
0.5.14- cp-strategy interleave zigzag
0.5.14-0.5.21 cuda-graph-tc-compiler eager inductor
0.5.15- decoupled-spec-role drafter null verifier
0.5.13- deepep-dispatcher-output-dtype auto bf16 fp8 int8 nvfp4
0.5.5- deepep-mode auto low_latency normal
0.5.19- deepep-v2-mode direct hybrid
0.5.22- disaggregation-decode-allocation-policy early prefill_complete
0.5.18- disaggregation-decode-retraction-backup cpu_tensor host_pool
0.5.21- disaggregation-decode-retraction-backup none
0.5.5- disaggregation-mode decode null prefill
0.5.13-0.5.19 dsa-prefill-cp-mode in-seq-split round-robin-split
0.5.22- dsa-triton-union 0 2 4
0.5.5- dtype auto bfloat16 float float16 float32 half
0.5.16- elastic-ep-join-mode recover scale
0.5.14- ep-dispatch-algorithm dynamic fake lp static
0.5.18- expert-balancedness-report-mode both off prometheus server_log
0.5.14- expert-distribution-recorder-mode per_pass per_token stat stat_approx
0.5.20- flashinfer-a2a-dispatch-type auto bf16 mxfp8 nvfp4
0.5.5- flashinfer-mxfp4-moe-precision bf16 default
0.5.19- flashinfer-mxfp4-moe-precision fp8
0.5.16- fuseep-mode 1 2
0.5.19- hicache-host-memory-mode buffer_only cache
0.5.5- hicache-mem-layout layer_first page_first page_first_direct
0.5.5.post3- hicache-mem-layout page_first_kv_split
0.5.6- hicache-mem-layout page_head
0.5.5- hicache-storage-prefetch-policy best_effort timeout wait_complete
0.5.5- hicache-write-policy write_back write_through write_through_selective
0.5.5-0.5.20 kv-cache-dtype fp4_e2m1
0.5.5- kv-cache-dtype auto bf16 bfloat16 fp8_e4m3 fp8_e5m2
0.5.16- kv-cache-dtype fp4_mx_block16 mxfp8 nvfp4
0.5.13- kv-canary log none raise
0.5.13- kv-canary-real-data all none partial
0.5.5-0.5.7 load-balance-method minimum_tokens shortest_queue
0.5.5- load-balance-method round_robin
0.5.7 load-balance-method decode_round_robin
0.5.8- load-balance-method auto follow_bootstrap_room total_requests total_tokens
0.5.5- load-format,speculative-draft-load-format auto bitsandbytes dummy gguf layered npcache pt remote remote_instance safetensors sharded_state
0.5.6.post2- load-format,speculative-draft-load-format flash_rl private
0.5.7- load-format,speculative-draft-load-format fastsafetensors
0.5.10- load-format,speculative-draft-load-format mistral runai_streamer
0.5.17- load-format,speculative-draft-load-format presharded
0.5.19- load-format,speculative-draft-load-format expert_pack
0.5.22- load-format,speculative-draft-load-format instanttensor
0.5.7- log-requests-format json text
0.5.5- log-requests-level 0 1 2 3
0.5.5- lora-eviction-policy fifo lru
0.5.5- lora-target-modules all down_proj gate_proj gate_up_proj k_proj o_proj q_proj qkv_proj up_proj v_proj
0.5.6.post2- lora-target-modules embed_tokens lm_head
0.5.12- lora-target-modules kv_a_proj_with_mqa kv_b_proj q_a_proj q_b_proj
0.5.14- lora-target-modules weights_proj wk wq_b
0.5.16- lora-target-modules qkvr wo_ud
0.5.14- mamba-radix-cache-strategy auto extra_buffer extra_buffer_lazy no_buffer
0.5.7-0.5.13 mamba-scheduler-strategy auto extra_buffer no_buffer
0.5.13 mamba-scheduler-strategy extra_buffer_lazy
0.5.5- mamba-ssm-dtype bfloat16 float32
0.5.9- mamba-ssm-dtype float16
0.5.5- max-lora-chunk-size 128 16 32 64
0.5.16- mm-feature-transport cpu cuda_ipc
0.5.18- mm-feature-transport cuda_vmm
0.5.8-0.5.13 nsa-prefill-cp-mode in-seq-split round-robin-split
0.5.5-0.5.19 piecewise-cuda-graph-compiler eager inductor
0.5.10-0.5.19 prefill-cp-mode in-seq-split
0.5.21- prefill-kv-cache-dequant-dtype auto fp8_e4m3 nvfp4
0.5.22- qsa-indexer-dtype auto bfloat16 fp8_e4m3
0.5.5-0.5.15 quantization qoq
0.5.5-0.5.19 quantization marlin
0.5.5- quantization auto-round awq awq_marlin bitsandbytes compressed-tensors fp8 gguf gptq gptq_marlin modelopt modelopt_fp4 modelopt_fp8 moe_wna16 mxfp4
0.5.5- quantization petit_nvfp4 w4afp8 w8a8_fp8 w8a8_int8
0.5.6.post1- quantization modelslim
0.5.11- quantization unquant
0.5.8- quantization,speculative-draft-model-quantization quark_int4fp8_moe
0.5.9- quantization,speculative-draft-model-quantization mxfp8
0.5.10- quantization,speculative-draft-model-quantization modelopt_mixed
0.5.12- quantization,speculative-draft-model-quantization mlx_q4 mlx_q8 quark
0.5.13- quantization,speculative-draft-model-quantization quark_mxfp4
0.5.14- quantization,speculative-draft-model-quantization nvfp4_online
0.5.15- quantization,speculative-draft-model-quantization auto-round-int8 mxfp_w4a8
0.5.16- quantization,speculative-draft-model-quantization humming
0.5.5- radix-eviction-policy lfu lru
0.5.10- radix-eviction-policy slru
0.5.11- radix-eviction-policy priority
0.5.21- radix-eviction-policy tlru
0.5.5- reasoning-parser deepseek-r1 deepseek-v3 glm45 gpt-oss kimi kimi_k2 minimax minimax-append-think qwen3 qwen3-thinking step3
0.5.7-0.5.9 reasoning-parser nano_v3
0.5.7- reasoning-parser interns1
0.5.9- reasoning-parser step3p5
0.5.10- reasoning-parser mimo mistral nemotron_3
0.5.12- reasoning-parser auto deepseek-v4 poolside_v1
0.5.13- reasoning-parser apertus2509 cohere_command4
0.5.19- reasoning-parser dots ling3
0.5.20- reasoning-parser granite_thinking_parser k2_horizon nanbeige
0.5.21- reasoning-parser deepseek-v41 gigachat35 iquest_q1
0.5.11- reasoning-parser,tool-call-parser gemma4 hunyuan
0.5.16- reasoning-parser,tool-call-parser inkling minimax-m3
0.5.17- reasoning-parser,tool-call-parser kimi_k3
0.5.18- reasoning-parser,tool-call-parser muse
0.5.23- reasoning-parser,tool-call-parser beam response_template
0.5.16- retraction-policy length priority
0.5.17- return-hidden-states-mode full last
0.5.5- rl-on-policy-target fsdp
0.5.5- sampling-defaults model openai
0.5.5- schedule-policy dfs-weight fcfs lof lpm priority random
0.5.8- schedule-policy routing-key
0.5.20- schedule-policy hrrn
0.5.21- schedule-policy shortest-prefill-first
0.5.5-0.5.11 speculative-algorithm EAGLE EAGLE3 NEXTN NGRAM STANDALONE
0.5.11 speculative-algorithm DFLASH
0.5.5- speculative-attention-mode decode prefill
0.5.18- speculative-draft-kv-cache-dtype auto bf16 bfloat16 fp8_e4m3 fp8_e5m2
0.5.7-0.5.15 speculative-draft-model-quantization qoq
0.5.7-0.5.19 speculative-draft-model-quantization marlin
0.5.7- speculative-draft-model-quantization auto-round awq awq_marlin bitsandbytes compressed-tensors fp8 gguf gptq gptq_marlin modelopt modelopt_fp4
0.5.7- speculative-draft-model-quantization modelopt_fp8 modelslim moe_wna16 mxfp4 petit_nvfp4 unquant w4afp8 w8a8_fp8 w8a8_int8
0.5.5- speculative-ngram-match-type BFS PROB
0.5.18- startup-weight-load-mode overlap serial
0.5.5- tokenizer-mode auto slow
0.5.5- tool-call-parser deepseekv3 deepseekv31 glm glm45 gpt-oss kimi_k2 llama3 minimax-m2 mistral pythonic qwen qwen25 qwen3_coder step3
0.5.6- tool-call-parser deepseekv32
0.5.7- tool-call-parser glm47 interns1 mimo
0.5.8- tool-call-parser trinity
0.5.9- tool-call-parser gigachat3 hermes lfm2 step3p5
0.5.12- tool-call-parser auto deepseekv4 poolside_v1
0.5.13- tool-call-parser apertus2509 cohere_command4 minicpm5
0.5.19- tool-call-parser dots ling3 spark25
0.5.20- tool-call-parser k2_horizon nanbeige
0.5.21- tool-call-parser deepseekv41 gigachat35 iquest_q1
0.5.17- weight-cache-mode client daemon off
"""
