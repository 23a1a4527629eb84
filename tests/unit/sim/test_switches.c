/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/switches.h"

#include <errno.h>
#include <string.h>

#include "harness.h"

static void test_values(void **state)
{
    static const struct {
        const char *name, *value;
        size_t offset;
        int64_t expect;
    } rows[] = {
        {"ttft-ms", "12.5", offsetof(struct switches, ttft_ns), 12500000},
        {"ttft_ms", "0", offsetof(struct switches, ttft_ns), 0},
        {"TTFT-MS", "1", offsetof(struct switches, ttft_ns), 1000000},
        {"itl-ms", "0.0005", offsetof(struct switches, itl_ns), 500},
        {"tokens", "7", offsetof(struct switches, n_tokens), 7},
        {"tokens-per-event", "64", offsetof(struct switches, tokens_per_event), 64},
        {"usage", "every_chunk", offsetof(struct switches, usage), SWITCH_USAGE_EVERY_CHUNK},
        {"usage", "Never", offsetof(struct switches, usage), SWITCH_USAGE_NEVER},
        {"cut", "reset", offsetof(struct switches, cut), SWITCH_CUT_RESET},
        {"end", "hold", offsetof(struct switches, end), SWITCH_END_HOLD},
        {"head", "first", offsetof(struct switches, head), SWITCH_HEAD_FIRST},
        {"status", "503", offsetof(struct switches, status), 503},
        {"error-after", "0", offsetof(struct switches, error_after), 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct switches s;
        int64_t got;
        switches_init(&s);
        assert_int_equal(switches_set(&s, span_cstr(rows[i].name), span_cstr(rows[i].value), NULL),
                         0);
        memcpy(&got, (const char *)&s + rows[i].offset, sizeof(got));
        assert_row(rows[i].name, got == rows[i].expect);
    }
}

static void test_bools(void **state)
{
    static const struct {
        const char *value;
        bool expect;
    } rows[] = {{"on", true},   {"ON", true},     {"1", true},  {"true", true}, {"yes", true},
                {"off", false}, {"false", false}, {"0", false}, {"no", false}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct switches s;
        switches_init(&s);
        s.has_role = !rows[i].expect;
        assert_int_equal(switches_set(&s, SPAN("role"), span_cstr(rows[i].value), NULL), 0);
        assert_row(rows[i].value, s.has_role == rows[i].expect);
    }
}

static void test_refused(void **state)
{
    static const struct {
        const char *name, *value;
        int error;
        const char *text, *hint;
    } rows[] = {
        {"tokns", "3", -ENOENT, "unknown switch \"tokns\"", "did you mean \"tokens\"?"},
        {"eror-after", "3", -ENOENT, "unknown switch \"eror-after\"",
         "did you mean \"error-after\"?"},
        {"zzzzzzzz", "3", -ENOENT, "unknown switch \"zzzzzzzz\"", "inferometer sim --help"},
        {"", "3", -ENOENT, "unknown switch", ""},
        {"tokens", "x", -EINVAL, "a whole number from 0", ""},
        {"tokens", "-1", -EINVAL, "not \"-1\"", ""},
        {"tokens", "99999999999999999999", -EINVAL, "a whole number", ""},
        {"tokens-per-event", "0", -EINVAL, "from 1 to 64", ""},
        {"ttft-ms", "-1", -EINVAL, "milliseconds", ""},
        {"ttft-ms", "1s", -EINVAL, "milliseconds", ""},
        {"usage", "some", -EINVAL, "never|asked|always|every_chunk", ""},
        {"usage", "", -EINVAL, "one of", ""},
        {"role", "maybe", -EINVAL, "on or off", ""},
        {"status", "600", -EINVAL, "from 200 to 599", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct switches s, before;
        struct err e = {0};
        memset(&s, 0, sizeof(s));
        switches_init(&s);
        before = s;
        assert_int_equal(switches_set(&s, span_cstr(rows[i].name), span_cstr(rows[i].value), &e),
                         rows[i].error);
        assert_row(rows[i].name, strstr(e.text, rows[i].text) != NULL);
        assert_row(rows[i].name, strstr(e.hint, rows[i].hint) != NULL);
        assert_memory_equal(&s, &before, sizeof(s));
    }
}

static void test_headers(void **state)
{
    struct switches s;
    struct err e = {0};
    (void)state;
    switches_init(&s);
    assert_int_equal(switches_header(&s, SPAN("Content-Type"), SPAN("x"), &e), 0);
    assert_int_equal(switches_header(&s, SPAN("X-Sim"), SPAN("x"), &e), 0);
    assert_int_equal(switches_header(&s, SPAN("x-sim-Cut-After"), SPAN("3"), &e), 0);
    assert_int_equal(s.cut_after, 3);
    assert_int_equal(switches_header(&s, SPAN("X-Sim-Cut-Aftr"), SPAN("3"), &e), -ENOENT);
}

static void test_help_lists_what_can_be_set(void **state)
{
    struct switch_help h;
    size_t n = 0;
    (void)state;
    for (; switches_help(n, &h); n++) {
        struct switches s;
        switches_init(&s);
        assert_row(h.name, switches_set(&s, span_cstr(h.name), SPAN("\x01"), NULL) == -EINVAL);
        assert_true(strlen(h.text) > 0 && strlen(h.values) > 0);
    }
    assert_true(n > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_bools),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_help_lists_what_can_be_set),
    };
    return cmocka_run_group_tests_name("sim/switches", tests, NULL, NULL);
}
