/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml/doc.c - values out of a YAML document.
 */
#include "yaml/doc.h"

#include <errno.h>
#include <stdlib.h>

#include "base/num.h"
#include "base/suggest.h"

enum { NODES_MAX = 400000, KEYS_MAX = 1000 };

int doc_read(struct doc *d, size_t bytes_max)
{
    struct yaml_options options = {bytes_max, NODES_MAX, KEYS_MAX, true};
    int r = yaml_read_with(d->text, d->where, &options, &d->root, d->errs);

    d->has_mistakes = r == -EINVAL || r == -EBADMSG;
    return r;
}

void doc_done(struct doc *d)
{
    d->root = yaml_free(d->root);
}

struct err *doc_error(struct doc *d, const struct yaml_node *at)
{
    d->has_mistakes = true;
    return err_list_add(d->errs, d->where, at->line, at->column);
}

struct err *doc_error_in(struct doc *d, const struct yaml_node *scalar, size_t at,
                         bool *ret_is_exact)
{
    int line, column;

    d->has_mistakes = true;
    *ret_is_exact = yaml_place(d->text, scalar, at, &line, &column);
    return err_list_add(d->errs, d->where, line, column);
}

/* "a mapping" */
static const char *kind_name(enum yaml_node_kind kind)
{
    return kind == YAML_NODE_LIST ? "a list" : kind == YAML_NODE_MAP ? "a mapping" : "a text";
}

/* --- keys --- */

static void known_keys(struct err *e, const char *of, const char *const *names, size_t n)
{
    char all[160];
    size_t len = 0;

    all[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        len += span_copy(span_cstr(i > 0 ? ", " : ""), all + len, sizeof(all) - len);
        len += span_copy(span_cstr(names[i]), all + len, sizeof(all) - len);
    }
    err_hint(e, "%s has %s", of, all);
}

static void unknown_key(struct doc *d, const struct yaml_node *key, const char *of,
                        const char *const *names, size_t n)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct err *e = doc_error(d, key);
    struct suggest s;

    (void)err_set(e, -EINVAL, "%s has no key \"%s\"", of, err_list_shown(yaml_span(key), shown));
    suggest_init(&s, yaml_span(key));
    for (size_t i = 0; i < n; i++)
        suggest_offer(&s, span_cstr(names[i]));
    if (s.best.n > 0)
        err_hint(e, "did you mean \"%.*s\"?", SPAN_ARG(s.best));
    else
        known_keys(e, of, names, n);
}

static size_t find_key(struct span name, const char *const *names, size_t n)
{
    size_t i = 0;

    while (i < n && !span_eq(name, span_cstr(names[i])))
        i++;
    return i;
}

bool doc_keys(struct doc *d, const struct yaml_node *node, const char *of, const char *const *names,
              size_t n, struct doc_key *ret)
{
    for (size_t i = 0; i < n; i++)
        ret[i] = (struct doc_key){NULL, NULL};
    if (node->kind == YAML_NODE_BAD)
        return false;
    if (node->kind != YAML_NODE_MAP && !yaml_is_null(node)) {
        struct err *e = doc_error(d, node);
        (void)err_set(e, -EINVAL, "%s has to be a mapping of keys, not %s", of,
                      kind_name(node->kind));
        known_keys(e, of, names, n);
        return false;
    }
    for (const struct yaml_node *k = node->first; k; k = k->next) {
        if (k->kind != YAML_NODE_SCALAR)
            continue; /* listed already, or "<<" */
        size_t i = find_key(yaml_span(k), names, n);
        if (i == n)
            unknown_key(d, k, of, names, n);
        else
            ret[i] = (struct doc_key){k, k->value && !yaml_is_null(k->value) ? k->value : NULL};
    }
    return !node->is_cut;
}

bool doc_is(struct doc *d, const struct doc_key *k, enum yaml_node_kind kind)
{
    struct err *e;

    if (!k->value || k->value->kind == YAML_NODE_BAD)
        return false;
    if (k->value->kind == kind)
        return true;
    e = doc_error(d, k->value);
    (void)err_set(e, -EINVAL, "\"%s\" has to be %s, not %s", k->key->text, kind_name(kind),
                  kind_name(k->value->kind));
    err_hint(e, "%s",
             kind == YAML_NODE_LIST  ? "start each item on a line of its own with \"- \""
             : kind == YAML_NODE_MAP ? "write \"name: value\" on lines below it, indented"
                                     : "put it in quotes, or behind \"|\" on the lines below");
    return false;
}

/* --- scalars --- */

