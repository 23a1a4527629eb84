/* SPDX-License-Identifier: Apache-2.0 */
#include "dialect/shape.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus.h"
#include "dialect/dialect.h"
#include "harness.h"
#include "wire/events.h"

static const char event_a[] = "{\"id\":\"1\",\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]}";

static struct span text_of(struct span data)
{
    size_t at = span_find(data, SPAN("Hello"));
    return span_of(data.p + at, 5);
}

static void test_matches(void **state)
{
    static const struct {
        const char *data;
        bool expect;
    } rows[] = {
        {"{\"id\":\"1\",\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]}", true},
        {"{\"id\":\"1\",\"choices\":[{\"delta\":{\"content\":\"x\"}}]}", true},
        {"{\"id\":\"1\",\"choices\":[{\"delta\":{\"content\":\"\xc3\xa9t\xc3\xa9\"}}]}", true},
        {"{\"id\":\"1\",\"choices\":[{\"delta\":{\"content\":\"\"}}]}", false},
        {"{\"id\":\"1\",\"choices\":[{\"delta\":{\"content\":\"a\\nb\"}}]}", true},
        {"{\"id\":\"1\",\"choices\":[{\"delta\":{\"content\":\"\\\"\"}}]}", true},
        {"{\"id\":\"1\",\"choices\":[{\"delta\":{\"content\":\"\\\\\"}}]}", true},
        {"{\"id\":\"1\",\"choices\":[{\"delta\":{\"content\":\"\\u00e4\"}}]}", false},
        {"{\"id\":\"1\",\"choices\":[{\"delta\":{\"content\":\"\\x\"}}]}", false},
        {"{\"id\":\"1\",\"choices\":[{\"delta\":{\"content\":\"x\\\"}}]}", false},
        {"{\"id\":\"1\",\"choices\":[{\"delta\":{\"content\":\"x\\", false},
        {"{\"id\":\"1\",\"choices\":[{\"delta\":{\"content\":\"a\nb\"}}]}", false},
        {"{\"id\":\"1\",\"choices\":[{\"delta\":{\"content\":\"a\",\"b\":\"c\"}}]}", false},
        {"{\"id\":\"2\",\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]}", false},
        {"{\"id\":\"1\",\"choices\":[{\"delta\":{\"content\":\"Hello\"}}] }", true},
        {"{\"id\":\"1\",\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]\t\r\n }", true},
        {"{\"id\":\"1\",\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]\f}", false},
        {"{\"id\":\"1\",\"choices\":[{\"delta\":{\"content\":\"Hello\"}} ]}", false},
        {"{\"id\":\"1\",\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]}}", false},
        {"{\"id\":\"1\",\"choices\":[{\"delta\":{\"content\":\"Hello\"}}] ", false},
        {"{\"id\":\"1\",\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]", false},
        {"\"}}]}", false},
        {"", false},
    };
    struct span a = span_cstr(event_a);
    struct shape s = {0};
    uint32_t kinds = 0;
    (void)state;
    assert_false(shape_matches(&s, a, &kinds)); /* nothing learned yet */
    shape_learn(&s, a, DIALECT_REFUSAL, text_of(a), NULL, 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        kinds = 0;
        bool is_match = shape_matches(&s, span_cstr(rows[i].data), &kinds);
        assert_row(rows[i].data, is_match == rows[i].expect);
        assert_row(rows[i].data, kinds == (is_match ? DIALECT_REFUSAL : 0));
    }
}

static void test_too_long_is_forgotten(void **state)
{
    char data[SHAPE_BYTES_MAX + 16];
    struct span a = span_cstr(event_a);
    struct shape s = {0};
    (void)state;
    uint32_t kinds;
    shape_learn(&s, a, DIALECT_TEXT, text_of(a), NULL, 0);
    memset(data, 'x', sizeof(data));
    shape_learn(&s, span_of(data, sizeof(data)), DIALECT_TEXT, span_of(data + 5, 1), NULL, 0);
    assert_false(shape_matches(&s, a, &kinds)); /* it would be the shape of an older event */
}

