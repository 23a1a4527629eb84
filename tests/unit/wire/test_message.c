/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader against written-down transcripts, in every division of the input: heads as "<...>",
 * body bytes as they are, ends as ".", failures as "!...", what a cut connection means at the end.
 */
#include "wire/message.h"

#include <errno.h>
#include <stdio.h>

#include "base/limits.h"
#include "base/mem.h"
#include "guard.h"
#include "harness.h"
#include "memfail.h"
#include "split.h"

enum { OUT_MAX = 1 << 20, ROW_BYTES = 160 };

struct run {
    const char *name;
    enum message_role role;
    bool request_was_head;
    struct span want;
    struct message_reader reader;
    struct buf got;
    enum message_status status;
    size_t n_rest;
    uint64_t n_body;
    int64_t live_blocks;
};

static struct http1_head head; /* 4 KiB; one test at a time */

static void note(struct run *r, struct span s)
{
    assert_int_equal(buf_append(&r->got, s), 0);
}

static void note_head(struct run *r)
{
    if (r->role == MESSAGE_REQUESTS)
        assert_int_equal(
            buf_printf(&r->got, "<%.*s %.*s", SPAN_ARG(head.method), SPAN_ARG(head.target)), 0);
    else
        assert_int_equal(buf_printf(&r->got, "<%d %.*s", head.status, SPAN_ARG(head.reason)), 0);
    struct span x = http1_field_value(&head, SPAN("x"));
    if (x.p)
        assert_int_equal(buf_printf(&r->got, " x=%.*s", SPAN_ARG(x)), 0);
    note(r, SPAN(">"));
}

static void run_begin(void *ctx)
{
    struct run *r = ctx;
    r->live_blocks = mem_live_blocks();
    message_init(&r->reader, r->role);
    r->reader.request_was_head = r->request_was_head;
    buf_init(&r->got, OUT_MAX);
    r->status = MESSAGE_MORE;
    r->n_rest = 0;
    r->n_body = 0;
    assert_true(message_is_idle(&r->reader));
}

static void note_failure(struct run *r, enum message_status status)
{
    if (status == MESSAGE_TOO_LARGE)
        note(r, SPAN("!large"));
    else if (status == MESSAGE_NO_MEMORY)
        note(r, SPAN("!memory"));
    else if (r->reader.is_bad_chunk)
        note(r, SPAN("!chunk"));
    else
        assert_int_equal(buf_printf(&r->got, "!%s", http1_error_text(r->reader.error)), 0);
}

static void run_feed(void *ctx, struct span part)
{
    struct run *r = ctx;
    struct span in = part;
    if (r->status < MESSAGE_MORE)
        return;
    for (;;) {
        struct span body = {"untouched", 9};
        r->status = message_next(&r->reader, &in, &head, &body);
        if (r->status == MESSAGE_BODY) {
            assert_true(body.n > 0 && body.p >= part.p && body.p + body.n <= part.p + part.n);
            note(r, body);
            r->n_body += body.n;
            assert_int_equal(r->reader.n_body_bytes, r->n_body);
            continue;
        }
        assert_span_equal("body", body, SPAN("untouched"));
        if (r->status <= MESSAGE_MORE)
            break;
        if (r->status == MESSAGE_HEAD) {
            note_head(r);
            r->n_body = 0;
            assert_int_equal(r->reader.n_body_bytes, 0);
        } else {
            note(r, SPAN("."));
            assert_true(message_is_idle(&r->reader));
        }
    }
    if (r->status == MESSAGE_MORE)
        assert_int_equal(in.n, 0);
    else
        note_failure(r, r->status);
}

