# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Levels `unit` and `api`: the unit runs, stays, and is what was declared; its own process serves the model. Private to the collection, may change any time."""

from __future__ import annotations

from ..sglang import api
from .evidence import Evidence
from .verdict import FAILED, PASSED, Check, same, skipped


def check_api(evidence: Evidence) -> tuple[Check, ...]:
    return (_listener(evidence), _served(evidence), _completion(evidence))


def _listener(evidence: Evidence) -> Check:
    """A server that took the unit's port answers just as well."""
    name, expected, source = "listener", f"a process of {evidence.unit.name}", f"port {evidence.port}"
    if evidence.listener_is_ours:
        return Check(
            name, PASSED, expected, evidence.listener_said, source, f"{evidence.listener_said} listens on {source}."
        )
    message = (
        f"{evidence.listener_said} listens on {source}; {expected} was expected. "
        "Another server answers in the unit's place, or the port is not the unit's; stop it, or correct the port, then restart the unit."
    )
    return Check(name, FAILED, expected, evidence.listener_said, source, message)


def _served(evidence: Evidence) -> Check:
    name, source = "served model", api.MODELS
    models = api.model_list(evidence.models)
    if models is None:
        message = f"{source} answered {evidence.models.said}; a list with {evidence.served_model_name} was expected. Read the unit's journal."
        return Check(name, FAILED, evidence.served_model_name, None, source, message)
    if evidence.served_model_name in models.names:
        return Check(
            name,
            PASSED,
            evidence.served_model_name,
            list(models.names),
            source,
            f"{source} lists {evidence.served_model_name}.",
        )
    message = (
        f"{source} lists {', '.join(models.names)}; {evidence.served_model_name} was expected. "
        "Another server answers here, or served-model-name differs; check port and arguments."
    )
    return Check(name, FAILED, evidence.served_model_name, list(models.names), source, message)


def _completion(evidence: Evidence) -> Check:
    """Content or reasoning: with a reasoning parser a short completion has content null, and is right."""
    name, source, expected = "chat completion", api.CHAT, "text in content or reasoning_content"
    text = api.said_text(evidence.chat) if evidence.chat.ok else None
    if text is not None:
        return Check(
            name, PASSED, expected, f"{len(text)} characters", source, f"{source} answered {len(text)} characters."
        )
    what = "without any text" if evidence.chat.ok else evidence.chat.said
    message = f"{source} answered {what}; {expected} was expected. Read the unit's journal; the request asks for a few tokens at temperature 0."
    return Check(name, FAILED, expected, None, source, message)


SOURCE = "systemd"
UNLIMITED = {"infinity": "unlimited"}


def check_unit(evidence: Evidence) -> tuple[Check, ...]:
    unit = evidence.unit
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
            evidence.unit_properties.get(name),
            SOURCE,
            "Deploy again, and look for a drop-in that changes the unit.",
        )
        for name, value in sorted(evidence.expected_unit.items())
    )
    if "LimitMEMLOCK" in evidence.expected_unit:
        checks.append(_memlock(evidence))
    checks.append(
        same(
            "invocation",
            unit.invocation_id,
            evidence.invocation_after,
            SOURCE,
            "The unit was started anew while it was being verified, so what was verified no longer runs; wait until it is ready and verify again.",
        )
    )
    return tuple(checks)


def _memlock(evidence: Evidence) -> Check:
    """The limit that the main process really has. A container may be unable to raise it above its own, which is the container's affair."""
    name, source = "locked memory limit", f"/proc/{evidence.unit.main_pid}/limits"
    wanted = str(evidence.expected_unit["LimitMEMLOCK"])
    expected = UNLIMITED.get(wanted, wanted)
    if evidence.memlock is None:
        return skipped(name, expected, None, source, "the limits of the process cannot be read")
    check = same(
        name, expected, evidence.memlock, source, "The host cache cannot be pinned; raise LimitMEMLOCK of the unit."
    )
    if check.outcome != PASSED and evidence.memlock == evidence.manager_memlock:
        return skipped(
            name,
            expected,
            evidence.memlock,
            source,
            f"this container allows {evidence.manager_memlock} bytes to systemd itself, and no unit more",
        )
    return check
