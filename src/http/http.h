/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http/http.h - what server and client sides share: rendering heads, framing bodies.
 *
 * Messages are always written anew from their parts; no received head is copied through.
 */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/span.h"
#include "io/sock.h"
#include "wire/http1.h"

enum { HTTP_PARTS_MAX = 16 };

/* How an outgoing body is framed. */
struct http_framing {
    enum http1_framing kind;
    uint64_t length; /* HTTP1_BODY_LENGTH */
};

/* Head rendering into b: start line, then fields, then http_head_end. */
int http_head_request(struct buf *b, struct span method, struct span prefix,
                      struct span target) WARN_UNUSED; /* prefix: path put before target */
int http_head_status(struct buf *b, int minor, int status, struct span reason) WARN_UNUSED;
int http_head_field(struct buf *b, struct span name, struct span value) WARN_UNUSED;
/* Content-Length or Transfer-Encoding as framing wants, then the empty line. */
int http_head_end(struct buf *b, struct http_framing framing) WARN_UNUSED;

/* The sending half of one connection: frames body bytes as its head announced. */
struct http_writer {
    struct sock *_sock;
    struct http_framing _framing;
    uint64_t _sent; /* body bytes */
    bool _is_open;  /* a body is under way */
};

/* Sends a rendered head together with the first body bytes, if there are any, in one system call.
 * is_last: these bytes are the whole body. 0 or sock_send's errors; -EPROTO: length violated. */
int http_writer_start(struct http_writer *w, struct sock *s, struct span head,
                      struct http_framing framing, const struct span *parts, int n, bool is_last,
                      mono_t *ret_before) WARN_UNUSED;

/* Body bytes in up to HTTP_PARTS_MAX spans, one chunk in all; empty is fine (no chunk then). */
int http_writer_body(struct http_writer *w, const struct span *parts, int n, bool is_last,
                     mono_t *ret_before) WARN_UNUSED;
static inline bool http_writer_is_open(const struct http_writer *w)
{
    return w->_is_open;
}

#endif
