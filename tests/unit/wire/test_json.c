/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader over valid, invalid and cut texts: taken, skipped and walked at random, each in front
 * of an inaccessible page. What a walk must report is written down as a canonical text.
 */
#include "wire/json.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/rng.h"
#include "guard.h"
#include "harness.h"

enum { TEXT_MAX = 1 << 16 };

/* ------------------------------------------------------------------ walking */

static void note(struct buf *out, struct span s)
{
    assert_int_equal(buf_append(out, s), 0);
}

/* Writes the next value without white space; strings and numbers as they stand. */
static void walk_value(struct json *j, struct buf *out)
{
    struct json_value v = {0};
    if (!json_next(j, &v))
        return;
    struct span key;
    const char *comma = "";
    switch (v.type) {
    case JSON_STRING:
        note(out, SPAN("\""));
        note(out, v.raw);
        note(out, SPAN("\""));
        assert_int_equal(v.has_escape, span_find_char(v.raw, '\\') < v.raw.n);
        break;
    case JSON_BOOL:
        assert_int_equal(v.is_true, v.raw.p[0] == 't');
        note(out, v.raw);
        break;
    case JSON_NULL:
    case JSON_NUMBER:
        note(out, v.raw);
        break;
    case JSON_ARRAY:
        assert_int_equal(v.raw.p[0], '[');
        note(out, SPAN("["));
        for (; json_item(j); comma = ",") {
            note(out, span_cstr(comma));
            walk_value(j, out);
        }
        if (json_status(j) == JSON_OK)
            note(out, SPAN("]"));
        break;
    case JSON_OBJECT:
        assert_int_equal(v.raw.p[0], '{');
        note(out, SPAN("{"));
        for (; json_key(j, &key); comma = ",") {
            note(out, span_cstr(comma));
            note(out, SPAN("\""));
            note(out, key);
            note(out, SPAN("\":"));
            walk_value(j, out);
        }
        if (json_status(j) == JSON_OK)
            note(out, SPAN("}"));
        break;
    }
}

enum verdict { DONE, MORE, REFUSED };

/* REFUSED also when a valid value is followed by something else. */
static enum verdict verdict_of(struct json *j)
{
    size_t before = json_offset(j);
    bool is_done = json_is_done(j);
    assert_true(json_offset(j) >= before);
    if (is_done)
        return DONE;
    return json_status(j) == JSON_MORE ? MORE : REFUSED;
}

static enum verdict walk(struct span text, struct buf *out)
{
    struct json j;
    json_init(&j, text);
    walk_value(&j, out);
    return verdict_of(&j);
}

static enum verdict skip_over(struct span text)
{
    struct json j;
    json_init(&j, text);
    (void)json_skip(&j); /* the verdict asks the status */
    return verdict_of(&j);
}

/* Takes, skips, leaves alone or leaves early, as the numbers will have it. */
static void wander(struct json *j, struct rng *rng)
{
    struct json_value v;
    struct span key;
    if (rng_below(rng, 4) == 0) {
        (void)json_skip(j);
        return;
    }
    if (!json_next(j, &v) || (v.type != JSON_OBJECT && v.type != JSON_ARRAY))
        return;
    while (v.type == JSON_ARRAY ? json_item(j) : json_key(j, &key)) {
        uint64_t dice = rng_below(rng, 8);
        if (dice == 0) {
            (void)json_leave(j);
            return;
        }
        if (dice > 1) /* 1: neither taken nor skipped */
            wander(j, rng);
    }
}

static enum verdict wander_over(struct span text, struct rng *rng)
{
    struct json j;
    json_init(&j, text);
    wander(&j, rng);
    return verdict_of(&j);
}

/* All ways over a text agree, in front of an inaccessible page; the walk's report in *out. */
static enum verdict judge(const char *name, struct guard *g, struct span text, struct buf *out)
{
    struct span s = guard_copy(g, text);
    buf_clear(out);
    enum verdict v = walk(s, out);
    assert_row(name, skip_over(s) == v);
    struct rng rng;
    rng_seed(&rng, text.n);
    for (int i = 0; i < 20; i++)
        assert_row(name, wander_over(s, &rng) == v);
    return v;
}

