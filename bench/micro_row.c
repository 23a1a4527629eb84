/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/micro_row.c - what a row of the request log costs: writing it as JSON, and its whole way
 * from a worker's push into the file and the ring of recent requests.
 *
 *   build/release/bench_micro_row [rounds]
 *   valgrind --tool=callgrind --toggle-collect=record_to_json build/release/bench_micro_row 1
 *
 * The rows are the gateway's own: an answer of a chat completion in one piece, one that streamed,
 * and the same with its timeline. Prints one line per case, the median of the rounds. The whole way
 * is CPU time of both threads, at the pace of 60 rows per 20 ms.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/recent.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/stat.h"
#include "export/jsonlog.h"
#include "record/record.h"

enum { N_ROWS = 1 << 12, ROUNDS_MAX = 99, BURST = 60, RECENT_ROWS = 1000 };

static int n_rounds = 15;

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const char *name, double ns[])
{
    qsort(ns, (size_t)n_rounds, sizeof(ns[0]), compare);
    printf("%-34s %7.1f ns (min %.1f, max %.1f)\n", name, ns[n_rounds / 2], ns[0],
           ns[n_rounds - 1]);
}

/* --- rows --- */

static void set_text(char *dst, size_t cap, const char *text)
{
    (void)span_copy(span_cstr(text), dst, cap);
}
#define SET(member, text) set_text(member, sizeof(member), text)

static mono_t after_us(int64_t us)
{
    return (mono_t){INT64_C(7654321098765432) + us * NS_PER_US + us % 1000};
}

static void fill_answer(struct record *r)
{
    record_init(r);
    SET(r->request_id, "6f1c02a94be74d0f8a5d3f27c1e9b804");
    r->started_at.us = INT64_C(1764434739272123);
    r->endpoint = "chat_completions";
    r->dialect = "openai-chat";
    SET(r->method, "POST");
    SET(r->upstream, "127.0.0.1:8001");
    SET(r->model_requested, "meta-llama/Llama-3.1-70B-Instruct");
    SET(r->model_upstream, "meta-llama/Llama-3.1-70B-Instruct");
    SET(r->model_response, "meta-llama/Llama-3.1-70B-Instruct");
    SET(r->engine_fingerprint, "fp_44709d6fcb");
    SET(r->finish_reason, "stop");
    r->status = r->upstream_status = 200;
    r->n_attempts = 1;
    r->t_accept = after_us(0);
    r->t_request = after_us(13);
    r->t_routed = r->t_admitted = r->t_connected = after_us(41);
    r->t_sent = after_us(87);
    r->t_headers = r->t_first_byte = after_us(391);
    r->t_done = after_us(402);
    r->t_delivered = after_us(433);
    r->stamp_source = STAMP_KERNEL;
    r->usage_source = USAGE_SOURCE_ENGINE;
    r->prompt_tokens = r->raw_prompt_tokens = 64;
    r->completion_tokens = r->raw_completion_tokens = 16;
    r->max_tokens = 16;
    r->request_bytes = 481;
    r->response_bytes = 533;
    (void)record_derive(r);
}

static void fill_stream(struct record *r)
{
    fill_answer(r);
    r->is_stream = true;
    r->flags = RECORD_COALESCED | RECORD_USAGE_INJECTED;
    r->t_first_event = after_us(20391);
    r->t_first_token = r->t_first_answer = after_us(40422);
    r->t_last_token = after_us(340502);
    r->t_end_event = r->t_done = after_us(360517);
    r->t_delivered = after_us(360533);
    r->n_events = 20;
    r->n_output_events = r->n_content_events = 16;
    r->n_arrivals = 15;
    r->n_coalesced = 1;
    r->output_kinds = OUTPUT_TEXT;
    r->timing.tpot_ns = 20005333;
    r->timing.tpot_status = TPOT_OK;
    r->timing.jitter_ns = 112233;
    r->timing.gap_p50_ns = 20010101;
    r->timing.gap_p95_ns = 20122334;
    r->timing.gap_max_ns = 20233445;
    r->timing.tokens_per_event = 1.0;
    (void)record_derive(r);
}

static void fill_timeline(struct record *r)
{
    static char room[TIMELINE_BYTES];
    struct timeline t;
    fill_stream(r);
    timeline_init(&t, room);
    for (int i = 0; i < 16; i++)
        timeline_add(&t, 40409 * NS_PER_US + i * 20005333, false, -1);
    r->timeline = timeline_bytes(&t);
    r->timeline_from_ns = r->t_request.ns;
}

/* --- cases --- */

static void bench_encode(const char *name, const struct record *r)
{
    double ns[ROUNDS_MAX];
    struct buf out;
    buf_init(&out, (size_t)1 << 20);
    for (int i = 0; i < n_rounds; i++) {
        mono_t start = clock_mono();
        for (int k = 0; k < N_ROWS; k++) {
            if (k % BURST == 0)
                buf_clear(&out);
            if (record_to_json(r, &out) < 0)
                exit(1);
        }
        ns[i] = (double)mono_diff(clock_mono(), start) / N_ROWS;
    }
    report(name, ns);
    buf_done(&out);
}

static double cpu_ns(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    return ((double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec) * 1e9 +
           ((double)u.ru_utime.tv_usec + (double)u.ru_stime.tv_usec) * 1e3;
}

static void push_paced(struct jsonlog *log, const struct record *r)
{
    int64_t n_before = stat_sum(STAT_RECORDS_LOGGED);
    for (int k = 0; k < N_ROWS; k++) {
        if (k > 0 && k % BURST == 0)
            usleep(20000);
        jsonlog_push(log, r);
    }
    while (stat_sum(STAT_RECORDS_LOGGED) < n_before + N_ROWS)
        usleep(1000);
}

static void on_line(void *recent, struct span line)
{
    recent_push(recent, line);
}

static void bench_log(const char *name, const struct record *r)
{
    double ns[ROUNDS_MAX];
    char path[] = "/tmp/inferometer-bench-XXXXXX";
    struct recent *recent = NULL;
    struct jsonlog *log = NULL;
    struct jsonlog_config config = {.path = path, .capacity = 1000, .on_line = on_line};
    int fd = mkstemp(path);
    if (fd < 0 || recent_new(RECENT_ROWS, &recent) < 0)
        exit(1);
    config.on_line_arg = recent;
    if (jsonlog_new(&config, &log, NULL) < 0)
        exit(1);
    for (int i = 0; i < n_rounds; i++) {
        double start = cpu_ns();
        push_paced(log, r);
        ns[i] = (cpu_ns() - start) / N_ROWS;
        if (ftruncate(fd, 0) < 0) /* fresh memory is dear on virtual machines: use it again */
            exit(1);
    }
    report(name, ns);
    jsonlog_free(log);
    recent_free(recent);
    (void)close(fd);
    (void)unlink(path);
}

int main(int argc, char **argv)
{
    static struct record answer, stream, timeline;
    uint64_t n;
    if (argc > 1 && num_parse_u64(span_cstr(argv[1]), &n) == 0 && n > 0 && n <= ROUNDS_MAX)
        n_rounds = (int)n;
    fill_answer(&answer);
    fill_stream(&stream);
    fill_timeline(&timeline);
    bench_encode("record_to_json, an answer", &answer);
    bench_encode("record_to_json, a stream", &stream);
    bench_encode("record_to_json, with a timeline", &timeline);
    bench_log("all of a row, an answer", &answer);
    bench_log("all of a row, a stream", &stream);
    return 0;
}
