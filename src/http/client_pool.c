/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http/client_pool.c - the addresses of a server, and its idle connections.
 *
 * An address is looked up again when its time is over: by a new connection, which waits for the
 * answer, or beside a connection that is used again. Idle connections to addresses that are not in
 * the answer are closed, busy ones when they would become idle.
 */
#include <errno.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/stat.h"
#include "http/client_private.h"

/* A lookup that failed is not repeated with every request while the old addresses are used. */
#define LOOKUP_PAUSE_NS NS_PER_S

/* --- addresses --- */

static bool pool_has_addr(const struct http_pool *p, uint64_t hash)
{
    for (int i = 0; i < p->n_addrs; i++)
        if (addr_hash(&p->addrs[i]) == hash)
            return true;
    return false;
}

static void pool_addrs_set(struct http_pool *p, const struct resolver_answer *answer)
{
    struct list *next;

    p->n_addrs = answer->n_addrs;
    memcpy(p->addrs, answer->addrs, sizeof(p->addrs));
    p->generation++;
    for (struct list *i = p->idle.next; i != &p->idle; i = next) {
        struct http_client *c = CONTAINER_OF(i, struct http_client, _link);
        next = i->next;
        if (!pool_has_addr(p, c->_addr_hash))
            client_close(c);
    }
}

/* Whose address is looked up. */
static const char *pool_host(const struct http_pool *p)
{
    return p->config.proxy.host[0] != '\0' ? p->config.proxy.host : p->config.host;
}

static uint16_t pool_port(const struct http_pool *p)
{
    return p->config.proxy.host[0] != '\0' ? p->config.proxy.port : p->config.port;
}

static void pool_on_answer(void *arg, const struct resolver_answer *answer)
{
    struct pool_lookup *k = arg;
    struct http_pool *p = k->pool;
    mono_t now = clock_mono();
    struct list waiting;

    mem_free(k);
    if (!p)
        return;
    p->lookup = NULL;
    p->fresh_until =
        mono_add(loop_now(p->loop), answer->error == 0 ? p->config.dns_ttl_ns : LOOKUP_PAUSE_NS);
    if (answer->error == 0)
        pool_addrs_set(p, answer);
    list_init(&waiting);
    while (!list_is_empty(&p->waiting)) {
        struct http_client *c = CONTAINER_OF(p->waiting.next, struct http_client, _link);
        list_remove(&c->_link);
        list_push_back(&waiting, &c->_link);
    }
    while (!list_is_empty(&waiting)) {
        struct http_client *c = CONTAINER_OF(waiting.next, struct http_client, _link);
        list_remove(&c->_link);
        c->dns_ns = mono_diff(now, c->_t_start);
        c->_t_start = now;
        if (p->n_addrs == 0) /* nothing new, nothing old */
            client_fail_later(c, HTTP_PHASE_DNS, answer->error);
        else
            client_connect(c);
    }
}

static int pool_lookup_start(struct http_pool *p)
{
    struct pool_lookup *k;
    int r;

    if (p->lookup)
        return 0;
    k = mem_alloc(sizeof(*k));
    if (!k)
        return -ENOMEM;
    k->pool = p;
    r = resolver_lookup(p->resolver, p->loop, pool_host(p), pool_port(p), pool_on_answer, k);
    if (r < 0) {
        mem_free(k);
        return r;
    }
    p->lookup = k;
    return 0;
}

static bool pool_is_fresh(const struct http_pool *p)
{
    return p->is_literal || (p->n_addrs > 0 && loop_now(p->loop).ns < p->fresh_until.ns);
}

/* --- idle connections --- */

void client_pool_forget(struct http_client *c)
{
    c->_pool->n_idle--;
    client_count(c, STAT_CONNS_UPSTREAM_IDLE, -1);
}

void client_pool_release(struct http_client *c)
{
    struct http_pool *p = c->_pool;
    bool is_known = c->_generation == p->generation || pool_has_addr(p, c->_addr_hash);

    c->user = NULL;
    c->ops = NULL;
    if (!c->_keep_alive || http_writer_is_open(&c->_out) || !sock_is_open(&c->_sock) ||
        p->n_idle >= p->config.max_idle || sock_queued_bytes(&c->_sock) > 0 || !is_known) {
        client_close(c);
        return;
    }
    c->_state = CLIENT_IDLE;
    c->_generation = p->generation;
    list_push_front(&p->idle, &c->_link);
    p->n_idle++;
    client_count(c, STAT_CONNS_UPSTREAM_IDLE, 1);
    sock_resume(&c->_sock);
    loop_timer_start(p->loop, &c->_timer, p->config.idle_timeout_ns);
}

static void client_on_timer(struct timer *t)
{
    struct http_client *c = CONTAINER_OF(t, struct http_client, _timer);

    if (c->_state == CLIENT_CONNECTING)
        client_connect_next(c);
    else
        client_close(c); /* idle for too long */
}

static struct http_client *pool_take_idle(struct http_pool *p)
{
    struct http_client *c = CONTAINER_OF(p->idle.next, struct http_client, _link);

