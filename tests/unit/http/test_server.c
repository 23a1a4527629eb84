/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/stat.h"
#include "harness.h"
#include "memfail.h"
#include "peer.h"

/*
 * The handler answers by path: /len/N, /chunked/N, /close/N (framing, N bytes), /status/S, /echo,
 * /early (413 before the body), /wait (the test answers), /big/N (as much as the client takes at a
 * time), /cut-len, /cut-chunked, /cut-close, /cut-none (gives up half way).
 */
enum { N_REQUESTS = 64, QUEUE_MAX = 1 << 20 };

struct request {
    struct http_server_conn *c;
    char target[64];
    char body[4096];
    size_t n_body;
    uint64_t n_body_total;
    int n_pieces;
    size_t n_sent, n_wanted; /* /big */
    int n_gone, gone_error;
    bool is_ended, is_pipelined;
};

static struct loop *loop;
static struct http_server *server;
static struct http_server_config config;
static struct request requests[N_REQUESTS];
static int n_requests;
static int n_bad, bad_status;
static bool is_slow; /* answers come a turn later */
static struct task slow_task;
static struct request *slow_request;
static size_t max_queued;
static uint16_t port;
static int listen_fd;
static int64_t n_live_before;
static int n_fds_before;

static const char text[] = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-+";

static uint64_t number_behind(const char *target, const char *prefix)
{
    uint64_t n = 0;

    if (num_parse_u64(span_cstr(target + strlen(prefix)), &n) < 0)
        fail_msg("bad target %s", target);
    return n;
}

/* --- answering --- */

static void answer_pieces(struct request *q, enum http1_framing kind, uint64_t n)
{
    struct http_framing framing = {kind, n};
    struct span part = span_of(text, (size_t)n);
    struct span half = span_of(text, (size_t)n / 2);
    struct span rest = span_from(part, (size_t)n / 2);
    int r =
        http_server_head(q->c, 200, (struct span){0}, SPAN("X-A: b\r\n"), framing, &half, 1, false);

    if (r == 0)
        r = http_server_body(q->c, &rest, 1, false);
    if (r == 0)
        r = http_server_body(q->c, NULL, 0, true);
    (void)r;
    http_server_end(q->c);
}

static void answer_cut(struct request *q, enum http1_framing kind)
{
    struct span part = SPAN("half");

    if (http_server_head(q->c, 200, (struct span){0}, (struct span){0},
                         (struct http_framing){kind, 100}, &part, 1, false) < 0)
        fail_msg("head");
    http_server_end(q->c);
}

static void big_more(struct request *q)
{
    static char block[50000];

    while (q->n_sent < q->n_wanted && !http_server_is_full(q->c)) {
        size_t left = q->n_wanted - q->n_sent;
        struct span part = span_of(block, left < sizeof(block) ? left : sizeof(block));
        q->n_sent += part.n;
        if (http_server_body(q->c, &part, 1, q->n_sent == q->n_wanted) < 0)
            fail_msg("body");
        if (http_server_queued_bytes(q->c) > max_queued)
            max_queued = http_server_queued_bytes(q->c);
    }
    if (q->n_sent == q->n_wanted)
        http_server_end(q->c);
}

static void answer_big(struct request *q)
{
    q->n_wanted = (size_t)number_behind(q->target, "/big/");
    if (http_server_head(q->c, 200, (struct span){0}, (struct span){0},
                         (struct http_framing){HTTP1_BODY_CHUNKED, 0}, NULL, 0, false) < 0)
        fail_msg("head");
    big_more(q);
}

static void answer(struct request *q)
{
    struct span t = span_cstr(q->target);

    if (span_starts_with(t, SPAN("/len/")))
        http_server_reply(q->c, 200, SPAN("text/plain"),
                          span_of(text, (size_t)number_behind(q->target, "/len/")));
    else if (span_starts_with(t, SPAN("/chunked/")))
        answer_pieces(q, HTTP1_BODY_CHUNKED, number_behind(q->target, "/chunked/"));
    else if (span_starts_with(t, SPAN("/close/")))
        answer_pieces(q, HTTP1_BODY_UNTIL_CLOSE, number_behind(q->target, "/close/"));
    else if (span_starts_with(t, SPAN("/status/")))
        http_server_reply(q->c, (int)number_behind(q->target, "/status/"), SPAN("text/plain"),
                          SPAN("body"));
    else if (span_starts_with(t, SPAN("/big/")))
        answer_big(q);
    else if (span_eq(t, SPAN("/echo")))
        http_server_reply(q->c, 200, SPAN("text/plain"), span_of(q->body, q->n_body));
    else if (span_eq(t, SPAN("/cut-len")))
        answer_cut(q, HTTP1_BODY_LENGTH);
    else if (span_eq(t, SPAN("/cut-chunked")))
        answer_cut(q, HTTP1_BODY_CHUNKED);
    else if (span_eq(t, SPAN("/cut-close")))
        answer_cut(q, HTTP1_BODY_UNTIL_CLOSE);
    else if (span_eq(t, SPAN("/cut-none")))
        http_server_end(q->c);
}

static void slow_run(struct task *t)
{
    struct request *q = slow_request;
    (void)t;
    slow_request = NULL;
    if (q->n_gone == 0)
        answer(q);
}

/* --- what the server tells --- */

static void on_request(struct http_server_conn *c, const struct http_request_info *info)
{
    struct request *q = &requests[n_requests++ % N_REQUESTS];

    assert_null(c->request);
    assert_true(info->last.at.ns >= info->first.at.ns);
    *q = (struct request){.c = c, .is_pipelined = info->is_pipelined};
    span_copy(info->head->target, q->target, sizeof(q->target));
    c->request = q;
    if (strcmp(q->target, "/early") == 0)
        http_server_reply(c, 413, SPAN("text/plain"), SPAN("too big"));
    else
        assert_int_equal(http_server_continue(c), 0);
}