/* ------------------------------------------------------------------ valid texts */

struct valid_case {
    const char *name;
    const char *text;
    const char *walk; /* NULL: as text */
};

static const struct valid_case valid_cases[] = {
    {"lone null", "null", NULL},
    {"lone true", "true", NULL},
    {"lone false", " false\n", "false"},
    {"lone number", "42", NULL},
    {"lone negative", "-0.1", NULL},
    {"lone string", "\"asd\"", NULL},
    {"empty string", "\"\"", NULL},
    {"white space of every kind", " \t\r\n[ \t\r\n1 \t\r\n, \t\r\n2 \t\r\n] \t\r\n", "[1,2]"},
    {"empty array", "[]", NULL},
    {"empty array with space", "[ \n]", "[]"},
    {"empty object", "{}", NULL},
    {"empty object with space", "{ \n}", "{}"},
    {"nested", "[[[]],{\"a\":{\"b\":[{}]}}]", NULL},
    {"several values", "[null, 1, \"1\", {}, true, false]", "[null,1,\"1\",{},true,false]"},
    {"object", "{\"a\":1 , \"b\" : [2,3] , \"c\":{\"d\":null} }",
     "{\"a\":1,\"b\":[2,3],\"c\":{\"d\":null}}"},
    {"empty key", "{\"\":0}", NULL},
    {"same key twice", "{\"a\":1,\"a\":2}", NULL},
    {"escaped key", "{\"a\\u0062c\":1}", NULL},
    {"numbers", "[0,-0,1,-1,123456789,0.5,-0.5,1e5,1E5,1e+5,1e-5,1.5e10,0e1,0E+1,20e1,0.0e-0]",
     NULL},
    {"huge numbers", "[1e999,-1e999,1e-999,123123e100000,100000000000000000000000]", NULL},
    {"number before space", "[1 ,2\n]", "[1,2]"},
    {"escapes", "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\",\"\\u0000\\uFFFF\\uabCD\"]", NULL},
    {"surrogates", "[\"\\ud83d\\ude39\",\"\\ud800\",\"\\ude00x\"]", NULL},
    {"backslash before quote", "[\"a\\\\\",\"\\\\\\\"\"]", NULL},
    {"beyond ASCII", "[\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\xb9\",\"\x80\xff\xed\xa0\x80\"]", NULL},
    {"DEL", "[\"\x7f\"]", NULL},
    {"long string",
     "[\"0123456789012345678901234567890123456789\\n012345678901234567890123456789\"]", NULL},
    {"string with brackets", "[\"}]{[,:\"]", NULL},
    {"chat chunk",
     "{\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" "
     "hi\"},\"finish_reason\":null}]}",
     NULL},
};

static void test_valid(void **state)
{
    (void)state;
    struct guard g;
    struct buf out;
    guard_init(&g, TEXT_MAX);
    buf_init(&out, TEXT_MAX);
    for (size_t i = 0; i < ARRAY_LEN(valid_cases); i++) {
        const struct valid_case *c = &valid_cases[i];
        assert_row(c->name, judge(c->name, &g, span_cstr(c->text), &out) == DONE);
        assert_span_equal(c->name, buf_span(&out), span_cstr(c->walk ? c->walk : c->text));
    }
    guard_done(&g);
    buf_done(&out);
}

/* Every beginning of a valid text is MORE, except a number that may stand alone. */
static void test_prefixes(void **state)
{
    (void)state;
    struct guard g;
    struct buf out;
    guard_init(&g, TEXT_MAX);
    buf_init(&out, TEXT_MAX);
    for (size_t i = 0; i < ARRAY_LEN(valid_cases); i++) {
        struct span text = span_trim(span_cstr(valid_cases[i].text));
        struct span trimmed = text;
        while (trimmed.n > 0 && strchr(" \t\r\n", trimmed.p[trimmed.n - 1]))
            trimmed.n--;
        bool is_number = strchr("-0123456789", text.p[0]) != NULL;
        for (size_t n = 0; n < trimmed.n; n++) {
            enum verdict v = judge(valid_cases[i].name, &g, (struct span){text.p, n}, &out);
            assert_row(valid_cases[i].name, v == MORE || (is_number && v == DONE));
        }
    }
    guard_done(&g);
    buf_done(&out);
}

