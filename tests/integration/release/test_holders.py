# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real holders in all the ways that hide them. Needs root.

The nodes of harmless devices play GPUs. Those that a test makes itself, and all it mounts, lie in the mount namespace of the process that holds
them, so nothing is left when that is gone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.observe.files import Unread
from ansible_collections.blackwell.inference.plugins.module_utils.observe.holders import scan
from ansible_collections.blackwell.inference.plugins.module_utils.observe.holders.gpu_nodes import GpuNodes
from ansible_collections.blackwell.inference.plugins.module_utils.observe.holders.scan import (
    Holder,
    Holders,
    read_holders,
)
from ansible_collections.blackwell.inference.tests.doubles.companions import DIES_WITH_US

GPU, LOOP_CONTROL = (10, 237), "/dev/loop-control"
MAPPED, ZERO = (1, 5), "/dev/zero"  # the only number whose node can be mapped
NODES = GpuNodes({GPU: "nvidia0", MAPPED: "nvidia1"})
OPEN, MAPPING, BOTH = ("descriptor",), ("mapping",), ("descriptor", "mapping")

PRELUDE = """
import ctypes, mmap, os, stat, subprocess, sys, threading, time
def mounted(kind, place, *options):
    subprocess.run(["mount", "-i", "-t", kind, *options, "none", place], check=True, close_fds=False)
def node(place, major, minor):
    os.mknod(place, stat.S_IFCHR | 0o600, os.makedev(major, minor))
    return place
def opened(place, flags=os.O_RDONLY):
    return os.open(place, flags | os.O_NONBLOCK)
def mapped(place):
    descriptor = opened(place)
    libc.mmap(None, 4096, 1, 2, descriptor, 0)  # Python's own keeps a descriptor
    os.close(descriptor)
def ready(*words):
    print("ready", *words, flush=True)
def silent_fuse(place):
    kernel = os.open("/dev/fuse", os.O_RDWR)
    os.set_inheritable(kernel, True)
    mounted("fuse", place, "-o", f"fd={kernel},rootmode=40000,user_id=0,group_id=0")
libc = ctypes.CDLL(None)
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
"""
WAIT = "\ntime.sleep(600)\n"
PRIVATE_MOUNTS = ("unshare", "--mount", "--propagation", "private")
PRIVATE_PIDS = ("unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc")

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root sees all processes")

Start = Callable[..., subprocess.Popen]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a process of Python that has said it is ready."""
    processes: list[subprocess.Popen] = []

    def starting(program: str, *around: str, environment: dict[str, str] | None = None) -> subprocess.Popen:
        process = subprocess.Popen(
            [*DIES_WITH_US, *around, sys.executable, "-c", PRELUDE + program + WAIT],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **(environment or {})},
        )
        processes.append(process)
        assert process.stdout is not None
        assert process.stdout.readline().startswith("ready")
        return process

    yield starting
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


def look(timeout_seconds: float = 20, environment: tuple[str, ...] = (), nodes: GpuNodes = NODES) -> Holders:
    return read_holders(nodes, environment, timeout_seconds)


def notes_of(found: Holders, *pids: int) -> list[Unread]:
    """Of processes of ours: others on this machine may sleep as they like."""
    names = tuple(f"process {pid} " for pid in pids)
    return [note for note in found.unread if note.what.startswith(names)]


def holder_of(pid: int, found: Holders) -> Holder | None:
    return next((holder for holder in found.holders if holder.identity.pid == pid), None)


def devices_of(pid: int, found: Holders) -> dict[str, tuple[str, ...]] | None:
    holder = holder_of(pid, found)
    return holder and holder.devices


@pytest.mark.parametrize("name", [r"\rUid:\t998", r"\x0bUid:", r"\rNSpid:\tx"])
def test_a_process_cannot_tell_lines_of_its_own_making_by_its_name(start, name):
    process = start(f"opened('{LOOP_CONTROL}'); libc.prctl(15, b'{name}', 0, 0, 0); os.setuid(1234); ready()")
    found = look()
    held = holder_of(process.pid, found)
    assert held is not None
    assert (held.identity.uid, held.namespace_pids) == (1234, (process.pid,))
    assert [note for note in found.unread if "failed" in note.why] == []


@pytest.mark.parametrize(
    ("program", "around", "devices"),
    [
        pytest.param(f"opened('{LOOP_CONTROL}'); ready()", (), {"nvidia0": OPEN}, id="plain"),
        pytest.param(f"mapped('{ZERO}'); ready()", (), {"nvidia1": MAPPING}, id="mapping without descriptor"),
        pytest.param(f"mapped('{ZERO}'); opened('{ZERO}'); ready()", (), {"nvidia1": BOTH}, id="both"),
        pytest.param(
            f"opened('{LOOP_CONTROL}')\nthreading.Thread(target=time.sleep, args=(600,)).start()\nready()\nlibc.syscall(60, 0)",
            (),
            {"nvidia0": OPEN},
            id="leader has exited",
        ),
        pytest.param(
            f"mapped('{ZERO}')\nthreading.Thread(target=time.sleep, args=(600,)).start()\nready()\nlibc.syscall(60, 0)",
            (),
            {"nvidia1": MAPPING},
            id="leader has exited, mapping",
        ),
        pytest.param(
            # CLONE_FILES undone: the thread has a table of its own, and what the leader closes stays open there
            f"""
