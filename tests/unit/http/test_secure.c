/* SPDX-License-Identifier: Apache-2.0 */
/* White-box: the addresses of a pool are set by the test where no name has them. */
#include "http/client_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/stat.h"
#include "certs.h"
#include "far.h"
#include "http/server.h"
#include "memfail.h"

/* A request as its owner sees it: r ready, h head, b body, e end, f failed. */
struct call {
    struct http_client *c; /* NULL: not ours any more */
    char trace[32];
    char body[256];
    size_t n_body;
    enum http_phase phase;
    int error, proxy_status;
    const char *tls_error;
    struct stamp last;
    int64_t tcp_ns, tls_ns;
    bool was_reused;
};

static struct loop *loop;
static struct resolver *resolver;
static struct http_pool *pool;
static struct http_pool_config config;
static struct call call;
static struct far far;   /* the server */
static struct peer peer; /* the proxy, or a server without TLS */
static SSL_CTX *far_ctx;
static struct tls_context *client_tls, *server_tls;
static struct cert ca, leaf, foreign;
static char dir[64];
static uint16_t port;
static int listen_fd;

/* --- the owner --- */

static const char get[] = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
static const char ok[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

static struct call *note(struct http_client *c, char what)
{
    struct call *k = c->user;
    size_t n = strlen(k->trace);

    assert_ptr_equal(k->c, c);
    if (n + 1 < sizeof(k->trace) && !(what == 'b' && n > 0 && k->trace[n - 1] == 'b'))
        k->trace[n] = what;
    return k;
}

static void on_ready(struct http_client *c)
{
    struct call *k = note(c, 'r');

    k->tcp_ns = c->tcp_ns;
    k->tls_ns = c->tls_ns;
    k->was_reused = c->is_reused;
    assert_int_equal(http_client_send(c, span_cstr(get), (struct http_framing){HTTP1_BODY_NONE, 0},
                                      NULL, 0, true, false, NULL),
                     0);
}

static void on_head(struct http_client *c, const struct http1_head *head, struct stamp at)
{
    (void)head;
    (void)at;
    (void)note(c, 'h');
}

static void on_body(struct http_client *c, struct span bytes, struct stamp at)
{
    struct call *k = note(c, 'b');

    for (size_t i = 0; i < bytes.n && k->n_body < sizeof(k->body) - 1; i++)
        k->body[k->n_body++] = bytes.p[i];
    k->last = at;
}

static void on_end(struct http_client *c, struct stamp at)
{
    (void)at;
    note(c, 'e')->c = NULL;
}

static void on_failed(struct http_client *c, enum http_phase phase, int error, bool had_bytes,
                      struct stamp at)
{
    struct call *k = note(c, 'f');

    (void)had_bytes;
    (void)at;
    k->c = NULL;
    k->phase = phase;
    k->error = error;
    k->proxy_status = c->proxy_status;
    k->tls_error = http_client_tls_error(c);
}

static const struct http_client_ops ops = {
    .on_ready = on_ready,
    .on_head = on_head,
    .on_body = on_body,
    .on_end = on_end,
    .on_failed = on_failed,
};

static bool is_over(void)
{
    return call.c == NULL;
}

static void pool_open(void)
{
    pool = http_pool_free(pool);
    assert_int_equal(http_pool_new(loop, resolver, &config, &pool), 0);
}

static void acquire(void)
{
    call = (struct call){.c = NULL};
    assert_int_equal(http_pool_acquire(pool, &ops, &call, false, &call.c), 0);
}

static void far_accept(const struct cert *own)
{
    struct peer p;

    if (far_ctx)
        SSL_CTX_free(far_ctx);
    far_ctx = SSL_CTX_new(TLS_server_method());
    assert_int_equal(SSL_CTX_use_certificate(far_ctx, own->x), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(far_ctx, own->key), 1);
    PUMP(loop, (void)0, peer_accept(&p, listen_fd));
    far_done(&far);
    far_init(&far, far_ctx, true, p.fd);
}

static void answered(void)
{
    PUMP(loop, far_step(&far), far_has(&far, "\r\n\r\n"));
    far.n = 0;
    far.p[0] = '\0';
    far_write(&far, span_cstr(ok));
    PUMP(loop, far_step(&far), is_over());
    assert_string_equal(call.trace, "rhbe");
}

/* --- TLS --- */

static void test_request(void **state)
{
    (void)state;
    acquire();
    far_accept(&leaf);
    answered();
    assert_true(call.tcp_ns >= 0 && call.tls_ns > 0);
    acquire(); /* the same connection */
    answered();
    assert_true(call.was_reused);
    assert_int_equal(call.tls_ns, -1);
    assert_int_equal(http_pool_n_idle(pool), 1);
    far_goodbye(&far); /* an idle one ends */
    PUMP(loop, far_step(&far), http_pool_n_idle(pool) == 0);
    acquire(); /* a new one is quicker */
    far_accept(&leaf);
    PUMP(loop, far_step(&far), far.is_ready);
    answered();
}

static void test_server_name(void **state)
{
    (void)state;
    span_copy(SPAN("localhost"), config.server_name, sizeof(config.server_name));
    pool_open();
    acquire();
    far_accept(&leaf);
    answered();
    assert_string_equal(SSL_get_servername(far.ssl, TLSEXT_NAMETYPE_host_name), "localhost");
}

static void test_refused_certificate(void **state)
{
    (void)state;
    acquire();
    far_accept(&foreign);
    PUMP(loop, far_step(&far), is_over());
    assert_string_equal(call.trace, "f");
    assert_int_equal(call.phase, HTTP_PHASE_TLS);
    assert_int_equal(call.error, -EPROTO);
    assert_string_equal(call.tls_error, "the issuer of its certificate is unknown");
}

/* Told apart from a server that is not there. */
static void test_refused_connect(void **state)
{
    uint16_t closed;
    int fd = peer_listen(&closed);
    (void)state;
    close(fd);
    config.port = closed;
    pool_open();
    acquire();
    PUMP(loop, (void)0, is_over());
    assert_int_equal(call.phase, HTTP_PHASE_CONNECT);
    assert_int_equal(call.error, -ECONNREFUSED);
}

static void test_client_certificate_wanted(void **state)
{
    (void)state;
    acquire();
    far_accept(&leaf);
    SSL_set_verify(far.ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    PUMP(loop, far_step(&far), is_over());
    assert_string_equal(call.trace, "rf"); /* TLS 1.3: ready, then refused */
    assert_int_equal(call.phase, HTTP_PHASE_TLS);
    assert_string_equal(call.tls_error, "it wants a client certificate");
}

/* A body without length: the goodbye is its end, and without one it is cut. */
static void test_until_close(void **state)
{
    (void)state;
    for (int is_cut = 0; is_cut < 2; is_cut++) {
        acquire();
        far_accept(&leaf);
        PUMP(loop, far_step(&far), far_has(&far, "\r\n\r\n"));
        far_write(&far, SPAN("HTTP/1.1 200 OK\r\n\r\nall of it"));
        if (!is_cut)
            far_goodbye(&far);
        far_step(&far);
        peer_fin(&far.peer);
        PUMP(loop, (void)0, is_over());
        assert_string_equal(call.trace, is_cut ? "rhbf" : "rhbe");
        assert_string_equal(call.body, "all of it");
        if (is_cut) {
            assert_int_equal(call.phase, HTTP_PHASE_EXCHANGE);
            assert_int_equal(call.error, -ECONNRESET);
        }
    }
}

static void test_abort_in_handshake(void **state)
{
    (void)state;
    acquire();
    far_accept(&leaf);
    TURNS(loop, (void)0, 3);
    http_client_abort(call.c);
    call.c = NULL;
    TURNS(loop, far_step(&far), 5);
    assert_string_equal(call.trace, "");
}

/* --- proxies --- */

static void through_proxy(const char *host, const char *authorization)
{
    config.proxy.port = config.port;
    span_copy(SPAN("127.0.0.1"), config.proxy.host, sizeof(config.proxy.host));
    span_copy(span_cstr(authorization), config.proxy.authorization,
              sizeof(config.proxy.authorization));
    span_copy(span_cstr(host), config.host, sizeof(config.host));
    config.port = 443;
    pool_open();
    acquire();
    PUMP(loop, (void)0, peer_accept(&peer, listen_fd));
    PUMP(loop, peer_read(&peer), peer_has(&peer, "\r\n\r\n"));
}

static void test_tunnel(void **state)
{
    static const char *const heads[] = {
        "HTTP/1.1 200 Connection established\r\n\r\n",
        "HTTP/1.0 200 OK\r\nContent-Length: 0\r\nProxy-Agent: x\r\n\r\n",
        "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
    };
    uint16_t listen_port = config.port;
    (void)state;
    span_copy(SPAN("localhost"), config.server_name, sizeof(config.server_name));
    for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
        config.port = listen_port;
        through_proxy("engine.example", "Basic c2VjcmV0");
        assert_true(peer_is(&peer, "CONNECT engine.example:443 HTTP/1.1\r\n"
                                   "Host: engine.example:443\r\n"
                                   "Proxy-Authorization: Basic c2VjcmV0\r\n\r\n"));
        peer_send(&peer, heads[i]);
        far_ctx = far_ctx ? far_ctx : SSL_CTX_new(TLS_server_method());
        assert_int_equal(SSL_CTX_use_certificate(far_ctx, leaf.x), 1);
        assert_int_equal(SSL_CTX_use_PrivateKey(far_ctx, leaf.key), 1);
        far_done(&far);
        far_init(&far, far_ctx, true, dup(peer.fd));
        answered();
        assert_true(call.tcp_ns > 0 && call.tls_ns > 0);
        peer_done(&peer);
    }
}

static void test_tunnel_to_v6(void **state)
{
    (void)state;
    through_proxy("2001:db8::1", "");
    assert_true(peer_is(&peer, "CONNECT [2001:db8::1]:443 HTTP/1.1\r\n"
                               "Host: [2001:db8::1]:443\r\n\r\n"));
}

static void test_tunnel_refused(void **state)
{
    static const struct {
        const char *answer; /* NULL: closed */
        int status, error;
    } table[] = {
        {"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 5\r\n\r\nno no", 407,
         -EPROTO},
        {"HTTP/1.1 502 Bad Gateway\r\n\r\n", 502, -EPROTO},
        {"HTTP/1.1 200 OK\r\n\r\ntoo much", 0, -EPROTO},
        {"SSH-2.0\r\n\r\n", 0, -EPROTO},
        {NULL, 0, -EPIPE},
    };
    uint16_t listen_port = config.port;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        config.port = listen_port;
        through_proxy("engine.example", "");
        if (table[i].answer)
            peer_send(&peer, table[i].answer);
        else
            peer_close(&peer);
        PUMP(loop, peer_read(&peer), is_over());
        assert_string_equal(call.trace, "f");
        assert_int_equal(call.phase, HTTP_PHASE_PROXY);
        assert_int_equal(call.proxy_status, table[i].status);
        assert_int_equal(call.error, table[i].error);
        peer_done(&peer);
    }
}

