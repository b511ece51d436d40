/* Copyright: (c) 2026, blackwell.inference contributors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Start, end, versions and handles.
 */
#include <nvml.h>

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "call.h"
#include "host.h"

/* A driver whose module and libraries differ in version refuses at the door, whatever is asked of it later. */
static nvmlReturn_t initialise(const char *function)
{
    const struct json *library, *module;
    struct call call;

    if (!begin_call(&call, function))
        return call.status;
    library = host_value("driver.version");
    module = host_value("driver.kernel_module_version");
    if (library && module && library->string && module->string && strcmp(library->string, module->string) != 0)
        return end_call(NVML_ERROR_LIB_RM_VERSION_MISMATCH);
    count_initialisation();
    return end_call(NVML_SUCCESS);
}

nvmlReturn_t nvmlInit(void)
{
    return initialise(__func__);
}

nvmlReturn_t nvmlInit_v2(void)
{
    return initialise(__func__);
}

nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
    (void)flags;
    return initialise(__func__);
}

nvmlReturn_t nvmlShutdown(void)
{
    struct call call;

    if (!begin_call(&call, __func__))
        return call.status;
    return end_call(count_shutdown());
}

const char *nvmlErrorString(nvmlReturn_t result)
{
    return text_of_status(result);
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
    struct call call;

    if (!version)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!begin_system_call(&call, __func__))
        return call.status;
    return end_call(read_text(host_value("driver.version"), version, length));
}

/* The library knows its own version without a driver, and so before nvmlInit: nvidia-smi prints it on a mismatch. */
nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
    struct call call;

    if (!version)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!begin_call(&call, __func__))
        return call.status;
    return end_call(read_text(host_value("driver.nvml_version"), version, length));
}

static nvmlReturn_t cuda_version(const char *function, int *version)
{
    double number = 0;
    nvmlReturn_t status;
    struct call call;

    if (!version)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!begin_call(&call, function))
        return call.status;
    status = read_number(host_value("driver.cuda_version"), &number);
    *version = (int)number;
    return end_call(status);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version)
{
    return cuda_version(__func__, version);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    return cuda_version(__func__, version);
}

static nvmlReturn_t count_devices(const char *function, unsigned int *count)
{
    struct call call;

    if (!count)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!begin_system_call(&call, function))
        return call.status;
    *count = (unsigned int)host_gpu_count();
    return end_call(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetCount(unsigned int *count)
{
    return count_devices(__func__, count);
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
    return count_devices(__func__, count);
}

static nvmlReturn_t handle_by_index(const char *function, unsigned int index, nvmlDevice_t *device)
{
    struct call call;

    if (!device)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!begin_index_call(&call, function, index))
        return call.status;
    *device = gpu_handle(call.gpu);
    return end_call(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device)
{
    return handle_by_index(__func__, index, device);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
    return handle_by_index(__func__, index, device);
}

typedef int (*comparison)(const char *described, const char *wanted);

/* Looking the GPU up and giving out its handle are two calls here, so that faults and lost GPUs are met as by index. */
static nvmlReturn_t handle_by_text(const char *function, const char *path, comparison equal, const char *wanted,
                                   nvmlDevice_t *device)
{
    int found = -1;
    struct call call;

    if (!wanted || !device)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!begin_system_call(&call, function))
        return call.status;
    for (int gpu = 0; gpu < host_gpu_count() && found < 0; gpu++) {
        const struct json *described = gpu_value(gpu, path);
        if (described && described->kind == JSON_STRING && equal(described->string, wanted))
            found = gpu;
    }
    end_call(NVML_SUCCESS);
    return found < 0 ? NVML_ERROR_NOT_FOUND : handle_by_index(function, (unsigned int)found, device);
}

static int same_text(const char *described, const char *wanted)
{
    return strcasecmp(described, wanted) == 0;
}

/* The header's three forms: domain:bus:device.function, domain:bus:device and bus:device.function. */
static int same_address(const char *described, const char *wanted)
{
    unsigned int a[4] = {0}, b[4] = {0};

    sscanf(described, "%x:%x:%x.%x", &a[0], &a[1], &a[2], &a[3]);
    if (sscanf(wanted, "%x:%x:%x.%x", &b[0], &b[1], &b[2], &b[3]) < 3 &&
        sscanf(wanted, "%x:%x.%x", &b[1], &b[2], &b[3]) < 2)
        return 0;
    if (strchr(wanted, ':') == strrchr(wanted, ':'))
        b[0] = 0;
    return memcmp(a, b, sizeof(a)) == 0;
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
    return handle_by_text(__func__, "uuid", same_text, uuid, device);
}

nvmlReturn_t nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *device)
{
    return handle_by_text(__func__, "serial", same_text, serial, device);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *address, nvmlDevice_t *device)
{
    return handle_by_text(__func__, "pci.address", same_address, address, device);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *address, nvmlDevice_t *device)
{
    return handle_by_text(__func__, "pci.address", same_address, address, device);
}

/* What this library has no answer for: the stubs made from the header at build time end here. */
nvmlReturn_t fake_nvml_unanswered(const char *function)
{
    struct call call;

    if (!begin_system_call(&call, function))
        return call.status;
    return end_call(NVML_ERROR_NOT_SUPPORTED);
}
