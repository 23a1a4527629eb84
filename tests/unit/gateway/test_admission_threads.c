/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission between threads: workers that enter, leave, cancel and expire, while grants come from
 * the others and limits change; at the end all who still wait get their turn without being asked.
 * And the breaker. Under the thread sanitizer, too.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/rng.h"
#include "gateway/admission.h"
#include "gateway/breaker.h"
#include "harness.h"

enum {
    N_WORKERS = 3,
    N_TICKETS = 24,   /* per worker */
    N_GRANTS = 20000, /* in all, then it ends */
    N_STEPS = 20000,  /* of the breaker's */
    MAX_INFLIGHT = 5,
    MAX_TOKENS = 4000,
    TOKENS_MAX = 1500,
};

struct customer {
    struct admission_ticket ticket;
    enum { HOME, WAITS, INSIDE } where; /* as its worker knows it */
    uint32_t tokens;
    struct worker *worker;
};

struct worker {
    struct admission *a;
    struct loop *loop;
    struct admission_port port;
    struct rng rng;
    struct customer customers[N_TICKETS];
    bool is_closing; /* grants are given back at once */
    pthread_t thread;
};

static atomic_int n_inside, n_wrong;
static atomic_long tokens_inside;
static atomic_uint n_running, n_granted;

/* cmocka's own asserts belong to the main thread. */
#define EXPECT(x)                                                                                  \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            (void)fprintf(stderr, "line %d: %s\n", __LINE__, #x);                                  \
            atomic_fetch_add(&n_wrong, 1);                                                         \
        }                                                                                          \
    } while (0)

static mono_t now(void)
{
    return clock_mono();
}

static void customer_in(struct customer *c)
{
    int n = atomic_fetch_add(&n_inside, 1) + 1;
    long tokens = atomic_fetch_add(&tokens_inside, (long)c->tokens) + (long)c->tokens;

    EXPECT(n <= MAX_INFLIGHT);
    EXPECT(tokens <= MAX_TOKENS);
    c->where = INSIDE;
    atomic_fetch_add(&n_granted, 1);
}

static void customer_leave(struct customer *c)
{
    atomic_fetch_sub(&n_inside, 1);
    atomic_fetch_sub(&tokens_inside, (long)c->tokens);
    c->where = HOME;
    admission_leave(&c->ticket, now());
}

static void on_granted(struct admission_ticket *t)
{
    struct customer *c = CONTAINER_OF(t, struct customer, ticket);

    EXPECT(c->where == WAITS); /* once, and never after it was cancelled */
    customer_in(c);
    if (c->worker->is_closing)
        customer_leave(c);
}

static void customer_enter(struct customer *c)
{
    static const char *const tenants[] = {"", "a", "b", "c"};
    struct worker *w = c->worker;

    c->tokens = (uint32_t)rng_below(&w->rng, TOKENS_MAX);
    admission_ticket_init(&c->ticket, (enum admission_class)rng_below(&w->rng, 2),
                          span_cstr(tenants[rng_below(&w->rng, 4)]), c->tokens);
    switch (admission_enter(&w->port, &c->ticket, now())) {
    case ADMISSION_GRANTED:
        customer_in(c);
        break;
    case ADMISSION_QUEUED:
        c->where = WAITS;
        break;
    case ADMISSION_REJECTED:
        EXPECT(c->ticket.retry_after_s >= 1 && c->ticket.retry_after_s <= 60);
        break;
    }
}

static void customer_give_up(struct customer *c)
{
    if (rng_below(&c->worker->rng, 2) == 0) {
        if (admission_expire(&c->ticket, now()))
            c->where = HOME;
    } else { /* may be called already: then the grant goes to another */
        admission_cancel(&c->ticket, now());
        c->where = HOME;
    }
}

static void worker_step(struct worker *w)
{
    struct customer *c = &w->customers[rng_below(&w->rng, N_TICKETS)];

    if (c->where == HOME)
        customer_enter(c);
    else if (c->where == INSIDE)
        customer_leave(c);
    else if (rng_below(&w->rng, 3) == 0)
        customer_give_up(c);
}

static int count(const struct worker *w, int where)
{
    int n = 0;

    for (int i = 0; i < N_TICKETS; i++)
        n += (int)w->customers[i].where == where;
    return n;
}

static void *worker_run(void *arg)
{
    struct worker *w = arg;

    while (atomic_load(&n_granted) < N_GRANTS) {
        for (int i = 0; i < 8; i++)
            worker_step(w);
        loop_turn(w->loop, count(w, INSIDE) > 0 ? 0 : NS_PER_MS);
    }
    w->is_closing = true;
    for (int i = 0; i < N_TICKETS; i++)
        if (w->customers[i].where == INSIDE)
            customer_leave(&w->customers[i]);
    while (count(w, WAITS) > 0) /* a grant that is lost hangs here */
        loop_turn(w->loop, -1);
    atomic_fetch_sub(&n_running, 1);
    return NULL;
}

