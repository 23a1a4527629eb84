/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review/review_write.c - a review as JSON: moments in RFC 3339, durations in seconds, parts of a
 * whole as ratios; null where something is not known.
 */
#include <math.h>

#include "incident/readable.h"
#include "review/review_private.h"

static void put_time(struct jsonw *w, const char *key, int64_t ms)
{
    char text[READABLE_TIME_BYTES];
    jsonw_put_cstr(w, key, readable_time(ms, text));
}

static void put_seconds(struct jsonw *w, const char *key, int64_t ms)
{
    jsonw_put_double(w, key, (double)ms / 1000);
}

static void put_range(struct jsonw *w, const char *key, int64_t from_ms, int64_t to_ms)
{
    jsonw_key(w, key);
    if (from_ms > to_ms) {
        jsonw_null(w);
        return;
    }
    jsonw_begin_object(w);
    put_time(w, "from", from_ms);
    put_time(w, "to", to_ms);
    jsonw_end_object(w);
}

static void put_slo(struct jsonw *w, const struct slo *slo, enum slo_objective o)
{
    jsonw_put_str(w, "slo", span_cstr(slo->name));
    jsonw_put_str(w, "objective", span_cstr(slo_objective_name(o)));
    jsonw_put_double(w, "target", slo->targets[o].target);
}

/* --- what it is from --- */

static void put_objectives_range(const struct review *r, struct jsonw *w)
{
    int64_t first_ms = INT64_MAX, last_ms = INT64_MIN;
    for (size_t i = 0; i < r->n_budgets; i++) {
        const struct review_budget *b = &r->budgets[i];
        first_ms = b->first_ms < first_ms ? b->first_ms : first_ms;
        last_ms = b->last_ms > last_ms ? b->last_ms : last_ms;
    }
    put_range(w, "objectives", first_ms, last_ms);
}

static void put_data(const struct review *r, struct jsonw *w)
{
    jsonw_key(w, "data");
    jsonw_begin_object(w);
    jsonw_key(w, "samples");
    jsonw_begin_array(w);
    for (size_t i = 0; i < r->n_stretches; i++) {
        jsonw_begin_object(w);
        put_time(w, "from", r->stretches[i].from_ms);
        put_time(w, "to", r->stretches[i].to_ms);
        put_seconds(w, "resolution_s", r->stretches[i].resolution_ms);
        jsonw_end_object(w);
    }
    jsonw_end_array(w);
    put_range(w, "alerts", r->alerts_first_ms, r->alerts_last_ms);
    put_objectives_range(r, w);
    jsonw_key(w, "marks");
    if (r->q.incidents) {
        jsonw_begin_object(w);
        jsonw_put_u64(w, "alerts", r->n_incident_alerts);
        jsonw_put_u64(w, "noise", r->n_marks);
        jsonw_end_object(w);
    } else {
        jsonw_null(w);
    }
    put_range(w, "thresholds", r->proposals.from_ms, r->proposals.to_ms);
    put_range(w, "bounds", r->bounds_from_ms, r->q.to_ms);
    jsonw_end_object(w);
}

/* --- rules --- */

static void put_verdicts(struct jsonw *w, const char *key, struct verdict_count c)
{
    jsonw_key(w, key);
    jsonw_begin_object(w);
    jsonw_put_u64(w, "real", c.n_real);
    jsonw_put_u64(w, "noise", c.n_noise);
    jsonw_put_u64(w, "unjudged", c.n_unjudged);
    jsonw_end_object(w);
}

static void put_rule_name(struct jsonw *w, const char *key, const struct rule *rule,
                          const struct rule_group *group)
{
    jsonw_key(w, key);
    jsonw_begin_object(w);
    jsonw_put_str(w, "name", rule->name);
    jsonw_put_str(w, "group", group->name);
    jsonw_put_str(w, "file", span_cstr(group->file));
    jsonw_put_u64(w, "line", (uint64_t)rule->line);
    jsonw_end_object(w);
}

static void put_top(struct jsonw *w, const struct rule_row *row)
{
    jsonw_put_u64(w, "label_sets", row->n_series);
    jsonw_key(w, "noisiest");
    jsonw_begin_array(w);
    for (size_t i = 0; i < row->n_top; i++) {
        jsonw_begin_object(w);
        labels_write(row->top[i]->labels, "labels", w);
        jsonw_put_u64(w, "fired", row->top[i]->n_fired);
        jsonw_put_u64(w, "noise", row->top[i]->n_noise);
        put_seconds(w, "firing_s", row->top[i]->firing_ms);
        jsonw_end_object(w);
    }
    jsonw_end_array(w);
}

