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
#include "base/process.h"
#include "http/server.h"
#include "sim/sim_answer.h"
#include "sim/sim_pages.h"
#include "sim/sim_prefix.h"
#include "sim/sim_routes.h"

enum {
    MAX_CONNS = 100000,
    MAX_TRUTH_JSON = 256 * MIB,
    MAX_PAGE = 256 * MIB,
    PROMPT_TOKEN_BYTES = 4
};

struct worker {
    pthread_t thread;
    struct sim_server *sim;
    struct http_server *http;
    struct sim_engine engine;
    struct sim_prefixes *prefixes; /* of a live engine */
    bool is_running;
};

struct sim_server {
    struct sim_config config;
    int fd;
    struct truth *truth;
    struct voices *voices;
    int n_workers;
    struct worker workers[SIM_WORKERS_MAX];
};

struct request {
    struct sim_answer answer;
    struct worker *worker;
    struct http_server_conn *conn;
    const struct sim_route *route;
    struct play *play; /* named by this request */
    bool is_post;
    bool is_method_wrong;
    bool is_answering;
    int error_status; /* 0: none */
    struct err error;
    struct buf body;
    char id[TRUTH_ID_MAX];
    char query[TRUTH_ID_MAX + 16]; /* of /sim/truth */
    char method[8];
    struct timer timer; /* what is no answer takes its time, too */
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
    loop_timer_stop(r->worker->engine.loop, &r->timer);
    buf_done(&r->body);
    r->play = play_free(r->play);
    mem_free(r);
}

static void request_on_over(struct sim_answer *a)
{
    request_free(CONTAINER_OF(a, struct request, answer));
}

/* --- routes --- */

/* A name that would have to be escaped in JSON is not worth keeping. */
static void request_set_model(struct request *r, struct span model)
{
    if (model.n < ASK_MODEL_MAX && span_find_char(model, '"') == model.n &&
        span_find_char(model, '\\') == model.n)
        (void)span_copy(model, r->answer.ask.model, sizeof(r->answer.ask.model));
}

static void request_set_route(struct request *r, struct span method, struct span target)
{
    struct span query = target;
    struct span path = span_split(&query, '?');
    const struct sim_live *live = r->worker->engine.live;
    struct span model = {0};

    r->route =
        sim_route_find(live ? &sim_live_config_get(live)->version : NULL, path, query, &model);
    r->is_post = span_eq(method, SPAN("POST"));
    r->is_method_wrong = r->route->path && !sim_route_takes(r->route, method);
    (void)span_copy(method, r->method, sizeof(r->method));
    (void)span_copy(query, r->query, sizeof(r->query));
    ask_init(&r->answer.ask);
    request_set_model(r, model);
    r->answer.voice = r->route->voice;
    r->answer.ask.is_stream =
        r->route->stream == SIM_STREAM_ALWAYS ||
        (r->route->stream == SIM_STREAM_IN_BODY && voice_get(r->route->voice)->is_stream_default);
}

/* --- beginning --- */

static void on_reply_due(struct timer *t);

static int request_play(struct request *r, struct span name)
{
    const char *dir = r->worker->sim->config.play_dir;

    if (!dir) {
        (void)err_set(&r->error, -EINVAL, "there are no files that a request could name");
        err_hint(&r->error, "start the simulator with --play-dir DIR");
        return -EINVAL;
    }
    r->play = play_free(r->play);
    return play_open_in(dir, name, &r->play, &r->error);
}

/* Errors of the switches are told when the request is complete. */
static void request_read_fields(struct request *r, const struct http1_head *head)
{
    for (size_t i = 0; i < head->n_fields && r->error_status == 0; i++) {
        const struct http1_field *f = &head->fields[i];
        int result = 0;

        if (span_eq_nocase(f->name, SPAN("X-Request-Id")))
            (void)span_copy(f->value, r->id, sizeof(r->id));
        else if (span_eq_nocase(f->name, SPAN("X-Sim-Play")))
            result = request_play(r, f->value);
        else
            result = switches_header(&r->answer.switches, f->name, f->value, &r->error);
        if (result < 0)
            r->error_status = 400;
    }
}

