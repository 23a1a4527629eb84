/* SPDX-License-Identifier: Apache-2.0 */
#include "io/sock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "fakeclock.h"
#include "harness.h"
#include "memfail.h"
#include "peer.h"

enum { QUEUE_MAX = 4 << 20 };

/* A socket under test that records what it is told. */
struct end {
    struct sock s;
    char trace[128]; /* c connected, d data, f FIN, h hangup, e error, w drained */
    char *bytes;
    size_t n_bytes;
    int n_data;
    int error;
    struct stamp last;
    bool closes_on[128]; /* by trace character: the handler closes */
    bool pauses_on_data;
};

static struct loop *loop;
static struct end end;
static struct peer peer;
static uint16_t port;
static int listen_fd;

static struct end *note(struct sock *s, char c)
{
    struct end *e = CONTAINER_OF(s, struct end, s);
    size_t n = strlen(e->trace);

    if (n + 1 < sizeof(e->trace) && !(c == 'd' && n > 0 && e->trace[n - 1] == 'd'))
        e->trace[n] = c; /* reads that follow each other are one 'd' */
    if (e->closes_on[(int)c])
        sock_close(s, false);
    return e;
}

static void end_on_connected(struct sock *s)
{
    (void)note(s, 'c');
}

static void end_on_data(struct sock *s, struct span data, struct stamp at)
{
    struct end *e = CONTAINER_OF(s, struct end, s);

    e->bytes = realloc(e->bytes, e->n_bytes + data.n);
    assert_non_null(e->bytes);
    memcpy(e->bytes + e->n_bytes, data.p, data.n);
    e->n_bytes += data.n;
    e->n_data++;
    assert_true(at.at.ns >= e->last.at.ns);
    e->last = at;
    if (e->pauses_on_data)
        sock_pause(s);
    (void)note(s, 'd');
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
    struct end *e = note(s, 'e');

    assert_false(sock_is_open(s));
    e->error = error;
}

static void end_on_drained(struct sock *s)
{
    (void)note(s, 'w');
}

static const struct sock_ops end_ops = {
    .on_connected = end_on_connected,
    .on_data = end_on_data,
    .on_eof = end_on_eof,
    .on_hangup = end_on_hangup,
    .on_error = end_on_error,
    .on_drained = end_on_drained,
};

static void end_init(void)
{
    free(end.bytes);
    end = (struct end){.n_bytes = 0};
    sock_init(&end.s, loop, &end_ops, QUEUE_MAX);
}

/* end and peer: the two ends of a TCP connection over loopback, or of a Unix socket pair. */
static void pair_open(bool is_tcp)
{
    end_init();
    if (is_tcp) {
        struct peer client;
        peer_connect(&client, port);
        PUMP(loop, (void)0, peer_accept(&peer, listen_fd));
        assert_int_equal(sock_attach(&end.s, client.fd), 0);
    } else {
        int fds[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds),
                         0);
        assert_int_equal(sock_attach(&end.s, fds[0]), 0);
        peer_adopt(&peer, fds[1]);
    }
}

static void pair_close(void)
{
    sock_close(&end.s, false);
    sock_close(&end.s, true); /* idempotent */
    peer_done(&peer);
    TURNS(loop, (void)0, 2);
}

static int setup(void **state)
{
    (void)state;
    listen_fd = peer_listen(&port);
    peer = (struct peer){.fd = -1};
    return loop_new(&loop);
}

static int teardown(void **state)
{
    (void)state;
    pair_close();
    free(end.bytes);
    end = (struct end){.n_bytes = 0};
    close(listen_fd);
    loop = loop_free(loop);
    return 0;
}

static int send_text(const char *text, mono_t *ret_before)
{
    char copy[256];
    struct iovec iov = {.iov_base = copy, .iov_len = strlen(text)};

    assert_true(strlen(text) < sizeof(copy));
    memcpy(copy, text, strlen(text));
    return sock_send(&end.s, &iov, 1, ret_before);
}

