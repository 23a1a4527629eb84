/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads against the rule each keeps or breaks. Each runs with its end searched whole, at every
 * 2-way split, byte by byte and at random, and is parsed in front of an inaccessible page.
 */
#include "wire/http1.h"

#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "guard.h"
#include "harness.h"
#include "split.h"

enum { HEAD_MAX = 1 << 17 };

enum role { REQUEST, RESPONSE, RESPONSE_TO_HEAD };

enum { INCOMPLETE = -1 }; /* instead of an enum http1_error: no end of a head was found */

static int parse(enum role role, struct span head, struct http1_head *ret)
{
    return (int)(role == REQUEST ? http1_parse_request(head, ret)
                                 : http1_parse_response(head, role == RESPONSE_TO_HEAD, ret));
}

/* The search for the end, fed with a growing text. */
struct search {
    const char *name;
    enum role role;
    int want;
    struct buf text;
    struct guard guard;
    size_t scanned;
    ptrdiff_t end;
    enum http1_error error;
};

static void search_begin(void *ctx)
{
    struct search *s = ctx;
    buf_init(&s->text, HEAD_MAX);
    s->scanned = 0;
    s->end = 0;
    s->error = HTTP1_OK;
}

static void search_feed(void *ctx, struct span part)
{
    struct search *s = ctx;
    if (s->end != 0)
        return;
    assert_int_equal(buf_append(&s->text, part), 0);
    size_t before = s->scanned;
    s->end = http1_find_end(guard_copy(&s->guard, buf_span(&s->text)), &s->scanned, &s->error);
    assert_true(s->scanned >= before && s->scanned <= buf_len(&s->text));
    if (s->end == 0)
        assert_true(s->scanned + 1 >= buf_len(&s->text)); /* nothing is searched twice */
}

static void search_end(void *ctx, const char *how)
{
    struct search *s = ctx;
    static struct http1_head h;
    char row[128];
    int got = INCOMPLETE;
    (void)snprintf(row, sizeof(row), "%s, %s", s->name, how);
    if (s->end < 0) {
        assert_row(row, s->end == -EPROTO);
        got = (int)s->error;
    } else if (s->end > 0) {
        assert_row(row, (size_t)s->end <= buf_len(&s->text));
        struct span head = {buf_span(&s->text).p, (size_t)s->end};
        got = parse(s->role, guard_copy(&s->guard, head), &h);
    }
    if (got != s->want)
        print_error("%s: want %d, got %d\n", row, s->want, got);
    assert_row(row, got == s->want);
    buf_done(&s->text);
}

static const struct split_ops search_ops = {search_begin, search_feed, search_end};

static void check(const char *name, enum role role, struct span text, int want)
{
    struct search s = {.name = name, .role = role, .want = want};
    guard_init(&s.guard, HEAD_MAX);
    split_each(text, &search_ops, &s);
    guard_done(&s.guard);
}

struct row {
    const char *name;
    struct span text;
    int want;
};

static void check_rows(enum role role, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check(rows[i].name, role, rows[i].text, rows[i].want);
}

/* ------------------------------------------------------------------ request lines */

#define REQUEST_LINE(line) SPAN_INIT(line "\r\nHost: a\r\n\r\n")

