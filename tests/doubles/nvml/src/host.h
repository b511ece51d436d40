/* Copyright: (c) 2026, blackwell.inference contributors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The described host: where its description comes from, and how the answers find their values in it.
 */
#ifndef FAKE_NVML_HOST_H
#define FAKE_NVML_HOST_H

#include <nvml.h>

#include "json.h"

#define MAX_GPUS 64

/* Reads the description again when its file has changed. Answers 0 when there is none, or none that can be read. */
int host_refresh(void);

int host_gpu_count(void);

/* A value of the whole host ("driver.version"), or NULL. */
const struct json *host_value(const char *path);

/* A value of one GPU: its own, or that of the defaults. NULL when neither has it. */
const struct json *gpu_value(int gpu, const char *path);

nvmlDevice_t gpu_handle(int gpu);
int gpu_of_handle(nvmlDevice_t device); /* -1 for what is no handle of this library */

/* Values in words of NVML. Absent or null is NVML_ERROR_NOT_SUPPORTED, and the string "!TIMEOUT" is that error. */
nvmlReturn_t read_number(const struct json *value, double *number);
nvmlReturn_t read_text(const struct json *value, char *text, unsigned int length);

nvmlReturn_t status_of_name(const char *name);
const char *text_of_status(nvmlReturn_t status);

#endif