static void run_end(void *ctx, const char *how)
{
    struct run *r = ctx;
    char row[ROW_BYTES];
    (void)snprintf(row, sizeof(row), "%s, %s", r->name, how);
    bool is_idle = message_is_idle(&r->reader);
    enum message_status status = message_eof(&r->reader);
    if (r->status < MESSAGE_MORE) {
        assert_row(row, status == r->status && !is_idle);
        struct span in = SPAN("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        struct span body;
        assert_row(row, message_next(&r->reader, &in, &head, &body) == r->status);
    } else {
        note(r, status == MESSAGE_MORE ? SPAN("") : status == MESSAGE_END ? SPAN("$") : SPAN("?"));
        assert_row(row, is_idle == (status == MESSAGE_MORE));
    }
    assert_span_equal(row, buf_span(&r->got), r->want);
    buf_done(&r->got);
    message_done(&r->reader);
    assert_row(row, mem_live_blocks() == r->live_blocks);
}

static const struct split_ops run_ops = {run_begin, run_feed, run_end};

/* want: "$" at its end: the connection's end was the message's end; "?": it was cut. */
static void check(const char *name, enum message_role role, bool request_was_head,
                  struct span input, struct span want)
{
    struct run r = {.name = name, .role = role, .request_was_head = request_was_head, .want = want};
    split_each(input, &run_ops, &r);
}

#define HOST "\r\nHost: a\r\n\r\n"

static const struct {
    const char *name;
    struct span input;
    struct span want;
} requests[] = {
    {"nothing", SPAN_INIT(""), SPAN_INIT("")},
    {"no body", SPAN_INIT("GET /x HTTP/1.1" HOST), SPAN_INIT("<GET /x>.")},
    {"pipelined", SPAN_INIT("GET /1 HTTP/1.1" HOST "GET /2 HTTP/1.1" HOST),
     SPAN_INIT("<GET /1>.<GET /2>.")},
    {"length", SPAN_INIT("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"),
     SPAN_INIT("<POST />hello.")},
    {"length 0", SPAN_INIT("POST / HTTP/1.1\r\nContent-Length: 0" HOST), SPAN_INIT("<POST />.")},
    {"length, then next",
     SPAN_INIT(
         "POST / HTTP/1.1\r\nHost: a\r\nX: y\r\nContent-Length: 3\r\n\r\nabcGET /2 HTTP/1.1" HOST),
     SPAN_INIT("<POST / x=y>abc.<GET /2>.")},
    {"chunked, then next",
     SPAN_INIT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
               "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: v\r\n\r\nGET /2 HTTP/1.1" HOST),
     SPAN_INIT("<POST />abcde.<GET /2>.")},
    {"empty lines in front", SPAN_INIT("\r\n\r\nGET / HTTP/1.1" HOST), SPAN_INIT("<GET />.")},
    {"empty lines between",
     SPAN_INIT("GET /1 HTTP/1.1" HOST "\r\nGET /2 HTTP/1.1" HOST "\r\n\r\nGET /3 HTTP/1.1" HOST),
     SPAN_INIT("<GET /1>.<GET /2>.<GET /3>.")},
    {"only empty lines", SPAN_INIT("\r\n\r\n"), SPAN_INIT("")},
    {"three empty lines", SPAN_INIT("\r\n\r\n\r\nGET / HTTP/1.1" HOST),
     SPAN_INIT("!malformed request line")},
    {"three empty lines between", SPAN_INIT("GET /1 HTTP/1.1" HOST "\r\n\r\n\r\n"),
     SPAN_INIT("<GET /1>.!malformed request line")},
    {"CR alone", SPAN_INIT("\r"), SPAN_INIT("?")},
    {"CR and something", SPAN_INIT("\rGET / HTTP/1.1" HOST),
     SPAN_INIT("!a line does not end in CRLF")},
    {"empty line, CR and something", SPAN_INIT("\r\n\rG"),
     SPAN_INIT("!a line does not end in CRLF")},
    {"LF in front", SPAN_INIT("\nGET / HTTP/1.1" HOST), SPAN_INIT("!a line does not end in CRLF")},
    {"cut in the head", SPAN_INIT("GET / HT"), SPAN_INIT("?")},
    {"cut in a length", SPAN_INIT("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel"),
     SPAN_INIT("<POST />hel?")},
    {"cut before a body", SPAN_INIT("POST / HTTP/1.1\r\nContent-Length: 5" HOST),
     SPAN_INIT("<POST />?")},
    {"cut in a chunk",
     SPAN_INIT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel"),
     SPAN_INIT("<POST />hel?")},
    {"cut before the last chunk's end",
     SPAN_INIT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"),
     SPAN_INIT("<POST />x?")},
    {"bad chunk",
     SPAN_INIT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n"),
     SPAN_INIT("<POST />x!chunk")},
    {"bad head", SPAN_INIT("GET / HTTP/1.1\r\nA : b" HOST), SPAN_INIT("!malformed field name")},
    {"bad second head", SPAN_INIT("GET /1 HTTP/1.1" HOST "GET /2 HTTP/3.0" HOST),
     SPAN_INIT("<GET /1>.!HTTP version other than 1.0 and 1.1")},
    {"NUL", SPAN_INIT("GET /\0"), SPAN_INIT("!character that is not allowed")},
    {"smuggled by two lengths",
     SPAN_INIT("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 27\r\n\r\n"
               "GET /smuggled HTTP/1.1" HOST),
     SPAN_INIT("!invalid or repeated Content-Length")},
    {"smuggled by length and coding",
     SPAN_INIT(
         "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
         "0\r\n\r\nGET /smuggled HTTP/1.1" HOST),
     SPAN_INIT("!Content-Length with Transfer-Encoding")},
};

