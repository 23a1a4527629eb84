/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_prefix.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "memfail.h"

enum { BLOCK = 4 };

static struct sim_prefix take(struct sim_prefixes *p, const char *a, const char *b)
{
    struct span parts[2] = {span_cstr(a), span_cstr(b)};
    return sim_prefixes_take(p, parts, 2);
}

static void test_families(void **state)
{
    struct sim_prefixes *p = NULL;
    struct sim_prefix first, other;
    (void)state;
    assert_int_equal(sim_prefixes_new(BLOCK, &p), 0);
    assert_int_equal(take(p, "abc", "").id, 0); /* less than a block */
    first = take(p, "aaaabbbbcc", "");
    assert_int_equal(first.n_blocks, 2);
    assert_int_equal(take(p, "aaaabbbbxx", "").n_blocks, 2); /* the last block is not whole */
    assert_int_equal(take(p, "aaaabbbb", "").id, first.id);
    assert_int_equal(take(p, "aa", "aabbbb").n_blocks, 2); /* parts make no difference */
    assert_int_equal(take(p, "aaaaxxxxbbbb", "").n_blocks, 1);
    assert_int_equal(take(p, "aaaabbbbcccc", "dddd").n_blocks, 4); /* the next turn */
    assert_int_equal(take(p, "aaaabbbbccccddddeeee", "").n_blocks, 5);
    assert_int_equal(take(p, "aaaabbbbccccxxxx", "").n_blocks, 3);
    other = take(p, "xxxxbbbb", "");
    assert_int_equal(other.n_blocks, 2);
    assert_true(other.id != first.id && other.id != 0);
    p = sim_prefixes_free(p);
}

static void test_oldest_goes(void **state)
{
    struct sim_prefixes *p = NULL;
    char text[24];
    (void)state;
    assert_int_equal(sim_prefixes_new(BLOCK, &p), 0);
    assert_int_equal(take(p, "keepmore", "").n_blocks, 2);
    assert_int_equal(take(p, "lostmore", "").n_blocks, 2);
    assert_int_equal(take(p, "keepmore", "").n_blocks, 2);
    for (int i = 0; i < SIM_PREFIX_FAMILIES - 1; i++) {
        (void)snprintf(text, sizeof(text), "%04d", i);
        assert_int_equal(take(p, text, "").n_blocks, 1);
    }
    assert_int_equal(take(p, "keepxxxx", "").n_blocks, 1);     /* is known */
    assert_int_equal(take(p, "lostxxxxyyyy", "").n_blocks, 3); /* was not, begins anew */
    p = sim_prefixes_free(p);
}

static void test_long(void **state)
{
    static char text[(SIM_PREFIX_BLOCKS + 9) * BLOCK];
    struct span part = {text, sizeof(text)};
    struct sim_prefixes *p = NULL;
    (void)state;
    memset(text, 'a', sizeof(text));
    assert_int_equal(sim_prefixes_new(BLOCK, &p), 0);
    assert_int_equal(sim_prefixes_take(p, &part, 1).n_blocks, SIM_PREFIX_BLOCKS);
    assert_int_equal(sim_prefixes_take(p, &part, 1).n_blocks, SIM_PREFIX_BLOCKS);
    p = sim_prefixes_free(p);
}

static int attempt(void *ctx)
{
    struct sim_prefixes *p = NULL;
    int r = sim_prefixes_new(BLOCK, &p);
    (void)ctx;
    if (r == 0 && take(p, "aaaa", "").id == 0)
        r = -ENOMEM; /* like no other */
    p = sim_prefixes_free(p);
    return r;
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_int_equal(memfail_each(attempt, NULL), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_oldest_goes),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
