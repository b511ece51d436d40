# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An engine that only starts, at a pace that a test sets: loads weights shard by shard, says so in its journal, and serves a model list.

Like SGLang 0.5.23 its progress bar is one line of the journal that ends with the last shard, so while it loads the journal shows nothing.
"""

from __future__ import annotations

import argparse
import threading
import time
from http.server import ThreadingHTTPServer
from pathlib import Path

from recorded_api import Handler

SHARDS = 4


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--journal", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--seconds-per-shard", type=float, default=0.1)
    parser.add_argument("--stall-at", type=int)
    parser.add_argument("--die-at", type=int)
    options = parser.parse_args()
    with options.journal.open("a", buffering=1) as journal:
        journal.write("[2026-02-24 10:00:00] server_args=ServerArgs(api_key='k-123')\n")
        journal.write("[2026-02-24 10:00:00] Load weight begin. avail mem=94.04 GB\n")
        for shard in range(1, SHARDS + 1):
            if shard == options.stall_at:
                spin()
            if shard == options.die_at:
                journal.write("\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n")
                journal.write("[2026-02-24 10:00:01] called with --api-key k-123\n")
                raise SystemExit(1)
            time.sleep(options.seconds_per_shard)
            options.weights.read_bytes()
            journal.write(f"\rMulti-thread loading shards:  {25 * shard}% Completed | {shard}/{SHARDS} [00:00<00:00]")
        journal.write(
            "\n[2026-02-24 10:00:02] Load weight end. elapsed=1.00 s, type=X, avail mem=21.71 GB, mem usage=72.33 GB.\n"
        )
        Handler.folder = options.folder
        server = ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        time.sleep(options.seconds_per_shard)
        journal.write("[2026-02-24 10:00:03] The server is fired up and ready to roll!\n")
    threading.Event().wait()


def spin() -> None:
    """What ranks do that wait for each other."""
    while True:
        pass


if __name__ == "__main__":
    main()
