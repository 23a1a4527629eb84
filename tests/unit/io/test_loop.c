/* SPDX-License-Identifier: Apache-2.0 */
#include "io/loop.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"
#include "harness.h"
#include "memfail.h"
#include "peer.h"

static struct loop *loop;
static char trace[256]; /* what happened, one character each */

static void note(char c)
{
    size_t n = strlen(trace);

    assert_true(n + 1 < sizeof(trace));
    trace[n] = c;
}

static int setup(void **state)
{
    (void)state;
    memset(trace, 0, sizeof(trace));
    return loop_new(&loop);
}

static int teardown(void **state)
{
    (void)state;
    loop = loop_free(loop);
    return 0;
}

/* --- descriptors --- */

struct bell {
    struct watch w;
    char name;
    struct bell *victim; /* unwatched when this one rings */
};

static void bell_on_ready(struct watch *w, uint32_t events)
{
    struct bell *b = CONTAINER_OF(w, struct bell, w);

    assert_true(events & EPOLLIN);
    note(b->name);
    if (b->victim)
        loop_unwatch(loop, &b->victim->w);
    b->victim = NULL;
}

static void bell_open(struct bell *b, char name, uint32_t events)
{
    *b = (struct bell){.name = name, .w = {.fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC)}};
    b->w.on_ready = bell_on_ready;
    assert_true(b->w.fd >= 0);
    assert_int_equal(loop_watch(loop, &b->w, events), 0);
}

static void bell_close(struct bell *b)
{
    loop_unwatch(loop, &b->w);
    loop_unwatch(loop, &b->w); /* idempotent */
    close(b->w.fd);
    b->w.fd = -1;
    loop_unwatch(loop, &b->w);
}

static void test_watch(void **state)
{
    struct bell level, edge;
    (void)state;
    bell_open(&level, 'l', EPOLLIN);
    bell_open(&edge, 'e', EPOLLIN | EPOLLET);
    loop_turn(loop, -1);
    loop_turn(loop, -1);
    loop_turn(loop, -1);
    assert_int_equal(strlen(trace), 4); /* the edge once */
    assert_int_equal(loop_rewatch(loop, &edge.w, EPOLLIN), 0);
    bell_close(&level);
    memset(trace, 0, sizeof(trace));
    loop_turn(loop, -1);
    assert_string_equal(trace, "e");
    bell_close(&edge);
    loop_turn(loop, 0);
    assert_string_equal(trace, "e");
    assert_int_equal(loop_rewatch(loop, &edge.w, EPOLLIN), -EBADF);
}

/* Both are ready in the same turn; the first one told closes the other. */
static void test_unwatch_in_same_batch(void **state)
{
    struct bell a, b;
    (void)state;
    bell_open(&a, 'x', EPOLLIN | EPOLLET);
    bell_open(&b, 'x', EPOLLIN | EPOLLET);
    a.victim = &b;
    b.victim = &a;
    loop_turn(loop, 0);
    loop_turn(loop, 0);
    assert_string_equal(trace, "x");
    bell_close(&a);
    bell_close(&b);
}

/* --- tasks --- */

struct step {
    struct task t;
    char name;
    struct step *defers, *cancels;
};

static void step_run(struct task *t)
{
    struct step *s = CONTAINER_OF(t, struct step, t);

    note(s->name);
    if (s->defers)
        loop_defer(loop, &s->defers->t);
    if (s->cancels)
        task_cancel(&s->cancels->t);
}

static void step_init(struct step *s, char name)
{
    *s = (struct step){.name = name};
    task_init(&s->t, step_run);
}

static void test_tasks(void **state)
{
    struct step a, b, c;
    (void)state;
    step_init(&a, 'a');
    step_init(&b, 'b');
    step_init(&c, 'c');
    loop_defer(loop, &a.t);
    loop_defer(loop, &b.t);
    loop_defer(loop, &a.t); /* once is enough */
    loop_turn(loop, -1);    /* does not wait */
    assert_string_equal(trace, "ab");

    a.defers = &a; /* the next turn, not this one for ever */
    a.cancels = &c;
    loop_defer(loop, &a.t);
    loop_defer(loop, &c.t);
    loop_turn(loop, -1);
    assert_string_equal(trace, "aba");
    loop_turn(loop, -1);
    assert_string_equal(trace, "abaa");
    task_cancel(&a.t);
    task_cancel(&a.t);
    loop_turn(loop, 0);
    assert_string_equal(trace, "abaa");

    a.defers = &b; /* b waits already: it runs now, and only once */
    a.cancels = NULL;
    loop_defer(loop, &a.t);
    loop_defer(loop, &b.t);
    loop_turn(loop, 0);
    loop_turn(loop, 0);
    assert_string_equal(trace, "abaaab");
}

/* --- order of a turn, timers --- */

static struct step order_task;
static struct timer order_timer;

static void order_on_timer(struct timer *t)
{
    (void)t;
    note('t');
}

static void order_on_post(void *arg)
{
    (void)arg;
    note('p');
    loop_defer(loop, &order_task.t);
}