/* ------------------------------------------------------------------ invalid texts */

static const struct {
    const char *name;
    struct span text;
    enum verdict verdict;
} invalid_cases[] = {
    {"nothing", SPAN_INIT(""), MORE},
    {"space only", SPAN_INIT(" \n"), MORE},
    {"BOM", SPAN_INIT("\xef\xbb\xbf{}"), REFUSED},
    {"NUL", SPAN_INIT("\0"), REFUSED},
    {"NUL behind", SPAN_INIT("1\0"), REFUSED},
    {"NUL between", SPAN_INIT("[1,\0]"), REFUSED},
    {"form feed as space", SPAN_INIT("[\f]"), REFUSED},
    {"no-break space", SPAN_INIT("[\xc2\xa0]"), REFUSED},
    {"unclosed array", SPAN_INIT("[1"), MORE},
    {"unclosed array, comma", SPAN_INIT("[1,"), MORE},
    {"unclosed object", SPAN_INIT("{\"a\":"), MORE},
    {"unclosed string", SPAN_INIT("\"a"), MORE},
    {"cut escape", SPAN_INIT("\"\\"), MORE},
    {"cut unicode escape", SPAN_INIT("\"\\u12"), MORE},
    {"cut word", SPAN_INIT("nul"), MORE},
    {"cut number", SPAN_INIT("-"), MORE},
    {"cut fraction", SPAN_INIT("1."), MORE},
    {"cut exponent", SPAN_INIT("1e+"), MORE},
    {"extra comma in array", SPAN_INIT("[1,]"), REFUSED},
    {"leading comma in array", SPAN_INIT("[,1]"), REFUSED},
    {"double comma in array", SPAN_INIT("[1,,2]"), REFUSED},
    {"only comma in array", SPAN_INIT("[,]"), REFUSED},
    {"no comma in array", SPAN_INIT("[1 2]"), REFUSED},
    {"colon in array", SPAN_INIT("[\"a\":1]"), REFUSED},
    {"array closed as object", SPAN_INIT("[1}"), REFUSED},
    {"object closed as array", SPAN_INIT("{\"a\":1]"), REFUSED},
    {"extra close", SPAN_INIT("[1]]"), REFUSED},
    {"extra brace", SPAN_INIT("{}}"), REFUSED},
    {"two values", SPAN_INIT("1 2"), REFUSED},
    {"two objects", SPAN_INIT("{}{}"), REFUSED},
    {"trailing comma behind", SPAN_INIT("{},"), REFUSED},
    {"trailing letter", SPAN_INIT("{\"a\":true} x"), REFUSED},
    {"trailing comment", SPAN_INIT("{}/**/"), REFUSED},
    {"comment inside", SPAN_INIT("[1/**/]"), REFUSED},
    {"hash comment", SPAN_INIT("#\n{}"), REFUSED},
    {"extra comma in object", SPAN_INIT("{\"a\":1,}"), REFUSED},
    {"leading comma in object", SPAN_INIT("{,\"a\":1}"), REFUSED},
    {"double comma in object", SPAN_INIT("{\"a\":1,,\"b\":2}"), REFUSED},
    {"no colon", SPAN_INIT("{\"a\" 1}"), REFUSED},
    {"double colon", SPAN_INIT("{\"a\"::1}"), REFUSED},
    {"comma for colon", SPAN_INIT("{\"a\",1}"), REFUSED},
    {"no value", SPAN_INIT("{\"a\":}"), REFUSED},
    {"no key", SPAN_INIT("{:1}"), REFUSED},
    {"number as key", SPAN_INIT("{1:1}"), REFUSED},
    {"word as key", SPAN_INIT("{a:1}"), REFUSED},
    {"single quotes", SPAN_INIT("{'a':1}"), REFUSED},
    {"key alone", SPAN_INIT("{\"a\"}"), REFUSED},
    {"no comma in object", SPAN_INIT("{\"a\":1 \"b\":2}"), REFUSED},
    {"capital word", SPAN_INIT("[True]"), REFUSED},
    {"wrong word", SPAN_INIT("[nil]"), REFUSED},
    {"wrong word at the end", SPAN_INIT("trux"), REFUSED},
    {"longer word", SPAN_INIT("[truee]"), REFUSED},
    {"longer lone word", SPAN_INIT("nulll"), REFUSED},
    {"word with string", SPAN_INIT("[true\"a\"]"), REFUSED},
    {"undefined", SPAN_INIT("[undefined]"), REFUSED},
    {"NaN", SPAN_INIT("[NaN]"), REFUSED},
    {"Infinity", SPAN_INIT("[Infinity]"), REFUSED},
    {"minus Infinity", SPAN_INIT("[-Infinity]"), REFUSED},
    {"plus sign", SPAN_INIT("[+1]"), REFUSED},
    {"two signs", SPAN_INIT("[--1]"), REFUSED},
    {"minus alone", SPAN_INIT("[-]"), REFUSED},
    {"minus and space", SPAN_INIT("[- 1]"), REFUSED},
    {"leading zero", SPAN_INIT("[01]"), REFUSED},
    {"lone leading zero", SPAN_INIT("01"), REFUSED},
    {"negative leading zero", SPAN_INIT("[-01]"), REFUSED},
    {"leading point", SPAN_INIT("[.5]"), REFUSED},
    {"negative leading point", SPAN_INIT("[-.5]"), REFUSED},
    {"trailing point", SPAN_INIT("[1.]"), REFUSED},
    {"point before exponent", SPAN_INIT("[1.e1]"), REFUSED},
    {"two points", SPAN_INIT("[1.2.3]"), REFUSED},
    {"empty exponent", SPAN_INIT("[1e]"), REFUSED},
    {"empty signed exponent", SPAN_INIT("[1e+]"), REFUSED},
    {"double exponent", SPAN_INIT("[1e2e3]"), REFUSED},
    {"fraction in exponent", SPAN_INIT("[1e2.3]"), REFUSED},
    {"sign in exponent twice", SPAN_INIT("[1e+-2]"), REFUSED},
    {"hex number", SPAN_INIT("[0x1f]"), REFUSED},
    {"grouped number", SPAN_INIT("[1_000]"), REFUSED},
    {"letter behind number", SPAN_INIT("[1a]"), REFUSED},
    {"minus behind number", SPAN_INIT("[1-2]"), REFUSED},
    {"string behind number", SPAN_INIT("[1\"a\"]"), REFUSED},
    {"full-width digit", SPAN_INIT("[\xef\xbc\x91]"), REFUSED},
    {"newline in string", SPAN_INIT("[\"a\nb\"]"), REFUSED},
    {"tab in string", SPAN_INIT("[\"\t\"]"), REFUSED},
    {"NUL in string", SPAN_INIT("[\"a\0b\"]"), REFUSED},
    {"unit separator in string", SPAN_INIT("[\"0123456789abcdef0123\x1f\"]"), REFUSED},
    {"control in skipped tail", SPAN_INIT("[\"0123456789abcdef\x01 56789abcdef\"]"), REFUSED},
    {"newline in key", SPAN_INIT("{\"a\n\":1}"), REFUSED},
    {"invalid escape", SPAN_INIT("[\"\\x41\"]"), REFUSED},
    {"capital escape", SPAN_INIT("[\"\\N\"]"), REFUSED},
    {"escaped newline", SPAN_INIT("[\"\\\n\"]"), REFUSED},
    {"escaped NUL", SPAN_INIT("[\"\\\0\"]"), REFUSED},
    {"escaped quote", SPAN_INIT("[\"\\'\"]"), REFUSED},
    {"short unicode escape", SPAN_INIT("[\"\\u123\"]"), REFUSED},
    {"bad unicode escape", SPAN_INIT("[\"\\u123g\"]"), REFUSED},
    {"capital U", SPAN_INIT("[\"\\U0041\"]"), REFUSED},
    {"signed unicode escape", SPAN_INIT("[\"\\u+123\"]"), REFUSED},
    {"invalid escape in key", SPAN_INIT("{\"\\a\":1}"), REFUSED},
    {"escape outside", SPAN_INIT("[\\u0020]"), REFUSED},
    {"open tag", SPAN_INIT("<html>"), REFUSED},
    {"SSE done mark", SPAN_INIT("[DONE]"), REFUSED},
    {"star", SPAN_INIT("*"), REFUSED},
    {"high byte", SPAN_INIT("\xff"), REFUSED},
    {"close only", SPAN_INIT("]"), REFUSED},
    {"comma only", SPAN_INIT(","), REFUSED},
    {"deep garbage", SPAN_INIT("{\"a\":[{\"b\":[1,{\"c\":tru}]}]}"), REFUSED},
};

