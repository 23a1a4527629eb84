/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/rule_test_compare.c - what came out, against what a unit test expects.
 *
 * Both sides are sorted and compared one by one, exactly, as promtool does; what is printed is laid
 * out as its users know it.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "rules/rule_test_private.h"
#include "series/duration.h"
#include "series/number.h"

enum { SHOWN_MAX = 1000 }; /* bytes of an expression */

/* What is too long for a report is cut. */
static int said(int r)
{
    return r == -EMSGSIZE ? 0 : r;
}

void rule_test_fail(struct rule_test_run *run, struct place at)
{
    struct rule_test_failure f = {
        .line = at.line,
        .column = at.column,
        .name = run->test->name,
        .title = buf_span(&run->title),
        .wanted = buf_span(&run->wanted),
        .got = buf_span(&run->got),
    };

    run->report->n_failed++;
    if (run->report->on_failure)
        run->report->on_failure(run->report->ctx, &f);
}

static void clear(struct rule_test_run *run)
{
    buf_clear(&run->title);
    buf_clear(&run->wanted);
    buf_clear(&run->got);
}

/* --- alerts --- */

static int got_cmp(const void *a, const void *b)
{
    const struct rule_test_got *x = a;
    const struct rule_test_got *y = b;
    int c = labels_cmp(x->labels, y->labels);

    return c != 0 ? c : labels_cmp(x->annotations, y->annotations);
}

static int say_alerts(struct buf *out, const struct rule_test_got *at, size_t n)
{
    int r = 0;

    if (n == 0)
        return said(buf_append(out, SPAN("[]")));
    for (size_t i = 0; i < n && r == 0; i++) {
        r = buf_printf(out, "%s\n  %zu:\n    Labels:", i == 0 ? "[" : ",", i);
        if (r == 0)
            r = labels_print_pairs(at[i].labels, out);
        if (r == 0)
            r = buf_append(out, SPAN("\n    Annotations:"));
        if (r == 0)
            r = labels_print_pairs(at[i].annotations, out);
    }
    return said(r == 0 ? buf_append(out, SPAN("\n]")) : r);
}

static bool are_same_alerts(const struct rule_test_got *a, size_t n_a,
                            const struct rule_test_got *b, size_t n_b)
{
    if (n_a != n_b)
        return false;
    for (size_t i = 0; i < n_a; i++)
        if (!labels_eq(a[i].labels, b[i].labels) || !labels_eq(a[i].annotations, b[i].annotations))
            return false;
    return true;
}

static int say_title(struct rule_test_run *run, const char *what, struct span text, int64_t eval_ms)
{
    int r = buf_printf(&run->title, "%s ", what);

    if (r == 0)
        r = labels_quote(text.n > SHOWN_MAX ? span_of(text.p, SHOWN_MAX) : text, &run->title);
    if (r == 0)
        r = buf_append(&run->title, SPAN(" at "));
    return said(r == 0 ? duration_print(eval_ms, &run->title) : r);
}

int rule_test_compare_alerts(struct rule_test_run *run, const struct rule_test_alerts *wanted,
                             struct rule_test_got *got, size_t n)
{
    struct rule_test_got *sorted = arena_array(&run->arena, wanted->n, sizeof(*sorted));
    int r;

    if (!sorted)
        return -ENOMEM;
    for (size_t i = 0; i < wanted->n; i++)
        sorted[i] = (struct rule_test_got){wanted->alerts[i].labels, wanted->alerts[i].annotations};
    if (wanted->n > 1)
        qsort(sorted, wanted->n, sizeof(*sorted), got_cmp);
    if (n > 1)
        qsort(got, n, sizeof(*got), got_cmp);
    if (are_same_alerts(sorted, wanted->n, got, n)) {
        run->report->n_passed++;
        return 0;
    }
    clear(run);
    r = say_title(run, "alert", wanted->name, wanted->eval_ms);
    if (r == 0)
        r = say_alerts(&run->wanted, sorted, wanted->n);
    if (r == 0)
        r = say_alerts(&run->got, got, n);
    if (r == 0)
        rule_test_fail(run, wanted->at);
    return r;
}

/* --- samples --- */

static int sample_cmp(const void *a, const void *b)
{
    const struct rule_test_sample *x = a;
    const struct rule_test_sample *y = b;

    return labels_cmp(x->labels, y->labels);
}

static int say_samples(struct buf *out, const struct rule_test_sample *at, size_t n)
{
    int r = n == 0 ? buf_append(out, SPAN("nil")) : 0;

    for (size_t i = 0; i < n && r == 0; i++) {
        if (i > 0)
            r = buf_append(out, SPAN(", "));
        if (r == 0)
            r = labels_print(at[i].labels, out);
        if (r == 0)
            r = buf_append(out, SPAN(" "));
        if (r == 0)
            r = at[i].h ? fhist_print(at[i].h, out) : number_print(at[i].v, out);
    }
    return said(r);
}

