/* SPDX-License-Identifier: Apache-2.0 */
#include "series/batch.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "base/mem.h"
#include "harness.h"
#include "memfail.h"

/* A label in a keeper's care. */
struct kept {
    struct keeper_piece piece;
    struct label label;
    char value[16];
};

static struct kept *kept_new(const char *value)
{
    struct kept *k = mem_zalloc(1, sizeof(*k));
    if (!k)
        return NULL;
    k->label = (struct label){
        SPAN("a"), span_of(k->value, span_copy(span_cstr(value), k->value, sizeof(k->value)))};
    return k;
}

static int add(struct batch *b, struct keeper *k, const struct kept *one, double v)
{
    return batch_add_kept(b, k, (struct labels){&one->label, 1}, sizeof(*one), 7, v);
}

static void assert_sample(const struct batch *b, size_t i, const char *value, double v)
{
    assert_span_equal(value, labels_get(b->at[i].labels, SPAN("a")), span_cstr(value));
    assert_true(b->at[i].v == v && b->at[i].t_ms == 7 && !b->at[i].h);
}

static struct batch *batch_of(struct keeper *k, const struct kept *one)
{
    struct batch *b = NULL;
    assert_int_equal(batch_new(&b), 0);
    assert_int_equal(add(b, k, one, 1), 0);
    return b;
}

/* What was let go of is there as long as a batch has it, and no longer than until it is tidied. */
static void test_let_go(void **state)
{
    struct keeper *k = NULL;
    int64_t n_blocks = mem_live_blocks();
    (void)state;
    assert_int_equal(keeper_new(&k), 0);
    struct kept *one = kept_new("one"), *two = kept_new("two");
    struct batch *b = batch_of(k, one), *other = batch_of(k, two);
    const struct label copied = {SPAN_INIT("a"), SPAN_INIT("three")};
    assert_int_equal(batch_add(b, (struct labels){&copied, 1}, 7, 3, NULL), 0);
    keeper_let_go(k, &one->piece);
    keeper_tidy(k);
    assert_sample(b, 0, "one", 1);
    assert_sample(b, 1, "three", 3);
    (void)batch_free(b);
    keeper_tidy(k); /* nobody knows that the other one has nothing of it */
    (void)batch_free(other);
    int64_t n_before = mem_live_blocks();
    keeper_tidy(k);
    assert_int_equal(mem_live_blocks(), n_before - 1);
    keeper_let_go(k, &two->piece);
    assert_null(keeper_free(k));
    assert_int_equal(mem_live_blocks(), n_blocks);
}

static void test_owner_goes_first(void **state)
{
    struct keeper *k = NULL, *other = NULL;
    int64_t n_blocks = mem_live_blocks();
    (void)state;
    assert_int_equal(keeper_new(&k), 0);
    assert_int_equal(keeper_new(&other), 0);
    struct kept *one = kept_new("one"), *two = kept_new("two");
    struct batch *b = batch_of(k, one);
    assert_int_equal(add(b, other, two, 2), 0);
    assert_int_equal(add(b, k, one, 3), 0);
    keeper_let_go(k, &one->piece);
    keeper_let_go(other, &two->piece);
    keeper_free(k);
    keeper_free(other);
    assert_sample(b, 0, "one", 1);
    assert_sample(b, 1, "two", 2);
    assert_sample(b, 2, "one", 3);
    (void)batch_free(b);
    assert_int_equal(mem_live_blocks(), n_blocks);
    assert_null(keeper_free(NULL));
    keeper_tidy(NULL);
}

/* Labels that are kept count as a batch's own. */
static void test_limit(void **state)
{
    struct keeper *k = NULL;
    struct batch *b = NULL;
    (void)state;
    assert_int_equal(keeper_new(&k), 0);
    assert_int_equal(batch_new(&b), 0);
    struct kept *one = kept_new("one");
    struct labels l = {&one->label, 1};
    assert_int_equal(batch_add_kept(b, k, l, BATCH_BYTES_MAX / 2, 7, 1), 0);
    assert_true(batch_bytes(b) > BATCH_BYTES_MAX / 2);
    assert_int_equal(batch_add_kept(b, k, l, BATCH_BYTES_MAX / 2, 7, 1), -E2BIG);
    assert_int_equal(b->n, 1);
    (void)batch_free(b);
    keeper_let_go(k, &one->piece);
    keeper_free(k);
}

static int keep_one(void *ctx)
{
    struct keeper *k = NULL;
    struct batch *b = NULL;
    struct kept *one = kept_new("one");
    int r = one ? keeper_new(&k) : -ENOMEM;
    (void)ctx;
    if (r == 0)
        r = batch_new(&b);
    if (r == 0)
        r = add(b, k, one, 1);
    if (k)
        keeper_let_go(k, &one->piece);
    else
        mem_free(one);
    keeper_free(k);
    (void)batch_free(b);
    return r;
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(keep_one, NULL) >= 4);
}

/* --- batches that are freed on another thread --- */

enum { N_BATCHES = 2000 };

static struct {
    pthread_mutex_t lock;
    struct batch *first;
    bool is_over;
} passed = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *take_batches(void *arg)
{
    double *sum = arg;
    for (bool is_over = false; !is_over;) {
        pthread_mutex_lock(&passed.lock);
        struct batch *b = passed.first;
        passed.first = b ? b->next : NULL;
        is_over = !b && passed.is_over;
        pthread_mutex_unlock(&passed.lock);
        if (!b) {
            (void)sched_yield();
            continue;
        }
        *sum += b->at[0].v + (double)labels_get(b->at[0].labels, SPAN("a")).n;
        (void)batch_free(b);
    }
    return NULL;
}

static void test_threads(void **state)
{
    struct keeper *k = NULL;
    double sum = 0;
    pthread_t taker;
    (void)state;
    assert_int_equal(keeper_new(&k), 0);
    assert_int_equal(pthread_create(&taker, NULL, take_batches, &sum), 0);
    for (int i = 0; i < N_BATCHES; i++) {
        struct kept *one = kept_new("one");
        struct batch *b = batch_of(k, one);
        pthread_mutex_lock(&passed.lock);
        b->next = passed.first;
        passed.first = b;
        pthread_mutex_unlock(&passed.lock);
        keeper_let_go(k, &one->piece);
        keeper_tidy(k);
    }
    keeper_free(k);
    pthread_mutex_lock(&passed.lock);
    passed.is_over = true;
    pthread_mutex_unlock(&passed.lock);
    assert_int_equal(pthread_join(taker, NULL), 0);
    assert_true(sum == 4.0 * N_BATCHES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_let_go),  cmocka_unit_test(test_owner_goes_first),
        cmocka_unit_test(test_limit),   cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
