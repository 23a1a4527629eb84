/* SPDX-License-Identifier: Apache-2.0 */
#include "alert_kinds.h"

#include "alert/fingerprint.h"
#include "alert/inhibit.h"
#include "memfail.h"

static const char tree[] =
    "route:\n"
    "  receiver: root\n"
    "  group_by: [alertname]\n"
    "  routes:\n"
    "    - matchers: [severity=P0]\n"
    "      receiver: all-p0\n"
    "      continue: true\n"
    "    - matchers: ['severity=~\"P0|P1\"']\n"
    "      receiver: phone\n"
    "      group_by: ['...']\n"
    "      routes:\n"
    "        - matchers: [team=a]\n"
    "          receiver: team-a\n"
    "          continue: true\n"
    "        - matchers: [team!=b, model!=\"\"]\n"
    "          receiver: models\n"
    "          group_by: []\n"
    "    - matchers: [severity=P2]\n"
    "      receiver: chat\n"
    "receivers: [{name: root}, {name: all-p0}, {name: phone}, {name: team-a},"
    " {name: models}, {name: chat}]\n";

static const struct {
    const char *labels, *receivers;
} rows[] = {
    {"", "root"},
    {"severity=P3", "root"},
    {"severity=P2", "chat"},
    {"severity=P1", "phone"},
    {"severity=P0", "all-p0 phone"},
    {"severity=P1 team=a", "team-a"},
    {"severity=P0 team=a model=m", "all-p0 team-a models"},
    {"severity=P1 team=b model=m", "phone"},
    {"severity=P1 model=m", "models"},
};

static void test_who_takes_it(void **state)
{
    struct alert_file *f = kind_file(tree);
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf out, names;
        struct arena a;
        arena_init(&a, NULL);
        buf_init(&out, 10000);
        buf_init(&names, 1000);
        assert_int_equal(alert_route_explain(f, kind_labels(&a, rows[i].labels), &out), 0);
        struct span rest = buf_span(&out);
        while (rest.n > 0) {
            struct span line = span_split(&rest, '\n'), name = span_split(&line, '\t');
            assert_int_equal(
                buf_printf(&names, "%s%.*s", buf_len(&names) ? " " : "", SPAN_ARG(name)), 0);
        }
        assert_span_equal(rows[i].labels, buf_span(&names), span_cstr(rows[i].receivers));
        buf_done(&out);
        buf_done(&names);
        arena_done(&a);
    }
    alert_file_unref(f);
}

static void test_explains(void **state)
{
    struct alert_file *f = kind_file(tree);
    struct buf out;
    struct arena a;
    (void)state;
    arena_init(&a, NULL);
    buf_init(&out, 10000);
    assert_int_equal(alert_route_explain(f, kind_labels(&a, "severity=P0 team=a model=m"), &out),
                     0);
    assert_span_equal("text", buf_span(&out),
                      SPAN("all-p0\t{}/{severity=\"P0\"}\tgroup by alertname; wait 30s, "
                           "again 5m, repeat 4h\n"
                           "team-a\t{}/{severity=~\"P0|P1\"}/{team=\"a\"}\tgroup by all labels; "
                           "wait 30s, again 5m, repeat 4h\n"
                           "models\t{}/{severity=~\"P0|P1\"}/{model!=\"\",team!=\"b\"}\t"
                           "group by nothing; wait 30s, again 5m, repeat 4h\n"));
    buf_done(&out);
    arena_done(&a);
    alert_file_unref(f);
}

/* FNV-1a of "alertname\xfftest\xff". */
static void test_fingerprints(void **state)
{
    struct arena a;
    (void)state;
    arena_init(&a, NULL);
    assert_int_equal(alert_fingerprint(kind_labels(&a, "")), UINT64_C(0xcbf29ce484222325));
    assert_int_equal(alert_fingerprint(kind_labels(&a, "alertname=test")),
                     UINT64_C(0x1f56cb8f931d1bd4));
    arena_done(&a);
}

/* --- inhibition --- */

static const char inhibitions[] = "route: {receiver: a}\nreceivers: [{name: a}]\n"
                                  "inhibit_rules:\n"
                                  "  - source_matchers: [severity=P0]\n"
                                  "    target_matchers: [severity=~\"P1|P2\"]\n"
                                  "    equal: [model, zone]\n"
                                  "  - source_matchers: [kind=down]\n"
                                  "    target_matchers: [target!=\"\"]\n"
                                  "    equal: [target]\n";

static struct inhibit_source source(struct arena *a, const char *labels, int64_t until_ms)
{
    struct inhibit_source s = {.labels = kind_labels(a, labels), .until_ms = until_ms};
    s.fingerprint = alert_fingerprint(s.labels);
    return s;
}

