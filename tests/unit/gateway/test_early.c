/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that come before the request is whole. */
#include "rig.h"

#define CHUNKED_HEAD "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

static void check_finish(const char *name, enum tap_end end, enum tap_reason reason)
{
    if (rig_tap()->finish.end != end || rig_tap()->finish.reason != reason)
        print_error("ended with %d, %d; want %d, %d\n", (int)rig_tap()->finish.end,
                    (int)rig_tap()->finish.reason, (int)end, (int)reason);
    assert_row(name, rig_tap()->finish.end == end);
    assert_row(name, rig_tap()->finish.reason == reason);
}

/* The upstream refuses an upload and goes: its answer reaches the client all the same. */
static void test_early_answer_and_gone(void **state)
{
    static char block[100000];
    (void)state;
    memset(block, 'x', sizeof(block));
    rig.config->request_window_bytes = 1000;
    for (int how = 0; how < 3; how++) { /* stays, closes (with unread bytes: a reset), resets */
        struct parsed a;
        int64_t until = peer_now_ms() + 60;

        rig_client("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 50000000\r\n\r\n");
        (void)peer_write(&rig.client, span_of(block, 5000));
        rig_accept_request();
        RIG_PUMP(rig.up.n > 1000);
        for (int i = 0; i < 300; i++) { /* the upstream's buffers are full, ours too */
            (void)peer_write(&rig.client, span_of(block, sizeof(block)));
            loop_turn(rig.loop, 0);
        }
        peer_send(&rig.up, "HTTP/1.1 413 Too Big\r\nContent-Length: 7\r\n\r\nrefused");
        if (how == 1)
            peer_close(&rig.up);
        else if (how == 2)
            peer_reset(&rig.up);
        while (peer_now_ms() < until && !peer_is_gone(&rig.client)) {
            (void)peer_write(&rig.client, span_of(block, sizeof(block)));
            loop_turn(rig.loop, NS_PER_MS);
        }
        RIG_PUMP(rig_is_over() && peer_has(&rig.client, "refused"));
        a = rig_answer();
        assert_int_equal(a.end, MESSAGE_END);
        assert_int_equal(a.status, 413);
        assert_true(peer_has(&rig.client, "Connection: close"));
        check_finish("early", TAP_END_COMPLETE, TAP_REASON_NONE);
        free(a.body);
        peer_done(&rig.client);
        peer_done(&rig.up);
        RIG_TURNS(3);
    }
}

/* Answered early and whole, the client still sends and does not read yet: thrown away, bounded. */
static void test_body_behind_an_early_answer(void **state)
{
    static char block[200000];
    size_t n_sent = 0;
    struct parsed a;
    (void)state;
    rig_small_buffers();
    rig.config->request_window_bytes = 1000;
    rig_client("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 50000000\r\n\r\n");
    (void)peer_write(&rig.client, span_of(block, 5000));
    rig_accept_request();
    RIG_PUMP(rig.up.n > 1000);
    peer_send(&rig.up, RIG_OK("120000\r\n\r\n"));
    rig_answer_to_tail(span_of(block, RIG_TAIL_BYTES));
    while (n_sent < 4000000 && !peer_is_gone(&rig.client)) {
        n_sent += peer_write(&rig.client, span_of(block, sizeof(block)));
        loop_turn(rig.loop, 0);
    }
    rig_large_buffers();
    RIG_PUMP(rig_is_over());
    RIG_PUMP(rig.client.n >= RIG_TAIL_BYTES);
    a = rig_answer();
    assert_int_equal(a.end, MESSAGE_END);
    assert_int_equal(a.n_body, RIG_TAIL_BYTES);
    free(a.body);
}

