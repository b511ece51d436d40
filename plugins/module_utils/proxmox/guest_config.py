# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a Proxmox VE host's configuration says of its guests and their GPUs. Private to the collection, may change any time.

Formats as pve-container 6.1.10 and qemu-server 9.2.6 print and write them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..observe.pci import pci_address

_LISTED_CONTAINER = re.compile(r"^(\d+)\s+(\S+)(?:\s|$)")
_LISTED_VM = re.compile(r"^\s*(\d+)\s+(.*?)\s+(\S+)\s+\d+\s+\d+\.\d+\s+(\d+)\s*$")
_NODE = re.compile(r"/dev/(nvidia\d+)(?![\w-])")


@dataclass(frozen=True)
class Settings:
    """What the configuration file of a guest says: its name, and which GPUs it is given.

    `devices` names of nodes ("nvidia0", a container), `addresses` of PCI functions ("0000:01:00.0", a VM), `mappings` of the cluster's resource
    mappings (a VM).
    """

    name: str | None
    devices: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    mappings: tuple[str, ...] = ()


def running_containers(listed: str) -> frozenset[int]:
    """The ids that `pct list` shows as running; it prints nothing at all where there is no container."""
    rows = (_LISTED_CONTAINER.match(line) for line in listed.splitlines())
    return frozenset(int(row[1]) for row in rows if row and row[2] == "running")


def running_vms(listed: str) -> frozenset[int]:
    """The ids that `qm list` shows with the pid of a QEMU process, whatever it calls their state: a paused VM keeps its GPUs.

    The name comes second and may hold a blank ("VM 101" where none was given), so a row is read from its end.
    """
    rows = (_LISTED_VM.match(line) for line in listed.splitlines())
    return frozenset(int(row[1]) for row in rows if row and row[4] != "0")


def container_settings(text: str) -> Settings:
    name, devices = None, []
    for key, value in _main_section(text):
        if key == "hostname":
            name = value
        elif re.fullmatch(r"dev\d+|lxc\.mount\.entry", key):
            devices += _NODE.findall(value)
    return Settings(name=name, devices=_once(devices))


def vm_settings(text: str) -> Settings:
    name, addresses, mappings = None, [], []
    for key, value in _main_section(text):
        if key == "name":
            name = value
        elif re.fullmatch(r"hostpci\d+", key):
            properties = _properties(value if "=" in value.partition(",")[0] else f"host={value}")
            addresses += [pci_address(part) for part in properties.get("host", "").split(";") if part]
            mappings += [properties["mapping"]] if "mapping" in properties else []
    return Settings(name=name, addresses=_once(addresses), mappings=_once(mappings))


def mapped_addresses(text: str, node: str) -> dict[str, tuple[str, ...]]:
    """The addresses on this node of each PCI resource mapping (`/etc/pve/mapping/pci.cfg`): several are a pool, of which a VM gets the first free."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text.splitlines():
        head = re.match(r"pci:\s*(\S+)", line)
        if head:
            current = found.setdefault(head[1], [])
        entry = re.match(r"\s+map\s+(\S.*)$", line)
        if entry:
            properties = _properties(entry[1])
            if properties.get("node") == node:
                current += [pci_address(part) for part in properties.get("path", "").split(";") if part]
    return {name: _once(addresses) for name, addresses in found.items()}


def given_addresses(
    settings: Settings, devices: Mapping[str, str], mapped: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """Addresses of what a guest is given. `devices`: the address behind each node; `mapped`: as `mapped_addresses` says."""
    given = [devices[device] for device in settings.devices if device in devices]
    given += settings.addresses
    given += [address for name in settings.mappings for address in mapped.get(name, ())]
    return _once(given)


def _main_section(text: str) -> list[tuple[str, str]]:
    """Keys and values before the first `[snapshot]`: a snapshot repeats the configuration of its day."""
    pairs = []
    for line in text.splitlines():
        if line.startswith("["):
            break
        key, colon, value = line.partition(":")
        if colon and not line.startswith("#"):
            pairs.append((key.strip(), value.strip()))
    return pairs


def _properties(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.strip().split(","))
    return {key: value for key, equals, value in pairs if equals}


def _once(words: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))
