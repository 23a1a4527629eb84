/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/key_use: both limits, the bucket over time, reloads, tickets, threads, lack of memory.
 */
#include "harness.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "memfail.h"
#include "policy/key_use.h"

static const unsigned char pepper[KEYRING_PEPPER_BYTES] = {1};

/* A ring of keys with these ids, one after the other, 8 characters each. */
static struct keyring *ring_of(const char *ids, uint32_t max_inflight, uint32_t per_minute)
{
    struct keyring_key rows[8] = {0};
    struct keyring *r = NULL;
    size_t n = strlen(ids) / KEYRING_ID_LEN;
    for (size_t i = 0; i < n; i++) {
        rows[i] = (struct keyring_key){.tenant = "t",
                                       .note = "",
                                       .max_inflight = max_inflight,
                                       .max_requests_per_minute = per_minute};
        memcpy(rows[i].id, ids + i * KEYRING_ID_LEN, KEYRING_ID_LEN);
    }
    assert_int_equal(keyring_new(pepper, rows, n, &r, NULL, NULL), 0);
    return r;
}

static struct key_use *use_of(const struct keyring *ring)
{
    struct key_use *u = NULL;
    assert_int_equal(key_use_new(&u), 0);
    assert_int_equal(key_use_sync(u, ring), 0);
    return u;
}

static mono_t at_ms(int64_t ms)
{
    return (mono_t){1000 * NS_PER_S + ms * NS_PER_MS};
}

static void so_many_in_flight(void **state)
{
    (void)state;
    struct keyring *ring = ring_of("aaaaaaaabbbbbbbb", 2, 0);
    struct key_use *u = use_of(ring);
    const struct keyring_key *a = keyring_at(ring, 0), *b = keyring_at(ring, 1);
    struct key_use_ticket t[4] = {0};
    uint32_t wait_s = 0;
    assert_int_equal(key_use_enter(u, a, at_ms(0), &t[0], &wait_s), KEY_USE_OK);
    assert_int_equal(key_use_enter(u, a, at_ms(0), &t[1], &wait_s), KEY_USE_OK);
    assert_int_equal(key_use_enter(u, a, at_ms(0), &t[2], &wait_s), KEY_USE_TOO_MANY);
    assert_int_equal(wait_s, 1);
    assert_int_equal(key_use_enter(u, b, at_ms(0), &t[3], &wait_s), KEY_USE_OK); /* another key */
    assert_int_equal(key_use_inflight(u, a), 2);
    key_use_leave(u, &t[2]); /* was not let in */
    assert_int_equal(key_use_inflight(u, a), 2);
    key_use_leave(u, &t[0]);
    key_use_leave(u, &t[0]); /* once only */
    assert_int_equal(key_use_inflight(u, a), 1);
    assert_int_equal(key_use_enter(u, a, at_ms(0), &t[2], &wait_s), KEY_USE_OK);
    key_use_free(u);
    keyring_unref(ring);
}

static void so_many_per_minute(void **state)
{
    (void)state;
    struct keyring *ring = ring_of("aaaaaaaa", 0, 6);
    struct key_use *u = use_of(ring);
    const struct keyring_key *k = keyring_at(ring, 0);
    struct key_use_ticket t;
    uint32_t wait_s = 0;
    for (int i = 0; i < 6; i++)
        assert_int_equal(key_use_enter(u, k, at_ms(0), &t, &wait_s), KEY_USE_OK);
    assert_int_equal(key_use_enter(u, k, at_ms(0), &t, &wait_s), KEY_USE_TOO_FAST);
    assert_int_equal(wait_s, 10);
    assert_int_equal(key_use_enter(u, k, at_ms(8500), &t, &wait_s), KEY_USE_TOO_FAST);
    assert_int_equal(wait_s, 2); /* 1.5 s, rounded up */
    assert_int_equal(key_use_enter(u, k, at_ms(8000), &t, &wait_s),
                     KEY_USE_TOO_FAST); /* late news */
    assert_int_equal(key_use_enter(u, k, at_ms(10000), &t, &wait_s), KEY_USE_OK);
    assert_int_equal(key_use_enter(u, k, at_ms(10001), &t, &wait_s), KEY_USE_TOO_FAST);
    for (int i = 0; i < 6; i++) /* full again, not fuller */
        assert_int_equal(key_use_enter(u, k, at_ms(1000000), &t, &wait_s), KEY_USE_OK);
    assert_int_equal(key_use_enter(u, k, at_ms(1000000), &t, &wait_s), KEY_USE_TOO_FAST);
    key_use_free(u);
    keyring_unref(ring);
}

