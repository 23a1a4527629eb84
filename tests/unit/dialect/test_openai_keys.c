/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/openai_keys: every name has its slot and is found, also behind escapes.
 */
#include "harness.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/attr.h"
/* The table itself is under test. NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "dialect/openai_keys.c"

static void every_name_is_found(void **state)
{
    (void)state;
    bool is_seen[KEY_X_GROQ + 1] = {false};
    int n_names = 0;
    for (size_t i = 0; i < ARRAY_LEN(slots); i++) {
        if (slots[i].n == 0)
            continue;
        struct span name = span_cstr(slots[i].name);
        char escaped[64];
        n_names++;
        assert_int_equal(slots[i].n, name.n);
        assert_row(slots[i].name, slot_of(name) == i);
        assert_row(slots[i].name, openai_key_of(name) == (enum openai_key)slots[i].key);
        (void)snprintf(escaped, sizeof(escaped), "\\u%04x%s", (unsigned)name.p[0], name.p + 1);
        assert_row(escaped, openai_key_of(span_cstr(escaped)) == (enum openai_key)slots[i].key);
        assert_row(slots[i].name, !is_seen[slots[i].key]);
        is_seen[slots[i].key] = true;
    }
    assert_int_equal(n_names, KEY_X_GROQ); /* all but KEY_OTHER */
}

static void other_names_are_other(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "",
        "mode",
        "models",
        "Model",
        "m\\u006fdels",
        "\\",
        "\\u00",
        "id",
        "usage ",
        "usag\\u0065\\u0065",
        "completion_tokens_detailsx",
        "completion_tokens_detail\\u0073\\u0073",
        "a name that is longer than any of those known here",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_row(rows[i], openai_key_of(span_cstr(rows[i])) == KEY_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_is_found),
        cmocka_unit_test(other_names_are_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
