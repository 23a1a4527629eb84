/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway/gateway.c - the object that one worker's exchanges live in.
 */
#include "gateway/gateway.h"

#include <errno.h>

#include "base/limits.h"
#include "base/mem.h"
#include "gateway/exchange.h"

/* One read that had to be queued whole, on top of what stops the reading. */
#define QUEUE_MAX_BYTES (LIMIT_SEND_HIGH_BYTES + 4 * LIMIT_READ_BYTES)

int gateway_upstream_pool(const struct gateway_config *c, size_t i, struct loop *loop,
                          struct resolver *resolver, struct http_pool **ret)
{
    const struct gateway_upstream *u = &c->upstreams[i];
    struct http_pool_config p = {.port = u->port,
                                 .tls = u->tls,
                                 .proxy = u->proxy,
                                 .idle_timeout_ns = c->upstream_idle_timeout_ns,
                                 .dns_ttl_ns = c->dns_ttl_ns,
                                 .max_idle = c->max_idle_upstream,
                                 .max_queue_bytes = c->request_window_bytes + QUEUE_MAX_BYTES};

    if (u->is_tls && !u->tls)
        return -EINVAL; /* never in the clear by mistake */
    span_copy(span_cstr(u->host), p.host, sizeof(p.host));
    span_copy(span_cstr(u->server_name), p.server_name, sizeof(p.server_name));
    return http_pool_new(loop, resolver, &p, ret);
}

static int gateway_upstreams_open(struct gateway *g)
{
    int r = 0;

    for (size_t i = 0; i < g->config->n_upstreams && r == 0; i++) {
        r = gateway_upstream_pool(g->config, i, g->d.loop, g->d.resolver, &g->pools[i]);
        if (r == 0)
            r = admission_port_open(&g->ports[i], g->d.admission[i], g->d.loop, choice_on_granted);
    }
    return r;
}

int gateway_new(const struct gateway_deps *deps, struct gateway_config *config,
                struct gateway **ret)
{
    struct gateway *g = mem_zalloc(1, sizeof(*g));
    struct http_server_config sc = {.head_timeout_ns = config->client_head_timeout_ns,
                                    .idle_timeout_ns = config->client_idle_timeout_ns,
                                    .body_timeout_ns = config->client_body_timeout_ns,
                                    .max_conns = config->max_conns,
                                    .max_conns_total = config->max_conns_total,
                                    .max_queue_bytes = QUEUE_MAX_BYTES};
    int r;

    if (!g)
        return -ENOMEM;
    g->d = *deps;
    g->config = gateway_config_ref(config);
    list_init(&g->exchanges);
    rng_seed_random(&g->rng);
    choice_init(g);
    buf_init(&g->request_head, 2 * LIMIT_HEAD_BYTES);
    buf_init(&g->fields, 2 * LIMIT_HEAD_BYTES);
    r = http_server_new(deps->loop, &exchange_server_ops, &sc, g, &g->server);
    if (r == 0)
        r = gateway_upstreams_open(g);
    if (r < 0) {
        gateway_free(g);
        return r;
    }
    *ret = g;
    return 0;
}

struct gateway *gateway_free(struct gateway *g)
{
    if (!g)
        return NULL;
    g->on_drained = NULL;
    http_server_free(g->server); /* ends the exchanges through on_gone */
    while (!list_is_empty(&g->exchanges))
        exchange_end(CONTAINER_OF(g->exchanges.next, struct exchange, link), TAP_END_DRAIN,
                     TAP_REASON_DRAIN);
    for (size_t i = 0; i < g->config->n_upstreams; i++) {
        http_pool_free(g->pools[i]);
        admission_port_close(&g->ports[i]);
    }
    loop_turn(g->d.loop, 0); /* lets what was deferred free itself */
    loop_turn(g->d.loop, 0);
    buf_done(&g->request_head);
    buf_done(&g->fields);
    gateway_config_unref(g->config);
    mem_free(g);
    return NULL;
}

int gateway_listen(struct gateway *g, int fd, struct tls_context *tls)
{
    return http_server_listen(g->server, fd, tls);
}

void gateway_look(struct gateway *g)
{
    http_server_look(g->server);
}

void gateway_hand_over(struct gateway *g)
{
    http_server_hand_over(g->server);
}

void gateway_config_set(struct gateway *g, struct gateway_config *config)
{
    struct gateway_config *old = g->config;

    g->config = gateway_config_ref(config);
    gateway_config_unref(old);
    for (size_t i = 0; i < config->n_upstreams; i++)
        if (config->upstreams[i].is_tls)
            http_pool_set_tls(g->pools[i], config->upstreams[i].tls);
}

void gateway_drain(struct gateway *g, void (*on_drained)(void *arg), void *arg)
{
    g->is_draining = true;
    g->on_drained = on_drained;
    g->drained_arg = arg;
    http_server_stop_accepting(g->server);
    if (g->n_exchanges == 0) {
        g->on_drained = NULL;
        on_drained(arg);
    }
}

void gateway_cut(struct exchange *x, enum tap_reason reason)
{
    if (x->status == 0)
        answer_refuse(x, reason, NULL);
    else
        exchange_end(x, TAP_END_TIMEOUT, reason);
}

size_t gateway_n_exchanges(const struct gateway *g)
{
    return g->n_exchanges;
}
