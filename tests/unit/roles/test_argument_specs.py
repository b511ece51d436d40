# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a role documents is what it does: every default stands in its argument specification with the same value."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

ROLES = Path(__file__).resolve().parents[3] / "roles"


@pytest.mark.parametrize("role", sorted(path.name for path in ROLES.iterdir()))
def test_defaults_are_documented_as_they_are(role):
    defaults = yaml.safe_load((ROLES / role / "defaults" / "main.yml").read_text(encoding="utf-8"))
    options = yaml.safe_load((ROLES / role / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))[
        "argument_specs"
    ]["main"]["options"]
    optional = {name: option.get("default") for name, option in options.items() if not option.get("required")}
    assert optional == defaults
    assert all(name.startswith(f"{role}_") for name in options)
