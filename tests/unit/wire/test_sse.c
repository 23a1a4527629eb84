/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser against written-down transcripts, against a plain whole-text reading of the same rules
 * over random streams, and over recorded streams when they are there; always in many divisions.
 */
#include "wire/sse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/rng.h"
#include "corpus.h"
#include "guard.h"
#include "harness.h"
#include "memfail.h"
#include "split.h"

enum { OUT_MAX = 1 << 24, N_EVENTS_MAX = 64 };

/* What a stream says, as text: "name|data;" per event, "!;" for one that is too large. */
struct transcript {
    struct buf text;
    struct buf stray;
    uint64_t n_comments;
    uint64_t n_stray;
    size_t n_events;
    size_t ends[N_EVENTS_MAX]; /* offset behind each event in the stream; 0 from the finish */
};

static void transcript_init(struct transcript *t)
{
    *t = (struct transcript){.n_events = 0};
    buf_init(&t->text, OUT_MAX);
    buf_init(&t->stray, OUT_MAX);
}

static void transcript_done(struct transcript *t)
{
    buf_done(&t->text);
    buf_done(&t->stray);
}

static void note_event(struct transcript *t, enum event_status status, const struct event *e,
                       size_t end)
{
    if (status == EVENT_TOO_LARGE)
        assert_int_equal(buf_printf(&t->text, "!;"), 0);
    else
        assert_int_equal(buf_append(&t->text, e->name) | buf_append(&t->text, SPAN("|")) |
                             buf_append(&t->text, e->data) | buf_append(&t->text, SPAN(";")),
                         0);
    if (t->n_events < N_EVENTS_MAX)
        t->ends[t->n_events] = end;
    t->n_events++;
}

/* ------------------------------------------------------------------ the plain reading */

struct plain_block {
    struct buf data;
    struct span name;
    bool has_data;
    bool is_too_large;
    size_t max;
};

static void plain_line(struct plain_block *b, struct transcript *t, struct span line)
{
    struct span value = line;
    if (line.p[0] == ':') {
        t->n_comments++;
        return;
    }
    struct span field = span_split(&value, ':');
    if (span_starts_with(value, SPAN(" ")))
        span_take(&value, 1);
    if (span_eq(field, SPAN("data"))) {
        assert_int_equal(buf_append(&b->data, b->has_data ? SPAN("\n") : SPAN("")), 0);
        assert_int_equal(buf_append(&b->data, value), 0);
        b->has_data = true;
    } else if (span_eq(field, SPAN("event"))) {
        b->name = value;
    } else if (!span_eq(field, SPAN("id")) && !span_eq(field, SPAN("retry"))) {
        t->n_stray++;
        if (line.p[0] == '{' || buf_len(&t->stray) > 0)
            assert_int_equal(buf_append(&t->stray, line) | buf_append(&t->stray, SPAN("\n")), 0);
    }
    b->is_too_large |= buf_len(&b->data) + b->name.n > b->max;
}

static void plain_end(struct plain_block *b, struct transcript *t, size_t end)
{
    struct event e = {b->name, buf_span(&b->data), end};
    if (b->has_data)
        note_event(t, b->is_too_large ? EVENT_TOO_LARGE : EVENT_WHOLE, &e, end);
    buf_clear(&b->data);
    b->name = SPAN("");
    b->has_data = b->is_too_large = false;
}

static void plain_reading(struct span raw, size_t max, struct transcript *t)
{
    struct plain_block b = {.name = SPAN_INIT(""), .max = max};
    buf_init(&b.data, OUT_MAX);
    size_t pos = span_starts_with(raw, SPAN("\xef\xbb\xbf")) ? 3 : 0;
    while (pos < raw.n) {
        size_t eol = pos;
        while (eol < raw.n && raw.p[eol] != '\r' && raw.p[eol] != '\n')
            eol++;
        struct span line = {raw.p + pos, eol - pos};
        pos = eol < raw.n ? eol + 1 : eol;
        if (eol + 1 < raw.n && raw.p[eol] == '\r' && raw.p[eol + 1] == '\n')
            pos++;
        if (line.n > 0)
            plain_line(&b, t, line);
        else
            plain_end(&b, t, pos);
    }
    plain_end(&b, t, 0);
    buf_done(&b.data);
}

/* ------------------------------------------------------------------ the parser, in divisions */

struct run {
    const char *name;
    size_t max_event_bytes;
    struct span input;
    struct sse_parser parser;
    struct transcript got;
    struct transcript want;
    size_t base; /* offset of the current part in the stream */
    int64_t live_blocks;
};

