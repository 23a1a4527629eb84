/* SPDX-License-Identifier: Apache-2.0 */
#include "alert_kinds.h"

#include "memfail.h"

static const char sample[] =
    "global:\n"
    "  resolve_timeout: 10m\n"
    "  smtp_smarthost: mail:25\n"
    "  slack_api_url: https://hooks/secret\n"
    "route:\n"
    "  receiver: all\n"
    "  group_by: [model, alertname]\n"
    "  routes:\n"
    "    - matchers: [severity=\"P0\", team=~\"a|b\"]\n"
    "      receiver: phone\n"
    "      group_wait: 0s\n"
    "      group_by: ['...']\n"
    "      continue: true\n"
    "      routes:\n"
    "        - match: {zone: z1, area: a1}\n"
    "          match_re: {model: 'q.*'}\n"
    "          matchers: ['{\"odd name\"=\"x\"}']\n"
    "          group_by: []\n"
    "          repeat_interval: 1d12h\n"
    "    - matchers: ['severity=P2']\n"
    "      mute_time_intervals: [nights]\n"
    "      active_time_intervals: [workdays, nights]\n"
    "      group_interval: 90s\n"
    "      labels: {owner: infra}\n"
    "inhibit_rules:\n"
    "  - name: down\n"
    "    source_matchers: [alertname=Down]\n"
    "    target_matchers: [severity=~\"P1|P2\"]\n"
    "    equal: [target, model, target]\n"
    "  - source_match: {severity: P0}\n"
    "    target_match_re: {severity: 'P1|P2'}\n"
    "time_intervals:\n"
    "  - name: nights\n"
    "    time_intervals:\n"
    "      - times: [{start_time: '22:00', end_time: '24:00'}, {start_time: '00:00', end_time: "
    "'07:30'}]\n"
    "        location: Asia/Shanghai\n"
    "  - name: workdays\n"
    "    time_intervals:\n"
    "      - weekdays: ['monday:friday', saturday]\n"
    "        days_of_month: ['1:15', '-3:-1']\n"
    "        months: ['january:march', 12]\n"
    "        years: [2026, '2027:2030']\n"
    "receivers:\n"
    "  - name: all\n"
    "  - name: phone\n"
    "    webhook_configs:\n"
    "      - url: http://hidden/1\n"
    "      - {url: http://hidden/2, send_resolved: false}\n"
    "    email_configs: [{url: hidden}]\n";

static void test_what_is_read(void **state)
{
    struct alert_file *f = kind_file(sample);
    const struct alert_route *root = f->route, *phone = &root->routes[0], *deep = phone->routes;
    const struct alert_route *quiet = &root->routes[1];
    (void)state;
    assert_int_equal(f->n_routes, 4);
    assert_int_equal(f->resolve_timeout_ms, 600000);
    assert_span_equal("key", root->key, SPAN("{}"));
    assert_span_equal("key", deep->key,
                      SPAN("{}/{severity=\"P0\",team=~\"a|b\"}/"
                           "{area=\"a1\",model=~\"q.*\",\"odd name\"=\"x\",zone=\"z1\"}"));
    assert_int_equal(root->group_wait_ms, 30000);
    assert_int_equal(root->group_interval_ms, 300000);
    assert_int_equal(root->repeat_interval_ms, 14400000);
    assert_int_equal(root->n_group_by, 2);
    assert_span_equal("sorted", root->group_by[0], SPAN("alertname"));
    assert_true(phone->group_by_all && phone->goes_on && !quiet->goes_on);
    assert_int_equal(phone->group_wait_ms, 0);
    assert_int_equal(phone->to->n, 3);
    assert_true(phone->to->integrations[0].send_resolved); /* the kind's own */
    assert_false(phone->to->integrations[1].send_resolved);
    assert_false(phone->to->integrations[2].send_resolved);
    assert_int_equal(phone->to->integrations[1].index, 1);
    assert_int_equal(phone->to->integrations[2].index, 0); /* the first of its kind */
    assert_span_equal("inherited", deep->receiver, SPAN("phone"));
    assert_true(!deep->group_by_all && deep->n_group_by == 0);
    assert_int_equal(deep->repeat_interval_ms, 129600000);
    assert_int_equal(deep->group_wait_ms, 0);
    assert_int_equal(quiet->n_group_by, 2);
    assert_int_equal(quiet->group_interval_ms, 90000);
    assert_int_equal(quiet->n_mute_times + quiet->n_active_times, 3);
    assert_span_equal("label", labels_get(quiet->labels, SPAN("owner")), SPAN("infra"));
    assert_int_equal(f->inhibitions[0].n_equal, 2);
    assert_span_equal("sorted", f->inhibitions[0].equal[0], SPAN("model"));
    assert_int_equal(f->n_times, 2);
    assert_non_null(alert_file_receiver(f, SPAN("phone")));
    assert_null(alert_file_receiver(f, SPAN("phon")));
    alert_file_unref(alert_file_ref(f));
    alert_file_unref(f);
}

