# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The main process: it starts the ranks, waits for them, listens, warms itself up, and ends as the engine ends."""

from __future__ import annotations

import argparse
import os
import signal
import threading
import time
from typing import Any

from sglang.double import host as hosts
from sglang.double import model as models
from sglang.double import ranks, sizing
from sglang.double.answers import Answers
from sglang.double.dialect import Dialect
from sglang.double.faults import Faults
from sglang.double.host import Host
from sglang.double.http_api import Listener
from sglang.double.journal import Journal


class Server:
    def __init__(self, options: argparse.Namespace, command: str, dialect: Dialect) -> None:
        self.options, self.command, self.dialect = options, command, dialect
        self.faults = Faults()
        self.journal = Journal(dialect)
        self.model = models.read(options.model_path, dialect.absent_model)
        self.count = int(getattr(options, "tp_size", None) or getattr(options, "tensor_parallel_size", 1))
        self.pids: list[int] = []
        self.serving = False
        hosts.available_bytes()  # before there are ranks, which then all know the same figure

    def run(self) -> int:
        began = time.monotonic()
        self._settle()
        self.journal.say("server_args", pairs=self._pairs())
        self.journal.say("chat_template")
        read, write = os.pipe()
        hosts.guard()
        signal.signal(signal.SIGQUIT, self._child_failed)
        self.pids = ranks.spawn(self.count, self.options, self.model, self.dialect, self.faults, write)
        os.close(write)
        self._wait(read)
        sizes = sizing.of(self.options, self.model, Host.read(), self.dialect)
        spent = time.monotonic() - began
        self.journal.say(
            "timings", load=spent * 0.5, pools=0.35, all=spent, graphs=spent * 0.2 if sizes.graph_batch_sizes else 0.0
        )
        answers = Answers(self, sizes, startup_seconds=spent)
        return self._serve(answers)

    def _settle(self) -> None:
        """Defaults that the engine resolves from others before it logs its arguments."""
        options = self.options
        options.tokenizer_path = options.tokenizer_path or options.model_path
        options.served_model_name = options.served_model_name or options.model_path
        options.page_size = options.page_size or 1
        options.device = options.device or "cuda"
        options.random_seed = options.random_seed or 42
        sizes = (
            sizing.of(options, self.model, Host.read(), self.dialect) if options.mem_fraction_static is None else None
        )
        if sizes is not None:
            options.mem_fraction_static = sizes.fraction

    def arguments(self) -> dict[str, Any]:
        """The server arguments under the engine's names."""
        names = self.dialect.argument_names
        fields = {names.get(name, name): value for name, value in vars(self.options).items()}
        return {name: value for name, value in fields.items() if name not in ("", "config")}

    def _pairs(self) -> str:
        form = "{!r}: {!r}" if self.dialect.info_is_resolved else "{}={!r}"
        return ", ".join(form.format(name, value) for name, value in self.arguments().items())

    def _wait(self, read: int) -> None:
        """Until every rank is ready. A rank that dies without a word closes nothing, so it is looked for."""
        signal.signal(signal.SIGCHLD, self._child_gone)
        ready = 0
        while ready < self.count:
            ready += len(os.read(read, self.count))

    def _serve(self, answers: Answers) -> int:
        signal.signal(signal.SIGTERM, self._sigterm)
        self.serving = True
        self.journal.text(f"INFO:     Started server process [{os.getpid()}]")
        self.journal.text("INFO:     Waiting for application startup.")
        self.journal.text("INFO:     Application startup complete.")
        try:
            listener = Listener(self.options.host, self.options.port, answers, self.journal)
        except OSError as error:
            self.journal.text(
                f"ERROR:    [Errno {error.errno}] error while attempting to bind on address "
                f"('{self.options.host}', {self.options.port}): address already in use"
            )
            self._end_children()
            return 1
        answers.on_prefill_out_of_memory = self._prefill_out_of_memory
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        self.journal.text(
            f"INFO:     Uvicorn running on http://{self.options.host}:{self.options.port} (Press CTRL+C to quit)"
        )
        self.faults.wait("warmup")
        answers.warm_up(self.options.host)
        self.journal.say("ready")
        while True:
            signal.pause()

    def _prefill_out_of_memory(self) -> None:
        ranks.prefill_out_of_memory(self.options, self.dialect, self.count)
        os.kill(os.getpid(), signal.SIGQUIT)

    def _sigterm(self, signum: int, frame: Any) -> None:
        self.journal.say("sigterm")
        if self.faults.has("ignore_sigterm"):
            return
        # systemd tells the ranks to stop as well: those deaths are no news, and must not interrupt what follows.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        # The engine's watchdog looks every five seconds; tests need not wait that long for the same end.
        self.journal.say("draining", requests=0)
        if not self.dialect.stop_is_clean:
            self._kill_tree()
        self._end_children()
        for line in ("Shutting down", "Waiting for application shutdown.", "Application shutdown complete."):
            self.journal.text(f"INFO:     {line}")
        self.journal.text(f"INFO:     Finished server process [{os.getpid()}]")
        os._exit(0)

    def _child_failed(self, signum: int, frame: Any) -> None:
        self.journal.say("child_failed_serving" if self.serving else "child_failed")
        self._kill_tree()

    def _child_gone(self, signum: int, frame: Any) -> None:
        """A rank died without a word, as when the kernel kills it for memory."""
        for rank, pid in enumerate(self.pids):
            try:
                done, status = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:  # told of before
                continue
            if not done:
                continue
            code = os.waitstatus_to_exitcode(status)
            if self.serving:  # 0.5.23 has a watchdog for this; 0.5.9 goes on, and its health check fails
                self.journal.say("rank_crashed", rank=rank, pid=pid, code=code)
                if self.dialect.lines["rank_crashed"]:
                    os.kill(os.getpid(), signal.SIGQUIT)
                return
            self.journal.say("rank_dead", rank=rank)
            self.journal.say("rank_exit", code=code)
            self.journal.raw(
                f"Traceback (most recent call last):\n{self.dialect.rank_died.format(rank=rank, code=code)}\n"
            )
            self._end_children()
            os._exit(1)

    def _end_children(self) -> None:
        """End the ranks, for this process to end next: no signal interrupts it any more."""
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGQUIT, signal.SIGTERM})
        with hosts.giving_back():
            for pid in self.pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                except (ProcessLookupError, ChildProcessError):
                    continue

    def _kill_tree(self) -> None:
        """`kill_process_tree(os.getpid())` of the engine: the children, then itself, all by SIGKILL."""
        self._end_children()
        os.kill(os.getpid(), signal.SIGKILL)
