# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real processes to be ended: `victim(kind)` starts one, and this file is the program that it runs.

Each ends by itself when its standard input does, so none outlives the test, whatever ends that, and wherever it was moved or who became its parent.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

OTHER_PROGRAM = "/bin/cat"  # ends with its input too
EXIT_OF_A_THREAD = {"x86_64": 60, "aarch64": 93}
NEW_MOUNT_NAMESPACE, PRIVATE = 0x20000, 0x4000 | 0x40000
_FUSE_REPLY, _FUSE_INIT = struct.Struct("<IiQ"), struct.Struct("<IIIIHHIIHHIIIIIII")


@dataclass
class Victim:
    """`pid`: of the process that is meant, which may not be the one that was started."""

    process: subprocess.Popen[bytes]
    pid: int

    def tell(self) -> None:
        """Lets it do what its kind does when told, and waits until it has."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def release(self) -> None:
        """Ends its input, and so the process without a signal."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    @property
    def state(self) -> str | None:
        """Letter of its leader; None when it is gone."""
        try:
            return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return None

    @property
    def lives(self) -> bool:
        return self.state not in (None, "Z")


@contextmanager
def victim(kind: str, before: Sequence[str] = ()) -> Iterator[Victim]:
    """`before` is a command that starts it."""
    with subprocess.Popen(
        [*before, sys.executable, __file__, kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/"
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        line = process.stdout.readline()
        try:
            # A process in another namespace does not know its own number here: it is the youngest of the line that we started.
            yield Victim(process, int(line) if not before else _youngest(process.pid))
        finally:
            process.stdin.close()


def _youngest(pid: int) -> int:
    while True:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if not children:
            return pid
        pid = int(children[0])


def _ready(pid: int | None = None) -> None:
    sys.stdout.write(f"{pid or os.getpid()}\n")
    sys.stdout.flush()


def _wait() -> None:
    """Until told, or until the input ends and with it the process."""
    if not os.read(0, 1):
        os._exit(0)


def plain() -> None:
    _ready()


def ignores_term() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _ready()


def cleans_up() -> None:
    """Ends on TERM, in its own time."""
    signal.signal(signal.SIGTERM, lambda _number, _frame: os._exit(0))
    _ready()


def double_fork() -> None:
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
    while os.getppid() != 1:
        pass
    _ready()


def leader_exits() -> None:
    """Leaves a zombie with a live thread."""

    def stay() -> None:
        while Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            pass
        _ready()
        while True:
            _wait()
            os.execv(OTHER_PROGRAM, [OTHER_PROGRAM])

    threading.Thread(target=stay).start()
    ctypes.CDLL(None).syscall(EXIT_OF_A_THREAD[platform.machine()], 0)


def becomes_another_program() -> None:
    _ready()
    _wait()
    os.execv(OTHER_PROGRAM, [OTHER_PROGRAM])


def becomes_another_program_on_term() -> None:
    signal.signal(signal.SIGTERM, lambda _number, _frame: os.execv(OTHER_PROGRAM, [OTHER_PROGRAM]))
    _ready()


def becomes_another_user() -> None:
    _ready()
    _wait()
    os.setresuid(65534, 65534, 65534)


def stuck() -> None:
    """Its child sleeps where no signal reaches it: in a request to a file system whose server has taken it and does not answer. It ends with the server."""
    library = ctypes.CDLL(None, use_errno=True)

    def call(result: int) -> None:
        if result < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    call(library.unshare(NEW_MOUNT_NAMESPACE))
    call(library.mount(b"none", b"/", None, PRIVATE, None))
    call(library.mount(b"tmpfs", tempfile.gettempdir().encode(), b"tmpfs", 0, None))
    server = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={server},rootmode=40000,user_id=0,group_id=0".encode()
    call(library.mount(b"stuck", tempfile.gettempdir().encode(), b"fuse.stuck", 0, options))
    (unique,) = struct.unpack_from("<8xQ", os.read(server, 1 << 17))
    answer = _FUSE_INIT.pack(7, 31, 0, 0, 12, 10, 1 << 16, 1, 0, 0, *[0] * 7)
    os.write(server, _FUSE_REPLY.pack(_FUSE_REPLY.size + len(answer), 0, unique) + answer)
    child = os.fork()
    if not child:
        os.close(server)
        os.stat(tempfile.gettempdir())
        os._exit(0)
    os.read(server, 1 << 17)
    _ready(child)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    while True:
        _wait()