/* Over an hour, whatever the pace of asking: the rate, and one bucket. */
static void the_rate_holds(void **state)
{
    (void)state;
    static const uint32_t rates[] = {1, 7, 60, 1000, 100000};
    for (size_t i = 0; i < ARRAY_LEN(rates); i++) {
        struct keyring *ring = ring_of("aaaaaaaa", 0, rates[i]);
        struct key_use *u = use_of(ring);
        struct key_use_ticket t;
        uint32_t wait_s;
        int64_t n = 0;
        for (int64_t ms = 0; ms < 600000; ms += 1) {
            for (int k = 0; k < 3; k++)
                n += key_use_enter(u, keyring_at(ring, 0), at_ms(ms), &t, &wait_s) == KEY_USE_OK;
        }
        int64_t want = rates[i] * INT64_C(11);
        assert_true(n <= want && n >= want - want / 1000 - 1);
        key_use_free(u);
        keyring_unref(ring);
    }
}

static void a_reload_keeps_what_is_used(void **state)
{
    (void)state;
    struct keyring *before = ring_of("bbbbbbbbaaaaaaaacccccccc", 1, 60);
    struct keyring *after = ring_of("ddddddddaaaaaaaa", 5, 1);
    struct key_use *u = use_of(before);
    const struct keyring_key *a = keyring_at(before, 0), *b = keyring_at(before, 1);
    const struct keyring_key *c = keyring_at(before, 2), *new_a = keyring_at(after, 0);
    struct key_use_ticket ta = {0}, tb = {0}, t = {0};
    uint32_t wait_s;
    assert_int_equal(key_use_enter(u, a, at_ms(0), &ta, &wait_s), KEY_USE_OK);
    assert_int_equal(key_use_enter(u, b, at_ms(0), &tb, &wait_s), KEY_USE_OK);
    assert_int_equal(key_use_sync(u, after), 0);
    assert_int_equal(key_use_inflight(u, new_a), 1); /* still, under new limits */
    assert_int_equal(key_use_enter(u, new_a, at_ms(0), &t, &wait_s), KEY_USE_TOO_FAST);
    assert_int_equal(key_use_inflight(u, b), 1); /* revoked, and still in flight */
    assert_int_equal(key_use_enter(u, c, at_ms(0), &t, &wait_s), KEY_USE_OK); /* forgotten */
    assert_int_equal(key_use_inflight(u, c), 0);
    key_use_leave(u, &t);
    key_use_leave(u, &tb);
    assert_int_equal(key_use_sync(u, after), 0);
    assert_int_equal(key_use_inflight(u, b), 0);
    key_use_leave(u, &tb);
    key_use_leave(u, &ta);
    assert_int_equal(key_use_inflight(u, new_a), 0);
    key_use_free(u);
    keyring_unref(before);
    keyring_unref(after);
    assert_null(key_use_free(NULL));
}

enum { THREADS = 4, ROUNDS = 20000 };

static struct {
    struct key_use *use;
    struct keyring *ring;
} shared;

static void *enter_and_leave(void *arg)
{
    const struct keyring_key *k = keyring_at(shared.ring, 0);
    intptr_t n = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct key_use_ticket t;
        uint32_t wait_s;
        if (key_use_enter(shared.use, k, at_ms(i), &t, &wait_s) != KEY_USE_OK)
            continue;
        n++;
        key_use_leave(shared.use, &t);
        if (arg && i % 100 == 0 && key_use_sync(shared.use, shared.ring) < 0)
            return NULL;
    }
    return (void *)n;
}

static void threads_share_it(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    intptr_t n = 0;
    shared.ring = ring_of("aaaaaaaabbbbbbbb", THREADS, 0);
    shared.use = use_of(shared.ring);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, enter_and_leave, i == 0 ? &shared : NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        void *r;
        assert_int_equal(pthread_join(threads[i], &r), 0);
        n += (intptr_t)r;
    }
    assert_int_equal(n, THREADS * ROUNDS);
    assert_int_equal(key_use_inflight(shared.use, keyring_at(shared.ring, 0)), 0);
    key_use_free(shared.use);
    keyring_unref(shared.ring);
}

static int sync_once(void *ctx)
{
    struct key_use *u;
    int r = key_use_new(&u);
    if (r < 0)
        return r;
    r = key_use_sync(u, ctx);
    key_use_free(u);
    return r;
}

static void without_memory(void **state)
{
    (void)state;
    struct keyring *ring = ring_of("aaaaaaaa", 1, 0);
    assert_int_equal(memfail_each(sync_once, ring), 2);
    keyring_unref(ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_many_in_flight), cmocka_unit_test(so_many_per_minute),
        cmocka_unit_test(the_rate_holds),    cmocka_unit_test(a_reload_keeps_what_is_used),
        cmocka_unit_test(threads_share_it),  cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
