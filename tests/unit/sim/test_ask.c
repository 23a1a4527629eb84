/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/ask.h"

#include <errno.h>
#include <string.h>

#include "harness.h"

static void test_fields(void **state)
{
    struct ask a;
    const char *why;
    (void)state;
    assert_int_equal(
        ask_parse(
            SPAN("{\"model\":\"m\\n\",\"stream\":true,\"messages\":[1,2],\"max_tokens\":7,"
                 "\"n\":2,\"stream_options\":{\"x\":[1],\"include_usage\":true},\"other\":{}}"),
            &a, &why),
        0);
    assert_string_equal(a.model, "m\\n");
    assert_true(a.is_stream && a.has_stream_options && a.has_include_usage);
    assert_int_equal(a.max_tokens, 7);
    assert_int_equal(a.n_choices, 2);
    assert_int_equal(a.prompt_bytes, 5);
}

static void test_defaults_and_other_types(void **state)
{
    static const char *const bodies[] = {
        "{\"prompt\":\"x\"}",
        "{\"prompt\":\"x\",\"stream\":null,\"n\":0,\"stream_options\":null}",
        "{\"prompt\":\"x\",\"stream\":{\"stream\":true},\"max_tokens\":[5]}",
        "{\"prompt\":\"x\",\"model\":{\"model\":\"a\"},\"max_tokens\":null}",
        "{\"prompt\":\"x\",\"max_tokens\":-4,\"stream_options\":[1]}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        struct ask a;
        const char *why;
        assert_int_equal(ask_parse(span_cstr(bodies[i]), &a, &why), 0);
        assert_row(bodies[i], !a.is_stream && !a.has_stream_options && !a.has_include_usage);
        assert_row(bodies[i], a.max_tokens == -1 && a.n_choices == 1 && a.model[0] == '\0');
    }
}

static void test_refused(void **state)
{
    static const struct {
        const char *body, *why;
    } rows[] = {
        {"", "not a JSON object"},
        {"[]", "not a JSON object"},
        {"{\"prompt\":\"x\"", "not valid"},
        {"{\"prompt\":\"x\"}}", "not valid"},
        {"{\"stream\":tru}", "not valid"},
        {"{\"stream\":true}", "is missing"},
        {"{}", "is missing"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ask a = {.max_tokens = 99};
        const char *why = "";
        assert_int_equal(ask_parse(span_cstr(rows[i].body), &a, &why), -EINVAL);
        assert_row(rows[i].body, strstr(why, rows[i].why) != NULL);
        assert_int_equal(a.max_tokens, 99);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_defaults_and_other_types),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests_name("sim/ask", tests, NULL, NULL);
}
