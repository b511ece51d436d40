/* Copyright: (c) 2026, blackwell.inference contributors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Readings that come in a structure, or that take an argument beside the GPU: memory, clocks, temperature, errors,
 * field values.
 */
#include <nvml.h>

#include <stdio.h>
#include <string.h>

#include "call.h"
#include "host.h"
#include "processes.h"

struct memory {
    double total_bytes, reserved_bytes, used_bytes;
};

static nvmlReturn_t read_memory(int gpu, struct memory *memory)
{
    nvmlReturn_t status;

    memory->reserved_bytes = 0;
    read_number(gpu_value(gpu, "memory.reserved_bytes"), &memory->reserved_bytes);
    status = read_number(gpu_value(gpu, "memory.total_bytes"), &memory->total_bytes);
    memory->used_bytes = gpu_used_bytes(gpu);
    if (memory->used_bytes > memory->total_bytes - memory->reserved_bytes)
        memory->used_bytes = memory->total_bytes - memory->reserved_bytes;
    return status;
}

/* The first version has no field for what the driver reserves, and counts it as used. */
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *info)
{
    struct memory memory;
    nvmlReturn_t status;
    struct call call;

    if (!info)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!begin_device_call(&call, __func__, device))
        return call.status;
    status = read_memory(call.gpu, &memory);
    if (status == NVML_SUCCESS) {
        info->total = (unsigned long long)memory.total_bytes;
        info->used = (unsigned long long)(memory.used_bytes + memory.reserved_bytes);
        info->free = info->total - info->used;
    }
    return end_call(status);
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *info)
{
    struct memory memory;
    nvmlReturn_t status;
    struct call call;

    if (!info)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!begin_device_call(&call, __func__, device))
        return call.status;
    if (info->version != nvmlMemory_v2)
        return end_call(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    status = read_memory(call.gpu, &memory);
    if (status == NVML_SUCCESS) {
        info->total = (unsigned long long)memory.total_bytes;
        info->reserved = (unsigned long long)memory.reserved_bytes;
        info->used = (unsigned long long)memory.used_bytes;
        info->free = info->total - info->reserved - info->used;
    }
    return end_call(status);
}

nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t *info)
{
    double total_bytes = 0, used_bytes = 0;
    nvmlReturn_t status;
    struct call call;

    if (!info)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!begin_device_call(&call, __func__, device))
        return call.status;
    status = read_number(gpu_value(call.gpu, "bar1.total_bytes"), &total_bytes);
    if (status == NVML_SUCCESS) {
        read_number(gpu_value(call.gpu, "bar1.used_bytes"), &used_bytes);
        info->bar1Total = (unsigned long long)total_bytes;
        info->bar1Used = (unsigned long long)used_bytes;
        info->bar1Free = info->bar1Total - info->bar1Used;
    }
    return end_call(status);
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *rates)
{
    double gpu = 0, memory = 0;
    nvmlReturn_t status;
    struct call call;

    if (!rates)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!begin_device_call(&call, __func__, device))
        return call.status;
    status = read_number(gpu_value(call.gpu, "utilization.gpu"), &gpu);
    if (status == NVML_SUCCESS)
        status = read_number(gpu_value(call.gpu, "utilization.memory"), &memory);
    rates->gpu = (unsigned int)gpu;
    rates->memory = (unsigned int)memory;
    return end_call(status);
}

static nvmlReturn_t temperature(const char *function, nvmlDevice_t device, double *celsius)
{
    struct call call;

    if (!begin_device_call(&call, function, device))
        return call.status;
    return end_call(read_number(gpu_value(call.gpu, "temperature"), celsius));
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned int *value)
{
    double celsius = 0;
    nvmlReturn_t status;

    if (!value || sensor != NVML_TEMPERATURE_GPU)
        return NVML_ERROR_INVALID_ARGUMENT;
    status = temperature(__func__, device, &celsius);
    *value = (unsigned int)celsius;
    return status;
}

nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t *reading)
{
    double celsius = 0;
    nvmlReturn_t status;

    if (!reading || reading->sensorType != NVML_TEMPERATURE_GPU)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (reading->version != nvmlTemperature_v1)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    status = temperature(__func__, device, &celsius);
    reading->temperature = (int)celsius;
    return status;
}

/* Clocks are lists in the order of nvmlClockType_t: graphics, SM, memory, video. */
static nvmlReturn_t clock_of(const char *function, nvmlDevice_t device, const char *path, nvmlClockType_t type,
                             unsigned int *clock)
{
    double mhz = 0;
    nvmlReturn_t status;
    struct call call;

    if (!clock || type >= NVML_CLOCK_COUNT)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!begin_device_call(&call, function, device))
        return call.status;
    status = read_number(json_element(gpu_value(call.gpu, path), (int)type), &mhz);
    *clock = (unsigned int)mhz;
    return end_call(status);
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *clock)
{
    return clock_of(__func__, device, "clocks.current_mhz", type, clock);
}

nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *clock)
{
    return clock_of(__func__, device, "clocks.max_mhz", type, clock);
}

static nvmlReturn_t ecc_errors(const char *function, nvmlDevice_t device, nvmlMemoryErrorType_t type,
                               unsigned long long *count)
{
    const char *path = type == NVML_MEMORY_ERROR_TYPE_CORRECTED ? "ecc.corrected" : "ecc.uncorrected";
    double number = 0;
    nvmlReturn_t status;
    struct call call;

    if (!count)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!begin_device_call(&call, function, device))
        return call.status;
    status = read_number(gpu_value(call.gpu, path), &number);
    *count = (unsigned long long)number;
    return end_call(status);
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter,
                                         unsigned long long *count)
{
    (void)counter;
    return ecc_errors(__func__, device, type, count);
}

nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                             nvmlEccCounterType_t counter, nvmlMemoryLocation_t location,
                                             unsigned long long *count)
{
    (void)counter;
    (void)location;
    return ecc_errors(__func__, device, type, count);
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int *corrected, unsigned int *uncorrected,
                                       unsigned int *pending, unsigned int *failed)
{
    static const char *const paths[] = {
        "remapped_rows.corrected",
        "remapped_rows.uncorrected",
        "remapped_rows.pending",
        "remapped_rows.failed",
    };
    unsigned int *const values[] = {corrected, uncorrected, pending, failed};
    nvmlReturn_t status = NVML_SUCCESS;
    struct call call;

    if (!corrected || !uncorrected || !pending || !failed)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!begin_device_call(&call, __func__, device))
        return call.status;
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths) && status == NVML_SUCCESS; i++) {
        double number = 0;
        status = read_number(gpu_value(call.gpu, paths[i]), &number);
        *values[i] = (unsigned int)number;
    }
    return end_call(status);
}

/* Whether HMM is at work, which on Blackwell it had better not be. */
nvmlReturn_t nvmlDeviceGetAddressingMode(nvmlDevice_t device, nvmlDeviceAddressingMode_t *mode)
{
    double number = 0;
    nvmlReturn_t status;
    struct call call;

    if (!mode)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!begin_device_call(&call, __func__, device))
        return call.status;
    if (mode->version != nvmlDeviceAddressingMode_v1)
        return end_call(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    status = read_number(gpu_value(call.gpu, "addressing_mode"), &number);
    mode->value = (unsigned int)number;
    return end_call(status);
}

/* Fields that repeat another reading. Any other field is looked up by its number in the GPU's "fields". */
static const struct {
    unsigned int field;
    const char *path;
} known_fields[] = {
    {NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, "recovery_action"},
    {NVML_FI_DEV_PCIE_REPLAY_COUNTER, "pcie.replays"},
    {NVML_FI_DEV_POWER_INSTANT, "power.usage_mw"},
    {NVML_FI_DEV_POWER_AVERAGE, "power.usage_mw"},
    {NVML_FI_DEV_POWER_MIN_LIMIT, "power.min_mw"},
    {NVML_FI_DEV_POWER_MAX_LIMIT, "power.max_mw"},
    {NVML_FI_DEV_POWER_DEFAULT_LIMIT, "power.default_mw"},
    {NVML_FI_DEV_POWER_CURRENT_LIMIT, "power.limit_mw"},
    {NVML_FI_DEV_POWER_REQUESTED_LIMIT, "power.limit_mw"},
    {NVML_FI_DEV_NVLINK_LINK_COUNT, "nvlink.links"},
};

static const struct json *field_value(int gpu, unsigned int field)
{
    char path[32];

    for (size_t i = 0; i < sizeof(known_fields) / sizeof(*known_fields); i++)
        if (known_fields[i].field == field)
            return gpu_value(gpu, known_fields[i].path);
    snprintf(path, sizeof(path), "fields.%u", field);
    return gpu_value(gpu, path);
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values)
{
    struct call call;

    if (!values || count <= 0)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!begin_device_call(&call, __func__, device))
        return call.status;
    for (int i = 0; i < count; i++) {
        double number = 0;
        values[i].nvmlReturn = read_number(field_value(call.gpu, values[i].fieldId), &number);
        values[i].valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
        values[i].value.ullVal = (unsigned int)number;
    }
    return end_call(NVML_SUCCESS);
}