static void test_invalid(void **state)
{
    (void)state;
    struct guard g;
    struct buf out;
    guard_init(&g, TEXT_MAX);
    buf_init(&out, TEXT_MAX);
    for (size_t i = 0; i < ARRAY_LEN(invalid_cases); i++) {
        enum verdict v = judge(invalid_cases[i].name, &g, invalid_cases[i].text, &out);
        assert_row(invalid_cases[i].name, v == invalid_cases[i].verdict);
    }
    guard_done(&g);
    buf_done(&out);
}

/* Each byte value at each place of a string that spans several scan blocks. */
static void test_every_byte_in_string(void **state)
{
    (void)state;
    struct guard g;
    guard_init(&g, TEXT_MAX);
    for (size_t at = 0; at < 40; at++) {
        for (int c = 0; c < 256; c++) {
            char text[44] = "\"";
            memset(text + 1, 'a', 40);
            text[1 + at] = (char)c;
            text[41] = '"';
            struct span s = guard_copy(&g, (struct span){text, 42});
            enum verdict want = c < 0x20 || c == '"' || c == '\\' ? REFUSED : DONE;
            if (c == '\\' && at == 39)
                want = MORE; /* it escapes the closing quote */
            assert_int_equal(skip_over(s), want);
        }
    }
    guard_done(&g);
}

