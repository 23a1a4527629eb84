/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/fault.h - breaking what http/server guarantees, on purpose.
 *
 * This is the one place outside http/ that reaches into the private fields of a connection: a
 * server module must not offer malformed answers, and a simulator must be able to give them.
 */
#ifndef SIM_FAULT_H
#define SIM_FAULT_H

#include "base/attr.h"
#include "base/span.h"
#include "http/server.h"

/* Sends bytes as they are. Errors as sock_send. */
int fault_raw(struct http_server_conn *c, struct span bytes) WARN_UNUSED;

/* The whole response head was sent with fault_raw; its body follows with http_server_body. */
int fault_head_is_out(struct http_server_conn *c, struct http_framing framing) WARN_UNUSED;

/* A chunk head that announces more than the half of `bytes` that is sent; nothing can follow, so
 * the result does not matter. */
void fault_half_chunk(struct http_server_conn *c, struct span bytes);

/* The connection closes after this answer. */
void fault_close_after(struct http_server_conn *c);

/* Ends the request with an RST; bytes still queued are lost. */
void fault_reset(struct http_server_conn *c);

#endif
