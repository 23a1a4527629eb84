/* SPDX-License-Identifier: Apache-2.0 */
#include "io/listener.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/stat.h"
#include "harness.h"
#include "peer.h"

static struct loop *loop;

enum { N_ACCEPTED = 64 };

static int accepted[N_ACCEPTED];
static int n_accepted;
static bool stops_on_accept;

static void on_accept(struct listener *l, int fd)
{
    assert_true(n_accepted < N_ACCEPTED);
    accepted[n_accepted++] = fd;
    if (stops_on_accept)
        listener_stop(l);
}

static void accepted_close(void)
{
    while (n_accepted > 0)
        close(accepted[--n_accepted]);
}

static int listener_fd(uint16_t *ret_port)
{
    struct addr at, bound;
    int fd;

    assert_true(addr_from_ip(SPAN("127.0.0.1"), 0, &at));
    fd = listener_open(&at, 64, &bound);
    assert_true(fd >= 0);
    *ret_port = addr_port(&bound);
    assert_int_equal(listener_open(&bound, 64, NULL), -EADDRINUSE);
    return fd;
}

static void test_accept(void **state)
{
    struct listener l;
    struct peer clients[20];
    uint16_t at;
    int fd = listener_fd(&at);
    (void)state;
    stops_on_accept = false;
    assert_int_equal(listener_start(&l, loop, fd, on_accept), 0);
    for (int i = 0; i < 20; i++)
        peer_connect(&clients[i], at);
    PUMP(loop, (void)0, n_accepted == 20);
    accepted_close();
    stops_on_accept = true;
    peer_done(&clients[0]);
    peer_connect(&clients[0], at);
    peer_done(&clients[1]);
    peer_connect(&clients[1], at);
    PUMP(loop, (void)0, n_accepted == 1);
    TURNS(loop, (void)0, 3);
    assert_int_equal(n_accepted, 1);
    listener_stop(&l);
    accepted_close();
    for (int i = 0; i < 20; i++)
        peer_done(&clients[i]);
    listener_close(fd);
}

/* Connections that it was not told of: somebody else was, and is gone. */
static void test_look(void **state)
{
    struct listener l;
    struct peer p;
    uint16_t at;
    int fd = listener_fd(&at);
    (void)state;
    stops_on_accept = false;
    assert_int_equal(listener_start(&l, loop, fd, on_accept), 0);
    loop_unwatch(loop, &l._watch);
    peer_connect(&p, at);
    TURNS(loop, (void)0, 5);
    assert_int_equal(n_accepted, 0);
    listener_look(&l);
    PUMP(loop, (void)0, n_accepted == 1);
    listener_look(&l); /* as often as you like */
    TURNS(loop, (void)0, 5);
    assert_int_equal(n_accepted, 1);
    listener_stop(&l);
    listener_look(&l); /* not any more */
    TURNS(loop, (void)0, 5);
    accepted_close();
    peer_done(&p);
    listener_close(fd);
}

/* Without descriptors it neither spins nor loses the listener. */
static void test_out_of_descriptors(void **state)
{
    struct listener l;
    struct peer client;
    struct rlimit limit;
    uint16_t at;
    int fd = listener_fd(&at);
    int n_turns = 0;
    int64_t n_errors = stat_sum(STAT_ACCEPT_ERRORS);
    int64_t until;
    (void)state;
    if (getenv("UNDER_VALGRIND")) /* it has its own idea of that limit */
        skip();
    stops_on_accept = false;
    assert_int_equal(listener_start(&l, loop, fd, on_accept), 0);
    peer_connect(&client, at);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    until = peer_now_ms() + 50;
    while (peer_now_ms() < until) {
        loop_turn(loop, 10 * NS_PER_MS);
        n_turns++;
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_true(n_turns < 12);
    assert_int_equal(n_accepted, 0);
    assert_true(stat_sum(STAT_ACCEPT_ERRORS) > n_errors);
    PUMP(loop, (void)0, n_accepted == 1);
    listener_stop(&l);
    accepted_close();
    peer_done(&client);
    listener_close(fd);
}

/* No descriptor is free from here on, until limit is set again. */
static void descriptors_use_up(struct rlimit *limit)
{
    struct rlimit none;
    int next = dup(0);

    assert_true(next >= 0);
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, limit), 0);
    none = (struct rlimit){.rlim_cur = (rlim_t)next, .rlim_max = limit->rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
}

