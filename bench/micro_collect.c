/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/micro_collect.c - what a scrape costs behind the network: a page of an engine that is read
 * again and again (collect/metricpage.h), its signals among it, into a batch. Prints microseconds
 * of CPU time per page, the best of the rounds.
 *
 *   build/release/bench_micro_collect [PAGE]     PAGE: prints the page of that number, from 0
 *
 * Pages are those of the simulator under the names of vLLM 0.13, while it works, so that values
 * change from page to page; several engines behind one address make up about 70 KB.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "collect/metricpage.h"
#include "sim/sim_page.h"
#include "sim/workload.h"

enum { N_PAGES = 16, N_ENGINES = 2, N_ROUNDS = 20, PAGE_MAX = 1 << 20 };

static struct buf pages[N_PAGES];

static void must(int r, const char *what)
{
    if (r >= 0)
        return;
    (void)fprintf(stderr, "%s: %s\n", what, err_str(r));
    exit(1);
}

/* --- pages --- */

static struct work {
    struct workload_run run;
    struct sim_stats stats;
    int64_t n_seen;
} work;

static void watch(void *ctx, const struct batching_request *r, mono_t now)
{
    struct work *w = ctx;
    struct batching_counts n = batching_counts(w->run.batching);
    sim_stats_token(&w->stats, r, w->n_seen++ % 2 ? SIM_STOP : SIM_LENGTH);
    sim_stats_step(&w->stats, &n, now);
}

static void put_pages(const char *version)
{
    struct batching_config c;
    struct workload_config l;
    struct sim_page about = {.max_model_len = 8192,
                             .block_tokens = 16,
                             .has_prefix_cache = true,
                             .started_at_s = 1753795326.5,
                             .pid = 4711};
    static const char *const models[] = {"meta-llama/Llama-3.1-8B-Instruct", "org/model-70b"};
    batching_config_init(&c);
    c.n_blocks = 900;
    if (!workload_config_of("azure-conv", &l) || !sim_version_of(version, &about.version))
        exit(1);
    l.rate = 3;
    must(workload_run_init(&work.run, &c, &l, 1), "workload");
    sim_stats_init(&work.stats);
    work.run.observe = watch;
    work.run.ctx = &work;
    for (int i = 0; i < N_PAGES; i++) {
        must(workload_run(&work.run, (mono_t){INT64_MAX}, 100 + 20 * i), "workload");
        struct batching_counts n = batching_counts(work.run.batching);
        buf_init(&pages[i], PAGE_MAX);
        for (int k = 0; k < N_ENGINES; k++) {
            about.model = models[k];
            must(sim_page_render(&about, &n, &work.stats, &pages[i]), "page");
        }
    }
    workload_run_done(&work.run);
}

/* --- reading --- */

static double now_us(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static size_t n_samples, n_told;

static void read_lines(void *ctx, int i)
{
    struct text t;
    struct text_item item;
    (void)ctx;
    text_init(&t, buf_span(&pages[i]), TEXT_PROMETHEUS);
    for (text_next(&t, &item); item.kind != TEXT_END; text_next(&t, &item))
        n_samples += item.kind == TEXT_SAMPLE;
}

static void read_page(void *ctx, int i)
{
    struct batch *b;
    struct metricpage_counts counts;
    const char *words = "";
    must(batch_new(&b), "batch");
    int r = metricpage_read(ctx, buf_span(&pages[i]), TEXT_PROMETHEUS, i, b, &counts, &words);
    must(r, words);
    n_samples = counts.n_samples;
    n_told = b->n;
    (void)batch_free(b);
}

static struct scrape_file *job(void)
{
    static struct err_list errs;
    struct scrape_file *f;
    err_list_init(&errs);
    must(scrape_file_read(SPAN("scrape_configs: [{job_name: engines}]"), "bench", &f, &errs),
         "job");
    return f;
}

/* A page that is seen for the first time. */
static void read_first(void *ctx, int i)
{
    const struct label label = {SPAN_INIT("instance"), SPAN_INIT("gpu-1:8000")};
    struct scrape_file *f = ctx;
    struct metricpage *p;
    must(metricpage_new(&f->jobs[0], (struct labels){&label, 1}, &p), "page");
    read_page(p, i);
    (void)metricpage_free(p);
}

static double best(void (*read)(void *ctx, int i), void *ctx)
{
    double least = 1e9;
    for (int round = 0; round < N_ROUNDS; round++) {
        double start = now_us();
        for (int i = 0; i < N_PAGES; i++)
            read(ctx, i);
        double us = (now_us() - start) / N_PAGES;
        least = us < least ? us : least;
    }
    return least;
}

int main(int argc, char **argv)
{
    const struct label labels[] = {{SPAN_INIT("instance"), SPAN_INIT("gpu-1:8000")},
                                   {SPAN_INIT("job"), SPAN_INIT("engines")}};
    struct scrape_file *f = job();
    struct metricpage *p;
    put_pages("vllm-0.13");
    if (argc > 1) {
        struct span page = buf_span(&pages[strtoul(argv[1], NULL, 10) % N_PAGES]);
        return fwrite(page.p, 1, page.n, stdout) == page.n ? 0 : 1;
    }
    must(metricpage_new(&f->jobs[0], (struct labels){labels, 2}, &p), "page");
    double lines = best(read_lines, NULL), again = best(read_page, p), first = best(read_first, f);
    printf("a page of %zu KB, %zu samples, %zu told with those of signals\n",
           buf_len(&pages[0]) / 1024, n_samples, n_told);
    printf("lines alone        %7.1f us\n", lines);
    printf("page read again    %7.1f us, %.0f MB/s\n", again, (double)buf_len(&pages[0]) / again);
    printf("page seen first    %7.1f us\n", first);
    (void)metricpage_free(p);
    for (int i = 0; i < N_PAGES; i++)
        buf_done(&pages[i]);
    scrape_file_unref(f);
    return 0;
}
