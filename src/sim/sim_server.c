/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/sim_server.c - requests to routes. A request to a completion route becomes a struct request
 * with its answer inside; the others are answered in one call when they are complete.
 */
#include "sim/sim_server.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "base/jsonw.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/num.h"
#include "http/server.h"
#include "sim/completion.h"
#include "sim/sim_answer.h"

enum { MAX_CONNS = 100000, MAX_TRUTH_JSON = 256 * MIB };

struct worker {
    pthread_t thread;
    struct sim_server *sim;
    struct http_server *http;
    struct sim_engine engine;
    bool is_running;
};

struct sim_server {
    struct sim_config config;
    int fd;
    struct truth *truth;
    int n_workers;
    struct worker workers[SIM_WORKERS_MAX];
};

enum route { ROUTE_CHAT, ROUTE_COMPLETIONS, ROUTE_MODELS, ROUTE_HEALTH, ROUTE_TRUTH, ROUTE_NONE };

struct request {
    struct sim_answer answer;
    struct worker *worker;
    struct http_server_conn *conn;
    enum route route;
    bool is_method_wrong;
    bool is_answering;
    int error_status; /* 0: none */
    struct err error;
    struct buf body;
    char id[TRUTH_ID_MAX];
    char query[TRUTH_ID_MAX + 16]; /* of /sim/truth */
};

void sim_config_init(struct sim_config *c)
{
    *c = (struct sim_config){
        .n_workers = 1,
        .model_name = "simulated",
        .n_truth = 4096,
        .idle_close_ns = 300 * NS_PER_S,
        .seed = 1,
    };
    model_config_init(&c->model);
    switches_init(&c->defaults);
}

/* --- requests --- */

static void request_free(struct request *r)
{
    buf_done(&r->body);
    mem_free(r);
}

static void request_on_over(struct sim_answer *a)
{
    request_free(CONTAINER_OF(a, struct request, answer));
}

static enum route route_find(struct span path, struct span method, bool *ret_is_method_wrong)
{
    static const struct {
        struct span path, method;
    } routes[] = {
        [ROUTE_CHAT] = {SPAN_INIT("/v1/chat/completions"), SPAN_INIT("POST")},
        [ROUTE_COMPLETIONS] = {SPAN_INIT("/v1/completions"), SPAN_INIT("POST")},
        [ROUTE_MODELS] = {SPAN_INIT("/v1/models"), SPAN_INIT("GET")},
        [ROUTE_HEALTH] = {SPAN_INIT("/health"), SPAN_INIT("GET")},
        [ROUTE_TRUTH] = {SPAN_INIT("/sim/truth"), SPAN_INIT("GET")},
    };

    for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
        if (span_eq(path, routes[i].path)) {
            *ret_is_method_wrong = !span_eq(method, routes[i].method);
            return (enum route)i;
        }
    }
    return ROUTE_NONE;
}

/* Errors of the switches are told when the request is complete. */
static void request_read_fields(struct request *r, const struct http1_head *head)
{
    for (size_t i = 0; i < head->n_fields && r->error_status == 0; i++) {
        const struct http1_field *f = &head->fields[i];

        if (span_eq_nocase(f->name, SPAN("X-Request-Id")))
            (void)span_copy(f->value, r->id, sizeof(r->id));
        else if (switches_header(&r->answer.switches, f->name, f->value, &r->error) < 0)
            r->error_status = 400;
    }
}

static void request_begin_answer(struct request *r, mono_t at)
{
    r->is_answering = true;
    sim_answer_begin(&r->answer, &r->worker->engine, r->conn, span_cstr(r->id), at);
}

static void on_request(struct http_server_conn *c, const struct http_request_info *info)
{
    struct worker *w = http_server_owner(c->server);
    struct span query = info->head->target;
    struct span path = span_split(&query, '?');
    struct request *r = mem_zalloc(1, sizeof(*r));

    if (!r) {
        http_server_reply(c, 503, SPAN("text/plain"), SPAN("out of memory\n"));
        return;
    }
    c->request = r;
    r->worker = w;
    r->conn = c;
    r->answer.on_over = request_on_over;
    r->answer.switches = w->sim->config.defaults;
    buf_init(&r->body, LIMIT_REQUEST_BODY_BYTES);
    ask_init(&r->answer.ask);
    r->route = route_find(path, info->head->method, &r->is_method_wrong);
    (void)span_copy(query, r->query, sizeof(r->query));
    request_read_fields(r, info->head);
    r->answer.is_chat = r->route == ROUTE_CHAT;
    if (r->route <= ROUTE_COMPLETIONS && !r->is_method_wrong && r->error_status == 0 &&
        r->answer.switches.is_early) {
        r->answer.ask.is_stream = true;
        request_begin_answer(r, info->last.at);
        return;
    }
    if (http_server_continue(c) < 0)
        r->error_status = 500; /* the connection is broken: on_gone or the reply ends it */
}

