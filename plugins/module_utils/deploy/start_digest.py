# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an engine process reads at start, and whether two starts differ in it. Private to the collection, may change any time.

Three texts decide a start: the server config, the environment file and the unit. Of each only what reaches the process counts: a comment, the
unit's description or a restart limit changes nothing in a running server, and must not cost the 15 minutes of a new start.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Callable

from ..sglang.secrets import without_secrets

DIGEST_VARIABLE = "BLACKWELL_START_DIGEST"
KINDS = ("config", "environment", "unit")

_MANAGER_KEYS = re.compile(
    r"(Type|Restart\w*|Timeout\w+|StartLimit\w+|Kill\w+|SendSIG\w+|FinalKillSignal|SuccessExitStatus"
    r"|ExecStartPre|ExecStartPost|ExecCondition|ExecStop\w*|ExecReload"
    r"|OOM\w+|Memory\w+|Tasks\w+|CPU(Weight|Quota\w*)|IO\w+Weight"
    r"|NotifyAccess|GuessMainPID|PIDFile|RemainAfterExit|Watchdog\w+)"
)
"""Keys of [Service] that systemd itself acts on (systemd.service, systemd.kill and systemd.resource-control of 247 to 257); the process never sees them."""

# Of tokens that are counted (max-total-tokens) and of tokenizers the value is told.
_SECRET = re.compile(r"key|token(?!s\b|izer)|secret|password|credential", re.IGNORECASE)


@dataclass(frozen=True)
class InputChange:
    """One input that a running process was not started with as it is wanted now."""

    input: str
    what: str

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


def effective_lines(kind: str, text: str) -> tuple[str, ...]:
    """The lines of one input that reach the process, in order; the digest's own line is not one of them."""
    return _READERS[kind](text)


def start_digest(texts: Mapping[str, str]) -> str:
    """One digest (SHA-256, hex) of all that a process reads at start; `texts` maps each of KINDS to its text."""
    effective = {kind: effective_lines(kind, texts[kind]) for kind in KINDS}
    return hashlib.sha256(json.dumps(effective, sort_keys=True).encode()).hexdigest()


def changes(kind: str, started: str, wanted: str) -> tuple[InputChange, ...]:
    """What differs between the text that a process was started with and the text wanted now; values that may be secret are not told."""
    before, after = effective_lines(kind, started), effective_lines(kind, wanted)
    if before == after:
        return ()
    old, new = _by_name(before), _by_name(after)
    changes = [
        InputChange(kind, _sentence(kind, name, old.get(name), new.get(name)))
        for name in list(dict.fromkeys([*old, *new]))
        if old.get(name) != new.get(name)
    ]
    return tuple(changes) or (InputChange(kind, "the order of its lines changed"),)


def holds_secret(kind: str, text: str) -> bool:
    """Whether a text may hold what must not be shown: any environment variable may, and whatever is named or looks like a secret."""
    if kind == "environment":
        return bool(effective_lines(kind, text))
    named = kind == "config" and any(_SECRET.search(name) for name in _by_name(effective_lines(kind, text)))
    lines = text.splitlines()
    return named or without_secrets(lines) != lines


def _sentence(kind: str, name: str, before: object, after: object) -> str:
    if before is None:
        return f"{name} is new"
    if after is None:
        return f"{name} is gone"
    if kind == "environment" or _SECRET.search(name):
        return f"{name} changed"
    return f"{name}: {before} becomes {after}"


def _by_name(lines: tuple[str, ...]) -> dict[str, str]:
    """Lines by what stands before their separator; a name that is given more than once keeps all its values, in order."""
    named: dict[str, list[str]] = {}
    for line in lines:
        name, _separator, value = re.split(r"(=|: )", line, maxsplit=1) if re.search(r"=|: ", line) else (line, "", "")
        if name == "Environment":
            variable, _equals, value = value.partition("=")
            name = f"{name} {variable}"
        named.setdefault(name, []).append(value)
    return {name: ", ".join(values) for name, values in named.items()}


def _plain_lines(text: str) -> tuple[str, ...]:
    return tuple(
        line.rstrip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("#", ";"))
    )


def _unit_lines(text: str) -> tuple[str, ...]:
    section, lines = "", []
    for line in _plain_lines(_join_continued(text)):
        if line.startswith("["):
            section = line
        elif (
            section == "[Service]"
            and not _MANAGER_KEYS.fullmatch(line.partition("=")[0].strip())
            and DIGEST_VARIABLE not in line
        ):
            lines.append(re.sub(r"\s+", " ", line))
    return tuple(lines)


def _join_continued(text: str) -> str:
    return re.sub(r"\\\n\s*", " ", text)


_READERS: dict[str, Callable[[str], tuple[str, ...]]] = {
    "config": _plain_lines,
    "environment": _plain_lines,
    "unit": _unit_lines,
}
