/* SPDX-License-Identifier: Apache-2.0 */
#include "series/matcher.h"

#include <errno.h>
#include <stdio.h>

#include "base/mem.h"
#include "harness.h"
#include "memfail.h"

static bool matches(enum matcher_op op, const char *pattern, struct span value)
{
    struct arena a;
    struct matcher m;
    struct err err = {.text = ""};
    arena_init(&a, NULL);
    if (matcher_init(&a, op, SPAN("l"), span_cstr(pattern), &m, &err) != 0)
        fail_msg("%s: %s", pattern, err.text);
    bool is = matcher_matches(&m, value);
    assert_int_equal(matcher_error(&m), 0);
    matcher_done(&m);
    arena_done(&a);
    return is;
}

static void test_equality(void **state)
{
    (void)state;
    assert_true(matches(MATCH_EQ, "a.b", SPAN("a.b")));
    assert_false(matches(MATCH_EQ, "a.b", SPAN("axb")));
    assert_true(matches(MATCH_NE, "a", SPAN("")));
    assert_false(matches(MATCH_NE, "", SPAN("")));
}

/* Each with the quick way and with an equivalent that goes to PCRE2. */
static void test_patterns(void **state)
{
    static const struct {
        const char *pattern, *same;
        const char *yes[5], *no[5];
    } cases[] = {
        {"", "()", {""}, {"a", "\n"}},
        {"abc", "[a]bc", {"abc"}, {"", "ab", "abcd", "xabc", "abc\n"}},
        {"a|b|", "[a]|b|", {"a", "b", ""}, {"ab", "a|b"}},
        {"(a|b)", "([a]|b)", {"a", "b"}, {"", "ab", "(a"}},
        {"(?:foo|bar)", "(?:[f]oo|bar)", {"foo", "bar"}, {"foobar", "fo"}},
        {"a\\.b|c\\|d", "a[.]b|c[|]d", {"a.b", "c|d"}, {"axb", "c", "d"}},
        {".*", "(.*)", {"", "a", "a\nb", "\xc3\xa4"}, {NULL}},
        {".+", "(.+)", {"a", "\n", "a\nb"}, {""}},
        {"foo.*", "[f]oo.*", {"foo", "foobar", "foo\n"}, {"fo", "xfoo", ""}},
        {"foo.+", "[f]oo.+", {"foob"}, {"foo", "fo"}},
        {".*foo", ".*[f]oo", {"foo", "xfoo", "\nfoo"}, {"foox", ""}},
        {".+foo", ".+[f]oo", {"xfoo", "foofoo"}, {"foo"}},
        {".*foo.*", ".*[f]oo.*", {"foo", "xfoox", "xfoo"}, {"fo", ""}},
        {".+foo.+", ".+[f]oo.+", {"xfoox", "foofoofoo"}, {"foo", "xfoo", "foox", "foofoo"}},
        {".+foo.*", ".+[f]oo.*", {"xfoo", "xfoox"}, {"foo", "foox"}},
        {"a\\+b.*", "a[+]b.*", {"a+bc"}, {"aab"}},
        {"ab?.*", "[a]b?.*", {"a", "abc"}, {"b"}},
        {"a.*?", "[a].*?", {"a", "ab"}, {"b"}},
        {"a|b.*", "[a]|b.*", {"a", "b", "bc"}, {"ac"}},
        {"(?i)foo", "(?i)[f]oo", {"foo", "FOO"}, {"fo"}},
        {"a{2}", "[a]{2}", {"aa"}, {"a", "aaa"}},
        {"a$", "[a]$", {"a"}, {"a\n", "a$"}},
        {"^a$", "^[a]$", {"a"}, {"^a$"}},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *pattern = cases[i].pattern;
        const char *same = cases[i].same;
        for (size_t k = 0; k < 5 && cases[i].yes[k]; k++) {
            struct span value = span_cstr(cases[i].yes[k]);
            assert_row(pattern, matches(MATCH_RE, pattern, value));
            assert_row(same, matches(MATCH_RE, same, value));
            assert_row(pattern, !matches(MATCH_NRE, pattern, value));
        }
        for (size_t k = 0; k < 5 && cases[i].no[k]; k++) {
            struct span value = span_cstr(cases[i].no[k]);
            assert_row(pattern, !matches(MATCH_RE, pattern, value));
            assert_row(same, !matches(MATCH_RE, same, value));
            assert_row(pattern, matches(MATCH_NRE, pattern, value));
        }
    }
}