static void run_begin(void *ctx)
{
    struct run *r = ctx;
    sse_init(&r->parser, r->max_event_bytes);
    transcript_init(&r->got);
    r->base = 0;
    r->live_blocks = mem_live_blocks();
}

static void run_feed(void *ctx, struct span part)
{
    struct run *r = ctx;
    struct span in = part;
    struct event e = {{"", 0}, {"", 0}, 0};
    enum event_status status;
    while ((status = sse_next(&r->parser, &in, &e)) != EVENT_MORE) {
        assert_true(status == EVENT_WHOLE || status == EVENT_TOO_LARGE);
        assert_int_equal(e.end, part.n - in.n);
        note_event(&r->got, status, &e, r->base + e.end);
    }
    assert_int_equal(in.n, 0);
    r->base += part.n;
}

static void run_end(void *ctx, const char *how)
{
    struct run *r = ctx;
    struct event e;
    char row[128];
    (void)snprintf(row, sizeof(row), "%s, %s", r->name, how);
    enum event_status status = sse_finish(&r->parser, &e);
    if (status != EVENT_MORE)
        note_event(&r->got, status, &e, e.end);
    assert_row(row, sse_finish(&r->parser, &e) == EVENT_MORE);
    assert_row(row, sse_is_between_events(&r->parser));
    assert_span_equal(row, buf_span(&r->got.text), buf_span(&r->want.text));
    assert_row(row, r->parser.n_comments == r->want.n_comments);
    assert_row(row, r->parser.n_stray == r->want.n_stray);
    struct span stray = sse_stray(&r->parser);
    assert_span_equal(row, stray, buf_span(&r->want.stray));
    for (size_t i = 0; i < r->got.n_events && i < N_EVENTS_MAX; i++) {
        size_t got = r->got.ends[i];
        size_t want = r->want.ends[i];
        /* the LF of a last CRLF may come with the next part */
        assert_row(row, got == want || (strcmp(how, "whole") != 0 && got + 1 == want &&
                                        r->input.p[got] == '\n' && r->input.p[got - 1] == '\r'));
    }
    transcript_done(&r->got);
    assert_row(row, mem_live_blocks() == r->live_blocks + (stray.n > 0));
    sse_done(&r->parser);
}

static const struct split_ops run_ops = {run_begin, run_feed, run_end};

/* want: the transcript, or NULL: what the plain reading says. */
static void check_stream(const char *name, struct span input, size_t max, const char *want)
{
    struct run r = {.name = name, .max_event_bytes = max, .input = input};
    transcript_init(&r.want);
    plain_reading(input, max, &r.want);
    if (want)
        assert_span_equal(name, buf_span(&r.want.text), span_cstr(want));
    split_each(input, &run_ops, &r);
    transcript_done(&r.want);
}

/* ------------------------------------------------------------------ the rules */

