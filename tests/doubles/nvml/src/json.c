/* Copyright: (c) 2026, blackwell.inference contributors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "json.h"

#include <stdlib.h>
#include <string.h>

struct reader {
    const char *at;
    int failed;
};

static void read_value(struct reader *reader, struct json *value);

static void skip_blanks(struct reader *reader)
{
    reader->at += strspn(reader->at, " \t\r\n");
}

static int skip(struct reader *reader, char expected)
{
    skip_blanks(reader);
    if (*reader->at != expected)
        return 0;
    reader->at++;
    return 1;
}

static void expect(struct reader *reader, char expected)
{
    if (!skip(reader, expected))
        reader->failed = 1;
}

/* Escapes other than the single-letter ones are kept as '?': no description needs them. */
static char unescape(struct reader *reader)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    char letter = *reader->at++;
    const char *found = letter ? strchr(letters, letter) : NULL;

    if (found)
        return meanings[found - letters];
    if (letter != 'u' || strspn(reader->at, "0123456789abcdefABCDEF") < 4)
        reader->failed = 1;
    else
        reader->at += 4;
    return '?';
}

static char *read_string(struct reader *reader)
{
    char *text, *end;

    expect(reader, '"');
    if (reader->failed)
        return NULL;
    text = end = malloc(strlen(reader->at) + 1);
    while (!reader->failed && *reader->at && *reader->at != '"') {
        char letter = *reader->at++;
        *end++ = letter == '\\' ? unescape(reader) : letter;
    }
    *end = '\0';
    text = realloc(text, (size_t)(end - text) + 1);
    expect(reader, '"');
    return text;
}

static struct json *append(struct json *parent)
{
    struct json *item;

    parent->items = realloc(parent->items, sizeof(*parent->items) * (size_t)(parent->count + 1));
    item = &parent->items[parent->count++];
    memset(item, 0, sizeof(*item));
    return item;
}

static void read_items(struct reader *reader, struct json *value, char closing)
{
    reader->at++;
    if (skip(reader, closing))
        return;
    do {
        struct json *item = append(value);
        if (value->kind == JSON_OBJECT) {
            item->key = read_string(reader);
            expect(reader, ':');
        }
        if (!reader->failed)
            read_value(reader, item);
    } while (!reader->failed && skip(reader, ','));
    expect(reader, closing);
}

static void read_word(struct reader *reader, struct json *value)
{
    static const struct {
        const char *word;
        enum json_kind kind;
        double number;
    } words[] = {{"true", JSON_BOOL, 1}, {"false", JSON_BOOL, 0}, {"null", JSON_NULL, 0}};

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        size_t length = strlen(words[i].word);
        if (strncmp(reader->at, words[i].word, length) == 0) {
            value->kind = words[i].kind;
            value->number = words[i].number;
            reader->at += length;
            return;
        }
    }
    reader->failed = 1;
}

static void read_number(struct reader *reader, struct json *value)
{
    char *end;

    value->kind = JSON_NUMBER;
    value->number = strtod(reader->at, &end);
    if (end == reader->at)
        reader->failed = 1;
    reader->at = end;
}

/* Keeps value->key, which an object's reader has already set. */
static void read_value(struct reader *reader, struct json *value)
{
    skip_blanks(reader);
    switch (*reader->at) {
    case '{':
        value->kind = JSON_OBJECT;
        read_items(reader, value, '}');
        return;
    case '[':
        value->kind = JSON_ARRAY;
        read_items(reader, value, ']');
        return;
    case '"':
        value->kind = JSON_STRING;
        value->string = read_string(reader);
        return;
    case 't':
    case 'f':
    case 'n':
        read_word(reader, value);
        return;
    default:
        read_number(reader, value);
    }
}

static void free_contents(struct json *value)
{
    for (int i = 0; i < value->count; i++)
        free_contents(&value->items[i]);
    free(value->items);
    free(value->string);
    free(value->key);
}

struct json *json_parse(const char *text)
{
    struct reader reader = {text, 0};
    struct json *document = calloc(1, sizeof(*document));

    read_value(&reader, document);
    skip_blanks(&reader);
    if (reader.failed || *reader.at) {
        json_free(document);
        return NULL;
    }
    return document;
}

void json_free(struct json *value)
{
    if (!value)
        return;
    free_contents(value);
    free(value);
}

static const struct json *member_of_length(const struct json *object, const char *key, size_t length)
{
    if (!object || object->kind != JSON_OBJECT)
        return NULL;
    for (int i = 0; i < object->count; i++) {
        const char *candidate = object->items[i].key;
        if (strlen(candidate) == length && memcmp(candidate, key, length) == 0)
            return &object->items[i];
    }
    return NULL;
}

const struct json *json_member(const struct json *object, const char *key)
{
    return member_of_length(object, key, strlen(key));
}

const struct json *json_path(const struct json *object, const char *dotted_path)
{
    while (object && *dotted_path) {
        size_t length = strcspn(dotted_path, ".");
        object = member_of_length(object, dotted_path, length);
        dotted_path += length + (dotted_path[length] == '.');
    }
    return object;
}

const struct json *json_element(const struct json *array, int index)
{
    if (!array || array->kind != JSON_ARRAY || index < 0 || index >= array->count)
        return NULL;
    return &array->items[index];
}

int json_is_true(const struct json *value)
{
    return value && value->kind == JSON_BOOL && value->number != 0;
}
