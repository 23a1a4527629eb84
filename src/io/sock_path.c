/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io/sock_path.c - what the kernel has measured of the way to a peer.
 *
 * A file of its own for <linux/tcp.h>: the C library's header knows only the beginning of
 * struct tcp_info, and the two cannot be included together.
 */
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "io/sock.h"

static int64_t told_ns(uint32_t us)
{
    return us == 0 || us == UINT32_MAX ? -1 : (int64_t)us * NS_PER_US;
}

bool sock_look_at_path(struct sock *s, struct sock_path *ret)
{
    struct tcp_info info; /* only what is read of it is cleared: it is large */
    socklen_t n = sizeof(info);
    mono_t now = loop_now(s->_loop);
    bool is_due = !mono_is_set(s->_t_path) || mono_diff(now, s->_t_path) >= SOCK_PATH_EVERY_NS;

    if (!s->_is_open || s->_is_connecting || s->_has_no_path || !is_due)
        return false;
    s->_t_path = now;
    /* What an older kernel does not tell stays 0. */
    info.tcpi_rtt = info.tcpi_min_rtt = info.tcpi_total_retrans = 0;
    if (getsockopt(s->_watch.fd, IPPROTO_TCP, TCP_INFO, &info, &n) < 0) {
        s->_has_no_path = true; /* a Unix socket */
        return false;
    }
    *ret = (struct sock_path){.rtt_ns = told_ns(info.tcpi_rtt),
                              .rtt_min_ns = told_ns(info.tcpi_min_rtt),
                              .n_resent = info.tcpi_total_retrans - s->_n_resent};
    s->_n_resent = info.tcpi_total_retrans;
    return true;
}
