/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/micro_scrape.c - how fast a /metrics page is read: its lines with their values
 * (scrape/text.h), the same with the labels of each series, and all of it as families. Prints MB/s
 * and nanoseconds per sample, the best of the rounds.
 *
 *   build/release/bench_micro_scrape [FILE]
 *
 * The page that is made up looks like that of several engines: histograms of many buckets with two
 * labels, counters, gauges, values of up to 17 digits.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"
#include "base/rng.h"
#include "scrape/families.h"

enum { N_ENGINES = 12, N_HISTOGRAMS = 14, N_BUCKETS = 22, N_GAUGES = 24, N_ROUNDS = 40 };

static void must(int r)
{
    if (r >= 0)
        return;
    (void)fprintf(stderr, "%s\n", err_str(r));
    exit(1);
}

static void put_sample(struct buf *b, int engine, const char *name, const char *le, double v)
{
    char text[32];
    must(buf_printf(b, "vllm:%s{%sengine=\"%d\",model_name=\"meta-llama/Llama-3.1-8B-Instruct\"} ",
                    name, le, engine));
    must(buf_append(b, span_of(text, num_format_fraction(v, text))));
    must(buf_append(b, SPAN("\n")));
}

static void put_histogram(struct buf *b, int i, struct rng *rng)
{
    char name[64], le[64];
    must(buf_printf(b,
                    "# HELP vllm:request_stage_%d_seconds Histogram of a stage in seconds.\n"
                    "# TYPE vllm:request_stage_%d_seconds histogram\n",
                    i, i));
    for (int engine = 0; engine < N_ENGINES; engine++) {
        double n = 0, bound = 0.001;
        for (int k = 0; k < N_BUCKETS; k++, bound *= 2) {
            n += (double)rng_below(rng, 100000);
            (void)snprintf(name, sizeof(name), "request_stage_%d_seconds_bucket", i);
            (void)snprintf(le, sizeof(le), k + 1 < N_BUCKETS ? "le=\"%g\"," : "le=\"+Inf\",",
                           bound);
            put_sample(b, engine, name, le, n);
        }
        (void)snprintf(name, sizeof(name), "request_stage_%d_seconds_count", i);
        put_sample(b, engine, name, "", n);
        (void)snprintf(name, sizeof(name), "request_stage_%d_seconds_sum", i);
        put_sample(b, engine, name, "", n * rng_unit(rng));
        (void)snprintf(name, sizeof(name), "request_stage_%d_seconds_created", i);
        put_sample(b, engine, name, "", 1.7e9 + 1e6 * rng_unit(rng));
    }
}

static void put_page(struct buf *b)
{
    struct rng rng;
    char name[64];
    rng_seed(&rng, 1);
    for (int i = 0; i < N_HISTOGRAMS; i++)
        put_histogram(b, i, &rng);
    for (int i = 0; i < N_GAUGES; i++) {
        (void)snprintf(name, sizeof(name), "some_state_%d", i);
        must(buf_printf(b, "# HELP vllm:%s State of the engine.\n# TYPE vllm:%s gauge\n", name,
                        name));
        for (int engine = 0; engine < N_ENGINES; engine++)
            put_sample(b, engine, name, "",
                       i % 3 == 0 ? rng_unit(&rng) : (double)rng_below(&rng, 1000));
    }
}

static double sink;

static size_t read_lines(struct span page, struct arena *a)
{
    struct text t;
    struct text_item item;
    size_t n = 0;
    (void)a;
    text_init(&t, page, TEXT_PROMETHEUS);
    for (text_next(&t, &item); item.kind != TEXT_END; text_next(&t, &item))
        if (item.kind == TEXT_SAMPLE) {
            sink += item.v;
            n++;
        }
    return n;
}

static size_t read_labels(struct span page, struct arena *a)
{
    struct text t;
    struct text_item item;
    struct labels l;
    const char *mistake;
    size_t n = 0;
    text_init(&t, page, TEXT_PROMETHEUS);
    for (text_next(&t, &item); item.kind != TEXT_END; text_next(&t, &item))
        if (item.kind == TEXT_SAMPLE && text_labels(item.series, a, &l, &mistake) == 0) {
            sink += item.v + (double)l.n;
            n++;
        }
    arena_reset(a);
    return n;
}

static size_t read_families(struct span page, struct arena *a)
{
    static struct families f;
    (void)a;
    must(families_read(page, TEXT_PROMETHEUS, "page", &f));
    size_t n = f.n_samples;
    families_done(&f);
    return n;
}

static void report(const char *name, struct span page,
                   size_t (*read)(struct span page, struct arena *a))
{
    struct arena a;
    size_t n = 0;
    int64_t best = INT64_MAX;
    arena_init(&a, NULL);
    for (int i = 0; i < N_ROUNDS; i++) {
        mono_t start = clock_mono();
        n = read(page, &a);
        int64_t ns = mono_diff(clock_mono(), start);
        best = ns < best ? ns : best;
    }
    arena_done(&a);
    printf("%-26s %8.0f MB/s %8.1f ns per sample (%zu samples)\n", name,
           1e3 * (double)page.n / (double)best, (double)best / (double)(n > 0 ? n : 1), n);
}

int main(int argc, char **argv)
{
    struct buf b;
    buf_init(&b, (size_t)64 << 20);
    if (argc > 1) {
        must(file_read(argv[1], (size_t)64 << 20, &b));
    } else {
        put_page(&b);
    }
    printf("a page of %zu bytes\n", buf_len(&b));
    report("lines and values", buf_span(&b), read_lines);
    report("with labels", buf_span(&b), read_labels);
    report("families", buf_span(&b), read_families);
    buf_done(&b);
    return sink == 0.5;
}
