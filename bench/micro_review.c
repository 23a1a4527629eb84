/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/micro_review.c - seconds and memory of an SLO review over a store.
 *
 *   build/release/bench_micro_review [DAYS] [RULES] [SLOS]     90, 30, 10
 *
 * Each SLO has three objectives of four series, each rule five alerts that fire now and then, each
 * stage of latency histograms of three models. Samples are 15 s apart for the last 8 days and 5 min
 * before, which is what the store keeps of them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "review/review.h"
#include "scratch.h"
#include "tsdb/tsdb.h"

enum { N_PAIRS = 2, N_OBJECTIVES = 3, N_MODELS = 3, N_ALERTS = 5, MINUTE_MS = 60 * 1000 };
enum { STEP_MS = 15 * 1000, COARSE_MS = 5 * MINUTE_MS, EVALUATION_MS = 30 * 1000, RAW_DAYS = 8 };
#define DAY_MS   (INT64_C(24) * 60 * MINUTE_MS)
#define START_MS (INT64_C(20000) * DAY_MS)

static const enum slo_objective objectives[] = {SLO_TTFT, SLO_TPOT, SLO_ERRORS};
static const char *const stages[] = {"llm_ttft_seconds", "llm_tpot_seconds", "llm_queue_seconds",
                                     "llm_e2e_seconds", "llm_jitter_seconds"};

struct fill {
    struct tsdb *t;
    struct rng rng;
    uint64_t n_samples;
};

static void must(int r, const char *what)
{
    if (r >= 0)
        return;
    (void)fprintf(stderr, "micro_review: %s: %s\n", what, err_str(r));
    exit(1);
}

static uint32_t series_of(struct fill *f, enum tsdb_kind kind, const char *const (*pairs)[2],
                          size_t n)
{
    struct label at[8];
    struct labels l;
    uint32_t id;
    for (size_t i = 0; i < n; i++)
        at[i] = (struct label){span_cstr(pairs[i][0]), span_cstr(pairs[i][1])};
    must(labels_normalise(at, n, &l, NULL), "labels");
    must(tsdb_series(f->t, l, kind, &id), "series");
    return id;
}

static void append(struct fill *f, uint32_t id, int64_t t_ms, double v)
{
    must(tsdb_append(f->t, id, t_ms, v), "append");
    f->n_samples++;
}

/* One series over its whole time, day by day, so that upkeep can follow. */
struct line {
    uint32_t id, good;
    double total, bad;
};

static void fill_requests(struct fill *f, struct line *lines, size_t n, int64_t from_ms,
                          int64_t step_ms)
{
    for (int64_t t = from_ms; t < from_ms + DAY_MS; t += step_ms) {
        for (size_t i = 0; i < n; i++) {
            struct line *l = &lines[i];
            double more = (double)(step_ms / 1000);
            l->total += more;
            if (rng_below(&f->rng, 1000) < 3)
                l->bad += floor(more / 10);
            append(f, l->id, t, l->total);
            append(f, l->good, t, l->total - l->bad);
        }
    }
}

static void fill_latency(struct fill *f, const uint32_t *ids, size_t n, int64_t from_ms,
                         int64_t step_ms)
{
    struct fhist_bucket buckets[60];
    for (int64_t t = from_ms; t < from_ms + DAY_MS; t += step_ms) {
        double seconds = (double)(t - START_MS) / 1000;
        struct fhist h = {.schema = 3, .count = 60 * seconds, .sum = 60 * seconds};
        for (int i = 0; i < 60; i++)
            buckets[i] = (struct fhist_bucket){i - 30, seconds};
        h.positive = (struct fhist_side){buckets, 60};
        for (size_t i = 0; i < n; i++) {
            must(tsdb_append_hist(f->t, ids[i], t, &h), "append");
            f->n_samples++;
        }
    }
}