static const struct {
    const char *name;
    struct span input;
    const char *want;
} cases[] = {
    {"nothing", SPAN_INIT(""), ""},
    {"one event", SPAN_INIT("data: x\n\n"), "|x;"},
    {"three events", SPAN_INIT("data: a\n\ndata: b\n\ndata: c\n\n"), "|a;|b;|c;"},
    {"CRLF", SPAN_INIT("data: a\r\n\r\ndata: b\r\n\r\n"), "|a;|b;"},
    {"CR", SPAN_INIT("data: a\r\rdata: b\r\r"), "|a;|b;"},
    {"every line end", SPAN_INIT("data: a\r\n\ndata: b\n\r\ndata: c\r\n\rdata: d\r\r\n"),
     "|a;|b;|c;|d;"},
    {"LF CR is two line ends", SPAN_INIT("data: a\n\rdata: b\n\n"), "|a;|b;"},
    {"CR CR LF is two line ends", SPAN_INIT("data: a\r\r\ndata: b\r\n\r\n"), "|a;|b;"},
    {"no space", SPAN_INIT("data:x\n\n"), "|x;"},
    {"two spaces", SPAN_INIT("data:  x\n\n"), "| x;"},
    {"tab is kept", SPAN_INIT("data:\tx\n\n"), "|\tx;"},
    {"only a space", SPAN_INIT("data: \n\n"), "|;"},
    {"empty data", SPAN_INIT("data:\n\n"), "|;"},
    {"data without colon", SPAN_INIT("data\n\n"), "|;"},
    {"colons in the value", SPAN_INIT("data: a:b: c\n\n"), "|a:b: c;"},
    {"several lines", SPAN_INIT("data: a\ndata: b\ndata:  c\n\n"), "|a\nb\n c;"},
    {"several lines, CRLF", SPAN_INIT("data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n"), "|a\nb;|c;"},
    {"several empty lines of data", SPAN_INIT("data\ndata:\ndata: \n\n"), "|\n\n;"},
    {"empty, then text", SPAN_INIT("data\ndata: x\n\n"), "|\nx;"},
    {"text, then empty", SPAN_INIT("data: x\ndata\n\n"), "|x\n;"},
    {"name", SPAN_INIT("event: ping\ndata: {}\n\n"), "ping|{};"},
    {"name without space", SPAN_INIT("event:ping\ndata:{}\n\n"), "ping|{};"},
    {"name behind data", SPAN_INIT("data: {}\nevent: ping\n\n"), "ping|{};"},
    {"name between data", SPAN_INIT("data: a\nevent: n\ndata: b\n\n"), "n|a\nb;"},
    {"last name wins", SPAN_INIT("event: first\nevent: second\ndata: x\n\n"), "second|x;"},
    {"shorter name wins", SPAN_INIT("event: first\nevent: 2\ndata: x\n\n"), "2|x;"},
    {"name taken back", SPAN_INIT("event: first\nevent\ndata: x\n\n"), "|x;"},
    {"name does not outlive its event", SPAN_INIT("event: n\ndata: a\n\ndata: b\n\n"), "n|a;|b;"},
    {"name without data is no event", SPAN_INIT("event: n\n\ndata: b\n\n"), "|b;"},
    {"comments", SPAN_INIT(": hello\n\n:\n:\n\ndata: a\n: inside\n\n"), "|a;"},
    {"comment between data", SPAN_INIT("data: a\n:c\ndata: b\n\n"), "|a\nb;"},
    {"id and retry", SPAN_INIT("id: 1\nretry: 10\ndata: a\nid\nretry\n\n"), "|a;"},
    {"id alone is no event", SPAN_INIT("id: 1\n\n"), ""},
    {"unknown fields", SPAN_INIT("foo: 1\ndatabase: x\ndat: y\ndata : z\n data: w\nData: v\n\n"),
     ""},
    {"names of every length",
     SPAN_INIT("a:\nab:\nabc:\nabcd:\nabcde:\nabcdef:\nabcdefg:\nabcdefgh:\na\nab\nabc\nabcd\n"
               "abcde\nabcdef\nabcdefg\nabcdefgh\nevents: x\nevent2\nretry1\nretr\ndata: x\n\n"),
     "|x;"},
    {"JSON pasted behind", SPAN_INIT("data: a\n\n{\"error\":{\"message\":\"x\"}}\n\ndata: b\n\n"),
     "|a;|b;"},
    {"empty lines in front", SPAN_INIT("\n\r\n\rdata: a\n\n"), "|a;"},
    {"many empty lines between", SPAN_INIT("data: a\n\n\n\n\r\n\r\ndata: b\n\n"), "|a;|b;"},
    {"BOM",
     SPAN_INIT("\xef\xbb\xbf"
               "data: a\n\n"),
     "|a;"},
    {"BOM, empty line",
     SPAN_INIT("\xef\xbb\xbf\n"
               "data: a\n\n"),
     "|a;"},
    {"BOM alone", SPAN_INIT("\xef\xbb\xbf"), ""},
    {"two BOMs",
     SPAN_INIT("\xef\xbb\xbf\xef\xbb\xbf"
               "data: a\n\n"),
     ""},
    {"BOM later",
     SPAN_INIT("\n\xef\xbb\xbf"
               "data: a\n\n"),
     ""},
    {"half a BOM",
     SPAN_INIT("\xef\xbb"
               "data: a\n\ndata: b\n\n"),
     "|b;"},
    {"one byte of a BOM",
     SPAN_INIT("\xef"
               ": a\ndata: b\n\n"),
     "|b;"},
    {"one byte of a BOM, line end", SPAN_INIT("\xef\ndata: b\n\n"), "|b;"},
    {"half a BOM alone", SPAN_INIT("\xef\xbb"), ""},
    {"half a BOM and a comment", SPAN_INIT("\xef\xbb:\ndata: b\n\n"), "|b;"},
    {"BOM in data", SPAN_INIT("data: \xef\xbb\xbf\n\n"), "|\xef\xbb\xbf;"},
    {"tail, no line end", SPAN_INIT("data: a\n\ndata: b"), "|a;|b;"},
    {"tail, one line end", SPAN_INIT("data: a\n\ndata: b\n"), "|a;|b;"},
    {"tail, CR", SPAN_INIT("data: a\r"), "|a;"},
    {"tail, name", SPAN_INIT("data: a\nevent: n"), "n|a;"},
    {"tail, two lines", SPAN_INIT("data: a\ndata: b"), "|a\nb;"},
    {"tail, bare field", SPAN_INIT("data: a\ndata"), "|a\n;"},
    {"tail, only a bare field", SPAN_INIT("data"), "|;"},
    {"tail, only a bare name", SPAN_INIT("event"), ""},
    {"tail, half a field", SPAN_INIT("data: a\ndat"), "|a;"},
    {"tail, comment", SPAN_INIT("data: a\n\n: bye"), "|a;"},
    {"tail, name only", SPAN_INIT("event: n\n"), ""},
    {"tail, unknown", SPAN_INIT("foo"), ""},
    {"UTF-8", SPAN_INIT("event: \xc3\xa9\ndata: \xe2\x82\xac\xf0\x9f\x98\xb9\n\n"),
     "\xc3\xa9|\xe2\x82\xac\xf0\x9f\x98\xb9;"},
    {"done mark", SPAN_INIT("data: {\"a\":1}\n\ndata: [DONE]\n\n"), "|{\"a\":1};|[DONE];"},
    {"long data", SPAN_INIT("data: 0123456789abcdef0123456789abcdef0123456789abcdef\n\n"),
     "|0123456789abcdef0123456789abcdef0123456789abcdef;"},
};

