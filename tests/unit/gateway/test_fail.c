/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong between the gateway and its upstream, and what the client sees of it. */
#include <fcntl.h>
#include <netinet/in.h>

#include "rig.h"

#define CHUNKED_HEAD "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

static void check_log(const char *name, const char *expect)
{
    if (strcmp(rig_tap()->log, expect) != 0)
        print_error("tap log is \"%s\", want \"%s\"\n", rig_tap()->log, expect);
    assert_row(name, strcmp(rig_tap()->log, expect) == 0);
}

static void check_finish(const char *name, enum tap_end end, enum tap_reason reason)
{
    if (rig_tap()->finish.end != end || rig_tap()->finish.reason != reason)
        print_error("ended with %d, %d; want %d, %d\n", (int)rig_tap()->finish.end,
                    (int)rig_tap()->finish.reason, (int)end, (int)reason);
    assert_row(name, rig_tap()->finish.end == end);
    assert_row(name, rig_tap()->finish.reason == reason);
}

static void up_is_closed(void)
{
    RIG_PUMP(peer_is_gone(&rig.up));
    peer_close(&rig.up);
}

/* --- stale connections --- */

enum how { HOW_FIN, HOW_RESET, HOW_LAST_WORD, HOW_COUNT_ };

static void up_leave(enum how how)
{
    if (how == HOW_LAST_WORD)
        peer_send(&rig.up, "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n"
                           "Content-Length: 0\r\n\r\n");
    if (how == HOW_RESET)
        peer_reset(&rig.up);
    else
        peer_close(&rig.up);
}

/* Closed after the request was sent, before any byte of an answer: once more, on a fresh one. */
static void test_stale_retry(void **state)
{
    (void)state;
    for (int how = HOW_FIN; how <= HOW_RESET; how++) {
        int64_t n_retries = stat_sum(STAT_STALE_RETRIES);

        rig_pool_one();
        peer_send(&rig.client, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello");
        RIG_PUMP(peer_has(&rig.up, "hello"));
        up_leave((enum how)how);
        rig_accept_request();
        RIG_PUMP(peer_has(&rig.up, "\r\n\r\nhello"));
        peer_send(&rig.up, RIG_OK("2\r\n\r\nok"));
        RIG_PUMP(rig_is_over() && peer_has(&rig.client, "\r\n\r\nok"));
        check_log("retry", "BQPATCSTCSHDFRX");
        check_finish("retry", TAP_END_COMPLETE, TAP_REASON_NONE);
        assert_int_equal(rig_tap()->finish.n_attempts, 2);
        assert_false(rig_tap()->connected.is_reused);
        assert_int_equal(stat_sum(STAT_STALE_RETRIES), n_retries + 1);
        peer_close(&rig.up);
        RIG_TURNS(2);
    }
}

/* Closed in the very turn in which the request comes: the client must not notice. The window may
 * be exceeded, as long as nothing of the body is out. */
static void test_stale_race(void **state)
{
    char big[400] = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 300\r\n\r\n";
    (void)state;
    rig.config->request_window_bytes = 100;
    memset(big + strlen(big), 'x', 300);
    for (int order = 0; order < 2; order++) {
        for (int how = 0; how < HOW_COUNT_; how++) {
            for (int is_big = 0; is_big < 2; is_big++) {
                rig_pool_one();
                if (order == 0)
                    up_leave((enum how)how);
                peer_send(&rig.client, is_big ? big : RIG_GET);
                if (order == 1)
                    up_leave((enum how)how);
                rig_accept_request();
                if (is_big)
                    RIG_PUMP(peer_has(&rig.up, "\r\n\r\nxxxxx"));
                peer_send(&rig.up, RIG_OK("2\r\n\r\nok"));
                RIG_PUMP(rig_is_over() && peer_has(&rig.client, "\r\n\r\nok"));
                check_finish("race", TAP_END_COMPLETE, TAP_REASON_NONE);
                peer_close(&rig.up);
                RIG_TURNS(2);
            }
        }
    }
}

static void test_no_retry(void **state)
{
    static const struct {
        const char *name;
        const char *request;
        const char *answer;         /* before the connection ends */
        bool is_reused, is_retried; /* the first attempt; then this is about the second */
        enum tap_reason reason;
    } table[] = {
        {"fresh connection", RIG_GET, "", false, false, TAP_REASON_UPSTREAM_CUT},
        {"second time", RIG_GET, "", true, true, TAP_REASON_UPSTREAM_CUT},
        {"after a byte", RIG_GET, "H", true, false, TAP_REASON_UPSTREAM_CUT},
        {"after an interim head", RIG_GET, "HTTP/1.1 100 Continue\r\n\r\n", true, false,
         TAP_REASON_UPSTREAM_CUT},
        {"malformed", RIG_GET, "SMTP\r\n\r\n", true, false, TAP_REASON_BAD_RESPONSE},
        {"body streamed", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 12\r\n\r\nhello, world",
         "", false, false, TAP_REASON_UPSTREAM_CUT}, /* never on a reused connection */
        {"body being streamed",
         "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nhello, world", "", false, false,
         TAP_REASON_UPSTREAM_CUT},
    };
    (void)state;
    rig.config->request_window_bytes = 10;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        peer_close(&rig.up); /* nothing in the pool */
        RIG_TURNS(3);
        if (table[i].is_reused)
            rig_pool_one();
        else
            rig_client("");
        peer_send(&rig.client, table[i].request);
        if (!table[i].is_reused)
            rig_accept();
        RIG_PUMP(peer_has(&rig.up, "\r\n\r\n"));
        if (table[i].is_retried) {
            peer_close(&rig.up);
            rig_accept_request();
        }
        RIG_TURNS(3);
        peer_send(&rig.up, table[i].answer);
        peer_close(&rig.up);
        rig_assert_refused(table[i].name, 502, table[i].reason);
        assert_row(table[i].name, rig_tap()->finish.n_attempts == (table[i].is_retried ? 2u : 1u));
        peer_done(&rig.client);
        RIG_TURNS(3);
    }
}

