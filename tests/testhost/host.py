# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One host: up, down, exec; and what is left of hosts whose makers died.

All that a host is on the machine: the directory `<site>/NAME`, the cgroup `bwt<slot>-NAME`, the link `bwt<slot>.<last number>`. Its mounts
and its network namespace belong to the launcher's processes and go with them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from . import cgroup, dressing, network, owner, pip, ssh
from .booted import Booted
from .command import HostError, sentence_list, tail
from .image import image
from .removal import remove_tree
from .site import Site, machine_lock

NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?")
BOOT_SECONDS = 60.0
LAUNCHER = Path(__file__).with_name("launcher.sh")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# A visitor's parent stays outside the host's process namespace. nsenter as that parent would stop itself for good when a shutdown
# stops its child, and keep the child's end from being noticed, which the shutdown waits for; a shell just waits.
WAIT = ("sh", "-c", '"$@"; exit $?', "sh")


@dataclass(frozen=True)
class Host(Booted):
    name: str
    suite: str
    address: str
    maker: str
    owner: str | None = None
    binds: tuple[str, ...] = ()
    site: Site = field(repr=False, compare=False, kw_only=True)

    @property
    def directory(self) -> Path:
        return self.site.directory / self.name

    @property
    def cgroup(self) -> str:
        return f"{self.site.prefix}-{self.name}"

    @property
    def console(self) -> Path:
        return self.directory / "console.log"

    @property
    def ssh(self) -> list[str]:
        """The command line that reaches root on this host; append the remote command."""
        return ssh.command(self.site, self.address)

    @property
    def inventory(self) -> dict[str, Any]:
        """The host as an Ansible inventory, in the group that the playbooks want."""
        return {"inference": {"hosts": {self.name: ssh.variables(self.site, self.address)}}}

    def execute(self, *argv: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a program in the host as root, not through ssh; a failure is a HostError unless check is false."""
        return self.ask(self.visit(argv), " ".join(argv), check)

    @property
    def boot_id(self) -> str | None:
        """None while there is no boot to ask. Read from outside: a visitor might come while the host kills its processes."""
        leader = cgroup.leader(self.cgroup)
        try:
            return Path(f"/proc/{leader}/root/proc/sys/kernel/random/boot_id").read_text().strip() if leader else None
        except OSError:
            return None

    def reboot(self) -> None:
        """As a person would, and wait until sshd of the new boot answers."""
        before = self.boot_id
        self.execute("systemctl", "reboot", check=False)  # a quick shutdown may take the visitor along
        wait_for(lambda: self.boot_id not in (None, before) and ssh_answers(self), self, "come back from its reboot")

    def become(self, argv: Sequence[str]) -> None:
        """Turn this process into a program in the host."""
        command = self.visit(argv)
        os.execvp(command[0], command)

    def visit(self, argv: Sequence[str]) -> list[str]:
        leader = cgroup.leader(self.cgroup)
        if leader is None:
            raise HostError(
                f"{self.name} is not running; `up {self.name}` starts it, {self.console} says why it stopped."
            )
        environment = [f"PATH={PATH}", "HOME=/root", "LANG=C.UTF-8", f"TERM={os.environ.get('TERM', 'dumb')}"]
        enter = ["nsenter", "--target", str(leader), "--all", "--no-fork", "env", "-i", *environment, *WAIT]
        return cgroup.joining(self.cgroup, "exec", [*enter, *argv])


def up(
    site: Site,
    name: str,
    suite: str,
    *,
    address: str | None = None,
    binds: Sequence[str] = (),
    dress: Path | None = None,
    owner_pid: int | None = None,
) -> Host:
    """Boot a host and wait until its sshd answers."""
    if not NAME.fullmatch(name):
        raise HostError(f"{name!r} is no host name; it must be small letters, digits and hyphens, 32 at most.")
    lower = image(site, suite)
    ssh.make_key(site)
    host = reserve(site, name, suite, address, binds, owner_pid)
    try:
        furnish(host)
        if dress:
            dressing.dress(dress, host.directory / "upper", host.directory / "dress")
        launch(host, lower)
        wait_for(lambda: ssh_answers(host), host, "answer by ssh")
    except BaseException:
        down(host)
        raise
    return host


def reserve(site: Site, name: str, suite: str, wish: str | None, binds: Sequence[str], owner_pid: int | None) -> Host:
    """Take the name and the address, and see that the network is there, before another process does."""
    with machine_lock():
        others = {host.name: host for host in hosts(site)}
        if name in others:
            raise HostError(f"{name} is {state(others[name])} already; `down {name}` removes it.")
        taken = {host.address: host.name for host in others.values()}
        address = site.address(wish) if wish else free_address(site, set(taken))
        if address in taken:
            raise HostError(
                f"{address} belongs to {taken[address]}; give {name} another address, or none to get a free one."
            )
        network.raise_network(site)
        maker = owner.identify(os.getpid())
        host = Host(
            name, suite, address, maker, owner.identify(owner_pid) if owner_pid else None, tuple(binds), site=site
        )
        remove_tree(host.directory)  # without a record it is what a killed process left
        host.directory.mkdir(parents=True)
        host.write_record(host.directory / "host.json")
        return host


def free_address(site: Site, taken: set[str]) -> str:
    """From 100 up; the numbers below are for hosts that ask for theirs."""
    return next(address for last in range(100, 255) if (address := site.address(str(last))) not in taken)


def furnish(host: Host) -> None:
    """What makes the image this host, written into its upper layer."""
    for layer in ("upper", "work", "root"):
        (host.directory / layer).mkdir()
    upper = host.directory / "upper"
    dressing.write(upper / "etc/hostname", f"{host.name}\n")
    dressing.write(upper / "etc/hosts", f"127.0.0.1 localhost\n127.0.1.1 {host.name}\n")
    dressing.write(upper / "etc/resolv.conf", network.name_servers())
    if settings := pip.configuration():
        dressing.write(upper / "etc/pip.conf", settings)
    for private in ("root", "root/.ssh"):
        (upper / private).mkdir(mode=0o700)
    dressing.write(upper / "root/.ssh/authorized_keys", ssh.public_key(host.site))


def launch(host: Host, lower: Path) -> None:
    environment = {
        "ADDRESS": host.address,
        "BRIDGE": host.site.prefix,
        "CGROUP": str(cgroup.make(host.cgroup)),
        "GATEWAY": host.site.gateway,
        "HARDWARE_ADDRESS": network.hardware_address(host.address),
        "HOST": str(host.directory),
        "IMAGE": str(lower),
        "LINK": network.host_link(host.site, host.address),
        "MACHINE_PID": str(os.getpid()),
        "NAME": host.name,
        "PATH": PATH,
    }
    network.cut(environment["LINK"])
    binds = [f"--bind={bind}" for bind in host.binds]
    launcher = ["setsid", "--fork", "unshare", "--mount", "--net", "--", str(LAUNCHER), *binds]
    with host.console.open("wb") as console:
        subprocess.run(
            cgroup.joining(host.cgroup, "launcher", launcher),
            env=environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            check=True,
        )


def wait_for(condition: Callable[[], bool], host: Host, what: str) -> None:
    deadline = time.monotonic() + BOOT_SECONDS
    while not condition():
        if not host.running:
            raise HostError(f"{host.name} stopped before it could {what}. {last_words(host)}")
        if time.monotonic() > deadline:
            raise HostError(f"{host.name} did not {what} within {BOOT_SECONDS:.0f} s. {last_words(host)}")
        time.sleep(0.05)


def last_words(host: Host) -> str:
    return f"The end of its console:\n{tail(host.console.read_text(errors='replace'))}"


def ssh_answers(host: Host) -> bool:
    return ssh.answers(host.address)


def down(host: Host) -> None:
    """Remove a host, or whatever there is of it."""
    cgroup.kill(host.cgroup)
    network.cut(network.host_link(host.site, host.address))
    cgroup.remove(host.cgroup)
    with machine_lock():
        remove_tree(host.directory)
        if not hosts(host.site):
            leave(host.site)


def leave(site: Site) -> None:
    """The last host is gone: nothing of this checkout stays but the cache."""
    network.lower_network(site)
    if site.directory.is_dir() and not any(site.directory.iterdir()):
        site.directory.rmdir()


def gc(site: Site, everything: bool = False) -> list[str]:
    """Remove hosts of this checkout that lost their launcher or owner, and what belongs to no host. Returns the names.

    `everything` means every host of this slot, abandoned or not.
    """
    slots = network.slots(site.checkout) | {site.slot}
    return [
        name for slot in sorted(slots) for name in gc_slot(replace(site, slot=slot), everything and slot == site.slot)
    ]


def gc_slot(site: Site, everything: bool) -> list[str]:
    removed = []
    for host in hosts(site):
        if everything or host.abandoned:
            down(host)
            removed.append(host.name)
    with machine_lock():
        return removed + ([] if network.is_foreign(site) else sweep(site))


def sweep(site: Site) -> list[str]:
    """Kernel objects and directories without a host: their maker was killed before or after the record existed."""
    known = hosts(site)
    strays = set(cgroup.names(site.prefix)) - {host.cgroup for host in known}
    links = set(network.host_links(site)) - {network.host_link(site, host.address) for host in known}
    directories = set(site.directory.glob("*")) - {host.directory for host in known}
    for name in strays:
        cgroup.kill(name)
    for link in links:
        network.cut(link)
    for name in strays:
        cgroup.remove(name)
    for directory in directories:
        remove_tree(directory)
    if not known:
        leave(site)
    return sorted(strays | links | {str(directory) for directory in directories})


def hosts(site: Site) -> list[Host]:
    found = [read(site, path) for path in sorted(site.directory.glob("*/host.json"))]
    return [host for host in found if host]


def find(site: Site, name: str) -> Host:
    host = read(site, site.directory / name / "host.json")
    if host is None:
        raise HostError(f"There is no host {name}; there are: {sentence_list([host.name for host in hosts(site)])}.")
    return host


def read(site: Site, path: Path) -> Host | None:
    """None when there is no record, or no longer: another process may be removing the host."""
    try:
        record = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    return Host(**{**record, "binds": tuple(record["binds"])}, site=site)


def state(host: Host) -> str:
    return "up" if host.running else "dead"
