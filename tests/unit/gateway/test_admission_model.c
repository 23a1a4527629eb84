/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission against a model: many random operations over tenants, classes and ports, and after each
 * of them every ticket is where the model says, and every number too. The model keeps tenants by
 * name and looks through all tickets for each question. And what follows from the order: tenants'
 * shares.
 */
#include <stdio.h>

#include "base/rng.h"
#include "gateway/admission.h"
#include "gateway/admission_queue.h"
#include "harness.h"

enum { N_PORTS = 3, N_TICKETS = 40, N_TENANTS = 6, N_SEEDS = 60, N_STEPS = 4000 };

static const mono_t now = {NS_PER_S};

/* --- the model --- */

struct model_ticket {
    enum admission_state state;
    int class, tenant, port;
    uint32_t tokens;
    uint64_t number; /* order of queueing, and of grants */
};

struct model_class {
    int ring[N_TENANTS], n_ring;
    int64_t deficit[N_TENANTS];
};

static struct model {
    struct admission_limits limits;
    struct model_ticket t[N_TICKETS];
    struct model_class classes[ADMISSION_CLASSES];
    int n_in_row;
    uint64_t n_numbers;
} m;

static bool is_holding(const struct model_ticket *t)
{
    return t->state == ADMISSION_CALLED || t->state == ADMISSION_IN;
}

/* In flight of a class; -1: of all. */
static void model_sum(int class, uint32_t *ret_n, uint64_t *ret_tokens)
{
    *ret_n = 0;
    *ret_tokens = 0;
    for (int i = 0; i < N_TICKETS; i++)
        if (is_holding(&m.t[i]) && (class < 0 || m.t[i].class == class)) {
            *ret_n += 1;
            *ret_tokens += m.t[i].tokens;
        }
}

static bool model_fits(int class, uint32_t max_n, uint64_t max_tokens, uint32_t tokens)
{
    uint32_t n;
    uint64_t sum;

    model_sum(class, &n, &sum);
    return n == 0 || ((max_n == 0 || n < max_n) && (max_tokens == 0 || sum + tokens <= max_tokens));
}

static bool model_fits_class(int i)
{
    const struct admission_class_limits *l = &m.limits.classes[m.t[i].class];
    return model_fits(m.t[i].class, l->max_inflight, l->max_tokens, m.t[i].tokens);
}

static bool model_fits_all(int i)
{
    return model_fits(-1, m.limits.max_inflight, m.limits.max_tokens, m.t[i].tokens);
}

/* Who came first of those that wait of a class and tenant (-1: any); -1: nobody. */
static int model_first(int class, int tenant)
{
    int first = -1;
    for (int i = 0; i < N_TICKETS; i++)
        if (m.t[i].state == ADMISSION_WAITING && m.t[i].class == class &&
            (tenant < 0 || m.t[i].tenant == tenant) &&
            (first < 0 || m.t[i].number < m.t[first].number))
            first = i;
    return first;
}

static int64_t cost_of(int i)
{
    return m.t[i].tokens < ADMISSION_MIN_COST ? ADMISSION_MIN_COST : m.t[i].tokens;
}

static void ring_drop(struct model_class *c, int at)
{
    c->n_ring--;
    for (int i = at; i < c->n_ring; i++)
        c->ring[i] = c->ring[i + 1];
}

/* Next of its class; -1: nobody waits. */
static int model_next(int class)
{
    struct model_class *c = &m.classes[class];
    while (c->n_ring > 0) {
        int tenant = c->ring[0];
        int first = model_first(class, tenant);
        if (c->deficit[tenant] >= cost_of(first))
            return first;
        c->deficit[tenant] += ADMISSION_QUANTUM;
        ring_drop(c, 0);
        c->ring[c->n_ring++] = tenant;
    }
    return -1;
}

/* t waits no more. */
static void model_unqueue(int i)
{
    struct model_class *c = &m.classes[m.t[i].class];
    if (model_first(m.t[i].class, m.t[i].tenant) >= 0)
        return;
    for (int k = 0; k < c->n_ring; k++)
        if (c->ring[k] == m.t[i].tenant)
            ring_drop(c, k);
}

