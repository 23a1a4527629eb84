/* SPDX-License-Identifier: Apache-2.0 */
#include "base/span.h"

#include "base/attr.h"
#include "harness.h"

static const struct span null_span = {NULL, 0};

static void test_eq_nocase(void **state)
{
    static const struct {
        const char *name;
        struct span a, b;
        bool expect;
    } rows[] = {
        {"same", SPAN_INIT("Host"), SPAN_INIT("Host"), true},
        {"case differs", SPAN_INIT("content-TYPE"), SPAN_INIT("Content-Type"), true},
        {"prefix", SPAN_INIT("Host"), SPAN_INIT("Hos"), false},
        {"other letter", SPAN_INIT("Host"), SPAN_INIT("Hoss"), false},
        {"@ is not `", SPAN_INIT("@"), SPAN_INIT("`"), false},
        {"[ is not {", SPAN_INIT("["), SPAN_INIT("{"), false},
        {"bytes above ASCII are exact", SPAN_INIT("\xc4"), SPAN_INIT("\xe4"), false},
        {"both empty", SPAN_INIT(""), {NULL, 0}, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_row(rows[i].name, span_eq_nocase(rows[i].a, rows[i].b) == rows[i].expect);
}

static int lower(int byte)
{
    return byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte;
}

/* Any two bytes, in a text of a few bytes, of a word, and behind one. */
static void test_eq_nocase_everywhere(void **state)
{
    static const struct {
        size_t at, n;
    } places[] = {{0, 1}, {2, 3}, {0, 8}, {7, 8}, {3, 16}, {8, 9}, {10, 11}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        for (int x = 0; x <= 0xff; x++) {
            for (int y = 0; y <= 0xff; y++) {
                char a[] = "aZ-\xff\x7f[@zAb`{0~\x80Q";
                char b[] = "Az-\xff\x7f[@ZaB`{0~\x80q";
                a[places[i].at] = (char)x;
                b[places[i].at] = (char)y;
                assert_int_equal(span_eq_nocase(span_of(a, places[i].n), span_of(b, places[i].n)),
                                 lower(x) == lower(y));
            }
        }
    }
}

static void test_eq(void **state)
{
    (void)state;
    assert_true(span_eq(SPAN("ab"), SPAN("ab")));
    assert_false(span_eq(SPAN("ab"), SPAN("aB")));
    assert_false(span_eq(SPAN("ab"), SPAN("abc")));
    assert_true(span_eq(null_span, SPAN("")));
    assert_true(span_eq(SPAN("a\0b"), span_of("a\0b", 3)));
}

/* Each is before those behind it. */
static void test_cmp(void **state)
{
    static const struct span rows[] = {{NULL, 0},          SPAN_INIT("\x00"), SPAN_INIT("a"),
                                       SPAN_INIT("a\x00"), SPAN_INIT("ab"),   SPAN_INIT("b"),
                                       SPAN_INIT("\xff")};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
            int r = span_cmp(rows[i], rows[k]);
            assert_int_equal((r > 0) - (r < 0), (i > k) - (i < k));
            assert_int_equal(span_sort_cmp(&rows[i], &rows[k]), r);
        }
}

static void test_trim(void **state)
{
    static const struct {
        struct span in, expect;
    } rows[] = {
        {SPAN_INIT(" \t a b\t "), SPAN_INIT("a b")},
        {SPAN_INIT("ab"), SPAN_INIT("ab")},
        {SPAN_INIT("   \t"), SPAN_INIT("")},
        {SPAN_INIT("\r\na"), SPAN_INIT("\r\na")}, /* line ends are no blanks */
        {{NULL, 0}, SPAN_INIT("")},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_span_equal("trim", span_trim(rows[i].in), rows[i].expect);
}

static void test_at(void **state)
{
    (void)state;
    assert_int_equal(span_at(SPAN("ab"), 1), 'b');
    assert_int_equal(span_at(span_of("ab", 1), 1), '\0');
    assert_int_equal(span_at(null_span, 0), '\0');
    assert_int_equal(span_at(SPAN("ab"), SIZE_MAX), '\0');
}

static void test_find(void **state)
{
    (void)state;
    assert_int_equal(span_find_char(SPAN("a:b:c"), ':'), 1);
    assert_int_equal(span_find_char(SPAN("abc"), ':'), 3);
    assert_int_equal(span_find_char(null_span, ':'), 0);
    assert_int_equal(span_find(SPAN("data: [DONE]"), SPAN("[DONE]")), 6);
    assert_int_equal(span_find(SPAN("data: [DONE"), SPAN("[DONE]")), 11);
    assert_int_equal(span_find(SPAN("ab"), SPAN("abc")), 2);
    assert_int_equal(span_find(SPAN("ab"), SPAN("")), 0);
    assert_int_equal(span_find(null_span, SPAN("a")), 0);
}

static void test_split(void **state)
{
    struct span s = SPAN("a,,b");
    (void)state;
    assert_span_equal("first", span_split(&s, ','), SPAN("a"));
    assert_span_equal("empty", span_split(&s, ','), SPAN(""));
    assert_span_equal("last", span_split(&s, ','), SPAN("b"));
    assert_int_equal(s.n, 0);
    assert_span_equal("nothing left", span_split(&s, ','), SPAN(""));
    s = SPAN("a,");
    assert_span_equal("before the end", span_split(&s, ','), SPAN("a"));
    assert_span_equal("after the end", s, SPAN(""));
}

static void test_take_from_starts(void **state)
{
    struct span s = SPAN("abcdef");
    (void)state;
    assert_span_equal("taken", span_take(&s, 2), SPAN("ab"));
    assert_span_equal("rest", s, SPAN("cdef"));
    assert_span_equal("from", span_from(s, 3), SPAN("f"));
    assert_span_equal("from past the end", span_from(s, 9), SPAN(""));
    assert_true(span_starts_with(s, SPAN("cd")));
    assert_true(span_starts_with(s, SPAN("")));
    assert_false(span_starts_with(s, SPAN("cdefg")));
    assert_true(span_starts_with(null_span, SPAN("")));
    assert_true(span_ends_with(s, SPAN("ef")));
    assert_true(span_ends_with(s, SPAN("")));
    assert_false(span_ends_with(s, SPAN("bcdef")));
    assert_false(span_ends_with(s, SPAN("de")));
    assert_true(span_ends_with(null_span, SPAN("")));
    assert_int_equal(span_cstr(NULL).n, 0);
    assert_span_equal("cstr", span_cstr("xy"), SPAN("xy"));
}

static void test_copy(void **state)
{
    char dst[4] = "zzz";
    (void)state;
    assert_int_equal(span_copy(SPAN("abcdef"), dst, sizeof(dst)), 3);
    assert_string_equal(dst, "abc");
    assert_int_equal(span_copy(null_span, dst, sizeof(dst)), 0);
    assert_string_equal(dst, "");
    dst[0] = 'q';
    assert_int_equal(span_copy(SPAN("a"), dst, 0), 0);
    assert_int_equal(dst[0], 'q');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eq),    cmocka_unit_test(test_eq_nocase),
        cmocka_unit_test(test_cmp),   cmocka_unit_test(test_trim),
        cmocka_unit_test(test_at),    cmocka_unit_test(test_find),
        cmocka_unit_test(test_split), cmocka_unit_test(test_take_from_starts),
        cmocka_unit_test(test_copy),  cmocka_unit_test(test_eq_nocase_everywhere),
    };
    return cmocka_run_group_tests_name("base/span", tests, NULL, NULL);
}
