# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inputs that no deployment can be made of, each refused with a sentence. Private to the collection, may change any time.

Every function returns the sentence, or None if nothing is wrong. The value of an environment variable or of a key is in none of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

NEEDED = ("name", "instance", "port", "sglang_version", "model_path", "model", "serving")
"""What every deployment needs of a profile."""

DICTIONARIES = ("inference_serving", "inference_arguments", "inference_labels", "inference_hardware")
"""Variables that hold names and values, and nothing secret."""

SERVICE_NAMES = {name: f"sglang_service_{name}" for name in ("instance", "description", "model_path", "environment")}
"""What the role calls its variables that are checked here."""


def playbook_names(names: Mapping[str, str] = SERVICE_NAMES) -> dict[str, str]:
    """The role's names, each with the playbook's own beside it."""
    return {short: f"{name} (`inference_{short}`)" for short, name in names.items()}


def profile_refusal(profile: Any, file: str, is_file: bool, shipped: Iterable[str]) -> str | None:
    if not profile:
        return (
            f"No profile was named. Set inference_profile to one of {', '.join(shipped)}, "
            "or to the path of a profile file of your own."
        )
    if not is_file:
        return (
            f"There is no profile {profile}: {file} is not a file. One of {', '.join(shipped)}, "
            "or the path of a profile file of your own, was expected in inference_profile."
        )
    return None


def lacking_refusal(profile: Any, data: Any) -> str | None:
    lacking = [name for name in NEEDED if not isinstance(data, Mapping) or name not in data]
    if not lacking:
        return None
    return (
        f"The profile {profile} lacks {', '.join(lacking)} in inference_profile_data. Add them; docs/interface.md shows a "
        "whole profile."
    )


def unknown_refusal(defined: Iterable[str], known: Collection[str]) -> str | None:
    unknown = sorted(name for name in defined if re.match("inference[_-]", name) and name not in known)
    if not unknown:
        return None
    return (
        f"There is no variable {' and no '.join(unknown)}. Variables that begin with inference_ are {', '.join(known)}; "
        "correct the name. All of them stand in docs/interface.md."
    )


def undefined_refusal(names: Iterable[str]) -> str | None:
    """Names alone, because a template may hold a secret."""
    undefined = sorted(names)
    if not undefined:
        return None
    return (
        f"The value of {' and of '.join(undefined)} is a template that names an undefined variable. It would count as not set; "
        "define what it names, or correct the name."
    )


def shape_refusal(given: Mapping[str, Any]) -> str | None:
    """`given` holds variables that have to be dictionaries, by name."""
    misshapen = [name for name, value in given.items() if not isinstance(value, Mapping)]
    if not misshapen:
        return None
    seen = "".join(f"{name} is {json.dumps(given[name], default=str)}. " for name in misshapen)
    return (
        f"{seen}A dictionary of names and values was expected. On a command line write "
        f'-e \'{{"{misshapen[0]}": {{"name": "value"}}}}\'.'
    )


def environment_shape_refusal(environment: Any) -> str | None:
    """Apart from the others, because its values may be secrets."""
    if isinstance(environment, Mapping):
        return None
    return (
        "inference_environment is no dictionary of names and values, which was expected. On a command line write "
        '-e \'{"inference_environment": {"NAME": "value"}}\'.'
    )


def port_refusal(port: Any, profile_port: Any) -> str | None:
    if re.fullmatch("[0-9]+", str(port)) and 0 < int(port) < 65536:
        return None
    return (
        f"inference_port is {json.dumps(port, default=str)}. A whole number from 1 to 65535 was expected; "
        f"the profile's own is {profile_port}."
    )


def lock_refusal(version: str, lock: str, is_file: bool, pinned: Iterable[str]) -> str | None:
    if is_file:
        return None
    return (
        f"There is no lock of SGLang {version}: {lock} is not a file. The collection pins {' and '.join(sorted(pinned))}; "
        "choose one of them in inference_sglang_version, or name a requirements file with hashes in inference_sglang_lock."
    )


def nobody_refusal(instance: Any, profile: Any) -> str | None:
    if instance or profile:
        return None
    return (
        "No instance was named, so no process is known to be ours. Set inference_instance, for example to kimi, or "
        "inference_profile to the profile that it was deployed from."
    )


def service_refusal(values: Mapping[str, Any], names: Mapping[str, str] = SERVICE_NAMES) -> str | None:
    """What systemd, a path or an environment file cannot carry. `values` and `names` have the keys of SERVICE_NAMES."""
    instance, description, model_path = (str(values[name]) for name in ("instance", "description", "model_path"))
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", instance):
        return (
            f"The instance is called {instance}. A name of lower-case letters, digits, hyphens and underscores was expected, "
            f"because it becomes part of a unit's name and of paths; choose another {names['instance']}."
        )
    if "\n" in description:
        return (
            f"The description of {instance} has more than one line. One line was expected, because it becomes the unit's "
            f"description; shorten {names['description']}."
        )
    if re.match("/(var/)?tmp(/|$)", model_path):
        return (
            f"The model lies in {model_path}, and the unit's /tmp and /var/tmp are private: the engine would see nothing "
            f"there. A path outside of both was expected; move the model, and say where it is in {names['model_path']}."
        )
    bad = [name for name, value in values["environment"].items() if not _carried(name, value)]
    if bad:
        return (
            f"The environment variables {', '.join(map(str, bad))} cannot be written to an environment file. Names of "
            f"letters, digits and underscores, and texts or numbers of one line, were expected; correct {names['environment']}."
        )
    return None


def _carried(name: Any, value: Any) -> bool:
    """Whether an environment file can carry the variable."""
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", str(name)):
        return False
    if isinstance(value, str):
        return re.search("[\x00-\x1f]", value) is None
    return isinstance(value, (int, float)) and not isinstance(value, bool)