static void test_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_stream(cases[i].name, cases[i].input, LIMIT_EVENT_BYTES, cases[i].want);
}

static void test_counts(void **state)
{
    (void)state;
    struct span in = SPAN(": one\n:\n\nfoo: 1\ndata: x\n: three\nbar\n\n :x\n");
    struct sse_parser p;
    struct event e;
    sse_init(&p, 100);
    assert_int_equal(sse_next(&p, &in, &e), EVENT_WHOLE);
    assert_int_equal(p.n_comments, 3);
    assert_int_equal(p.n_stray, 2);
    assert_int_equal(sse_next(&p, &in, &e), EVENT_MORE);
    assert_int_equal(p.n_stray, 3);
    sse_done(&p);
}

/* An error body pasted into a stream: its lines are kept, those of other nonsense are not. */
static void test_stray_text(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *stray;
    } rows[] = {
        {"data: a\n\n{\n  \"error\": {\n    \"code\": 499\n  }\n}\n",
         "{\n  \"error\": {\n    \"code\": 499\n  }\n}\n"},
        {"{\"error\": 1}", "{\"error\": 1}\n"},
        {"{\"error:\": 1}", "{\"error:\": 1}\n"},
        {"{abcdef\r\n{abcde:\r", "{abcdef\n{abcde:\n"},
        {"foo: a\nbar\n{\n}\n", "{\n}\n"},
        {"{\ndata: x\n: c\n\nfoo: a\nid: 1\n}", "{\nfoo: a\n}\n"},
        {"data: {\n\n [\n {\n", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct sse_parser p;
        struct event e;
        struct span in = span_cstr(rows[i].text);
        sse_init(&p, 100);
        while (sse_next(&p, &in, &e) != EVENT_MORE)
            ;
        (void)sse_finish(&p, &e);
        assert_span_equal(rows[i].text, sse_stray(&p), span_cstr(rows[i].stray));
        sse_done(&p);
        check_stream(rows[i].text, span_cstr(rows[i].text), LIMIT_EVENT_BYTES, NULL);
    }
}

/* Too much of it, in one piece or many: none is kept, and the stream goes on. */
static void test_stray_limit(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 1024; n *= 4) {
        struct sse_parser p;
        struct event e;
        struct span in;
        sse_init(&p, 100);
        char part[1024];
        memset(part, 'x', sizeof(part));
        part[0] = '{';
        for (size_t sent = 0; sent < LIMIT_STRAY_BYTES - 1; sent += in.n) {
            in = (struct span){part, sent == 0 ? 1023 : n};
            size_t n_part = in.n;
            assert_int_equal(sse_next(&p, &in, &e), EVENT_MORE);
            in.n = n_part;
        }
        assert_int_equal(sse_stray(&p).n, n == 1 ? LIMIT_STRAY_BYTES - 1 : sse_stray(&p).n);
        in = SPAN("xxxxxxxxxxxx\n{\ndata: x\n\n");
        assert_int_equal(sse_next(&p, &in, &e), EVENT_WHOLE);
        assert_int_equal(sse_stray(&p).n, 0);
        assert_int_equal(p.n_stray, 2);
        sse_done(&p);
    }
}

static void test_nul_bytes(void **state)
{
    (void)state;
    struct span in = SPAN("da\0ta: x\ndata: a\0b\n\0\n\n");
    struct sse_parser p;
    struct event e;
    sse_init(&p, 100);
    assert_int_equal(sse_next(&p, &in, &e), EVENT_WHOLE);
    assert_span_equal("data", e.data, SPAN("a\0b"));
    assert_int_equal(p.n_stray, 2);
    sse_done(&p);
}

