# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every bad input ends before anything is touched, with a sentence of its own: what was seen, what was expected, what to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from ansible_collections.blackwell.inference.tests.integration.loop.machine import Machine

pytestmark = pytest.mark.testhost


@dataclass(frozen=True)
class Bad:
    """Variables that are wrong, or commands that make the host so (`undo` puts it back), and what the refusal must name."""

    name: str
    says: tuple[str, ...]
    variables: dict[str, Any] = field(default_factory=dict)
    spoil: str = "true"
    undo: str = "true"


LIBRARY = "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"
PUBLISHED_LOCK = "{{ __inference_roles }}/sglang_runtime/files/requirements-0.5.9.txt"
CASES = [
    Bad(
        "unknown profile",
        ("There is no profile kimi-k9", "kimi-k2.5", "inference_profile"),
        {"inference_profile": "kimi-k9"},
    ),
    Bad("profile without a port", ("lacks", "port", "Add them"), {"inference_profile_data": {"name": "x"}}),
    Bad(
        "instance that is no name",
        ("The instance is called Kimi 2", "sglang_service_instance (`inference_instance`)"),
        {"inference_instance": "Kimi 2"},
    ),
    Bad(
        "wishes that are no dictionary",
        ('inference_serving is "tp=4"', "A dictionary", "-e"),
        {"inference_serving": "tp=4"},
    ),
    Bad("ranks that do not divide", ("tp is 3", "64", "set tp to one of"), {"inference_serving": {"tp": 3}}),
    Bad("more ranks than GPUs", ("tp is 16", "Lower tp or add cards"), {"inference_serving": {"tp": 16}}),
    Bad(
        "no model directory", ("/srv/models/none", "inference_model_path"), {"inference_model_path": "/srv/models/none"}
    ),
    Bad(
        "model in a private folder",
        ("The model lies in /tmp/kimi", "sglang_service_model_path (`inference_model_path`)"),
        {"inference_model_path": "/tmp/kimi"},
    ),
    Bad(
        "truncated model",
        ("/srv/models/truncated", "model-00001-of-000002.safetensors"),
        {"inference_model_path": "/srv/models/truncated"},
    ),
    Bad(
        "wrong type",
        ("mem_fraction_static", "a lot", "number"),
        {"inference_serving": {"mem_fraction_static": "a lot"}},
    ),
    Bad("unknown wish", ("memory_fraction", "mem_fraction_static"), {"inference_serving": {"memory_fraction": 0.9}}),
    Bad(
        "unknown flag",
        ("--mem-fractoin", "did you mean mem-fraction-static"),
        {"inference_arguments": {"mem-fractoin": 0.9}},
    ),
    Bad(
        "variable that nobody reads",
        ("no variable inference_servng", "inference_serving", "correct the name"),
        {"inference_servng": {"tp": 4}},
    ),
    Bad("port that is none", ('inference_port is "http"', "1 to 65535"), {"inference_port": "http"}),
    Bad("port in use", ("Port 22 is held by process", "ssh.service", "inference_port"), {"inference_port": 22}),
    Bad(
        "no headroom", ("0.93", "0.83 GiB", "mem_fraction_static"), {"inference_serving": {"mem_fraction_static": 0.93}}
    ),
    Bad(
        "host cache too large", ("hicache_size 300", "2,400 GB", "53 GB"), {"inference_serving": {"hicache_size": 300}}
    ),
    Bad(
        "host memory too small",
        ("hicache_ratio 4 asks", "61.44 GB", "host_reserve_gib 10", "set hicache to false"),
        spoil="cp /proc/meminfo /tmp/meminfo && sed -E 's/^(MemAvailable: +).*/\\160000000 kB/' /tmp/meminfo >/proc/meminfo",
        undo="cat /tmp/meminfo >/proc/meminfo",
        variables={"inference_serving": {"hicache_ratio": 4.0}},
    ),
    Bad(
        "no GPU",
        ("libnvidia-ml.so.1", "none", "Install the"),
        spoil=f"mv {LIBRARY} /tmp/",
        undo=f"mv /tmp/{LIBRARY.rpartition('/')[2]} {LIBRARY}",
    ),
    Bad(
        "interpreter that is not there",
        ("/usr/bin/python3.99 on this host cannot be run", "CPython 3.11", "inference_sglang_python"),
        {"inference_sglang_python": "/usr/bin/python3.99", "inference_sglang_lock": PUBLISHED_LOCK},
    ),
    Bad(
        "interpreter that the wheels are not made for",
        (
            "/opt/python-3.13 on this host is Python 3.13",
            "requirements-0.5.9.txt",
            "CPython 3.11",
            "inference_sglang_python",
        ),
        {"inference_sglang_python": "/opt/python-3.13", "inference_sglang_lock": PUBLISHED_LOCK},
        spoil="printf '#!/bin/sh\necho 3.13\n' >/opt/python-3.13; chmod 755 /opt/python-3.13",
        undo="rm /opt/python-3.13",
    ),
    Bad("engine too old", ("0.5.1", "0.5.5", "inference_sglang_version"), {"inference_sglang_version": "0.5.1"}),
    Bad(
        "engine that nothing pins",
        ("no lock of SGLang 0.5.20", "0.5.23 and 0.5.9", "inference_sglang_lock"),
        {
            "inference_sglang_version": "0.5.20",
            "inference_sglang_lock": "{{ __inference_roles }}/sglang_runtime/files/requirements-0.5.20.txt",
        },
    ),
    Bad(
        "key of a variable that nobody defined",
        ("inference_api_key", "undefined variable", "correct the name"),
        {"inference_api_key": "{{ vault_key_of_nobody }}"},
    ),
    Bad(
        "environment variable of two lines",
        ("NOTE", "sglang_service_environment (`inference_environment`)"),
        {"inference_environment": {"NOTE": "a\nb"}},
    ),
]


@pytest.fixture(scope="module", autouse=True)
def nothing_touched(untouched: Machine) -> Iterator[None]:
    """One look before the first of them and one after the last. If something was touched, `-k` with one case after the other shows by which."""
    before = untouched.tree()
    yield
    assert untouched.tree() == before


@pytest.mark.parametrize("bad", CASES, ids=lambda bad: bad.name)
def test_a_bad_input_is_refused_before_anything_is_touched(untouched, bad):
    untouched.spoil(bad.spoil)
    try:
        run = untouched.play("deploy.yml", **bad.variables)
    finally:
        untouched.spoil(bad.undo)
    assert run.returncode != 0
    for words in bad.says:
        assert words in run.failure["msg"]
    assert run.recap["changed"] == 0