/* A connection that lives on for a second was not stale: the request may have been acted on. */
static void test_no_retry_after_a_while(void **state)
{
    int64_t until;
    (void)state;
    rig_pool_one();
    peer_send(&rig.client, RIG_GET);
    RIG_PUMP(peer_has(&rig.up, "\r\n\r\n"));
    until = peer_now_ms() + 1100;
    while (peer_now_ms() < until)
        loop_turn(rig.loop, 50 * NS_PER_MS);
    peer_close(&rig.up);
    rig_assert_refused("late", 502, TAP_REASON_UPSTREAM_CUT);
    assert_int_equal(rig_tap()->finish.n_attempts, 1);
}

/* Retried once, then asked to repeat without the edit: a second stale connection is the end. */
static void test_only_one_retry(void **state)
{
    struct peer first, other;
    (void)state;
    rig_start(RIG_GET); /* two connections for the pool */
    first = rig.client;
    other = rig.up;
    rig.client = rig.up = (struct peer){.fd = -1};
    rig_start(RIG_GET);
    peer_send(&other, RIG_OK("2\r\n\r\nok"));
    PUMP(rig.loop, peer_read(&first), peer_has(&first, "ok"));
    peer_send(&rig.up, RIG_OK("2\r\n\r\nok"));
    RIG_PUMP(rig_is_over() && peer_has(&rig.client, "ok"));
    peer_forget(&rig.client);
    peer_forget(&rig.up);
    rig.policy.repeat_on = 400;
    peer_send(&rig.client, RIG_GET); /* takes the one used last */
    RIG_PUMP(peer_has(&rig.up, "\r\n\r\n"));
    peer_close(&rig.up);
    rig_accept_request();
    peer_forget(&other);
    peer_send(&rig.up, "HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n");
    PUMP(rig.loop, peer_read(&other), peer_has(&other, "\r\n\r\n"));
    peer_close(&other);
    rig_assert_refused("second stale one", 502, TAP_REASON_UPSTREAM_CUT);
    assert_int_equal(rig_tap()->finish.n_attempts, 3);
    peer_done(&first);
    peer_done(&other);
}

/* --- connecting --- */

