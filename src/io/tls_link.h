/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io/tls_link.h - private to io/: TLS between a struct sock and its descriptor.
 *
 * Reads:     OpenSSL takes bytes from the kernel through tls_link's own recvmsg, so that the stamps
 *            are kept. What one kernel read completed is decrypted in one go.
 * Writes:    encrypted into the loop's write buffer, sent by sock_put in one call; what the kernel
 *            does not take waits encrypted in the socket's queue, so OpenSSL never has to wait.
 * Errors:    -EPROTO: the handshake failed; -ECONNABORTED: TLS broke later; -ECONNRESET: the peer
 *            ended without saying so (cut). sock->_tls_error then has the reason, where it is
 * known.
 */
#ifndef IO_TLS_LINK_H
#define IO_TLS_LINK_H

#include "io/sock.h"

struct tls_link;

/* peer: for a client, else context for a server. -ENOMEM. */
int tls_link_new(struct sock *s, struct tls_peer *peer, struct tls_context *context,
                 struct tls_link **ret) WARN_UNUSED;
/* Says goodbye where that makes sense (with_goodbye), and frees. */
void tls_link_free(struct tls_link *t, bool with_goodbye);

/* 0: done; -EAGAIN: more has to come from the peer; else it failed. */
int tls_link_handshake(struct tls_link *t) WARN_UNUSED;
bool tls_link_is_ready(const struct tls_link *t); /* the handshake is done */

/*
 * Decrypted bytes of one kernel read (dst: LIMIT_READ_BYTES), or 0 and *ret_end: 0 (the peer's
 * regular end), -EAGAIN (nothing more now), or an error.
 */
size_t tls_link_read(struct tls_link *t, char *dst, struct stamp *ret_at, int *ret_end);
/* After a read: the kernel or OpenSSL may have more, and no event will tell. */
bool tls_link_has_more(const struct tls_link *t);

/* As sock_tls_validity. */
bool tls_link_validity(const struct tls_link *t, int64_t *ret_from_s, int64_t *ret_until_s);

/* As sock_send. */
int tls_link_send(struct tls_link *t, const struct iovec *iov, int n,
                  mono_t *ret_before) WARN_UNUSED;
/* close_notify: nothing more will be sent. */
void tls_link_shutdown(struct tls_link *t);

/* sock.c: nothing can be sent any more; what there is to read comes first, then on_error. */
void sock_break(struct sock *s, int error);
/* sock.c: sends or queues as it is. Errors as sock_send. */
int sock_put(struct sock *s, const struct iovec *iov, int n, mono_t *ret_before) WARN_UNUSED;

#endif
