/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration of a run, and runs against a server that answers as the test says.
 */
#include "load/load_run.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "harness.h"
#include "http/server.h"

static void test_urls(void **state)
{
    static const struct {
        const char *url, *host;
        uint16_t port;
        const char *target, *dialect; /* NULL: refused */
        const char *error;
    } rows[] = {
        {"http://h/v1/chat/completions", "h", 80, "/v1/chat/completions", "openai-chat", NULL},
        {"http://127.0.0.1:8000/v1/completions", "127.0.0.1", 8000, "/v1/completions",
         "openai-completions", NULL},
        {"http://[::1]:9/x/chat/completions?a=b", "::1", 9, "/x/chat/completions?a=b",
         "openai-chat", NULL},
        {"http://[::1]/chat/completions", "::1", 80, "/chat/completions", "openai-chat", NULL},
        {"https://h/v1/chat/completions", "h", 443, "/v1/chat/completions", "openai-chat", NULL},
        {"https://h:8443/v1/chat/completions", "h", 8443, "/v1/chat/completions", "openai-chat",
         NULL},
        {"unix:/run/s:/v1/completions", "unix:/run/s", 0, "/v1/completions", "openai-completions",
         NULL},
        {"unix:/run/s", NULL, 0, NULL, NULL, "must end in"},
        {"unix:run/s:/v1/completions", NULL, 0, NULL, NULL, "must begin with"},
        {"h/v1/chat/completions", NULL, 0, NULL, NULL, "must begin with http://"},
        {"http:///v1/chat/completions", NULL, 0, NULL, NULL, "host or port"},
        {"http://h:0/v1/chat/completions", NULL, 0, NULL, NULL, "host or port"},
        {"http://h:70000/v1/chat/completions", NULL, 0, NULL, NULL, "host or port"},
        {"http://h:x/v1/chat/completions", NULL, 0, NULL, NULL, "host or port"},
        {"http://[::1/v1/chat/completions", NULL, 0, NULL, NULL, "host or port"},
        {"http://[::1]x/v1/chat/completions", NULL, 0, NULL, NULL, "host or port"},
        {"http://h/v1/embeddings", NULL, 0, NULL, NULL, "must end in /chat/completions"},
        {"http://h", NULL, 0, NULL, NULL, "must end in /chat/completions"},
        {"http://h/v1/chat completions", NULL, 0, NULL, NULL, "not allowed in a URL"},
    };
    static struct load_config c;
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err e = {0};
        int r = load_config_url(&c, span_cstr(rows[i].url), &e);
        if (rows[i].error) {
            assert_row(rows[i].url, r == -EINVAL && strstr(e.text, rows[i].error) != NULL);
            continue;
        }
        assert_row(rows[i].url, r == 0);
        assert_string_equal(c.host, rows[i].host);
        assert_int_equal(c.port, rows[i].port);
        assert_string_equal(c.target, rows[i].target);
        assert_string_equal(c.dialect->name, rows[i].dialect);
    }
}

static void test_fields(void **state)
{
    static const char *const bad[] = {
        "",
        "x",
        ":",
        ": y",
        "a b: c",
        "X: a\r\nY: b",
        "Host: x",
        "content-length: 5",
        "Connection: close",
        "Transfer-Encoding: chunked",
        "X-Request-ID: 5",
    };
    static struct load_config c;
    char large[LOAD_FIELDS_MAX + 10];
    struct err e;
    (void)state;
    assert_int_equal(load_config_field(&c, SPAN("Authorization: Bearer a:b"), &e), 0);
    assert_int_equal(load_config_field(&c, SPAN("X-Empty:"), &e), 0);
    assert_string_equal(c.fields, "Authorization: Bearer a:b\r\nX-Empty: \r\n");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_row(bad[i], load_config_field(&c, span_cstr(bad[i]), &e) == -EINVAL);
    memset(large, 'x', sizeof(large));
    memcpy(large, "A: ", 3);
    assert_int_equal(load_config_field(&c, span_of(large, sizeof(large)), &e), -EINVAL);
    assert_string_equal(c.fields, "Authorization: Bearer a:b\r\nX-Empty: \r\n");
}

/* --- a server with one answer --- */

