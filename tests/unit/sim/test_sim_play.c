/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded bodies over loopback: one for every POST, and those that a request names.
 */
#include "sim/sim_server.h"

#include <stdlib.h>

#include "client.h"

static char dir[] = "/tmp/inferometer-plays-XXXXXX";
static struct sim_server *server;
static struct play *play;

#define SSE   "data: {\"a\":1}\n\ndata: [DONE]\n\n"
#define LINES "{\"b\":1}\n{\"b\":2}\n"

static const char *path_of(const char *name)
{
    static char path[256];

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    return path;
}

static void file_write(const char *name, const char *text)
{
    FILE *f = fopen(path_of(name), "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int setup(void **state)
{
    struct sim_config c;
    struct err e;
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    file_write("a.sse", SSE);
    file_write("b.ndjson", LINES);
    file_write("c.sse", SSE);
    file_write("c.sse.reads", "5\n10\n14\n");
    file_write("bad.sse", SSE);
    file_write("bad.sse.reads", "5\n");
    sim_config_init(&c);
    c.n_truth = 100;
    c.play_dir = dir;
    assert_int_equal(play_open(path_of("a.sse"), &play, &e), 0);
    c.play = play;
    assert_int_equal(addr_parse(SPAN("127.0.0.1:0"), &c.listen, &e), 0);
    return sim_server_start(&c, &server, &at, &e);
}

static int teardown(void **state)
{
    static const char *const names[] = {"a.sse",       "b.ndjson", "c.sse",
                                        "c.sse.reads", "bad.sse",  "bad.sse.reads"};
    (void)state;
    server = sim_server_stop(server);
    play = play_free(play);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unlink(path_of(names[i]));
    return rmdir(dir);
}

static const struct row {
    const char *path, *fields;
    enum ending ending;
    const char *holds, *also; /* or NULL */
} rows[] = {
    {"/anything", "", ENDING_CHUNK, "text/event-stream",
     "\r\n\r\nf\r\ndata: {\"a\":1}\n\n\r\ne\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"},
    {"/v1/messages", "", ENDING_CHUNK, "data: [DONE]", NULL},
    {"/health", "", ENDING_CHUNK, "data: [DONE]", NULL},
    {"/", "X-Sim-Play: b.ndjson\r\n", ENDING_CHUNK, "Content-Type: application/x-ndjson\r\n",
     "8\r\n{\"b\":1}\n\r\n8\r\n{\"b\":2}\n\r\n0\r\n\r\n"},
    {"/", "X-Sim-Play: c.sse\r\n", ENDING_CHUNK, "\r\n5\r\ndata:\r\na\r\n {\"a\":1}\n\n\r\n", NULL},
    {"/", "X-Sim-Play-Bytes: 20\r\n", ENDING_CHUNK, "\r\n14\r\ndata: ", "\r\n9\r\n"},
    {"/", "X-Sim-Play-Gap-Ms: 5\r\nX-Sim-Head: first\r\n", ENDING_CHUNK, "[DONE]", NULL},
    {"/", "X-Sim-Ttft-Ms: 5\r\n", ENDING_CHUNK, "[DONE]", NULL},
    {"/", "X-Sim-Batch: 2\r\n", ENDING_CHUNK, "\r\n1d\r\ndata: ", NULL},
    {"/", "X-Sim-Gzip: on\r\n", ENDING_CHUNK, "Content-Encoding: gzip", NULL},
    {"/", "X-Sim-Early: on\r\n", ENDING_CHUNK, "[DONE]", NULL},
    {"/", "X-Sim-Cut-After: 1\r\n", ENDING_FIN, "{\"a\":1}\n\n", NULL},
    {"/", "X-Sim-Cut-After: 2\r\n", ENDING_FIN, "data: [DONE]\n\n", NULL},
    {"/", "X-Sim-Cut-After: 1\r\nX-Sim-Cut: mid\r\n", ENDING_FIN, "\r\ne\r\ndata: [", NULL},
    {"/", "X-Sim-Hang-After: 1\r\n", ENDING_SILENCE, "{\"a\":1}\n\n", NULL},
    {"/", "X-Sim-End: hold\r\n", ENDING_SILENCE, "data: [DONE]\n\n", NULL},
    {"/", "X-Sim-Status: 503\r\n", ENDING_LENGTH, "HTTP/1.1 503 ", "\"server_error\""},
    {"/api/chat", "X-Sim-Play: none.sse\r\n", ENDING_LENGTH, "HTTP/1.1 400 ",
     "{\"error\":\"could not read \\\""},
    {"/", "X-Sim-Play: ../a.sse\r\n", ENDING_LENGTH, "HTTP/1.1 400 ", "not the plain name"},
    {"/", "X-Sim-Play: bad.sse\r\n", ENDING_LENGTH, "the writes have 5 bytes, the file has 29",
     "one a line"},
    {"/", "X-Sim-Play: a.sse\r\nX-Sim-Play: b.ndjson\r\n", ENDING_CHUNK, "{\"b\":1}", NULL},
};

static void test_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];
        char name[300];
        struct buf out;
        struct span all;

        (void)snprintf(name, sizeof(name), "%s %s%s", row->path, row->fields, row->holds);
        buf_init(&out, MIB);
        assert_row(name, exchange(row->path, row->fields, "{}", &out) == row->ending);
        all = buf_span(&out);
        assert_row(name, span_find(all, span_cstr(row->holds)) < all.n);
        assert_row(name, !row->also || span_find(all, span_cstr(row->also)) < all.n);
        buf_done(&out);
    }
}

/* What is asked with GET is what it always is. */
static void test_get_is_as_ever(void **state)
{
    struct buf out;
    (void)state;
    buf_init(&out, MIB);
    assert_int_equal(exchange("/health", "X-Sim-Play: a.sse\r\n", NULL, &out), ENDING_LENGTH);
    assert_true(span_find(buf_span(&out), SPAN("\"status\":\"ok\"")) < buf_len(&out));
    buf_done(&out);
}

static void test_truth(void **state)
{
    struct buf out;
    (void)state;
    buf_init(&out, MIB);
    assert_int_equal(exchange("/", "X-Request-Id: p1\r\nX-Sim-Play: c.sse\r\n", "{}", &out),
                     ENDING_CHUNK);
    buf_clear(&out);
    assert_int_equal(exchange("/sim/truth?id=p1", "", NULL, &out), ENDING_LENGTH);
    assert_int_equal(count(buf_span(&out), "\"kind\":\"read\",\"tokens\":0"), 3);
    assert_int_equal(count(buf_span(&out), "\"kind\":"), 3);
    assert_int_equal(count(buf_span(&out), "\"stream\":true"), 1);
    buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_get_is_as_ever),
        cmocka_unit_test(test_truth),
    };
    return cmocka_run_group_tests_name("sim/sim_play", tests, setup, teardown);
}
