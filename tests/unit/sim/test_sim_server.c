/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole simulated engine over loopback: each switch changes what a plain client sees. Times are
 * a few milliseconds; only "hang" and "hold" wait for a time-out of the reader.
 */
#include "sim/sim_server.h"

#include <zlib.h>

#include "client.h"

static struct sim_server *server;

static int setup(void **state)
{
    struct sim_config c;
    struct err e;
    (void)state;
    sim_config_init(&c);
    c.defaults.ttft_ns = 2 * NS_PER_MS;
    c.defaults.itl_ns = 1 * NS_PER_MS;
    c.n_truth = 100;
    assert_int_equal(addr_parse(SPAN("127.0.0.1:0"), &c.listen, &e), 0);
    return sim_server_start(&c, &server, &at, &e);
}

static int teardown(void **state)
{
    (void)state;
    server = sim_server_stop(server);
    return 0;
}

#define CHAT "/v1/chat/completions"
#define BODY "{\"stream\":true,\"max_tokens\":4,\"messages\":[{\"content\":\"hi\"}]}"
#define ASKING                                                                                     \
    "{\"stream\":true,\"max_tokens\":4,\"messages\":[],\"stream_options\":{\"include_usage\":"     \
    "true}}"
#define WHOLE "{\"max_tokens\":4,\"messages\":[{\"content\":\"hi\"}]}"