static void pattern_fill(char *p, size_t n, size_t offset)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (char)((offset + i) * 2654435761u >> 13);
}

/* --- reading --- */

static void test_read(void **state)
{
    (void)state;
    for (int is_tcp = 0; is_tcp < 2; is_tcp++) {
        pair_open(is_tcp != 0);
        peer_send(&peer, "hello ");
        PUMP(loop, (void)0, end.n_bytes == 6);
        peer_send(&peer, "world");
        peer_fin(&peer);
        PUMP(loop, (void)0, strchr(end.trace, 'f'));
        TURNS(loop, (void)0, 3);
        assert_string_equal(end.trace, "df");
        assert_span_equal("read", span_of(end.bytes, end.n_bytes), SPAN("hello world"));
        assert_int_equal(send_text("still open this way", NULL), 0);
        PUMP(loop, peer_read(&peer), peer_is(&peer, "still open this way"));
        pair_close();
    }
}

/* The stamp is the kernel's: it lies before a pause that we make before reading. */
static void test_kernel_stamp(void **state)
{
    bool has_kernel = false;
    (void)state;
    pair_open(true);
    /* The kernel switches stamping on a little after it was asked to. */
    for (int i = 0; i < 50 && !has_kernel; i++) {
        size_t n = end.n_bytes;
        mono_t before = clock_mono();
        mono_t after;

        peer_send(&peer, "x");
        after = clock_mono();
        usleep(3000);
        PUMP(loop, (void)0, end.n_bytes > n);
        has_kernel = end.last.is_kernel;
        if (!has_kernel)
            continue;
        assert_true(end.last.at.ns >= before.ns - 100 * NS_PER_US);
        assert_true(end.last.at.ns <= after.ns + NS_PER_MS);
        assert_false(end.last.is_clock_stepped);
    }
    assert_true(has_kernel);
}

/* Reading on from a task after a long sleep maps stamps by a fresh look at the clocks. */
static void test_pause_and_resume(void **state)
{
    (void)state;
    for (int is_tcp = 0; is_tcp < 2; is_tcp++) {
        pair_open(is_tcp != 0);
        sock_pause(&end.s);
        assert_true(sock_is_paused(&end.s));
        peer_send(&peer, "one");
        TURNS(loop, (void)0, 3);
        assert_string_equal(end.trace, "");
        sock_resume(&end.s); /* the edge is long gone */
        PUMP(loop, (void)0, end.n_bytes == 3);
        end.pauses_on_data = true;
        peer_send(&peer, "two");
        PUMP(loop, (void)0, end.n_bytes == 6);
        peer_send(&peer, "three");
        TURNS(loop, (void)0, 3);
        assert_int_equal(end.n_bytes, 6);
        sock_resume(&end.s);
        sock_pause(&end.s);
        TURNS(loop, (void)0, 3);
        assert_int_equal(end.n_bytes, 6);
        sock_resume(&end.s);
        sock_resume(&end.s);
        PUMP(loop, (void)0, end.n_bytes == 11);
        pair_close();
    }
}

/* More than one turn's budget: everything comes, in order, and the pause in it holds. */
static void test_big_read(void **state)
{
    enum { N = 3 << 20 };
    char *sent = malloc(N);
    (void)state;
    assert_non_null(sent);
    pattern_fill(sent, N, 0);
    for (int is_tcp = 0; is_tcp < 2; is_tcp++) {
        size_t n = 0;

        pair_open(is_tcp != 0);
        end.pauses_on_data = true;
        while (end.n_bytes < N) {
            int n_before = end.n_data;
            if (n < N)
                n += peer_write(&peer, span_of(sent + n, N - n));
            loop_turn(loop, 0);
            assert_true(end.n_data - n_before <= 1);
            sock_resume(&end.s);
        }
        assert_memory_equal(end.bytes, sent, N);
        pair_close();
    }
    free(sent);
}

