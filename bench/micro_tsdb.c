/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of the time series store: samples appended per second with their commits, bytes on disk
 * after compaction, memory, time to open, time to read.
 *
 *   micro_tsdb [SERIES [HOURS [INTERVAL_S [DIR]]]]
 *
 * What is made up looks like a gateway's metrics: of ten series six are buckets of histograms, two
 * never move, one is a gauge and one is a sum of seconds.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/rng.h"
#include "tsdb/tsdb.h"

enum { READ_SERIES = 500 };
#define START_MS INT64_C(1728000000000)

struct bench {
    struct tsdb *t;
    char path[512];
    uint64_t n_samples;
    int64_t now_ms;
    double append_s, maintain_s;
};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double wall_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void must(int r, const char *what)
{
    if (r >= 0)
        return;
    fprintf(stderr, "%s: %s\n", what, err_str(r));
    exit(1);
}

static void open_store(struct bench *b)
{
    struct tsdb_config config = {0};
    struct err err = {0};
    if (tsdb_open(b->path, &config, &b->t, NULL, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
}

static void maintain(struct bench *b, int64_t now_ms)
{
    double before = seconds();
    int r;
    while ((r = tsdb_maintain(b->t, now_ms)) == 1)
        ;
    must(r, "maintain");
    b->maintain_s += seconds() - before;
}

/* --- made up --- */

struct made_up {
    uint32_t id;
    int kind;
    double rate, v;
};

static uint32_t series_make(struct bench *b, int i, int kind)
{
    static const char *const names[] = {"x_bucket", "x_limit", "x_in_flight", "x_seconds_sum"};
    char texts[6][32];
    snprintf(texts[0], sizeof(texts[0]), "%s", names[kind]);
    snprintf(texts[1], sizeof(texts[1]), "endpoint-%d", i % 3);
    snprintf(texts[2], sizeof(texts[2]), "10.0.0.%d:9100", i % 17);
    snprintf(texts[3], sizeof(texts[3]), "%g", 0.001 * (i % 50 + 1));
    snprintf(texts[4], sizeof(texts[4]), "model-%d", i / 50);
    snprintf(texts[5], sizeof(texts[5]), "upstream-%d", i % 7);
    struct label pairs[] = {
        {SPAN("__name__"), span_cstr(texts[0])}, {SPAN("endpoint"), span_cstr(texts[1])},
        {SPAN("instance"), span_cstr(texts[2])}, {SPAN("le"), span_cstr(texts[3])},
        {SPAN("model"), span_cstr(texts[4])},    {SPAN("upstream"), span_cstr(texts[5])},
    };
    static const enum tsdb_kind kinds[] = {TSDB_COUNTER, TSDB_GAUGE, TSDB_GAUGE, TSDB_COUNTER};
    uint32_t id;
    must(tsdb_series(b->t, (struct labels){pairs, 6}, kinds[kind], &id), "series");
    return id;
}

static void step(struct made_up *s, struct rng *r)
{
    switch (s->kind) {
    case 0:
        if (rng_unit(r) < s->rate)
            s->v += (double)rng_below(r, 20);
        break;
    case 1:
        s->v = 64;
        break;
    case 2:
        s->v = (double)rng_below(r, 30);
        break;
    default:
        s->v = (double)((int64_t)(s->v * 1e9) + (int64_t)rng_below(r, 4000000000)) / 1e9;
        break;
    }
}

static void make_up(struct bench *b, int n_series, int n_steps, int64_t interval_ms)
{
    struct rng r;
    rng_seed(&r, 1);
    struct made_up *all = mem_must(mem_zalloc((size_t)n_series, sizeof(*all)));
    double *values = mem_must(mem_zalloc((size_t)n_series, sizeof(*values)));
    for (int i = 0; i < n_series; i++) {
        int k = i % 10;
        all[i].kind = k < 6 ? 0 : k < 8 ? 1 : k - 6;
        all[i].rate = rng_unit(&r) * rng_unit(&r);
        all[i].id = series_make(b, i, all[i].kind);
    }
    b->now_ms = START_MS;
    for (int i = 0; i < n_steps; i++, b->now_ms += interval_ms) {
        for (int j = 0; j < n_series; j++) {
            step(&all[j], &r);
            values[j] = all[j].v;
        }
        double before = seconds();
        for (int j = 0; j < n_series; j++)
            must(tsdb_append(b->t, all[j].id, b->now_ms, values[j]), "append");
        must(tsdb_commit(b->t), "commit");
        b->append_s += seconds() - before;
        b->n_samples += (uint64_t)n_series;
        maintain(b, b->now_ms);
    }
    mem_free(all);
    mem_free(values);
}

/* --- results --- */

static void report_reading(struct bench *b)
{
    struct reader *reader;
    struct arena a;
    struct samples out;
    struct series_ref *refs;
    size_t n;
    uint64_t n_samples = 0;
    struct series_select what = {NULL, 0, INT64_MIN, INT64_MAX};
    must(tsdb_reader_open(b->t, &reader), "reader");
    arena_init(&a, NULL);
    samples_init(&out, NULL);
    double before = wall_seconds();
    must(reader->ops->select(reader, &what, &a, &refs, &n), "select");
    printf("select all %zu series    %10.2f ms\n", n, (wall_seconds() - before) * 1e3);
    size_t n_read = n < READ_SERIES ? n : READ_SERIES;
    for (int turn = 0; turn < 2; turn++) {
        n_samples = 0;
        before = wall_seconds();
        for (size_t i = 0; i < n_read; i++) {
            samples_clear(&out);
            must(reader->ops->samples(reader, refs[i * n / n_read].id, INT64_MIN, INT64_MAX,
                                      SERIES_LAST, &out),
                 "samples");
            n_samples += out.n;
        }
        printf("read %zu series, all      %10.2f ms (%" PRIu64 " samples)\n", n_read,
               (wall_seconds() - before) * 1e3, n_samples);
    }
    samples_done(&out);
    arena_done(&a);
    tsdb_reader_close(reader);
}

static void report_disk(struct bench *b, const char *what)
{
    struct tsdb_stats s;
    struct stat st;
    tsdb_stats(b->t, &s);
    int64_t n = stat(b->path, &st) == 0 ? st.st_size : 0;
    printf("%-24s %10.3f bytes/sample (%.1f MiB, %.1f with the journal of writes)\n", what,
           (double)n / (double)b->n_samples, (double)n / 0x1p20, (double)s.disk_bytes / 0x1p20);
}

static double resident_bytes(void)
{
    long n_pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%*d %ld", &n_pages) != 1)
        n_pages = 0;
    if (f)
        fclose(f);
    return (double)n_pages * (double)sysconf(_SC_PAGESIZE);
}

static void report(struct bench *b)
{
    struct tsdb_stats s;
    struct tsdb_memory m;
    tsdb_stats(b->t, &s);
    tsdb_memory(b->t, &m);
    printf("samples                  %10" PRIu64 " of %" PRIu64 " series\n", b->n_samples,
           s.n_series);
    printf("append and commit        %10.0f samples/s\n", (double)b->n_samples / b->append_s);
    printf("with upkeep              %10.0f samples/s\n",
           (double)b->n_samples / (b->append_s + b->maintain_s));
    printf("heads, index             %10.2f and %.2f MiB\n", (double)m.head_bytes / 0x1p20,
           (double)m.index_bytes / 0x1p20);
    printf("resident                 %10.1f MiB\n", resident_bytes() / 0x1p20);
    report_disk(b, "disk, as it runs");
    tsdb_close(b->t);
    double before = wall_seconds();
    open_store(b);
    printf("open                     %10.0f ms\n", (wall_seconds() - before) * 1e3);
    report_reading(b);
    b->maintain_s = 0;
    maintain(b, b->now_ms + INT64_C(3) * 24 * 3600 * 1000);
    printf("compaction               %10.2f s\n", b->maintain_s);
    report_disk(b, "disk, compacted");
    report_reading(b);
    tsdb_close(b->t);
}

int main(int argc, char **argv)
{
    struct bench b = {0};
    int n_series = argc > 1 ? atoi(argv[1]) : 10000;
    int hours = argc > 2 ? atoi(argv[2]) : 24;
    int interval_s = argc > 3 ? atoi(argv[3]) : 15;
    const char *dir = argc > 4 ? argv[4] : "/tmp";
    snprintf(b.path, sizeof(b.path), "%s/micro_tsdb-%d.db", dir, (int)getpid());
    open_store(&b);
    make_up(&b, n_series, hours * 3600 / interval_s, interval_s * 1000);
    report(&b);
    char name[600];
    static const char *const ends[] = {"", "-wal", "-shm", ".lock"};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        snprintf(name, sizeof(name), "%s%s", b.path, ends[i]);
        unlink(name);
    }
    return 0;
}
