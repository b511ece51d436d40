# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The HTTP side: endpoints of 0.5.9 and 0.5.23, who may call them, and uvicorn's log lines."""

from __future__ import annotations

import json
import secrets
import socket
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from sglang.double.answers import Answers
from sglang.double.journal import Journal

# Reached without a key, by prefix (sglang/srt/utils/auth.py; /ready since 0.5.20).
OPEN_PATHS = ("/health", "/metrics")
HEALTH_SECONDS = 1.0  # /health generates a token and looks for it once a second

Reply = tuple[int, str, bytes]


class _Close(Exception):
    """Close the connection without an answer."""


class Listener(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, host: str, port: int, answers: Answers, journal: Journal) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.answers, self.journal = answers, journal
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        """Without HTTPServer's look-up of the host's name."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()


def _json(value: Any, status: int = 200) -> Reply:
    return status, "application/json", json.dumps(value, separators=(",", ":")).encode()


def _empty(status: int) -> Reply:
    return status, "", b""


NOT_FOUND = _json({"detail": "Not Found"}, 404)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Listener

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def log_message(self, format: str, *args: Any) -> None:
        """uvicorn's line is written where the answer is known."""

    def _answer(self, method: str) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else b""
        path = self.path.partition("?")[0]
        try:
            status, content_type, content = self._reply(method, path, body)
        except _Close:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response(status)
        if content_type:
            self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        phrase = self.responses[status][0] if status in self.responses else ""
        self.server.journal.text(
            f'INFO:     {self.client_address[0]}:{self.client_address[1]} - "{method} {self.path} HTTP/1.1" {int(status)} {phrase}'
        )

    def _reply(self, method: str, path: str, body: bytes) -> Reply:
        answers = self.server.answers
        if not self._allowed(path):
            return _json({"error": "Unauthorized"}, 401)
        if path in GENERATING and method == "POST":
            return self._generate(GENERATING[path](answers), path, body)
        if path == "/flush_cache":
            return 200, "", answers.flush().encode()
        reply = INFORMING.get(path) if method == "GET" else None
        return NOT_FOUND if reply is None else reply(self)

    def _allowed(self, path: str) -> bool:
        key: str | None = self.server.answers.arguments.get("api_key")
        open_paths = (*OPEN_PATHS, "/ready") if self.server.answers.dialect.has_ready else OPEN_PATHS
        if not key or path.startswith(open_paths):
            return True
        scheme, _space, token = self.headers.get("Authorization", "").partition(" ")
        return scheme.lower() == "bearer" and secrets.compare_digest(token.encode(), key.encode())

    def _generate(self, generate: Callable[[dict[str, Any]], dict[str, Any]], path: str, body: bytes) -> Reply:
        try:
            request = json.loads(body or b"{}")
        except ValueError as error:
            return _json({"object": "error", "message": str(error), "type": "Bad Request", "code": 400}, 400)
        if path.endswith("/chat/completions") and self.server.answers.faults.has("chat:error"):
            return _json(
                {
                    "object": "error",
                    "message": "Internal server error: injected",
                    "type": "InternalServerError",
                    "code": 500,
                },
                500,
            )
        return _json(generate(request))

    def health(self) -> Reply:
        answers = self.server.answers
        if answers.faults.has("health:closed"):
            raise _Close
        if answers.starting or answers.faults.has("health:unhealthy"):
            return _empty(503)
        time.sleep(HEALTH_SECONDS)
        return _empty(200)

    def ready(self) -> Reply:
        if not self.server.answers.dialect.has_ready:
            return NOT_FOUND
        return _empty(503 if self.server.answers.starting else 200)

    def metrics(self) -> Reply:
        if not self.server.answers.arguments.get("enable_metrics"):
            return NOT_FOUND
        return 200, "text/plain; version=0.0.4; charset=utf-8", self.server.answers.metrics().encode()

    def models(self) -> Reply:
        return _json(self.server.answers.models())

    def model_info(self) -> Reply:
        return _json(self.server.answers.model_info())

    def server_info(self) -> Reply:
        return _json(self.server.answers.server_info())

    def old_model_info(self) -> Reply:
        self.server.journal.say("info_deprecated", what="model")
        return self.model_info()

    def old_server_info(self) -> Reply:
        self.server.journal.say("info_deprecated", what="server")
        return self.server_info()


GENERATING: dict[str, Callable[[Answers], Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "/v1/chat/completions": lambda answers: answers.chat,
    "/generate": lambda answers: answers.generate,
}
INFORMING: dict[str, Callable[[_Handler], Reply]] = {
    "/health": _Handler.health,
    "/health_generate": _Handler.health,
    "/ready": _Handler.ready,
    "/metrics": _Handler.metrics,
    "/v1/models": _Handler.models,
    "/model_info": _Handler.model_info,
    "/get_model_info": _Handler.old_model_info,
    "/server_info": _Handler.server_info,
    "/get_server_info": _Handler.old_server_info,
}
