# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The design host: what was measured there is what planning says."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import PlanningError
from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GB, GIB

FRACTIONS = ["0.85", "0.88", "0.93"]


@pytest.mark.parametrize("fraction", FRACTIONS)
@pytest.mark.parametrize("version", ["0.5.9", "0.5.23"])
def test_tokens_from_the_rounded_inputs(plan, case, version, fraction):
    planned = plan(version=version, mem_fraction_static=float(fraction), force=["headroom"])
    assert planned.tokens == case["from_rounded_inputs"][version][fraction]


@pytest.mark.parametrize("index", range(3))
def test_tokens_of_the_measured_starts(plan, case, index):
    start = case["starts"][index]
    planned = plan(mem_fraction_static=start["mem_fraction_static"], force=["headroom"])
    assert planned.tokens == pytest.approx(start["max_total_num_tokens"], rel=2e-4)  # inputs are rounded to 0.01 GiB


def test_kv_size_that_the_log_prints(plan, case):
    planned = plan(max_total_tokens=159277).as_dict()
    assert planned["pool"]["kv_bytes"] / GIB == pytest.approx(case["starts"][1]["kv_size_gib"], abs=0.005)


@pytest.mark.parametrize(("fraction", "predicted", "logged"), [(0.88, "5.53", 5.47), (0.93, "0.83", 0.82)])
def test_free_after_graph_capture(plan, fraction, predicted, logged):
    headroom = plan(mem_fraction_static=fraction, force=["headroom"]).gpu.headroom_bytes / GIB
    assert f"{headroom:.2f}" == predicted
    assert headroom == pytest.approx(logged, abs=0.07)  # 0.06 GiB of workspace is not in any line


def test_the_fraction_that_died_is_refused(plan):
    with pytest.raises(PlanningError) as refused:
        plan(mem_fraction_static=0.93)
    assert str(refused.value) == (
        "mem_fraction_static 0.93 leaves 0.83 GiB free on each card after graph capture; the first large prefill needs room, "
        "and 0.88 GiB are what a chunk of 8,192 tokens takes (estimate: 8 rows of the hidden size for each of 8,192 tokens). "
        "At most 0.929 leaves that: lower mem_fraction_static. Or force it with force: [headroom]."
    )
    assert [(row["name"], row["overridable"]) for row in refused.value.details["refusals"]] == [("headroom", True)]


def test_what_the_refusal_proposes_is_accepted(plan):
    planned = plan(mem_fraction_static=0.929)
    assert planned.gpu.headroom_bytes >= planned.gpu.activations.size_bytes


def test_the_first_fraction_that_is_proposed_is_one_that_served(plan):
    assert plan(mem_fraction_static=None).gpu.fraction == 0.88


def test_the_forced_fraction_is_planned_and_said(plan):
    planned = plan(mem_fraction_static=0.93, force=["headroom"])
    assert planned.as_dict()["forced"] == ["headroom"]
    assert planned.tokens == 231140


def test_unasked_the_fraction_that_served_is_proposed(plan):
    assert plan(mem_fraction_static=None).gpu.fraction == 0.88


def test_ratio_takes_the_logged_gigabytes_of_each_rank(plan, case):
    measured = case["host_cache"][2]
    planned = plan(max_total_tokens=measured["device_tokens"], hicache_ratio=measured["hicache_ratio"])
    assert planned.pool.bytes_per_rank / GB == pytest.approx(measured["gb_per_rank"], abs=0.005)
    assert planned.as_dict()["host_cache"]["bytes_total"] / GB == pytest.approx(measured["total_gb"], abs=0.05)


def test_memory_available_after_that_start(plan, case):
    measured = case["host_cache"][2]
    planned = plan(max_total_tokens=measured["device_tokens"], hicache_ratio=measured["hicache_ratio"])
    after = planned.host.available_after_start_bytes / GIB
    assert after == pytest.approx(measured["mem_available_after_gib"], abs=2)
    lines = planned.host.ledger.lines
    assert [line.name for line in lines] == [
        "8 rank processes",
        "tokenizer, detokenizer and HTTP processes",
        "host cache of 8 ranks",
    ]
    assert all(line.source for line in lines)
    assert (
        planned.host.ledger.capacity.size_bytes - sum(line.size_bytes for line in lines)
        == planned.host.available_after_start_bytes
    )