static void nest(char *dst, size_t depth, const char *open, const char *close, const char *inner)
{
    *dst = '\0';
    for (size_t i = 0; i < depth; i++)
        dst = stpcpy(dst, open);
    dst = stpcpy(dst, inner);
    for (size_t i = 0; i < depth; i++)
        dst = stpcpy(dst, close);
}

static void test_depth(void **state)
{
    (void)state;
    static const struct {
        const char *open;
        const char *close;
        const char *inner;
    } shapes[] = {
        {"[", "]", "1"}, {"{\"a\":", "}", "1"}, {"[{\"a\":", "}]", "[]"}, {"[1,", "]", "2"}};
    struct guard g;
    struct buf out;
    guard_init(&g, TEXT_MAX);
    buf_init(&out, TEXT_MAX);
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        static char text[TEXT_MAX];
        bool is_pair = shapes[i].open[1] == '{';
        size_t fits = is_pair ? JSON_DEPTH_MAX / 2 - 1 : JSON_DEPTH_MAX;
        nest(text, fits, shapes[i].open, shapes[i].close, shapes[i].inner);
        assert_row(shapes[i].open, judge("fits", &g, span_cstr(text), &out) == DONE);
        assert_span_equal(shapes[i].open, buf_span(&out), span_cstr(text));
        nest(text, fits + 1, shapes[i].open, shapes[i].close, shapes[i].inner);
        assert_row(shapes[i].open, judge("too deep", &g, span_cstr(text), &out) == REFUSED);
        nest(text, 5000, shapes[i].open, shapes[i].close, shapes[i].inner);
        assert_row(shapes[i].open, judge("far too deep", &g, span_cstr(text), &out) == REFUSED);
    }
    guard_done(&g);
    buf_done(&out);
}

