# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one version says and does differently. Recorded from, or read in, the published wheels of SGLang 0.5.9 and 0.5.23."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Dialect:
    version: str
    program: str  # argparse's name of the program
    entry_warning: str
    config_takes_dictionaries: bool
    lines: dict[str, str]  # log lines by milestone, without prefix; "" is a line that this version does not have
    absent_model: str  # from the version of transformers that this one pins
    shards_label: str
    rank_died: str  # the launcher's last words when a rank dies without any while starting
    shards_end: str  # what ends each update of the progress bar
    has_ready: bool
    empty_content: str | None  # of a message that is all reasoning
    says_no_tool_calls: bool  # a message without tool calls has the key all the same
    stop_is_clean: bool  # SIGTERM ends the main process with status 0 (else it ends itself by SIGKILL)
    info_is_resolved: bool  # server info has launch_command, startup_time and graph sizes by phase
    budget_is_shared: bool  # the host memory budget is divided by the ranks of the host (else each rank sees all of it)
    pool_must_exceed_device: bool  # host pool not larger than the device pool: an error (else a warning)
    multimodal_reserve_bytes: int  # taken from the KV budget of a multimodal model
    argument_names: dict[
        str, str
    ]  # argparse destination -> name in the server arguments, where they differ; "" if there is none


COMMON_LINES = {
    "chat_template": "Using default HuggingFace chat template with detected content format: string",
    "load_begin": "Load weight begin. avail mem={available:.2f} GB",
    "pool_end": "Memory pool end. avail mem={available:.2f} GB",
    "summary": "max_total_num_tokens={tokens}, chunked_prefill_size={chunk}, max_prefill_tokens={prefill}, "
    "max_running_requests={requests}, context_len={context}, available_{kind}_mem={available:.2f} GB",
    "ready": "The server is fired up and ready to roll!",
    "child_failed": "Received sigquit from a child process. It usually means the child failed.",
    "child_failed_serving": "SIGQUIT received. signum=3, frame=None. It usually means one child failed.",
    "sigterm": "SIGTERM received. signum=None frame=None. Draining requests and shutting down...",
    "draining": "Gracefully exiting... Remaining number of requests {requests}. Remaining requests remaining_rids=[].",
    "exception": "Scheduler hit an exception: {traceback}",
    "info_deprecated": "Endpoint '/get_{what}_info' is deprecated and will be removed in a future version. "
    "Please use '/{what}_info' instead.",
}

