/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http/client.c - what goes over a connection to a server, and how it ends.
 */
#include "http/client.h"

#include <errno.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/stat.h"
#include "http/client_private.h"

enum { INTERIM_MAX = 16 }; /* 1xx heads in front of one answer */

/* --- end of a connection --- */

void client_close(struct http_client *c)
{
    if (c->_state == CLIENT_CLOSED)
        return;
    if (c->_state == CLIENT_IDLE)
        client_pool_forget(c);
    c->_state = CLIENT_CLOSED;
    list_remove(&c->_link);
    sock_close(&c->_sock, false);
    client_race_stop(c);
    task_cancel(&c->_later);
    loop_defer(c->_pool->loop, &c->_later);
}

void client_free(struct http_client *c)
{
    task_cancel(&c->_later);
    message_done(&c->_in);
    client_count(c, STAT_CONNS_UPSTREAM_OPEN, -1);
    mem_free(c);
}

void client_fail_later(struct http_client *c, enum http_phase phase, int error)
{
    c->_state = CLIENT_FAILING;
    c->_phase = phase;
    c->_error = error;
    list_remove(&c->_link);
    loop_defer(c->_pool->loop, &c->_later);
}

/* --- answers in --- */

void client_fail(struct http_client *c, enum http_phase phase, int error, struct stamp at)
{
    const struct http_client_ops *ops = c->ops;

    client_close(c);
    ops->on_failed(c, phase, error, c->_had_bytes, at);
}

/* One step of the reader; false when this read is over for the user. */
static bool client_step(struct http_client *c, struct span *in, struct stamp at)
{
    struct http1_head *head = &c->_pool->parsed;
    struct span body = {0};

    switch (message_next(&c->_in, in, head, &body)) {
    case MESSAGE_HEAD:
        /* 101 we never ask for; a flood of others would never end. */
        if (head->status == 101 || (head->status < 200 && ++c->_n_interim > INTERIM_MAX)) {
            client_fail(c, HTTP_PHASE_EXCHANGE, -EPROTO, at);
            return false;
        }
        c->_keep_alive = head->keep_alive;
        c->ops->on_head(c, head, at);
        return c->_state == CLIENT_BUSY;
    case MESSAGE_BODY:
        c->ops->on_body(c, body, at);
        return c->_state == CLIENT_BUSY;
    case MESSAGE_END:
        if (in->n > 0)
            c->_keep_alive = false; /* bytes behind the answer: not to be trusted with another */
        c->ops->on_end(c, at);
        client_pool_release(c);
        return false;
    case MESSAGE_MORE:
        return true;
    case MESSAGE_NO_MEMORY:
        client_fail(c, HTTP_PHASE_EXCHANGE, -ENOMEM, at);
        return false;
    default:
        client_fail(c, HTTP_PHASE_EXCHANGE, -EPROTO, at);
        return false;
    }
}

static void client_on_data(struct sock *s, struct span data, struct stamp at)
{
    struct http_client *c = CONTAINER_OF(s, struct http_client, _sock);

    if (c->_state == CLIENT_TUNNELLING) {
        client_tunnel_feed(c, data, at);
        return;
    }
    client_count(c, STAT_BYTES_UPSTREAM_IN, (int64_t)data.n);
    if (c->_state != CLIENT_BUSY) { /* an idle or unused connection has nothing to say */
        if (c->_state ==
            CLIENT_READY) /* reused: a last word to an idle client, as good as closed */
            client_fail(c, HTTP_PHASE_EXCHANGE, c->is_reused ? -EPIPE : -EPROTO, at);
        else
            client_close(c);
        return;
    }
    c->_had_bytes = true;
    do {
        if (!client_step(c, &data, at))
            return;
    } while (data.n > 0);
    /* A head without body ends without further bytes. */
    if (!message_is_idle(&c->_in) && !client_step(c, &data, at))
        return;
    if (c->ops->on_read_done)
        c->ops->on_read_done(c);
}

static void client_on_eof(struct sock *s, struct stamp at)
{
    struct http_client *c = CONTAINER_OF(s, struct http_client, _sock);

    if (c->_state == CLIENT_TUNNELLING) {
        client_fail(c, HTTP_PHASE_PROXY, -EPIPE, at);
    } else if (c->_state == CLIENT_READY ||
               (c->_state == CLIENT_BUSY && message_is_idle(&c->_in))) {
        client_fail(c, HTTP_PHASE_EXCHANGE, -EPIPE, at);
    } else if (c->_state == CLIENT_BUSY) {
        if (message_eof(&c->_in) == MESSAGE_END) {
            c->_keep_alive = false;
            c->ops->on_end(c, at);
            client_pool_release(c);
        } else {
            client_fail(c, HTTP_PHASE_EXCHANGE, -EPIPE, at);
        }
    } else {
        client_close(c);
    }
}