/* Some 5 minutes, four times a day. */
static void fill_alerts(struct fill *f, const uint32_t *ids, size_t n, int64_t from_ms)
{
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < 4; k++) {
            int64_t t = from_ms + k * DAY_MS / 4 + (int64_t)rng_below(&f->rng, 600) * EVALUATION_MS;
            int length = 5 + (int)rng_below(&f->rng, 20);
            for (int e = 0; e < length; e++)
                append(f, ids[i], t + e * (int64_t)EVALUATION_MS, 1);
            append(f, ids[i], t + length * (int64_t)EVALUATION_MS, series_stale());
        }
    }
}

static void upkeep(struct fill *f, int64_t now_ms)
{
    int r;
    must(tsdb_commit(f->t), "commit");
    while ((r = tsdb_maintain(f->t, now_ms)) == 1)
        ;
    must(r, "upkeep");
}

/* --- what there is --- */

static struct line lines[SLO_MAX * N_OBJECTIVES * N_PAIRS];
static uint32_t latency[ARRAY_LEN(stages) * N_MODELS];
static uint32_t *alerts;
static char names[SLO_MAX][16];

static size_t lines_make(struct fill *f, int n_slos)
{
    static const char *const models[] = {"a", "b"};
    size_t n = 0;
    for (int s = 0; s < n_slos; s++) {
        for (int o = 0; o < N_OBJECTIVES * N_PAIRS; o++) {
            const char *objective = slo_objective_name(objectives[o / N_PAIRS]);
            const char *model = models[o % N_PAIRS];
            const char *const all[][2] = {{LABEL_NAME, "llm_slo_total"},
                                          {"slo", names[s]},
                                          {"objective", objective},
                                          {"model", model}};
            const char *const good[][2] = {{LABEL_NAME, "llm_slo_good_total"},
                                           {"slo", names[s]},
                                           {"objective", objective},
                                           {"model", model}};
            lines[n].id = series_of(f, TSDB_COUNTER, all, ARRAY_LEN(all));
            lines[n++].good = series_of(f, TSDB_COUNTER, good, ARRAY_LEN(good));
        }
    }
    return n;
}

static void latency_make(struct fill *f)
{
    static const char *const models[N_MODELS] = {"a", "b", "c"};
    for (size_t i = 0; i < ARRAY_LEN(latency); i++) {
        const char *const pairs[][2] = {{LABEL_NAME, stages[i / N_MODELS]},
                                        {"model", models[i % N_MODELS]}};
        latency[i] = series_of(f, TSDB_HISTOGRAM, pairs, ARRAY_LEN(pairs));
    }
}

static void alerts_make(struct fill *f, int n_rules)
{
    char name[16], model[16];
    alerts = mem_zalloc((size_t)(n_rules * N_ALERTS), sizeof(*alerts));
    for (int i = 0; i < n_rules * N_ALERTS; i++) {
        const char *const pairs[][2] = {{LABEL_NAME, "ALERTS"},
                                        {"alertname", name},
                                        {"alertstate", "firing"},
                                        {"model", model},
                                        {"tier", "P2"}};
        (void)snprintf(name, sizeof(name), "Rule%d", i / N_ALERTS);
        (void)snprintf(model, sizeof(model), "m%d", i % N_ALERTS);
        alerts[i] = series_of(f, TSDB_UNKNOWN, pairs, ARRAY_LEN(pairs));
    }
}

static struct rule_file *rules_make(int n_rules)
{
    static struct err_list errs;
    struct rule_file *file = NULL;
    struct buf text;
    buf_init(&text, 1U << 20);
    must(buf_printf(&text, "groups:\n- name: g\n  rules:\n"), "rules");
    for (int i = 0; i < n_rules; i++)
        must(buf_printf(&text,
                        "  - {alert: Rule%d, labels: {tier: P2}, expr: 'histogram_quantile(0.95, "
                        "rate(%s_bucket[10m])) > %d'}\n",
                        i, stages[i % ARRAY_LEN(stages)], i + 1),
             "rules");
    err_list_init(&errs);
    must(rule_file_read(buf_span(&text), "bench.yml", &file, &errs), "rules");
    buf_done(&text);
    return file;
}

