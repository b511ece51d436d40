# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real processes that hold GPUs, ours and others', on a host with eight of them: each ends in its outcome, twice in a row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.blackwell.inference.tests.doubles.holders.stage import OTHER_USER, Stage
from ansible_collections.blackwell.inference.tests.doubles.holders.stage import stage as staged
from ansible_collections.blackwell.inference.tests.integration.ad_hoc import ansible
from ansible_collections.blackwell.inference.tests.integration.release.performance import (
    Act,
    differences,
    gpu_release,
    perform,
    played,
    seen,
)
from ansible_collections.blackwell.inference.tests.integration.release.situations import (
    ALL_OURS,
    BESIDE_THE_RUNNING_UNIT,
    SCENES,
    Scene,
)
from ansible_collections.blackwell.inference.tests.testhost.site import Site

pytestmark = pytest.mark.testhost

EXECUTABLES = sorted({player.shows.executable for scene in SCENES for player in scene.players})
TWICE = [pytest.param((scene, time), id=f"{scene.name}, {time}") for scene in SCENES for time in ("once", "again")]


@pytest.fixture(scope="module")
def stage(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with staged(site, tmp_path_factory.mktemp("stage"), "release", EXECUTABLES) as made:
        install = ["-m", "ansible.builtin.include_role", "-a", "name=blackwell.inference.toolbox"]
        output = ansible("inference", "-i", str(made.inventory), *install)
        assert "FAILED" not in output, output
        yield made


@pytest.fixture(scope="module", params=TWICE)
def act(request: pytest.FixtureRequest, stage: Stage) -> Act:
    scene, _time = request.param
    return perform(stage, scene)


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_holders_are_what_they_say(stage: Stage, scene: Scene):
    with played(stage, scene) as pids:
        wrong = {player.name: differences(seen(stage, pids[player.name]), player.shows) for player in scene.players}
        assert {name: found for name, found in wrong.items() if found} == {}
        assert stage.alive(pids.values()) == set(pids.values())
    assert stage.alive(pids.values()) == set()


def test_each_holder_is_listed_with_its_owner(act: Act):
    assert act.of_players(act.listed, "owner") == {player.name: player.owner for player in act.scene.players}
    assert act.of_players(act.listed, "outcome") == dict.fromkeys(act.pids)
    assert act.of_players(act.listed, "gpus") == {player.name: player.listed_gpus for player in act.scene.players}
    assert not act.listed["changed"]
    assert not act.listed["failed"]


def test_nobody_else_is_listed(act: Act):
    strangers = {holder["pid"] for holder in act.release(act.listed)["holders"]} - set(act.pids.values())
    assert strangers == set()


def test_a_check_tells_whom_it_would_end_and_ends_nobody(act: Act):
    assert act.selected(act.checked) == act.selected(act.listed) == act.ours
    assert act.checked["changed"]
    assert act.alive_before_release == set(act.pids)
    assert act.sent_before_release == []


def test_each_ends_in_its_outcome(act: Act):
    players = act.scene.players
    assert act.of_players(act.released, "outcome") == {player.name: player.outcome for player in players}
    assert act.of_players(act.released, "signals") == {player.name: list(player.signals) for player in players}
    assert act.selected(act.released) == act.ours
    assert act.released["changed"]


def test_only_who_was_to_end_has_ended(act: Act):
    assert act.alive_after_release == {player.name for player in act.scene.players if player.survives}


def test_each_gpu_and_all_of_them_are_in_the_state_that_follows(act: Act):
    release = act.release(act.released)
    states = {gpu["index"]: gpu["state"] for gpu in release["gpus"] if gpu["index"] in act.scene.states}
    assert (states, release["state"]) == (act.scene.states, act.scene.state)
    assert act.released["failed"] == (act.scene.state != "released")


def test_whoever_stays_is_told_why_and_what_ends_it(act: Act):
    whys = act.of_players(act.released, "why")
    unsaid = {player.name: whys[player.name] for player in act.scene.players if player.says not in whys[player.name]}
    assert unsaid == {}


def test_the_kernel_saw_signals_to_ours_and_to_nobody_else(act: Act):
    signalled = {player.name: list(player.signals) for player in act.scene.players if player.signals}
    assert act.signals_of_players() == signalled
    assert act.stray_signals() == []


def test_who_survives_is_told_in_which_state(act: Act):
    states, outcomes = act.of_players(act.released, "state"), act.of_players(act.released, "outcome")
    survivors = {name: states[name] for name, outcome in outcomes.items() if outcome == "survived_kill"}
    assert survivors == {player.name: "t" for player in act.scene.players if player.traced}


def test_what_comes_again_is_told_and_not_signalled(act: Act):
    holders = act.release(act.released)["holders"]
    again = [holder for holder in holders if holder["outcome"] == "respawned"]
    assert [holder["signals"] for holder in again] == [[] for _supervised in act.scene.respawns]
    assert {holder["pid"] for holder in again} & set(act.pids.values()) == set()
    assert act.signalled_pids() & {holder["pid"] for holder in again} == set()


def test_shared_memory_of_the_dead_is_removed_and_no_other(act: Act):
    assert act.shared_memory == act.scene.shared_memory_left
    assert act.leftovers(act.checked) == dict.fromkeys(act.scene.shared_memory_removed, False)
    assert act.leftovers(act.released) == dict.fromkeys(act.scene.shared_memory_removed, True)


def test_free_gpus_are_released_already_in_one_round_trip(stage: Stage, tmp_path: Path):
    counts = tmp_path / "round-trips"
    environment = {
        "ANSIBLE_LOAD_CALLBACK_PLUGINS": "1",
        "ANSIBLE_CALLBACKS_ENABLED": "count_round_trips",
        "ROUND_TRIPS": str(counts),
    }
    result = gpu_release(stage, "released", environment=environment)
    assert (result["failed"], result["changed"], result["release"]["state"]) == (False, False, "released")
    assert result["release"]["holders"] == []
    assert counts.read_text().splitlines() == ["exec_command"]


def released_by_another_user(stage: Stage, scene: Scene, gpu: int) -> dict[str, Any]:
    with played(stage, scene) as pids:
        result = gpu_release(stage, "released", "-u", OTHER_USER, "-e", f"ansible_user={OTHER_USER}", gpus=[str(gpu)])
        assert stage.alive(pids.values()) == set(pids.values())
    assert not result["changed"]
    return result


def test_another_user_than_root_is_told_what_it_could_not_see(stage: Stage):
    result = released_by_another_user(stage, BESIDE_THE_RUNNING_UNIT, 7)
    release = result["release"]
    assert result["failed"]
    assert (release["state"], release["next_step"]) == ("held", "Run as root.")
    (why,) = [unread["why"] for unread in release["unread"] if unread["what"] == "processes"]
    assert re.fullmatch(r"\d+ processes of other users could not be looked into: run as root", why)


def test_what_cannot_be_seen_is_not_proven_to_be_free(stage: Stage):
    """NVML does not list who holds GPU 3, and its descriptors are for root to see."""
    result = released_by_another_user(stage, ALL_OURS, 3)
    assert result["failed"]
    assert (result["release"]["state"], result["release"]["next_step"]) == ("unproven", "Run as root.")