struct stub {
    pthread_t thread;
    struct loop *loop;
    struct http_server *http;
    int fd;
    struct addr at;
    int status;
    const char *fields;
    const char *body;
    bool is_cut, is_held, is_closing; /* closing: after each answer, without saying so */
    int n_requests;
    struct buf last_request;
};

static void on_request(struct http_server_conn *c, const struct http_request_info *info)
{
    struct stub *s = http_server_owner(c->server);

    (void)info;
    c->request = s;
    s->n_requests++;
    buf_clear(&s->last_request);
}

static void on_body(struct http_server_conn *c, struct span bytes, struct stamp at)
{
    struct stub *s = c->request;

    (void)at;
    assert_int_equal(buf_append(&s->last_request, bytes), 0);
}

static void on_end(struct http_server_conn *c, struct stamp at)
{
    struct stub *s = c->request;
    struct span body = span_cstr(s->body);
    struct http_framing chunked = {HTTP1_BODY_CHUNKED, 0};

    (void)at;
    if (http_server_head(c, s->status, (struct span){0}, span_cstr(s->fields), chunked, &body, 1,
                         !s->is_cut && !s->is_held) == 0 &&
        s->is_held)
        return;
    if (s->is_closing)
        c->_keep_alive = false; /* behind the head, so that it does not say so */
    http_server_end(c);
}

static void on_gone(struct http_server_conn *c, int error, struct stamp at)
{
    (void)c;
    (void)error;
    (void)at;
}

static void on_drained(struct http_server_conn *c)
{
    (void)c;
}

static void *stub_run(void *arg)
{
    struct stub *s = arg;

    loop_run(s->loop);
    s->http = http_server_free(s->http);
    loop_turn(s->loop, 0);
    return NULL;
}

static void stub_start(struct stub *s)
{
    static const struct http_server_ops ops = {.on_request = on_request,
                                               .on_body = on_body,
                                               .on_end = on_end,
                                               .on_gone = on_gone,
                                               .on_drained = on_drained};
    static const struct http_server_config config = {.head_timeout_ns = 10 * NS_PER_S,
                                                     .idle_timeout_ns = 10 * NS_PER_S,
                                                     .body_timeout_ns = 10 * NS_PER_S,
                                                     .max_conns = 100,
                                                     .max_queue_bytes = MIB};
    struct addr at;
    struct err e;

    buf_init(&s->last_request, MIB);
    assert_int_equal(addr_parse(SPAN("127.0.0.1:0"), &at, &e), 0);
    s->fd = listener_open(&at, 16, &s->at);
    assert_true(s->fd >= 0);
    assert_int_equal(loop_new(&s->loop), 0);
    assert_int_equal(http_server_new(s->loop, &ops, &config, s, &s->http), 0);
    assert_int_equal(http_server_listen(s->http, s->fd, NULL), 0);
    assert_int_equal(pthread_create(&s->thread, NULL, stub_run, s), 0);
}

static void stub_stop(struct stub *s)
{
    loop_stop(s->loop);
    assert_int_equal(pthread_join(s->thread, NULL), 0);
    s->loop = loop_free(s->loop);
    buf_done(&s->last_request);
    close(s->fd);
}

static struct load_config config_for(const struct stub *s)
{
    static struct load_config c;

    c = (struct load_config){.host = "127.0.0.1",
                             .port = addr_port(&s->at),
                             .target = "/v1/chat/completions",
                             .url = "http://stub",
                             .dialect = dialect_by_name(SPAN("openai-chat")),
                             .model = "m",
                             .schedule = {.kind = SCHEDULE_CONSTANT,
                                          .rate_per_s = 1000,
                                          .prompt_tokens = 8,
                                          .max_tokens = 4,
                                          .speed = 1,
                                          .seed = 1},
                             .n_requests = 4,
                             .timeout_ns = 10 * NS_PER_S,
                             .is_stream = true,
                             .include_usage = true,
                             .slo = {-1, -1, -1}};
    return c;
}

#define SSE   "Content-Type: text/event-stream\r\n"
#define TEXT  "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n"
#define STOP  "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
#define USAGE "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3}}\n\n"
#define DONE  "data: [DONE]\n\n"