static void on_body(struct http_server_conn *c, struct span bytes, struct stamp at)
{
    struct request *q = c->request;

    assert_true(mono_is_set(at.at));
    assert_true(bytes.n > 0);
    assert_false(q->is_ended);
    for (size_t i = 0; i < bytes.n && q->n_body < sizeof(q->body); i++)
        q->body[q->n_body++] = bytes.p[i];
    q->n_body_total += bytes.n;
    q->n_pieces++;
}

static void on_end(struct http_server_conn *c, struct stamp at)
{
    struct request *q = c->request;

    assert_true(mono_is_set(at.at));
    assert_false(q->is_ended);
    q->is_ended = true;
    if (!is_slow) {
        answer(q);
    } else {
        assert_null(slow_request);
        slow_request = q;
        loop_defer(loop, &slow_task);
    }
}

static void on_gone(struct http_server_conn *c, int error, struct stamp at)
{
    struct request *q = c->request;

    assert_true(mono_is_set(at.at));
    assert_ptr_equal(q->c, c);
    q->n_gone++;
    q->gone_error = error;
}

static void on_drained(struct http_server_conn *c)
{
    struct request *q = c->request;

    if (q->n_wanted > 0)
        big_more(q);
}

static void on_bad(struct http_server *s, int status, const char *why, struct stamp first)
{
    assert_ptr_equal(s, server);
    assert_non_null(why);
    assert_true(mono_is_set(first.at));
    n_bad++;
    bad_status = status;
}

static const struct http_server_ops ops = {
    .on_request = on_request,
    .on_body = on_body,
    .on_end = on_end,
    .on_gone = on_gone,
    .on_drained = on_drained,
    .on_bad = on_bad,
};

/* --- rig --- */

static void server_open(void)
{
    assert_int_equal(http_server_new(loop, &ops, &config, &config, &server), 0);
    assert_ptr_equal(http_server_owner(server), &config);
    assert_int_equal(http_server_listen(server, listen_fd, NULL), 0);
}

static int setup(void **state)
{
    (void)state;
    n_live_before = mem_live_blocks();
    n_fds_before = fd_count();
    config = (struct http_server_config){.head_timeout_ns = 5 * NS_PER_S,
                                         .idle_timeout_ns = 5 * NS_PER_S,
                                         .body_timeout_ns = 5 * NS_PER_S,
                                         .max_conns = 16,
                                         .max_queue_bytes = QUEUE_MAX};
    n_requests = n_bad = bad_status = 0;
    is_slow = false;
    slow_request = NULL;
    max_queued = 0;
    task_init(&slow_task, slow_run);
    listen_fd = peer_listen(&port);
    assert_int_equal(loop_new(&loop), 0);
    server_open();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    server = http_server_free(server);
    close(listen_fd);
    loop = loop_free(loop);
    assert_int_equal(mem_live_blocks(), n_live_before);
    assert_int_equal(fd_count(), n_fds_before);
    return 0;
}

static struct request *last_request(void)
{
    assert_true(n_requests > 0);
    return &requests[(n_requests - 1) % N_REQUESTS];
}

static void wait_no_conns(void)
{
    PUMP(loop, (void)0, http_server_n_conns(server) == 0);
}

/* --- one request, its answer and what becomes of the connection --- */

#define OK(fields) "HTTP/1.1 200 OK\r\n" fields
#define BAD(length, why)                                                                           \
    "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close\r\n"          \
    "Content-Length: " length "\r\n\r\n{\"error\":{\"message\":\"" why                             \
    "\",\"type\":\"invalid_request_error\",\"param\":null,\"code\":\"bad_request\"}}\n"

struct row {
    const char *name;
    const char *request;
    const char *answer;
    bool closes;
};

