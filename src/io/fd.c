/* SPDX-License-Identifier: Apache-2.0 */
#include "io/fd.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"

void fd_options_set(int fd)
{
    int on = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

ssize_t fd_read(int fd, char *dst, size_t cap, int64_t *ret_real_ns)
{
    char control[CMSG_SPACE(sizeof(struct timespec)) + 64];
    struct iovec iov = {.iov_base = dst, .iov_len = cap};
    struct msghdr m = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof(control),
    };
    ssize_t n;

    do {
        n = recvmsg(fd, &m, MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    *ret_real_ns = 0;
    if (n <= 0)
        return n;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec ts;
            memcpy(&ts, CMSG_DATA(c), sizeof(ts));
            *ret_real_ns = (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
        }
    }
    return n;
}

ssize_t fd_send(int fd, const struct iovec *iov, int n)
{
    /* sendmsg does not write through msg_iov; the interface only lacks the const. */
    union {
        const struct iovec *in;
        struct iovec *out;
    } u = {.in = iov};
    struct msghdr m = {.msg_iov = u.out, .msg_iovlen = (size_t)n};
    ssize_t sent;

    do {
        sent = sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0 && errno == EAGAIN)
        return 0;
    return sent;
}

int fd_error(int fd)
{
    int e = 0;
    socklen_t len = sizeof(e);

    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &len) < 0)
        return -errno;
    return -e;
}
