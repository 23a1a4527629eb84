/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <errno.h>
#include <stdalign.h>

#include "base/limits.h"
#include "base/mem.h"
#include "harness.h"
#include "memfail.h"

static void test_takes_nothing_before_it_is_used(void **state)
{
    struct arena a;
    int64_t n_live = mem_live_blocks();
    (void)state;
    arena_init(&a, NULL);
    assert_int_equal(mem_live_blocks(), n_live);
    arena_reset(&a);
    arena_done(&a);
    assert_int_equal(mem_live_blocks(), n_live);
    assert_non_null(arena_alloc(&a, 1)); /* as after arena_init */
    arena_done(&a);
    assert_int_equal(mem_live_blocks(), n_live);
}

/* Pieces of every size are aligned, apart from each other, and keep what was written to them. */
static void test_pieces_are_aligned_and_apart(void **state)
{
    enum { N = 3000 };
    static unsigned char *pieces[N];
    struct arena a;
    (void)state;
    arena_init(&a, NULL);
    for (size_t i = 0; i < N; i++) {
        pieces[i] = arena_alloc(&a, i);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % alignof(max_align_t), 0);
        memset(pieces[i], (int)(i % 251), i);
    }
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < i; k++)
            assert_int_equal(pieces[i][k], i % 251);
    arena_done(&a);
}

static void test_blocks_double(void **state)
{
    struct arena a;
    int64_t n_live = mem_live_blocks();
    (void)state;
    arena_init(&a, NULL);
    for (int i = 0; i < 8 * 1024; i++)
        assert_non_null(arena_alloc(&a, 1000)); /* 8 MiB */
    assert_in_range(mem_live_blocks() - n_live, 8, 20);
    arena_done(&a);
}

/* What is larger than a block has one of its own, and the block in use goes on being used. */
static void test_large_pieces(void **state)
{
    struct arena_budget budget = {0};
    struct arena a;
    (void)state;
    arena_init(&a, &budget);
    char *first = arena_alloc(&a, 16);
    assert_non_null(first);
    char *large = arena_alloc(&a, 5 * MIB);
    assert_non_null(large);
    memset(large, 1, 5 * MIB);
    char *next = arena_alloc(&a, 16);
    assert_true(next > first && next - first <= 64);
    arena_reset(&a);
    assert_true(budget.n_bytes <= 8 * KIB); /* the large one went, the small one stayed */
    arena_done(&a);
    large = arena_alloc(&a, 2 * MIB); /* as the first of all */
    assert_non_null(large);
    memset(large, 1, 2 * MIB);
    arena_done(&a);
}

static void test_arrays(void **state)
{
    struct arena a;
    (void)state;
    arena_init(&a, NULL);
    memset(arena_alloc(&a, 4000), 0xff, 4000);
    arena_reset(&a);
    const unsigned char *zeros = arena_zalloc(&a, 10, 40);
    assert_non_null(zeros);
    for (int i = 0; i < 400; i++)
        assert_int_equal(zeros[i], 0);
    assert_non_null(arena_array(&a, 3, 7));
    assert_non_null(arena_zalloc(&a, 0, 8));
    assert_null(arena_array(&a, SIZE_MAX / 4, 5));
    assert_null(arena_zalloc(&a, SIZE_MAX / 4, 5));
    assert_null(arena_alloc(&a, SIZE_MAX));
    assert_null(arena_alloc(&a, SIZE_MAX - 20));
    assert_null(arena_alloc(&a, (size_t)PTRDIFF_MAX));
    arena_done(&a);
}

static void test_dup(void **state)
{
    struct arena a;
    char text[] = "hello";
    (void)state;
    arena_init(&a, NULL);
    struct span s = arena_dup(&a, span_cstr(text));
    text[0] = 'j';
    assert_span_equal("copy", s, SPAN("hello"));
    assert_int_equal(s.p[5], '\0');
    s = arena_dup(&a, (struct span){NULL, 0});
    assert_non_null(s.p);
    assert_int_equal(s.n, 0);
    assert_int_equal(s.p[0], '\0');
    arena_done(&a);
}

static void test_budget(void **state)
{
    struct arena_budget budget = {.max_bytes = 100 * KIB};
    struct arena a;
    size_t n = 0;
    (void)state;
    arena_init(&a, &budget);
    while (arena_alloc(&a, 1000))
        n += 1000;
    assert_true(budget.is_exceeded);
    assert_in_range(n, 80 * KIB, 100 * KIB); /* little of it is lost to heads and ends */
    assert_true(budget.n_bytes <= budget.max_bytes);
    assert_int_equal(budget.n_peak, budget.n_bytes);
    size_t n_peak = budget.n_peak;
    arena_done(&a);
    assert_int_equal(budget.n_bytes, 0);
    assert_int_equal(budget.n_peak, n_peak);
    assert_true(budget.is_exceeded); /* stays */
    assert_non_null(arena_alloc(&a, 1000));
    assert_null(arena_alloc(&a, 100 * KIB));
    arena_done(&a);
}