static const struct row rows[] = {
    {"length", "GET /len/3 HTTP/1.1\r\nHost: h\r\n\r\n",
     OK("Content-Type: text/plain\r\nContent-Length: 3\r\n\r\nabc"), false},
    {"length 0", "GET /len/0 HTTP/1.1\r\nHost: h\r\n\r\n",
     OK("Content-Type: text/plain\r\nContent-Length: 0\r\n\r\n"), false},
    {"empty lines in front", "\r\n\r\nGET /len/1 HTTP/1.1\r\nHost: h\r\n\r\n",
     OK("Content-Type: text/plain\r\nContent-Length: 1\r\n\r\na"), false},
    {"HEAD", "HEAD /len/3 HTTP/1.1\r\nHost: h\r\n\r\n",
     OK("Content-Type: text/plain\r\nContent-Length: 3\r\n\r\n"), false},
    {"HEAD, chunked", "HEAD /chunked/3 HTTP/1.1\r\nHost: h\r\n\r\n",
     OK("X-A: b\r\nTransfer-Encoding: chunked\r\n\r\n"), false},
    {"close asked", "GET /len/3 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
     OK("Content-Type: text/plain\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc"), true},
    {"chunked", "GET /chunked/20 HTTP/1.1\r\nHost: h\r\n\r\n",
     OK("X-A: b\r\nTransfer-Encoding: chunked\r\n\r\n"
        "a\r\nabcdefghij\r\na\r\nklmnopqrst\r\n0\r\n\r\n"),
     false},
    {"until close becomes chunked", "GET /close/2 HTTP/1.1\r\nHost: h\r\n\r\n",
     OK("X-A: b\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n"), false},
    {"1.0", "GET /len/3 HTTP/1.0\r\n\r\n",
     OK("Content-Type: text/plain\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc"), true},
    {"1.0 keep-alive", "GET /len/3 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
     OK("Content-Type: text/plain\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabc"),
     false},
    {"1.0 chunked becomes until close", "GET /chunked/4 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
     OK("X-A: b\r\nConnection: close\r\n\r\nabcd"), true},
    {"1.0 until close", "GET /close/4 HTTP/1.0\r\n\r\n",
     OK("X-A: b\r\nConnection: close\r\n\r\nabcd"), true},
    {"1.0 HEAD keeps the connection", "HEAD /close/4 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
     OK("X-A: b\r\nConnection: keep-alive\r\n\r\n"), false},
    {"204", "GET /status/204 HTTP/1.1\r\nHost: h\r\n\r\n",
     "HTTP/1.1 204 No Content\r\nContent-Type: text/plain\r\n\r\n", false},
    {"304", "GET /status/304 HTTP/1.1\r\nHost: h\r\n\r\n",
     "HTTP/1.1 304 Not Modified\r\nContent-Type: text/plain\r\n\r\n", false},
    {"body by length", "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello",
     OK("Content-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"), false},
    {"body of length 0", "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
     OK("Content-Type: text/plain\r\nContent-Length: 0\r\n\r\n"), false},
    {"chunked body",
     "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
     "5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nA: b\r\n\r\n",
     OK("Content-Type: text/plain\r\nContent-Length: 6\r\n\r\nhello!"), false},
    {"continue",
     "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nok",
     "HTTP/1.1 100 Continue\r\n\r\n" OK("Content-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"),
     false},
    {"no continue for 1.0",
     "POST /echo HTTP/1.0\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nok",
     OK("Content-Type: text/plain\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"), true},
    {"early answer", "POST /early HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n0123456789",
     "HTTP/1.1 413 Content Too Large\r\nContent-Type: text/plain\r\nConnection: close\r\n"
     "Content-Length: 7\r\n\r\ntoo big",
     true},
    {"early answer instead of continue",
     "POST /early HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n",
     "HTTP/1.1 413 Content Too Large\r\nContent-Type: text/plain\r\nConnection: close\r\n"
     "Content-Length: 7\r\n\r\ntoo big",
     true},
    {"malformed head", "GET  / HTTP/1.1\r\nHost: h\r\n\r\n", BAD("112", "malformed request line"),
     true},
    {"text with quotes", "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n",
     BAD("134", "Transfer-Encoding other than one \\\"chunked\\\""), true},
    {"malformed chunk",
     "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nokx\r\n",
     BAD("120", "malformed chunked request body"), true},
    {"cut, length", "GET /cut-len HTTP/1.1\r\nHost: h\r\n\r\n",
     OK("Content-Length: 100\r\n\r\nhalf"), true},
    {"cut, chunked", "GET /cut-chunked HTTP/1.1\r\nHost: h\r\n\r\n",
     OK("Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"), true},
};

/* Sends the request in two parts and checks all that comes back. */
static void run_row(const struct row *row, size_t split)
{
    struct span all = span_cstr(row->request);
    struct peer p;

    peer_connect(&p, port);
    (void)peer_write(&p, span_of(all.p, split));
    if (split > 0)
        TURNS(loop, (void)0, 2);
    (void)peer_write(&p, span_from(all, split));
    PUMP(loop, peer_read(&p), p.n >= strlen(row->answer) || peer_is_gone(&p));
    assert_span_equal(row->name, peer_got(&p), span_cstr(row->answer));
    if (row->closes) {
        PUMP(loop, peer_read(&p), peer_is_gone(&p));
        assert_row(row->name, p.error == 0); /* FIN, no reset */
    } else {
        peer_forget(&p);
        peer_send(&p, "GET /len/1 HTTP/1.1\r\nHost: h\r\n\r\n");
        PUMP(loop, peer_read(&p), peer_has(&p, "\r\n\r\na"));
        assert_row(row->name, !peer_is_gone(&p));
    }
    peer_done(&p);
    wait_no_conns();
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (size_t split = 0; split < strlen(rows[i].request); split++)
            run_row(&rows[i], split);
}

static void test_rows_answered_later(void **state)
{
    (void)state;
    is_slow = true;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        run_row(&rows[i], 0);
}

/* A client that needs the end of the connection to know the end of the body gets a reset. */
static void test_cut_close_delimited(void **state)
{
    static const char *const requests_1_0[] = {
        "GET /cut-close HTTP/1.0\r\n\r\n",
        "GET /cut-none HTTP/1.0\r\n\r\n",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(requests_1_0); i++) {
        struct peer p;
        peer_connect(&p, port);
        peer_send(&p, requests_1_0[i]);
        PUMP(loop, peer_read(&p), peer_is_gone(&p));
        assert_int_equal(p.error, ECONNRESET);
        peer_done(&p);
    }
    wait_no_conns();
}

/* --- pipelining --- */

/* n requests in a row, and what has to come back. */
static void pipeline_build(int n, struct buf *all, struct buf *expect)
{
    for (int i = 0; i < n; i++) {
        int half = (1 + i) / 2;
        if (i % 2 == 0) {
            assert_int_equal(
                buf_printf(all, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nno%d",
                           i),
                0);
            assert_int_equal(
                buf_printf(expect, OK("Content-Type: text/plain\r\nContent-Length: 3\r\n\r\nno%d"),
                           i),
                0);
        } else {
            assert_int_equal(buf_printf(all, "GET /chunked/%d HTTP/1.1\r\nHost: h\r\n\r\n", 1 + i),
                             0);
            assert_int_equal(buf_printf(expect,
                                        OK("X-A: b\r\nTransfer-Encoding: chunked\r\n\r\n"
                                           "%d\r\n%.*s\r\n%d\r\n%.*s\r\n0\r\n\r\n"),
                                        half, half, text, half, half, text + half),
                             0);
        }
    }
}

