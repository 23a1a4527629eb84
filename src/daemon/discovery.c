/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/discovery.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "dialect/dialect.h"
#include "http/client.h"
#include "wire/json.h"

#define ANSWER_WITHIN_NS (10 * NS_PER_S)

/* One upstream's question. */
struct asking {
    struct discovery *d;
    size_t upstream;
    struct http_pool *pool;     /* NULL: is not asked */
    struct http_client *client; /* under way, or NULL */
    struct timer late;
    struct buf body;
    int status;
    char **names; /* as told last */
    size_t n_names;
    bool is_failing; /* said already */
};

struct discovery {
    struct loop *loop;
    struct discovery_deps deps;
    struct timer next;
    struct asking askings[GATEWAY_UPSTREAMS_MAX];
    struct buf head; /* scratch */
    pthread_t thread;
    bool is_running;
};

static const char *name_of(const struct asking *a)
{
    return a->d->deps.config->upstreams[a->upstream].name;
}

static void failed(struct asking *a, const char *why)
{
    a->client = NULL;
    loop_timer_stop(a->d->loop, &a->late);
    if (!a->is_failing)
        LOG_WARN("upstream \"%s\" does not list its models: %s; name them with \"models\" in its "
                 "configuration if requests go astray",
                 name_of(a), why);
    a->is_failing = true;
}

/* --- names --- */

static void names_free(char **names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        mem_free(names[i]);
    mem_free(names);
}

static bool is_same(const struct asking *a, char *const *names, size_t n)
{
    for (size_t i = 0; n == a->n_names && i < n; i++) {
        if (strcmp(names[i], a->names[i]) != 0)
            return false;
    }
    return n == a->n_names;
}

/* The "id" of the object that was entered; "" without one that fits. */
static void read_id(struct json *j, char id[DIALECT_MODEL_MAX])
{
    struct span key;

    id[0] = '\0';
    while (json_key(j, &key)) {
        struct json_value v;

        if (!span_eq(key, SPAN("id")) || !json_next(j, &v))
            continue; /* what was not taken is skipped by the next json_key */
        if (v.type == JSON_OBJECT || v.type == JSON_ARRAY)
            (void)json_leave(j); /* the status is sticky */
        else if (v.type == JSON_STRING && v.raw.n < DIALECT_MODEL_MAX)
            (void)json_unescape(v.raw, id, DIALECT_MODEL_MAX);
    }
}

/* Items of the array that was entered. -ENOMEM. */
static int read_items(struct json *j, char **names, size_t *n)
{
    while (json_item(j)) {
        char id[DIALECT_MODEL_MAX];
        struct json_value v;

        if (!json_next(j, &v) || v.type != JSON_OBJECT) {
            if (v.type == JSON_ARRAY)
                (void)json_leave(j); /* the status is sticky */
            continue;
        }
        read_id(j, id);
        if (id[0] == '\0' || *n == DISCOVERY_NAMES_MAX)
            continue;
        names[*n] = mem_strdup(id);
        if (!names[*n])
            return -ENOMEM;
        ++*n;
    }
    return 0;
}

/* {"data":[{"id":"..."}]}: 0 with the names; -EBADMSG, -ENOMEM. */
static int read_list(struct span body, char **names, size_t *n)
{
    struct json j;
    struct json_value v;
    struct span key;
    bool has_list = false;
    int r = 0;

    json_init(&j, body);
    if (!json_next(&j, &v) || v.type != JSON_OBJECT)
        return -EBADMSG;
    while (r == 0 && json_key(&j, &key)) {
        if (!span_eq(key, SPAN("data"))) {
            (void)json_skip(&j); /* the status is sticky */
        } else if (json_next(&j, &v) && v.type == JSON_ARRAY) {
            has_list = true;
            r = read_items(&j, names, n);
        }
    }
    return r < 0 || (has_list && json_status(&j) != JSON_ERROR) ? r : -EBADMSG;
}

