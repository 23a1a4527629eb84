/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/api.c - requests of the admin listener to their handlers. Only GET and HEAD exist; answers
 * are rendered whole and sent once the request is complete.
 */
#include "api/api.h"

#include <errno.h>
#include <stdio.h>

#include "api/routes.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/mem.h"
#include "http/server.h"

#define ANSWER_MAX_BYTES (64 * MIB)

struct api {
    struct api_sources sources;
    struct http_server *server;
};

/* What is known when the head is there; kept until the request is complete. */
struct pending {
    struct api_answer answer;
};

struct span api_query_value(struct span query, struct span name)
{
    while (query.n > 0) {
        struct span value = span_split(&query, '&');
        struct span key = span_split(&value, '=');

        if (span_eq(key, name))
            return value.p ? value : SPAN("");
    }
    return (struct span){0};
}

void api_answer_error(struct api_answer *a, int status, const char *text)
{
    struct jsonw w;

    a->status = status;
    a->content_type = "application/json";
    a->is_gzip = false;
    buf_clear(&a->body);
    jsonw_init(&w, &a->body);
    jsonw_begin_object(&w);
    jsonw_key(&w, "error");
    jsonw_cstr(&w, text);
    jsonw_end_object(&w);
    if (jsonw_error(&w) < 0 || buf_append(&a->body, SPAN("\n")) < 0)
        buf_clear(&a->body);
}

static void answer_make(struct api *a, const struct http1_head *head, struct api_answer *ret)
{
    struct span query = head->target;
    struct api_request req = {.sources = &a->sources, .head = head};
    const struct route *route;

    req.path = span_split(&query, '?');
    req.query = query;
    route = route_find(req.path);
    if (!route)
        api_answer_error(ret, 404, "no such page; GET / lists what there is");
    else if (!span_eq(head->method, SPAN("GET")) && !span_eq(head->method, SPAN("HEAD")))
        api_answer_error(ret, 405, "only GET and HEAD are served here");
    else
        route->handle(&req, ret);
}

static void on_request(struct http_server_conn *c, const struct http_request_info *info)
{
    struct api *a = http_server_owner(c->server);
    struct pending *p = mem_zalloc(1, sizeof(*p));

    if (!p) {
        http_server_end(c);
        return;
    }
    p->answer.status = 200;
    p->answer.content_type = "application/json";
    buf_init(&p->answer.body, ANSWER_MAX_BYTES);
    c->request = p;
    answer_make(a, info->head, &p->answer);
}

static void pending_free(struct pending *p)
{
    if (!p)
        return;
    buf_done(&p->answer.body);
    mem_free(p);
}

static void on_body(struct http_server_conn *c, struct span bytes, struct stamp at)
{
    (void)c;
    (void)bytes;
    (void)at;
}

static void on_end(struct http_server_conn *c, struct stamp at)
{
    struct pending *p = c->request;
    struct span body;
    char fields[256];
    int n;

    (void)at;
    if (!p)
        return;
    body = buf_span(&p->answer.body);
    n = snprintf(fields, sizeof(fields),
                 "Content-Type: %s\r\nCache-Control: no-store\r\n"
                 "X-Content-Type-Options: nosniff\r\n%s%s",
                 p->answer.content_type, p->answer.is_gzip ? "Content-Encoding: gzip\r\n" : "",
                 p->answer.status == 405 ? "Allow: GET, HEAD\r\n" : "");
    if (http_server_head(c, p->answer.status, (struct span){0}, span_of(fields, (size_t)n),
                         (struct http_framing){HTTP1_BODY_LENGTH, body.n}, &body, 1, true) < 0 ||
        http_server_queued_bytes(c) == 0) {
        pending_free(p);
        http_server_end(c);
    } else {
        buf_done(&p->answer.body); /* the rest is queued: on_drained ends the request */
    }
}

static void on_drained(struct http_server_conn *c)
{
    if (!c->request || http_server_queued_bytes(c) > 0)
        return;
    pending_free(c->request);
    http_server_end(c);
}

static void on_gone(struct http_server_conn *c, int error, struct stamp at)
{
    (void)error;
    (void)at;
    pending_free(c->request);
    c->request = NULL;
}

static const struct http_server_ops api_ops = {
    .on_request = on_request,
    .on_body = on_body,
    .on_end = on_end,
    .on_gone = on_gone,
    .on_drained = on_drained,
};

int api_new(struct loop *l, const struct api_sources *sources, struct api **ret)
{
    struct http_server_config config = {
        .head_timeout_ns = 10 * NS_PER_S,
        .body_timeout_ns = 10 * NS_PER_S,
        .idle_timeout_ns = 75 * NS_PER_S,
        .write_timeout_ns = 10 * NS_PER_S,
        .max_conns = 64,
        .max_queue_bytes = ANSWER_MAX_BYTES + 64 * KIB,
        .is_internal = true,
    };
    struct api *a = mem_zalloc(1, sizeof(*a));
    int r;

    if (!a)
        return -ENOMEM;
    a->sources = *sources;
    r = http_server_new(l, &api_ops, &config, a, &a->server);
    if (r < 0) {
        mem_free(a);
        return r;
    }
    *ret = a;
    return 0;
}

struct api *api_free(struct api *a)
{
    if (!a)
        return NULL;
    http_server_free(a->server);
    mem_free(a);
    return NULL;
}

int api_listen(struct api *a, int fd)
{
    return http_server_listen(a->server, fd, NULL);
}
