# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A double of SGLang for tests: the command line, log lines, sizes and answers of the engine, without the engine."""

from __future__ import annotations

from sglang.version import __version__

__all__ = ["__version__"]
