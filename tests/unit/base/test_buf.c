/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <errno.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/rng.h"
#include "harness.h"
#include "memfail.h"

static void append(struct buf *b, struct span s)
{
    assert_int_equal(buf_append(b, s), 0);
}

static void test_append_and_consume(void **state)
{
    struct buf b;
    int64_t n_live = mem_live_blocks();
    (void)state;
    buf_init(&b, 100);
    assert_int_equal(mem_live_blocks(), n_live); /* nothing until the first byte */
    assert_span_equal("new", buf_span(&b), SPAN(""));
    append(&b, (struct span){NULL, 0});
    append(&b, SPAN("hello "));
    append(&b, SPAN("world"));
    assert_span_equal("two parts", buf_span(&b), SPAN("hello world"));
    buf_consume(&b, 6);
    assert_span_equal("consumed", buf_span(&b), SPAN("world"));
    append(&b, SPAN("!"));
    assert_span_equal("appended", buf_span(&b), SPAN("world!"));
    buf_truncate(&b, 2);
    assert_span_equal("truncated", buf_span(&b), SPAN("wo"));
    buf_clear(&b);
    assert_int_equal(buf_len(&b), 0);
    append(&b, SPAN("x"));
    assert_span_equal("after clear", buf_span(&b), SPAN("x"));
    buf_done(&b);
    assert_int_equal(mem_live_blocks(), n_live);
    append(&b, SPAN("again")); /* as after buf_init */
    assert_span_equal("after done", buf_span(&b), SPAN("again"));
    buf_done(&b);
}

static void test_maximum(void **state)
{
    struct buf b;
    char *p;
    (void)state;
    buf_init(&b, 10);
    append(&b, SPAN("0123456"));
    assert_int_equal(buf_append(&b, SPAN("789x")), -EMSGSIZE);
    assert_span_equal("unchanged", buf_span(&b), SPAN("0123456"));
    assert_int_equal(buf_reserve(&b, 4, &p), -EMSGSIZE);
    assert_int_equal(buf_reserve(&b, SIZE_MAX, &p), -EMSGSIZE);
    assert_int_equal(buf_printf(&b, "%d", 7891), -EMSGSIZE);
    assert_span_equal("unchanged", buf_span(&b), SPAN("0123456"));
    append(&b, SPAN("789"));
    assert_span_equal("full", buf_span(&b), SPAN("0123456789"));
    append(&b, SPAN(""));
    assert_int_equal(buf_append(&b, SPAN("x")), -EMSGSIZE);
    buf_consume(&b, 4); /* what is consumed makes room, by moving */
    append(&b, SPAN("abcd"));
    assert_span_equal("moved", buf_span(&b), SPAN("456789abcd"));
    buf_done(&b);
    buf_init(&b, 0);
    assert_int_equal(buf_append(&b, SPAN("x")), -EMSGSIZE);
    assert_int_equal(buf_reserve(&b, 0, &p), 0);
    assert_non_null(p);
    buf_done(&b);
}

static void test_reserve_and_commit(void **state)
{
    struct buf b;
    char *p;
    (void)state;
    buf_init(&b, 4096);
    append(&b, SPAN("ab"));
    assert_int_equal(buf_reserve(&b, 1000, &p), 0);
    memset(p, 'x', 1000);
    buf_commit(&b, 3);
    assert_span_equal("first of the reserved", buf_span(&b), SPAN("abxxx"));
    buf_done(&b);
}

static void test_printf(void **state)
{
    struct buf b;
    char text[600];
    (void)state;
    memset(text, 'y', sizeof(text));
    buf_init(&b, 700);
    assert_int_equal(buf_printf(&b, "%s=%d", "n", 42), 0);
    assert_span_equal("short", buf_span(&b), SPAN("n=42"));
    assert_int_equal(buf_printf(&b, "%.*s", (int)sizeof(text), text), 0);
    assert_int_equal(buf_len(&b), 604);
    assert_int_equal(buf_printf(&b, "%.*s", 96, text), 0); /* fills it to the last byte */
    assert_int_equal(buf_len(&b), 700);
    assert_int_equal(buf_printf(&b, "%s", ""), 0);
    assert_int_equal(buf_printf(&b, "z"), -EMSGSIZE);
    struct span s = buf_span(&b);
    assert_span_equal("start", span_take(&s, 4), SPAN("n=42"));
    for (size_t i = 0; i < s.n; i++)
        assert_int_equal(s.p[i], 'y');
    buf_done(&b);
}

