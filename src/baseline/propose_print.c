/* SPDX-License-Identifier: Apache-2.0 */
/*
 * baseline/propose_print.c - proposals as a table, and as a rule file in the grammar of
 * Prometheus 2.42. A model may be called anything, so its name stands between quotes in the file
 * and is never part of an expression.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/utf8.h"
#include "baseline/propose.h"

enum { MINUTE_MS = 60 * 1000, DAY_MS = 24 * 60 * MINUTE_MS, MODEL_COLUMNS_MAX = 40 };

/* --- pieces --- */

static int put_char(uint32_t c, struct buf *out)
{
    char text[4];
    return buf_append(out, span_of(text, utf8_put(c, text)));
}

/* Returns the columns in *ret. */
static int put_plain(struct span s, size_t max, size_t *ret, struct buf *out)
{
    int r = 0;
    size_t n = 0;
    for (; r == 0 && s.n > 0 && n < max; n++) {
        uint32_t c = utf8_take(&s);
        r = put_char(utf8_is_odd(c) ? '?' : c, out);
    }
    *ret = n;
    return r;
}

/* A double-quoted scalar of YAML. */
static int put_quoted(struct span s, struct buf *out)
{
    int r = buf_append(out, SPAN("\""));
    while (r == 0 && s.n > 0) {
        uint32_t c = utf8_take(&s);
        if (utf8_is_odd(c))
            r = buf_printf(out, "\\u%04" PRIx32, c);
        else if (c == '"' || c == '\\')
            r = buf_printf(out, "\\%c", (char)c);
        else
            r = put_char(c, out);
    }
    return r ? r : buf_append(out, SPAN("\""));
}

static int put_moment(int64_t t_ms, struct buf *out)
{
    struct tm tm;
    time_t t = (time_t)(t_ms / 1000);
    char text[32] = "?";
    if (gmtime_r(&t, &tm))
        (void)strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &tm);
    return buf_printf(out, "%s", text);
}

/* 0.0123 -> "12.3ms", 1.4 -> "1.4s", 1234.5 -> "1234s". */
static void seconds_text(double v, char text[24])
{
    if (v > 0 && v < 1)
        (void)snprintf(text, 24, "%.3gms", v * 1e3);
    else
        (void)snprintf(text, 24, v < 1000 ? "%.3gs" : "%.0fs", v);
}

static int put_what(const struct proposals *s, const char *lead, struct buf *out)
{
    int r = buf_printf(out, "%sThresholds from what was recorded, ", lead);
    if (r == 0)
        r = put_moment(s->from_ms, out);
    if (r == 0)
        r = buf_append(out, SPAN(" to "));
    if (r == 0)
        r = put_moment(s->to_ms, out);
    return r ? r
             : buf_printf(out, " UTC (%" PRId64 "d): p95 and %.0f %% more.\n",
                          (s->to_ms - s->from_ms) / DAY_MS, s->margin * 100);
}

/* --- table --- */

static int put_row(const struct proposal *s, struct buf *out)
{
    char p50[24], p95[24], p99[24], threshold[24];
    size_t columns;
    int r = put_plain(s->model, MODEL_COLUMNS_MAX, &columns, out);
    seconds_text(s->p50, p50);
    seconds_text(s->p95, p95);
    seconds_text(s->p99, p99);
    seconds_text(s->threshold, threshold);
    if (r == 0)
        r = buf_printf(out, "%*s  %-6s  %10.0f  %9s  %9s  %9s", (int)(MODEL_COLUMNS_MAX - columns),
                       "", s->stage->name, s->count, p50, p95, p99);
    if (r == 0 && s->threshold > 0)
        r = buf_printf(out, "  %9s  %5u  %7" PRId64 " min\n", threshold, s->n_fired,
                       s->fired_ms / MINUTE_MS);
    else if (r == 0)
        r = buf_printf(out, "  %s\n",
                       s->count < PROPOSE_REQUESTS_MIN ? "too few requests" : "always 0");
    return r;
}

