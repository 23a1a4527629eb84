/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config_values.c - values to text, and what all setters share.
 */
#include "daemon/config_values.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/num.h"

struct unit {
    int64_t size;
    const char *name;
};

/* The largest of n units, descending, that divides v; the last one when none does. */
static const struct unit *unit_for(const struct unit *units, size_t n, int64_t v)
{
    size_t i = 0;

    while (i + 1 < n && v % units[i].size != 0)
        i++;
    return &units[i];
}

void config_values_duration(int64_t ns, char *dst, size_t cap)
{
    static const struct unit units[] = {
        {86400 * NS_PER_S, "d"}, {3600 * NS_PER_S, "h"}, {60 * NS_PER_S, "m"},
        {NS_PER_S, "s"},         {NS_PER_MS, "ms"},      {NS_PER_US, "us"},
    };
    const struct unit *u = unit_for(units, ARRAY_LEN(units), ns);

    if (ns == 0)
        (void)snprintf(dst, cap, "0");
    else if (ns % u->size == 0)
        (void)snprintf(dst, cap, "%" PRId64 "%s", ns / u->size, u->name);
    else
        (void)snprintf(dst, cap, "%" PRId64 ".%03dus", ns / NS_PER_US, (int)(ns % NS_PER_US));
}

void config_values_bytes(uint64_t bytes, char *dst, size_t cap)
{
    static const struct unit units[] = {
        {INT64_C(1) << 30, "GiB"}, {INT64_C(1) << 20, "MiB"}, {INT64_C(1) << 10, "KiB"}, {1, ""}};
    const struct unit *u = &units[ARRAY_LEN(units) - 1];

    if (bytes > 0 && bytes <= INT64_MAX)
        u = unit_for(units, ARRAY_LEN(units), (int64_t)bytes);
    (void)snprintf(dst, cap, "%" PRIu64 "%s", bytes / (uint64_t)u->size, u->name);
}

static bool is_plain_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("/._+@-", c));
}

/* Whether YAML reads it as the same text without quotes, inside brackets too. */
static bool is_plain_text(struct span text)
{
    if (text.n == 0 || strchr("-@", text.p[0]) || span_eq(text, SPAN("null")))
        return false;
    for (size_t i = 0; i < text.n; i++) {
        if (!is_plain_char(text.p[i]))
            return false;
    }
    return true;
}

int config_values_text(struct span text, struct buf *out)
{
    int r;

    if (is_plain_text(text))
        return buf_append(out, text);
    r = buf_append(out, SPAN("\""));
    for (size_t i = 0; i < text.n && r == 0; i++) {
        if (text.p[i] == '"' || text.p[i] == '\\')
            r = buf_append(out, SPAN("\\"));
        if (r == 0)
            r = buf_append(out, span_of(text.p + i, 1));
    }
    return r < 0 ? r : buf_append(out, SPAN("\""));
}

const char *config_values_kind(const struct yaml_node *node)
{
    if (node->kind == YAML_NODE_LIST)
        return "a list";
    return node->kind == YAML_NODE_MAP ? "a mapping" : "a text";
}

int config_values_need_scalar(const struct config_source *source, const struct config_key *key,
                              const struct yaml_node *node)
{
    struct err *e;

    if (node->kind == YAML_NODE_BAD)
        return -EINVAL;
    if (node->kind != YAML_NODE_SCALAR) {
        e = config_keys_error(source, node);
        (void)err_set(e, -EINVAL, "%s\"%s\" has to be %s, not %s",
                      key->type->is_list ? "a value in " : "", key->path,
                      key->type->is_list ? "a text" : key->type->what, config_values_kind(node));
        err_hint(e, "for example %s: %s", config_keys_leaf(key),
                 key->example ? key->example : key->def);
        return -EINVAL;
    }
    if (yaml_is_null(node)) {
        e = config_keys_error(source, node);
        (void)err_set(e, -EINVAL, "\"%s\" has no value", key->path);
        if (key->def)
            err_hint(e, "remove the line to get the default, which is %s",
                     *key->def ? key->def : "\"\"");
        return -EINVAL;
    }
    return 0;
}

/* Whether a text of UTF-8 has at i a character that YAML cannot hold as it is. */
static bool is_control(const char *text, size_t i)
{
    /* C1 controls, line and paragraph separator, byte order mark, non-characters. */
    static const struct {
        unsigned char first, second, third_min, third_max;
    } rows[] = {
        {0xe2, 0x80, 0xa8, 0xa9},
        {0xef, 0xbb, 0xbf, 0xbf},
        {0xef, 0xbf, 0xbe, 0xbf},
    };
    const unsigned char *p = (const unsigned char *)text + i;

    if (p[0] < 0x20 || p[0] == 0x7f || (p[0] == 0xc2 && p[1] < 0xa0))
        return true;
    for (size_t row = 0; row < ARRAY_LEN(rows); row++) {
        if (p[0] == rows[row].first && p[1] == rows[row].second && p[2] >= rows[row].third_min &&
            p[2] <= rows[row].third_max)
            return true;
    }
    return false;
}

int config_values_need_map(const struct config_source *source, const struct config_key *key,
                           const struct yaml_node *node)
{
    struct err *e;

    if (node->kind == YAML_NODE_MAP)
        return 0;
    e = config_keys_error(source, node);
    (void)err_set(e, -EINVAL, "\"%s\" has to be %s, not %s", key->path, key->type->what,
                  config_values_kind(node));
    err_hint(e, "for example %s", key->example);
    return -EINVAL;
}

int config_values_take_text(const struct config_source *source, const struct config_key *key,
                            const struct yaml_node *node, size_t max, char **ret)
{
    int r = config_values_need_scalar(source, key, node);
    char *text;

    if (r < 0)
        return r;
    for (size_t i = 0; i < node->n; i++) {
        if (is_control(node->text, i))
            return err_set(config_keys_error(source, node), -EINVAL,
                           "\"%s\" has a control character (byte %zu)", key->path, i + 1);
    }
    if (node->n > max)
        return err_set(config_keys_error(source, node), -EINVAL, "\"%s\" is longer than %zu bytes",
                       key->path, max);
    text = mem_strndup(node->text, node->n);
    if (!text)
        return -ENOMEM;
    *ret = text;
    return 0;
}

/* What is behind the digits and the fraction. */
static struct span unit_of(struct span s)
{
    size_t i = 0;

    while (i < s.n && ((s.p[i] >= '0' && s.p[i] <= '9') || s.p[i] == '.'))
        i++;
    return span_from(s, i);
}

int config_values_parse_duration(const struct config_source *source, const struct config_key *key,
                                 const struct yaml_node *node, int64_t *ret_ns)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct span s = yaml_span(node);
    struct span unit = unit_of(s);
    struct err *e;
    int r = num_parse_duration(s, ret_ns);

    if (r == 0)
        return 0;
    e = config_keys_error(source, node);
    err_list_shown(s, shown);
    if (r == -ERANGE) {
        (void)err_set(e, -EINVAL, "\"%s\": \"%s\" is too long or finer than a nanosecond",
                      key->path, shown);
    } else if (s.n > 0 && unit.n == 0) {
        (void)err_set(e, -EINVAL, "\"%s\": \"%s\" has no unit", key->path, shown);
        err_hint(e, "did you mean %ss? units: us, ms, s, m, h, d", shown);
    } else {
        (void)err_set(e, -EINVAL, "\"%s\": \"%s\" is not a duration", key->path, shown);
        err_hint(e, "one number and one unit (us, ms, s, m, h, d), for example 250ms or 1.5s");
    }
    return -EINVAL;
}