static void put_worst(struct jsonw *w, const struct firing *f)
{
    jsonw_key(w, "worst");
    if (!f) {
        jsonw_null(w);
        return;
    }
    jsonw_begin_object(w);
    put_time(w, "from", f->fired_ms);
    put_time(w, "to", f->to_ms);
    jsonw_put_double(w, "burn_rate", f->burn);
    put_slo(w, f->slo, f->objective);
    jsonw_end_object(w);
}

static void put_row(struct jsonw *w, const struct rule_row *row)
{
    jsonw_begin_object(w);
    jsonw_put_str(w, "name", row->name);
    jsonw_put_str(w, "tier", row->tier);
    if (row->rule) {
        put_rule_name(w, "rule", row->rule, row->group);
        put_seconds(w, "for_s", row->rule->for_ms);
    } else {
        jsonw_key(w, "rule");
        jsonw_null(w);
        jsonw_put_double(w, "for_s", (double)NAN);
    }
    jsonw_put_u64(w, "fired", row->n_fired);
    jsonw_put_u64(w, "only_pending", row->n_pending);
    put_seconds(w, "firing_s", row->firing_ms);
    put_seconds(w, "longest_s", row->longest_ms);
    jsonw_key(w, "last_fired");
    if (row->n_fired > 0) {
        char text[READABLE_TIME_BYTES];
        jsonw_cstr(w, readable_time(row->last_ms, text));
    } else {
        jsonw_null(w);
    }
    put_verdicts(w, "verdicts", row->fired);
    jsonw_put_u64(w, "marked_as_noise", row->n_marked);
    put_seconds(w, "noise_s", row->noise_ms);
    put_worst(w, row->worst);
    put_top(w, row);
    jsonw_end_object(w);
}

/* --- objectives --- */

static void put_miss(struct jsonw *w, const struct review_miss *m)
{
    jsonw_begin_object(w);
    put_time(w, "from", m->from_ms);
    put_time(w, "to", m->to_ms);
    put_slo(w, m->slo, m->objective);
    jsonw_put_double(w, "requests", m->total);
    jsonw_put_double(w, "bad", m->bad);
    jsonw_put_double(w, "burn_rate", m->burn);
    jsonw_put_double(w, "budget_ratio", m->budget_ratio);
    jsonw_end_object(w);
}

static void put_missed(const struct review *r, struct jsonw *w)
{
    jsonw_put_u64(w, "n_missed", r->n_misses);
    jsonw_key(w, "missed");
    jsonw_begin_array(w);
    for (size_t i = 0; i < r->n_misses && i < REVIEW_MISSES_SHOWN; i++)
        put_miss(w, &r->misses[i]);
    jsonw_end_array(w);
}

/* Which requests the SLO is of, so that others can ask for the same ones. */
static void put_matches(struct jsonw *w, const struct slo *s)
{
    jsonw_key(w, "match");
    jsonw_begin_object(w);
    for (size_t i = 0; i < s->n_matches; i++) {
        jsonw_key(w, s->matches[i].name);
        jsonw_begin_array(w);
        for (size_t k = 0; k < s->matches[i].n_values; k++)
            jsonw_cstr(w, s->matches[i].values[k]);
        jsonw_end_array(w);
    }
    jsonw_end_object(w);
}

static void put_budget(struct jsonw *w, const struct review *r, const struct review_budget *b)
{
    double allowed = b->window_total * (1 - b->slo->targets[b->objective].target);
    double spent = allowed > 0 ? b->window_bad / allowed : (double)NAN;
    jsonw_begin_object(w);
    put_slo(w, b->slo, b->objective);
    if (slo_objective_is_duration(b->objective))
        jsonw_put_double(w, "threshold_s",
                         (double)b->slo->targets[b->objective].threshold_ns / 1e9);
    put_matches(w, b->slo);
    put_range(w, "data", b->first_ms, b->last_ms);
    jsonw_put_double(w, "requests", b->total);
    jsonw_put_double(w, "bad", b->bad);
    jsonw_put_double(w, "good_ratio", b->total > 0 ? 1 - b->bad / b->total : (double)NAN);
    put_seconds(w, "window_s", b->slo->window_ms);
    put_range(w, "window", b->window_from_ms, r->q.to_ms);
    jsonw_put_double(w, "window_requests", b->window_total);
    jsonw_put_double(w, "window_bad", b->window_bad);
    jsonw_put_double(w, "spent_ratio", spent);
    jsonw_put_double(w, "left_ratio", 1 - spent);
    jsonw_end_object(w);
}

