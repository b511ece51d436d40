# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command line: `tests/testhost/testhost COMMAND`, or `python3 -m tests.testhost COMMAND` in the checkout."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path

from . import host as hosts
from . import ssh, vm
from .command import HostError
from .image import SUITES, images
from .site import Site, this_site


def build(site: Site, wish: argparse.Namespace) -> None:
    for path in images(site, wish.suites):
        print(path)


def up(site: Site, wish: argparse.Namespace) -> None:
    if wish.replace:
        down(site, argparse.Namespace(names=[wish.name]))
    host = hosts.up(
        site, wish.name, wish.suite, address=wish.address, binds=wish.bind, dress=wish.dress, owner_pid=wish.owner
    )
    print(host.name, host.address)


def down(site: Site, wish: argparse.Namespace) -> None:
    """Silent about a host that is not there: the state asked for is reached."""
    known = {host.name: host for host in hosts.hosts(site)}
    for name in wish.names:
        if name in known:
            hosts.down(known[name])


def execute(site: Site, wish: argparse.Namespace) -> None:
    hosts.find(site, wish.name).become(wish.command)


def show(site: Site, wish: argparse.Namespace) -> None:
    for host in hosts.hosts(site):
        print(f"{host.name:20} {host.suite:10} {host.address:16} {hosts.state(host):5} {host.directory}")


def gc(site: Site, wish: argparse.Namespace) -> None:
    for name in [*hosts.gc(site, everything=wish.all), *vm.gc(site, everything=wish.all)]:
        print("removed", name)


def vm_up(site: Site, wish: argparse.Namespace) -> None:
    machine = vm.up(site, wish.name, owner_pid=wish.owner)
    print(machine.name, "127.0.0.1", machine.port)


def vm_down(site: Site, wish: argparse.Namespace) -> None:
    for machine in vm.vms(site):
        if machine.name in wish.names:
            vm.down(machine)


def vm_execute(site: Site, wish: argparse.Namespace) -> None:
    command = [*vm.find(site, wish.name).ssh, shlex.join(wish.command)]
    os.execvp(command[0], command)


def key(site: Site, wish: argparse.Namespace) -> None:
    ssh.make_key(site)
    print(site.key)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="testhost", description="Debian hosts with systemd as PID 1, in systemd-nspawn.")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, function: object, text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text)
        added.set_defaults(function=function)
        return added

    one = command(
        "build", build, "Build the images of suites, as far as they are missing, and print their directories."
    )
    one.add_argument("suites", nargs="+", choices=SUITES, metavar="SUITE")

    one = command("up", up, "Boot a host, wait for its sshd, print its name and address.")
    one.add_argument("name")
    one.add_argument("--suite", required=True, choices=SUITES)
    one.add_argument("--address", help="full address, or its last number; default: a free one from 100 up")
    one.add_argument(
        "--bind", action="append", default=[], metavar="SRC:DST", help="a path of the machine to show in the host"
    )
    one.add_argument(
        "--dress", type=Path, metavar="PATH", help="host description in JSON, or a directory with a dressing tree"
    )
    one.add_argument(
        "--owner", type=int, metavar="PID", help="process with which the host becomes garbage; default: none"
    )
    one.add_argument("--replace", action="store_true", help="first take down a host of that name")

    one = command("down", down, "Take hosts down, as far as they are there.")
    one.add_argument("names", nargs="+", metavar="NAME")

    one = command("exec", execute, "Run a program in a host as root, without ssh.")
    one.add_argument("name")
    one.add_argument("command", nargs="+", metavar="CMD")

    command("list", show, "Hosts of this checkout: name, suite, address, state, directory.")
    one = command("gc", gc, "Remove hosts whose owner or launcher is gone, and stray links and cgroups.")
    one.add_argument("--all", action="store_true", help="remove all hosts of this checkout")

    one = command("vm-up", vm_up, "Start a small virtual machine, print its name and where ssh reaches it.")
    one.add_argument("name")
    one.add_argument("--owner", type=int, metavar="PID", help="as for up")
    one = command("vm-down", vm_down, "Remove virtual machines, as far as they are there.")
    one.add_argument("names", nargs="+", metavar="NAME")
    one = command("vm-exec", vm_execute, "Run a program in a virtual machine as root, through ssh.")
    one.add_argument("name")
    one.add_argument("command", nargs="+", metavar="CMD")

    command("key", key, "Print the path of the ssh key that opens every host.")
    return top


def main() -> int:
    wish = parser().parse_args()
    try:
        wish.function(this_site(), wish)
    except HostError as error:
        print(f"testhost: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
