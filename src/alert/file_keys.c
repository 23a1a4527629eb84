/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/file_read.h"

#include <errno.h>

#include "base/num.h"
#include "base/suggest.h"
#include "promql/parse.h"

struct err *file_error(struct file_reader *rd, const struct yaml_node *node)
{
    return err_list_add(rd->errs, rd->where, node->line, node->column);
}

static void unknown_key(struct file_reader *rd, const struct yaml_node *key, const char *what,
                        const struct file_key *keys, size_t n)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct err *e = file_error(rd, key);
    struct suggest s;
    (void)err_set(e, -EINVAL, "unknown key \"%s\" in %s", err_list_shown(yaml_span(key), shown),
                  what);
    suggest_init(&s, yaml_span(key));
    for (size_t i = 0; i < n; i++)
        suggest_offer(&s, span_cstr(keys[i].name));
    if (s.best.n > 0)
        err_hint(e, "did you mean \"%.*s\"?", SPAN_ARG(s.best));
}

static const struct file_key *key_of(const struct yaml_node *key, const struct file_key *keys,
                                     size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (span_eq(yaml_span(key), span_cstr(keys[i].name)))
            return &keys[i];
    }
    return NULL;
}

int file_keys_read(struct file_reader *rd, const struct yaml_node *map, const char *what,
                   const struct file_key *keys, size_t n, void *to)
{
    int r = 0;
    if (map->kind != YAML_NODE_MAP) {
        if (map->kind != YAML_NODE_BAD)
            (void)err_set(file_error(rd, map), -EINVAL, "%s must be a mapping of keys", what);
        return 0;
    }
    for (const struct yaml_node *key = map->first; key && r == 0; key = key->next) {
        if (!file_keys_is_text(key))
            continue;
        const struct file_key *known = key_of(key, keys, n);
        if (!known) {
            unknown_key(rd, key, what, keys, n);
        } else if (!known->read) {
            struct err *e = file_error(rd, key);
            (void)err_set(e, -ENOTSUP, "\"%s\" is not supported", known->name);
            err_hint(e, "%s", known->hint);
        } else if (key->value && key->value->kind != YAML_NODE_BAD && !yaml_is_null(key->value)) {
            r = known->read(rd, key->value, to);
        }
    }
    return r;
}

const struct yaml_node *file_keys_value(const struct yaml_node *map, const char *name)
{
    if (map->kind != YAML_NODE_MAP)
        return NULL;
    for (const struct yaml_node *key = map->first; key; key = key->next) {
        if (file_keys_is_text(key) && span_eq(yaml_span(key), span_cstr(name)) && key->value &&
            !yaml_is_null(key->value))
            return key->value;
    }
    return NULL;
}

size_t file_keys_length(const struct yaml_node *list)
{
    size_t n = 0;
    if (!list || list->kind != YAML_NODE_LIST)
        return 0;
    for (const struct yaml_node *item = list->first; item; item = item->next)
        n++; /* one whose end was not reached is not counted yet in list->n */
    return n;
}

int file_keys_each(struct file_reader *rd, const struct yaml_node *list, const char *what,
                   int (*visit)(struct file_reader *rd, const struct yaml_node *item, void *to),
                   void *to)
{
    int r = 0;
    if (!list || yaml_is_null(list) || list->kind == YAML_NODE_BAD)
        return 0;
    if (list->kind != YAML_NODE_LIST) {
        (void)err_set(file_error(rd, list), -EINVAL, "\"%s\" must be a list", what);
        return 0;
    }
    for (const struct yaml_node *item = list->first; item && r == 0; item = item->next) {
        if (item->kind != YAML_NODE_BAD)
            r = visit(rd, item, to);
    }
    return r;
}

bool file_text(struct file_reader *rd, const struct yaml_node *node, const char *what,
               struct span *ret)
{
    if (node->kind == YAML_NODE_BAD)
        return false;
    if (node->kind != YAML_NODE_SCALAR) {
        (void)err_set(file_error(rd, node), -EINVAL, "\"%s\" must be a text", what);
        return false;
    }
    *ret = yaml_is_null(node) ? SPAN("") : yaml_span(node);
    return true;
}

