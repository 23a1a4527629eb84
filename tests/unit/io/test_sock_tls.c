/* SPDX-License-Identifier: Apache-2.0 */
#include "io/sock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "certs.h"
#include "far.h"
#include "memfail.h"

enum { QUEUE_MAX = 4 << 20 };

/* The socket under test and what it was told: s secured, d data, f end, h hangup, e error, w
 * drained. */
struct end {
    struct sock s;
    char trace[128];
    char *bytes;
    size_t n_bytes;
    int error;
    struct stamp last;
    bool pauses_on_data, closes_on_data, closes_on_secured;
};

static struct loop *loop;
static struct end end;
static struct far far;
static struct cert ca, leaf, expired, foreign_ca, foreign, by_ip, client_cert, early;
static char dir[64];
static SSL_CTX *far_ctx; /* made by each test */

/* --- the socket under test --- */

static struct end *note(struct sock *s, char c)
{
    struct end *e = CONTAINER_OF(s, struct end, s);
    size_t n = strlen(e->trace);

    if (n + 1 < sizeof(e->trace) && !(c == 'd' && n > 0 && e->trace[n - 1] == 'd'))
        e->trace[n] = c;
    return e;
}

static void end_on_secured(struct sock *s)
{
    if (note(s, 's')->closes_on_secured)
        sock_close(s, false);
}

static void end_on_data(struct sock *s, struct span data, struct stamp at)
{
    struct end *e = note(s, 'd');

    assert_true(data.n > 0);
    e->bytes = realloc(e->bytes, e->n_bytes + data.n + 1);
    assert_non_null(e->bytes);
    memcpy(e->bytes + e->n_bytes, data.p, data.n);
    e->n_bytes += data.n;
    e->bytes[e->n_bytes] = '\0';
    assert_true(at.at.ns >= e->last.at.ns);
    e->last = at;
    if (e->pauses_on_data)
        sock_pause(s);
    if (e->closes_on_data)
        sock_close(s, false);
}

static void end_on_eof(struct sock *s, struct stamp at)
{
    assert_true(mono_is_set(at.at));
    (void)note(s, 'f');
}

static void end_on_hangup(struct sock *s)
{
    (void)note(s, 'h');
}

static void end_on_error(struct sock *s, int error)
{
    assert_false(sock_is_open(s));
    note(s, 'e')->error = error;
}

static void end_on_drained(struct sock *s)
{
    (void)note(s, 'w');
}

static const struct sock_ops end_ops = {
    .on_secured = end_on_secured,
    .on_data = end_on_data,
    .on_eof = end_on_eof,
    .on_hangup = end_on_hangup,
    .on_error = end_on_error,
    .on_drained = end_on_drained,
};

static bool end_told(char c)
{
    return strchr(end.trace, c) != NULL;
}

static void end_send(const char *text)
{
    union {
        const char *in;
        void *out;
    } u = {.in = text};
    struct iovec iov = {.iov_base = u.out, .iov_len = strlen(text)};
    mono_t before = MONO_NONE;

    assert_int_equal(sock_send(&end.s, &iov, 1, &before), 0);
    assert_true(mono_is_set(before));
}

/* --- both ends --- */

static SSL_CTX *far_context(const struct cert *c, bool is_server)
{
    SSL_CTX *x = SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method());

    assert_non_null(x);
    if (c) {
        assert_int_equal(SSL_CTX_use_certificate(x, c->x), 1);
        assert_int_equal(SSL_CTX_use_PrivateKey(x, c->key), 1);
    }
    if (far_ctx)
        SSL_CTX_free(far_ctx);
    far_ctx = x;
    return x;
}

static void pair(bool is_tcp, int fds[2])
{
    uint16_t port;
    int listening;
    struct peer client, server;

    if (!is_tcp) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds),
                         0);
        return;
    }
    listening = peer_listen(&port);
    peer_connect(&client, port);
    while (!peer_accept(&server, listening))
        ;
    close(listening);
    fds[0] = client.fd;
    fds[1] = server.fd;
}

static void ends_open(bool is_tcp, bool far_is_server)
{
    int fds[2];

    free(end.bytes);
    end = (struct end){.n_bytes = 0};
    sock_init(&end.s, loop, &end_ops, QUEUE_MAX);
    pair(is_tcp, fds);
    assert_int_equal(sock_attach(&end.s, fds[0]), 0);
    far_init(&far, far_ctx, far_is_server, fds[1]);
}

