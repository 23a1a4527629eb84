/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that wait for their turn: its coming, its not coming, and clients that do not wait. */
#include "rig.h"

/* Another worker's exchange, in flight at the same upstream. */
static struct other {
    struct admission_port port;
    struct admission_ticket ticket;
} other;

static struct admission_limits limits;

static void not_called(struct admission_ticket *t)
{
    (void)t;
    fail();
}

static int setup(void **state)
{
    int r = rig_setup(state);

    limits = (struct admission_limits){.max_inflight = 1};
    admission_set_limits(rig.admission, &limits, clock_mono());
    assert_int_equal(admission_port_open(&other.port, rig.admission, rig.loop, not_called), 0);
    admission_ticket_init(&other.ticket, ADMISSION_INTERACTIVE, SPAN(""), 0);
    assert_true(admission_try(&other.port, &other.ticket, clock_mono()));
    return r;
}

static int teardown(void **state)
{
    admission_cancel(&other.ticket, clock_mono());
    admission_port_close(&other.port);
    return rig_teardown(state);
}

static void other_leaves(void)
{
    admission_leave(&other.ticket, clock_mono());
}

static uint32_t n_waiting(enum admission_class c)
{
    struct admission_numbers n;

    admission_read(rig.admission, &n);
    return n.classes[c].n_waiting;
}

static void queue_one(const char *request)
{
    rig_client(request);
    RIG_PUMP(n_waiting(ADMISSION_INTERACTIVE) + n_waiting(ADMISSION_BATCH) == 1);
}

static void check_log(const char *expect)
{
    assert_string_equal(rig_tap()->log, expect);
}

static bool is_upstream_asked(void)
{
    return peer_accept(&rig.up, rig.up_listen_fd);
}

static void answer_ok(void)
{
    rig_accept_request();
    peer_send(&rig.up, RIG_OK("2\r\n\r\nok"));
    RIG_PUMP(rig_is_over() && peer_has(&rig.client, "ok"));
}

static void test_its_turn_comes(void **state)
{
    mono_t left;
    (void)state;
    queue_one(RIG_GET);
    RIG_TURNS(3);
    check_log("BQP");
    assert_false(is_upstream_asked());
    left = clock_mono();
    other_leaves();
    check_log("BQP"); /* not on the stack of the one who leaves */
    RIG_PUMP(tap_had(rig_tap(), 'T'));
    assert_true(rig_tap()->t_attempt.ns >= left.ns);
    assert_int_equal(rig_n_inflight(), 1);
    answer_ok();
    check_log("BQPATCSHDFRX");
    assert_int_equal(rig_n_inflight(), 0);
}

static void test_class_and_tokens(void **state)
{
    struct admission_numbers n;
    (void)state;
    rig.policy.plan.admission_class = 1;
    rig.policy.plan.estimated_tokens = 77;
    rig.policy.plan.tenant = SPAN("team");
    queue_one(RIG_GET);
    assert_int_equal(n_waiting(ADMISSION_BATCH), 1);
    other_leaves();
    RIG_PUMP(tap_had(rig_tap(), 'A'));
    admission_read(rig.admission, &n);
    assert_int_equal(n.classes[ADMISSION_BATCH].tokens_inflight, 77);
    answer_ok();
}

static void check_rejected(enum tap_reason reason)
{
    rig_assert_refused("rejected", 429, reason);
    check_log("BQPX");
    assert_true(peer_has(&rig.client, "\r\nRetry-After: "));
    assert_int_equal(n_waiting(ADMISSION_INTERACTIVE), 0);
    assert_int_equal(rig_n_inflight(), 1);
    assert_false(is_upstream_asked());
    /* The connection is kept, and the next one has its own chance. */
    other_leaves();
    peer_forget(&rig.client);
    peer_send(&rig.client, RIG_GET);
    answer_ok();
}

static void test_queue_full(void **state)
{
    struct admission_port port = {0};
    struct admission_ticket waits;
    (void)state;
    limits.classes[ADMISSION_INTERACTIVE].max_queue = 1;
    admission_set_limits(rig.admission, &limits, clock_mono());
    assert_int_equal(admission_port_open(&port, rig.admission, rig.loop, not_called), 0);
    admission_ticket_init(&waits, ADMISSION_INTERACTIVE, SPAN(""), 0);
    assert_int_equal(admission_enter(&port, &waits, clock_mono()), ADMISSION_QUEUED);
    rig_client(RIG_GET);
    RIG_PUMP(peer_has(&rig.client, "\r\n\r\n"));
    admission_cancel(&waits, clock_mono());
    admission_port_close(&port);
    check_rejected(TAP_REASON_REJECTED);
}

static void test_queue_timeout(void **state)
{
    (void)state;
    limits.classes[ADMISSION_INTERACTIVE].max_queue_ns = 20 * NS_PER_MS;
    admission_set_limits(rig.admission, &limits, clock_mono());
    queue_one(RIG_GET);
    check_rejected(TAP_REASON_REJECTED_TIMEOUT);
}

static void test_total_timeout(void **state)
{
    (void)state;
    limits.classes[ADMISSION_INTERACTIVE].max_queue_ns = 60 * NS_PER_S;
    admission_set_limits(rig.admission, &limits, clock_mono());
    rig.config->total_timeout_ns = 30 * NS_PER_MS;
    queue_one(RIG_GET);
    rig_assert_refused("total", 504, TAP_REASON_TIMEOUT_TOTAL);
    check_log("BQPX");
    assert_false(peer_has(&rig.client, "Retry-After"));
    assert_int_equal(n_waiting(ADMISSION_INTERACTIVE), 0);
}