/* ------------------------------------------------------------------ the calls */

static void test_usage(void **state)
{
    (void)state;
    struct span text = SPAN("{\"a\":[1,{\"x\":2},3],\"model\":\"m\\n\",\"z\":{\"y\":[]}} ");
    struct json j;
    struct json_value v;
    struct span key;
    json_init(&j, text);
    assert_true(json_next(&j, &v));
    assert_int_equal(v.type, JSON_OBJECT);
    assert_span_equal("raw", v.raw, text);
    assert_true(json_key(&j, &key));
    assert_span_equal("key", key, SPAN("a"));
    assert_int_equal(json_offset(&j), 5);
    assert_true(json_next(&j, &v));
    assert_true(json_item(&j));
    assert_true(json_next(&j, &v));
    assert_span_equal("item", v.raw, SPAN("1"));
    assert_true(json_leave(&j));
    assert_true(json_key(&j, &key));
    assert_span_equal("key", key, SPAN("model"));
    assert_true(json_next(&j, &v));
    assert_true(v.type == JSON_STRING && v.has_escape && json_is_nonempty_string(&v));
    assert_true(json_key(&j, &key)); /* its value is neither taken nor skipped */
    assert_false(json_is_done(&j));
    assert_false(json_key(&j, &key));
    assert_span_equal("key", key, SPAN("z"));
    assert_int_equal(json_status(&j), JSON_OK);
    assert_true(json_is_done(&j));
    assert_int_equal(json_offset(&j), text.n);
}

/* Errors stick, and outputs stay as they were. */
static void test_misuse(void **state)
{
    (void)state;
    struct json j;
    struct json_value v = {.raw = {"kept", 4}};
    struct span key = {"kept", 4};

    json_init(&j, SPAN("[1]"));
    assert_false(json_key(&j, &key)); /* no bracket is open */
    assert_int_equal(json_status(&j), JSON_ERROR);
    assert_false(json_next(&j, &v));
    assert_false(json_skip(&j));
    assert_false(json_item(&j));
    assert_false(json_leave(&j));
    assert_false(json_is_done(&j));
    assert_span_equal("key", key, SPAN("kept"));
    assert_span_equal("value", v.raw, SPAN("kept"));

    json_init(&j, SPAN("[1]"));
    assert_true(json_next(&j, &v));
    assert_false(json_next(&j, &v)); /* without json_item */
    assert_int_equal(json_status(&j), JSON_ERROR);

    json_init(&j, SPAN("[1]"));
    assert_true(json_next(&j, &v));
    assert_false(json_key(&j, &key)); /* in an array */
    assert_int_equal(json_status(&j), JSON_ERROR);

    json_init(&j, SPAN("{\"a\":1}"));
    assert_true(json_next(&j, &v));
    assert_false(json_item(&j)); /* in an object */
    assert_int_equal(json_status(&j), JSON_ERROR);

    json_init(&j, SPAN("1"));
    assert_true(json_next(&j, &v));
    assert_false(json_leave(&j)); /* nothing is open */
    assert_int_equal(json_status(&j), JSON_ERROR);

    json_init(&j, SPAN("[1,]"));
    assert_true(json_next(&j, &v) && json_item(&j) && json_skip(&j));
    assert_false(json_item(&j)); /* nothing follows the comma */
    assert_int_equal(json_status(&j), JSON_ERROR);

    json_init(&j, (struct span){NULL, 0});
    assert_false(json_next(&j, &v));
    assert_int_equal(json_status(&j), JSON_MORE);
    assert_int_equal(json_offset(&j), 0);
}