static void test_connect_refused(void **state)
{
    (void)state;
    close(rig.up_listen_fd);
    rig.up_listen_fd = -1;
    rig_client(RIG_GET);
    RIG_PUMP(rig.n_taps == 1);
    rig_assert_refused("refused", 502, TAP_REASON_CONNECT_REFUSED);
    check_log("refused", "BQPATX");
}

static void test_no_such_name(void **state)
{
    (void)state;
    rig.gateway = gateway_free(rig.gateway);
    rig_config_init("nope.invalid", 80);
    assert_int_equal(rig_gateway_open(), 0);
    rig_client(RIG_GET);
    RIG_PUMP(rig.n_taps == 1);
    rig_assert_refused("no name", 502, TAP_REASON_CONNECT_DNS);
}

static void test_name(void **state)
{
    (void)state;
    rig.gateway = gateway_free(rig.gateway);
    rig_config_init("localhost", rig.up_port);
    assert_int_equal(rig_gateway_open(), 0);
    rig_start(RIG_GET);
    assert_true(peer_has(&rig.up, "\r\nHost: localhost:"));
    assert_true(rig_tap()->connected.dns_ns >= 0);
    peer_send(&rig.up, RIG_OK("0\r\n\r\n"));
    RIG_PUMP(rig_is_over());
}

enum { N_FILLERS = 8 };
static int fillers[N_FILLERS];

/* An upstream whose queue of connections is full: connecting to it takes for ever. */
static void up_hang(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    close(rig.up_listen_fd);
    rig.up_listen_fd = peer_listen_backlog(&rig.up_port, 0);
    to.sin_port = htons(rig.up_port);
    for (int i = 0; i < N_FILLERS; i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        (void)connect(fillers[i], (struct sockaddr *)(void *)&to, sizeof(to));
    }
    rig.gateway = gateway_free(rig.gateway);
    rig_config_init("127.0.0.1", rig.up_port);
}

static void up_hang_done(void)
{
    for (int i = 0; i < N_FILLERS; i++)
        close(fillers[i]);
}

static void test_connect_timeout(void **state)
{
    (void)state;
    up_hang();
    rig.config->connect_timeout_ns = 40 * NS_PER_MS;
    assert_int_equal(rig_gateway_open(), 0);
    rig_client(RIG_GET);
    RIG_PUMP(rig.n_taps == 1);
    rig_assert_refused("connect", 504, TAP_REASON_TIMEOUT_CONNECT);
    check_log("connect", "BQPATX");
    up_hang_done();
}

/* --- timeouts --- */

