/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config_scalars.c - the kinds of values that are one word.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/suggest.h"
#include "daemon/config_values.h"
#include "io/addr.h"

enum { PATH_BYTES_MAX = 4095 };

static int out_of_range(const struct config_source *source, const struct config_key *key,
                        const struct yaml_node *node)
{
    char shown[ERR_LIST_SHOWN_MAX], range[CONFIG_RANGE_MAX];
    struct err *e = config_keys_error(source, node);

    (void)err_set(e, -EINVAL, "\"%s\": %s is out of range", key->path,
                  err_list_shown(yaml_span(node), shown));
    err_hint(e, "allowed: %s", config_keys_range(key, range));
    return -EINVAL;
}

/* --- true and false --- */

static int bool_set(const struct config_source *source, const struct config_key *key,
                    const struct yaml_node *node, bool is_append, void *field)
{
    static const char *const meant_true[] = {"yes", "on", "True", "TRUE", "1", "y"};
    char shown[ERR_LIST_SHOWN_MAX];
    int r = config_values_need_scalar(source, key, node);
    const char *meant = "true or false";
    bool *ret = field;
    struct err *e;

    (void)is_append;
    if (r < 0)
        return r;
    if (strcmp(node->text, "true") == 0 || strcmp(node->text, "false") == 0) {
        *ret = node->text[0] == 't';
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(meant_true); i++) {
        if (strcmp(node->text, meant_true[i]) == 0)
            meant = "true";
    }
    e = config_keys_error(source, node);
    (void)err_set(e, -EINVAL, "\"%s\": \"%s\" is neither true nor false", key->path,
                  err_list_shown(yaml_span(node), shown));
    err_hint(e, "write %s", meant);
    return -EINVAL;
}

static int bool_format(const struct config_key *key, const void *field, struct buf *out)
{
    (void)key;
    return buf_append(out, *(const bool *)field ? SPAN("true") : SPAN("false"));
}

static bool bool_is_equal(const struct config_key *key, const void *a, const void *b)
{
    (void)key;
    return *(const bool *)a == *(const bool *)b;
}

const struct config_type config_type_bool = {
    .what = "true or false",
    .is_scalar = true,
    .set = bool_set,
    .format = bool_format,
    .is_equal = bool_is_equal,
};

/* --- counts --- */

static int count_set(const struct config_source *source, const struct config_key *key,
                     const struct yaml_node *node, bool is_append, void *field)
{
    char shown[ERR_LIST_SHOWN_MAX], range[CONFIG_RANGE_MAX];
    int r = config_values_need_scalar(source, key, node);
    uint64_t *ret = field;
    uint64_t v;
    struct err *e;

    (void)is_append;
    if (r < 0)
        return r;
    if (key->word && strcmp(node->text, key->word) == 0) {
        *ret = 0;
        return 0;
    }
    r = num_parse_u64(yaml_span(node), &v);
    if (r == -ERANGE || (r == 0 && (v < (uint64_t)key->min || v > (uint64_t)key->max)))
        return out_of_range(source, key, node);
    if (r < 0) {
        e = config_keys_error(source, node);
        (void)err_set(e, -EINVAL, "\"%s\": \"%s\" is not a whole number", key->path,
                      err_list_shown(yaml_span(node), shown));
        err_hint(e, "allowed: %s", config_keys_range(key, range));
        return -EINVAL;
    }
    *ret = v;
    return 0;
}

static int count_format(const struct config_key *key, const void *field, struct buf *out)
{
    uint64_t v = *(const uint64_t *)field;

    if (v == 0 && key->word)
        return buf_append(out, span_cstr(key->word));
    return buf_printf(out, "%" PRIu64, v);
}

static bool u64_is_equal(const struct config_key *key, const void *a, const void *b)
{
    (void)key;
    return *(const uint64_t *)a == *(const uint64_t *)b;
}

const struct config_type config_type_count = {
    .what = "a whole number",
    .is_scalar = true,
    .set = count_set,
    .format = count_format,
    .is_equal = u64_is_equal,
};

/* --- sizes --- */

static int bytes_set(const struct config_source *source, const struct config_key *key,
                     const struct yaml_node *node, bool is_append, void *field)
{
    char shown[ERR_LIST_SHOWN_MAX];
    int r = config_values_need_scalar(source, key, node);
    uint64_t *ret = field;
    uint64_t v;
    struct err *e;

    (void)is_append;
    if (r < 0)
        return r;
    r = num_parse_bytes(yaml_span(node), &v);
    if (r == -ERANGE || (r == 0 && (v < (uint64_t)key->min || v > (uint64_t)key->max)))
        return out_of_range(source, key, node);
    if (r < 0) {
        e = config_keys_error(source, node);
        (void)err_set(e, -EINVAL, "\"%s\": \"%s\" is not a size", key->path,
                      err_list_shown(yaml_span(node), shown));
        err_hint(e, "a whole number and a unit (KiB, MiB, GiB, or KB, MB, GB for powers of 1000; "
                    "none: bytes), for example 64MiB");
        return -EINVAL;
    }
    *ret = v;
    return 0;
}

static int bytes_format(const struct config_key *key, const void *field, struct buf *out)
{
    char text[32];

    (void)key;
    config_values_bytes(*(const uint64_t *)field, text, sizeof(text));
    return buf_append(out, span_cstr(text));
}

