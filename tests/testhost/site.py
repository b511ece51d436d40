# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where one checkout keeps its hosts, and what their kernel objects are called.

Everything of a checkout carries its slot, a number from 0 to 255 made from the checkout's path: the bridge `bwt<slot>`, the subnet
10.213.<slot>.0/24, the cgroups `bwt<slot>-<host>`. So two checkouts live side by side, and leftovers of one are known by name.
`molecule/inventory/hosts.yml` computes the same slot in Jinja.
"""

from __future__ import annotations

import fcntl
import hashlib
import ipaddress
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .command import HostError

CHECKOUT = Path(__file__).resolve().parents[2]
LOCK = Path("/run/lock/blackwell-testhost.lock")


@dataclass(frozen=True)
class Site:
    slot: int
    cache: Path
    checkout: Path = CHECKOUT

    @property
    def directory(self) -> Path:
        return self.cache / "hosts" / str(self.slot)

    @property
    def prefix(self) -> str:
        return f"bwt{self.slot}"

    @property
    def subnet(self) -> ipaddress.IPv4Network:
        return ipaddress.IPv4Network(f"10.213.{self.slot}.0/24")

    @property
    def gateway(self) -> str:
        return str(self.subnet[1])

    @property
    def key(self) -> Path:
        return self.cache / "key"

    def address(self, wish: str) -> str:
        """A full address, or its last number alone."""
        text = f"10.213.{self.slot}.{wish}" if wish.isdecimal() else wish
        try:
            address = ipaddress.IPv4Address(text)
        except ValueError:
            raise HostError(
                f"{wish!r} is no IPv4 address; give one of {self.subnet}, or its last number alone."
            ) from None
        if address not in self.subnet or not 2 <= int(address) & 0xFF <= 254:
            raise HostError(
                f"{address} cannot be a host's address here; this checkout has {self.subnet[2]} to {self.subnet[254]}."
            )
        return str(address)


def this_site() -> Site:
    wish = os.environ.get("BLACKWELL_TESTHOST_SLOT", "")
    if wish and not (wish.isdecimal() and int(wish) <= 255):
        raise HostError(f"BLACKWELL_TESTHOST_SLOT is {wish!r}; it must be a number from 0 to 255.")
    return Site(slot=int(wish) if wish else slot_of(CHECKOUT), cache=cache_directory())


def slot_of(checkout: Path) -> int:
    return hashlib.sha256(str(checkout).encode()).digest()[0]


def cache_directory() -> Path:
    base = os.environ.get("BLACKWELL_CACHE")
    if not base:
        home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        base = f"{home}/blackwell-inference"
    return Path(base) / "testhost"


@contextmanager
def machine_lock() -> Iterator[None]:
    """Held while bridges and host names are made or removed, by any checkout of this machine."""
    LOCK.parent.mkdir(parents=True, exist_ok=True)
    with LOCK.open("w", encoding="utf-8") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