static void client_on_error(struct sock *s, int error)
{
    struct http_client *c = CONTAINER_OF(s, struct http_client, _sock);
    struct stamp now = {.at = clock_mono()};

    switch (c->_state) {
    case CLIENT_CONNECTING:
        client_connect_failed(c, error);
        break;
    case CLIENT_TUNNELLING:
        client_fail(c, HTTP_PHASE_PROXY, error, now);
        break;
    case CLIENT_SECURING:
        client_fail(c, HTTP_PHASE_TLS, error, now);
        break;
    case CLIENT_READY:
    case CLIENT_BUSY:
        /* With TLS 1.3 a server refuses a client's certificate when that has done its part. */
        client_fail(c,
                    sock_tls_error(s) && !c->is_reused && !c->_had_bytes ? HTTP_PHASE_TLS
                                                                         : HTTP_PHASE_EXCHANGE,
                    error, now);
        break;
    default:
        client_close(c);
    }
}

static void client_on_drained(struct sock *s)
{
    struct http_client *c = CONTAINER_OF(s, struct http_client, _sock);

    if (c->_state == CLIENT_BUSY && c->ops->on_drained)
        c->ops->on_drained(c);
}

const struct sock_ops client_sock_ops = {
    .on_connected = client_on_connected,
    .on_secured = client_on_secured,
    .on_data = client_on_data,
    .on_eof = client_on_eof,
    .on_error = client_on_error,
    .on_drained = client_on_drained,
};

void client_on_later(struct task *t)
{
    struct http_client *c = CONTAINER_OF(t, struct http_client, _later);

    switch (c->_state) {
    case CLIENT_CLOSED:
        client_free(c);
        break;
    case CLIENT_READY:
        c->ops->on_ready(c);
        break;
    case CLIENT_FAILING:
        client_fail(c, c->_phase, c->_error, (struct stamp){.at = clock_mono()});
        break;
    default:
        break;
    }
}

/* --- requests out --- */

int http_client_send(struct http_client *c, struct span head, struct http_framing framing,
                     const struct span *parts, int n, bool is_last, bool is_head_method,
                     mono_t *ret_before)
{
    if (NEVER(c->_state != CLIENT_READY))
        return -EPROTO;
    c->_state = CLIENT_BUSY;
    c->_in.request_was_head = is_head_method;
    c->_n_interim = 0;
    for (int i = 0; i < n; i++)
        client_count(c, STAT_BYTES_UPSTREAM_OUT, (int64_t)parts[i].n);
    return http_writer_start(&c->_out, &c->_sock, head, framing, parts, n, is_last, ret_before);
}

int http_client_body(struct http_client *c, const struct span *parts, int n, bool is_last,
                     mono_t *ret_before)
{
    for (int i = 0; i < n; i++)
        client_count(c, STAT_BYTES_UPSTREAM_OUT, (int64_t)parts[i].n);
    return http_writer_body(&c->_out, parts, n, is_last, ret_before);
}

void http_client_abort(struct http_client *c)
{
    c->user = NULL;
    client_close(c);
}

void http_client_pause(struct http_client *c)
{
    sock_pause(&c->_sock);
}

void http_client_resume(struct http_client *c)
{
    sock_resume(&c->_sock);
}

bool http_client_is_full(const struct http_client *c)
{
    return sock_is_full(&c->_sock);
}

bool http_client_is_broken(const struct http_client *c)
{
    return sock_is_broken(&c->_sock);
}

size_t http_client_queued_bytes(const struct http_client *c)
{
    return sock_queued_bytes(&c->_sock);
}

bool http_client_path(struct http_client *c, struct sock_path *ret)
{
    return sock_look_at_path(&c->_sock, ret);
}

const char *http_client_error_text(const struct http_client *c)
{
    return c->_in.is_bad_chunk ? "malformed chunked body" : http1_error_text(c->_in.error);
}

const char *http_client_tls_error(const struct http_client *c)
{
    return sock_tls_error(&c->_sock);
}

bool http_client_tls_validity(const struct http_client *c, int64_t *ret_from_s,
                              int64_t *ret_until_s)
{
    return sock_tls_validity(&c->_sock, ret_from_s, ret_until_s);
}
