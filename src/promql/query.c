/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/query.c - see query.h: checks what was asked, evaluates the root, and makes the result
 * presentable (names that were to go, equal labels, order).
 */
#include "promql/query.h"

#include <errno.h>
#include <stdlib.h>

#include "promql/column.h"
#include "promql/shared.h"
#include "promql/time.h"

static const struct promql_options defaults = {.lookback_ms = INT64_C(5) * 60 * 1000,
                                               .default_step_ms = INT64_C(60) * 1000,
                                               .max_bytes = (size_t)1 << 30,
                                               .max_samples = UINT64_C(50) * 1000 * 1000};

static struct promql_options filled(const struct promql_options *o)
{
    struct promql_options f = *o;
    if (f.lookback_ms <= 0)
        f.lookback_ms = defaults.lookback_ms;
    if (f.default_step_ms <= 0)
        f.default_step_ms = defaults.default_step_ms;
    if (f.max_bytes == 0)
        f.max_bytes = defaults.max_bytes;
    if (f.max_samples == 0)
        f.max_samples = defaults.max_samples;
    return f;
}

static int check_times(struct eval *e, const struct node *root, struct grid *g)
{
    const struct promql_options *o = e->options;
    *g = (struct grid){.start_ms = o->start_ms, .step_ms = o->step_ms, .n = 1};
    if (o->start_ms < -TIME_MAX_MS || o->end_ms > TIME_MAX_MS || o->start_ms > TIME_MAX_MS ||
        o->lookback_ms > TIME_MAX_MS || o->default_step_ms > TIME_MAX_MS)
        return eval_fail(e, -EINVAL, NULL, "time is out of range");
    if (o->end_ms < o->start_ms)
        return eval_fail(e, -EINVAL, NULL, "end timestamp must not be before start time");
    if (o->step_ms < 0 || (o->step_ms == 0 && o->start_ms != o->end_ms))
        return eval_fail(e, -EINVAL, NULL,
                         "zero or negative query resolution step widths are not accepted. Try a "
                         "positive integer");
    if (o->step_ms == 0)
        return 0;
    if (root->type != PROMQL_SCALAR && root->type != PROMQL_VECTOR)
        return eval_fail(e, -EINVAL, root,
                         "invalid expression type \"%s\" for range query, must be Scalar or "
                         "instant Vector",
                         root->type == PROMQL_MATRIX ? "range vector"
                                                     : promql_type_name(root->type));
    if ((o->end_ms - o->start_ms) / o->step_ms > PROMQL_STEPS_MAX)
        return eval_fail(e, -E2BIG, NULL,
                         "exceeded maximum resolution of 11,000 points per timeseries. Try "
                         "decreasing the query resolution (?step=XX)");
    g->n = (size_t)((o->end_ms - o->start_ms) / o->step_ms) + 1;
    return 0;
}

static int compare_columns(const void *a, const void *b)
{
    return labels_cmp(((const struct column *)a)->labels, ((const struct column *)b)->labels);
}

static int compare_runs(const void *a, const void *b)
{
    return labels_cmp(((const struct run *)a)->labels, ((const struct run *)b)->labels);
}

static int drop_names(struct value *v, struct arena *a)
{
    for (size_t i = 0; i < v->n_columns; i++) {
        struct column *c = &v->columns[i];
        int r = c->drops_name ? label_nameless(a, c->labels, &c->labels) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

/* Runs of a subquery that have the same labels now that names are gone. */
static int check_runs(struct eval *e, const struct value *v)
{
    for (size_t i = 1; i < v->n_runs; i++)
        if (labels_eq(v->runs[i - 1].labels, v->runs[i].labels))
            return eval_fail_same_labels(e);
    return 0;
}

/* Values keep the order that sort() and topk() gave them in an instant query only. */
static int present(struct eval *e, struct value *v, struct arena *a)
{
    if (v->type == PROMQL_MATRIX) {
        if (v->n_runs > 1)
            qsort(v->runs, v->n_runs, sizeof(*v->runs), compare_runs);
        return check_runs(e, v);
    }
    if (v->type != PROMQL_VECTOR)
        return 0;
    columns_prune(v);
    int r = drop_names(v, a);
    if (r == 0)
        r = columns_merge(e, v, a);
    v->is_ordered = v->is_ordered && v->n_steps == 1;
    if (r == 0 && !v->is_ordered && v->n_columns > 1)
        qsort(v->columns, v->n_columns, sizeof(*v->columns), compare_columns);
    return r;
}

static int no_memory(struct eval *e, int code)
{
    if (code != -ENOMEM)
        return code;
    if (!e->budget->is_exceeded)
        return eval_fail(e, -ENOMEM, NULL, "out of memory");
    return eval_fail(e, -E2BIG, NULL, "query needs more memory than the %zu MiB that it may use",
                     e->options->max_bytes >> 20);
}

int promql_query(const struct promql_expr *expr, struct reader *r, const struct promql_options *o,
                 struct promql_result *ret, struct promql_error *reterr)
{
    const struct promql_options options = filled(o);
    const struct node *root = promql_root(expr);
    struct promql_error ignored = {.line = 0};
    struct grid g;
    *ret = (struct promql_result){.n_samples = 0};
    ret->_budget.max_bytes = options.max_bytes;
    arena_init(&ret->_arena, &ret->_budget);
    struct eval e = {.options = &options,
                     .reader = r,
                     .budget = &ret->_budget,
                     .err = reterr ? reterr : &ignored};
    *e.err = (struct promql_error){.line = 0};
    notes_init(&e.notes, &ret->_arena, promql_text(expr));
    int rc = check_times(&e, root, &g);
    if (rc == 0)
        rc = shared_init(&e, root, promql_text(expr), &ret->_arena);
    if (rc == 0)
        rc = eval_node(&e, root, &g, &ret->_arena, &ret->value);
    if (rc == 0)
        rc = present(&e, &ret->value, &ret->_arena);
    if (rc < 0) {
        rc = no_memory(&e, rc);
        if (e.err->text[0] == '\0')
            (void)eval_fail(&e, rc, NULL, "reading series failed: %s", err_str(rc));
        promql_result_done(ret);
        return rc;
    }
    ret->notes = e.notes.at;
    ret->n_notes = e.notes.n;
    ret->n_samples = e.n_samples;
    ret->widened_ms = e.widened_ms;
    return 0;
}

void promql_result_done(struct promql_result *r)
{
    arena_done(&r->_arena);
    *r = (struct promql_result){.n_samples = 0};
}
