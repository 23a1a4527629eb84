/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/evaluate.c - one rule at one moment: query, labels, transition, record and tell.
 *
 * Everything that may fail comes before the first change of state, but for the store's refusal of
 * what was recorded: then alerts have moved and were told (as in Prometheus), and the series count
 * as not recorded.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "rules/rules_private.h"

struct evaluation {
    struct tick *tick;
    struct rules *r;
    struct group *g;
    struct rule_run *rule;
    int64_t ts_ms;
    mono_t deadline;
    struct promql_result result;
    struct harvest harvest;
    bool has_harvest;
    char error[RULE_ERROR_MAX];
};

static int fail(struct evaluation *e, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);

static int fail(struct evaluation *e, int code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(e->error, sizeof(e->error), fmt, args);
    va_end(args);
    return code;
}

/* --- query --- */

static int is_over(void *ctx)
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
                                     .is_over = is_over,
                                     .ctx = e};
    return promql_query(expr, overlay_reader(&e->r->overlay), &o, ret, reterr);
}

static int query_rule(struct evaluation *e)
{
    struct promql_error err = {.line = 0};
    int r = query(e, e->rule->def->expr, e->ts_ms - e->g->query_offset_ms, &e->result, &err);
    if (r < 0)
        return fail(e, r, "%s", err.text);
    if (e->result.value.type == PROMQL_MATRIX || e->result.value.type == PROMQL_STRING)
        return fail(e, -EINVAL, "rule result is not a vector or scalar");
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

static int query_template(void *ctx, struct span text, struct arena *a,
                          struct template_sample **ret, size_t *ret_n, struct err *reterr)
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

static const struct fhist *hist_of(const struct column *c)
{
    return c->h ? c->h[0] : NULL;
}

static int no_memory(struct evaluation *e, int code)
{
    if (code == -E2BIG || e->r->budget.is_exceeded)
        return fail(e, -E2BIG, "what the expression returns needs more memory than a rule may use");
    return fail(e, code, "%s", err_str(code));
}

static int begin_harvest(struct evaluation *e, size_t n_max)
{
    int r = harvest_init(&e->harvest, &e->r->overlay, n_max, e->ts_ms - e->g->query_offset_ms);
    e->has_harvest = r == 0;
    return r < 0 ? no_memory(e, r) : 0;
}

/* What was recorded before and is not now; then all of it goes to the store. */
static int send(struct evaluation *e)
{
    size_t n = 0;
    struct recorded_list before = e->rule->recorded;
    int r = harvest_send(&e->harvest, &e->r->ops, &n);
    e->has_harvest = false;
    if (r < 0) {
        e->r->stats.n_lost_batches++;
        return fail(e, r, "recording samples failed: %s", err_str(r));
    }
    e->r->stats.n_samples += n;
    e->rule->recorded = e->harvest.list;
    recorded_list_done(&before, &e->r->overlay.table);
    return e->harvest.refusal ? fail(e, -EINVAL, "%s", e->harvest.refusal) : 0;
}

static int record(struct evaluation *e)
{
    const struct value *v = &e->result.value;
    uint64_t limit = e->g->def->limit;
    int r = begin_harvest(e, v->n_columns);
    for (size_t i = 0; i < v->n_columns && r == 0; i++) {
        struct labels l;
        r = override_apply(&e->r->scratch, v->columns[i].labels, e->rule->set, e->rule->n_set, &l);
        if (r == 0)
            r = harvest_add(&e->harvest, l, v->columns[i].v[0], hist_of(&v->columns[i]));
        if (r == -EEXIST)
            return fail(e, r,
                        "vector contains metrics with the same labelset after applying rule "
                        "labels");
        if (r < 0)
            return no_memory(e, r);
    }
    if (r == 0 && limit > 0 && v->n_columns > limit)
        return fail(e, -E2BIG, "exceeded limit of %llu with %zu series", (unsigned long long)limit,
                    v->n_columns);
    if (r == 0 && (r = harvest_end(&e->harvest, &e->rule->recorded)) < 0)
        return no_memory(e, r);
    return r == 0 ? send(e) : r;
}

/* --- alerts --- */

static int expand_row(struct evaluation *e, const struct column *c, struct alert_row *row)
{
    const struct rule_run *rule = e->rule;
    const struct rules_config *config = &e->r->config;
    const struct template_env env = {.labels = c->labels,
                                     .external_labels = config->external_labels,
                                     .external_url = config->external_url,
                                     .value = c->v[0],
                                     .hist = hist_of(c),
                                     .now_ms = e->ts_ms,
                                     .query = query_template,
                                     .ctx = e};
    struct arena *a = &e->r->scratch;
    const struct override *set, *annotations;
    int r = override_expand(a, rule->set, rule->n_set, &env, &e->r->text, &set);
    if (r == 0)
        r = override_apply(a, c->labels, set, rule->n_set, &row->labels);
    if (r == 0)
        r = override_expand(a, rule->annotations, rule->n_annotations, &env, &e->r->text,
                            &annotations);
    if (r == 0)
        r = override_pairs(a, annotations, rule->n_annotations, &row->annotations);
    row->value = env.hist ? 0 : c->v[0];
    return r;
}

static int make_rows(struct evaluation *e, struct alert_row **ret)
{
    const struct value *v = &e->result.value;
    struct alert_row *rows = arena_array(&e->r->scratch, v->n_columns, sizeof(*rows));
    if (v->n_columns > RULES_ALERTS_MAX)
        return fail(e, -E2BIG, "%zu alerts, %d is the most that one rule may have", v->n_columns,
                    RULES_ALERTS_MAX);
    if (!rows)
        return no_memory(e, -ENOMEM);
    for (size_t i = 0; i < v->n_columns; i++) {
        int r = expand_row(e, &v->columns[i], &rows[i]);
        if (r < 0)
            return no_memory(e, r);
    }
    *ret = rows;
    if (alert_rows_sort(rows, v->n_columns) == 0)
        return 0;
    return fail(e, -EEXIST,
                "vector contains metrics with the same labelset after applying alert labels");
}

/* Whether the alert has all labels that are written in the rule. */
static bool has_all(struct labels l, const struct override *written, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (written[i].value.n > 0 && labels_get(l, written[i].name).n == 0)
            return false;
    return true;
}

/*
 * An alert's labels over those of the rule as they are written, so that a label whose template
 * gives nothing shows its text, as it does in Prometheus.
 */
static int sample_labels(struct evaluation *e, struct labels l, struct labels *ret)
{
    struct arena *a = &e->r->scratch;
    const struct rule_run *rule = e->rule;
    struct labels written;
    *ret = l;
    if (has_all(l, rule->labels, rule->n_labels))
        return 0;
    struct override *own = arena_array(a, l.n, sizeof(*own));
    if (!own)
        return -ENOMEM;
    for (size_t i = 0; i < l.n; i++)
        own[i] = (struct override){l.at[i].name, l.at[i].value, NULL};
    int r = override_apply(a, (struct labels){NULL, 0}, rule->labels, rule->n_labels, &written);
    return r == 0 ? override_apply(a, written, own, l.n, ret) : r;
}

/* One of the two series; alerts that differ in "alertstate" only have it in common. */
static int add_series(struct evaluation *e, struct labels base, const struct override *set,
                      size_t n, double v)
{
    struct labels l;
    int r = override_apply(&e->r->scratch, base, set, n, &l);
    if (r < 0)
        return r;
    r = harvest_add(&e->harvest, l, v, NULL);
    return r == -EEXIST ? 0 : r;
}

static int add_alert(struct evaluation *e, const struct alert_state *alert)
{
    const struct override state[] = {
        {SPAN(LABEL_NAME), SPAN("ALERTS"), NULL},
        {SPAN("alertstate"), span_cstr(alert_phase_name(alert->phase)), NULL}};
    const struct override for_state = {SPAN(LABEL_NAME), SPAN("ALERTS_FOR_STATE"), NULL};
    double active_s = floor((double)alert->active_ms / 1000);
    struct labels base;
    int r = sample_labels(e, alert->labels->labels, &base);
    if (r == 0)
        r = add_series(e, base, state, ARRAY_LEN(state), 1);
    return r == 0 ? add_series(e, base, &for_state, 1, active_s) : r;
}

static int add_alerts(struct evaluation *e, const struct alert_states *next)
{
    int r = begin_harvest(e, 2 * next->n);
    for (size_t i = 0; i < next->n && r == 0; i++) {
        if (next->at[i].phase == ALERT_INACTIVE || !e->rule->is_restored)
            continue;
        r = add_alert(e, &next->at[i]);
        if (r < 0)
            return no_memory(e, r);
    }
    if (r == 0 && (r = harvest_end(&e->harvest, &e->rule->recorded)) < 0)
        return no_memory(e, r);
    return r;
}

/* Those that are told now. */
static int make_notices(struct evaluation *e, const struct alert_states *next,
                        struct alert_notice **ret, size_t *ret_n)
{
    struct alert_notice *notices = arena_array(&e->r->scratch, next->n, sizeof(*notices));
    size_t n = 0;
    if (!notices)
        return no_memory(e, -ENOMEM);
    for (size_t i = 0; i < next->n; i++) {
        const struct alert_state *a = &next->at[i];
        bool is_resolved = a->phase == ALERT_INACTIVE;
        if (!a->is_told)
            continue;
        notices[n++] =
            (struct alert_notice){.labels = a->labels->labels,
                                  .annotations = a->annotations->labels,
                                  .starts_ms = a->fired_ms,
                                  .ends_ms = is_resolved ? a->resolved_ms : a->valid_until_ms,
                                  .is_resolved = is_resolved,
                                  .value = a->value,
                                  .expr = e->rule->query,
                                  .generator_url = e->rule->generator_url};
    }
    *ret = notices;
    *ret_n = n;
    return 0;
}

static void become(struct evaluation *e, struct alert_states next)
{
    struct alert_states old = e->rule->alerts;
    pthread_mutex_lock(&e->r->lock);
    e->rule->alerts = next;
    pthread_mutex_unlock(&e->r->lock);
    alert_states_done(&old);
}

static int exceed_limit(struct evaluation *e, size_t n_active)
{
    become(e, (struct alert_states){.at = NULL});
    return fail(e, -E2BIG, "exceeded limit of %llu with %zu alerts",
                (unsigned long long)e->g->def->limit, n_active);
}

static int step(struct evaluation *e, const struct alert_row *rows, struct alert_states *ret)
{
    const struct alert_terms terms = {.for_ms = e->rule->def->for_ms,
                                      .keep_firing_ms = e->rule->def->keep_firing_ms,
                                      .interval_ms = e->g->interval_ms,
                                      .resend_ms = e->r->config.resend_ms,
                                      .limit = e->g->def->limit};
    size_t n_active;
    int r = alert_states_step(&e->rule->alerts, rows, e->result.value.n_columns, &terms, e->ts_ms,
                              ret, &n_active);
    if (r == -E2BIG)
        return exceed_limit(e, n_active);
    return r < 0 ? no_memory(e, r) : 0;
}

static int alert(struct evaluation *e)
{
    struct alert_row *rows = NULL;
    struct alert_states next = {.at = NULL};
    struct alert_notice *notices = NULL;
    size_t n = 0;
    int r = make_rows(e, &rows);
    if (r == 0)
        r = step(e, rows, &next);
    if (r < 0)
        return r;
    r = add_alerts(e, &next);
    if (r == 0)
        r = make_notices(e, &next, &notices, &n);
    if (r < 0) {
        alert_states_done(&next);
        return r;
    }
    become(e, next);
    if (n > 0 && e->r->ops.notify)
        e->r->ops.notify(e->r->ops.ctx, notices, n);
    return send(e);
}

/* --- a rule --- */

/* What is known of the rule from now on. Without room for a text it says so. */
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
        r = rule->def->is_alert ? alert(&e) : record(&e);
    if (e.has_harvest)
        harvest_cancel(&e.harvest);
    promql_result_done(&e.result);
    if (r == -ECANCELED)
        t->is_stopped = true;
    else
        conclude(&e, r, start);
}