static const struct row request_lines[] = {
    {"GET", REQUEST_LINE("GET / HTTP/1.1"), HTTP1_OK},
    {"version 1.0", REQUEST_LINE("GET / HTTP/1.0"), HTTP1_OK},
    {"any token", REQUEST_LINE("M-SEARCH!#$%&'*+.^_`|~09azAZ / HTTP/1.1"), HTTP1_OK},
    {"query", REQUEST_LINE("GET /v1/x?a=b&c=%20 HTTP/1.1"), HTTP1_OK},
    {"absolute form", REQUEST_LINE("GET http://a/b HTTP/1.1"), HTTP1_OK},
    {"authority form", REQUEST_LINE("CONNECT a:443 HTTP/1.1"), HTTP1_OK},
    {"asterisk form", REQUEST_LINE("OPTIONS * HTTP/1.1"), HTTP1_OK},
    {"all visible characters", REQUEST_LINE("GET /!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ HTTP/1.1"),
     HTTP1_OK},
    {"version 0.9", REQUEST_LINE("GET / HTTP/0.9"), HTTP1_BAD_VERSION},
    {"version 1.2", REQUEST_LINE("GET / HTTP/1.2"), HTTP1_BAD_VERSION},
    {"version 2.0", REQUEST_LINE("GET / HTTP/2.0"), HTTP1_BAD_VERSION},
    {"version 1.10", REQUEST_LINE("GET / HTTP/1.10"), HTTP1_BAD_VERSION},
    {"version 01.1", REQUEST_LINE("GET / HTTP/01.1"), HTTP1_BAD_VERSION},
    {"version 1", REQUEST_LINE("GET / HTTP/1"), HTTP1_BAD_VERSION},
    {"empty version", REQUEST_LINE("GET / HTTP/"), HTTP1_BAD_VERSION},
    {"space behind version", REQUEST_LINE("GET / HTTP/1.1 "), HTTP1_BAD_VERSION},
    {"tab behind version", REQUEST_LINE("GET / HTTP/1.1\t"), HTTP1_BAD_VERSION},
    {"lower-case version", REQUEST_LINE("GET / http/1.1"), HTTP1_BAD_REQUEST_LINE},
    {"other protocol", REQUEST_LINE("GET / ICY/1.1"), HTTP1_BAD_REQUEST_LINE},
    {"no version", REQUEST_LINE("GET /"), HTTP1_BAD_REQUEST_LINE},
    {"no version, space", REQUEST_LINE("GET / "), HTTP1_BAD_REQUEST_LINE},
    {"one word", REQUEST_LINE("GET"), HTTP1_BAD_REQUEST_LINE},
    {"empty", REQUEST_LINE(""), HTTP1_BAD_REQUEST_LINE},
    {"space in front", REQUEST_LINE(" GET / HTTP/1.1"), HTTP1_BAD_REQUEST_LINE},
    {"two spaces", REQUEST_LINE("GET  / HTTP/1.1"), HTTP1_BAD_REQUEST_LINE},
    {"two spaces behind", REQUEST_LINE("GET /  HTTP/1.1"), HTTP1_BAD_REQUEST_LINE},
    {"no target", REQUEST_LINE("GET HTTP/1.1"), HTTP1_BAD_REQUEST_LINE},
    {"space in target", REQUEST_LINE("GET /a b HTTP/1.1"), HTTP1_BAD_REQUEST_LINE},
    {"tabs", REQUEST_LINE("GET\t/\tHTTP/1.1"), HTTP1_BAD_REQUEST_LINE},
    {"bad method", REQUEST_LINE("GE(T / HTTP/1.1"), HTTP1_BAD_REQUEST_LINE},
    {"method beyond ASCII", REQUEST_LINE("G\xc3\x89T / HTTP/1.1"), HTTP1_BAD_REQUEST_LINE},
    {"target beyond ASCII", REQUEST_LINE("GET /\xc3\xa9 HTTP/1.1"), HTTP1_BAD_CHAR},
    {"DEL in target", REQUEST_LINE("GET /\x7f HTTP/1.1"), HTTP1_BAD_CHAR},
    {"tab in target", REQUEST_LINE("GET /\tx HTTP/1.1"), HTTP1_BAD_CHAR},
    {"control in target", REQUEST_LINE("GET /\x01 HTTP/1.1"), HTTP1_BAD_CHAR},
    {"NUL in target", REQUEST_LINE("GET /\0 HTTP/1.1"), HTTP1_BAD_CHAR},
    {"bare CR in target", REQUEST_LINE("GET /\r HTTP/1.1"), HTTP1_BAD_LINE_END},
    {"status line", REQUEST_LINE("HTTP/1.1 200 OK"), HTTP1_BAD_REQUEST_LINE},
    {"TLS hello", SPAN_INIT("\x16\x03\x01\x02\x00\x01"), HTTP1_BAD_CHAR},
    {"HTTP/2 preface", SPAN_INIT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), HTTP1_BAD_VERSION},
    {"empty line in front", SPAN_INIT("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
     HTTP1_BAD_REQUEST_LINE},
};

/* ------------------------------------------------------------------ lines and fields */

#define FIELDS(lines) SPAN_INIT("POST / HTTP/1.1\r\nHost: a\r\n" lines "\r\n")

