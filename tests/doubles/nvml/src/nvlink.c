/* Copyright: (c) 2026, blackwell.inference contributors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * NVLink and the fabric that its switches make. Cards without either answer NOT_SUPPORTED throughout.
 */
#include <nvml.h>

#include <string.h>

#include "call.h"
#include "host.h"

/* "nvlink": {"links": 18, "version": 7, "remote": 2, "down": [3]}: every link is up but those named. */
static nvmlReturn_t begin_link_call(struct call *call, const char *function, nvmlDevice_t device, unsigned int link)
{
    double links = 0;
    nvmlReturn_t status;

    if (!begin_device_call(call, function, device))
        return call->status;
    status = read_number(gpu_value(call->gpu, "nvlink.links"), &links);
    if (status == NVML_SUCCESS && link >= links)
        status = NVML_ERROR_INVALID_ARGUMENT;
    return status == NVML_SUCCESS ? status : end_call(status);
}

static int is_down(int gpu, unsigned int link)
{
    const struct json *down = gpu_value(gpu, "nvlink.down"), *entry;

    for (int i = 0; (entry = json_element(down, i)); i++)
        if (entry->number == link)
            return 1;
    return 0;
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link, nvmlEnableState_t *state)
{
    nvmlReturn_t status;
    struct call call;

    if (!state)
        return NVML_ERROR_INVALID_ARGUMENT;
    status = begin_link_call(&call, __func__, device, link);
    if (status != NVML_SUCCESS)
        return status;
    *state = is_down(call.gpu, link) ? NVML_FEATURE_DISABLED : NVML_FEATURE_ENABLED;
    return end_call(NVML_SUCCESS);
}

static nvmlReturn_t link_number(const char *function, const char *path, nvmlDevice_t device, unsigned int link,
                                double *number)
{
    struct call call;
    nvmlReturn_t status = begin_link_call(&call, function, device, link);

    if (status != NVML_SUCCESS)
        return status;
    return end_call(read_number(gpu_value(call.gpu, path), number));
}

nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t device, unsigned int link, unsigned int *version)
{
    double number = 0;
    nvmlReturn_t status;

    if (!version)
        return NVML_ERROR_INVALID_ARGUMENT;
    status = link_number(__func__, "nvlink.version", device, link, &number);
    *version = (unsigned int)number;
    return status;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned int link,
                                                 nvmlIntNvLinkDeviceType_t *type)
{
    double number = 0;
    nvmlReturn_t status;

    if (!type)
        return NVML_ERROR_INVALID_ARGUMENT;
    status = link_number(__func__, "nvlink.remote", device, link, &number);
    *type = (nvmlIntNvLinkDeviceType_t)number;
    return status;
}

static nvmlReturn_t read_fabric(int gpu, nvmlGpuFabricInfo_v3_t *fabric)
{
    double state = 0, status = 0, clique = 0, health = 0;
    nvmlReturn_t read = read_number(gpu_value(gpu, "fabric.state"), &state);

    if (read != NVML_SUCCESS)
        return read;
    read_number(gpu_value(gpu, "fabric.status"), &status);
    read_number(gpu_value(gpu, "fabric.clique"), &clique);
    read_number(gpu_value(gpu, "fabric.health_mask"), &health);
    memset(fabric, 0, sizeof(*fabric));
    fabric->state = (nvmlGpuFabricState_t)state;
    fabric->status = (nvmlReturn_t)status;
    fabric->cliqueId = (unsigned int)clique;
    fabric->healthMask = (unsigned int)health;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t *info)
{
    nvmlGpuFabricInfo_v3_t fabric;
    nvmlReturn_t status;
    struct call call;

    if (!info)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!begin_device_call(&call, __func__, device))
        return call.status;
    status = read_fabric(call.gpu, &fabric);
    if (status == NVML_SUCCESS) {
        memset(info, 0, sizeof(*info));
        info->status = fabric.status;
        info->cliqueId = fabric.cliqueId;
        info->state = fabric.state;
    }
    return end_call(status);
}

/* The caller says by the version which structure it has room for. The second is the third without its last field. */
nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t *info)
{
    nvmlGpuFabricInfo_v3_t fabric;
    nvmlReturn_t status;
    unsigned int version;
    struct call call;

    if (!info)
        return NVML_ERROR_INVALID_ARGUMENT;
    version = info->version;
    if (!begin_device_call(&call, __func__, device))
        return call.status;
    if (version != nvmlGpuFabricInfo_v2 && version != nvmlGpuFabricInfo_v3)
        return end_call(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    status = read_fabric(call.gpu, &fabric);
    if (status == NVML_SUCCESS) {
        fabric.version = version;
        memcpy(info, &fabric, version == nvmlGpuFabricInfo_v2 ? sizeof(nvmlGpuFabricInfo_v2_t) : sizeof(fabric));
    }
    return end_call(status);
}