held = opened('{LOOP_CONTROL}')
apart = threading.Event()
threading.Thread(target=lambda: (libc.unshare(0x400), apart.set(), time.sleep(600))).start()
apart.wait()
os.close(held)
ready()""",
            (),
            {"nvidia0": OPEN},
            id="thread with a table of its own",
        ),
        pytest.param(
            "mounted('tmpfs', '/mnt'); opened(node('/mnt/card', 10, 237)); mapped(node('/mnt/other', 1, 5)); ready()",
            PRIVATE_MOUNTS,
            {"nvidia0": OPEN, "nvidia1": MAPPING},
            id="other mount namespace, other path",
        ),
        pytest.param(
            "mounted('tmpfs', '/mnt'); opened(node('/mnt/card', 10, 237)); os.unlink('/mnt/card'); ready()",
            PRIVATE_MOUNTS,
            {"nvidia0": OPEN},
            id="node is gone",
        ),
        pytest.param("opened('/dev/null'); ready()", (), None, id="bystander"),
    ],
)
def test_how_a_gpu_is_held(start, program, around, devices):
    process = start(program, *around)
    found = look()
    assert devices_of(process.pid, found) == devices
    assert notes_of(found, process.pid) == []


def test_what_is_told_of_a_holder(start):
    before = time.time()
    process = start(f"opened('{LOOP_CONTROL}'); ready()", environment={"MARK": "ours", "API_KEY": "not to be told"})
    found = look(environment=("MARK", "ABSENT"))
    holder = holder_of(process.pid, found)
    mine = psutil.Process(process.pid)
    assert (holder.name, holder.state, holder.live_threads) == (mine.name(), "S", 1)
    assert (holder.identity.uid, holder.identity.executable) == (0, mine.exe())
    assert (holder.parent_pid, holder.namespace_pids, holder.container) == (os.getpid(), (process.pid,), None)
    assert before - 1 <= holder.started <= time.time()
    assert holder.environment == {"MARK": "ours"}
    assert "not to be told" not in repr(found)
    assert found.processes > 1
    assert found.descriptors > 3


def test_a_leader_that_has_exited_is_told_from_its_live_thread(start):
    process = start(
        f"opened('{LOOP_CONTROL}')\nthreading.Thread(target=time.sleep, args=(600,)).start()\nready()\nlibc.syscall(60, 0)",
        environment={"MARK": "ours"},
    )
    while psutil.Process(process.pid).status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
    holder = holder_of(process.pid, look(environment=("MARK",)))
    assert (holder.state, holder.live_threads, holder.identity.executable) == ("Z", 1, None)
    assert holder.environment == {"MARK": "ours"}


def test_a_holder_in_another_pid_namespace(start):
    around = start(f"opened('{LOOP_CONTROL}'); ready()", *PRIVATE_PIDS)
    (inner,) = psutil.Process(around.pid).children()
    holder = holder_of(inner.pid, look())
    assert (holder.devices, holder.namespace_pids) == ({"nvidia0": OPEN}, (inner.pid, 1))


@pytest.mark.parametrize("detached", [False, True])
def test_a_file_system_that_never_answers_does_not_hang_us(start, detached):
    """Not even one that was unmounted lazily, which no list of mounts shows any more."""
    process = start(
        f"""
