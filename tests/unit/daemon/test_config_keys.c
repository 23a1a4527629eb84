/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config_keys.h"

#include <limits.h>

#include "base/clock.h"
#include "base/suggest.h"
#include "daemon/config_values.h"
#include "harness.h"

/* --- the table --- */

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < config_keys_n; i++) {
        const struct config_key *key = &config_keys[i];
        struct span path = span_cstr(key->path);

        for (size_t j = 0; j < path.n; j++)
            assert_row(key->path, is_name_char(path.p[j]));
        assert_ptr_equal(config_keys_find(path), key); /* no path stands twice */
        assert_row(key->path, !config_keys_is_section(path));
        assert_row(key->path, key->offset < sizeof(struct config));
        assert_row(key->path, key->help && key->help[strlen(key->help) - 1] == '.');
        assert_row(key->path, !strchr(key->help, '|')); /* would end a Markdown cell */
        assert_row(key->path, key->def || key->example);
        assert_row(key->path, key->min <= key->max);
        for (size_t j = 0; j < i; j++)
            assert_row(key->path, config_keys[j].offset != key->offset);
    }
    assert_null(config_keys_find(SPAN("timeouts")));
    assert_null(config_keys_find(SPAN("")));
    assert_true(config_keys_is_section(SPAN("timeouts")));
    assert_false(config_keys_is_section(SPAN("time")));
    assert_false(config_keys_is_section(SPAN("")));
}

/* Keys of one section stand together. */
static void test_sections(void **state)
{
    char seen[CONFIG_KEYS_MAX][32];
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < config_keys_n; i++) {
        char section[32];

        (void)span_copy(span_of(config_keys[i].path,
                                (size_t)(config_keys_leaf(&config_keys[i]) - config_keys[i].path)),
                        section, sizeof(section));
        if (n > 0 && strcmp(seen[n - 1], section) == 0)
            continue;
        for (size_t j = 0; j < n; j++)
            assert_string_not_equal(seen[j], section);
        (void)span_copy(span_cstr(section), seen[n++], sizeof(seen[0]));
    }
}

static void test_ranges(void **state)
{
    static const struct {
        const char *path, *range;
    } rows[] = {
        {"workers", "1 to 256, or auto"},
        {"timeouts.connect", "1ms to 1h"},
        {"probe.interval", "100ms to 1h, or 0"},
        {"limits.request_window", "4KiB to 64MiB"},
        {"listen", "1 to 16 items"},
        {"upstreams", "1 to 64 items"},
        {"log.file", ""},
    };
    char range[CONFIG_RANGE_MAX];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_string_equal(config_keys_range(config_keys_find(span_cstr(rows[i].path)), range),
                            rows[i].range);
}

/* --- did you mean --- */

static void test_distance(void **state)
{
    static const struct {
        const char *a, *b;
        int expect;
    } rows[] = {
        {"", "", 0},
        {"", "abc", 3},
        {"abc", "", 3},
        {"abc", "abc", 0},
        {"abc", "abd", 1},
        {"abc", "acb", 1},
        {"abc", "abcd", 1},
        {"abc", "bc", 1},
        {"listen", "listn", 1},
        {"kitten", "sitting", 3},
        {"ab", "ba", 1},
        {"ca", "abc", 3},
    };
    char long_name[65] = {0};

    (void)state;
    memset(long_name, 'a', 64);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(suggest_distance(span_cstr(rows[i].a), span_cstr(rows[i].b)),
                         rows[i].expect);
        assert_int_equal(suggest_distance(span_cstr(rows[i].b), span_cstr(rows[i].a)),
                         rows[i].expect);
    }
    assert_int_equal(suggest_distance(span_cstr(long_name), SPAN("a")), INT_MAX);
    assert_int_equal(suggest_distance(span_of(long_name, 63), SPAN("a")), 62);
}

static void test_suggest(void **state)
{
    static const char *const names[] = {"url", "name", "connect", "first_byte"};
    static const struct {
        const char *wanted, *best;
    } rows[] = {
        {"ulr", "url"},
        {"u", ""},
        {"nam", "name"},
        {"names", "name"},
        {"conect", "connect"},
        {"con", "connect"},
        {"connect_timeout", "connect"},
        {"firstbyte", "first_byte"},
        {"xyz", ""},
        {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct suggest s;

        suggest_init(&s, span_cstr(rows[i].wanted));
        for (size_t j = 0; j < ARRAY_LEN(names); j++)
            suggest_offer(&s, span_cstr(names[j]));
        assert_span_equal(rows[i].wanted, s.best, span_cstr(rows[i].best));
    }
}

/* --- values to text --- */

static void test_formats(void **state)
{
    static const struct {
        int64_t ns;
        const char *expect;
    } durations[] = {
        {0, "0"},
        {1, "0.001us"},
        {NS_PER_US, "1us"},
        {1500 * NS_PER_US, "1500us"},
        {75 * NS_PER_S, "75s"},
        {600 * NS_PER_S, "10m"},
        {86400 * NS_PER_S, "1d"},
        {INT64_MAX, "9223372036854775.807us"},
    };
    static const struct {
        uint64_t bytes;
        const char *expect;
    } sizes[] = {
        {0, "0"},
        {1, "1"},
        {1024, "1KiB"},
        {1025, "1025"},
        {UINT64_C(3) << 20, "3MiB"},
        {UINT64_C(5) << 30, "5GiB"},
        {UINT64_MAX, "18446744073709551615"},
    };
    char text[32];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(durations); i++) {
        config_values_duration(durations[i].ns, text, sizeof(text));
        assert_string_equal(text, durations[i].expect);
    }
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        config_values_bytes(sizes[i].bytes, text, sizeof(text));
        assert_string_equal(text, sizes[i].expect);
    }
}

static void test_quoting(void **state)
{
    static const struct {
        const char *in, *expect;
    } rows[] = {
        {"abc", "abc"},       {"/a/b.c", "/a/b.c"}, {"", "\"\""},       {"-", "\"-\""},
        {"null", "\"null\""}, {"a b", "\"a b\""},   {"a:1", "\"a:1\""}, {"a\"\\", "\"a\\\"\\\\\""},
        {"a,b", "\"a,b\""},   {"@a", "\"@a\""},     {"a@b", "a@b"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf out;

        buf_init(&out, 64);
        assert_int_equal(config_values_text(span_cstr(rows[i].in), &out), 0);
        assert_span_equal(rows[i].in, buf_span(&out), span_cstr(rows[i].expect));
        buf_done(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),   cmocka_unit_test(test_sections),
        cmocka_unit_test(test_ranges),  cmocka_unit_test(test_distance),
        cmocka_unit_test(test_suggest), cmocka_unit_test(test_formats),
        cmocka_unit_test(test_quoting),
    };
    return cmocka_run_group_tests_name("daemon/config_keys", tests, NULL, NULL);
}
