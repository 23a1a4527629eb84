/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/micro_rules.c - milliseconds of a tick of 100 rules over 2,000 series in the store.
 *
 *   build/release/bench_micro_rules                 ticks, a sample of each series 15 s apart
 *   build/release/bench_micro_rules wide            the same, each rule over all of the series
 *   build/release/bench_micro_rules rules WINDOW    the rules, with windows of that length
 *   build/release/bench_micro_rules wide WINDOW
 *   build/release/bench_micro_rules metrics STEP    the series at a step, as text
 *
 * The last three are for measuring another evaluator over the same (bench/rules does): with a
 * scrape each second and windows of 20 s a window has as many samples as here (5 min).
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/num.h"
#include "rules/rules.h"
#include "scratch.h"
#include "tsdb/tsdb.h"

enum { N_MODELS = 10, N_INSTANCES = 5, N_SERIES_MAX = 4000 };
enum { APART_MS = 15000, N_HISTORY = 60, N_TICKS = 60 };
#define START_MS INT64_C(1728000000000)

/* --- series --- */

struct series {
    char name[32], labels[3][2][24];
    int n_labels;
    double rate; /* what a counter grows by at a step; 0: a gauge */
};
static struct series all[N_SERIES_MAX];
static int n_all;

static void add(const char *name, double rate, int model, int instance, const char *third,
                const char *value)
{
    struct series *s = &all[n_all++];
    s->rate = rate;
    (void)snprintf(s->name, sizeof(s->name), "%s", name);
    s->n_labels = third ? 3 : 2;
    (void)snprintf(s->labels[0][0], sizeof(s->labels[0][0]), "instance");
    (void)snprintf(s->labels[0][1], sizeof(s->labels[0][1]), "10.0.0.%d:8000", instance);
    if (third) {
        (void)snprintf(s->labels[1][0], sizeof(s->labels[1][0]), "%s", third);
        (void)snprintf(s->labels[1][1], sizeof(s->labels[1][1]), "%s", value);
    }
    (void)snprintf(s->labels[s->n_labels - 1][0], sizeof(s->labels[0][0]), "model");
    (void)snprintf(s->labels[s->n_labels - 1][1], sizeof(s->labels[0][1]), "model-%d", model);
}

static void add_buckets(const char *name, int n, int model, int instance)
{
    for (int i = 0; i < n; i++) {
        char le[24];
        unsigned ms = 1U << i;
        (void)snprintf(le, sizeof(le), "%u.%03u", ms / 1000, ms % 1000);
        add(name, i + 1, model, instance, "le", i + 1 < n ? le : "+Inf");
    }
}

static void add_instance(int model, int instance)
{
    static const char *const codes[] = {"200", "400", "429", "500"};
    static const char *const kinds[] = {"input", "output"};
    static const char *const gauges[] = {"x_running", "x_waiting", "x_kv_usage_ratio",
                                         "x_gpu_bytes"};
    add_buckets("x_ttft_seconds_bucket", 20, model, instance);
    add_buckets("x_itl_seconds_bucket", 10, model, instance);
    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        add("x_requests_total", i == 0 ? 100 : 1, model, instance, "code", codes[i]);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        add("x_tokens_total", 5000, model, instance, "kind", kinds[i]);
    for (size_t i = 0; i < ARRAY_LEN(gauges); i++)
        add(gauges[i], 0, model, instance, NULL, NULL);
}

static void add_all(void)
{
    for (int i = 0; i < N_MODELS * N_INSTANCES; i++)
        add_instance(i % N_MODELS, i / N_MODELS);
}

static double value_of(const struct series *s, int64_t step)
{
    int64_t k = s - all;
    if (s->rate > 0)
        return (double)step * s->rate + (double)((step * 31 + k) % 3);
    return (double)((step * 17 + k * 7) % 100) / 100;
}

/* --- rules --- */

static void put(struct buf *out, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void put(struct buf *out, const char *fmt, ...)
{
    char text[1000];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof(text) || buf_append(out, span_of(text, (size_t)n)) < 0)
        exit(1);
}