static void ends_close(void)
{
    sock_close(&end.s, false);
    far_done(&far);
    TURNS(loop, (void)0, 2);
}

static struct tls_context *client_context(const struct cert *own)
{
    char ca_file[128], cert_file[128], key_file[128];
    struct tls_client_config c = {.ca_file = ca_file};
    struct tls_context *t = NULL;
    struct err e = {0};

    cert_write(&ca, dir, "ca");
    (void)snprintf(ca_file, sizeof(ca_file), "%s/ca.pem", dir);
    if (own) {
        cert_write(own, dir, "own");
        (void)snprintf(cert_file, sizeof(cert_file), "%s/own.pem", dir);
        (void)snprintf(key_file, sizeof(key_file), "%s/own.key", dir);
        c.cert_file = cert_file;
        c.key_file = key_file;
    }
    assert_int_equal(tls_client_new(&c, &t, &e), 0);
    cert_unlink(dir, "ca");
    cert_unlink(dir, "own");
    return t;
}

static struct tls_context *server_context(const struct cert *own)
{
    char cert_file[128], key_file[128];
    struct tls_server_config c = {.cert_file = cert_file, .key_file = key_file};
    struct tls_context *t = NULL;

    cert_write(own, dir, "own");
    (void)snprintf(cert_file, sizeof(cert_file), "%s/own.pem", dir);
    (void)snprintf(key_file, sizeof(key_file), "%s/own.key", dir);
    assert_int_equal(tls_server_new(&c, &t, NULL), 0);
    cert_unlink(dir, "own");
    return t;
}

/* A client of ours at an OpenSSL server, shaken hands. */
static struct tls_peer known;

static void client_open(bool is_tcp)
{
    struct tls_context *t = client_context(NULL);

    far_context(&leaf, true);
    ends_open(is_tcp, true);
    tls_peer_init(&known, t, "localhost");
    tls_context_unref(t);
    assert_int_equal(sock_start_tls_client(&end.s, &known), 0);
    assert_string_equal(end.trace, ""); /* never from within the call */
    PUMP(loop, far_step(&far), far.is_ready && end_told('s'));
}

static void client_close(void)
{
    ends_close();
    tls_peer_done(&known);
}

/* --- tests --- */

static void test_both_ways(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        bool is_tcp = i == 0;
        const unsigned char *alpn;
        unsigned alpn_n;

        client_open(is_tcp);
        assert_string_equal(SSL_get_servername(far.ssl, TLSEXT_NAMETYPE_host_name), "localhost");
        SSL_get0_alpn_selected(far.ssl, &alpn, &alpn_n);
        assert_int_equal(alpn_n, 0); /* this server does not care */
        end_send("ping");
        PUMP(loop, far_step(&far), far_has(&far, "ping"));
        far_write(&far, SPAN("pong"));
        PUMP(loop, far_step(&far), end.n_bytes == 4);
        assert_memory_equal(end.bytes, "pong", 4);
        assert_true(is_tcp || !end.last.is_kernel);
        far_write(&far, SPAN("a"));
        far_write(&far, SPAN("b")); /* two records in one read are one delivery */
        PUMP(loop, far_step(&far), end.n_bytes == 6);
        far_goodbye(&far);
        PUMP(loop, far_step(&far), end_told('f'));
        assert_string_equal(end.trace, "sdf");
        sock_close(&end.s, false);
        PUMP(loop, far_step(&far), far.is_ended); /* a goodbye of ours, too */
        client_close();
    }
}

/* The stamp is when the last byte of the record came, not when it was decrypted. */
static bool stamp_is_seen(void)
{
    struct stamp first;
    mono_t before, between, after;
    client_open(true);
    far_write(&far, SPAN("0123456789"));
    far.step_bytes = 10;
    before = clock_mono();
    far_step(&far);
    TURNS(loop, (void)0, 3);
    between = clock_mono();
    far.step_bytes = 0;
    far_step(&far); /* the rest: here it is whole */
    after = clock_mono();
    (void)usleep(20000); /* the loop is late */
    TURNS(loop, (void)0, 3);
    assert_int_equal(end.n_bytes, 10);
    first = end.last;
    if (!first.is_kernel) /* a busy machine: it could not be told what the stamp means */
        return false;
    assert_true(first.at.ns >= between.ns - 2 * NS_PER_MS && first.at.ns >= before.ns);
    assert_true(first.at.ns <= after.ns + 2 * NS_PER_MS);
    return true;
}