static int model_turn(int interactive, int batch)
{
    if (interactive >= 0 && !model_fits_class(interactive))
        interactive = -1;
    if (batch >= 0 && !model_fits_class(batch))
        batch = -1;
    if (interactive < 0 || batch < 0)
        return interactive < 0 ? batch : interactive;
    return m.n_in_row == 9 ? batch : interactive;
}

static void model_grant(int i, enum admission_state state)
{
    m.t[i].state = state;
    m.t[i].number = m.n_numbers++;
    if (m.t[i].class == ADMISSION_BATCH)
        m.n_in_row = 0;
    else if (model_first(ADMISSION_BATCH, -1) >= 0 && m.n_in_row < 9)
        m.n_in_row++;
}

static void model_settle(void)
{
    for (;;) {
        int i = model_turn(model_next(ADMISSION_INTERACTIVE), model_next(ADMISSION_BATCH));
        if (i < 0 || !model_fits_all(i))
            return;
        m.classes[m.t[i].class].deficit[m.t[i].tenant] -= cost_of(i);
        model_grant(i, ADMISSION_CALLED);
        model_unqueue(i);
    }
}

static bool model_may_go(int i)
{
    int class = m.t[i].class;
    int other = model_next(1 - class);
    return model_first(class, -1) < 0 && model_fits_all(i) &&
           (class == ADMISSION_BATCH ? model_turn(other, i) : model_turn(i, other)) == i;
}

static void model_queue(int i)
{
    struct model_class *c = &m.classes[m.t[i].class];
    if (model_first(m.t[i].class, m.t[i].tenant) < 0) {
        c->ring[c->n_ring++] = m.t[i].tenant;
        c->deficit[m.t[i].tenant] = ADMISSION_QUANTUM;
    }
    m.t[i].state = ADMISSION_WAITING;
    m.t[i].number = m.n_numbers++;
    if (c->n_ring == 1)
        (void)model_next(m.t[i].class); /* the first to wait is next */
}

static uint32_t model_n_waiting(int class)
{
    uint32_t n = 0;
    for (int i = 0; i < N_TICKETS; i++)
        n += m.t[i].state == ADMISSION_WAITING && m.t[i].class == class;
    return n;
}

static enum admission_verdict model_enter(int i)
{
    uint32_t max = m.limits.classes[m.t[i].class].max_queue;
    if (model_may_go(i)) {
        model_grant(i, ADMISSION_IN);
        return ADMISSION_GRANTED;
    }
    if (max > 0 && model_n_waiting(m.t[i].class) >= max)
        return ADMISSION_REJECTED;
    model_queue(i);
    return ADMISSION_QUEUED;
}

static void model_out(int i)
{
    bool was_waiting = m.t[i].state == ADMISSION_WAITING;
    m.t[i].state = ADMISSION_OUT;
    if (was_waiting)
        model_unqueue(i);
    model_settle();
}

/* Which of its port was granted first and not taken; -1: none. */
static int model_called(int port)
{
    int first = -1;
    for (int i = 0; i < N_TICKETS; i++)
        if (m.t[i].state == ADMISSION_CALLED && m.t[i].port == port &&
            (first < 0 || m.t[i].number < m.t[first].number))
            first = i;
    return first;
}

/* --- both --- */

static struct loop *loop;
static struct admission *a;
static struct admission_port ports[N_PORTS];
static struct admission_ticket t[N_TICKETS];
static struct rng rng;

static int below(int n)
{
    return (int)rng_below(&rng, (uint64_t)n);
}

static void not_called(struct admission_ticket *ticket)
{
    (void)ticket;
    fail();
}

static void both_open(void)
{
    m = (struct model){.n_in_row = 0};
    assert_int_equal(loop_new(&loop), 0);
    assert_int_equal(admission_new(&a), 0);
    for (int i = 0; i < N_PORTS; i++)
        assert_int_equal(admission_port_open(&ports[i], a, loop, not_called), 0);
    for (int i = 0; i < N_TICKETS; i++)
        admission_ticket_init(&t[i], ADMISSION_INTERACTIVE, SPAN(""), 0);
}

