# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The device pool and its lines."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import PlanningError
from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB, MIB
from ansible_collections.blackwell.inference.plugins.module_utils.planning.device.gpu_budget import gpu_budget, gpu_case


def sizes(budget):
    return {line.name: line.size_bytes for line in budget.ledger.lines}


def test_lines_of_0_5_9(request_for):
    budget = gpu_budget(gpu_case(request_for(), cached=True), 0.88)
    assert list(sizes(budget)) == ["weights", "KV cache", "padding page", "request table", "CUDA graphs"]
    assert budget.headroom_bytes == budget.ledger.capacity.size_bytes - sum(sizes(budget).values())


def test_lines_that_0_5_23_adds(request_for):
    found = sizes(gpu_budget(gpu_case(request_for(version="0.5.23"), cached=True), 0.88))
    assert found["multimodal cache"] == 100 * MIB
    assert found["host cache staging"] == 64 * 70272
    assert "prefill graph" not in found  # the measured graphs hold it


def test_a_text_model_loses_nothing_to_images(request_for, llama):
    assert "multimodal cache" not in sizes(
        gpu_budget(gpu_case(request_for(version="0.5.23", model=llama), cached=False), 0.88)
    )


@pytest.mark.parametrize(
    ("transport", "expected_mib"), [(None, 100), ("cpu", 100), ("cuda_ipc", 1124), ("cuda_vmm", 1124)]
)
def test_images_on_their_way_take_more(request_for, transport, expected_mib):
    arguments = {"mm-feature-transport": transport} if transport else {}
    found = sizes(gpu_budget(gpu_case(request_for(version="0.5.23", arguments=arguments), cached=False), 0.88))
    assert found["multimodal cache"] == expected_mib * MIB


@pytest.mark.parametrize(
    ("version", "layout", "cached", "expected"),
    [
        ("0.5.9", None, True, False),
        ("0.5.13", "page_first", True, False),
        ("0.5.14", None, True, True),
        ("0.5.23", "layer_first", True, False),
        ("0.5.23", None, False, False),
    ],
)
def test_staging(request_for, version, layout, cached, expected):
    found = sizes(gpu_budget(gpu_case(request_for(version=version, hicache_mem_layout=layout), cached), 0.88))
    assert ("host cache staging" in found) is expected


@pytest.mark.parametrize(
    ("version", "arguments", "serving", "expected"),
    [
        pytest.param("0.5.9", {}, {}, {"CUDA graphs": 3840 * MIB}, id="512 requests at 7.5 MiB"),
        pytest.param("0.5.9", {}, {"cuda_graph_max_bs": 64}, {"CUDA graphs": 480 * MIB}, id="asked for 64"),
        pytest.param(
            "0.5.9", {}, {"max_running_requests": 32}, {"CUDA graphs": 240 * MIB}, id="never more than may run"
        ),
        pytest.param("0.5.9", {"disable-cuda-graph": True}, {}, {}, id="none"),
        pytest.param(
            "0.5.23", {}, {}, {"CUDA graphs": 3840 * MIB, "prefill graph": 1536 * MIB}, id="0.5.23 captures prefill too"
        ),
        pytest.param(
            "0.5.23", {"disable-prefill-cuda-graph": True}, {}, {"CUDA graphs": 3840 * MIB}, id="no prefill graph"
        ),
        pytest.param(
            "0.5.23",
            {"cuda-graph-backend-decode": "disabled"},
            {},
            {"prefill graph": 1536 * MIB},
            id="no decode graphs",
        ),
        pytest.param(
            "0.5.23",
            {},
            {"max_running_requests": 32},
            {"CUDA graphs": 240 * MIB, "prefill graph": 1536 * MIB},
            id="0.5.22 and later follow the requests",
        ),
    ],
)
def test_graphs_that_nobody_measured(request_for, version, arguments, serving, expected):
    budget = gpu_budget(
        gpu_case(request_for(version=version, arguments=arguments, calibration={}, **serving), cached=False), 0.88
    )
    assert {name: size for name, size in sizes(budget).items() if "graph" in name} == expected


@pytest.mark.parametrize(
    ("version", "expected_mib"), [("0.5.9", None), ("0.5.17", None), ("0.5.18", 1536), ("0.5.23", 1536)]
)
def test_a_prefill_graph_that_the_measured_version_did_not_capture(request_for, version, expected_mib):
    calibration = {"graph_bytes": 3840 * MIB, "prefill_graph": False}
    found = sizes(gpu_budget(gpu_case(request_for(version=version, calibration=calibration), cached=False), 0.88))
    assert found["CUDA graphs"] == 3840 * MIB
    assert found.get("prefill graph") == (expected_mib * MIB if expected_mib else None)


