# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Test hosts: real enough to test roles on, and gone without a trace."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.blackwell.inference.tests.testhost import cgroup
from ansible_collections.blackwell.inference.tests.testhost import host as hosts
from ansible_collections.blackwell.inference.tests.testhost.command import HostError, run
from ansible_collections.blackwell.inference.tests.testhost.image import ALONE, SUITES
from ansible_collections.blackwell.inference.tests.testhost.site import CHECKOUT, Site, slot_of

pytestmark = pytest.mark.testhost

TESTHOST = CHECKOUT / "tests/testhost/testhost"


@pytest.fixture
def own_site(site: Site) -> Iterator[Site]:
    """A second slot: what these tests count belongs to them alone, whatever else runs in this checkout."""
    own = unused_beside(site)
    yield own
    hosts.gc(own, everything=True)


def unused_beside(site: Site) -> Site:
    others = (replace(site, slot=(site.slot + number) % 256) for number in range(1, 256))
    return next(other for other in others if not other.directory.exists() and not footprint(other))


def footprint(site: Site) -> list[str]:
    """Everything on this machine that bears the site's name; empty when nothing is left."""
    seen = {
        "mount": Path("/proc/self/mountinfo").read_text(),
        "link": run("ip", "-o", "link"),
        "netns": run("lsns", "--type", "net", "--noheadings", "--output", "COMMAND,NSFS"),
        "nft": run("nft", "list", "tables"),
        "process": run("ps", "-ww", "-eo", "args"),
    }
    name = re.compile(rf"\b{site.prefix}\b|{re.escape(str(site.directory))}(?!\d)")
    found = [f"{kind}: {line}" for kind, text in seen.items() for line in text.splitlines() if name.search(line)]
    trees = {path for top in (cgroup.TREES, cgroup.unified()) for path in [top, *top.iterdir()]}
    found += [f"cgroup: {path}" for tree in trees if tree.is_dir() for path in tree.glob(f"{site.prefix}-*")]
    return found + [f"directory: {path}" for path in [site.directory] if path.exists()]


def machine() -> dict[str, object]:
    """What a host must not change on the machine."""
    return {
        "mounts": sorted(line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()),
        "nspawn": sorted(str(path) for path in Path("/run/systemd/nspawn").rglob("*")),
        "netns": sorted(path.name for path in Path("/run").glob("netns/*")),
    }


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds:.0f} s"
        time.sleep(0.1)


def command_line(site: Site, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "BLACKWELL_TESTHOST_SLOT": str(site.slot)}
    return subprocess.run([TESTHOST, *arguments], env=environment, capture_output=True, text=True, check=False)


def test_a_host_runs_systemd_and_answers_ssh(testhost: hosts.Host) -> None:
    testhost.execute("systemctl", "is-system-running", "--wait")
    answer = run(*testhost.ssh, "cat /proc/1/comm; . /etc/os-release; echo $VERSION_CODENAME; hostname")
    assert answer.split() == ["systemd", testhost.suite, testhost.name]


def test_a_host_has_a_journal_and_knows_its_cgroups(testhost: hosts.Host) -> None:
    testhost.execute("systemd-run", "--wait", "--unit=greeting", "/bin/echo", "hello journal")
    assert (
        testhost.execute("journalctl", "--unit=greeting", "--identifier=echo", "--output=cat").stdout
        == "hello journal\n"
    )
    assert "0::/init.scope" in testhost.execute("cat", "/proc/1/cgroup").stdout.split()


def test_ansible_reaches_a_host_through_its_inventory(testhost: hosts.Host, tmp_path: Path) -> None:
    inventory = tmp_path / "inventory.json"
    inventory.write_text(json.dumps(testhost.inventory))
    answer = run(
        "ansible", "--inventory", str(inventory), "--one-line", "inference", "--module-name", "ansible.builtin.ping"
    )
    assert "SUCCESS" in answer


def test_a_reboot_comes_back_with_a_new_boot_id(testhost: hosts.Host) -> None:
    before = testhost.boot_id
    testhost.reboot()
    assert run(*testhost.ssh, "cat /proc/sys/kernel/random/boot_id").strip() not in ("", before)


def test_a_visitor_does_not_hold_up_a_reboot(testhost: hosts.Host) -> None:
    """Visitors come all through the shutdown, which stops every process before it ends them."""
    before = testhost.boot_id
    testhost.execute("systemctl", "reboot", check=False)
    while testhost.boot_id == before:
        subprocess.run(
            [TESTHOST, "exec", testhost.name, "--", "sleep", "0.3"], capture_output=True, check=False, timeout=20
        )
    wait_until(lambda: hosts.ssh_answers(testhost), "an answer of sshd")


