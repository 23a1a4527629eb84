/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of /api/v1/rules, and what they make of an alert's life. */
#include "verify/track.h"

#include <errno.h>
#include <stdio.h>

#include "planned.h"

static const char *const files[] = {"/run/rules-0.yml"};
static const char rules[] =
    "groups:\n- name: g\n  rules:\n"
    "  - {record: r, expr: 1}\n"
    "  - {alert: A, expr: 'llm_ttft_seconds_sum > 1'}\n"
    "  - {alert: A, expr: 'llm_ttft_seconds_sum > 2'}\n" /* the same name: the place counts */
    "- name: h\n  rules:\n"
    "  - {alert: A, expr: 'llm_ttft_seconds_sum > 3'}\n";

#define RULE(state, at, alerts)                                                                    \
    "{\"state\":\"" state "\",\"name\":\"A\",\"query\":\"x\",\"alerts\":[" alerts "],"             \
    "\"lastEvaluation\":\"" at "\",\"type\":\"alerting\"}"
#define NEVER     "0001-01-01T00:00:00Z"
#define AT(s)     "2026-11-30T10:00:" s "Z"
#define T(s)      (INT64_C(1796032800000) + (s)*1000)
#define ACTIVE(s) "{\"labels\":{},\"activeAt\":\"" AT(s) "\",\"state\":\"firing\"}"
/* Prometheus writes the rules before name and file. */
#define ANSWER(first, second, third)                                                               \
    "{\"status\":\"success\",\"data\":{\"groups\":["                                               \
    "{\"name\":\"g\",\"file\":\"/run/other.yml\",\"rules\":[" RULE(                                \
        "firing", AT("01"),                                                                        \
        "") "]},"                                                                                  \
            "{\"rules\":[{\"name\":\"r\",\"lastEvaluation\":\"" AT(                                \
                "01") "\",\"type\":\"recording\"}," first "," second                               \
                      "],\"file\":\"/run/rules-0.yml\",\"name\":\"g\"},"                           \
                      "{\"name\":\"h\",\"file\":\"/run/rules-0.yml\",\"rules\":[" third "]}]}}"

static void read_all(struct planned *p, const char *json, struct verify_track *t)
{
    assert_int_equal(verify_track_read(&p->plan, files, span_cstr(json), t), 0);
}

static void test_life(void **state)
{
    struct planned p;
    struct verify_track t[3];

    (void)state;
    planned_open(&p, rules, true);
    for (int i = 0; i < 3; i++)
        verify_track_init(&t[i]);
    read_all(&p,
             ANSWER(RULE("unknown", NEVER, ""), RULE("inactive", NEVER, ""),
                    RULE("inactive", AT("01"), "")),
             t);
    assert_int_equal(t[0].state, VERIFY_UNSEEN);
    assert_int_equal(t[1].state, VERIFY_UNSEEN);
    assert_int_equal(t[2].state, VERIFY_INACTIVE);
    read_all(&p,
             ANSWER(RULE("inactive", AT("02"), ""), RULE("pending", AT("02"), ACTIVE("02")),
                    RULE("inactive", AT("02"), "")),
             t);
    read_all(&p,
             ANSWER(RULE("inactive", AT("03"), ""), RULE("pending", AT("03"), ACTIVE("02")),
                    RULE("firing", AT("03"), ACTIVE("03"))),
             t);
    read_all(&p,
             ANSWER(RULE("inactive", AT("05"), ""),
                    RULE("firing", AT("05"), ACTIVE("04") "," ACTIVE("02")),
                    RULE("firing", AT("04"), ACTIVE("03"))),
             t);
    assert_int_equal(t[1].pending_ms, T(2));
    assert_int_equal(t[1].firing_ms, T(5));
    assert_int_equal(t[1].active_ms, T(2)); /* of the oldest */
    assert_true(t[1].ended_ms == VERIFY_NEVER);
    assert_true(t[2].pending_ms == VERIFY_NEVER); /* without `for` */
    assert_int_equal(t[2].firing_ms, T(3));
    read_all(&p,
             ANSWER(RULE("inactive", AT("07"), ""), RULE("inactive", AT("07"), ""),
                    RULE("firing", AT("07"), ACTIVE("03"))),
             t);
    assert_int_equal(t[1].ended_ms, T(7));
    read_all(&p,
             ANSWER(RULE("inactive", AT("08"), ""), RULE("pending", AT("08"), ACTIVE("08")),
                    RULE("firing", AT("08"), ACTIVE("06"))),
             t);
    assert_int_equal(t[2].active_ms, T(3)); /* another label set's does not count any more */
    assert_int_equal(t[1].active_ms, T(2));
    assert_true(t[0].firing_ms == VERIFY_NEVER && t[0].state == VERIFY_INACTIVE);
    verify_track_reset(&t[2]);
    assert_true(t[2].firing_ms == VERIFY_NEVER && t[2].state == VERIFY_FIRING);
    planned_close(&p);
}

