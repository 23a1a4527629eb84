/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/call_labels.c - label_replace and label_join: once per series, whatever the steps.
 */
#include <errno.h>

#include "base/utf8.h"
#include "promql/call.h"

enum { LABEL_VALUE_MAX = 1 << 20 };

static struct span string_arg(const struct node *n, size_t i)
{
    return call_arg(n, i)->string;
}

static int check_name(struct eval *e, const struct node *n, struct span name, const char *which)
{
    if (name.n > 0 && utf8_is_valid(name))
        return 0;
    return eval_fail(e, -EINVAL, n, "invalid %s label name in %s(): %.*s", which,
                     n->call.function->name, SPAN_ARG(name));
}

/* Gives the column the label dst; a name that was set is there to stay. */
static int set_label(struct arena *a, struct column *c, struct span dst, struct span text)
{
    struct span value = arena_dup(a, text), name = arena_dup(a, dst);
    if (!value.p || !name.p)
        return -ENOMEM;
    if (span_eq(dst, SPAN(LABEL_NAME)))
        c->drops_name = false;
    return labels_with(a, c->labels, name, value, &c->labels);
}

int call_label_replace(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                       struct value *ret)
{
    struct span dst = string_arg(n, 1), to = string_arg(n, 2), src = string_arg(n, 3);
    struct pattern *p;
    struct err err;
    struct buf text;
    int r = pattern_new(string_arg(n, 4), &p, &err);
    if (r == -EINVAL)
        return eval_fail(e, r, n, "invalid regular expression in label_replace(): %.*s",
                         SPAN_ARG(string_arg(n, 4)));
    if (r < 0)
        return r;
    buf_init(&text, LABEL_VALUE_MAX);
    r = check_name(e, n, dst, "destination");
    if (r == 0)
        r = eval_node(e, call_arg(n, 0), g, a, ret);
    for (size_t i = 0; r == 0 && i < ret->n_columns; i++) {
        struct column *c = &ret->columns[i];
        buf_clear(&text);
        r = pattern_expand(p, labels_get(c->labels, src), to, &text);
        if (r == -EINVAL)
            r = 0; /* no match: as it is */
        else if (r == 0)
            r = set_label(a, c, dst, buf_span(&text));
    }
    buf_done(&text);
    (void)pattern_free(p);
    return r < 0 ? r : columns_merge(e, ret, a);
}

static int join(const struct node *n, struct labels l, struct buf *text)
{
    int r = 0;
    buf_clear(text);
    for (size_t i = 3; i < n->call.n_args && r == 0; i++) {
        if (i > 3)
            r = buf_append(text, string_arg(n, 2));
        if (r == 0)
            r = buf_append(text, labels_get(l, string_arg(n, i)));
    }
    return r;
}

int call_label_join(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                    struct value *ret)
{
    struct span dst = string_arg(n, 1);
    struct buf text;
    int r = 0;
    for (size_t i = 3; i < n->call.n_args && r == 0; i++)
        r = check_name(e, n, string_arg(n, i), "source");
    if (r == 0)
        r = check_name(e, n, dst, "destination");
    if (r == 0)
        r = eval_node(e, call_arg(n, 0), g, a, ret);
    buf_init(&text, LABEL_VALUE_MAX);
    for (size_t i = 0; r == 0 && i < ret->n_columns; i++) {
        r = join(n, ret->columns[i].labels, &text);
        if (r == 0)
            r = set_label(a, &ret->columns[i], dst, buf_span(&text));
    }
    buf_done(&text);
    return r < 0 ? r : columns_merge(e, ret, a);
}