static void test_outcomes(void **state)
{
    static const struct {
        const char *name;
        struct stub stub;
        bool is_stream;
        enum outcome outcome;
        size_t n_ttft;
        int64_t completion_tokens; /* of all four */
    } rows[] = {
        {"ok",
         {.status = 200, .fields = SSE, .body = TEXT STOP USAGE DONE},
         true,
         OUTCOME_OK,
         4,
         12},
        {"no usage: output events",
         {.status = 200, .fields = SSE, .body = TEXT TEXT STOP DONE},
         true,
         OUTCOME_OK,
         4,
         8},
        {"last event unclosed",
         {.status = 200, .fields = SSE, .body = TEXT STOP "data: [DONE]"},
         true,
         OUTCOME_OK,
         4,
         4},
        {"truncated", {.status = 200, .fields = SSE, .body = TEXT}, true, OUTCOME_TRUNCATED, 4, 0},
        {"cut",
         {.status = 200, .fields = SSE, .body = TEXT, .is_cut = true},
         true,
         OUTCOME_UPSTREAM_CUT,
         4,
         0},
        {"cut behind the end",
         {.status = 200, .fields = SSE, .body = TEXT STOP DONE, .is_cut = true},
         true,
         OUTCOME_OK,
         4,
         4},
        {"error event",
         {.status = 200, .fields = SSE, .body = TEXT "data: {\"error\":{\"type\":\"x\"}}\n\n"},
         true,
         OUTCOME_STREAM_ERROR,
         4,
         0},
        {"status",
         {.status = 429, .fields = "", .body = "{\"error\":{}}"},
         true,
         OUTCOME_HTTP_ERROR,
         0,
         0},
        {"redirect",
         {.status = 302, .fields = "Location: /\r\n", .body = ""},
         true,
         OUTCOME_BAD_RESPONSE,
         0,
         0},
        {"coded",
         {.status = 200, .fields = SSE "Content-Encoding: gzip\r\n", .body = "x"},
         true,
         OUTCOME_BAD_RESPONSE,
         0,
         0},
        {"no stream where one was asked",
         {.status = 200, .fields = "Content-Type: application/json\r\n", .body = "{}"},
         true,
         OUTCOME_BAD_RESPONSE,
         0,
         0},
        {"whole",
         {.status = 200,
          .fields = "Content-Type: application/json\r\n",
          .body = "{\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":5}}"},
         false,
         OUTCOME_OK,
         0,
         20},
        {"whole, no JSON",
         {.status = 200, .fields = "Content-Type: application/json\r\n", .body = "<html>"},
         false,
         OUTCOME_BAD_RESPONSE,
         0,
         0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct stub s = rows[i].stub;
        struct load_config c;
        struct load_run *run = NULL;
        struct tally *t;
        struct err e;
        stub_start(&s);
        c = config_for(&s);
        c.is_stream = rows[i].is_stream;
        assert_int_equal(load_run_new(&c, &run, &e), 0);
        load_run_go(run);
        t = load_run_tally(run);
        assert_row(rows[i].name, t->n_outcomes[rows[i].outcome] == 4);
        assert_row(rows[i].name, t->n_done == 4);
        assert_row(rows[i].name, readings_count(&t->ttft) == rows[i].n_ttft);
        assert_row(rows[i].name, t->completion_tokens == rows[i].completion_tokens);
        assert_row(rows[i].name, load_run_summary(run)->n_sent == 4);
        assert_null(load_run_free(run));
        stub_stop(&s);
    }
}

static void test_request(void **state)
{
    struct stub s = {.status = 200, .fields = SSE, .body = TEXT STOP DONE};
    struct load_config c;
    struct load_run *run = NULL;
    struct err e;
    struct span body;
    (void)state;
    stub_start(&s);
    c = config_for(&s);
    c.n_requests = 1;
    assert_int_equal(load_run_new(&c, &run, &e), 0);
    load_run_go(run);
    body = buf_span(&s.last_request);
    assert_true(span_starts_with(body, SPAN("{\"model\":\"m\",\"messages\":[")));
    assert_true(span_find(body, SPAN("\"include_usage\":true")) < body.n);
    (void)load_run_free(run);
    stub_stop(&s);
}