/* Prometheus writes states while it evaluates, and the moment at the end. */
static void test_state_before_moment(void **state)
{
    struct planned p;
    struct verify_track t[3];

    (void)state;
    planned_open(&p, rules, true);
    for (int i = 0; i < 3; i++)
        verify_track_init(&t[i]);
    read_all(&p,
             ANSWER(RULE("pending", AT("02"), ACTIVE("02")), RULE("inactive", AT("02"), ""),
                    RULE("inactive", AT("02"), "")),
             t);
    read_all(&p,
             ANSWER(RULE("firing", AT("02"), ACTIVE("02")), RULE("inactive", AT("02"), ""),
                    RULE("inactive", AT("02"), "")),
             t);
    assert_true(t[0].firing_ms == VERIFY_NEVER);
    read_all(&p,
             ANSWER(RULE("firing", AT("03"), ACTIVE("02")), RULE("inactive", AT("03"), ""),
                    RULE("inactive", AT("03"), "")),
             t);
    assert_int_equal(t[0].firing_ms, T(3));
    planned_close(&p);
}

static void test_error_is_kept(void **state)
{
    struct planned p;
    struct verify_track t[3];

    (void)state;
    planned_open(&p, rules, true);
    for (int i = 0; i < 3; i++)
        verify_track_init(&t[i]);
    read_all(&p,
             "{\"data\":{\"groups\":[{\"name\":\"h\",\"file\":\"/run/rules-0.yml\",\"rules\":["
             "{\"state\":\"inactive\",\"lastError\":\"many \\\"matches\\\"\",\"type\":\"alerting\"}"
             "]}]}}",
             t);
    assert_string_equal(t[2].error, "many \"matches\"");
    planned_close(&p);
}

/* Every beginning of an answer is refused, and nothing is read beyond its end. */
static void test_prefixes(void **state)
{
    static const char whole[] =
        ANSWER(RULE("inactive", AT("02"), ""), RULE("pending", AT("02"), ACTIVE("02")),
               RULE("firing", AT("02"), ACTIVE("01")));
    struct planned p;
    struct verify_track t[3];

    (void)state;
    planned_open(&p, rules, true);
    for (int i = 0; i < 3; i++)
        verify_track_init(&t[i]);
    for (size_t n = 0; n < sizeof(whole) - 1; n++) {
        char *copy = test_malloc(n + 1);
        memcpy(copy, whole, n);
        assert_int_equal(verify_track_read(&p.plan, files, span_of(copy, n), t), -EPROTO);
        test_free(copy);
    }
    assert_int_equal(verify_track_read(&p.plan, files, span_of(whole, sizeof(whole) - 1), t), 0);
    assert_int_equal(verify_track_read(&p.plan, files, SPAN("[]"), t), -EPROTO);
    planned_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_life),
        cmocka_unit_test(test_state_before_moment),
        cmocka_unit_test(test_error_is_kept),
        cmocka_unit_test(test_prefixes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