static void test_many_words(void **state)
{
    char text[8000] = "w0";
    struct arena a;
    struct matcher m;
    const struct span *words;
    (void)state;
    for (unsigned i = 1; i < 1000; i++) {
        char word[16];
        size_t n = (size_t)snprintf(word, sizeof(word), "|w%u", i);
        memcpy(text + strlen(text), word, n + 1);
    }
    arena_init(&a, NULL);
    assert_int_equal(matcher_init(&a, MATCH_RE, SPAN("l"), span_cstr(text), &m, NULL), 0);
    assert_int_equal(matcher_words(&m, &words), 1000);
    for (int i = 0; i < 1000; i++) {
        char word[8];
        snprintf(word, sizeof(word), "w%d", i);
        assert_row(word, matcher_matches(&m, span_cstr(word)));
    }
    assert_false(matcher_matches(&m, SPAN("w1000")) || matcher_matches(&m, SPAN("w")) ||
                 matcher_matches_empty(&m));
    matcher_done(&m);
    assert_int_equal(matcher_init(&a, MATCH_RE, SPAN("l"), SPAN("a.*"), &m, NULL), 0);
    assert_int_equal(matcher_words(&m, &words), 0);
    matcher_done(&m);
    arena_done(&a);
}

static void test_no_utf8(void **state)
{
    (void)state;
    assert_false(matches(MATCH_RE, "[a]\xc3\xa4.*", SPAN("a\xff\xfe")));
    assert_false(matches(MATCH_RE, "(.*)", SPAN("a\xff")));
    assert_true(matches(MATCH_RE, "(.)", SPAN("\xc3\xa4")));
}

static void test_refused(void **state)
{
    static const char *const patterns[] = {
        "a(",      "a)",       "[a",        "*a",      "a**",     "a*+",     "a++",     "a{2}{3}",
        "a{1001}", "(?=a)",    "(?!a)",     "(?<=a)b", "(?<!a)b", "(?>a)",   "(a)\\1",  "\\k<a>",
        "(?P=a)",  "(*FAIL)a", "\\C",       "\\R",     "\\K",     "(?|a|b)", "a\\",     "[z-a]",
        "\xff",    "a??+",     "(?(1)a|b)", "(?R)",    "\\g{1}",  "(?#a)",   "(?x)a b",
    };
    struct arena a;
    (void)state;
    arena_init(&a, NULL);
    for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
        struct matcher m;
        struct err err = {.text = ""};
        int r = matcher_init(&a, MATCH_RE, SPAN("l"), span_cstr(patterns[i]), &m, &err);
        assert_row(patterns[i], r == -EINVAL);
        assert_row(patterns[i], strncmp(err.text, "error parsing regexp: ", 22) == 0);
    }
    static char large[PATTERN_TEXT_MAX + 2];
    memset(large, '.', sizeof(large));
    struct matcher m;
    assert_int_equal(matcher_init(&a, MATCH_RE, SPAN("l"), span_of(large, sizeof(large)), &m, NULL),
                     -EINVAL);
    arena_done(&a);
}

static void test_allowed(void **state)
{
    static const char *const patterns[] = {
        "(?i:a)b",        "(?P<n>a)", "(?<n>a)",     "\\Qa*+\\E",  "[[:alpha:]]+",
        "[]a]",           "[^]a]",    "\\pL\\PN",    "\\p{Greek}", "a{2,3}?",
        "\\x41\\x{263a}", "\\101",    "(?s-m)a",     "[(*)\\]?+]", "\\.\\*",
        "a{,3}",          "{",        "a{b}",        "\\bfoo\\b",  "\\Afoo\\z",
        "(?U)a+",         "\\Q(?=",   "[\\d\\-\\[]",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(patterns); i++)
        (void)matches(MATCH_RE, patterns[i], SPAN("whatever"));
}