/* The text of the file, line, column, a part of the message, a part of the hint or NULL. */
#define END "receivers: [{name: a}]\n"
#define TIMES(text)                                                                                \
    "route: {receiver: a}\ntime_intervals: [{name: n, time_intervals: [" text "]}]\n" END
static const struct {
    const char *text;
    int line, column;
    const char *message, *hint;
} mistakes[] = {
    {"", 0, 0, "the file is empty", "route"},
    {"[a, b]: c\n", 1, 1, "a key has to be a text", NULL},
    {"route: {receiver: a, labels: {[x]: y}}\n" END, 1, 31, "a key has to be a text", NULL},
    {"route: {receiver: a, routes: [{match: {[x]: y}}]}\n" END, 1, 40, "a key has to be a text",
     NULL},
    {"route: {receiver: a}\nreceivers: [{name: a, [x]: y}]\n", 2, 23, "a key has to be a text",
     NULL},
    {"[]", 1, 1, "the file must be a mapping", NULL},
    {END, 1, 1, "there is no route", "route:"},
    {"route: {}\n" END, 1, 8, "the first route needs a receiver", NULL},
    {"route: {receiver: b}\n" END, 1, 19, "there is no receiver \"b\"", "receivers"},
    {"route: {receiver: a, matchers: [x=y]}\n" END, 1, 8, "cannot have matchers", "below"},
    {"route: {receiver: a, match: {x: y}}\n" END, 1, 8, "cannot have matchers", "below"},
    {"route: {receiver: a, continue: true}\n" END, 1, 8, "cannot have continue", NULL},
    {"route: {receiver: a, continue: perhaps}\n" END, 1, 32, "must be true or false", NULL},
    {"route: {receiver: a, group_by: [x, y, x]}\n" END, 1, 39, "\"x\" is in group_by twice", NULL},
    {"route: {receiver: a, group_by: ['...', x]}\n" END, 1, 32, "'...' and other", "all labels"},
    {"route: {receiver: a, group_by: x}\n" END, 1, 32, "must be a list", NULL},
    {"route: {receiver: a, group_by: ['']}\n" END, 1, 33, "names of labels", NULL},
    {"route: {receiver: a, group_wait: soon}\n" END, 1, 34, "must be a duration", "30s"},
    {"route: {receiver: a, group_wait: 30}\n" END, 1, 34, "must be a duration", "unit"},
    {"route: {receiver: a, group_wait: 5s1m}\n" END, 1, 34, "must be a duration", "largest"},
    {"route: {receiver: a, group_wait: -5s}\n" END, 1, 34, "must be a duration", NULL},
    {"route: {receiver: a, group_interval: 0s}\n" END, 1, 38, "cannot be zero", NULL},
    {"route: {receiver: a, repeat_interval: 0}\n" END, 1, 39, "cannot be zero", NULL},
    {"route: {receiver: a, group_intervall: 5m}\n" END, 1, 22, "unknown key", "group_interval"},
    {"route: {receiver: a, routes: [{matchers: [x=y], mute_time_intervals: [n]}]}\n" END, 1, 71,
     "there is no time interval \"n\"", "time_intervals"},
    {"route: {receiver: a, routes: [{matchers: ['x']}]}\n" END, 1, 43, "expected", "name="},
    {"route: {receiver: a, routes: [{matchers: ['x=~\"(\"']}]}\n" END, 1, 43, "", NULL},
    {"route: {receiver: a, routes: [{match: {'a-b': y}}]}\n" END, 1, 40, "invalid label name",
     "matchers"},
    {"route: {receiver: a, routes: [{match_re: {a: '['}}]}\n" END, 1, 46, "", NULL},
    {"route: {receiver: a, labels: {a: '{{ x }}'}}\n" END, 1, 34, "templates", NULL},
    {"route: {receiver: a, routes: [{routes: [{routes: [{routes: [{}]}]}]}]}\n" END, 1, 60,
     "more than 4 levels", NULL},
    {"route: {receiver: a}\nreceivers: [{name: a}, {name: a}]\n", 2, 24, "\"a\" is there twice",
     NULL},
    {"route: {receiver: a}\nreceivers: [{name: a}, {}]\n", 2, 24, "needs a name", NULL},
    {"route: {receiver: a}\nreceivers: [{name: a, pagerduty_configs: []}]\n", 2, 23,
     "\"pagerduty_configs\" is not supported", "webhook_configs"},
    {"route: {receiver: a}\nreceivers: [{name: a, wechat_configs: []}]\n", 2, 23, "not supported",
     "wecom_configs"},
    {"route: {receiver: a}\nreceivers: [{name: a, webhok_configs: []}]\n", 2, 23, "unknown key",
     "webhook_configs"},
    {"route: {receiver: a}\nreceivers: [{name: a, webhook_configs: [x]}]\n", 2, 41,
     "must be a mapping", NULL},
    {"route: {receiver: a}\nreceivers: [{name: a, webhook_configs: [{send_resolved: 1}]}]\n", 2, 57,
     "must be true or false", NULL},
    {"route: {receiver: a}\nreceivers: [{name: a, webhook_configs: [{odd: 1}]}]\n", 2, 42,
     "unknown key of a kind", NULL},
    {"route: {receiver: a}\ntemplates: [x.tmpl]\n" END, 2, 12, "\"templates\" is not supported",
     "annotations"},
    {"route: {receiver: a}\ntracing: {x: y}\n" END, 2, 1, "not supported", NULL},
    {"route: {receiver: a}\nglobal: {opsgenie_api_key: x}\n" END, 2, 10, "not supported", NULL},
    {"route: {receiver: a}\nglobal: {smtp_auth_identity: x}\n" END, 2, 10, "not supported",
     "smtp_auth_username"},
    {"route: {receiver: a}\nglobal: {smtp_form: x}\n" END, 2, 10, "unknown key", "smtp_from"},
    {"route: {receiver: a}\nglobal: {resolve_timeout: 0s}\n" END, 2, 27, "cannot be zero", NULL},
    {"route: {receiver: a}\ninhibit_rules: [{source_matcher: []}]\n" END, 2, 18, "unknown key",
     "source_matchers"},
    {"route: {receiver: a}\ninhibit_rules: [{equal: ['']}]\n" END, 2, 26, "names of labels", NULL},
    {"route: {receiver: a}\ntime_intervals: [{time_intervals: []}]\n" END, 2, 18, "needs a name",
     NULL},
    {"route: {receiver: a}\ntime_intervals: [{name: n}, {name: n}]\n" END, 2, 29, "there twice",
     NULL},
    {"route: {receiver: a}\nmute_time_intervals: [{name: n}]\ntime_intervals: [{name: n}]\n" END, 3,
     18, "there twice", NULL},
    {TIMES("{times: [{start_time: '9:00', end_time: '10:00'}]}"), 2, 67, "time of day", "HH:MM"},
    {TIMES("{times: [{start_time: '09:00', end_time: '24:01'}]}"), 2, 86, "time of day", NULL},
    {TIMES("{times: [{start_time: '09:60', end_time: '24:00'}]}"), 2, 67, "time of day", NULL},
    {TIMES("{times: [{start_time: '09:00'}]}"), 2, 54, "both", NULL},
    {TIMES("{times: [{start_time: '22:00', end_time: '06:00'}]}"), 2, 54, "not before", "night"},
    {TIMES("{weekdays: [monday, freitag]}"), 2, 65, "weekdays", "monday"},
    {TIMES("{weekdays: ['friday:monday']}"), 2, 57, "before the beginning", NULL},
    {TIMES("{weekdays: ['saturday:sunday']}"), 2, 57, "before the beginning", "sunday"},
    {TIMES("{days_of_month: [0]}"), 2, 62, "no day 0", NULL},
    {TIMES("{days_of_month: [32]}"), 2, 62, "", NULL},
    {TIMES("{days_of_month: ['-1:3']}"), 2, 62, "must be negative", NULL},
    {TIMES("{days_of_month: ['-1:-3']}"), 2, 62, "before the first", NULL},
    {TIMES("{months: [13]}"), 2, 55, "months", "january"},
    {TIMES("{months: ['may:april']}"), 2, 55, "before", NULL},
    {TIMES("{years: ['2030:2029']}"), 2, 54, "before", NULL},
    {TIMES("{location: Europe/Atlantis}"), 2, 56, "unknown time zone", "Asia/Shanghai"},
    {TIMES("{hours: []}"), 2, 46, "unknown key", NULL},
};