static const struct row {
    const char *fields, *body;
    enum ending ending;
    const char *holds;
    const char *lacks; /* or NULL */
} rows[] = {
    {"", BODY, ENDING_CHUNK, "data: [DONE]\n\n\r\n0\r\n\r\n", "\"usage\""},
    {"", BODY, ENDING_CHUNK, "\"role\":\"assistant\"", "\"usage\""},
    {"", BODY, ENDING_CHUNK, "\"finish_reason\":\"length\"", NULL},
    {"", ASKING, ENDING_CHUNK, "\"choices\":[],\"usage\":{", NULL},
    {"", ASKING, ENDING_CHUNK, "}],\"usage\":null}", NULL},
    {"", WHOLE, ENDING_LENGTH, "\"object\":\"chat.completion\"", NULL},
    {"", WHOLE, ENDING_LENGTH, "\"completion_tokens\":4", NULL},
    {"X-Sim-Usage: never\r\n", ASKING, ENDING_CHUNK, "[DONE]", "\"usage\""},
    {"X-Sim-Usage: never\r\n", WHOLE, ENDING_LENGTH, "\"message\"", "\"usage\""},
    {"X-Sim-Usage: always\r\n", BODY, ENDING_CHUNK, "\"completion_tokens\":4", NULL},
    {"X-Sim-Usage: every_chunk\r\n", BODY, ENDING_CHUNK, "\"completion_tokens\":1,", NULL},
    {"X-Sim-Role: off\r\n", BODY, ENDING_CHUNK, "[DONE]", "\"role\""},
    {"X-Sim-Role-Delay-Ms: 4\r\n", BODY, ENDING_CHUNK, "\"role\"", NULL},
    {"X-Sim-Tokens: 0\r\n", BODY, ENDING_CHUNK, "\"finish_reason\":\"stop\"", "\"content\":\" "},
    {"X-Sim-Tokens: 6\r\nX-Sim-Tokens-Per-Event: 3\r\nX-Sim-Usage: always\r\n", BODY, ENDING_CHUNK,
     "\"completion_tokens\":6,", NULL},
    {"X-Sim-Crlf: on\r\n", BODY, ENDING_CHUNK, "data: [DONE]\r\n\r\n", NULL},
    {"X-Sim-Done: off\r\n", BODY, ENDING_CHUNK, "finish_reason", "[DONE]"},
    {"X-Sim-Done: off\r\n", ASKING, ENDING_CHUNK, "\"usage\":{", "[DONE]"},
    {"X-Sim-End: hold\r\n", BODY, ENDING_SILENCE, "[DONE]", "\r\n0\r\n"},
    {"X-Sim-Done: off\r\nX-Sim-End: hold\r\n", BODY, ENDING_SILENCE, "\"length\"", "\r\n0\r\n"},
    {"X-Sim-Comments: 2\r\n", BODY, ENDING_CHUNK, ": keep-alive\n\n", NULL},
    {"X-Sim-Reasoning: 2\r\nX-Sim-Usage: always\r\n", BODY, ENDING_CHUNK, "\"reasoning_tokens\":2",
     NULL},
    {"X-Sim-Reasoning: 2\r\n", BODY, ENDING_CHUNK, "\"reasoning_content\":\" ", NULL},
    {"X-Sim-Reasoning: 2\r\n", WHOLE, ENDING_LENGTH, "\"reasoning_content\":\" ", NULL},
    {"X-Sim-Refusal: on\r\n", BODY, ENDING_CHUNK, "\"refusal\":\" ", "\"content\":\" "},
    {"X-Sim-Refusal: on\r\n", WHOLE, ENDING_LENGTH, "\"refusal\":\" ", "\"content\":\" "},
    {"X-Sim-Tool-Calls: on\r\n", BODY, ENDING_CHUNK, "\"finish_reason\":\"tool_calls\"",
     "\"content\":\" "},
    {"X-Sim-Tool-Calls: on\r\n", WHOLE, ENDING_LENGTH, "\"arguments\":\"{", "\"content\":\" "},
    {"X-Sim-Choices: 2\r\n", BODY, ENDING_CHUNK, "\"index\":1,\"delta\":{\"content\"", NULL},
    {"X-Sim-Choices: 2\r\n", WHOLE, ENDING_LENGTH, "\"completion_tokens\":8", NULL},
    {"X-Sim-Cached-Tokens: 9\r\nX-Sim-Prompt-Tokens: 50\r\n", WHOLE, ENDING_LENGTH,
     "\"prompt_tokens\":50,\"completion_tokens\":4,\"total_tokens\":54,\"prompt_tokens_details\":{"
     "\"cached_tokens\":9}",
     NULL},
    {"X-Sim-Refuse-Stream-Options: on\r\n", ASKING, ENDING_LENGTH, "HTTP/1.1 400 ", NULL},
    {"X-Sim-Refuse-Stream-Options: on\r\n", ASKING, ENDING_LENGTH, "stream_options", NULL},
    {"X-Sim-Refuse-Stream-Options: on\r\n", BODY, ENDING_CHUNK, "[DONE]", NULL},
    {"X-Sim-Error-After: 2\r\n", BODY, ENDING_CHUNK, "data: {\"error\":{", "[DONE]"},
    {"X-Sim-Error-After: 0\r\n", WHOLE, ENDING_LENGTH, "HTTP/1.1 500 ", NULL},
    {"X-Sim-Cut-After: 4\r\n", BODY, ENDING_FIN, "\"content\":\" ", "\"length\""},
    {"X-Sim-Cut-After: 0\r\n", BODY, ENDING_FIN, "200 OK", "data:"},
    {"X-Sim-Cut-After: 1\r\nX-Sim-Cut: end\r\n", BODY, ENDING_CHUNK, "\"content\":\" ", "[DONE]"},
    {"X-Sim-Cut-After: 1\r\nX-Sim-Cut: mid\r\n", BODY, ENDING_FIN, "\"content\":\" ", "[DONE]"},
    {"X-Sim-Cut-After: 0\r\nX-Sim-Cut: mid\r\nX-Sim-Head: first\r\n", BODY, ENDING_FIN, "200 OK",
     "\"choices\""},
    {"X-Sim-Cut-After: 1\r\nX-Sim-Cut: reset\r\n", BODY, ENDING_RESET, "", "[DONE]"},
    {"X-Sim-Cut-After: 0\r\n", WHOLE, ENDING_FIN, "Content-Length", "\"finish_reason\""},
    {"X-Sim-Cut-After: 0\r\nX-Sim-Cut: reset\r\n", WHOLE, ENDING_RESET, "", "\"finish_reason\""},
    {"X-Sim-Hang-After: 1\r\n", BODY, ENDING_SILENCE, "\"content\":\" ", "\"length\""},
    {"X-Sim-Hang-After: 0\r\nX-Sim-Head: first\r\n", BODY, ENDING_SILENCE, "", "HTTP"},
    {"X-Sim-Hang-After: 0\r\n", WHOLE, ENDING_SILENCE, "", "HTTP"},
    {"X-Sim-Head: first\r\n", BODY, ENDING_CHUNK, "[DONE]", NULL},
    {"X-Sim-Slow-Head-Ms: 15\r\n", BODY, ENDING_CHUNK, "[DONE]", NULL},
    {"X-Sim-Slow-Head-Ms: 15\r\n", WHOLE, ENDING_LENGTH, "\"usage\"", NULL},
    {"X-Sim-Interim: 103\r\n", BODY, ENDING_CHUNK, "HTTP/1.1 103 ", NULL},
    {"X-Sim-Batch: 3\r\n", BODY, ENDING_CHUNK, "}\n\ndata: {", NULL},
    {"X-Sim-Batch: 100\r\nX-Sim-Hang-After: 3\r\n", BODY, ENDING_SILENCE, "}\n\ndata: {", "[DONE]"},
    {"X-Sim-Batch: 100\r\nX-Sim-Cut-After: 3\r\n", BODY, ENDING_FIN, "}\n\ndata: {", "[DONE]"},
    {"X-Sim-Split: 3\r\nX-Sim-Split-Gap-Ms: 1\r\n", BODY, ENDING_CHUNK, "5\r\ndata:\r\n", NULL},
    {"X-Sim-Split: 2\r\nX-Sim-Batch: 50\r\n", BODY, ENDING_CHUNK, "}\n\ndata: {", NULL},
    {"X-Sim-Gzip: on\r\n", BODY, ENDING_CHUNK, "Content-Encoding: gzip\r\n", "data:"},
    {"X-Sim-Gzip: on\r\nX-Sim-Cut-After: 1\r\n", BODY, ENDING_FIN, "gzip", "data:"},
    {"X-Sim-Gzip: on\r\nX-Sim-Cut-After: 1\r\nX-Sim-Cut: end\r\n", BODY, ENDING_CHUNK, "gzip",
     NULL},
    {"X-Sim-Gzip: on\r\n", WHOLE, ENDING_LENGTH, "Content-Encoding: gzip\r\n", "\"usage\""},
    {"X-Sim-Close: on\r\n", BODY, ENDING_CHUNK, "Connection: close\r\n", NULL},
    {"X-Sim-Close: on\r\nX-Sim-Slow-Head-Ms: 15\r\n", BODY, ENDING_CHUNK, "Connection: close\r\n",
     NULL},
    {"X-Sim-Status: 429\r\n", BODY, ENDING_LENGTH, "Retry-After: 1\r\n", NULL},
    {"X-Sim-Status: 503\r\n", BODY, ENDING_LENGTH, "\"code\":503", "Retry-After"},
    {"X-Sim-Status: 500\r\nX-Sim-Retry-After: 7\r\n", WHOLE, ENDING_LENGTH, "Retry-After: 7\r\n",
     NULL},
    {"X-Sim-Tokns: 1\r\n", BODY, ENDING_LENGTH, "did you mean \\\"tokens\\\"?", NULL},
    {"X-Sim-Tokens: many\r\n", BODY, ENDING_LENGTH, "HTTP/1.1 400 ", NULL},
    {"", "{", ENDING_LENGTH, "HTTP/1.1 400 ", NULL},
    {"", "{\"messages\":[],\"n\":9}", ENDING_LENGTH, "HTTP/1.1 400 ", NULL},
    {"Expect: 100-continue\r\n", BODY, ENDING_CHUNK, "HTTP/1.1 100 Continue\r\n", NULL},
};