/* Without TLS the proxy is only where connections go. */
static void test_plain_proxy(void **state)
{
    (void)state;
    config.tls = NULL;
    through_proxy("engine.example", "Basic c2VjcmV0");
    assert_true(peer_is(&peer, get));
    peer_send(&peer, ok);
    PUMP(loop, (void)0, is_over());
    assert_string_equal(call.trace, "rhbe");
    assert_int_equal(call.tls_ns, -1);
}

/* --- Unix sockets --- */

static void test_unix(void **state)
{
    struct listener l;
    struct addr at;
    int fd;
    (void)l;
    (void)state;
    config.tls = NULL;
    (void)snprintf(config.host, sizeof(config.host), "unix:%s/s", dir);
    assert_true(addr_from_unix(span_cstr(config.host), &at));
    fd = listener_open(&at, 8, NULL);
    assert_true(fd >= 0);
    pool_open();
    for (int i = 0; i < 2; i++) {
        acquire();
        if (i == 0)
            PUMP(loop, (void)0, peer_accept(&peer, fd));
        PUMP(loop, peer_read(&peer), peer_count(&peer, "\r\n\r\n") == (size_t)i + 1);
        peer_send(&peer, ok);
        PUMP(loop, (void)0, is_over());
        assert_string_equal(call.trace, "rhbe");
        assert_false(call.last.is_kernel);
    }
    listener_close(fd);
    pool_open();
    acquire();
    PUMP(loop, (void)0, is_over());
    assert_int_equal(call.phase, HTTP_PHASE_CONNECT);
    assert_int_equal(call.error, -ENOENT);
}