static void test_timeout_and_held_body(void **state)
{
    struct stub s = {.status = 200, .fields = SSE, .body = TEXT, .is_held = true};
    struct load_config c;
    struct load_run *run = NULL;
    struct err e;
    (void)state;
    stub_start(&s);
    c = config_for(&s);
    c.timeout_ns = 30 * NS_PER_MS;
    assert_int_equal(load_run_new(&c, &run, &e), 0);
    load_run_go(run);
    assert_int_equal(load_run_tally(run)->n_outcomes[OUTCOME_TIMEOUT], 4);
    (void)load_run_free(run);
    stub_stop(&s);
}

/* The server closes kept-alive connections without a word: requests on them are sent again. */
static void test_stale_connections(void **state)
{
    struct stub s = {.status = 200, .fields = SSE, .body = TEXT STOP DONE, .is_closing = true};
    struct load_config c;
    struct load_run *run = NULL;
    struct err e;
    (void)state;
    stub_start(&s);
    c = config_for(&s);
    c.concurrency = 2;
    c.n_requests = 200;
    assert_int_equal(load_run_new(&c, &run, &e), 0);
    load_run_go(run);
    assert_int_equal(load_run_tally(run)->n_outcomes[OUTCOME_OK], 200);
    assert_true(load_run_summary(run)->n_in_flight_max == 2);
    (void)load_run_free(run);
    stub_stop(&s);
}

static void *interrupt_soon(void *arg)
{
    (void)usleep(20000);
    load_run_interrupt(arg);
    return NULL;
}

static void test_interrupt(void **state)
{
    struct stub s = {.status = 200, .fields = SSE, .body = TEXT, .is_held = true};
    struct load_config c;
    struct load_run *run = NULL;
    pthread_t thread;
    struct err e;
    (void)state;
    stub_start(&s);
    c = config_for(&s);
    c.n_requests = 0;
    c.schedule.rate_per_s = 100;
    assert_int_equal(load_run_new(&c, &run, &e), 0);
    assert_int_equal(pthread_create(&thread, NULL, interrupt_soon, run), 0);
    load_run_go(run);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(load_run_summary(run)->is_interrupted);
    assert_true(load_run_summary(run)->n_unfinished > 0);
    assert_int_equal(load_run_tally(run)->n_done, 0);
    (void)load_run_free(run);
    stub_stop(&s);
}

static void test_refused(void **state)
{
    struct stub s = {.status = 200, .fields = "", .body = ""};
    struct load_config c;
    struct load_run *run = NULL;
    struct err e;
    (void)state;
    stub_start(&s);
    c = config_for(&s);
    stub_stop(&s);
    assert_int_equal(load_run_new(&c, &run, &e), 0);
    load_run_go(run);
    assert_int_equal(load_run_tally(run)->n_outcomes[OUTCOME_CONNECT_FAILED], 4);
    (void)load_run_free(run);
}

/* Instead of the library's, which no other test here needs: a name that takes its time. */
int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                struct addrinfo **ret)
{
    (void)host;
    (void)service;
    (void)hints;
    *ret = NULL;
    usleep(200000);
    return EAI_AGAIN;
}

/* A run may be over while its name is still looked up; that answer must not be lost track of. */
static void test_over_before_the_name_is_known(void **state)
{
    struct stub none = {.fd = -1};
    int64_t n_live = mem_live_blocks();
    struct load_run *run = NULL;
    struct load_config c;
    struct err e;
    (void)state;
    c = config_for(&none);
    (void)strcpy(c.host, "slow.test");
    c.n_requests = 2;
    c.timeout_ns = 30 * NS_PER_MS;
    assert_int_equal(load_run_new(&c, &run, &e), 0);
    load_run_go(run);
    assert_int_equal(load_run_tally(run)->n_outcomes[OUTCOME_TIMEOUT], 2);
    assert_null(load_run_free(run));
    assert_int_equal(mem_live_blocks(), n_live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_urls),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_request),
        cmocka_unit_test(test_timeout_and_held_body),
        cmocka_unit_test(test_stale_connections),
        cmocka_unit_test(test_interrupt),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_over_before_the_name_is_known),
    };
    return cmocka_run_group_tests_name("load/load_run", tests, NULL, NULL);
}
