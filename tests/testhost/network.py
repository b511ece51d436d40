# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bridge of a checkout's hosts, its way out, and the machine's forwarding switch.

No state file: the bridge's alias says whose it is and what ip_forward was before the first bridge came, so a crash loses nothing.
Callers hold the machine lock.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from .command import HostError, attempt, run
from .site import Site

FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")
ALIAS = re.compile(r"^blackwell test hosts; ip_forward was (?P<forwarding>[01]); of (?P<checkout>.*)$")
ALIAS_LIMIT = 255  # IFALIASZ of the kernel, less its final zero


def raise_network(site: Site) -> None:
    bridges = our_bridges()
    if site.prefix in bridges:
        refuse_foreign_bridge(site, bridges[site.prefix])
    else:
        before = next((found["forwarding"] for found in bridges.values()), FORWARDING.read_text().strip())
        run("ip", "link", "add", site.prefix, "type", "bridge")
        run("ip", "link", "set", site.prefix, "alias", alias(site, before))
        run("ip", "address", "add", f"{site.gateway}/24", "dev", site.prefix)
        run("ip", "link", "set", site.prefix, "up")
    FORWARDING.write_text("1\n")
    run("nft", "-f", "-", stdin=masquerade(site))


def lower_network(site: Site) -> None:
    attempt("nft", "delete", "table", "ip", site.prefix)
    bridges = our_bridges()
    own = bridges.pop(site.prefix, None)
    if own is None:
        return
    run("ip", "link", "delete", site.prefix)
    if not bridges:
        FORWARDING.write_text(own["forwarding"] + "\n")


def our_bridges() -> dict[str, re.Match[str]]:
    links = json.loads(run("ip", "-json", "link", "show", "type", "bridge") or "[]")
    aliases = {link["ifname"]: ALIAS.match(link.get("ifalias", "")) for link in links if link}
    return {name: match for name, match in aliases.items() if match}


def slots(checkout: Path) -> set[int]:
    """Where this checkout has hosts: its own slot, and others that BLACKWELL_TESTHOST_SLOT or a test chose."""
    return {
        int(name.removeprefix("bwt")) for name, match in our_bridges().items() if match["checkout"] == str(checkout)
    }


def is_foreign(site: Site) -> bool:
    bridge = our_bridges().get(site.prefix)
    return bridge is not None and bridge.group(0) != alias(site, bridge["forwarding"])


def refuse_foreign_bridge(site: Site, bridge: re.Match[str]) -> None:
    if is_foreign(site):
        raise HostError(
            f"Slot {site.slot} is taken by the test hosts of {bridge['checkout']}; this checkout is {site.checkout}. "
            f"Set BLACKWELL_TESTHOST_SLOT to another number from 0 to 255."
        )


def alias(site: Site, forwarding: str) -> str:
    return f"blackwell test hosts; ip_forward was {forwarding}; of {site.checkout}"[:ALIAS_LIMIT]


def masquerade(site: Site) -> str:
    return f"""
        table ip {site.prefix} {{ chain out {{ type nat hook postrouting priority srcnat; }}; }}
        flush chain ip {site.prefix} out
        add rule ip {site.prefix} out ip saddr {site.subnet} ip daddr != {site.subnet} masquerade
    """


def hardware_address(address: str) -> str:
    """Made from the IPv4 address: a host that comes again has its old neighbours' tables right."""
    return "02:00:" + ":".join(f"{int(part):02x}" for part in address.split("."))


def host_link(site: Site, address: str) -> str:
    """The machine's end of a host's cable; at most 10 of the 15 characters that a name may have."""
    return f"{site.prefix}.{address.rpartition('.')[2]}"


def cut(link: str) -> None:
    """By name and before anything else: a dead connection can keep the host's network namespace, and so the link, for minutes."""
    attempt("ip", "link", "delete", link)


def host_links(site: Site) -> list[str]:
    links = json.loads(run("ip", "-json", "link", "show", "type", "veth") or "[]")
    return [link["ifname"] for link in links if link and link["ifname"].startswith(f"{site.prefix}.")]


def name_servers() -> str:
    """resolv.conf for the hosts: a resolver on the machine's loopback is out of their reach."""
    for path in (Path("/etc/resolv.conf"), Path("/run/systemd/resolve/resolv.conf")):
        text = path.read_text() if path.exists() else ""
        servers = [line.split()[1] for line in text.splitlines() if line.startswith("nameserver ")]
        if any(not server.startswith("127.") for server in servers):
            return text
    return ""
