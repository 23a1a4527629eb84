/* SPDX-License-Identifier: Apache-2.0 */
#include "peer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

int peer_listen_backlog(uint16_t *ret_port, int backlog)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)(void *)&at, len), 0);
    assert_int_equal(listen(fd, backlog), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)(void *)&at, &len), 0);
    *ret_port = ntohs(at.sin_port);
    return fd;
}

int peer_listen(uint16_t *ret_port)
{
    return peer_listen_backlog(ret_port, 128);
}

void peer_adopt(struct peer *p, int fd)
{
    int on = 1;

    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* not on Unix sockets */
    *p = (struct peer){.fd = fd};
}

static void connect_to(struct peer *p, uint16_t port, bool is_small)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    if (is_small) {
        int mss = 1400; /* loopback's of 64 KiB would make small windows stall */
        assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof(mss)), 0);
        peer_buffers(fd, 0, 8192);
    }
    assert_int_equal(connect(fd, (struct sockaddr *)(void *)&to, sizeof(to)), 0);
    peer_adopt(p, fd);
}

void peer_connect(struct peer *p, uint16_t port)
{
    connect_to(p, port, false);
}

void peer_connect_small(struct peer *p, uint16_t port)
{
    connect_to(p, port, true);
}

bool peer_accept(struct peer *p, int listen_fd)
{
    int fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0)
        return false;
    peer_adopt(p, fd);
    return true;
}

static void make_room(struct peer *p, size_t n)
{
    if (p->_cap - p->n > n)
        return;
    p->_cap = 2 * p->_cap + n + 1;
    p->p = realloc(p->p, p->_cap);
    assert_non_null(p->p);
}

/* false: nothing more for now. */
static bool read_once(struct peer *p, size_t max)
{
    ssize_t got;

    make_room(p, max);
    got = recv(p->fd, p->p + p->n, max, MSG_DONTWAIT);
    if (got > 0)
        p->n += (size_t)got;
    else if (got == 0)
        p->is_eof = true;
    else if (errno != EAGAIN && errno != EINTR)
        p->error = errno;
    p->p[p->n] = '\0';
    return got > 0;
}

void peer_read_some(struct peer *p, size_t max)
{
    if (p->fd >= 0 && max > 0 && !peer_is_gone(p))
        (void)read_once(p, max);
}

void peer_read(struct peer *p)
{
    enum { STEP_BYTES = 65536 };

    while (p->fd >= 0 && !peer_is_gone(p) && read_once(p, STEP_BYTES))
        ;
}

size_t peer_write(struct peer *p, struct span s)
{
    ssize_t n = send(p->fd, s.p, s.n, MSG_DONTWAIT | MSG_NOSIGNAL);

    if (n < 0 && errno != EAGAIN)
        p->error = errno;
    return n < 0 ? 0 : (size_t)n;
}

void peer_send(struct peer *p, const char *text)
{
    assert_int_equal(peer_write(p, span_cstr(text)), strlen(text));
}

struct span peer_got(const struct peer *p)
{
    return span_of(p->p ? p->p : "", p->n);
}

bool peer_has(const struct peer *p, const char *text)
{
    return span_find(peer_got(p), span_cstr(text)) < p->n;
}

bool peer_is(const struct peer *p, const char *text)
{
    return span_eq(peer_got(p), span_cstr(text));
}

size_t peer_count(const struct peer *p, const char *text)
{
    struct span rest = peer_got(p);
    size_t n = 0;

    for (;;) {
        size_t at = span_find(rest, span_cstr(text));
        if (at >= rest.n)
            return n;
        n++;
        rest = span_from(rest, at + strlen(text));
    }
}

bool peer_is_gone(const struct peer *p)
{
    return p->is_eof || p->error != 0;
}

void peer_forget(struct peer *p)
{
    p->n = 0;
    if (p->p)
        p->p[0] = '\0';
}

void peer_fin(struct peer *p)
{
    assert_int_equal(shutdown(p->fd, SHUT_WR), 0);
}

void peer_close(struct peer *p)
{
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
}

void peer_reset(struct peer *p)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0};

    assert_int_equal(setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
    peer_close(p);
}

void peer_done(struct peer *p)
{
    if (p->_cap > 0 || p->fd > 0)
        peer_close(p);
    free(p->p);
    *p = (struct peer){.fd = -1};
}

void peer_buffers(int fd, int send_bytes, int receive_bytes)
{
    if (send_bytes > 0)
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof(send_bytes)), 0);
    if (receive_bytes > 0)
        assert_int_equal(
            setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes)), 0);
}

int fd_count(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");

    assert_non_null(d);
    while (readdir(d))
        n++;
    (void)closedir(d);
    return n;
}

int64_t peer_now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts); /* not clock_mono: a test may hold that one still */
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}
