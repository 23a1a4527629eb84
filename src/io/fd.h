/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io/fd.h - private to io/: the system calls on one stream descriptor.
 */
#ifndef IO_FD_H
#define IO_FD_H

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/clock.h"

/* Options that make measuring right: kernel stamps on, no waiting to fill segments. They fail on
 * sockets that have no such option (Unix sockets), where nothing is lost by that. */
void fd_options_set(int fd);

/* One read with its kernel stamp (real-time clock; 0 when there is none). As recvmsg: -1 and errno,
 * EINTR excepted. Here, because every read of every stream goes through it. */
static inline ssize_t fd_read(int fd, char *dst, size_t cap, int64_t *ret_real_ns)
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
            break;
        }
    }
    return n;
}

/* What the kernel takes, 0 when that is nothing now; -1 and errno. */
ssize_t fd_send(int fd, const struct iovec *iov, int n);

/* SO_ERROR as a negative errno; 0: none. */
int fd_error(int fd);

#endif