static void test_budget_per_turn(void **state)
{
    enum { N = 16 * LIMIT_READ_BYTES };
    char *sent = calloc(1, N);
    size_t n = 0;
    (void)state;
    assert_non_null(sent);
    pair_open(true);
    sock_pause(&end.s);
    for (int i = 0; i < 1000 && n < N; i++)
        n += peer_write(&peer, span_of(sent, N - n));
    assert_true(n > 6 * LIMIT_READ_BYTES);
    loop_turn(loop, 0);
    sock_resume(&end.s);
    loop_turn(loop, -1);
    assert_in_range(end.n_data, 1, LIMIT_READS_PER_TURN);
    assert_true(end.n_bytes <= (size_t)LIMIT_READS_PER_TURN * LIMIT_READ_BYTES);
    PUMP(loop, (void)0, end.n_bytes == n);
    free(sent);
}

static void test_fin_while_paused(void **state)
{
    (void)state;
    for (int is_tcp = 0; is_tcp < 2; is_tcp++) {
        pair_open(is_tcp != 0);
        sock_pause(&end.s);
        peer_send(&peer, "last words");
        peer_fin(&peer);
        PUMP(loop, (void)0, strchr(end.trace, 'h'));
        assert_null(strchr(end.trace, 'd'));
        sock_resume(&end.s);
        PUMP(loop, (void)0, strchr(end.trace, 'f'));
        assert_span_equal("after FIN", span_of(end.bytes, end.n_bytes), SPAN("last words"));
        TURNS(loop, (void)0, 3);
        assert_true(strchr(end.trace, 'f') == end.trace + strlen(end.trace) - 1);
        pair_close();
    }
}

/* A full read just before the FIN: reading does not stop at the short read that never comes. */
static void test_fin_behind_full_read(void **state)
{
    static char block[LIMIT_READ_BYTES];
    (void)state;
    pair_open(false);
    peer_buffers(peer.fd, 1 << 20, 0);
    assert_int_equal(peer_write(&peer, span_of(block, sizeof(block))), sizeof(block));
    peer_close(&peer);
    PUMP(loop, (void)0, strchr(end.trace, 'f'));
    assert_string_equal(end.trace, "df");
    assert_int_equal(end.n_bytes, sizeof(block));
}

/* --- broken connections --- */

static void test_reset(void **state)
{
    (void)state;
    pair_open(true);
    TURNS(loop, (void)0, 1);
    peer_reset(&peer);
    PUMP(loop, (void)0, end.trace[0]);
    assert_string_equal(end.trace, "e");
    assert_int_equal(end.error, -ECONNRESET);
    assert_int_equal(send_text("x", NULL), -EPIPE);
    TURNS(loop, (void)0, 3);
    assert_string_equal(end.trace, "e");
}

/* What came before a reset still counts: a server that refuses an upload answers and resets. */
static void test_bytes_before_reset(void **state)
{
    (void)state;
    pair_open(true);
    TURNS(loop, (void)0, 1);
    peer_send(&peer, "the answer");
    peer_reset(&peer);
    PUMP(loop, (void)0, strchr(end.trace, 'e'));
    assert_string_equal(end.trace, "de");
    assert_int_equal(end.error, -ECONNRESET);
    assert_span_equal("before RST", span_of(end.bytes, end.n_bytes), SPAN("the answer"));
}

/* The same when our own send runs into the reset before the loop looks. */
static void test_send_into_reset(void **state)
{
    int r = 0;
    (void)state;
    pair_open(true);
    TURNS(loop, (void)0, 1);
    peer_send(&peer, "the answer");
    peer_reset(&peer);
    for (int i = 0; i < 3 && r == 0; i++)
        r = send_text("more", NULL);
    assert_true(r == -ECONNRESET || r == -EPIPE);
    assert_string_equal(end.trace, ""); /* never from within the call */
    PUMP(loop, (void)0, strchr(end.trace, 'e'));
    assert_string_equal(end.trace, "de"); /* not a regular end */
    assert_span_equal("before RST", span_of(end.bytes, end.n_bytes), SPAN("the answer"));
}

