/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe: a content-coded answer is measured as the same answer would be without its coding; what
 * cannot be decoded is not, and says so.
 *
 * test-links: brotlienc
 */
#include "path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/stat.h"
#include "encode.h"
#include "memfail.h"

#define THEN "\x1e" /* in the texts below: a read ends here */

/* Usage with each event, as engines tell it that count as they go. */
#define COUNTED(t, n)                                                                              \
    EVENT("{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" t "\"}}],"                        \
          "\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":" #n "}}")

static const struct {
    const char *name;
    const char *type;
    const char *reads; /* one each millisecond */
} answers[] = {
    {"text", "text/event-stream",
     ROLE THEN TEXT("a") THEN TEXT("b") TEXT("c") THEN TEXT("d") THEN FINISH("stop") USAGE(7, 9)
         THEN DONE},
    {"events across reads", "text/event-stream",
     "data: {\"choices\":[{\"index\":0,\"del" THEN "ta\":{\"content\":\"a\"}}]}\n\n" TEXT(
         "b") "data: " THEN "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"c\"}}]}" THEN
              "\n\n" FINISH("stop") DONE},
    {"reasoning", "text/event-stream",
     THINK("a") THEN THINK("b") THEN TEXT("c") THEN TEXT("d") FINISH("length") USAGE(7, 4) DONE},
    {"counted", "text/event-stream",
     COUNTED("a", 2) THEN COUNTED("b", 3) THEN COUNTED("c", 9) THEN FINISH("stop") DONE},
    {"an error within", "text/event-stream",
     TEXT("a") THEN EVENT("{\"error\":{\"type\":\"server_error\"}}") THEN DONE},
    {"nothing after some", "text/event-stream", TEXT("a") THEN TEXT("b")},
    {"no end mark, no last line end", "text/event-stream",
     TEXT("a") THEN
     "data: {\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}"},
    {"bytes behind the end mark", "text/event-stream",
     TEXT("a") FINISH("stop") DONE TEXT("late") THEN TEXT("later")},
    {"nonsense", "text/event-stream", "data: x\n\n" THEN "data: y\n\n"},
    {"a whole answer", "application/json",
     "{\"model\":\"m-2\",\"choices\":[{\"finish_reason\":\"stop\"}]," THEN
     "\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":5}}"},
    {"a whole answer that is cut", "application/json", "{\"choices\":[" THEN "{\"finish_re"},
};

/* Feeds an answer's reads, each coded and flushed where there is a coding. Returns when it ended.
 */
static int64_t read_answer(struct path *p, const char *reads, struct encoder *e, bool is_split)
{
    struct span rest = span_cstr(reads);
    int64_t at = 600;
    while (rest.n > 0) {
        struct span bytes = span_split(&rest, THEN[0]);
        at += 1000;
        if (e)
            bytes = encode(e, bytes, rest.n > 0 ? ENCODE_FLUSH : ENCODE_END);
        while (is_split && bytes.n > 1) /* chunks of one read */
            observe_tap.response_body(p->tap, span_take(&bytes, 1), stamp_us(p, at));
        path_read_bytes(p, bytes, at);
    }
    return at;
}

static void measure(struct path *p, size_t i, struct encoder *e, bool is_split)
{
    path_open_sampling(p, 1);
    path_send(p, "openai-chat", STREAM_BODY);
    path_head_coded(p, 200, answers[i].type, e ? encoding_names[e->as] : NULL, 500);
    path_end(p, read_answer(p, answers[i].reads, e, is_split) + 100);
    path_close(p);
}

static struct span json_of(const struct record *r, struct buf *b)
{
    buf_init(b, MIB);
    assert_int_equal(record_to_json(r, b), 0);
    return buf_span(b);
}

