/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/micro_look.c - what a worker's look at its open streams costs (observe/look.c): with their
 * state in the cache, and after everything else went through it, as between two looks.
 *
 *   build/release/bench_micro_look [STREAMS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "dialect/dialect.h"
#include "observe/observe.h"

enum { N_ROUNDS = 25, N_TOKENS = 50, SWEEP_BYTES = 256 << 20 };

static void on_label(void *sink, struct sink_labels *l)
{
    (void)sink;
    (void)l;
}

static void on_time(void *sink, struct sink_labels *l, int64_t ns)
{
    (void)sink;
    (void)l;
    (void)ns;
}

static void on_itl(void *sink, struct sink_labels *l, int64_t ns, uint64_t n)
{
    (void)sink;
    (void)l;
    (void)ns;
    (void)n;
}

static void on_done(void *sink, struct sink_labels *l, const struct record *r, bool was_started)
{
    (void)sink;
    (void)l;
    (void)r;
    (void)was_started;
}

static const struct sink_ops nowhere = {
    .started = on_label,
    .admitted = on_time,
    .first_token = on_time,
    .first_answer = on_time,
    .gap = on_time,
    .event_overhead = on_time,
    .itl = on_itl,
    .done = on_done,
};

static mono_t at_ms(int64_t ms)
{
    return (mono_t){NS_PER_S + ms * NS_PER_MS};
}

/* A stream that has had N_TOKENS tokens, 20 ms apart. */
static struct tap *stream_new(struct observer *o, const struct dialect *d)
{
    static const char token[] = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
    struct dialect_request request = {0};
    struct http1_head post = {.method = SPAN_INIT("POST")};
    struct http1_head head = {.status = 200, .framing = HTTP1_BODY_CHUNKED};
    struct tap_begin begin = {.head = &post, .t_accept = {.at = at_ms(1)}, .request_id = "r"};
    struct tap *t = observe_tap.begin(o, &begin);

    if (!t)
        exit(1);
    d->inspect((struct span){0}, SPAN("{\"model\":\"m\",\"stream\":true}"), true, &request);
    observe_tap.request_end(t, (struct stamp){.at = at_ms(1)});
    observe_tap.planned(t, &(struct tap_planned){.at = at_ms(1),
                                                 .upstream = "up",
                                                 .endpoint = "chat_completions",
                                                 .dialect = d,
                                                 .request = &request});
    observe_tap.attempt(t, &(struct tap_attempt){.at = at_ms(1), .number = 1});
    observe_tap.sent(t, at_ms(2));
    head.fields[head.n_fields++] =
        (struct http1_field){SPAN("content-type"), SPAN("text/event-stream")};
    observe_tap.response_head(t, &head, (struct stamp){.at = at_ms(3)});
    for (int i = 0; i < N_TOKENS; i++)
        observe_tap.response_body(t, span_cstr(token), (struct stamp){.at = at_ms(20 * i + 10)});
    return t;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const char *name, struct observer *o, mono_t now, volatile char *swept)
{
    double us[N_ROUNDS];

    for (int i = 0; i < N_ROUNDS; i++) {
        for (size_t k = 0; swept && k < SWEEP_BYTES; k += 64)
            swept[k]++;
        mono_t start = clock_mono();
        look_around(o, now, NULL, NULL);
        us[i] = (double)mono_diff(clock_mono(), start) / (double)NS_PER_US;
    }
    printf("%-34s first %8.1f us, ", name, us[0]);
    qsort(us, N_ROUNDS, sizeof(us[0]), compare);
    printf("median %8.1f us (min %.1f, max %.1f)\n", us[N_ROUNDS / 2], us[0], us[N_ROUNDS - 1]);
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 5000;
    const struct dialect *d = dialect_by_name(SPAN("openai-chat"));
    struct tap **taps = calloc(n, sizeof(struct tap *));
    char *swept = calloc(1, SWEEP_BYTES);
    struct observer *o = NULL;

    if (!taps || !swept || observer_new(&(struct observer_config){0}, &nowhere, NULL, &o) < 0)
        return 1;
    for (size_t i = 0; i < n; i++)
        taps[i] = stream_new(o, d);
    printf("a look at %zu open streams\n", n);
    report("none late, cached", o, at_ms(20 * N_TOKENS + 100), NULL);
    report("none late, caches swept", o, at_ms(20 * N_TOKENS + 100), swept);
    report("all stalled, cached", o, at_ms(60000), NULL);
    report("all stalled, caches swept", o, at_ms(61000), swept);
    for (size_t i = 0; i < n; i++)
        observe_tap.end(taps[i], &(struct tap_finish){.at = at_ms(60000), .end = TAP_END_DRAIN});
    observer_free(o);
    free(taps);
    free(swept);
    return 0;
}
