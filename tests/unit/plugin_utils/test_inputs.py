# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inputs that no deployment can be made of: each sentence word for word, and no secret in any."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.blackwell.inference.plugins.plugin_utils import inputs

SERVICE = {"instance": "kimi", "description": "On the third floor", "model_path": "/srv/models/kimi", "environment": {}}
SHIPPED = ["kimi-k2.5", "qwen3"]


def service(**values: Any) -> str | None:
    return inputs.service_refusal({**SERVICE, **values})


@pytest.mark.parametrize(
    ("refusal", "sentence"),
    [
        (
            inputs.profile_refusal(None, "", False, SHIPPED),
            "No profile was named. Set inference_profile to one of kimi-k2.5, qwen3, or to the path of a profile file of your own.",
        ),
        (
            inputs.profile_refusal("kimi-k9", "/p/kimi-k9.yml", False, SHIPPED),
            "There is no profile kimi-k9: /p/kimi-k9.yml is not a file. One of kimi-k2.5, qwen3, or the path of a profile file of "
            "your own, was expected in inference_profile.",
        ),
        (
            inputs.lacking_refusal("own.yml", {name: 1 for name in inputs.NEEDED if name not in ("port", "model")}),
            "The profile own.yml lacks port, model in inference_profile_data. Add them; docs/interface.md shows a whole profile.",
        ),
        (
            inputs.undefined_refusal(["inference_labels", "inference_api_key"]),
            "The value of inference_api_key and of inference_labels is a template that names an undefined variable. It would count as "
            "not set; define what it names, or correct the name.",
        ),
        (inputs.undefined_refusal([]), None),
        (
            inputs.unknown_refusal(
                ["inference_servng", "inference-hosts", "infer", "inference_hosts"], ["inference_hosts"]
            ),
            "There is no variable inference-hosts and no inference_servng. Variables that begin with inference_ are inference_hosts; "
            "correct the name. All of them stand in docs/interface.md.",
        ),
        (
            inputs.shape_refusal({"inference_serving": "tp=4", "inference_labels": {}, "inference_arguments": [1]}),
            'inference_serving is "tp=4". inference_arguments is [1]. A dictionary of names and values was expected. '
            'On a command line write -e \'{"inference_serving": {"name": "value"}}\'.',
        ),
        (
            inputs.environment_shape_refusal("TOKEN=secret"),
            "inference_environment is no dictionary of names and values, which was expected. On a command line write "
            '-e \'{"inference_environment": {"NAME": "value"}}\'.',
        ),
        (
            inputs.port_refusal("http", 30000),
            'inference_port is "http". A whole number from 1 to 65535 was expected; the profile\'s own is 30000.',
        ),
        (
            inputs.lock_refusal("0.5.20", "/l/requirements-0.5.20.txt", False, ["0.5.9", "0.5.23"]),
            "There is no lock of SGLang 0.5.20: /l/requirements-0.5.20.txt is not a file. The collection pins 0.5.23 and 0.5.9; choose "
            "one of them in inference_sglang_version, or name a requirements file with hashes in inference_sglang_lock.",
        ),
        (
            inputs.nobody_refusal(None, ""),
            "No instance was named, so no process is known to be ours. Set inference_instance, for example to kimi, or "
            "inference_profile to the profile that it was deployed from.",
        ),
        (
            service(instance="Kimi 2"),
            "The instance is called Kimi 2. A name of lower-case letters, digits, hyphens and underscores was expected, because it "
            "becomes part of a unit's name and of paths; choose another sglang_service_instance.",
        ),
        (
            service(description="a\nb"),
            "The description of kimi has more than one line. One line was expected, because it becomes the unit's description; "
            "shorten sglang_service_description.",
        ),
        (
            service(model_path="/var/tmp/kimi"),
            "The model lies in /var/tmp/kimi, and the unit's /tmp and /var/tmp are private: the engine would see nothing there. A path "
            "outside of both was expected; move the model, and say where it is in sglang_service_model_path.",
        ),
        (
            service(
                environment={"NOTE": "a\nb", "2ND": "x", "FLAG": True, "GOOD": "sk-1", "NUMBER": 1.5, "NONE": None}
            ),
            "The environment variables NOTE, 2ND, FLAG, NONE cannot be written to an environment file. Names of letters, digits and "
            "underscores, and texts or numbers of one line, were expected; correct sglang_service_environment.",
        ),
    ],
)
def test_a_refusal_is_a_sentence_of_its_own(refusal: str | None, sentence: str) -> None:
    assert refusal == sentence


@pytest.mark.parametrize(
    "refusal",
    [
        inputs.profile_refusal("kimi-k2.5", "/p/kimi-k2.5.yml", True, SHIPPED),
        inputs.lacking_refusal("own.yml", dict.fromkeys(inputs.NEEDED)),
        inputs.unknown_refusal(["inference_hosts", "sglang_service_port"], ["inference_hosts"]),
        inputs.shape_refusal({"inference_serving": {}}),
        inputs.environment_shape_refusal({}),
        inputs.port_refusal(30000, 1),
        inputs.port_refusal("65535", 1),
        inputs.lock_refusal("0.5.9", "/l", True, []),
        inputs.nobody_refusal("kimi", None),
        inputs.nobody_refusal(None, "kimi-k2.5"),
        service(),
        service(model_path="/tmpfs/kimi", environment={"_A1": "b", "N": 0}),
    ],
)
def test_what_can_work_is_not_refused(refusal: str | None) -> None:
    assert refusal is None


@pytest.mark.parametrize("port", [0, 65536, -1, 80.5, "", None, "80 "])
def test_a_port_is_a_whole_number_of_the_protocol(port: Any) -> None:
    assert (inputs.port_refusal(port, 30000) or "").startswith("inference_port is ")


@pytest.mark.parametrize("name", ["kimi\n", "", "-kimi", "Kimi", "a b", "kimi.service"])
def test_a_name_that_systemd_or_a_path_would_not_carry(name: str) -> None:
    assert (service(instance=name) or "").startswith("The instance is called ")


def test_the_playbook_adds_its_own_names() -> None:
    names = inputs.playbook_names()
    refusal = inputs.service_refusal({**SERVICE, "instance": "K"}, names)
    assert (refusal or "").endswith("; choose another sglang_service_instance (`inference_instance`).")