static void test_stamp(void **state)
{
    bool is_seen = false;
    (void)state;
    for (int i = 0; i < 20 && !is_seen; i++) {
        is_seen = stamp_is_seen();
        client_close();
    }
    assert_true(is_seen);
}

static void test_records_in_pieces(void **state)
{
    (void)state;
    client_open(true);
    for (size_t step = 1; step < 40; step += step < 4 ? 1 : 7) {
        end.n_bytes = 0;
        far.step_bytes = step;
        far_write(&far, SPAN("the first record"));
        far_write(&far, SPAN(", and the second"));
        PUMP(loop, far_step(&far), end.n_bytes == 32);
        assert_memory_equal(end.bytes, "the first record, and the second", 32);
    }
    client_close();
}

/* Every byte of the handshake on its own. */
static void test_handshake_in_pieces(void **state)
{
    struct tls_context *t = client_context(NULL);
    (void)state;
    far_context(&leaf, true);
    ends_open(false, true);
    tls_peer_init(&known, t, "localhost");
    tls_context_unref(t);
    far.step_bytes = 1;
    assert_int_equal(sock_start_tls_client(&end.s, &known), 0);
    PUMP(loop, far_step(&far), end_told('s'));
    far_write(&far, SPAN("x"));
    PUMP(loop, far_step(&far), end.n_bytes == 1);
    client_close();
}

static char *pattern(size_t n)
{
    char *p = malloc(n);

    assert_non_null(p);
    for (size_t i = 0; i < n; i++)
        p[i] = (char)((i * 31 + i / 1000) & 0xff);
    return p;
}

enum { BIG = 3 << 20 };

/* A lot in, with a reader that pauses at every read. */
static void test_big_in(void **state)
{
    char *p = pattern(BIG);
    (void)state;
    for (int pauses = 0; pauses < 2; pauses++) {
        client_open(true);
        end.pauses_on_data = pauses;
        far_write(&far, span_of(p, BIG));
        PUMP(
            loop,
            {
                far_step(&far);
                sock_resume(&end.s);
            },
            end.n_bytes == BIG);
        assert_memory_equal(end.bytes, p, BIG);
        client_close();
    }
    free(p);
}

/* While paused nothing more comes than what one read brought. */
static void test_pause(void **state)
{
    char *p = pattern(BIG);
    size_t n;
    (void)state;
    client_open(true);
    sock_pause(&end.s);
    far_write(&far, span_of(p, BIG));
    TURNS(loop, far_step(&far), 20);
    assert_int_equal(end.n_bytes, 0);
    end.pauses_on_data = true;
    sock_resume(&end.s);
    TURNS(loop, far_step(&far), 20);
    n = end.n_bytes;
    assert_true(n > 0 && n <= LIMIT_READ_BYTES);
    TURNS(loop, far_step(&far), 20);
    assert_int_equal(end.n_bytes, n);
    client_close();
    free(p);
}

/* A lot out to a peer that does not read for a while. */
static void test_big_out(void **state)
{
    char *p = pattern(BIG);
    struct iovec iov[3] = {{.iov_base = p, .iov_len = 100},
                           {.iov_base = p + 100, .iov_len = 70000},
                           {.iov_base = p + 70100, .iov_len = BIG - 70100}};
    (void)state;
    client_open(true);
    peer_buffers(end.s._watch.fd, 8192, 0);
    far.is_deaf = true;
    assert_int_equal(sock_send(&end.s, iov, 3, NULL), 0);
    assert_true(sock_is_full(&end.s));
    assert_true(sock_queued_bytes(&end.s) > 0);
    TURNS(loop, far_step(&far), 10);
    assert_false(end_told('w'));
    far.is_deaf = false;
    PUMP(loop, far_step(&far), far.n == BIG);
    assert_memory_equal(far.p, p, BIG);
    assert_true(end_told('w'));
    assert_false(sock_is_full(&end.s));
    client_close();
    free(p);
}

