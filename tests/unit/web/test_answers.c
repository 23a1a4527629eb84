/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server answers, in every way, and what that is told as; compressed ones, and those that
 * explode.
 * test-links: ssl crypto z
 */
#include "site.h"

#include "base/num.h"
#include "squeeze.h"

static struct site site;
static struct got got;

static int start_site(void **state)
{
    (void)state;
    site_start(&site, NULL);
    return 0;
}

static int stop_site(void **state)
{
    (void)state;
    site_stop(&site);
    return 0;
}

static char long_headers[100 * 1000], long_line[200 * 1000];

static void make_long(void)
{
    size_t n = (size_t)snprintf(long_headers, sizeof(long_headers), "HTTP/1.1 200 OK\r\n");
    for (int i = 0; n < 80000; i++)
        n += (size_t)snprintf(long_headers + n, sizeof(long_headers) - n, "X-%d: %0100d\r\n", i, i);
    (void)snprintf(long_headers + n, sizeof(long_headers) - n, "Content-Length: 0\r\n\r\n");
    memset(long_line, 'x', sizeof(long_line) - 1);
    memcpy(long_line, "HTTP/1.1 200 OK\r\nX: ", 20);
}

/* What is answered -> what that is. */
static const struct answer_row {
    const char *name, *answer;
    int error, status;
    const char *body;  /* or NULL */
    const char *words; /* has that in it */
    bool hangs;        /* after that; else the connection ends */
    enum web_coding coding;
} answer_rows[] = {
    {"204", "HTTP/1.1 204 No Content\r\n\r\n", 0, 204, "", NULL, true, WEB_CODING_AS_SENT},
    {"304", "HTTP/1.1 304 Not Modified\r\n\r\n", 0, 304, "", NULL, true, WEB_CODING_AS_SENT},
    {"to the end", "HTTP/1.0 200 OK\r\n\r\nup 1", 0, 200, "up 1", NULL, false, WEB_CODING_AS_SENT},
    {"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nup\r\n0\r\n\r\n", 0, 200,
     "up", NULL, true, WEB_CODING_AS_SENT},
    {"after a 103",
     "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 0,
     200, "ok", NULL, true, WEB_CODING_AS_SENT},
    {"redirect that is not followed", "HTTP/1.1 302 X\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n",
     0, 302, "", NULL, true, WEB_CODING_AS_SENT},
    {"nothing", "", -ECONNRESET, 0, NULL, "mpty reply", false, WEB_CODING_AS_SENT},
    {"silence", "", -ETIMEDOUT, 0, NULL, "timed out", true, WEB_CODING_AS_SENT},
    {"half a head", "HTTP/1.1 200 OK\r\nContent-", -ETIMEDOUT, 200, NULL, "timed out", true,
     WEB_CODING_AS_SENT},
    {"half a body and silence", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", -ETIMEDOUT, 200,
     NULL, "timed out", true, WEB_CODING_AS_SENT},
    {"half a body", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", -ECONNRESET, 200, NULL,
     "remaining", false, WEB_CODING_AS_SENT},
    {"half a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc", -ECONNRESET,
     200, NULL, "remaining", false, WEB_CODING_AS_SENT},
    {"no chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc", -ECONNRESET, 200,
     NULL, "chunked", true, WEB_CODING_AS_SENT},
    {"no HTTP", "220 mail.example ESMTP\r\n", -EBADMSG, 0, NULL, "HTTP/0.9", true,
     WEB_CODING_AS_SENT},
    {"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nabc", -EBADMSG, 200, NULL, "",
     true, WEB_CODING_AS_SENT},
    {"many headers", long_headers, -EMSGSIZE, 200, NULL, "larger than 64 KiB", true,
     WEB_CODING_AS_SENT},
    {"a long header", long_line, -EMSGSIZE, 200, NULL, "too long", true, WEB_CODING_AS_SENT},
    {"garbage as gzip",
     "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 12\r\n\r\ngarbage here",
     -EBADMSG, 200, NULL, "", true, WEB_CODING_ANY},
    {"garbage as deflate",
     "HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\nContent-Length: 12\r\n\r\ngarbage here",
     -EBADMSG, 200, NULL, "", true, WEB_CODING_ANY},
    {"a coding nobody knows",
     "HTTP/1.1 200 OK\r\nContent-Encoding: lzma\r\nContent-Length: 4\r\n\r\nabcd", -EBADMSG, 200,
     NULL, "", true, WEB_CODING_ANY},
    {"a coding that was not asked for",
     "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd", 0, 200, "abcd",
     NULL, true, WEB_CODING_AS_SENT},
};

