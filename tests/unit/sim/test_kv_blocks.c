/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <errno.h>

#include "base/rng.h"
#include "memfail.h"
#include "sim/kv_blocks.h"

enum { PREFIX = 7 };

static struct kv_blocks blocks_of(int64_t n)
{
    struct kv_blocks k;
    assert_int_equal(kv_blocks_init(&k, n), 0);
    return k;
}

static struct kv_held nothing(void)
{
    struct kv_held h;
    kv_held_init(&h);
    return h;
}

static void assert_sound(const struct kv_blocks *k, int64_t n_own, int64_t n_shared)
{
    const char *wrong = kv_blocks_check(k, n_own, n_shared);
    assert_string_equal(wrong ? wrong : "", "");
}

static void test_take_and_release(void **state)
{
    struct kv_blocks k = blocks_of(5);
    struct kv_held a = nothing(), b = nothing();
    (void)state;
    assert_true(kv_blocks_grow(&k, &a, 2, 0, 0));
    assert_true(kv_blocks_grow(&k, &b, 2, 0, 0));
    assert_false(kv_blocks_grow(&k, &a, 4, 0, 0)); /* one is left */
    assert_int_equal(a.n, 2);
    assert_int_equal(k.n_free, 1);
    assert_true(kv_blocks_grow(&k, &a, 3, 0, 0));
    assert_true(kv_blocks_grow(&k, &a, 3, 0, 0)); /* it has them */
    assert_sound(&k, 5, 0);
    kv_blocks_release(&k, &a);
    assert_int_equal(k.n_free, 3);
    kv_blocks_release(&k, &a); /* it holds nothing any more */
    kv_blocks_release(&k, &b);
    assert_int_equal(k.n_free, 5);
    assert_sound(&k, 0, 0);
    kv_blocks_done(&k);
}

static void test_prefix_is_found(void **state)
{
    struct kv_blocks k = blocks_of(8);
    struct kv_held a = nothing(), b = nothing(), c = nothing();
    int64_t n_free;
    (void)state;
    assert_int_equal(kv_blocks_find(&k, PREFIX, 9, &n_free), 0);
    assert_true(kv_blocks_grow(&k, &a, 4, PREFIX, 3)); /* the fourth is not whole */
    assert_int_equal(a.n_shared, 3);
    assert_int_equal(kv_blocks_find(&k, PREFIX, 9, &n_free), 3);
    assert_int_equal(n_free, 0);
    assert_int_equal(kv_blocks_find(&k, PREFIX, 2, &n_free), 2);
    assert_int_equal(kv_blocks_find(&k, PREFIX + 1, 9, &n_free), 0);
    kv_blocks_share(&k, &b, PREFIX, 2);
    assert_sound(&k, 1, 5);
    assert_int_equal(k.n_free, 4);
    kv_blocks_release(&k, &a);
    assert_int_equal(k.n_free, 6); /* b has two */
    assert_int_equal(kv_blocks_find(&k, PREFIX, 9, &n_free), 3);
    assert_int_equal(n_free, 1);
    kv_blocks_release(&k, &b);
    assert_int_equal(k.n_free, 8);
    kv_blocks_share(&k, &c, PREFIX, 3); /* still there though nobody held them */
    assert_int_equal(k.n_free, 5);
    assert_sound(&k, 0, 3);
    kv_blocks_release(&k, &c);
    kv_blocks_done(&k);
}

static void test_last_block_becomes_whole(void **state)
{
    struct kv_blocks k = blocks_of(8);
    struct kv_held a = nothing();
    int64_t n_free;
    (void)state;
    assert_true(kv_blocks_grow(&k, &a, 2, PREFIX, 1));
    assert_int_equal(kv_blocks_find(&k, PREFIX, 9, &n_free), 1);
    assert_true(kv_blocks_grow(&k, &a, 4, PREFIX, 3));
    assert_int_equal(kv_blocks_find(&k, PREFIX, 9, &n_free), 3);
    assert_int_equal(a.n_shared, 3);
    assert_sound(&k, 1, 3);
    kv_blocks_release(&k, &a);
    assert_sound(&k, 0, 0);
    kv_blocks_done(&k);
}

/* The end of a prefix is taken before its beginning, and what was freed first before all. */
static void test_oldest_goes_first(void **state)
{
    struct kv_blocks k = blocks_of(6);
    struct kv_held a = nothing(), b = nothing(), c = nothing();
    int64_t n_free;
    (void)state;
    assert_true(kv_blocks_grow(&k, &a, 3, PREFIX, 3));
    assert_true(kv_blocks_grow(&k, &b, 3, PREFIX + 1, 3));
    kv_blocks_release(&k, &a);
    kv_blocks_release(&k, &b);
    for (int64_t i = 1; i <= 6; i++) {
        assert_true(kv_blocks_grow(&k, &c, i, 0, 0));
        assert_int_equal(kv_blocks_find(&k, PREFIX, 9, &n_free), i < 3 ? 3 - i : 0);
        assert_int_equal(kv_blocks_find(&k, PREFIX + 1, 9, &n_free), i < 3 ? 3 : 6 - i);
    }
    kv_blocks_release(&k, &c);
    assert_sound(&k, 0, 0);
    kv_blocks_done(&k);
}

