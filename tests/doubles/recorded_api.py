# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Serves recorded answers of an engine: `python recorded_api.py FOLDER PORT`. Files are read at each request, so a test may change one meanwhile."""

from __future__ import annotations

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ANSWERS = {
    "GET /v1/models": "models.json",
    "GET /server_info": "server_info.json",
    "POST /v1/chat/completions": "chat.json",
}


class Handler(BaseHTTPRequestHandler):
    folder = Path()

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        name = ANSWERS.get(f"{self.command} {self.path}")
        file = self.folder / name if name else None
        body = file.read_bytes() if file and file.exists() else b'{"detail":"Not Found"}'
        self.send_response(200 if file and file.exists() else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, format: str, *arguments: object) -> None:
        """Nobody reads it."""


def serve(folder: Path, port: int) -> None:
    Handler.folder = folder
    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        print(f"listening on {server.server_port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]))