static void answers_are_what_they_are(void **state)
{
    (void)state;
    make_long();
    for (size_t i = 0; i < ARRAY_LEN(answer_rows); i++) {
        const struct answer_row *row = &answer_rows[i];
        site_start(&site, NULL);
        site_answer(&site, "/", row->answer)->hangs = row->hangs;
        fetch(&got, &(struct web_request){.url = site_url(&site, "127.0.0.1", "/"),
                                          .coding = row->coding,
                                          .timeout_ms = row->error == -ETIMEDOUT ? 200 : 10000});
        if (got.reply.error != row->error || got.reply.status != row->status)
            fail_msg("%s: error %d, status %d, %s", row->name, got.reply.error, got.reply.status,
                     got.words);
        assert_row(row->name, (got.reply.words.n > 0) == (row->error < 0));
        assert_row(row->name, !row->words || strstr(got.words, row->words));
        if (row->body)
            assert_span_equal(row->name, got.reply.body, span_cstr(row->body));
        site_stop(&site);
    }
}

static void an_answer_is_kept_up_to_its_bound(void **state)
{
    (void)state;
    site_answer(&site, "/", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789");
    struct web_request r = {.url = site_url(&site, "127.0.0.1", "/"), .answer_max = 10};
    fetch(&got, &r);
    assert_false(got.reply.is_cut);
    assert_span_equal("all", got.reply.body, SPAN("0123456789"));
    r.answer_max = 9;
    fetch(&got, &r);
    assert_int_equal(got.reply.error, 0);
    assert_int_equal(got.reply.status, 200);
    assert_true(got.reply.is_cut);
    assert_span_equal("part", got.reply.body, SPAN("012345678"));
}

/* --- compressed ones --- */

static void a_compressed_answer_is_decoded(void **state)
{
    (void)state;
    serve_squeezed(&site, "/", "gzip", SPAN("up 1\nup 1\nup 1\n"), 1);
    struct web_request r = {.url = site_url(&site, "127.0.0.1", "/"), .coding = WEB_CODING_ANY};
    fetch(&got, &r);
    assert_span_equal("decoded", got.reply.body, SPAN("up 1\nup 1\nup 1\n"));
    assert_int_equal(site_saw(&site, "Accept-Encoding: "), 1);
    assert_int_equal(site_saw(&site, "gzip"), 1);
    r.coding = WEB_CODING_PLAIN;
    fetch(&got, &r);
    assert_span_equal("decoded all the same", got.reply.body, SPAN("up 1\nup 1\nup 1\n"));
    assert_int_equal(site_saw(&site, "Accept-Encoding: identity\r\n"), 1);
    assert_int_equal(site_saw(&site, "gzip"), 1);
}

static void a_bomb_is_cut_off(void **state)
{
    (void)state;
    enum { BOMB_BYTES = 64 << 20, KEPT = 100 * 1000 };
    char *zeros = calloc(1, BOMB_BYTES);
    assert_non_null(zeros);
    serve_squeezed(&site, "/1", "gzip", span_of(zeros, BOMB_BYTES), 1);
    serve_squeezed(&site, "/2", "gzip, gzip", span_of(zeros, BOMB_BYTES), 2);
    free(zeros);
    for (int i = 0; i < 2; i++) {
        uint64_t before = mem_count_total().n_bytes;
        fetch(&got, &(struct web_request){.url = site_url(&site, "127.0.0.1", i ? "/2" : "/1"),
                                          .coding = WEB_CODING_ANY,
                                          .answer_max = KEPT});
        assert_int_equal(got.reply.error, 0);
        assert_true(got.reply.is_cut);
        assert_int_equal(got.reply.body.n, KEPT);
        assert_true(mem_count_total().n_bytes - before < 4 << 20);
    }
}

#define WITH_SITE(f) cmocka_unit_test_setup_teardown(f, start_site, stop_site)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_what_they_are),
        WITH_SITE(an_answer_is_kept_up_to_its_bound),
        WITH_SITE(a_compressed_answer_is_decoded),
        WITH_SITE(a_bomb_is_cut_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
