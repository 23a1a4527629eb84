/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that leave, clients that are slow, and the end of the gateway itself. */
#include "base/limits.h"
#include "rig.h"

#define CHUNKED_HEAD "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

enum phase {
    PHASE_RECEIVE, /* request body not whole */
    PHASE_UPLOAD,  /* body streamed, not whole */
    PHASE_CONNECT,
    PHASE_WAIT,
    PHASE_FOLLOWED, /* waiting, with a pipelined request behind it */
    PHASE_STREAM,
    PHASE_BLOCKED, /* streaming, the client takes nothing */
    PHASE_TAIL,
    PHASE_COUNT_,
};

static const char *const phase_names[] = {"receive",  "upload", "connect", "wait",
                                          "followed", "stream", "blocked", "tail"};

static char big[64 << 20];

/* The answer is read whole and waits for the client. */
static void go_to_tail(void)
{
    peer_send(&rig.up, RIG_OK("120000\r\n\r\n"));
    rig_answer_to_tail(span_of(big, RIG_TAIL_BYTES));
}

static void go_to(enum phase phase)
{
    peer_done(&rig.up);
    switch (phase) {
    case PHASE_RECEIVE:
        rig_client("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc");
        RIG_PUMP(rig.n_taps > 0);
        return;
    case PHASE_UPLOAD:
        rig_start("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10000000\r\n\r\nabcdefghijkl");
        RIG_PUMP(peer_has(&rig.up, "jkl"));
        return;
    case PHASE_CONNECT:
        rig_client(RIG_GET);
        RIG_PUMP(rig.n_taps > 0 && tap_had(rig_tap(), 'T'));
        return;
    case PHASE_FOLLOWED:
        rig_start(RIG_GET RIG_GET);
        RIG_TURNS(3);
        return;
    default:
        break;
    }
    rig_start(RIG_GET);
    if (phase == PHASE_STREAM || phase == PHASE_BLOCKED) {
        peer_send(&rig.up, CHUNKED_HEAD "3\r\nabc\r\n");
        RIG_PUMP(peer_has(&rig.client, "abc"));
    }
    if (phase == PHASE_BLOCKED) {
        peer_send(&rig.up, "10000000\r\n");
        assert_true(rig_up_flood(span_of(big, sizeof(big))) < sizeof(big));
    }
    if (phase == PHASE_TAIL)
        go_to_tail();
}

/* The upstream must learn at once, not when it next sends: within a few turns of the loop. */
static void test_client_gone(void **state)
{
    (void)state;
    rig_small_buffers();
    rig.config->request_window_bytes = 10;
    for (int how = 0; how < 3; how++) { /* FIN of half, FIN of all, reset */
        for (int phase = 0; phase < PHASE_COUNT_; phase++) {
            rig_forget_taps();
            go_to((enum phase)phase);
            if (how == 0)
                peer_fin(&rig.client);
            else if (how == 1)
                peer_close(&rig.client);
            else
                peer_reset(&rig.client);
            for (int i = 0; i < 10 && !rig_is_over(); i++)
                loop_turn(rig.loop, NS_PER_MS);
            assert_row(phase_names[phase], rig_is_over());
            if (rig_tap()->finish.end != TAP_END_CLIENT_GONE)
                print_error("%s, how %d: end %d, log %s\n", phase_names[phase], how,
                            (int)rig_tap()->finish.end, rig_tap()->log);
            assert_row(phase_names[phase], rig_tap()->finish.end == TAP_END_CLIENT_GONE);
            assert_row(phase_names[phase], rig_tap()->finish.reason == TAP_REASON_NONE);
            assert_row(phase_names[phase], rig.n_taps == 1);
            loop_turn(rig.loop, 0);
            if (rig.up.fd >= 0 && phase != PHASE_TAIL) { /* then it is in the pool */
                peer_read(&rig.up);
                assert_row(phase_names[phase], peer_is_gone(&rig.up));
            }
            peer_done(&rig.client);
            while (peer_accept(&rig.up, rig.up_listen_fd)) /* PHASE_CONNECT: never served */
                peer_done(&rig.up);
        }
    }
}

/* Everything stops for a slow client, nothing is lost, and the time is told. */
static void test_slow_client(void **state)
{
    enum { TOTAL = 40 << 20 };
    char *body = malloc(TOTAL);
    char head[64];
    size_t sent;
    int64_t n_paused = stat_sum(STAT_READS_PAUSED);
    struct parsed a;
    (void)state;
    assert_non_null(body);
    for (size_t i = 0; i < TOTAL; i++)
        body[i] = (char)(i * 2654435761u >> 11);
    rig_start(RIG_GET);
    (void)snprintf(head, sizeof(head), RIG_OK("%d\r\n\r\n"), TOTAL);
    peer_send(&rig.up, head);
    sent = rig_up_flood(span_of(body, TOTAL)); /* the client does not read */
    assert_true(sent < TOTAL);
    assert_int_equal(stat_sum(STAT_READS_PAUSED), n_paused + 1);
    assert_true(rig_tap()->n_body < 20 << 20); /* socket buffers of the kernel, not ours */
    usleep(20000);
    PUMP(
        rig.loop,
        {
            if (sent < TOTAL)
                sent += peer_write(&rig.up, span_of(body + sent, TOTAL - sent));
            peer_read_some(&rig.client, 400000);
        },
        rig_is_over());
    RIG_PUMP(rig.client.n > TOTAL);
    RIG_TURNS(2);
    a = rig_answer();
    assert_int_equal(a.end, MESSAGE_END);
    assert_int_equal(a.n_body, TOTAL);
    assert_memory_equal(a.body, body, TOTAL);
    assert_true(rig_tap()->is_blocked_seen);
    assert_true(rig_tap()->finish.client_blocked_ns >= 20 * NS_PER_MS);
    assert_true(rig_tap()->finish.client_blocked_ns < 5 * NS_PER_S);
    assert_int_equal(rig_tap()->finish.end, TAP_END_COMPLETE);
    free(a.body);
    free(body);
}

