/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/aggregate_count_values.c - count_values("label", v): how many series of a group have which
 * value.
 *
 * A series mostly keeps its value from one step to the next, so the result's series is looked for
 * again only when the value changed.
 */
#include <errno.h>

#include "base/num.h"
#include "base/utf8.h"
#include "promql/aggregate.h"

enum { VALUE_TEXT_MAX = 1 << 20 };

struct count_values {
    struct eval *e;
    const struct node *node;
    struct arena *work;
    struct columns out;
    struct label_index index;
    struct span label;
    bool has_label; /* without (label) takes it away again */
    struct buf text;
};

/* All digits, no exponent: 1e+21 is 1000000000000000000000. */
static int print_plain(double v, struct buf *out)
{
    char s[NUM_PLAIN_BYTES];
    return buf_append(out, span_of(s, num_format_plain(v, s)));
}

/* The result's column for a value of a series whose group has the labels base. */
static int find_column(struct count_values *x, struct labels base, double v, const struct fhist *h,
                       size_t *ret)
{
    struct labels labels = base;
    bool is_new = false;
    buf_clear(&x->text);
    int r = h ? fhist_describe(h, &x->text) : print_plain(v, &x->text);
    if (r == 0 && x->has_label) {
        struct span text = arena_dup(x->work, buf_span(&x->text));
        r = text.p ? labels_with(x->work, base, x->label, text, &labels) : -ENOMEM;
    }
    if (r == 0)
        r = label_index_get(&x->index, labels, ret, &is_new);
    if (r < 0 || !is_new)
        return r;
    struct column *c;
    struct labels copy;
    r = labels_copy(x->out.a, labels, &copy);
    return r == 0 ? columns_add(&x->out, copy, &c) : r;
}

static int count_series(struct count_values *x, const struct column *c, struct labels base)
{
    size_t at = 0;
    bool is_known = false;
    uint64_t before = 0, bits;
    for (size_t i = 0; i < x->out.n_steps; i++) {
        const struct fhist *h = column_h(c, i);
        if (!c->has[i])
            continue;
        memcpy(&bits, &c->v[i], sizeof(bits));
        if (!is_known || h || bits != before) {
            int r = find_column(x, base, c->v[i], h, &at);
            if (r < 0)
                return r;
        }
        before = bits;
        is_known = !h;
        x->out.at[at].v[i]++;
        x->out.at[at].has[i] = 1;
    }
    return eval_work(x->e, x->out.n_steps);
}

static bool is_named(const struct node *n, struct span label)
{
    for (size_t i = 0; i < n->aggregate.n_names; i++)
        if (span_eq(n->aggregate.names[i], label))
            return true;
    return false;
}

static int check_label(struct count_values *x)
{
    struct span rest = x->label;
    bool is_valid = rest.n > 0;
    struct buf quoted;
    while (rest.n > 0 && is_valid)
        (void)span_take(&rest, utf8_step(rest, &is_valid));
    if (is_valid)
        return 0;
    buf_init(&quoted, 4096);
    int r = labels_quote(x->label, &quoted);
    if (r == 0)
        r = eval_fail(x->e, -EINVAL, x->node, "invalid label name %.*s",
                      SPAN_ARG(buf_span(&quoted)));
    buf_done(&quoted);
    return r;
}

static int count_all(struct count_values *x, const struct grid *g)
{
    struct grouping grouping;
    struct value in;
    int r = check_label(x);
    if (r == 0)
        r = grouping_init(&grouping, x->node, x->work);
    if (r == 0)
        r = eval_node(x->e, x->node->aggregate.inner, g, x->work, &in);
    for (size_t i = 0; r == 0 && i < in.n_columns; i++) {
        struct labels base;
        r = grouping_labels(&grouping, in.columns[i].labels, x->work, &base);
        if (r == 0)
            r = count_series(x, &in.columns[i], base);
    }
    return r;
}

int aggregate_count_values(struct eval *e, const struct node *n, const struct grid *g,
                           struct arena *a, struct value *ret)
{
    struct arena work;
    struct count_values x = {.e = e,
                             .node = n,
                             .work = &work,
                             .out = columns_of(e, a, g->n),
                             .label = eval_unwrap(n->aggregate.parameter)->string};
    x.has_label = !n->aggregate.is_without || !is_named(n, x.label);
    arena_init(&work, e->budget);
    buf_init(&x.text, VALUE_TEXT_MAX);
    label_index_init(&x.index, &work, LABELS_ALL, NULL, 0);
    int r = count_all(&x, g);
    columns_give(&x.out, g, ret);
    buf_done(&x.text);
    arena_done(&work);
    return r;
}
