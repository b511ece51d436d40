/* Copyright: (c) 2026, blackwell.inference contributors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where a GPU sits: beside which other GPU, and beside which CPUs and memory.
 */
#include <nvml.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "host.h"

#define NAMELESS (-1)
#define BITS_PER_WORD (8 * (unsigned int)sizeof(unsigned long))

struct word {
    const char *name;
    int value;
};

/* The words of `nvidia-smi topo -m`. */
static const struct word levels[] = {
    {"X", NVML_TOPOLOGY_INTERNAL},
    {"PIX", NVML_TOPOLOGY_SINGLE},
    {"PXB", NVML_TOPOLOGY_MULTIPLE},
    {"PHB", NVML_TOPOLOGY_HOSTBRIDGE},
    {"NODE", NVML_TOPOLOGY_NODE},
    {"SYS", NVML_TOPOLOGY_SYSTEM},
    {NULL, NAMELESS},
};

/* The words of `nvidia-smi topo -p2p r`. */
static const struct word p2p_statuses[] = {
    {"X", NVML_P2P_STATUS_OK},
    {"OK", NVML_P2P_STATUS_OK},
    {"CNS", NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED},
    {"GNS", NVML_P2P_STATUS_GPU_NOT_SUPPORTED},
    {"TNS", NVML_P2P_STATUS_IOH_TOPOLOGY_NOT_SUPPORTED},
    {"DR", NVML_P2P_STATUS_DISABLED_BY_REGKEY},
    {"NS", NVML_P2P_STATUS_NOT_SUPPORTED},
    {"U", NVML_P2P_STATUS_UNKNOWN},
    {NULL, NAMELESS},
};

static const char *const p2p_capabilities[] = {
    "topology.p2p.read", "topology.p2p.write", "topology.p2p.nvlink", "topology.p2p.atomics", "topology.p2p.pci",
};

static int value_of_word(const struct word *words, const char *text, size_t length)
{
    for (; words->name; words++)
        if (strlen(words->name) == length && memcmp(words->name, text, length) == 0)
            break;
    return words->value;
}

/* A matrix is a row of words for every GPU, as nvidia-smi prints it, or one word that holds for every pair. */
static int matrix_value(const struct json *matrix, const struct word *words, int row, int column)
{
    const struct json *line = matrix && matrix->kind == JSON_ARRAY ? json_element(matrix, row) : matrix;
    const char *text;

    if (!line || line->kind != JSON_STRING)
        return NAMELESS;
    text = line->string;
    for (int i = 0; line != matrix && i < column; i++) {
        text += strcspn(text, " ");
        text += strspn(text, " ");
    }
    return value_of_word(words, text, strcspn(text, " "));
}

static nvmlReturn_t pair_value(const char *function, const char *path, const struct word *words, nvmlDevice_t first,
                               nvmlDevice_t second, int *value)
{
    int other = gpu_of_handle(second);
    struct call call;

    if (!begin_device_call(&call, function, first))
        return call.status;
    if (other < 0 || other >= host_gpu_count())
        return end_call(NVML_ERROR_INVALID_ARGUMENT);
    *value = call.gpu == other ? words[0].value : matrix_value(host_value(path), words, call.gpu, other);
    return end_call(*value == NAMELESS ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t first, nvmlDevice_t second, nvmlGpuTopologyLevel_t *level)
{
    int value = NAMELESS;
    nvmlReturn_t status;

    if (!level)
        return NVML_ERROR_INVALID_ARGUMENT;
    status = pair_value(__func__, "topology.levels", levels, first, second, &value);
    if (status == NVML_SUCCESS)
        *level = (nvmlGpuTopologyLevel_t)value;
    return status;
}

nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t first, nvmlDevice_t second, nvmlGpuP2PCapsIndex_t capability,
                                    nvmlGpuP2PStatus_t *p2p)
{
    int value = NAMELESS;
    nvmlReturn_t status;

    if (!p2p || (unsigned int)capability >= sizeof(p2p_capabilities) / sizeof(*p2p_capabilities))
        return NVML_ERROR_INVALID_ARGUMENT;
    status = pair_value(__func__, p2p_capabilities[capability], p2p_statuses, first, second, &value);
    if (status == NVML_SUCCESS)
        *p2p = (nvmlGpuP2PStatus_t)value;
    return status;
}

