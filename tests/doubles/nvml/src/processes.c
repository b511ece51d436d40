/* Copyright: (c) 2026, blackwell.inference contributors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "processes.h"

#include <stdio.h>
#include <string.h>

#include "call.h"
#include "host.h"

#define NOT_PARTITIONED 0xFFFFFFFFu

static int is_alive(long pid)
{
    char path[64], line[512];
    const char *state = NULL;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    file = fopen(path, "r");
    if (!file)
        return 0;
    if (fgets(line, sizeof(line), file))
        state = strrchr(line, ')'); /* the name before it may hold anything */
    fclose(file);
    return state && state[1] == ' ' && state[2] != 'Z' && state[2] != 'X';
}

static double number_of(const struct json *process, const char *key)
{
    double number = 0;
    read_number(json_member(process, key), &number);
    return number;
}

static int counts(const struct json *process)
{
    return !json_is_true(json_member(process, "live")) || is_alive((long)number_of(process, "pid"));
}

double gpu_used_bytes(int gpu)
{
    const struct json *processes = gpu_value(gpu, "processes"), *process;
    double used_bytes = 0;

    read_number(gpu_value(gpu, "memory.idle_used_bytes"), &used_bytes);
    for (int i = 0; (process = json_element(processes, i)); i++)
        if (counts(process))
            used_bytes += number_of(process, "used_bytes");
    return used_bytes;
}

/* "hidden": in another pid namespace, so its memory is used but the list does not name it. */
static int is_listed(const struct json *process, const char *kind)
{
    const struct json *own = json_member(process, "kind");
    const char *own_kind = own && own->kind == JSON_STRING ? own->string : "compute";

    return strcmp(own_kind, kind) == 0 && !json_is_true(json_member(process, "hidden")) && counts(process);
}

static void describe(const struct json *process, nvmlProcessInfo_v2_t *info)
{
    double used_bytes;

    info->pid = (unsigned int)number_of(process, "pid");
    info->gpuInstanceId = info->computeInstanceId = NOT_PARTITIONED;
    info->usedGpuMemory = (unsigned long long)NVML_VALUE_NOT_AVAILABLE;
    if (read_number(json_member(process, "used_bytes"), &used_bytes) == NVML_SUCCESS)
        info->usedGpuMemory = (unsigned long long)used_bytes;
}

/* First asked with room for none, then with room for as many as were named: NVML's way with lists. The first version's
 * record is the second's without its tail, so `record_size` tells them apart. */
static nvmlReturn_t list_processes(const char *function, const char *kind, nvmlDevice_t device, unsigned int *count,
                                   void *records, size_t record_size)
{
    const struct json *processes, *process;
    unsigned int room, found = 0;
    double unused;
    nvmlReturn_t status;
    struct call call;

    if (!count)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!begin_device_call(&call, function, device))
        return call.status;
    processes = gpu_value(call.gpu, "processes");
    if (!processes || processes->kind != JSON_ARRAY) {
        status = read_number(processes, &unused); /* null or "!ERROR": this host lists none */
        return end_call(status);
    }
    room = records ? *count : 0;
    for (int i = 0; (process = json_element(processes, i)); i++) {
        nvmlProcessInfo_v2_t info;
        if (!is_listed(process, kind))
            continue;
        memset(&info, 0, sizeof(info));
        describe(process, &info);
        if (found < room)
            memcpy((char *)records + found * record_size, &info, record_size);
        found++;
    }
    *count = found;
    return end_call(found > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS);
}

#define PROCESS_LIST(function, kind, record)                                                                           \
    nvmlReturn_t function(nvmlDevice_t device, unsigned int *count, record *infos)                                     \
    {                                                                                                                  \
        return list_processes(__func__, kind, device, count, infos, sizeof(record));                                   \
    }

PROCESS_LIST(nvmlDeviceGetComputeRunningProcesses, "compute", nvmlProcessInfo_v1_t)
PROCESS_LIST(nvmlDeviceGetComputeRunningProcesses_v2, "compute", nvmlProcessInfo_v2_t)
PROCESS_LIST(nvmlDeviceGetComputeRunningProcesses_v3, "compute", nvmlProcessInfo_t)
PROCESS_LIST(nvmlDeviceGetGraphicsRunningProcesses, "graphics", nvmlProcessInfo_v1_t)
PROCESS_LIST(nvmlDeviceGetGraphicsRunningProcesses_v2, "graphics", nvmlProcessInfo_v2_t)
PROCESS_LIST(nvmlDeviceGetGraphicsRunningProcesses_v3, "graphics", nvmlProcessInfo_t)
PROCESS_LIST(nvmlDeviceGetMPSComputeRunningProcesses, "mps", nvmlProcessInfo_v1_t)
PROCESS_LIST(nvmlDeviceGetMPSComputeRunningProcesses_v2, "mps", nvmlProcessInfo_v2_t)
PROCESS_LIST(nvmlDeviceGetMPSComputeRunningProcesses_v3, "mps", nvmlProcessInfo_t)

nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length)
{
    char path[64];
    size_t read;
    FILE *file;
    struct call call;

    if (!name || !length)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!begin_system_call(&call, __func__))
        return call.status;
    snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
    file = fopen(path, "r");
    if (!file)
        return end_call(NVML_ERROR_NOT_FOUND);
    read = fread(name, 1, length - 1, file);
    name[read] = '\0';
    fclose(file);
    return end_call(NVML_SUCCESS);
}