bool file_bool(struct file_reader *rd, const struct yaml_node *node, const char *what, bool *ret)
{
    struct span s = {0};
    if (!file_text(rd, node, what, &s))
        return false;
    bool is_true = span_eq(s, SPAN("true")), is_false = span_eq(s, SPAN("false"));
    if (!is_true && !is_false) {
        char shown[ERR_LIST_SHOWN_MAX];
        (void)err_set(file_error(rd, node), -EINVAL, "\"%s\" must be true or false, not \"%s\"",
                      what, err_list_shown(s, shown));
        return false;
    }
    *ret = is_true;
    return true;
}

bool file_duration(struct file_reader *rd, const struct yaml_node *node, const char *what,
                   bool may_be_zero, int64_t *ret_ms)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct span s = {0};
    double number;
    int64_t ms = 0;
    if (!file_text(rd, node, what, &s))
        return false;
    bool is_number = num_parse_double(s, &number) == 0;
    if (promql_parse_duration(s, &ms) != 0 || ms < 0 || (is_number && !span_eq(s, SPAN("0")))) {
        struct err *e = file_error(rd, node);
        (void)err_set(e, -EINVAL, "\"%s\" must be a duration, not \"%s\"", what,
                      err_list_shown(s, shown));
        err_hint(e, is_number ? "a number needs a unit: 30s, 5m, 4h"
                              : "write it as 30s, 5m, 1h30m or 1d, the largest unit first");
        return false;
    }
    if (ms == 0 && !may_be_zero) {
        (void)err_set(file_error(rd, node), -EINVAL, "\"%s\" cannot be zero", what);
        return false;
    }
    *ret_ms = ms;
    return true;
}

int file_copy(struct file_reader *rd, struct span s, struct span *ret)
{
    struct span copy = arena_dup(&rd->to->arena, s);
    if (!copy.p)
        return -ENOMEM;
    *ret = copy;
    return 0;
}

/* --- matchers --- */

int file_own(struct file_reader *rd, struct alert_matchers *m)
{
    struct file_owned *owned = arena_zalloc(&rd->to->arena, 1, sizeof(*owned));
    if (!owned)
        return -ENOMEM;
    owned->matchers = *m;
    owned->next = rd->to->owned;
    rd->to->owned = owned;
    return 0;
}

static int read_matchers(struct file_reader *rd, const struct yaml_node *item, void *to)
{
    struct span text = {0};
    struct err err = {.code = 0};
    if (!file_text(rd, item, "matchers", &text))
        return 0;
    int r = alert_matchers_parse(&rd->to->arena, text, to, &err);
    if (r == -EINVAL) {
        *file_error(rd, item) = err;
        r = 0;
    }
    return r;
}

int file_matchers(struct file_reader *rd, const struct yaml_node *list, struct alert_matchers *to)
{
    return file_keys_each(rd, list, "matchers", read_matchers, to);
}

int file_match(struct file_reader *rd, const struct yaml_node *map, enum matcher_op op,
               struct alert_matchers *to)
{
    const char *what = op == MATCH_EQ ? "match" : "match_re";
    char shown[ERR_LIST_SHOWN_MAX];
    struct err err = {.code = 0};
    int r = 0;
    if (map->kind != YAML_NODE_MAP) {
        (void)err_set(file_error(rd, map), -EINVAL, "\"%s\" must be a mapping of labels", what);
        return 0;
    }
    for (const struct yaml_node *key = map->first; key && r == 0; key = key->next) {
        struct span value = {0};
        if (!file_keys_is_text(key) || !key->value || !file_text(rd, key->value, what, &value))
            continue;
        if (!labels_is_label_name(yaml_span(key))) {
            struct err *e = file_error(rd, key);
            (void)err_set(e, -EINVAL, "invalid label name \"%s\"",
                          err_list_shown(yaml_span(key), shown));
            err_hint(e, "in \"%s\" names are letters, digits and _; \"matchers\" takes any", what);
            continue;
        }
        r = alert_matchers_add(&rd->to->arena, to, op, yaml_span(key), value, &err);
        if (r == -EINVAL) {
            *file_error(rd, key->value) = err;
            r = 0;
        }
    }
    return r;
}
