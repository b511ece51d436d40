# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What rules a plan out at once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import PlanningError
from ansible_collections.blackwell.inference.plugins.module_utils.model.attention import GqaGeometry, OtherAttention
from ansible_collections.blackwell.inference.plugins.module_utils.model.spec import Weights
from ansible_collections.blackwell.inference.plugins.module_utils.planning.planner import plan_memory
from ansible_collections.blackwell.inference.plugins.module_utils.planning.preflight import possible_tp, preflight
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.host import GpuState

NO_LOAD_FIGURES = {"gpu_free_gib": 95.01, "gpu_free_before_load_gib": None, "gpu_free_after_load_gib": None}


def refusal(plan, **options):
    with pytest.raises(PlanningError) as refused:
        plan(**options)
    (row,) = refused.value.details["refusals"]
    return row["name"], row["message"]


@pytest.mark.parametrize(
    ("model", "tp", "message"),
    [
        pytest.param(
            {},
            6,
            "serving.tp is 6, which does not divide its 64 attention heads (kimi-k2.5): set tp to one of 1, 2, 4, 8, 16, 32, 64.",
            id="heads",
        ),
        pytest.param(
            {"experts": 6},
            8,
            "serving.tp is 8, which is more than its 6 experts (kimi-k2.5): set tp to one of 1, 2, 4.",
            id="experts",
        ),
        pytest.param(
            {"attention": GqaGeometry(24, 6, 128, 128)},
            4,
            "serving.tp is 4, which does not divide its 6 key-value heads, nor is it a multiple of them (kimi-k2.5): set tp to one of 1, 2, 3, 6, 12, 24.",
            id="key-value heads",
        ),
    ],
)
def test_tp_that_does_not_divide(plan, kimi, model, tp, message):
    assert refusal(plan, model=replace(kimi, **model), tp=tp) == ("tensor_parallel", message)


@pytest.mark.parametrize(
    ("kv_heads", "expected"), [(4, [1, 2, 4, 8, 16, 32]), (8, [1, 2, 4, 8, 16, 32]), (1, [1, 2, 4, 8, 16, 32])]
)
def test_possible_tp_with_copies_of_heads(llama, kv_heads, expected):
    assert possible_tp(replace(llama, attention=GqaGeometry(32, kv_heads, 128, 128)), 1) == expected


def test_no_gpu(plan):
    assert refusal(plan, hardware={"gpus": 0}) == (
        "gpu_count",
        "serving.tp is 8 and asks for 8 usable GPUs; this host shows none. Install the driver and look at topology_facts, or set serving.device to cpu.",
    )


def test_no_gpu_and_drafts(plan, kimi):
    """What the pools would be sized from needs a card; that there is none is said instead."""
    model = replace(kimi, draft_layers=1)
    found = refusal(plan, model=model, hardware={"gpus": 0}, speculative_algorithm="EAGLE")
    assert found[0] == "gpu_count"


def test_no_gpu_and_the_drivers_own_words(request_for):
    request = request_for(hardware={"gpus": 0})
    (found,) = preflight(
        replace(request, host=replace(request.host, driver_error="libnvidia-ml.so.1 cannot be loaded."))
    )
    assert "this host shows none (libnvidia-ml.so.1 cannot be loaded). Install the driver" in found.message


def test_fewer_gpus_than_ranks(plan):
    assert refusal(plan, hardware={"gpus": 4}) == (
        "gpu_count",
        "serving.tp is 8 and asks for 8 usable GPUs; this host has 4, of which 4 can be used. Lower tp or add cards.",
    )


def with_lost(request, index):
    gpus = list(request.host.gpus)
    gpus[index] = GpuState(index, "GPU-3", "lost", 0, 0, "nvml")
    return replace(request, host=replace(request.host, gpus=tuple(gpus)))


def test_a_lost_gpu_among_them(request_for):
    (found,) = preflight(with_lost(request_for(), 3))
    assert (found.name, found.message) == (
        "gpu_count",
        "serving.tp is 8 and asks for 8 usable GPUs; this host has 8, of which 7 can be used; GPU 3 (GPU-3) is in state lost. "
        "Bring the missing ones back or lower tp.",
    )


def test_a_lost_gpu_that_is_not_needed(request_for):
    request = with_lost(request_for(tp=4), 1)
    assert preflight(request) == ()
    assert [gpu.index for gpu in request.gpus] == [0, 2, 3, 4]


@pytest.mark.parametrize(
    ("arguments", "cards"),
    [
        ({}, [0, 1]),
        ({"base-gpu-id": 4}, [4, 5]),
        ({"base-gpu-id": 1, "gpu-id-step": 2}, [1, 3]),
        ({"gpu-id-step": 4}, [0, 4]),
    ],
)
def test_which_cards_the_engine_takes(request_for, arguments, cards):
    request = request_for(tp=2, arguments=arguments)
    assert [gpu.index for gpu in request.gpus] == cards
    assert preflight(request) == ()


