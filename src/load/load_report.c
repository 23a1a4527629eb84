/* SPDX-License-Identifier: Apache-2.0 */
#include "load/load_report.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/jsonw.h"

enum { DURATION_TEXT = 24 };

static const double quantiles[] = {0.5, 0.9, 0.95, 0.99, 0.999};
static const char *const quantile_keys[] = {"p50", "p90", "p95", "p99", "p999"};

/* One figure, from samples or from a spread. */
struct figure {
    const char *title, *key;
    struct readings *samples; /* or */
    const struct tally_spread *spread;
};

enum { N_FIGURES = 6 };

static void figures_list(struct tally *t, struct figure ret[N_FIGURES])
{
    ret[0] = (struct figure){"TTFT", "ttft_ns", &t->ttft, NULL};
    ret[1] = (struct figure){"ICL", "icl_ns", NULL, &t->icl};
    ret[2] = (struct figure){"ITL", "itl_ns", NULL, &t->itl};
    ret[3] = (struct figure){"TPOT", "tpot_ns", &t->tpot, NULL};
    ret[4] = (struct figure){"E2E", "e2e_ns", &t->e2e, NULL};
    ret[5] = (struct figure){"schedule lag", "lag_ns", &t->lag, NULL};
}

static uint64_t figure_count(const struct figure *f)
{
    return f->samples ? readings_count(f->samples) : f->spread->n;
}

static int64_t figure_quantile(const struct tally *t, const struct figure *f, double q)
{
    if (figure_count(f) == 0)
        return -1;
    if (f->samples)
        return readings_quantile(f->samples, q);
    return q >= 1 ? f->spread->max_ns : tally_spread_quantile(t, f->spread, q);
}

static double figure_mean_ns(const struct figure *f)
{
    if (f->samples)
        return readings_mean(f->samples);
    return f->spread->n > 0 ? f->spread->sum_ns / (double)f->spread->n : 0;
}

static double per_s(double n, int64_t ns)
{
    return ns > 0 ? n * 1e9 / (double)ns : 0;
}

void load_report_duration(int64_t ns, char *dst)
{
    char text[340]; /* the longest double in %f */
    double us = (double)ns / 1e3;

    if (ns < 0)
        (void)snprintf(text, sizeof(text), "-");
    else if (us < 1000)
        (void)snprintf(text, sizeof(text), "%.1f us", us);
    else if (us < 1e6)
        (void)snprintf(text, sizeof(text), "%.*f ms", us < 1e5 ? 2 : 1, us / 1e3);
    else
        (void)snprintf(text, sizeof(text), "%.2f s", us / 1e6);
    (void)span_copy(span_cstr(text), dst, DURATION_TEXT);
}

bool load_report_is_own_bottleneck(struct tally *t, const struct load_summary *s,
                                   const char **ret_why)
{
    if (readings_quantile(&t->lag, 0.99) > LOAD_LAG_WARN_MS * NS_PER_MS) {
        *ret_why = "requests were sent later than intended (schedule lag p99 over 5 ms): lower the "
                   "rate or run load on a machine of its own";
        return true;
    }
    if (s->cpu_ratio * 100 > LOAD_CPU_WARN_PCT) {
        *ret_why = "load itself used over 85 % of its core: lower the rate or share it out over "
                   "several load processes";
        return true;
    }
    return false;
}

/* --- table --- */

/* The first error is kept, later lines are left out. */
struct table {
    struct buf *out;
    int error;
};

#define LINE(t, ...)                                                                               \
    do {                                                                                           \
        if ((t)->error == 0)                                                                       \
            (t)->error = buf_printf((t)->out, __VA_ARGS__);                                        \
    } while (0)

