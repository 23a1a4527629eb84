/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/api.c - requests of the admin listener to their handlers. Answers are rendered whole and sent
 * once the request is complete, or later, when another thread has made them.
 */
#include "api/api.h"

#include <errno.h>
#include <stdio.h>

#include "api/changes.h"
#include "api/methods.h"
#include "api/queries.h"
#include "api/routes.h"
#include "api/web_files.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/mem.h"
#include "http/server.h"

#define ANSWER_MAX_BYTES QUERIES_ANSWER_MAX
#define FORM_MAX_BYTES   (2 * MIB)
#define POST_MAX_BYTES   (16 * KIB) /* whoever posts that has shown no token yet */
#define FIELDS_MAX_BYTES (8 * KIB)

struct api {
    struct api_sources sources;
    struct http_server *server;
    struct queries *queries;
    struct changes *changes;
    struct list later;     /* pending requests whose answer another thread makes */
    size_t n_unread_bytes; /* of answers that wait for their clients */
};

/* What is known when the head is there; kept until the answer is out. */
struct pending {
    struct api_answer answer;
    const struct route *route;
    struct http_server_conn *conn;
    bool wants_text;
    uint64_t number; /* of the question; while in api.later */
    struct list link;
    /* Calls of Prometheus' API, and forms: begun when the form is there. */
    bool is_call, is_post, has_form;
    struct api_form posted;  /* is_post: but for what is still to come */
    struct span method;      /* static */
    struct span path, query; /* in target */
    char *target;
    struct buf form;
    bool is_change;
    struct session who; /* of events */
    struct changes_stream stream;
    struct query *under_way;
    size_t n_unread_bytes; /* of the answer, when it was sent */
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
    a->is_events = false;
    a->fields = a->cache = a->etag = NULL;
    buf_clear(&a->more_fields);
    buf_clear(&a->body);
    jsonw_init(&w, &a->body);
    jsonw_begin_object(&w);
    jsonw_put_cstr(&w, "error", text);
    jsonw_end_object(&w);
    if (jsonw_error(&w) < 0 || buf_append(&a->body, SPAN("\n")) < 0)
        buf_clear(&a->body);
}

/* Keeps what a call needs when the request is whole. */
static void call_keep(const struct http1_head *head, struct pending *p)
{
    struct span type = http1_field_value(head, SPAN("Content-Type"));
    p->target = mem_strndup(head->target.p, head->target.n);
    if (!p->target) {
        api_answer_error(&p->answer, 500, "out of memory");
        return;
    }
    p->query = span_of(p->target, head->target.n);
    p->path = span_split(&p->query, '?');
    p->is_call = true;
    p->method = methods_is_look(head->method)           ? SPAN("GET")
                : span_eq(head->method, SPAN("DELETE")) ? SPAN("DELETE")
                                                        : SPAN("POST");
    p->has_form = span_starts_with(type, SPAN("application/x-www-form-urlencoded"));
}

static void post_keep(const struct api_request *req, struct pending *p)
{
    struct span origin = http1_field_value(req->head, SPAN("Origin"));

    p->is_post = true;
    buf_init(&p->form, POST_MAX_BYTES);
    p->posted.language = web_files_language(req->head);
    p->posted.wants_html = web_files_are_wanted(req->head);
    p->posted.is_https = span_starts_with(origin, SPAN("https://"));
}

static void access_read(const struct api *a, struct api_access *ret)
{
    *ret = (struct api_access){0};
    if (a->sources.access)
        a->sources.access(a->sources.arg, ret);
}

static void answer_make(struct api *a, const struct http1_head *head, struct pending *p)
{
    struct api_access access;
    access_read(a, &access);
    struct session session = session_of(&access, head, clock_real_ns() / NS_PER_S);
    struct api_request req = {.sources = &a->sources,
                              .access = &access,
                              .session = &session,
                              .head = head,
                              .query = head->target};

    req.path = span_split(&req.query, '?');
    p->route = route_find(req.path);
    if (methods_refuse(&req, p->route, &p->answer))
        return;
    p->is_change = methods_is_change(p->route, head->method);
    p->who = session;
    if (p->route->post && !methods_is_look(head->method))
        post_keep(&req, p);
    else if (p->route->call)
        call_keep(head, p);
    else
        p->route->handle(&req, &p->answer);
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
    buf_init(&p->answer.more_fields, FIELDS_MAX_BYTES);
    buf_init(&p->form, FORM_MAX_BYTES);
    c->request = p;
    p->conn = c;
    p->wants_text =
        http1_list_has(http1_field_value(info->head, SPAN("Accept")), SPAN("text/plain"));
    list_init(&p->link);
    answer_make(a, info->head, p);
}