/* The event is there with the CR of its empty line; the LF that follows is no empty line. */
static void test_cr_is_enough(void **state)
{
    (void)state;
    struct sse_parser p;
    struct event e;
    sse_init(&p, 100);
    struct span in = SPAN("data: a\r\n\r");
    assert_int_equal(sse_next(&p, &in, &e), EVENT_WHOLE);
    assert_int_equal(e.end, 10);
    assert_true(sse_is_between_events(&p));
    in = SPAN("\ndata: b\n\n");
    assert_int_equal(sse_next(&p, &in, &e), EVENT_WHOLE);
    assert_span_equal("data", e.data, SPAN("b"));
    assert_int_equal(e.end, 10);
    assert_int_equal(sse_next(&p, &in, &e), EVENT_MORE);
    in = SPAN("data: c\r");
    assert_int_equal(sse_next(&p, &in, &e), EVENT_MORE);
    in = SPAN("\n");
    assert_int_equal(sse_next(&p, &in, &e), EVENT_MORE);
    in = SPAN("");
    assert_int_equal(sse_next(&p, &in, &e), EVENT_MORE);
    in = SPAN("\n");
    assert_int_equal(sse_next(&p, &in, &e), EVENT_WHOLE);
    assert_span_equal("data", e.data, SPAN("c"));
    assert_int_equal(e.end, 1);
    sse_done(&p);
}

static void test_between_events(void **state)
{
    (void)state;
    static const struct {
        struct span input;
        bool is_between;
    } rows[] = {
        {SPAN_INIT(""), true},           {SPAN_INIT("data: a\n\n"), true},
        {SPAN_INIT("d"), false},         {SPAN_INIT("data: a"), false},
        {SPAN_INIT("data: a\n"), false}, {SPAN_INIT("data: a\n\r\n"), true},
        {SPAN_INIT(": c"), false},       {SPAN_INIT(": c\n"), false},
        {SPAN_INIT(": c\n\n"), true},    {SPAN_INIT("\xef\xbb\xbf"), true},
        {SPAN_INIT("\xef"), false},      {SPAN_INIT("\xef\xbb"), false},
        {SPAN_INIT("\xefx"), false},     {SPAN_INIT("data: a\n\n\n"), true},
        {SPAN_INIT("id: 1\n"), false},   {SPAN_INIT("data: a\r\r"), true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (size_t at = 0; at <= rows[i].input.n; at++) {
            struct sse_parser p;
            struct event e;
            struct span rest = rows[i].input;
            struct span part = span_take(&rest, at);
            sse_init(&p, 100);
            while (sse_next(&p, &part, &e) != EVENT_MORE)
                ;
            while (sse_next(&p, &rest, &e) != EVENT_MORE)
                ;
            assert_row(rows[i].input.p, sse_is_between_events(&p) == rows[i].is_between);
            sse_done(&p);
        }
    }
}

/* ------------------------------------------------------------------ random streams */

static size_t random_stream(struct rng *rng, char *dst, size_t cap)
{
    static const struct span tokens[] = {
        SPAN_INIT("data: "),
        SPAN_INIT("data:"),
        SPAN_INIT("data"),
        SPAN_INIT("event: "),
        SPAN_INIT("event"),
        SPAN_INIT("id: 1"),
        SPAN_INIT("retry"),
        SPAN_INIT(":"),
        SPAN_INIT(" "),
        SPAN_INIT("\n"),
        SPAN_INIT("\n"),
        SPAN_INIT("\n\n"),
        SPAN_INIT("\r"),
        SPAN_INIT("\r\n"),
        SPAN_INIT("\r\n"),
        SPAN_INIT("\r\n\r\n"),
        SPAN_INIT("x"),
        SPAN_INIT("hello"),
        SPAN_INIT("\xef"),
        SPAN_INIT("\xef\xbb\xbf"),
        SPAN_INIT("\xbb"),
        SPAN_INIT("foo: a"),
        SPAN_INIT("dat"),
        SPAN_INIT("{"),
        SPAN_INIT("\n{\n \"error\": {}\n}\n"),
        SPAN_INIT("\ndata: {\"a\":1}\n\n"),
        SPAN_INIT("0123456789abcdef0123456789"),
    };
    size_t n = 0;
    for (uint64_t left = rng_below(rng, 24); left > 0; left--) {
        struct span token = tokens[rng_below(rng, ARRAY_LEN(tokens))];
        if (n + token.n > cap)
            break;
        memcpy(dst + n, token.p, token.n);
        n += token.n;
    }
    return n;
}

static void test_random_streams(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 7);
    for (int i = 0; i < 400; i++) {
        char text[1024];
        char name[32];
        size_t n = random_stream(&rng, text, sizeof(text));
        (void)snprintf(name, sizeof(name), "random stream %d", i);
        check_stream(name, (struct span){text, n}, 1 + (size_t)rng_below(&rng, 60), NULL);
    }
}

