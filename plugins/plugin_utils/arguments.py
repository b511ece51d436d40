# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A task's arguments as a module would get them, for actions that do their work on the controller. Private to the collection, may change any time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.errors import UnsupportedError


class ArgumentsError(Exception):
    """What is wrong with the arguments, in the words that Ansible has for a module's."""


def plain(value: Any) -> Any:
    """Python's own types, as they come out of the JSON that a module is sent: Ansible's carry where a value is from, and template it when it is read."""
    return json.loads(json.dumps(value, default=_text))


def validated(module_name: str, given: Mapping[str, Any], spec: Mapping[str, Any], **rules: Any) -> dict[str, Any]:
    """The arguments with defaults, and of the types that the spec names. `rules` are those of AnsibleModule, `required_one_of` for example."""
    result = ArgumentSpecValidator(spec, **rules).validate(plain(given))
    if result.error_messages:
        unsupported = isinstance(result.errors[0], UnsupportedError)
        where = f"Unsupported parameters for ({module_name}) module: " if unsupported else ""
        raise ArgumentsError(f"{where}{result.errors.msg}")
    return dict(result.validated_parameters)


def _text(value: Any) -> str:
    """YAML has dates, and Ansible texts that are decrypted when they are read."""
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)
