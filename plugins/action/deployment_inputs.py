# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuses, on the controller and in one task, variables that a playbook of the collection cannot work with."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleUndefinedVariable
from ansible.plugins.action import ActionBase

from ansible_collections.blackwell.inference.plugins.filter.pinned_versions import pinned_versions
from ansible_collections.blackwell.inference.plugins.plugin_utils import inputs

ARGUMENTS = {
    "purpose": {"type": "str", "choices": ["deploy", "plan", "verify", "release"], "required": True},
    "variables": {"type": "list", "elements": "str", "required": True},
    "profiles": {"type": "list", "elements": "str", "required": True},
    "locks": {"type": "path", "required": True},
}


class ActionModule(ActionBase):  # type: ignore[misc]
    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        _checked, options = self.validate_argument_spec(ARGUMENTS)
        self._defined = task_vars or {}
        refusal = next((sentence for sentence in self._refusals(options) if sentence), None)
        if refusal:
            return {**result, "changed": False, "failed": True, "msg": refusal}
        found = self._locks() if options["purpose"] == "deploy" else {}
        return {**result, "changed": False, "inputs": found}

    def _value(self, name: str, default: Any = None) -> Any:
        """A variable of the play; what is defined and empty is the default too. Resolved one by one: later ones build on what is checked first."""
        if name not in self._defined:
            return default
        return self._templar.resolve_variable_expression(name) or default

    def _refusals(self, options: dict[str, Any]) -> Iterator[str | None]:
        """In the order in which they are told: each check may count on those before it."""
        yield inputs.undefined_refusal(self._undefined(options["variables"]))
        purpose, profile = options["purpose"], self._value("inference_profile")
        unknown = inputs.unknown_refusal(self._defined, options["variables"])
        yield unknown  # first, as a mistyped name may be why another variable seems to be missing
        if purpose == "release":
            yield inputs.nobody_refusal(self._value("inference_instance"), profile)
        if purpose != "release" or profile:
            file = self._value("__inference_profile_file", "")
            yield inputs.profile_refusal(profile, file, Path(file).is_file(), options["profiles"])
            yield inputs.lacking_refusal(profile, self._value("inference_profile_data"))
            yield from self._shapes()
        if purpose == "deploy":
            values = {name: self._value(f"__inference_{name}", "") for name in inputs.SERVICE_NAMES}
            values["environment"] = self._value("__inference_environment", {})
            yield inputs.service_refusal(values, inputs.playbook_names())
            lock = str(self._value("__inference_sglang_lock"))
            pinned = (
                path.stem.removeprefix("requirements-") for path in Path(options["locks"]).glob("requirements-*.txt")
            )
            yield inputs.lock_refusal(self._value("__inference_sglang_version"), lock, Path(lock).is_file(), pinned)

    def _undefined(self, names: list[str]) -> Iterator[str]:
        """Variables whose template names something undefined: a default() in a playbook would take such a one for a variable that nobody set."""
        for name in names:
            try:
                self._value(name)
            except AnsibleUndefinedVariable:
                yield name

    def _shapes(self) -> Iterator[str | None]:
        yield inputs.shape_refusal({name: self._value(name, {}) for name in inputs.DICTIONARIES})
        yield inputs.environment_shape_refusal(self._value("inference_environment", {}))
        profile_port = self._value("inference_profile_data")["port"]
        yield inputs.port_refusal(self._value("__inference_port", 0), profile_port)

    def _locks(self) -> dict[str, Any]:
        """What the locks pin, read once: they hold hundreds of hashes that nothing else in a run needs. Stripped as the lookup of files does."""
        engine, toolbox = (
            Path(self._value(name)).read_text(encoding="utf-8").rstrip()
            for name in ("__inference_sglang_lock", "__inference_toolbox_lock")
        )
        return {
            "sglang_lock_digest": hashlib.sha256(engine.encode()).hexdigest(),
            "sglang_versions": pinned_versions(engine),
            "toolbox_versions": pinned_versions(toolbox),
        }