static void test_switches(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];
        char name[300];
        struct buf out;
        struct span all;
        enum ending e;

        (void)snprintf(name, sizeof(name), "row %zu: %s %s", i, row->fields, row->holds);
        buf_init(&out, MIB);
        e = exchange(CHAT, row->fields, row->body, &out);
        all = buf_span(&out);
        assert_row(name, e == row->ending);
        assert_row(name, row->holds[0] == '\0' || span_find(all, span_cstr(row->holds)) < all.n);
        assert_row(name, !row->lacks || span_find(all, span_cstr(row->lacks)) == all.n);
        buf_done(&out);
    }
}

static void test_other_paths(void **state)
{
    static const struct {
        const char *path, *body, *holds;
    } paths[] = {
        {"/v1/models", NULL, "\"id\":\"simulated\""},
        {"/health", NULL, "\"status\":\"ok\""},
        {"/health?x", NULL, "\"status\":\"ok\""},
        {"/nowhere", NULL, "HTTP/1.1 404 "},
        {"/health", "{}", "HTTP/1.1 405 "},
        {CHAT, NULL, "HTTP/1.1 405 "},
        {"/sim/truth", NULL, "HTTP/1.1 400 "},
        {"/sim/truth?last=x", NULL, "HTTP/1.1 400 "},
        {"/sim/truth?id=never", NULL, "HTTP/1.1 404 "},
        {"/sim/truth?last=2", NULL, "{\"requests\":["},
        {"/v1/completions", "{\"prompt\":\"x\",\"max_tokens\":2}", "\"text\":\" "},
        {"/v1/completions", "{\"prompt\":\"x\",\"max_tokens\":2,\"stream\":true}",
         "\"object\":\"text_completion\""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct buf out;
        buf_init(&out, MIB);
        (void)exchange(paths[i].path, "", paths[i].body, &out);
        assert_row(paths[i].path,
                   span_find(buf_span(&out), span_cstr(paths[i].holds)) < buf_len(&out));
        buf_done(&out);
    }
}

static void test_early_answer(void **state)
{
    static const char request[] = "POST " CHAT " HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n"
                                  "X-Sim-Early: on\r\nX-Sim-Status: 413\r\n\r\n{\"st";
    struct buf out;
    int fd = client_open();
    (void)state;
    buf_init(&out, MIB);
    assert_int_equal(send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL), sizeof(request) - 1);
    assert_int_equal(answer_read(fd, &out), ENDING_LENGTH);
    assert_true(span_starts_with(buf_span(&out), SPAN("HTTP/1.1 413 ")));
    buf_done(&out);
    close(fd);
}

