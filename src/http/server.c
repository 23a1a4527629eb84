/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http/server.c - listeners, and the connections they accepted.
 */
#include "http/server.h"

#include <errno.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "http/server_conn.h"

int http_server_new(struct loop *l, const struct http_server_ops *ops,
                    const struct http_server_config *config, void *owner, struct http_server **ret)
{
    struct http_server *s = mem_zalloc(1, sizeof(*s));

    if (!s)
        return -ENOMEM;
    s->loop = l;
    s->ops = ops;
    s->config = *config;
    s->owner = owner;
    list_init(&s->conns);
    buf_init(&s->head, 2 * LIMIT_HEAD_BYTES);
    buf_init(&s->pieces, LIMIT_READ_BYTES);
    *ret = s;
    return 0;
}

struct http_server *http_server_free(struct http_server *s)
{
    if (!s)
        return NULL;
    for (size_t i = 0; i < s->n_listeners; i++) {
        listener_stop(&s->listeners[i].listener);
        tls_context_unref(s->listeners[i].tls);
    }
    while (!list_is_empty(&s->conns))
        server_conn_cancel(CONTAINER_OF(s->conns.next, struct http_server_conn, _link));
    buf_done(&s->head);
    buf_done(&s->pieces);
    mem_free(s);
    return NULL;
}

void *http_server_owner(const struct http_server *s)
{
    return s->owner;
}

struct loop *http_server_loop(struct http_server_conn *c)
{
    return c->server->loop;
}

size_t http_server_n_conns(const struct http_server *s)
{
    return s->n_conns;
}

/* The sum may be off by those that other threads accept in this moment. */
static bool is_over_total(const struct http_server *s)
{
    return s->config.max_conns_total > 0 &&
           stat_sum(STAT_CONNS_CLIENT_OPEN) >= (int64_t)s->config.max_conns_total;
}

/* Makes room for an operator: the oldest connection without a request goes. */
static bool make_room(struct http_server *s)
{
    for (struct list *i = s->conns.next; i != &s->conns; i = i->next) {
        struct http_server_conn *c = CONTAINER_OF(i, struct http_server_conn, _link);

        if (c->_state == CONN_WAITING) {
            server_conn_close(c, false);
            return true;
        }
    }
    return false;
}

static void server_on_accept(struct listener *l, int fd)
{
    const struct server_listener *from = CONTAINER_OF(l, struct server_listener, listener);
    struct http_server *s = from->server;

    bool is_over = s->n_conns >= s->config.max_conns || is_over_total(s);

    if (is_over && s->config.is_internal)
        is_over = !make_room(s);
    if (is_over || server_conn_new(s, fd, from->tls) < 0) {
        server_conn_count(s, is_over ? STAT_CONNS_REFUSED_LIMIT : STAT_CONNS_REFUSED_NO_MEMORY, 1);
        close(fd);
    }
}

int http_server_listen(struct http_server *s, int fd, struct tls_context *tls)
{
    struct server_listener *l = &s->listeners[s->n_listeners];
    int r;

    if (s->n_listeners == HTTP_LISTENERS_MAX)
        return -ENOSPC;
    r = listener_start(&l->listener, s->loop, fd, server_on_accept);
    if (r < 0)
        return r;
    l->listener.serves_last = s->config.is_internal;
    l->server = s;
    l->tls = tls ? tls_context_ref(tls) : NULL;
    s->n_listeners++;
    return 0;
}

void http_server_look(struct http_server *s)
{
    for (size_t i = 0; i < s->n_listeners && !s->is_stopping; i++)
        listener_look(&s->listeners[i].listener);
}

void http_server_hand_over(struct http_server *s)
{
    s->is_stopping = true;
    for (size_t i = 0; i < s->n_listeners; i++)
        listener_stop(&s->listeners[i].listener);
}

void http_server_stop_accepting(struct http_server *s)
{
    struct list *next;

    http_server_hand_over(s);
    for (struct list *i = s->conns.next; i != &s->conns; i = next) {
        struct http_server_conn *c = CONTAINER_OF(i, struct http_server_conn, _link);
        next = i->next;
        if (c->_state == CONN_WAITING && message_is_idle(&c->_in) && buf_len(&c->_rest) == 0)
            server_conn_close(c, false);
    }
}
