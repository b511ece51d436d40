/* Copyright: (c) 2026, blackwell.inference contributors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reads a JSON document into a tree. Numbers are doubles: exact up to 2^53, which covers every byte count of a host.
 */
#ifndef FAKE_NVML_JSON_H
#define FAKE_NVML_JSON_H

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
    enum json_kind kind;
    char *key; /* the member's name, when this value is a member of an object */
    double number;
    char *string;
    struct json *items; /* elements of an array, members of an object */
    int count;
};

/* NULL when the text is not JSON. */
struct json *json_parse(const char *text);
void json_free(struct json *value);

/* All of these accept NULL and answer NULL, so that paths can be walked without a check at every step. */
const struct json *json_member(const struct json *object, const char *key);
const struct json *json_path(const struct json *object, const char *dotted_path);
const struct json *json_element(const struct json *array, int index);
int json_is_true(const struct json *value);

#endif
