# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole plan, on a CPU and on cards."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import PlanningError
from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device import gpu_budget
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.pool_inputs import pool_inputs
from ansible_collections.blackwell.inference.plugins.module_utils.planning.report.text import report_lines


def on_cpu(plan, llama, **more):
    options = {"device": "cpu", "tp": 1, "mem_fraction_static": None, "max_total_tokens": 4000, **more}
    return plan(
        version="0.5.23",
        model=llama,
        hardware={"gpus": 0, "ram_gib": 64, "ram_available_gib": 60},
        calibration={},
        **options,
    )


def test_cpu_plan_has_no_gpu_lines(plan, llama):
    planned = on_cpu(plan, llama).as_dict()
    assert planned["gpu"] is None
    assert planned["pool"] == {"tokens": 4000, "cell_bytes": 131072, "kv_bytes": 4000 * 131072}
    assert [line["name"] for line in planned["host"]["lines"]] == [
        "1 rank process",
        "tokenizer, detokenizer and HTTP processes",
        "weights",
        "KV cache",
        "padding page",
        "request table",
    ]


def test_cpu_plan_counts_each_rank(plan, llama):
    lines = {line["name"]: line["size_bytes"] for line in on_cpu(plan, llama, tp=2).as_dict()["host"]["lines"]}
    assert lines["KV cache"] == 2 * 4000 * 65536
    assert lines["2 rank processes"] == 2 * GIB


def test_cpu_settings(plan, llama):
    assert on_cpu(plan, llama, max_running_requests=4, page_size=16).settings == {
        "device": "cpu",
        "tp": 1,
        "context_length": 131072,
        "max_running_requests": 4,
        "max_total_tokens": 4000,
        "page_size": 16,
    }


def test_cpu_plan_needs_a_pool_size(plan, llama):
    with pytest.raises(PlanningError) as refused:
        on_cpu(plan, llama, max_total_tokens=None)
    assert str(refused.value) == (
        "serving.device is cpu and max_total_tokens is not given; on a CPU the engine would take a fraction of the host's memory for its pool. "
        "Set max_total_tokens, for example 40000."
    )


def test_a_host_too_small_for_the_bare_engine(plan, llama):
    with pytest.raises(PlanningError) as refused:
        plan(model=llama, tp=1, hardware={"ram_gib": 16, "ram_available_gib": 12})
    assert str(refused.value) == (
        "The host has 12.88 GB of memory for this instance (operator); without any host cache it takes 5.80 GB and host_reserve_gib 10 keeps 10.74 GB. "
        "Give the host more memory, stop what else runs there, or lower tp or host_reserve_gib. Or force it with force: [host_memory]."
    )
    with pytest.raises(PlanningError) as certain:
        plan(model=llama, tp=4, hardware={"ram_gib": 16, "ram_available_gib": 12}, force=["host_memory"])
    assert certain.value.details["refusals"][0]["overridable"] is False


def test_everything_that_is_wrong_is_said_at_once(plan):
    with pytest.raises(PlanningError) as refused:
        plan(
            mem_fraction_static=0.93, hicache_size=300, context_length=300_000, arguments={"disable-radix-cache": True}
        )
    assert [row["name"] for row in refused.value.details["refusals"]] == [
        "context_length",
        "radix_cache",
        "headroom",
        "host_memory",
    ]
    assert refused.value.details["report"][-1].startswith("Note:")


def test_what_is_forced_does_not_excuse_the_rest(plan):
    with pytest.raises(PlanningError) as refused:
        plan(mem_fraction_static=0.93, hicache_size=300, force=["headroom"])
    assert [row["name"] for row in refused.value.details["refusals"]] == ["host_memory"]
    assert any(
        line.startswith("Forced (headroom): mem_fraction_static 0.93") for line in refused.value.details["report"]
    )


def test_the_report_says_what_forcing_means(plan):
    line = next(
        line
        for line in report_lines(plan(mem_fraction_static=0.93, force=["headroom"]).as_dict())
        if line.startswith("Forced")
    )
    assert line.endswith(
        "Forcing it means: start with less free GPU memory than must stay; the first large prefill may run out of memory."
    )


def test_settings_of_the_design_host(plan):
    planned = plan(
        hicache_size=48, hicache_write_policy="write_through", hicache_io_backend="kernel", max_prefill_tokens=16384
    )
    assert planned.settings == {
        "device": "cuda",
        "tp": 8,
        "mem_fraction_static": 0.88,
        "context_length": 262144,
        "chunked_prefill_size": 8192,
        "max_prefill_tokens": 16384,
        "hicache": True,
        "hicache_size": 48,
        "hicache_write_policy": "write_through",
        "hicache_io_backend": "kernel",
    }


def test_a_plan_is_plain_json(plan):
    planned = plan(hicache_size=48).as_dict()
    assert json.loads(json.dumps(planned)) == planned


def test_a_context_longer_than_the_pool_is_noted(plan):
    note = "The context length is 262,144 and the pool holds 159,294 tokens: the engine rejects a request that is longer than the pool, not than the context."
    assert note in plan().notes
    assert note not in plan(context_length=131072).notes


def test_requests_that_the_engine_would_cut_are_noted(plan):
    note = "max_running_requests 9,000 is lowered to 2,048 by SGLang 0.5.12."
    assert note in plan(version="0.5.12", max_running_requests=9000).notes