/* Patterns whose backtracking would take longer than the universe lasts. */
static void test_evil_patterns(void **state)
{
    static const char *const patterns[] = {"(a*)*[bc]", "(a|aa)+[cd]", "(.*)(.*)(.*)(.*)(.*)[xy]"};
    char text[3000];
    (void)state;
    memset(text, 'a', sizeof(text));
    for (size_t i = 0; i < ARRAY_LEN(patterns); i++)
        assert_row(patterns[i], !matches(MATCH_RE, patterns[i], span_of(text, sizeof(text))));
    assert_false(matches(MATCH_RE, "([a-z]+)*[0-9]", span_of(text, 150)));
    assert_false(matches(MATCH_RE, "(a+)+[bc]", span_of(text, 150)));
    text[sizeof(text) - 1] = 'b';
    assert_true(matches(MATCH_RE, "(a*)*[bc]", span_of(text, sizeof(text))));
    assert_true(matches(MATCH_RE, "(a+)+[bc]", span_from(span_of(text, sizeof(text)), 2850)));
}

/* What would be too much work is neither a match nor none. */
static void test_too_much_work(void **state)
{
    struct arena a;
    struct matcher m;
    char text[3000];
    (void)state;
    memset(text, 'a', sizeof(text));
    arena_init(&a, NULL);
    for (int op = MATCH_RE; op <= MATCH_NRE; op++) {
        assert_int_equal(
            matcher_init(&a, (enum matcher_op)op, SPAN("l"), SPAN("([a-z]+)*[0-9]"), &m, NULL), 0);
        assert_false(matcher_matches(&m, span_of(text, sizeof(text))));
        assert_int_equal(matcher_error(&m), -E2BIG);
        assert_true(matcher_matches(&m, SPAN("a1")) == (op == MATCH_RE)); /* others are judged */
        assert_int_equal(matcher_error(&m), -E2BIG);
        matcher_done(&m);
    }
    /* A pattern that is slow for each of very many values. */
    struct pattern *p;
    int r = 0;
    int n = 0;
    assert_int_equal(pattern_new(SPAN("(a|aa)+[cd]"), &p, NULL), 0);
    for (; n < 5000 && r == 0; n++)
        r = pattern_matches(p, span_of(text, 60));
    assert_true(r == -E2BIG && n > 500);
    pattern_free(p);
    arena_done(&a);
}

static void test_all_matchers(void **state)
{
    static const struct label pairs[] = {{SPAN_INIT("a"), SPAN_INIT("1")},
                                         {SPAN_INIT("b"), SPAN_INIT("2")}};
    struct labels l = {pairs, 2};
    struct arena a;
    struct matcher m[3];
    (void)state;
    arena_init(&a, NULL);
    assert_int_equal(matcher_init(&a, MATCH_EQ, SPAN("a"), SPAN("1"), &m[0], NULL), 0);
    assert_int_equal(matcher_init(&a, MATCH_NE, SPAN("c"), SPAN("1"), &m[1], NULL), 0);
    assert_int_equal(matcher_init(&a, MATCH_RE, SPAN("b"), SPAN("[3]"), &m[2], NULL), 0);
    assert_true(matcher_matches_all(m, 2, l));
    assert_false(matcher_matches_all(m, 3, l));
    assert_true(matcher_matches_all(NULL, 0, l));
    assert_true(matcher_matches_empty(&m[1]) && !matcher_matches_empty(&m[0]));
    matcher_done(&m[2]);
    arena_done(&a);
}

static void test_print(void **state)
{
    struct arena a;
    struct matcher m;
    struct buf b;
    (void)state;
    arena_init(&a, NULL);
    buf_init(&b, 1000);
    assert_int_equal(matcher_init(&a, MATCH_NRE, SPAN("a"), SPAN("x\\d\""), &m, NULL), 0);
    assert_int_equal(matcher_print(&m, &b), 0);
    matcher_done(&m);
    assert_int_equal(matcher_init(&a, MATCH_EQ, SPAN("a.b"), SPAN(""), &m, NULL), 0);
    assert_int_equal(matcher_print(&m, &b), 0);
    assert_span_equal("both", buf_span(&b), SPAN("a!~\"x\\\\d\\\"\"\"a.b\"=\"\""));
    buf_done(&b);
    arena_done(&a);
}