static void on_body(struct http_server_conn *c, struct span bytes, struct stamp at)
{
    struct request *r = c->request;

    (void)at;
    if (!r || r->is_answering || r->error_status != 0)
        return;
    if (buf_append(&r->body, bytes) < 0) {
        r->error_status = 413;
        (void)err_set(&r->error, -EMSGSIZE, "request body over 64 MiB");
    }
}

static void request_reply_error(struct request *r, int status, const char *message,
                                const char *hint)
{
    struct http_server_conn *c = r->conn;
    struct buf out;

    buf_init(&out, 8 * KIB);
    if (completion_render_error(&out, status, message, hint) < 0)
        buf_clear(&out);
    request_free(r);
    http_server_reply(c, status, SPAN("application/json"), buf_span(&out));
    buf_done(&out);
}

static void request_reply_models(struct request *r)
{
    struct http_server_conn *c = r->conn;
    struct jsonw w;
    struct buf out;

    buf_init(&out, 8 * KIB);
    jsonw_init(&w, &out);
    jsonw_begin_object(&w);
    jsonw_key(&w, "object");
    jsonw_cstr(&w, "list");
    jsonw_key(&w, "data");
    jsonw_begin_array(&w);
    jsonw_begin_object(&w);
    jsonw_key(&w, "id");
    jsonw_cstr(&w, r->worker->sim->config.model_name);
    jsonw_key(&w, "object");
    jsonw_cstr(&w, "model");
    jsonw_key(&w, "owned_by");
    jsonw_cstr(&w, "inferometer-sim");
    jsonw_end_object(&w);
    jsonw_end_array(&w);
    jsonw_end_object(&w);
    request_free(r);
    http_server_reply(c, jsonw_error(&w) == 0 ? 200 : 500, SPAN("application/json"),
                      buf_span(&out));
    buf_done(&out);
}

/* --- /sim/truth --- */

static int truth_query(struct truth *t, struct span query, struct buf *out)
{
    uint64_t n;

    if (span_starts_with(query, SPAN("id=")))
        return truth_json_by_id(t, span_from(query, 3), out);
    if (span_starts_with(query, SPAN("last=")) && num_parse_u64(span_from(query, 5), &n) == 0)
        return truth_json_last(t, (size_t)n, out);
    return -EINVAL;
}

static void request_reply_truth(struct request *r)
{
    struct truth *t = r->worker->sim->truth;
    struct http_server_conn *c = r->conn;
    struct buf out;
    int result;

    if (!t) {
        request_reply_error(r, 404, "no truth is kept", "start the simulator without --truth 0");
        return;
    }
    buf_init(&out, MAX_TRUTH_JSON);
    result = truth_query(t, span_cstr(r->query), &out);
    if (result == 0) {
        request_free(r);
        http_server_reply(c, 200, SPAN("application/json"), buf_span(&out));
    } else if (result == -ENOENT) {
        request_reply_error(r, 404, "no finished request with that id is remembered",
                            "requests appear when they end; raise --truth to keep more");
    } else if (result == -EINVAL) {
        request_reply_error(r, 400, "the query must be id=X-REQUEST-ID or last=N", "");
    } else {
        request_reply_error(r, 500, err_str(result), "");
    }
    buf_done(&out);
}

static void request_complete(struct request *r, mono_t at)
{
    const char *why = "";
    int status;

    if (ask_parse(buf_span(&r->body), &r->answer.ask, &why) < 0) {
        request_reply_error(r, 400, why, "");
        return;
    }
    buf_done(&r->body);
    buf_init(&r->body, LIMIT_REQUEST_BODY_BYTES);
    status = r->answer.ask.n_choices > 8 ? 400 : 0;
    if (status != 0)
        request_reply_error(r, status, "n may be at most 8", "");
    else
        request_begin_answer(r, at);
}

