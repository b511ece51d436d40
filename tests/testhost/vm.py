# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small virtual machine, emulated in software: for effects that a container does not show, as it has a kernel of its own.

It starts from a snapshot of itself just booted, in 6 s; what runs there takes five to ten times as long as here. One or two short tests, not a suite.
All that it is on the machine: the directory `<cache>/vms/<slot>/NAME` and the cgroup `bwtvm<slot>-NAME`.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import cgroup, owner, ssh
from .booted import Booted
from .command import HostError, run, tail
from .removal import remove_tree
from .site import Site, machine_lock
from .vm_image import exclusive, vm_image

SNAPSHOT = "ready"
BOOT_SECONDS = 300.0  # 32 s on an idle machine of 2 cores
PROMPT = b"(qemu) "
KERNEL_COMMAND_LINE = "root=/dev/vda rw console=ttyS0 net.ifnames=0 quiet mitigations=off tsc=reliable no_timer_check systemd.show_status=false"


@dataclass(frozen=True)
class Vm(Booted):
    name: str
    port: int
    maker: str
    owner: str | None = None
    site: Site = field(repr=False, compare=False, kw_only=True)

    @property
    def directory(self) -> Path:
        return vms_directory(self.site) / self.name

    @property
    def cgroup(self) -> str:
        return f"{cgroup_prefix(self.site)}-{self.name}"

    @property
    def ssh(self) -> list[str]:
        """Through the open connection, as long as it stands."""
        *command, destination = ssh.command(self.site, "127.0.0.1", self.port)
        return [*command, "-o", f"ControlPath={self.directory}/ssh", destination]

    @property
    def inventory(self) -> dict[str, Any]:
        return {"inference": {"hosts": {self.name: ssh.variables(self.site, "127.0.0.1", self.port)}}}

    def execute(self, command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """A shell command line, through ssh: there is no other way in."""
        return self.ask([*self.ssh, command], command, check)


def up(site: Site, name: str, *, owner_pid: int | None = None) -> Vm:
    """Start from the snapshot, which is made first if it is not there yet, and set the clock, which stood still since."""
    image = vm_image(site)
    with exclusive(image):
        if not (image / "ready.qcow2").exists():
            make_snapshot(site, image)
    vm = reserve(site, name, owner_pid)
    try:
        disk = vm.directory / "disk.qcow2"
        run("cp", "--reflink=auto", str(image / "ready.qcow2"), str(disk))
        start(vm, image, disk, "-loadvm", SNAPSHOT)
        wait_for(lambda: ssh.answers("127.0.0.1", vm.port, 5), vm)
        connect(vm)
        vm.execute(f"date --set=@{time.time():.0f}")
    except BaseException:
        down(vm)
        raise
    return vm


def make_snapshot(site: Site, image: Path) -> None:
    vm = reserve(site, f"making-{os.getpid()}", os.getpid())
    try:
        disk = image / ".ready.qcow2"
        run("qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", str(image / "disk.img"), str(disk))
        start(vm, image, disk)
        wait_for(lambda: ssh.answers("127.0.0.1", vm.port, 5), vm)
        vm.execute("systemctl is-system-running --wait")
        say(vm, f"savevm {SNAPSHOT}")
    finally:
        down(vm)
    disk.rename(image / "ready.qcow2")


def reserve(site: Site, name: str, owner_pid: int | None) -> Vm:
    with machine_lock():
        vm = Vm(
            name, free_port(), owner.identify(os.getpid()), owner.identify(owner_pid) if owner_pid else None, site=site
        )
        if vm.directory.exists():
            raise HostError(f"There is a virtual machine {name} already; `vm-down {name}` removes it.")
        vm.directory.mkdir(parents=True)
        vm.write_record(vm.directory / "vm.json")
        return vm


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start(vm: Vm, image: Path, disk: Path, *more: str) -> None:
    emulator = [
        "qemu-system-x86_64",
        *("-accel", "tcg,thread=multi,tb-size=1024", "-cpu", "max", "-M", "q35", "-m", "1024", "-smp", "2"),
        *("-kernel", str(image / "vmlinuz"), "-initrd", str(image / "initrd"), "-append", KERNEL_COMMAND_LINE),
        *("-drive", f"file={disk},format=qcow2,if=virtio,cache=unsafe"),
        *("-nic", f"user,model=virtio-net-pci,hostfwd=tcp:127.0.0.1:{vm.port}-:22"),
        *("-display", "none", "-serial", f"file:{vm.directory}/console.log"),
        *("-monitor", f"unix:{vm.directory}/monitor,server,nowait"),
        *more,
    ]
    cgroup.make(vm.cgroup)
    with (vm.directory / "qemu.log").open("wb") as log:
        subprocess.run(
            cgroup.joining(vm.cgroup, "machine", ["setsid", "--fork", *emulator]),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=True,
        )


def connect(vm: Vm) -> None:
    """One connection for all commands: to open one takes an emulated processor 2 s. It is in the machine's cgroup, and ends with it."""
    run(*cgroup.joining(vm.cgroup, "machine", [*vm.ssh[:-1], "-f", "-N", "-M", vm.ssh[-1]]))


def wait_for(condition: Callable[[], bool], vm: Vm) -> None:
    deadline = time.monotonic() + BOOT_SECONDS
    while not condition():
        if not vm.running or time.monotonic() > deadline:
            what = f"did not answer within {BOOT_SECONDS:.0f} s" if vm.running else "ended"
            logs = [vm.directory / name for name in ("qemu.log", "console.log")]
            words = "\n".join(tail(log.read_text(errors="replace")) for log in logs if log.exists())
            raise HostError(f"The virtual machine {vm.name} {what}. Last words:\n{words}")
        time.sleep(0.2)


def say(vm: Vm, order: str) -> None:
    """One order to qemu's monitor, which answers with a prompt when it is done."""
    with socket.socket(socket.AF_UNIX) as monitor:
        monitor.settimeout(60)
        monitor.connect(str(vm.directory / "monitor"))
        answer = read_until_prompt(monitor)
        monitor.sendall(f"{order}\n".encode())
        answer = read_until_prompt(monitor)
    if b"Error" in answer:
        raise HostError(f"qemu refused {order!r}: {answer.decode(errors='replace').strip()}")


def read_until_prompt(monitor: socket.socket) -> bytes:
    answer = b""
    while not answer.endswith(PROMPT):
        part = monitor.recv(4096)
        if not part:
            raise HostError("qemu closed its monitor while it was asked for something; qemu.log says why.")
        answer += part
    return answer


def down(vm: Vm) -> None:
    cgroup.kill(vm.cgroup)
    cgroup.remove(vm.cgroup)
    with machine_lock():
        remove_tree(vm.directory)
        if vms_directory(vm.site).is_dir() and not any(vms_directory(vm.site).iterdir()):
            vms_directory(vm.site).rmdir()


def gc(site: Site, everything: bool = False) -> list[str]:
    gone = [vm for vm in vms(site) if everything or vm.abandoned]
    for vm in gone:
        down(vm)
    with machine_lock():
        for directory in vms_directory(site).glob("*"):
            if not (directory / "vm.json").exists():  # its maker, or who removed it, was killed in between
                remove_tree(directory)
    return [vm.name for vm in gone]


def vms(site: Site) -> list[Vm]:
    found = [read(site, path) for path in sorted(vms_directory(site).glob("*/vm.json"))]
    return [vm for vm in found if vm]


def find(site: Site, name: str) -> Vm:
    for vm in vms(site):
        if vm.name == name:
            return vm
    raise HostError(f"There is no virtual machine {name}; `vm-up {name}` starts one.")


def read(site: Site, path: Path) -> Vm | None:
    """None when there is no record, or no longer: another process may be removing the machine."""
    try:
        return Vm(**json.loads(path.read_text()), site=site)
    except FileNotFoundError:
        return None


def vms_directory(site: Site) -> Path:
    return site.cache / "vms" / str(site.slot)


def cgroup_prefix(site: Site) -> str:
    return f"bwtvm{site.slot}"