static void test_expand(void **state)
{
    static const struct {
        const char *pattern, *value, *replacement, *want;
    } cases[] = {
        {"(.*)-(.*)", "a-b", "$2-$1", "b-a"},
        {"(.*)-(.*)", "a-b", "${2}x$1", "bxa"},
        {"(.*)-(.*)", "a-b", "$1x", ""}, /* the group named 1x */
        {"(?P<n>.)(.)", "xy", "$n${n}$2$0", "xxyxy"},
        {"(a)|(b)", "b", "[$1|$2]", "[|b]"},
        {".*", "abc", "$$1 $ ${ ${} $. $3", "$1 $ ${ ${} $. "},
        {"", "", "x", "x"},
        {"a", "b", "x", NULL},
        {"a", "ab", "x", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct pattern *p;
        struct buf b;
        buf_init(&b, 100);
        assert_int_equal(pattern_new(span_cstr(cases[i].pattern), &p, NULL), 0);
        int r = pattern_expand(p, span_cstr(cases[i].value), span_cstr(cases[i].replacement), &b);
        assert_row(cases[i].replacement, r == (cases[i].want ? 0 : -EINVAL));
        assert_span_equal(cases[i].replacement, buf_span(&b),
                          span_cstr(cases[i].want ? cases[i].want : ""));
        assert_int_equal(pattern_expand(p, span_cstr(cases[i].value), SPAN(""), NULL), r);
        assert_int_equal(pattern_matches(p, span_cstr(cases[i].value)), r == 0);
        pattern_free(p);
        buf_done(&b);
    }
    assert_null(pattern_free(NULL));
}

static int use_without_memory(void *ctx)
{
    struct arena a;
    struct matcher m;
    struct pattern *p = NULL;
    struct buf b;
    (void)ctx;
    arena_init(&a, NULL);
    buf_init(&b, 100);
    int r = matcher_init(&a, MATCH_RE, SPAN("l"), SPAN("(a*)*[bc]"), &m, NULL);
    if (r == 0) {
        char text[500];
        memset(text, 'a', sizeof(text));
        bool is = matcher_matches(&m, span_of(text, sizeof(text)));
        assert_false(is);
        r = matcher_error(&m);
        matcher_done(&m);
    }
    if (r == 0)
        r = pattern_new(SPAN("(a)"), &p, NULL);
    if (r == 0)
        r = pattern_expand(p, SPAN("a"), SPAN("<$1>"), &b);
    if (r == 0)
        assert_span_equal("expanded", buf_span(&b), SPAN("<a>"));
    pattern_free(p);
    buf_done(&b);
    arena_done(&a);
    return r;
}

static void test_allocation_failures(void **state)
{
    (void)state;
    assert_in_range(memfail_each(use_without_memory, NULL), 10, 60);
}

static void check_replaced(const char *pattern, struct span s, const char *replacement,
                           const char *want)
{
    struct pattern *p = NULL;
    struct buf out;
    buf_init(&out, 1000);
    assert_int_equal(pattern_new_search(span_cstr(pattern), &p, NULL), 0);
    assert_true(pattern_replace_all(p, s, span_cstr(replacement), &out) >= 0);
    assert_span_equal(pattern, buf_span(&out), span_cstr(want));
    buf_done(&out);
    pattern_free(p);
}

/* What is looked for anywhere in a text, and replaced, as Go does it. */
static void test_search(void **state)
{
    static const struct {
        const char *pattern, *text, *replacement, *want;
    } rows[] = {
        {"b", "abcb", "<$0>", "a<b>c<b>"},
        {"a*", "baac", "x", "xbxcx"},
        {"a*", "", "x", "x"},
        {"z", "abc", "x", "abc"},
        {"(a)(b)?", "abac", "[$2$1]", "[ba][a]c"},
        {"^", "a\nb", ">", ">a\nb"},
        {"(?m)^", "a\nb", ">", ">a\n>b"},
        {"$", "a\n", "<", "a\n<"},
        {".", "a\n\xc3\xa4", "-", "-\n-"},
        {"x*", "\xc3\xa4", "-", "-\xc3\xa4-"},
        {"\\b", "ab cd", "|", "|ab| |cd|"},
        {"(?i)A", "aA", "", ""},
        {".", "\xff", "-", "\xff"}, /* no UTF-8: no match */
    };
    struct pattern *p = NULL;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check_replaced(rows[i].pattern, span_cstr(rows[i].text), rows[i].replacement, rows[i].want);
    assert_int_equal(pattern_new_search(SPAN("b+"), &p, NULL), 0);
    assert_int_equal(pattern_matches(p, SPAN("abc")), 1);
    assert_int_equal(pattern_matches(p, SPAN("ac")), 0);
    pattern_free(p);
}

static void test_search_limits(void **state)
{
    static char text[PATTERN_FOUND_MAX + 1];
    struct pattern *p = NULL;
    struct buf out;
    (void)state;
    memset(text, 'a', sizeof(text));
    buf_init(&out, 4 * sizeof(text));
    assert_int_equal(buf_append(&out, SPAN("kept")), 0);
    assert_int_equal(pattern_new_search(SPAN("a"), &p, NULL), 0);
    assert_int_equal(pattern_replace_all(p, span_of(text, sizeof(text)), SPAN("b"), &out), -E2BIG);
    assert_span_equal("out", buf_span(&out), SPAN("kept"));
    assert_int_equal(pattern_replace_all(p, span_of(text, sizeof(text) - 1), SPAN("b"), &out),
                     PATTERN_FOUND_MAX);
    pattern_free(p);
    buf_clear(&out);
    assert_int_equal(pattern_new_search(SPAN("(a|aa)+$"), &p, NULL), 0);
    text[sizeof(text) - 1] = 'b';
    assert_int_equal(pattern_n_slow(p), 0);
    assert_int_equal(pattern_matches(p, span_of(text + sizeof(text) - 200, 200)), 0);
    assert_int_equal(pattern_n_slow(p), 1);
    assert_int_equal(pattern_replace_all(p, span_of(text, sizeof(text)), SPAN("b"), &out), -E2BIG);
    pattern_free(p);
    buf_done(&out);
    buf_init(&out, 3);
    assert_int_equal(pattern_new_search(SPAN("a"), &p, NULL), 0);
    assert_int_equal(pattern_replace_all(p, SPAN("aa"), SPAN("bb"), &out), -EMSGSIZE);
    assert_int_equal(buf_len(&out), 0);
    pattern_free(p);
    buf_done(&out);
}

static int attempt_search(void *ctx)
{
    struct pattern *p = NULL;
    struct buf out;
    (void)ctx;
    int r = pattern_new_search(SPAN("(a)|b"), &p, NULL);
    if (r != 0) {
        assert_null(p);
        return r;
    }
    buf_init(&out, 1000);
    r = pattern_replace_all(p, SPAN("xaby"), SPAN("<$1>"), &out);
    if (r == 2)
        assert_span_equal("out", buf_span(&out), SPAN("x<a><>y"));
    else
        assert_int_equal(buf_len(&out), 0);
    buf_done(&out);
    pattern_free(p);
    return r == 2 ? 0 : r;
}

static void test_search_without_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt_search, NULL) > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equality),
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_many_words),
        cmocka_unit_test(test_no_utf8),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_allowed),
        cmocka_unit_test(test_evil_patterns),
        cmocka_unit_test(test_too_much_work),
        cmocka_unit_test(test_all_matchers),
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_expand),
        cmocka_unit_test(test_allocation_failures),
        cmocka_unit_test(test_search),
        cmocka_unit_test(test_search_limits),
        cmocka_unit_test(test_search_without_memory),
    };
    return cmocka_run_group_tests_name("series/matcher", tests, NULL, NULL);
}