/* Numbers and padding may differ as well, wherever they stand; only the text is never empty. */
static void test_other_holes(void **state)
{
    static const struct {
        const char *data;
        bool expect;
    } rows[] = {
        {"{\"n\":7,\"delta\":\"Hello\",\"o\":\"pad\"}", true},
        {"{\"n\":0,\"delta\":\"x\",\"o\":\"\"}", true},
        {"{\"n\":18446744073709551616,\"delta\":\"x\",\"o\":\"\\n\"}", true},
        {"{\"n\":7,\"delta\":\"\",\"o\":\"pad\"}", false},
        {"{\"n\":,\"delta\":\"x\",\"o\":\"pad\"}", false},
        {"{\"n\":07,\"delta\":\"x\",\"o\":\"pad\"}", false},
        {"{\"n\":-7,\"delta\":\"x\",\"o\":\"pad\"}", false},
        {"{\"n\":7.5,\"delta\":\"x\",\"o\":\"pad\"}", false},
        {"{\"n\":\"7\",\"delta\":\"x\",\"o\":\"pad\"}", false},
        {"{\"n\":7,\"delta\":\"x\",\"o\":\"pad\"", false},
        {"{\"n\":7,\"delta\":\"x\",\"o\":\"pad", false},
        {"{\"n\":7,\"delta\":\"x\",\"o\":\"pad\"}}", false},
        {"{\"n\":7,\"delta\":\"x", false},
        {"{\"n\":7", false},
        {"{\"n\":", false},
    };
    struct span a = span_cstr(rows[0].data);
    struct span holes[2] = {{a.p + span_find(a, SPAN("pad")), 3}, {a.p + 5, 1}};
    struct shape s = {0};
    (void)state;
    shape_learn(&s, a, DIALECT_TEXT, text_of(a), holes, 2);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint32_t kinds;
        assert_row(rows[i].data,
                   shape_matches(&s, span_cstr(rows[i].data), &kinds) == rows[i].expect);
    }
}

/* Every event of every recording says the same with and without what was learned before it. */
static int n_events;

static void check_stream(void *ctx, const char *path, struct span body)
{
    const struct dialect *d = ctx;
    struct dialect_answer *learning = calloc(1, sizeof(*learning));
    struct dialect_answer *fresh = calloc(1, sizeof(*fresh));
    struct events events;
    struct event e;
    (void)path;
    assert_true(learning && fresh);
    dialect_answer_init(learning);
    events_init(&events, d->framing == FRAMING_NDJSON ? FRAMING_NDJSON : FRAMING_SSE, 1 << 20);
    while (events_next(&events, &body, &e) == EVENT_WHOLE) {
        struct token_event a, b;
        dialect_answer_init(fresh);
        d->event(learning, e.name, e.data, &a);
        d->event(fresh, e.name, e.data, &b);
        assert_int_equal(a.kinds, b.kinds);
        assert_int_equal(a.is_end, b.is_end);
        assert_int_equal(a.is_error, b.is_error);
        assert_int_equal(a.has_usage, b.has_usage);
        assert_int_equal(a.has_no_choices, b.has_no_choices);
        n_events++;
    }
    events_done(&events);
    free(learning);
    free(fresh);
}

static void test_recordings(void **state)
{
    const struct dialect *d;
    int n = 0;
    (void)state;
    for (size_t i = 0; (d = dialect_at(i)) != NULL; i++) {
        char dir[64];
        (void)snprintf(dir, sizeof(dir), "corpus/%s", d->name);
        void *ctx =
            (void *)(uintptr_t)d; /* NOLINT(performance-no-int-to-ptr): const is cast away */
        n += corpus_each(dir, d->framing == FRAMING_NDJSON ? ".ndjson" : ".sse", check_stream, ctx);
    }
    if (n <= 0)
        skip(); /* the recordings are not beside this checkout */
    assert_true(n_events > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matches),
        cmocka_unit_test(test_too_long_is_forgotten),
        cmocka_unit_test(test_other_holes),
        cmocka_unit_test(test_recordings),
    };
    return cmocka_run_group_tests_name("dialect/shape", tests, NULL, NULL);
}
