/* SPDX-License-Identifier: Apache-2.0 */
/*
 * baseline/propose_reader.c - the questions of propose.h, asked of a reader.
 */
#include <errno.h>

#include "baseline/propose.h"
#include "promql/query.h"

static int buckets_of(const struct fhist *h, struct arena *a, struct propose_window *ret)
{
    struct propose_bucket *at = arena_array(a, h->positive.n + h->negative.n + 1, sizeof(*at));
    struct fhist_walk w;
    struct fhist_range range;
    if (!at)
        return -ENOMEM;
    ret->at = at;
    fhist_walk_begin(&w, h);
    while (fhist_walk_next(&w, &range))
        at[ret->n++] = (struct propose_bucket){range.lower, range.upper, range.count};
    return 0;
}

static int column_take(const struct value *v, const struct column *c, struct arena *a,
                       struct propose_series *ret)
{
    struct propose_window *at = arena_zalloc(a, v->n_steps, sizeof(*at));
    int r = 0;
    ret->model = arena_dup(a, labels_get(c->labels, SPAN("model")));
    ret->at = at;
    if (!at || !ret->model.p)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < v->n_steps; i++) {
        if (!c->has[i] || !c->h || !c->h[i])
            continue;
        at[ret->n].end_ms = v->start_ms + (int64_t)i * v->step_ms;
        r = buckets_of(c->h[i], a, &at[ret->n++]);
    }
    return r;
}

static int value_take(const struct value *v, struct arena *a, struct propose_series **ret,
                      size_t *ret_n)
{
    struct propose_series *at = arena_zalloc(a, v->n_columns, sizeof(*at));
    int r = at ? 0 : -ENOMEM;
    for (size_t i = 0; r == 0 && i < v->n_columns; i++)
        r = column_take(v, &v->columns[i], a, &at[i]);
    if (r == 0) {
        *ret = at;
        *ret_n = v->n_columns;
    }
    return r;
}

int propose_ask_reader(void *ctx, const struct propose_question *q, struct arena *a,
                       struct propose_series **ret, size_t *ret_n, struct err *reterr)
{
    const struct propose_reader *from = ctx;
    struct promql_options o = {.start_ms = q->start_ms,
                               .end_ms = q->end_ms,
                               .step_ms = q->step_ms,
                               .is_over = from->is_over,
                               .ctx = from->ctx};
    struct promql_expr *e = NULL;
    struct promql_error error = {.text = ""};
    struct promql_result result;
    int r = promql_parse(q->query, &e, &error);
    if (r == 0) {
        r = promql_query(e, from->reader, &o, &result, &error);
        if (r == 0)
            r = value_take(&result.value, a, ret, ret_n);
        promql_result_done(&result);
    }
    (void)promql_free_expr(e);
    return r < 0 ? err_set(reterr, r, "%s", error.text[0] ? error.text : err_str(r)) : 0;
}
