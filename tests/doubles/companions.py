# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes that a test starts and that must not outlive it, whatever ends the test."""

from __future__ import annotations

DIES_WITH_US = ("setpriv", "--pdeathsig=KILL", "--")
"""In front of a command: the kernel kills it when the thread that started it is gone. It keeps its process number."""