/* --- measuring --- */

static void measure(const struct review_question *q)
{
    struct review *r = NULL;
    struct err err = {0};
    struct buf out;
    struct jsonw w;
    struct rusage before, after;
    (void)getrusage(RUSAGE_SELF, &before);
    int64_t t_ns = clock_mono().ns;
    if (review_make(q, &r, &err) < 0) {
        (void)fprintf(stderr, "micro_review: %s\n", err.text);
        exit(1);
    }
    t_ns = clock_mono().ns - t_ns;
    (void)getrusage(RUSAGE_SELF, &after);
    buf_init(&out, 64U << 20);
    jsonw_init(&w, &out);
    must(review_write(r, &w), "JSON");
    size_t json = buf_len(&out);
    must(review_print_markdown(r, &out), "Markdown");
    (void)printf("%.2f s, peak %ld MiB (%ld MiB before), %zu bytes of JSON, %zu of Markdown\n",
                 (double)t_ns / 1e9, after.ru_maxrss / 1024, before.ru_maxrss / 1024, json,
                 buf_len(&out) - json);
    buf_done(&out);
    r = review_free(r);
}

static void fill_all(struct fill *f, int n_days, int n_rules, size_t n_lines)
{
    for (int day = 0; day < n_days; day++) {
        int64_t from_ms = START_MS + day * DAY_MS;
        int64_t step_ms = day < n_days - RAW_DAYS ? COARSE_MS : STEP_MS;
        fill_requests(f, lines, n_lines, from_ms, step_ms);
        fill_latency(f, latency, ARRAY_LEN(latency), from_ms, step_ms);
        fill_alerts(f, alerts, (size_t)(n_rules * N_ALERTS), from_ms);
        upkeep(f, from_ms + DAY_MS);
    }
}

static void slos_make(struct slo *slos, int n)
{
    for (int i = 0; i < n; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "slo%d", i);
        slos[i] = (struct slo){.name = names[i], .window_ms = SLO_WINDOW_MS, .min_bad = 6};
        for (int o = 0; o < N_OBJECTIVES; o++)
            slos[i].targets[objectives[o]] = (struct slo_target){.is_set = true, .target = 0.999};
    }
}

int main(int argc, char **argv)
{
    int n_days = argc > 1 ? atoi(argv[1]) : 90, n_rules = argc > 2 ? atoi(argv[2]) : 30;
    int n_slos = argc > 3 && atoi(argv[3]) <= SLO_MAX ? atoi(argv[3]) : 10;
    struct scratch dir;
    char path[300];
    struct fill f = {.n_samples = 0};
    struct tsdb_config config = {0};
    struct slo slos[SLO_MAX] = {{NULL}};
    struct reader *reader;
    struct err err;
    scratch_make(&dir);
    (void)snprintf(path, sizeof(path), "%s/series.db", dir.path);
    rng_seed(&f.rng, 1);
    must(tsdb_open(path, &config, &f.t, NULL, &err), "store");
    slos_make(slos, n_slos);
    size_t n_lines = lines_make(&f, n_slos);
    latency_make(&f);
    alerts_make(&f, n_rules);
    struct rule_file *file = rules_make(n_rules);
    fill_all(&f, n_days, n_rules, n_lines);
    (void)printf("%d days, %d rules, %d SLOs: %.1f million samples\n", n_days, n_rules, n_slos,
                 (double)f.n_samples / 1e6);
    must(tsdb_reader_open(f.t, &reader), "reader");
    const struct review_question q = {.from_ms = START_MS,
                                      .to_ms = START_MS + n_days * DAY_MS,
                                      .reader = reader,
                                      .slos = slos,
                                      .n_slos = (size_t)n_slos,
                                      .files = &file,
                                      .n_files = 1};
    for (int i = 0; i < 2; i++)
        measure(&q);
    reader = tsdb_reader_close(reader);
    f.t = tsdb_close(f.t);
    file = rule_file_unref(file);
    mem_free(alerts);
    scratch_remove(&dir);
    return 0;
}
