/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe/slow: above the p95 of the last ten minutes of its model, and never before there are
 * enough requests to say so.
 */
#include "harness.h"

#include <stdio.h>

#include "base/attr.h"
#include "observe/slow.h"

#define AT(s) ((mono_t){(s)*NS_PER_S})

/* n requests of 100 ms TTFT and 1 s E2E, one every ms from t on. */
static void feed(struct slow *s, const char *model, int n, int64_t from_s)
{
    for (int i = 0; i < n; i++)
        assert_false(slow_judge(s, model, 100 * NS_PER_MS, NS_PER_S,
                                (mono_t){from_s * NS_PER_S + i * NS_PER_MS}));
}

static void not_before_there_are_enough(void **state)
{
    (void)state;
    struct slow s = {{NULL}};
    feed(&s, "m", SLOW_MIN - 1, 1000);
    assert_false(slow_judge(&s, "m", 9 * NS_PER_S, 90 * NS_PER_S, AT(1020)));
    assert_true(slow_judge(&s, "m", 9 * NS_PER_S, -1, AT(1040)));
    assert_true(slow_judge(&s, "m", -1, 90 * NS_PER_S, AT(1041)));
    assert_false(slow_judge(&s, "m", 100 * NS_PER_MS, NS_PER_S, AT(1042)));
    assert_false(slow_judge(&s, "m", -1, -1, AT(1043)));
    assert_false(slow_judge(&s, "other", 9 * NS_PER_S, 90 * NS_PER_S, AT(1044)));
    slow_done(&s);
}

static void forgotten_after_ten_minutes(void **state)
{
    (void)state;
    struct slow s = {{NULL}};
    feed(&s, "m", 500, 1200);
    assert_true(slow_judge(&s, "m", 9 * NS_PER_S, -1, AT(1700)));
    assert_false(slow_judge(&s, "m", 9 * NS_PER_S, -1, AT(1801)));
    slow_done(&s);
}

/* What is normal changes with the traffic. */
static void follows_the_model(void **state)
{
    (void)state;
    struct slow s = {{NULL}};
    feed(&s, "m", 300, 1200);
    for (int i = 0; i < 3000; i++)
        (void)slow_judge(&s, "m", 5 * NS_PER_S, 10 * NS_PER_S,
                         (mono_t){1300 * NS_PER_S + i * 10 * NS_PER_MS});
    assert_false(slow_judge(&s, "m", 5 * NS_PER_S, 10 * NS_PER_S, AT(1341)));
    assert_true(slow_judge(&s, "m", 6 * NS_PER_S, 10 * NS_PER_S, AT(1341)));
    slow_done(&s);
}

/* More models than there is room for: the ones in use keep theirs. */
static void many_models(void **state)
{
    (void)state;
    struct slow s = {{NULL}};
    char name[32];
    feed(&s, "busy", 300, 1000);
    for (int i = 0; i < 10 * SLOW_MODELS; i++) {
        (void)snprintf(name, sizeof(name), "model-%d", i);
        assert_false(slow_judge(&s, name, NS_PER_S, NS_PER_S, AT(1001 + i / 10)));
        (void)slow_judge(&s, "busy", 100 * NS_PER_MS, NS_PER_S, AT(1001 + i / 10));
    }
    assert_true(slow_judge(&s, "busy", 9 * NS_PER_S, -1, AT(1100)));
    slow_done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(not_before_there_are_enough),
        cmocka_unit_test(forgotten_after_ten_minutes),
        cmocka_unit_test(follows_the_model),
        cmocka_unit_test(many_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