static void test_gives_memory_back(void **state)
{
    struct buf b;
    int64_t n_live = mem_live_blocks();
    char *p;
    (void)state;
    buf_init(&b, MIB);
    append(&b, SPAN("small"));
    buf_consume(&b, 5);
    assert_int_equal(mem_live_blocks() - n_live, 1); /* a small buffer is kept */
    assert_int_equal(buf_reserve(&b, 100 * KIB, &p), 0);
    memset(p, 0, 100 * KIB);
    buf_commit(&b, 100 * KIB);
    buf_consume(&b, 50 * KIB);
    assert_int_equal(mem_live_blocks() - n_live, 1);
    buf_consume(&b, 50 * KIB);
    assert_int_equal(mem_live_blocks(), n_live);
    buf_done(&b);
}

/* Against a plain array: random appends, consumptions and truncations. */
static void test_random_operations(void **state)
{
    enum { MAX = 5000, N_STEPS = 20000 };
    static char model[MAX];
    size_t n_model = 0;
    struct buf b;
    struct rng rng;
    (void)state;
    rng_seed(&rng, 1);
    buf_init(&b, MAX);
    for (int i = 0; i < N_STEPS; i++) {
        char part[300];
        size_t n = (size_t)rng_below(&rng, sizeof(part));
        switch (rng_below(&rng, 4)) {
        case 0:
        case 1:
            memset(part, 'a' + i % 26, n);
            if (n_model + n > MAX) {
                assert_int_equal(buf_append(&b, span_of(part, n)), -EMSGSIZE);
            } else {
                append(&b, span_of(part, n));
                memcpy(model + n_model, part, n);
                n_model += n;
            }
            break;
        case 2:
            n = n < n_model ? n : n_model;
            buf_consume(&b, n);
            n_model -= n;
            memmove(model, model + n, n_model);
            break;
        default:
            n = n_model > n / 8 ? n_model - n / 8 : n_model;
            buf_truncate(&b, n);
            n_model = n;
            break;
        }
        assert_span_equal("model", buf_span(&b), span_of(model, n_model));
    }
    buf_done(&b);
}

/* Appending stays linear when a queue never becomes empty: bytes are not moved every time. */
static void test_queue_use_allocates_once(void **state)
{
    struct buf b;
    (void)state;
    buf_init(&b, 64 * KIB);
    append(&b, SPAN("0123456789"));
    uint64_t before = mem_count_get(1).n_allocs;
    for (int i = 0; i < 100000; i++) {
        append(&b, SPAN("0123456789"));
        buf_consume(&b, 10);
    }
    assert_int_equal(mem_count_get(1).n_allocs, before);
    assert_span_equal("content", buf_span(&b), SPAN("0123456789"));
    buf_done(&b);
}

static int use_without_memory(void *ctx)
{
    struct buf b;
    char big[3000];
    (void)ctx;
    memset(big, 'b', sizeof(big));
    buf_init(&b, 3101);
    int r = buf_append(&b, SPAN("start"));
    if (r == 0) {
        r = buf_printf(&b, "%.*s", (int)sizeof(big), big);
        assert_int_equal(buf_len(&b), r == 0 ? 3005 : 5);
    }
    if (r == 0) {
        r = buf_printf(&b, "%96s", "to the last byte"); /* takes a detour over the heap */
        assert_int_equal(buf_len(&b), r == 0 ? 3101 : 3005);
    }
    assert_true(r != 0 || span_starts_with(buf_span(&b), SPAN("startbbb")));
    buf_done(&b);
    return r;
}

static void test_allocation_failures(void **state)
{
    (void)state;
    assert_int_equal(memfail_each(use_without_memory, NULL), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append_and_consume),       cmocka_unit_test(test_maximum),
        cmocka_unit_test(test_reserve_and_commit),       cmocka_unit_test(test_printf),
        cmocka_unit_test(test_gives_memory_back),        cmocka_unit_test(test_random_operations),
        cmocka_unit_test(test_queue_use_allocates_once), cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests_name("base/buf", tests, NULL, NULL);
}
