/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config.c - the life of a configuration, and what others make of it.
 */
#include "daemon/config.h"

#include <errno.h>

#include "base/mem.h"
#include "daemon/config_build.h"
#include "daemon/config_docs.h"
#include "daemon/config_items.h"
#include "daemon/config_keys.h"
#include "daemon/reach.h"

static int load(const char *path, bool is_whole, struct config **ret, struct err_list *reterrs)
{
    struct config_build b;
    int r = config_build_begin(&b, reterrs);

    if (r < 0)
        return err_set(err_list_add(reterrs, path ? path : "configuration", 0, 0), r,
                       "out of memory");
    if (path)
        config_build_file(&b, path);
    return config_build_finish(&b, is_whole, ret);
}

int config_load(const char *path, struct config **ret, struct err_list *reterrs)
{
    return load(path, true, ret, reterrs);
}

int config_load_partial(const char *path, struct config **ret, struct err_list *reterrs)
{
    return load(path, false, ret, reterrs);
}

int config_defaults(struct config **ret)
{
    struct err_list errs;

    err_list_init(&errs);
    return load(NULL, false, ret, &errs);
}

struct config *config_ref(struct config *c)
{
    atomic_fetch_add_explicit(&c->_refs, 1, memory_order_relaxed);
    return c;
}

struct config *config_unref(struct config *c)
{
    if (!c || atomic_fetch_sub_explicit(&c->_refs, 1, memory_order_acq_rel) != 1)
        return NULL;
    for (size_t i = 0; i < config_keys_n; i++) {
        const struct config_key *key = &config_keys[i];

        if (key->type->done)
            key->type->done(key, config_keys_field(key, c));
    }
    business_unref(c->business);
    slo_set_unref(c->slo_set);
    config_bounds_clear(&c->all_bounds);
    mem_free(c);
    return NULL;
}

size_t config_n_set(const struct config *c)
{
    size_t n = 0;

    for (size_t i = 0; i < config_keys_n; i++)
        n += config_key_set_has(&c->_keys_set, i);
    return n;
}

static struct admission_limits limits_of(const struct config_upstream *u)
{
    return (struct admission_limits){
        .max_inflight = (uint32_t)u->max_inflight,
        .max_tokens = u->max_tokens,
        .classes = {[ADMISSION_INTERACTIVE] = {.max_queue = (uint32_t)u->max_queue,
                                               .max_queue_ns = u->queue_timeout_ns},
                    [ADMISSION_BATCH] = {.max_inflight = (uint32_t)u->batch_max_inflight,
                                         .max_tokens = u->batch_max_tokens,
                                         .max_queue = (uint32_t)u->batch_max_queue,
                                         .max_queue_ns = u->batch_queue_timeout_ns}}};
}

int config_to_gateway(const struct config *c, struct gateway_config **ret, struct err *reterr)
{
    struct gateway_config *g = gateway_config_new();
    struct tls_context *shared = NULL;
    int r = 0;

    if (!g)
        return err_set(reterr, -ENOMEM, "out of memory");
    for (size_t i = 0; r == 0 && i < c->upstreams.n; i++) {
        const struct config_upstream *u = &c->upstreams.items[i];

        r = gateway_upstream_parse(u->name, u->url, &g->upstreams[i], reterr);
        if (r == 0)
            r = reach_fill(u, &shared, &g->upstreams[i], reterr);
        g->upstreams[i].limits = limits_of(u);
        (void)span_copy(span_cstr(u->version), g->upstreams[i].model_version,
                        sizeof(g->upstreams[i].model_version));
    }
    tls_context_unref(shared);
    if (r < 0) {
        gateway_config_unref(g);
        return r;
    }
    g->n_upstreams = c->upstreams.n;
    g->request_window_bytes = (size_t)c->request_window_bytes;
    g->max_body_bytes = c->max_body_bytes;
    g->max_conns = (size_t)c->max_conns;
    g->max_idle_upstream = (size_t)c->max_idle_upstream;
    g->connect_timeout_ns = c->connect_timeout_ns;
    g->first_byte_timeout_ns = c->first_byte_timeout_ns;
    g->idle_timeout_ns = c->idle_timeout_ns;
    g->total_timeout_ns = c->total_timeout_ns;
    g->client_head_timeout_ns = c->client_head_timeout_ns;
    g->client_body_timeout_ns = c->client_body_timeout_ns;
    g->client_idle_timeout_ns = c->client_idle_timeout_ns;
    g->client_write_timeout_ns = c->client_write_timeout_ns;
    g->upstream_idle_timeout_ns = c->upstream_idle_timeout_ns;
    g->dns_ttl_ns = c->dns_ttl_ns;
    g->retry = (struct gateway_retry){.max_attempts = (uint32_t)c->retry_attempts,
                                      .budget_percent = (uint32_t)c->retry_budget,
                                      .same_upstream = c->retry_same_upstream,
                                      .backoff_ns = c->retry_backoff_ns,
                                      .max_wait_ns = c->retry_max_wait_ns};
    *ret = g;
    return 0;
}

static bool differs(const struct config_key *key, const void *a, const void *b,
                    enum config_reload class)
{
    if (key->item) /* its keys have classes of their own */
        return config_items_differ(key, a, b, class);
    return key->reload == class && !key->type->is_equal(key, a, b);
}

size_t config_diff(const struct config *a, const struct config *b, enum config_reload class,
                   const char *ret_paths[CONFIG_KEYS_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < config_keys_n; i++) {
        const struct config_key *key = &config_keys[i];

        if (differs(key, config_keys_const_field(key, a), config_keys_const_field(key, b), class))
            ret_paths[n++] = key->path;
    }
    return n;
}

/* The three texts: all of it or nothing. */
static int whole(struct buf *out, size_t n_before, int r)
{
    if (r < 0)
        buf_truncate(out, n_before);
    return r;
}

int config_to_yaml(const struct config *c, struct buf *out)
{
    size_t n_before = buf_len(out);
    return whole(out, n_before, config_docs_values(c, out));
}

int config_to_markdown(struct buf *out)
{
    size_t n_before = buf_len(out);
    return whole(out, n_before, config_docs_markdown(out));
}

int config_to_yaml_example(struct buf *out)
{
    size_t n_before = buf_len(out);
    return whole(out, n_before, config_docs_example(out));
}
