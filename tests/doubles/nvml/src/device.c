/* Copyright: (c) 2026, blackwell.inference contributors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Queries of one GPU. Most are a value of the description under another name, so most of this file is a table.
 */
#include <nvml.h>

#include <stdio.h>
#include <string.h>

#include "call.h"
#include "host.h"

#define NUMBER_QUERY(function, type, path)                                                                             \
    nvmlReturn_t function(nvmlDevice_t device, type *value)                                                            \
    {                                                                                                                  \
        double number = 0;                                                                                             \
        nvmlReturn_t status;                                                                                           \
        struct call call;                                                                                              \
        if (!value)                                                                                                    \
            return NVML_ERROR_INVALID_ARGUMENT;                                                                        \
        if (!begin_device_call(&call, __func__, device))                                                               \
            return call.status;                                                                                        \
        status = read_number(gpu_value(call.gpu, path), &number);                                                      \
        if (status == NVML_SUCCESS)                                                                                    \
            *value = (type)number;                                                                                     \
        return end_call(status);                                                                                       \
    }

#define PAIR_QUERY(function, type, first_path, second_path)                                                            \
    nvmlReturn_t function(nvmlDevice_t device, type *first, type *second)                                              \
    {                                                                                                                  \
        double a = 0, b = 0;                                                                                           \
        nvmlReturn_t status;                                                                                           \
        struct call call;                                                                                              \
        if (!first || !second)                                                                                         \
            return NVML_ERROR_INVALID_ARGUMENT;                                                                        \
        if (!begin_device_call(&call, __func__, device))                                                               \
            return call.status;                                                                                        \
        status = read_number(gpu_value(call.gpu, first_path), &a);                                                     \
        if (status == NVML_SUCCESS)                                                                                    \
            status = read_number(gpu_value(call.gpu, second_path), &b);                                                \
        if (status == NVML_SUCCESS) {                                                                                  \
            *first = (type)a;                                                                                          \
            *second = (type)b;                                                                                         \
        }                                                                                                              \
        return end_call(status);                                                                                       \
    }

#define TEXT_QUERY(function, path)                                                                                     \
    nvmlReturn_t function(nvmlDevice_t device, char *text, unsigned int length)                                        \
    {                                                                                                                  \
        struct call call;                                                                                              \
        if (!text)                                                                                                     \
            return NVML_ERROR_INVALID_ARGUMENT;                                                                        \
        if (!begin_device_call(&call, __func__, device))                                                               \
            return call.status;                                                                                        \
        return end_call(read_text(gpu_value(call.gpu, path), text, length));                                           \
    }

TEXT_QUERY(nvmlDeviceGetName, "name")
TEXT_QUERY(nvmlDeviceGetUUID, "uuid")
TEXT_QUERY(nvmlDeviceGetSerial, "serial")
TEXT_QUERY(nvmlDeviceGetVbiosVersion, "vbios")
TEXT_QUERY(nvmlDeviceGetBoardPartNumber, "board_part_number")
TEXT_QUERY(nvmlDeviceGetInforomImageVersion, "inforom_image")

NUMBER_QUERY(nvmlDeviceGetMinorNumber, unsigned int, "minor")
NUMBER_QUERY(nvmlDeviceGetModuleId, unsigned int, "module_id")
NUMBER_QUERY(nvmlDeviceGetBrand, nvmlBrandType_t, "brand")
NUMBER_QUERY(nvmlDeviceGetArchitecture, nvmlDeviceArchitecture_t, "architecture")
NUMBER_QUERY(nvmlDeviceGetNumGpuCores, unsigned int, "cuda_cores")
NUMBER_QUERY(nvmlDeviceGetMemoryBusWidth, unsigned int, "memory.bus_width")
NUMBER_QUERY(nvmlDeviceGetVirtualizationMode, nvmlGpuVirtualizationMode_t, "virtualization_mode")
NUMBER_QUERY(nvmlDeviceGetNumaNodeId, unsigned int, "gpu_memory_numa_node") /* coherent platforms only */
NUMBER_QUERY(nvmlDeviceGetMaxMigDeviceCount, unsigned int, "mig.max_devices")

NUMBER_QUERY(nvmlDeviceGetMaxPcieLinkGeneration, unsigned int, "pcie.max_generation")
NUMBER_QUERY(nvmlDeviceGetGpuMaxPcieLinkGeneration, unsigned int, "pcie.gpu_max_generation")
NUMBER_QUERY(nvmlDeviceGetMaxPcieLinkWidth, unsigned int, "pcie.max_width")
NUMBER_QUERY(nvmlDeviceGetCurrPcieLinkGeneration, unsigned int, "pcie.generation")
NUMBER_QUERY(nvmlDeviceGetCurrPcieLinkWidth, unsigned int, "pcie.width")
NUMBER_QUERY(nvmlDeviceGetPcieReplayCounter, unsigned int, "pcie.replays")

