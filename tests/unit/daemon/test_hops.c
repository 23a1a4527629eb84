/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/hops: one line per upstream in ten minutes, whoever tells it. */
#include "harness.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "daemon/hops.h"

static struct gateway_config *config_of(const char *const *names, size_t n)
{
    struct gateway_config *c = gateway_config_new();

    assert_non_null(c);
    c->n_upstreams = n;
    for (size_t i = 0; i < n; i++)
        span_copy(span_cstr(names[i]), c->upstreams[i].name, sizeof(c->upstreams[i].name));
    return c;
}

static mono_t at_s(int64_t s)
{
    return (mono_t){s * NS_PER_S};
}

static void test_each_upstream_now_and_then(void **state)
{
    static const char *const names[] = {"a", "b"};
    struct gateway_config *c = config_of(names, 2);
    struct hops h;
    (void)state;
    hops_init(&h, c);
    gateway_config_unref(c); /* as a reload does */
    assert_true(hops_is_due(&h, "a", at_s(5)));
    assert_false(hops_is_due(&h, "a", at_s(5)));
    assert_true(hops_is_due(&h, "b", at_s(6)));
    assert_false(hops_is_due(&h, "a", at_s(604)));
    assert_true(hops_is_due(&h, "a", at_s(605)));
    assert_false(hops_is_due(&h, "a", at_s(606)));
    assert_false(hops_is_due(&h, "b", at_s(605)));
    assert_false(hops_is_due(&h, "c", at_s(1000))); /* none of ours */
    assert_false(hops_is_due(&h, "", at_s(1000)));  /* refused before it was planned */
    hops_done(&h);
}

/* Several workers see it in the same moment. */
struct race {
    struct hops hops;
    atomic_int n_due;
    atomic_bool is_started;
};

static void *race_main(void *arg)
{
    struct race *r = arg;

    while (!atomic_load(&r->is_started))
        ;
    for (int64_t s = 1; s < 3600; s++)
        if (hops_is_due(&r->hops, "a", at_s(s)))
            atomic_fetch_add(&r->n_due, 1);
    return NULL;
}

static void test_workers_at_once(void **state)
{
    enum { N = 4 };
    static const char *const names[] = {"a"};
    struct gateway_config *c = config_of(names, 1);
    struct race r;
    pthread_t threads[N];
    (void)state;
    hops_init(&r.hops, c);
    atomic_init(&r.n_due, 0);
    atomic_init(&r.is_started, false);
    for (int i = 0; i < N; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, race_main, &r), 0);
    atomic_store(&r.is_started, true);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&r.n_due), 6); /* at 1, 601, ... 3001 */
    hops_done(&r.hops);
    gateway_config_unref(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_upstream_now_and_then),
        cmocka_unit_test(test_workers_at_once),
    };
    return cmocka_run_group_tests_name("daemon/hops", tests, NULL, NULL);
}