/* And when it is the flush of a queue that runs into it. */
static void test_flush_into_reset(void **state)
{
    static char block[1 << 20];
    struct iovec iov = {.iov_base = block, .iov_len = sizeof(block)};
    (void)state;
    pair_open(true);
    TURNS(loop, (void)0, 1);
    while (sock_queued_bytes(&end.s) == 0)
        assert_int_equal(sock_send(&end.s, &iov, 1, NULL), 0);
    peer_send(&peer, "the answer");
    peer_reset(&peer);
    PUMP(loop, (void)0, strchr(end.trace, 'e'));
    assert_string_equal(end.trace, "de");
    assert_span_equal("before RST", span_of(end.bytes, end.n_bytes), SPAN("the answer"));
}

/* Whoever holds reading back wants to hear of a peer that is gone for good all the same. */
static void test_reset_while_paused(void **state)
{
    (void)state;
    pair_open(true);
    TURNS(loop, (void)0, 1);
    sock_pause(&end.s);
    peer_send(&peer, "never read");
    peer_reset(&peer);
    PUMP(loop, (void)0, strchr(end.trace, 'e'));
    assert_int_equal(end.error, -ECONNRESET);
    assert_int_equal(end.n_bytes, 0);
}

static void test_reset_after_fin(void **state)
{
    (void)state;
    pair_open(true);
    peer_fin(&peer);
    PUMP(loop, (void)0, strchr(end.trace, 'f'));
    peer_reset(&peer);
    PUMP(loop, (void)0, strchr(end.trace, 'e'));
    assert_string_equal(end.trace, "fe");
}

/* A handler may close in every callback; nothing is told afterwards. */
static void test_close_inside_callbacks(void **state)
{
    static const char kinds[] = "dfhew";
    (void)state;
    for (size_t i = 0; i < sizeof(kinds) - 1; i++) {
        static char block[QUEUE_MAX / 4];
        struct iovec iov = {.iov_base = block, .iov_len = sizeof(block)};

        pair_open(true);
        end.closes_on[(int)kinds[i]] = true;
        if (kinds[i] == 'h')
            sock_pause(&end.s);
        while (kinds[i] == 'w' && sock_queued_bytes(&end.s) == 0)
            assert_int_equal(sock_send(&end.s, &iov, 1, NULL), 0);
        if (kinds[i] != 'w')
            peer_send(&peer, "data");
        if (kinds[i] == 'e')
            peer_reset(&peer);
        else if (kinds[i] != 'w')
            peer_fin(&peer);
        PUMP(loop, peer_read(&peer), strchr(end.trace, kinds[i]));
        assert_false(sock_is_open(&end.s));
        TURNS(loop, (void)0, 3);
        assert_int_equal(end.trace[strlen(end.trace) - 1], kinds[i]);
        pair_close();
    }
}

/* --- writing --- */

static void test_send_parts(void **state)
{
    char a[] = "one ";
    char b[] = "two ";
    char c[] = "three";
    struct iovec iov[] = {{a, 4}, {b, 4}, {c, 5}};
    mono_t before = MONO_NONE;
    mono_t t0 = clock_mono();
    (void)state;
    pair_open(true);
    assert_int_equal(sock_send(&end.s, iov, 3, &before), 0);
    assert_in_range(before.ns, t0.ns, clock_mono().ns);
    assert_int_equal(sock_queued_bytes(&end.s), 0);
    PUMP(loop, peer_read(&peer), peer_is(&peer, "one two three"));
}

