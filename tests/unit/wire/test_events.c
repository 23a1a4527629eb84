/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/events: each framing is read by its own reader, and by nothing else.
 */
#include "wire/events.h"

#include <errno.h>

#include "memfail.h"
#include "transcript.h"

static void test_each_framing(void **state)
{
    (void)state;
    static const struct {
        enum framing framing;
        struct transcript_row row;
    } rows[] = {
        {FRAMING_SSE, {"SSE", SPAN_INIT("data: {}\n\ndata: [1]\r\n\r\n"), SPAN_INIT("{};[1];")}},
        {FRAMING_SSE, {"SSE, tail", SPAN_INIT("data: a\n\ndata: b"), SPAN_INIT("a;b;")}},
        {FRAMING_SSE, {"lines read as SSE", SPAN_INIT("{}\n{}\n"), SPAN_INIT("")}},
        {FRAMING_NDJSON, {"lines", SPAN_INIT("{}\n[1]\n"), SPAN_INIT("{};[1];")}},
        {FRAMING_NDJSON,
         {"SSE read as lines", SPAN_INIT("data: {}\n\n: c\n"), SPAN_INIT("data: {};: c;")}},
        {FRAMING_JSON_ARRAY, {"array", SPAN_INIT("[{},[1]]"), SPAN_INIT("{};[1];")}},
        {FRAMING_JSON_ARRAY, {"lines read as array", SPAN_INIT("{}\n{}\n"), SPAN_INIT("{};{};")}},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        transcript_check(rows[i].row.name, rows[i].framing, rows[i].row.input, 1 << 20,
                         rows[i].row.want);
    }
}

static void test_the_limit_is_passed_on(void **state)
{
    (void)state;
    transcript_check("SSE", FRAMING_SSE, SPAN("data: 12345\n\ndata: 1\n\n"), 4, SPAN("!;1;"));
    transcript_check("lines", FRAMING_NDJSON, SPAN("12345\n1\n"), 4, SPAN("!;1;"));
    transcript_check("array", FRAMING_JSON_ARRAY, SPAN("[12345,1]"), 4, SPAN("!;1;"));
}

/* Comments exist in SSE only. */
static void test_comments(void **state)
{
    (void)state;
    for (int framing = FRAMING_SSE; framing <= FRAMING_JSON_ARRAY; framing++) {
        struct events e;
        struct event ev;
        struct span in = SPAN(": one\n: two\n\n");
        events_init(&e, (enum framing)framing, 100);
        while (events_next(&e, &in, &ev) != EVENT_MORE)
            continue;
        assert_int_equal(events_n_comments(&e), framing == FRAMING_SSE ? 2 : 0);
        events_done(&e);
    }
}

/* An event that straddles two inputs is given back, delivered or not. */
static int attempt(void *ctx)
{
    const enum framing *framing = ctx;
    struct span halves[2] = {SPAN("data: {\"a\":"), SPAN("1}\n\n")};
    struct events e;
    struct event ev;
    enum event_status status = EVENT_MORE;
    int n_events = 0;
    events_init(&e, *framing, 100);
    for (size_t i = 0; i < 2 && status != EVENT_NO_MEMORY; i++) {
        while ((status = events_next(&e, &halves[i], &ev)) == EVENT_WHOLE)
            n_events++;
    }
    if (status != EVENT_NO_MEMORY && events_finish(&e, &ev) == EVENT_WHOLE)
        n_events++;
    events_done(&e);
    assert_int_equal(n_events, status == EVENT_NO_MEMORY ? 0 : 1);
    return status == EVENT_NO_MEMORY ? -ENOMEM : 0;
}

static void test_allocation_failures(void **state)
{
    (void)state;
    for (int i = FRAMING_SSE; i <= FRAMING_JSON_ARRAY; i++) {
        enum framing framing = (enum framing)i;
        assert_true(memfail_each(attempt, &framing) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_framing),
        cmocka_unit_test(test_the_limit_is_passed_on),
        cmocka_unit_test(test_comments),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
