/* Copyright: (c) 2026, blackwell.inference contributors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "call.h"

#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host.h"

#define MAX_COUNTERS 4096
#define NO_GPU (-1)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int initialisations;

static struct {
    char function[80];
    int gpu;
    long calls;
} counters[MAX_COUNTERS];

static long count_call(const char *function, int gpu)
{
    for (int i = 0; i < MAX_COUNTERS; i++) {
        if (!counters[i].calls) {
            snprintf(counters[i].function, sizeof(counters[i].function), "%s", function);
            counters[i].gpu = gpu;
        }
        if (counters[i].gpu == gpu && strcmp(counters[i].function, function) == 0)
            return ++counters[i].calls;
    }
    return 1;
}

/* One line a call, "PID FUNCTION GPU": lets a test say which calls were made, and that no other was. */
static void log_call(const char *function, int gpu)
{
    const char *path = getenv("FAKE_NVML_LOG");
    FILE *log = path ? fopen(path, "a") : NULL;

    if (!log)
        return;
    fprintf(log, "%ld %s %d\n", (long)getpid(), function, gpu);
    fclose(log);
}

static double number_or(const struct json *object, const char *key, double fallback)
{
    const struct json *value = json_member(object, key);
    return value && value->kind == JSON_NUMBER ? value->number : fallback;
}

static int fault_applies(const struct json *fault, const char *function, int gpu, long nth)
{
    const struct json *pattern = json_member(fault, "function");
    double after = number_or(fault, "after", 0), times = number_or(fault, "times", 1e15);

    return pattern && pattern->kind == JSON_STRING && fnmatch(pattern->string, function, 0) == 0 &&
           number_or(fault, "gpu", gpu) == gpu && nth > after && nth <= after + times;
}

/* Every fault that applies delays; the first that returns something decides what. */
static nvmlReturn_t apply_faults(const char *function, int gpu, long nth, double *delay_ms)
{
    const struct json *faults = host_value("faults"), *fault;
    nvmlReturn_t status = NVML_SUCCESS;

    for (int i = 0; (fault = json_element(faults, i)); i++) {
        const struct json *wanted = json_member(fault, "return");
        if (!fault_applies(fault, function, gpu, nth))
            continue;
        *delay_ms += number_or(fault, "delay_ms", 0);
        if (status == NVML_SUCCESS && wanted && wanted->kind == JSON_STRING)
            status = status_of_name(wanted->string);
    }
    return status;
}

/* A call that hangs in the driver cannot be interrupted by a signal handler, so neither can this. */
static void sleep_without_lock(double delay_ms)
{
    struct timespec left = {(time_t)(delay_ms / 1000), (long)(delay_ms * 1e6) % 1000000000L};

    pthread_mutex_unlock(&lock);
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
    pthread_mutex_lock(&lock);
}

/* A GPU with a "state" answers it to everything; its handle is refused only when it has fallen off the bus. */
static nvmlReturn_t state_of_gpu(const char *function, int gpu)
{
    const struct json *state = gpu_value(gpu, "state");
    nvmlReturn_t status;

    if (!state || state->kind != JSON_STRING)
        return NVML_SUCCESS;
    status = status_of_name(state->string);
    if (status != NVML_ERROR_GPU_IS_LOST && strncmp(function, "nvmlDeviceGetHandleBy", 21) == 0)
        return NVML_SUCCESS;
    return status;
}

static int begin(struct call *call, const char *function, int gpu, int needs_initialisation)
{
    double delay_ms = 0;

    pthread_mutex_lock(&lock);
    call->gpu = gpu;
    log_call(function, gpu);
    if (!host_refresh()) {
        call->status = end_call(NVML_ERROR_DRIVER_NOT_LOADED);
        return 0;
    }
    call->status = apply_faults(function, gpu, count_call(function, gpu), &delay_ms);
    if (delay_ms > 0)
        sleep_without_lock(delay_ms);
    if (call->status == NVML_SUCCESS && needs_initialisation && !initialisations)
        call->status = NVML_ERROR_UNINITIALIZED;
    if (call->status == NVML_SUCCESS && gpu != NO_GPU)
        call->status = gpu < host_gpu_count() ? state_of_gpu(function, gpu) : NVML_ERROR_INVALID_ARGUMENT;
    if (call->status == NVML_SUCCESS)
        return 1;
    end_call(call->status);
    return 0;
}

int begin_call(struct call *call, const char *function)
{
    return begin(call, function, NO_GPU, 0);
}

int begin_system_call(struct call *call, const char *function)
{
    return begin(call, function, NO_GPU, 1);
}

int begin_index_call(struct call *call, const char *function, unsigned int index)
{
    return begin(call, function, index < MAX_GPUS ? (int)index : MAX_GPUS, 1);
}

int begin_device_call(struct call *call, const char *function, nvmlDevice_t device)
{
    int gpu = gpu_of_handle(device);
    return begin(call, function, gpu < 0 ? MAX_GPUS : gpu, 1);
}

nvmlReturn_t end_call(nvmlReturn_t status)
{
    pthread_mutex_unlock(&lock);
    return status;
}

void count_initialisation(void)
{
    initialisations++;
}

nvmlReturn_t count_shutdown(void)
{
    if (!initialisations)
        return NVML_ERROR_UNINITIALIZED;
    initialisations--;
    return NVML_SUCCESS;
}
