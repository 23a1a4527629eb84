/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/live_table.c - keeps one sample of the cumulative metrics per second; the table is the newest
 * less the one that is a window old.
 */
#include "cli/live_table.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

static const struct {
    enum metric metric;
    const char *title;
} rows[] = {
    {METRIC_TTFT, "TTFT"},
    {METRIC_ITL, "ITL"},
    {METRIC_TPOT, "TPOT"},
    {METRIC_E2E, "E2E"},
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]), SAMPLES = LIVE_TABLE_WINDOW_S + 1 };

struct sample {
    mono_t at;
    int64_t n_requests, n_errors, n_inflight, n_completion_tokens;
    const struct hist_bounds *bounds[ROWS];
    uint64_t buckets[ROWS][HIST_BUCKETS];
};

struct live_table {
    const struct metrics *metrics;
    size_t n; /* samples held */
    size_t next;
    struct hist_snapshot scratch; /* the row being printed */
    struct sample samples[SAMPLES];
};

int live_table_new(const struct metrics *m, struct live_table **ret)
{
    struct live_table *t = mem_zalloc(1, sizeof(*t));

    if (!t)
        return -ENOMEM;
    t->metrics = m;
    *ret = t;
    return 0;
}

struct live_table *live_table_free(struct live_table *t)
{
    mem_free(t);
    return NULL;
}

static const char *label_of(const struct metrics_sample *s, const char *name)
{
    for (size_t i = 0; i < s->n_labels; i++)
        if (strcmp(s->labels[i].name, name) == 0)
            return s->labels[i].value;
    return "";
}

static void sample_add_hist(struct sample *to, size_t row, const struct hist_snapshot *h)
{
    to->bounds[row] = h->bounds;
    for (uint32_t k = h->first; k < h->end; k++)
        to->buckets[row][k] += h->buckets[k];
}

static int sample_visit(void *ctx, const struct metrics_sample *s)
{
    struct sample *to = ctx;

    for (size_t row = 0; row < ROWS; row++)
        if (s->metric == rows[row].metric && s->hist)
            sample_add_hist(to, row, s->hist);
    if (s->metric == METRIC_REQUESTS) {
        to->n_requests += s->value;
        if (strcmp(label_of(s, "outcome"), "ok") != 0)
            to->n_errors += s->value;
    } else if (s->metric == METRIC_INFLIGHT) {
        to->n_inflight += s->value;
    } else if (s->metric == METRIC_TOKENS && strcmp(label_of(s, "type"), "completion") == 0) {
        to->n_completion_tokens += s->value;
    }
    return 0;
}

int live_table_sample(struct live_table *t)
{
    struct sample *s = &t->samples[t->next];

    memset(s, 0, sizeof(*s));
    s->at = clock_mono();
    t->next = (t->next + 1) % SAMPLES;
    if (t->n < SAMPLES)
        t->n++;
    return metrics_each(t->metrics, sample_visit, s);
}

/* "12.3 ms", or "-" for no data. */
static void cell_print(FILE *to, int64_t ns)
{
    double ms = (double)ns / (double)NS_PER_MS;

    if (ns < 0)
        (void)fprintf(to, "%12s", "-");
    else if (ms >= 10000.0)
        (void)fprintf(to, "%10.1f s", ms / 1000.0);
    else
        (void)fprintf(to, "%9.*f ms", ms < 100.0 ? 2 : 0, ms);
}

/* The window's distribution: the newest sample's buckets less the oldest's. */
static void window_hist(const struct sample *now, const struct sample *then, size_t row,
                        struct hist_snapshot *ret)
{
    hist_snapshot_init(ret, now->bounds[row]);
    ret->first = 0;
    ret->end = HIST_BUCKETS;
    for (uint32_t k = 0; k < HIST_BUCKETS; k++) {
        uint64_t a = now->buckets[row][k];
        uint64_t b = then->buckets[row][k];
        ret->buckets[k] = a > b ? a - b : 0; /* a reload starts a family anew */
        ret->n += ret->buckets[k];
    }
}

static void row_print(struct hist_snapshot *h, const struct sample *now, const struct sample *then,
                      size_t row, FILE *to)
{
    static const double quantiles[] = {0.5, 0.95, 0.99};
    uint64_t n = 0;

    (void)fprintf(to, "  %-6s", rows[row].title);
    if (now->bounds[row]) {
        window_hist(now, then, row, h);
        n = h->n;
    }
    for (size_t i = 0; i < ARRAY_LEN(quantiles); i++)
        cell_print(to, n > 0 ? (int64_t)hist_snapshot_quantile(h, quantiles[i]) : -1);
    (void)fprintf(to, "%12llu\n", (unsigned long long)n);
}

int live_table_print(struct live_table *t, FILE *to)
{
    const struct sample *now = &t->samples[(t->next + SAMPLES - 1) % SAMPLES];
    const struct sample *then = &t->samples[(t->next + SAMPLES - t->n) % SAMPLES];
    double s = t->n > 1 ? (double)mono_diff(now->at, then->at) / (double)NS_PER_S : 0;

    if (t->n < 2 || s <= 0)
        return 0;
    (void)fprintf(to,
                  "last %.0f s: %.1f requests/s, %.1f errors/s, %.0f tokens/s out, %lld in flight\n"
                  "  %-6s%12s%12s%12s%12s\n",
                  s, (double)(now->n_requests - then->n_requests) / s,
                  (double)(now->n_errors - then->n_errors) / s,
                  (double)(now->n_completion_tokens - then->n_completion_tokens) / s,
                  (long long)now->n_inflight, "", "p50", "p95", "p99", "samples");
    for (size_t row = 0; row < ROWS; row++)
        row_print(&t->scratch, now, then, row, to);
    (void)fflush(to);
    return 2 + ROWS;
}