/* A client that blocks us is not an upstream that is silent. */
static void test_blocked_is_not_idle(void **state)
{
    int64_t until;
    (void)state;
    rig.config->idle_timeout_ns = 30 * NS_PER_MS;
    go_to(PHASE_BLOCKED);
    until = peer_now_ms() + 100;
    while (peer_now_ms() < until)
        loop_turn(rig.loop, 5 * NS_PER_MS);
    assert_false(rig_is_over());
    peer_close(&rig.client);
    RIG_PUMP(rig_is_over());
    assert_int_equal(rig_tap()->finish.end, TAP_END_CLIENT_GONE);
    assert_true(rig_tap()->finish.client_blocked_ns >= 90 * NS_PER_MS);
}

/* A client that stopped reading is given up, and the upstream with it. */
static void test_blocked_for_too_long(void **state)
{
    (void)state;
    rig.config->client_write_timeout_ns = 200 * NS_PER_MS;
    go_to(PHASE_BLOCKED);
    PUMP(rig.loop, (void)0, rig_is_over());
    assert_int_equal(rig_tap()->finish.end, TAP_END_CLIENT_GONE);
    /* The limit counts from the turn's beginning, which lies before the block. */
    assert_true(rig_tap()->finish.client_blocked_ns >= 100 * NS_PER_MS);
    PUMP(rig.loop, peer_read(&rig.up), peer_is_gone(&rig.up));
}

/* Blocked in the middle of a read whose rest is many more parts: it is the client's time all the
 * same, whichever of the two limits is the longer one. */
static void test_blocked_within_a_read(void **state)
{
    static char small_chunks[1 << 20];
    static const char one[] = "10\r\n0123456789abcdef\r\n";
    size_t n = sizeof(small_chunks) / (sizeof(one) - 1) * (sizeof(one) - 1);
    (void)state;
    for (size_t i = 0; i < n; i++)
        small_chunks[i] = one[i % (sizeof(one) - 1)];
    rig_small_buffers();
    for (int is_idle_longer = 0; is_idle_longer < 2; is_idle_longer++) {
        int64_t until;

        rig_forget_taps();
        rig.config->idle_timeout_ns = is_idle_longer ? 60 * NS_PER_S : 40 * NS_PER_MS;
        rig.config->client_write_timeout_ns = is_idle_longer ? 40 * NS_PER_MS : 60 * NS_PER_S;
        go_to(PHASE_STREAM);
        (void)rig_up_flood(span_of(small_chunks, n));
        until = peer_now_ms() + 200;
        while (peer_now_ms() < until && !rig_is_over())
            loop_turn(rig.loop, 5 * NS_PER_MS);
        assert_true(rig_tap()->is_blocked_seen);
        assert_int_equal(rig_is_over(), is_idle_longer);
        peer_close(&rig.client);
        RIG_PUMP(rig_is_over());
        assert_int_equal(rig_tap()->finish.end, TAP_END_CLIENT_GONE);
    }
}

/* The whole answer is here, but the client is not done with it: the exchange is not over. */
static void test_tail(void **state)
{
    (void)state;
    rig_small_buffers();
    go_to(PHASE_TAIL);
    rig_large_buffers();
    RIG_PUMP(rig_is_over());
    RIG_PUMP(rig.client.n > RIG_TAIL_BYTES);
    assert_int_equal(rig_tap()->finish.end, TAP_END_COMPLETE);
    peer_forget(&rig.client); /* and the connection goes on */
    peer_forget(&rig.up);
    peer_send(&rig.client, RIG_GET);
    RIG_PUMP(peer_has(&rig.up, "\r\n\r\n"));
    peer_send(&rig.up, RIG_OK("2\r\n\r\nok"));
    RIG_PUMP(rig_is_over() && peer_has(&rig.client, "ok"));
}

static void test_tail_timeout(void **state)
{
    (void)state;
    rig_small_buffers();
    rig.config->client_write_timeout_ns = 50 * NS_PER_MS;
    go_to(PHASE_TAIL);
    PUMP(rig.loop, (void)0, rig_is_over());
    assert_int_equal(rig_tap()->finish.end, TAP_END_CLIENT_GONE);
}