static struct api *api_of(const struct pending *p)
{
    return http_server_owner(p->conn->server);
}

static void pending_free(struct pending *p)
{
    if (!p)
        return;
    list_remove(&p->link);
    changes_leave(&p->stream);
    api_of(p)->n_unread_bytes -= p->n_unread_bytes;
    if (p->under_way)
        queries_leave(p->under_way);
    buf_done(&p->answer.body);
    buf_done(&p->answer.more_fields);
    buf_done(&p->form);
    mem_free(p->target);
    mem_free(p);
}

static void on_body(struct http_server_conn *c, struct span bytes, struct stamp at)
{
    struct pending *p = c->request;
    int r = 0;

    (void)at;
    if (p && (p->is_call || p->is_post))
        r = buf_append(&p->form, bytes);
    if (r < 0) {
        p->is_call = p->is_post = false;
        api_answer_error(&p->answer, r == -EMSGSIZE ? 413 : 500,
                         r == -EMSGSIZE ? "the body is too large" : "out of memory");
    }
}

/* Clients that read slowly do not take the memory of everybody else. */
static bool is_room(const struct pending *p)
{
    size_t n = api_of(p)->n_unread_bytes;
    return n == 0 || n + buf_len(&p->answer.body) <= QUERIES_UNREAD_MAX;
}

static int fields_write(struct pending *p, struct buf *out)
{
    const struct api_answer *a = &p->answer;
    int r =
        buf_printf(out,
                   "Content-Type: %s\r\nCache-Control: %s\r\n"
                   "X-Content-Type-Options: nosniff\r\n%s%s%s%s%s%s",
                   a->content_type, a->cache ? a->cache : "no-store",
                   a->is_gzip ? "Content-Encoding: gzip\r\n" : "",
                   p->answer.status == 405 ? methods_allow(p->route) : "", a->etag ? "ETag: " : "",
                   a->etag ? a->etag : "", a->etag ? "\r\n" : "", a->fields ? a->fields : "");
    return r < 0 ? r : buf_append(out, buf_span(&a->more_fields));
}

static void answer_send(struct pending *p)
{
    struct http_server_conn *c = p->conn;
    if (p->is_change && p->answer.status / 100 == 2)
        changes_note(api_of(p)->changes);
    if (p->is_call && !is_room(p))
        queries_refuse(-ENOBUFS, &p->answer.body, &p->answer.status);
    struct span body = buf_span(&p->answer.body);
    struct buf fields;
    buf_init(&fields, FIELDS_MAX_BYTES);
    int r = fields_write(p, &fields);
    if (r == 0)
        r = http_server_head(c, p->answer.status, (struct span){0}, buf_span(&fields),
                             (struct http_framing){HTTP1_BODY_LENGTH, body.n}, &body, 1, true);
    buf_done(&fields);

    if (r < 0 || http_server_queued_bytes(c) == 0) {
        pending_free(p);
        http_server_end(c);
    } else {
        p->n_unread_bytes = body.n;
        api_of(p)->n_unread_bytes += body.n;
        buf_done(&p->answer.body); /* the rest is queued: on_drained ends the request */
    }
}

static void on_stream_over(struct changes_stream *s)
{
    struct pending *p = CONTAINER_OF(s, struct pending, stream);
    struct http_server_conn *c = p->conn;

    pending_free(p);
    http_server_end(c);
}

static void stream_begin(struct api *a, struct pending *p)
{
    struct buf fields;
    buf_init(&fields, FIELDS_MAX_BYTES);
    int r = fields_write(p, &fields);
    if (r == 0)
        r = changes_join(a->changes, &p->stream, p->conn, &p->who, buf_span(&fields));
    buf_done(&fields);
    if (r == -EAGAIN) {
        api_answer_error(&p->answer, 503, "too many listen to events already");
        answer_send(p);
    } else if (r < 0) {
        on_stream_over(&p->stream);
    }
}

