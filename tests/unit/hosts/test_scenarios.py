# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Molecule takes a scenario without tests for one that passed, so that a misnamed folder would end all verification without a word."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[3]
SCENARIOS = sorted(path.parent for path in ROOT.glob("molecule/*/molecule.yml"))
CONFIG = yaml.safe_load((ROOT / ".config/molecule/config.yml").read_text(encoding="utf-8"))


def sequence(scenario: Path) -> list[str]:
    own = yaml.safe_load((scenario / "molecule.yml").read_text(encoding="utf-8"))
    steps: list[str] = own.get("scenario", {}).get("test_sequence", CONFIG["scenario"]["test_sequence"])
    return steps


@pytest.mark.parametrize(
    "scenario", [path for path in SCENARIOS if "converge" in sequence(path)], ids=lambda path: path.name
)
class TestScenario:
    def test_it_is_verified_last(self, scenario: Path) -> None:
        assert sequence(scenario)[-1] == "verify"

    def test_its_folder_holds_tests(self, scenario: Path) -> None:
        assert list(directory(scenario).glob("test_*.py")) != []

    def test_what_holds_for_every_scenario_is_tested_too(self, scenario: Path) -> None:
        further = [
            path
            for pattern in CONFIG["verifier"]["additional_files_or_dirs"]
            for path in directory(scenario).glob(pattern)
        ]
        assert "test_system.py" in [path.name for path in further]


def directory(scenario: Path) -> Path:
    """As molecule finds it."""
    path: str = CONFIG["verifier"]["directory"]
    return Path(
        path.replace("${MOLECULE_PROJECT_DIRECTORY}", str(ROOT)).replace("${MOLECULE_SCENARIO_NAME}", scenario.name)
    )