static void test_queue_limit(void **state)
{
    char *p = pattern(BIG);
    struct iovec iov = {.iov_base = p, .iov_len = BIG};
    int r = 0;
    (void)state;
    client_open(true);
    far.is_deaf = true;
    for (int i = 0; i < 20 && r == 0; i++)
        r = sock_send(&end.s, &iov, 1, NULL);
    assert_int_equal(r, -EMSGSIZE);
    assert_true(sock_is_open(&end.s));
    client_close();
    free(p);
}

/* Behind what is queued. */
static void test_shutdown(void **state)
{
    char *p = pattern(BIG);
    struct iovec iov = {.iov_base = p, .iov_len = BIG};
    (void)state;
    client_open(true);
    far.is_deaf = true;
    assert_int_equal(sock_send(&end.s, &iov, 1, NULL), 0);
    sock_shutdown(&end.s);
    TURNS(loop, far_step(&far), 10);
    far.is_deaf = false;
    PUMP(loop, far_step(&far), far.is_ended);
    assert_int_equal(far.n, BIG);
    PUMP(loop, far_step(&far), far.peer.is_eof);
    far_write(&far, SPAN("still heard"));
    PUMP(loop, far_step(&far), end.n_bytes == 11);
    client_close();
    free(p);
}

/* A FIN without a goodbye is a cut; what came before it is delivered. */
static void test_cut(void **state)
{
    (void)state;
    client_open(true);
    far_write(&far, SPAN("half an answ"));
    far_step(&far);
    peer_fin(&far.peer);
    PUMP(loop, (void)0, end_told('e'));
    assert_string_equal(end.trace, "sde");
    assert_int_equal(end.n_bytes, 12);
    assert_int_equal(end.error, -ECONNRESET);
    assert_null(sock_tls_error(&end.s));
    client_close();
}

static void test_goodbye_then_fin(void **state)
{
    (void)state;
    client_open(true);
    far_write(&far, SPAN("all"));
    far_goodbye(&far);
    peer_fin(&far.peer);
    PUMP(loop, (void)0, end_told('f'));
    TURNS(loop, (void)0, 5);
    assert_string_equal(end.trace, "sdf");
    client_close();
}

static void test_reset(void **state)
{
    (void)state;
    client_open(true);
    peer_reset(&far.peer);
    PUMP(loop, (void)0, end_told('e'));
    assert_string_equal(end.trace, "se");
    assert_int_equal(end.error, -ECONNRESET);
    client_close();
}

/* Bytes changed on the way. */
static void test_garbled(void **state)
{
    (void)state;
    client_open(true);
    assert_int_equal(peer_write(&far.peer, SPAN("\x17\x03\x03\x00\x14"
                                                "aaaaaaaaaaaaaaaaaaaa")),
                     25);
    PUMP(loop, (void)0, end_told('e'));
    assert_int_equal(end.error, -ECONNABORTED);
    assert_string_equal(sock_tls_error(&end.s), "its data was changed on the way");
    client_close();
}

static void test_hangup_while_paused(void **state)
{
    (void)state;
    client_open(true);
    sock_pause(&end.s);
    far_goodbye(&far);
    peer_fin(&far.peer);
    PUMP(loop, (void)0, end_told('h'));
    assert_string_equal(end.trace, "sh");
    sock_resume(&end.s);
    PUMP(loop, (void)0, end_told('f'));
    client_close();
}

static void test_close_inside_callbacks(void **state)
{
    struct tls_context *t = client_context(NULL);
    (void)state;
    client_open(true);
    end.closes_on_data = true;
    far_write(&far, SPAN("x"));
    PUMP(loop, far_step(&far), end_told('d'));
    assert_false(sock_is_open(&end.s));
    client_close();

    far_context(&leaf, true);
    ends_open(true, true);
    tls_peer_init(&known, t, "localhost");
    tls_context_unref(t);
    end.closes_on_secured = true;
    assert_int_equal(sock_start_tls_client(&end.s, &known), 0);
    PUMP(loop, far_step(&far), end_told('s'));
    assert_false(sock_is_open(&end.s));
    client_close();
}

/* --- who is refused, and what is said of it --- */

