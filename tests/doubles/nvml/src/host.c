/* Copyright: (c) 2026, blackwell.inference contributors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DEFAULT_DESCRIPTION "/etc/fake-nvml.json"

static struct json *description;
static struct stat description_file;
static char handles[MAX_GPUS]; /* the address of handles[i] is the handle of GPU i */

/* Texts as the driver's own library gives them; names as the descriptions write them. */
static const struct {
    const char *name;
    nvmlReturn_t status;
    const char *text;
} statuses[] = {
    {"SUCCESS", NVML_SUCCESS, "Success"},
    {"UNINITIALIZED", NVML_ERROR_UNINITIALIZED, "Uninitialized"},
    {"INVALID_ARGUMENT", NVML_ERROR_INVALID_ARGUMENT, "Invalid Argument"},
    {"NOT_SUPPORTED", NVML_ERROR_NOT_SUPPORTED, "Not Supported"},
    {"NO_PERMISSION", NVML_ERROR_NO_PERMISSION, "Insufficient Permissions"},
    {"NOT_FOUND", NVML_ERROR_NOT_FOUND, "Not Found"},
    {"INSUFFICIENT_SIZE", NVML_ERROR_INSUFFICIENT_SIZE, "Insufficient Size"},
    {"INSUFFICIENT_POWER", NVML_ERROR_INSUFFICIENT_POWER, "Insufficient External Power"},
    {"DRIVER_NOT_LOADED", NVML_ERROR_DRIVER_NOT_LOADED, "Driver Not Loaded"},
    {"TIMEOUT", NVML_ERROR_TIMEOUT, "Timeout"},
    {"IRQ_ISSUE", NVML_ERROR_IRQ_ISSUE, "Interrupt Request Issue"},
    {"FUNCTION_NOT_FOUND", NVML_ERROR_FUNCTION_NOT_FOUND, "Function Not Found"},
    {"CORRUPTED_INFOROM", NVML_ERROR_CORRUPTED_INFOROM, "Corrupted infoROM"},
    {"GPU_IS_LOST", NVML_ERROR_GPU_IS_LOST, "GPU is lost"},
    {"RESET_REQUIRED", NVML_ERROR_RESET_REQUIRED, "GPU requires restart"},
    {"OPERATING_SYSTEM", NVML_ERROR_OPERATING_SYSTEM, "The operating system has blocked the request."},
    {"LIB_RM_VERSION_MISMATCH", NVML_ERROR_LIB_RM_VERSION_MISMATCH, "Driver/library version mismatch"},
    {"IN_USE", NVML_ERROR_IN_USE, "In use by another client"},
    {"MEMORY", NVML_ERROR_MEMORY, "Insufficient Memory"},
    {"NO_DATA", NVML_ERROR_NO_DATA, "No data"},
    {"INSUFFICIENT_RESOURCES", NVML_ERROR_INSUFFICIENT_RESOURCES, "Insufficient Resources"},
    {"ARGUMENT_VERSION_MISMATCH", NVML_ERROR_ARGUMENT_VERSION_MISMATCH, "Argument version mismatch"},
    {"DEPRECATED", NVML_ERROR_DEPRECATED, "Requested functionality has been deprecated"},
    {"NOT_READY", NVML_ERROR_NOT_READY, "Not Ready"},
    {"GPU_NOT_FOUND", NVML_ERROR_GPU_NOT_FOUND, "No GPUs were found"},
    {"UNKNOWN", NVML_ERROR_UNKNOWN, "Unknown Error"},
};

#define STATUS_COUNT (sizeof(statuses) / sizeof(*statuses))

nvmlReturn_t status_of_name(const char *name)
{
    for (size_t i = 0; i < STATUS_COUNT; i++)
        if (strcmp(statuses[i].name, name) == 0)
            return statuses[i].status;
    return NVML_ERROR_UNKNOWN;
}

const char *text_of_status(nvmlReturn_t status)
{
    for (size_t i = 0; i < STATUS_COUNT; i++)
        if (statuses[i].status == status)
            return statuses[i].text;
    return "Unknown Error";
}

static const char *description_path(void)
{
    const char *path = getenv("FAKE_NVML");
    return path && *path ? path : DEFAULT_DESCRIPTION;
}

static int same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static char *read_file(const char *path, struct stat *found)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;

    if (!file)
        return NULL;
    if (fstat(fileno(file), found) == 0) {
        text = malloc((size_t)found->st_size + 1);
        text[fread(text, 1, (size_t)found->st_size, file)] = '\0';
    }
    fclose(file);
    return text;
}

int host_refresh(void)
{
    const char *path = description_path();
    struct stat found = {0};
    struct json *parsed;
    char *text;

    if (stat(path, &found) == 0 && description && same_file(&found, &description_file))
        return 1;
    text = read_file(path, &found);
    parsed = text ? json_parse(text) : NULL;
    if (text && !parsed)
        fprintf(stderr, "fake NVML: %s is not JSON\n", path);
    free(text);
    json_free(description);
    description = parsed;
    description_file = found;
    return description != NULL;
}

int host_gpu_count(void)
{
    const struct json *gpus = json_member(description, "gpus");
    int count = gpus && gpus->kind == JSON_ARRAY ? gpus->count : 0;
    return count < MAX_GPUS ? count : MAX_GPUS;
}

const struct json *host_value(const char *path)
{
    return json_path(description, path);
}

const struct json *gpu_value(int gpu, const char *path)
{
    const struct json *own = json_path(json_element(json_member(description, "gpus"), gpu), path);
    return own ? own : json_path(json_member(description, "defaults"), path);
}

nvmlDevice_t gpu_handle(int gpu)
{
    return (nvmlDevice_t)(void *)&handles[gpu];
}

int gpu_of_handle(nvmlDevice_t device)
{
    const char *handle = (const char *)device;
    return handle >= handles && handle < handles + MAX_GPUS ? (int)(handle - handles) : -1;
}

static nvmlReturn_t status_of_text(const char *text)
{
    return text[0] == '!' ? status_of_name(text + 1) : NVML_SUCCESS;
}

nvmlReturn_t read_number(const struct json *value, double *number)
{
    nvmlReturn_t status;

    if (!value || value->kind == JSON_NULL)
        return NVML_ERROR_NOT_SUPPORTED;
    if (value->kind != JSON_STRING) {
        *number = value->number;
        return NVML_SUCCESS;
    }
    status = status_of_text(value->string);
    if (status == NVML_SUCCESS)
        *number = strtod(value->string, NULL); /* "0x10de": the way PCI ids are written */
    return status;
}

nvmlReturn_t read_text(const struct json *value, char *text, unsigned int length)
{
    nvmlReturn_t status;

    if (!value || value->kind != JSON_STRING)
        return NVML_ERROR_NOT_SUPPORTED;
    status = status_of_text(value->string);
    if (status != NVML_SUCCESS)
        return status;
    if (strlen(value->string) >= length)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    memcpy(text, value->string, strlen(value->string) + 1);
    return NVML_SUCCESS;
}
