# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Level `api`: the unit's own process serves the model. Private to the collection, may change any time."""

from __future__ import annotations

from ..engine import endpoints
from .evidence import Evidence
from .verdict import FAILED, PASSED, Check


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
    name, source = "served model", endpoints.MODELS
    models = endpoints.model_list(evidence.models)
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
    name, source, expected = "chat completion", endpoints.CHAT, "text in content or reasoning_content"
    text = endpoints.said_text(evidence.chat) if evidence.chat.ok else None
    if text is not None:
        return Check(
            name, PASSED, expected, f"{len(text)} characters", source, f"{source} answered {len(text)} characters."
        )
    what = "without any text" if evidence.chat.ok else evidence.chat.said
    message = f"{source} answered {what}; {expected} was expected. Read the unit's journal; the request asks for a few tokens at temperature 0."
    return Check(name, FAILED, expected, None, source, message)