static void client_is_told(const char *name, const struct cert *server, const char *expect)
{
    struct tls_context *t = client_context(NULL);

    far_context(server, true);
    ends_open(true, true);
    tls_peer_init(&known, t, name);
    tls_context_unref(t);
    assert_int_equal(sock_start_tls_client(&end.s, &known), 0);
    PUMP(loop, far_step(&far), end_told('e') || end_told('s'));
    if (expect) {
        assert_string_equal(end.trace, "e");
        assert_int_equal(end.error, -EPROTO);
        assert_string_equal(sock_tls_error(&end.s), expect);
        PUMP(loop, far_step(&far), far.error != NULL); /* it is told, too */
    } else {
        assert_string_equal(end.trace, "s");
    }
    client_close();
}

static void test_certificates(void **state)
{
    (void)state;
    client_is_told("localhost", &leaf, NULL);
    client_is_told("a.example.com", &leaf, NULL); /* *.example.com */
    client_is_told("example.com", &leaf, "its certificate is for another name");
    client_is_told("127.0.0.1", &leaf, "its certificate is for another address");
    client_is_told("127.0.0.1", &by_ip, NULL);
    client_is_told("::1", &by_ip, NULL);
    client_is_told("localhost", &by_ip, "its certificate is for another name");
    client_is_told("localhost", &expired, "its certificate has expired");
    client_is_told("localhost", &early, "its certificate is not valid yet");
    client_is_told("localhost", &foreign, "the issuer of its certificate is unknown");
    client_is_told("localhost", &foreign_ca, "its certificate is self-signed and not trusted");
}

static void test_unverified(void **state)
{
    struct tls_client_config c = {.is_unverified = true};
    struct tls_context *t = NULL;
    (void)state;
    assert_int_equal(tls_client_new(&c, &t, NULL), 0);
    far_context(&foreign, true);
    ends_open(true, true);
    tls_peer_init(&known, t, "whatever");
    tls_context_unref(t);
    assert_int_equal(sock_start_tls_client(&end.s, &known), 0);
    PUMP(loop, far_step(&far), end_told('s'));
    client_close();
}

static void handshake_is_told(const char *expect)
{
    struct tls_context *t = client_context(NULL);

    ends_open(true, true);
    tls_peer_init(&known, t, "localhost");
    tls_context_unref(t);
    assert_int_equal(sock_start_tls_client(&end.s, &known), 0);
    PUMP(loop, far_step(&far), end_told('e'));
    assert_string_equal(end.trace, "e");
    assert_string_equal(sock_tls_error(&end.s), expect);
    client_close();
}

static void test_old_version(void **state)
{
    SSL_CTX *x = far_context(&leaf, true);
    (void)state;
    SSL_CTX_set_security_level(x, 0);
    assert_int_equal(SSL_CTX_set_min_proto_version(x, TLS1_1_VERSION), 1);
    assert_int_equal(SSL_CTX_set_max_proto_version(x, TLS1_1_VERSION), 1);
    handshake_is_told("it speaks no version of TLS from 1.2 on");
}

static void test_no_tls(void **state)
{
    (void)state;
    client_open(true);
    client_close();
    far_context(&leaf, true);
    {
        struct tls_context *t = client_context(NULL);
        ends_open(true, true);
        far.is_deaf = true;
        tls_peer_init(&known, t, "localhost");
        tls_context_unref(t);
        assert_int_equal(sock_start_tls_client(&end.s, &known), 0);
        peer_send(&far.peer, "HTTP/1.1 400 Bad Request\r\n\r\n");
        PUMP(loop, (void)0, end_told('e'));
        assert_string_equal(sock_tls_error(&end.s), "it does not speak TLS there");
        client_close();
    }
}

static void test_fin_in_handshake(void **state)
{
    struct tls_context *t = client_context(NULL);
    (void)state;
    far_context(&leaf, true);
    ends_open(true, true);
    tls_peer_init(&known, t, "localhost");
    tls_context_unref(t);
    assert_int_equal(sock_start_tls_client(&end.s, &known), 0);
    TURNS(loop, (void)0, 3);
    peer_fin(&far.peer);
    PUMP(loop, (void)0, end_told('e'));
    assert_int_equal(end.error, -ECONNRESET);
    assert_string_equal(sock_tls_error(&end.s), "it closed the connection during the handshake");
    client_close();
}

