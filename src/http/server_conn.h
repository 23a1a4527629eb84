/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http/server_conn.h - private to http/: a client connection, shared by the files of the server.
 *
 *   WAITING  between requests, or inside an unfinished head
 *   OPEN     a request is with the handler
 *   CLOSING  the last answer is out or going out; input is thrown away until the client closes too
 *            (closing with unread input would reset the connection and take the answer with it)
 *   CLOSED   the socket is closed; memory goes at the end of the turn
 */
#ifndef HTTP_SERVER_CONN_H
#define HTTP_SERVER_CONN_H

#include "base/stat.h"
#include "http/server.h"

enum conn_state { CONN_WAITING, CONN_OPEN, CONN_CLOSING, CONN_CLOSED };

enum conn_timer {
    CONN_TIMER_NONE,
    CONN_TIMER_IDLE,
    CONN_TIMER_HEAD,
    CONN_TIMER_BODY,
    CONN_TIMER_WRITE,
    CONN_TIMER_LINGER,
};

struct server_listener {
    struct listener listener;
    struct http_server *server;
    struct tls_context *tls; /* NULL: plain HTTP */
};

struct http_server {
    struct loop *loop;
    const struct http_server_ops *ops;
    struct http_server_config config;
    void *owner;
    struct server_listener listeners[HTTP_LISTENERS_MAX];
    size_t n_listeners;
    bool is_stopping;
    size_t n_conns;
    struct list conns;
    struct buf head;   /* scratch for rendering answer heads */
    struct buf pieces; /* small ones of a request body, while one read is parsed */
    /* Scratch for parsing request heads: 4 KiB are too much to clear on the stack for every read.
     */
    struct http1_head parsed;
};

/* server_conn.c: life and end, and what takes too long. */

/* Takes the descriptor in any case but -ENOMEM. */
int server_conn_new(struct http_server *s, int fd, struct tls_context *tls) WARN_UNUSED;
/* Its memory goes at the end of the turn. */
void server_conn_close(struct http_server_conn *c, bool with_reset);
/* Closes and frees at once; the handler of an open request is told -ECANCELED. */
void server_conn_cancel(struct http_server_conn *c);
/* The last answer is written or queued: send the rest, then wait for the client to close. */
void server_conn_linger(struct http_server_conn *c);
/* The open request lost its client or its own body; tells the handler once. */
void server_conn_gone(struct http_server_conn *c, int error, struct stamp at);
/* What is waited for now, and how long. */
void server_conn_deadline(struct http_server_conn *c, enum conn_timer kind, int64_t delay_ns);

/* Adds to a counter about clients. */
static inline void server_conn_count(const struct http_server *s, enum stat_id id, int64_t n)
{
    if (!s->config.is_internal)
        stat_add(id, n);
}

/* server_request.c: bytes in. is_pipelined: they came while an earlier request was with the
 * handler. */
void server_request_feed(struct http_server_conn *c, struct span in, struct stamp at,
                         bool is_pipelined);

/* server_answer.c: bytes out. Answers a request that cannot be served and closes; nothing of it was
 * answered yet. */
void server_answer_refuse(struct http_server_conn *c, int status, const char *why);

#endif
