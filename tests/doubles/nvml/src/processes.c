/* Copyright: (c) 2026, blackwell.inference contributors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "processes.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "host.h"

#define NOT_PARTITIONED 0xFFFFFFFFu
#define MAX_HOLDERS 256

static int is_alive(long pid)
{
    char path[64], line[512];
    const char *state = NULL;
    char letter;
    long threads;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    file = fopen(path, "r");
    if (!file)
        return 0;
    if (fgets(line, sizeof(line), file))
        state = strrchr(line, ')'); /* the name before it may hold anything */
    fclose(file);
    if (!state || sscanf(state, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld", &letter, &threads) != 2)
        return 0;
    return letter == 'Z' ? threads > 1 : letter != 'X'; /* a leader that has exited is counted while others of its threads live */
}

struct holder {
    long pid;
    int sized; /* whether the driver knows how much it holds */
    double used_bytes;
    const char *kind;
    int hidden; /* in another pid namespace: its memory is used, but the list does not name it */
};

struct holders {
    struct holder entries[MAX_HOLDERS];
    int count;
};

static void add(struct holders *holders, struct holder holder)
{
    if (holders->count < MAX_HOLDERS)
        holders->entries[holders->count++] = holder;
}

static double number_of(const struct json *process, const char *key)
{
    double number = 0;
    read_number(json_member(process, key), &number);
    return number;
}

static void add_described(int gpu, struct holders *holders)
{
    const struct json *processes = gpu_value(gpu, "processes"), *process;

    for (int i = 0; (process = json_element(processes, i)); i++) {
        const struct json *kind = json_member(process, "kind");
        struct holder holder = {(long)number_of(process, "pid"), 1, 0, "compute", 0};
        if (json_is_true(json_member(process, "live")) && !is_alive(holder.pid))
            continue;
        holder.sized = read_number(json_member(process, "used_bytes"), &holder.used_bytes) == NVML_SUCCESS;
        holder.hidden = json_is_true(json_member(process, "hidden"));
        if (kind && kind->kind == JSON_STRING)
            holder.kind = kind->string;
        add(holders, holder);
    }
}

/* A program that plays an engine says what it holds in a file of its own: DIRECTORY/GPU/PID, with the bytes in it. Many
 * can do so at once, and none needs to take anything back: the file of a process that is gone counts no more. */
static void add_registered(int gpu, struct holders *holders)
{
    char folder[PATH_MAX];
    const struct json *directory = host_value("process_directory");
    struct dirent *entry;
    DIR *listing;

    if (!directory || directory->kind != JSON_STRING)
        return;
    snprintf(folder, sizeof(folder), "%s/%d", directory->string, gpu);
    listing = opendir(folder);
    while (listing && (entry = readdir(listing))) {
        struct holder holder = {strtol(entry->d_name, NULL, 10), 1, 0, "compute", 0};
        char path[PATH_MAX + NAME_MAX + 2];
        FILE *file;
        if (holder.pid <= 0 || !is_alive(holder.pid))
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        file = fopen(path, "r");
        if (file && fscanf(file, "%lf", &holder.used_bytes) == 1)
            add(holders, holder);
        if (file)
            fclose(file);
    }
    if (listing)
        closedir(listing);
}

static void find_holders(int gpu, struct holders *holders)
{
    holders->count = 0;
    add_described(gpu, holders);
    add_registered(gpu, holders);
}

double gpu_used_bytes(int gpu)
{
    struct holders holders;
    double used_bytes = 0;

    read_number(gpu_value(gpu, "memory.idle_used_bytes"), &used_bytes);
    find_holders(gpu, &holders);
    for (int i = 0; i < holders.count; i++)
        used_bytes += holders.entries[i].used_bytes;
    return used_bytes;
}

static nvmlProcessInfo_v2_t record_of(const struct holder *holder)
{
    nvmlProcessInfo_v2_t record;

    memset(&record, 0, sizeof(record)); /* with its padding: callers may compare records whole */
    record.pid = (unsigned int)holder->pid;
    record.gpuInstanceId = record.computeInstanceId = NOT_PARTITIONED;
    record.usedGpuMemory = (unsigned long long)NVML_VALUE_NOT_AVAILABLE;
    if (holder->sized)
        record.usedGpuMemory = (unsigned long long)holder->used_bytes;
    return record;
}

/* First asked with room for none, then with room for as many as were named: NVML's way with lists. The first version's
 * record is the second's without its tail, so `record_size` tells them apart. */
static nvmlReturn_t list_processes(const char *function, const char *kind, nvmlDevice_t device, unsigned int *count,
                                   void *records, size_t record_size)
{
    const struct json *processes;
    struct holders holders;
    unsigned int room, found = 0;
    double unused;
    struct call call;

    if (!count)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!begin_device_call(&call, function, device))
        return call.status;
    processes = gpu_value(call.gpu, "processes");
    if (!processes || processes->kind != JSON_ARRAY)
        return end_call(read_number(processes, &unused)); /* null or "!ERROR": this host lists none */
    room = records ? *count : 0;
    find_holders(call.gpu, &holders);
    for (int i = 0; i < holders.count; i++) {
        const struct holder *holder = &holders.entries[i];
        nvmlProcessInfo_v2_t record = record_of(holder);
        if (holder->hidden || strcmp(holder->kind, kind) != 0)
            continue;
        if (found < room)
            memcpy((char *)records + found * record_size, &record, record_size);
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
