/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io/sock.h - one non-blocking stream socket: filled buffers up, a send queue down.
 *
 * Role:      the seam behind which epoll lives; TLS and another kernel interface fit in here.
 * Reads:     edge-triggered. Data comes as a view into the loop's shared buffer together with its
 *            stamp; the handler consumes or copies all of it. sock_pause stops delivery (the kernel
 *            then holds the peer back); a FIN is reported even while paused, by on_hangup.
 * Writes:    tried at once; what the kernel does not take is queued (<= max_queue_bytes) and sent
 *            later. Above LIMIT_SEND_HIGH_BYTES sock_is_full; on_drained comes when a full queue
 *            has fallen below LIMIT_SEND_LOW_BYTES, and when a queue has become empty.
 * Ends:      on_eof (FIN) and on_error (RST, other) are told once each at most; after on_error or
 *            sock_close nothing is told any more. What came before an error is delivered first,
 *            except to a paused reader with on_hangup: that one is told at once. A handler may call
 *            sock_close at any time, but must not free the memory around a struct sock before the
 *            handler returned: use loop_defer for that.
 * TLS:       sock_start_tls_client and _server put it between the handler and the descriptor; data,
 *            stamps, queue and ends are told as before. The peer's end without TLS's own goodbye
 *            is an error (-ECONNRESET): something may be missing.
 * Memory:    struct sock is embedded; the queue allocates only when the kernel's buffer is full.
 * Threading: the loop's.
 */
#ifndef IO_SOCK_H
#define IO_SOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/span.h"
#include "io/addr.h"
#include "io/loop.h"
#include "io/stamp.h"
#include "io/tls.h"

struct sock;
struct tls_link;

struct sock_ops {
    void (*on_connected)(struct sock *s);
    void (*on_secured)(struct sock *s); /* the TLS handshake is done; may be NULL */
    void (*on_data)(struct sock *s, struct span data, struct stamp at);
    void (*on_eof)(struct sock *s, struct stamp at);
    void (*on_hangup)(struct sock *s); /* FIN seen while paused, data may still wait; may be NULL */
    void (*on_error)(struct sock *s, int error); /* negative errno; also a failed connect */
    void (*on_drained)(struct sock *s);
};

struct sock {
    const struct sock_ops *ops;
    struct loop *_loop;
    struct watch _watch;
    struct task _ready; /* more to read in a later turn */
    struct buf _queue;
    struct tls_link *_tls;
    const char *_tls_error; /* static */
    mono_t _last_stamp;
    mono_t _t_path;     /* of the last look at the path; not set: none yet */
    uint32_t _n_resent; /* as told then */
    int _error;         /* the connection is broken; told once what came before it was read */
    bool _is_open, _is_connecting, _is_paused, _is_eof_told, _has_hangup, _is_readable, _is_full,
        _must_shut, _is_securing, _has_no_path;
};

/* Once, before anything else. */
void sock_init(struct sock *s, struct loop *l, const struct sock_ops *ops, size_t max_queue_bytes);

/* Takes over an accepted or otherwise connected descriptor. On error the fd is closed. */
int sock_attach(struct sock *s, int fd) WARN_UNUSED;

/* Gives the descriptor of a connected, plain socket with nothing queued away; s is closed. */
int sock_detach(struct sock *s) WARN_UNUSED;

/* Starts connecting. 0: on_connected or on_error follows (never from within this call). */
int sock_connect(struct sock *s, const struct addr *to) WARN_UNUSED;

/*
 * Speaks TLS from now on; what was queued must be out. 0: on_secured or on_error follows (never
 * from within this call), and nothing may be sent before. -ENOMEM: the socket is as before. A
 * handshake that fails is -EPROTO, or what broke the connection meanwhile. peer: lives as long as
 * the socket.
 */
int sock_start_tls_client(struct sock *s, struct tls_peer *peer) WARN_UNUSED;
int sock_start_tls_server(struct sock *s, struct tls_context *context) WARN_UNUSED;

/* After on_error: what TLS had against the peer, or the peer against us, as the end of a sentence
 * about the peer ("its certificate has expired"); NULL: it was not TLS that failed. */
const char *sock_tls_error(const struct sock *s);

/* When the certificate that the peer showed is valid, in s since the epoch. false: there is none.
 */
bool sock_tls_validity(const struct sock *s, int64_t *ret_from_s, int64_t *ret_until_s);

/*
 * Sends or queues all of iov (n <= 24). 0, -EMSGSIZE (queue over its maximum), -ENOMEM (in both
 * cases a part of iov may be out: the stream is spoilt), or -errno of a broken connection (on_error
 * follows later, behind what there is still to read). *ret_before (may be NULL): clock read
 * directly before the send call.
 */
int sock_send(struct sock *s, const struct iovec *iov, int n, mono_t *ret_before) WARN_UNUSED;

/* Shuts down the sending side once everything queued is out. */
void sock_shutdown(struct sock *s);

void sock_pause(struct sock *s);
void sock_resume(struct sock *s); /* data already waiting comes in this or the next turn */
bool sock_is_paused(const struct sock *s);
bool sock_is_full(const struct sock *s);
size_t sock_queued_bytes(const struct sock *s);
bool sock_is_open(const struct sock *s);
bool sock_is_broken(const struct sock *s); /* nothing can be sent; on_error is still to come */

/* What the kernel knows of the way to the peer (TCP_INFO). */
struct sock_path {
    int64_t
        rtt_ns; /* smoothed; has in it how long the peer delays acknowledgements; -1: not told */
    int64_t rtt_min_ns; /* the shortest of the last minutes: that of the network; -1: not told */
    uint32_t n_resent;  /* segments that had to be sent again since the last look */
};

/* Between two looks at one connection; what is asked for more often costs no system call. */
#define SOCK_PATH_EVERY_NS (100 * NS_PER_MS)

/* One system call. false: no look: it is not connected, a Unix socket, or was looked at just now.
 */
bool sock_look_at_path(struct sock *s, struct sock_path *ret);

/* Closes at once; queued bytes are lost. with_reset: RST instead of FIN. Idempotent. */
void sock_close(struct sock *s, bool with_reset);

#endif