static void check_pipelined(int n, size_t split, bool slow)
{
    struct buf all, expect;
    struct span bytes;
    struct peer p;

    buf_init(&all, 4096);
    buf_init(&expect, 4096);
    pipeline_build(n, &all, &expect);
    n_requests = 0;
    is_slow = slow;
    bytes = buf_span(&all);
    split = split < bytes.n ? split : bytes.n;
    peer_connect(&p, port);
    (void)peer_write(&p, span_of(bytes.p, split));
    TURNS(loop, (void)0, 1);
    (void)peer_write(&p, span_from(bytes, split));
    PUMP(loop, peer_read(&p), p.n >= buf_len(&expect) || peer_is_gone(&p));
    assert_span_equal("pipelined", peer_got(&p), buf_span(&expect));
    assert_int_equal(n_requests, n);
    assert_false(requests[0].is_pipelined);
    if (split == 0)
        assert_true(requests[n - 1].is_pipelined);
    peer_done(&p);
    buf_done(&all);
    buf_done(&expect);
    wait_no_conns();
}

static void test_pipelining(void **state)
{
    (void)state;
    for (int n = 2; n <= 5; n++)
        for (size_t split = 0; split < 160; split += (size_t)(n == 3 ? 1 : 7))
            for (int slow = 0; slow < 2; slow++)
                check_pipelined(n, split, slow != 0);
}

