/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/status_text.c - the members of the status in their order:
 *
 *   label                  value
 *   label
 *     first value          label: value, label: value     one line per item of an array
 */
#include "api/status_text.h"

#include <stdio.h>

#include "wire/json.h"

enum { LABEL_COLUMNS = 24, VALUE_MAX = 1024, KEY_MAX = 96 };

struct text {
    struct json json;
    enum language language;
    struct buf *out;
    int error;
};

static void put(struct text *t, struct span s)
{
    if (t->error == 0)
        t->error = buf_append(t->out, s);
}

/* A character that takes three bytes or more is two columns wide, for all words we have. */
static size_t columns_of(struct span s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        n += c < 0x80 || (c >= 0xc0 && c < 0xe0) ? 1 : c >= 0xe0 ? 2 : 0;
    }
    return n;
}

int status_text_line(struct span label, size_t width, struct span text, struct buf *out)
{
    size_t n = columns_of(label);
    int r = buf_append(out, label);

    for (; r == 0 && text.n > 0 && n < width; n++)
        r = buf_append(out, SPAN(" "));
    if (r == 0 && text.n > 0 && columns_of(label) >= width)
        r = buf_append(out, SPAN(" "));
    if (r == 0)
        r = buf_append(out, text);
    return r == 0 ? buf_append(out, SPAN("\n")) : r;
}

/* a, sign and b in dst; empty when they do not fit. */
static struct span joined(struct span a, struct span sign, struct span b, char *dst, size_t cap)
{
    const struct span all[] = {a, sign, b};
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (all[i].n >= cap - n)
            return span_of(dst, 0);
        (void)span_copy(all[i], dst + n, cap - n);
        n += all[i].n;
    }
    return span_of(dst, n);
}

/* The value for people, in dst where it has to be copied. */
static struct span shown(const struct text *t, struct span key, const struct json_value *v,
                         char *dst)
{
    char both[KEY_MAX];
    struct span text = v->raw, pair, word;

    if (v->type == JSON_NULL)
        return language_word(t->language, SPAN("none"));
    if (v->type == JSON_BOOL)
        return language_word(t->language, v->raw);
    if (v->has_escape)
        text = span_of(dst, json_unescape(v->raw, dst, VALUE_MAX));
    pair = joined(key, SPAN("="), text, both, sizeof(both));
    word = language_word(t->language, pair);
    return pair.n == 0 || word.p == both ? text : word;
}

/* "label: value, label: value" of the open object; its first value goes to ret_first. */
static void item_parts(struct text *t, struct buf *parts, struct buf *first)
{
    char copy[VALUE_MAX];
    struct json_value v;
    struct span key;
    bool is_first = true;

    while (json_key(&t->json, &key) && t->error == 0) {
        struct span word = language_word(t->language, key), value;

        if (!json_next(&t->json, &v))
            return;
        if (v.type == JSON_OBJECT || v.type == JSON_ARRAY) {
            (void)json_leave(&t->json);
            continue;
        }
        value = shown(t, key, &v, copy);
        if (is_first)
            t->error = buf_append(first, value);
        else
            t->error = buf_printf(parts, "%s%.*s: %.*s", buf_len(parts) > 0 ? ", " : "",
                                  SPAN_ARG(word), SPAN_ARG(value));
        is_first = false;
    }
}

static void item_line(struct text *t, struct span indent)
{
    struct buf parts, first;

    buf_init(&parts, (size_t)64 * 1024);
    buf_init(&first, (size_t)64 * 1024);
    t->error = buf_append(&first, indent);
    item_parts(t, &parts, &first);
    if (t->error == 0)
        t->error = status_text_line(buf_span(&first), LABEL_COLUMNS, buf_span(&parts), t->out);
    buf_done(&parts);
    buf_done(&first);
}

/* Items of the open array, each on a line. */
static void array_lines(struct text *t, struct span indent)
{
    char copy[VALUE_MAX];
    struct json_value v;

    while (json_item(&t->json) && json_next(&t->json, &v) && t->error == 0) {
        if (v.type == JSON_OBJECT) {
            item_line(t, indent);
        } else if (v.type == JSON_ARRAY) {
            (void)json_leave(&t->json);
        } else {
            put(t, indent);
            put(t, shown(t, SPAN(""), &v, copy));
            put(t, SPAN("\n"));
        }
    }
}

static void object_lines(struct text *t, size_t depth)
{
    static const struct span indents[] = {SPAN_INIT(""), SPAN_INIT("  "), SPAN_INIT("    ")};
    struct span indent = indents[depth];
    char copy[VALUE_MAX], label[VALUE_MAX];
    struct json_value v;
    struct span key;

    while (json_key(&t->json, &key) && json_next(&t->json, &v) && t->error == 0) {
        struct span word = language_word(t->language, key);
        struct span line = joined(indent, SPAN(""), word, label, sizeof(label));
        bool is_nested = v.type == JSON_OBJECT || v.type == JSON_ARRAY;
        struct span value = is_nested ? SPAN("") : shown(t, key, &v, copy);

        t->error = status_text_line(line, LABEL_COLUMNS, value, t->out);
        if (v.type == JSON_ARRAY)
            array_lines(t, indents[depth + 1]);
        else if (v.type == JSON_OBJECT && depth == 0)
            object_lines(t, depth + 1);
        else if (v.type == JSON_OBJECT)
            (void)json_leave(&t->json);
    }
}

int status_text_append(struct span json, enum language l, struct buf *out)
{
    struct text t = {.language = l, .out = out};
    struct json_value v;

    json_init(&t.json, json);
    if (json_next(&t.json, &v) && v.type == JSON_OBJECT)
        object_lines(&t, 0);
    return t.error;
}