@pytest.mark.parametrize(
    ("layout", "backend", "replaced"),
    [
        ("page_first_direct", "kernel", "The engine replaces hicache_io_backend kernel by direct"),
        ("page_first", "direct", "The engine replaces the layout page_first by page_first_direct"),
        ("layer_first", "kernel", None),
        ("page_first_direct", "direct", None),
    ],
)
def test_transfers_that_the_engine_replaces(plan, layout, backend, replaced):
    notes = plan(hicache_size=48, hicache_mem_layout=layout, hicache_io_backend=backend).notes
    assert [note.split(", as ")[0] for note in notes if note.startswith("The engine replaces")] == (
        [replaced] if replaced else []
    )


def test_report(plan):
    assert report_lines(plan(hicache_ratio=4.0).as_dict()) == [
        "kimi-k2.5 on SGLang 0.5.9 (dialect 0.5.9), cuda, 8 ranks",
        "GPU memory of each rank at fraction 0.88             GiB  source",
        "  free before the weights are loaded               94.04  operator",
        "  - weights                                        72.33  operator",
        "  - KV cache                                       10.43  plan: 159,294 tokens of 70,272 bytes",
        "  - padding page                                    0.00  plan",
        "  - request table                                   2.00  plan: 2,048 requests",
        "  - CUDA graphs                                     3.75  measured: an earlier start",
        "  = free after graph capture                        5.53  headroom; at least 0.88 GiB must stay",
        "Host memory                                          GiB  source",
        "  available memory before the start               445.00  operator",
        "  - 8 rank processes                               32.00  measured: 2026-02-24 on the design host, 4 GiB for each",
        "  - tokenizer, detokenizer and HTTP processes       1.40  estimate: 3 Python processes without CUDA",
        "  - host cache of 8 ranks                         333.60  plan: 637,177 tokens of 70,272 bytes for each",
        "  = left                                           77.99  10.00 GiB stay untouched",
        "Pool: 159,294 tokens on each rank, enough for 39 requests of 4,000 tokens at once",
        "Host cache: hicache_ratio 4: 637,177 tokens, 44.78 GB on each rank, 358.21 GB in all",
        "Host after the start: 77.99 GiB available; free -h will show total 449Gi, used 371Gi, shared 0Gi, available 78Gi, give or take 2Gi",
        "Start: about 753 s (weights 274, pinning 359, the rest 120)",
        "Decided: mem_fraction_static 0.88 (operator, leaves 5.53 GiB free after graph capture); "
        "costs: 0.01 more holds about 14,369 tokens more and leaves 0.94 GiB less",
        "Decided: max_running_requests 2048 (engine, the default of SGLang 0.5.9 for this card); costs: a table of 2.00 GiB; what comes beyond waits",
        "Decided: cuda_graph_max_bs 512 (engine, the default of SGLang 0.5.9 for this card); costs: 3.75 GiB of graphs; larger batches decode without one",
        "Decided: chunked_prefill_size 8192 (engine, the default of SGLang 0.5.9 for this card); "
        "costs: about 0.88 GiB of the headroom while 8,192 tokens are computed at once",
        "Decided: hicache_ratio 4.0 (operator, 637,177 tokens on each rank); "
        "costs: 44.78 GB pinned on each rank, 358.21 GB in all, about 359 s of every start",
        "Decided: hicache_write_policy write_through (engine, the default of SGLang 0.5.9); "
        "costs: every new prefix is copied to the host at once, which takes PCIe bandwidth",
        "Decided: hicache_io_backend kernel (engine, the default of SGLang 0.5.9); "
        "costs: copies are made by a GPU kernel: fast for small pages, and it takes some of the GPU",
        "Decided: hicache_mem_layout layer_first (engine, the default of SGLang 0.5.9); "
        "costs: a page lies in pieces, one a layer, which is slow to store elsewhere",
        "Note: The context length is 262,144 and the pool holds 159,294 tokens: the engine rejects a request "
        "that is longer than the pool, not than the context.",
    ]


def test_report_of_a_cpu_has_no_table_of_cards(plan, llama):
    lines = report_lines(on_cpu(plan, llama).as_dict())
    assert lines[0] == "llama-8b on SGLang 0.5.23 (dialect 0.5.23), cpu, 1 rank"
    assert not any("GPU" in line for line in lines)


@pytest.mark.parametrize(
    ("options", "note"),
    [
        (
            {"speculative_num_steps": 3, "speculative_eagle_topk": 1},
            "speculative_num_steps, speculative_eagle_topk without a speculative_algorithm: nothing drafts.",
        ),
        (
            {"speculative_algorithm": "NEXTN", "speculative_num_steps": 3, "speculative_num_draft_tokens": 9},
            "speculative_num_draft_tokens 9 is replaced by 4: a chain of drafts (topk 1) verifies one token more than it has steps.",
        ),
    ],
)
def test_wishes_for_drafts_that_are_not_followed_are_noted(plan, kimi, options, note):
    assert note in plan(model=replace(kimi, draft_layers=1), **options).notes
    followed = {**options, "speculative_algorithm": "NEXTN", "speculative_num_draft_tokens": 4}
    assert not [note for note in plan(model=replace(kimi, draft_layers=1), **followed).notes if "speculative" in note]


@pytest.mark.parametrize("fraction", [None, 0.88])
def test_what_pools_are_sized_from_is_derived_once(plan, llama, monkeypatch, fraction):
    """For all fractions that are tried, the engine's own among them."""
    made = []

    def counted(*arguments):
        made.append(pool_inputs(*arguments))
        return made[-1]

    monkeypatch.setattr(gpu_budget, "pool_inputs", counted)
    found = plan(model=llama, mem_fraction_static=fraction, speculative_algorithm="NGRAM")
    assert "left to itself SGLang would take" in found.choices[0].why
    assert len(made) == 1
    assert made[0].speculation is found.request.speculation
