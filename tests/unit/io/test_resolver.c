/* SPDX-License-Identifier: Apache-2.0 */
#include "io/resolver.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"
#include "harness.h"
#include "memfail.h"
#include "peer.h"

static struct loop *loop;
static struct resolver *resolver;
static pthread_t main_thread;

struct question {
    int n_answers;
    struct resolver_answer answer;
};

static int setup(void **state)
{
    (void)state;
    main_thread = pthread_self();
    assert_int_equal(loop_new(&loop), 0);
    return resolver_new(&resolver);
}

static int teardown(void **state)
{
    (void)state;
    resolver = resolver_free(resolver);
    loop_turn(loop, 0); /* an answer that was posted last */
    loop = loop_free(loop);
    return 0;
}

static void on_answer(void *arg, const struct resolver_answer *answer)
{
    struct question *q = arg;

    assert_true(pthread_equal(pthread_self(), main_thread));
    q->answer = *answer;
    q->n_answers++;
}

static void ask(struct question *q, const char *host, uint16_t port)
{
    *q = (struct question){.n_answers = 0};
    assert_int_equal(resolver_lookup(resolver, loop, host, port, on_answer, q), 0);
    assert_int_equal(q->n_answers, 0); /* never from within the call */
}

static void test_localhost(void **state)
{
    struct question q;
    (void)state;
    ask(&q, "localhost", 4321);
    PUMP(loop, (void)0, q.n_answers > 0);
    assert_int_equal(q.n_answers, 1);
    assert_int_equal(q.answer.error, 0);
    assert_in_range(q.answer.n_addrs, 1, RESOLVER_ADDRS_MAX);
    for (int i = 0; i < q.answer.n_addrs; i++) {
        assert_true(addr_is_loopback(&q.answer.addrs[i]));
        assert_int_equal(addr_port(&q.answer.addrs[i]), 4321);
    }
}

static void test_literals(void **state)
{
    struct question v4, v6;
    char text[ADDR_TEXT_MAX];
    (void)state;
    ask(&v4, "127.0.0.9", 9);
    ask(&v6, "::1", 10);
    PUMP(loop, (void)0, v4.n_answers > 0 && v6.n_answers > 0);
    assert_int_equal(v4.answer.error, 0);
    addr_format(&v4.answer.addrs[0], text);
    assert_string_equal(text, "127.0.0.9:9");
    if (v6.answer.error == 0) { /* not where the machine knows no IPv6 */
        addr_format(&v6.answer.addrs[0], text);
        assert_string_equal(text, "[::1]:10");
    }
}

static void test_no_such_name(void **state)
{
    static const char *const names[] = {"nope.invalid", "", "not a name", "-.-"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct question q;
        ask(&q, names[i], 1);
        PUMP(loop, (void)0, q.n_answers > 0);
        /* -EAGAIN: there is no name server to ask */
        if (i > 0 || q.answer.error != -EAGAIN)
            assert_row(names[i], q.answer.error == -ENOENT || q.answer.n_addrs > 0);
        assert_row(names[i], (q.answer.error == 0) == (q.answer.n_addrs > 0));
    }
}

/* More than fit are refused, each of the others is answered once, at the latest by the end. */
static void test_many_and_free(void **state)
{
    enum { N = 600 };
    static struct question questions[N];
    int n_accepted = 0;
    int n_answered = 0;
    (void)state;
    for (int i = 0; i < N; i++) {
        int r;
        questions[i] = (struct question){.n_answers = 0};
        r = resolver_lookup(resolver, loop, "127.0.0.1", 1, on_answer, &questions[i]);
        assert_true(r == 0 || r == -ENOBUFS);
        n_accepted += r == 0;
    }
    assert_true(n_accepted >= 256);
    resolver = resolver_free(resolver);
    loop_turn(loop, 0);
    loop_turn(loop, 0);
    for (int i = 0; i < N; i++) {
        int error = questions[i].answer.error;
        assert_true(questions[i].n_answers <= 1);
        assert_true(error == 0 || error == -ECANCELED);
        n_answered += questions[i].n_answers;
    }
    assert_int_equal(n_answered, n_accepted);
}

static int attempt(void *ctx)
{
    struct resolver *r = NULL;
    struct question q = {.n_answers = 0};
    int rc = resolver_new(&r);
    (void)ctx;
    if (rc < 0) {
        assert_null(r);
        return rc;
    }
    rc = resolver_lookup(r, loop, "127.0.0.1", 1, on_answer, &q);
    if (rc == 0)
        PUMP(loop, (void)0, q.n_answers > 0);
    resolver_free(r);
    return rc;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_localhost, setup, teardown),
        cmocka_unit_test_setup_teardown(test_literals, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_such_name, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_and_free, setup, teardown),
        cmocka_unit_test_setup_teardown(test_out_of_memory, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