    list_remove(&c->_link);
    client_pool_forget(c);
    loop_timer_stop(p->loop, &c->_timer);
    c->is_reused = true;
    c->dns_ns = c->tcp_ns = c->tls_ns = -1;
    c->_had_bytes = false;
    c->t_ready = clock_mono();
    c->_state = CLIENT_READY;
    loop_defer(p->loop, &c->_later);
    return c;
}

static struct http_client *pool_new_client(struct http_pool *p)
{
    struct http_client *c = mem_zalloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->_pool = p;
    c->_is_internal = p->is_internal;
    c->dns_ns = c->tcp_ns = c->tls_ns = -1;
    c->_t_start = clock_mono();
    list_init(&c->_link);
    task_init(&c->_later, client_on_later);
    timer_init(&c->_timer, client_on_timer);
    message_init(&c->_in, MESSAGE_RESPONSES);
    sock_init(&c->_sock, p->loop, &client_sock_ops, p->config.max_queue_bytes);
    client_rival_init(c);
    client_count(c, STAT_CONNS_UPSTREAM_OPEN, 1);
    return c;
}

/* --- the pool --- */

/* What a proxy is asked for: a way to the server. */
static int tunnel_render(struct http_pool *p)
{
    const struct http_pool_config *c = &p->config;
    bool is_v6 = span_find_char(span_cstr(c->host), ':') < strlen(c->host);
    int r = 0;

    buf_init(&p->tunnel_request, LIMIT_HEAD_BYTES);
    if (c->proxy.host[0] == '\0' || !c->tls)
        return 0;
    for (int i = 0; r == 0 && i < 2; i++)
        r = buf_printf(&p->tunnel_request, "%s%s%s%s:%u%s",
                       i == 0 ? "CONNECT " : "Host: ", is_v6 ? "[" : "", c->host, is_v6 ? "]" : "",
                       (unsigned)c->port, i == 0 ? " HTTP/1.1\r\n" : "\r\n");
    if (r == 0 && c->proxy.authorization[0] != '\0')
        r = buf_printf(&p->tunnel_request, "Proxy-Authorization: %s\r\n", c->proxy.authorization);
    return r < 0 ? r : buf_append(&p->tunnel_request, SPAN("\r\n"));
}

int http_pool_new(struct loop *l, struct resolver *r, const struct http_pool_config *config,
                  struct http_pool **ret)
{
    struct http_pool *p = mem_zalloc(1, sizeof(*p));
    int result;

    if (!p)
        return -ENOMEM;
    p->loop = l;
    p->resolver = r;
    p->config = *config;
    list_init(&p->idle);
    list_init(&p->waiting);
    p->is_literal = addr_from_literal(span_cstr(pool_host(p)), pool_port(p), &p->addrs[0]);
    p->n_addrs = p->is_literal ? 1 : 0;
    result = !p->is_literal && !r ? -EINVAL : tunnel_render(p);
    if (result < 0) {
        mem_free(p);
        return result;
    }
    if (config->tls)
        tls_peer_init(&p->peer, config->tls,
                      config->server_name[0] != '\0' ? config->server_name : config->host);
    *ret = p;
    return 0;
}

struct http_pool *http_pool_free(struct http_pool *p)
{
    if (!p)
        return NULL;
    while (!list_is_empty(&p->idle)) {
        struct http_client *c = CONTAINER_OF(p->idle.next, struct http_client, _link);
        client_close(c);
        client_free(c);
    }
    if (p->lookup)
        p->lookup->pool = NULL;
    tls_peer_done(&p->peer);
    buf_done(&p->tunnel_request);
    mem_free(p);
    return NULL;
}

void http_pool_set_internal(struct http_pool *p)
{
    p->is_internal = true;
    p->config.max_idle = 0;
}

void http_pool_set_tls(struct http_pool *p, struct tls_context *tls)
{
    if (NEVER(!p->config.tls || !tls))
        return;
    tls_peer_set_context(&p->peer, tls);
}

size_t http_pool_n_idle(const struct http_pool *p)
{
    return p->n_idle;
}

int http_pool_acquire(struct http_pool *p, const struct http_client_ops *ops, void *user,
                      bool fresh, struct http_client **ret)
{
    struct http_client *c;

    if (!fresh && !list_is_empty(&p->idle)) {
        if (!pool_is_fresh(p))
            (void)pool_lookup_start(p); /* beside it; tried again with the next request */
        c = pool_take_idle(p);
        c->ops = ops;
        c->user = user;
        *ret = c;
        return 0;
    }
    c = pool_new_client(p);
    if (!c)
        return -ENOMEM;
    c->ops = ops;
    c->user = user;
    *ret = c;
    if (pool_is_fresh(p)) {
        client_connect(c);
        return 0;
    }
    c->_state = CLIENT_RESOLVING;
    list_push_back(&p->waiting, &c->_link);
    if (pool_lookup_start(p) < 0)
        client_fail_later(c, HTTP_PHASE_DNS, -EAGAIN);
    return 0;
}
