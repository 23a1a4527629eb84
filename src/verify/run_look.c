/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/run_look.c - what is asked and told once a phase.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/num.h"
#include "verify/names.h"
#include "verify/run_private.h"

enum { QUERY_MAX = 2 * PROMQL_QUERY_MAX };
#define VERIFY_FAULT "added_latency"

static int switch_latency(struct verify_run *run, const char *url, double latency_s,
                          struct err *reterr)
{
    char json[64];

    if (latency_s > 0)
        (void)snprintf(json, sizeof(json), "{\"" VERIFY_FAULT "\": %.6g}", latency_s);
    else
        (void)snprintf(json, sizeof(json), "{\"" VERIFY_FAULT "\": null}");
    return verify_ask(run->stage.asker, url, json, &run->body, reterr);
}

static int inject(struct verify_run *run, const char *url, double latency_s, struct err *reterr)
{
    int r = 0;

    if (!run->is_injected)
        r = verify_ask(run->stage.asker, url, NULL, &run->body, reterr);
    if (r == 0 && !run->is_injected)
        r = verify_told_fault(buf_span(&run->body), SPAN(VERIFY_FAULT), &run->latency_before_s);
    if (r == -EPROTO)
        err_set(reterr, r, "%.200s: this is no answer of a simulator", url);
    if (r < 0)
        return r;
    run->is_injected = true; /* also where the answer is lost */
    return switch_latency(run, url, run->latency_before_s + latency_s, reterr);
}

int verify_run_inject(struct verify_run *run, double latency_s)
{
    struct verify_result *result = run->result;
    char url[VERIFY_URL_MAX + 32];
    struct err why = {.text = ""};
    int r;

    if (latency_s == 0 && !run->is_injected)
        return 0;
    (void)snprintf(url, sizeof(url), "%s/sim/faults", run->stage.engine_url);
    r = latency_s > 0 ? inject(run, url, latency_s, &why)
                      : switch_latency(run, url, run->latency_before_s, &why);
    if (latency_s > 0)
        (void)span_copy(span_cstr(why.text), result->inject_error, sizeof(result->inject_error));
    else
        (void)span_copy(span_cstr(why.text), result->stay_error, sizeof(result->stay_error));
    run->is_injected = latency_s > 0 ? run->is_injected : r < 0;
    return r < 0 ? -ENOTSUP : 0;
}

bool verify_run_page(struct verify_run *run, struct verify_page *ret)
{
    struct verify_result *result = run->result;
    struct err why = {.text = "--metrics-url none"};
    struct verify_page page = {.n = 0};
    int r = -EINVAL;

    if (run->stage.metrics_url[0] != '\0')
        r = verify_ask(run->stage.asker, run->stage.metrics_url, NULL, &run->body, &why);
    if (r == 0)
        r = verify_page_read(buf_span(&run->body), &page, &why);
    (void)span_copy(span_cstr(r < 0 ? why.text : ""), result->page_error,
                    sizeof(result->page_error));
    if (r < 0)
        return false;
    *ret = page;
    (void)span_copy(span_cstr(page.engine), result->engine, sizeof(result->engine));
    (void)span_copy(span_cstr(page.name), result->histogram, sizeof(result->histogram));
    return true;
}

/* --- the gateway's history --- */

static double value_of(struct verify_run *run, enum verify_where w, const char *query,
                       size_t *ret_n)
{
    double v = (double)NAN;
    size_t n = 0;

    if (verify_ask_value(run->stage.asker, run->stage.servers[w], query, &v, &n, NULL) < 0)
        v = (double)NAN;
    if (ret_n)
        *ret_n = n;
    return v;
}