int doc_text(struct doc *d, const struct doc_key *k, struct span *ret)
{
    if (!doc_is(d, k, YAML_NODE_SCALAR))
        return 0;
    struct span text = arena_dup(d->arena, yaml_span(k->value));
    if (!text.p)
        return -ENOMEM;
    *ret = text;
    return 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

void doc_duration(struct doc *d, const struct doc_key *k, doc_parse_duration *parse,
                  int64_t *ret_ms)
{
    char shown[ERR_LIST_SHOWN_MAX];
    int64_t ms = 0;
    int r = -EINVAL;

    if (!doc_is(d, k, YAML_NODE_SCALAR))
        return;
    struct span text = yaml_span(k->value);
    bool has_unit = text.n > 1 && is_digit(text.p[0]) && !is_digit(text.p[text.n - 1]);
    if (has_unit || span_eq(text, SPAN("0")))
        r = parse(text, &ms);
    if (r == 0) {
        *ret_ms = ms;
        return;
    }
    struct err *e = doc_error(d, k->value);
    (void)err_set(e, -EINVAL, "\"%s\" is no duration: \"%s\"", k->key->text,
                  err_list_shown(text, shown));
    if (num_parse_double(text, &(double){0}) == 0)
        err_hint(e, "a unit is missing: \"%ss\" or \"%sm\"", shown, shown);
    else
        err_hint(e, "whole numbers with ms, s, m, h, d, w or y, the largest first: 30s, 5m, 1h30m");
}

void doc_whole(struct doc *d, const struct doc_key *k, int64_t *ret)
{
    char shown[ERR_LIST_SHOWN_MAX];

    if (!doc_is(d, k, YAML_NODE_SCALAR))
        return;
    if (k->value->is_plain && num_parse_i64(yaml_span(k->value), ret) == 0)
        return;
    struct err *e = doc_error(d, k->value);
    (void)err_set(e, -EINVAL, "\"%s\" is no whole number: \"%s\"", k->key->text,
                  err_list_shown(yaml_span(k->value), shown));
    err_hint(e, "write digits without quotes");
}

void doc_bool(struct doc *d, const struct doc_key *k, bool *ret)
{
    char shown[ERR_LIST_SHOWN_MAX];

    if (!doc_is(d, k, YAML_NODE_SCALAR))
        return;
    struct span text = yaml_span(k->value);
    if (k->value->is_plain && (span_eq(text, SPAN("true")) || span_eq(text, SPAN("false")))) {
        *ret = text.p[0] == 't';
        return;
    }
    struct err *e = doc_error(d, k->value);
    (void)err_set(e, -EINVAL, "\"%s\" is neither true nor false: \"%s\"", k->key->text,
                  err_list_shown(text, shown));
    err_hint(e, "write true or false without quotes");
}

int doc_pairs(struct doc *d, const struct doc_key *k, struct doc_pair **ret, size_t *ret_n)
{
    struct doc_pair *pairs;
    size_t n = 0;

    if (!doc_is(d, k, YAML_NODE_MAP))
        return 0;
    pairs = arena_array(d->arena, k->value->n, sizeof(*pairs));
    if (!pairs)
        return -ENOMEM;
    for (const struct yaml_node *name = k->value->first; name; name = name->next) {
        struct doc_key pair = {name,
                               name->value && !yaml_is_null(name->value) ? name->value : NULL};
        if (name->kind == YAML_NODE_SCALAR && (!pair.value || doc_is(d, &pair, YAML_NODE_SCALAR)))
            pairs[n++] = (struct doc_pair){pair.key, pair.value};
    }
    *ret = pairs;
    *ret_n = n;
    return 0;
}

int doc_list(struct doc *d, const struct doc_key *k, size_t size,
             int (*read)(void *ctx, const struct yaml_node *node, void *ret), void *ctx, void *ret,
             size_t *ret_n)
{
    char *at;
    size_t n = 0;
    int r = 0;

    if (!doc_is(d, k, YAML_NODE_LIST))
        return 0;
    at = arena_zalloc(d->arena, k->value->n, size);
    if (!at)
        return -ENOMEM;
    for (const struct yaml_node *node = k->value->first; node && r == 0; node = node->next)
        r = read(ctx, node, at + size * n++);
    memcpy(ret, &at, sizeof(at)); /* a pointer to elements, whatever they are */
    *ret_n = n;
    return r;
}

/* --- names --- */

static int name_cmp(const void *a, const void *b)
{
    const struct doc_name *x = a, *y = b;
    int c = span_cmp(x->name, y->name);
    if (c == 0)
        c = (x->line > y->line) - (x->line < y->line);
    return c != 0 ? c : (x->column > y->column) - (x->column < y->column);
}

void doc_names_once(struct doc *d, const char *what, struct doc_name *names, size_t n)
{
    if (n > 1)
        qsort(names, n, sizeof(*names), name_cmp);
    for (size_t i = 1; i < n; i++) {
        char shown[ERR_LIST_SHOWN_MAX];
        struct err *e;
        if (names[i].name.n == 0 || !span_eq(names[i].name, names[i - 1].name))
            continue;
        d->has_mistakes = true;
        e = err_list_add(d->errs, d->where, names[i].line, names[i].column);
        (void)err_set(e, -EEXIST, "a second %s \"%s\"", what, err_list_shown(names[i].name, shown));
        err_hint(e, "the one before is on line %d; give each a name of its own", names[i - 1].line);
    }
}