/* Clients are told that there is no room for them, by and by; later ones are served again. */
static void test_refused_without_descriptors(void **state)
{
    enum { N = 20 };
    struct listener l;
    struct peer clients[N];
    struct rlimit limit;
    uint16_t at;
    int fd = listener_fd(&at);
    int n_gone = 0, n_turns = 0;
    int64_t n_refused = stat_sum(STAT_CONNS_REFUSED_DESCRIPTORS);
    (void)state;
    if (getenv("UNDER_VALGRIND"))
        skip();
    stops_on_accept = false;
    assert_int_equal(listener_start(&l, loop, fd, on_accept), 0);
    for (int i = 0; i < N; i++)
        peer_connect(&clients[i], at);
    descriptors_use_up(&limit);
    while (n_gone < N && n_turns++ < 1000) {
        loop_turn(loop, 10 * NS_PER_MS);
        n_gone = 0;
        for (int i = 0; i < N; i++) {
            peer_read(&clients[i]);
            n_gone += peer_is_gone(&clients[i]);
        }
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(n_gone, N);
    assert_true(n_turns > 10 && n_turns < 200); /* it pauses between, and does not spin */
    assert_int_equal(n_accepted, 0);
    assert_int_equal(stat_sum(STAT_CONNS_REFUSED_DESCRIPTORS) - n_refused, N);
    for (int i = 0; i < N; i++)
        peer_done(&clients[i]);
    peer_connect(&clients[0], at);
    PUMP(loop, (void)0, n_accepted == 1);
    peer_done(&clients[0]);
    accepted_close();
    listener_stop(&l);
    listener_close(fd);
}

/* One at a time is let in by a listener that has to answer even then. */
static void test_serves_last(void **state)
{
    struct listener l;
    struct peer clients[2];
    struct rlimit limit;
    uint16_t at;
    int fd = listener_fd(&at);
    (void)state;
    if (getenv("UNDER_VALGRIND"))
        skip();
    stops_on_accept = false;
    assert_int_equal(listener_start(&l, loop, fd, on_accept), 0);
    l.serves_last = true;
    for (int i = 0; i < 2; i++)
        peer_connect(&clients[i], at);
    descriptors_use_up(&limit);
    for (int i = 0; i < 2; i++) { /* the second one when the first one's is free again */
        PUMP(loop, (void)0, n_accepted == 1);
        TURNS(loop, (void)0, 10);
        assert_int_equal(n_accepted, 1);
        accepted_close();
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (int i = 0; i < 2; i++)
        peer_done(&clients[i]);
    listener_stop(&l);
    accepted_close();
    listener_close(fd);
}

/* --- Unix sockets --- */

static char dir[64], path[96];

static void unix_at(struct addr *ret)
{
    char text[ADDR_TEXT_MAX];

    (void)snprintf(text, sizeof(text), "unix:%s", path);
    assert_int_equal(addr_parse(span_cstr(text), ret, NULL), 0);
}

static bool is_there(void)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static int unix_connect(const struct addr *at)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    if (connect(fd, (const struct sockaddr *)(const void *)&at->ss, at->len) == 0)
        return fd;
    close(fd);
    return -1;
}

static void test_unix(void **state)
{
    struct listener l;
    struct addr at, bound;
    struct stat st;
    char text[ADDR_TEXT_MAX];
    int fd, client;
    (void)state;
    unix_at(&at);
    fd = listener_open(&at, 16, &bound);
    assert_true(fd >= 0);
    assert_true(addr_is_equal(&at, &bound));
    addr_format(&bound, text);
    assert_string_equal(text + strlen("unix:"), path);
    assert_int_equal(lstat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0660);
    assert_int_equal(listener_open(&at, 16, NULL), -EADDRINUSE); /* it answers */
    stops_on_accept = false;
    assert_int_equal(listener_start(&l, loop, fd, on_accept), 0);
    client = unix_connect(&at);
    assert_true(client >= 0);
    PUMP(loop, (void)0, n_accepted == 2); /* the one that asked whether somebody answers, too */
    accepted_close();
    close(client);
    listener_stop(&l);
    listener_close(fd);
    assert_false(is_there());
}

static void test_unix_left_behind(void **state)
{
    struct addr at;
    int fd;
    (void)state;
    unix_at(&at);
    fd = listener_open(&at, 16, NULL);
    assert_true(fd >= 0);
    close(fd); /* as a program does that is killed */
    assert_true(is_there());
    fd = listener_open(&at, 16, NULL);
    assert_true(fd >= 0);
    listener_close(fd);
}

/* What is no socket is not ours to remove. */
static void test_unix_file_in_the_way(void **state)
{
    struct addr at;
    FILE *f = fopen(path, "w");
    (void)state;
    assert_non_null(f);
    (void)fclose(f);
    unix_at(&at);
    assert_int_equal(listener_open(&at, 16, NULL), -EADDRINUSE);
    assert_true(is_there());
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/nowhere", path), 0);
    assert_int_equal(listener_open(&at, 16, NULL), -EADDRINUSE);
    assert_int_equal(unlink(path), 0);
}

/* A successor may take the place of one that refuses already, and keeps it. */
static void test_unix_refuse(void **state)
{
    struct addr at;
    int old, new;
    (void)state;
    unix_at(&at);
    old = listener_open(&at, 16, NULL);
    assert_true(old >= 0);
    listener_refuse(old);
    assert_int_equal(unix_connect(&at), -1);
    new = listener_open(&at, 16, NULL);
    assert_true(new >= 0);
    close(old);
    old = unix_connect(&at);
    assert_true(old >= 0);
    close(old);
    listener_close(new);
    listener_close(-1);
}

static int setup(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/inferometer-listener-XXXXXX");
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/s.sock", dir);
    return loop_new(&loop);
}

static int teardown(void **state)
{
    (void)state;
    loop = loop_free(loop);
    return rmdir(dir);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_accept),
        CASE(test_look),
        CASE(test_out_of_descriptors),
        CASE(test_refused_without_descriptors),
        CASE(test_serves_last),
        CASE(test_unix),
        CASE(test_unix_left_behind),
        CASE(test_unix_file_in_the_way),
        CASE(test_unix_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