static const struct {
    const char *name;
    bool request_was_head;
    struct span input;
    struct span want;
} responses[] = {
    {"length", false, SPAN_INIT("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"),
     SPAN_INIT("<200 OK>hi.")},
    {"two", false,
     SPAN_INIT("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 404 No\r\n"
               "Content-Length: 0\r\n\r\n"),
     SPAN_INIT("<200 OK>hi.<404 No>.")},
    {"chunked", false,
     SPAN_INIT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
               "9\r\ndata: a\n\n\r\n9\r\ndata: b\n\n\r\n0\r\n\r\n"),
     SPAN_INIT("<200 OK>data: a\n\ndata: b\n\n.")},
    {"until close", false, SPAN_INIT("HTTP/1.1 200 OK\r\n\r\nall there is"),
     SPAN_INIT("<200 OK>all there is$")},
    {"until close, empty", false, SPAN_INIT("HTTP/1.0 200 OK\r\n\r\n"), SPAN_INIT("<200 OK>$")},
    {"no content", false,
     SPAN_INIT("HTTP/1.1 204 No\r\n\r\nHTTP/1.1 304 Not\r\nContent-Length: 9\r\n\r\n"),
     SPAN_INIT("<204 No>.<304 Not>.")},
    {"to HEAD", true, SPAN_INIT("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"),
     SPAN_INIT("<200 OK>.")},
    {"to HEAD, chunked", true, SPAN_INIT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
     SPAN_INIT("<200 OK>.")},
    {"interim", false,
     SPAN_INIT("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nX: 1\r\n\r\n"
               "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"),
     SPAN_INIT("<100 Continue><103 Early x=1><200 OK>x.")},
    {"interim, then cut", false, SPAN_INIT("HTTP/1.1 100 Continue\r\n\r\n"),
     SPAN_INIT("<100 Continue>?")},
    {"upgrade", false, SPAN_INIT("HTTP/1.1 101 Switching\r\n\r\n\x01\x02 any bytes"),
     SPAN_INIT("<101 Switching>\x01\x02 any bytes$")},
    {"empty line in front", false, SPAN_INIT("\r\nHTTP/1.1 200 OK\r\n\r\n"),
     SPAN_INIT("!malformed status line")},
    {"bytes behind the answer", false, SPAN_INIT("HTTP/1.1 204 No\r\n\r\nxyz\r\n\r\n"),
     SPAN_INIT("<204 No>.!malformed status line")},
    {"cut in the head", false, SPAN_INIT("HTTP/1.1 200 OK\r\nA"), SPAN_INIT("?")},
    {"cut in the body", false, SPAN_INIT("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi"),
     SPAN_INIT("<200 OK>hi?")},
};

static void test_requests(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(requests); i++)
        check(requests[i].name, MESSAGE_REQUESTS, false, requests[i].input, requests[i].want);
}

static void test_responses(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(responses); i++)
        check(responses[i].name, MESSAGE_RESPONSES, responses[i].request_was_head,
              responses[i].input, responses[i].want);
}

/* ------------------------------------------------------------------ limits */