/* Partial writes at every possible place: the bytes arrive whole and in order, drained is told. */
static void test_queue(void **state)
{
    enum { N = 24, PART = 20000 };
    static char parts[N][PART];
    struct iovec iov[N];
    (void)state;
    for (int is_tcp = 0; is_tcp < 2; is_tcp++) {
        size_t n = 0;

        pair_open(is_tcp != 0);
        peer_buffers(end.s._watch.fd, 8192, 0);
        for (int round = 0; round < 4; round++) {
            for (int i = 0; i < N; i++) {
                pattern_fill(parts[i], PART, n);
                iov[i] = (struct iovec){parts[i], (size_t)PART};
                n += PART;
            }
            assert_int_equal(sock_send(&end.s, iov, N, NULL), 0);
        }
        assert_true(sock_is_full(&end.s));
        assert_true(sock_queued_bytes(&end.s) > LIMIT_SEND_HIGH_BYTES);
        while (peer.n < n) {
            bool was_full = sock_is_full(&end.s);
            peer_read_some(&peer, 5000);
            loop_turn(loop, 0);
            if (was_full && !sock_is_full(&end.s)) {
                assert_string_equal(end.trace, "w");
                assert_true(sock_queued_bytes(&end.s) < LIMIT_SEND_LOW_BYTES);
            }
        }
        TURNS(loop, (void)0, 2);
        assert_true(strcmp(end.trace, "ww") == 0 || strcmp(end.trace, "w") == 0);
        assert_int_equal(sock_queued_bytes(&end.s), 0);
        pattern_fill(parts[0], PART, n - PART);
        assert_memory_equal(peer.p + n - PART, parts[0], PART);
        pattern_fill(parts[0], PART, 0);
        assert_memory_equal(peer.p, parts[0], PART);
        pair_close();
    }
}

static void test_queue_limit(void **state)
{
    static char block[1 << 20];
    struct iovec iov = {.iov_base = block, .iov_len = sizeof(block)};
    int r = 0;
    (void)state;
    pair_open(true);
    for (int i = 0; i < 100 && r == 0; i++)
        r = sock_send(&end.s, &iov, 1, NULL);
    assert_int_equal(r, -EMSGSIZE);
    assert_true(sock_queued_bytes(&end.s) <= QUEUE_MAX);
}

static void test_shutdown(void **state)
{
    static char block[1 << 20];
    struct iovec iov = {.iov_base = block, .iov_len = sizeof(block)};
    (void)state;
    for (int is_queued = 0; is_queued < 2; is_queued++) {
        size_t n = 3;

        pair_open(true);
        assert_int_equal(send_text("bye", NULL), 0);
        while (is_queued && sock_queued_bytes(&end.s) == 0) {
            assert_int_equal(sock_send(&end.s, &iov, 1, NULL), 0);
            n += sizeof(block);
        }
        sock_shutdown(&end.s);
        PUMP(loop, peer_read(&peer), peer.is_eof);
        assert_int_equal(peer.n, n);
        peer_send(&peer, "the other way still works");
        PUMP(loop, (void)0, end.n_bytes > 0);
        pair_close();
    }
}

static void test_close_with_reset(void **state)
{
    (void)state;
    for (int with_reset = 0; with_reset < 2; with_reset++) {
        pair_open(true);
        sock_close(&end.s, with_reset != 0);
        PUMP(loop, peer_read(&peer), peer_is_gone(&peer));
        assert_int_equal(peer.error, with_reset ? ECONNRESET : 0);
        sock_pause(&end.s); /* allowed, without effect */
        sock_resume(&end.s);
        sock_shutdown(&end.s);
        pair_close();
    }
}

/* --- connecting --- */

static void loopback(struct addr *ret, uint16_t to)
{
    assert_true(addr_from_ip(SPAN("127.0.0.1"), to, ret));
}

static void test_connect(void **state)
{
    struct addr to;
    (void)state;
    loopback(&to, port);
    end_init();
    assert_int_equal(sock_connect(&end.s, &to), 0);
    assert_int_equal(send_text("early", NULL), 0); /* queued until connected */
    assert_string_equal(end.trace, "");
    PUMP(loop, (void)0, end.trace[0]);
    assert_int_equal(end.trace[0], 'c');
    PUMP(loop, (void)0, peer_accept(&peer, listen_fd));
    PUMP(loop, peer_read(&peer), peer_is(&peer, "early"));
    assert_string_equal(end.trace, "cw");
}

