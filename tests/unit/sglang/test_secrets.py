# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nothing secret is shown."""

from __future__ import annotations

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.sglang.secrets import without_secrets


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (
            "python -m sglang.launch_server --api-key s3cret --port 1",
            "python -m sglang.launch_server --api-key ******** --port 1",
        ),
        ("admin_api_key='s3cret', x=1", "admin_api_key=********, x=1"),
        ('{"hf_token": "s3cret"}', '{"hf_token": ********}'),
        ("HF_TOKEN=s3cret", "HF_TOKEN=********"),
        ("Authorization: Bearer s3cret", "Authorization: Bearer ********"),
        ("fetching https://me:s3cret@example.org/x", "fetching https://me:********@example.org/x"),
        ("token hf_AbCdEfGhIjKlMnOpQr is not valid", "token hf_******** is not valid"),
        ("max_total_num_tokens=159277, token usage: 0.02", "max_total_num_tokens=159277, token usage: 0.02"),
    ],
)
def test_a_value_that_looks_secret_is_hidden(line: str, shown: str) -> None:
    assert without_secrets([line]) == [shown]


def test_a_known_secret_is_hidden_wherever_it_stands() -> None:
    assert without_secrets(["odd words around k-123."], ["k-123"]) == ["odd words around ********."]


def test_the_argument_dump_is_left_out() -> None:
    assert without_secrets(["a", "[2026-02-24 10:00:00] server_args={'api_key': 'x'}", "b"]) == ["a", "b"]