static void table_errors(struct table *w, const struct tally *t)
{
    const char *separator = " (";

    for (int i = 0; i < OUTCOME_COUNT_; i++) {
        if (i == OUTCOME_OK || i == OUTCOME_HTTP_ERROR || t->n_outcomes[i] == 0)
            continue;
        LINE(w, "%s%llu %s", separator, (unsigned long long)t->n_outcomes[i],
             outcome_name((enum outcome)i));
        separator = ", ";
    }
    for (int i = 0; i < TALLY_STATUSES; i++) {
        if (t->n_by_status[i] == 0)
            continue;
        LINE(w, "%s%llu http_%d", separator, (unsigned long long)t->n_by_status[i], i);
        separator = ", ";
    }
    LINE(w, "%s", separator[0] == ',' ? ")" : "");
}

static void table_head(struct table *w, const struct tally *t, const struct load_summary *s)
{
    double completed = per_s((double)t->n_outcomes[OUTCOME_OK], s->elapsed_ns);

    LINE(w, "%s, %s%s\n", s->url, s->mode, s->is_interrupted ? ", ended early" : "");
    LINE(w, "requests    %llu sent, %llu ok, %llu failed", (unsigned long long)s->n_sent,
         (unsigned long long)t->n_outcomes[OUTCOME_OK], (unsigned long long)tally_n_failed(t));
    table_errors(w, t);
    if (s->n_unfinished > 0)
        LINE(w, ", %llu unfinished", (unsigned long long)s->n_unfinished);
    LINE(w, "\nrate        ");
    if (s->offered_per_s > 0)
        LINE(w, "%.2f/s offered, ", s->offered_per_s);
    LINE(w, "%.2f/s completed in %.1f s, at most %llu in flight\n", completed,
         (double)s->elapsed_ns / 1e9, (unsigned long long)s->n_in_flight_max);
    LINE(w, "tokens      %.1f/s in, %.1f/s out (counted by the server in %llu of %llu answers)\n",
         per_s((double)t->prompt_tokens, s->elapsed_ns),
         per_s((double)t->completion_tokens, s->elapsed_ns), (unsigned long long)t->n_with_usage,
         (unsigned long long)t->n_outcomes[OUTCOME_OK]);
}

static void table_figures(struct table *w, struct tally *t)
{
    static const double shown[] = {0.5, 0.95, 0.99, 1};
    struct figure figures[N_FIGURES];

    figures_list(t, figures);
    LINE(w, "\n%-12s %10s %10s %10s %10s %10s %10s\n", "", "p50", "p95", "p99", "max", "mean",
         "samples");
    for (size_t i = 0; i < N_FIGURES; i++) {
        const struct figure *f = &figures[i];
        char text[DURATION_TEXT];

        LINE(w, "%-12s", f->title);
        for (size_t k = 0; k < ARRAY_LEN(shown); k++) {
            load_report_duration(figure_quantile(t, f, shown[k]), text);
            LINE(w, " %10s", text);
        }
        load_report_duration(figure_count(f) > 0 ? (int64_t)figure_mean_ns(f) : -1, text);
        LINE(w, " %10s %10llu\n", text, (unsigned long long)figure_count(f));
    }
}

static void table_objective(struct table *w, const char *name, int64_t limit_ns,
                            const struct tally_objective *o)
{
    char text[DURATION_TEXT];

    if (limit_ns < 0)
        return;
    load_report_duration(limit_ns, text);
    if (o->n_eligible > 0)
        LINE(w, ", %s <= %s: %.2f %%", name, text,
             100.0 * (double)o->n_good / (double)o->n_eligible);
    else
        LINE(w, ", %s <= %s: no data", name, text);
}

static void table_goodput(struct table *w, const struct tally *t, const struct load_summary *s)
{
    if (t->slo.ttft_ns < 0 && t->slo.tpot_ns < 0 && t->slo.e2e_ns < 0)
        return;
    if (t->n_done == 0) {
        LINE(w, "\ngoodput     no data\n");
        return;
    }
    LINE(w, "\ngoodput     %.2f %% of requests, %.2f/s",
         100.0 * (double)t->n_good / (double)t->n_done, per_s((double)t->n_good, s->elapsed_ns));
    table_objective(w, "TTFT", t->slo.ttft_ns, &t->ttft_good);
    table_objective(w, "TPOT", t->slo.tpot_ns, &t->tpot_good);
    table_objective(w, "E2E", t->slo.e2e_ns, &t->e2e_good);
    LINE(w, "\n");
}