static void both_close(void)
{
    for (int i = 0; i < N_TICKETS; i++)
        admission_cancel(&t[i], now);
    for (int i = 0; i < N_PORTS; i++)
        admission_port_close(&ports[i]);
    admission_free(a);
    loop_free(loop);
}

static void both_limit(void)
{
    struct admission_limits *l = &m.limits;
    *l = (struct admission_limits){.max_inflight = (uint32_t)below(8),
                                   .max_tokens = (uint64_t)below(3) * 3000};
    for (int c = 0; c < ADMISSION_CLASSES; c++)
        l->classes[c] = (struct admission_class_limits){.max_inflight = (uint32_t)below(6),
                                                        .max_tokens = (uint64_t)below(3) * 2000,
                                                        .max_queue = (uint32_t)below(12)};
    admission_set_limits(a, l, now);
    model_settle();
}

static void both_enter(int i, bool only_try)
{
    static const char *const tenants[N_TENANTS] = {"", "a", "b", "team-x", "team-y", "z"};
    static const uint32_t sizes[] = {0, 1, 31, 32, 33, 500, 1023, 1024, 1025, 5000, 20000};
    struct model_ticket *mt = &m.t[i];

    mt->class = below(2);
    mt->tenant = below(N_TENANTS);
    mt->port = below(N_PORTS);
    mt->tokens = sizes[below((int)(sizeof(sizes) / sizeof(sizes[0])))];
    admission_ticket_init(&t[i], (enum admission_class)mt->class, span_cstr(tenants[mt->tenant]),
                          mt->tokens);
    if (!only_try) {
        enum admission_verdict expect = model_enter(i);
        assert_int_equal(admission_enter(&ports[mt->port], &t[i], now), expect);
        if (expect == ADMISSION_REJECTED)
            assert_in_range(t[i].retry_after_s, 1, 60);
    } else {
        bool expect = model_may_go(i);
        assert_int_equal(admission_try(&ports[mt->port], &t[i], now), expect);
        if (expect)
            model_grant(i, ADMISSION_IN);
    }
}

static void both_take(int port)
{
    int expect = model_called(port);
    struct admission_ticket *got = admission_port_take(&ports[port]);

    assert_ptr_equal(got, expect < 0 ? NULL : &t[expect]);
    if (expect >= 0)
        m.t[expect].state = ADMISSION_IN;
}

static void both_expire(int i)
{
    bool expect = m.t[i].state == ADMISSION_WAITING;
    assert_int_equal(admission_expire(&t[i], now), expect);
    if (expect)
        model_out(i);
}

static void both_step(void)
{
    int i = below(N_TICKETS);

    switch (below(10)) {
    case 0:
        both_take(below(N_PORTS));
        break;
    case 1:
        both_expire(i);
        break;
    case 2:
        if (below(20) == 0)
            both_limit();
        break;
    case 3:
        admission_cancel(&t[i], now);
        model_out(i);
        break;
    default:
        if (m.t[i].state == ADMISSION_OUT) {
            both_enter(i, below(8) == 0);
            break;
        }
        if (m.t[i].state == ADMISSION_IN) {
            admission_leave(&t[i], now);
            model_out(i);
        }
        break;
    }
}

static void both_compare(void)
{
    struct admission_numbers n;
    uint32_t n_inflight;
    uint64_t tokens;

    for (int i = 0; i < N_TICKETS; i++)
        assert_int_equal(admission_ticket_state(&t[i]), m.t[i].state);
    admission_read(a, &n);
    model_sum(-1, &n_inflight, &tokens);
    assert_int_equal(n.n_inflight, n_inflight);
    assert_int_equal(n.tokens_inflight, tokens);
    for (int c = 0; c < ADMISSION_CLASSES; c++) {
        model_sum(c, &n_inflight, &tokens);
        assert_int_equal(n.classes[c].n_inflight, n_inflight);
        assert_int_equal(n.classes[c].tokens_inflight, tokens);
        assert_int_equal(n.classes[c].n_waiting, model_n_waiting(c));
        assert_int_equal(n.classes[c].n_tenants, m.classes[c].n_ring);
    }
    if (n.n_inflight == 0) /* somebody always goes */
        assert_int_equal(n.classes[0].n_waiting + n.classes[1].n_waiting, 0);
}