static void test_mistakes(void **state)
{
    static struct err_list errs;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(mistakes); i++) {
        struct alert_file *f = NULL;
        err_list_init(&errs);
        int r = alert_file_read(span_cstr(mistakes[i].text), "f", &f, &errs);
        assert_row(mistakes[i].text, r == -EINVAL && errs.n > 0 && !f);
        const struct err_item *e = &errs.items[0];
        if (e->line != mistakes[i].line || e->column != mistakes[i].column ||
            !strstr(e->err.text, mistakes[i].message) ||
            (mistakes[i].hint && !strstr(e->err.hint, mistakes[i].hint))) {
            err_list_print(&errs, stderr);
            fail_msg("not as expected: %s", mistakes[i].text);
        }
    }
}

/* {routes of the first route's first one, further routes beside that}: how many that are in all */
static void test_routes_are_limited(void **state)
{
    static const struct {
        int below, beside, r;
    } rows[] = {
        {0, ALERT_FILE_ROUTES_MAX - 2, 0},       {0, ALERT_FILE_ROUTES_MAX - 1, -EINVAL},
        {ALERT_FILE_ROUTES_MAX - 2, 0, 0},       {ALERT_FILE_ROUTES_MAX - 2, 1, -EINVAL},
        {1000, ALERT_FILE_ROUTES_MAX - 1002, 0}, {1000, ALERT_FILE_ROUTES_MAX - 1001, -EINVAL}};
    static struct err_list errs;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct alert_file *f = NULL;
        struct buf b;
        buf_init(&b, 100000);
        int r = buf_printf(&b, "receivers: [{name: a}]\nroute: {receiver: a, routes: [{routes: [");
        for (int k = 0; k < rows[i].below && r == 0; k++)
            r = buf_append(&b, SPAN("{}, "));
        if (r == 0)
            r = buf_append(&b, SPAN("]}"));
        for (int k = 0; k < rows[i].beside && r == 0; k++)
            r = buf_append(&b, SPAN(", {}"));
        if (r == 0)
            r = buf_append(&b, SPAN("]}\n"));
        assert_int_equal(r, 0);
        err_list_init(&errs);
        assert_int_equal(alert_file_read(buf_span(&b), "f", &f, &errs), rows[i].r);
        if (rows[i].r < 0)
            assert_non_null(strstr(errs.items[0].err.text, "more than 2000 routes"));
        alert_file_unref(f);
        buf_done(&b);
    }
}

