/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/report.h"

#include <math.h>

#include "base/jsonw.h"

/* --- for people --- */

static int finding_text(const struct verify_finding *f, struct buf *out)
{
    int r = buf_printf(out, "%-4s  %s", verify_judge_name(f->verdict), f->about);

    if (r == 0 && f->alert.n > 0)
        r = buf_printf(out, " %.*s", SPAN_ARG(f->alert));
    if (r == 0 && f->where)
        r = buf_printf(out, " (%s)", f->where);
    if (r == 0)
        r = buf_printf(out, ": %s\n", f->text);
    if (r == 0 && f->hint[0] != '\0')
        r = buf_printf(out, "      hint: %s\n", f->hint);
    return r;
}

int verify_report_text(const struct verify_findings *f, struct buf *out)
{
    size_t n[3] = {0, 0, 0};
    int r = 0;

    for (size_t i = 0; i < f->n && r == 0; i++) {
        n[f->at[i].verdict]++;
        r = finding_text(&f->at[i], out);
    }
    if (r == 0)
        r = buf_printf(out, "\n%s: %zu OK, %zu failed, %zu skipped\n",
                       verify_judge_is_passed(f) ? "passed" : "failed", n[VERIFY_OK],
                       n[VERIFY_FAIL], n[VERIFY_SKIP]);
    if (r == 0 && n[VERIFY_FAIL] == 0 && !verify_judge_is_passed(f))
        r = buf_printf(out, "none of the alerts could be verified by latency\n");
    return r;
}

/* --- JSON --- */

static void put_text(struct jsonw *w, const char *key, const char *text)
{
    jsonw_key(w, key);
    if (text && text[0])
        jsonw_cstr(w, text);
    else
        jsonw_null(w);
}

static void put_moment(struct jsonw *w, const char *key, int64_t ms)
{
    jsonw_put_double(w, key, ms == VERIFY_NEVER || ms == 0 ? (double)NAN : (double)ms / 1000);
}

static void put_client(struct jsonw *w, const struct verify_load *l)
{
    jsonw_key(w, "client");
    if (!l->is_there) {
        jsonw_null(w);
        return;
    }
    jsonw_begin_object(w);
    jsonw_put_double(w, "sent", (double)l->n_sent);
    jsonw_put_double(w, "ok", (double)l->n_ok);
    jsonw_put_double(w, "failed", (double)l->n_failed);
    jsonw_put_double(w, "count", (double)l->n_ttft);
    jsonw_put_double(w, "ttft_mean_s", l->ttft_mean_s);
    jsonw_put_double(w, "ttft_p50_s", l->ttft_p50_s);
    jsonw_put_double(w, "ttft_p99_s", l->ttft_p99_s);
    put_text(w, "error", l->error);
    jsonw_end_object(w);
}

static void put_engine(struct jsonw *w, const struct verify_phase *ph)
{
    jsonw_key(w, "engine");
    if (!ph->has_page) {
        jsonw_null(w);
    } else {
        jsonw_begin_object(w);
        jsonw_put_double(w, "count", ph->rise.count);
        jsonw_put_double(w, "ttft_mean_s", ph->rise.mean);
        jsonw_put_double(w, "ttft_p99_from_s",
                         ph->rise.has_buckets ? ph->rise.p99_from : (double)NAN);
        jsonw_put_double(w, "ttft_p99_to_s", ph->rise.has_buckets ? ph->rise.p99_to : (double)NAN);
        jsonw_end_object(w);
    }
    jsonw_key(w, "history");
    if (!ph->has_scraped) {
        jsonw_null(w);
        return;
    }
    jsonw_begin_object(w);
    jsonw_put_double(w, "count", ph->scraped_count);
    jsonw_put_double(w, "ttft_mean_s", ph->scraped_mean_s);
    jsonw_end_object(w);
}

static void put_phases(struct jsonw *w, const struct verify_result *r)
{
    jsonw_key(w, "phases");
    jsonw_begin_array(w);
    for (int i = 0; i < VERIFY_PHASES; i++) {
        const struct verify_phase *ph = &r->phases[i];
        if (!ph->has_run)
            continue;
        jsonw_begin_object(w);
        put_text(w, "name", verify_result_phase((enum verify_phase_name)i));
        jsonw_put_double(w, "latency_s", ph->latency_s);
        put_moment(w, "begin", ph->begin_ms);
        put_moment(w, "end", ph->end_ms);
        put_client(w, &ph->load);
        put_engine(w, ph);
        jsonw_end_object(w);
    }
    jsonw_end_array(w);
}

