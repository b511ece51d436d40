# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The worker processes: one per rank, as in the engine, going through its phases and saying so."""

from __future__ import annotations

import argparse
import ctypes
import mmap
import multiprocessing
import os
import signal
import time
import traceback
from dataclasses import replace
from multiprocessing.synchronize import Barrier

from sglang.double import host as hosts
from sglang.double import sizing
from sglang.double.dialect import Dialect
from sglang.double.faults import Faults
from sglang.double.host import GIB, Host
from sglang.double.journal import Journal, progress
from sglang.double.model import Model
from sglang.double.sizing import EngineError, HostPool, Sizes

READY = b"r"
PIN_STEPS = 8
# As 0.5.23 lists them in its resolved cuda_graph_config.
PREFILL_GRAPH_TOKENS = [
    *range(4, 33, 4),
    *range(48, 257, 16),
    *range(288, 513, 32),
    *range(576, 1025, 64),
    *range(1280, 2049, 256),
]
PR_SET_PDEATHSIG, PR_SET_NAME = 1, 15
OUT_OF_MEMORY = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {want:.2f} GiB. GPU {rank} has a total capacity of {total:.2f} GiB "
    "of which {free:.2f} MiB is free. Including non-PyTorch memory, this process has {used:.2f} GiB memory in use."
)