static void assert_same(const char *name, const struct path *got, const struct path *want)
{
    struct buf b[2];
    const struct seen *g = &got->seen;
    const struct seen *w = &want->seen;
    assert_span_equal(name, json_of(&g->record, &b[0]), json_of(&w->record, &b[1]));
    assert_row(name, g->n_ttft == w->n_ttft && g->ttft_ns == w->ttft_ns);
    assert_row(name, g->n_ttfa == w->n_ttfa && g->ttfa_ns == w->ttfa_ns);
    assert_row(name,
               g->n_gaps == w->n_gaps && memcmp(g->gaps_ns, w->gaps_ns, sizeof(g->gaps_ns)) == 0);
    assert_row(name, g->n_overheads == w->n_overheads &&
                         memcmp(g->overheads_ns, w->overheads_ns, sizeof(g->overheads_ns)) == 0);
    assert_row(name, g->n_itl == w->n_itl && memcmp(g->itl, w->itl, sizeof(g->itl)) == 0);
    buf_done(&b[0]);
    buf_done(&b[1]);
}

static void coded_is_measured_as_plain(void **state)
{
    (void)state;
    static struct path plain;
    static struct path coded;
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        measure(&plain, i, NULL, false);
        for (int as = 0; as < 2 * ENCODINGS; as++) {
            struct encoder e;
            char name[128];
            bool is_split = as >= ENCODINGS;
            encoder_init(&e, (enum encoding)(as % ENCODINGS), 5);
            (void)snprintf(name, sizeof(name), "%s, %s%s", answers[i].name, encoding_names[e.as],
                           is_split ? ", in chunks" : "");
            measure(&coded, i, &e, is_split);
            assert_same(name, &coded, &plain);
            encoder_done(&e);
        }
    }
}

/* --- more than the decoder gives at once --- */

/* Events of many lengths in one read, so that they lie across the decoder's buffers everywhere. */
static void events_across_the_decoders_buffers(void **state)
{
    (void)state;
    enum { N = 400, BIG = 60000 };
    struct rng rng;
    struct buf text;
    rng_seed(&rng, 11);
    buf_init(&text, 4 * MIB);
    for (int i = 0; i < N; i++) {
        size_t n = i % 50 == 25 ? BIG : 1 + (size_t)rng_below(&rng, 300);
        assert_int_equal(buf_append(&text, SPAN("data: {\"choices\":[{\"delta\":{\"content\":\"")),
                         0);
        for (size_t k = 0; k < n; k++)
            assert_int_equal(
                buf_append(&text, span_of(&"abcdefghijklmnop"[rng_below(&rng, 16)], 1)), 0);
        assert_int_equal(buf_append(&text, SPAN("\"}}]}\n\n")), 0);
    }
    assert_int_equal(buf_append(&text, SPAN(FINISH("stop") USAGE(1, 800) DONE)), 0);
    for (int as = 0; as < ENCODINGS; as++) {
        struct path p;
        struct encoder e;
        struct span coded = encode_whole(&e, (enum encoding)as, buf_span(&text));
        path_open(&p);
        path_send(&p, "openai-chat", STREAM_BODY);
        path_head_coded(&p, 200, "text/event-stream", encoding_names[as], 500);
        path_read(&p, "", 550);
        path_read_bytes(&p, coded, 600);
        path_end(&p, 700);
        const struct record *r = &p.seen.record;
        assert_string_equal(r->unobserved, "");
        assert_int_equal(r->outcome, OUTCOME_OK);
        assert_int_equal(r->n_events, N + 3);
        assert_int_equal(r->n_output_events, N);
        assert_int_equal(r->n_arrivals, 1);
        assert_int_equal(r->n_coalesced, N - 1);
        assert_int_equal(r->ttft_ns, 500000);
        assert_int_equal(r->completion_tokens, 800);
        assert_int_equal(r->timing.tpot_status, TPOT_ONE_ARRIVAL);
        path_close(&p);
        encoder_done(&e);
    }
    buf_done(&text);
}

/* --- after the end mark --- */

/* The answer is over, and good, when its end mark was read: whatever is wrong behind it, in the
 * same read or a later one, is nobody's business any more. */