static struct admission_limits some_limits(uint32_t max_inflight, uint64_t max_tokens)
{
    struct admission_limits l = {.max_inflight = max_inflight, .max_tokens = max_tokens};

    l.classes[ADMISSION_INTERACTIVE].max_queue = 20;
    l.classes[ADMISSION_BATCH].max_inflight = 2;
    l.classes[ADMISSION_BATCH].max_queue = 20;
    return l;
}

/* Meanwhile, from outside: limits and numbers. */
static void watch(struct admission *a)
{
    for (uint32_t i = 0; atomic_load(&n_running) > 0; i++) {
        struct admission_limits l = some_limits(1 + i % MAX_INFLIGHT, i % 2 ? 2000 : MAX_TOKENS);
        struct admission_numbers n;
        admission_set_limits(a, &l, now());
        admission_read(a, &n);
        EXPECT(n.n_inflight <= MAX_INFLIGHT);
        EXPECT(n.classes[ADMISSION_BATCH].n_inflight <= 2);
        EXPECT(n.classes[ADMISSION_INTERACTIVE].n_waiting <= 20);
    }
}

static void test_workers(void **state)
{
    static struct worker workers[N_WORKERS];
    struct admission_limits l = some_limits(MAX_INFLIGHT, MAX_TOKENS);
    struct admission_numbers n;
    struct admission *a = NULL;
    (void)state;
    assert_int_equal(admission_new(&a), 0);
    admission_set_limits(a, &l, now());
    atomic_store(&n_running, N_WORKERS);
    for (int i = 0; i < N_WORKERS; i++) {
        struct worker *w = &workers[i];
        *w = (struct worker){.a = a};
        rng_seed(&w->rng, (uint64_t)i + 1);
        for (int k = 0; k < N_TICKETS; k++)
            w->customers[k].worker = w;
        assert_int_equal(loop_new(&w->loop), 0);
        assert_int_equal(admission_port_open(&w->port, a, w->loop, on_granted), 0);
    }
    for (int i = 0; i < N_WORKERS; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]), 0);
    watch(a);
    for (int i = 0; i < N_WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        admission_port_close(&workers[i].port);
        loop_free(workers[i].loop);
    }
    admission_read(a, &n);
    assert_int_equal(n.n_inflight, 0);
    assert_int_equal(n.tokens_inflight, 0);
    assert_int_equal(n.classes[0].n_waiting + n.classes[1].n_waiting, 0);
    assert_true(n.classes[0].n_grants + n.classes[1].n_grants >= atomic_load(&n_granted));
    assert_true(n.classes[0].n_queued > 0 && n.classes[1].n_queued > 0);
    assert_true(n.classes[0].n_full > 0 && n.classes[0].n_timeouts > 0);
    admission_free(a);
    assert_int_equal(atomic_load(&n_wrong), 0);
}

/* --- the breaker: never two probes at a time --- */

static struct breaker breaker;
static atomic_int n_probing;
static atomic_llong fake_ns = NS_PER_S;

static void *breaker_run(void *arg)
{
    struct rng *rng = arg;

    for (int i = 0; i < N_STEPS; i++) {
        mono_t at = {atomic_fetch_add(&fake_ns, 50 * NS_PER_MS)};
        struct breaker_pass pass = breaker_may_use(&breaker, at);
        enum breaker_result result = (enum breaker_result)rng_below(rng, 3);
        struct breaker_snapshot s = breaker_read(&breaker, at);

        if (pass.verdict == BREAKER_PROBE) {
            EXPECT(s.is_probing); /* until it is reported */
            EXPECT(atomic_fetch_add(&n_probing, 1) == 0);
            atomic_fetch_sub(&n_probing, 1);
        }
        if (pass.verdict != BREAKER_NO) /* whose success would close it */
            breaker_report(&breaker, at, pass, result);
        if (rng_below(rng, 1000) == 0)
            breaker_busy(&breaker, at, mono_add(at, NS_PER_S));
    }
    return NULL;
}

static void test_breaker(void **state)
{
    pthread_t threads[2];
    struct rng rngs[2];
    (void)state;
    breaker_init(&breaker, 2);
    for (int i = 0; i < 2; i++) {
        rng_seed(&rngs[i], (uint64_t)i + 1);
        assert_int_equal(pthread_create(&threads[i], NULL, breaker_run, &rngs[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_true(breaker_read(&breaker, (mono_t){atomic_load(&fake_ns)}).n_opened > 10);
    breaker_done(&breaker);
    assert_int_equal(atomic_load(&n_wrong), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workers),
        cmocka_unit_test(test_breaker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
