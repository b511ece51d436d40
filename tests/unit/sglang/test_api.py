# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is taken from the server's answers, and what is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.sglang import api

RECORDINGS = Path(__file__).parents[2] / "data" / "sglang"


class Recorded(api.Server):
    """Answers from a recording instead of the network."""

    def __init__(self, answers: dict[str, api.Answer]) -> None:
        super().__init__("http://recorded", "k-123")
        object.__setattr__(self, "answers", answers)

    def get(self, path: str, timeout: float = 1) -> api.Answer:
        answers: dict[str, api.Answer] = self.__dict__["answers"]
        return answers.get(path, api.Answer(404))


def recorded(version: str, name: str) -> Any:
    return json.loads((RECORDINGS / version / "cpu-llama-hicache" / name).read_text())


@pytest.mark.parametrize(("version", "page_size"), [("0.5.9", 1), ("0.5.23", 16)])
def test_the_recorded_server_info(version: str, page_size: int) -> None:
    body = {**recorded(version, "server_info.json"), "api_key": "k-123", "page_size": 99}
    answer, info = api.server_info(Recorded({"/server_info": api.Answer(200, body)}))
    assert set(info) <= {*api.INFO_KEYS, *api.STATE_KEYS, *api.MEMORY_KEYS}
    assert "k-123" not in json.dumps([answer.body, info])
    assert (info["version"], info["max_total_num_tokens"], info["tp_size"]) == (version, 2048, 1)
    assert info["page_size"] == page_size, "the scheduler's value is in force, whatever the front process was told"


def test_what_a_hybrid_with_a_draft_says_of_itself() -> None:
    """Top level: what was asked for; the scheduler's state: what came of it, since 0.5.8 and 0.5.17."""
    body = {
        "speculative_algorithm": "EAGLE3",
        "speculative_num_steps": 3,
        "swa_full_tokens_ratio": 0.8,
        "max_mamba_cache_size": None,
        "internal_states": [
            {
                "max_mamba_cache_size": 115,
                "effective_max_running_requests_per_dp": 38,
                "memory_usage": {"weight": 1.0, "token_capacity": 1000, "token_capacity_swa": 800, "kvcache": 2.0},
            }
        ],
    }
    assert api.server_info(Recorded({"/server_info": api.Answer(200, body)}))[1] == {
        "speculative_algorithm": "EAGLE3",
        "speculative_num_steps": 3,
        "swa_full_tokens_ratio": 0.8,
        "max_mamba_cache_size": 115,
        "effective_max_running_requests_per_dp": 38,
        "token_capacity": 1000,
        "token_capacity_swa": 800,
    }


def test_an_older_engine_answers_at_the_older_path() -> None:
    server = Recorded({"/get_server_info": api.Answer(200, {"version": "0.5.5"})})
    assert api.server_info(server)[1] == {"version": "0.5.5"}


@pytest.mark.parametrize("answer", [api.Answer(503), api.Answer(200, None), api.Answer(error="Connection refused")])
def test_no_server_info(answer: api.Answer) -> None:
    got, info = api.server_info(Recorded({"/server_info": answer}))
    assert info == {}
    assert not got.ok


@pytest.mark.parametrize("version", ["0.5.9", "0.5.23"])
def test_the_recorded_model_list(version: str) -> None:
    answer = api.Answer(200, recorded(version, "models.json"))
    assert api.model_list(answer) == api.ModelList(("tiny-llama",), 2048)


@pytest.mark.parametrize("body", [None, [], {}, {"data": []}, {"data": "x"}])
def test_what_is_no_model_list(body: Any) -> None:
    assert api.model_list(api.Answer(200, body)) is None


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": "Hello"}, "Hello"),
        ({"content": None, "reasoning_content": "The user"}, "The user"),
        ({"content": "", "reasoning_content": None}, None),
        ({"content": None}, None),
    ],
    ids=["content", "a reasoning parser takes it all", "empty both", "null"],
)
def test_what_the_model_said(message: dict[str, Any], text: str | None) -> None:
    assert api.said_text(api.Answer(200, {"choices": [{"message": message}]})) == text


@pytest.mark.parametrize("body", [None, {}, {"choices": []}, {"choices": [{}]}])
def test_what_is_no_completion(body: Any) -> None:
    assert api.said_text(api.Answer(200, body)) is None


@pytest.mark.parametrize(
    ("url", "port"),
    [
        ("http://127.0.0.1:30000", 30000),
        ("http://[::1]:30001/", 30001),
        ("http://inference.example", 80),
        ("https://inference.example/api", 443),
        ("https://inference.example:8443", 8443),
    ],
)
def test_the_port_of_an_address(url: str, port: int) -> None:
    assert api.Server(url).port == port


def test_the_key_does_not_show() -> None:
    assert repr(api.Server("http://127.0.0.1:30000", "k-123")) == "Server(http://127.0.0.1:30000)"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (api.Answer(error="Connection refused"), "Connection refused"),
        (api.Answer(503), "HTTP 503 without the JSON that was expected"),
        (api.Answer(200, {}), "HTTP 200"),
    ],
)
def test_an_answer_in_words(answer: api.Answer, said: str) -> None:
    assert answer.said == said


def test_a_recorded_server_with_a_key_and_a_reasoning_parser() -> None:
    """It repeats its key in the server info, at the top and for each scheduler, and says what it thinks beside an empty content."""
    folder = RECORDINGS / "0.5.23" / "cpu-llama-key-reasoning"
    body = json.loads((folder / "server_info.json").read_text())
    assert body["api_key"] == body["internal_states"][0]["api_key"] == "sesame"
    answer, info = api.server_info(Recorded({"/server_info": api.Answer(200, body)}))
    assert info["max_total_num_tokens"] == 4096
    assert "sesame" not in json.dumps([answer.body, info])
    chat = json.loads((folder / "chat.json").read_text())
    assert chat["choices"][0]["message"]["content"] == ""
    assert api.said_text(api.Answer(200, chat)) == chat["choices"][0]["message"]["reasoning_content"]