static void what_is_wrong_behind_the_end_mark(void **state)
{
    (void)state;
    for (int as = 0; as < ENCODINGS; as++) {
        for (int parts = 1; parts <= 2; parts++) {
            struct path p;
            struct encoder e;
            struct buf b;
            buf_init(&b, MIB);
            encoder_init(&e, (enum encoding)as, 5);
            assert_int_equal(
                buf_append(
                    &b, encode(&e, SPAN(TEXT("a") FINISH("stop") USAGE(1, 1) DONE), ENCODE_FLUSH)),
                0);
            size_t n = buf_len(&b);
            assert_int_equal(buf_append(&b, SPAN("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")),
                             0);
            path_open(&p);
            path_send(&p, "openai-chat", STREAM_BODY);
            path_head_coded(&p, 200, "text/event-stream", encoding_names[as], 500);
            if (parts == 2 || as >= ENCODE_BR) { /* these lose what one read brought before it */
                path_read_bytes(&p, span_of(buf_span(&b).p, n), 600);
                path_read_bytes(&p, span_from(buf_span(&b), n), 700);
            } else {
                path_read_bytes(&p, buf_span(&b), 600);
            }
            path_end(&p, 900);
            assert_string_equal(p.seen.record.unobserved, "");
            assert_int_equal(p.seen.record.outcome, OUTCOME_OK);
            assert_int_equal(p.seen.record.completion_tokens, 1);
            assert_int_equal(p.seen.record.timing.tpot_status, TPOT_TOO_FEW_TOKENS);
            assert_int_equal(p.seen.record.e2e_ns, 500000);
            path_close(&p);
            encoder_done(&e);
            buf_done(&b);
        }
    }
}

/* --- what cannot be decoded --- */

static void open_coded(struct path *p, const char *type, enum encoding as)
{
    path_open(p);
    path_send(p, "openai-chat", STREAM_BODY);
    path_head_coded(p, 200, type, encoding_names[as], 500);
}

/* HTTP-level facts of an answer that began at 600 us and ended at 900 us. */
static void assert_unobserved(struct path *p, const char *reason, enum stat_id stat, int64_t before)
{
    const struct record *r = &p->seen.record;
    path_end(p, 900);
    assert_string_equal(r->unobserved, reason);
    assert_int_equal(stat_sum(stat), before + 1);
    assert_int_equal(r->outcome, OUTCOME_OK);
    assert_int_equal(r->upstream_status, 200);
    assert_int_equal(r->ttfb_ns, 500000);
    assert_int_equal(mono_diff(r->t_done, us(0)), 900000);
    assert_int_equal(r->response_bytes, 20);
    assert_int_equal(r->completion_tokens, -1);
    assert_int_equal(r->usage_source, USAGE_SOURCE_NONE);
    path_close(p);
}

static void garbage_is_not_read(void **state)
{
    (void)state;
    static const char *const types[] = {"text/event-stream", "application/json"};
    for (int as = 0; as < 2 * ENCODINGS; as++) {
        struct path p;
        int64_t before = stat_sum(STAT_UNOBSERVED_CODED);
        open_coded(&p, types[as % 2], (enum encoding)(as / 2));
        path_read(&p, TEXT("a") DONE, 600);
        path_read(&p, TEXT("a") DONE, 700);
        assert_unobserved(&p, "content_coded", STAT_UNOBSERVED_CODED, before);
        assert_int_equal(p.seen.n_ttft, 0);
    }
}

static void good_and_then_garbage(void **state)
{
    (void)state;
    for (int as = 0; as < ENCODINGS; as++) {
        struct path p;
        struct encoder e;
        int64_t before = stat_sum(STAT_UNOBSERVED_CODED);
        encoder_init(&e, (enum encoding)as, 5);
        open_coded(&p, "text/event-stream", e.as);
        path_read_bytes(&p, encode(&e, SPAN(TEXT("a") TEXT("b")), ENCODE_FLUSH), 600);
        path_read(&p, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 700);
        path_read_bytes(&p, encode(&e, SPAN(TEXT("c") DONE), ENCODE_END), 800);
        assert_unobserved(&p, "content_coded", STAT_UNOBSERVED_CODED, before);
        assert_int_equal(p.seen.record.ttft_ns, 500000); /* known before */
        assert_int_equal(p.seen.record.timing.tpot_status, TPOT_UNOBSERVED);
        assert_int_equal(p.seen.n_itl, 0);
        encoder_done(&e);
    }
}