static bool is_same_value(const struct rule_test_run *run, double a, double b)
{
    if (a == b)
        return true;
    return run->file->is_fuzzy && !isnan(a) && !isnan(b) &&
           (nextafter(a, -(double)INFINITY) == b || nextafter(a, (double)INFINITY) == b);
}

/* Histograms are the same when they are written the same way. */
static int is_same_hist(const struct fhist *a, const struct fhist *b, bool *ret)
{
    enum { HIST_TEXT_BYTES = 4 << 20 };
    struct buf x;
    struct buf y;
    int r;

    buf_init(&x, HIST_TEXT_BYTES);
    buf_init(&y, HIST_TEXT_BYTES);
    r = fhist_print(a, &x);
    if (r == 0)
        r = fhist_print(b, &y);
    if (r == 0)
        *ret = span_eq(buf_span(&x), buf_span(&y));
    buf_done(&x);
    buf_done(&y);
    return r;
}

static int compare_samples(const struct rule_test_run *run, const struct rule_test_sample *a,
                           size_t n_a, const struct rule_test_sample *b, size_t n_b, bool *ret)
{
    int r = 0;

    *ret = n_a == n_b;
    for (size_t i = 0; i < n_a && *ret && r == 0; i++) {
        *ret = labels_eq(a[i].labels, b[i].labels) && !a[i].h == !b[i].h;
        if (*ret && a[i].h)
            r = is_same_hist(a[i].h, b[i].h, ret);
        else if (*ret)
            *ret = is_same_value(run, a[i].v, b[i].v);
    }
    return r;
}

static int samples_of(struct rule_test_run *run, const struct value *v,
                      struct rule_test_sample **ret, size_t *ret_n)
{
    struct rule_test_sample *at = arena_array(&run->arena, v->n_columns, sizeof(*at));
    size_t n = 0;

    if (!at)
        return -ENOMEM;
    for (size_t i = 0; i < v->n_columns; i++) {
        const struct column *c = &v->columns[i];
        if (v->type == PROMQL_SCALAR)
            at[n++] = (struct rule_test_sample){{NULL, 0}, c->v[0], NULL};
        else if (c->has[0])
            at[n++] = (struct rule_test_sample){c->labels, c->v[0], c->h ? c->h[0] : NULL};
    }
    if (n > 1)
        qsort(at, n, sizeof(*at), sample_cmp);
    *ret = at;
    *ret_n = n;
    return 0;
}

static int compare_value(struct rule_test_run *run, const struct rule_test_expr *wanted,
                         const struct value *v)
{
    struct rule_test_sample *sorted = arena_array(&run->arena, wanted->n, sizeof(*sorted));
    struct rule_test_sample *got;
    size_t n;
    bool is_same;
    int r = samples_of(run, v, &got, &n);

    if (!sorted || r < 0)
        return -ENOMEM;
    for (size_t i = 0; i < wanted->n; i++)
        sorted[i] = wanted->samples[i];
    if (wanted->n > 1)
        qsort(sorted, wanted->n, sizeof(*sorted), sample_cmp);
    r = compare_samples(run, sorted, wanted->n, got, n, &is_same);
    if (r < 0)
        return r;
    if (is_same) {
        run->report->n_passed++;
        return 0;
    }
    clear(run);
    r = say_title(run, "expr", wanted->text, wanted->eval_ms);
    if (r == 0)
        r = say_samples(&run->wanted, sorted, wanted->n);
    if (r == 0)
        r = say_samples(&run->got, got, n);
    if (r == 0)
        rule_test_fail(run, wanted->at);
    return r;
}

static int query_failed(struct rule_test_run *run, const struct rule_test_expr *wanted,
                        const struct promql_error *why)
{
    int r;

    clear(run);
    r = say_title(run, "expr", wanted->text, wanted->eval_ms);
    if (r == 0)
        r = say_samples(&run->wanted, wanted->samples, wanted->n);
    if (r == 0)
        r = said(buf_printf(&run->got, "error: %s", why->text));
    if (r == 0)
        rule_test_fail(run, wanted->at);
    return r;
}

int rule_test_compare_expr(struct rule_test_run *run, const struct rule_test_expr *wanted)
{
    int64_t at_ms = run->test->start_ms + wanted->eval_ms;
    struct promql_options options = {
        .start_ms = at_ms, .end_ms = at_ms, .default_step_ms = run->file->interval_ms};
    struct promql_error why = {.text = ""};
    struct promql_result result;
    int r = promql_query(wanted->expr, memory_reader(run->memory), &options, &result, &why);

    if (r == 0)
        r = compare_value(run, wanted, &result.value);
    else if (r != -ENOMEM)
        r = query_failed(run, wanted, &why);
    promql_result_done(&result);
    return r;
}