opened('{LOOP_CONTROL}')
silent_fuse('/mnt')
on_it = os.open('/mnt', os.O_PATH)
if {detached}:
    subprocess.run(['umount', '--lazy', '-i', '/mnt'], check=True)
ready()""",
        *PRIVATE_MOUNTS,
    )
    dead = [
        name
        for name in os.listdir(f"/proc/{process.pid}/fd")
        if os.readlink(f"/proc/{process.pid}/fd/{name}") in ("/mnt", "/")
    ]
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run(
            [*DIES_WITH_US, "stat", "-L", f"/proc/{process.pid}/fd/{dead[0]}"],
            timeout=1,
            capture_output=True,
            check=False,
        )
    found = look()
    assert devices_of(process.pid, found) == {"nvidia0": OPEN}
    assert notes_of(found, process.pid) == []


def test_a_process_in_uninterruptible_sleep_is_known_by_its_descriptors(start):
    """It waits for a child made by vfork, which waits for a program on a file system that never answers."""
    around = start(
        f"opened('{LOOP_CONTROL}'); silent_fuse('/mnt'); ready(); os.posix_spawn('/mnt/x', ['x'], {{}})", *PRIVATE_PIDS
    )
    sleeper = psutil.Process(around.pid).children()[0]
    while sleeper.status() != psutil.STATUS_DISK_SLEEP:
        time.sleep(0.01)
    found = look(environment=("HOME",))
    holder = holder_of(sleeper.pid, found)
    assert (holder.state, holder.devices, holder.environment) == ("D", {"nvidia0": OPEN}, {})
    why = "sleeps and cannot be interrupted: its mappings and environment were not read, not to hang with it"
    assert Unread(f"process {sleeper.pid} ({sleeper.name()})", why) in found.unread


def test_a_look_that_hangs_is_left_behind_and_the_others_are_found(start, tmp_path, monkeypatch):
    """Twice: at the descriptors of one process, and at the mappings of another. What was seen of the latter before stays."""
    first, second, third = (start(f"opened('{LOOP_CONTROL}'); mapped('{ZERO}'); ready()") for _number in range(3))
    (tmp_path / "stand_in.py").write_text(
        f"""
import time
from ansible_collections.blackwell.inference.plugins.module_utils.observe.holders import child, gpu_files
for name, pid in (("opened", {first.pid}), ("mapped", {second.pid})):
    def hanging(self, task, real=getattr(gpu_files.GpuFiles, name), victim=pid):
        time.sleep(600 if task == victim else 0)
        return real(self, task)
    setattr(gpu_files.GpuFiles, name, hanging)
child.main()
"""
    )
    monkeypatch.setattr(scan, "child", SimpleNamespace(__name__="stand_in"))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    found = look(3)
    names = {process.pid: psutil.Process(process.pid).name() for process in (first, second)}
    assert notes_of(found, first.pid, second.pid, third.pid) == [
        Unread(f"process {pid} ({name})", "did not answer within 3 seconds") for pid, name in names.items()
    ]
    assert devices_of(first.pid, found) == {"nvidia1": MAPPING}
    assert devices_of(second.pid, found) == {"nvidia0": OPEN}
    assert devices_of(third.pid, found) == {"nvidia0": OPEN, "nvidia1": MAPPING}
    assert {segment.referenced for segment in found.segments} <= {True}


def in_python(program: str, *around: str) -> Any:
    """What a program of Python prints as JSON that has our functions at hand."""
    imports = f"import json\nfrom {scan.__name__} import *\nfrom {GpuNodes.__module__} import *\n"
    told = subprocess.run(
        [*DIES_WITH_US, *around, sys.executable, "-c", imports + PRELUDE + program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    return json.loads(told.stdout)


def test_without_rights_we_say_what_we_could_not_see(start):
    """Root without capabilities may list the names of others' descriptors, not where they lead to."""
    process = start(f"opened('{LOOP_CONTROL}'); ready()")
    pids, unread = in_python(
        f"""
found = read_holders(GpuNodes({{{GPU}: "nvidia0"}}), [], 20)
print(json.dumps([[holder.identity.pid for holder in found.holders], [[note.what, note.why] for note in found.unread]]))""",
        *("setpriv", "--bounding-set", "-all", "--inh-caps", "-all"),
    )
    assert process.pid not in pids
    ((what, why),) = unread
    assert what == "processes"
    count, sentence = why.split(" ", 1)
    assert int(count) >= 1
    assert sentence.startswith("could not be looked into although we are root (")


