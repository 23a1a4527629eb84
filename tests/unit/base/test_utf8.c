/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include "base/attr.h"
#include "harness.h"

static void test_every_length_is_read_as_written(void **state)
{
    static const struct {
        uint32_t c;
        const char *text;
    } cases[] = {
        {'a', "a"},
        {0x7f, "\x7f"},
        {0x80, "\xc2\x80"},
        {0x7ff, "\xdf\xbf"},
        {0x800, "\xe0\xa0\x80"},
        {0xffff, "\xef\xbf\xbf"},
        {0x10000, "\xf0\x90\x80\x80"},
        {0x10ffff, "\xf4\x8f\xbf\xbf"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char dst[4];
        bool is_valid;
        size_t n = utf8_put(cases[i].c, dst);
        assert_int_equal(n, strlen(cases[i].text));
        assert_memory_equal(dst, cases[i].text, n);
        assert_int_equal(utf8_step(span_of(dst, n), &is_valid), n);
        assert_true(is_valid);
        struct span s = span_of(dst, n);
        assert_int_equal(utf8_take(&s), cases[i].c);
        assert_int_equal(s.n, 0);
    }
}

static void test_malformed(void **state)
{
    static const struct {
        const char *text;
        size_t n; /* bytes that one U+FFFD replaces */
    } cases[] = {
        {"\x80", 1},          {"\xc1\x80", 1},         {"\xe0\x9f\x80", 1}, {"\xed\xa0\x80", 1},
        {"\xf4\x90\x80", 1},  {"\xf5\x80", 1},         {"\xe2\x82", 2},     {"\xe2\x82z", 2},
        {"\xf0\x9f\x98z", 3}, {"\xf0\x8f\x80\x80", 1},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool is_valid;
        struct span s = span_cstr(cases[i].text);
        assert_int_equal(utf8_step(s, &is_valid), cases[i].n);
        assert_false(is_valid);
        assert_false(utf8_is_valid(s));
        assert_int_equal(utf8_take(&s), 0xfffd);
        assert_int_equal(s.n, strlen(cases[i].text) - 1);
    }
}

static void test_whole_texts(void **state)
{
    (void)state;
    assert_true(utf8_is_valid(SPAN("")));
    assert_true(utf8_is_valid(SPAN("a\xc3\xa4\xf0\x9f\x98\x80z")));
    assert_false(utf8_is_valid(SPAN("a\xc3\xa4\xff")));
    assert_false(utf8_is_valid(SPAN("a\xc3")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_length_is_read_as_written),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_whole_texts),
    };
    return cmocka_run_group_tests_name("base/utf8", tests, NULL, NULL);
}