/* Followers of a request that waits are held back by the kernel, not by us. */
static void test_pipelined_bytes_are_bounded(void **state)
{
    static char block[1 << 20];
    struct peer p;
    size_t n = 0;
    (void)state;
    peer_connect(&p, port);
    peer_send(&p, "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
    PUMP(loop, (void)0, n_requests == 1 && last_request()->is_ended);
    memset(block, 'x', sizeof(block));
    for (int i = 0; i < 50; i++) {
        n += peer_write(&p, span_of(block, sizeof(block)));
        TURNS(loop, (void)0, 2);
    }
    assert_true(n < (size_t)16 << 20); /* socket buffers */
    assert_true(buf_len(&last_request()->c->_rest) <= LIMIT_READ_BYTES);
    peer_reset(&p); /* seen although paused; a FIN would wait behind the data */
    PUMP(loop, (void)0, last_request()->n_gone == 1);
    peer_done(&p);
    wait_no_conns();
}

#define FLOOD_ANSWER OK("Content-Type: text/plain\r\nContent-Length: 60\r\n\r\n")
enum { FLOOD_ANSWER_BYTES = sizeof(FLOOD_ANSWER) - 1 + 60 };

/* Tiny chunks cost the handler a call for each read, not for each chunk; large ones are told as
 * they lie, in their order. */
static void test_tiny_chunks(void **state)
{
    enum { N = 1000, LARGE = 2000 };
    struct buf all;
    struct peer p;
    (void)state;
    buf_init(&all, 1 << 20);
    assert_int_equal(
        buf_append(&all,
                   SPAN("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")),
        0);
    for (int i = 0; i < N; i++)
        assert_int_equal(buf_printf(&all, "1\r\n%c\r\n", 'a' + i % 26), 0);
    assert_int_equal(buf_printf(&all, "%x\r\n%0*d\r\n", (unsigned)LARGE, LARGE, 7), 0);
    for (int i = 0; i < N; i++)
        assert_int_equal(buf_printf(&all, "1\r\n%c\r\n", 'A' + i % 26), 0);
    assert_int_equal(buf_append(&all, SPAN("0\r\n\r\n")), 0);
    peer_connect(&p, port);
    assert_int_equal(peer_write(&p, buf_span(&all)), buf_len(&all));
    PUMP(loop, peer_read(&p), n_requests == 1 && last_request()->is_ended);
    assert_int_equal(last_request()->n_body_total, 2 * N + LARGE);
    assert_in_range(last_request()->n_pieces, 1, 10);
    for (int i = 0; i < N; i++) {
        assert_int_equal(last_request()->body[i], 'a' + i % 26);
        assert_int_equal(last_request()->body[N + LARGE + i], 'A' + i % 26);
    }
    assert_int_equal(last_request()->body[N], '0');
    assert_int_equal(last_request()->body[N + LARGE - 1], '7');
    peer_done(&p);
    buf_done(&all);
    wait_no_conns();
}

/* n times the same small request; the caller's buf_done. */
static void flood_build(size_t n, struct buf *all)
{
    buf_init(all, 8 << 20);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(buf_append(all, SPAN("GET /len/60 HTTP/1.1\r\nHost: h\r\n\r\n")), 0);
}

/* Many requests in one write, all answered at once: other connections have their turn between. */
static void test_pipelined_flood_takes_turns(void **state)
{
    enum { N = 1000 };
    struct buf all;
    struct peer p;
    int n_turns = 0;
    (void)state;
    flood_build(N, &all);
    peer_connect(&p, port);
    assert_int_equal(peer_write(&p, buf_span(&all)), buf_len(&all));
    while (n_requests < N && n_turns < 10000) {
        int n_before = n_requests;

        loop_turn(loop, INT64_C(1000000));
        peer_read(&p);
        assert_true(n_requests - n_before <= 32);
        n_turns++;
    }
    PUMP(loop, peer_read(&p), p.n == (size_t)N * FLOOD_ANSWER_BYTES);
    assert_int_equal(peer_count(&p, FLOOD_ANSWER), N);
    peer_done(&p);
    buf_done(&all);
    wait_no_conns();
}

/* A client that sends and sends before it reads gets every answer, and holds little memory. */
static void test_pipelined_flood_waits_for_the_reader(void **state)
{
    enum { N = 100000 };
    struct buf all;
    struct span rest;
    struct peer p;
    (void)state;
    flood_build(N, &all);
    rest = buf_span(&all);
    peer_connect_small(&p, port);
    for (int idle = 0; idle < 50;) {
        size_t n = peer_write(&p, rest);

        span_take(&rest, n);
        idle = n > 0 ? 0 : idle + 1;
        loop_turn(loop, INT64_C(1000000));
        if (n_requests > 0)
            assert_true(sock_queued_bytes(&last_request()->c->_sock) <= 2 * LIMIT_SEND_HIGH_BYTES);
    }
    assert_true(n_requests < N); /* else nothing was held back */
    PUMP(loop, (peer_read(&p), span_take(&rest, peer_write(&p, rest))),
         p.n == (size_t)N * FLOOD_ANSWER_BYTES || peer_is_gone(&p));
    assert_int_equal(peer_count(&p, FLOOD_ANSWER), N);
    peer_done(&p);
    buf_done(&all);
    wait_no_conns();
}

/* --- the client leaves --- */

static void test_gone(void **state)
{
    static const struct {
        const char *name;
        const char *request;
        bool is_open; /* the handler had it */
    } table[] = {
        {"before anything", "", false},
        {"in the head", "GET /wait HT", false},
        {"in the body", "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc", true},
        {"in a chunk", "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na",
         true},
        {"waiting", "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n", true},
        {"waiting, with a follower",
         "GET /wait HTTP/1.1\r\nHost: h\r\n\r\nGET /wait HTTP/1.1\r\nHost: h\r\n\r\n", true},
        {"in the answer", "GET /big/100000000 HTTP/1.1\r\nHost: h\r\n\r\n", true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        for (int how = 0; how < 3; how++) { /* FIN of half, FIN of all, RST */
            struct peer p;

            n_requests = 0;
            peer_connect(&p, port);
            peer_send(&p, table[i].request);
            PUMP(loop, (void)0, http_server_n_conns(server) == 1);
            TURNS(loop, (void)0, 4);
            if (how == 0)
                peer_fin(&p);
            else if (how == 1)
                peer_close(&p);
            else
                peer_reset(&p);
            wait_no_conns();
            assert_row(table[i].name, n_requests == (table[i].is_open ? 1 : 0));
            if (table[i].is_open) {
                assert_row(table[i].name, last_request()->n_gone == 1);
                if (how == 0)
                    assert_row(table[i].name, last_request()->gone_error == 0);
                if (how == 2)
                    assert_row(table[i].name, last_request()->gone_error < 0);
            }
            peer_done(&p);
        }
    }
    assert_int_equal(n_bad, 0);
}

/* A client that closes its sending side behind the request still gets what was queued for it. */
static void test_fin_behind_an_answer(void **state)
{
    (void)state;
    for (int keep = 0; keep < 2; keep++) {
        struct peer p;
        static char body[900000];
        struct request *q;

        n_requests = 0;
        peer_connect(&p, port);
        peer_send(&p,
                  keep ? "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n" : "GET /wait HTTP/1.0\r\n\r\n");
        PUMP(loop, (void)0, n_requests == 1 && last_request()->is_ended);
        q = last_request();
        peer_buffers(q->c->_sock._watch.fd, 8192, 0);
        http_server_reply(q->c, 200, SPAN("text/plain"), span_of(body, sizeof(body)));
        assert_true(sock_queued_bytes(&q->c->_sock) > 0);
        peer_fin(&p);
        TURNS(loop, (void)0, 3);
        PUMP(loop, peer_read(&p), peer_is_gone(&p));
        assert_int_equal(p.error, 0);
        assert_true(p.n > sizeof(body));
        peer_done(&p);
        wait_no_conns();
    }
}

/* --- limits in time --- */

static void test_timeouts(void **state)
{
    static const struct {
        const char *name;
        const char *request;
        const char *answer; /* how it begins */
        int n_bad, gone_error;
    } table[] = {
        {"idle", "", "", 0, 0},
        {"slow head", "GET /len/1 HT", "HTTP/1.1 408 ", 1, 0},
        {"slow body", "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc",
         "HTTP/1.1 408 ", 0, -ETIMEDOUT},
        {"idle after an answer", "GET /len/1 HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 200 ", 0, 0},
        {"slow second head", "GET /len/1 HTTP/1.1\r\nHost: h\r\n\r\nGET ", "HTTP/1.1 200 ", 1, 0},
    };
    (void)state;
    server = http_server_free(server);
    config.head_timeout_ns = config.body_timeout_ns = config.idle_timeout_ns = 40 * NS_PER_MS;
    server_open();
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        int64_t begin = peer_now_ms();
        struct peer p;

        n_requests = n_bad = 0;
        peer_connect(&p, port);
        peer_send(&p, table[i].request);
        PUMP(loop, peer_read(&p), peer_is_gone(&p));
        assert_row(table[i].name, p.error == 0);
        assert_row(table[i].name, peer_now_ms() - begin >= 40);
        assert_row(table[i].name, span_starts_with(peer_got(&p), span_cstr(table[i].answer)));
        assert_row(table[i].name, n_bad == table[i].n_bad);
        if (n_bad > 0)
            assert_row(table[i].name, bad_status == 408);
        if (n_requests > 0)
            assert_row(table[i].name, last_request()->gone_error == table[i].gone_error);
        peer_done(&p);
        wait_no_conns();
    }
}

/* Slow but steady bodies pass; a slow but steady head does not. A request that is served is not
 * limited by the server at all. */
static void test_timeouts_measure_the_right_thing(void **state)
{
    struct peer p;
    (void)state;
    server = http_server_free(server);
    config.head_timeout_ns = config.body_timeout_ns = config.idle_timeout_ns = 160 * NS_PER_MS;
    server_open();
    peer_connect(&p, port);
    peer_send(&p, "POST /wait HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n");
    for (int i = 0; i < 5; i++) {
        usleep(40000);
        peer_send(&p, "x");
        TURNS(loop, peer_read(&p), 2);
    }
    PUMP(loop, (void)0, n_requests == 1 && last_request()->is_ended);
    for (int i = 0; i < 5; i++) {
        usleep(40000);
        TURNS(loop, peer_read(&p), 2);
    }
    assert_int_equal(last_request()->n_gone, 0);
    assert_int_equal(p.n, 0);
    http_server_reply(last_request()->c, 200, SPAN("text/plain"), SPAN("done"));
    PUMP(loop, peer_read(&p), peer_has(&p, "done"));
    peer_forget(&p);
    for (int i = 0; i < 15 && !peer_has(&p, "408"); i++) {
        (void)peer_write(&p, span_of(&"GET / HTTP/1.1\r\n"[i], 1));
        loop_turn(loop, 10 * NS_PER_MS);
        usleep(14000);
        peer_read(&p);
    }
    assert_true(peer_has(&p, "HTTP/1.1 408 "));
    peer_done(&p);
}

static void test_paused_body_is_not_slow(void **state)
{
    struct peer p;
    (void)state;
    server = http_server_free(server);
    config.body_timeout_ns = 40 * NS_PER_MS;
    server_open();
    peer_connect(&p, port);
    peer_send(&p, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\nabc");
    PUMP(loop, (void)0, n_requests == 1 && last_request()->n_body == 3);
    http_server_pause(last_request()->c);
    peer_send(&p, "def");
    for (int i = 0; i < 12; i++)
        loop_turn(loop, 10 * NS_PER_MS);
    assert_int_equal(last_request()->n_body, 3);
    assert_int_equal(last_request()->n_gone, 0);
    http_server_resume(last_request()->c);
    PUMP(loop, peer_read(&p), peer_has(&p, "abcdef"));
    peer_done(&p);
}

/* A request for /wait, answered by the test with more than the kernel takes, and left open until
 * the client has it all, as a handler without a clock of its own does. */
static struct request *queued_answer(struct peer *p)
{
    static char body[900000];
    struct span part = span_of(body, sizeof(body));
    struct request *q;

    n_requests = 0;
    peer_buffers(listen_fd, 8192, 0);
    peer_connect_small(p, port);
    peer_send(p, "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
    PUMP(loop, (void)0, n_requests == 1 && last_request()->is_ended);
    q = last_request();
    assert_int_equal(http_server_head(q->c, 200, (struct span){0}, (struct span){0},
                                      (struct http_framing){HTTP1_BODY_LENGTH, part.n}, &part, 1,
                                      true),
                     0);
    assert_true(http_server_queued_bytes(q->c) > 0);
    return q;
}

/* A client that takes nothing of a whole answer is let go, where the server is asked to. */
static void test_write_timeout(void **state)
{
    int64_t begin = peer_now_ms();
    struct request *q;
    struct peer p;
    (void)state;
    server = http_server_free(server);
    config.write_timeout_ns = 60 * NS_PER_MS;
    server_open();
    q = queued_answer(&p);
    PUMP(loop, (void)0, q->n_gone == 1);
    assert_int_equal(q->gone_error, 0);
    assert_true(peer_now_ms() - begin >= 60);
    wait_no_conns();
    peer_done(&p);

    server = http_server_free(server);
    config.write_timeout_ns = 0; /* the handler's affair */
    server_open();
    q = queued_answer(&p);
    for (int i = 0; i < 15; i++)
        loop_turn(loop, 10 * NS_PER_MS);
    assert_int_equal(q->n_gone, 0);
    peer_done(&p);
    wait_no_conns();
}

/* One that takes a little in each such time is not, however long all of it takes. */
static void test_write_timeout_is_between_writes(void **state)
{
    int64_t begin = peer_now_ms();
    struct request *q;
    struct peer p;
    (void)state;
    server = http_server_free(server);
    config.write_timeout_ns = 250 * NS_PER_MS;
    server_open();
    q = queued_answer(&p);
    while (peer_now_ms() - begin < 800) {
        peer_read_some(&p, 4000);
        TURNS(loop, (void)0, 2);
        usleep(10000);
    }
    assert_int_equal(q->n_gone, 0);
    assert_true(http_server_queued_bytes(q->c) > 0);
    peer_buffers(p.fd, 0, 1 << 20);
    PUMP(loop, peer_read(&p), p.n > 900000);
    TURNS(loop, (void)0, 3);
    http_server_end(q->c);
    peer_forget(&p);
    peer_send(&p, "GET /len/1 HTTP/1.1\r\nHost: h\r\n\r\n"); /* and the connection goes on */
    PUMP(loop, peer_read(&p), peer_has(&p, "\r\n\r\na"));
    assert_int_equal(q->n_gone, 0);
    peer_done(&p);
    wait_no_conns();
}

/* --- limits in size --- */

static void test_oversize_head(void **state)
{
    static char field[LIMIT_HEAD_BYTES];
    struct peer p;
    (void)state;
    peer_connect(&p, port);
    peer_send(&p, "GET /len/1 HTTP/1.1\r\nHost: h\r\nX: ");
    memset(field, 'x', sizeof(field));
    (void)peer_write(&p, span_of(field, sizeof(field)));
    PUMP(loop, peer_read(&p), peer_is_gone(&p));
    assert_int_equal(p.error, 0);
    assert_true(peer_has(&p, "HTTP/1.1 431 "));
    assert_int_equal(bad_status, 431);
    peer_done(&p);
    wait_no_conns();
}

static void test_max_conns(void **state)
{
    enum { N = 20 };
    struct peer peers[N];
    int n_gone = 0;
    int64_t n_refused = stat_sum(STAT_CONNS_REFUSED_LIMIT);
    (void)state;
    for (int i = 0; i < N; i++)
        peer_connect(&peers[i], port);
    PUMP(loop, (void)0, stat_sum(STAT_CONNS_REFUSED_LIMIT) - n_refused == N - 16);
    assert_int_equal(http_server_n_conns(server), 16);
    for (int i = 0; i < N; i++) {
        peer_read(&peers[i]);
        n_gone += peer_is_gone(&peers[i]);
        peer_done(&peers[i]);
    }
    assert_int_equal(n_gone, N - 16);
    wait_no_conns();
}

/* Whoever opens connections to the program's own pages and leaves them locks nobody out. */
static void test_internal_makes_room(void **state)
{
    enum { N = 20 };
    struct peer peers[N], late;
    (void)state;
    server = http_server_free(server);
    config.is_internal = true;
    server_open();
    peer_connect(&peers[0], port); /* has a request, so it stays */
    peer_send(&peers[0], "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
    PUMP(loop, (void)0, n_requests == 1);
    for (int i = 1; i < N; i++) {
        peer_connect(&peers[i], port);
        peer_send(&peers[i], i % 2 ? "" : "GET /len");
        TURNS(loop, (void)0, 2);
    }
    peer_connect(&late, port);
    peer_send(&late, "GET /len/1 HTTP/1.1\r\nHost: h\r\n\r\n");
    PUMP(loop, peer_read(&late), peer_has(&late, "200 OK"));
    assert_true(http_server_n_conns(server) <= 17);
    for (int i = 0; i < N; i++) {
        peer_read(&peers[i]);
        assert_int_equal(peer_is_gone(&peers[i]), i >= 1 && i <= N + 1 - 16);
    }
    peer_done(&late);
    for (int i = 0; i < N; i++)
        peer_done(&peers[i]);
    wait_no_conns();
}

/* Two workers with unequal shares of the clients: it is their sum that is limited. */
static void test_max_conns_total(void **state)
{
    enum { N_HERE = 9, N_THERE = 6, MAX = 10 };
    struct peer peers[N_HERE + N_THERE];
    struct http_server *there;
    uint16_t port_there;
    int fd_there = peer_listen(&port_there);
    int64_t n_refused = stat_sum(STAT_CONNS_REFUSED_LIMIT);
    (void)state;
    server = http_server_free(server);
    config.max_conns_total = MAX;
    server_open();
    assert_int_equal(http_server_new(loop, &ops, &config, &config, &there), 0);
    assert_int_equal(http_server_listen(there, fd_there, NULL), 0);
    for (int i = 0; i < N_HERE; i++)
        peer_connect(&peers[i], port);
    PUMP(loop, (void)0, http_server_n_conns(server) == N_HERE);
    for (int i = N_HERE; i < N_HERE + N_THERE; i++)
        peer_connect(&peers[i], port_there);
    PUMP(loop, (void)0, stat_sum(STAT_CONNS_REFUSED_LIMIT) - n_refused == N_HERE + N_THERE - MAX);
    assert_int_equal(http_server_n_conns(there), MAX - N_HERE);
    for (int i = 0; i < N_HERE + N_THERE; i++)
        peer_done(&peers[i]);
    PUMP(loop, (void)0, http_server_n_conns(there) == 0);
    http_server_free(there);
    close(fd_there);
    wait_no_conns();
}

/* The client does not read before it has sent everything: the refusal still reaches it. */
static void test_lingering_close(void **state)
{
    static const char *const heads[] = {
        "POST /early HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\n",
        "BAD\r\n\r\n",
    };
    static char block[1 << 16];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
        struct peer p;
        size_t n = 0;

        peer_connect(&p, port);
        peer_send(&p, heads[i]);
        while (n < (size_t)20 << 20) {
            n += peer_write(&p, span_of(block, sizeof(block)));
            assert_int_equal(p.error, 0);
            loop_turn(loop, 0);
        }
        PUMP(loop, peer_read(&p), peer_is_gone(&p));
        assert_int_equal(p.error, 0);
        assert_true(span_starts_with(peer_got(&p), SPAN("HTTP/1.1 4")));
        peer_done(&p);
        wait_no_conns();
    }
}

static void test_slow_reader(void **state)
{
    enum { N = 30000000 };
    struct peer p;
    (void)state;
    peer_connect(&p, port);
    peer_send(&p, "GET /big/30000000 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    PUMP(loop, (void)0, n_requests == 1 && http_server_is_full(last_request()->c));
    for (int i = 0; i < 20; i++)
        loop_turn(loop, NS_PER_MS);
    assert_true(last_request()->n_sent < N);
    while (!peer_is_gone(&p)) {
        peer_read_some(&p, 1 << 20);
        loop_turn(loop, 0);
    }
    assert_int_equal(p.error, 0);
    assert_true(p.n > N);
    assert_span_equal("last chunk", span_from(peer_got(&p), p.n - 7), SPAN("\r\n0\r\n\r\n"));
    assert_true(max_queued < LIMIT_SEND_HIGH_BYTES + 60000);
    peer_done(&p);
    wait_no_conns();
}

/* An answer that does not fit any more spoils the connection, even when it was the last part. */
static void test_spoilt_answer(void **state)
{
    static char body[2 * QUEUE_MAX + (6 << 20)];
    struct peer p;
    (void)state;
    peer_connect(&p, port);
    peer_send(&p, "GET /wait HTTP/1.1\r\nHost: h\r\n\r\nGET /len/9 HTTP/1.1\r\nHost: h\r\n\r\n");
    PUMP(loop, (void)0, n_requests == 1 && last_request()->is_ended);
    assert_int_equal(http_server_head(last_request()->c, 200, (struct span){0}, (struct span){0},
                                      (struct http_framing){HTTP1_BODY_LENGTH, sizeof(body)},
                                      &(struct span){body, sizeof(body)}, 1, true),
                     -EMSGSIZE);
    http_server_end(last_request()->c);
    PUMP(loop, peer_read(&p), peer_is_gone(&p));
    assert_int_equal(n_requests, 1);
    assert_true(p.n < sizeof(body));
    assert_false(peer_has(&p, "abcdefghi"));
    peer_done(&p);
    wait_no_conns();
}

/* --- ends --- */

static void test_stop_accepting(void **state)
{
    struct peer idle, open, half, late;
    struct request *q;
    (void)state;
    peer_connect(&idle, port);
    peer_send(&idle, "GET /len/1 HTTP/1.1\r\nHost: h\r\n\r\n");
    PUMP(loop, peer_read(&idle), idle.n > 0);
    peer_connect(&open, port);
    peer_send(&open, "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
    peer_connect(&half, port);
    peer_send(&half, "GET /len/2 HTTP/1.1\r\nHo");
    PUMP(loop, (void)0, n_requests == 2);
    TURNS(loop, (void)0, 3);
    q = last_request();
    http_server_stop_accepting(server);
    peer_connect(&late, port); /* the kernel takes it, for whoever accepts next */
    TURNS(loop, (peer_read(&idle), peer_read(&open)), 3);
    assert_true(idle.is_eof);
    assert_false(peer_is_gone(&open));
    http_server_reply(q->c, 200, SPAN("text/plain"), SPAN("served"));
    peer_send(&half, "st: h\r\n\r\n");
    PUMP(loop, (peer_read(&open), peer_read(&half)), open.is_eof && half.is_eof);
    assert_true(peer_has(&open, "Connection: close") && peer_has(&open, "served"));
    assert_true(peer_has(&half, "Connection: close") && peer_has(&half, "\r\n\r\nab"));
    assert_int_equal(http_server_n_conns(server), 0);
    assert_int_equal(n_requests, 3);
    peer_done(&idle);
    peer_done(&open);
    peer_done(&half);
    peer_done(&late);
}

static void test_free_with_open_requests(void **state)
{
    static const char *const starts[] = {
        "",
        "GET ",
        "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc",
        "GET /wait HTTP/1.1\r\nHost: h\r\n\r\nGET /wait HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /big/100000000 HTTP/1.1\r\nHost: h\r\n\r\n",
        "BAD\r\n\r\n",
    };
    struct peer peers[ARRAY_LEN(starts)];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
        peer_connect(&peers[i], port);
        peer_send(&peers[i], starts[i]);
    }
    PUMP(loop, (void)0, http_server_n_conns(server) == ARRAY_LEN(starts) && n_requests == 3);
    server = http_server_free(server);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(requests[i].n_gone, 1);
        assert_int_equal(requests[i].gone_error, -ECANCELED);
    }
    TURNS(loop, (void)0, 2);
    for (size_t i = 0; i < ARRAY_LEN(starts); i++)
        peer_done(&peers[i]);
    server_open();
}

/* --- out of memory --- */

static const char *fault_request;

static int attempt(void *ctx)
{
    struct peer p;
    int result;
    (void)ctx;
    n_requests = 0;
    server = NULL;
    if (http_server_new(loop, &ops, &config, &config, &server) < 0)
        return -ENOMEM;
    assert_int_equal(http_server_listen(server, listen_fd, NULL), 0);
    peer_connect(&p, port);
    (void)peer_write(&p, span_of(fault_request, 20));
    TURNS(loop, (void)0, 2);
    (void)peer_write(&p, span_from(span_cstr(fault_request), 20));
    PUMP(loop, peer_read(&p), peer_is_gone(&p));
    result = peer_has(&p, "abc") ? 0 : -ENOMEM;
    if (n_requests > 0 && last_request()->n_gone > 0)
        assert_int_equal(last_request()->gone_error, -ENOMEM);
    peer_done(&p);
    wait_no_conns();
    server = http_server_free(server);
    return result;
}

static void test_out_of_memory(void **state)
{
    static const char *const list[] = {
        "GET /len/3 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
        "GET /chunked/8 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
        ("GET /len/3 HTTP/1.1\r\nHost: h\r\n\r\nGET /len/3 HTTP/1.1\r\nHost: h\r\n"
         "Connection: close\r\n\r\n"),
    };
    (void)state;
    server = http_server_free(server);
    for (size_t i = 0; i < ARRAY_LEN(list); i++) {
        fault_request = list[i];
        is_slow = i == 2;
        assert_true(memfail_each(attempt, NULL) >= 3);
    }
    is_slow = false;
    server_open();
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_rows),
        CASE(test_rows_answered_later),
        CASE(test_cut_close_delimited),
        CASE(test_pipelining),
        CASE(test_pipelined_bytes_are_bounded),
        CASE(test_tiny_chunks),
        CASE(test_pipelined_flood_takes_turns),
        CASE(test_pipelined_flood_waits_for_the_reader),
        CASE(test_gone),
        CASE(test_fin_behind_an_answer),
        CASE(test_timeouts),
        CASE(test_timeouts_measure_the_right_thing),
        CASE(test_paused_body_is_not_slow),
        CASE(test_write_timeout),
        CASE(test_write_timeout_is_between_writes),
        CASE(test_oversize_head),
        CASE(test_max_conns),
        CASE(test_max_conns_total),
        CASE(test_internal_makes_room),
        CASE(test_lingering_close),
        CASE(test_slow_reader),
        CASE(test_spoilt_answer),
        CASE(test_stop_accepting),
        CASE(test_free_with_open_requests),
        CASE(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
