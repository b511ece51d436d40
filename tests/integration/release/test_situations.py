# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real processes that hold GPUs, ours and others', on a host with eight of them: each ends in its outcome, twice in a row."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.blackwell.inference.tests.doubles.holders.stage import Stage
from ansible_collections.blackwell.inference.tests.doubles.holders.stage import stage as staged
from ansible_collections.blackwell.inference.tests.integration.release.performance import differences, played, seen
from ansible_collections.blackwell.inference.tests.integration.release.situations import SCENES, Scene
from ansible_collections.blackwell.inference.tests.testhost.site import Site

pytestmark = pytest.mark.testhost

EXECUTABLES = sorted({player.shows.executable for scene in SCENES for player in scene.players})


@pytest.fixture(scope="module")
def stage(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with staged(site, tmp_path_factory.mktemp("stage"), "release", EXECUTABLES) as made:
        yield made


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_holders_are_what_they_say(stage: Stage, scene: Scene):
    with played(stage, scene) as pids:
        wrong = {player.name: differences(seen(stage, pids[player.name]), player.shows) for player in scene.players}
        assert {name: found for name, found in wrong.items() if found} == {}
        assert stage.alive(pids.values()) == set(pids.values())
    assert stage.alive(pids.values()) == set()
