/* SPDX-License-Identifier: Apache-2.0 */
/*
 * baseline/baseline.c - one query per day gives a histogram per model and upstream; the days of a
 * series are brought together by sorting.
 */
#include "baseline/baseline.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/attr.h"
#include "base/num.h"
#include "promql/query.h"

enum { DAY_S = 24 * 60 * 60, QUERY_MAX = 160 };

static const double mad_to_sigma = 1.4826; /* of a normal distribution */
static const double mad_share_min = 0.05;

const struct baseline_metric baseline_metrics[] = {
    {"llm_ttft_seconds", 0.05},
    {"llm_tpot_seconds", 0.002},
    {"llm_queue_seconds", 0.05},
    {"llm_e2e_seconds", 0.1},
};
const size_t n_baseline_metrics = ARRAY_LEN(baseline_metrics);

/* --- local time --- */

int64_t baseline_slot_ms(const struct zone *zone, int64_t t_ms)
{
    int64_t offset_ms = INT64_C(1000) * zone_offset_s(zone, num_floor_div(t_ms, 1000));
    return num_floor_div(t_ms + offset_ms, BASELINE_SLOT_MS) * BASELINE_SLOT_MS - offset_ms;
}

bool baseline_days_before(const struct zone *zone, int64_t t_ms, int days, int64_t *ret_ms)
{
    int64_t t_s = num_floor_div(t_ms, 1000);
    int64_t local_s = t_s + zone_offset_s(zone, t_s) - (int64_t)days * DAY_S;
    /* The offset is one of those around that day; the larger one gives the earlier moment. */
    int32_t a = zone_offset_s(zone, local_s - DAY_S), b = zone_offset_s(zone, local_s + DAY_S);
    int32_t offsets[] = {a > b ? a : b, a > b ? b : a};
    for (size_t i = 0; i < ARRAY_LEN(offsets); i++) {
        if (zone_offset_s(zone, local_s - offsets[i]) == offsets[i]) {
            *ret_ms = (local_s - offsets[i]) * 1000 + (t_ms - t_s * 1000);
            return true;
        }
    }
    return false;
}

/* --- figures --- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *v, size_t n)
{
    qsort(v, n, sizeof(*v), compare_doubles);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

struct baseline_stats baseline_of(const struct baseline_day *days, size_t n, double floor)
{
    double v[BASELINE_DAYS];
    struct baseline_stats s = {.count = 0};
    for (size_t i = 0; i < n; i++) {
        v[i] = days[i].p95;
        s.count += days[i].count;
    }
    s.p95 = median_of(v, n);
    for (size_t i = 0; i < n; i++)
        v[i] = days[i].p50;
    s.median = median_of(v, n);
    for (size_t i = 0; i < n; i++)
        v[i] = fabs(days[i].p50 - s.median);
    s.mad = fmax(fmax(mad_to_sigma * median_of(v, n), mad_share_min * s.median), floor);
    return s;
}

/* --- reading --- */

struct entry {
    struct labels labels; /* model, upstream */
    struct baseline_day day;
};
struct collection {
    struct arena arena;
    struct entry *at;
    size_t n, cap;
};

static int entry_add(struct collection *c, struct labels labels, const struct fhist *h)
{
    struct entry e = {
        .day = {fhist_quantile(h, 0.5, NULL), fhist_quantile(h, 0.95, NULL), h->count}};
    if (!(h->count >= BASELINE_DAY_REQUESTS_MIN) || !isfinite(e.day.p50) || !isfinite(e.day.p95))
        return 0;
    struct entry *at = arena_grow(&c->arena, c->at, c->n, 1, &c->cap, sizeof(*at));
    if (!at || labels_copy(&c->arena, labels, &e.labels) < 0)
        return -ENOMEM;
    c->at = at;
    c->at[c->n++] = e;
    return 0;
}

