/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/takeover.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/num.h"
#include "daemon/handover.h"
#include "io/listener.h"

enum { PATIENCE_S = 5 };

static void on_readable(struct watch *w, uint32_t events)
{
    struct takeover *t = CONTAINER_OF(w, struct takeover, _watch);

    (void)events;
    takeover_done(t); /* it says no more than that it is over */
    t->_on_over(t->_arg);
}

void takeover_init(struct takeover *t)
{
    *t = (struct takeover){._watch = {.fd = -1, .on_ready = on_readable}};
}

bool takeover_is_open(const struct takeover *t)
{
    return t->_watch.fd >= 0;
}

/* --- asking --- */

static int connect_to(const char *path, int *ret_fd)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = PATIENCE_S};
    int fd;

    if (strlen(path) >= sizeof(at.sun_path))
        return -ENAMETOOLONG;
    (void)span_copy(span_cstr(path), at.sun_path, sizeof(at.sun_path));
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (connect(fd, (const struct sockaddr *)(const void *)&at, sizeof(at)) < 0) {
        int r = -errno;
        close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

/* The descriptors that came with a packet. */
static size_t descriptors_of(struct msghdr *m, int fds[INHERITED_MAX])
{
    struct cmsghdr *c = CMSG_FIRSTHDR(m);
    size_t n;

    if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
        return 0;
    n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    memcpy(fds, CMSG_DATA(c), n * sizeof(int));
    return n;
}

/* "N OURS" */
static bool hello_parse(struct span text, uint64_t *ret_n, uint64_t *ret_ours)
{
    struct span rest = span_from(text, sizeof(HANDOVER_HELLO) - 1);

    return span_starts_with(text, SPAN(HANDOVER_HELLO)) &&
           num_parse_u64(span_split(&rest, ' '), ret_n) == 0 && num_parse_u64(rest, ret_ours) == 0;
}

/* Owns fds from here on. */
static int sockets_add(struct inherited *in, struct span text, const int *fds, size_t n_fds)
{
    uint64_t n = 0, ours = 0;
    bool is_right = hello_parse(text, &n, &ours) && n == n_fds && n > 0 && n <= LISTENERS_ALL_MAX &&
                    in->n + n <= INHERITED_MAX;
    struct inherited_socket sockets[INHERITED_MAX];

    for (size_t i = 0; i < n_fds; i++) {
        sockets[i] = (struct inherited_socket){
            .fd = fds[i], .is_admin = i + 1 == n_fds, .is_ours = ours >> i & 1};
        is_right = is_right && listener_adopt(fds[i], &sockets[i].at) == 0;
    }
    for (size_t i = 0; i < n_fds; i++) {
        if (is_right)
            inherited_add(in, &sockets[i]);
        else
            close(fds[i]);
    }
    return is_right ? 0 : -EPROTO;
}

static int sockets_receive(int fd, struct inherited *in)
{
    int fds[INHERITED_MAX];
    union {
        char bytes[CMSG_SPACE(sizeof(fds))];
        struct cmsghdr align;
    } control = {0};
    char text[HANDOVER_PACKET_MAX];
    struct iovec iov = {.iov_base = text, .iov_len = sizeof(text)};
    struct msghdr m = {.msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof(control.bytes)};
    ssize_t n;

    do {
        n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN ? -ETIMEDOUT : -errno;
    return n == 0 ? -EACCES /* it closed the connection at once */
                  : sockets_add(in, span_of(text, (size_t)n), fds, descriptors_of(&m, fds));
}

int takeover_begin(struct takeover *t, const char *path, struct inherited *in)
{
    int fd = -1;
    int r = connect_to(path, &fd);

    if (r == -ENOENT || r == -ECONNREFUSED)
        return 0;
    if (r < 0)
        return r;
    r = sockets_receive(fd, in);
    if (r < 0) {
        close(fd);
        return r;
    }
    t->_watch.fd = fd;
    return 0;
}

/* --- serving --- */

int takeover_watch(struct takeover *t, struct loop *l, void (*on_over)(void *arg), void *arg)
{
    t->_on_over = on_over;
    t->_arg = arg;
    t->_loop = l;
    return loop_watch(l, &t->_watch, EPOLLIN);
}

void takeover_ready(const struct takeover *t, uint32_t taken)
{
    char text[HANDOVER_PACKET_MAX];
    int n = snprintf(text, sizeof(text), HANDOVER_READY "%u", taken);

    if (t->_watch.fd >= 0 && send(t->_watch.fd, text, (size_t)n, MSG_NOSIGNAL) < 0)
        LOG_WARN("the former process could not be told that this one serves: %s", err_str(-errno));
}

void takeover_done(struct takeover *t)
{
    int fd = t->_watch.fd;

    if (fd < 0)
        return;
    if (t->_loop)
        loop_unwatch(t->_loop, &t->_watch);
    t->_watch.fd = -1;
    close(fd);
}
