/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chunked decoder against written-down results, in every division of the input.
 */
#include "wire/chunked.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "harness.h"
#include "split.h"

enum { OUT_MAX = 1 << 20 };

struct run {
    const char *name;
    struct span want_data;
    enum chunked_status want;
    size_t want_rest; /* bytes behind the end of the body */
    struct chunked_decoder decoder;
    struct buf data;
    enum chunked_status status;
    size_t n_rest;
};

static void run_begin(void *ctx)
{
    struct run *r = ctx;
    chunked_init(&r->decoder);
    buf_init(&r->data, OUT_MAX);
    r->status = CHUNKED_MORE;
    r->n_rest = 0;
}

static void run_feed(void *ctx, struct span part)
{
    struct run *r = ctx;
    struct span in = part;
    struct span data = {"untouched", 9};
    while ((r->status = chunked_next(&r->decoder, &in, &data)) == CHUNKED_DATA) {
        assert_true(data.n > 0 && data.p >= part.p && data.p + data.n == in.p);
        assert_int_equal(buf_append(&r->data, data), 0);
        data = SPAN("untouched");
    }
    assert_span_equal("data", data, SPAN("untouched"));
    assert_true(r->status != CHUNKED_MORE || in.n == 0);
    r->n_rest += in.n;
}

static void run_end(void *ctx, const char *how)
{
    struct run *r = ctx;
    char row[128];
    (void)snprintf(row, sizeof(row), "%s, %s", r->name, how);
    assert_row(row, r->status == r->want);
    assert_span_equal(row, buf_span(&r->data), r->want_data);
    if (r->want == CHUNKED_END)
        assert_row(row, r->n_rest == r->want_rest);
    buf_done(&r->data);
}

static const struct split_ops run_ops = {run_begin, run_feed, run_end};

static void check(const char *name, struct span input, enum chunked_status want, struct span data,
                  size_t rest)
{
    struct run r = {.name = name, .want_data = data, .want = want, .want_rest = rest};
    split_each(input, &run_ops, &r);
}