V0_5_9 = Dialect(
    version="0.5.9",
    program="launch_server.py",
    entry_warning="",
    config_takes_dictionaries=False,
    lines={
        **COMMON_LINES,
        "server_args": "server_args=ServerArgs({pairs})",
        "rank_dead": "Rank {rank} scheduler is dead. Please check if there are relevant logs.",
        "rank_exit": "Exit code: {code}",
        "rank_crashed": "",
        "parallel_begin": "Init torch distributed begin.",
        "parallel_end": "Init torch distributed ends. elapsed={elapsed:.2f} s, mem usage={used:.2f} GB",
        "baseline": "",
        "load_end": "Load weight end. elapsed={elapsed:.2f} s, type={architecture}, dtype=torch.{dtype}, "
        "avail mem={available:.2f} GB, mem usage={used:.2f} GB.",
        "kv_dtype": "Using KV cache dtype: torch.{dtype}",
        "multimodal_reserve": "",
        "kv_latent": "KV Cache is allocated. #tokens: {tokens}, KV size: {kv:.2f} GB",
        "kv_grouped": "KV Cache is allocated. #tokens: {tokens}, K size: {k:.2f} GB, V size: {v:.2f} GB",
        "prefill_graphs_begin": "",
        "prefill_graphs_end": "",
        "prefill_graphs_off": "",
        "graphs_begin": "Capture cuda graph begin. This can take up to several minutes. avail mem={available:.2f} GB",
        "graphs_sizes": "Capture cuda graph bs {sizes}",
        "graphs_end": "Capture cuda graph end. Time elapsed: {elapsed:.2f} s. mem usage={used:.2f} GB. avail mem={available:.2f} GB.",
        "graphs_failed": "Capture cuda graph failed: {error}\n"
        "Possible solutions:\n"
        "1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)\n"
        "2. set --cuda-graph-max-bs to a smaller value (e.g., 16)\n"
        "3. disable torch compile by not using --enable-torch-compile\n"
        "4. disable CUDA graph by --disable-cuda-graph. (Not recommended. Huge performance loss)\n"
        "Open an issue on GitHub https://github.com/sgl-project/sglang/issues/new/choose \n",
        "no_memory": "Not enough memory. Please try to increase --mem-fraction-static. "
        "Current value: self.server_args.mem_fraction_static={fraction}",
        "host_headroom": "",
        "host_sizing": "",
        "host_pool": "Allocating {size:.2f} GB host memory for hierarchical KV cache.",
        "tree_cache": "",
        "timings": "",
        "prefill": "Prefill batch, #new-seq: 1, #new-token: {new}, #cached-token: {cached}, token usage: {usage:.2f}, #running-req: 0, "
        "#queue-req: 0, input throughput (token/s): {speed:.2f}, {kind} graph: False",
    },
    absent_model="Can't load the configuration of '{path}'. If you were trying to load it from 'https://huggingface.co/models', "
    "make sure you don't have a local directory with the same name. Otherwise, make sure '{path}' is the correct path to a "
    "directory containing a config.json file",
    shards_label="Loading safetensors checkpoint shards",
    shards_end="\n",
    rank_died="EOFError",
    has_ready=False,
    empty_content=None,
    says_no_tool_calls=True,
    stop_is_clean=False,
    info_is_resolved=False,
    budget_is_shared=False,
    pool_must_exceed_device=True,
    multimodal_reserve_bytes=0,
    argument_names={
        "tensor_parallel_size": "tp_size",
        "pipeline_parallel_size": "pp_size",
        "data_parallel_size": "dp_size",
        "expert_parallel_size": "ep_size",
        "attention_context_parallel_size": "attn_cp_size",
        "moe_data_parallel_size": "moe_dp_size",
        "hybrid_kvcache_ratio": "",
        "prefill_round_robin_balance": "",
    },
)

