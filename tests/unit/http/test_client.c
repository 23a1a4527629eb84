/* SPDX-License-Identifier: Apache-2.0 */
/* White-box: the addresses of a pool are set by the test where no name has them. */
#include "http/client_private.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/stat.h"
#include "harness.h"
#include "memfail.h"
#include "peer.h"

/* A request as its owner sees it: what was told, one character each. */
struct call {
    struct http_client *c; /* NULL: not ours any more */
    char trace[64];        /* r ready, h head, b body, . read done, e end, f failed, w drained */
    int status;
    char body[4096];
    size_t n_body;
    uint64_t n_body_total;
    enum http_phase phase;
    int error;
    bool had_bytes, was_reused;
    struct stamp last;
    const char *request; /* sent when ready; NULL: the test does it */
    char abort_in;       /* gives up in this callback */
    bool is_head;
};

static struct loop *loop;
static struct resolver *resolver;
static struct http_pool *pool;
static struct http_pool_config config;
static struct call call;
static struct peer peer; /* the server's end */
static uint16_t port;
static int listen_fd;
static int64_t n_live_before;
static int n_fds_before;

#define INTERIM_4                                                                                  \
    "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"                               \
    "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n"

/* --- the owner --- */

static struct call *note(struct http_client *c, char what)
{
    struct call *k = c->user;
    size_t n = strlen(k->trace);

    assert_ptr_equal(k->c, c);
    if (n + 1 < sizeof(k->trace) && !(what == 'b' && n > 0 && k->trace[n - 1] == 'b'))
        k->trace[n] = what;
    if (k->abort_in == what) {
        http_client_abort(c);
        k->c = NULL;
    }
    return k;
}

static void request_send(struct call *k, const char *head)
{
    mono_t before = MONO_NONE;

    assert_int_equal(http_client_send(k->c, span_cstr(head),
                                      (struct http_framing){HTTP1_BODY_NONE, 0}, NULL, 0, true,
                                      k->is_head, &before),
                     0);
    assert_true(mono_is_set(before));
}

static void on_ready(struct http_client *c)
{
    struct call *k = note(c, 'r');

    if (!k->c)
        return;
    k->was_reused = c->is_reused;
    assert_true(mono_is_set(c->t_ready));
    assert_true(c->is_reused ? c->tcp_ns == -1 : c->tcp_ns >= 0);
    if (k->request)
        request_send(k, k->request);
}

static void on_head(struct http_client *c, const struct http1_head *head, struct stamp at)
{
    struct call *k = note(c, 'h');

    k->status = head->status;
    assert_true(mono_is_set(at.at));
}

static void on_body(struct http_client *c, struct span bytes, struct stamp at)
{
    struct call *k = note(c, 'b');

    for (size_t i = 0; i < bytes.n && k->n_body < sizeof(k->body); i++)
        k->body[k->n_body++] = bytes.p[i];
    k->n_body_total += bytes.n;
    assert_true(at.at.ns >= k->last.at.ns);
    k->last = at;
}

static void on_read_done(struct http_client *c)
{
    (void)note(c, '.');
}

static void on_end(struct http_client *c, struct stamp at)
{
    struct call *k = note(c, 'e');

    assert_true(mono_is_set(at.at));
    k->c = NULL;
}

static void on_failed(struct http_client *c, enum http_phase phase, int error, bool had_bytes,
                      struct stamp at)
{
    struct call *k = note(c, 'f');

    assert_true(mono_is_set(at.at));
    assert_true(error < 0);
    k->c = NULL;
    k->phase = phase;
    k->error = error;
    k->had_bytes = had_bytes;
}

static void on_drained(struct http_client *c)
{
    (void)note(c, 'w');
}

static const struct http_client_ops ops = {
    .on_ready = on_ready,
    .on_head = on_head,
    .on_body = on_body,
    .on_read_done = on_read_done,
    .on_end = on_end,
    .on_failed = on_failed,
    .on_drained = on_drained,
};

/* --- rig --- */

