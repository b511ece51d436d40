# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the card to the base of the fraction, and the weights of a rank."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB, MIB, gib_to_bytes
from ansible_collections.blackwell.inference.plugins.module_utils.model.spec import Weights
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.gpu_memory import (
    CONTEXT_BYTES,
    DRIVER_BYTES,
    gpu_base,
    weights_line,
)
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.calibration import Calibration
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.host import GpuState, HostState
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.parallelism import Parallelism
from ansible_collections.blackwell.inference.tests.unit.planning.device.pool_cases import rules_of

TOTAL = 97_887 * MIB
EMPTY = TOTAL - DRIVER_BYTES
MEASURED = Calibration(free_before_load_bytes=gib_to_bytes("94.04"), ranks=8, measured="2026-02-24")


def host(*free, before=None, after=None):
    gpus = tuple(GpuState(index, f"GPU-{index}", "ok", TOTAL, size, "nvml") for index, size in enumerate(free))
    return HostState(gpus, 449 * GIB, 445 * GIB, "meminfo", free_before_load_bytes=before, free_after_load_bytes=after)


NOTHING = Calibration()


def base_of(seen, calibration=NOTHING, ranks=8):
    return gpu_base(seen.gpus, seen, calibration, ranks)


def test_the_card_is_as_nvml_shows_it_empty():
    assert f"{EMPTY / GIB:.2f}" == "95.01"
    assert f"{(EMPTY - CONTEXT_BYTES) / GIB:.2f}" == "94.04"


def test_the_poorest_card_decides():
    capacity, gone, base = base_of(host(EMPTY, EMPTY - 2 * GIB, EMPTY))
    assert capacity.size_bytes == EMPTY - 2 * GIB
    assert base == EMPTY - 2 * GIB - CONTEXT_BYTES
    assert gone[0].source == "estimate: as on the design host"


def test_what_the_operator_says_needs_no_card():
    capacity, gone, base = base_of(host(None, before=gib_to_bytes("94.50")))
    assert (capacity.source, gone, base) == ("operator", (), gib_to_bytes("94.50"))


@pytest.mark.parametrize(
    ("free", "expected"),
    [
        pytest.param(EMPTY, MEASURED.free_before_load_bytes, id="as empty as when it was measured"),
        pytest.param(EMPTY - 100 * MIB, MEASURED.free_before_load_bytes, id="within what drivers differ by"),
        pytest.param(EMPTY + 300 * MIB, MEASURED.free_before_load_bytes, id="more free than then"),
        pytest.param(EMPTY - 20 * GIB, MEASURED.free_before_load_bytes - 20 * GIB, id="another tenant holds 20 GiB"),
        pytest.param(None, MEASURED.free_before_load_bytes, id="nothing known but the card"),
    ],
)
def test_a_measured_base(free, expected):
    _capacity, gone, base = base_of(host(free), MEASURED)
    assert abs(base - expected) <= 1
    assert gone[0].source == "measured: 2026-02-24"


@pytest.mark.parametrize(
    "calibration",
    [
        pytest.param(replace(MEASURED, ranks=4), id="other number of ranks"),
        pytest.param(replace(MEASURED, gpu_memory_total_bytes=180 * GIB), id="other card"),
    ],
)
def test_a_base_measured_elsewhere_does_not_count(calibration):
    _capacity, gone, base = base_of(host(EMPTY), calibration)
    assert (gone[0].source, base) == ("estimate: as on the design host", EMPTY - CONTEXT_BYTES)


def test_a_card_smaller_than_its_context_has_no_base():
    assert base_of(host(100 * MIB))[2] == 0


@pytest.mark.parametrize(
    ("after", "calibration", "weights", "size", "source"),
    [
        pytest.param(
            gib_to_bytes("21.71"),
            Calibration(),
            {},
            gib_to_bytes("94.04") - gib_to_bytes("21.71"),
            "operator",
            id="operator",
        ),
        pytest.param(
            None,
            replace(MEASURED, free_after_load_bytes=gib_to_bytes("21.71")),
            {},
            gib_to_bytes("94.04") - gib_to_bytes("21.71"),
            "measured: 2026-02-24",
            id="calibration",
        ),
        pytest.param(None, MEASURED, {"per_rank_bytes": 70 * GIB}, 70 * GIB, "profile", id="profile"),
        pytest.param(
            None, MEASURED, {"per_rank_bytes": 70 * GIB, "per_rank_tp": 8}, 70 * GIB, "profile", id="profile at this tp"
        ),
        pytest.param(
            None,
            MEASURED,
            {"per_rank_bytes": 70 * GIB, "per_rank_tp": 4, "replicated_bytes": 0},
            560 * GIB // 8,
            "estimate: safetensors, replicated by tensor name",
            id="profile at another tp",
        ),
        pytest.param(
            None,
            Calibration(free_before_load_bytes=9, free_after_load_bytes=1, ranks=4),
            {"replicated_bytes": 80 * GIB},
            140 * GIB,
            "estimate: safetensors, replicated by tensor name",
            id="by name",
        ),
    ],
)
def test_weights_of_a_rank(kimi, after, calibration, weights, size, source):
    model = replace(kimi, weights=Weights(560 * GIB, 64, "safetensors", **weights))
    line = weights_line(
        model, host(EMPTY, after=after), calibration, Parallelism(8), gib_to_bytes("94.04"), rules_of("0.5.9")
    )
    assert (line.size_bytes, line.source) == (size, source)


@pytest.mark.parametrize(
    ("world", "measured"),
    [
        (Parallelism(8), True),
        (Parallelism(4), False),
        (Parallelism(4, pp=2), False),
        (Parallelism(8, dp=2), False),
        (Parallelism(8, dp=8), False),
    ],
)
def test_weights_that_were_shared_in_another_way_are_not_those_that_were_measured(kimi, world, measured):
    """Every attention group holds the attention whole, and a stage its own layers."""
    known = Calibration(free_before_load_bytes=94 * GIB, free_after_load_bytes=22 * GIB, ranks=8)
    line = weights_line(kimi, host(*[EMPTY] * 8), known, world, EMPTY, rules_of("0.5.9"))
    assert (line.source == "measured: an earlier start") is measured