static void put_record(struct buf *out, const char *name, const char *fmt, const char *window)
{
    put(out, "  - record: %s\n    expr: '", name);
    for (; *fmt; fmt++)
        put(out, *fmt == '$' ? "%s" : "%.1s", *fmt == '$' ? window : fmt);
    put(out, "'\n");
}

static const struct {
    const char *name, *expr;
} records[] = {
    {"model:ttft:rate", "sum by (model, le) (rate(x_ttft_seconds_bucket[$]))"},
    {"model:ttft:p50", "histogram_quantile(0.5, model:ttft:rate)"},
    {"model:ttft:p95", "histogram_quantile(0.95, model:ttft:rate)"},
    {"model:ttft:p99", "histogram_quantile(0.99, model:ttft:rate)"},
    {"model:itl:rate", "sum by (model, le) (rate(x_itl_seconds_bucket[$]))"},
    {"model:itl:p50", "histogram_quantile(0.5, model:itl:rate)"},
    {"model:itl:p95", "histogram_quantile(0.95, model:itl:rate)"},
    {"model:itl:p99", "histogram_quantile(0.99, model:itl:rate)"},
    {"instance:ttft:p99",
     "histogram_quantile(0.99, sum by (instance, le) (rate(x_ttft_seconds_bucket[$])))"},
    {"model:requests:rate", "sum by (model) (rate(x_requests_total[$]))"},
    {"model:errors:rate", "sum by (model) (rate(x_requests_total{code=~\"5..\"}[$]))"},
    {"model:errors:ratio", "model:errors:rate / model:requests:rate"},
    {"model:tokens:rate", "sum by (model, kind) (rate(x_tokens_total[$]))"},
    {"model:running:sum", "sum by (model) (x_running)"},
    {"model:waiting:sum", "sum by (model) (x_waiting)"},
    {"model:kv:max", "max by (model) (x_kv_usage_ratio)"},
    {"instance:kv:avg", "avg_over_time(x_kv_usage_ratio[$])"},
    {"model:waiting:max", "max by (model) (max_over_time(x_waiting[$]))"},
    {"gateway:requests:rate", "sum(rate(x_requests_total[$]))"},
    {"gateway:tokens:rate", "sum(rate(x_tokens_total[$]))"},
};

static const struct {
    const char *name, *expr, *clause;
} alerts[] = {
    {"TtftHigh", "model:ttft:p99{model=\"%s\"} > 100", "1m"},
    {"ItlHigh", "model:itl:p99{model=\"%s\"} > 0.1", "1m"},
    {"ErrorsHigh", "model:errors:ratio{model=\"%s\"} > 0.5", "5m"},
    {"KvHigh", "x_kv_usage_ratio{model=\"%s\"} > 0.9", "2m"},
    {"QueueLong", "sum(x_waiting{model=\"%s\"}) / sum(x_running{model=\"%s\"}) > 10", "5m"},
    {"GpuFull", "min_over_time(x_gpu_bytes{model=\"%s\"}[$]) > 0.97", "1m"},
    {"NoTraffic", "model:requests:rate{model=\"%s\"} == 0", "10m"},
    {"TokensLow", "sum(model:tokens:rate{model=\"%s\"}) < 1", "5m"},
};

static void put_alert(struct buf *out, size_t i, int model, const char *window)
{
    char name[24];
    (void)snprintf(name, sizeof(name), "model-%d", model);
    put(out, "  - alert: %s\n    expr: '", alerts[i].name);
    for (const char *p = alerts[i].expr; *p; p++)
        if (p[0] == '%' && p[1] == 's')
            put(out, "%s", name), p++;
        else if (*p == '$')
            put(out, "%s", window);
        else
            put(out, "%.1s", p);
    put(out,
        "'\n    for: %s\n    labels: {tier: P1}\n"
        "    annotations: {summary: '{{ $labels.model }} is at {{ $value | humanize }}'}\n",
        alerts[i].clause);
}

