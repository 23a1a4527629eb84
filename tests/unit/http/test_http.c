/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"
#include "peer.h"

static struct loop *loop;
static struct sock sock;
static struct peer peer;

static void on_sock(struct sock *s)
{
    (void)s;
}

static void on_data(struct sock *s, struct span data, struct stamp at)
{
    (void)s;
    (void)data;
    (void)at;
}

static void on_eof(struct sock *s, struct stamp at)
{
    (void)s;
    (void)at;
}

static void on_error(struct sock *s, int error)
{
    (void)s;
    (void)error;
}

static const struct sock_ops ops = {.on_connected = on_sock,
                                    .on_data = on_data,
                                    .on_eof = on_eof,
                                    .on_error = on_error,
                                    .on_drained = on_sock};

static int setup(void **state)
{
    int fds[2];
    (void)state;
    assert_int_equal(loop_new(&loop), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    sock_init(&sock, loop, &ops, 1 << 20);
    assert_int_equal(sock_attach(&sock, fds[0]), 0);
    peer_adopt(&peer, fds[1]);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sock_close(&sock, false);
    peer_done(&peer);
    loop = loop_free(loop);
    return 0;
}

static void test_heads(void **state)
{
    static const struct {
        struct http_framing framing;
        const char *expect;
    } ends[] = {
        {{HTTP1_BODY_NONE, 0}, "\r\n"},
        {{HTTP1_BODY_LENGTH, 0}, "Content-Length: 0\r\n\r\n"},
        {{HTTP1_BODY_LENGTH, INT64_MAX}, "Content-Length: 9223372036854775807\r\n\r\n"},
        {{HTTP1_BODY_CHUNKED, 5}, "Transfer-Encoding: chunked\r\n\r\n"},
        {{HTTP1_BODY_UNTIL_CLOSE, 5}, "\r\n"},
    };
    struct buf b;
    (void)state;
    buf_init(&b, 4096);
    assert_int_equal(http_head_request(&b, SPAN("POST"), SPAN("/base"), SPAN("/v1/x?y")), 0);
    assert_int_equal(http_head_field(&b, SPAN("A"), SPAN("b c")), 0);
    assert_int_equal(http_head_field(&b, SPAN("Empty"), (struct span){0}), 0);
    assert_span_equal("request", buf_span(&b),
                      SPAN("POST /base/v1/x?y HTTP/1.1\r\nA: b c\r\nEmpty: \r\n"));
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        buf_clear(&b);
        assert_int_equal(http_head_end(&b, ends[i].framing), 0);
        assert_span_equal("end", buf_span(&b), span_cstr(ends[i].expect));
    }
    buf_clear(&b);
    assert_int_equal(http_head_status(&b, 0, 404, SPAN("Not Found")), 0);
    assert_int_equal(http_head_status(&b, 1, 200, (struct span){0}), 0);
    assert_span_equal("status", buf_span(&b), SPAN("HTTP/1.0 404 Not Found\r\nHTTP/1.1 200 \r\n"));
    buf_done(&b);
    buf_init(&b, 40);
    assert_int_equal(http_head_field(&b, SPAN("Too-Long"), SPAN("0123456789012345678901234567890")),
                     -EMSGSIZE);
    assert_int_equal(buf_len(&b), 0);
    buf_done(&b);
}

/* One call: what was written, in one read of the peer. */
static void test_bodies(void **state)
{
    static const struct span two[] = {SPAN_INIT("hello "), SPAN_INIT("world")};
    struct http_writer w;
    mono_t before = MONO_NONE;
    (void)state;
    assert_int_equal(http_writer_start(&w, &sock, SPAN("H\r\n\r\n"),
                                       (struct http_framing){HTTP1_BODY_CHUNKED, 0}, two, 2, false,
                                       &before),
                     0);
    assert_true(mono_is_set(before));
    peer_read(&peer);
    assert_true(peer_is(&peer, "H\r\n\r\nb\r\nhello world\r\n"));
    assert_true(http_writer_is_open(&w));
    peer_forget(&peer);
    before = MONO_NONE;
    assert_int_equal(http_writer_body(&w, NULL, 0, false, &before), 0);
    assert_true(mono_is_set(before));
    assert_int_equal(http_writer_body(&w, two, 1, true, &before), 0);
    peer_read(&peer);
    assert_true(peer_is(&peer, "6\r\nhello \r\n0\r\n\r\n"));
    assert_false(http_writer_is_open(&w));
}

static void test_empty_ends(void **state)
{
    struct http_writer w;
    struct span nothing = {0};
    (void)state;
    assert_int_equal(http_writer_start(&w, &sock, SPAN("H\r\n\r\n"),
                                       (struct http_framing){HTTP1_BODY_CHUNKED, 0}, &nothing, 1,
                                       true, NULL),
                     0);
    assert_int_equal(http_writer_start(&w, &sock, SPAN("I\r\n\r\n"),
                                       (struct http_framing){HTTP1_BODY_LENGTH, 0}, NULL, 0, true,
                                       NULL),
                     0);
    assert_int_equal(http_writer_start(&w, &sock, SPAN("J\r\n\r\n"),
                                       (struct http_framing){HTTP1_BODY_NONE, 0}, NULL, 0, false,
                                       NULL),
                     0);
    assert_true(http_writer_is_open(&w));
    assert_int_equal(http_writer_body(&w, &(struct span){"dropped", 7}, 1, true, NULL), 0);
    peer_read(&peer);
    assert_true(peer_is(&peer, "H\r\n\r\n0\r\n\r\nI\r\n\r\nJ\r\n\r\n"));
}

static void test_length_is_kept(void **state)
{
    struct http_framing five = {HTTP1_BODY_LENGTH, 5};
    struct span three = SPAN("abc");
    struct http_writer w;
    (void)state;
    assert_int_equal(http_writer_start(&w, &sock, SPAN("H\r\n\r\n"), five, &three, 1, true, NULL),
                     -EPROTO);
    assert_int_equal(http_writer_start(&w, &sock, SPAN("H\r\n\r\n"), five, &three, 1, false, NULL),
                     0);
    assert_int_equal(http_writer_body(&w, &three, 1, false, NULL), -EPROTO);
    assert_int_equal(http_writer_body(&w, &(struct span){"de", 2}, 1, true, NULL), 0);
    assert_false(http_writer_is_open(&w));
    peer_read(&peer);
    assert_true(peer_is(&peer, "H\r\n\r\nabcde"));
}

/* The largest number of parts, each of them sent. */
static void test_many_parts(void **state)
{
    struct span parts[HTTP_PARTS_MAX];
    struct http_writer w;
    (void)state;
    for (int i = 0; i < HTTP_PARTS_MAX; i++)
        parts[i] = span_of(&"0123456789abcdef"[i], 1);
    assert_int_equal(http_writer_start(&w, &sock, SPAN("H\r\n\r\n"),
                                       (struct http_framing){HTTP1_BODY_CHUNKED, 0}, parts,
                                       HTTP_PARTS_MAX, true, NULL),
                     0);
    peer_read(&peer);
    assert_true(peer_is(&peer, "H\r\n\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n"));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_heads),          CASE(test_bodies),     CASE(test_empty_ends),
        CASE(test_length_is_kept), CASE(test_many_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
