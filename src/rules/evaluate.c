/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/evaluate.c - one rule at one moment: query, labels, transition, record and tell.
 *
 * Everything that may fail comes before the first change of state, but for the store's refusal of
 * what was recorded: then alerts have moved and were told (as in Prometheus), and the series count
 * as not recorded.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "rules/evaluate.h"

int evaluation_fail(struct evaluation *e, int code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(e->error, sizeof(e->error), fmt, args);
    va_end(args);
    return code;
}

/* --- query --- */

int evaluation_is_over(void *ctx)
{
    struct evaluation *e = ctx;
    if (e->tick->must_stop && e->tick->must_stop(e->tick->ctx))
        return -ECANCELED;
    return clock_mono().ns > e->deadline.ns ? -ETIMEDOUT : 0;
}

static int query(struct evaluation *e, const struct promql_expr *expr, int64_t t_ms,
                 struct promql_result *ret, struct promql_error *reterr)
{
    const struct promql_options o = {.start_ms = t_ms,
                                     .end_ms = t_ms,
                                     .lookback_ms = e->r->config.lookback_ms,
                                     .default_step_ms = e->r->config.interval_ms,
                                     .max_bytes = RULES_QUERY_BYTES,
                                     .max_samples = e->r->config.max_samples,
                                     .is_over = evaluation_is_over,
                                     .ctx = e};
    return promql_query(expr, overlay_reader(&e->r->overlay), &o, ret, reterr);
}

static int query_rule(struct evaluation *e)
{
    struct promql_error err = {.line = 0};
    int r = query(e, e->rule->def->expr, e->ts_ms - e->g->query_offset_ms, &e->result, &err);
    if (r < 0)
        return evaluation_fail(e, r, "%s", err.text);
    if (e->result.value.type == PROMQL_MATRIX || e->result.value.type == PROMQL_STRING)
        return evaluation_fail(e, -EINVAL, "rule result is not a vector or scalar");
    return 0;
}

/* What `query` of a template returns. */
static int copy_result(const struct value *v, struct arena *a, struct template_sample **ret,
                       size_t *ret_n)
{
    struct template_sample *samples = arena_array(a, v->n_columns, sizeof(*samples));
    if (!samples)
        return -ENOMEM;
    for (size_t i = 0; i < v->n_columns; i++) {
        const struct column *c = &v->columns[i];
        struct fhist *h = NULL;
        samples[i].v = c->v[0];
        int r = labels_copy(a, c->labels, &samples[i].labels);
        if (r == 0 && c->h && c->h[0])
            r = fhist_copy(a, c->h[0], &h);
        if (r < 0)
            return r;
        samples[i].h = h;
    }
    *ret = samples;
    *ret_n = v->n_columns;
    return 0;
}

int evaluation_query(void *ctx, struct span text, struct arena *a, struct template_sample **ret,
                     size_t *ret_n, struct err *reterr)
{
    struct evaluation *e = ctx;
    struct promql_expr *expr;
    struct promql_result result;
    struct promql_error err = {.line = 0};
    int r = promql_parse(text, &expr, &err);
    if (r < 0)
        return err_set(reterr, r, "%d:%d: parse error: %s", err.line, err.column, err.text);
    r = query(e, expr, e->ts_ms, &result, &err);
    if (r < 0) {
        (void)err_set(reterr, r, "%s", err.text);
    } else if (result.value.type == PROMQL_MATRIX || result.value.type == PROMQL_STRING) {
        r = err_set(reterr, -EINVAL, "rule result is not a vector or scalar");
    } else {
        r = copy_result(&result.value, a, ret, ret_n);
    }
    promql_result_done(&result);
    (void)promql_free_expr(expr);
    return r;
}

/* --- recording --- */

const struct fhist *evaluation_hist(const struct column *c)
{
    return c->h ? c->h[0] : NULL;
}

