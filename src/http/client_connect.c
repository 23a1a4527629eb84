/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http/client_connect.c - from addresses to a connection that can be used.
 *
 * Two addresses at most are tried at the same time (after RFC 8305): _sock has the first one, and
 * when that takes long, _rival the next. Whichever comes first goes on as _sock.
 */
#include <errno.h>

#include "base/check.h"
#include "http/client_private.h"

/* Time that an address has for itself. */
#define RACE_DELAY_NS (250 * NS_PER_MS)

/* --- addresses --- */

/* The next address that a connect can be begun with; 0 or the last error. */
static int connect_some(struct http_client *c, struct sock *s, uint64_t *ret_hash)
{
    const struct http_pool *p = c->_pool;
    int error = -ENOENT;

    while (c->_addr_i < p->n_addrs) {
        const struct addr *a = &p->addrs[c->_addr_i++];

        *ret_hash = addr_hash(a);
        error = sock_connect(s, a);
        if (error == 0)
            break;
    }
    if (error == 0 && c->_addr_i < p->n_addrs)
        loop_timer_start(p->loop, &c->_timer, RACE_DELAY_NS);
    return error;
}

void client_connect(struct http_client *c)
{
    int error = connect_some(c, &c->_sock, &c->_addr_hash);

    if (error < 0) {
        client_fail_later(c, HTTP_PHASE_CONNECT, error);
        return;
    }
    c->_generation = c->_pool->generation;
    c->_state = CLIENT_CONNECTING;
}

void client_connect_failed(struct http_client *c, int error)
{
    const struct http_pool *p = c->_pool;

    sock_init(&c->_sock, p->loop, &client_sock_ops, p->config.max_queue_bytes);
    if (connect_some(c, &c->_sock, &c->_addr_hash) == 0 || sock_is_open(&c->_rival))
        return;
    client_fail(c, HTTP_PHASE_CONNECT, error, (struct stamp){.at = clock_mono()});
}

void client_connect_next(struct http_client *c)
{
    if (sock_is_open(&c->_rival))
        return; /* one at a time; its failure goes on to the next */
    client_rival_init(c);
    (void)connect_some(c, &c->_rival, &c->_rival_addr_hash); /* the first one is still under way */
}

/* The rival has won. */
static void rival_on_connected(struct sock *s)
{
    struct http_client *c = CONTAINER_OF(s, struct http_client, _rival);
    const struct http_pool *p = c->_pool;
    int r;

    sock_close(&c->_sock, false);
    sock_init(&c->_sock, p->loop, &client_sock_ops, p->config.max_queue_bytes);
    r = sock_attach(&c->_sock, sock_detach(s));
    if (r < 0) {
        client_fail(c, HTTP_PHASE_CONNECT, r, (struct stamp){.at = clock_mono()});
        return;
    }
    c->_addr_hash = c->_rival_addr_hash;
    client_on_connected(&c->_sock);
}

static void rival_on_error(struct sock *s, int error)
{
    struct http_client *c = CONTAINER_OF(s, struct http_client, _rival);

    client_rival_init(c);
    if (connect_some(c, &c->_rival, &c->_rival_addr_hash) < 0 && !sock_is_open(&c->_sock))
        client_fail(c, HTTP_PHASE_CONNECT, error, (struct stamp){.at = clock_mono()});
}

void client_rival_init(struct http_client *c)
{
    static const struct sock_ops ops = {.on_connected = rival_on_connected,
                                        .on_error = rival_on_error};

    sock_init(&c->_rival, c->_pool->loop, &ops, 0);
}

void client_race_stop(struct http_client *c)
{
    sock_close(&c->_rival, false);
    loop_timer_stop(c->_pool->loop, &c->_timer);
}

/* --- what has to be done on a connection --- */

static void client_is_ready(struct http_client *c, mono_t now)
{
    c->t_ready = now;
    c->_state = CLIENT_READY;
    c->ops->on_ready(c);
}

/* Bytes go to the server from now on. */
static void client_is_there(struct http_client *c)
{
    mono_t now = clock_mono();

    c->tcp_ns = mono_diff(now, c->_t_start);
    c->_t_start = now;
    if (!c->_pool->config.tls) {
        client_is_ready(c, now);
        return;
    }
    c->_state = CLIENT_SECURING;
    if (sock_start_tls_client(&c->_sock, &c->_pool->peer) < 0)
        client_fail(c, HTTP_PHASE_TLS, -ENOMEM, (struct stamp){.at = now});
}

void client_on_secured(struct sock *s)
{
    struct http_client *c = CONTAINER_OF(s, struct http_client, _sock);
    mono_t now = clock_mono();

    c->tls_ns = mono_diff(now, c->_t_start);
    client_is_ready(c, now);
}

void client_on_connected(struct sock *s)
{
    struct http_client *c = CONTAINER_OF(s, struct http_client, _sock);
    struct span ask = buf_span(&c->_pool->tunnel_request);
    union {
        const char *in;
        void *out;
    } u = {.in = ask.p};
    struct iovec iov = {.iov_base = u.out, .iov_len = ask.n};

    client_race_stop(c);
    if (ask.n == 0) {
        client_is_there(c);
        return;
    }
    c->_state = CLIENT_TUNNELLING;
    if (sock_send(s, &iov, 1, NULL) == -ENOMEM) /* other errors are told by on_error */
        client_fail(c, HTTP_PHASE_PROXY, -ENOMEM, (struct stamp){.at = clock_mono()});
}

/* --- the proxy's answer --- */

/* The head of a 2xx is all of it, whatever it says about a body. */
static void tunnel_on_head(struct http_client *c, const struct http1_head *head, struct span rest,
                           struct stamp at)
{
    if (head->status < 300 && rest.n == 0) {
        message_done(&c->_in);
        message_init(&c->_in, MESSAGE_RESPONSES);
        client_is_there(c);
        return;
    }
    if (head->status >= 300)
        c->proxy_status = head->status;
    client_fail(c, HTTP_PHASE_PROXY, -EPROTO, at);
}

void client_tunnel_feed(struct http_client *c, struct span in, struct stamp at)
{
    struct http1_head *head = &c->_pool->parsed;
    struct span body = {0};

    for (;;) {
        enum message_status status = message_next(&c->_in, &in, head, &body);

        if (status == MESSAGE_MORE)
            return;
        if (status != MESSAGE_HEAD) {
            client_fail(c, HTTP_PHASE_PROXY, status == MESSAGE_NO_MEMORY ? -ENOMEM : -EPROTO, at);
            return;
        }
        if (head->status >= 200) {
            tunnel_on_head(c, head, in, at);
            return;
        }
    }
}