/* A head of n bytes in all. */
static size_t head_of(char *dst, size_t n)
{
    char *p = stpcpy(dst, "GET / HTTP/1.1\r\nHost: a\r\nB: ");
    size_t fill = n - (size_t)(p - dst) - 4;
    memset(p, 'b', fill);
    (void)stpcpy(p + fill, "\r\n\r\n");
    return n;
}

static void feed_evenly(struct run *r, struct span input, size_t part, const char *how)
{
    struct guard g;
    guard_init(&g, input.n);
    run_begin(r);
    while (input.n > 0)
        run_feed(r, guard_copy(&g, span_take(&input, part < input.n ? part : input.n)));
    run_end(r, how);
    guard_done(&g);
}

static void test_head_limit(void **state)
{
    (void)state;
    static char text[LIMIT_HEAD_BYTES + 256];
    static const size_t parts[] = {SIZE_MAX, 1, 7, 1000, 32768, 65535};
    for (size_t n = LIMIT_HEAD_BYTES - 1; n <= LIMIT_HEAD_BYTES + 1; n++) {
        size_t len = head_of(text, n);
        (void)stpcpy(text + len, "GET /2 HTTP/1.1" HOST);
        struct span input = span_cstr(text);
        struct run r = {.name = "head limit",
                        .role = MESSAGE_REQUESTS,
                        .want = n <= LIMIT_HEAD_BYTES ? SPAN("<GET />.<GET /2>.") : SPAN("!large")};
        for (size_t i = 0; i < ARRAY_LEN(parts); i++)
            feed_evenly(&r, input, parts[i], "in parts");
        /* empty lines in front do not count */
        memmove(text + 4, text, input.n + 1);
        static const char empty_lines[4] = {'\r', '\n', '\r', '\n'};
        memcpy(text, empty_lines, sizeof(empty_lines));
        for (size_t i = 0; i < ARRAY_LEN(parts); i++)
            feed_evenly(&r, span_cstr(text), parts[i], "in parts behind empty lines");
    }
    /* an endless line is refused as too large, and what stands behind the limit does not matter */
    memset(text, 'a', sizeof(text));
    text[LIMIT_HEAD_BYTES] = '\n';
    struct run r = {.name = "endless line", .role = MESSAGE_REQUESTS, .want = SPAN_INIT("!large")};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        feed_evenly(&r, span_of(text, sizeof(text)), parts[i], "in parts");
    r.name = "endless line, no more than the limit";
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        feed_evenly(&r, span_of(text, LIMIT_HEAD_BYTES), parts[i], "in parts");
    text[LIMIT_HEAD_BYTES - 1] = '\n';
    r.name = "bare LF at the limit";
    r.want = SPAN("!a line does not end in CRLF");
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        feed_evenly(&r, span_of(text, sizeof(text)), parts[i], "in parts");
    text[LIMIT_HEAD_BYTES - 1] = '\r';
    r.name = "CR at the limit";
    r.want = SPAN("!large");
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        feed_evenly(&r, span_of(text, sizeof(text)), parts[i], "in parts");
}

static void test_field_limit(void **state)
{
    (void)state;
    for (int n = LIMIT_HEAD_FIELDS; n <= LIMIT_HEAD_FIELDS + 1; n++) {
        struct buf text;
        buf_init(&text, OUT_MAX);
        assert_int_equal(buf_printf(&text, "GET / HTTP/1.1\r\nHost: a\r\n"), 0);
        for (int i = 1; i < n; i++)
            assert_int_equal(buf_printf(&text, "F: %d\r\n", i), 0);
        assert_int_equal(buf_printf(&text, "\r\n"), 0);
        check("field limit", MESSAGE_REQUESTS, false, buf_span(&text),
              n == LIMIT_HEAD_FIELDS ? SPAN("<GET />.") : SPAN("!too many fields"));
        buf_done(&text);
    }
}

/* ------------------------------------------------------------------ memory */