int propose_print(const struct proposals *s, struct buf *out)
{
    int r = put_what(s, "", out);
    if (r == 0)
        r = buf_printf(out,
                       "\"Fired\": how often an alert with that threshold would have fired then, "
                       "and for how long in all.\n\n");
    if (r == 0 && s->n == 0)
        return buf_append(out, SPAN("There were no requests.\n"));
    if (r == 0)
        r = buf_printf(out, "%-*s  %-6s  %10s  %9s  %9s  %9s  %9s  %5s  %11s\n", MODEL_COLUMNS_MAX,
                       "MODEL", "STAGE", "REQUESTS", "P50", "P95", "P99", "THRESHOLD", "FIRED",
                       "FOR");
    for (size_t i = 0; r == 0 && i < s->n; i++)
        r = put_row(&s->at[i], out);
    return r;
}

/* --- rule file --- */

static int put_threshold(const struct proposal *s, struct buf *out)
{
    char p50[24], p95[24], p99[24];
    seconds_text(s->p50, p50);
    seconds_text(s->p95, p95);
    seconds_text(s->p99, p99);
    int r =
        buf_printf(out,
                   "      # %.0f requests: p50 %s, p95 %s, p99 %s; would have fired %u times, "
                   "%" PRId64 " min in all\n"
                   "      - record: llm_model_threshold\n"
                   "        labels: {of: %s_p95, model: ",
                   s->count, p50, p95, p99, s->n_fired, s->fired_ms / MINUTE_MS, s->stage->name);
    if (r == 0)
        r = put_quoted(s->model, out);
    return r ? r : buf_printf(out, "}\n        expr: %.6g\n", s->threshold);
}

static int put_alert(const struct propose_stage *g, struct buf *out)
{
    int r = buf_printf(
        out,
        "      - alert: %s\n"
        "        expr: |\n"
        "          (\n"
        "            histogram_quantile(0.95, sum by (le, model) (rate(%s_bucket[10m])))\n"
        "              > on (model) llm_model_threshold{of=\"%s_p95\"}\n"
        "          )\n"
        "          and on (model) sum by (model) (increase(%s_count[10m])) >= %d\n"
        "        for: %" PRId64 "m\n"
        "        labels: {tier: %s}\n",
        g->alert, g->metric, g->name, g->metric, PROPOSE_WINDOW_REQUESTS_MIN, g->for_ms / MINUTE_MS,
        g->tier);
    if (r == 0)
        r = buf_printf(
            out,
            "        annotations:\n"
            "          summary: \"{{ $labels.model }}: one request in 20 takes "
            "{{ humanizeDuration $value }} %s\"\n"
            "          description: \"One request in 20 for {{ $labels.model }} takes at least\n"
            "            {{ humanizeDuration $value }} %s; the limit is\n"
            "            {{ with query (printf \\\"llm_model_threshold{of='%s_p95',model=%%q}\\\" "
            "$labels.model) }}{{ . | first | value | humanizeDuration }}{{ end }}.\"\n"
            "          runbook_url: docs/RUNBOOK.md#",
            g->what, g->what, g->name);
    for (const char *c = g->alert; r == 0 && *c; c++)
        r = put_char((uint32_t)(*c | 0x20), out);
    return r ? r : buf_append(out, SPAN("\n"));
}

static bool has_threshold(const struct proposals *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->at[i].threshold > 0)
            return true;
    return false;
}

/* One for each stage that has a threshold. */
static int put_alerts(const struct proposals *s, struct buf *out)
{
    const struct propose_stage *last = NULL;
    int r = 0;
    for (size_t i = 0; r == 0 && i < s->n; i++) {
        if (s->at[i].threshold <= 0 || s->at[i].stage == last)
            continue;
        last = s->at[i].stage;
        r = put_alert(last, out);
    }
    return r;
}

int propose_print_rules(const struct proposals *s, struct buf *out)
{
    int r = put_what(s, "# ", out);
    if (r == 0)
        r = buf_append(out,
                       SPAN("# Models that are not named here have no threshold: load it beside "
                            "latency.yml, or instead of it.\n"
                            "groups:\n"
                            "  - name: inferometer.suggested\n"
                            "    rules:"));
    if (r == 0)
        r = buf_append(out, has_threshold(s) ? SPAN("\n") : SPAN(" []\n"));
    for (size_t i = 0; r == 0 && i < s->n; i++)
        if (s->at[i].threshold > 0)
            r = put_threshold(&s->at[i], out);
    return r < 0 ? r : put_alerts(s, out);
}
