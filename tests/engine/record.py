# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Record what a real engine logged and answers, as data for the parsers' tests.

    record.py --url http://127.0.0.1:30000 --log engine.log --out tests/data/sglang/0.5.23/cpu-llama \
        --command 'python -m sglang.launch_server ...' --scrub /home/me/venv=/opt/sglang

Run against a server that has just become ready, and keep the files that a test reads. `--scrub FROM=TO` replaces paths of
the recording machine in all that is written.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

UNAUTHORIZED = "unauthorized.txt"  # asked without the key
PROMPT = "hello world this is a tiny tokenizer for a tiny model " * 40
CHAT = {"model": "default", "messages": [{"role": "user", "content": "hello world"}], "max_tokens": 8, "temperature": 0}
GENERATE = {"text": PROMPT, "sampling_params": {"max_new_tokens": 4, "temperature": 0}}

# file name, method, path, body; in this order, so that the second generation finds the first one's prefix.
CALLS: tuple[tuple[str, str, str, dict[str, Any] | None], ...] = (
    ("health.txt", "GET", "/health", None),
    ("ready.txt", "GET", "/ready", None),
    ("models.json", "GET", "/v1/models", None),
    ("model_info.json", "GET", "/model_info", None),
    ("get_model_info.json", "GET", "/get_model_info", None),
    ("chat.json", "POST", "/v1/chat/completions", CHAT),
    ("generate_cold.json", "POST", "/generate", GENERATE),
    ("generate_warm.json", "POST", "/generate", GENERATE),
    ("server_info.json", "GET", "/server_info", None),
    ("get_server_info.json", "GET", "/get_server_info", None),
    ("metrics.txt", "GET", "/metrics", None),
    ("flush_cache.txt", "POST", "/flush_cache", None),
    (UNAUTHORIZED, "GET", "/v1/models", None),
    ("unknown.txt", "GET", "/no_such_endpoint", None),
)


def call(url: str, key: str, method: str, path: str, body: dict[str, Any] | None) -> tuple[int, str, str]:
    """Status, content type and text of one request; an error status is an answer like any other."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
    request = urllib.request.Request(url + path, data=data, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers.get("Content-Type", ""), answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get("Content-Type", ""), error.read().decode()


def scrubbed(text: str, rules: Sequence[str]) -> str:
    for rule in rules:
        found, _equals, replacement = rule.partition("=")
        text = text.replace(found, replacement)
    return text


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--url", required=True)
    parser.add_argument("--log", required=True, type=Path)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--command", required=True)
    parser.add_argument("--scrub", action="append", default=[])
    parser.add_argument("--note", action="append", default=[])
    parser.add_argument("--api-key", default="")
    parser.add_argument("--no-generation", action="store_true", help="for an engine that can size but not generate")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    answers: dict[str, dict[str, Any]] = {}
    seen: dict[str, str] = {}
    version = ""
    for name, method, path, body in CALLS:
        if (body is not None and options.no_generation) or (name == UNAUTHORIZED and not options.api_key):
            continue
        status, content_type, text = call(
            options.url, "" if name == UNAUTHORIZED else options.api_key, method, path, body
        )
        if path == "/server_info":
            version = json.loads(text)["version"]
        if name.endswith(".json") and text.startswith("{"):
            text = json.dumps(json.loads(text), indent=1) + "\n"
        answers[name] = {"request": f"{method} {path}", "status": status, "content_type": content_type}
        if text and text in seen:  # an old name of an endpoint that answers the same
            answers[name]["same_as"] = seen[text]
            continue
        seen[text] = name
        (options.out / name).write_text(scrubbed(text, options.scrub), encoding="utf-8")
    # Bytes, because progress bars use carriage returns.
    log = options.log.read_bytes().decode("utf-8", "replace")
    (options.out / "journal.log").write_bytes(scrubbed(log, options.scrub).encode())
    provenance = {
        "tool": f"sglang {version}",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "device": f"cpu ({platform.machine()}), CPU build of torch, sglang-cpu-shims of tests/engine",
        "command": scrubbed(options.command, options.scrub),
        "journal": "journal.log is the process's stderr, byte for byte but for scrubbed paths",
        "notes": options.note,
        "answers": answers,
    }
    (options.out / "PROVENANCE.json").write_text(json.dumps(provenance, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
