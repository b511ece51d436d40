/* Copyright: (c) 2026, blackwell.inference contributors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What every call has in common: the lock, the log, faults asked for by the description, the rule that a library is
 * initialised first and that a lost GPU answers nothing.
 *
 *     nvmlReturn_t nvmlDeviceGetX(nvmlDevice_t device, T *x)
 *     {
 *         struct call call;
 *         if (!begin_device_call(&call, __func__, device))
 *             return call.status;
 *         ...
 *         return end_call(status);
 *     }
 */
#ifndef FAKE_NVML_CALL_H
#define FAKE_NVML_CALL_H

#include <nvml.h>

struct call {
    int gpu;
    nvmlReturn_t status; /* the answer, when begin_* says that there is nothing more to do */
};

/* Each answers 1 with the lock held, to be given back by end_call(), or 0 with call->status set. */
int begin_call(struct call *call, const char *function);        /* works before nvmlInit */
int begin_system_call(struct call *call, const char *function); /* needs nvmlInit */
int begin_index_call(struct call *call, const char *function, unsigned int index);
int begin_device_call(struct call *call, const char *function, nvmlDevice_t device);
nvmlReturn_t end_call(nvmlReturn_t status);

/* Between begin_call() and end_call() only. */
void count_initialisation(void);
nvmlReturn_t count_shutdown(void);

#endif