static void test_order(void **state)
{
    struct bell b;
    (void)state;
    step_init(&order_task, 'k');
    timer_init(&order_timer, order_on_timer);
    loop_timer_start(loop, &order_timer, 0);
    bell_open(&b, 'f', EPOLLIN | EPOLLET);
    assert_int_equal(loop_post(loop, order_on_post, NULL), 0);
    usleep(2000); /* the timer's tick has passed when the turn begins */
    loop_turn(loop, -1);
    assert_string_equal(trace, "fpkt");
    bell_close(&b);
}

static void test_timer_wakes(void **state)
{
    mono_t begin = clock_mono();
    (void)state;
    timer_init(&order_timer, order_on_timer);
    loop_timer_start(loop, &order_timer, 5 * NS_PER_MS);
    while (trace[0] == '\0')
        loop_turn(loop, -1);
    assert_true(mono_diff(loop_now(loop), begin) >= 5 * NS_PER_MS);
    loop_timer_start(loop, &order_timer, 0);
    loop_timer_stop(loop, &order_timer);
    loop_turn(loop, 3 * NS_PER_MS);
    assert_string_equal(trace, "t");
}

static void test_waits_as_told(void **state)
{
    mono_t begin = clock_mono();
    (void)state;
    loop_turn(loop, 0);
    loop_turn(loop, 3 * NS_PER_MS);
    assert_true(mono_diff(clock_mono(), begin) >= 3 * NS_PER_MS);
}

/* --- other threads --- */

enum { N_SENDERS = 3, N_POSTS = 2000 };

struct sender {
    pthread_t thread;
    int n_seen;
    int index;
};

struct message {
    struct sender *from;
    int number;
};

static int n_done;

static void on_message(void *arg)
{
    struct message *m = arg;

    assert_int_equal(m->number, m->from->n_seen); /* in order of posting */
    m->from->n_seen++;
    if (m->from->n_seen == N_POSTS && ++n_done == N_SENDERS)
        loop_stop(loop);
    mem_free(m);
}

static void *sender_main(void *arg)
{
    struct sender *s = arg;

    for (int i = 0; i < N_POSTS; i++) {
        struct message *m = mem_alloc(sizeof(*m));
        *m = (struct message){.from = s, .number = i};
        if (loop_post(loop, on_message, m) != 0)
            abort();
        if (i % 100 == s->index)
            usleep(100); /* lets the loop fall asleep now and then */
    }
    return NULL;
}

static void test_posts_from_threads(void **state)
{
    struct sender senders[N_SENDERS];
    (void)state;
    n_done = 0;
    for (int i = 0; i < N_SENDERS; i++) {
        senders[i] = (struct sender){.index = i};
        assert_int_equal(pthread_create(&senders[i].thread, NULL, sender_main, &senders[i]), 0);
    }
    loop_run(loop);
    for (int i = 0; i < N_SENDERS; i++) {
        pthread_join(senders[i].thread, NULL);
        assert_int_equal(senders[i].n_seen, N_POSTS);
    }
}

static void *stopper_main(void *arg)
{
    (void)arg;
    usleep(2000);
    loop_stop(loop);
    return NULL;
}

static void test_stop_from_thread(void **state)
{
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, stopper_main, NULL), 0);
    loop_run(loop);
    pthread_join(thread, NULL);
    loop_stop(loop); /* before running: returns at once */
    loop_run(loop);
}

static void post_again(void *arg)
{
    (void)arg;
    note('p');
    if (strlen(trace) < 3)
        assert_int_equal(loop_post(loop, post_again, NULL), 0);
}

static void test_post_from_post(void **state)
{
    (void)state;
    assert_int_equal(loop_post(loop, post_again, NULL), 0);
    loop_turn(loop, -1);
    assert_string_equal(trace, "p"); /* the next turn's, so that none can starve the sockets */
    loop_turn(loop, -1);
    loop_turn(loop, -1);
    assert_string_equal(trace, "ppp");
    /* Dropped with the loop, without a leak. */
    assert_int_equal(loop_post(loop, post_again, NULL), 0);
}

/* --- failures --- */

static int attempt_new(void *ctx)
{
    struct loop *l = NULL;
    int r = loop_new(&l);
    (void)ctx;
    if (r < 0) {
        assert_null(l);
        return r;
    }
    r = loop_post(l, order_on_post, NULL);
    loop_free(l);
    return r;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    assert_int_equal(memfail_each(attempt_new, NULL), 2);
}

static void test_out_of_descriptors(void **state)
{
    struct rlimit limit;
    int64_t n_live = mem_live_blocks();
    int n_fds = fd_count();
    int next_fd = dup(0);
    (void)state;
    assert_true(next_fd >= 0);
    close(next_fd);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    for (int more = 0; more < 2; more++) {
        struct rlimit none = {.rlim_cur = (rlim_t)(next_fd + more), .rlim_max = limit.rlim_max};
        struct loop *l = NULL;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        int r = loop_new(&l);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        assert_int_equal(r, -EMFILE);
        assert_null(l);
    }
    assert_int_equal(mem_live_blocks(), n_live);
    assert_int_equal(fd_count(), n_fds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_watch, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unwatch_in_same_batch, setup, teardown),
        cmocka_unit_test_setup_teardown(test_tasks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_timer_wakes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_waits_as_told, setup, teardown),
        cmocka_unit_test_setup_teardown(test_posts_from_threads, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stop_from_thread, setup, teardown),
        cmocka_unit_test_setup_teardown(test_post_from_post, setup, teardown),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_out_of_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
