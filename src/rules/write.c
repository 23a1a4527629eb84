/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/write.c - what Prometheus' /api/v1/rules and /api/v1/alerts say.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "base/num.h"
#include "rules/rules_private.h"

/* --- values as Go writes them --- */

/* RFC 3339 without zeros at the end; a moment that never was is Go's zero time. */
static void write_time(struct jsonw *w, const char *key, int64_t t_ms)
{
    static const int64_t year_10000_s = 253402300800;
    int64_t ms = t_ms % 1000 + (t_ms % 1000 < 0 ? 1000 : 0);
    time_t s = (time_t)((t_ms - ms) / 1000);
    struct tm tm;
    char text[64] = "0001-01-01T00:00:00Z";
    jsonw_key(w, key);
    if (t_ms != ALERT_NEVER && s >= 0 && s < year_10000_s && gmtime_r(&s, &tm)) {
        size_t n = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
        if (ms > 0) {
            n += (size_t)snprintf(text + n, sizeof(text) - n, ".%03d", (int)ms);
            while (text[n - 1] == '0')
                n--;
        }
        (void)snprintf(text + n, sizeof(text) - n, "Z");
    }
    jsonw_cstr(w, text);
}

/* The fewest digits that read back as v, with an exponent: "1e+00". */
static void write_value(struct jsonw *w, double v)
{
    enum { DIGITS_MAX = 17 };
    char text[40];
    double back;
    if (!isfinite(v)) {
        jsonw_str(w, isnan(v) ? SPAN("NaN") : v > 0 ? SPAN("+Inf") : SPAN("-Inf"));
        return;
    }
    for (int n = 0; n < DIGITS_MAX; n++) {
        (void)snprintf(text, sizeof(text), "%.*e", n, v);
        if (num_parse_double(span_cstr(text), &back) == 0 && back == v)
            break;
    }
    jsonw_cstr(w, text);
}

static void write_written(struct jsonw *w, const char *key, const struct override *at, size_t n)
{
    jsonw_key(w, key);
    jsonw_begin_object(w);
    for (size_t i = 0; i < n; i++) {
        jsonw_key_str(w, at[i].name);
        jsonw_str(w, at[i].value);
    }
    jsonw_end_object(w);
}

/* --- alerts --- */

static void write_alert(struct jsonw *w, const struct alert_state *a)
{
    jsonw_begin_object(w);
    labels_write(a->labels->labels, "labels", w);
    labels_write(a->annotations->labels, "annotations", w);
    jsonw_put_str(w, "state", span_cstr(alert_phase_name(a->phase)));
    write_time(w, "activeAt", a->active_ms);
    if (a->keep_since_ms != ALERT_NEVER)
        write_time(w, "keepFiringSince", a->keep_since_ms);
    jsonw_key(w, "value");
    write_value(w, a->value);
    jsonw_end_object(w);
}

static void write_alerts(struct jsonw *w, const struct alert_states *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->at[i].phase != ALERT_INACTIVE)
            write_alert(w, &s->at[i]);
}

/* --- rules --- */

static struct span state_of(const struct rule_run *rule)
{
    enum alert_phase highest = ALERT_INACTIVE;
    if (rule->evaluated_ms == ALERT_NEVER)
        return SPAN("unknown");
    for (size_t i = 0; i < rule->alerts.n; i++)
        if (rule->alerts.at[i].phase > highest)
            highest = rule->alerts.at[i].phase;
    return span_cstr(alert_phase_name(highest));
}

static void write_rule_end(struct jsonw *w, const struct rule_run *rule)
{
    static const char *const healths[] = {"unknown", "ok", "err"};
    jsonw_put_str(w, "health", span_cstr(healths[rule->health]));
    if (rule->error[0])
        jsonw_put_str(w, "lastError", span_cstr(rule->error));
    jsonw_put_double(w, "evaluationTime", (double)rule->duration_ns / 1e9);
    write_time(w, "lastEvaluation", rule->evaluated_ms);
    jsonw_put_str(w, "type", rule->def->is_alert ? SPAN("alerting") : SPAN("recording"));
}