/* --- addresses --- */

/* A port on which connects neither succeed nor fail. */
static int deaf_listen(uint16_t *ret_port, int filler[4])
{
    int fd = peer_listen_backlog(ret_port, 0);
    struct addr at;

    assert_true(addr_from_ip(SPAN("127.0.0.1"), *ret_port, &at));
    for (int i = 0; i < 4; i++) {
        filler[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        (void)connect(filler[i], (const struct sockaddr *)(const void *)&at.ss, at.len);
    }
    return fd;
}

static void test_slow_address(void **state)
{
    static const struct {
        const char *order; /* d deaf, r refused, g good */
        bool works;
    } table[] = {{"dg", true},  {"drg", true}, {"rdg", true},
                 {"dgd", true}, {"gd", true},  {"rr", false}};
    uint16_t deaf_port, closed_port, good_port = port;
    int filler[4];
    int deaf = deaf_listen(&deaf_port, filler);
    int closed = peer_listen(&closed_port);
    (void)state;
    close(closed);
    config.tls = NULL;
    pool_open();
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        int64_t began = peer_now_ms();

        pool->n_addrs = (int)strlen(table[i].order);
        for (int k = 0; k < pool->n_addrs; k++) {
            char c = table[i].order[k];
            assert_true(addr_from_ip(SPAN("127.0.0.1"),
                                     c == 'd'   ? deaf_port
                                     : c == 'r' ? closed_port
                                                : good_port,
                                     &pool->addrs[k]));
        }
        acquire();
        if (table[i].works) {
            PUMP(loop, (void)0, peer_accept(&peer, listen_fd));
            PUMP(loop, peer_read(&peer), peer_has(&peer, "\r\n\r\n"));
            peer_send(&peer, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        }
        PUMP(loop, (void)0, is_over());
        assert_string_equal(call.trace, table[i].works ? "rhe" : "f");
        assert_true(peer_now_ms() - began < 900); /* not the kernel's timeouts */
        peer_done(&peer);
    }
    for (int i = 0; i < 4; i++)
        close(filler[i]);
    close(deaf);
}

/* Given up while two addresses are tried. */
static void test_abort_in_race(void **state)
{
    uint16_t deaf_port;
    int filler[4];
    int deaf = deaf_listen(&deaf_port, filler);
    (void)state;
    config.tls = NULL;
    pool_open();
    pool->n_addrs = 3;
    for (int k = 0; k < 3; k++)
        assert_true(addr_from_ip(SPAN("127.0.0.1"), deaf_port, &pool->addrs[k]));
    acquire();
    PUMP(loop, (void)0, sock_is_open(&call.c->_rival));
    http_client_abort(call.c);
    call.c = NULL;
    TURNS(loop, (void)0, 3);
    assert_string_equal(call.trace, "");
    for (int i = 0; i < 4; i++)
        close(filler[i]);
    close(deaf);
}

static bool is_looked_up(mono_t before)
{
    return pool->lookup == NULL && pool->fresh_until.ns > before.ns;
}

/* Addresses that are gone from the answer are left. */
static void test_lookup_again(void **state)
{
    mono_t before;
    (void)state;
    config.tls = NULL;
    config.dns_ttl_ns = 60 * NS_PER_S;
    span_copy(SPAN("localhost"), config.host, sizeof(config.host));
    pool_open();
    acquire();
    PUMP(loop, (void)0, peer_accept(&peer, listen_fd));
    PUMP(loop, peer_read(&peer), peer_has(&peer, "\r\n\r\n"));
    peer_send(&peer, ok);
    PUMP(loop, (void)0, is_over());
    assert_int_equal(http_pool_n_idle(pool), 1);

    pool->fresh_until = loop_now(loop); /* its time is over: asked beside the next request */
    before = pool->fresh_until;
    acquire();
    assert_non_null(pool->lookup);
    peer_forget(&peer);
    PUMP(loop, peer_read(&peer), peer_has(&peer, "\r\n\r\n") && is_looked_up(before));
    peer_send(&peer, ok);
    PUMP(loop, (void)0, is_over());
    assert_true(call.was_reused);
    assert_int_equal(http_pool_n_idle(pool), 1); /* its address is still there */

    CONTAINER_OF(pool->idle.next, struct http_client, _link)->_addr_hash++; /* it moved */
    pool->fresh_until = loop_now(loop);
    before = pool->fresh_until;
    acquire();
    peer_forget(&peer);
    PUMP(loop, peer_read(&peer), peer_has(&peer, "\r\n\r\n") && is_looked_up(before));
    peer_send(&peer, ok);
    PUMP(loop, (void)0, is_over());
    assert_int_equal(http_pool_n_idle(pool), 0); /* not kept */
}

/* A lookup that fails leaves what is known in use, and is not repeated with every request. */
static void test_lookup_in_vain(void **state)
{
    mono_t before;
    (void)state;
    config.tls = NULL;
    span_copy(SPAN("nope.invalid"), config.host, sizeof(config.host));
    pool_open();
    pool->n_addrs = 1;
    assert_true(addr_from_ip(SPAN("127.0.0.1"), port, &pool->addrs[0]));
    before = pool->fresh_until;
    acquire();
    PUMP(loop, (void)0, is_looked_up(before));
    PUMP(loop, (void)0, peer_accept(&peer, listen_fd));
    PUMP(loop, peer_read(&peer), peer_has(&peer, "\r\n\r\n"));
    peer_send(&peer, ok);
    PUMP(loop, (void)0, is_over());
    assert_string_equal(call.trace, "rhbe");
    acquire();
    assert_null(pool->lookup);
    peer_forget(&peer);
    PUMP(loop, peer_read(&peer), peer_has(&peer, "\r\n\r\n"));
    peer_send(&peer, ok);
    PUMP(loop, (void)0, is_over());
}

/* --- the server's side --- */

static struct http_server_conn *served;
static int n_gone;

static void on_request(struct http_server_conn *c, const struct http_request_info *info)
{
    (void)info;
    served = c;
}

static void on_request_body(struct http_server_conn *c, struct span bytes, struct stamp at)
{
    (void)c;
    (void)bytes;
    (void)at;
}

static void on_request_end(struct http_server_conn *c, struct stamp at)
{
    (void)at;
    http_server_reply(c, 200, SPAN("text/plain"), SPAN("served"));
}

static void on_gone(struct http_server_conn *c, int error, struct stamp at)
{
    (void)c;
    (void)error;
    (void)at;
    n_gone++;
}

static void on_server_drained(struct http_server_conn *c)
{
    (void)c;
}

static const struct http_server_ops server_ops = {
    .on_request = on_request,
    .on_body = on_request_body,
    .on_end = on_request_end,
    .on_gone = on_gone,
    .on_drained = on_server_drained,
};

static void test_server(void **state)
{
    struct http_server_config c = {.head_timeout_ns = 200 * NS_PER_MS,
                                   .idle_timeout_ns = 5 * NS_PER_S,
                                   .body_timeout_ns = 5 * NS_PER_S,
                                   .max_conns = 8,
                                   .max_queue_bytes = 1 << 20};
    struct http_server *s = NULL;
    int64_t n_failures = stat_sum(STAT_TLS_HANDSHAKE_FAILURES);
    SSL_CTX *x = SSL_CTX_new(TLS_client_method());
    struct peer p;
    (void)state;
    assert_int_equal(http_server_new(loop, &server_ops, &c, NULL, &s), 0);
    assert_int_equal(http_server_listen(s, listen_fd, server_tls), 0);
    peer_connect(&p, port);
    far_init(&far, x, false, p.fd);
    PUMP(loop, far_step(&far), far.is_ready);
    for (int i = 0; i < 2; i++) {
        far.n = 0;
        far_write(&far, span_cstr(get));
        PUMP(loop, far_step(&far), far_has(&far, "\r\n\r\nserved"));
    }
    far_write(&far, SPAN("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
    PUMP(loop, far_step(&far), far.is_ended); /* with a goodbye */
    assert_int_equal(stat_sum(STAT_TLS_HANDSHAKE_FAILURES), n_failures);
    far_done(&far);

    peer_connect(&peer, port); /* says nothing */
    PUMP(loop, peer_read(&peer), peer_is_gone(&peer));
    assert_int_equal(stat_sum(STAT_TLS_HANDSHAKE_FAILURES), n_failures + 1);
    peer_done(&peer);
    peer_connect(&peer, port); /* plain HTTP */
    peer_send(&peer, get);
    PUMP(loop, peer_read(&peer), peer_is_gone(&peer));
    assert_int_equal(stat_sum(STAT_TLS_HANDSHAKE_FAILURES), n_failures + 2);
    PUMP(loop, (void)0, http_server_n_conns(s) == 0);
    SSL_CTX_free(x);
    http_server_free(s);
}

/* --- memory --- */

static int attempt(void *ctx)
{
    struct http_pool *p = NULL;
    struct call k = {.error = 0};
    struct far f = {.peer = {.fd = -1}};
    struct peer accepted;
    (void)ctx;
    if (http_pool_new(loop, resolver, &config, &p) < 0)
        return -ENOMEM;
    if (http_pool_acquire(p, &ops, &k, false, &k.c) < 0)
        k.error = -ENOMEM;
    while (k.error == 0 && k.c) {
        loop_turn(loop, NS_PER_MS);
        if (!f.ssl && peer_accept(&accepted, listen_fd)) {
            far_init(&f, far_ctx, true, accepted.fd);
            continue;
        }
        if (!f.ssl)
            continue;
        far_step(&f);
        if (f.n > 0) {
            far_write(&f, span_cstr(ok));
            f.n = 0;
        }
    }
    mem_fail_off();
    http_pool_free(p);
    far_done(&f);
    TURNS(loop, (void)0, 3);
    return strchr(k.trace, 'e') ? 0 : -ENOMEM;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    acquire();
    far_accept(&leaf); /* makes far_ctx */
    answered();
    pool = http_pool_free(pool);
    far_done(&far);
    assert_true(memfail_each(attempt, NULL) >= 3);
}

static int setup(void **state)
{
    (void)state;
    listen_fd = peer_listen(&port);
    peer = (struct peer){.fd = -1};
    far = (struct far){.peer = {.fd = -1}};
    config = (struct http_pool_config){.port = port,
                                       .host = "127.0.0.1",
                                       .idle_timeout_ns = 5 * NS_PER_S,
                                       .dns_ttl_ns = 5 * NS_PER_S,
                                       .max_idle = 4,
                                       .max_queue_bytes = 8 * MIB,
                                       .tls = client_tls};
    assert_int_equal(loop_new(&loop), 0);
    assert_int_equal(resolver_new(&resolver), 0);
    pool_open();
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
    far_done(&far);
    close(listen_fd);
    loop = loop_free(loop);
    assert_int_equal(stat_sum(STAT_CONNS_UPSTREAM_IDLE), 0);
    assert_int_equal(stat_sum(STAT_CONNS_UPSTREAM_OPEN), 0);
    return 0;
}

static int group_setup(void **state)
{
    char ca_file[128], cert_file[128], key_file[128];
    struct tls_client_config client = {.ca_file = ca_file};
    struct tls_server_config server = {.cert_file = cert_file, .key_file = key_file};
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/inferometer-secure-XXXXXX");
    assert_non_null(mkdtemp(dir));
    (void)snprintf(ca_file, sizeof(ca_file), "%s/ca.pem", dir);
    (void)snprintf(cert_file, sizeof(cert_file), "%s/leaf.pem", dir);
    (void)snprintf(key_file, sizeof(key_file), "%s/leaf.key", dir);
    cert_make(&ca, NULL, NULL, 0, 1);
    cert_make(&leaf, &ca, "IP:127.0.0.1,DNS:localhost", 0, 1);
    cert_make(&foreign, &leaf, "IP:127.0.0.1", 0, 1); /* by one that is no issuer */
    cert_write(&ca, dir, "ca");
    cert_write(&leaf, dir, "leaf");
    assert_int_equal(tls_client_new(&client, &client_tls, NULL), 0);
    assert_int_equal(tls_server_new(&server, &server_tls, NULL), 0);
    return 0;
}

static int group_teardown(void **state)
{
    (void)state;
    tls_context_unref(client_tls);
    tls_context_unref(server_tls);
    SSL_CTX_free(far_ctx);
    cert_done(&ca);
    cert_done(&leaf);
    cert_done(&foreign);
    cert_unlink(dir, "ca");
    cert_unlink(dir, "leaf");
    return rmdir(dir);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_request),
        CASE(test_server_name),
        CASE(test_refused_certificate),
        CASE(test_refused_connect),
        CASE(test_client_certificate_wanted),
        CASE(test_until_close),
        CASE(test_abort_in_handshake),
        CASE(test_tunnel),
        CASE(test_tunnel_to_v6),
        CASE(test_tunnel_refused),
        CASE(test_plain_proxy),
        CASE(test_unix),
        CASE(test_slow_address),
        CASE(test_abort_in_race),
        CASE(test_lookup_again),
        CASE(test_lookup_in_vain),
        CASE(test_server),
        CASE(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