static void test_shared_budget(void **state)
{
    struct arena_budget budget = {.max_bytes = 64 * KIB};
    struct arena a, b;
    (void)state;
    arena_init(&a, &budget);
    arena_init(&b, &budget);
    assert_non_null(arena_alloc(&a, 40 * KIB));
    assert_null(arena_alloc(&b, 40 * KIB));
    assert_true(budget.is_exceeded);
    arena_done(&a);
    assert_non_null(arena_alloc(&b, 40 * KIB));
    assert_false(arena_budget_take(&budget, 40 * KIB));
    assert_true(arena_budget_take(&budget, 10 * KIB));
    arena_budget_give(&budget, 10 * KIB);
    arena_done(&b);
    assert_int_equal(budget.n_bytes, 0);
    assert_true(arena_budget_take(NULL, SIZE_MAX));
    arena_budget_give(NULL, SIZE_MAX);
}

static void test_reset_keeps_a_block(void **state)
{
    struct arena a;
    (void)state;
    arena_init(&a, NULL);
    for (int i = 0; i < 100; i++)
        assert_non_null(arena_alloc(&a, 1000));
    arena_reset(&a);
    uint64_t n_allocs = mem_count_total().n_allocs;
    int64_t n_live = mem_live_blocks();
    for (int i = 0; i < 50; i++)
        assert_non_null(arena_alloc(&a, 1000));
    assert_int_equal(mem_count_total().n_allocs, n_allocs);
    assert_int_equal(mem_live_blocks(), n_live);
    arena_done(&a);
}

static void test_arrays_grow(void **state)
{
    struct arena_budget budget = {.max_bytes = MIB};
    struct arena a;
    size_t cap = 0;
    uint32_t *at = NULL;
    (void)state;
    arena_init(&a, &budget);
    at = arena_grow(&a, at, 0, 0, &cap, sizeof(*at));
    assert_non_null(at); /* also for nothing: NULL is an error */
    for (uint32_t i = 0; i < 1000; i++) {
        size_t before = cap;
        uint32_t *wider = arena_grow(&a, at, i, 1, &cap, sizeof(*at));
        assert_non_null(wider);
        assert_true(i < before ? wider == at && cap == before : cap == 2 * before);
        at = wider;
        at[i] = i;
    }
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(at[i], i);
    at = arena_grow(&a, at, 1000, 5000, &cap, sizeof(*at)); /* more than twice */
    assert_non_null(at);
    assert_int_equal(cap, 6000);
    assert_int_equal(at[999], 999);
    at[5999] = 1;
    assert_null(arena_grow(&a, at, 6000, SIZE_MAX - 10, &cap, sizeof(*at)));
    assert_null(arena_grow(&a, at, 6000, SIZE_MAX / 4, &cap, sizeof(*at)));
    assert_false(budget.is_exceeded);
    assert_null(arena_grow(&a, at, 6000, MIB, &cap, sizeof(*at)));
    assert_true(budget.is_exceeded);
    assert_int_equal(cap, 6000);
    arena_done(&a);
}

static int use_without_memory(void *ctx)
{
    struct arena_budget budget = {.max_bytes = MIB};
    struct arena a;
    int r = 0;
    (void)ctx;
    arena_init(&a, &budget);
    for (int i = 0; i < 30 && r == 0; i++)
        r = arena_alloc(&a, 1000) ? 0 : -ENOMEM;
    if (r == 0)
        r = arena_dup(&a, SPAN("text")).p ? 0 : -ENOMEM;
    assert_false(budget.is_exceeded); /* there was no memory: that is another thing */
    arena_done(&a);
    assert_int_equal(budget.n_bytes, 0);
    return r;
}

static void test_allocation_failures(void **state)
{
    (void)state;
    assert_in_range(memfail_each(use_without_memory, NULL), 3, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_takes_nothing_before_it_is_used),
        cmocka_unit_test(test_pieces_are_aligned_and_apart),
        cmocka_unit_test(test_blocks_double),
        cmocka_unit_test(test_large_pieces),
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_arrays_grow),
        cmocka_unit_test(test_dup),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_shared_budget),
        cmocka_unit_test(test_reset_keeps_a_block),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests_name("base/arena", tests, NULL, NULL);
}