static const struct {
    const char *name;
    struct span input;
    enum chunked_status want;
    struct span data;
    size_t rest;
} cases[] = {
    {"nothing", SPAN_INIT(""), CHUNKED_MORE, SPAN_INIT(""), 0},
    {"empty body", SPAN_INIT("0\r\n\r\n"), CHUNKED_END, SPAN_INIT(""), 0},
    {"several zeros", SPAN_INIT("000\r\n\r\n"), CHUNKED_END, SPAN_INIT(""), 0},
    {"one chunk", SPAN_INIT("5\r\nhello\r\n0\r\n\r\n"), CHUNKED_END, SPAN_INIT("hello"), 0},
    {"two chunks", SPAN_INIT("5\r\nhello\r\n06\r\n world\r\n0\r\n\r\n"), CHUNKED_END,
     SPAN_INIT("hello world"), 0},
    {"hex, lower", SPAN_INIT("a\r\n0123456789\r\n0\r\n\r\n"), CHUNKED_END, SPAN_INIT("0123456789"),
     0},
    {"hex, upper", SPAN_INIT("0A\r\n0123456789\r\n0\r\n\r\n"), CHUNKED_END, SPAN_INIT("0123456789"),
     0},
    {"line ends in data", SPAN_INIT("4\r\n\r\n\r\n\r\n0\r\n\r\n"), CHUNKED_END,
     SPAN_INIT("\r\n\r\n"), 0},
    {"what follows", SPAN_INIT("1\r\nx\r\n0\r\n\r\nGET / HTTP/1.1\r\n"), CHUNKED_END,
     SPAN_INIT("x"), 16},
    {"cut in data", SPAN_INIT("5\r\nhel"), CHUNKED_MORE, SPAN_INIT("hel"), 0},
    {"cut before the end", SPAN_INIT("5\r\nhello\r\n0\r\n"), CHUNKED_MORE, SPAN_INIT("hello"), 0},
    {"cut in the last line", SPAN_INIT("0\r\n\r"), CHUNKED_MORE, SPAN_INIT(""), 0},
    {"16 digits", SPAN_INIT("0000000000000003\r\nabc\r\n0\r\n\r\n"), CHUNKED_END, SPAN_INIT("abc"),
     0},
    {"largest size", SPAN_INIT("ffffffffffffffff\r\nabc"), CHUNKED_MORE, SPAN_INIT("abc"), 0},
    {"17 digits", SPAN_INIT("00000000000000003\r\nabc\r\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"17 digits, overflow", SPAN_INIT("10000000000000001\r\nx\r\n"), CHUNKED_ERROR, SPAN_INIT(""),
     0},
    {"hex prefix", SPAN_INIT("0x5\r\nhello\r\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"minus", SPAN_INIT("-1\r\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"plus", SPAN_INIT("+1\r\nx\r\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"space in front", SPAN_INIT(" 1\r\nx\r\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"space behind", SPAN_INIT("1 \r\nx\r\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"tab behind", SPAN_INIT("1\t\r\nx\r\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"space inside", SPAN_INIT("1 0\r\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"underscore", SPAN_INIT("1_0\r\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"no digit", SPAN_INIT("\r\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"no digit, extension", SPAN_INIT(";a=b\r\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"not hex", SPAN_INIT("g\r\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"NUL size", SPAN_INIT("1\0\r\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"bare LF behind size", SPAN_INIT("1\nx\r\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"bare CR behind size", SPAN_INIT("1\rx\r\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"CR CR LF behind size", SPAN_INIT("1\r\r\nx\r\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"no CRLF behind data", SPAN_INIT("1\r\nx0\r\n\r\n"), CHUNKED_ERROR, SPAN_INIT("x"), 0},
    {"bare LF behind data", SPAN_INIT("1\r\nx\n0\r\n\r\n"), CHUNKED_ERROR, SPAN_INIT("x"), 0},
    {"bare CR behind data", SPAN_INIT("1\r\nx\r0\r\n\r\n"), CHUNKED_ERROR, SPAN_INIT("x"), 0},
    {"any byte for the CR", SPAN_INIT("1\r\nxy\n0\r\n\r\n"), CHUNKED_ERROR, SPAN_INIT("x"), 0},
    {"data longer than said", SPAN_INIT("1\r\nxy\r\n0\r\n\r\n"), CHUNKED_ERROR, SPAN_INIT("x"), 0},
    {"empty line for a size", SPAN_INIT("1\r\nx\r\n\r\n"), CHUNKED_ERROR, SPAN_INIT("x"), 0},
    {"extension", SPAN_INIT("1;a=b;c=\"d e\"\r\nx\r\n0;z\r\n\r\n"), CHUNKED_END, SPAN_INIT("x"), 0},
    {"extension, tab and beyond ASCII", SPAN_INIT("1;\t\xe2\x82\xac\r\nx\r\n0\r\n\r\n"),
     CHUNKED_END, SPAN_INIT("x"), 0},
    {"bare LF in extension", SPAN_INIT("1;a\nx\r\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"bare CR in extension", SPAN_INIT("1;a\rb\r\nx\r\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"NUL in extension", SPAN_INIT("1;a\0\r\nx\r\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"control in extension", SPAN_INIT("1;a\x1f\r\nx\r\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"DEL in extension", SPAN_INIT("1;a\x7f\r\nx\r\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"trailer", SPAN_INIT("0\r\nA: b\r\nX-Y:\r\n\r\n"), CHUNKED_END, SPAN_INIT(""), 0},
    {"trailer and more", SPAN_INIT("0\r\nA: \xc3\xa9\tz\r\n\r\nrest"), CHUNKED_END, SPAN_INIT(""),
     4},
    {"trailer without colon", SPAN_INIT("0\r\nabc\r\n\r\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"trailer without name", SPAN_INIT("0\r\n: b\r\n\r\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"trailer, space before colon", SPAN_INIT("0\r\nA : b\r\n\r\n"), CHUNKED_ERROR, SPAN_INIT(""),
     0},
    {"trailer, folded", SPAN_INIT("0\r\nA: b\r\n c\r\n\r\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"trailer, space first", SPAN_INIT("0\r\n A: b\r\n\r\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"trailer, name beyond ASCII", SPAN_INIT("0\r\n\xc3\xa9: b\r\n\r\n"), CHUNKED_ERROR,
     SPAN_INIT(""), 0},
    {"trailer, bracket in name", SPAN_INIT("0\r\nA[0]: b\r\n\r\n"), CHUNKED_ERROR, SPAN_INIT(""),
     0},
    {"trailer, NUL", SPAN_INIT("0\r\nA: \0\r\n\r\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"trailer, control", SPAN_INIT("0\r\nA: \x01\r\n\r\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"trailer, bare LF", SPAN_INIT("0\r\nA: b\n\r\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"trailer, bare CR", SPAN_INIT("0\r\nA: b\rc\r\n\r\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"bare LF as last line", SPAN_INIT("0\r\n\n"), CHUNKED_ERROR, SPAN_INIT(""), 0},
    {"bare CR as last line", SPAN_INIT("0\r\n\rX"), CHUNKED_ERROR, SPAN_INIT(""), 0},
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check(cases[i].name, cases[i].input, cases[i].want, cases[i].data, cases[i].rest);
}

static void test_extension_limit(void **state)
{
    (void)state;
    for (size_t n = CHUNKED_EXT_MAX; n <= CHUNKED_EXT_MAX + 1; n++) {
        static char text[CHUNKED_EXT_MAX + 64];
        bool fits = n <= CHUNKED_EXT_MAX;
        char *p = stpcpy(text, "1");
        memset(p, 'e', n);
        *p = ';';
        p = stpcpy(p + n, "\r\nx\r\n0\r\n\r\n");
        check("extension limit", span_of(text, (size_t)(p - text)),
              fits ? CHUNKED_END : CHUNKED_ERROR, fits ? SPAN("x") : SPAN(""), 0);
    }
}

static void test_extension_limit_is_per_chunk(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, OUT_MAX);
    for (int i = 0; i < 3; i++)
        assert_int_equal(buf_printf(&text, "1;%03000d\r\nx\r\n", 0), 0);
    assert_int_equal(buf_append(&text, SPAN("0\r\n\r\n")), 0);
    check("three long extensions", buf_span(&text), CHUNKED_END, SPAN("xxx"), 0);
    buf_done(&text);
}

static void test_trailer_limit(void **state)
{
    (void)state;
    for (int extra = 0; extra <= 1; extra++) {
        static char text[LIMIT_HEAD_BYTES + 64];
        char *p = stpcpy(text, "0\r\nA: b\r\nB:");
        size_t n = LIMIT_HEAD_BYTES - 6 - 2 - 2 + (size_t)extra; /* to the limit with its CRLF */
        memset(p, 'v', n);
        p = stpcpy(p + n, "\r\n\r\n");
        struct run r = {.name = "trailer limit",
                        .want_data = SPAN_INIT(""),
                        .want = extra ? CHUNKED_ERROR : CHUNKED_END};
        struct span input = span_of(text, (size_t)(p - text));
        run_begin(&r);
        run_feed(&r, input);
        run_end(&r, "whole");
        run_begin(&r);
        for (size_t i = 0; i < input.n; i++)
            run_feed(&r, span_of(input.p + i, 1));
        run_end(&r, "byte by byte");
    }
}

/* END and ERROR stay, and consume nothing more. */
static void test_final_states(void **state)
{
    (void)state;
    struct chunked_decoder d;
    struct span data;
    chunked_init(&d);
    struct span in = SPAN("0\r\n\r\n5\r\nabc");
    assert_int_equal(chunked_next(&d, &in, &data), CHUNKED_END);
    assert_span_equal("rest", in, SPAN("5\r\nabc"));
    assert_int_equal(chunked_next(&d, &in, &data), CHUNKED_END);
    assert_int_equal(in.n, 6);
    chunked_init(&d);
    in = SPAN("x");
    assert_int_equal(chunked_next(&d, &in, &data), CHUNKED_ERROR);
    in = SPAN("0\r\n\r\n");
    assert_int_equal(chunked_next(&d, &in, &data), CHUNKED_ERROR);
    assert_int_equal(in.n, 5);
    in = (struct span){NULL, 0};
    chunked_init(&d);
    assert_int_equal(chunked_next(&d, &in, &data), CHUNKED_MORE);
}

static void test_head(void **state)
{
    (void)state;
    static const struct {
        size_t n;
        const char *want;
    } rows[] = {{0, "0\r\n\r\n"},
                {1, "1\r\n"},
                {9, "9\r\n"},
                {15, "f\r\n"},
                {16, "10\r\n"},
                {0x1a2b, "1a2b\r\n"},
                {0xfffff, "fffff\r\n"},
                {0x100000, "100000\r\n"},
                {SIZE_MAX, "ffffffffffffffff\r\n"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char dst[20];
        size_t n = chunked_head(rows[i].n, dst);
        assert_span_equal(rows[i].want, span_of(dst, n), span_cstr(rows[i].want));
    }
}

/* What is written is read back. */
static void test_round_trip(void **state)
{
    (void)state;
    struct buf text;
    struct buf body;
    buf_init(&text, OUT_MAX);
    buf_init(&body, OUT_MAX);
    for (size_t n = 1; n < 600; n += 37) {
        static char chunk[600];
        char head[20];
        memset(chunk, 'a' + (int)(n % 26), n);
        assert_int_equal(buf_append(&text, span_of(head, chunked_head(n, head))), 0);
        assert_int_equal(buf_append(&text, span_of(chunk, n)), 0);
        assert_int_equal(buf_append(&text, SPAN("\r\n")), 0);
        assert_int_equal(buf_append(&body, span_of(chunk, n)), 0);
    }
    char head[20];
    assert_int_equal(buf_append(&text, span_of(head, chunked_head(0, head))), 0);
    uint64_t before = mem_count_total().n_allocs;
    struct chunked_decoder d;
    struct span in = buf_span(&text);
    struct span data;
    chunked_init(&d);
    while (chunked_next(&d, &in, &data) == CHUNKED_DATA)
        ;
    assert_int_equal(mem_count_total().n_allocs, before);
    check("round trip", buf_span(&text), CHUNKED_END, buf_span(&body), 0);
    buf_done(&text);
    buf_done(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_extension_limit),
        cmocka_unit_test(test_extension_limit_is_per_chunk),
        cmocka_unit_test(test_trailer_limit),
        cmocka_unit_test(test_final_states),
        cmocka_unit_test(test_head),
        cmocka_unit_test(test_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