static void test_timeouts(void **state)
{
    static const struct {
        const char *name;
        const char *answer; /* then silence */
        int64_t first_byte_ms, idle_ms, total_ms;
        int status; /* 0: an answer under way is cut */
        enum tap_reason reason;
    } table[] = {
        {"first byte", "", 40, 2000, 0, 504, TAP_REASON_TIMEOUT_FIRST_BYTE},
        {"first byte, half a head", "HTTP/1.1 200 O", 40, 2000, 0, 504,
         TAP_REASON_TIMEOUT_FIRST_BYTE},
        {"first byte, interim head", "HTTP/1.1 100 Continue\r\n\r\n", 40, 2000, 0, 504,
         TAP_REASON_TIMEOUT_FIRST_BYTE},
        {"idle behind the head", CHUNKED_HEAD, 2000, 40, 0, 0, TAP_REASON_TIMEOUT_IDLE},
        {"idle in the body", CHUNKED_HEAD "3\r\nabc\r\n", 2000, 40, 0, 0, TAP_REASON_TIMEOUT_IDLE},
        {"total before the head", "", 2000, 2000, 40, 504, TAP_REASON_TIMEOUT_TOTAL},
        {"total in the body", CHUNKED_HEAD "3\r\nabc\r\n", 2000, 2000, 40, 0,
         TAP_REASON_TIMEOUT_TOTAL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        int64_t begin = peer_now_ms();

        rig.config->first_byte_timeout_ns = table[i].first_byte_ms * NS_PER_MS;
        rig.config->idle_timeout_ns = table[i].idle_ms * NS_PER_MS;
        rig.config->total_timeout_ns = table[i].total_ms * NS_PER_MS;
        rig_start(RIG_GET);
        peer_send(&rig.up, table[i].answer);
        if (table[i].status > 0) {
            rig_assert_refused(table[i].name, table[i].status, table[i].reason);
        } else {
            struct parsed a;
            RIG_PUMP(rig_is_over() && peer_is_gone(&rig.client));
            a = rig_answer();
            assert_row(table[i].name, a.end == MESSAGE_MORE && a.status == 200);
            check_finish(table[i].name, TAP_END_TIMEOUT, table[i].reason);
            free(a.body);
        }
        assert_row(table[i].name, peer_now_ms() - begin >= 40);
        assert_row(table[i].name, peer_now_ms() - begin < 1500);
        up_is_closed();
    }
}

/* An answer that trickles is not idle; the total time still holds. */
static void test_idle_is_between_reads(void **state)
{
    (void)state;
    rig.config->idle_timeout_ns = 160 * NS_PER_MS;
    rig_start(RIG_GET);
    peer_send(&rig.up, CHUNKED_HEAD);
    for (int i = 0; i < 6; i++) {
        size_t n = rig.client.n;
        usleep(40000);
        peer_send(&rig.up, "1\r\nx\r\n");
        RIG_PUMP(rig.client.n > n);
    }
    assert_false(rig_is_over());
    peer_send(&rig.up, "0\r\n\r\n");
    RIG_PUMP(rig_is_over());
    check_finish("trickle", TAP_END_COMPLETE, TAP_REASON_NONE);
}

/* The wait for the first byte begins with the last byte of a streamed body. */
static void test_first_byte_is_behind_the_body(void **state)
{
    (void)state;
    rig.config->first_byte_timeout_ns = 160 * NS_PER_MS;
    rig.config->request_window_bytes = 2;
    rig_start("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc");
    for (int i = 0; i < 6; i++) {
        usleep(40000);
        peer_send(&rig.client, "x");
        RIG_TURNS(3);
    }
    assert_false(rig_is_over());
    peer_send(&rig.up, RIG_OK("2\r\n\r\nok"));
    RIG_PUMP(rig_is_over() && peer_has(&rig.client, "ok"));
}

static void test_slow_request_body(void **state)
{
    (void)state;
    rig.config->client_body_timeout_ns = 40 * NS_PER_MS;
    rig_gateway_reopen();
    rig_client("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc");
    RIG_PUMP(peer_is_gone(&rig.client) && rig_is_over());
    assert_true(peer_has(&rig.client, "HTTP/1.1 408 "));
    check_finish("slow body", TAP_END_REFUSED, TAP_REASON_TIMEOUT_REQUEST);
    assert_int_equal(rig_tap()->finish.status, 408);
    check_log("slow body", "BX");
}

static void test_malformed_request_body(void **state)
{
    (void)state;
    rig_client("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n");
    RIG_PUMP(peer_is_gone(&rig.client) && rig_is_over());
    assert_true(peer_has(&rig.client, "HTTP/1.1 400 "));
    check_finish("bad chunk", TAP_END_REFUSED, TAP_REASON_BAD_REQUEST);
    assert_int_equal(rig_tap()->finish.status, 400);
    /* The same behind the window, with the upstream under way. */
    rig.config->request_window_bytes = 2;
    rig_start("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    peer_send(&rig.client, "zz\r\n");
    RIG_PUMP(peer_is_gone(&rig.client) && rig_is_over());
    assert_true(peer_has(&rig.client, "HTTP/1.1 400 "));
    up_is_closed();
}

/* --- answers that break --- */

static void test_cut_answers(void **state)
{
    static const struct {
        const char *name;
        const char *answer[3]; /* each a read of its own */
        char end;              /* c: closes, r: resets, ' ': nothing */
        const char *body;      /* what reaches the client */
        enum tap_end finish;
        enum tap_reason reason;
        const char *log;
    } table[] = {
        {"chunked",
         {CHUNKED_HEAD "3\r\nabc\r\n"},
         'c',
         "abc",
         TAP_END_UPSTREAM_CUT,
         TAP_REASON_UPSTREAM_CUT,
         "BQPATCSHDFX"},
        {"chunked, in a chunk",
         {CHUNKED_HEAD, "3\r\nab"},
         'c',
         "ab",
         TAP_END_UPSTREAM_CUT,
         TAP_REASON_UPSTREAM_CUT,
         "BQPATCSHDFX"},
        {"chunked, reset",
         {CHUNKED_HEAD, "3\r\nabc\r\n"},
         'r',
         "abc",
         TAP_END_UPSTREAM_CUT,
         TAP_REASON_UPSTREAM_CUT,
         "BQPATCSHDFX"},
        {"head only",
         {CHUNKED_HEAD},
         'c',
         "",
         TAP_END_UPSTREAM_CUT,
         TAP_REASON_UPSTREAM_CUT,
         "BQPATCSHX"},
        {"length",
         {RIG_OK("5\r\n\r\n"), "abc"},
         'c',
         "abc",
         TAP_END_UPSTREAM_CUT,
         TAP_REASON_UPSTREAM_CUT,
         "BQPATCSHDFX"},
        {"until close, reset",
         {"HTTP/1.1 200 OK\r\n\r\nabc"},
         'r',
         "abc",
         TAP_END_UPSTREAM_CUT,
         TAP_REASON_UPSTREAM_CUT,
         "BQPATCSHDFX"},
        {"bad chunk in the first read",
         {CHUNKED_HEAD "3\r\nabc\r\nzz\r\n"},
         ' ',
         "abc",
         TAP_END_BAD_RESPONSE,
         TAP_REASON_BAD_RESPONSE,
         "BQPATCSHDFX"},
        {"bad chunk in a later read",
         {CHUNKED_HEAD "1\r\na\r\n", "2\r\nbc\r\nzz\r\n"},
         ' ',
         "abc",
         TAP_END_BAD_RESPONSE,
         TAP_REASON_BAD_RESPONSE,
         "BQPATCSHDFX"},
        {"bad chunk first",
         {CHUNKED_HEAD, "zz\r\n"},
         ' ',
         "",
         TAP_END_BAD_RESPONSE,
         TAP_REASON_BAD_RESPONSE,
         "BQPATCSHX"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct parsed a;

        rig_start(RIG_GET);
        for (int k = 0; k < 3 && table[i].answer[k]; k++) {
            if (k > 0)
                RIG_TURNS(3);
            peer_send(&rig.up, table[i].answer[k]);
        }
        if (table[i].end == 'c')
            peer_close(&rig.up);
        else if (table[i].end == 'r')
            peer_reset(&rig.up);
        RIG_PUMP(rig_is_over() && peer_is_gone(&rig.client));
        a = rig_answer();
        assert_row(table[i].name, a.end == MESSAGE_MORE && a.status == 200);
        assert_span_equal(table[i].name, span_of(a.body, a.n_body), span_cstr(table[i].body));
        assert_int_equal(rig_tap()->n_body, strlen(table[i].body));
        check_finish(table[i].name, table[i].finish, table[i].reason);
        check_log(table[i].name, table[i].log);
        free(a.body);
        if (table[i].end == ' ')
            up_is_closed();
        RIG_TURNS(2);
    }
}

/* A 1.0 client could not tell a cut from the end: it gets a reset. */
static void test_cut_for_1_0(void **state)
{
    (void)state;
    rig_start("GET / HTTP/1.0\r\n\r\n");
    peer_send(&rig.up, CHUNKED_HEAD "3\r\nabc\r\n");
    RIG_PUMP(peer_has(&rig.client, "abc"));
    peer_close(&rig.up);
    RIG_PUMP(peer_is_gone(&rig.client));
    assert_int_equal(rig.client.error, ECONNRESET);
}

static void test_malformed_heads(void **state)
{
    static const char *const answers[] = {
        "SSH-2.0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\nContent-Length: 1\r\n\r\n",
        "HTTP/2 200 OK\r\n\r\n",
        "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        rig_start(RIG_GET);
        peer_send(&rig.up, answers[i]);
        rig_assert_refused(answers[i], 502, TAP_REASON_BAD_RESPONSE);
        up_is_closed();
    }
}

/* Two exchanges at once: what one of them breaks off with must not show in the other. */
static void test_fault_stays_with_its_exchange(void **state)
{
    struct peer client = {.fd = -1};
    struct peer up = {.fd = -1};
    (void)state;
    rig_start(RIG_GET);
    client = rig.client;
    up = rig.up;
    rig.client = rig.up = (struct peer){.fd = -1};
    rig_start(RIG_GET);
    peer_send(&up, CHUNKED_HEAD);
    peer_send(&rig.up, CHUNKED_HEAD);
    PUMP(rig.loop, (rig_poll(), peer_read(&client)),
         peer_has(&client, "\r\n\r\n") && peer_has(&rig.client, "\r\n\r\n"));
    peer_send(&up, "5\r\nALIEN\r\nzz\r\n");
    PUMP(rig.loop, (rig_poll(), peer_read(&client)), peer_is_gone(&client));
    assert_true(peer_has(&client, "ALIEN"));
    peer_send(&rig.up, "4\r\nmine\r\n0\r\n\r\n");
    RIG_PUMP(rig_is_over());
    RIG_TURNS(1);
    assert_true(peer_has(&rig.client, "\r\n\r\n4\r\nmine\r\n0\r\n\r\n"));
    assert_false(peer_has(&rig.client, "ALIEN"));
    peer_done(&client);
    peer_done(&up);
}

/* --- out of memory --- */

static int attempt(void *ctx)
{
    static char block[300000];
    struct peer client = {.fd = -1};
    struct peer up = {.fd = -1};
    int result = -ENOMEM;
    int64_t until = peer_now_ms() + 3000;
    (void)ctx;
    if (rig_gateway_open() < 0)
        return -ENOMEM;
    peer_connect(&client, rig.port);
    peer_send(&client, "POST / HTTP/1.1\r\nHost: h\r\nContent-Le");
    TURNS(rig.loop, (void)0, 2);
    (void)peer_write(&client, SPAN("ngth: 2000\r\n\r\n"));
    (void)peer_write(&client, span_of(block, 700));
    TURNS(rig.loop, (void)0, 2);
    (void)peer_write(&client, span_of(block, 1300));
    while (!peer_is_gone(&client) && peer_now_ms() < until &&
           !peer_has(&client, "\r\n\r\nThe end")) {
        loop_turn(rig.loop, NS_PER_MS);
        peer_read(&client);
        if (peer_has(&client, "text/refusal"))
            break;
        if (up.fd >= 0 || !peer_accept(&up, rig.up_listen_fd))
            continue;
        TURNS(rig.loop, (void)0, 2);
        (void)peer_write(&up, SPAN("HTTP/1.1 200 OK\r\nConte"));
        TURNS(rig.loop, (void)0, 2);
        (void)peer_write(&up, SPAN("nt-Length: 7\r\n\r\nThe end"));
    }
    assert_true(peer_now_ms() < until);
    if (peer_has(&client, "\r\n\r\nThe end"))
        result = 0;
    peer_done(&client);
    peer_done(&up);
    TURNS(rig.loop, (void)0, 3);
    rig.gateway = gateway_free(rig.gateway);
    rig_forget_taps();
    return result;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    rig.gateway = gateway_free(rig.gateway);
    for (int is_big = 0; is_big < 2; is_big++) {
        rig.config->request_window_bytes = is_big ? 1000 : 1 << 20;
        assert_true(memfail_each(attempt, NULL) > 10);
        assert_int_equal(rig.policy.n_plans, rig.policy.n_done);
        assert_int_equal(rig_n_inflight(), 0);
    }
    assert_int_equal(rig_gateway_open(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_CASE(test_stale_retry),
        RIG_CASE(test_stale_race),
        RIG_CASE(test_no_retry),
        RIG_CASE(test_no_retry_after_a_while),
        RIG_CASE(test_only_one_retry),
        RIG_CASE(test_connect_refused),
        RIG_CASE(test_no_such_name),
        RIG_CASE(test_name),
        RIG_CASE(test_connect_timeout),
        RIG_CASE(test_timeouts),
        RIG_CASE(test_idle_is_between_reads),
        RIG_CASE(test_first_byte_is_behind_the_body),
        RIG_CASE(test_slow_request_body),
        RIG_CASE(test_malformed_request_body),
        RIG_CASE(test_cut_answers),
        RIG_CASE(test_cut_for_1_0),
        RIG_CASE(test_malformed_heads),
        RIG_CASE(test_fault_stays_with_its_exchange),
        RIG_CASE(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
