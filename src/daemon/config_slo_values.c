/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config_slo_values.c - kinds of values that only SLOs have: names, presets, matches.
 */
#include <errno.h>

#include "base/mem.h"
#include "base/suggest.h"
#include "daemon/config_values.h"

enum { VALUE_BYTES_MAX = 200 };

static int mistake(struct err *e, const char *text, const char *hint)
{
    (void)err_set(e, -EINVAL, "%s", text);
    err_hint(e, "%s", hint);
    return -EINVAL;
}

/* --- names and presets --- */

static int name_set(const struct config_source *source, const struct config_key *key,
                    const struct yaml_node *node, bool is_append, void *field)
{
    char shown[ERR_LIST_SHOWN_MAX];
    char **name = field;
    char *text = NULL;
    struct err *e;
    int r = config_values_take_text(source, key, node, SLO_NAME_MAX, &text);

    (void)is_append;
    if (r < 0)
        return r;
    if (strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
            node->n &&
        (node->n > 0 || node->line == 0) && strcmp(text, "other") != 0 &&
        strcmp(text, "none") != 0) {
        mem_free(*name);
        *name = text;
        return 0;
    }
    mem_free(text);
    e = config_keys_error(source, node);
    (void)err_set(e, -EINVAL, "\"%s\" is no name for an SLO",
                  err_list_shown(yaml_span(node), shown));
    err_hint(e, "it becomes a metric label: letters, digits, . _ -, and neither other nor none");
    return -EINVAL;
}

const struct config_type config_type_slo_name = {
    .what = "a name of letters, digits, . _ -",
    .is_scalar = true,
    .set = name_set,
    .format = config_scalars_text_format,
    .is_equal = config_scalars_text_is_equal,
    .done = config_scalars_text_clear,
};

static int preset_set(const struct config_source *source, const struct config_key *key,
                      const struct yaml_node *node, bool is_append, void *field)
{
    char shown[ERR_LIST_SHOWN_MAX];
    char **preset = field;
    char *text = NULL;
    struct suggest s;
    struct err *e;
    int r = config_values_take_text(source, key, node, VALUE_BYTES_MAX, &text);

    (void)is_append;
    if (r < 0)
        return r;
    if (text[0] == '\0' || slo_preset_find(span_cstr(text))) {
        mem_free(*preset);
        *preset = text;
        return 0;
    }
    mem_free(text);
    e = config_keys_error(source, node);
    (void)err_set(e, -EINVAL, "there is no preset \"%s\"", err_list_shown(yaml_span(node), shown));
    suggest_init(&s, yaml_span(node));
    for (size_t i = 0; i < slo_n_presets; i++)
        suggest_offer(&s, span_cstr(slo_presets[i].name));
    if (s.best.n > 0)
        err_hint(e, "did you mean \"%.*s\"?", SPAN_ARG(s.best));
    else
        err_hint(e, "there are chat, completion and batch");
    return -EINVAL;
}

const struct config_type config_type_slo_preset = {
    .what = "chat, completion or batch",
    .is_scalar = true,
    .set = preset_set,
    .format = config_scalars_text_format,
    .is_equal = config_scalars_text_is_equal,
    .done = config_scalars_text_clear,
};

/* --- matches --- */

static void match_clear(const struct config_key *key, void *field)
{
    struct config_matches *m = field;

    for (size_t i = 0; i < m->n; i++) {
        mem_free(m->items[i].label);
        config_lists_texts_clear(key, &m->items[i].values);
    }
    mem_free(m->items);
    *m = (struct config_matches){0};
}

static int check_value(const struct config_source *source, const struct config_match *m,
                       const struct yaml_node *node, const char *value)
{
    struct err *e;

    if (slo_label_find(m->label) != SLO_LABEL_STREAM || strcmp(value, "true") == 0 ||
        strcmp(value, "false") == 0)
        return 0;
    e = config_keys_error(source, node);
    return mistake(e, "\"match\": \"stream\" is true or false", "write stream: true");
}

static int take_values(const struct config_source *source, const struct config_key *key,
                       const struct yaml_node *node, struct config_match *m)
{
    bool is_list = node->kind == YAML_NODE_LIST;
    const struct yaml_node *item = is_list ? node->first : node;
    size_t n = is_list ? node->n : 1;

    if (n == 0 || n > SLO_VALUES_MAX)
        return mistake(config_keys_error(source, node), "\"match\": a label needs 1 to 100 values",
                       key->example);
    m->values.items = mem_zalloc(n, sizeof(*m->values.items));
    if (!m->values.items)
        return -ENOMEM;
    for (; n > 0; n--, item = item->next) {
        char **value = &m->values.items[m->values.n];
        int r = item->kind == YAML_NODE_BAD
                    ? -EINVAL
                    : config_values_take_text(source, key, item, VALUE_BYTES_MAX, value);

        if (r < 0)
            return r;
        m->values.n++;
        r = check_value(source, m, item, *value);
        if (r < 0)
            return r;
    }
    return 0;
}

static int take_match(const struct config_source *source, const struct config_key *key,
                      const struct yaml_node *k, struct config_match *m)
{
    if (k->kind == YAML_NODE_BAD || !k->value || k->value->kind == YAML_NODE_BAD)
        return -EINVAL; /* listed already */
    m->line = k->line;
    m->column = k->column;
    m->label = mem_strndup(k->text, k->n);
    return m->label ? take_values(source, key, k->value, m) : -ENOMEM;
}

static int match_set(const struct config_source *source, const struct config_key *key,
                     const struct yaml_node *node, bool is_append, void *field)
{
    struct config_matches made = {0};
    int r = config_values_need_map(source, key, node);

    (void)is_append;
    if (r == 0 && node->n > SLO_MATCHES_MAX)
        r = mistake(config_keys_error(source, node), "\"match\" has too many labels", "at most 8");
    if (r < 0)
        return r;
    made.items = mem_zalloc(node->n + 1, sizeof(*made.items));
    if (!made.items)
        return -ENOMEM;
    for (const struct yaml_node *k = node->first; k && r == 0; k = k->next)
        r = take_match(source, key, k, &made.items[made.n++]);
    if (r < 0) {
        match_clear(key, &made);
        return r;
    }
    match_clear(key, field);
    *(struct config_matches *)field = made;
    return 0;
}

static int match_format(const struct config_key *key, const void *field, struct buf *out)
{
    const struct config_matches *m = field;
    int r = buf_append(out, SPAN("{"));

    for (size_t i = 0; i < m->n && r == 0; i++) {
        if (i > 0)
            r = buf_append(out, SPAN(", "));
        if (r == 0)
            r = config_values_text(span_cstr(m->items[i].label), out);
        if (r == 0)
            r = buf_append(out, SPAN(": "));
        if (r == 0)
            r = config_lists_texts_format(key, &m->items[i].values, out);
    }
    return r < 0 ? r : buf_append(out, SPAN("}"));
}

static bool match_is_equal(const struct config_key *key, const void *a, const void *b)
{
    const struct config_matches *ma = a, *mb = b;

    if (ma->n != mb->n)
        return false;
    for (size_t i = 0; i < ma->n; i++) {
        if (strcmp(ma->items[i].label, mb->items[i].label) != 0 ||
            !config_lists_texts_is_equal(key, &ma->items[i].values, &mb->items[i].values))
            return false;
    }
    return true;
}

const struct config_type config_type_slo_match = {
    .what = "a mapping from labels to values",
    .set = match_set,
    .format = match_format,
    .is_equal = match_is_equal,
    .done = match_clear,
};
