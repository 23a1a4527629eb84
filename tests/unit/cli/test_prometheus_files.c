/* SPDX-License-Identifier: Apache-2.0 */
/* Files for a Prometheus and an Alertmanager out of answers that nobody meant well. */
#include "harness.h"

#include <errno.h>

#include "cli/dialog.h"
#include "cli/prometheus_files.h"

static void routes(void **state)
{
    static const struct {
        const char *given, *expected; /* expected: behind the first line */
    } rows[] = {
        {"receivers:\n  - name: \"a\\nroute: {receiver: x}\\u2028b\"\n    \"odd\\rkey\": 1\n",
         "# receiver a?route: {receiver: x}?b: left out: odd?key\n"
         "receivers:\n  - name: \"a\\nroute: {receiver: x}\\u2028b\"\n"},
        {"receivers:\n  - name: r\n    webhook_configs:\n      - url: <secret>\n"
         "        max_alerts: 7\n        http_config: {basic_auth: {password: <secret>}}\n",
         "# receiver r: put in: url\n# receiver r: put in: password\n"
         "receivers:\n  - name: r\n    webhook_configs:\n"
         "      - url: \"http://put-the-secret-here.invalid/\"\n        max_alerts: 7\n"
         "        http_config:\n          basic_auth:\n            password: "
         "put-the-secret-here\n"},
        {"route: {receiver: 007, group_by: [\"1\", +5, -3]}\n",
         "route:\n  receiver: \"007\"\n  group_by:\n    - \"1\"\n    - \"+5\"\n    - -3\n"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf out;
        buf_init(&out, 1 << 20);
        assert_int_equal(prometheus_files_routes(span_cstr(rows[i].given), &out), 0);
        struct span text = buf_span(&out);
        (void)span_split(&text, '\n');
        assert_span_equal(rows[i].given, text, span_cstr(rows[i].expected));
        buf_done(&out);
    }
}

static void answers_that_are_none(void **state)
{
    static const char *const texts[] = {"[]", "a", "{", "receivers: [", "\xff"};
    struct buf out;
    (void)state;
    buf_init(&out, 1 << 20);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_row(texts[i], prometheus_files_routes(span_cstr(texts[i]), &out) == -EPROTO);
    assert_int_equal(buf_len(&out), 0);
    buf_done(&out);
}

static int rules_of(const char *groups, struct buf *out)
{
    json_t *all = dialog_load(span_cstr(groups));
    int r = prometheus_files_rules(all, SPAN("f"), out);
    json_decref(all);
    return r;
}

static void rules(void **state)
{
    static const struct {
        const char *group;
        int result;
        const char *text; /* behind "groups:\n" */
    } rows[] = {
        {"\"name\":\"a: b\\n\\\"{{ $x }}\",\"interval\":0.5,\"rules\":[{\"type\":\"alerting\","
         "\"name\":\"A\",\"query\":\"x{a=~\\\"b.*$\\\"}\\n# y\",\"duration\":90,"
         "\"labels\":{\"a\":\"yes\"},\"annotations\":{\"s\":\"{{ $value }}\"}}]",
         0,
         "  - name: \"a: b\\n\\\"{{ $x }}\"\n    interval: \"500ms\"\n    rules:\n      - alert: "
         "A\n"
         "        expr: \"x{a=~\\\"b.*$\\\"}\\n# y\"\n        for: \"1m30s\"\n        labels:\n"
         "          a: \"yes\"\n        annotations:\n          s: \"{{ $value }}\"\n"},
        {"\"interval\":1e300", -EPROTO, NULL},
        {"\"interval\":-1,\"name\":7,\"limit\":\"x\",\"rules\":[3,{\"labels\":{\"a\":null}}]", 0,
         "  - name: \"\"\n    rules:\n      - record: \"\"\n        expr: \"\"\n"
         "      - record: \"\"\n        expr: \"\"\n        labels:\n          a: \"\"\n"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char groups[1024];
        struct buf out;
        buf_init(&out, 1 << 20);
        snprintf(groups, sizeof(groups), "[{\"file\":\"f\",%s},{\"file\":\"g\"}]", rows[i].group);
        assert_row(rows[i].group, rules_of(groups, &out) == rows[i].result);
        struct span text = buf_span(&out);
        (void)span_split(&text, '\n');
        if (rows[i].text)
            assert_span_equal(rows[i].group, text, span_cstr(rows[i].text));
        buf_done(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes), cmocka_unit_test(answers_that_are_none), cmocka_unit_test(rules)};
    return cmocka_run_group_tests_name("cli/prometheus_files", tests, NULL, NULL);
}
