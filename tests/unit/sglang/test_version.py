# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions and their order."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import EngineError
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.version import EngineVersion


def test_order():
    texts = ["0.5.9", "0.5.10rc0", "0.5.10.post1", "0.5.12+g1a2b3c", "0.5.23", "0.6.0", "1.0.0"]
    versions = [EngineVersion.parse(text) for text in texts]
    assert all(one < other for one, other in pairwise(versions))
    assert EngineVersion.parse("0.5.10rc0") == EngineVersion.parse("0.5.10")


@pytest.mark.parametrize("text", ["", "latest", "0.5", "v0.5.9", "0.5.9.1", "0.5.9; true", None, 0.5, ["0.5.9"]])
def test_what_is_no_version(text):
    with pytest.raises(EngineError) as refused:
        EngineVersion.parse(text)
    assert str(refused.value) == (
        f'The engine version is {text!r}, which is no version of SGLang: write it like "0.5.9" or "0.5.10.post1", in quotes.'
    )