/* Who holds a block of before forgetting shares no more; others begin anew. */
static void test_forget(void **state)
{
    struct kv_blocks k = blocks_of(12);
    struct kv_held a = nothing(), b = nothing(), c = nothing();
    int64_t n_free;
    (void)state;
    assert_true(kv_blocks_grow(&k, &a, 2, PREFIX, 2));
    kv_blocks_forget(&k);
    assert_int_equal(kv_blocks_find(&k, PREFIX, 9, &n_free), 0);
    assert_true(kv_blocks_grow(&k, &a, 3, PREFIX, 3));
    assert_int_equal(a.n_shared, 2);
    assert_true(kv_blocks_grow(&k, &b, 4, PREFIX, 4));
    assert_int_equal(kv_blocks_find(&k, PREFIX, 9, &n_free), 4);
    kv_blocks_share(&k, &c, PREFIX, 4);
    assert_sound(&k, 1, 10);
    kv_blocks_release(&k, &a);
    kv_blocks_release(&k, &b);
    kv_blocks_release(&k, &c);
    assert_int_equal(k.n_free, 12);
    assert_sound(&k, 0, 0);
    kv_blocks_done(&k);
}

static void test_loss(void **state)
{
    struct kv_blocks k = blocks_of(6);
    struct kv_held a = nothing();
    int64_t n_free;
    (void)state;
    assert_true(kv_blocks_grow(&k, &a, 4, PREFIX, 4));
    kv_blocks_lose(&k, 5);
    assert_int_equal(k.n_lost, 2); /* as many as are free */
    assert_int_equal(k.n_free, 0);
    assert_false(kv_blocks_grow(&k, &a, 5, 0, 0));
    assert_sound(&k, 0, 4);
    kv_blocks_release(&k, &a); /* its last three go, too */
    assert_int_equal(k.n_lost, 5);
    assert_int_equal(k.n_free, 1);
    assert_int_equal(kv_blocks_find(&k, PREFIX, 9, &n_free), 1);
    assert_sound(&k, 0, 0);
    kv_blocks_lose(&k, 0);
    assert_int_equal(k.n_free, 6);
    assert_sound(&k, 0, 0);
    kv_blocks_done(&k);
}

static int attempt(void *ctx)
{
    struct kv_blocks k;
    int r = kv_blocks_init(&k, 10);
    (void)ctx;
    if (r == 0)
        kv_blocks_done(&k);
    return r;
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_int_equal(memfail_each(attempt, NULL), 2);
}

/* Whatever happens, each block is in one place. */
static void test_random_walk(void **state)
{
    enum { HOLDERS = 6, STEPS = 20000 };
    struct kv_blocks k = blocks_of(24);
    struct kv_held h[HOLDERS];
    uint64_t prefix[HOLDERS] = {0};
    struct rng rng;
    (void)state;
    rng_seed(&rng, 3);
    for (int i = 0; i < HOLDERS; i++)
        kv_held_init(&h[i]);
    for (int step = 0; step < STEPS; step++) {
        int i = (int)rng_below(&rng, HOLDERS);
        int64_t n_own = 0, n_shared = 0, n_free;
        if (h[i].n == 0) {
            prefix[i] = rng_below(&rng, 3);
            kv_blocks_share(&k, &h[i], prefix[i],
                            kv_blocks_find(&k, prefix[i], (int64_t)rng_below(&rng, 8), &n_free));
        } else if (rng_below(&rng, 4) == 0) {
            kv_blocks_release(&k, &h[i]);
        }
        int64_t n = h[i].n + (int64_t)rng_below(&rng, 4);
        (void)kv_blocks_grow(&k, &h[i], n, prefix[i], n - (int64_t)rng_below(&rng, 3));
        if (rng_below(&rng, 50) == 0)
            kv_blocks_lose(&k, (int64_t)rng_below(&rng, 20));
        if (rng_below(&rng, 200) == 0)
            kv_blocks_forget(&k);
        for (int j = 0; j < HOLDERS; j++) {
            n_own += h[j].n - h[j].n_shared;
            n_shared += h[j].n_shared;
        }
        assert_sound(&k, n_own, n_shared);
    }
    kv_blocks_done(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_take_and_release),
        cmocka_unit_test(test_prefix_is_found),
        cmocka_unit_test(test_last_block_becomes_whole),
        cmocka_unit_test(test_oldest_goes_first),
        cmocka_unit_test(test_forget),
        cmocka_unit_test(test_loss),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_random_walk),
    };
    return cmocka_run_group_tests_name("sim/kv_blocks", tests, NULL, NULL);
}