nvmlReturn_t nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t device, nvmlGpuTopologyLevel_t level, unsigned int *count,
                                              nvmlDevice_t *devices)
{
    unsigned int found = 0;
    struct call call;

    if (!count)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!begin_device_call(&call, __func__, device))
        return call.status;
    for (int other = 0; other < host_gpu_count(); other++) {
        int value = matrix_value(host_value("topology.levels"), levels, call.gpu, other);
        if (other == call.gpu || value != (int)level)
            continue;
        if (devices && found < *count)
            devices[found] = gpu_handle(other);
        found++;
    }
    *count = found;
    return end_call(NVML_SUCCESS);
}

static void set_bit(unsigned long *words, unsigned int count, unsigned long bit)
{
    if (bit / BITS_PER_WORD < count)
        words[bit / BITS_PER_WORD] |= 1UL << (bit % BITS_PER_WORD);
}

/* "0-31,64-95", as sysfs writes it. */
static void set_cpus(unsigned long *words, unsigned int count, const char *list)
{
    while (*list) {
        char *end;
        unsigned long first = strtoul(list, &end, 10), last = first;
        if (end == list)
            return;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        for (; first <= last; first++)
            set_bit(words, count, first);
        list = *end == ',' ? end + 1 : end;
    }
}

static const struct json *numa_nodes(void)
{
    return host_value("numa_nodes");
}

static int numa_node_of(int gpu)
{
    double node = -1;
    read_number(gpu_value(gpu, "numa_node"), &node);
    return (int)node;
}

/* A GPU without a node (a guest's) is equally near to every CPU. */
static nvmlReturn_t cpu_affinity(const char *function, nvmlDevice_t device, unsigned int count, unsigned long *words)
{
    const struct json *node;
    int own;
    struct call call;

    if (!words || !count)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!begin_device_call(&call, function, device))
        return call.status;
    own = numa_node_of(call.gpu);
    memset(words, 0, count * sizeof(*words));
    for (int i = 0; (node = json_element(numa_nodes(), i)); i++) {
        const struct json *cpus = json_member(node, "cpus");
        if ((own < 0 || own == i) && cpus && cpus->kind == JSON_STRING)
            set_cpus(words, count, cpus->string);
    }
    return end_call(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned int count, unsigned long *words)
{
    return cpu_affinity(__func__, device, count, words);
}

/* Every described socket is one NUMA node, so both scopes are the same. */
nvmlReturn_t nvmlDeviceGetCpuAffinityWithinScope(nvmlDevice_t device, unsigned int count, unsigned long *words,
                                                 nvmlAffinityScope_t scope)
{
    if (scope > NVML_AFFINITY_SCOPE_SOCKET)
        return NVML_ERROR_INVALID_ARGUMENT;
    return cpu_affinity(__func__, device, count, words);
}

nvmlReturn_t nvmlDeviceGetMemoryAffinity(nvmlDevice_t device, unsigned int count, unsigned long *words,
                                         nvmlAffinityScope_t scope)
{
    int own;
    struct call call;

    if (!words || !count || scope > NVML_AFFINITY_SCOPE_SOCKET)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!begin_device_call(&call, __func__, device))
        return call.status;
    own = numa_node_of(call.gpu);
    if (own < 0)
        return end_call(NVML_ERROR_NOT_SUPPORTED);
    memset(words, 0, count * sizeof(*words));
    set_bit(words, count, (unsigned long)own);
    return end_call(NVML_SUCCESS);
}