@pytest.mark.parametrize(
    ("version", "gib", "tp", "chunk", "batch"),
    [
        ("0.5.9", 16, 1, 2048, 8),
        ("0.5.9", 24, 2, 2048, 24),
        ("0.5.9", 32, 4, 2048, 80),
        ("0.5.20", 32, 1, 4096, 48),
        ("0.5.20", 32, 8, 4096, 160),
        ("0.5.9", 48, 1, 4096, 32),
        ("0.5.9", 80, 8, 8192, 512),
        ("0.5.23", 95.59, 2, 8192, 256),
        ("0.5.23", 180, 1, 16384, 512),
    ],
)
def test_defaults_by_the_size_of_the_card(plan, llama, version, gib, tp, chunk, batch):
    hardware = {"gpu_memory_gib": gib, "gpu_free_before_load_gib": gib - 1, "gpu_free_after_load_gib": gib - 1.5}
    planned = plan(
        version=version,
        model=llama,
        hardware=hardware,
        tp=tp,
        calibration={"graph_bytes": 0},
        headroom_gib=0,
        mem_fraction_static=0.7,
    )
    assert planned.settings["chunked_prefill_size"] == chunk
    assert planned.gpu.graph_batch == batch


@pytest.mark.parametrize(("page", "expected"), [(1, 159294), (16, 159280), (64, 159232)])
def test_whole_pages(plan, page, expected):
    planned = plan(page_size=page)
    assert planned.tokens == expected
    assert sizes(planned.gpu)["padding page"] == page * 70272


@pytest.mark.parametrize(
    ("backend", "asked", "effective"),
    [
        ("trtllm_mla", None, 64),
        ("trtllm_mha", 32, 32),
        ("trtllm_mha", 8, 64),
        ("flashmla", 16, 64),
        ("triton", 16, 16),
        ("cutlass_mla", None, 128),
    ],
)
def test_a_backend_decides_the_page_size(plan, backend, asked, effective):
    planned = plan(arguments={"attention-backend": backend}, page_size=asked)
    assert planned.as_dict()["host_cache"]["page_size"] == effective
    replaced = f"The attention backend {backend} replaces page_size {asked} by {effective}."
    assert (replaced in planned.notes) is (asked is not None and asked != effective)


def test_a_cap_on_tokens(plan):
    assert plan(max_total_tokens=100_000).tokens == 100_000
    planned = plan(max_total_tokens=1_000_000)
    assert planned.tokens == 159294
    assert (
        "max_total_tokens 1,000,000 is more than the 159,294 tokens that fit: the engine takes the latter."
        in planned.notes
    )


@pytest.mark.parametrize(
    ("dtype", "tokens"),
    [("auto", 159294), ("bf16", 159294), ("bfloat16", 159294), ("fp8_e4m3", 318588), ("fp8_e5m2", 318588)],
)
def test_kv_cache_dtype(plan, dtype, tokens):
    assert plan(kv_cache_dtype=dtype).tokens == pytest.approx(tokens, abs=1)


def test_fp8_by_the_checkpoint_itself(plan, request_for, kimi):
    from dataclasses import replace

    assert plan(model=replace(kimi, kv_cache_dtype="fp8_e4m3")).cell_bytes == 35136
    assert plan(model=replace(kimi, kv_cache_dtype="fp8_e4m3"), kv_cache_dtype="bfloat16").cell_bytes == 70272


def test_weights_that_leave_nothing(plan):
    with pytest.raises(PlanningError) as refused:
        plan(mem_fraction_static=0.76)
    assert str(refused.value) == (
        "The weights take 72.33 GiB of each card's 94.04 GiB, which leaves no KV cache at mem_fraction_static 0.76; "
        "expected a higher fraction: raise mem_fraction_static, at most 0.929 leaves room for a prefill."
    )


def test_weights_larger_than_the_card(plan):
    hardware = {"gpu_free_before_load_gib": None, "gpu_free_after_load_gib": None, "gpu_free_gib": 40}
    with pytest.raises(PlanningError, match=r"expected weights that fit: raise tp, or choose a smaller checkpoint\."):
        plan(hardware=hardware, calibration={})


def test_measured_activations_raise_the_headroom(plan):
    graphs = {"graph_bytes": int(3.75 * GIB)}
    assert plan(calibration={**graphs, "activation_bytes": 5 * GIB}).tokens
    with pytest.raises(PlanningError, match=r"leaves 5\.53 GiB free .* and 6\.00 GiB are what a chunk"):
        plan(calibration={**graphs, "activation_bytes": 6 * GIB})


def test_where_no_fraction_leaves_the_headroom_the_refusal_says_what_would(plan):
    with pytest.raises(
        PlanningError,
        match=r"No fraction leaves that: lower context_length, max_running_requests or cuda_graph_max_bs\.",
    ):
        plan(mem_fraction_static=0.88, headroom_gib=30)