def test_the_size_that_killed_the_host_is_refused(plan):
    with pytest.raises(PlanningError) as refused:
        plan(hicache_size=300)
    assert str(refused.value) == (
        "hicache_size 300 asks for 300 GB on each of 8 ranks, 2,400 GB in all; this host has 477.82 GB available (operator), the engine's "
        "processes take 35.86 GB of that, and host_reserve_gib 10 keeps 10.74 GB. "
        "At most 53 GB per rank fit: lower hicache_size or hicache_ratio, or set hicache_size to null without a hicache_ratio and let the plan choose."
    )
    assert refused.value.details["refusals"][0]["overridable"] is False


@pytest.mark.parametrize("version", ["0.5.9", "0.5.23"])
@pytest.mark.parametrize("cache", [{"hicache_size": 48}, {"hicache_ratio": 4.0}])
def test_what_started_is_accepted(plan, version, cache):
    assert plan(version=version, **cache).as_dict()["host_cache"]["enabled"] is True


@pytest.mark.parametrize("version", ["0.5.9", "0.5.23"])
def test_59_is_refused_and_what_fits_is_named(plan, version):
    with pytest.raises(PlanningError, match=r"472 GB in all; .* At most (\d+) GB per rank fit") as refused:
        plan(version=version, hicache_size=59)
    fits = int(str(refused.value).split("At most ")[1].split()[0])
    assert 48 <= fits <= 58
    assert plan(version=version, hicache_size=fits).pool.size_gb == fits
    with pytest.raises(PlanningError):
        plan(version=version, hicache_size=fits + 1)


@pytest.mark.parametrize("index", range(2))
def test_requests_of_4000_tokens(plan, case, index):
    start = case["starts"][index]
    planned = plan(mem_fraction_static=start["mem_fraction_static"], max_total_tokens=start["max_total_num_tokens"])
    assert planned.concurrent_requests == start["requests_of_4000_tokens"]


def test_the_start_takes_as_long_as_it_took(plan, case):
    start = plan(hicache_ratio=4.0).start
    assert case["start"]["outlived_seconds"] < start.estimate_seconds < case["start"]["done_within_seconds"]


@pytest.mark.parametrize(
    ("version", "fraction", "tokens"), [("0.5.9", 0.88, 164410), ("0.5.9", 0.85, 121092), ("0.5.23", 0.88, 162918)]
)
def test_a_shifted_host_follows_the_same_formulas(plan, version, fraction, tokens):
    shifted = {"gpu_free_before_load_gib": 94.50, "gpu_free_after_load_gib": 22.10}
    planned = plan(version=version, hardware=shifted, mem_fraction_static=fraction, context_length=131072)
    reserve = 100 / 1024 if version == "0.5.23" else 0
    assert planned.tokens == tokens == int((22.10 - 94.50 * (1 - fraction) - reserve) * GIB) // 70272
    rows = 2049 if version == "0.5.23" else 2048
    assert planned.gpu.requests.table_bytes == rows * (131072 + 4) * 4


def test_the_empty_card_leads_to_the_same_pool(plan, case):
    """No load figure from the operator: the card's free memory by NVML, and the profile's calibration."""
    rank = case["rank"]
    calibration = {
        "free_before_load_bytes": int(rank["free_before_load_gib"] * GIB),
        "free_after_load_bytes": int(rank["free_after_load_gib"] * GIB),
        "graph_bytes": int(rank["cuda_graph_gib"] * GIB),
        "ranks": 8,
        "measured": "2026-02-24",
    }
    hardware = {
        "gpu_free_gib": case["card"]["free_by_nvml_gib"],
        "gpu_free_before_load_gib": None,
        "gpu_free_after_load_gib": None,
    }
    planned = plan(hardware=hardware, calibration=calibration)
    assert planned.tokens == 159294
    context = planned.gpu.ledger.lines[0]
    assert (context.name, f"{context.size_bytes / GIB:.2f}", context.source) == (
        "CUDA context and NCCL",
        "0.97",
        "measured: 2026-02-24",
    )


def test_without_any_measurement_the_base_is_estimated_from_the_card(plan, case):
    hardware = {"gpu_free_gib": 95.01, "gpu_free_before_load_gib": None, "gpu_free_after_load_gib": None}
    planned = plan(hardware=hardware, calibration={}, mem_fraction_static=0.88)
    context = planned.gpu.ledger.lines[0]
    assert context.source.startswith("estimate")
    assert planned.gpu.base_bytes / GIB == pytest.approx(case["rank"]["free_before_load_gib"], abs=0.005)
    assert (
        "The weights of a rank are estimated from the checkpoint's size; the first verified start measures them."
        in planned.notes
    )