def test_a_base_that_leaves_too_few_cards(plan):
    assert refusal(plan, arguments={"base-gpu-id": 4}) == (
        "gpu_count",
        "serving.tp is 8 and asks for 8 usable GPUs; this host has 8, of which 8 can be used. "
        "base-gpu-id and gpu-id-step in arguments lead to 4 of them: remove those or lower tp.",
    )


@pytest.mark.parametrize(
    ("visible", "arguments", "cards"),
    [
        ("4,5", {}, [4, 5]),
        (" 6, 2 ", {}, [6, 2]),
        (3, {}, None),
        ("4,5,6,7", {"base-gpu-id": 2}, [6, 7]),
        ("0,2,4,6", {"gpu-id-step": 2}, [0, 4]),
        ("data-4", {}, "refused"),
        ("0,GPU-b", {}, [0, 2]),
        ("GPU-c,GPU-b", {}, [3, 2]),
    ],
)
def test_which_cards_the_process_sees(request_for, visible, arguments, cards):
    request = request_for(tp=2, arguments=arguments, replaced={"environment": {"CUDA_VISIBLE_DEVICES": visible}})
    named = [replace(gpu, uuid={2: "GPU-b1", 3: "GPU-c1"}.get(gpu.index, gpu.uuid)) for gpu in request.host.gpus]
    request = replace(request, host=replace(request.host, gpus=tuple(named)))
    names = [found.name for found in preflight(request)]
    if cards == "refused":
        assert names == ["visible_devices"]
    elif cards is None:
        assert names == ["gpu_count"]
    else:
        assert names == []
        assert [gpu.index for gpu in request.gpus] == cards


@pytest.mark.parametrize(
    ("visible", "word"),
    [
        ("0,9", "9"),
        ("0,0", "0"),
        ("-1", "-1"),
        ("", ""),
        ("0,", ""),
        ("MIG-7", "MIG-7"),
        ("GPU-", "GPU-"),
        ("data", "data"),
    ],
)
def test_cards_that_cannot_be_named_so(plan, visible, word):
    assert refusal(plan, replaced={"environment": {"CUDA_VISIBLE_DEVICES": visible}}) == (
        "visible_devices",
        f"CUDA_VISIBLE_DEVICES in the environment is '{visible}', where '{word}' names no usable GPU, or one that is named already; the usable ones are "
        "0 to 7, or by UUID. Correct it, or leave it out and choose GPUs with base-gpu-id and gpu-id-step in arguments.",
    )


def test_the_process_sees_fewer_cards_than_ranks(plan):
    assert refusal(plan, replaced={"environment": {"CUDA_VISIBLE_DEVICES": "0,1"}}) == (
        "gpu_count",
        "serving.tp is 8 and asks for 8 usable GPUs; this host has 8, of which 8 can be used. "
        "CUDA_VISIBLE_DEVICES in the environment, base-gpu-id and gpu-id-step in arguments lead to 2 of them: remove those or lower tp.",
    )


def test_the_poorest_of_the_cards_that_are_used_decides(request_for, llama):
    request = request_for(model=llama, tp=2, calibration={}, hardware=NO_LOAD_FIGURES)
    gpus = tuple(replace(gpu, free_bytes=(10 if gpu.index == 0 else 95) << 30) for gpu in request.host.gpus)
    request = replace(request, host=replace(request.host, gpus=gpus), environment={"CUDA_VISIBLE_DEVICES": "2,3"})
    assert plan_memory(request).as_dict()["gpu"]["cards"] == [2, 3]
    assert plan_memory(request).gpu.ledger.capacity.size_bytes == 95 << 30


@pytest.mark.parametrize("name", ["PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"])
def test_expandable_segments_are_noted(plan, name):
    sentence = (
        f"{name} turns expandable_segments on, whose memory the ranks cannot share for one-shot all-reduce over PCIe: "
        "leave it out where the engine is to use that."
    )
    assert sentence in plan(replaced={"environment": {name: "max_split_size_mb:64,expandable_segments:True"}}).notes
    assert sentence not in plan(replaced={"environment": {name: "expandable_segments:False"}}).notes


def test_cards_of_unequal_free_memory(request_for):
    request = request_for()
    gpus = tuple(replace(gpu, free_bytes=(95 if gpu.index else 60) << 30) for gpu in request.host.gpus)
    (found,) = preflight(replace(request, host=replace(request.host, gpus=gpus)))
    assert (found.name, found.overridable) == ("gpu_balance", True)
    assert found.message == (
        "GPU 0 has 60.00 GiB free and GPU 1 has 95.00 GiB; the engine ends its start when a card has less than 90 % of another. "
        "Find who holds that card and release it."
    )


def test_cards_of_nearly_equal_free_memory(request_for):
    request = request_for()
    gpus = tuple(replace(gpu, free_bytes=(95 if gpu.index else 86) << 30) for gpu in request.host.gpus)
    assert preflight(replace(request, host=replace(request.host, gpus=gpus))) == ()


def test_attention_that_is_not_sized(plan, kimi):
    model = replace(kimi, attention=OtherAttention("linear-attention layers", 64))
    assert refusal(plan, model=model) == (
        "attention",
        "kimi-k2.5 (KimiK25ForConditionalGeneration) has linear-attention layers; planning knows multi-head, grouped-query, latent (MLA), "
        "sliding-window and linear attention. Choose such a model.",
    )


