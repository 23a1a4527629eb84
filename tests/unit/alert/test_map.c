/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include "alert/map.h"
#include "base/mem.h"
#include "base/rng.h"

enum { THINGS = 3000 };

struct thing {
    struct alert_map_node node;
    int number;
    bool is_in;
};

static int count(void *ctx, struct alert_map_node *node)
{
    (void)node;
    ++*(int *)ctx;
    return 0;
}

static int stop_at_third(void *ctx, struct alert_map_node *node)
{
    (void)node;
    return ++*(int *)ctx == 3 ? 7 : 0;
}

static bool is_found(const struct alert_map *m, const struct thing *t, uint64_t hash)
{
    struct alert_map_node *node = alert_map_first(m, hash);
    while (node && ALERT_MAP_ENTRY(node, struct thing, node) != t)
        node = alert_map_next(node);
    return node != NULL;
}

/* Against flags; hashes of several things are the same. */
static void against_flags(bool fails)
{
    static struct thing things[THINGS];
    struct alert_map m;
    struct rng rng;
    size_t n = 0;
    memset(things, 0, sizeof(things));
    alert_map_init(&m);
    rng_seed(&rng, 11);
    if (fails)
        mem_fail_from(2);
    for (int i = 0; i < 20000; i++) {
        struct thing *t = &things[rng_below(&rng, THINGS)];
        uint64_t hash = (uint64_t)(t - things) / 3;
        assert_int_equal(is_found(&m, t, hash), t->is_in);
        if (t->is_in)
            alert_map_remove(&m, &t->node);
        else
            alert_map_add(&m, &t->node, hash);
        t->is_in = !t->is_in;
        n += t->is_in ? 1 : (size_t)-1;
        assert_int_equal(m.n, n);
    }
    mem_fail_off();
    int seen = 0;
    assert_int_equal(alert_map_each(&m, count, &seen), 0);
    assert_int_equal(seen, n);
    seen = 0;
    assert_int_equal(alert_map_each(&m, stop_at_third, &seen), 7);
    assert_int_equal(seen, 3);
    alert_map_done(&m);
}

static void test_against_flags(void **state)
{
    (void)state;
    against_flags(false);
}

static void test_without_memory_it_goes_on(void **state)
{
    (void)state;
    against_flags(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_flags),
        cmocka_unit_test(test_without_memory_it_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
