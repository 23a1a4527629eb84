/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/matchers_print.c - matchers in order, and as text: as Alertmanager writes the keys of
 * routes.
 */
#include <stdlib.h>

#include "alert/matchers.h"

static const char *op_text(enum matcher_op op)
{
    static const char *const texts[] = {
        [MATCH_EQ] = "=", [MATCH_NE] = "!=", [MATCH_RE] = "=~", [MATCH_NRE] = "!~"};
    return texts[op];
}

/* As Alertmanager numbers them. */
static int op_rank(enum matcher_op op)
{
    return op == MATCH_EQ ? 0 : op == MATCH_NE ? 1 : op == MATCH_RE ? 2 : 3;
}

static int order(const void *a, const void *b)
{
    const struct matcher *x = a, *y = b;
    int r = span_cmp(x->name, y->name);
    if (r == 0)
        r = span_cmp(x->value, y->value);
    return r != 0 ? r : op_rank(x->op) - op_rank(y->op);
}

void alert_matchers_sort(struct alert_matchers *m)
{
    if (m->n > 1)
        qsort(m->at, m->n, sizeof(*m->at), order);
}

/* Escaped as far as the classic grammar goes. */
static int print_classic_value(struct span s, struct buf *out)
{
    int r = buf_append(out, SPAN("\""));
    for (size_t i = 0; i < s.n && r == 0; i++) {
        char c = s.p[i];
        if (c == '\n')
            r = buf_append(out, SPAN("\\n"));
        else if (c == '"' || c == '\\')
            r = buf_printf(out, "\\%c", c);
        else
            r = buf_append(out, span_of(s.p + i, 1));
    }
    return r < 0 ? r : buf_append(out, SPAN("\""));
}

static bool has_reserved(struct span s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (alert_matchers_is_reserved(s.p[i]))
            return true;
    }
    return false;
}

int alert_matchers_print_one(const struct matcher *m, struct buf *out)
{
    bool is_quoted = has_reserved(m->name);
    int r = is_quoted ? labels_quote(m->name, out) : buf_append(out, m->name);
    if (r == 0)
        r = buf_append(out, span_cstr(op_text(m->op)));
    if (r == 0)
        r = is_quoted ? labels_quote(m->value, out) : print_classic_value(m->value, out);
    return r;
}

int alert_matchers_print(const struct matcher *at, size_t n, struct buf *out)
{
    int r = buf_append(out, SPAN("{"));
    for (size_t i = 0; i < n && r == 0; i++) {
        if (i > 0)
            r = buf_append(out, SPAN(","));
        if (r == 0)
            r = alert_matchers_print_one(&at[i], out);
    }
    return r < 0 ? r : buf_append(out, SPAN("}"));
}