/* ------------------------------------------------------------------ limits and memory */

static void test_limit(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct span input;
        size_t max;
        const char *want;
    } rows[] = {
        {"at the limit", SPAN_INIT("data: 12345678\n\n"), 8, "|12345678;"},
        {"over it", SPAN_INIT("data: 123456789\n\n"), 8, "!;"},
        {"goes on", SPAN_INIT("data: 123456789\n\ndata: b\n\n"), 8, "!;|b;"},
        {"joined at the limit", SPAN_INIT("data: 1234\ndata: 678\n\n"), 8, "|1234\n678;"},
        {"joined over it", SPAN_INIT("data: 1234\ndata: 6789\n\ndata: b\n\n"), 8, "!;|b;"},
        {"over by the joint", SPAN_INIT("data: 12345678\ndata\n\n"), 8, "!;"},
        {"name counts", SPAN_INIT("event: 1234\ndata: 5678\n\n"), 8, "1234|5678;"},
        {"name counts over it", SPAN_INIT("event: 1234\ndata: 56789\n\n"), 8, "!;"},
        {"name behind over it", SPAN_INIT("data: 56789\nevent: 1234\n\n"), 8, "!;"},
        {"shorter name comes too late", SPAN_INIT("data: 56789\nevent: 1234\nevent: 1\n\n"), 8,
         "!;"},
        {"replaced name does not count", SPAN_INIT("event: 1234567\nevent: 1\ndata: 234567\n\n"), 8,
         "1|234567;"},
        {"long name, no data: no event", SPAN_INIT("event: 123456789\n\ndata: b\n\n"), 8, "|b;"},
        {"long name, then data", SPAN_INIT("event: 123456789\ndata: b\n\n"), 8, "!;"},
        {"long comment", SPAN_INIT(": 123456789012345\ndata: b\n\n"), 8, "|b;"},
        {"long unknown field", SPAN_INIT("foo: 123456789012345\ndata: b\n\n"), 8, "|b;"},
        {"long id", SPAN_INIT("id: 123456789012345\ndata: b\n\n"), 8, "|b;"},
        {"tail over it", SPAN_INIT("data: 123456789"), 8, "!;"},
        {"tail over it by the joint", SPAN_INIT("data: 12345678\ndata"), 8, "!;"},
        {"two in a row", SPAN_INIT("data: 123456789\n\ndata: 123456789\ndata: x\n\ndata:b\n\n"), 8,
         "!;!;|b;"},
        {"limit of one", SPAN_INIT("data: 1\n\ndata: 12\n\ndata\n\n"), 1, "|1;!;|;"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check_stream(rows[i].name, rows[i].input, rows[i].max, rows[i].want);
}

/* A large event in small reads, and what is kept of an endless line that nobody needs. */
static void test_large_event(void **state)
{
    (void)state;
    enum { N = 1000000, PART = 100 };
    static char part[PART];
    memset(part, 'x', sizeof(part));
    struct sse_parser p;
    struct event e;
    int64_t before = mem_live_blocks();

    sse_init(&p, N);
    struct span in = SPAN("event: big\ndata: ");
    assert_int_equal(sse_next(&p, &in, &e), EVENT_MORE);
    for (int i = 0; i < N / PART - 1; i++) {
        in = (struct span){part, PART};
        assert_int_equal(sse_next(&p, &in, &e), EVENT_MORE);
    }
    in = SPAN("end\n\ndata: small\n\n");
    assert_int_equal(sse_next(&p, &in, &e), EVENT_WHOLE);
    assert_int_equal(e.data.n, N - PART + 3);
    assert_span_equal("name", e.name, SPAN("big"));
    assert_int_equal(sse_next(&p, &in, &e), EVENT_WHOLE);
    assert_int_equal(mem_live_blocks(), before); /* freed with the next call */

    in = SPAN(": ");
    assert_int_equal(sse_next(&p, &in, &e), EVENT_MORE);
    for (int i = 0; i < N / PART * 2; i++) {
        in = (struct span){part, PART};
        assert_int_equal(sse_next(&p, &in, &e), EVENT_MORE);
    }
    assert_int_equal(mem_live_blocks(), before);

    in = SPAN("\ndata:");
    assert_int_equal(sse_next(&p, &in, &e), EVENT_MORE);
    for (int i = 0; i < N / PART * 2; i++) {
        in = (struct span){part, PART};
        assert_int_equal(sse_next(&p, &in, &e), EVENT_MORE);
    }
    assert_int_equal(mem_live_blocks(), before); /* over the limit: dropped at once */
    in = SPAN("\n\n");
    assert_int_equal(sse_next(&p, &in, &e), EVENT_TOO_LARGE);
    assert_int_equal(e.end, 2);
    sse_done(&p);
}

/* Short lines that end in CR only must not cost a search to the end of the input each. */
static void test_many_short_lines(void **state)
{
    (void)state;
    enum { N = 1 << 20 };
    char *text = mem_alloc(N);
    assert_non_null(text);
    memset(text, '\r', N);
    for (size_t i = 0; i < N; i += 2)
        text[i] = ':';
    struct sse_parser p;
    struct event e;
    struct span in = {text, N};
    sse_init(&p, 100);
    assert_int_equal(sse_next(&p, &in, &e), EVENT_MORE);
    assert_int_equal(p.n_comments, N / 2);
    sse_done(&p);
    mem_free(text);
}

static void test_no_allocation(void **state)
{
    (void)state;
    struct sse_parser p;
    struct event e;
    sse_init(&p, LIMIT_EVENT_BYTES);
    uint64_t before = mem_count_total().n_allocs;
    for (int i = 0; i < 1000; i++) {
        struct span whole = SPAN("event: delta\r\nid: 7\r\ndata: {\"x\":1}\r\n\r\n: ping\r\n\r\n");
        struct span in = whole;
        assert_int_equal(sse_next(&p, &in, &e), EVENT_WHOLE);
        assert_true(e.data.p > whole.p && e.data.p < whole.p + whole.n); /* a view */
        assert_true(e.name.p > whole.p && e.name.p < whole.p + whole.n);
        assert_int_equal(sse_next(&p, &in, &e), EVENT_MORE);
    }
    assert_int_equal(mem_count_total().n_allocs, before);
    sse_done(&p);
}

static int attempt_stream(void *ctx)
{
    (void)ctx;
    static const char text[] = "event: a\ndata: 1\ndata: 2\n\nevent: b\ndata: 3\n\ndata: 4\ndata";
    struct sse_parser p;
    enum event_status status = EVENT_MORE;
    int n_events = 0;
    sse_init(&p, 100);
    for (size_t i = 0; i < sizeof(text) - 1 && status != EVENT_NO_MEMORY; i++) {
        struct event e;
        struct span in = {text + i, 1};
        status = sse_next(&p, &in, &e);
        n_events += status == EVENT_WHOLE;
    }
    struct event e = {.end = 77};
    if (status != EVENT_NO_MEMORY)
        status = sse_finish(&p, &e);
    if (status == EVENT_NO_MEMORY) { /* for good */
        struct span in = SPAN("data: x\n\n");
        assert_int_equal(sse_next(&p, &in, &e), EVENT_NO_MEMORY);
        in = (struct span){NULL, 0};
        assert_int_equal(sse_next(&p, &in, &e), EVENT_NO_MEMORY);
        assert_int_equal(sse_finish(&p, &e), EVENT_NO_MEMORY);
        assert_int_equal(e.end, 77);
    } else {
        assert_int_equal(n_events, 2);
        assert_span_equal("tail", e.data, SPAN("4\n"));
    }
    sse_done(&p);
    return status == EVENT_NO_MEMORY ? -ENOMEM : 0;
}

/* Stray text is given up for, the stream is not. */
static int attempt_stray(void *ctx)
{
    (void)ctx;
    struct sse_parser p;
    struct event e;
    struct span in = SPAN("{\"error\": 1}\n\ndata: x\n\n");
    sse_init(&p, 100);
    assert_int_equal(sse_next(&p, &in, &e), EVENT_WHOLE);
    bool is_lost = sse_stray(&p).n == 0;
    sse_done(&p);
    return is_lost ? -ENOMEM : 0;
}

/* The joint of a bare last line is the only thing that finishing may have to store. */
static int attempt_finish(void *ctx)
{
    (void)ctx;
    struct sse_parser p;
    struct event e;
    struct span in = SPAN("data\ndata");
    sse_init(&p, 100);
    enum event_status status = sse_next(&p, &in, &e);
    if (status == EVENT_MORE)
        status = sse_finish(&p, &e);
    if (status == EVENT_WHOLE)
        assert_span_equal("data", e.data, SPAN("\n"));
    sse_done(&p);
    return status == EVENT_NO_MEMORY ? -ENOMEM : 0;
}

static void test_allocation_failures(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt_stream, NULL) >= 4);
    assert_true(memfail_each(attempt_finish, NULL) >= 1);
    assert_true(memfail_each(attempt_stray, NULL) >= 1);
}

