/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect_run.c - scrape files read and scraped for collect.test.mjs and bench/scrape.
 *
 *   collect_run check FILE...    a line of JSON for each: mistakes
 *   collect_run scrape MS FILE   scrapes for so long; a line of JSON for each sample, v null: stale
 *   collect_run targets MS FILE  scrapes each target once, within that time; state and targets
 *   collect_run load MS FILE     scrapes for so long; what that took of the CPU, and how many
 *                                samples there were
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/file.h"
#include "base/num.h"
#include "collect/collector.h"
#include "series/reader.h"

static bool prints;
static size_t n_samples, n_batches;
static struct err_list errs;

static _Noreturn void die(const char *why)
{
    (void)fprintf(stderr, "collect_run: %s\n", why);
    exit(2);
}

static void print(struct jsonw *w, struct buf *b)
{
    if (jsonw_error(w) < 0)
        die("the answer is too long");
    (void)fwrite(buf_span(b).p, 1, buf_len(b), stdout);
    (void)putchar('\n');
    buf_done(b);
}

static void print_sample(const struct batch_sample *s)
{
    struct jsonw w;
    struct buf b;
    char text[32];
    buf_init(&b, 1 << 24);
    jsonw_init(&w, &b);
    jsonw_begin_object(&w);
    labels_write(s->labels, "labels", &w);
    jsonw_key(&w, "t");
    jsonw_i64(&w, s->t_ms);
    jsonw_key(&w, "v");
    if (series_is_stale(s->v))
        jsonw_null(&w);
    else
        jsonw_str(&w, span_of(text, num_format_double(s->v, text)));
    jsonw_end_object(&w);
    print(&w, &b);
}

static void take(void *ctx, struct batch *b)
{
    (void)ctx;
    n_samples += b->n;
    n_batches++;
    for (size_t i = 0; i < b->n && prints; i++)
        print_sample(&b->at[i]);
    (void)batch_free(b);
}

static struct scrape_file *read_file(const char *path)
{
    struct scrape_file *f = NULL;
    struct buf text;
    buf_init(&text, SCRAPE_FILE_BYTES_MAX + 1);
    err_list_init(&errs);
    if (file_read(path, SCRAPE_FILE_BYTES_MAX, &text) != 0)
        die("the file cannot be read");
    int r = scrape_file_read(buf_span(&text), path, &f, &errs);
    if (r < 0 && r != -EINVAL)
        die(err_str(r));
    buf_done(&text);
    return f;
}

static void check(const char *path)
{
    struct scrape_file *f = read_file(path);
    struct jsonw w;
    struct buf b;
    buf_init(&b, 1 << 24);
    jsonw_init(&w, &b);
    jsonw_begin_array(&w);
    for (size_t i = 0; i < errs.n; i++) {
        jsonw_begin_object(&w);
        jsonw_key(&w, "line");
        jsonw_i64(&w, errs.items[i].line);
        jsonw_key(&w, "text");
        jsonw_cstr(&w, errs.items[i].err.text);
        jsonw_key(&w, "hint");
        jsonw_cstr(&w, errs.items[i].err.hint);
        jsonw_end_object(&w);
    }
    jsonw_end_array(&w);
    print(&w, &b);
    scrape_file_unref(f);
}

static struct collector *start(const char *path)
{
    struct scrape_file *f = read_file(path);
    struct collector_plan plan = {&f, 1, NULL, 0};
    struct collector *c;
    struct err err;
    if (!f) {
        err_list_print(&errs, stderr);
        die("the file has mistakes");
    }
    if (collector_new(&plan, take, NULL, &c, &err) < 0)
        die(err.text);
    scrape_file_unref(f);
    return c;
}

static void print_state(struct collector *c)
{
    struct jsonw w;
    struct buf b;
    buf_init(&b, 1 << 28);
    jsonw_init(&w, &b);
    jsonw_begin_object(&w);
    collector_write_state(c, &w);
    jsonw_key(&w, "activeTargets");
    jsonw_begin_array(&w);
    collector_write_active(c, &w);
    jsonw_end_array(&w);
    jsonw_key(&w, "droppedTargets");
    jsonw_begin_array(&w);
    collector_write_dropped(c, &w);
    jsonw_end_array(&w);
    jsonw_end_object(&w);
    print(&w, &b);
}

static double cpu_s(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void run(const char *what, int64_t ms, const char *path)
{
    bool is_load = strcmp(what, "load") == 0, is_targets = strcmp(what, "targets") == 0;
    prints = strcmp(what, "scrape") == 0;
    struct collector *c = start(path);
    if (is_targets) {
        if (collector_turn(c, ms) < 0)
            die("not all targets came back");
        print_state(c);
    } else if (poll(NULL, 0, (int)ms) < 0) {
        die("no time");
    }
    double cpu = cpu_s();
    c = collector_free(c);
    if (is_load)
        printf("{\"cpu_s\": %.4f, \"batches\": %zu, \"samples\": %zu}\n", cpu, n_batches,
               n_samples);
}

int main(int argc, char **argv)
{
    uint64_t ms;
    (void)signal(SIGPIPE, SIG_IGN);
    if (argc >= 3 && strcmp(argv[1], "check") == 0) {
        for (int i = 2; i < argc; i++)
            check(argv[i]);
        return 0;
    }
    if (argc != 4 || num_parse_u64(span_cstr(argv[2]), &ms) < 0 || ms > 3600 * 1000)
        die("check FILE..., or scrape, targets, load with MS FILE");
    run(argv[1], (int64_t)ms, argv[3]);
    return 0;
}
