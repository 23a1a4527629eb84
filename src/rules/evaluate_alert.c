/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/evaluate_alert.c - the result of an alert's expression: labels and annotations, the step of
 * its states, the two series that show them, and who is told.
 */
#include <errno.h>
#include <math.h>

#include "rules/evaluate.h"

static int expand_row(struct evaluation *e, const struct column *c, struct alert_row *row)
{
    const struct rule_run *rule = e->rule;
    const struct rules_config *config = &e->r->config;
    const struct template_env env = {.labels = c->labels,
                                     .external_labels = config->external_labels,
                                     .external_url = config->external_url,
                                     .value = c->v[0],
                                     .hist = evaluation_hist(c),
                                     .now_ms = e->ts_ms,
                                     .query = evaluation_query,
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
        return evaluation_fail(e, -E2BIG, "%zu alerts, %d is the most that one rule may have",
                               v->n_columns, RULES_ALERTS_MAX);
    if (!rows)
        return evaluation_no_memory(e, -ENOMEM);
    for (size_t i = 0; i < v->n_columns; i++) {
        int r = evaluation_is_over(e);
        if (r < 0)
            return evaluation_fail(e, r, "templates of %zu alerts took longer than a rule may take",
                                   v->n_columns);
        r = expand_row(e, &v->columns[i], &rows[i]);
        if (r < 0)
            return evaluation_no_memory(e, r);
    }
    *ret = rows;
    if (alert_rows_sort(rows, v->n_columns) == 0)
        return 0;
    return evaluation_fail(
        e, -EEXIST, "vector contains metrics with the same labelset after applying alert labels");
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
    int r = evaluation_begin(e, 2 * next->n);
    for (size_t i = 0; i < next->n && r == 0; i++) {
        if (next->at[i].phase == ALERT_INACTIVE || !e->rule->is_restored)
            continue;
        r = add_alert(e, &next->at[i]);
        if (r < 0)
            return evaluation_no_memory(e, r);
    }
    if (r == 0 && (r = harvest_end(&e->harvest, &e->rule->recorded)) < 0)
        return evaluation_no_memory(e, r);
    return r;
}

/* Those that are told now. */
static int make_notices(struct evaluation *e, const struct alert_states *next,
                        struct alert_notice **ret, size_t *ret_n)
{
    struct alert_notice *notices = arena_array(&e->r->scratch, next->n, sizeof(*notices));
    size_t n = 0;
    if (!notices)
        return evaluation_no_memory(e, -ENOMEM);
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
    return evaluation_fail(e, -E2BIG, "exceeded limit of %llu with %zu alerts",
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
    return r < 0 ? evaluation_no_memory(e, r) : 0;
}

int evaluate_alert(struct evaluation *e)
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
    return evaluation_send(e);
}