/* --- the gateway's own end --- */

static int n_drained;

static void on_drained(void *arg)
{
    assert_ptr_equal(arg, &rig);
    n_drained++;
}

static void test_drain(void **state)
{
    struct peer idle;
    (void)state;
    n_drained = 0;
    rig_pool_one();
    idle = rig.client;
    rig.client = (struct peer){.fd = -1};
    rig_client(RIG_GET);
    RIG_PUMP(peer_has(&rig.up, "\r\n\r\n"));
    gateway_drain(rig.gateway, on_drained, &rig);
    PUMP(rig.loop, peer_read(&idle), idle.is_eof);
    assert_int_equal(n_drained, 0);
    peer_send(&rig.up, RIG_OK("2\r\n\r\nok"));
    RIG_PUMP(n_drained == 1);
    RIG_PUMP(rig.client.is_eof);
    assert_true(peer_has(&rig.client, "Connection: close") && peer_has(&rig.client, "\r\n\r\nok"));
    assert_int_equal(rig_tap()->finish.end, TAP_END_COMPLETE);
    RIG_TURNS(3);
    assert_int_equal(n_drained, 1);
    peer_done(&idle);
}

static void test_drain_when_idle(void **state)
{
    (void)state;
    n_drained = 0;
    gateway_drain(rig.gateway, on_drained, &rig);
    assert_int_equal(n_drained, 1);
}

static void test_free_in_every_phase(void **state)
{
    (void)state;
    rig_small_buffers();
    rig.config->request_window_bytes = 10;
    for (int phase = 0; phase < PHASE_COUNT_; phase++) {
        rig_forget_taps();
        go_to((enum phase)phase);
        rig.gateway = gateway_free(rig.gateway);
        assert_row(phase_names[phase], rig_tap()->finish.end == TAP_END_DRAIN);
        assert_row(phase_names[phase], rig_tap()->finish.reason == TAP_REASON_DRAIN);
        RIG_PUMP(peer_is_gone(&rig.client));
        if (rig.up.fd >= 0)
            assert_row(phase_names[phase], peer_is_gone(&rig.up));
        while (peer_accept(&rig.up, rig.up_listen_fd))
            peer_done(&rig.up);
        peer_done(&rig.client);
        assert_int_equal(rig_gateway_open(), 0);
    }
}

/* The watchdog cuts: both connections are let go, and the client's stream has no regular end. */
static void test_cut_stalled(void **state)
{
    static const enum phase phases[] = {PHASE_WAIT, PHASE_STREAM};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
        const char *name = phase_names[phases[i]];
        struct parsed a;

        rig_forget_taps();
        go_to(phases[i]);
        gateway_cut(rig_tap()->exchange, TAP_REASON_STALLED);
        assert_row(name, rig_is_over());
        assert_row(name, rig_tap()->finish.reason == TAP_REASON_STALLED);
        if (phases[i] == PHASE_WAIT) { /* nothing was said yet: it can still be told */
            RIG_PUMP(peer_has(&rig.client, "504"));
            assert_row(name, rig_tap()->finish.end == TAP_END_REFUSED);
        } else {
            RIG_PUMP(peer_is_gone(&rig.client));
            a = rig_answer();
            assert_row(name, a.status == 200 && a.end == MESSAGE_MORE);
            assert_row(name, rig_tap()->finish.end == TAP_END_TIMEOUT);
            free(a.body);
        }
        RIG_PUMP(peer_is_gone(&rig.up));
        peer_done(&rig.client);
        peer_done(&rig.up);
    }
}

/* A request keeps the configuration it began with; the next one has the new one. */
static void test_config_set(void **state)
{
    struct gateway_config *old = rig.config;
    (void)state;
    rig_start(RIG_GET);
    rig.config = NULL;
    rig_config_init("127.0.0.1", rig.up_port);
    rig.config->first_byte_timeout_ns = 30 * NS_PER_MS;
    gateway_config_set(rig.gateway, rig.config);
    gateway_config_unref(old);
    for (int i = 0; i < 10; i++)
        loop_turn(rig.loop, 6 * NS_PER_MS);
    assert_false(rig_is_over());
    peer_send(&rig.up, RIG_OK("2\r\n\r\nok"));
    RIG_PUMP(rig_is_over() && peer_has(&rig.client, "ok"));
    rig_client(RIG_GET);
    RIG_PUMP(rig.n_taps == 2);
    rig_assert_refused("new", 504, TAP_REASON_TIMEOUT_FIRST_BYTE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_CASE(test_client_gone),           RIG_CASE(test_slow_client),
        RIG_CASE(test_blocked_is_not_idle),   RIG_CASE(test_blocked_for_too_long),
        RIG_CASE(test_blocked_within_a_read), RIG_CASE(test_tail),
        RIG_CASE(test_tail_timeout),          RIG_CASE(test_drain),
        RIG_CASE(test_drain_when_idle),       RIG_CASE(test_free_in_every_phase),
        RIG_CASE(test_cut_stalled),           RIG_CASE(test_config_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
