/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slo/slo_rules.c - the text of the rule file.
 *
 * Two groups per name. The quick one counts the windows up to 6 h from the counters themselves and
 * has the pages. The slow one adds up what the quick one counted every 5 minutes: a subquery steps
 * at whole 5 minutes whatever the group's interval is, and a month is some thousand samples instead
 * of some hundred thousand. Sums of counts stay counts, whoever evaluates how often.
 *
 * Every alert's value is a number that says something by itself: the part that is bad right now,
 * requests in a day, what is left of the budget.
 */
#include "slo/slo_rules.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "slo/burn.h"

#define RUNBOOK "docs/RUNBOOK.md#"

enum { TEXT_MAX = 2048, POPULATED_MIN = 20, TRAFFIC_WINDOWS = 4 /* of 6 h in a day */ };

struct writer {
    struct buf *out;
    int r;
    const struct slo *slo;
};

static void put(struct writer *w, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void put(struct writer *w, const char *fmt, ...)
{
    char text[TEXT_MAX];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (w->r == 0 && (n < 0 || n >= (int)sizeof(text)))
        w->r = -EMSGSIZE;
    if (w->r == 0)
        w->r = buf_append(w->out, span_of(text, (size_t)n));
}

const char *slo_duration_text(int64_t ns, char *dst)
{
    static const struct {
        int64_t ns;
        const char *name;
    } units[] = {{24 * (3600 * NS_PER_S), "d"},
                 {3600 * NS_PER_S, "h"},
                 {60 * NS_PER_S, "m"},
                 {NS_PER_S, "s"},
                 {NS_PER_MS, "ms"},
                 {NS_PER_US, "us"},
                 {1, "ns"}};
    size_t i = 0;

    while (i < ARRAY_LEN(units) - 1 && ns % units[i].ns != 0)
        i++;
    (void)snprintf(dst, 32, "%" PRId64 "%s", ns / units[i].ns, units[i].name);
    return dst;
}

/* What a good request does. */
static const char *objective_text(const struct slo *s, enum slo_objective o, char dst[64])
{
    char duration[32];

    if (slo_objective_is_duration(o))
        (void)snprintf(dst, 64, "%s within %s", slo_objective_name(o),
                       slo_duration_text(s->targets[o].threshold_ns, duration));
    else
        (void)snprintf(dst, 64, "%s",
                       o == SLO_ERRORS ? "no error" : "every objective that applies to it");
    return dst;
}

/* --- records --- */

/* Good is subtracted from what was just recorded, so that both are of one moment. Where series are
 * young, extrapolation may make more good ones than there are requests. */
static void bad_put(struct writer *w, const char *window, const char *good)
{
    put(w,
        "      - record: slo:bad:increase%s\n"
        "        expr: clamp_min(slo:total:increase%s{slo=\"%s\"} - on (slo, objective) %s, 0)\n"
        "        labels: {slo: \"%s\"}\n",
        window, window, w->slo->name, good, w->slo->name);
}

static void counted_put(struct writer *w, const char *window)
{
    char good[256];

    put(w,
        "      - record: slo:total:increase%s\n"
        "        expr: sum by (slo, objective) (increase(llm_slo_total{slo=\"%s\"}[%s])) > 0\n"
        "        labels: {slo: \"%s\"}\n",
        window, w->slo->name, window, w->slo->name);
    (void)snprintf(good, sizeof(good),
                   "sum by (slo, objective) (increase(llm_slo_good_total{slo=\"%s\"}[%s]))",
                   w->slo->name, window);
    bad_put(w, window, good);
}

static void added_put(struct writer *w, const char *suffix, const char *window)
{
    static const char *const sides[] = {"total", "bad"};

    for (size_t i = 0; i < ARRAY_LEN(sides); i++) {
        put(w,
            "      - record: slo:%s:increase%s\n"
            "        expr: sum_over_time(slo:%s:increase5m{slo=\"%s\"}[%s:5m])\n"
            "        labels: {slo: \"%s\"",
            sides[i], suffix, sides[i], w->slo->name, window, w->slo->name);
        if (suffix != window)
            put(w, ", window: \"%s\"", window);
        put(w, "}\n");
    }
}

static void budget_put(struct writer *w, enum slo_objective o)
{
    const char *slo = w->slo->name, *objective = slo_objective_name(o);
    double target = w->slo->targets[o].target;

    put(w,
        "      - record: slo:target:ratio\n"
        "        expr: vector(%.12g)\n"
        "        labels: {slo: \"%s\", objective: \"%s\"}\n"
        "      - record: slo:budget_remaining:ratio\n"
        "        expr: >-\n"
        "          1 - slo:bad:increase_window{slo=\"%s\",objective=\"%s\"}\n"
        "          / (%.12g * slo:total:increase_window{slo=\"%s\",objective=\"%s\"})\n"
        "        labels: {slo: \"%s\", objective: \"%s\"}\n",
        target, slo, objective, slo, objective, 1 - target, slo, objective, slo, objective);
}

/* --- alerts --- */

struct alert {
    const char *name, *tier;
    const char *hold;      /* "for", or NULL: the windows are long enough */
    const char *objective; /* NULL: of the whole SLO */
};

static void alert_begin(struct writer *w, const struct alert *a)
{
    put(w, "      - alert: %s\n        expr: |\n", a->name);
}

static void alert_labels(struct writer *w, const struct alert *a)
{
    char anchor[32];
    size_t n = span_copy(span_cstr(a->name), anchor, sizeof(anchor));

    for (size_t i = 0; i < n; i++)
        anchor[i] = (char)tolower((unsigned char)anchor[i]); /* as headings become anchors */
    put(w, "        for: %s\n", a->hold ? a->hold : "0s");
    put(w, "        labels:\n          slo: \"%s\"\n", w->slo->name);
    if (a->objective)
        put(w, "          objective: \"%s\"\n", a->objective);
    put(w,
        "          tier: %s\n"
        "        annotations:\n"
        "          runbook_url: " RUNBOOK "%s\n",
        a->tier, anchor);
}

/* Both windows of a pair, as one operand. */
static void burn_put(struct writer *w, const struct slo_burn *b, enum slo_objective o)
{
    const struct slo_target *t = &w->slo->targets[o];
    char of[160];
    double part = slo_burn_part(b, t->target);

    (void)snprintf(of, sizeof(of), "{slo=\"%s\",objective=\"%s\"}", w->slo->name,
                   slo_objective_name(o));
    put(w,
        "          (\n"
        "            slo:bad:increase%s%s / slo:total:increase%s%s > %.12g\n"
        "            and slo:bad:increase%s%s > %.12g * slo:total:increase%s%s\n"
        "            and slo:bad:increase%s%s >= %" PRIu32 "\n"
        "          )\n",
        b->short_text, of, b->short_text, of, part, b->long_text, of, part, b->long_text, of,
        b->long_text, of, slo_burn_min_bad(b, t->target, w->slo->min_bad));
}

static void burn_condition(struct writer *w, const struct slo_burn *b, double target,
                           const char *before)
{
    put(w, "%s%.6g %% over %s and %s (at least %" PRIu32 " bad)", before,
        slo_burn_part(b, target) * 100, b->long_text, b->short_text,
        slo_burn_min_bad(b, target, w->slo->min_bad));
}

static const char *capped_text(const struct slo_burn *b, double target, char dst[160])
{
    (void)snprintf(
        dst, 160, "The burn rate over %s is capped at %.4g: %.6g would need %.4g %% to be bad.",
        b->long_text, slo_burn_factor(b, target), b->factor, b->factor * (1 - target) * 100);
    return dst;
}

static void burns_put(struct writer *w, enum slo_objective o, const struct slo_burn *burns)
{
    bool is_page = burns->is_page;
    const struct slo_target *t = &w->slo->targets[o];
    struct alert a = {.name = is_page ? "SLOBurnPage" : "SLOBurnTicket",
                      .tier = is_page ? "P0" : "P1",
                      .objective = slo_objective_name(o)};
    char text[160], objective[64];

    for (int i = 0; i < SLO_BURN_PAGES; i++) {
        if (slo_burn_is_capped(&burns[i], t->target))
            put(w, "      # %s\n", capped_text(&burns[i], t->target, text));
    }
    alert_begin(w, &a);
    burn_put(w, &burns[0], o);
    put(w, "          or\n");
    burn_put(w, &burns[1], o);
    alert_labels(w, &a);
    put(w,
        "          summary: 'SLO %s: {{ $value | humanizePercentage }} of the requests are bad for "
        "%s, and the error budget goes too fast'\n"
        "          description: '{{ $value | humanizePercentage }} of the requests of the last %s "
        "(%s where that is why) are bad. Good is: %s, for %.6g %% of them over %s. Told",
        w->slo->name, a.objective, burns[0].short_text, burns[1].short_text,
        objective_text(w->slo, o, objective), t->target * 100,
        slo_duration_text(w->slo->window_ms * NS_PER_MS, text));
    burn_condition(w, &burns[0], t->target, " above ");
    burn_condition(w, &burns[1], t->target, " or ");
    put(w, ".");
    for (int i = 0; i < SLO_BURN_PAGES; i++) {
        if (slo_burn_is_capped(&burns[i], t->target))
            put(w, " %s", capped_text(&burns[i], t->target, text));
    }
    put(w, "'\n");
}

static void budget_alert(struct writer *w, enum slo_objective o)
{
    struct alert a = {
        .name = "SLOBudgetSpent", .tier = "P2", .hold = "15m", .objective = slo_objective_name(o)};
    char window[32];

    slo_duration_text(w->slo->window_ms * NS_PER_MS, window);
    alert_begin(w, &a);
    put(w,
        "          slo:budget_remaining:ratio{slo=\"%s\",objective=\"%s\"} < 0\n"
        "          and slo:bad:increase_window{slo=\"%s\",objective=\"%s\"} >= %" PRIu32 "\n",
        w->slo->name, a.objective, w->slo->name, a.objective, w->slo->min_bad);
    alert_labels(w, &a);
    put(w,
        "          summary: 'SLO %s: the error budget of %s is spent'\n"
        "          description: '{{ $value | humanizePercentage }} of the budget of %s is left: "
        "more than %.6g %% of the requests were bad.'\n",
        w->slo->name, a.objective, window, (1 - w->slo->targets[o].target) * 100);
}

/* Requests flow, and none of them has the figure that the objective is about. */
static void populated_alert(struct writer *w, enum slo_objective o)
{
    struct alert a = {.name = "SLONeverPopulated",
                      .tier = "P2",
                      .hold = "15m",
                      .objective = slo_objective_name(o)};

    alert_begin(w, &a);
    put(w,
        "          slo:total:increase1d{slo=\"%s\",objective=\"goodput\"} >= %d\n"
        "          unless on (slo) slo:total:increase1d{slo=\"%s\",objective=\"%s\"}\n",
        w->slo->name, POPULATED_MIN, w->slo->name, a.objective);
    if (o == SLO_QUEUE)
        put(w, "          unless on () engine_queue_seconds_count\n"
               "          unless on () vllm:request_queue_time_seconds_count\n");
    alert_labels(w, &a);
    put(w,
        "          summary: 'SLO %s: %s has no samples, and can never alert'\n"
        "          description: '{{ $value | humanize }} requests in a day, and none of them "
        "counts "
        "for %s. %s'\n",
        w->slo->name, a.objective, a.objective,
        o == SLO_QUEUE ? "Engines do not tell how long each request waited (vLLM: start it with "
                         "--enable-per-request-metrics), nor are their own metrics here."
                       : "Remove the objective, or find out why what it measures is never seen.");
}

/* Until engines tell each request's wait, their own histogram is the only place where it shows:
 * under the gateway's name, or vLLM's where Prometheus scrapes it itself. Each engine for itself,
 * since bounds differ; with so many requests that those over the objective are min_bad at least. */
static void engine_queue_alert(struct writer *w)
{
    const struct slo_target *t = &w->slo->targets[SLO_QUEUE];
    double least = ceil(w->slo->min_bad / (1 - t->target) - 1e-6);
    struct alert a = {
        .name = "SLOEngineQueueSlow", .tier = "P1", .hold = "10m", .objective = "queue"};
    char text[32];

    alert_begin(w, &a);
    put(w,
        "          histogram_quantile(%.12g, sum by (le, job, instance) (\n"
        "            rate(engine_queue_seconds_bucket[30m])\n"
        "            or on (job, instance) rate(vllm:request_queue_time_seconds_bucket[30m])\n"
        "          )) > %.12g\n"
        "          and on (job, instance) sum by (job, instance) (\n"
        "            increase(engine_queue_seconds_count[30m])\n"
        "            or on (job, instance) increase(vllm:request_queue_time_seconds_count[30m])\n"
        "          ) >= %.12g\n"
        "          unless on () slo:total:increase1d{slo=\"%s\",objective=\"queue\"}\n",
        t->target, (double)t->threshold_ns / NS_PER_S, least, w->slo->name);
    alert_labels(w, &a);
    put(w,
        "          summary: 'SLO %s: requests wait {{ $value | humanizeDuration }} in the engine "
        "{{ $labels.instance }}, %s is the objective'\n"
        "          description: '{{ $value | humanizeDuration }} is what %.6g %% of the requests "
        "of the last 30m waited at most in the engine {{ $labels.instance }}; the objective is %s. "
        "It tells no times of single requests, so that this stands in for it.'\n",
        w->slo->name, slo_duration_text(t->threshold_ns, text), t->target * 100, text);
}

static void traffic_alert(struct writer *w)
{
    struct alert a = {.name = "SLOLowTraffic", .tier = "P2", .hold = "1h", .objective = NULL};
    const struct slo_burn *slowest = &slo_burns[SLO_BURN_PAGES - 1];
    uint32_t min_bad = slo_burn_min_bad(slowest, 1, w->slo->min_bad); /* without a cap */
    uint32_t least = TRAFFIC_WINDOWS * min_bad;

    alert_begin(w, &a);
    put(w,
        "          sum by (slo) (slo:total:increase1d{slo=\"%s\",objective=\"goodput\"}) < %" PRIu32
        "\n"
        "          and on (slo) llm_slo_total{slo=\"%s\",objective=\"goodput\"} offset 1d\n",
        w->slo->name, least, w->slo->name);
    alert_labels(w, &a);
    put(w,
        "          summary: 'SLO %s: too few requests to page'\n"
        "          description: '{{ $value | humanize }} requests in a day, fewer than %" PRIu32
        ": even when all fail, 6h see fewer than the %" PRIu32
        " bad ones that a page needs. Send probes, or put several models under one SLO.'\n",
        w->slo->name, least, min_bad);
}

static void no_data_alert(struct writer *w)
{
    struct alert a = {.name = "SLONoData", .tier = "P1", .hold = "10m", .objective = NULL};

    alert_begin(w, &a);
    put(w, "          absent(llm_slo_total{slo=\"%s\"})\n", w->slo->name);
    alert_labels(w, &a);
    put(w,
        "          summary: 'SLO %s: there is no data'\n"
        "          description: 'There is no series llm_slo_total of it, not even at 0: the "
        "gateway is down or not scraped, or its configuration has no such SLO.'\n",
        w->slo->name);
}

/* --- groups --- */

static void quick_group(struct writer *w)
{
    static const char *const windows[] = {"5m", "30m", "1h", "2h", "6h"};

    put(w, "  - name: slo-%s\n    interval: 30s\n    rules:\n", w->slo->name);
    for (size_t i = 0; i < ARRAY_LEN(windows); i++)
        counted_put(w, windows[i]);
    for (int o = 0; o < SLO_OBJECTIVE_COUNT_; o++) {
        if (w->slo->targets[o].is_set)
            burns_put(w, (enum slo_objective)o, &slo_burns[0]);
    }
}

static void slow_group(struct writer *w)
{
    char window[32];

    put(w, "  - name: slo-%s-budget\n    interval: 5m\n    rules:\n", w->slo->name);
    added_put(w, slo_burns[2].long_text, slo_burns[2].long_text);
    added_put(w, slo_burns[3].long_text, slo_burns[3].long_text);
    added_put(w, "_window", slo_duration_text(w->slo->window_ms * NS_PER_MS, window));
    for (int i = 0; i < SLO_OBJECTIVE_COUNT_; i++) {
        enum slo_objective o = (enum slo_objective)i;

        if (!w->slo->targets[o].is_set)
            continue;
        budget_put(w, o);
        burns_put(w, o, &slo_burns[SLO_BURN_PAGES]);
        budget_alert(w, o);
        if (o != SLO_GOODPUT)
            populated_alert(w, o);
    }
    if (w->slo->targets[SLO_QUEUE].is_set)
        engine_queue_alert(w);
    traffic_alert(w);
    no_data_alert(w);
}

int slo_rules_write(const struct slo *slos, size_t n, struct buf *out)
{
    size_t n_before = buf_len(out);
    struct writer w = {.out = out};

    put(&w,
        "# Made by \"inferometer slo rules\" from the SLOs of the configuration; do not edit, "
        "make it again.\n"
        "# For inferometer and for Prometheus 2.42 and later.\n"
        "groups:%s\n",
        n == 0 ? " []" : "");
    for (size_t i = 0; i < n; i++) {
        w.slo = &slos[i];
        quick_group(&w);
        slow_group(&w);
    }
    if (w.r < 0)
        buf_truncate(out, n_before);
    return w.r;
}