static void on_end(struct http_server_conn *c, struct stamp at)
{
    struct request *r = c->request;

    if (!r || r->is_answering)
        return;
    if (r->error_status != 0) {
        request_reply_error(r, r->error_status, r->error.text, r->error.hint);
        return;
    }
    if (r->is_method_wrong) {
        request_reply_error(r, 405, "method not allowed", "");
        return;
    }
    switch (r->route) {
    case ROUTE_CHAT:
    case ROUTE_COMPLETIONS:
        request_complete(r, at.at);
        break;
    case ROUTE_MODELS:
        request_reply_models(r);
        break;
    case ROUTE_TRUTH:
        request_reply_truth(r);
        break;
    case ROUTE_HEALTH:
        request_free(r);
        http_server_reply(c, 200, SPAN("application/json"), SPAN("{\"status\":\"ok\"}\n"));
        break;
    case ROUTE_NONE:
        request_reply_error(r, 404, "no such path",
                            "served are /v1/chat/completions, /v1/completions, /v1/models, /health "
                            "and /sim/truth");
        break;
    }
}

static void on_gone(struct http_server_conn *c, int error, struct stamp at)
{
    struct request *r = c->request;

    (void)error;
    (void)at;
    if (!r)
        return;
    if (r->is_answering)
        sim_answer_gone(&r->answer);
    else
        request_free(r);
}

static void on_drained(struct http_server_conn *c)
{
    struct request *r = c->request;

    if (r && r->is_answering)
        sim_answer_drained(&r->answer);
}

/* --- workers --- */

static void *worker_run(void *arg)
{
    struct worker *w = arg;

    loop_run(w->engine.loop);
    w->http = http_server_free(w->http);
    loop_turn(w->engine.loop, 0); /* what the closing has deferred */
    return NULL;
}

static int worker_init(struct worker *w, struct sim_server *s, int i)
{
    static const struct http_server_ops ops = {
        .on_request = on_request,
        .on_body = on_body,
        .on_end = on_end,
        .on_gone = on_gone,
        .on_drained = on_drained,
    };
    struct http_server_config config = {
        .head_timeout_ns = 60 * NS_PER_S,
        .idle_timeout_ns = s->config.idle_close_ns,
        .body_timeout_ns = 60 * NS_PER_S,
        .max_conns = MAX_CONNS,
        .max_queue_bytes = MAX_TRUTH_JSON,
    };
    struct model_config model = s->config.model;
    int r;

    w->sim = s;
    model.concurrency = (model.concurrency + s->n_workers - 1) / s->n_workers;
    model_init(&w->engine.model, &model, s->config.seed + (uint64_t)i);
    rng_seed_random(&w->engine.rng);
    words_init(&w->engine.words);
    w->engine.truth = s->truth;
    buf_init(&w->engine.scratch, LIMIT_REQUEST_BODY_BYTES);
    r = loop_new(&w->engine.loop);
    if (r == 0)
        r = http_server_new(w->engine.loop, &ops, &config, w, &w->http);
    if (r == 0)
        r = http_server_listen(w->http, s->fd);
    if (r == 0)
        r = -pthread_create(&w->thread, NULL, worker_run, w);
    w->is_running = r == 0;
    return r;
}

static void worker_done(struct worker *w)
{
    if (w->is_running) {
        loop_stop(w->engine.loop);
        (void)pthread_join(w->thread, NULL); /* cannot fail for a thread of ours */
    }
    w->http = http_server_free(w->http);
    w->engine.loop = loop_free(w->engine.loop);
    buf_done(&w->engine.scratch);
}

int sim_server_start(const struct sim_config *c, struct sim_server **ret, struct addr *ret_bound,
                     struct err *reterr)
{
    struct sim_server *s = mem_zalloc(1, sizeof(*s));
    char text[ADDR_TEXT_MAX];
    int r;

    if (!s)
        return err_set(reterr, -ENOMEM, "out of memory");
    s->config = *c;
    s->n_workers = c->n_workers;
    s->fd = listener_open(&c->listen, 4096, ret_bound);
    if (s->fd < 0) {
        r = s->fd;
        addr_format(&c->listen, text);
        (void)err_set(reterr, r, "could not listen on %s: %s", text, err_str(r));
        err_hint(reterr, "choose another --listen address, or port 0 for any free one");
        mem_free(s);
        return r;
    }
    r = c->n_truth > 0 ? truth_new(c->n_truth, &s->truth) : 0;
    for (int i = 0; i < s->n_workers && r == 0; i++)
        r = worker_init(&s->workers[i], s, i);
    if (r < 0) {
        (void)err_set(reterr, r, "could not start the workers: %s", err_str(r));
        (void)sim_server_stop(s); /* always NULL */
        return r;
    }
    *ret = s;
    return 0;
}

struct sim_server *sim_server_stop(struct sim_server *s)
{
    if (!s)
        return NULL;
    for (int i = 0; i < s->n_workers; i++)
        worker_done(&s->workers[i]);
    close(s->fd);
    s->truth = truth_free(s->truth);
    mem_free(s);
    return NULL;
}