/* The time in the queue is not the upstream's. */
static void test_timeouts_begin_anew(void **state)
{
    (void)state;
    limits.classes[ADMISSION_INTERACTIVE].max_queue_ns = 40 * NS_PER_MS;
    admission_set_limits(rig.admission, &limits, clock_mono());
    queue_one(RIG_GET);
    other_leaves();
    rig_accept_request();
    usleep(60000);
    RIG_TURNS(3);
    assert_false(rig_is_over());
    peer_send(&rig.up, RIG_OK("2\r\n\r\nok"));
    RIG_PUMP(rig_is_over() && peer_has(&rig.client, "ok"));
}

/* Half closed, closed, reset; with and without something that is held back behind it. */
static void test_client_gone(void **state)
{
    static const char *const requests[] = {
        RIG_GET,
        RIG_GET RIG_GET,
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10000000\r\n\r\nabcdefghijkl",
    };
    (void)state;
    rig.config->request_window_bytes = 10;
    for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
        for (int how = 0; how < 3; how++) {
            queue_one(requests[i]);
            if (how == 0)
                peer_fin(&rig.client);
            else if (how == 1)
                peer_close(&rig.client);
            else
                peer_reset(&rig.client);
            for (int k = 0; k < 10 && !rig_is_over(); k++)
                loop_turn(rig.loop, NS_PER_MS);
            assert_true(rig_is_over());
            assert_int_equal(n_waiting(ADMISSION_INTERACTIVE), 0);
            assert_int_equal(rig_tap()->finish.end, TAP_END_CLIENT_GONE);
            assert_null(strchr(rig_tap()->log, 'A'));
            assert_false(is_upstream_asked());
        }
    }
    other_leaves();
    rig_client(RIG_GET);
    answer_ok();
}

/* It left between the grant and its worker's next turn: the grant goes on. */
static void test_client_gone_when_called(void **state)
{
    (void)state;
    queue_one(RIG_GET);
    peer_reset(&rig.client);
    other_leaves();
    RIG_PUMP(rig_is_over() && rig_n_inflight() == 0);
    assert_int_equal(rig_tap()->finish.end, TAP_END_CLIENT_GONE);
}

/* A body larger than the window: what is held is bounded, the rest comes when its turn has come. */
static void test_large_body(void **state)
{
    enum { TOTAL = 30 << 20 };
    static char body[TOTAL + 1];
    char head[100];
    size_t n = 0;
    int64_t n_in;
    (void)state;
    memset(body, 'x', TOTAL);
    rig.config->request_window_bytes = 100000;
    n_in = stat_sum(STAT_BYTES_CLIENT_IN);
    (void)snprintf(head, sizeof(head), "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n",
                   TOTAL);
    rig_client(head);
    for (int n_idle = 0; n_idle < 40;) {
        size_t k = peer_write(&rig.client, span_of(body + n, TOTAL - n));
        n += k;
        n_idle = k > 0 ? 0 : n_idle + 1;
        loop_turn(rig.loop, 0);
    }
    check_log("BP");
    assert_true(n < TOTAL);
    assert_true(stat_sum(STAT_BYTES_CLIENT_IN) - n_in <= 100000 + 2 * 65536);
    other_leaves();
    rig_accept();
    PUMP(
        rig.loop,
        {
            if (n < TOTAL)
                n += peer_write(&rig.client, span_of(body + n, TOTAL - n));
            rig_poll();
        },
        n == TOTAL && tap_had(rig_tap(), 'S'));
    RIG_PUMP(rig.up.n > TOTAL);
    assert_int_equal(peer_count(&rig.up, "Content-Length: 31457280\r\n"), 1);
    peer_send(&rig.up, RIG_OK("2\r\n\r\nok"));
    RIG_PUMP(rig_is_over() && peer_has(&rig.client, "ok"));
}

static int n_drained;

static void on_drained(void *arg)
{
    (void)arg;
    n_drained++;
}

/* Who waits already still gets its turn. */
static void test_drain(void **state)
{
    (void)state;
    n_drained = 0;
    queue_one(RIG_GET);
    gateway_drain(rig.gateway, on_drained, NULL);
    RIG_TURNS(3);
    assert_int_equal(n_drained, 0);
    other_leaves();
    answer_ok();
    assert_int_equal(n_drained, 1);
}

static void test_end_of_the_gateway(void **state)
{
    (void)state;
    queue_one(RIG_GET);
    rig.gateway = gateway_free(rig.gateway);
    assert_int_equal(n_waiting(ADMISSION_INTERACTIVE), 0);
    assert_int_equal(rig_tap()->finish.end, TAP_END_DRAIN);
    assert_int_equal(rig_gateway_open(), 0);
    /* Granted, and not yet told. */
    queue_one(RIG_GET);
    other_leaves();
    rig.gateway = gateway_free(rig.gateway);
    assert_int_equal(rig_n_inflight(), 0);
    assert_int_equal(rig_tap()->finish.end, TAP_END_DRAIN);
    check_log("BQPX");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_its_turn_comes),     CASE(test_class_and_tokens),
        CASE(test_queue_full),         CASE(test_queue_timeout),
        CASE(test_total_timeout),      CASE(test_timeouts_begin_anew),
        CASE(test_client_gone),        CASE(test_client_gone_when_called),
        CASE(test_large_body),         CASE(test_drain),
        CASE(test_end_of_the_gateway),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
