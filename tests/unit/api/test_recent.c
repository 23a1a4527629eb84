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
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("api/recent", tests, NULL, NULL);
}
