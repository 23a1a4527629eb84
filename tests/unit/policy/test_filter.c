/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/filter: what comes out is what went in, less the unwanted event, at every split.
 */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/rng.h"
#include "dialect/dialect.h"
#include "policy/filter.h"
#include "split.h"

#define USAGE "{\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}"
#define TOKEN "{\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":null}"
#define AZURE "{\"choices\":[],\"prompt_filter_results\":[]}"

static const struct dialect *chat(void)
{
    return dialect_by_name(SPAN("openai-chat"));
}

struct run {
    struct filter filter;
    struct span want;
    char *got;
    size_t n_got;
    size_t cap;
    size_t max; /* spans per call */
};

static void take(struct run *r, struct span in, bool is_last)
{
    struct span out[8];
    int n_calls = 0;
    do {
        size_t before = in.n;
        size_t n = filter_next(&r->filter, &in, is_last, out, r->max);
        assert_true(n <= r->max);
        for (size_t i = 0; i < n; i++) {
            assert_true(r->n_got + out[i].n <= r->cap);
            if (out[i].n > 0)
                memcpy(r->got + r->n_got, out[i].p, out[i].n);
            r->n_got += out[i].n;
        }
        assert_true(in.n < before || before == 0 || n_calls < 2); /* it gets on */
        n_calls++;
    } while (in.n > 0);
}

static void begin(void *ctx)
{
    struct run *r = ctx;
    filter_init(&r->filter, chat()->may_be_bare_usage, chat()->is_bare_usage);
    r->n_got = 0;
}

static void feed(void *ctx, struct span part)
{
    take(ctx, part, false);
}

static void end(void *ctx, const char *how)
{
    struct run *r = ctx;
    take(r, (struct span){0}, true);
    assert_span_equal(how, span_of(r->got, r->n_got), r->want);
    assert_true(r->filter._is_held_out || buf_len(&r->filter._held) == 0);
    filter_done(&r->filter);
}

static void check(const char *input, const char *want)
{
    static const struct split_ops ops = {begin, feed, end};
    for (size_t max = 3; max <= 8; max++) {
        struct run r = {.want = span_cstr(want), .cap = strlen(input) + 1, .max = max};
        r.got = malloc(r.cap);
        split_each(span_cstr(input), &ops, &r);
        free(r.got);
    }
}