/* A window of a larger body: what was read before its end is right. */
static void test_window(void **state)
{
    (void)state;
    struct span text =
        SPAN("{\"model\":\"m-1\",\"max_tokens\":128,\"messages\":[{\"content\":\"abc");
    struct json j;
    struct json_value v;
    struct span key;
    int n = 0;
    json_init(&j, text);
    assert_true(json_next(&j, &v));
    while (json_key(&j, &key)) {
        if (n++ < 2)
            assert_true(json_next(&j, &v));
    }
    assert_int_equal(n, 3);
    assert_int_equal(json_status(&j), JSON_MORE);

    json_init(&j, SPAN("{\"max_tokens\":12"));
    assert_true(json_next(&j, &v) && json_key(&j, &key));
    assert_false(json_next(&j, &v)); /* may go on as 128 */
    assert_int_equal(json_status(&j), JSON_MORE);
    assert_int_equal(json_offset(&j), 14);
}

/* ------------------------------------------------------------------ values */

static void test_i64(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_ok;
        int64_t want;
    } cases[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"0.000", true, 0},
        {"-0e999999999999999999999", true, 0},
        {"1", true, 1},
        {"-1", true, -1},
        {"100", true, 100},
        {"12.0", true, 12},
        {"1e3", true, 1000},
        {"1E+3", true, 1000},
        {"1000e-3", true, 1},
        {"1.5e1", true, 15},
        {"12.50e1", true, 125},
        {"0.001e3", true, 1},
        {"0.0010e4", true, 10},
        {"10.0", true, 10},
        {"100.00e-1", true, 10},
        {"1.5", false, 0},
        {"0.1", false, 0},
        {"1e-1", false, 0},
        {"15e-1", false, 0},
        {"9223372036854775807", true, INT64_MAX},
        {"9223372036854775808", false, 0},
        {"-9223372036854775808", true, INT64_MIN},
        {"-9223372036854775809", false, 0},
        {"9999999999999999999", false, 0},
        {"18446744073709551616", false, 0},
        {"99999999999999999999999999", false, 0},
        {"922337203685477580.7e1", true, INT64_MAX},
        {"1e18", true, INT64_C(1000000000000000000)},
        {"1e19", false, 0},
        {"1e999999999999999999999", false, 0},
        {"1e-999999999999999999999", false, 0},
        {"100000000000000000000e-20", true, 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct json j;
        struct json_value v;
        int64_t got = 77;
        json_init(&j, span_cstr(cases[i].text));
        assert_row(cases[i].text, json_next(&j, &v) && json_is_done(&j));
        assert_row(cases[i].text, json_i64(&v, &got) == cases[i].is_ok);
        assert_row(cases[i].text, got == (cases[i].is_ok ? cases[i].want : 77));
    }
    int64_t got = 77;
    double real = 77;
    struct json_value v = {.type = JSON_STRING, .raw = SPAN_INIT("1")};
    assert_false(json_i64(&v, &got));
    assert_false(json_double(&v, &real));
    assert_true(got == 77 && real > 76.5 && real < 77.5);
}

static void test_double(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_ok;
        double want;
    } cases[] = {{"0", true, 0},      {"-1.5", true, -1.5},      {"1e3", true, 1000},
                 {"0.1", true, 0.1},  {"1.25E-2", true, 0.0125}, {"1e999", false, 0},
                 {"-1e999", false, 0}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct json_value v = {.type = JSON_NUMBER, .raw = span_cstr(cases[i].text)};
        double got = 77;
        double want = cases[i].is_ok ? cases[i].want : 77;
        assert_row(cases[i].text, json_double(&v, &got) == cases[i].is_ok);
        assert_row(cases[i].text, !(got < want) && !(got > want));
    }
}