class Rank:
    """One worker. `run` never returns: it serves until its parent ends it."""

    def __init__(
        self,
        number: int,
        count: int,
        options: argparse.Namespace,
        model: Model,
        dialect: Dialect,
        faults: Faults,
        barrier: Barrier,
    ) -> None:
        self._number, self._count, self._barrier = number, count, barrier
        self._options, self._model, self._dialect, self._faults = options, model, dialect, faults
        self._host = Host.read()
        self._journal = Journal(dialect, f" TP{number}" if count > 1 else "")
        self._held: list[object] = []

    def run(self, ready: int) -> None:
        try:
            self._start(ready)
        except EngineError as error:
            self._fail(error)
        while True:
            signal.pause()

    def _fail(self, error: EngineError) -> None:
        """As the engine's scheduler: log the traceback, tell the parent, and wait to be killed."""
        trace = (
            "Traceback (most recent call last):\n"
            '  File "sglang/srt/managers/scheduler.py", line 3130, in run_scheduler_process\n'
            f"    scheduler = Scheduler(\n{error.kind}: {error}\n"
        )
        self._journal.say("exception", traceback=trace)
        os.kill(os.getppid(), signal.SIGQUIT)

    def _start(self, ready: int) -> None:
        began = time.monotonic()
        self._open_device()
        self._journal.say("parallel_begin")
        self._faults.wait("init")
        self._journal.say("parallel_end", elapsed=time.monotonic() - began, used=0.59 if self._cuda else 0.0)
        self._journal.say("baseline", used=0.59 if self._cuda else 0.0)
        self._after("init")
        self._together()
        sizes = self._load()
        self._together()
        self._pools(sizes)
        self._graphs(sizes)
        if self._number == 0:
            self._journal.say(
                "summary",
                tokens=sizes.tokens,
                chunk=sizes.chunk,
                prefill=self._options.max_prefill_tokens,
                requests=sizes.requests,
                context=sizes.context,
                kind="gpu" if sizes.cuda else "cpu",
                available=sizes.free_gib,
            )
        self._host_pool(sizes)
        os.write(ready, READY)

    def _together(self) -> None:
        """The ranks wait for each other where the engine's talk to each other: a rank that stops there stops all."""
        self._barrier.wait()

    @property
    def _cuda(self) -> bool:
        return bool(self._options.device != "cpu")

    def _open_device(self) -> None:
        """Hold the device nodes, so that whoever looks for holders of a GPU finds this process."""
        if not self._cuda:
            return
        self._take(int(self._host.process_gib * GIB), shared=False)
        for node in ("/dev/nvidiactl", "/dev/nvidia-uvm", f"/dev/nvidia{self._number}"):
            try:
                self._held.append(os.open(node, os.O_RDWR))
            except OSError:
                continue

    def _load(self) -> Sizes:
        began = time.monotonic()
        sizes = self._said(sizing.of(self._options, self._model, self._host, self._dialect))
        self._journal.say("load_begin", available=sizes.before_gib)
        total = max(1, self._model.shards)
        for done in range(total + 1):
            if self._number == 0:
                update = progress(
                    self._dialect.shards_label, done, total, time.monotonic() - began, self._dialect.shards_end
                )
                self._journal.raw(update)
            if done < total:
                self._faults.wait("load", 1 / total)
        if self._number == 0:
            self._journal.raw("\n")
        self._journal.say(
            "load_end",
            elapsed=time.monotonic() - began,
            architecture=self._model.architecture,
            dtype=self._model.dtype,
            quantization=self._model.quantization,
            available=sizes.loaded_gib,
            used=sizes.weights_gib,
        )
        self._after("load")
        return sizes

    def _pools(self, sizes: Sizes) -> None:
        self._faults.wait("pools")
        if sizes.reserve_gib:
            self._journal.say("multimodal_reserve", reserve=sizes.reserve_gib)
        self._journal.say("kv_dtype", dtype=sizes.kv_dtype)
        self._journal.say(
            "kv_latent" if self._model.latent else "kv_grouped",
            dtype=sizes.kv_dtype,
            tokens=sizes.tokens,
            kv=sizes.kv_gib,
            k=sizes.kv_gib / 2,
            v=sizes.kv_gib / 2,
        )
        self._journal.say("pool_end", available=sizes.pooled_gib)
        self._after("pools")

    def _prefill_graphs(self, sizes: Sizes) -> None:
        if not sizes.prefill_graphs:
            self._journal.say("prefill_graphs_off")
            return
        self._journal.say("prefill_graphs_begin", sizes=PREFILL_GRAPH_TOKENS, available=sizes.pooled_gib)
        left = sizes.pooled_gib - sizes.prefill_graphs_gib
        self._journal.say("prefill_graphs_end", elapsed=0.0, used=sizes.prefill_graphs_gib, available=left)

    def _graphs(self, sizes: Sizes) -> None:
        self._prefill_graphs(sizes)
        if not sizes.graph_batch_sizes:
            return
        began = time.monotonic()
        self._journal.say("graphs_begin", available=sizes.pooled_gib - sizes.prefill_graphs_gib)
        if sizes.free_gib <= 0:
            failure = OUT_OF_MEMORY.format(
                want=0.25,
                rank=self._number,
                total=self._host.gpu_total_mib / 1024,
                free=max(0.0, sizes.pooled_gib * 1024),
                used=sizes.before_gib,
            )
            raise EngineError(
                "Exception", self._dialect.lines["graphs_failed"].format(error=failure.partition(": ")[2])
            )
        if self._number == 0:
            self._journal.say("graphs_sizes", sizes=list(sizes.graph_batch_sizes))
        self._faults.wait("graphs")
        self._journal.say(
            "graphs_end",
            sizes=list(sizes.graph_batch_sizes),
            elapsed=time.monotonic() - began,
            used=sizes.graphs_gib,
            available=sizes.free_gib,
        )
        self._after("graphs")

    def _host_pool(self, sizes: Sizes) -> None:
        pool = sizing.host_pool(self._options, sizes, self._dialect)
        if pool is not None:
            self._announce(pool, sizes)
            for _step in range(PIN_STEPS):
                self._pin(pool.size_bytes // PIN_STEPS)
                self._faults.wait("pin", 1 / PIN_STEPS)
        self._journal.say("tree_cache", attached=pool is not None)
        self._after("pin")

    def _announce(self, pool: HostPool, sizes: Sizes) -> None:
        shown = dict(self._faults.values("journal")).get("host_pool_bytes", pool.size_bytes)
        self._journal.say(
            "host_headroom", host=hosts.available_bytes() / GIB, cgroup=hosts.cgroup_headroom_bytes() / GIB
        )
        if pool.sizing is not None:
            requested, budget = pool.sizing
            self._journal.say(
                "host_sizing",
                requested=requested,
                ratio=pool.ratio,
                budget=budget / GIB,
                fraction=self._options.hicache_host_memory_fraction,
                ranks=self._count,
                pools=sizes.kv_gib * pool.ratio,
            )
        self._journal.say("host_pool", tokens=pool.tokens, size=shown / 1e9)

    def _pin(self, size_bytes: int) -> None:
        """Take the described memory, and `ENGINE_DOUBLE_PIN_BYTES` of the real one per rank, so that a reader sees it grow."""
        self._take(size_bytes, shared=True)
        real = int(os.environ.get("ENGINE_DOUBLE_PIN_BYTES", "0")) // PIN_STEPS
        if real:
            block = mmap.mmap(-1, real)
            for at in range(0, real, mmap.PAGESIZE):
                block[at] = 1
            self._held.append(block)

    def _take(self, size_bytes: int, shared: bool) -> None:
        """Take memory of the described host, which kills like a kernel when it has none left."""
        try:
            hosts.take(size_bytes, shared)
        except hosts.HostMemoryExhausted:
            os.kill(os.getpid(), signal.SIGKILL)

    def _said(self, sizes: Sizes) -> Sizes:
        """Sizes with the figures that a fault wants wrong in the log of this process."""
        wrong = {name: value for name, value in self._faults.values("journal") if name != "host_pool_bytes"}
        return replace(sizes, **wrong) if wrong else sizes

    def _after(self, phase: str) -> None:
        if self._faults.has(f"stall:{phase}"):
            while True:
                signal.pause()
        if self._number != 0:
            return
        if self._faults.has(f"oom:{phase}"):
            raise EngineError(*_out_of_memory(self._host, self._number))
        if self._faults.has(f"killed:{phase}"):
            os.kill(os.getpid(), signal.SIGKILL)


def _out_of_memory(host: Host, rank: int) -> tuple[str, str]:
    text = OUT_OF_MEMORY.format(
        want=1.75, rank=rank, total=host.gpu_total_mib / 1024, free=812.0, used=host.free_before_load_gib
    )
    kind, _colon, message = text.partition(": ")
    return kind, message


def spawn(
    count: int, options: argparse.Namespace, model: Model, dialect: Dialect, faults: Faults, ready: int
) -> list[int]:
    """Start the ranks; each writes one byte to `ready` when it can serve. They die with their parent."""
    barrier = multiprocessing.get_context("fork").Barrier(count)
    pids: list[int] = []
    for number in range(count):
        pid = os.fork()
        if pid == 0:
            _name(f"sglang::scheduler_TP{number}" if count > 1 else "sglang::scheduler")
            for signum in (signal.SIGQUIT, signal.SIGTERM):
                signal.signal(signum, signal.SIG_DFL)
            try:
                Rank(number, count, options, model, dialect, faults, barrier).run(ready)
            except Exception:
                traceback.print_exc()
            os._exit(1)
        pids.append(pid)
    return pids


def _name(name: str, library: ctypes.CDLL | None = None) -> None:
    libc = library or ctypes.CDLL(None)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    libc.prctl(PR_SET_NAME, name.encode()[:15])


def prefill_out_of_memory(options: argparse.Namespace, dialect: Dialect, count: int) -> None:
    """What rank 0 logs when a prefill runs out of memory."""
    kind, message = _out_of_memory(Host.read(), 0)
    trace = (
        "Traceback (most recent call last):\n"
        '  File "sglang/srt/managers/scheduler.py", line 3170, in run_scheduler_process\n'
        f"    scheduler.event_loop_overlap()\n{kind}: {message}\n"
    )
    Journal(dialect, " TP0" if count > 1 else "").say("exception", traceback=trace)