int evaluation_no_memory(struct evaluation *e, int code)
{
    if (code == -E2BIG || e->r->budget.is_exceeded)
        return evaluation_fail(e, -E2BIG,
                               "what the expression returns needs more memory than a rule may use");
    return evaluation_fail(e, code, "%s", err_str(code));
}

int evaluation_begin(struct evaluation *e, size_t n_max)
{
    int r = harvest_init(&e->harvest, &e->r->overlay, n_max, e->ts_ms - e->g->query_offset_ms);
    e->has_harvest = r == 0;
    return r < 0 ? evaluation_no_memory(e, r) : 0;
}

/* What was recorded before and is not now; then all of it goes to the store. */
int evaluation_send(struct evaluation *e)
{
    struct recorded_list before = e->rule->recorded;
    int r = harvest_send(&e->harvest, &e->r->ops);
    e->has_harvest = false;
    if (r < 0) {
        e->r->stats.n_lost_batches++;
        return evaluation_fail(e, r, "recording samples failed: %s", err_str(r));
    }
    e->rule->recorded = e->harvest.list;
    recorded_list_done(&before, &e->r->overlay.table);
    return e->harvest.refusal ? evaluation_fail(e, -EINVAL, "%s", e->harvest.refusal) : 0;
}

static int record(struct evaluation *e)
{
    const struct value *v = &e->result.value;
    uint64_t limit = e->g->def->limit;
    int r = evaluation_begin(e, v->n_columns);
    for (size_t i = 0; i < v->n_columns && r == 0; i++) {
        struct labels l;
        r = override_apply(&e->r->scratch, v->columns[i].labels, e->rule->set, e->rule->n_set, &l);
        if (r == 0)
            r = harvest_add(&e->harvest, l, v->columns[i].v[0], evaluation_hist(&v->columns[i]));
        if (r == -EEXIST)
            return evaluation_fail(
                e, r,
                "vector contains metrics with the same labelset after applying rule "
                "labels");
        if (r < 0)
            return evaluation_no_memory(e, r);
    }
    if (r == 0 && limit > 0 && v->n_columns > limit)
        return evaluation_fail(e, -E2BIG, "exceeded limit of %llu with %zu series",
                               (unsigned long long)limit, v->n_columns);
    if (r == 0 && (r = harvest_end(&e->harvest, &e->rule->recorded)) < 0)
        return evaluation_no_memory(e, r);
    return r == 0 ? evaluation_send(e) : r;
}

/* --- a rule --- */

/* What is known of the rule from now on. */
static void conclude(struct evaluation *e, int code, mono_t start)
{
    struct rule_run *rule = e->rule;
    e->r->stats.n_evaluations++;
    e->r->stats.n_failures += code < 0;
    pthread_mutex_lock(&e->r->lock);
    rule->health = code < 0 ? RULE_BAD : RULE_OK;
    memcpy(rule->error, e->error, sizeof(rule->error));
    rule->evaluated_ms = e->tick->now_ms;
    rule->duration_ns = mono_diff(clock_mono(), start);
    pthread_mutex_unlock(&e->r->lock);
}

void evaluate_rule(struct tick *t, struct group *g, struct rule_run *rule, int64_t ts_ms)
{
    mono_t start = clock_mono();
    struct evaluation e = {.tick = t, .r = t->r, .g = g, .rule = rule, .ts_ms = ts_ms};
    e.deadline = mono_add(start, t->r->config.timeout_ms * NS_PER_MS);
    arena_reset(&t->r->scratch);
    t->r->budget.is_exceeded = false;
    int r = query_rule(&e);
    if (r == 0)
        r = rule->def->is_alert ? evaluate_alert(&e) : record(&e);
    if (e.has_harvest)
        harvest_cancel(&e.harvest);
    promql_result_done(&e.result);
    if (r == -ECANCELED)
        t->is_stopped = true;
    else
        conclude(&e, r, start);
}