static void test_all_mistakes_at_once(void **state)
{
    static struct err_list errs;
    static const char text[] = "route:\n"
                               "  receiver: none\n"
                               "  group_wait: x\n"
                               "  routes:\n"
                               "    - matchers: ['a']\n"
                               "      colour: red\n"
                               "receivers:\n"
                               "  - name: a\n"
                               "    sns_configs: []\n"
                               "inhibit_rules: [{equal: x}]\n";
    struct alert_file *f = NULL;
    (void)state;
    err_list_init(&errs);
    assert_int_equal(alert_file_read(span_cstr(text), "f", &f, &errs), -EINVAL);
    assert_int_equal(errs.n, 6);
    for (size_t i = 1; i < errs.n; i++)
        assert_true(errs.items[i - 1].line < errs.items[i].line);
}

static void print(const struct alert_file *f, struct buf *to)
{
    buf_init(to, 100000);
    assert_int_equal(alert_file_print(f, to), 0);
}

static void test_prints_what_reads_back(void **state)
{
    struct alert_file *f = kind_file(sample), *again;
    struct buf first, second;
    (void)state;
    print(f, &first);
    assert_true(span_find(buf_span(&first), SPAN("hidden")) == buf_len(&first));
    assert_true(span_find(buf_span(&first), SPAN("<secret>")) < buf_len(&first));
    char *text = strndup(buf_span(&first).p, buf_len(&first));
    again = kind_file(text);
    print(again, &second);
    assert_span_equal("again", buf_span(&second), buf_span(&first));
    free(text);
    buf_done(&first);
    buf_done(&second);
    alert_file_unref(f);
    alert_file_unref(again);
}

