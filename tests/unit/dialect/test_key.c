/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/key: every name has its slot and is found, also behind escapes.
 */
#include "harness.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/attr.h"
/* The table itself is under test. NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "dialect/key.c"

static void every_name_is_found(void **state)
{
    (void)state;
    int n_slots = 0;
    for (size_t i = 0; i < ARRAY_LEN(slots); i++)
        n_slots += slots[i] != 0;
    assert_int_equal(n_slots, KEY_COUNT_ - 1); /* all but KEY_OTHER */
    for (int key = 1; key < KEY_COUNT_; key++) {
        struct span name = span_cstr(names[key].text);
        char escaped[64];
        assert_true(name.n > 0);
        assert_row(names[key].text, names[key].n == name.n);
        assert_row(names[key].text, slots[slot_of(name)] == key);
        assert_row(names[key].text, key_of(name) == (enum key)key);
        (void)snprintf(escaped, sizeof(escaped), "\\u%04x%s", (unsigned)name.p[0], name.p + 1);
        assert_row(escaped, key_of(span_cstr(escaped)) == (enum key)key);
    }
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
        assert_row(rows[i], key_of(span_cstr(rows[i])) == KEY_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_is_found),
        cmocka_unit_test(other_names_are_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
