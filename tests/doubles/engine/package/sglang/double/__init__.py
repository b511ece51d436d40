# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of the engine double. It reads its arguments, the model directory and a recording of a host, and never a plan.

Strings that the engine prints or answers were recorded from, or read in, the published wheels of the versions named beside them.
"""