/* What the commonest failure most likely asks for. */
static void table_hint(struct table *w, const struct tally *t)
{
    const char *hint = NULL;

    if (t->n_outcomes[OUTCOME_CONNECT_FAILED] > 0)
        hint = "no connection could be made: check that the server runs and --url names its port";
    else if (t->n_by_status[401] + t->n_by_status[403] > 0)
        hint = "the server wants a key: --header 'Authorization: Bearer KEY'";
    else if (t->n_by_status[404] > 0)
        hint = "the server does not know the path or the model: check --url and --model";
    else if (t->n_by_status[400] + t->n_by_status[422] > 0)
        hint = "the server refuses the request: check --model, --max-tokens, or try --no-usage";
    else if (t->n_by_status[429] > 0)
        hint = "the server limits the rate: lower --rate or --concurrency";
    else if (t->n_outcomes[OUTCOME_TIMEOUT] > 0)
        hint = "answers did not end in time: lower the rate or raise --timeout";
    else if (t->n_outcomes[OUTCOME_BAD_RESPONSE] > 0)
        hint = "answers could not be read: wrong content type, coding or framing; see "
               "\"inferometer replay\"";
    if (hint)
        LINE(w, "\nhint: %s\n", hint);
}

int load_report_table(struct tally *t, const struct load_summary *s, struct buf *out)
{
    struct table w = {.out = out};
    const char *why;

    table_head(&w, t, s);
    table_figures(&w, t);
    table_goodput(&w, t, s);
    if (s->kernel_stamp_ratio >= 0 && s->kernel_stamp_ratio < 0.99)
        LINE(&w, "\nnote: only %.0f %% of the reads had a receive stamp of the kernel\n",
             100 * s->kernel_stamp_ratio);
    table_hint(&w, t);
    if (load_report_is_own_bottleneck(t, s, &why))
        LINE(&w, "\nwarning: %s\n", why);
    return w.error;
}

/* --- JSON --- */

static void json_ns(struct jsonw *w, const char *key, int64_t ns)
{
    jsonw_key(w, key);
    if (ns >= 0)
        jsonw_i64(w, ns);
    else
        jsonw_null(w);
}

static void json_figure(struct jsonw *w, const struct tally *t, const struct figure *f)
{
    jsonw_key(w, f->key);
    jsonw_begin_object(w);
    jsonw_put_u64(w, "count", figure_count(f));
    json_ns(w, "mean", figure_count(f) > 0 ? (int64_t)figure_mean_ns(f) : -1);
    json_ns(w, "min", figure_quantile(t, f, 0));
    for (size_t i = 0; i < ARRAY_LEN(quantiles); i++)
        json_ns(w, quantile_keys[i], figure_quantile(t, f, quantiles[i]));
    json_ns(w, "max", figure_quantile(t, f, 1));
    jsonw_end_object(w);
}

static void json_errors(struct jsonw *w, const struct tally *t)
{
    char key[24];

    jsonw_key(w, "errors");
    jsonw_begin_object(w);
    for (int i = 0; i < OUTCOME_COUNT_; i++) {
        if (i != OUTCOME_OK && i != OUTCOME_HTTP_ERROR && t->n_outcomes[i] > 0)
            jsonw_put_u64(w, outcome_name((enum outcome)i), t->n_outcomes[i]);
    }
    for (int i = 0; i < TALLY_STATUSES; i++) {
        if (t->n_by_status[i] == 0)
            continue;
        (void)snprintf(key, sizeof(key), "http_%d", i);
        jsonw_put_u64(w, key, t->n_by_status[i]);
    }
    jsonw_end_object(w);
}

static void json_objective(struct jsonw *w, const char *key, int64_t limit_ns,
                           const struct tally_objective *o)
{
    if (limit_ns < 0)
        return;
    jsonw_key(w, key);
    jsonw_begin_object(w);
    json_ns(w, "limit_ns", limit_ns);
    jsonw_put_u64(w, "eligible", o->n_eligible);
    jsonw_put_u64(w, "good", o->n_good);
    jsonw_end_object(w);
}