static void test_truth(void **state)
{
    struct buf out;
    (void)state;
    buf_init(&out, MIB);
    assert_int_equal(exchange(CHAT, "X-Request-Id: t1\r\nX-Sim-Comments: 1\r\n", ASKING, &out),
                     ENDING_CHUNK);
    assert_true(span_find(buf_span(&out), SPAN("X-Request-Id: t1\r\n")) < buf_len(&out));
    buf_clear(&out);
    assert_int_equal(exchange("/sim/truth?id=t1", "", NULL, &out), ENDING_LENGTH);
    assert_int_equal(count(buf_span(&out), "\"kind\":\"token\",\"tokens\":1"), 4);
    assert_int_equal(count(buf_span(&out), "\"kind\":\"comment\""), 1);
    assert_int_equal(count(buf_span(&out), "\"kind\":\"role\""), 1);
    assert_int_equal(count(buf_span(&out), "\"kind\":\"finish\""), 1);
    assert_int_equal(count(buf_span(&out), "\"kind\":\"usage\""), 1);
    assert_int_equal(count(buf_span(&out), "\"kind\":\"done\""), 1);
    assert_int_equal(count(buf_span(&out), "\"completion_tokens\":4,"), 1);
    buf_done(&out);
}

/* The client leaves in the middle: the entry appears, the slot is free again. */
static void test_client_gone(void **state)
{
    static const char request[] =
        "POST " CHAT " HTTP/1.1\r\nHost: x\r\nContent-Length: 60\r\nX-Request-Id: gone\r\n"
        "X-Sim-Tokens: 1000000\r\n\r\n" BODY;
    struct buf out;
    char byte;
    int fd = client_open();
    (void)state;
    buf_init(&out, MIB);
    assert_int_equal(sizeof(BODY) - 1, 60); /* as the heads written by hand say */
    assert_int_equal(send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL), sizeof(request) - 1);
    assert_int_equal(recv(fd, &byte, 1, 0), 1);
    close(fd);
    for (int i = 0; i < 200; i++) {
        buf_clear(&out);
        (void)exchange("/sim/truth?id=gone", "", NULL, &out);
        if (span_starts_with(buf_span(&out), SPAN("HTTP/1.1 200")))
            break;
    }
    assert_true(span_starts_with(buf_span(&out), SPAN("HTTP/1.1 200")));
    buf_done(&out);
}

