/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/form.h"

#include <errno.h>
#include <stdio.h>

#include "harness.h"

/* The form in one line, slots as [name]. */
static void describe(const struct forms *f, struct form form, char *dst, size_t cap)
{
    const struct form_part *parts = forms_parts(f, form);
    size_t n = 0;

    dst[0] = '\0';
    for (int i = 0; i < form.n; i++) {
        struct span text = parts[i].text;
        int more =
            snprintf(dst + n, cap - n, "%.*s[%s]", SPAN_ARG(text), form_slot_name(parts[i].slot));
        assert_true(more >= 0 && n + (size_t)more < cap);
        n += (size_t)more;
    }
}

static void test_parts(void **state)
{
    static const struct {
        const char *text;
        bool is_crlf;
        const char *expect;
        bool is_long, has_nested;
    } rows[] = {
        {"", false, "", false, false},
        {"abc", false, "abc[]", false, false},
        {"{'a':<choice>}\n\n", false, "{\"a\":[choice]}\n\n[]", false, false},
        {"{'a':<choice>}\n\n", true, "{\"a\":[choice]}\r\n\r\n[]", false, false},
        {"<text><args_end>", false, "[text][args_end]", false, false},
        {"<usage>}", false, "[usage]}[]", false, true},
        {"<whole>", false, "[whole]", true, false},
        {"'<all_text>'<times>", false, "\"[all_text]\"[times]", true, true},
    };
    struct forms f;
    (void)state;
    forms_init(&f);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[200];
        struct form form;
        assert_int_equal(forms_add(&f, span_cstr(rows[i].text), rows[i].is_crlf, &form), 0);
        forms_finish(&f);
        describe(&f, form, text, sizeof(text));
        assert_span_equal(rows[i].text, span_cstr(text), span_cstr(rows[i].expect));
        assert_row(rows[i].text, form.is_long == rows[i].is_long);
        assert_row(rows[i].text, form.has_nested == rows[i].has_nested);
    }
    forms_done(&f);
}

static void test_refused(void **state)
{
    static const char *const texts[] = {"a<nothing>", "<>b"};
    struct forms f;
    (void)state;
    forms_init(&f);
    for (size_t i = 0; i < 2; i++) {
        struct form form = {.n = 77};
        assert_int_equal(forms_add(&f, span_cstr(texts[i]), false, &form), -EINVAL);
        assert_int_equal(form.n, 77);
    }
    forms_done(&f);
}

static void test_every_slot_has_a_name(void **state)
{
    (void)state;
    for (int i = SLOT_NONE + 1; i < SLOT_COUNT_; i++) {
        const char *name = form_slot_name((enum slot)i);
        assert_non_null(name);
        for (int other = SLOT_NONE; other < i; other++)
            assert_row(name, strcmp(name, form_slot_name((enum slot)other)) != 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_every_slot_has_a_name),
    };
    return cmocka_run_group_tests_name("sim/form", tests, NULL, NULL);
}
