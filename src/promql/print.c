/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/print.c - a tree as text that parses to the same tree.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/num.h"
#include "promql/parse.h"
#include "promql/quote.h"
#include "series/duration.h"

/* Sticky: after a failure nothing more is written. */
struct printer {
    struct buf *out;
    promql_stretch stretch; /* NULL: durations as they are */
    void *ctx;
    int r;
};

static void print(struct printer *p, const struct node *n);

static void put(struct printer *p, const char *text)
{
    if (p->r == 0)
        p->r = buf_append(p->out, span_cstr(text));
}

static void put_span(struct printer *p, struct span s)
{
    if (p->r == 0)
        p->r = buf_append(p->out, s);
}

static void put_quoted(struct printer *p, struct span s)
{
    if (p->r == 0)
        p->r = quote_print(s, p->out);
}

static void put_number(struct printer *p, double v)
{
    char text[NUM_PLAIN_BYTES];
    put_span(p, span_of(text, num_format_plain(v, text)));
}

/* Seconds as a duration where milliseconds are exact, else as a number. */
static void put_seconds(struct printer *p, double seconds)
{
    double ms = seconds * 1000;
    double whole = round(ms);
    if (p->r)
        return;
    if (whole / 1000 == seconds && fabs(whole) < 9e15)
        p->r = duration_print((int64_t)whole, p->out);
    else
        put_number(p, seconds);
}

static void put_names(struct printer *p, const struct span *names, size_t n)
{
    put(p, "(");
    for (size_t i = 0; i < n; i++) {
        put(p, i ? ", " : "");
        if (labels_is_label_name(names[i]))
            put_span(p, names[i]);
        else
            put_quoted(p, names[i]);
    }
    put(p, ")");
}

static const char *duration_operator(enum duration_op op)
{
    static const char *const texts[] = {
        [DUR_ADD] = " + ", [DUR_SUB] = " - ", [DUR_MUL] = " * ",
        [DUR_DIV] = " / ", [DUR_MOD] = " % ", [DUR_POW] = " ^ ",
    };
    return texts[op];
}

static void print_duration(struct printer *p, const struct duration *d, bool is_whole)
{
    put(p, d->is_wrapped ? "(" : "");
    switch (d->op) {
    case DUR_NUMBER:
        if (is_whole || d->is_written_as_duration)
            put_seconds(p, d->seconds);
        else
            put_number(p, d->seconds);
        break;
    case DUR_STEP:
    case DUR_RANGE:
        put(p, d->op == DUR_STEP ? "step()" : "range()");
        break;
    case DUR_MIN_OF:
    case DUR_MAX_OF:
        put(p, d->op == DUR_MIN_OF ? "min_of(" : "max_of(");
        print_duration(p, d->left, false);
        put(p, ", ");
        print_duration(p, d->right, false);
        put(p, ")");
        break;
    case DUR_NEGATE:
        put(p, "-");
        print_duration(p, d->right, false);
        break;
    default:
        print_duration(p, d->left, false);
        put(p, duration_operator(d->op));
        print_duration(p, d->right, false);
        break;
    }
    put(p, d->is_wrapped ? ")" : "");
}

/* What a duration is worth, as the caller wants it instead. */
static void put_stretched(struct printer *p, enum promql_span what, const struct duration *d)
{
    int64_t ms = 0;
    if (p->r == 0)
        p->r = promql_duration_ms(d, 0, 0, what == PROMQL_SPAN_OFFSET, &ms, NULL);
    if (p->r < 0)
        return;
    ms = p->stretch(p->ctx, what, ms);
    put(p, ms < 0 ? "-" : "");
    if (p->r == 0)
        p->r = duration_print(ms < 0 ? -ms : ms, p->out);
}

/* A duration that stands alone: a plain number is written as a duration. */
static void put_duration(struct printer *p, enum promql_span what, const struct duration *d)
{
    if (p->stretch)
        put_stretched(p, what, d);
    else
        print_duration(p, d, d->op == DUR_NUMBER && !d->is_wrapped);
}

static void print_at(struct printer *p, const struct when *w)
{
    if (w->at == AT_START)
        put(p, " @ start()");
    else if (w->at == AT_END)
        put(p, " @ end()");
    else if (w->at == AT_TIME && p->r == 0)
        p->r = buf_printf(
            p->out, " @ %s%llu.%03llu", w->at_ms < 0 ? "-" : "",
            (w->at_ms < 0 ? 0ULL - (unsigned long long)w->at_ms : (unsigned long long)w->at_ms) /
                1000,
            (w->at_ms < 0 ? 0ULL - (unsigned long long)w->at_ms : (unsigned long long)w->at_ms) %
                1000);
}

/* Behind offset an operator belongs to the duration only in parentheses. */
static bool stands_alone(const struct duration *d)
{
    bool is_operation = d->op >= DUR_ADD && d->op <= DUR_NEGATE;
    if (d->is_wrapped || !is_operation)
        return true;
    bool is_simple = d->right->is_wrapped || d->right->op < DUR_ADD || d->right->op > DUR_NEGATE;
    return d->op == DUR_NEGATE && is_simple;
}

static void print_offset(struct printer *p, const struct when *w)
{
    if (!w->offset)
        return;
    bool is_alone = p->stretch || stands_alone(w->offset);
    put(p, is_alone ? " offset " : " offset (");
    put_duration(p, PROMQL_SPAN_OFFSET, w->offset);
    put(p, is_alone ? "" : ")");
}

/* What begins with a parenthesis goes on with the operator behind it: @ or a mode has to stand
 * between. */
static bool is_open(const struct duration *d)
{
    return d->is_wrapped || !stands_alone(d);
}

