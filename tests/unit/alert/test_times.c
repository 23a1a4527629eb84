/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/times: named stretches of time, through the file, so that reading is tested, too.
 */
#include "alert_kinds.h"

#include "alert/route.h"
#include "alert/times.h"
#include "base/timestamp.h"

static int64_t ms_of(const char *text)
{
    wall_t t = {0};
    assert_int_equal(timestamp_parse(span_cstr(text), &t), 0);
    return t.us / 1000;
}

static const struct {
    const char *interval; /* one of time_intervals */
    const char *in, *out; /* moments, with spaces between them */
} rows[] = {
    {"{}", "2026-11-30T00:00:00Z 1999-01-01T12:34:56Z", ""},
    {"{times: []}", "", "2026-11-30T00:00:00Z"},
    {"{times: [{start_time: '09:00', end_time: '17:30'}]}",
     "2026-11-30T09:00:00Z 2026-11-30T17:29:59Z", "2026-11-30T08:59:59Z 2026-11-30T17:30:00Z"},
    {"{times: [{start_time: '22:00', end_time: '24:00'}, {start_time: '00:00', end_time: "
     "'06:00'}]}",
     "2026-11-30T23:59:59Z 2026-11-30T00:00:00Z 2026-11-30T05:59:59Z", "2026-11-30T06:00:00Z"},
    {"{weekdays: ['monday:friday']}", "2026-11-30T00:00:00Z 2026-12-04T23:59:59Z",
     "2026-11-29T23:59:59Z 2026-12-05T00:00:00Z"},
    {"{weekdays: [sunday, Saturday]}", "2026-11-29T12:00:00Z 2026-12-05T12:00:00Z",
     "2026-11-30T12:00:00Z"},
    {"{days_of_month: [1, '10:12', '-2:-1']}",
     "2026-11-01T12:00:00Z 2026-11-12T12:00:00Z 2026-11-29T12:00:00Z 2026-02-27T12:00:00Z "
     "2028-02-29T12:00:00Z",
     "2026-11-02T12:00:00Z 2026-11-13T12:00:00Z 2026-11-28T12:00:00Z 2028-02-27T12:00:00Z"},
    {"{days_of_month: ['30:31']}", "2026-11-30T12:00:00Z", "2026-02-28T12:00:00Z"},
    {"{days_of_month: ['-31:-1']}", "2026-02-01T12:00:00Z 2026-03-01T12:00:00Z", ""},
    {"{days_of_month: ['20:-5']}", "2026-11-20T12:00:00Z 2026-11-26T12:00:00Z",
     "2026-11-27T12:00:00Z"},
    {"{months: ['november:december', 2]}", "2026-11-30T12:00:00Z 2026-02-01T12:00:00Z",
     "2026-10-31T23:59:59Z 2026-03-01T00:00:00Z"},
    {"{years: [2026, '2028:2030']}", "2026-01-01T00:00:00Z 2030-12-31T23:59:59Z",
     "2027-06-01T00:00:00Z 2031-01-01T00:00:00Z"},
    {"{weekdays: [monday], times: [{start_time: '08:00', end_time: '09:00'}]}",
     "2026-11-30T08:30:00Z", "2026-11-30T09:30:00Z 2026-12-01T08:30:00Z"},
    /* The day is that of the place, and its hours move with daylight saving. */
    {"{weekdays: [monday], location: Asia/Shanghai}", "2026-11-29T16:00:00Z 2026-11-30T15:59:59Z",
     "2026-11-29T15:59:59Z 2026-11-30T16:00:00Z"},
    {"{times: [{start_time: '09:00', end_time: '10:00'}], location: Europe/Berlin}",
     "2026-03-28T08:30:00Z 2026-03-29T07:30:00Z 2026-10-24T07:30:00Z 2026-10-25T08:30:00Z",
     "2026-03-28T07:30:00Z 2026-03-29T08:30:00Z 2026-10-24T08:30:00Z 2026-10-25T07:30:00Z"},
    /* An hour that is left out, and one that comes twice. */
    {"{times: [{start_time: '02:00', end_time: '03:00'}], location: Europe/Berlin}",
     "2026-10-25T00:30:00Z 2026-10-25T01:30:00Z 2026-03-28T01:30:00Z",
     "2026-03-29T00:59:59Z 2026-03-29T01:00:00Z 2026-10-25T02:00:00Z"},
};

static void check(const char *interval, const char *moments, bool is_in)
{
    char text[1000];
    struct span rest = span_cstr(moments);
    (void)snprintf(text, sizeof(text),
                   "route: {receiver: a}\nreceivers: [{name: a}]\n"
                   "time_intervals: [{name: n, time_intervals: [%s]}]\n",
                   interval);
    struct alert_file *f = kind_file(text);
    const struct alert_times *t = alert_file_times(f, SPAN("n"));
    while (rest.n > 0) {
        char moment[64];
        span_copy(span_split(&rest, ' '), moment, sizeof(moment));
        if (alert_times_contain(t, ms_of(moment)) != is_in)
            fail_msg("%s: %s", interval, moment);
    }
    alert_file_unref(f);
}

static void test_moments(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        check(rows[i].interval, rows[i].in, true);
        check(rows[i].interval, rows[i].out, false);
    }
}

static void test_routes_are_quiet(void **state)
{
    struct alert_file *f = kind_file(
        "route:\n"
        "  receiver: a\n"
        "  routes:\n"
        "    - {matchers: [x=1], mute_time_intervals: [night, sundays]}\n"
        "    - {matchers: [x=2], active_time_intervals: [night, sundays]}\n"
        "    - {matchers: [x=3], active_time_intervals: [night], mute_time_intervals: [sundays]}\n"
        "receivers: [{name: a}]\n"
        "mute_time_intervals:\n"
        "  - {name: night, time_intervals: [{times: [{start_time: '22:00', end_time: '24:00'}]}]}\n"
        "time_intervals:\n"
        "  - {name: sundays, time_intervals: [{weekdays: [sunday]}]}\n");
    static const struct {
        const char *moment;
        const char *by[3];
    } moments[] = {
        {"2026-11-30T12:00:00Z", {"", "night", "night"}},
        {"2026-11-30T23:00:00Z", {"night", "", ""}},
        {"2026-11-29T12:00:00Z", {"sundays", "", "night"}},
        {"2026-11-29T23:00:00Z", {"night", "", "sundays"}},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(moments); i++) {
        int64_t now_ms = ms_of(moments[i].moment);
        assert_int_equal(alert_route_muted_by(f, f->route, now_ms).n, 0);
        for (size_t k = 0; k < 3; k++)
            assert_span_equal(moments[i].moment,
                              alert_route_muted_by(f, &f->route->routes[k], now_ms),
                              span_cstr(moments[i].by[k]));
    }
    alert_file_unref(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_routes_are_quiet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