static void request_begin_answer(struct request *r, mono_t at)
{
    r->is_answering = true;
    sim_answer_begin(&r->answer, &r->worker->engine, r->conn, span_cstr(r->id), at);
}

/* The simulator is told what to do, not the engine that it plays. */
static bool request_is_control(const struct request *r)
{
    return r->route->handler == SIM_HANDLE_TRUTH ||
           (r->route->handler == SIM_HANDLE_PAGE && r->route->page == SIM_PAGE_FAULTS);
}

/* A file instead of whatever the path stands for. */
static void request_choose_play(struct request *r)
{
    if (!r->is_post || request_is_control(r))
        return;
    r->answer.play = r->play ? r->play : r->worker->sim->config.play;
    if (r->answer.play && r->route->handler != SIM_HANDLE_ANSWER) {
        r->route = &sim_route_play;
        r->is_method_wrong = false;
    }
}

static void on_request(struct http_server_conn *c, const struct http_request_info *info)
{
    struct worker *w = http_server_owner(c->server);
    struct request *r = mem_zalloc(1, sizeof(*r));

    if (!r) {
        http_server_reply(c, 503, SPAN("text/plain"), SPAN("out of memory\n"));
        return;
    }
    c->request = r;
    timer_init(&r->timer, on_reply_due);
    r->worker = w;
    r->conn = c;
    r->answer.on_over = request_on_over;
    r->answer.switches = w->sim->config.defaults;
    buf_init(&r->body, LIMIT_REQUEST_BODY_BYTES);
    request_set_route(r, info->head->method, info->head->target);
    request_read_fields(r, info->head);
    request_choose_play(r);
    if (r->route->handler == SIM_HANDLE_ANSWER && !r->is_method_wrong && r->error_status == 0 &&
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
    if (speech_refuse(&r->worker->sim->voices->of[r->answer.voice], status, message, hint, &out) <
        0)
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
    jsonw_put_cstr(&w, "object", "list");
    jsonw_key(&w, "data");
    jsonw_begin_array(&w);
    jsonw_begin_object(&w);
    jsonw_put_cstr(&w, "id", r->worker->sim->config.model_name);
    jsonw_put_cstr(&w, "object", "model");
    jsonw_put_cstr(&w, "owned_by", "inferometer-sim");
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
    const struct voice *v = voice_get(r->answer.voice);
    struct ask *ask = &r->answer.ask;
    bool is_stream = ask->is_stream;
    const char *why = "";

    if (r->answer.play) {
        request_begin_answer(r, at);
        return;
    }
    if (ask_parse(buf_span(&r->body), v->asks, v->missing, ask, &why) < 0) {
        request_reply_error(r, 400, why, "");
        return;
    }
    if (r->route->stream != SIM_STREAM_IN_BODY)
        ask->is_stream = is_stream;
    if (r->worker->prefixes)
        r->answer.prefix = sim_prefixes_take(r->worker->prefixes, ask->prompt, ask->n_parts);
    ask->n_parts = 0; /* they end with the body */
    buf_done(&r->body);
    buf_init(&r->body, LIMIT_REQUEST_BODY_BYTES);
    if (ask->n_choices > v->max_choices)
        request_reply_error(r, 400, "too many answers are asked for", "");
    else
        request_begin_answer(r, at);
}

/* --- pages of a live engine --- */

/* What follows the path; a name that was not worth keeping is none that we know. */
static struct span request_name(const struct request *r)
{
    const char *name = r->answer.ask.model;

    return r->route->end && name[0] == '\0' ? SPAN("?") : span_cstr(name);
}

static void request_reply_page(struct request *r)
{
    enum sim_page_id id = r->route->page;
    struct sim_page_ask ask = {
        .method = span_cstr(r->method), .body = buf_span(&r->body), .name = request_name(r)};
    struct http_server_conn *c = r->conn;
    struct err e = {0};
    struct buf out;
    int status;

    buf_init(&out, MAX_PAGE);
    status = sim_pages_answer(id, r->worker->engine.live, &ask, &out, &e);
    if (status == 200) {
        request_free(r);
        http_server_reply(c, status, span_cstr(sim_pages_type(id)), buf_span(&out));
    } else {
        request_reply_error(r, status, e.text, e.hint);
    }
    buf_done(&out);
}

/* --- complete requests --- */

/* While the engine is being loaded, only the simulator itself and the GPUs' exporter answer. */
static bool request_is_too_early(const struct request *r, mono_t now)
{
    const struct sim_live *live = r->worker->engine.live;
    enum sim_page_id page = r->route->page;

    if (!live || sim_live_loading_s(live, now) == 0)
        return false;
    if (r->route->handler == SIM_HANDLE_PAGE)
        return page != SIM_PAGE_FAULTS && page != SIM_PAGE_GPU_METRICS;
    return r->route->handler == SIM_HANDLE_MODELS || r->route->handler == SIM_HANDLE_HEALTH;
}

/* Both ways over a slow network, which is not between us and who controls the simulator. */
static int64_t request_delay_ns(const struct request *r)
{
    const struct sim_live *live = r->worker->engine.live;
    bool is_page = r->route->handler == SIM_HANDLE_PAGE;

    if (!live || request_is_control(r))
        return 0;
    return 2 * sim_live_lag_ns(live) + (is_page ? sim_pages_delay_ns(r->route->page, live) : 0);
}

static void request_reply(struct request *r)
{
    struct http_server_conn *c = r->conn;

    switch (r->route->handler) {
    case SIM_HANDLE_PAGE:
        request_reply_page(r);
        break;
    case SIM_HANDLE_MODELS:
        request_reply_models(r);
        break;
    case SIM_HANDLE_TRUTH:
        request_reply_truth(r);
        break;
    case SIM_HANDLE_HEALTH:
        request_free(r);
        http_server_reply(c, 200, SPAN("application/json"), SPAN("{\"status\":\"ok\"}\n"));
        break;
    default:
        request_reply_error(r, 404, "no such path", "\"inferometer sim --help\" lists the paths");
        break;
    }
}

static void on_reply_due(struct timer *t)
{
    request_reply(CONTAINER_OF(t, struct request, timer));
}

static void on_end(struct http_server_conn *c, struct stamp at)
{
    struct request *r = c->request;
    int64_t delay_ns;

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
    if (request_is_too_early(r, at.at)) {
        request_reply_error(r, 503, "the model is being loaded", "");
        return;
    }
    if (r->route->handler == SIM_HANDLE_ANSWER) {
        request_complete(r, at.at);
        return;
    }
    delay_ns = request_delay_ns(r);
    if (delay_ns > 0)
        loop_timer_start(r->worker->engine.loop, &r->timer, delay_ns);
    else
        request_reply(r);
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

    process_name_thread("worker");
    loop_run(w->engine.loop);
    w->http = http_server_free(w->http);
    loop_turn(w->engine.loop, 0); /* what the closing has deferred */
    return NULL;
}

static int worker_init_live(struct worker *w, const struct sim_live_config *c)
{
    int r = sim_live_new(w->engine.loop, c, &w->engine.live);

    if (r == 0)
        r = sim_prefixes_new((size_t)c->batching.block_tokens * PROMPT_TOKEN_BYTES, &w->prefixes);
    return r;
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
    words_init_repeated(&w->engine.repeated);
    w->engine.truth = s->truth;
    w->engine.voices = s->voices;
    buf_init(&w->engine.scratch, LIMIT_REQUEST_BODY_BYTES);
    r = loop_new(&w->engine.loop);
    if (r == 0 && s->config.live)
        r = worker_init_live(w, s->config.live);
    if (r == 0)
        r = http_server_new(w->engine.loop, &ops, &config, w, &w->http);
    if (r == 0)
        r = http_server_listen(w->http, s->fd, s->config.tls);
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
    w->engine.live = sim_live_free(w->engine.live);
    w->prefixes = sim_prefixes_free(w->prefixes);
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
    r = voices_new(&s->voices);
    if (r == 0 && c->n_truth > 0)
        r = truth_new(c->n_truth, &s->truth);
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
    listener_close(s->fd);
    s->truth = truth_free(s->truth);
    s->voices = voices_free(s->voices);
    mem_free(s);
    return NULL;
}