/* The refusal is there when the next part of the upload runs into the reset. */
static void test_early_answer_meets_send(void **state)
{
    static char block[5000];
    (void)state;
    rig.config->request_window_bytes = 1000;
    rig_client("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 50000000\r\n\r\n");
    (void)peer_write(&rig.client, span_of(block, sizeof(block)));
    rig_accept_request();
    RIG_PUMP(rig.up.n > sizeof(block));
    (void)peer_write(&rig.client, span_of(block, sizeof(block)));
    peer_send(&rig.up, "HTTP/1.1 413 Too Big\r\nContent-Length: 7\r\n\r\nrefused");
    peer_reset(&rig.up);
    RIG_PUMP(rig_is_over() && peer_has(&rig.client, "refused"));
    check_finish("meets", TAP_END_COMPLETE, TAP_REASON_NONE);
    assert_int_equal(rig_tap()->finish.status, 413);
}

/* A client that reads only when it has sent everything, and an upstream that takes no more of it:
 * the upload is thrown away, else both would wait for ever. */
static void test_upload_behind_an_early_answer(void **state)
{
    enum { TOTAL = 30000000 };
    static char block[1000000];
    (void)state;
    rig_small_buffers();
    rig.config->request_window_bytes = 1000;
    for (int is_broken = 0; is_broken < 2; is_broken++) {
        size_t n_answer = is_broken ? 190000 : RIG_TAIL_BYTES;
        size_t n_sent = 0;
        int64_t until = peer_now_ms() + PUMP_LIMIT_MS;

        rig_client("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 30000000\r\n\r\n");
        (void)peer_write(&rig.client, span_of(block, 5000));
        rig_accept_request();
        n_sent = 5000;
        for (int n_idle = 0; n_idle < 20;) { /* until it is held back */
            size_t n = peer_write(&rig.client, span_of(block, sizeof(block)));
            n_sent += n;
            n_idle = n > 0 ? 0 : n_idle + 1;
            loop_turn(rig.loop, 0);
        }
        assert_true(n_sent < TOTAL);
        peer_send(&rig.up, is_broken ? RIG_OK("190000\r\n\r\n") : RIG_OK("120000\r\n\r\n"));
        assert_int_equal(peer_write(&rig.up, span_of(block, n_answer)), n_answer);
        for (int i = 0; i < 20; i++) /* in our kernel's buffers, not in its own */
            loop_turn(rig.loop, NS_PER_MS);
        if (is_broken)
            peer_reset(&rig.up);
        while (n_sent < TOTAL && peer_now_ms() < until) {
            size_t left = TOTAL - n_sent < sizeof(block) ? TOTAL - n_sent : sizeof(block);
            n_sent += peer_write(&rig.client, span_of(block, left));
            loop_turn(rig.loop, NS_PER_MS / 10);
        }
        assert_int_equal(n_sent, TOTAL);
        rig_large_buffers();
        RIG_PUMP(rig_is_over());
        RIG_PUMP(rig.client.n > n_answer);
        check_finish("upload", TAP_END_COMPLETE, TAP_REASON_NONE);
        peer_done(&rig.up);
        RIG_TURNS(3);
    }
}

/* The answer streams already when the upstream stops taking the request. */
static void test_upload_breaks_behind_the_head(void **state)
{
    static char block[100000];
    (void)state;
    rig.config->request_window_bytes = 1000;
    rig_client("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 50000000\r\n\r\n");
    (void)peer_write(&rig.client, span_of(block, 5000));
    rig_accept_request();
    RIG_PUMP(rig.up.n > 1000);
    peer_send(&rig.up, CHUNKED_HEAD "3\r\nabc\r\n");
    RIG_PUMP(peer_has(&rig.client, "abc"));
    peer_close(&rig.up); /* unread bytes: a reset */
    for (int i = 0; i < 50 && !rig_is_over(); i++) {
        (void)peer_write(&rig.client, span_of(block, sizeof(block)));
        loop_turn(rig.loop, 0);
    }
    RIG_PUMP(rig_is_over());
    check_finish("upload", TAP_END_UPSTREAM_CUT, TAP_REASON_UPSTREAM_CUT);
    assert_int_equal(rig_tap()->finish.status, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_CASE(test_early_answer_and_gone),         RIG_CASE(test_body_behind_an_early_answer),
        RIG_CASE(test_early_answer_meets_send),       RIG_CASE(test_upload_behind_an_early_answer),
        RIG_CASE(test_upload_breaks_behind_the_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