/* Of the last seconds: the first ones have what was under way before. */
void verify_run_scraped(struct verify_run *run, struct verify_phase *ph)
{
    long long seconds = (long long)(ph->end_ms - ph->begin_ms) / 1000;
    char query[200];
    double sum;

    (void)snprintf(query, sizeof(query), "sum(increase(engine_ttft_seconds_count[%llds]))",
                   seconds > 2 ? seconds : 2);
    ph->scraped_count = value_of(run, VERIFY_GATEWAY, query, NULL);
    (void)snprintf(query, sizeof(query), "sum(increase(engine_ttft_seconds_sum[%llds]))",
                   seconds > 2 ? seconds : 2);
    sum = value_of(run, VERIFY_GATEWAY, query, NULL);
    ph->has_scraped = ph->scraped_count > 0 && isfinite(sum);
    ph->scraped_mean_s = ph->has_scraped ? sum / ph->scraped_count : (double)NAN;
}

/* --- what alerts measure --- */

/* Why a name has no series there. */
static void explain_missing(struct verify_run *run, struct span name, enum verify_where w,
                            struct verify_seen *s)
{
    struct verify_name_info info = verify_name_find(name);
    const char *where = verify_result_where(w);
    bool has_page = false, is_on_page = false;

    if (info.is_engine && run->stage.metrics_url[0] != '\0' &&
        verify_ask(run->stage.asker, run->stage.metrics_url, NULL, &run->body, NULL) == 0) {
        has_page = true;
        is_on_page = verify_page_has(buf_span(&run->body), name);
    }
    if (is_on_page)
        (void)snprintf(s->missing, sizeof(s->missing),
                       "the engine tells %.*s, the %s has no series of it: it is not scraped",
                       SPAN_ARG(name), where);
    else if (info.is_engine && !has_page)
        (void)snprintf(s->missing, sizeof(s->missing),
                       "the %s has no series %.*s: the engine's metrics cannot be read", where,
                       SPAN_ARG(name));
    else
        (void)snprintf(s->missing, sizeof(s->missing), "the %s has no series %.*s%s", where,
                       SPAN_ARG(name),
                       info.is_engine ? ", which this engine does not tell"
                                      : ", which comes about in other set-ups only");
    s->is_missing_by_nature =
        !is_on_page && (has_page || !info.is_engine) && info.kind == VERIFY_NAME_KNOWN;
}

static void look_for_missing(struct verify_run *run, const struct verify_alert *a,
                             enum verify_where w, struct verify_seen *s)
{
    char query[512];

    for (size_t i = 0; i < a->needs.n && s->missing[0] == '\0'; i++) {
        struct span name = a->needs.at[i];
        size_t n = 0;

        if (name.n > sizeof(query) - 40)
            continue;
        (void)snprintf(query, sizeof(query), "count({__name__=\"%.*s\"})", SPAN_ARG(name));
        (void)value_of(run, w, query, &n);
        if (n == 0)
            explain_missing(run, name, w, s);
    }
}

static double measure(struct verify_run *run, const struct verify_alert *a, enum verify_where w)
{
    struct buf query;
    double v = (double)NAN;

    if (!a->measured)
        return v;
    buf_init(&query, QUERY_MAX);
    if (buf_printf(&query, "max(%s)", a->measured) == 0 && buf_append(&query, span_of("", 1)) == 0)
        v = value_of(run, w, buf_span(&query).p, NULL);
    buf_done(&query);
    return v;
}

void verify_run_values(struct verify_run *run, enum verify_phase_name i)
{
    for (size_t k = 0; k < run->plan->n; k++)
        for (int w = 0; w < VERIFY_WHERES; w++) {
            const struct verify_alert *a = &run->plan->alerts[k];
            struct verify_seen *s = &run->result->seen[w][k];
            if (a->drive != VERIFY_DRIVEN || run->stage.servers[w][0] == '\0')
                continue;
            s->values[i] = measure(run, a, (enum verify_where)w);
            if (i == VERIFY_HARD && run->tracks[w][k].firing_ms == VERIFY_NEVER)
                look_for_missing(run, a, (enum verify_where)w, s);
        }
}