/* ------------------------------------------------------------------ recorded streams */

static void free_read(struct span s)
{
    char *p;
    memcpy(&p, &s.p, sizeof(p)); /* corpus_read hands out what is ours to free */
    free(p);
}

static void feed_parts(struct run *r, const size_t *parts, size_t n_parts, const char *how)
{
    struct guard g;
    struct span rest = r->input;
    guard_init(&g, r->input.n);
    run_begin(r);
    for (size_t i = 0; i < n_parts && rest.n > 0; i++) {
        size_t n = i + 1 == n_parts || parts[i] > rest.n ? rest.n : parts[i];
        run_feed(r, guard_copy(&g, span_take(&rest, n)));
    }
    run_end(r, how);
    guard_done(&g);
}

/* The reads the recorder saw, when it kept them. */
static void feed_recorded_reads(struct run *r, const char *path)
{
    enum { READS_MAX = 100000 };
    static size_t parts[READS_MAX];
    char *reads_path;
    assert_true(asprintf(&reads_path, "%s.reads", path) > 0);
    struct span text = corpus_read(reads_path);
    free(reads_path);
    struct span rest = text;
    size_t n_parts = 0;
    while (rest.n > 0 && n_parts < READS_MAX) {
        uint64_t n;
        if (num_parse_u64(span_trim(span_split(&rest, '\n')), &n) == 0)
            parts[n_parts++] = (size_t)n;
    }
    if (n_parts > 0)
        feed_parts(r, parts, n_parts, "recorded reads");
    free_read(text);
}

