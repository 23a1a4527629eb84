/* SPDX-License-Identifier: Apache-2.0 */
#include "base/casing.h"

#include <errno.h>

#include "base/attr.h"
#include "harness.h"

static void test_cases(void **state)
{
    static const struct {
        const char *text, *upper, *lower;
    } cases[] = {
        {"", "", ""},
        {"aZ_9-", "AZ_9-", "az_9-"},
        {"Müller", "MÜLLER", "müller"},
        {"Ω→ж", "Ω→Ж", "ω→ж"},
        {"ß漢", "ß漢", "ß漢"},
        {"a\xff", "A\xef\xbf\xbd", "a\xef\xbf\xbd"},
    };
    struct buf b;
    (void)state;
    buf_init(&b, 64);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf_clear(&b);
        assert_int_equal(casing_upper(span_cstr(cases[i].text), &b), 0);
        assert_span_equal(cases[i].text, buf_span(&b), span_cstr(cases[i].upper));
        buf_clear(&b);
        assert_int_equal(casing_lower(span_cstr(cases[i].text), &b), 0);
        assert_span_equal(cases[i].text, buf_span(&b), span_cstr(cases[i].lower));
    }
    buf_done(&b);
}

static void test_full(void **state)
{
    struct buf b;
    (void)state;
    buf_init(&b, 3);
    assert_int_equal(casing_upper(SPAN("abcd"), &b), -EMSGSIZE);
    buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_full),
    };
    return cmocka_run_group_tests_name("base/casing", tests, NULL, NULL);
}