static void test_built_in(void **state)
{
    struct alert_file *f = NULL;
    (void)state;
    assert_int_equal(alert_file_default(&f), 0);
    assert_true(f->route->group_by_all);
    assert_span_equal("receiver", f->route->receiver, SPAN("log"));
    assert_int_equal(f->route->to->n, 1);
    alert_file_unref(f);
}

static void test_every_prefix(void **state)
{
    static struct err_list errs;
    (void)state;
    for (size_t n = 0; n < sizeof(sample); n++) {
        struct alert_file *f = NULL;
        err_list_init(&errs);
        int r = alert_file_read(span_of(sample, n), "f", &f, &errs);
        assert_true(r == 0 ? f != NULL : r == -EINVAL && errs.n > 0);
        alert_file_unref(f);
    }
}

static int attempt(void *ctx)
{
    static struct err_list errs;
    struct alert_file *f = NULL;
    struct buf b;
    (void)ctx;
    err_list_init(&errs);
    int r = alert_file_read(span_cstr(sample), "f", &f, &errs);
    assert_true((r == 0) == (f != NULL) && errs.n == 0);
    buf_init(&b, 100000);
    if (r == 0)
        r = alert_file_print(f, &b);
    buf_done(&b);
    alert_file_unref(f);
    return r;
}

static int attempt_mistake(void *ctx)
{
    static struct err_list errs;
    struct alert_file *f = NULL;
    (void)ctx;
    err_list_init(&errs);
    int r = alert_file_read(span_cstr(mistakes[25].text), "f", &f, &errs);
    return r == -EINVAL ? 0 : r;
}

static int attempt_built_in(void *ctx)
{
    struct alert_file *f = NULL;
    (void)ctx;
    int r = alert_file_default(&f);
    alert_file_unref(f);
    return r;
}

static void test_without_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) > 50);
    assert_true(memfail_each(attempt_mistake, NULL) > 10);
    assert_true(memfail_each(attempt_built_in, NULL) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_read),           cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_routes_are_limited),     cmocka_unit_test(test_all_mistakes_at_once),
        cmocka_unit_test(test_prints_what_reads_back), cmocka_unit_test(test_built_in),
        cmocka_unit_test(test_every_prefix),           cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