const struct config_type config_type_bytes = {
    .what = "a size",
    .is_scalar = true,
    .set = bytes_set,
    .format = bytes_format,
    .is_equal = u64_is_equal,
};

/* --- durations --- */

static int duration_set(const struct config_source *source, const struct config_key *key,
                        const struct yaml_node *node, bool is_append, void *field)
{
    int r = config_values_need_scalar(source, key, node);
    int64_t *ret = field;
    int64_t ns = 0;

    (void)is_append;
    if (r == 0)
        r = config_values_parse_duration(source, key, node, &ns);
    if (r < 0)
        return r;
    if ((ns != 0 || !key->word) && (ns < key->min || ns > key->max))
        return out_of_range(source, key, node);
    *ret = ns;
    return 0;
}

static int duration_format(const struct config_key *key, const void *field, struct buf *out)
{
    char text[32];

    (void)key;
    config_values_duration(*(const int64_t *)field, text, sizeof(text));
    return buf_append(out, span_cstr(text));
}

static bool duration_is_equal(const struct config_key *key, const void *a, const void *b)
{
    (void)key;
    return *(const int64_t *)a == *(const int64_t *)b;
}

const struct config_type config_type_duration = {
    .what = "a duration",
    .is_scalar = true,
    .set = duration_set,
    .format = duration_format,
    .is_equal = duration_is_equal,
};

/* --- texts --- */

static void text_replace(char **field, char *text)
{
    mem_free(*field);
    *field = text;
}

static int text_set(const struct config_source *source, const struct config_key *key,
                    const struct yaml_node *node, bool is_append, void *field)
{
    char *text;
    int r = config_values_take_text(source, key, node, PATH_BYTES_MAX, &text);

    (void)is_append;
    if (r == 0)
        text_replace(field, text);
    return r;
}

int config_scalars_text_format(const struct config_key *key, const void *field, struct buf *out)
{
    const char *const *text = field;

    (void)key;
    return config_values_text(span_cstr(*text), out);
}

bool config_scalars_text_is_equal(const struct config_key *key, const void *a, const void *b)
{
    (void)key;
    const char *const *text_a = a, *const *text_b = b;

    return strcmp(*text_a, *text_b) == 0;
}

void config_scalars_text_clear(const struct config_key *key, void *field)
{
    (void)key;
    text_replace(field, NULL);
}

const struct config_type config_type_text = {
    .what = "a text",
    .is_scalar = true,
    .set = text_set,
    .format = config_scalars_text_format,
    .is_equal = config_scalars_text_is_equal,
    .done = config_scalars_text_clear,
};

/* --- one address --- */

static int addr_set(const struct config_source *source, const struct config_key *key,
                    const struct yaml_node *node, bool is_append, void *field)
{
    char *text;
    struct addr a;
    struct err parse_err;
    int r = config_values_take_text(source, key, node, ADDR_HOST_MAX, &text);

    (void)is_append;
    if (r < 0)
        return r;
    r = addr_parse(span_cstr(text), &a, &parse_err);
    if (r < 0) {
        struct err *e = config_keys_error(source, node);

        (void)err_set(e, r, "\"%s\": %s", key->path, parse_err.text);
        err_hint(e, "%s", parse_err.hint);
        mem_free(text);
        return r;
    }
    text_replace(field, text);
    return 0;
}

const struct config_type config_type_addr = {
    .what = "an address",
    .is_scalar = true,
    .set = addr_set,
    .format = config_scalars_text_format,
    .is_equal = config_scalars_text_is_equal,
    .done = config_scalars_text_clear,
};

/* --- log levels --- */

static const char *const level_names[] = {"error", "warn", "info", "debug"};

static int level_set(const struct config_source *source, const struct config_key *key,
                     const struct yaml_node *node, bool is_append, void *field)
{
    char shown[ERR_LIST_SHOWN_MAX];
    int r = config_values_need_scalar(source, key, node);
    struct suggest s;
    struct err *e;

    (void)is_append;
    if (r < 0)
        return r;
    if (log_level_parse(node->text, field) == 0)
        return 0;
    suggest_init(&s, yaml_span(node));
    for (size_t i = 0; i < ARRAY_LEN(level_names); i++)
        suggest_offer(&s, span_cstr(level_names[i]));
    e = config_keys_error(source, node);
    (void)err_set(e, -EINVAL, "\"%s\": \"%s\" is not a level", key->path,
                  err_list_shown(yaml_span(node), shown));
    if (s.best.n > 0)
        err_hint(e, "did you mean \"%.*s\"?", SPAN_ARG(s.best));
    else
        err_hint(e, "one of error, warn, info, debug");
    return -EINVAL;
}

static int level_format(const struct config_key *key, const void *field, struct buf *out)
{
    (void)key;
    return buf_append(out, span_cstr(level_names[*(const enum log_level *)field]));
}

static bool level_is_equal(const struct config_key *key, const void *a, const void *b)
{
    (void)key;
    return *(const enum log_level *)a == *(const enum log_level *)b;
}

const struct config_type config_type_log_level = {
    .what = "error, warn, info, or debug",
    .is_scalar = true,
    .set = level_set,
    .format = level_format,
    .is_equal = level_is_equal,
};