static void take_list(struct asking *a)
{
    char **names = mem_zalloc(DISCOVERY_NAMES_MAX, sizeof(*names));
    size_t n = 0;
    int r = names ? read_list(buf_span(&a->body), names, &n) : -ENOMEM;

    if (r < 0) {
        names_free(names, n);
        failed(a, r == -ENOMEM ? "out of memory" : "the answer is no list of models");
        return;
    }
    a->is_failing = false;
    if (is_same(a, names, n)) {
        names_free(names, n);
        return;
    }
    LOG_INFO("upstream \"%s\" lists %zu models", name_of(a), n);
    names_free(a->names, a->n_names);
    a->names = names;
    a->n_names = n;
    a->d->deps.on_listed(a->d->deps.arg, a->upstream, (const char *const *)names, n);
}

/* --- the exchange --- */

static int write_head(struct asking *a, struct buf *out)
{
    struct routes_credential key = routes_credential(a->d->deps.routes, a->upstream, NULL);
    int r;

    buf_clear(out);
    r = gateway_upstream_head(&a->d->deps.config->upstreams[a->upstream], SPAN("GET"),
                              SPAN("/v1/models"), out);
    if (r == 0)
        r = http_head_field(out, SPAN("Accept"), SPAN("application/json"));
    if (r == 0 && key.name.n > 0)
        r = http_head_field(out, key.name, key.value);
    return r < 0 ? r : http_head_end(out, (struct http_framing){HTTP1_BODY_NONE, 0});
}

static void on_ready(struct http_client *c)
{
    struct asking *a = c->user;

    if (write_head(a, &a->d->head) == 0 &&
        http_client_send(c, buf_span(&a->d->head), (struct http_framing){HTTP1_BODY_NONE, 0}, NULL,
                         0, true, false, NULL) == 0)
        return;
    http_client_abort(c);
    failed(a, "the request could not be sent");
}

static void on_head(struct http_client *c, const struct http1_head *head, struct stamp at)
{
    struct asking *a = c->user;

    (void)at;
    a->status = head->status;
}

static void on_body(struct http_client *c, struct span bytes, struct stamp at)
{
    struct asking *a = c->user;

    (void)at;
    if (buf_append(&a->body, bytes) == 0)
        return;
    http_client_abort(c);
    failed(a, "the answer is too large");
}

static void on_end(struct http_client *c, struct stamp at)
{
    struct asking *a = c->user;
    char why[64];

    (void)at;
    loop_timer_stop(a->d->loop, &a->late);
    a->client = NULL; /* goes back to its pool */
    if (a->status == 200) {
        take_list(a);
    } else {
        (void)snprintf(why, sizeof(why), "it answers with status %d", a->status);
        failed(a, why);
    }
    buf_clear(&a->body);
}

static void on_failed(struct http_client *c, enum http_phase phase, int error, bool had_bytes,
                      struct stamp at)
{
    (void)phase;
    (void)had_bytes;
    (void)at;
    failed(c->user, err_str(error));
}

static const struct http_client_ops client_ops = {
    .on_ready = on_ready,
    .on_head = on_head,
    .on_body = on_body,
    .on_end = on_end,
    .on_failed = on_failed,
};

static void on_late(struct timer *t)
{
    struct asking *a = CONTAINER_OF(t, struct asking, late);

    if (!a->client)
        return;
    http_client_abort(a->client);
    failed(a, "it does not answer in time");
}

static void ask(struct asking *a)
{
    if (!a->pool || a->client)
        return;
    buf_clear(&a->body);
    a->status = 0;
    if (http_pool_acquire(a->pool, &client_ops, a, true, &a->client) < 0)
        failed(a, "out of memory");
    else
        loop_timer_start(a->d->loop, &a->late, ANSWER_WITHIN_NS);
}

