/* SPDX-License-Identifier: Apache-2.0 */
#include "api/recent.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "harness.h"
#include "memfail.h"

static struct span written(struct recent *r, size_t max, struct buf *out)
{
    struct jsonw w;
    buf_clear(out);
    jsonw_init(&w, out);
    jsonw_begin_array(&w);
    recent_write(r, max, &w);
    jsonw_end_array(&w);
    assert_int_equal(jsonw_error(&w), 0);
    return buf_span(out);
}

static void test_newest_first_and_bounded(void **state)
{
    struct recent *r;
    struct buf out;
    (void)state;
    buf_init(&out, 1 << 20);
    assert_int_equal(recent_new(0, &r), -EINVAL);
    assert_int_equal(recent_new(3, &r), 0);
    assert_span_equal("empty", written(r, 10, &out), SPAN("[]"));
    recent_push(r, SPAN("{\"a\":1}\n"));
    recent_push(r, SPAN("{\"a\":2}"));
    assert_span_equal("two", written(r, 10, &out), SPAN("[{\"a\":2},{\"a\":1}]"));
    recent_push(r, SPAN("{\"a\":3}\r\n"));
    recent_push(r, SPAN("{\"a\":4}\n"));
    assert_span_equal("oldest gone", written(r, 10, &out), SPAN("[{\"a\":4},{\"a\":3},{\"a\":2}]"));
    assert_span_equal("limit", written(r, 1, &out), SPAN("[{\"a\":4}]"));
    recent_push(r, SPAN("\n"));
    assert_span_equal("an empty line is none", written(r, 1, &out), SPAN("[{\"a\":4}]"));
    recent_free(r);
    buf_done(&out);
}

static void test_long_line_is_left_out(void **state)
{
    static char line[RECENT_LINE_MAX + 1];
    struct recent *r;
    struct buf out;
    (void)state;
    buf_init(&out, 1 << 20);
    memset(line, '1', sizeof(line));
    assert_int_equal(recent_new(2, &r), 0);
    recent_push(r, span_of(line, RECENT_LINE_MAX + 1));
    assert_span_equal("too long", written(r, 2, &out), SPAN("[]"));
    recent_push(r, span_of(line, RECENT_LINE_MAX));
    assert_int_equal(written(r, 2, &out).n, RECENT_LINE_MAX + 2);
    recent_free(r);
    buf_done(&out);
}

/* A line takes the place of one of any other length. */
static void test_lengths_change(void **state)
{
    static const size_t lengths[] = {10,
                                     300,
                                     255,
                                     256,
                                     257,
                                     511,
                                     512,
                                     RECENT_LINE_MAX,
                                     100,
                                     1,
                                     512,
                                     513,
                                     1024,
                                     90,
                                     RECENT_LINE_MAX,
                                     2};
    static char line[RECENT_LINE_MAX];
    struct recent *r;
    struct buf out;
    (void)state;
    buf_init(&out, 1 << 20);
    assert_int_equal(recent_new(2, &r), 0);
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        memset(line, (int)('0' + i % 10), lengths[i]);
        recent_push(r, span_of(line, lengths[i]));
        struct span got = written(r, 1, &out);
        assert_span_equal("the newest", span_of(got.p + 1, got.n - 2), span_of(line, lengths[i]));
        if (i > 0)
            assert_int_equal(written(r, 2, &out).n, lengths[i] + lengths[i - 1] + 3);
    }
    recent_free(r);
    buf_done(&out);
}

/* Lines much alike cost no allocation any more; one that finds none is left out, the others stay.
 */
static void test_memory_is_used_again(void **state)
{
    struct recent *r;
    struct buf out;
    (void)state;
    buf_init(&out, 1 << 20);
    assert_int_equal(recent_new(2, &r), 0);
    (void)written(r, 2, &out);
    recent_push(r, SPAN("1"));
    recent_push(r, SPAN("22"));
    mem_fail_from(1);
    recent_push(r, SPAN("333"));
    assert_span_equal("the same room", written(r, 2, &out), SPAN("[333,22]"));
    static char line[1000];
    memset(line, '4', sizeof(line));
    recent_push(r, span_of(line, sizeof(line)));
    assert_span_equal("no room", written(r, 2, &out), SPAN("[333,22]"));
    mem_fail_off();
    recent_push(r, SPAN("5"));
    assert_span_equal("goes on", written(r, 2, &out), SPAN("[5,333]"));
    recent_free(r);
    buf_done(&out);
}

static int attempt(void *ctx)
{
    struct recent *r;
    int64_t n;
    int rc = recent_new(2, &r);
    (void)ctx;
    if (rc < 0)
        return rc;
    n = mem_live_blocks();
    recent_push(r, SPAN("{}"));
    rc = mem_live_blocks() > n ? 0 : -ENOMEM; /* a line without memory is left out */
    recent_free(r);
    return rc;
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_int_equal(memfail_each(attempt, NULL), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_newest_first_and_bounded),
        cmocka_unit_test(test_long_line_is_left_out),
        cmocka_unit_test(test_lengths_change),
        cmocka_unit_test(test_memory_is_used_again),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("api/recent", tests, NULL, NULL);
}
