/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http/http.c - rendering heads and framing bodies. One call of the writer is one system call:
 * head, chunk head, body parts, chunk end and last chunk go into one vector.
 */
#include "http/http.h"

#include <errno.h>

#include "base/check.h"
#include "base/num.h"
#include "wire/chunked.h"

/* Joins parts with one reservation; heads are written for every request, printf would show. */
static int append_parts(struct buf *b, const struct span *parts, int n)
{
    size_t bytes = 0;
    char *p;
    int r;

    for (int i = 0; i < n; i++)
        bytes += parts[i].n;
    r = buf_reserve(b, bytes, &p);
    if (r < 0)
        return r;
    for (int i = 0; i < n; i++) {
        if (parts[i].n > 0)
            memcpy(p, parts[i].p, parts[i].n);
        p += parts[i].n;
    }
    buf_commit(b, bytes);
    return 0;
}

int http_head_request(struct buf *b, struct span method, struct span prefix, struct span target)
{
    const struct span parts[] = {method, SPAN(" "), prefix, target, SPAN(" HTTP/1.1\r\n")};

    return append_parts(b, parts, ARRAY_LEN(parts));
}

int http_head_status(struct buf *b, int minor, int status, struct span reason)
{
    char line[] = "HTTP/1.1 000 ";
    const struct span parts[] = {span_of(line, sizeof(line) - 1), reason, SPAN("\r\n")};

    line[7] = (char)('0' + minor);
    num_format_padded((uint64_t)status, 3, line + 9);
    return append_parts(b, parts, ARRAY_LEN(parts));
}

/* The most frequent of all: without a list of parts. */
int http_head_field(struct buf *b, struct span name, struct span value)
{
    char *p;
    int r = buf_reserve(b, name.n + value.n + strlen(": \r\n"), &p);

    if (r < 0)
        return r;
    memcpy(p, name.p, name.n);
    memcpy(p + name.n, ": ", 2);
    p += name.n + 2;
    if (value.n > 0)
        memcpy(p, value.p, value.n);
    memcpy(p + value.n, "\r\n", 2);
    buf_commit(b, name.n + value.n + strlen(": \r\n"));
    return 0;
}

int http_head_end(struct buf *b, struct http_framing framing)
{
    char digits[24];
    int r = 0;

    if (framing.kind == HTTP1_BODY_LENGTH)
        r = http_head_field(b, SPAN("Content-Length"),
                            span_of(digits, num_format_u64(framing.length, digits)));
    else if (framing.kind == HTTP1_BODY_CHUNKED)
        r = http_head_field(b, SPAN("Transfer-Encoding"), SPAN("chunked"));
    return r < 0 ? r : buf_append(b, SPAN("\r\n"));
}

/* --- writer --- */

enum { CHUNK_HEAD_MAX = 24 };

/* An output vector under construction. */
struct outvec {
    struct iovec iov[HTTP_PARTS_MAX + 4];
    int n;
};

static void outvec_add(struct outvec *v, struct span s)
{
    /* iovec lacks the const that sending would allow. */
    union {
        const char *in;
        void *out;
    } u = {.in = s.p};

    if (s.n > 0)
        v->iov[v->n++] = (struct iovec){.iov_base = u.out, .iov_len = s.n};
}

static size_t parts_bytes(const struct span *parts, int n)
{
    size_t total = 0;

    for (int i = 0; i < n; i++)
        total += parts[i].n;
    return total;
}

/* Adds body bytes as the framing wants them. chunk_head: scratch that outlives the vector. */
static int writer_frame(struct http_writer *w, struct outvec *v, const struct span *parts, int n,
                        bool is_last, char *chunk_head)
{
    size_t bytes = parts_bytes(parts, n);
    bool is_chunked = w->_framing.kind == HTTP1_BODY_CHUNKED;

    if (w->_framing.kind == HTTP1_BODY_NONE)
        return 0; /* HEAD, 204, 304: whatever the origin sent, no body goes out */
    if (w->_framing.kind == HTTP1_BODY_LENGTH &&
        (w->_sent + bytes > w->_framing.length ||
         (is_last && w->_sent + bytes != w->_framing.length)))
        return -EPROTO;
    w->_sent += bytes;
    if (is_chunked && bytes > 0)
        outvec_add(v, span_of(chunk_head, chunked_head(bytes, chunk_head)));
    for (int i = 0; i < n; i++)
        outvec_add(v, parts[i]);
    if (is_chunked && bytes > 0)
        outvec_add(v, is_last ? SPAN("\r\n0\r\n\r\n") : SPAN("\r\n"));
    else if (is_chunked && is_last)
        outvec_add(v, SPAN("0\r\n\r\n"));
    return 0;
}

int http_writer_start(struct http_writer *w, struct sock *s, struct span head,
                      struct http_framing framing, const struct span *parts, int n, bool is_last,
                      mono_t *ret_before)
{
    struct outvec v = {.n = 0};
    char chunk_head[CHUNK_HEAD_MAX];
    int r;

    *w = (struct http_writer){._sock = s, ._framing = framing, ._is_open = true};
    outvec_add(&v, head);
    r = writer_frame(w, &v, parts, n, is_last, chunk_head);
    if (r < 0)
        return r;
    if (is_last)
        w->_is_open = false;
    return sock_send(s, v.iov, v.n, ret_before);
}

int http_writer_body(struct http_writer *w, const struct span *parts, int n, bool is_last,
                     mono_t *ret_before)
{
    struct outvec v = {.n = 0};
    char chunk_head[CHUNK_HEAD_MAX];
    int r;

    if (NEVER(!w->_is_open))
        return -EPROTO;
    r = writer_frame(w, &v, parts, n, is_last, chunk_head);
    if (r < 0)
        return r;
    if (is_last)
        w->_is_open = false;
    if (v.n == 0) {
        if (ret_before)
            *ret_before = clock_mono();
        return 0;
    }
    return sock_send(w->_sock, v.iov, v.n, ret_before);
}
