/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/message.c - see message.h.
 *
 * A head that lies whole in one input is parsed where it lies; otherwise its bytes gather in _head,
 * never more than LIMIT_HEAD_BYTES of them, and only the new ones are searched. What is refused
 * depends on the bytes alone: both ways look at the same first LIMIT_HEAD_BYTES of a head.
 *
 * Invariant: in every state but HEAD, _head is empty or holds the head that the last call returned;
 * the next call frees it.
 */
#include "wire/message.h"

#include "base/limits.h"

enum state {
    HEAD,    /* before or inside a head */
    LENGTH,  /* _left bytes of body */
    CHUNKED, /* inside a chunked body */
    CLOSE,   /* body until the connection ends */
    OVER,    /* the message is complete, its END not yet returned */
};

void message_init(struct message_reader *m, enum message_role role)
{
    *m = (struct message_reader){.role = role, ._state = HEAD};
    buf_init(&m->_head, LIMIT_HEAD_BYTES);
}

void message_done(struct message_reader *m)
{
    buf_done(&m->_head);
}

bool message_is_idle(const struct message_reader *m)
{
    return m->_state == HEAD && buf_len(&m->_head) == 0 && !m->_is_after_interim &&
           m->_failure == MESSAGE_MORE;
}

static enum message_status fail(struct message_reader *m, enum message_status status)
{
    m->_failure = status;
    return status;
}

static enum message_status fail_head(struct message_reader *m, enum http1_error error)
{
    m->error = error;
    return fail(m, MESSAGE_ERROR);
}

/* How many of the empty lines in front of s may still be passed over, in bytes. */
static size_t skip_empty(struct message_reader *m, struct span s)
{
    if (m->role != MESSAGE_REQUESTS || m->_n_skipped == 2)
        return 0;
    size_t n = http1_skip_empty(s);
    size_t max = 2 * (2 - (size_t)m->_n_skipped);
    n = n < max ? n : max;
    m->_n_skipped += (unsigned)(n / 2);
    return n;
}

/* What follows the head. */
static enum state state_after(const struct message_reader *m, const struct http1_head *h)
{
    if (m->role == MESSAGE_RESPONSES && h->status < 200)
        return h->status == 101 ? CLOSE : HEAD;
    switch (h->framing) {
    case HTTP1_BODY_LENGTH:
        return h->content_length > 0 ? LENGTH : OVER;
    case HTTP1_BODY_CHUNKED:
        return CHUNKED;
    case HTTP1_BODY_UNTIL_CLOSE:
        return CLOSE;
    case HTTP1_BODY_NONE:
        break;
    }
    return OVER;
}

static enum message_status take_head(struct message_reader *m, struct span bytes,
                                     struct http1_head *ret)
{
    enum http1_error e = m->role == MESSAGE_REQUESTS
                             ? http1_parse_request(bytes, ret)
                             : http1_parse_response(bytes, m->request_was_head, ret);
    if (e != HTTP1_OK)
        return fail_head(m, e);
    m->_state = (int)state_after(m, ret);
    m->_is_after_interim = m->_state == HEAD;
    m->_left = ret->content_length;
    m->_n_skipped = 0;
    m->n_body_bytes = 0;
    chunked_init(&m->_chunked);
    return MESSAGE_HEAD;
}

/* Moves as much of *in behind the held bytes as a head may have; the number of bytes moved. */
static enum message_status gather(struct message_reader *m, struct span in, size_t *ret_n)
{
    size_t room = LIMIT_HEAD_BYTES - buf_len(&m->_head);
    size_t n = in.n < room ? in.n : room;
    if (buf_append(&m->_head, (struct span){in.p, n}) < 0)
        return fail(m, MESSAGE_NO_MEMORY);
    *ret_n = n;
    return MESSAGE_MORE;
}