static void put_seen(struct jsonw *w, const char *key, const struct verify_seen *s)
{
    jsonw_key(w, key);
    jsonw_begin_object(w);
    put_text(w, "at_rest", verify_state_name(s->at_rest));
    put_text(w, "state", verify_state_name(s->track.state));
    put_moment(w, "active_at", s->track.active_ms);
    put_moment(w, "pending_at", s->track.pending_ms);
    put_moment(w, "firing_at", s->track.firing_ms);
    put_moment(w, "resolved_at", s->track.ended_ms);
    put_moment(w, "alertmanager_at", s->told_ms);
    put_moment(w, "alertmanager_resolved_at", s->untold_ms);
    jsonw_put_double(w, "value_at_rest", s->values[VERIFY_REST]);
    jsonw_put_double(w, "value", s->values[VERIFY_HARD]);
    put_text(w, "missing", s->missing);
    put_text(w, "error", s->track.error);
    jsonw_end_object(w);
}

static void put_alert(struct jsonw *w, const struct verify_config *c, const struct verify_result *r,
                      size_t i)
{
    const struct verify_alert *a = &c->plan->alerts[i];
    struct buf expr;

    buf_init(&expr, (size_t)PROMQL_QUERY_MAX * 2);
    jsonw_begin_object(w);
    jsonw_put_str(w, "name", a->rule->name);
    jsonw_put_str(w, "group", a->group->name);
    put_text(w, "file", c->plan->files[a->i_file]->path);
    if (verify_plan_print(promql_root(a->rule->expr), c->plan->factor, &expr) == 0) {
        jsonw_put_str(w, "expr", buf_span(&expr));
    }
    jsonw_put_double(w, "for_s", (double)a->for_ms / 1000);
    jsonw_put_double(w, "keep_firing_for_s", (double)a->keep_ms / 1000);
    jsonw_put_double(w, "interval_s", (double)a->interval_ms / 1000);
    jsonw_put_double(w, "limit", a->limit);
    jsonw_put_bool(w, "driven", a->drive == VERIFY_DRIVEN);
    if (a->drive == VERIFY_DRIVEN)
        put_seen(w, "gateway", &r->seen[VERIFY_GATEWAY][i]);
    if (a->drive == VERIFY_DRIVEN && r->has_prometheus)
        put_seen(w, "prometheus", &r->seen[VERIFY_PROMETHEUS][i]);
    jsonw_end_object(w);
    buf_done(&expr);
}

static void put_finding(struct jsonw *w, const struct verify_finding *f)
{
    jsonw_begin_object(w);
    put_text(w, "verdict", verify_judge_name(f->verdict));
    put_text(w, "about", f->about);
    if (f->alert.n > 0) {
        jsonw_put_str(w, "alert", f->alert);
    }
    if (f->where)
        put_text(w, "where", f->where);
    put_text(w, "text", f->text);
    put_text(w, "hint", f->hint);
    jsonw_end_object(w);
}

int verify_report_json(const struct verify_config *c, const struct verify_result *r,
                       const struct verify_findings *f, struct buf *out)
{
    struct jsonw w;

    jsonw_init(&w, out);
    jsonw_begin_object(&w);
    jsonw_put_bool(&w, "passed", verify_judge_is_passed(f));
    jsonw_put_double(&w, "factor", c->plan->factor);
    jsonw_put_double(&w, "rate_per_s", c->rate_per_s);
    put_text(&w, "engine", r->engine);
    put_text(&w, "histogram", r->histogram);
    put_phases(&w, r);
    jsonw_key(&w, "alerts");
    jsonw_begin_array(&w);
    for (size_t i = 0; i < c->plan->n; i++)
        put_alert(&w, c, r, i);
    jsonw_end_array(&w);
    jsonw_key(&w, "verdicts");
    jsonw_begin_array(&w);
    for (size_t i = 0; i < f->n; i++)
        put_finding(&w, &f->at[i]);
    jsonw_end_array(&w);
    jsonw_end_object(&w);
    return jsonw_error(&w) < 0 ? jsonw_error(&w) : buf_append(out, SPAN("\n"));
}
