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
