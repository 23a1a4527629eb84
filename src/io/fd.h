/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io/fd.h - private to io/: the system calls on one stream descriptor.
 */
#ifndef IO_FD_H
#define IO_FD_H

#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Options that make measuring right: kernel stamps on, no waiting to fill segments. They fail on
 * sockets that have no such option (Unix sockets), where nothing is lost by that. */
void fd_options_set(int fd);

/* One read with its kernel stamp (real-time clock; 0 when there is none). As recvmsg: -1 and errno,
 * EINTR excepted. */
ssize_t fd_read(int fd, char *dst, size_t cap, int64_t *ret_real_ns);

/* What the kernel takes, 0 when that is nothing now; -1 and errno. */
ssize_t fd_send(int fd, const struct iovec *iov, int n);

/* SO_ERROR as a negative errno; 0: none. */
int fd_error(int fd);

#endif
