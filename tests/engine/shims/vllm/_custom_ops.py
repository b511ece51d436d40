# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""See the package."""

from __future__ import annotations

from typing import Any, NoReturn


def rotary_embedding(*args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError("this is the stand-in of sglang-cpu-shims, not vllm")
