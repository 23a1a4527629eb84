/* SPDX-License-Identifier: Apache-2.0 */
/* The whole gateway in one process: that it stops in every moment and leaves nothing behind. */
#include "daemon/daemon.h"

#include <errno.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "config_text.h"
#include "peer.h"

/* --- names --- */

static atomic_int n_lookups; /* begun */
static int64_t lookup_ns;    /* how long one takes */

/* Instead of the library's: a slow server of names that knows none. */
int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                struct addrinfo **ret)
{
    struct timespec pause = {.tv_nsec = (long)lookup_ns};

    (void)host;
    (void)service;
    (void)hints;
    *ret = NULL;
    atomic_fetch_add(&n_lookups, 1);
    (void)nanosleep(&pause, NULL);
    return EAI_AGAIN;
}

/* --- reads --- */

static _Atomic int64_t read_ns; /* how long the next read takes; 0 once it has begun */

/* Instead of the library's: the program reads with nothing else. */
ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
    struct timespec pause = {.tv_nsec = (long)atomic_exchange(&read_ns, 0)};

    if (pause.tv_nsec > 0)
        (void)nanosleep(&pause, NULL);
    return syscall(SYS_recvmsg, fd, m, flags);
}

/* --- a gateway in front of an engine with a name --- */

static struct daemon *start(int n_workers)
{
    char text[256];
    struct config *c = NULL;
    struct daemon *d = NULL;
    struct err e;
    int r;

    (void)snprintf(text, sizeof(text),
                   "upstreams: http://engine.test:8000\n"
                   "listen: 127.0.0.1:0\n"
                   "admin: {listen: '127.0.0.1:0'}\n"
                   "workers: %d\n"
                   "log: {file: ''}\n",
                   n_workers);
    r = load_span(span_cstr(text), true, &c);
    c = must_be_loaded(text, r, c);
    if (daemon_start(c, &d, &e) != 0)
        fail_msg("not started: %s", e.text);
    config_unref(c);
    atomic_store(&n_lookups, 0);
    return d;
}

#define REQUEST "GET /v1/models HTTP/1.1\r\nHost: h\r\n\r\n"

static void connect_to(struct peer *p, const struct daemon *d)
{
    struct span address = span_cstr(daemon_listen_text(d, 0));
    uint64_t port;

    (void)span_split(&address, ':');
    assert_int_equal(num_parse_u64(address, &port), 0);
    peer_connect(p, (uint16_t)port);
}

static void ask(struct peer *p, const struct daemon *d)
{
    connect_to(p, d);
    peer_send(p, REQUEST);
}

static void wait_for_lookup(void)
{
    for (int i = 0; atomic_load(&n_lookups) == 0; i++) {
        assert_true(i < 5000);
        usleep(1000);
    }
}

/* A lookup is under way, and others may wait for it: none of them is looked for any more. */
static void test_stop_during_a_lookup(void **state)
{
    enum { N = 6 };
    int64_t n_live = mem_live_blocks();
    int n_fds = fd_count();
    struct peer peers[N];
    (void)state;
    lookup_ns = 400 * NS_PER_MS;
    for (int n = 1; n <= N; n += N - 1) {
        struct daemon *d = start(3);

        for (int i = 0; i < n; i++)
            ask(&peers[i], d);
        wait_for_lookup();
        usleep(20000); /* the others are in line */
        assert_int_equal(atomic_load(&n_lookups), 1);
        d = daemon_stop(d);
        assert_null(d);
        assert_int_equal(atomic_load(&n_lookups), 1);
        for (int i = 0; i < n; i++) {
            peer_read(&peers[i]);
            assert_true(peer_is_gone(&peers[i]));
            assert_int_equal(peers[i].n, 0); /* given up, not told of a name that failed */
            peer_done(&peers[i]);
        }
        assert_int_equal(mem_live_blocks(), n_live);
        assert_int_equal(fd_count(), n_fds);
    }
}

/* Answers come while it stops: before, between and behind its steps. */
static void test_stop_as_lookups_end(void **state)
{
    enum { N = 4 };
    int64_t n_live = mem_live_blocks();
    struct peer peers[N];
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct daemon *d;

        lookup_ns = round * NS_PER_MS / 10;
        d = start(3);
        for (int i = 0; i < N; i++)
            ask(&peers[i], d);
        wait_for_lookup();
        daemon_stop(d);
        for (int i = 0; i < N; i++)
            peer_done(&peers[i]);
        assert_int_equal(mem_live_blocks(), n_live);
    }
}

/* Requests that the worker has not read yet when it is told to stop: whatever becomes of them, it
 * is nothing that needs what is gone by then. */
static void test_stop_before_requests_are_read(void **state)
{
    enum { N = 4 };
    int64_t n_live = mem_live_blocks();
    struct peer peers[N];
    struct daemon *d;
    (void)state;
    lookup_ns = 0;
    d = start(1);
    for (int i = 0; i < N; i++)
        connect_to(&peers[i], d);
    usleep(20000); /* they are accepted */
    atomic_store(&read_ns, 200 * NS_PER_MS);
    peer_send(&peers[0], "GET "); /* what keeps the worker busy */
    for (int i = 0; atomic_load(&read_ns) != 0; i++) {
        assert_true(i < 5000);
        usleep(1000);
    }
    for (int i = 1; i < N; i++)
        peer_send(&peers[i], REQUEST);
    daemon_stop(d);
    for (int i = 0; i < N; i++) {
        peer_read(&peers[i]);
        assert_true(peer_is_gone(&peers[i]));
        peer_done(&peers[i]);
    }
    assert_int_equal(mem_live_blocks(), n_live);
}

/* A worker that hangs in a system call shows: it has not turned since it was asked. */
static void test_a_worker_that_hangs(void **state)
{
    struct peer p;
    struct daemon *d;
    (void)state;
    lookup_ns = 0;
    d = start(1);
    connect_to(&p, d);
    assert_true(daemon_beats(d));
    for (int i = 0; !daemon_beats(d); i++) {
        assert_true(i < 5000);
        usleep(1000);
    }
    atomic_store(&read_ns, 500 * NS_PER_MS);
    peer_send(&p, "GET ");
    for (int i = 0; atomic_load(&read_ns) != 0; i++) {
        assert_true(i < 5000);
        usleep(1000);
    }
    usleep(1000); /* what was posted before it hung ran */
    (void)daemon_beats(d);
    assert_false(daemon_beats(d));
    assert_false(daemon_beats(d));
    for (int i = 0; !daemon_beats(d); i++) {
        assert_true(i < 5000);
        usleep(1000);
    }
    daemon_stop(d);
    peer_done(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stop_during_a_lookup),
        cmocka_unit_test(test_stop_as_lookups_end),
        cmocka_unit_test(test_stop_before_requests_are_read),
        cmocka_unit_test(test_a_worker_that_hangs),
    };
    log_level_set(LOG_LEVEL_ERROR);
    return cmocka_run_group_tests_name("daemon/daemon", tests, NULL, NULL);
}
