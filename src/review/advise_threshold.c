/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review/advise_threshold.c - limits of latency from what was usual (baseline/propose.h), beside
 * those that rules have now.
 *
 * A rule's limit is what it compares the p95 of that metric with: a number, or an expression, which
 * is evaluated at the end of the period.
 */
#include <errno.h>
#include <math.h>

#include "review/instant.h"

enum { DAY_MS = 24 * 3600 * 1000 };
#define MARGIN 0.5
#define NEAR   0.1 /* a limit that is this near to what is proposed is left alone */
#define P95    0.95

static bool is_use_of(const struct quantile_use *u, const struct proposal *p)
{
    struct span metric = quantile_use_metric(u), wanted = span_cstr(p->stage->metric);
    if (!u->rule->is_alert || !u->limit || fabs(u->q - P95) > 1e-9)
        return false;
    if (span_ends_with(metric, SPAN("_bucket")))
        metric.n -= SPAN("_bucket").n;
    return span_eq(metric, wanted);
}

/* The value for that model, or the only one. */
static double limit_in(const struct value *v, struct span model)
{
    for (size_t i = 0; i < v->n_columns; i++)
        if (v->columns[i].has[0] && span_eq(labels_get(v->columns[i].labels, SPAN("model")), model))
            return v->columns[i].v[0];
    return v->n_columns == 1 && v->columns[0].has[0] &&
                   labels_get(v->columns[0].labels, SPAN("model")).n == 0
               ? v->columns[0].v[0]
               : (double)NAN;
}

static int limit_now(struct review *r, const struct node *limit, struct span model, double *ret,
                     struct err *reterr)
{
    const struct value *v = NULL;
    struct instant query;
    instant_init(&query);
    int error = promql_print(limit, &query.text);
    if (error < 0)
        (void)review_fail(r, error, reterr);
    else
        error = instant_run(&query, r, &v, reterr);
    *ret = v ? limit_in(v, model) : (double)NAN;
    instant_done(&query);
    return error;
}

static int threshold_add(struct review *r, struct advice_threshold t, struct err *reterr)
{
    double proposed = t.proposal->threshold;
    if (fabs(t.now - proposed) <= NEAR * proposed) /* not where it is NAN */
        return 0;
    struct advice_threshold *at =
        arena_grow(&r->arena, r->thresholds, r->n_thresholds, 1, &r->cap_thresholds, sizeof(*at));
    if (!at)
        return review_fail(r, -ENOMEM, reterr);
    r->thresholds = at;
    at[r->n_thresholds++] = t;
    return 0;
}

static int advise_one(struct review *r, const struct proposal *p, struct err *reterr)
{
    bool has_rule = false;
    int error = 0;
    for (size_t i = 0; i < r->n_uses && error == 0; i++) {
        struct advice_threshold t = {.proposal = p, .use = &r->uses[i]};
        if (!is_use_of(&r->uses[i], p))
            continue;
        has_rule = true;
        error = limit_now(r, r->uses[i].limit, p->model, &t.now, reterr);
        if (error == 0)
            error = threshold_add(r, t, reterr);
    }
    if (error < 0 || has_rule)
        return error;
    return threshold_add(r, (struct advice_threshold){p, NULL, (double)NAN}, reterr);
}

int advise_threshold(struct review *r, struct err *reterr)
{
    struct propose_reader from = {r->q.reader, r->q.is_over, r->q.ctx};
    const struct propose_source source = {propose_ask_reader, &from};
    int64_t days = (r->q.to_ms - r->q.from_ms) / DAY_MS;
    const struct propose_wish wish = {.to_ms = r->q.to_ms,
                                      .days = days < 1                  ? 1
                                              : days > PROPOSE_DAYS_MAX ? PROPOSE_DAYS_MAX
                                                                        : (int)days,
                                      .margin = MARGIN};
    int error = propose_make(&source, &wish, &r->arena, &r->proposals, reterr);
    for (size_t i = 0; i < r->proposals.n && error == 0; i++)
        if (r->proposals.at[i].threshold > 0)
            error = advise_one(r, &r->proposals.at[i], reterr);
    return error;
}