def test_up_and_down_leave_nothing_behind(own_site: Site) -> None:
    forwarding = Path("/proc/sys/net/ipv4/ip_forward")
    before, forwarded = machine(), forwarding.read_text()
    others = bool(hosts.network.our_bridges())

    host = hosts.up(own_site, "passing", "bookworm", owner_pid=os.getpid())
    assert {line.partition(":")[0] for line in footprint(own_site)} >= {"link", "nft", "process", "cgroup", "directory"}
    host.reboot()
    hosts.down(host)

    wait_until(lambda: not footprint(own_site), f"an end of {footprint(own_site)}", seconds=5)
    assert machine() == before
    if not others and not hosts.network.our_bridges():
        assert forwarding.read_text() == forwarded


def test_hosts_of_one_checkout_reach_each_other(own_site: Site) -> None:
    first, second = (hosts.up(own_site, f"twin-{suite}", suite, owner_pid=os.getpid()) for suite in SUITES)
    script = "import socket, sys; print(socket.create_connection((sys.argv[1], 22), 5).recv(4).decode())"
    for here, there in ((first, second), (second, first)):
        assert here.execute("python3", "-c", script, there.address).stdout == "SSH-\n"


def test_gc_removes_the_hosts_of_a_killed_maker(own_site: Site) -> None:
    maker = subprocess.Popen(["sleep", "600"])
    hosts.up(own_site, "orphan", "trixie", owner_pid=maker.pid)
    assert hosts.gc(own_site) == []
    maker.kill()
    wait_until(lambda: Path(f"/proc/{maker.pid}/stat").read_text().split()[2] == "Z", "the end of the maker")
    assert hosts.gc(own_site) == ["orphan"]  # though nobody has taken note of the end
    maker.wait()
    wait_until(lambda: not footprint(own_site), "an empty machine", seconds=5)


def test_the_build_of_an_image_ends_with_its_maker_and_leaves_no_mount(tmp_path: Path) -> None:
    """mmdebstrap mounts /proc and /sys into the tree: left there, they would bar every build that follows."""
    tree = tmp_path / "tree"
    tree.mkdir()
    build = [*ALONE, "sh", "-c", f"mount -t tmpfs none {tree} && touch {tmp_path}/mounted && exec sleep 4711"]
    maker = subprocess.Popen(["python3", "-c", f"import subprocess; subprocess.run({build!r})"])
    wait_until((tmp_path / "mounted").exists, "the mount")
    maker.kill()
    maker.wait()
    wait_until(lambda: "sleep 4711" not in run("ps", "-ww", "-eo", "args"), "the end of the build")
    assert str(tree) not in Path("/proc/self/mountinfo").read_text()


def test_gc_removes_what_a_crash_left(own_site: Site) -> None:
    """The launcher and nspawn are killed: the systemd inside lives on, as nspawn's death alone does not end it."""
    host = hosts.up(own_site, "crashed", "bookworm", owner_pid=os.getpid())
    for process in (cgroup.unified() / host.cgroup).glob("launcher/cgroup.procs"):
        for pid in process.read_text().split():
            os.kill(int(pid), signal.SIGKILL)
    (host.directory / "host.json").unlink()
    assert set(hosts.gc(own_site)) >= {host.cgroup, str(host.directory)}
    wait_until(lambda: not footprint(own_site), "an empty machine", seconds=5)


def test_gc_spares_a_host_in_the_making(own_site: Site) -> None:
    host = hosts.reserve(own_site, "unborn", "trixie", None, [], None)
    assert (host.running, hosts.gc(own_site)) == (False, [])
    assert hosts.gc(own_site, everything=True) == ["unborn"]


def test_a_host_without_owner_stays(own_site: Site) -> None:
    host = hosts.up(own_site, "staying", "trixie")
    assert (host.owner, host.abandoned) == (None, False)
    assert hosts.gc(own_site) == []
    assert hosts.ssh_answers(host)


def test_the_command_line_runs_a_host_from_up_to_down(own_site: Site, tmp_path: Path) -> None:
    (tmp_path / "gift").write_text("from the machine\n")
    wishes = ["--suite", "trixie", "--address", "77", "--bind", f"{tmp_path}:/mnt", "--owner", str(os.getpid())]
    up = command_line(own_site, "up", "h1", *wishes)
    assert (up.stdout, up.stderr) == (f"h1 10.213.{own_site.slot}.77\n", "")
    assert command_line(own_site, "exec", "h1", "--", "cat", "/mnt/gift").stdout == "from the machine\n"
    assert command_line(own_site, "exec", "h1", "--", "sh", "-c", "exit 7").returncode == 7
    assert command_line(own_site, "list").stdout.split()[:4] == ["h1", "trixie", f"10.213.{own_site.slot}.77", "up"]
    assert command_line(own_site, "down", "h1").returncode == 0
    assert command_line(own_site, "down", "h1").returncode == 0
    assert command_line(own_site, "list").stdout == ""


