/* Copyright: (c) 2026, blackwell.inference contributors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Processes that hold memory of a GPU. One marked "live" counts only while its pid runs: a zombie has given its memory
 * back, and so has one that is gone.
 */
#ifndef FAKE_NVML_PROCESSES_H
#define FAKE_NVML_PROCESSES_H

/* Bytes allocated on a GPU, by processes seen or unseen, without what the driver reserves for itself. */
double gpu_used_bytes(int gpu);

#endif