static void json_goodput(struct jsonw *w, const struct tally *t, const struct load_summary *s)
{
    jsonw_key(w, "goodput");
    if (t->slo.ttft_ns < 0 && t->slo.tpot_ns < 0 && t->slo.e2e_ns < 0) {
        jsonw_null(w);
        return;
    }
    jsonw_begin_object(w);
    jsonw_put_u64(w, "good", t->n_good);
    jsonw_key(w, "ratio");
    if (t->n_done > 0)
        jsonw_double(w, (double)t->n_good / (double)t->n_done);
    else
        jsonw_null(w);
    jsonw_put_double(w, "per_s", per_s((double)t->n_good, s->elapsed_ns));
    json_objective(w, "ttft", t->slo.ttft_ns, &t->ttft_good);
    json_objective(w, "tpot", t->slo.tpot_ns, &t->tpot_good);
    json_objective(w, "e2e", t->slo.e2e_ns, &t->e2e_good);
    jsonw_end_object(w);
}

static void json_run(struct jsonw *w, const struct tally *t, const struct load_summary *s)
{
    jsonw_put_cstr(w, "url", s->url);
    jsonw_put_cstr(w, "mode", s->mode);
    jsonw_put_bool(w, "interrupted", s->is_interrupted);
    jsonw_put_u64(w, "sent", s->n_sent);
    jsonw_put_u64(w, "ok", t->n_outcomes[OUTCOME_OK]);
    jsonw_put_u64(w, "failed", tally_n_failed(t));
    jsonw_put_u64(w, "unfinished", s->n_unfinished);
    jsonw_put_u64(w, "retried", t->n_retried);
    jsonw_put_u64(w, "in_flight_max", s->n_in_flight_max);
    json_errors(w, t);
    jsonw_put_double(w, "elapsed_s", (double)s->elapsed_ns / 1e9);
    jsonw_put_double(w, "issue_s", (double)s->issue_ns / 1e9);
    jsonw_key(w, "offered_per_s");
    if (s->offered_per_s > 0)
        jsonw_double(w, s->offered_per_s);
    else
        jsonw_null(w);
    jsonw_put_double(w, "completed_per_s", per_s((double)t->n_outcomes[OUTCOME_OK], s->elapsed_ns));
    jsonw_put_u64(w, "prompt_tokens", (uint64_t)t->prompt_tokens);
    jsonw_put_u64(w, "completion_tokens", (uint64_t)t->completion_tokens);
    jsonw_put_double(w, "prompt_tps", per_s((double)t->prompt_tokens, s->elapsed_ns));
    jsonw_put_double(w, "completion_tps", per_s((double)t->completion_tokens, s->elapsed_ns));
    jsonw_put_u64(w, "with_usage", t->n_with_usage);
}

int load_report_json(struct tally *t, const struct load_summary *s, struct buf *out)
{
    struct figure figures[N_FIGURES];
    struct jsonw w;
    const char *why;

    jsonw_init(&w, out);
    jsonw_begin_object(&w);
    json_run(&w, t, s);
    figures_list(t, figures);
    for (size_t i = 0; i < N_FIGURES; i++)
        json_figure(&w, t, &figures[i]);
    json_goodput(&w, t, s);
    jsonw_put_double(&w, "cpu_ratio", s->cpu_ratio);
    jsonw_key(&w, "kernel_stamp_ratio");
    if (s->kernel_stamp_ratio >= 0)
        jsonw_double(&w, s->kernel_stamp_ratio);
    else
        jsonw_null(&w);
    jsonw_key(&w, "warning");
    if (load_report_is_own_bottleneck(t, s, &why))
        jsonw_cstr(&w, why);
    else
        jsonw_null(&w);
    jsonw_end_object(&w);
    return jsonw_error(&w) < 0 ? jsonw_error(&w) : buf_append(out, SPAN("\n"));
}