static const char get[] = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
static const char ok[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

static void pool_open(const char *host)
{
    span_copy(span_cstr(host), config.host, sizeof(config.host));
    assert_int_equal(http_pool_new(loop, resolver, &config, &pool), 0);
}

static int setup(void **state)
{
    (void)state;
    n_live_before = mem_live_blocks();
    n_fds_before = fd_count();
    listen_fd = peer_listen(&port);
    peer = (struct peer){.fd = -1};
    call = (struct call){.request = get};
    config = (struct http_pool_config){.port = port,
                                       .idle_timeout_ns = 5 * NS_PER_S,
                                       .dns_ttl_ns = 5 * NS_PER_S,
                                       .max_idle = 4,
                                       .max_queue_bytes = 8 * MIB};
    assert_int_equal(loop_new(&loop), 0);
    assert_int_equal(resolver_new(&resolver), 0);
    pool_open("127.0.0.1");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    if (call.c)
        http_client_abort(call.c);
    call.c = NULL;
    resolver = resolver_free(resolver);
    TURNS(loop, (void)0, 2);
    pool = http_pool_free(pool);
    TURNS(loop, (void)0, 2);
    peer_done(&peer);
    close(listen_fd);
    loop = loop_free(loop);
    assert_int_equal(mem_live_blocks(), n_live_before);
    assert_int_equal(fd_count(), n_fds_before);
    assert_int_equal(stat_sum(STAT_CONNS_UPSTREAM_IDLE), 0);
    assert_int_equal(stat_sum(STAT_CONNS_UPSTREAM_OPEN), 0);
    return 0;
}

static void acquire(bool fresh)
{
    const char *request = call.request;
    char abort_in = call.abort_in;
    bool is_head = call.is_head;

    call = (struct call){.request = request, .abort_in = abort_in, .is_head = is_head};
    assert_int_equal(http_pool_acquire(pool, &ops, &call, fresh, &call.c), 0);
    assert_string_equal(call.trace, ""); /* never from within the call */
}

static void accept_peer(void)
{
    peer_done(&peer);
    PUMP(loop, (void)0, peer_accept(&peer, listen_fd));
}

static void wait_request(void)
{
    PUMP(loop, peer_read(&peer), peer_has(&peer, "\r\n\r\n"));
    peer_forget(&peer);
}

static bool is_over(void)
{
    return call.c == NULL;
}

/* A connection that has served one request and lies in the pool now. */
static void pool_one(void)
{
    acquire(false);
    accept_peer();
    wait_request();
    peer_send(&peer, ok);
    PUMP(loop, (void)0, is_over());
    assert_int_equal(http_pool_n_idle(pool), 1);
}

/* --- answers --- */

struct row {
    const char *name;
    const char *answer;
    const char *trace; /* answer in one read */
    const char *body;
    int status;
    bool is_head, must_close, is_reusable;
};

static const struct row rows[] = {
    {"length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "rhbe", "hello", 200, false,
     false, true},
    {"length 0", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "rhe", "", 200, false, false,
     true},
    {"chunked",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
     "rhbe", "abcde", 200, false, false, true},
    {"chunked with trailer",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nA: b\r\n\r\n", "rhbe",
     "abc", 200, false, false, true},
    {"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "rhe", "", 200, true, false, true},
    {"HEAD, chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "rhe", "", 200, true,
     false, true},
    {"204", "HTTP/1.1 204 No Content\r\n\r\n", "rhe", "", 204, false, false, true},
    {"304", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "rhe", "", 304, false, false,
     true},
    {"interim",
     "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
     "rhhbe", "x", 200, false, false, true},
    {"until close", "HTTP/1.1 200 OK\r\n\r\nhello", "rhb.e", "hello", 200, false, true, false},
    {"1.0", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", "rhbe", "hello", 200, false, false,
     false},
    {"1.0 keep-alive",
     "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello", "rhbe", "hello",
     200, false, false, true},
    {"close", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello", "rhbe",
     "hello", 200, false, false, false},
};

static void run_row(const struct row *row, size_t split)
{
    struct span all = span_cstr(row->answer);

    call.is_head = row->is_head;
    acquire(false);
    accept_peer();
    wait_request();
    (void)peer_write(&peer, span_of(all.p, split));
    if (split > 0)
        TURNS(loop, (void)0, 2);
    (void)peer_write(&peer, span_from(all, split));
    if (row->must_close) {
        TURNS(loop, (void)0, 2);
        assert_false(is_over());
        peer_close(&peer);
    }
    PUMP(loop, (void)0, is_over());
    if (split == 0)
        assert_string_equal(call.trace, row->trace);
    assert_row(row->name, strchr(call.trace, 'e') != NULL);
    assert_row(row->name, call.status == row->status);
    assert_span_equal(row->name, span_of(call.body, call.n_body), span_cstr(row->body));
    assert_row(row->name, http_pool_n_idle(pool) == (row->is_reusable ? 1 : 0));
    peer_close(&peer);
    PUMP(loop, (void)0, http_pool_n_idle(pool) == 0); /* an idle one that closes is dropped */
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (size_t split = 0; split < strlen(rows[i].answer); split++)
            run_row(&rows[i], split);
}

static void test_bad_answers(void **state)
{
    static const struct {
        const char *name;
        const char *answer;
        char end; /* c: closes behind it, r: resets, ' ': nothing */
        int error;
        bool had_bytes;
        const char *body;
    } table[] = {
        {"no answer", "", 'c', -EPIPE, false, ""},
        {"no answer, reset", "", 'r', -ECONNRESET, false, ""},
        {"half a head", "HTTP/1.1 200 O", 'c', -EPIPE, true, ""},
        {"half a length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", 'c', -EPIPE, true,
         "hel"},
        {"half a length, reset", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", 'r',
         -ECONNRESET, true, "hel"},
        {"half a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", 'c',
         -EPIPE, true, "hel"},
        {"no last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n", 'c',
         -EPIPE, true, "hel"},
        {"until close, reset", "HTTP/1.1 200 OK\r\n\r\nhel", 'r', -ECONNRESET, true, "hel"},
        {"interim only", "HTTP/1.1 100 Continue\r\n\r\n", 'c', -EPIPE, true, ""},
        {"a flood of interim heads",
         INTERIM_4 INTERIM_4 INTERIM_4 INTERIM_4 "HTTP/1.1 102 Processing\r\n\r\n", ' ', -EPROTO,
         true, ""},
        {"not HTTP", "SSH-2.0-x\r\n\r\n", ' ', -EPROTO, true, ""},
        {"both framings",
         "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", ' ', -EPROTO,
         true, ""},
        {"bad chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel!!", ' ',
         -EPROTO, true, "hel"},
        {"upgrade",
         "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nhi", ' ',
         -EPROTO, true, ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        acquire(false);
        accept_peer();
        wait_request();
        peer_send(&peer, table[i].answer);
        if (table[i].end == 'c')
            peer_close(&peer);
        else if (table[i].end == 'r')
            peer_reset(&peer);
        PUMP(loop, (void)0, is_over());
        assert_row(table[i].name, call.trace[strlen(call.trace) - 1] == 'f');
        assert_row(table[i].name, call.phase == HTTP_PHASE_EXCHANGE);
        assert_row(table[i].name, call.error == table[i].error);
        assert_row(table[i].name, call.had_bytes == table[i].had_bytes);
        assert_span_equal(table[i].name, span_of(call.body, call.n_body), span_cstr(table[i].body));
        assert_row(table[i].name, http_pool_n_idle(pool) == 0);
        TURNS(loop, (void)0, 2);
    }
}

/* --- the pool --- */

static void test_reuse(void **state)
{
    struct call first;
    struct peer second;
    (void)state;
    pool_one();
    first = call;
    assert_false(first.was_reused);
    acquire(false);
    assert_int_equal(http_pool_n_idle(pool), 0);
    wait_request();
    assert_true(call.was_reused);
    peer_send(&peer, ok);
    PUMP(loop, (void)0, is_over());
    acquire(true); /* fresh */
    PUMP(loop, (void)0, peer_accept(&second, listen_fd));
    PUMP(loop, peer_read(&second), peer_has(&second, "\r\n\r\n"));
    assert_false(call.was_reused);
    peer_send(&second, ok);
    PUMP(loop, (void)0, is_over());
    assert_int_equal(http_pool_n_idle(pool), 2);
    peer_done(&second);
    PUMP(loop, (void)0, http_pool_n_idle(pool) == 1);
}

static void test_bytes_behind_the_answer(void **state)
{
    (void)state;
    acquire(false);
    accept_peer();
    wait_request();
    peer_send(&peer, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n");
    PUMP(loop, (void)0, is_over());
    assert_string_equal(call.trace, "rhbe");
    assert_int_equal(http_pool_n_idle(pool), 0);
    PUMP(loop, peer_read(&peer), peer_is_gone(&peer));
}

static void test_idle_ends(void **state)
{
    static const char kinds[] = "crst";
    (void)state;
    for (size_t i = 0; i < sizeof(kinds) - 1; i++) {
        pool_one();
        if (kinds[i] == 'c')
            peer_close(&peer);
        else if (kinds[i] == 'r')
            peer_reset(&peer);
        else if (kinds[i] == 's')
            peer_send(&peer, "HTTP/1.1 408 Request Timeout\r\n\r\n");
        else
            loop_timer_start(
                loop, &CONTAINER_OF(pool->idle.next, struct http_client, _link)->_timer, NS_PER_MS);
        PUMP(loop, (void)0, http_pool_n_idle(pool) == 0);
        assert_string_equal(call.trace, "rhbe"); /* its last owner hears nothing of it */
        TURNS(loop, (void)0, 2);
    }
}

/* Closed, or told a last word, between being taken and being ready: as a stale connection. */
static void test_stale_before_ready(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        pool_one();
        if (i == 2)
            peer_send(&peer, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n");
        if (i == 1)
            peer_reset(&peer);
        else
            peer_close(&peer);
        acquire(false);
        PUMP(loop, (void)0, is_over());
        assert_string_equal(call.trace, "f");
        assert_int_equal(call.phase, HTTP_PHASE_EXCHANGE);
        assert_int_equal(call.error, i == 1 ? -ECONNRESET : -EPIPE);
        assert_false(call.had_bytes);
    }
}

static void test_idle_timeout_and_max_idle(void **state)
{
    enum { N = 6 };
    struct call calls[N];
    struct peer peers[N];
    (void)state;
    pool = http_pool_free(pool);
    config.idle_timeout_ns = 30 * NS_PER_MS;
    pool_open("127.0.0.1");
    for (int i = 0; i < N; i++) {
        calls[i] = (struct call){.request = get};
        assert_int_equal(http_pool_acquire(pool, &ops, &calls[i], true, &calls[i].c), 0);
        PUMP(loop, (void)0, peer_accept(&peers[i], listen_fd));
        PUMP(loop, peer_read(&peers[i]), peer_has(&peers[i], "\r\n\r\n"));
        peer_send(&peers[i], ok);
    }
    for (int i = 0; i < N; i++)
        PUMP(loop, (void)0, calls[i].c == NULL);
    assert_true(http_pool_n_idle(pool) <= config.max_idle);
    PUMP(loop, (void)0, http_pool_n_idle(pool) == 0);
    for (int i = 0; i < N; i++) {
        PUMP(loop, peer_read(&peers[i]), peers[i].is_eof);
        peer_done(&peers[i]);
    }
}

/* A request that is not out whole when its answer is: the connection cannot be used again. */
static void test_early_answer(void **state)
{
    static const char head[] = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n";
    struct span part = SPAN("some");
    (void)state;
    call.request = NULL;
    acquire(false);
    accept_peer();
    PUMP(loop, (void)0, strchr(call.trace, 'r'));
    assert_int_equal(http_client_send(call.c, span_cstr(head),
                                      (struct http_framing){HTTP1_BODY_LENGTH, 1000}, &part, 1,
                                      false, false, NULL),
                     0);
    wait_request();
    peer_send(&peer, ok);
    PUMP(loop, (void)0, is_over());
    assert_string_equal(call.trace, "rhbe");
    assert_int_equal(http_pool_n_idle(pool), 0);
}

static void test_abort_everywhere(void **state)
{
    static const char where[] = " rhb.";
    (void)state;
    for (size_t i = 0; i < sizeof(where) - 1; i++) {
        call.abort_in = where[i];
        acquire(false);
        if (where[i] == ' ') {
            http_client_abort(call.c);
            call.c = NULL;
        }
        accept_peer();
        if (i > 1) {
            wait_request();
            peer_send(&peer, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok");
        }
        PUMP(loop, peer_read(&peer), is_over() && peer_is_gone(&peer));
        assert_null(strchr(call.trace, 'f'));
        if (where[i] != ' ')
            assert_int_equal(call.trace[strlen(call.trace) - 1], where[i]);
    }
    call.abort_in = '\0';
}

static void test_pause(void **state)
{
    (void)state;
    acquire(false);
    accept_peer();
    wait_request();
    http_client_pause(call.c);
    peer_send(&peer, "HTTP/1.1 200 OK\r\n\r\nhello");
    peer_close(&peer); /* the end waits behind the bytes */
    TURNS(loop, (void)0, 3);
    assert_string_equal(call.trace, "r");
    http_client_resume(call.c);
    PUMP(loop, (void)0, is_over());
    assert_string_equal(call.trace, "rhb.e");
    assert_span_equal("paused", span_of(call.body, call.n_body), SPAN("hello"));
}

/* A reset while paused takes nothing away, and is still told. */
static void test_reset_while_paused(void **state)
{
    (void)state;
    acquire(false);
    accept_peer();
    wait_request();
    http_client_pause(call.c);
    peer_send(&peer, "HTTP/1.1 200 OK\r\n\r\nhello");
    peer_reset(&peer);
    TURNS(loop, (void)0, 3);
    assert_string_equal(call.trace, "r");
    http_client_resume(call.c);
    PUMP(loop, (void)0, is_over());
    assert_string_equal(call.trace, "rhb.f");
    assert_int_equal(call.error, -ECONNRESET);
}

static void test_upload_backpressure(void **state)
{
    enum { N = 20 << 20 };
    static char block[100000];
    char head[128];
    size_t n = 0;
    (void)state;
    (void)snprintf(head, sizeof(head), "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n",
                   N);
    call.request = NULL;
    acquire(false);
    accept_peer();
    PUMP(loop, (void)0, strchr(call.trace, 'r'));
    assert_int_equal(http_client_send(call.c, span_cstr(head),
                                      (struct http_framing){HTTP1_BODY_LENGTH, N}, NULL, 0, false,
                                      false, NULL),
                     0);
    while (n < N) {
        while (n < N && !http_client_is_full(call.c)) {
            struct span part = span_of(block, N - n < sizeof(block) ? N - n : sizeof(block));
            n += part.n;
            assert_int_equal(http_client_body(call.c, &part, 1, n == N, NULL), 0);
            assert_true(http_client_queued_bytes(call.c) <= LIMIT_SEND_HIGH_BYTES + sizeof(block));
        }
        loop_turn(loop, NS_PER_MS);
        peer_read_some(&peer, 1 << 20);
    }
    PUMP(loop, peer_read(&peer), peer.n == N + strlen(head));
    assert_true(strchr(call.trace, 'w') != NULL);
    peer_send(&peer, ok);
    PUMP(loop, (void)0, is_over());
    PUMP(loop, (void)0, http_pool_n_idle(pool) == 1);
}

/* --- connecting --- */

static void test_refused(void **state)
{
    uint16_t closed_port;
    int fd = peer_listen(&closed_port);
    (void)state;
    close(fd);
    pool = http_pool_free(pool);
    config.port = closed_port;
    pool_open("127.0.0.1");
    acquire(false);
    PUMP(loop, (void)0, is_over());
    assert_string_equal(call.trace, "f");
    assert_int_equal(call.phase, HTTP_PHASE_CONNECT);
    assert_int_equal(call.error, -ECONNREFUSED);
}

static void test_names(void **state)
{
    (void)state;
    pool = http_pool_free(pool);
    pool_open("nope.invalid");
    acquire(false);
    PUMP(loop, (void)0, is_over());
    assert_string_equal(call.trace, "f");
    assert_int_equal(call.phase, HTTP_PHASE_DNS);
    assert_true(call.error == -ENOENT || call.error == -EAGAIN);
    pool = http_pool_free(pool);

    pool_open("localhost");
    acquire(false);
    accept_peer();
    wait_request();
    assert_true(call.c->dns_ns >= 0);
    peer_send(&peer, ok);
    PUMP(loop, (void)0, is_over());
    acquire(true); /* the address is known now */
    accept_peer();
    wait_request();
    assert_int_equal(call.c->dns_ns, -1);
}

/* Given up, or the pool freed, while the name is looked up: nobody hears of the answer. */
static void test_abort_while_resolving(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        pool = http_pool_free(pool);
        pool_open("localhost");
        acquire(false);
        http_client_abort(call.c);
        call.c = NULL;
        if (i == 0)
            pool = http_pool_free(pool);
        for (int k = 0; k < 20; k++)
            loop_turn(loop, NS_PER_MS);
        assert_string_equal(call.trace, "");
    }
}

static void set_addrs(const char *const *ips, int n)
{
    pool->n_addrs = n;
    for (int i = 0; i < n; i++)
        assert_true(addr_from_ip(span_cstr(ips[i]), port, &pool->addrs[i]));
}

/* Several addresses of which only one listens, wherever it stands in the list. */
static void test_next_address(void **state)
{
    static const char *const lists[][3] = {
        {"::1", "127.0.0.1", "127.0.0.2"},
        {"127.0.0.2", "::1", "127.0.0.1"},
        {"127.0.0.1", "::1", "127.0.0.2"},
    };
    static const char *const dead[] = {"::1", "127.0.0.2", "127.0.0.3"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        set_addrs(lists[i], 3);
        acquire(true);
        accept_peer();
        wait_request();
        peer_send(&peer, ok);
        PUMP(loop, (void)0, is_over());
        assert_string_equal(call.trace, "rhbe");
    }
    set_addrs(dead, 3);
    acquire(true);
    PUMP(loop, (void)0, is_over());
    assert_string_equal(call.trace, "f");
    assert_int_equal(call.phase, HTTP_PHASE_CONNECT);
}

/* --- out of memory --- */

static int attempt(void *ctx)
{
    const char *host = ctx;
    struct http_pool *p = NULL;
    struct call k = {.request = get};
    struct peer s = {.fd = -1};

    span_copy(span_cstr(host), config.host, sizeof(config.host));
    if (http_pool_new(loop, resolver, &config, &p) < 0)
        return -ENOMEM;
    if (http_pool_acquire(p, &ops, &k, false, &k.c) < 0)
        k.error = -ENOMEM;
    while (k.error == 0 && k.c) {
        loop_turn(loop, NS_PER_MS);
        if (s.fd < 0 && peer_accept(&s, listen_fd)) {
            peer_send(&s, "HTTP/1.1 200 OK\r\nConte");
            TURNS(loop, (void)0, 3);
            if (k.c)
                peer_send(&s, "nt-Length: 2\r\n\r\nok");
        }
    }
    mem_fail_off(); /* the answer of the resolver still comes */
    for (int i = 0; i < 3; i++)
        loop_turn(loop, NS_PER_MS);
    http_pool_free(p);
    peer_done(&s);
    TURNS(loop, (void)0, 2);
    return strchr(k.trace, 'e') ? 0 : -ENOMEM;
}

static void test_out_of_memory(void **state)
{
    static char ip[] = "127.0.0.1";
    static char name[] = "localhost";
    (void)state;
    assert_true(memfail_each(attempt, ip) >= 3);
    assert_true(memfail_each(attempt, name) >= 4);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_rows),
        CASE(test_bad_answers),
        CASE(test_reuse),
        CASE(test_bytes_behind_the_answer),
        CASE(test_idle_ends),
        CASE(test_stale_before_ready),
        CASE(test_idle_timeout_and_max_idle),
        CASE(test_early_answer),
        CASE(test_abort_everywhere),
        CASE(test_pause),
        CASE(test_reset_while_paused),
        CASE(test_upload_backpressure),
        CASE(test_refused),
        CASE(test_names),
        CASE(test_abort_while_resolving),
        CASE(test_next_address),
        CASE(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