/* A head of which earlier inputs held a part. */
static enum message_status next_held_head(struct message_reader *m, struct span *in,
                                          struct http1_head *ret)
{
    size_t n_before = buf_len(&m->_head);
    size_t n_moved = 0;
    enum message_status status = gather(m, *in, &n_moved);
    if (status != MESSAGE_MORE)
        return status;
    size_t n_empty = skip_empty(m, buf_span(&m->_head));
    if (n_empty > 0) {
        /* The held byte was the CR of an empty line: what follows it is a head of its own. */
        buf_done(&m->_head);
        span_take(in, n_empty - n_before);
        return MESSAGE_MORE;
    }
    ptrdiff_t n = http1_find_end(buf_span(&m->_head), &m->_scanned, &m->error);
    if (n < 0)
        return fail_head(m, m->error);
    if (n == 0) {
        span_take(in, n_moved);
        return buf_len(&m->_head) == LIMIT_HEAD_BYTES ? fail(m, MESSAGE_TOO_LARGE) : MESSAGE_MORE;
    }
    buf_truncate(&m->_head, (size_t)n);
    span_take(in, (size_t)n - n_before);
    return take_head(m, buf_span(&m->_head), ret);
}

/* A head that begins in this input. */
static enum message_status next_new_head(struct message_reader *m, struct span *in,
                                         struct http1_head *ret)
{
    span_take(in, skip_empty(m, *in));
    if (in->n == 0)
        return MESSAGE_MORE;
    struct span bytes = {in->p, in->n < LIMIT_HEAD_BYTES ? in->n : LIMIT_HEAD_BYTES};
    m->_scanned = 0;
    ptrdiff_t n = http1_find_end(bytes, &m->_scanned, &m->error);
    if (n < 0)
        return fail_head(m, m->error);
    if (n > 0)
        return take_head(m, span_take(in, (size_t)n), ret);
    if (bytes.n == LIMIT_HEAD_BYTES)
        return fail(m, MESSAGE_TOO_LARGE);
    size_t n_moved = 0;
    enum message_status status = gather(m, *in, &n_moved);
    if (status == MESSAGE_MORE)
        span_take(in, n_moved);
    return status;
}

static enum message_status next_head(struct message_reader *m, struct span *in,
                                     struct http1_head *ret)
{
    enum message_status status = MESSAGE_MORE;
    while (status == MESSAGE_MORE && in->n > 0)
        status = buf_len(&m->_head) > 0 ? next_held_head(m, in, ret) : next_new_head(m, in, ret);
    return status;
}

/* Up to max bytes of body as they lie. */
static enum message_status plain_body(struct message_reader *m, struct span *in, uint64_t max,
                                      struct span *ret)
{
    if (in->n == 0)
        return MESSAGE_MORE;
    *ret = span_take(in, in->n < max ? in->n : (size_t)max);
    m->n_body_bytes += ret->n;
    return MESSAGE_BODY;
}

static enum message_status chunked_body(struct message_reader *m, struct span *in, struct span *ret)
{
    switch (chunked_next(&m->_chunked, in, ret)) {
    case CHUNKED_DATA:
        m->n_body_bytes += ret->n;
        return MESSAGE_BODY;
    case CHUNKED_END:
        m->_state = HEAD;
        return MESSAGE_END;
    case CHUNKED_MORE:
        return MESSAGE_MORE;
    case CHUNKED_ERROR:
        break;
    }
    m->is_bad_chunk = true;
    return fail(m, MESSAGE_ERROR);
}

static void free_delivered(struct message_reader *m)
{
    if (m->_is_delivered)
        buf_done(&m->_head);
    m->_is_delivered = false;
}

enum message_status message_next(struct message_reader *m, struct span *in,
                                 struct http1_head *ret_head, struct span *ret_body)
{
    if (m->_failure != MESSAGE_MORE)
        return m->_failure;
    free_delivered(m);
    enum message_status status = MESSAGE_END;
    switch ((enum state)m->_state) {
    case HEAD:
        status = next_head(m, in, ret_head);
        m->_is_delivered = status == MESSAGE_HEAD;
        break;
    case LENGTH:
        status = plain_body(m, in, m->_left, ret_body);
        if (status == MESSAGE_BODY && (m->_left -= ret_body->n) == 0)
            m->_state = OVER;
        break;
    case CHUNKED:
        status = chunked_body(m, in, ret_body);
        break;
    case CLOSE:
        status = plain_body(m, in, UINT64_MAX, ret_body);
        break;
    case OVER:
        m->_state = HEAD;
        break;
    }
    return status;
}

enum message_status message_eof(struct message_reader *m)
{
    if (m->_failure != MESSAGE_MORE)
        return m->_failure;
    free_delivered(m);
    if (m->_state == CLOSE || m->_state == OVER) {
        m->_state = HEAD;
        return MESSAGE_END;
    }
    return message_is_idle(m) ? MESSAGE_MORE : fail(m, MESSAGE_ERROR);
}