static const struct {
    const char *input;
    const char *want; /* NULL: the same */
} streams[] = {
    {"data: " TOKEN "\n\ndata: " USAGE "\n\ndata: [DONE]\n\n",
     "data: " TOKEN "\n\ndata: [DONE]\n\n"},
    {"data: " TOKEN "\r\n\r\ndata: " USAGE "\r\n\r\ndata: [DONE]\r\n\r\n",
     "data: " TOKEN "\r\n\r\ndata: [DONE]\r\n\r\n"},
    {"data: " TOKEN "\r\rdata: " USAGE "\r\rdata: [DONE]\r\r",
     "data: " TOKEN "\r\rdata: [DONE]\r\r"},
    {"data:" USAGE "\n\n", ""},
    {"data: " USAGE "\n\ndata: " USAGE "\n\n", ""},
    {"data: " USAGE "\r\n\r\n", ""},
    {"data: " USAGE "\r\r", ""},
    {"data: " USAGE "\n\r\ndata: x\n\n", "data: x\n\n"},
    {"data: " USAGE "\r\n\ndata: x\n\n", "data: x\n\n"},
    /* a last event that nothing closes */
    {"data: " TOKEN "\n\ndata: " USAGE, "data: " TOKEN "\n\n"},
    {"data: " TOKEN "\n\ndata: " USAGE "\n", "data: " TOKEN "\n\n"},
    {"data: " TOKEN "\n\ndata: " TOKEN, NULL},
    /* the fields of an event belong to it, comments before it do not */
    {": ping\nevent: message\nid: 7\ndata: " USAGE "\n\ndata: x\n\n", ": ping\ndata: x\n\n"},
    {": ping\n\n: pong\n\ndata: " USAGE "\n\n", ": ping\n\n: pong\n\n"},
    {"data: {\"choices\":[],\ndata: \"usage\":{\"total_tokens\":1}}\n\ndata: x\n\n", "data: x\n\n"},
    {"\xef\xbb\xbf"
     "data: " USAGE "\n\ndata: x\n\n",
     "data: x\n\n"},
    {"\xef\xbb\xbf\n\xef\xbb\xbf"
     "data: " USAGE "\n\ndata: x\n\n",
     NULL}, /* a BOM is one at the very beginning only: this is no event */
    /* nor does one become it because all before it goes: the client would drop it otherwise */
    {"data: " USAGE "\n\n\xef\xbb\xbf"
     "data: x\n\ndata: y\n\n",
     "\n\xef\xbb\xbf"
     "data: x\n\ndata: y\n\n"},
    {"data: " USAGE "\r\rdata: " USAGE "\r\r\xef\xbb\xbf: x\r\rdata: y\r\r",
     "\n\xef\xbb\xbf: x\r\rdata: y\r\r"},
    {"\xef\xbb\xbf"
     "data: " USAGE "\r\n\r\n\xef\xbb\xbf"
     "data: " USAGE "\r\n\r\ndata: " USAGE "\r\n\r\ndata: y\r\n\r\n",
     "\n\xef\xbb\xbf"
     "data: " USAGE "\r\n\r\ndata: y\r\n\r\n"},
    {"data: " USAGE "\n\n\xef", "\n\xef"},
    {": c\ndata: " USAGE "\n\n\xef\xbb\xbf"
     "data: x\n\n",
     ": c\n\xef\xbb\xbf"
     "data: x\n\n"},
    {"data: " USAGE "\n\n\n\xef\xbb\xbf"
     "data: x\n\n",
     "\n\xef\xbb\xbf"
     "data: x\n\n"},
    /* what must stay */
    {"data: " AZURE "\n\ndata: " TOKEN "\n\n", NULL},
    {"data: {\"choices\":[{\"delta\":{}}],\"usage\":{\"prompt_tokens\":1}}\n\n", NULL},
    {"data: {\"choices\":[],\"usage\":{\"a\":1},\"error\":{\"code\":1}}\n\n", NULL},
    {"data: {\"choices\":[],\"usage\":null}\n\n", NULL},
    {"data: \"usage\"\n\n", NULL},
    {"\n\n\r\n\rdata: x\n\n\n\n", NULL},
    {"usage: {\"choices\":[],\"usage\":{}}\n\n", NULL},
    {": " USAGE "\n\n", NULL},
    {"", NULL},
    {"\r", NULL},
    {"\n", NULL},
    {"no line end at all \"usage\"", NULL},
    {"data: " USAGE " trailing\n\n", NULL},
};

static void only_the_event_goes_at_every_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(streams); i++)
        check(streams[i].input, streams[i].want ? streams[i].want : streams[i].input);
}

/* Random streams of blocks; the expectation is built beside the input. */
static void random_streams(void **state)
{
    (void)state;
    static const char *const blocks[] = {
        "data: " TOKEN, "data: " USAGE, "data: " AZURE,     ": comment",         "data: [DONE]",
        "id: 1",        "event: x",     "data: a\ndata: b", ": c\ndata: " TOKEN,
    };
    static const char *const ends[] = {"\n\n", "\r\n\r\n", "\r\r"};
    struct rng rng;
    rng_seed(&rng, 8);
    for (int round = 0; round < 60; round++) {
        char input[4096] = "";
        char want[4096] = "";
        const char *line_end = ends[rng_below(&rng, ARRAY_LEN(ends))];
        int n = 1 + (int)rng_below(&rng, 8);
        for (int i = 0; i < n; i++) {
            size_t k = (size_t)rng_below(&rng, ARRAY_LEN(blocks));
            (void)strncat(input, blocks[k], sizeof(input) - strlen(input) - 1);
            (void)strncat(input, line_end, sizeof(input) - strlen(input) - 1);
            if (k == 1)
                continue;
            (void)strncat(want, blocks[k], sizeof(want) - strlen(want) - 1);
            (void)strncat(want, line_end, sizeof(want) - strlen(want) - 1);
        }
        check(input, want);
    }
}