static int day_read(struct collection *c, const struct promql_expr *e,
                    const struct baseline_ask *ask, int64_t end_ms, struct err *reterr)
{
    struct promql_options o = {
        .start_ms = end_ms, .end_ms = end_ms, .is_over = ask->is_over, .ctx = ask->ctx};
    struct promql_result result;
    struct promql_error error = {.text = ""};
    int r = ask->is_over ? ask->is_over(ask->ctx) : 0; /* a small query asks nobody */
    if (r < 0)
        return err_set(reterr, r, "%s", err_str(r));
    r = promql_query(e, ask->reader, &o, &result, &error);
    if (r < 0)
        (void)err_set(reterr, r, "%s", error.text[0] ? error.text : err_str(r));
    for (size_t i = 0; r == 0 && i < result.value.n_columns; i++) {
        const struct column *col = &result.value.columns[i];
        if (col->has[0] && col->h && col->h[0])
            r = entry_add(c, col->labels, col->h[0]);
    }
    promql_result_done(&result);
    return r;
}

static int compare_entries(const void *a, const void *b)
{
    return labels_cmp(((const struct entry *)a)->labels, ((const struct entry *)b)->labels);
}

/* --- writing --- */

static int stat_add(struct collection *c, const struct baseline_metric *m, struct labels series,
                    const char *stat, double v, const struct baseline_ask *ask, struct batch *out)
{
    struct label own[] = {{SPAN(LABEL_NAME), SPAN("llm_baseline")},
                          {SPAN("metric"), span_cstr(m->name)},
                          {SPAN("stat"), span_cstr(stat)}};
    struct label *pairs = arena_array(&c->arena, series.n + ARRAY_LEN(own), sizeof(*pairs));
    struct labels l;
    size_t n = 0;
    if (!pairs)
        return -ENOMEM;
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        pairs[n++] = own[i];
    for (size_t i = 0; i < series.n; i++)
        pairs[n++] = series.at[i];
    int r = labels_normalise(pairs, n, &l, NULL);
    return r < 0 ? r : batch_add(out, l, ask->now_ms, v, NULL);
}

static int series_add(struct collection *c, const struct baseline_metric *m,
                      const struct entry *first, size_t n, const struct baseline_ask *ask,
                      struct batch *out)
{
    struct baseline_day days[BASELINE_DAYS];
    if (n < BASELINE_DAYS_MIN)
        return 0;
    for (size_t i = 0; i < n; i++)
        days[i] = first[i].day;
    struct baseline_stats s = baseline_of(days, n, m->floor);
    const struct {
        const char *name;
        double v;
    } stats[] = {{"median", s.median}, {"mad", s.mad}, {"p95", s.p95}, {"count", s.count}};
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(stats); i++)
        r = stat_add(c, m, first->labels, stats[i].name, stats[i].v, ask, out);
    return r;
}

static int all_add(struct collection *c, const struct baseline_metric *m,
                   const struct baseline_ask *ask, struct batch *out)
{
    size_t n = 0;
    int r = 0;
    if (c->n > 0)
        qsort(c->at, c->n, sizeof(*c->at), compare_entries);
    for (size_t i = 0; r == 0 && i < c->n; i += n) {
        for (n = 1; i + n < c->n && labels_eq(c->at[i].labels, c->at[i + n].labels);)
            n++;
        r = series_add(c, m, &c->at[i], n, ask, out);
    }
    return r;
}

int baseline_collect(const struct baseline_metric *m, const struct baseline_ask *ask,
                     struct batch *out, struct err *reterr)
{
    char query[QUERY_MAX];
    struct promql_expr *e = NULL;
    struct promql_error error;
    struct collection c = {.at = NULL};
    int64_t slot_ms = baseline_slot_ms(ask->zone, ask->now_ms), end_ms;
    (void)snprintf(query, sizeof(query), "sum by (model, upstream) (increase(%s[%dms]))", m->name,
                   2 * BASELINE_SLOT_MS);
    int r = promql_parse(span_cstr(query), &e, &error);
    if (r < 0)
        return err_set(reterr, r, "%s", error.text);
    arena_init(&c.arena, NULL);
    for (int day = 1; r == 0 && day <= BASELINE_DAYS; day++)
        if (baseline_days_before(ask->zone, slot_ms, day, &end_ms))
            r = day_read(&c, e, ask, end_ms + BASELINE_SLOT_MS, reterr);
    if (r == 0)
        r = all_add(&c, m, ask, out);
    if (r == -ENOMEM)
        (void)err_set(reterr, r, "%s", err_str(r));
    arena_done(&c.arena);
    (void)promql_free_expr(e);
    return r;
}
