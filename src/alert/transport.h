/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/transport.h - sends requests over HTTP and SMTP, all at once, none waiting for another.
 *
 * HTTP:      src/web, on the thread that turns it. Redirects are not followed, an answer is read up
 *            to TRANSPORT_ANSWER_MAX bytes, a connection is used once.
 * SMTP:      a thread each for as long as the mail takes: libcurl waits for the answer to QUIT in
 *            whatever call ends a connection, which would hold up everybody.
 * Bounds:    a request's timeout is that of all of it: names, connecting, TLS, answer. A name
 *            server that hangs is left behind.
 * Threading: everything from one thread, but transport_wake.
 */
#ifndef ALERT_TRANSPORT_H
#define ALERT_TRANSPORT_H

#include "alert/receiver.h"

enum { TRANSPORT_ANSWER_MAX = 64 * 1024 };

struct transport;

/* What came of a transfer, called by transport_turn; the reply is valid during the call. */
typedef void (*transport_done)(void *ctx, void *tag, const struct receiver_reply *reply);

int transport_new(struct transport **ret) WARN_UNUSED;
/* Breaks off what is under way: done is not called for it. */
struct transport *transport_free(struct transport *t);

/* r and what it points to have to stay until done. -EINVAL: it cannot be sent as it is. */
int transport_start(struct transport *t, const struct receiver_request *r, transport_done done,
                    void *ctx, void *tag) WARN_UNUSED;

/* Moves transfers on; waits up to wait_ms for something to do. */
void transport_turn(struct transport *t, int64_t wait_ms);
/* Ends that wait. Any thread. */
void transport_wake(struct transport *t);

size_t transport_n(const struct transport *t); /* under way */

#endif
