/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/query_windows: histograms of an answer as windows, and answers that have something else.
 */
#include "cli/query_windows.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/attr.h"
#include "base/mem.h"
#include "harness.h"
#include "memfail.h"

#define OK(result)                                                                                 \
    "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":" result "}}"
#define ONE(histogram) OK("[{\"metric\":{\"model\":\"m\"},\"histograms\":[[300," histogram "]]}]")

static const char two[] =
    OK("[{\"metric\":{\"model\":\"a \\\"b\\\" \\u6a21\"},\"histograms\":["
       "[300,{\"count\":\"3\",\"sum\":\"1\",\"buckets\":[[0,\"0\",\"0.5\",\"1\"],[0,\"0.5\",\"+"
       "Inf\",\"2\"]]}],"
       "[600.5,{\"count\":\"0\",\"sum\":\"0\"}]]},{\"metric\":{},\"histograms\":[]}]");

static int read_all(const char *json, size_t n, struct arena *a, struct propose_series **ret,
                    size_t *ret_n)
{
    struct query_data d;
    int r = query_data_read(span_of(json, n), a, &d);
    return r < 0 ? r : query_windows_read(&d, a, ret, ret_n);
}

static void test_windows(void **state)
{
    struct propose_series *s = NULL;
    struct arena a;
    size_t n = 0;
    (void)state;
    arena_init(&a, NULL);
    assert_int_equal(read_all(two, strlen(two), &a, &s, &n), 0);
    assert_int_equal(n, 2);
    assert_span_equal("model", s[0].model, SPAN("a \"b\" \xe6\xa8\xa1"));
    assert_int_equal(s[0].n, 2);
    assert_int_equal(s[0].at[0].end_ms, 300000);
    assert_int_equal(s[0].at[0].n, 2);
    assert_true(s[0].at[0].at[0].upper == 0.5 && s[0].at[0].at[0].count == 1);
    assert_true(s[0].at[0].at[1].lower == 0.5 && isinf(s[0].at[0].at[1].upper));
    assert_int_equal(s[0].at[1].end_ms, 600500);
    assert_int_equal(s[0].at[1].n, 0);
    assert_int_equal(s[1].model.n, 0);
    assert_int_equal(s[1].n, 0);
    arena_done(&a);
}

static const char *const wrong[] = {
    OK("[{\"metric\":{\"model\":\"m\"},\"values\":[[300,\"1\"]]}]"), /* floats */
    ONE("{\"buckets\":7}"),
    ONE("{\"buckets\":[7]}"),
    ONE("{\"buckets\":[[0,\"0\",\"1\"]]}"),
    ONE("{\"buckets\":[[0,\"0\",\"1\",\"2\",\"3\"]]}"),
    ONE("{\"buckets\":[[0,\"0\",\"x\",\"2\"]]}"),
    ONE("{\"buckets\":[[0,\"0\",\"1\",\"-2\"]]}"),
    ONE("{\"buckets\":[[0,\"0\",\"1\",[]]]}"),
    OK("[{\"metric\":{\"model\":\"m\"},\"histograms\":[[1e300,{}]]}]"),
};

static void test_what_is_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct propose_series *s = NULL;
        struct arena a;
        size_t n = 0;
        arena_init(&a, NULL);
        assert_row(wrong[i], read_all(wrong[i], strlen(wrong[i]), &a, &s, &n) == -EPROTO);
        assert_row(wrong[i], s == NULL && n == 0);
        arena_done(&a);
    }
}

/* Whatever part of an answer comes, it is told that it is none. */
static void test_every_prefix(void **state)
{
    (void)state;
    for (size_t i = 0; i < strlen(two); i++) {
        struct propose_series *s = NULL;
        struct arena a;
        size_t n = 0;
        arena_init(&a, NULL);
        assert_int_equal(read_all(two, i, &a, &s, &n), -EPROTO);
        arena_done(&a);
    }
}

static int attempt(void *ctx)
{
    struct propose_series *s = NULL;
    struct arena a;
    size_t n = 0;
    (void)ctx;
    arena_init(&a, NULL);
    int r = read_all(two, strlen(two), &a, &s, &n);
    assert_true(r == -ENOMEM || n == 2);
    arena_done(&a);
    return r;
}

static void test_allocation_failures(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_what_is_none),
        cmocka_unit_test(test_every_prefix),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