NUMBER_QUERY(nvmlDeviceGetPowerManagementMode, nvmlEnableState_t, "power.management")
NUMBER_QUERY(nvmlDeviceGetPowerUsage, unsigned int, "power.usage_mw")
NUMBER_QUERY(nvmlDeviceGetPowerManagementLimit, unsigned int, "power.limit_mw")
NUMBER_QUERY(nvmlDeviceGetEnforcedPowerLimit, unsigned int, "power.limit_mw")
NUMBER_QUERY(nvmlDeviceGetPowerManagementDefaultLimit, unsigned int, "power.default_mw")
PAIR_QUERY(nvmlDeviceGetPowerManagementLimitConstraints, unsigned int, "power.min_mw", "power.max_mw")
NUMBER_QUERY(nvmlDeviceGetTotalEnergyConsumption, unsigned long long, "power.energy_mj")

NUMBER_QUERY(nvmlDeviceGetPersistenceMode, nvmlEnableState_t, "persistence_mode")
NUMBER_QUERY(nvmlDeviceGetDisplayMode, nvmlEnableState_t, "display.mode")
NUMBER_QUERY(nvmlDeviceGetDisplayActive, nvmlEnableState_t, "display.active")
NUMBER_QUERY(nvmlDeviceGetComputeMode, nvmlComputeMode_t, "compute_mode")
NUMBER_QUERY(nvmlDeviceGetPerformanceState, nvmlPstates_t, "performance_state")
NUMBER_QUERY(nvmlDeviceGetPowerState, nvmlPstates_t, "performance_state")
NUMBER_QUERY(nvmlDeviceGetFanSpeed, unsigned int, "fan.percent")
NUMBER_QUERY(nvmlDeviceGetNumFans, unsigned int, "fan.count")
NUMBER_QUERY(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, "clocks.event_reasons")
NUMBER_QUERY(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, "clocks.event_reasons")

PAIR_QUERY(nvmlDeviceGetMigMode, unsigned int, "mig.current", "mig.pending")
PAIR_QUERY(nvmlDeviceGetEccMode, nvmlEnableState_t, "ecc.current", "ecc.pending")
PAIR_QUERY(nvmlDeviceGetCudaComputeCapability, int, "compute_capability.major", "compute_capability.minor")

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
    struct call call;

    if (!index)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!begin_device_call(&call, __func__, device))
        return call.status;
    *index = (unsigned int)call.gpu;
    return end_call(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetGspFirmwareVersion(nvmlDevice_t device, char *version)
{
    struct call call;

    if (!version)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!begin_device_call(&call, __func__, device))
        return call.status;
    return end_call(read_text(host_value("driver.version"), version, NVML_GSP_FIRMWARE_VERSION_BUF_SIZE));
}

/* The library's own form of an address: eight digits of domain, upper case. The legacy field has sysfs's four. */
static nvmlReturn_t pci_info(const char *function, nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    unsigned int domain = 0, bus = 0, slot = 0, unit = 0;
    double device_id = 0, subsystem_id = 0;
    const struct json *address;
    struct call call;

    if (!pci)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!begin_device_call(&call, function, device))
        return call.status;
    address = gpu_value(call.gpu, "pci.address");
    if (!address || sscanf(address->string, "%x:%x:%x.%x", &domain, &bus, &slot, &unit) != 4)
        return end_call(NVML_ERROR_UNKNOWN);
    read_number(gpu_value(call.gpu, "pci.device_id"), &device_id);
    read_number(gpu_value(call.gpu, "pci.subsystem_id"), &subsystem_id);
    memset(pci, 0, sizeof(*pci));
    pci->domain = domain;
    pci->bus = bus;
    pci->device = slot;
    pci->pciDeviceId = (unsigned int)device_id;
    pci->pciSubSystemId = (unsigned int)subsystem_id;
    snprintf(pci->busId, sizeof(pci->busId), "%08X:%02X:%02X.%X", domain, bus, slot, unit);
    snprintf(pci->busIdLegacy, sizeof(pci->busIdLegacy), "%04X:%02X:%02X.%X", domain & 0xffff, bus & 0xff, slot & 0x1f,
             unit & 0x7);
    return end_call(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    return pci_info(__func__, device, pci);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    return pci_info(__func__, device, pci);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    return pci_info(__func__, device, pci);
}

nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int *is_mig)
{
    struct call call;

    if (!is_mig)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!begin_device_call(&call, __func__, device))
        return call.status;
    *is_mig = 0;
    return end_call(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index, nvmlDevice_t *mig)
{
    struct call call;

    (void)index;
    if (!mig)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!begin_device_call(&call, __func__, device))
        return call.status;
    return end_call(NVML_ERROR_NOT_FOUND); /* no description has partitions */
}