/* --- advice --- */

static void put_for(struct jsonw *w, const struct advice_for *a)
{
    jsonw_begin_object(w);
    put_rule_name(w, "rule", a->row->rule, a->row->group);
    put_seconds(w, "now_s", a->row->rule->for_ms);
    put_seconds(w, "for_s", a->for_ms);
    put_verdicts(w, "fired", a->now);
    put_verdicts(w, "would_have_fired", a->then);
    jsonw_end_object(w);
}

static void put_threshold(struct jsonw *w, const struct advice_threshold *t)
{
    const struct proposal *p = t->proposal;
    jsonw_begin_object(w);
    if (t->use) {
        put_rule_name(w, "rule", t->use->rule, t->use->group);
    } else {
        jsonw_key(w, "rule");
        jsonw_null(w);
    }
    jsonw_put_str(w, "metric", span_cstr(p->stage->metric));
    jsonw_put_str(w, "model", p->model);
    jsonw_put_double(w, "now", t->now);
    jsonw_put_double(w, "threshold", p->threshold);
    jsonw_put_double(w, "requests", p->count);
    jsonw_put_double(w, "p50", p->p50);
    jsonw_put_double(w, "p95", p->p95);
    jsonw_put_double(w, "p99", p->p99);
    jsonw_put_u64(w, "would_have_fired", p->n_fired);
    put_seconds(w, "would_have_fired_s", p->fired_ms);
    jsonw_end_object(w);
}

static void put_bounds(struct jsonw *w, const struct advice_bounds *b)
{
    jsonw_begin_object(w);
    jsonw_put_str(w, "metric", b->metric);
    jsonw_put_double(w, "quantile", b->use->q);
    put_rule_name(w, "rule", b->use->rule, b->use->group);
    jsonw_put_u64(w, "rules", b->n_uses);
    jsonw_put_double(w, "lower", b->lower);
    jsonw_put_double(w, "upper", b->upper);
    jsonw_put_double(w, "value", b->value);
    jsonw_put_double(w, "observations", b->total);
    jsonw_key(w, "add");
    jsonw_begin_array(w);
    for (size_t i = 0; i < b->n_bounds; i++)
        jsonw_double(w, b->bounds[i]);
    jsonw_end_array(w);
    jsonw_end_object(w);
}

static void put_suggestions(const struct review *r, struct jsonw *w)
{
    jsonw_key(w, "suggestions");
    jsonw_begin_object(w);
    jsonw_key(w, "for");
    jsonw_begin_array(w);
    for (size_t i = 0; i < r->n_fors; i++)
        put_for(w, &r->fors[i]);
    jsonw_end_array(w);
    jsonw_key(w, "thresholds");
    jsonw_begin_array(w);
    for (size_t i = 0; i < r->n_thresholds; i++)
        put_threshold(w, &r->thresholds[i]);
    jsonw_end_array(w);
    jsonw_key(w, "bounds");
    jsonw_begin_array(w);
    for (size_t i = 0; i < r->n_bounds; i++)
        put_bounds(w, &r->bounds[i]);
    jsonw_end_array(w);
    jsonw_end_object(w);
}

static void put_alerts(const struct review *r, struct jsonw *w)
{
    put_data(r, w);
    jsonw_key(w, "rules");
    jsonw_begin_array(w);
    for (size_t i = 0; i < r->n_rows; i++)
        put_row(w, r->order[i]);
    jsonw_end_array(w);
    put_missed(r, w);
}

static void put_budgets(const struct review *r, struct jsonw *w)
{
    jsonw_key(w, "budgets");
    jsonw_begin_array(w);
    for (size_t i = 0; i < r->n_budgets; i++)
        put_budget(w, r, &r->budgets[i]);
    jsonw_end_array(w);
}

int review_write(const struct review *r, struct jsonw *w)
{
    jsonw_begin_object(w);
    put_time(w, "from", r->q.from_ms);
    put_time(w, "to", r->q.to_ms);
    if (!r->q.is_of_budgets)
        put_alerts(r, w);
    put_budgets(r, w);
    if (!r->q.is_of_budgets)
        put_suggestions(r, w);
    jsonw_end_object(w);
    return jsonw_error(w);
}