def test_no_weights(plan, kimi):
    model = replace(kimi, weights=Weights(0, 0, "safetensors"))
    assert refusal(plan, model=model) == (
        "weights",
        "The model directory of kimi-k2.5 holds no safetensors weights; expected at least one .safetensors file. "
        "Download the checkpoint, or set the argument load-format to dummy for random weights.",
    )
    assert plan(model=model, arguments={"load-format": "dummy"}).tokens > 0


def test_a_context_that_the_model_does_not_declare(plan):
    assert refusal(plan, context_length=262145) == (
        "context_length",
        "serving.context_length is 262,145; kimi-k2.5 declares 262,144 tokens at most, and the engine refuses more. Lower context_length.",
    )
    assert plan(context_length=262145, force=["context_length"]).settings["context_length"] == 262145


def test_a_host_cache_without_the_radix_cache(plan):
    assert refusal(plan, hicache_size=48, arguments={"disable-radix-cache": True}) == (
        "radix_cache",
        "A host cache is asked for and arguments has disable-radix-cache; the host cache needs the radix cache, and the engine refuses both together. "
        "Remove disable-radix-cache, or set serving.hicache to false.",
    )
    assert plan(arguments={"disable-radix-cache": True}).pool is None


@pytest.mark.parametrize(
    "arguments", [{"dp-size": 2}, {"nnodes": 2}, {"enable-lora": True}, {"enable-dp-attention": True}]
)
def test_flags_whose_memory_is_not_counted(plan, arguments):
    (flag,) = arguments
    assert refusal(plan, arguments=arguments) == (
        "unplanned_argument",
        f"arguments has {flag}, whose memory planning does not count: leave it out.",
    )
    assert plan(arguments=arguments, force=["unplanned_argument"]).forced == ("unplanned_argument",)


@pytest.mark.parametrize("arguments", [{"dp-size": 1}, {"enable-dp-attention": False}, {"nnodes": 1}])
def test_the_same_flags_at_their_defaults(plan, arguments):
    assert plan(arguments=arguments).tokens == 159294


@pytest.mark.parametrize(("dp", "choices"), [(3, "1, 2, 4, 8"), (16, "1, 2, 4, 8")])
def test_groups_that_do_not_divide_the_ranks(plan, dp, choices):
    assert refusal(plan, dp=dp) == (
        "data_parallel",
        f"serving.dp is {dp} and serving.tp is 8; attention data parallelism divides the ranks of tp into groups: set dp to one of {choices}.",
    )


def test_more_stages_than_layers(plan, kimi):
    assert refusal(plan, model=replace(kimi, layers=2), tp=2, pp=4) == (
        "pipeline",
        "serving.pp is 4 and kimi-k2.5 has 2 layers; a stage needs one at least: lower pp.",
    )


def test_stages_ask_for_cards_too(plan):
    name, message = refusal(plan, tp=8, pp=2)
    assert name == "gpu_count"
    assert message.startswith(
        "serving.tp x serving.pp (8 x 2) is 16 and asks for 16 usable GPUs; this host has 8, of which 8 can be used."
    )


@pytest.mark.parametrize(
    ("algorithm", "why"),
    [
        ("EAGLE3", "which this algorithm needs"),
        ("NEXTN", "and none inside the checkpoint either (it has no MTP layers)"),
    ],
)
def test_nothing_to_draft_with(plan, algorithm, why):
    assert refusal(plan, speculative_algorithm=algorithm) == (
        "speculation",
        f"serving.speculative_algorithm is {algorithm}, and no draft model is given, {why}. "
        "Set inference_draft_model_path to the draft's directory, or leave the algorithm out.",
    )


def test_mtp_layers_draft_by_themselves(plan, kimi):
    assert plan(model=replace(kimi, draft_layers=1), speculative_algorithm="NEXTN").tokens


@pytest.mark.parametrize("experts", [8, 60, 100, 384])
def test_experts_are_each_divided_and_so_need_not_divide_by_the_ranks(plan, kimi, experts):
    """60 experts serve on 8 ranks: SGLang ends the start only where there are fewer experts than ranks."""
    assert plan(model=replace(kimi, experts=experts)).tokens


def test_where_no_size_will_do_a_lower_dp_is_asked_for(plan, kimi):
    with pytest.raises(PlanningError) as refused:
        plan(model=replace(kimi, experts=3), dp=4)
    assert refused.value.details["refusals"][0]["message"] == (
        "serving.tp is 8 in 4 groups, which is more than its 3 experts (kimi-k2.5): set tp to one of those that a lower dp leaves."
    )


def test_cards_of_different_sizes_are_not_taken_for_held_ones(request_for):
    request = request_for()
    cards = tuple(
        replace(gpu, total_bytes=(32 if gpu.index else 96) << 30, free_bytes=(31 if gpu.index else 95) << 30)
        for gpu in request.host.gpus
    )
    (found,) = preflight(replace(request, host=replace(request.host, gpus=cards)))
    assert found.message.endswith("They are of different sizes: name cards of one size in CUDA_VISIBLE_DEVICES.")
