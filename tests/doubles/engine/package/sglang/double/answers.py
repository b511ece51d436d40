# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the server answers, in the shapes recorded in tests/data/sglang."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from typing import Any, Protocol

from sglang.double.dialect import Dialect
from sglang.double.faults import Faults
from sglang.double.host import Host
from sglang.double.journal import Journal
from sglang.double.model import Model
from sglang.double.sizing import Sizes

WORDS = ["the", "engine", "double", "has", "read", "your", "words", "and", "says", "these", "in", "turn"]
LONG_PROMPT_TOKENS = 1000
DEATH_SECONDS = 60.0  # no answer while the process is being killed
WARM_UP = {"input_ids": [10, 11, 12], "sampling_params": {"max_new_tokens": 8}}


class Started(Protocol):
    """What the answers need of the server process."""

    command: str
    dialect: Dialect
    faults: Faults
    journal: Journal
    model: Model

    def arguments(self) -> dict[str, Any]: ...


class Answers:
    """State of a serving engine: arguments, sizes, and what it has generated."""

    def __init__(self, started: Started, sizes: Sizes, startup_seconds: float) -> None:
        self.arguments, self.sizes = started.arguments(), sizes
        self.model, self.dialect, self.faults = started.model, started.dialect, started.faults
        self._command, self._journal = started.command, started.journal
        self.starting = True
        self.on_prefill_out_of_memory: Callable[[], None] = _nothing
        self._startup_seconds = startup_seconds
        self._host = Host.read()
        self._lock = threading.Lock()
        self._seen: dict[str, int] = {}  # prompt -> tokens kept of it
        self._prompt_tokens = self._new_tokens = self._cached_tokens = 0

    def warm_up(self, host: str) -> None:
        """The engine's own first requests, which it logs like any other."""
        self._journal.text(f'INFO:     {host}:0 - "GET /model_info HTTP/1.1" 200 OK')
        self.generate(WARM_UP)
        self._journal.text(f'INFO:     {host}:0 - "POST /generate HTTP/1.1" 200 OK')
        self.starting = False

    # Information

    def models(self) -> dict[str, Any]:
        name = self.arguments["served_model_name"]
        card = {
            "id": name,
            "object": "model",
            "created": int(time.time()),
            "owned_by": "sglang",
            "root": name,
            "parent": None,
        }
        return {"object": "list", "data": [{**card, "max_model_len": self.sizes.context}]}

    def model_info(self) -> dict[str, Any]:
        info: dict[str, Any] = {
            "model_path": self.arguments["model_path"],
            "tokenizer_path": self.arguments["tokenizer_path"],
            "is_generation": True,
            "preferred_sampling_params": self.arguments.get("preferred_sampling_params"),
            "weight_version": self.arguments.get("weight_version", "default"),
            "has_image_understanding": self.model.multimodal,
            "has_audio_understanding": False,
            "model_type": self.model.model_type,
            "architectures": [self.model.architecture],
        }
        if self.dialect.info_is_resolved:
            for name in (
                "served_model_name",
                "load_format",
                "reasoning_parser",
                "tool_call_parser",
                "disaggregation_mode",
            ):
                info[name] = self.arguments.get(name)
        return info

    def server_info(self) -> dict[str, Any]:
        """The resolved arguments, the API key among them as in the engine, and the state of the scheduler."""
        sizes = self.sizes
        info: dict[str, Any] = {**self.arguments, "chunked_prefill_size": sizes.chunk}
        state = {**info, "memory_usage": self._memory_usage(), "last_gen_throughput": 0.0}
        state["effective_max_running_requests_per_dp"] = sizes.requests
        if self.dialect.info_is_resolved:
            info["hicache_ratio"] = state["hicache_ratio"] = self.arguments.get("hicache_ratio") or 2.0
            info["launch_command"] = self._command
            info["startup_time"] = state["startup_time"] = {"scheduler_e2e": self._startup_seconds}
            info["frontend"] = "python"
        info.update(
            status="ready",
            max_total_num_tokens=sizes.tokens,
            max_req_input_len=min(sizes.context, sizes.tokens) - 6,
            internal_states=[state],
            version=self.dialect.version,
        )
        for path, value in self.faults.values("server_info"):
            _put(info, path.split("."), value)
        return info

    def _memory_usage(self) -> dict[str, Any]:
        sizes = self.sizes
        if not self.dialect.info_is_resolved:
            return {
                "weight": round(sizes.weights_gib, 2),
                "kvcache": round(sizes.kv_gib, 2),
                "token_capacity": sizes.tokens,
                "graph": round(sizes.graphs_gib, 2),
            }
        graphs = dict.fromkeys(
            ("prefill", "decode", "target_verify", "draft_prefill", "draft_decode", "draft_extend"), 0.0
        )
        graphs["prefill"] = round(sizes.prefill_graphs_gib, 3)
        graphs["decode"] = round(sizes.graphs_gib, 3)
        return {
            "weight": round(sizes.weights_gib, 3),
            "kvcache": round(sizes.kv_gib, 3),
            "startup_available": round(sizes.free_gib, 3),
            "token_capacity": sizes.tokens,
            "token_capacity_swa": None,
            "graph": graphs,
        }

    def metrics(self) -> str:
        labels = f'engine_type="unified",model_name="{self.arguments["served_model_name"]}",moe_ep_rank="0",pp_rank="0",tp_rank="0"'
        gauges: list[tuple[str, float]] = [
            ("num_running_reqs", 0.0),
            ("num_queue_reqs", 0.0),
            ("num_used_tokens", 0.0),
            ("token_usage", 0.0),
            ("gen_throughput", 0.0),
            ("cache_hit_rate", 0.0),
            ("max_total_num_tokens", float(self.sizes.tokens)),
        ]
        counters = [("prompt_tokens_total", self._prompt_tokens), ("generation_tokens_total", self._new_tokens)]
        lines = [f"sglang:{name}{{{labels}}} {value}" for name, value in gauges]
        lines += [
            f'sglang:{name}{{model_name="{self.arguments["served_model_name"]}"}} {float(value)}'
            for name, value in counters
        ]
        lines.append(
            f'sglang:cached_tokens_total{{cache_source="device",model_name="{self.arguments["served_model_name"]}"}} {float(self._cached_tokens)}'
        )
        return "\n".join(lines) + "\n"

    # Generation

    def chat(self, request: dict[str, Any]) -> dict[str, Any]:
        prompt = " ".join(str(message.get("content", "")) for message in request.get("messages", []))
        limit = int(request.get("max_completion_tokens") or request.get("max_tokens") or 16)
        used, cached = self._consume(prompt, max(1, len(prompt.split())) + 8)
        new = self._produce(limit)
        text = " ".join(WORDS[at % len(WORDS)] for at in range(new))
        reasons = self.arguments.get("reasoning_parser") is not None
        message: dict[str, Any] = {"role": "assistant", "content": text, "reasoning_content": None}
        if reasons:
            message.update(content=self.dialect.empty_content, reasoning_content=text)
        if self.dialect.says_no_tool_calls:
            message["tool_calls"] = None
        details = {"cached_tokens": cached} if self.arguments.get("enable_cache_report") else None
        return {
            "id": uuid.uuid4().hex,
            "object": "chat.completion",
            "created": int(time.time()),
            "model": request.get("model", "default"),
            "choices": [
                {"index": 0, "message": message, "logprobs": None, "finish_reason": "length", "matched_stop": None}
            ],
            "usage": {
                "prompt_tokens": used,
                "total_tokens": used + new,
                "completion_tokens": new,
                "prompt_tokens_details": details,
                "reasoning_tokens": new if reasons else 0,
            },
            "metadata": {"weight_version": "default"},
        }

    def generate(self, request: dict[str, Any]) -> dict[str, Any]:
        prompt = str(request.get("text") or request.get("input_ids") or "")
        limit = int(request.get("sampling_params", {}).get("max_new_tokens", 16))
        used, cached = self._consume(prompt, max(1, len(prompt.split())))
        new = self._produce(limit)
        meta = {
            "id": uuid.uuid4().hex,
            "finish_reason": {"type": "length", "length": new},
            "prompt_tokens": used,
            "weight_version": "default",
            "total_retractions": 0,
            "completion_tokens": new,
            "cached_tokens": cached,
            "cached_tokens_details": {"device": cached, "host": 0},
            "e2e_latency": 0.01,
        }
        return {
            "text": " ".join(WORDS[at % len(WORDS)] for at in range(new)),
            "output_ids": list(range(new)),
            "meta_info": meta,
        }

    def flush(self) -> str:
        with self._lock:
            self._seen.clear()
        return (
            "Cache flushed.\nPlease check backend logs for more details. "
            "(When there are running or waiting requests, the operation will not be performed.)\n"
        )

    def _consume(self, prompt: str, tokens: int) -> tuple[int, int]:
        """Tokens of the prompt and how many of them were cached; the last one is always computed."""
        lacks_memory = (
            self.sizes.cuda and self.sizes.free_gib < self._host.prefill_needs_gib and tokens >= self.sizes.chunk
        )
        if lacks_memory or (self.faults.has("prefill_oom") and tokens >= LONG_PROMPT_TOKENS):
            self.on_prefill_out_of_memory()
            time.sleep(DEATH_SECONDS)
        with self._lock:
            cached = self._seen.get(prompt, 0)
            self._seen[prompt] = (tokens - 1) // self.sizes.page * self.sizes.page
            self._prompt_tokens += tokens
            self._cached_tokens += cached
        self._journal.say(
            "prefill",
            new=tokens - cached,
            cached=cached,
            usage=min(1.0, tokens / self.sizes.tokens),
            speed=0.0,
            kind="cuda" if self.sizes.cuda else "cpu",
        )
        return tokens, cached

    def _produce(self, limit: int) -> int:
        with self._lock:
            self._new_tokens += limit
        return limit


def _put(target: Any, path: list[str], value: Any) -> None:
    for name in path[:-1]:
        target = target[int(name)] if isinstance(target, list) else target[name]
    target[path[-1]] = value


def _nothing() -> None:
    return None