/* Connected, answered and closed before the loop looks once. */
static void test_connect_answer_fin_at_once(void **state)
{
    struct addr to;
    (void)state;
    loopback(&to, port);
    end_init();
    assert_int_equal(sock_connect(&end.s, &to), 0);
    while (!peer_accept(&peer, listen_fd))
        usleep(100);
    peer_send(&peer, "hello");
    peer_close(&peer);
    PUMP(loop, (void)0, strchr(end.trace, 'f'));
    assert_string_equal(end.trace, "cdf");
}

static void test_path(void **state)
{
    struct sock_path p;
    (void)state;
    pair_open(true);
    assert_true(sock_look_at_path(&end.s, &p));
    assert_true(p.rtt_ns > 0 && p.rtt_ns < NS_PER_S);
    assert_true(p.rtt_min_ns > 0 && p.rtt_min_ns <= p.rtt_ns);
    assert_int_equal(p.n_resent, 0);
    assert_false(sock_look_at_path(&end.s, &p)); /* just now */
    fakeclock_install(clock_mono().ns + SOCK_PATH_EVERY_NS, clock_wall().us * NS_PER_US);
    TURNS(loop, (void)0, 1);
    assert_true(sock_look_at_path(&end.s, &p));
    fakeclock_remove();
    sock_close(&end.s, false);
    assert_false(sock_look_at_path(&end.s, &p));
}

static void test_no_path(void **state)
{
    struct sock_path p;
    struct addr to;
    (void)state;
    pair_open(false); /* a Unix socket, which is asked once */
    assert_false(sock_look_at_path(&end.s, &p));
    assert_true(end.s._has_no_path);
    pair_close();
    end_init();
    assert_false(sock_look_at_path(&end.s, &p)); /* not open */
    loopback(&to, port);
    assert_int_equal(sock_connect(&end.s, &to), 0);
    assert_false(sock_look_at_path(&end.s, &p)); /* not connected yet */
    PUMP(loop, (void)0, end.trace[0]);
    assert_true(sock_look_at_path(&end.s, &p));
}

static void test_connect_refused(void **state)
{
    struct addr to;
    uint16_t closed_port;
    int fd = peer_listen(&closed_port);
    (void)state;
    close(fd);
    loopback(&to, closed_port);
    end_init();
    int r = sock_connect(&end.s, &to);
    if (r == 0) {
        PUMP(loop, (void)0, end.trace[0]);
        assert_string_equal(end.trace, "e");
        r = end.error;
    }
    assert_int_equal(r, -ECONNREFUSED);
    assert_false(sock_is_open(&end.s));
}

/* --- leaks --- */

static int attempt_queue(void *ctx)
{
    static char block[1 << 20];
    struct iovec iov = {.iov_base = block, .iov_len = sizeof(block)};
    int r = 0;
    (void)ctx;
    pair_open(true);
    for (int i = 0; i < 100 && r == 0 && sock_queued_bytes(&end.s) == 0; i++)
        r = sock_send(&end.s, &iov, 1, NULL);
    if (r == -ENOMEM)
        assert_true(sock_is_open(&end.s));
    pair_close();
    return r;
}

static void test_out_of_memory(void **state)
{
    int n_fds = fd_count();
    (void)state;
    assert_int_equal(memfail_each(attempt_queue, NULL), 1);
    assert_int_equal(fd_count(), n_fds);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_read),
        CASE(test_kernel_stamp),
        CASE(test_pause_and_resume),
        CASE(test_big_read),
        CASE(test_budget_per_turn),
        CASE(test_fin_while_paused),
        CASE(test_fin_behind_full_read),
        CASE(test_reset),
        CASE(test_bytes_before_reset),
        CASE(test_send_into_reset),
        CASE(test_flush_into_reset),
        CASE(test_reset_while_paused),
        CASE(test_reset_after_fin),
        CASE(test_close_inside_callbacks),
        CASE(test_send_parts),
        CASE(test_queue),
        CASE(test_queue_limit),
        CASE(test_shutdown),
        CASE(test_close_with_reset),
        CASE(test_connect),
        CASE(test_connect_answer_fin_at_once),
        CASE(test_path),
        CASE(test_no_path),
        CASE(test_connect_refused),
        CASE(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