static void check_recorded(const char *path, uint64_t n_events)
{
    struct span content = corpus_read(path);
    assert_row(path, content.p != NULL);
    if (!content.p)
        return;
    struct run r = {.name = path, .max_event_bytes = 4 * MIB, .input = content};
    transcript_init(&r.want);
    plain_reading(content, r.max_event_bytes, &r.want);
    assert_row(path, r.want.n_events == n_events);
    feed_parts(&r, &content.n, 1, "whole");
    feed_recorded_reads(&r, path);

    struct rng rng;
    rng_seed(&rng, content.n);
    for (int i = 0; i < 12; i++) {
        enum { N_PARTS = 4096 };
        static size_t parts[N_PARTS];
        uint64_t max = UINT64_C(2) << rng_below(&rng, 12);
        for (size_t k = 0; k < N_PARTS; k++)
            parts[k] = 1 + (size_t)rng_below(&rng, max);
        feed_parts(&r, parts, N_PARTS, "random parts");
    }
    transcript_done(&r.want);
    free_read(content);
}

static void test_recorded_streams(void **state)
{
    (void)state;
    enum { COLUMN_FILE = 0, COLUMN_DIALECT = 1, COLUMN_EVENTS = 10, N_COLUMNS = 11 };
    const char *root = getenv("INFEROMETER_SHARED");
    char *path;
    root = root && *root ? root : "../shared";
    assert_true(asprintf(&path, "%s/corpus/INDEX.tsv", root) > 0);
    struct span rows = corpus_read(path);
    free(path);
    struct span rest = rows;
    int n_streams = 0;
    while (rest.n > 0) {
        struct span line = span_split(&rest, '\n');
        struct span columns[N_COLUMNS];
        for (int i = 0; i < N_COLUMNS; i++)
            columns[i] = span_split(&line, '\t');
        struct span file = columns[COLUMN_FILE];
        uint64_t n_events;
        if (file.n < 4 || !span_eq(span_from(file, file.n - 4), SPAN(".sse")) ||
            span_eq(columns[COLUMN_DIALECT], SPAN("other")) ||
            num_parse_u64(columns[COLUMN_EVENTS], &n_events) < 0)
            continue;
        assert_true(asprintf(&path, "%s/corpus/%.*s", root, SPAN_ARG(file)) > 0);
        check_recorded(path, n_events);
        free(path);
        n_streams++;
    }
    print_message("%d recorded streams\n", n_streams);
    free_read(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_stray_text),
        cmocka_unit_test(test_stray_limit),
        cmocka_unit_test(test_nul_bytes),
        cmocka_unit_test(test_cr_is_enough),
        cmocka_unit_test(test_between_events),
        cmocka_unit_test(test_random_streams),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_large_event),
        cmocka_unit_test(test_many_short_lines),
        cmocka_unit_test(test_no_allocation),
        cmocka_unit_test(test_allocation_failures),
        cmocka_unit_test(test_recorded_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