static void put_rules(struct buf *out, const char *window)
{
    put(out, "groups:\n- name: records\n  rules:\n");
    for (size_t i = 0; i < ARRAY_LEN(records); i++)
        put_record(out, records[i].name, records[i].expr, window);
    put(out, "- name: alerts\n  rules:\n");
    for (size_t i = 0; i < ARRAY_LEN(alerts); i++)
        for (int model = 0; model < N_MODELS; model++)
            put_alert(out, i, model, window);
}

/* Each reads a window of every series. */
static void put_wide_rules(struct buf *out, const char *window)
{
    put(out, "groups:\n- name: wide\n  rules:\n");
    for (int i = 0; i < 100; i++)
        put(out,
            "  - record: wide:%d\n    expr: 'count by (model) "
            "(last_over_time({__name__=~\"x_.+\"}[%s]) > "
            "%d)'\n",
            i, window, i);
}

static void print_metrics(int64_t step)
{
    for (int i = 0; i < n_all; i++) {
        const struct series *s = &all[i];
        printf("%s{", s->name);
        for (int j = 0; j < s->n_labels; j++)
            printf("%s%s=\"%s\"", j > 0 ? "," : "", s->labels[j][0], s->labels[j][1]);
        printf("} %.17g\n", value_of(s, step));
    }
}

/* --- ticks --- */

struct store {
    struct tsdb *t;
    uint32_t ids[N_SERIES_MAX];
    struct batch *first;
    uint64_t n_given, n_told, n_samples;
};

static void must(int r, const char *what)
{
    if (r >= 0)
        return;
    (void)fprintf(stderr, "%s: %s\n", what, err_str(r));
    exit(1);
}

static int reader_open(void *ctx, struct reader **ret)
{
    return tsdb_reader_open(((struct store *)ctx)->t, ret);
}

static void reader_close(void *ctx, struct reader *r)
{
    (void)ctx;
    (void)tsdb_reader_close(r);
}

/* The store takes samples on a thread of its own: here behind the tick, and counted beside it. */
static int write_batch(void *ctx, struct batch *b, uint64_t *ret)
{
    struct store *s = ctx;
    *ret = b->number = ++s->n_given;
    b->next = s->first;
    s->first = b;
    return 0;
}

static void take_batches(struct store *s)
{
    for (struct batch *b = s->first, *next; b; b = next) {
        uint32_t id;
        next = b->next;
        for (size_t i = 0; i < b->n; i++) {
            must(tsdb_series(s->t, b->at[i].labels, TSDB_GAUGE, &id), "series");
            must(tsdb_append(s->t, id, b->at[i].t_ms, b->at[i].v), "append");
        }
        s->n_samples += b->n;
        (void)batch_free(b);
    }
    s->first = NULL;
    must(tsdb_commit(s->t), "commit");
}

static uint64_t written(void *ctx)
{
    const struct store *s = ctx;
    return s->first ? 0 : s->n_given;
}

static void notify(void *ctx, const struct alert_notice *notices, size_t n)
{
    (void)notices;
    ((struct store *)ctx)->n_told += n;
}

static void make_series(struct store *s)
{
    for (int i = 0; i < n_all; i++) {
        struct label pairs[4] = {{SPAN(LABEL_NAME), span_cstr(all[i].name)}};
        size_t n = 1;
        for (int j = 0; j < all[i].n_labels; j++)
            pairs[n++] =
                (struct label){span_cstr(all[i].labels[j][0]), span_cstr(all[i].labels[j][1])};
        must(tsdb_series(s->t, (struct labels){pairs, n},
                         all[i].rate > 0 ? TSDB_COUNTER : TSDB_GAUGE, &s->ids[i]),
             "series");
    }
}