/* Nothing is sent before the handshake is done. */
static void test_stalled_handshake(void **state)
{
    struct tls_context *t = client_context(NULL);
    char x[] = "x";
    struct iovec iov = {.iov_base = x, .iov_len = 1};
    (void)state;
    far_context(&leaf, true);
    ends_open(true, true);
    far.is_deaf = true;
    tls_peer_init(&known, t, "localhost");
    tls_context_unref(t);
    assert_int_equal(sock_start_tls_client(&end.s, &known), 0);
    TURNS(loop, (void)0, 5);
    assert_string_equal(end.trace, "");
    assert_int_equal(sock_send(&end.s, &iov, 1, NULL), -ENOTCONN);
    assert_true(sock_is_open(&end.s));
    client_close();
}

static void client_cert_case(const struct cert *own, int version, const char *expect)
{
    SSL_CTX *x = far_context(&leaf, true);
    struct tls_context *t = client_context(own);

    SSL_CTX_set_verify(x, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    assert_int_equal(X509_STORE_add_cert(SSL_CTX_get_cert_store(x), ca.x), 1);
    assert_int_equal(SSL_CTX_set_max_proto_version(x, version), 1);
    ends_open(true, true);
    tls_peer_init(&known, t, "localhost");
    tls_context_unref(t);
    assert_int_equal(sock_start_tls_client(&end.s, &known), 0);
    PUMP(loop, far_step(&far), end_told('e') || (far.is_ready && end_told('s')));
    if (expect) { /* with TLS 1.3 it comes behind our side of the handshake */
        PUMP(loop, far_step(&far), end_told('e'));
        assert_string_equal(sock_tls_error(&end.s), expect);
    }
    client_close();
}

static void test_client_certificate(void **state)
{
    (void)state;
    client_cert_case(&client_cert, TLS1_3_VERSION, NULL);
    client_cert_case(&client_cert, TLS1_2_VERSION, NULL);
    client_cert_case(NULL, TLS1_3_VERSION, "it wants a client certificate");
    client_cert_case(NULL, TLS1_2_VERSION,
                     "it refused what we offered (ciphers, or a missing client certificate)");
    client_cert_case(&foreign, TLS1_3_VERSION, "it does not trust the issuer of our certificate");
}

static void test_resumption(void **state)
{
    struct tls_context *t = client_context(NULL);
    (void)state;
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        SSL_CTX *x = far_context(&leaf, true);

        assert_int_equal(SSL_CTX_set_max_proto_version(x, version), 1);
        tls_peer_init(&known, t, "localhost");
        for (int i = 0; i < 4; i++) {
            ends_open(true, true);
            assert_int_equal(sock_start_tls_client(&end.s, &known), 0);
            PUMP(loop, far_step(&far), far.is_ready && end_told('s'));
            assert_int_equal(SSL_session_reused(far.ssl), i > 0);
            far_write(&far, SPAN("x"));
            PUMP(loop, far_step(&far), end.n_bytes == 1); /* tickets come with the first data */
            if (i == 1)
                sock_close(&end.s, true); /* not even that makes it a bad session */
            if (i == 2) {
                peer_reset(&far.peer);
                PUMP(loop, (void)0, end_told('e'));
            }
            ends_close();
        }
        tls_peer_done(&known);
    }
    tls_context_unref(t);
}

/* --- as a server --- */

static void server_open(SSL_CTX *x, bool must_work)
{
    struct tls_context *t = server_context(&leaf);

    assert_int_equal(X509_STORE_add_cert(SSL_CTX_get_cert_store(x), ca.x), 1);
    SSL_CTX_set_verify(x, SSL_VERIFY_PEER, NULL);
    ends_open(true, false);
    assert_int_equal(sock_start_tls_server(&end.s, t), 0);
    tls_context_unref(t); /* the connection keeps what it needs */
    PUMP(loop, far_step(&far), must_work ? far.is_ready && end_told('s') : end_told('e'));
}