static void write_alerting(struct jsonw *w, const struct rule_run *rule, bool without_alerts)
{
    jsonw_put_str(w, "state", state_of(rule));
    jsonw_put_str(w, "name", rule->def->name);
    jsonw_put_str(w, "query", rule->query);
    jsonw_put_double(w, "duration", (double)rule->def->for_ms / 1000);
    jsonw_put_double(w, "keepFiringFor", (double)rule->def->keep_firing_ms / 1000);
    write_written(w, "labels", rule->labels, rule->n_labels);
    write_written(w, "annotations", rule->annotations, rule->n_annotations);
    jsonw_key(w, "alerts");
    if (without_alerts) {
        jsonw_null(w);
        return;
    }
    jsonw_begin_array(w);
    write_alerts(w, &rule->alerts);
    jsonw_end_array(w);
}

static void write_rule(struct jsonw *w, const struct rule_run *rule, bool without_alerts)
{
    jsonw_begin_object(w);
    if (rule->def->is_alert) {
        write_alerting(w, rule, without_alerts);
    } else {
        jsonw_put_str(w, "name", rule->def->name);
        jsonw_put_str(w, "query", rule->query);
        write_written(w, "labels", rule->labels, rule->n_labels);
    }
    write_rule_end(w, rule);
    jsonw_end_object(w);
}

/* --- groups --- */

static bool is_among(struct span s, const struct span *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (span_eq(s, list[i]))
            return true;
    return n == 0;
}

static bool wants_rule(const struct rules_filter *f, const struct rule_run *rule)
{
    if (rule->def->is_alert ? f->only_records : f->only_alerts)
        return false;
    return is_among(rule->def->name, f->names, f->n_names);
}

static bool wants_group(const struct rules_filter *f, const struct group *g)
{
    if (!is_among(g->def->name, f->groups, f->n_groups) ||
        !is_among(span_cstr(g->def->file), f->files, f->n_files))
        return false;
    for (size_t i = 0; i < g->n; i++)
        if (wants_rule(f, &g->rules[i]))
            return true;
    return false;
}

static void write_group(struct jsonw *w, const struct rules_filter *f, const struct group *g)
{
    jsonw_begin_object(w);
    jsonw_put_str(w, "name", g->def->name);
    jsonw_put_str(w, "file", span_cstr(g->def->file));
    jsonw_key(w, "rules");
    jsonw_begin_array(w);
    for (size_t i = 0; i < g->n; i++)
        if (wants_rule(f, &g->rules[i]))
            write_rule(w, &g->rules[i], f->without_alerts);
    jsonw_end_array(w);
    jsonw_put_double(w, "interval", (double)g->interval_ms / 1000);
    jsonw_put_u64(w, "limit", g->def->limit);
    jsonw_put_double(w, "evaluationTime", (double)g->duration_ns / 1e9);
    write_time(w, "lastEvaluation", g->evaluated_ms);
    jsonw_end_object(w);
}

void rules_write(struct rules *r, const struct rules_filter *f, struct jsonw *w)
{
    jsonw_begin_object(w);
    jsonw_key(w, "groups");
    jsonw_begin_array(w);
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->n_groups; i++)
        if (wants_group(f, r->by_name[i]))
            write_group(w, f, r->by_name[i]);
    pthread_mutex_unlock(&r->lock);
    jsonw_end_array(w);
    jsonw_end_object(w);
}

void rules_write_alerts(struct rules *r, struct jsonw *w)
{
    jsonw_begin_object(w);
    jsonw_key(w, "alerts");
    jsonw_begin_array(w);
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->n_groups; i++)
        for (size_t j = 0; j < r->by_name[i]->n; j++)
            write_alerts(w, &r->by_name[i]->rules[j].alerts);
    pthread_mutex_unlock(&r->lock);
    jsonw_end_array(w);
    jsonw_end_object(w);
}