static void on_next(struct timer *t)
{
    struct discovery *d = CONTAINER_OF(t, struct discovery, next);

    for (size_t i = 0; i < d->deps.config->n_upstreams; i++)
        ask(&d->askings[i]);
    loop_timer_start(d->loop, &d->next, d->deps.every_ns);
}

/* --- life --- */

static int askings_open(struct discovery *d)
{
    int r = 0;

    for (size_t i = 0; i < d->deps.config->n_upstreams && r == 0; i++) {
        struct asking *a = &d->askings[i];

        a->d = d;
        a->upstream = i;
        timer_init(&a->late, on_late);
        buf_init(&a->body, DISCOVERY_BODY_MAX);
        if (d->deps.is_asked[i])
            r = gateway_upstream_pool(d->deps.config, i, d->loop, d->deps.resolver, &a->pool);
    }
    return r;
}

static void *discovery_main(void *arg)
{
    struct discovery *d = arg;

    process_name_thread("discovery");
    loop_run(d->loop);
    return NULL;
}

int discovery_start(const struct discovery_deps *deps, struct discovery **ret)
{
    struct discovery *d = mem_zalloc(1, sizeof(*d));
    int r;

    if (!d)
        return -ENOMEM;
    d->deps = *deps;
    gateway_config_ref(d->deps.config);
    routes_ref(d->deps.routes);
    timer_init(&d->next, on_next);
    buf_init(&d->head, 64 * KIB);
    r = loop_new(&d->loop);
    if (r == 0)
        r = askings_open(d);
    if (r == 0) {
        loop_timer_start(d->loop, &d->next, 0);
        r = -pthread_create(&d->thread, NULL, discovery_main, d);
    }
    if (r < 0) {
        discovery_stop(d);
        discovery_free(d);
        return r;
    }
    d->is_running = true;
    *ret = d;
    return 0;
}

void discovery_stop(struct discovery *d)
{
    if (!d)
        return;
    if (d->is_running) {
        loop_stop(d->loop);
        pthread_join(d->thread, NULL);
    }
    d->is_running = false;
    if (d->loop)
        loop_timer_stop(d->loop, &d->next);
    for (size_t i = 0; i < GATEWAY_UPSTREAMS_MAX; i++) {
        struct asking *a = &d->askings[i];

        if (a->client)
            http_client_abort(a->client);
        if (a->d)
            loop_timer_stop(d->loop, &a->late);
        a->client = NULL;
        names_free(a->names, a->n_names);
        a->names = NULL;
        a->n_names = 0;
        buf_done(&a->body);
    }
    if (d->loop) { /* lets what was deferred free itself */
        loop_turn(d->loop, 0);
        loop_turn(d->loop, 0);
    }
    for (size_t i = 0; i < GATEWAY_UPSTREAMS_MAX; i++)
        d->askings[i].pool = http_pool_free(d->askings[i].pool);
}

struct discovery *discovery_free(struct discovery *d)
{
    if (!d)
        return NULL;
    if (d->loop)
        loop_turn(d->loop, 0); /* the resolver's last answers: nobody is left who asked */
    buf_done(&d->head);
    routes_unref(d->deps.routes);
    gateway_config_unref(d->deps.config);
    loop_free(d->loop);
    mem_free(d);
    return NULL;
}

struct routes_message {
    struct discovery *d;
    struct routes *routes;
};

static void routes_message_run(void *arg)
{
    struct routes_message *m = arg;
    struct routes *old = m->d->deps.routes;

    m->d->deps.routes = m->routes;
    routes_unref(old);
    mem_free(m);
}

int discovery_post_routes(struct discovery *d, struct routes *routes)
{
    struct routes_message *m = mem_alloc(sizeof(*m));
    int r;

    if (!m)
        return -ENOMEM;
    *m = (struct routes_message){d, routes_ref(routes)};
    r = loop_post(d->loop, routes_message_run, m);
    if (r < 0) {
        routes_unref(routes);
        mem_free(m);
    }
    return r;
}