/* The same connection serves one request after another, also when they are sent at once. */
static void test_keep_alive(void **state)
{
    static const char request[] = "GET /health HTTP/1.1\r\nHost: x\r\n\r\nPOST " CHAT
                                  " HTTP/1.1\r\nHost: x\r\nContent-Length: 60\r\n\r\n" BODY;
    struct buf out;
    int fd = client_open();
    enum ending e;
    (void)state;
    buf_init(&out, MIB);
    assert_int_equal(send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL), sizeof(request) - 1);
    do
        e = answer_read(fd, &out);
    while (e == ENDING_LENGTH);
    assert_int_equal(e, ENDING_CHUNK);
    buf_clear(&out);
    assert_int_equal(send(fd, request, 33, MSG_NOSIGNAL), 33);
    assert_int_equal(answer_read(fd, &out), ENDING_LENGTH);
    buf_done(&out);
    close(fd);
}

static void test_gzip_is_gzip(void **state)
{
    struct buf out;
    struct span all;
    char plain[4096];
    z_stream z = {0};
    size_t body;
    (void)state;
    buf_init(&out, MIB);
    assert_int_equal(exchange(CHAT, "X-Sim-Gzip: on\r\n", WHOLE, &out), ENDING_LENGTH);
    all = buf_span(&out);
    body = span_find(all, SPAN("\r\n\r\n")) + 4;
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    union {
        const char *in;
        Bytef *out;
    } u = {.in = all.p + body};
    z.next_in = u.out;
    z.avail_in = (uInt)(all.n - body);
    z.next_out = (Bytef *)plain;
    z.avail_out = sizeof(plain);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_true(span_starts_with(span_of(plain, sizeof(plain)), SPAN("{\"id\":\"chatcmpl-")));
    inflateEnd(&z);
    buf_done(&out);
}

/* Two places, five requests: the truth has queueing times of those that waited. */
static void test_queue(void **state)
{
    struct sim_config c;
    struct sim_server *own = NULL;
    struct addr before = at;
    struct err e;
    struct buf out;
    int fds[5];
    (void)state;
    sim_config_init(&c);
    c.model.concurrency = 2;
    c.defaults.ttft_ns = 10 * NS_PER_MS;
    c.defaults.n_tokens = 1;
    assert_int_equal(addr_parse(SPAN("127.0.0.1:0"), &c.listen, &e), 0);
    assert_int_equal(sim_server_start(&c, &own, &at, &e), 0);
    for (int i = 0; i < 5; i++) {
        char text[256];
        int n = snprintf(text, sizeof(text),
                         "POST " CHAT " HTTP/1.1\r\nHost: x\r\nContent-Length: 60\r\n\r\n%s", BODY);
        fds[i] = client_open();
        assert_int_equal(send(fds[i], text, (size_t)n, MSG_NOSIGNAL), n);
    }
    buf_init(&out, MIB);
    for (int i = 0; i < 5; i++) {
        buf_clear(&out);
        assert_int_equal(answer_read(fds[i], &out), ENDING_CHUNK);
        close(fds[i]);
    }
    buf_clear(&out);
    (void)exchange("/sim/truth?last=9", "", NULL, &out);
    assert_int_equal(count(buf_span(&out), "\"queue_ns\":0,"), 2);
    assert_int_equal(count(buf_span(&out), "\"queue_ns\":"), 5);
    buf_done(&out);
    at = before;
    assert_null(sim_server_stop(own));
}

static void test_listen_fails(void **state)
{
    struct sim_config c;
    struct sim_server *own = NULL;
    struct addr bound;
    struct err e = {0};
    (void)state;
    sim_config_init(&c);
    c.listen = at; /* taken */
    assert_true(sim_server_start(&c, &own, &bound, &e) < 0);
    assert_null(own);
    assert_non_null(strstr(e.text, "could not listen on 127.0.0.1:"));
    assert_null(sim_server_stop(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_switches),     cmocka_unit_test(test_other_paths),
        cmocka_unit_test(test_early_answer), cmocka_unit_test(test_truth),
        cmocka_unit_test(test_client_gone),  cmocka_unit_test(test_keep_alive),
        cmocka_unit_test(test_gzip_is_gzip), cmocka_unit_test(test_queue),
        cmocka_unit_test(test_listen_fails),
    };
    return cmocka_run_group_tests_name("sim/sim_server", tests, setup, teardown);
}