/* Asked only now: the request is whole. */
static void ask_reload(struct api *a, struct pending *p)
{
    p->number = a->sources.reload(a->sources.arg);
    if (p->number > 0) {
        list_push_back(&a->later, &p->link);
        return;
    }
    api_answer_error(&p->answer, 503, "the program is stopping");
    answer_send(p);
}

static void on_answer(void *owner, int status, const char *type, struct buf *body)
{
    struct pending *p = owner;

    p->under_way = NULL;
    p->answer.status = status;
    if (type)
        p->answer.content_type = type;
    buf_done(&p->answer.body);
    p->answer.body = *body;
    buf_init(body, 0);
    answer_send(p);
}

static void call_begin(struct api *a, struct pending *p)
{
    struct query_request r = {.handle = p->route->call,
                              .path = p->path,
                              .query = p->query,
                              .method = p->method,
                              .form = p->has_form ? buf_span(&p->form) : SPAN(""),
                              .content = p->has_form ? SPAN("") : buf_span(&p->form),
                              .is_work = p->route->kind == ROUTE_WORK,
                              .on_answer = on_answer,
                              .owner = p};
    int e = 0;

    if (p->route->kind != ROUTE_QUERY && p->route->kind != ROUTE_WORK)
        queries_run_here(&a->sources, &r, &p->answer.body, &p->answer.status);
    else
        e = queries_start(a->queries, &r, &p->under_way);
    if (e < 0)
        queries_refuse(e, &p->answer.body, &p->answer.status);
    if (!p->under_way)
        answer_send(p);
}

static void post_answer(struct api *a, struct pending *p)
{
    struct api_access access;

    access_read(a, &access);
    p->posted.access = &access;
    p->posted.form = buf_span(&p->form);
    p->route->post(&p->posted, &p->answer);
    answer_send(p);
}

static void on_end(struct http_server_conn *c, struct stamp at)
{
    struct pending *p = c->request;

    (void)at;
    if (!p)
        return;
    if (p->answer.is_later)
        ask_reload(http_server_owner(c->server), p);
    else if (p->is_call)
        call_begin(http_server_owner(c->server), p);
    else if (p->answer.is_events)
        stream_begin(http_server_owner(c->server), p);
    else if (p->is_post)
        post_answer(http_server_owner(c->server), p);
    else
        answer_send(p);
}

void api_reloaded(struct api *a, const struct api_reloaded *r)
{
    struct list *next;

    for (struct list *i = a->later.next; i != &a->later; i = next) {
        struct pending *p = CONTAINER_OF(i, struct pending, link);

        next = i->next;
        if (p->number > r->upto)
            continue;
        list_remove(&p->link);
        p->answer.status = r->status;
        p->answer.content_type = p->wants_text ? "text/plain; charset=utf-8" : "application/json";
        if (buf_append(&p->answer.body, p->wants_text ? r->text : r->json) < 0)
            api_answer_error(&p->answer, 500, "out of memory");
        answer_send(p);
    }
}

static void on_drained(struct http_server_conn *c)
{
    const struct pending *p = c->request;

    if (!p || !list_is_empty(&p->link) || p->under_way || p->answer.is_events ||
        http_server_queued_bytes(c) > 0)
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
        .max_conns = 128,
        .max_queue_bytes = ANSWER_MAX_BYTES + 64 * KIB,
        .is_internal = true,
    };
    struct api *a = mem_zalloc(1, sizeof(*a));
    int r;

    if (!a)
        return -ENOMEM;
    a->sources = *sources;
    list_init(&a->later);
    r = queries_new(l, &a->sources, &a->queries);
    if (r == 0)
        r = changes_new(l, &a->sources, on_stream_over, &a->changes);
    if (r == 0)
        r = http_server_new(l, &api_ops, &config, a, &a->server);
    if (r < 0) {
        changes_free(a->changes);
        queries_free(a->queries);
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
    changes_free(a->changes);
    queries_free(a->queries);
    mem_free(a);
    return NULL;
}

int api_listen(struct api *a, int fd)
{
    return http_server_listen(a->server, fd, NULL);
}

void api_hand_over(struct api *a)
{
    http_server_hand_over(a->server);
}

void api_look(struct api *a)
{
    http_server_look(a->server);
}