def test_a_dressed_host_shows_another_machine_after_every_boot(own_site: Site, tmp_path: Path) -> None:
    files = {
        "rootfs/usr/lib/x86_64-linux-gnu/libexample.so.1": "a library\n",
        "overmount/proc/meminfo": "MemTotal:       1056000000 kB\n",
        "overmount/proc/driver/nvidia/version": "NVRM version: 1\n",
        "overmount/sys/module/nvidia/version": "580.1\n",
        "overmount/sys/devices/pci0000:c0/0000:c1:00.0/vendor": "0x10de\n",
        "nodes.json": '[{"path": "/dev/nvidia0", "type": "c", "major": 1, "minor": 5, "mode": "0666"}]',
        "overmount.json": '{"replace": ["/sys/bus/pci/devices"]}',
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    link = tmp_path / "overmount/sys/bus/pci/devices/0000:c1:00.0"
    link.parent.mkdir(parents=True)
    link.symlink_to("../../../devices/pci0000:c0/0000:c1:00.0")

    host = hosts.up(own_site, "dressed", "bookworm", dress=tmp_path, owner_pid=os.getpid())
    look = (
        "cat /usr/lib/x86_64-linux-gnu/libexample.so.1 /proc/meminfo /proc/driver/nvidia/version /sys/module/nvidia/version;"
        "cat /sys/bus/pci/devices/*/vendor; ls -d /sys/devices/system/cpu; head -c 2 /dev/nvidia0 | od -An -tx1"
    )
    expected = (
        "a library\nMemTotal:       1056000000 kB\nNVRM version: 1\n580.1\n0x10de\n/sys/devices/system/cpu\n 00 00\n"
    )
    assert host.execute("sh", "-c", look).stdout == expected
    host.reboot()
    host.execute("systemctl", "is-system-running", "--wait")
    assert host.execute("sh", "-c", look).stdout == expected


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["up", "Bad_", "--suite", "trixie"],
            "'Bad_' is no host name; it must be small letters, digits and hyphens, 32 at most.",
        ),
        (
            ["up", "h", "--suite", "trixie", "--address", "10.1.2.3"],
            "10.1.2.3 cannot be a host's address here; this checkout has 10.213.{slot}.2 to 10.213.{slot}.254.",
        ),
        (["exec", "nobody", "--", "true"], "There is no host nobody; there are: none."),
    ],
    ids=["name", "address", "unknown host"],
)
def test_a_refusal_is_a_sentence(own_site: Site, arguments: list[str], sentence: str) -> None:
    done = command_line(own_site, *arguments)
    assert (done.returncode, done.stderr) == (1, f"testhost: {sentence.format(slot=own_site.slot)}\n")
    assert footprint(own_site) == []


def test_a_host_that_cannot_boot_says_why_and_leaves_nothing(own_site: Site) -> None:
    with pytest.raises(
        HostError,
        match=r"(?s)hopeless stopped before it could answer by ssh\. .*Failed to stat /nowhere: No such file or directory",
    ):
        hosts.up(own_site, "hopeless", "trixie", binds=["/nowhere:/mnt"])
    wait_until(lambda: not footprint(own_site), "an empty machine", seconds=5)


def test_a_slot_has_one_checkout(own_site: Site, tmp_path: Path) -> None:
    hosts.up(own_site, "first", "trixie", owner_pid=os.getpid())
    stranger = replace(own_site, checkout=tmp_path, cache=tmp_path)
    (tmp_path / "images").symlink_to(own_site.cache / "images")
    with pytest.raises(
        HostError, match=f"Slot {own_site.slot} is taken by the test hosts of {CHECKOUT}; this checkout is {tmp_path}"
    ):
        hosts.up(stranger, "second", "trixie", owner_pid=os.getpid())
    assert hosts.ssh_answers(hosts.find(own_site, "first"))


def test_molecule_and_testhost_agree_on_the_subnet() -> None:
    environment = {key: value for key, value in os.environ.items() if key != "BLACKWELL_TESTHOST_SLOT"}
    answer = subprocess.run(
        [
            "ansible",
            "-i",
            CHECKOUT / "molecule/inventory",
            "debian12",
            "-m",
            "ansible.builtin.debug",
            "-a",
            "var=ansible_host",
        ],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert f'"10.213.{slot_of(CHECKOUT)}.12"' in answer.stdout
