# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What clients of the deployed server see, asked on the host itself."""

from __future__ import annotations

import json
from typing import Any

from ansible_collections.blackwell.inference.tests.hosts.deploy import instance
from ansible_collections.blackwell.inference.tests.hosts.unit import Unit

# A host need not have a program such as curl; Ansible's modules go by this interpreter too.
ASK = """
import sys, urllib.error, urllib.request
url, body, authorized = sys.argv[1:]
headers = {"Content-Type": "application/json"}
if authorized == "yes":
    headers["Authorization"] = "Bearer " + key
status, text = 0, ""
try:
    with urllib.request.urlopen(urllib.request.Request(url, body.encode() or None, headers), timeout=60) as answer:
        status, text = answer.status, answer.read().decode()
except urllib.error.HTTPError as error:
    status, text = error.code, error.read().decode()
except OSError as error:
    text = str(error)
print(json.dumps([status, text.replace(key, "********")]))
"""
CHAT = {"model": instance.MODEL, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 8}


def test_model_answers_a_chat(unit: Unit) -> None:
    status, text = ask(unit, "chat/completions", CHAT)
    assert status == 200, text
    message = json.loads(text)["choices"][0]["message"]
    assert isinstance(message["content"] or message["reasoning_content"], str)


def test_model_is_served_under_the_name_of_its_profile(unit: Unit) -> None:
    status, text = ask(unit, "models")
    assert status == 200, text
    assert [model["id"] for model in json.loads(text)["data"]] == [instance.MODEL]


def test_client_without_the_key_is_refused(unit: Unit) -> None:
    status, text = ask(unit, "chat/completions", CHAT, authorized=False)
    assert status == 401, text


def test_server_listens_on_the_loopback_and_nowhere_else(unit: Unit) -> None:
    listening = unit.host.socket.get_listening_sockets()
    port = f":{instance.PORT}"
    assert [socket for socket in listening if socket.endswith(port)] == [f"tcp://127.0.0.1{port}"]


def ask(unit: Unit, path: str, body: dict[str, Any] | None = None, authorized: bool = True) -> tuple[int, str]:
    """The status, 0 if nothing answers, and the text of the answer or why there is none."""
    url = f"http://127.0.0.1:{instance.PORT}/v1/{path}"
    arguments = (url, json.dumps(body) if body else "", "yes" if authorized else "no")
    status, text = json.loads(unit.host.check_output("python3 -c %s %s %s %s", instance.KEY + ASK, *arguments))
    return status, text