def test_a_mapping_that_we_may_not_follow_counts_by_its_name():
    """To follow it takes more than to look at the process. Here a node of a GPU's name has another number."""
    told = in_python(
        f"""
mounted("tmpfs", "/dev")
node("/dev/null", 1, 3)
mapped(node("/dev/nvidia5", 1, 5))
look = "from {scan.__name__} import *; print([holder.devices for holder in read_holders(GpuNodes({{}}), [], 20).holders])"
lesser = ["setpriv", "--bounding-set", "-sys_admin,-checkpoint_restore", "--inh-caps", "-all", sys.executable, "-c", look]
print(json.dumps([subprocess.run(way, stdout=-1, check=True, text=True).stdout for way in (lesser, lesser[5:])]))""",
        *PRIVATE_PIDS,
    )
    assert told == ["[{'nvidia5': ('mapping',)}]\n", "[]\n"]


def test_nodes_are_read_with_their_numbers(start):
    process = start(
        """
mounted('tmpfs', '/mnt')
os.makedirs('/mnt/dev/nvidia-caps'); os.makedirs('/mnt/proc')
numbers = {'nvidia0': (7, 0), 'nvidiactl': (195, 255), 'nvidia-uvm': (203, 0), 'nvidia-caps/nvidia-cap1': (203, 1)}
for name, number in {**numbers, 'nvidia-nvlink': (203, 2), 'null': (1, 3)}.items():
    node('/mnt/dev/' + name, *number)
os.mknod('/mnt/dev/nvidia9', stat.S_IFBLK | 0o600, os.makedev(7, 9))
open('/mnt/proc/devices', 'w').write('Character devices:\\n195 nvidia\\n')
ready()""",
        *PRIVATE_MOUNTS,
    )
    told = in_python(
        "print(json.dumps(read_gpu_nodes('/mnt').as_json()))", "nsenter", "--target", str(process.pid), "--mount"
    )
    names = {(203, 1): "nvidia-caps/nvidia-cap1", (203, 0): "nvidia-uvm", (7, 0): "nvidia0", (195, 255): "nvidiactl"}
    assert GpuNodes.from_json(told) == GpuNodes(names, {195: "nvidia"})


def test_shared_memory_with_and_without_somebody():
    """Among no processes but these, since one that cannot be looked into may have any of it."""
    told = in_python(
        '''
mounted("tmpfs", "/mnt")
have = """
import mmap, time
with open("/mnt/had", "wb+") as file:
    file.truncate(9)
    kept = mmap.mmap(file.fileno(), 9)
print(1, flush=True)
time.sleep(600)"""
other = subprocess.Popen([sys.executable, "-c", have], stdout=-1)
other.stdout.read(1)
open("/mnt/left", "w").close()
for name in ("had", "left"):
    os.utime(f"/mnt/{name}", (0, 0))
open("/mnt/sent", "w").close()
def show():
    found = read_holders(GpuNodes({}), [], 20, shared_memory="/mnt")
    return [list(found.unread), [[segment.path, segment.size_bytes, segment.uid, segment.referenced] for segment in found.segments]]
with_it = show()
other.kill()
other.wait()
print(json.dumps([with_it, show()]))''',
        *PRIVATE_PIDS,
    )
    assert told == [
        [[], [["/mnt/had", 9, 0, True], ["/mnt/left", 0, 0, False], ["/mnt/sent", 0, 0, True]]],
        [[], [["/mnt/had", 9, 0, False], ["/mnt/left", 0, 0, False], ["/mnt/sent", 0, 0, True]]],
    ]


def test_a_driver_with_its_own_major_needs_no_node(start):
    """The family's name in /proc/devices is enough: here memory devices play it."""
    process = start("opened('/dev/full'); ready()")
    devices = devices_of(process.pid, look(nodes=GpuNodes({}, {1: "nvidia-caps"})))
    assert devices.get("nvidia-caps/nvidia-cap7") == OPEN  # beside standard input, which is a memory device as well
