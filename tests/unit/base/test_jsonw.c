/* SPDX-License-Identifier: Apache-2.0 */
#include "base/jsonw.h"

#include <errno.h>
#include <math.h>

#include "base/mem.h"
#include "guard.h"
#include "harness.h"
#include "memfail.h"

static void write_document(struct jsonw *w)
{
    jsonw_begin_object(w);
    jsonw_key(w, "a");
    jsonw_i64(w, -1);
    jsonw_key(w, "b");
    jsonw_begin_array(w);
    jsonw_u64(w, UINT64_MAX);
    jsonw_bool(w, true);
    jsonw_bool(w, false);
    jsonw_null(w);
    jsonw_double(w, 0.25);
    jsonw_double(w, (double)NAN);
    jsonw_double(w, (double)INFINITY);
    jsonw_begin_object(w);
    jsonw_end_object(w);
    jsonw_begin_array(w);
    jsonw_end_array(w);
    jsonw_raw(w, SPAN("{\"x\":1}"));
    jsonw_end_array(w);
    jsonw_key(w, "c");
    jsonw_begin_object(w);
    jsonw_key(w, "d");
    jsonw_cstr(w, "e");
    jsonw_end_object(w);
    jsonw_put_str(w, "f", SPAN("g"));
    jsonw_put_cstr(w, "h", "i");
    jsonw_put_i64(w, "j", INT64_MIN);
    jsonw_put_u64(w, "k", UINT64_MAX);
    jsonw_put_double(w, "l", 0.5);
    jsonw_put_bool(w, "m", true);
    jsonw_end_object(w);
}

#define DOCUMENT                                                                                   \
    "{\"a\":-1,\"b\":[18446744073709551615,true,false,null,0.25,null,null,{},[],{\"x\":1}],"       \
    "\"c\":{\"d\":\"e\"},\"f\":\"g\",\"h\":\"i\",\"j\":-9223372036854775808,"                      \
    "\"k\":18446744073709551615,\"l\":0.5,\"m\":true}"

static void test_commas(void **state)
{
    struct buf b;
    struct jsonw w;
    (void)state;
    buf_init(&b, 4096);
    jsonw_init(&w, &b);
    write_document(&w);
    assert_int_equal(jsonw_error(&w), 0);
    assert_span_equal("document", buf_span(&b), SPAN(DOCUMENT));
    buf_done(&b);
}

#define BAD "\xef\xbf\xbd"

static void test_strings(void **state)
{
    static const struct {
        const char *name;
        struct span in, expect;
    } rows[] = {
        {"empty", {NULL, 0}, SPAN_INIT("\"\"")},
        {"plain", SPAN_INIT("abc"), SPAN_INIT("\"abc\"")},
        {"quote and backslash", SPAN_INIT("a\"b\\c"), SPAN_INIT("\"a\\\"b\\\\c\"")},
        {"named controls", SPAN_INIT("\n\r\t"), SPAN_INIT("\"\\n\\r\\t\"")},
        {"other controls", SPAN_INIT("\0\x01\x1f\x7f"),
         SPAN_INIT("\"\\u0000\\u0001\\u001f\\u007f\"")},
        {"slash is plain", SPAN_INIT("</a>"), SPAN_INIT("\"</a>\"")},
        {"two bytes", SPAN_INIT("\xc3\xa9"), SPAN_INIT("\"\xc3\xa9\"")},
        {"three bytes", SPAN_INIT("\xe2\x82\xac"), SPAN_INIT("\"\xe2\x82\xac\"")},
        {"four bytes", SPAN_INIT("\xf0\x9f\x98\x80"), SPAN_INIT("\"\xf0\x9f\x98\x80\"")},
        {"last code point", SPAN_INIT("\xf4\x8f\xbf\xbf"), SPAN_INIT("\"\xf4\x8f\xbf\xbf\"")},
        {"above the last", SPAN_INIT("\xf4\x90\x80\x80"), SPAN_INIT("\"" BAD BAD BAD BAD "\"")},
        {"lead above F4", SPAN_INIT("\xf5z"), SPAN_INIT("\"" BAD "z\"")},
        {"lone continuation", SPAN_INIT("a\x80z"), SPAN_INIT("\"a" BAD "z\"")},
        {"overlong two", SPAN_INIT("\xc0\x80"), SPAN_INIT("\"" BAD BAD "\"")},
        {"overlong three", SPAN_INIT("\xe0\x80\x80"), SPAN_INIT("\"" BAD BAD BAD "\"")},
        {"overlong four", SPAN_INIT("\xf0\x80\x80\x80"), SPAN_INIT("\"" BAD BAD BAD BAD "\"")},
        {"surrogate", SPAN_INIT("\xed\xa0\x80"), SPAN_INIT("\"" BAD BAD BAD "\"")},
        {"before surrogates", SPAN_INIT("\xed\x9f\xbf"), SPAN_INIT("\"\xed\x9f\xbf\"")},
        {"cut two", SPAN_INIT("\xc3"), SPAN_INIT("\"" BAD "\"")},
        {"cut three is one", SPAN_INIT("\xe2\x82"), SPAN_INIT("\"" BAD "\"")},
        {"cut four is one", SPAN_INIT("\xf0\x9f\x98"), SPAN_INIT("\"" BAD "\"")},
        {"cut by a letter", SPAN_INIT("\xe2\x82x"), SPAN_INIT("\"" BAD "x\"")},
        {"cut by a quote", SPAN_INIT("\xe2\""), SPAN_INIT("\"" BAD "\\\"\"")},
        {"ff", SPAN_INIT("\xff\xfe"), SPAN_INIT("\"" BAD BAD "\"")},
    };
    struct guard guard;
    (void)state;
    guard_init(&guard, 64);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buf b;
        struct jsonw w;
        buf_init(&b, 256);
        jsonw_init(&w, &b);
        jsonw_str(&w, guard_copy(&guard, rows[i].in));
        assert_int_equal(jsonw_error(&w), 0);
        assert_span_equal(rows[i].name, buf_span(&b), rows[i].expect);
        buf_done(&b);
    }
    guard_done(&guard);
}

