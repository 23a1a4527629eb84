/* SPDX-License-Identifier: Apache-2.0 */
#include "base/queue.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/mem.h"
#include "harness.h"
#include "memfail.h"

static int items[8];

static bool is_readable(const struct queue *q)
{
    struct pollfd pfd = {.fd = queue_fd(q), .events = POLLIN};
    return poll(&pfd, 1, 0) == 1;
}

static struct queue *new_queue(size_t capacity)
{
    struct queue *q = NULL;
    assert_int_equal(queue_new(capacity, &q), 0);
    return q;
}

static void test_order_and_capacity(void **state)
{
    struct queue *q = new_queue(3);
    void *out[5];
    (void)state;
    assert_int_equal(queue_capacity(q), 3);
    assert_null(queue_pop(q));
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 3; i++)
            assert_int_equal(queue_push(q, &items[i]), 0);
        assert_int_equal(queue_push(q, &items[3]), -ENOBUFS);
        assert_int_equal(queue_len(q), 3);
        assert_ptr_equal(queue_pop(q), &items[0]);
        assert_int_equal(queue_push(q, &items[4]), 0);
        assert_int_equal(queue_pop_many(q, out, 2), 2);
        assert_ptr_equal(out[0], &items[1]);
        assert_ptr_equal(out[1], &items[2]);
        assert_int_equal(queue_pop_many(q, out, 5), 1);
        assert_ptr_equal(out[0], &items[4]);
        assert_int_equal(queue_pop_many(q, out, 5), 0);
        assert_int_equal(queue_len(q), 0);
    }
    assert_null(queue_free(q, NULL));
}

/* Messages that are taken as soon as they come need no more memory than the few that wait. */
static void test_an_idle_ring_stays_small(void **state)
{
    enum { N_SLOTS = 1 << 20, BYTES_PER_PAGE = 4096, N_PAGES = N_SLOTS * 8 / BYTES_PER_PAGE };
    struct queue *q = new_queue(N_SLOTS);
    struct rusage before;
    struct rusage after;
    (void)state;
    assert_int_equal(queue_push(q, &items[0]), 0); /* the first page, whatever else is lazy */
    assert_ptr_equal(queue_pop(q), &items[0]);
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < N_SLOTS / 4; i++) {
        assert_int_equal(queue_push(q, &items[1]), 0);
        assert_int_equal(queue_push(q, &items[2]), 0);
        assert_ptr_equal(queue_pop(q), &items[1]);
        assert_ptr_equal(queue_pop(q), &items[2]);
    }
    getrusage(RUSAGE_SELF, &after);
    assert_in_range(after.ru_minflt - before.ru_minflt, 0, N_PAGES / 4);
    assert_null(queue_free(q, NULL));
}

/* Never empty, so that its front goes round. */
static void test_the_ring_wraps(void **state)
{
    struct queue *q = new_queue(3);
    (void)state;
    assert_int_equal(queue_push(q, &items[0]), 0);
    for (int i = 1; i < 30; i++) {
        assert_int_equal(queue_push(q, &items[i % 8]), 0);
        assert_ptr_equal(queue_pop(q), &items[(i - 1) % 8]);
    }
    assert_ptr_equal(queue_pop(q), &items[29 % 8]);
    assert_null(queue_free(q, NULL));
}

static void test_bad_arguments(void **state)
{
    struct queue *q = (struct queue *)items;
    struct rlimit limit;
    (void)state;
    assert_int_equal(queue_new(0, &q), -EINVAL);
    assert_ptr_equal(q, items); /* untouched */
    assert_null(queue_free(NULL, NULL));

    int64_t n_live = mem_live_blocks();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int r = queue_new(1, &q);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(r, -EMFILE);
    assert_ptr_equal(q, items);
    assert_int_equal(mem_live_blocks(), n_live);
}

static void test_descriptor(void **state)
{
    struct queue *q = new_queue(4);
    (void)state;
    assert_false(is_readable(q));
    assert_int_equal(queue_push(q, &items[0]), 0);
    assert_int_equal(queue_push(q, &items[1]), 0);
    assert_true(is_readable(q));
    assert_ptr_equal(queue_pop(q), &items[0]);
    assert_true(is_readable(q)); /* one is left */
    assert_ptr_equal(queue_pop(q), &items[1]);
    assert_null(queue_pop(q)); /* seen empty: silent */
    assert_false(is_readable(q));
    assert_int_equal(queue_push(q, &items[2]), 0);
    assert_true(is_readable(q));
    assert_ptr_equal(queue_pop(q), &items[2]);
    queue_close(q);
    assert_null(queue_pop(q));
    assert_true(is_readable(q)); /* the end stays visible to an event loop */
    queue_free(q, NULL);
}

static void test_close(void **state)
{
    struct queue *q = new_queue(4);
    (void)state;
    assert_int_equal(queue_push(q, &items[0]), 0);
    assert_false(queue_is_done(q));
    queue_close(q);
    assert_int_equal(queue_push(q, &items[1]), -EPIPE);
    assert_false(queue_is_done(q)); /* not empty */
    queue_wait(q, -1);              /* returns at once */
    assert_ptr_equal(queue_pop(q), &items[0]);
    assert_true(queue_is_done(q));
    queue_wait(q, -1);
    queue_close(q); /* idempotent */
    assert_true(queue_is_done(q));
    queue_free(q, NULL);
}

