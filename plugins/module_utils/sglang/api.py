# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SGLang's HTTP endpoints. Private to the collection, may change any time.

The server info repeats every argument of the server, API keys and the command line included: only the keys named here are kept, nothing else leaves
this file. `/health` is not asked at all: a busy server answers it empty, and an idle one answers it before it can serve.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

from ansible.module_utils.urls import open_url

# Documented by the fragment blackwell.inference.server.
ARGUMENTS: dict[str, Any] = {
    "unit": {"type": "str", "required": True},
    "url": {"type": "str", "default": "http://127.0.0.1:30000"},
    "api_key": {"type": "str", "no_log": True},
}

MODELS = "/v1/models"
CHAT = "/v1/chat/completions"
# The first path that answers is taken; /get_server_info still answers, with a warning in the log.
SERVER_INFO = (("0.5.6", "/server_info"), ("0.4.9", "/get_server_info"))
SHORT_SECONDS = 5
CHAT_SECONDS = 120
"""A busy server queues the request behind others, and the first one after a start may compile kernels."""

# What is kept of the server info. Top level: arguments as resolved by the front process; `internal_states` overrides it with the scheduler's view.
INFO_KEYS = (
    "attn_dp_size",
    "chunked_prefill_size",
    "context_length",
    "device",
    "dp_size",
    "enable_dp_attention",
    "enable_hierarchical_cache",
    "hicache_io_backend",
    "hicache_mem_layout",
    "hicache_ratio",
    "hicache_size",
    "hicache_write_policy",
    "kv_cache_dtype",
    "mamba_full_memory_ratio",
    "mamba_ssm_dtype",
    "max_mamba_cache_size",
    "max_running_requests",
    "max_total_num_tokens",
    "mem_fraction_static",
    "model_path",
    "page_size",
    "pp_size",
    "reasoning_parser",
    "served_model_name",
    "speculative_algorithm",
    "speculative_draft_model_path",
    "speculative_eagle_topk",
    "speculative_num_draft_tokens",
    "speculative_num_steps",
    "swa_full_tokens_ratio",
    "tool_call_parser",
    "tp_size",
    "version",
)
STATE_KEYS = ("effective_max_running_requests_per_dp", "kv_cache_dtype", "max_mamba_cache_size", "page_size")
MEMORY_KEYS = ("token_capacity", "token_capacity_swa")
"""Of `memory_usage` in there: the tokens of one rank, and since 0.5.17 those of the sliding-window layers."""


@dataclass(frozen=True)
class Answer:
    """What came back: a status with a body, or an error in words when nothing did."""

    status: int | None = None
    body: Any = None
    error: str | None = None

    @property
    def ok(self) -> bool:
        return self.status == 200 and isinstance(self.body, dict)

    @property
    def said(self) -> str:
        """The answer in a few words, for a message."""
        if self.error:
            return self.error
        return f"HTTP {self.status}" if self.ok else f"HTTP {self.status} without the JSON that was expected"


@dataclass(frozen=True)
class Server:
    """A server's address; `api_key` is sent and never shown."""

    url: str
    api_key: str | None = None

    def __repr__(self) -> str:
        return f"Server({self.url})"

    @property
    def port(self) -> int:
        address = urlsplit(self.url)
        return address.port or (443 if address.scheme == "https" else 80)

    def get(self, path: str, timeout: float = SHORT_SECONDS) -> Answer:
        return self._ask("GET", path, None, timeout)

    def post(self, path: str, body: Mapping[str, Any], timeout: float = CHAT_SECONDS) -> Answer:
        return self._ask("POST", path, json.dumps(body), timeout)

    def _ask(self, method: str, path: str, data: str | None, timeout: float) -> Answer:
        headers = {"Content-Type": "application/json"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        try:
            with open_url(
                self.url.rstrip("/") + path, method=method, data=data, headers=headers, timeout=timeout, use_proxy=False
            ) as answer:
                return Answer(answer.status, _json(answer.read()))
        except (OSError, ValueError, HTTPException) as error:
            status = getattr(error, "code", None)
            return Answer(status=status) if isinstance(status, int) else Answer(error=_in_words(error))


@dataclass(frozen=True)
class ModelList:
    names: tuple[str, ...]
    context_length: int | None


def model_list(answer: Answer) -> ModelList | None:
    """Names that the server serves, and the context length that is in force. None when the answer is no model list."""
    if not answer.ok or not isinstance(answer.body.get("data"), list) or not answer.body["data"]:
        return None
    models = [model for model in answer.body["data"] if isinstance(model, dict)]
    return ModelList(
        tuple(str(model.get("id")) for model in models), next((model.get("max_model_len") for model in models), None)
    )


def server_info(server: Server) -> tuple[Answer, dict[str, Any]]:
    """The values of the server info that are safe and in force: what the scheduler says goes before what the front process was told."""
    answer = Answer()
    for _first_version, path in SERVER_INFO:
        answer = server.get(path)
        if answer.status != 404:
            break
    if not answer.ok:
        return Answer(answer.status, None, answer.error), {}
    kept = {key: answer.body[key] for key in INFO_KEYS if key in answer.body}
    states = answer.body.get("internal_states")
    state = states[0] if isinstance(states, list) and states and isinstance(states[0], dict) else {}
    kept.update({key: state[key] for key in STATE_KEYS if state.get(key) is not None})
    memory = state.get("memory_usage")
    if isinstance(memory, dict):
        kept.update({key: memory[key] for key in MEMORY_KEYS if memory.get(key) is not None})
    return Answer(answer.status, kept), kept


def chat(server: Server, model: str, tokens: int = 16) -> Answer:
    """One short completion at temperature 0."""
    question = [{"role": "user", "content": "Say hello."}]
    return server.post(CHAT, {"model": model, "messages": question, "max_tokens": tokens, "temperature": 0})


def said_text(answer: Answer) -> str | None:
    """What the model said. With a reasoning parser the text of a short completion is in reasoning_content, and content is null."""
    try:
        message = answer.body["choices"][0]["message"]
        return next((str(message[key]) for key in ("content", "reasoning_content") if message.get(key)), None)
    except (KeyError, IndexError, TypeError, AttributeError):
        return None


def _json(body: bytes) -> Any:
    try:
        return json.loads(body) if body else None
    except ValueError:
        return None


def _in_words(error: Exception) -> str:
    reason = getattr(error, "reason", None) or error
    return str(getattr(reason, "strerror", None) or reason) or type(error).__name__