/* With every smaller maximum: an error, and it stays the first one. */
static void test_any_text_is_a_key(void **state)
{
    (void)state;
    struct buf b;
    struct jsonw w;
    buf_init(&b, 1000);
    jsonw_init(&w, &b);
    jsonw_begin_object(&w);
    jsonw_key_str(&w, SPAN("a\"b"));
    jsonw_i64(&w, 1);
    jsonw_key_str(&w, SPAN("c\n"));
    jsonw_begin_array(&w);
    jsonw_end_array(&w);
    jsonw_end_object(&w);
    assert_int_equal(jsonw_error(&w), 0);
    assert_span_equal("keys", buf_span(&b), SPAN("{\"a\\\"b\":1,\"c\\n\":[]}"));
    buf_done(&b);
}

static void test_error_is_sticky(void **state)
{
    size_t n = sizeof(DOCUMENT) - 1;
    (void)state;
    for (size_t max = 0; max < n; max++) {
        struct buf b;
        struct jsonw w;
        buf_init(&b, max);
        jsonw_init(&w, &b);
        write_document(&w);
        assert_int_equal(jsonw_error(&w), -EMSGSIZE);
        size_t len = buf_len(&b);
        assert_span_equal("a prefix", buf_span(&b), span_of(DOCUMENT, len));
        buf_clear(&b); /* room again, but the document is broken */
        jsonw_null(&w);
        assert_int_equal(buf_len(&b), 0);
        buf_done(&b);
    }
}

static int write_without_memory(void *ctx)
{
    struct buf b;
    struct jsonw w;
    (void)ctx;
    buf_init(&b, 4096);
    jsonw_init(&w, &b);
    for (int i = 0; i < 10; i++)
        write_document(&w);
    int r = jsonw_error(&w);
    buf_done(&b);
    return r;
}

static void test_allocation_failures(void **state)
{
    (void)state;
    assert_true(memfail_each(write_without_memory, NULL) >= 2);
}

/* Up to the first byte that needs more, whatever that is and wherever it stands; what is read ends
 * at max, what is written beyond the copy within the slack. */
static void test_copy_plain(void **state)
{
    enum { MAX = 20 };
    struct guard guard;
    (void)state;
    guard_init(&guard, 64);
    for (size_t max = 0; max <= MAX; max++) {
        for (size_t at = 0; at < max; at++) {
            for (int byte = 0; byte <= 0xff; byte++) {
                char text[MAX];
                char to[MAX + JSONW_COPY_SLACK + 1];
                bool is_odd = byte < 0x20 || byte >= 0x7f || byte == '"' || byte == '\\';
                size_t expect = is_odd ? at : max;
                memset(text, byte % 2 ? 'z' : ' ', sizeof(text));
                text[at] = (char)byte;
                for (size_t i = at + 1; is_odd && i < max; i++)
                    text[i] = (char)(i % 3 ? 0xff : 0); /* must not matter any more */
                memset(to, '!', sizeof(to));
                struct span from = guard_copy(&guard, span_of(text, max));
                assert_int_equal(jsonw_copy_plain(to, from.p, max), expect);
                assert_memory_equal(to, text, expect);
                assert_int_equal(to[expect + JSONW_COPY_SLACK], '!');
            }
        }
    }
    char nothing = '!';
    assert_int_equal(jsonw_copy_plain(&nothing, "", 0), 0);
    assert_int_equal(nothing, '!');
    guard_done(&guard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commas),          cmocka_unit_test(test_strings),
        cmocka_unit_test(test_copy_plain),      cmocka_unit_test(test_any_text_is_a_key),
        cmocka_unit_test(test_error_is_sticky), cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests_name("base/jsonw", tests, NULL, NULL);
}