static void test_who_keeps_it_quiet(void **state)
{
    struct alert_file *f = kind_file(inhibitions);
    struct inhibit *ih = NULL;
    struct arena a;
    (void)state;
    arena_init(&a, NULL);
    assert_int_equal(inhibit_new(f, &ih), 0);
    struct inhibit_source s[] = {
        source(&a, "severity=P0 model=m", 100),
        source(&a, "severity=P0 model=m", 200),
        source(&a, "severity=P0 model=n zone=z", 100),
        source(&a, "kind=down target=t", 100),
        source(&a, "severity=P3", 100),
    };
    for (size_t i = 0; i < ARRAY_LEN(s); i++)
        assert_int_equal(inhibit_add(ih, &s[i]), 0);
    static const struct {
        const char *labels;
        int64_t now_ms;
        int by; /* of s; -1: nobody */
    } cases[] = {
        {"severity=P1 model=m", 99, 1}, /* zone is missing on both sides */
        {"severity=P1 model=m", 150, 1},
        {"severity=P1 model=m", 200, -1},
        {"severity=P1 model=m zone=z", 99, -1},
        {"severity=P2 model=n zone=z", 99, 2},
        {"severity=P2 model=n zone=z", 100, -1},
        {"severity=P3 model=m", 99, -1},
        {"severity=P0 model=m", 99, -1},
        {"x=1 target=t", 99, 3},
        {"kind=down target=t", 99, -1}, /* source and target: not by one that is both */
        {"x=1", 99, -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct inhibit_source *by =
            inhibit_find(ih, kind_labels(&a, cases[i].labels), cases[i].now_ms);
        assert_row(cases[i].labels, by == (cases[i].by < 0 ? NULL : &s[cases[i].by]));
    }
    inhibit_remove(ih, &s[1]);
    inhibit_remove(ih, &s[1]);
    assert_ptr_equal(inhibit_find(ih, kind_labels(&a, "severity=P1 model=m"), 99), &s[0]);
    inhibit_free(ih);
    alert_file_unref(f);
    arena_done(&a);
}

/* Both sides of a rule match it, and a source that is no target is there, too. */
static void test_both_sides(void **state)
{
    struct alert_file *f = kind_file("route: {receiver: a}\nreceivers: [{name: a}]\n"
                                     "inhibit_rules:\n"
                                     "  - {source_matchers: [s=1], target_matchers: [t=1]}\n");
    struct inhibit *ih = NULL;
    struct arena a;
    (void)state;
    arena_init(&a, NULL);
    assert_int_equal(inhibit_new(f, &ih), 0);
    struct inhibit_source both = source(&a, "s=1 t=1 n=1", 100), only = source(&a, "s=1", 100);
    assert_int_equal(inhibit_add(ih, &both), 0);
    assert_null(inhibit_find(ih, both.labels, 1));
    assert_null(inhibit_find(ih, kind_labels(&a, "s=1 t=1 n=2"), 1));
    assert_ptr_equal(inhibit_find(ih, kind_labels(&a, "t=1"), 1), &both);
    assert_int_equal(inhibit_add(ih, &only), 0);
    assert_ptr_equal(inhibit_find(ih, both.labels, 1), &only);
    inhibit_remove(ih, &both);
    inhibit_free(ih);
    alert_file_unref(f);
    arena_done(&a);
}

static int attempt(void *ctx)
{
    static const struct label pair = {SPAN_INIT("t"), SPAN_INIT("1")};
    const struct alert_file *f = ctx;
    struct inhibit_source s = {.until_ms = 100};
    struct inhibit *ih = NULL;
    int r = inhibit_new(f, &ih);
    if (r == 0) {
        r = inhibit_add(ih, &s);
        assert_true((inhibit_find(ih, (struct labels){&pair, 1}, 1) == &s) == (r == 0));
    }
    inhibit_free(ih);
    return r;
}

static void test_without_memory(void **state)
{
    struct alert_file *f = kind_file("route: {receiver: a}\nreceivers: [{name: a}]\n"
                                     "inhibit_rules:\n"
                                     "  - {source_matchers: ['x=\"\"'], target_matchers: [t=1]}\n"
                                     "  - {source_matchers: ['y=\"\"'], target_matchers: [t=1]}\n");
    (void)state;
    assert_true(memfail_each(attempt, f) >= 3);
    alert_file_unref(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_takes_it), cmocka_unit_test(test_explains),
        cmocka_unit_test(test_fingerprints), cmocka_unit_test(test_who_keeps_it_quiet),
        cmocka_unit_test(test_both_sides),   cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