/* Bytes that need no judgement are never held back: comments, line ends, whole events. */
static void nothing_is_held_without_need(void **state)
{
    (void)state;
    struct run r = {.cap = 4096, .max = 4};
    r.got = malloc(r.cap);
    begin(&r);
    take(&r, SPAN(": keepal"), false);
    assert_int_equal(r.n_got, 8);
    take(&r, SPAN("ive\n"), false);
    assert_int_equal(r.n_got, 12);
    take(&r, SPAN("data: " TOKEN "\n\n"), false);
    assert_int_equal(r.n_got, 12 + 6 + strlen(TOKEN) + 2);
    take(&r, SPAN("data: x"), false); /* the beginning of an event is */
    assert_int_equal(buf_len(&r.filter._held), 7);
    take(&r, SPAN("\n\n"), false);
    assert_int_equal(r.n_got, 12 + 6 + strlen(TOKEN) + 2 + 9);
    filter_done(&r.filter);
    free(r.got);
}

/* An event over the limit passes, even if it is the unwanted one; the next is judged again. */
static void too_large_events_pass(void **state)
{
    (void)state;
    size_t n_big = 2 * LIMIT_HELD_EVENT_BYTES;
    size_t cap = n_big + 4096;
    char *input = malloc(cap);
    assert_non_null(input);
    char *p = input;
    const char *start = "data: {\"choices\":[],\"usage\":{\"a\":\"";
    memcpy(p, start, strlen(start));
    p += strlen(start);
    memset(p, 'x', n_big);
    p += n_big;
    memcpy(p, "\"}}\n\n", 5);
    p += 5;
    size_t n_first = (size_t)(p - input);
    const char *rest = "data: " USAGE "\n\ndata: y\n\n";
    memcpy(p, rest, strlen(rest));
    p += strlen(rest);
    struct span whole = span_of(input, (size_t)(p - input));
    static const size_t parts[] = {1000, 1024, 65535, 65536, 100000};
    for (size_t k = 0; k < ARRAY_LEN(parts); k++) {
        struct run r = {.cap = cap, .max = 3};
        r.got = malloc(cap);
        begin(&r);
        struct span in = whole;
        while (in.n > 0)
            take(&r, span_take(&in, in.n < parts[k] ? in.n : parts[k]), false);
        take(&r, (struct span){0}, true);
        assert_int_equal(r.n_got, n_first + 9);
        assert_memory_equal(r.got, input, n_first);
        assert_memory_equal(r.got + n_first, "data: y\n\n", 9);
        assert_int_equal(r.filter.n_removed, 1);
        filter_done(&r.filter);
        free(r.got);
    }
    free(input);
}

/* Without memory the bytes pass unchanged. */
static void without_memory_everything_passes(void **state)
{
    (void)state;
    const char *input = "data: " TOKEN "\n\ndata: " USAGE "\n\ndata: z\n\n";
    for (size_t at = 1; at < strlen(input); at++) {
        struct run r = {.cap = 4096, .max = 3};
        r.got = malloc(r.cap);
        begin(&r);
        mem_fail_from(1);
        take(&r, span_of(input, at), false);
        take(&r, span_cstr(input + at), false);
        take(&r, (struct span){0}, true);
        mem_fail_off();
        /* either all of it, or less the event where that needed no memory */
        bool is_all = r.n_got == strlen(input);
        assert_true(is_all || r.n_got == strlen(input) - strlen("data: " USAGE "\n\n"));
        if (is_all)
            assert_memory_equal(r.got, input, r.n_got);
        filter_done(&r.filter);
        free(r.got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_event_goes_at_every_split),
        cmocka_unit_test(random_streams),
        cmocka_unit_test(nothing_is_held_without_need),
        cmocka_unit_test(too_large_events_pass),
        cmocka_unit_test(without_memory_everything_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