static void on_stalled(void *ctx, struct exchange *x, enum look_finding what, int64_t silent_ns)
{
    (void)x;
    (void)silent_ns;
    assert_int_equal(what, LOOK_STALLED);
    ++*(int *)ctx;
}

/* Whether it goes on cannot be said any more, so nothing may be cut for it. */
static void what_is_not_read_any_more_is_not_stalled(void **state)
{
    (void)state;
    enum { S = 1000000 };
    for (int as = 0; as < ENCODINGS; as++) {
        struct path p;
        struct encoder e;
        int n_stalled = 0;
        encoder_init(&e, (enum encoding)as, 5);
        open_coded(&p, "text/event-stream", e.as);
        path_read_bytes(&p, encode(&e, SPAN(TEXT("a") TEXT("b")), ENCODE_FLUSH), 600);
        path_read(&p, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 700);
        for (int i = 1; i <= 5; i++) {
            path_read(&p, "more", i * S);
            look_around(p.observer, us(i * S + 10), on_stalled, &n_stalled);
        }
        assert_int_equal(n_stalled, 0);
        assert_int_equal(stat_sum(STAT_STREAMS_STALLED), 0);
        path_end(&p, 6 * S);
        assert_false(has_flag(&p, RECORD_STALLED));
        path_close(&p);
        encoder_done(&e);
    }
}

/* A bomb of comments, and one that would be a whole answer. */
static void bombs_are_not_read(void **state)
{
    (void)state;
    static const char *const types[] = {"text/event-stream", "application/json"};
    enum { BOMB = 32 * MIB };
    char *bytes = malloc(BOMB);
    assert_non_null(bytes);
    for (int as = 0; as < 2 * ENCODINGS; as++) {
        struct path p;
        struct encoder e;
        int64_t before = stat_sum(STAT_UNOBSERVED_TOO_LARGE);
        memset(bytes, as % 2 == 0 ? '\n' : ' ', BOMB);
        struct span coded = encode_whole(&e, (enum encoding)(as / 2), span_of(bytes, BOMB));
        open_coded(&p, types[as % 2], e.as);
        path_read_bytes(&p, coded, 600);
        path_read(&p, "x", 700);
        assert_unobserved(&p, "too_large", STAT_UNOBSERVED_TOO_LARGE, before);
        encoder_done(&e);
    }
    free(bytes);
}

/* No bomb, but more in one read than others may have to wait for; in two reads it is fine. */
static void one_read_brings_so_much_only(void **state)
{
    (void)state;
    enum { HALF = LIMIT_DECODED_READ_BYTES / 2 + 16 * KIB };
    char *comments = malloc(HALF);
    assert_non_null(comments);
    struct rng rng;
    rng_seed(&rng, 1);
    for (size_t i = 0; i < HALF; i++) /* random, lest it is a bomb */
        comments[i] = i % 64 == 63 ? '\n' : i % 64 == 0 ? ':' : (char)('a' + rng_below(&rng, 26));
    for (int as = 0; as < ENCODINGS; as++) {
        for (int n_reads = 1; n_reads <= 2; n_reads++) {
            struct path p;
            struct encoder e;
            int64_t before = stat_sum(STAT_UNOBSERVED_TOO_LARGE);
            encoder_init(&e, (enum encoding)as, 5);
            open_coded(&p, "text/event-stream", e.as);
            for (int i = 0; i < 2; i++)
                path_read_bytes(&p, encode(&e, span_of(comments, HALF), ENCODE_FLUSH),
                                n_reads == 1 ? 600 : 600 + i * 10);
            path_read_bytes(&p, encode(&e, SPAN(TEXT("a") DONE), ENCODE_END), 700);
            path_end(&p, 800);
            assert_int_equal(stat_sum(STAT_UNOBSERVED_TOO_LARGE) - before, n_reads == 1);
            assert_int_equal(p.seen.record.n_output_events, n_reads == 2);
            path_close(&p);
            encoder_done(&e);
        }
    }
    free(comments);
}