static void test_free_hands_back_what_is_inside(void **state)
{
    struct queue *q = new_queue(4);
    int64_t n_live = mem_live_blocks();
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(queue_push(q, mem_alloc(10)), 0);
    queue_free(q, mem_free);
    assert_int_equal(n_live - mem_live_blocks(), 2); /* the queue itself is two blocks */
}

static void test_wait_times_out(void **state)
{
    struct queue *q = new_queue(1);
    (void)state;
    queue_wait(q, 0);
    mono_t start = clock_mono();
    queue_wait(q, 30);
    assert_true(mono_diff(clock_mono(), start) >= 29 * NS_PER_MS);
    /* A bell that rang for a message already taken must not cut the wait short. */
    assert_int_equal(queue_push(q, &items[0]), 0);
    assert_ptr_equal(queue_pop(q), &items[0]);
    start = clock_mono();
    queue_wait(q, 30);
    assert_true(mono_diff(clock_mono(), start) >= 29 * NS_PER_MS);
    queue_free(q, NULL);
}

enum { N_SENDERS = 4, N_MESSAGES = 5000 };

struct message {
    int sender;
    int number;
};

struct sender {
    struct queue *q;
    int id;
    int n_refused;
};

static void *send_all(void *arg)
{
    struct sender *s = arg;
    for (int i = 0; i < N_MESSAGES; i++) {
        struct message *m = mem_alloc(sizeof(*m));
        if (!m)
            abort();
        *m = (struct message){s->id, i};
        while (queue_push(s->q, m) == -ENOBUFS) { /* a real sender would drop and count */
            s->n_refused++;
            sched_yield();
        }
    }
    return NULL;
}

/* Every message arrives once, in the order of its sender, and no wake-up is lost. */
static void run_senders(size_t capacity, size_t batch)
{
    struct queue *q = new_queue(capacity);
    struct sender senders[N_SENDERS];
    pthread_t threads[N_SENDERS];
    int next[N_SENDERS] = {0};
    void *out[64];
    int n_received = 0;
    for (int i = 0; i < N_SENDERS; i++) {
        senders[i] = (struct sender){.q = q, .id = i};
        assert_int_equal(pthread_create(&threads[i], NULL, send_all, &senders[i]), 0);
    }
    while (n_received < N_SENDERS * N_MESSAGES) {
        size_t n = queue_pop_many(q, out, batch);
        if (n == 0)
            queue_wait(q, -1);
        for (size_t i = 0; i < n; i++) {
            struct message *m = out[i];
            assert_int_equal(m->number, next[m->sender]);
            next[m->sender]++;
            mem_free(m);
            n_received++;
        }
    }
    for (int i = 0; i < N_SENDERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_null(queue_pop(q));
    queue_free(q, NULL);
}

static void test_many_senders(void **state)
{
    (void)state;
    run_senders(100, 64);
    run_senders(2, 1); /* nearly always full or empty */
}

/* The way an event loop uses it: poll the descriptor, take one batch, poll again. */
static void test_event_loop_receiver(void **state)
{
    struct queue *q = new_queue(64);
    struct sender sender = {.q = q};
    pthread_t thread;
    int n_received = 0;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, send_all, &sender), 0);
    while (n_received < N_MESSAGES) {
        struct pollfd pfd = {.fd = queue_fd(q), .events = POLLIN};
        assert_int_equal(poll(&pfd, 1, 20000), 1); /* 0 would be a lost wake-up */
        struct message *m = queue_pop(q);
        if (!m)
            continue;
        assert_int_equal(m->number, n_received++);
        mem_free(m);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    queue_free(q, NULL);
}

static void *close_it(void *arg)
{
    queue_close(arg);
    return NULL;
}

static void test_close_wakes_the_receiver(void **state)
{
    struct queue *q = new_queue(1);
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, close_it, q), 0);
    queue_wait(q, -1);
    assert_true(queue_is_done(q));
    assert_int_equal(pthread_join(thread, NULL), 0);
    queue_free(q, NULL);
}

static int create_without_memory(void *ctx)
{
    struct queue *q = ctx;
    int r = queue_new(10, &q);
    if (r == 0)
        queue_free(q, NULL);
    else
        assert_ptr_equal(q, ctx); /* untouched */
    return r;
}

static void test_allocation_failures(void **state)
{
    (void)state;
    assert_int_equal(memfail_each(create_without_memory, items), 2);
}

/* Pushing takes no memory, so it works when there is none. */
static void test_push_does_not_allocate(void **state)
{
    struct queue *q = new_queue(2);
    (void)state;
    mem_fail_from(1);
    int r = queue_push(q, &items[0]);
    void *m = queue_pop(q);
    mem_fail_off();
    assert_int_equal(r, 0);
    assert_ptr_equal(m, &items[0]);
    queue_free(q, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_and_capacity),
        cmocka_unit_test(test_an_idle_ring_stays_small),
        cmocka_unit_test(test_the_ring_wraps),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_descriptor),
        cmocka_unit_test(test_close),
        cmocka_unit_test(test_free_hands_back_what_is_inside),
        cmocka_unit_test(test_wait_times_out),
        cmocka_unit_test(test_many_senders),
        cmocka_unit_test(test_event_loop_receiver),
        cmocka_unit_test(test_close_wakes_the_receiver),
        cmocka_unit_test(test_allocation_failures),
        cmocka_unit_test(test_push_does_not_allocate),
    };
    return cmocka_run_group_tests_name("base/queue", tests, NULL, NULL);
}