V0_5_23 = Dialect(
    version="0.5.23",
    program="sglang serve",
    entry_warning="'python -m sglang.launch_server' is still supported, but 'sglang serve' is the recommended entrypoint.\n"
    "  Example: sglang serve --model-path <model> [options]",
    config_takes_dictionaries=True,
    lines={
        **COMMON_LINES,
        "server_args": "server_args={{{pairs}}}",
        "rank_dead": "",
        "rank_exit": "",
        "rank_crashed": "Subprocess scheduler_{rank} (pid={pid}) crashed with exit code {code}. Triggering SIGQUIT for cleanup...",
        "parallel_begin": "Init parallel begin.",
        "parallel_end": "Init parallel ends. elapsed={elapsed:.2f} s",
        "baseline": "Memory baseline taken. mem usage={used:.2f} GB",
        "load_end": "Load weight end. elapsed={elapsed:.2f} s, type={architecture}, {quantization}"
        "avail mem={available:.2f} GB, mem usage={used:.2f} GB.",
        "kv_dtype": "",
        "multimodal_reserve": "Reserving {reserve:.2f} GB of the KV budget for post-sizing multimodal allocations "
        "(feature-transport pools + embedding cache).",
        "kv_latent": "KV Cache is allocated. dtype: torch.{dtype}, #tokens: {tokens}, KV size: {kv:.2f} GB",
        "kv_grouped": "KV Cache is allocated. dtype: torch.{dtype}, #tokens: {tokens}, K size: {k:.2f} GB, V size: {v:.2f} GB",
        "prefill_graphs_begin": "Capture target prefill CUDA graph begin. backend=breakable, num_tokens={sizes}, avail mem={available:.2f} GB",
        "prefill_graphs_end": "Capture target prefill CUDA graph end. elapsed={elapsed:.2f} s, mem usage={used:.2f} GB, "
        "avail mem={available:.2f} GB.",
        "prefill_graphs_off": "Disable prefill CUDA graph because cuda_graph_config resolved prefill.backend='disabled' "
        "(e.g. via --cuda-graph-backend-prefill=disabled or auto-disable rules).",
        "graphs_begin": "Capture target decode CUDA graph begin. backend=full, num_tokens_per_req=1, avail mem={available:.2f} GB",
        "graphs_sizes": "",
        "graphs_end": "Capture target decode CUDA graph end. bs={sizes}, elapsed={elapsed:.2f} s, "
        "mem usage={used:.2f} GB, avail mem={available:.2f} GB.",
        "graphs_failed": "Capture cuda graph failed: {error}\n"
        "Possible solutions:\n"
        "1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)\n"
        "2. set --cuda-graph-max-bs-decode to a smaller value (e.g., 16)\n"
        "3. disable decode CUDA graph by --cuda-graph-backend-decode=disabled. (Not recommended. Huge performance loss)\n"
        "Open an issue on GitHub https://github.com/sgl-project/sglang/issues/new/choose \n",
        "no_memory": "Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static={fraction}. "
        "Raise --mem-fraction-static above {suggested:.3f} (minimum viable = 1 - available/pre = {minimum:.4f}). "
        "If using speculative decoding, draft weights are now counted.",
        "host_headroom": "HiCache memory headroom: host {host:.1f} GiB, cgroup {cgroup:.1f} GiB",
        "host_sizing": "HiCache auto-sizing: ratio {requested:.3f} -> {ratio:.3f}; {budget:.1f} GiB host memory per rank "
        "(fraction {fraction:.2f}, {ranks} ranks on this host), host pools {pools:.1f} GiB.",
        "host_pool": "Allocating kv hierarchical KV host pool: {tokens} tokens, {size:.2f} GB host memory.",
        "tree_cache": "Tree cache initialized: source=default impl=UnifiedRadixCache hybrid_swa=False hybrid_ssm=False "
        "hicache_attached={attached}",
        "timings": "Engine startup timings (s): load_weight={load:.2f}, kv_cache_allocation={pools:.2f}, scheduler_e2e={all:.2f}, "
        "cuda_graph={{prefill=0.00, decode={graphs:.2f}, target_verify=0.00, draft_prefill=0.00, draft_decode=0.00, draft_extend=0.00}}, "
        "tokenizer_e2e={all:.2f}",
        "prefill": "Prefill batch, #new-seq: 1, #new-token: {new}, #cached-token: {cached}, token usage: {usage:.2f}, #running-req: 0, "
        "#queue-req: 0, #pending-token: 0, {kind} graph: False, input throughput (token/s): {speed:.2f}",
    },
    absent_model="Repo id must be in the form 'repo_name' or 'namespace/repo_name': '{path}'. Use `repo_type` argument if needed.",
    shards_label="Multi-thread loading shards",
    shards_end="",
    rank_died="RuntimeError: Rank {rank} scheduler died during initialization (exit code: {code}). "
    "If exit code is -9 (SIGKILL), a common cause is the OS OOM killer. Run `dmesg -T | grep -i oom` to check.",
    has_ready=True,
    empty_content="",
    says_no_tool_calls=False,
    stop_is_clean=True,
    info_is_resolved=True,
    budget_is_shared=True,
    pool_must_exceed_device=False,
    multimodal_reserve_bytes=100 << 20,
    argument_names={},
)

DIALECTS: tuple[Dialect, ...] = (V0_5_9, V0_5_23)


def of(version: str) -> Dialect:
    found: Dialect | None = next((dialect for dialect in DIALECTS if dialect.version == version), None)
    if found is None:
        raise SystemExit(
            f"the engine double speaks {', '.join(dialect.version for dialect in DIALECTS)}, not {version}"
        )
    return found