/* Windows are large, and streams are long: what is not read any more holds none. */
static void memory_goes_back_when_reading_ends(void **state)
{
    (void)state;
    for (int as = 0; as < 2 * ENCODINGS; as++) {
        struct path p;
        struct encoder e;
        encoder_init(&e, (enum encoding)(as / 2), 5);
        struct span coded = encode(&e, SPAN(TEXT("a") DONE), ENCODE_FLUSH);
        if (as % 2 == 0)
            coded = SPAN("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff");
        path_open(&p);
        path_send(&p, "openai-chat", STREAM_BODY);
        int64_t n_live = mem_live_blocks();
        path_head_coded(&p, 200, "text/event-stream", encoding_names[e.as], 500);
        assert_true(mem_live_blocks() > n_live);
        path_read_bytes(&p, coded, 600);
        assert_int_equal(mem_live_blocks(), n_live);
        path_read(&p, "more", 700);
        path_end(&p, 900);
        path_close(&p);
        encoder_done(&e);
    }
}

struct attempt {
    struct encoder e;
    bool is_cut; /* seen: begun, and given up later */
};

static int try_exchange(void *ctx)
{
    struct attempt *a = ctx;
    struct path p = {.n_attempts = 0};
    if (observer_new(&(struct observer_config){0}, &seen_ops, &p.seen, &p.observer) < 0)
        return -ENOMEM;
    int r = -ENOMEM;
    path_begin(&p, &path_post);
    if (p.tap) {
        path_plan(&p, "openai-chat", STREAM_BODY);
        path_attempt(&p, 150);
        path_head_coded(&p, 200, "text/event-stream", encoding_names[a->e.as], 500);
        path_read_bytes(&p, buf_span(&a->e.out), 600);
        path_end(&p, 900);
        const struct record *rec = &p.seen.record;
        bool is_unobserved = strcmp(rec->unobserved, "no_memory") == 0;
        assert_true(is_unobserved || rec->unobserved[0] == '\0');
        assert_int_equal(rec->outcome, OUTCOME_OK);
        assert_int_equal(rec->ttfb_ns, 500000);
        assert_int_equal(p.seen.n_ttft, is_unobserved ? 0 : 1);
        a->is_cut = a->is_cut || is_unobserved;
        r = is_unobserved ? -ENOMEM : 0;
    }
    path_close(&p);
    return r;
}

static void without_memory_it_is_not_read(void **state)
{
    (void)state;
    for (int as = 0; as < ENCODINGS; as++) {
        struct attempt a = {.is_cut = false};
        (void)encode_whole(&a.e, (enum encoding)as, SPAN(TEXT("a") FINISH("stop") DONE));
        assert_true(memfail_each(try_exchange, &a) >= 3);
        assert_true(a.is_cut);
        encoder_done(&a.e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coded_is_measured_as_plain),
        cmocka_unit_test(events_across_the_decoders_buffers),
        cmocka_unit_test(what_is_wrong_behind_the_end_mark),
        cmocka_unit_test(garbage_is_not_read),
        cmocka_unit_test(good_and_then_garbage),
        cmocka_unit_test(what_is_not_read_any_more_is_not_stalled),
        cmocka_unit_test(bombs_are_not_read),
        cmocka_unit_test(one_read_brings_so_much_only),
        cmocka_unit_test(memory_goes_back_when_reading_ends),
        cmocka_unit_test(without_memory_it_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