/* anchored and @ before offset, as long as they need not end it. */
static void print_when(struct printer *p, const char *mode, const struct when *w)
{
    bool is_first = w->offset && !p->stretch && is_open(w->offset);
    if (is_first)
        print_offset(p, w);
    put(p, mode);
    print_at(p, w);
    if (!is_first)
        print_offset(p, w);
}

static void print_matcher(struct printer *p, const struct matcher *m)
{
    static const char *const ops[] = {
        [MATCH_EQ] = "=", [MATCH_NE] = "!=", [MATCH_RE] = "=~", [MATCH_NRE] = "!~"};
    if (labels_is_label_name(m->name))
        put_span(p, m->name);
    else
        put_quoted(p, m->name);
    put(p, ops[m->op]);
    put_quoted(p, m->value);
}

static void print_selector(struct printer *p, const struct node *n)
{
    size_t n_matchers = n->selector.n_matchers;
    bool has_name = n->selector.name.n > 0;
    if (has_name)
        n_matchers--; /* the last one is the name */
    put_span(p, n->selector.name);
    if (n_matchers > 0 || !has_name) {
        put(p, "{");
        for (size_t i = 0; i < n_matchers; i++) {
            put(p, i ? "," : "");
            print_matcher(p, &n->selector.matchers[i]);
        }
        put(p, "}");
    }
    if (n->selector.range) {
        put(p, "[");
        put_duration(p, PROMQL_SPAN_RANGE, n->selector.range);
        put(p, "]");
    }
    const char *mode = n->selector.is_anchored   ? " anchored"
                       : n->selector.is_smoothed ? " smoothed"
                                                 : "";
    print_when(p, mode, &n->selector.when);
}

static void print_subquery(struct printer *p, const struct node *n)
{
    print(p, n->subquery.inner);
    put(p, "[");
    put_duration(p, PROMQL_SPAN_RANGE, n->subquery.range);
    put(p, ":");
    if (n->subquery.step)
        put_duration(p, PROMQL_SPAN_STEP, n->subquery.step);
    put(p, "]");
    print_when(p, "", &n->subquery.when);
}

static void print_fill(struct printer *p, const char *word, double v)
{
    put(p, word);
    put_number(p, v);
    put(p, ")");
}

static void print_matching(struct printer *p, const struct vector_matching *m)
{
    bool is_grouped = m->card == MATCH_MANY_TO_ONE || m->card == MATCH_ONE_TO_MANY;
    if (m->n_names > 0 || m->is_on || is_grouped) {
        put(p, m->is_on ? " on " : " ignoring ");
        put_names(p, m->names, m->n_names);
    }
    if (is_grouped) {
        put(p, m->card == MATCH_MANY_TO_ONE ? " group_left " : " group_right ");
        put_names(p, m->include, m->n_include);
    }
    bool is_same = m->has_fill_left && m->has_fill_right && m->fill_left == m->fill_right;
    if (is_same) {
        print_fill(p, " fill (", m->fill_left);
        return;
    }
    if (m->has_fill_left)
        print_fill(p, " fill_left (", m->fill_left);
    if (m->has_fill_right)
        print_fill(p, " fill_right (", m->fill_right);
}

static void print_binary(struct printer *p, const struct node *n)
{
    print(p, n->binary.left);
    put(p, " ");
    put(p, binary_ops[n->binary.op].text);
    put(p, n->binary.is_bool ? " bool" : "");
    if (n->binary.matching)
        print_matching(p, n->binary.matching);
    put(p, " ");
    print(p, n->binary.right);
}

static void print_aggregate(struct printer *p, const struct node *n)
{
    put(p, aggregate_ops[n->aggregate.op].text);
    if (n->aggregate.n_names > 0 || n->aggregate.is_without) {
        put(p, n->aggregate.is_without ? " without " : " by ");
        put_names(p, n->aggregate.names, n->aggregate.n_names);
        put(p, " ");
    }
    put(p, "(");
    if (n->aggregate.parameter) {
        print(p, n->aggregate.parameter);
        put(p, ", ");
    }
    print(p, n->aggregate.inner);
    put(p, ")");
}

static void print_call(struct printer *p, const struct node *n)
{
    put(p, n->call.function->name);
    put(p, "(");
    for (size_t i = 0; i < n->call.n_args; i++) {
        put(p, i ? ", " : "");
        print(p, n->call.args[i]);
    }
    put(p, ")");
}

static void print(struct printer *p, const struct node *n)
{
    switch (n->kind) {
    case NODE_NUMBER:
        if (n->number.is_duration)
            put_seconds(p, n->number.value);
        else
            put_number(p, n->number.value);
        break;
    case NODE_STRING:
        put_quoted(p, n->string);
        break;
    case NODE_PAREN:
        put(p, "(");
        print(p, n->inner);
        put(p, ")");
        break;
    case NODE_NEGATE:
        put(p, "-");
        print(p, n->inner);
        break;
    case NODE_BINARY:
        print_binary(p, n);
        break;
    case NODE_AGGREGATE:
        print_aggregate(p, n);
        break;
    case NODE_CALL:
        print_call(p, n);
        break;
    case NODE_SELECTOR:
        print_selector(p, n);
        break;
    case NODE_SUBQUERY:
        print_subquery(p, n);
        break;
    }
}

int promql_print_stretched(const struct node *n, promql_stretch stretch, void *ctx, struct buf *out)
{
    size_t before = buf_len(out);
    struct printer p = {.out = out, .stretch = stretch, .ctx = ctx};
    print(&p, n);
    if (p.r < 0)
        buf_truncate(out, before);
    return p.r;
}

int promql_print(const struct node *n, struct buf *out)
{
    return promql_print_stretched(n, NULL, NULL, out);
}