/* The views of a head that straddled inputs live in the reader until the next call. */
static void test_held_head(void **state)
{
    (void)state;
    struct message_reader m;
    struct span body;
    int64_t before = mem_live_blocks();
    message_init(&m, MESSAGE_RESPONSES);
    char first[] = "HTTP/1.1 200 OK\r\nContent-Le";
    char second[] = "ngth: 5\r\n\r\nhello";
    struct span in = span_cstr(first);
    assert_int_equal(message_next(&m, &in, &head, &body), MESSAGE_MORE);
    assert_false(message_is_idle(&m));
    memset(first, '#', sizeof(first));
    in = span_cstr(second);
    assert_int_equal(message_next(&m, &in, &head, &body), MESSAGE_HEAD);
    assert_span_equal("rest", in, SPAN("hello"));
    assert_span_equal("reason", head.reason, SPAN("OK"));
    assert_span_equal("length", http1_field_value(&head, SPAN("content-length")), SPAN("5"));
    assert_int_equal(head.content_length, 5);
    assert_int_equal(message_next(&m, &in, &head, &body), MESSAGE_BODY);
    assert_int_equal(mem_live_blocks(), before);
    assert_int_equal(message_next(&m, &in, &head, &body), MESSAGE_END);
    message_done(&m);
}

/* The end of a message may be told by the end of the connection before anyone asked for it. */
static void test_eof_before_end(void **state)
{
    (void)state;
    struct message_reader m;
    struct span body;
    message_init(&m, MESSAGE_REQUESTS);
    struct span in = SPAN("GET / HT");
    assert_int_equal(message_next(&m, &in, &head, &body), MESSAGE_MORE);
    in = SPAN("TP/1.1" HOST);
    assert_int_equal(message_next(&m, &in, &head, &body), MESSAGE_HEAD);
    assert_false(message_is_idle(&m));
    assert_int_equal(message_eof(&m), MESSAGE_END);
    assert_true(message_is_idle(&m));
    assert_int_equal(message_eof(&m), MESSAGE_MORE);
    message_done(&m);
}

static void test_no_allocation(void **state)
{
    (void)state;
    struct message_reader m;
    struct span body;
    message_init(&m, MESSAGE_RESPONSES);
    struct span in = SPAN("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    uint64_t before = mem_count_total().n_allocs;
    assert_int_equal(message_next(&m, &in, &head, &body), MESSAGE_HEAD);
    for (int i = 0; i < 1000; i++) {
        in = SPAN("9\r\ndata: x\n\n\r\n");
        assert_int_equal(message_next(&m, &in, &head, &body), MESSAGE_BODY);
        assert_span_equal("body", body, SPAN("data: x\n\n"));
        assert_int_equal(message_next(&m, &in, &head, &body), MESSAGE_MORE);
    }
    in = SPAN("0\r\n\r\n");
    assert_int_equal(message_next(&m, &in, &head, &body), MESSAGE_END);
    assert_int_equal(mem_count_total().n_allocs, before);
    assert_int_equal(m.n_body_bytes, 9000);
    message_done(&m);
}

static int attempt(void *ctx)
{
    (void)ctx;
    static char text[2048];
    struct message_reader m;
    enum message_status status = MESSAGE_MORE;
    size_t n = head_of(text, 1500);
    int n_heads = 0;
    message_init(&m, MESSAGE_REQUESTS);
    for (size_t i = 0; i < 2 * n && status >= MESSAGE_MORE; i++) {
        struct span in = {text + i % n, 1};
        struct span body;
        while ((status = message_next(&m, &in, &head, &body)) > MESSAGE_MORE)
            n_heads += status == MESSAGE_HEAD;
    }
    assert_true(status == MESSAGE_NO_MEMORY || (status == MESSAGE_MORE && n_heads == 2));
    if (status == MESSAGE_NO_MEMORY)
        assert_int_equal(message_eof(&m), MESSAGE_NO_MEMORY);
    message_done(&m);
    return status == MESSAGE_NO_MEMORY ? -ENOMEM : 0;
}

static void test_allocation_failures(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),      cmocka_unit_test(test_responses),
        cmocka_unit_test(test_head_limit),    cmocka_unit_test(test_field_limit),
        cmocka_unit_test(test_held_head),     cmocka_unit_test(test_eof_before_end),
        cmocka_unit_test(test_no_allocation), cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