static void test_server(void **state)
{
    SSL_CTX *x = far_context(NULL, false);
    const unsigned char *alpn;
    unsigned alpn_n;
    (void)state;
    assert_int_equal(SSL_CTX_set_alpn_protos(x, (const unsigned char *)"\x02h2\x08http/1.1", 12),
                     0);
    server_open(x, true);
    SSL_get0_alpn_selected(far.ssl, &alpn, &alpn_n);
    assert_span_equal("alpn", span_of(alpn, alpn_n), SPAN("http/1.1"));
    far_write(&far, SPAN("ping"));
    PUMP(loop, far_step(&far), end.n_bytes == 4);
    end_send("pong");
    PUMP(loop, far_step(&far), far_has(&far, "pong"));
    ends_close();
}

static void test_server_resumption(void **state)
{
    struct tls_context *t = server_context(&leaf);
    (void)state;
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        SSL_CTX *x = far_context(NULL, false);
        SSL_SESSION *session = NULL;

        assert_int_equal(SSL_CTX_set_max_proto_version(x, version), 1);
        for (int i = 0; i < 3; i++) {
            ends_open(true, false);
            if (session)
                assert_int_equal(SSL_set_session(far.ssl, session), 1);
            assert_int_equal(sock_start_tls_server(&end.s, t), 0);
            PUMP(loop, far_step(&far), far.is_ready && end_told('s'));
            assert_int_equal(SSL_session_reused(far.ssl), i > 0);
            end_send("x");
            PUMP(loop, far_step(&far), far.n == 1); /* the ticket came before it */
            SSL_SESSION_free(session);
            session = SSL_get1_session(far.ssl);
            far_goodbye(&far);
            ends_close();
        }
        SSL_SESSION_free(session);
    }
    tls_context_unref(t);
}

/* The client's first request comes with the end of its handshake. */
static void test_server_data_with_finished(void **state)
{
    struct tls_context *t = server_context(&leaf);
    SSL_CTX *x = far_context(NULL, false);
    (void)state;
    assert_int_equal(X509_STORE_add_cert(SSL_CTX_get_cert_store(x), ca.x), 1);
    ends_open(true, false);
    assert_int_equal(sock_start_tls_server(&end.s, t), 0);
    tls_context_unref(t);
    far.step_bytes = 100000;
    PUMP(
        loop,
        {
            bool was_ready = far.is_ready;
            far_step(&far);
            if (!was_ready && far.is_ready)
                far_write(&far, SPAN("request"));
            far_push(&far);
        },
        end.n_bytes == 7);
    assert_string_equal(end.trace, "sd");
    ends_close();
}

static void test_server_refuses(void **state)
{
    SSL_CTX *x = far_context(NULL, false);
    (void)state;
    assert_int_equal(SSL_CTX_set_alpn_protos(x, (const unsigned char *)"\x02h2", 3), 0);
    server_open(x, false);
    assert_string_equal(sock_tls_error(&end.s), "it does not speak HTTP/1.1");
    ends_close();
    x = far_context(NULL, false);
    SSL_CTX_set_security_level(x, 0);
    assert_int_equal(SSL_CTX_set_min_proto_version(x, TLS1_VERSION), 1);
    assert_int_equal(SSL_CTX_set_max_proto_version(x, TLS1_1_VERSION), 1);
    server_open(x, false);
    assert_string_equal(sock_tls_error(&end.s), "it speaks only versions of TLS older than 1.2");
    ends_close();
}