static void scrape(struct store *s, int64_t step)
{
    for (int i = 0; i < n_all; i++)
        must(tsdb_append(s->t, s->ids[i], START_MS + step * APART_MS, value_of(&all[i], step)),
             "append");
    must(tsdb_commit(s->t), "commit");
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(struct store *s, struct rules *rules)
{
    static double ms[N_TICKS], with_store_ms[N_TICKS];
    struct rules_stats stats;
    for (int64_t step = 0; step < N_HISTORY; step++)
        scrape(s, step);
    uint64_t before = mem_count_total().n_allocs;
    uint64_t n_allocs = 0;
    for (int i = 0; i < N_TICKS; i++) {
        scrape(s, N_HISTORY + i);
        before = mem_count_total().n_allocs;
        mono_t start = clock_mono();
        rules_evaluate(rules, START_MS + (N_HISTORY + i) * INT64_C(15000));
        ms[i] = (double)mono_diff(clock_mono(), start) / 1e6;
        n_allocs = mem_count_total().n_allocs - before;
        take_batches(s);
        with_store_ms[i] = (double)mono_diff(clock_mono(), start) / 1e6;
    }
    rules_stats(rules, &stats);
    qsort(ms, N_TICKS, sizeof(ms[0]), compare);
    qsort(with_store_ms, N_TICKS, sizeof(with_store_ms[0]), compare);
    printf("%zu rules over %d series: %.2f ms a tick (median of %d; min %.2f, max %.2f), "
           "%" PRIu64 " allocations\n",
           stats.n_rules, n_all, ms[N_TICKS / 2], N_TICKS, ms[0], ms[N_TICKS - 1], n_allocs);
    printf("%.2f ms until its samples are stored, too\n", with_store_ms[N_TICKS / 2]);
    printf("%" PRIu64 " samples recorded, %" PRIu64 " alerts told, %zu pending, %zu firing, "
           "%" PRIu64 " failures\n",
           s->n_samples, s->n_told, stats.n_pending, stats.n_firing, stats.n_failures);
}

static void run(const char *dir, const struct buf *text)
{
    static struct store s;
    const struct rules_config config = {.interval_ms = 15000};
    const struct rules_ops ops = {reader_open, reader_close, write_batch, written, notify, &s};
    const struct tsdb_config tsdb_config = {.max_series = 0};
    static struct err_list errs;
    struct rule_file *f;
    struct rules *rules;
    char path[300];
    struct err err;
    (void)snprintf(path, sizeof(path), "%s/series.db", dir);
    must(tsdb_open(path, &tsdb_config, &s.t, NULL, &err), "open");
    make_series(&s);
    err_list_init(&errs);
    if (rule_file_read(buf_span(text), "bench.yml", &f, &errs) < 0) {
        err_list_print(&errs, stderr);
        exit(1);
    }
    must(rules_new(&config, &ops, &rules), "rules");
    must(rules_load(rules, &f, 1, 0, START_MS), "load");
    measure(&s, rules);
    (void)rules_free(rules);
    take_batches(&s);
    (void)rule_file_unref(f);
    (void)tsdb_close(s.t);
}

int main(int argc, char **argv)
{
    struct scratch dir;
    struct buf text;
    int64_t step;
    add_all();
    buf_init(&text, 1024 * 1024);
    if (argc == 3 && strcmp(argv[1], "rules") == 0) {
        put_rules(&text, argv[2]);
        printf("%.*s", SPAN_ARG(buf_span(&text)));
        return 0;
    }
    if (argc == 3 && strcmp(argv[1], "metrics") == 0) {
        must(num_parse_i64(span_cstr(argv[2]), &step), argv[2]);
        print_metrics(step);
        return 0;
    }
    bool is_wide = argc > 1 && strcmp(argv[1], "wide") == 0;
    if (is_wide)
        put_wide_rules(&text, argc > 2 ? argv[2] : "5m");
    else
        put_rules(&text, "5m");
    if (is_wide && argc > 2) {
        printf("%.*s", SPAN_ARG(buf_span(&text)));
        return 0;
    }
    scratch_make(&dir);
    run(dir.path, &text);
    scratch_remove(&dir);
    buf_done(&text);
    return 0;
}