static const struct {
    struct span raw;
    struct span text;
} unescape_cases[] = {
    {SPAN_INIT(""), SPAN_INIT("")},
    {SPAN_INIT("plain"), SPAN_INIT("plain")},
    {SPAN_INIT("\\\"\\\\\\/\\b\\f\\n\\r\\t"), SPAN_INIT("\"\\/\b\f\n\r\t")},
    {SPAN_INIT("a\\nb\\nc"), SPAN_INIT("a\nb\nc")},
    {SPAN_INIT("\\u0041\\u00e9\\u20AC"), SPAN_INIT("A\xc3\xa9\xe2\x82\xac")},
    {SPAN_INIT("\\u007f\\u0080\\u07ff\\u0800\\uffff"),
     SPAN_INIT("\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf")},
    {SPAN_INIT("\\u0000x"), SPAN_INIT("\0x")},
    {SPAN_INIT("\\ud83d\\ude39"), SPAN_INIT("\xf0\x9f\x98\xb9")},
    {SPAN_INIT("\\uD800\\uDC00\\udbff\\udfff"), SPAN_INIT("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf")},
    {SPAN_INIT("\\ud83d"), SPAN_INIT("\xef\xbf\xbd")},
    {SPAN_INIT("\\ud83dx"), SPAN_INIT("\xef\xbf\xbdx")},
    {SPAN_INIT("\\ud83d\\n"), SPAN_INIT("\xef\xbf\xbd\n")},
    {SPAN_INIT("\\ud83d\\u0041"), SPAN_INIT("\xef\xbf\xbd"
                                            "A")},
    {SPAN_INIT("\\ud83d\\ud83d\\ude39"), SPAN_INIT("\xef\xbf\xbd\xf0\x9f\x98\xb9")},
    {SPAN_INIT("\\ude39\\ud83d"), SPAN_INIT("\xef\xbf\xbd\xef\xbf\xbd")},
    {SPAN_INIT("\xc3\xa9\\n\xff"), SPAN_INIT("\xc3\xa9\n\xff")},
    /* not what the reader hands out, but harmless all the same */
    {SPAN_INIT("a\\"), SPAN_INIT("a\xef\xbf\xbd")},
    {SPAN_INIT("\\x"), SPAN_INIT("\xef\xbf\xbdx")},
    {SPAN_INIT("\\u12"), SPAN_INIT("\xef\xbf\xbdu12")},
};

static void test_unescape(void **state)
{
    (void)state;
    struct guard g;
    guard_init(&g, TEXT_MAX);
    for (size_t i = 0; i < ARRAY_LEN(unescape_cases); i++) {
        char dst[64];
        struct span raw = guard_copy(&g, unescape_cases[i].raw);
        struct span want = unescape_cases[i].text;
        size_t n = json_unescape(raw, dst, sizeof(dst));
        assert_span_equal("unescape", span_of(dst, n), want);
        assert_int_equal(dst[n], '\0');
        assert_true(json_str_eq(raw, want));
        assert_false(json_str_eq(raw, SPAN("something else altogether")));
        if (want.n > 0)
            assert_false(json_str_eq(raw, (struct span){want.p, want.n - 1}));
        /* every cut: a prefix, terminated, not in the middle of a character */
        for (size_t cap = 1; cap <= want.n; cap++) {
            memset(dst, '#', sizeof(dst));
            n = json_unescape(raw, dst, cap);
            assert_true(n < cap && n <= want.n && memcmp(dst, want.p, n) == 0);
            assert_int_equal(dst[n], '\0');
            assert_int_equal(dst[cap], '#');
            assert_true(n == want.n || ((unsigned char)want.p[n] & 0xc0) != 0x80);
            assert_true(n + 4 >= cap);
        }
        dst[0] = '#';
        assert_int_equal(json_unescape(raw, dst, 0), 0);
        assert_int_equal(dst[0], '#');
    }
    char dst[8];
    assert_int_equal(json_unescape(SPAN("\x80\x80\x80\x80\x80\x80"), dst, 5), 4); /* no UTF-8 */
    guard_done(&g);
}

static void test_no_allocation(void **state)
{
    (void)state;
    uint64_t before = mem_count_total().n_allocs;
    for (size_t i = 0; i < ARRAY_LEN(valid_cases); i++)
        assert_int_equal(skip_over(span_cstr(valid_cases[i].text)), DONE);
    assert_int_equal(mem_count_total().n_allocs, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid),    cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_invalid),  cmocka_unit_test(test_every_byte_in_string),
        cmocka_unit_test(test_depth),    cmocka_unit_test(test_usage),
        cmocka_unit_test(test_misuse),   cmocka_unit_test(test_window),
        cmocka_unit_test(test_i64),      cmocka_unit_test(test_double),
        cmocka_unit_test(test_unescape), cmocka_unit_test(test_no_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