static void test_server_plain_client(void **state)
{
    struct tls_context *t = server_context(&leaf);
    (void)state;
    far_context(NULL, false);
    ends_open(true, false);
    assert_int_equal(sock_start_tls_server(&end.s, t), 0);
    tls_context_unref(t);
    peer_send(&far.peer, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    PUMP(loop, (void)0, end_told('e'));
    assert_string_equal(sock_tls_error(&end.s), "it speaks plain HTTP to a port for TLS");
    ends_close();
}

static void test_no_renegotiation(void **state)
{
    SSL_CTX *x = far_context(NULL, false);
    (void)state;
    assert_int_equal(SSL_CTX_set_max_proto_version(x, TLS1_2_VERSION), 1);
    server_open(x, true);
    assert_int_equal(SSL_renegotiate(far.ssl), 1);
    (void)SSL_do_handshake(far.ssl);
    ERR_clear_error();
    TURNS(loop, far_step(&far), 20);
    assert_int_equal(SSL_renegotiate_pending(far.ssl) && !far.error, 0);
    ends_close();
}

/* --- leaks --- */

static struct tls_context *oom_context;

static int attempt_start(void *ctx)
{
    int r;
    (void)ctx;
    ends_open(false, true);
    tls_peer_init(&known, oom_context, "localhost");
    r = sock_start_tls_client(&end.s, &known);
    if (r < 0)
        assert_true(sock_is_open(&end.s));
    client_close();
    return r;
}

static int attempt_queue(void *ctx)
{
    static char block[1 << 20];
    struct iovec iov = {.iov_base = block, .iov_len = sizeof(block)};
    int r = 0;
    (void)ctx;
    for (int i = 0; i < 20 && r == 0 && sock_queued_bytes(&end.s) == 0; i++)
        r = sock_send(&end.s, &iov, 1, NULL);
    return r;
}

static void test_out_of_memory(void **state)
{
    int n_fds = fd_count();
    (void)state;
    oom_context = client_context(NULL);
    far_context(&leaf, true);
    assert_true(memfail_each(attempt_start, NULL) > 0);
    oom_context = tls_context_unref(oom_context);
    assert_int_equal(fd_count(), n_fds);
    client_open(true);
    far.is_deaf = true;
    mem_fail_from(1);
    assert_int_equal(attempt_queue(NULL), -ENOMEM);
    mem_fail_off();
    client_close();
}

/* After the handshake nothing of ours is allocated for what comes and goes. */
static void test_no_allocation_per_record(void **state)
{
    int64_t n;
    (void)state;
    client_open(true);
    end_send("x");
    n = (int64_t)mem_count_total().n_allocs;
    for (size_t i = 1; i <= 50; i++) {
        end_send("ping");
        far_write(&far, SPAN("pong"));
        PUMP(loop, far_step(&far), end.n_bytes == 4 * i);
    }
    assert_int_equal(mem_count_total().n_allocs, n);
    client_close();
}

static int setup(void **state)
{
    (void)state;
    return loop_new(&loop);
}

static int teardown(void **state)
{
    (void)state;
    loop = loop_free(loop);
    return 0;
}

static int group_setup(void **state)
{
    (void)state;
    far.peer.fd = -1;
    (void)snprintf(dir, sizeof(dir), "/tmp/inferometer-sock-tls-XXXXXX");
    assert_non_null(mkdtemp(dir));
    cert_make(&ca, NULL, NULL, 0, 2);
    cert_make(&foreign_ca, NULL, NULL, 0, 2);
    cert_make(&leaf, &ca, "DNS:localhost,DNS:*.example.com", 0, 1);
    cert_make(&by_ip, &ca, "IP:127.0.0.1,IP:::1", 0, 1);
    cert_make(&expired, &ca, "DNS:localhost", -3, -1);
    cert_make(&early, &ca, "DNS:localhost", 1, 2);
    cert_make(&foreign, &foreign_ca, "DNS:localhost", 0, 1);
    cert_make(&client_cert, &ca, "DNS:client", 0, 1);
    return 0;
}

static int group_teardown(void **state)
{
    struct cert *all[] = {&ca,      &foreign_ca,  &leaf,  &by_ip,
                          &expired, &client_cert, &early, &foreign};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        cert_done(all[i]);
    SSL_CTX_free(far_ctx);
    free(end.bytes);
    return rmdir(dir);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_both_ways),
        CASE(test_stamp),
        CASE(test_records_in_pieces),
        CASE(test_handshake_in_pieces),
        CASE(test_big_in),
        CASE(test_pause),
        CASE(test_big_out),
        CASE(test_queue_limit),
        CASE(test_shutdown),
        CASE(test_cut),
        CASE(test_goodbye_then_fin),
        CASE(test_reset),
        CASE(test_garbled),
        CASE(test_hangup_while_paused),
        CASE(test_close_inside_callbacks),
        CASE(test_certificates),
        CASE(test_unverified),
        CASE(test_old_version),
        CASE(test_no_tls),
        CASE(test_fin_in_handshake),
        CASE(test_stalled_handshake),
        CASE(test_client_certificate),
        CASE(test_resumption),
        CASE(test_server),
        CASE(test_server_resumption),
        CASE(test_server_data_with_finished),
        CASE(test_server_refuses),
        CASE(test_server_plain_client),
        CASE(test_no_renegotiation),
        CASE(test_out_of_memory),
        CASE(test_no_allocation_per_record),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
