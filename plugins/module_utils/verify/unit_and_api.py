# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Levels `unit` and `api`: the unit runs, stays, and is what was declared; its own process serves the model. Private to the collection, may change any time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..observe.cgroup import memlock_words
from ..observe.files import text_of
from ..observe.process import listener_of, unit_of
from ..observe.systemd import UnitState, show_properties
from ..sglang import api
from .evidence import Evidence
from .verdict import FAILED, PASSED, Check, same, skipped


@dataclass(frozen=True)
class ApiFacts:
    unit: UnitState
    port: int
    served_model_name: str
    listener_is_ours: bool
    listener_said: str
    models: api.Answer
    chat: api.Answer


def gather_api(evidence: Evidence) -> ApiFacts:
    question = evidence.question
    listening, listener = listener_of(question.server.port)
    return ApiFacts(
        unit=evidence.unit,
        port=question.server.port,
        served_model_name=question.served_model_name,
        listener_is_ours=listener in evidence.pids,
        listener_said=_listener_said(listening, listener),
        models=evidence.models,
        chat=api.chat(question.server, question.served_model_name),
    )


def _listener_said(listening: bool, pid: int | None) -> str:
    if pid is not None:
        return f"process {pid} of {unit_of(pid) or 'no unit'}"
    return "a process that does not show" if listening else "nobody"


def check_api(facts: ApiFacts) -> tuple[Check, ...]:
    return (_listener(facts), _served(facts), _completion(facts))


def _listener(facts: ApiFacts) -> Check:
    """A server that took the unit's port answers just as well."""
    name, expected, source = "listener", f"a process of {facts.unit.name}", f"port {facts.port}"
    if facts.listener_is_ours:
        return Check(name, PASSED, expected, facts.listener_said, source, f"{facts.listener_said} listens on {source}.")
    message = (
        f"{facts.listener_said} listens on {source}; {expected} was expected. "
        "Another server answers in the unit's place, or the port is not the unit's; stop it, or correct the port, then restart the unit."
    )
    return Check(name, FAILED, expected, facts.listener_said, source, message)


def _served(facts: ApiFacts) -> Check:
    name, source = "served model", api.MODELS
    models = api.model_list(facts.models)
    if models is None:
        message = f"{source} answered {facts.models.said}; a list with {facts.served_model_name} was expected. Read the unit's journal."
        return Check(name, FAILED, facts.served_model_name, None, source, message)
    if facts.served_model_name in models.names:
        return Check(
            name,
            PASSED,
            facts.served_model_name,
            list(models.names),
            source,
            f"{source} lists {facts.served_model_name}.",
        )
    message = (
        f"{source} lists {', '.join(models.names)}; {facts.served_model_name} was expected. "
        "Another server answers here, or served-model-name differs; check port and arguments."
    )
    return Check(name, FAILED, facts.served_model_name, list(models.names), source, message)


def _completion(facts: ApiFacts) -> Check:
    """Content or reasoning: with a reasoning parser a short completion has content null, and is right."""
    name, source, expected = "chat completion", api.CHAT, "text in content or reasoning_content"
    text = api.said_text(facts.chat) if facts.chat.ok else None
    if text is not None:
        return Check(
            name, PASSED, expected, f"{len(text)} characters", source, f"{source} answered {len(text)} characters."
        )
    what = "without any text" if facts.chat.ok else facts.chat.said
    message = f"{source} answered {what}; {expected} was expected. Read the unit's journal; the request asks for a few tokens at temperature 0."
    return Check(name, FAILED, expected, None, source, message)


SOURCE = "systemd"
UNLIMITED = {"infinity": "unlimited"}


@dataclass(frozen=True)
class UnitFacts:
    """`memlock` and `manager_memlock`: soft limit of the main process and hard limit of systemd itself, as /proc words them."""

    unit: UnitState
    expected_unit: Mapping[str, Any]
    unit_properties: Mapping[str, str]
    memlock: str | None
    manager_memlock: str | None
    invocation_after: str | None


def gather_unit(evidence: Evidence) -> UnitFacts:
    """To be called when all else was gathered: only then is a restart in between seen."""
    unit, names = evidence.unit, sorted(evidence.question.expected_unit)
    return UnitFacts(
        unit=unit,
        expected_unit=evidence.question.expected_unit,
        unit_properties=show_properties(evidence.run, unit.name, names) if names else {},
        memlock=memlock_words(text_of(f"/proc/{unit.main_pid}/limits"))[0],
        manager_memlock=memlock_words(text_of("/proc/1/limits"))[1],
        invocation_after=evidence.unit_now().invocation_id,
    )


def check_unit(facts: UnitFacts) -> tuple[Check, ...]:
    unit = facts.unit
    checks = [
        same("active state", "active", unit.active_state, SOURCE, f"Read why with: systemctl status {unit.name}."),
        same(
            "unit file state",
            "enabled",
            unit.unit_file_state,
            SOURCE,
            f"It would not start after a reboot; enable it with: systemctl enable {unit.name}.",
        ),
    ]
    checks.extend(
        same(
            name,
            str(value),
            facts.unit_properties.get(name),
            SOURCE,
            "Deploy again, and look for a drop-in that changes the unit.",
        )
        for name, value in sorted(facts.expected_unit.items())
    )
    if "LimitMEMLOCK" in facts.expected_unit:
        checks.append(_memlock(facts))
    checks.append(
        same(
            "invocation",
            unit.invocation_id,
            facts.invocation_after,
            SOURCE,
            "The unit was started anew while it was being verified, so what was verified no longer runs; wait until it is ready and verify again.",
        )
    )
    return tuple(checks)


def _memlock(facts: UnitFacts) -> Check:
    """The limit that the main process really has. A container may be unable to raise it above its own, which is the container's affair."""
    name, source = "locked memory limit", f"/proc/{facts.unit.main_pid}/limits"
    wanted = str(facts.expected_unit["LimitMEMLOCK"])
    expected = UNLIMITED.get(wanted, wanted)
    if facts.memlock is None:
        return skipped(name, expected, None, source, "the limits of the process cannot be read")
    check = same(
        name, expected, facts.memlock, source, "The host cache cannot be pinned; raise LimitMEMLOCK of the unit."
    )
    if check.outcome != PASSED and facts.memlock == facts.manager_memlock:
        return skipped(
            name,
            expected,
            facts.memlock,
            source,
            f"this container allows {facts.manager_memlock} bytes to systemd itself, and no unit more",
        )
    return check