static const struct row request_fields[] = {
    {"plain", FIELDS("A: b\r\n"), HTTP1_OK},
    {"empty value", FIELDS("A:\r\n"), HTTP1_OK},
    {"no space", FIELDS("A:b\r\n"), HTTP1_OK},
    {"beyond ASCII in value", FIELDS("A: \xc3\xa9\xff\r\n"), HTTP1_OK},
    {"tab in value", FIELDS("A: b\tc\r\n"), HTTP1_OK},
    {"every token character", FIELDS("!#$%&'*+-.^_`|~09azAZ: x\r\n"), HTTP1_OK},
    {"incomplete", SPAN_INIT("GET / HTTP/1.1\r\nHost: a\r\n"), INCOMPLETE},
    {"incomplete, CR", SPAN_INIT("GET / HTTP/1.1\r\nHost: a\r\n\r"), INCOMPLETE},
    {"nothing", SPAN_INIT(""), INCOMPLETE},
    {"CR alone", SPAN_INIT("\r"), INCOMPLETE},
    {"what follows is not looked at", FIELDS("A: b\r\n\r\n\n\0"), HTTP1_OK},
    {"bare LF", SPAN_INIT("GET / HTTP/1.1\nHost: a\n\n"), HTTP1_BAD_LINE_END},
    {"bare LF in the last line", SPAN_INIT("GET / HTTP/1.1\r\nHost: a\r\n\n"), HTTP1_BAD_LINE_END},
    {"bare LF in value", FIELDS("A: b\nTransfer-Encoding: chunked\r\n"), HTTP1_BAD_LINE_END},
    {"bare CR in value", FIELDS("A: b\rC: d\r\n"), HTTP1_BAD_LINE_END},
    {"bare CR in name", FIELDS("A\rb: d\r\n"), HTTP1_BAD_LINE_END},
    {"CR CR LF", FIELDS("A: b\r\r\n"), HTTP1_BAD_LINE_END},
    {"NUL in value", FIELDS("A: b\0c\r\n"), HTTP1_BAD_CHAR},
    {"NUL in name", FIELDS("A\0: b\r\n"), HTTP1_BAD_CHAR},
    {"control in value", FIELDS("A: b\x01\r\n"), HTTP1_BAD_FIELD_VALUE},
    {"vertical tab in value", FIELDS("A: \x0b\r\n"), HTTP1_BAD_FIELD_VALUE},
    {"vertical tab around chunked",
     FIELDS("Transfer-Encoding: \x0b"
            "chunked\r\n"),
     HTTP1_BAD_FIELD_VALUE},
    {"DEL in value", FIELDS("A: 0123456789abcdef0123\x7f\r\n"), HTTP1_BAD_FIELD_VALUE},
    {"space before colon", FIELDS("A : b\r\n"), HTTP1_BAD_FIELD_NAME},
    {"space before colon of a length", FIELDS("Content-Length : 5\r\n"), HTTP1_BAD_FIELD_NAME},
    {"tab before colon", FIELDS("A\t: b\r\n"), HTTP1_BAD_FIELD_NAME},
    {"space in name", FIELDS("A b: c\r\n"), HTTP1_BAD_FIELD_NAME},
    {"no colon", FIELDS("Abc\r\n"), HTTP1_BAD_FIELD_NAME},
    {"no name", FIELDS(": b\r\n"), HTTP1_BAD_FIELD_NAME},
    {"beyond ASCII in name", FIELDS("\xc3\xa9: b\r\n"), HTTP1_BAD_FIELD_NAME},
    {"bracket in name", FIELDS("A[0]: b\r\n"), HTTP1_BAD_FIELD_NAME},
    {"quote in name", FIELDS("\"A\": b\r\n"), HTTP1_BAD_FIELD_NAME},
    {"control in name", FIELDS("A\x01: b\r\n"), HTTP1_BAD_FIELD_NAME},
    {"fold, space", FIELDS("A: b\r\n c\r\n"), HTTP1_OBS_FOLD},
    {"fold, tab", FIELDS("A: b\r\n\tc: d\r\n"), HTTP1_OBS_FOLD},
    {"fold, blank", FIELDS("A: b\r\n \r\n"), HTTP1_OBS_FOLD},
    {"fold of a coding", FIELDS("Transfer-Encoding:\r\n chunked\r\n"), HTTP1_OBS_FOLD},
    {"fold behind the first line", SPAN_INIT("GET / HTTP/1.1\r\n Host: a\r\n\r\n"), HTTP1_OBS_FOLD},

    {"length", FIELDS("Content-Length: 5\r\n"), HTTP1_OK},
    {"length 0", FIELDS("Content-Length: 0\r\n"), HTTP1_OK},
    {"largest length", FIELDS("Content-Length: 9223372036854775807\r\n"), HTTP1_OK},
    {"length too large", FIELDS("Content-Length: 9223372036854775808\r\n"), HTTP1_BAD_LENGTH},
    {"length overflows", FIELDS("Content-Length: 18446744073709551617\r\n"), HTTP1_BAD_LENGTH},
    {"length far too large", FIELDS("Content-Length: 99999999999999999999999\r\n"),
     HTTP1_BAD_LENGTH},
    {"two lengths", FIELDS("Content-Length: 5\r\nContent-Length: 6\r\n"), HTTP1_BAD_LENGTH},
    {"two equal lengths", FIELDS("Content-Length: 5\r\ncontent-length: 5\r\n"), HTTP1_BAD_LENGTH},
    {"list of lengths", FIELDS("Content-Length: 5, 5\r\n"), HTTP1_BAD_LENGTH},
    {"plus", FIELDS("Content-Length: +5\r\n"), HTTP1_BAD_LENGTH},
    {"minus", FIELDS("Content-Length: -5\r\n"), HTTP1_BAD_LENGTH},
    {"minus zero", FIELDS("Content-Length: -0\r\n"), HTTP1_BAD_LENGTH},
    {"empty length", FIELDS("Content-Length:\r\n"), HTTP1_BAD_LENGTH},
    {"hex length", FIELDS("Content-Length: 0x5\r\n"), HTTP1_BAD_LENGTH},
    {"length with fraction", FIELDS("Content-Length: 5.0\r\n"), HTTP1_BAD_LENGTH},
    {"length with space inside", FIELDS("Content-Length: 5 5\r\n"), HTTP1_BAD_LENGTH},
    {"length with underscore", FIELDS("Content-Length: 1_0\r\n"), HTTP1_BAD_LENGTH},
    {"length beyond ASCII", FIELDS("Content-Length: \xd9\xa5\r\n"), HTTP1_BAD_LENGTH},
    {"length in quotes", FIELDS("Content-Length: \"5\"\r\n"), HTTP1_BAD_LENGTH},

    {"chunked", FIELDS("Transfer-Encoding: chunked\r\n"), HTTP1_OK},
    {"chunked, other case", FIELDS("TRANSFER-encoding:\tChunked \r\n"), HTTP1_OK},
    {"gzip, chunked", FIELDS("Transfer-Encoding: gzip, chunked\r\n"), HTTP1_BAD_CODING},
    {"chunked twice", FIELDS("Transfer-Encoding: chunked, chunked\r\n"), HTTP1_BAD_CODING},
    {"two codings", FIELDS("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
     HTTP1_BAD_CODING},
    {"hidden coding", FIELDS("Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n"),
     HTTP1_BAD_CODING},
    {"hidden coding in front", FIELDS("Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n"),
     HTTP1_BAD_CODING},
    {"identity", FIELDS("Transfer-Encoding: identity\r\n"), HTTP1_BAD_CODING},
    {"empty coding", FIELDS("Transfer-Encoding:\r\n"), HTTP1_BAD_CODING},
    {"xchunked", FIELDS("Transfer-Encoding: xchunked\r\n"), HTTP1_BAD_CODING},
    {"chunked with parameter", FIELDS("Transfer-Encoding: chunked;q=1\r\n"), HTTP1_BAD_CODING},
    {"chunked, empty", FIELDS("Transfer-Encoding: chunked,\r\n"), HTTP1_BAD_CODING},
    {"chunked in quotes", FIELDS("Transfer-Encoding: \"chunked\"\r\n"), HTTP1_BAD_CODING},
    {"length and coding", FIELDS("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
     HTTP1_LENGTH_AND_CODING},
    {"coding and length", FIELDS("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
     HTTP1_LENGTH_AND_CODING},
    {"other coding and length", FIELDS("Transfer-Encoding: x\r\nContent-Length: 0\r\n"),
     HTTP1_LENGTH_AND_CODING},
    {"coding on 1.0", SPAN_INIT("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"),
     HTTP1_BAD_CODING},

    {"no Host", SPAN_INIT("GET / HTTP/1.1\r\n\r\n"), HTTP1_BAD_HOST},
    {"no Host on 1.0", SPAN_INIT("GET / HTTP/1.0\r\n\r\n"), HTTP1_OK},
    {"two Hosts", FIELDS("Host: a\r\n"), HTTP1_BAD_HOST},
    {"two Hosts, other case", FIELDS("hOST: b\r\n"), HTTP1_BAD_HOST},
    {"two Hosts on 1.0", SPAN_INIT("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n"), HTTP1_BAD_HOST},

    {"expect", FIELDS("Expect: 100-continue\r\n"), HTTP1_OK},
    {"expect, other case", FIELDS("expect: 100-Continue\r\n"), HTTP1_OK},
    {"expect twice", FIELDS("Expect: 100-continue\r\nExpect: 100-continue\r\n"), HTTP1_OK},
    {"expect other", FIELDS("Expect: 200-ok\r\n"), HTTP1_BAD_EXPECT},
    {"expect list", FIELDS("Expect: 100-continue, x\r\n"), HTTP1_BAD_EXPECT},
    {"expect nothing", FIELDS("Expect:\r\n"), HTTP1_BAD_EXPECT},
    {"expect hidden", FIELDS("Expect: x\r\nExpect: 100-continue\r\n"), HTTP1_BAD_EXPECT},
};

static const struct row responses[] = {
    {"200", SPAN_INIT("HTTP/1.1 200 OK\r\n\r\n"), HTTP1_OK},
    {"1.0", SPAN_INIT("HTTP/1.0 200 OK\r\n\r\n"), HTTP1_OK},
    {"empty reason", SPAN_INIT("HTTP/1.1 200 \r\n\r\n"), HTTP1_OK},
    {"no space", SPAN_INIT("HTTP/1.1 200\r\n\r\n"), HTTP1_OK},
    {"long reason", SPAN_INIT("HTTP/1.1 404 Not  Found\t\xc3\xa9\r\n\r\n"), HTTP1_OK},
    {"status 999", SPAN_INIT("HTTP/1.1 999 x\r\n\r\n"), HTTP1_OK},
    {"status 099", SPAN_INIT("HTTP/1.1 099 x\r\n\r\n"), HTTP1_BAD_STATUS_LINE},
    {"two digits", SPAN_INIT("HTTP/1.1 20\r\n\r\n"), HTTP1_BAD_STATUS_LINE},
    {"two digits and reason", SPAN_INIT("HTTP/1.1 20 OK\r\n\r\n"), HTTP1_BAD_STATUS_LINE},
    {"four digits", SPAN_INIT("HTTP/1.1 2000 OK\r\n\r\n"), HTTP1_BAD_STATUS_LINE},
    {"signed", SPAN_INIT("HTTP/1.1 +20 OK\r\n\r\n"), HTTP1_BAD_STATUS_LINE},
    {"two spaces", SPAN_INIT("HTTP/1.1  200 OK\r\n\r\n"), HTTP1_BAD_STATUS_LINE},
    {"tab", SPAN_INIT("HTTP/1.1\t200 OK\r\n\r\n"), HTTP1_BAD_VERSION},
    {"tab before reason", SPAN_INIT("HTTP/1.1 200\tOK\r\n\r\n"), HTTP1_BAD_STATUS_LINE},
    {"no status", SPAN_INIT("HTTP/1.1\r\n\r\n"), HTTP1_BAD_STATUS_LINE},
    {"no status, space", SPAN_INIT("HTTP/1.1 \r\n\r\n"), HTTP1_BAD_STATUS_LINE},
    {"other protocol", SPAN_INIT("ICY 200 OK\r\n\r\n"), HTTP1_BAD_STATUS_LINE},
    {"lower case", SPAN_INIT("http/1.1 200 OK\r\n\r\n"), HTTP1_BAD_STATUS_LINE},
    {"request", SPAN_INIT("GET / HTTP/1.1\r\n\r\n"), HTTP1_BAD_STATUS_LINE},
    {"empty line in front", SPAN_INIT("\r\nHTTP/1.1 200 OK\r\n\r\n"), HTTP1_BAD_STATUS_LINE},
    {"version 2", SPAN_INIT("HTTP/2 200 OK\r\n\r\n"), HTTP1_BAD_VERSION},
    {"version 1.2", SPAN_INIT("HTTP/1.2 200 OK\r\n\r\n"), HTTP1_BAD_VERSION},
    {"control in reason", SPAN_INIT("HTTP/1.1 200 O\x01K\r\n\r\n"), HTTP1_BAD_CHAR},
    {"DEL in reason", SPAN_INIT("HTTP/1.1 200 O\x7fK\r\n\r\n"), HTTP1_BAD_CHAR},
    {"NUL in reason", SPAN_INIT("HTTP/1.1 200 O\0K\r\n\r\n"), HTTP1_BAD_CHAR},
    {"bare LF", SPAN_INIT("HTTP/1.1 200 OK\n\n"), HTTP1_BAD_LINE_END},
    {"two lengths", SPAN_INIT("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n"),
     HTTP1_BAD_LENGTH},
    {"length and coding",
     SPAN_INIT("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
     HTTP1_LENGTH_AND_CODING},
    {"gzip, chunked", SPAN_INIT("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
     HTTP1_BAD_CODING},
    {"coding on 1.0", SPAN_INIT("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
     HTTP1_BAD_CODING},
    {"fold", SPAN_INIT("HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n"), HTTP1_OBS_FOLD},
    {"space before colon", SPAN_INIT("HTTP/1.1 200 OK\r\nA : b\r\n\r\n"), HTTP1_BAD_FIELD_NAME},
    {"no Host rule, no Expect rule", SPAN_INIT("HTTP/1.1 200 OK\r\nExpect: x\r\nHost: /\r\n\r\n"),
     HTTP1_OK},
};

static void test_request_lines(void **state)
{
    (void)state;
    check_rows(REQUEST, request_lines, ARRAY_LEN(request_lines));
}

static void test_request_fields(void **state)
{
    (void)state;
    check_rows(REQUEST, request_fields, ARRAY_LEN(request_fields));
}

static void test_responses(void **state)
{
    (void)state;
    check_rows(RESPONSE, responses, ARRAY_LEN(responses));
    check_rows(RESPONSE_TO_HEAD, responses, ARRAY_LEN(responses));
}

static void test_hosts(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        bool is_ok;
    } rows[] = {
        {"a", true},
        {"example.com", true},
        {"example.com:8080", true},
        {"example.com:0", true},
        {"example.com:65535", true},
        {"127.0.0.1:1", true},
        {"a-b_c~d.e", true},
        {"a%20b", true},
        {"[::1]", true},
        {"[::1]:8080", true},
        {"[2001:db8::192.0.2.1]", true},
        {"", false},
        {":80", false},
        {"a:", false},
        {"a:x", false},
        {"a:-1", false},
        {"a:65536", false},
        {"a:000080", false},
        {"a:80:80", false},
        {"a b", false},
        {"a, b", false},
        {"a,b", false},
        {"a/b", false},
        {"a?b", false},
        {"a#b", false},
        {"user@a", false},
        {"http://a", false},
        {"a\\b", false},
        {"a\"", false},
        {"<a>", false},
        {"\xc3\xa9", false},
        {"[]", false},
        {"[::1", false},
        {"[::1]x", false},
        {"[::1]:", false},
        {"[::g]", false},
        {"::1", false},
        {"[", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[256];
        int n = snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", rows[i].value);
        check(rows[i].value, REQUEST, span_of(text, (size_t)n),
              rows[i].is_ok ? HTTP1_OK : HTTP1_BAD_HOST);
    }
}

/* Only whole heads are parsed; what lies around them is refused, never read past. */
static void test_not_one_head(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"nothing", SPAN_INIT(""), HTTP1_BAD_LINE_END},
        {"one line", SPAN_INIT("GET / HTTP/1.1\r\n"), HTTP1_BAD_LINE_END},
        {"no empty line", SPAN_INIT("GET / HTTP/1.1\r\nHost: a\r\n"), HTTP1_BAD_LINE_END},
        {"half an empty line", SPAN_INIT("GET / HTTP/1.1\r\nHost: a\r\n\r"), HTTP1_BAD_LINE_END},
        {"cut line", SPAN_INIT("GET / HTTP/1.1\r\nHos"), HTTP1_BAD_LINE_END},
        {"cut at CR", SPAN_INIT("GET / HTTP/1.1\r"), HTTP1_BAD_LINE_END},
        {"bytes behind", SPAN_INIT("GET / HTTP/1.1\r\nHost: a\r\n\r\nx"), HTTP1_BAD_LINE_END},
        {"NUL", SPAN_INIT("GET / HTTP/1.1\r\nHost: a\0\r\n\r\n"), HTTP1_BAD_CHAR},
    };
    static struct http1_head h;
    struct guard g;
    guard_init(&g, HEAD_MAX);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_row(rows[i].name, parse(REQUEST, guard_copy(&g, rows[i].text), &h) == rows[i].want);
    guard_done(&g);
}

static void test_field_limit(void **state)
{
    (void)state;
    for (int n = LIMIT_HEAD_FIELDS; n <= LIMIT_HEAD_FIELDS + 1; n++) {
        struct buf text;
        buf_init(&text, HEAD_MAX);
        assert_int_equal(buf_printf(&text, "GET / HTTP/1.1\r\nHost: a\r\n"), 0);
        for (int i = 1; i < n; i++)
            assert_int_equal(buf_printf(&text, "F%d: %d\r\n", i, i), 0);
        assert_int_equal(buf_printf(&text, "\r\n"), 0);
        check("field limit", REQUEST, buf_span(&text),
              n == LIMIT_HEAD_FIELDS ? HTTP1_OK : HTTP1_TOO_MANY_FIELDS);
        buf_done(&text);
    }
}

/* ------------------------------------------------------------------ what a head says */

static void test_request_parts(void **state)
{
    (void)state;
    static struct http1_head h;
    struct span head = SPAN("POST /v1/chat?x=1 HTTP/1.1\r\nHost: api:80\r\nX-A:  one\t two \t\r\n"
                            "Connection: Upgrade, x-hop\r\nUpgrade: websocket\r\nEmpty:\r\n"
                            "connection: X-Other\r\nExpect: 100-continue\r\nContent-Length: 12\r\n"
                            "x-a: second\r\n\r\n");
    assert_int_equal(http1_parse_request(head, &h), HTTP1_OK);
    assert_span_equal("method", h.method, SPAN("POST"));
    assert_span_equal("target", h.target, SPAN("/v1/chat?x=1"));
    assert_int_equal(h.minor, 1);
    assert_int_equal(h.n_fields, 9);
    assert_span_equal("name", h.fields[1].name, SPAN("X-A"));
    assert_span_equal("value", h.fields[1].value, SPAN("one\t two"));
    assert_span_equal("empty", h.fields[4].value, SPAN(""));
    assert_int_equal(h.framing, HTTP1_BODY_LENGTH);
    assert_true(h.has_length);
    assert_int_equal(h.content_length, 12);
    assert_true(h.keep_alive);
    assert_true(h.expects_continue);
    assert_true(h.has_upgrade);
    assert_ptr_equal(http1_field_find(&h, SPAN("x-A")), &h.fields[1]);
    assert_null(http1_field_find(&h, SPAN("x-b")));
    assert_span_equal("find", http1_field_value(&h, SPAN("HOST")), SPAN("api:80"));
    assert_null(http1_field_value(&h, SPAN("x-b")).p);
    assert_non_null(http1_field_value(&h, SPAN("empty")).p);
    assert_true(http1_is_nominated(&h, SPAN("X-Hop")));
    assert_true(http1_is_nominated(&h, SPAN("x-other")));
    assert_false(http1_is_nominated(&h, SPAN("x-a")));
}

static void test_framing(void **state)
{
    (void)state;
    static const struct {
        enum role role;
        const char *head;
        enum http1_framing framing;
        bool has_length;
        uint64_t length;
    } rows[] = {
        {REQUEST, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", HTTP1_BODY_NONE, false, 0},
        {REQUEST, "GET / HTTP/1.0\r\n\r\n", HTTP1_BODY_NONE, false, 0},
        {REQUEST, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", HTTP1_BODY_LENGTH, true,
         0},
        {REQUEST, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 007\r\n\r\n", HTTP1_BODY_LENGTH,
         true, 7},
        {REQUEST, "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
         HTTP1_BODY_CHUNKED, false, 0},
        {RESPONSE, "HTTP/1.1 200 OK\r\n\r\n", HTTP1_BODY_UNTIL_CLOSE, false, 0},
        {RESPONSE, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", HTTP1_BODY_LENGTH, true, 5},
        {RESPONSE, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP1_BODY_CHUNKED,
         false, 0},
        {RESPONSE, "HTTP/1.1 100 Continue\r\n\r\n", HTTP1_BODY_NONE, false, 0},
        {RESPONSE, "HTTP/1.1 101 Switching\r\n\r\n", HTTP1_BODY_NONE, false, 0},
        {RESPONSE, "HTTP/1.1 199 x\r\nContent-Length: 5\r\n\r\n", HTTP1_BODY_NONE, true, 5},
        {RESPONSE, "HTTP/1.1 204 No\r\n\r\n", HTTP1_BODY_NONE, false, 0},
        {RESPONSE, "HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP1_BODY_NONE, false,
         0},
        {RESPONSE, "HTTP/1.1 205 Reset\r\n\r\n", HTTP1_BODY_UNTIL_CLOSE, false, 0},
        {RESPONSE, "HTTP/1.1 304 Not\r\nContent-Length: 5\r\n\r\n", HTTP1_BODY_NONE, true, 5},
        {RESPONSE_TO_HEAD, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", HTTP1_BODY_NONE, true,
         5},
        {RESPONSE_TO_HEAD, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP1_BODY_NONE,
         false, 0},
        {RESPONSE_TO_HEAD, "HTTP/1.1 200 OK\r\n\r\n", HTTP1_BODY_NONE, false, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        static struct http1_head h;
        memset(&h, 0xa5, sizeof(h));
        assert_row(rows[i].head, parse(rows[i].role, span_cstr(rows[i].head), &h) == HTTP1_OK);
        assert_row(rows[i].head, h.framing == rows[i].framing);
        assert_row(rows[i].head, h.has_length == rows[i].has_length);
        assert_row(rows[i].head, h.content_length == rows[i].length);
    }
}

static void test_connection(void **state)
{
    (void)state;
    static const struct {
        const char *head;
        enum role role;
        bool keep_alive;
        bool has_upgrade;
        bool expects_continue;
    } rows[] = {
        {"HTTP/1.1 204 x\r\n\r\n", RESPONSE, true, false, false},
        {"HTTP/1.0 204 x\r\n\r\n", RESPONSE, false, false, false},
        {"HTTP/1.0 204 x\r\nConnection: Keep-Alive\r\n\r\n", RESPONSE, true, false, false},
        {"HTTP/1.1 204 x\r\nConnection: Close\r\n\r\n", RESPONSE, false, false, false},
        {"HTTP/1.1 204 x\r\nConnection: a, close ,b\r\n\r\n", RESPONSE, false, false, false},
        {"HTTP/1.1 204 x\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n", RESPONSE, false,
         false, false},
        {"HTTP/1.0 204 x\r\nConnection: keep-alive, close\r\n\r\n", RESPONSE, false, false, false},
        {"HTTP/1.1 204 x\r\nConnection: closed\r\n\r\n", RESPONSE, true, false, false},
        {"HTTP/1.1 200 x\r\nConnection: keep-alive\r\n\r\n", RESPONSE, false, false, false},
        {"HTTP/1.1 204 x\r\nConnection: upgrade\r\n\r\n", RESPONSE, true, false, false},
        {"HTTP/1.1 204 x\r\nUpgrade: h2c\r\n\r\n", RESPONSE, true, false, false},
        {"HTTP/1.1 101 x\r\nUpgrade: h2c\r\nConnection: x,UPGRADE\r\n\r\n", RESPONSE, true, true,
         false},
        {"GET / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n", REQUEST, false, false, false},
        {"GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n", REQUEST, true, false, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        static struct http1_head h;
        memset(&h, 0xa5, sizeof(h));
        assert_row(rows[i].head, parse(rows[i].role, span_cstr(rows[i].head), &h) == HTTP1_OK);
        assert_row(rows[i].head, h.keep_alive == rows[i].keep_alive);
        assert_row(rows[i].head, h.has_upgrade == rows[i].has_upgrade);
        assert_row(rows[i].head, h.expects_continue == rows[i].expects_continue);
    }
}

static void test_response_parts(void **state)
{
    (void)state;
    static struct http1_head h;
    assert_int_equal(
        http1_parse_response(SPAN("HTTP/1.0 404 Not Found\r\nA: b\r\n\r\n"), false, &h), HTTP1_OK);
    assert_int_equal(h.status, 404);
    assert_int_equal(h.minor, 0);
    assert_span_equal("reason", h.reason, SPAN("Not Found"));
    assert_int_equal(h.n_fields, 1);
    assert_int_equal(http1_parse_response(SPAN("HTTP/1.1 200\r\n\r\n"), false, &h), HTTP1_OK);
    assert_span_equal("reason", h.reason, SPAN(""));
    assert_int_equal(h.status, 200);
}

/* ------------------------------------------------------------------ small helpers */

static void test_skip_empty(void **state)
{
    (void)state;
    static const struct {
        struct span text;
        size_t want;
    } rows[] = {
        {SPAN_INIT(""), 0},         {SPAN_INIT("GET"), 0},       {SPAN_INIT("\r"), 0},
        {SPAN_INIT("\r\n"), 2},     {SPAN_INIT("\r\nG"), 2},     {SPAN_INIT("\r\n\r"), 2},
        {SPAN_INIT("\r\n\r\n"), 4}, {SPAN_INIT("\r\n\r\nG"), 4}, {SPAN_INIT("\r\n\r\n\r\n"), 4},
        {SPAN_INIT("\n\n"), 0},     {SPAN_INIT("\r\r\n"), 0},
    };
    struct guard g;
    guard_init(&g, HEAD_MAX);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(http1_skip_empty(guard_copy(&g, rows[i].text)), rows[i].want);
    assert_int_equal(http1_skip_empty((struct span){NULL, 0}), 0);
    guard_done(&g);
}

static void test_lists(void **state)
{
    (void)state;
    assert_true(http1_list_has(SPAN("close"), SPAN("close")));
    assert_true(http1_list_has(SPAN(" a ,\tCLOSE\t, b"), SPAN("close")));
    assert_true(http1_list_has(SPAN(",,close,"), SPAN("close")));
    assert_false(http1_list_has(SPAN("closed, xclose, clo se"), SPAN("close")));
    assert_false(http1_list_has(SPAN(""), SPAN("close")));
    assert_false(http1_list_has(SPAN("close;q=1"), SPAN("close")));
}

static void test_hop_by_hop(void **state)
{
    (void)state;
    static const char *const yes[] = {
        "Connection",        "Keep-Alive",         "Proxy-Connection",   "TE", "Trailer", "upgrade",
        "Transfer-Encoding", "Proxy-Authenticate", "Proxy-Authorization"};
    static const char *const no[] = {"Content-Length", "Host", "Authorization", "Date", "T", ""};
    for (size_t i = 0; i < ARRAY_LEN(yes); i++)
        assert_row(yes[i], http1_is_hop_by_hop(span_cstr(yes[i])));
    for (size_t i = 0; i < ARRAY_LEN(no); i++)
        assert_row(no[i], !http1_is_hop_by_hop(span_cstr(no[i])));
}

static void test_texts(void **state)
{
    (void)state;
    assert_string_equal(http1_reason(200), "OK");
    assert_string_equal(http1_reason(404), "Not Found");
    assert_string_equal(http1_reason(599), "");
    for (int e = 0; e < HTTP1_ERROR_COUNT_; e++) {
        const char *text = http1_error_text((enum http1_error)e);
        assert_non_null(text);
        for (int other = 0; other < e; other++)
            assert_string_not_equal(text, http1_error_text((enum http1_error)other));
    }
    assert_string_equal(http1_error_text(HTTP1_ERROR_COUNT_), "unknown error");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_request_lines), cmocka_unit_test(test_request_fields),
        cmocka_unit_test(test_responses),     cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_not_one_head),  cmocka_unit_test(test_field_limit),
        cmocka_unit_test(test_request_parts), cmocka_unit_test(test_framing),
        cmocka_unit_test(test_connection),    cmocka_unit_test(test_response_parts),
        cmocka_unit_test(test_skip_empty),    cmocka_unit_test(test_lists),
        cmocka_unit_test(test_hop_by_hop),    cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