static void test_random(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
        rng_seed(&rng, seed);
        both_open();
        both_limit();
        for (int i = 0; i < N_STEPS; i++) {
            both_step();
            both_compare();
        }
        both_close();
    }
}

/* No limit is ever exceeded but by one that is alone, while the limits stay. */
static void test_never_above(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
        rng_seed(&rng, seed);
        both_open();
        both_limit();
        for (int i = 0; i < N_STEPS; i++) {
            struct admission_numbers n;
            int k = below(N_TICKETS);
            if (m.t[k].state == ADMISSION_OUT) {
                both_enter(k, false);
            } else {
                admission_cancel(&t[k], now);
                model_out(k);
            }
            admission_read(a, &n);
            assert_true(m.limits.max_inflight == 0 || n.n_inflight <= m.limits.max_inflight);
            assert_true(m.limits.max_tokens == 0 || n.n_inflight == 1 ||
                        n.tokens_inflight <= m.limits.max_tokens);
            for (int c = 0; c < ADMISSION_CLASSES; c++) {
                const struct admission_class_limits *l = &m.limits.classes[c];
                const struct admission_class_numbers *cn = &n.classes[c];
                assert_true(l->max_inflight == 0 || cn->n_inflight <= l->max_inflight);
                assert_true(l->max_tokens == 0 || cn->n_inflight == 1 ||
                            cn->tokens_inflight <= l->max_tokens);
                assert_true(l->max_queue == 0 || cn->n_waiting <= l->max_queue);
            }
        }
        both_close();
    }
}

/* --- shares --- */

/* Tenants that always have somebody waiting, each with requests of its own size, get the same
 * tokens, to within a quantum and a request. */
static void test_shares(void **state)
{
    static const uint32_t sizes[4] = {40, 700, 3000, 9000};
    static const char *const tenants[4] = {"a", "b", "c", "d"};
    uint64_t granted[4] = {0};
    (void)state;
    both_open();
    admission_set_limits(a, &(struct admission_limits){.max_inflight = 2}, now);
    for (int i = 0; i < N_TICKETS; i++) {
        admission_ticket_init(&t[i], ADMISSION_INTERACTIVE, span_cstr(tenants[i % 4]),
                              sizes[i % 4]);
        (void)admission_enter(&ports[0], &t[i], now);
    }
    for (int n = 0; n < 20000; n++) {
        struct admission_ticket *got = n < 2 ? &t[n] : admission_port_take(&ports[0]);
        int i = (int)(got - t);
        uint64_t least = UINT64_MAX;
        uint64_t most = 0;
        assert_non_null(got);
        granted[i % 4] += sizes[i % 4];
        admission_leave(got, now);
        assert_int_equal(admission_enter(&ports[0], got, now), ADMISSION_QUEUED);
        for (int k = 0; k < 4; k++) {
            least = granted[k] < least ? granted[k] : least;
            most = granted[k] > most ? granted[k] : most;
        }
        assert_true(most - least <= 2 * (9000 + ADMISSION_QUANTUM));
    }
    assert_true(granted[0] > 100000);
    both_close();
}

/* Requests of 4 billion tokens: the rounds until one may go are not walked. */
static void test_huge_requests(void **state)
{
    static struct admission_ticket many[1000];
    (void)state;
    both_open();
    admission_set_limits(a, &(struct admission_limits){.max_inflight = 1}, now);
    for (size_t i = 0; i < 1000; i++) {
        char tenant[16];
        (void)snprintf(tenant, sizeof(tenant), "%zu", i);
        admission_ticket_init(&many[i], ADMISSION_INTERACTIVE, span_cstr(tenant),
                              UINT32_MAX - (uint32_t)i);
        (void)admission_enter(&ports[0], &many[i], now);
    }
    admission_leave(&many[0], now);
    for (size_t n = 1; n < 1000; n++) {
        struct admission_ticket *got = admission_port_take(&ports[0]);
        assert_non_null(got);
        admission_leave(got, now);
    }
    both_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_never_above),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_huge_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
