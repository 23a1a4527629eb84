/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http/server.h - client connections of a server: requests in, answers out, one at a time.
 *
 * Role:      used by gateway, api and sim alike. Owns the connection; the handler owns what it
 *            hangs onto `request`.
 * Order:     on_request, on_body*, on_end for each request; then the handler answers (it may answer
 *            earlier, then the connection closes afterwards) with head, body*, end. While a request
 *            is being served the bytes of pipelined followers wait. on_gone comes once when the
 *            client leaves while a request is open (from on_request until http_server_end);
 *            afterwards the handler must not touch the connection.
 * Timeouts:  head: from the first byte of a request to the end of its head; idle: between requests;
 *            body: between two reads of a request body. Passed: 408 and close (idle: close). A
 *            TLS handshake has the time of a head; past it, or failed: closed, counted.
 *            Malformed: 400/431 and close, counted, before the handler hears of it; on_bad (may be
 *            NULL) is told for the record.
 * Limits:    max_conns per server object, max_conns_total over all servers of the process that are
 *            not internal; more are accepted and closed at once, counted. An internal server closes
 *            its oldest connection without a request instead: nobody can lock operators out.
 * Threading: one http_server per loop; several may share a listening fd.
 */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include "http/http.h"
#include "io/listener.h"
#include "wire/message.h"

struct http_server;
struct http_server_conn;

struct http_request_info {
    const struct http1_head *head; /* valid during on_request */
    struct stamp first;            /* read that brought the first byte */
    struct stamp last;             /* read that completed the head */
    bool is_pipelined;             /* its bytes came while an earlier request was served */
};

struct http_server_ops {
    void (*on_request)(struct http_server_conn *c, const struct http_request_info *info);
    void (*on_body)(struct http_server_conn *c, struct span bytes, struct stamp at);
    void (*on_end)(struct http_server_conn *c, struct stamp at);
    /* 0: closed by the peer (FIN); else negative errno, -ETIMEDOUT for a slow body, -EPROTO for a
     * malformed chunked body. */
    void (*on_gone)(struct http_server_conn *c, int error, struct stamp at);
    void (*on_drained)(struct http_server_conn *c); /* as sock_ops.on_drained, request open */
    /* A request that never was one: status is what was answered (400, 408, 431). May be NULL. */
    void (*on_bad)(struct http_server *s, int status, const char *why, struct stamp first);
};

struct http_server_config {
    int64_t head_timeout_ns, idle_timeout_ns, body_timeout_ns;
    size_t max_conns;
    size_t max_conns_total; /* 0: no limit */
    size_t max_queue_bytes; /* of one connection's send queue */
    /* A client that takes nothing of a queued answer for that long is gone; 0: the handler's
     * affair. */
    int64_t write_timeout_ns;
    /* Serves the program's own pages: its peers are not counted as clients. */
    bool is_internal;
    /* Renders the body of 400/408/431 answers. NULL: a JSON error. */
    int (*bad_body)(int status, const char *why, struct buf *out);
};

struct http_server_conn {
    void *request; /* the handler's, for the open request; NULL between requests */
    struct http_server *server;
    /* private */
    struct sock _sock;
    struct message_reader _in;
    struct http_writer _out;
    struct buf _rest; /* bytes of pipelined requests */
    struct stamp _rest_at;
    struct stamp _first; /* first byte of the request being read */
    struct timer _timer;
    struct task _next; /* goes on with pipelined bytes, or frees the connection */
    struct list _link;
    mono_t _deadline, _timer_due;
    size_t _linger_queued; /* queue length at the last look while lingering */
    int _state;
    int _timer_kind;
    bool _is_body_done, _is_answered, _keep_alive, _is_http10, _is_head_request, _expects_continue,
        _is_pipelined;
    bool _is_broken;    /* a part of an answer could not be sent: nothing may follow it */
    bool _is_peer_done; /* FIN seen */
    bool _is_securing;  /* TLS handshake under way */
};

int http_server_new(struct loop *l, const struct http_server_ops *ops,
                    const struct http_server_config *config, void *owner,
                    struct http_server **ret) WARN_UNUSED;

/* Closes the listener and every connection (open requests get on_gone(-ECANCELED)). Not from within
 * a callback of one of them. Returns NULL. */
struct http_server *http_server_free(struct http_server *s);
void *http_server_owner(const struct http_server *s);

/*
 * Accepts on a listening descriptor that other loops may share; it stays the caller's. tls: what
 * clients speak there (the server keeps a reference); NULL: plain HTTP. Up to HTTP_LISTENERS_MAX
 * times, then -ENOSPC; -errno.
 */
enum { HTTP_LISTENERS_MAX = 16 };
int http_server_listen(struct http_server *s, int fd, struct tls_context *tls) WARN_UNUSED;
void http_server_look(struct http_server *s); /* as listener_look, at all of them */
/* Another process accepts from now on: idle connections stay for one more request each. */
void http_server_hand_over(struct http_server *s);
void http_server_stop_accepting(struct http_server *s); /* and answers with Connection: close */
size_t http_server_n_conns(const struct http_server *s);

/* --- the open request --- */
struct loop *http_server_loop(struct http_server_conn *c);

/* "HTTP/1.1 100 Continue" when the request asked for it and nothing was sent yet. */
int http_server_continue(struct http_server_conn *c);

/*
 * Starts the answer. fields: rendered "Name: value\r\n" lines without hop-by-hop and framing
 * fields. framing HTTP1_BODY_UNTIL_CLOSE is turned into chunked where the client speaks 1.1,
 * CHUNKED into UNTIL_CLOSE for 1.0. For HEAD requests, 204 and 304 no body goes out, whatever is
 * passed. Errors as sock_send: the connection is spoilt and closes with http_server_end, which the
 * handler calls next; on_gone is not called for it.
 */
int http_server_head(struct http_server_conn *c, int status, struct span reason, struct span fields,
                     struct http_framing framing, const struct span *parts, int n,
                     bool is_last) WARN_UNUSED;
int http_server_body(struct http_server_conn *c, const struct span *parts, int n,
                     bool is_last) WARN_UNUSED;

/* The request is over for the handler. Whole answer sent: keep-alive goes on with the next request.
 * Otherwise what is queued still goes out, then the connection is closed without the body's regular
 * end (with a reset where closing is the regular end), so that the client sees the cut. */
void http_server_end(struct http_server_conn *c);

/* The client does not take the answer: http_server_end closes with a reset, and waits for nothing.
 */
void http_server_abandon(struct http_server_conn *c);

/* A complete small answer in one call; ends the request. */
void http_server_reply(struct http_server_conn *c, int status, struct span content_type,
                       struct span body);

void http_server_pause(struct http_server_conn *c); /* request body only */
void http_server_resume(struct http_server_conn *c);
bool http_server_is_full(const struct http_server_conn *c);
size_t http_server_queued_bytes(const struct http_server_conn *c);
bool http_server_path(struct http_server_conn *c, struct sock_path *ret); /* as sock_look_at_path */

#endif
