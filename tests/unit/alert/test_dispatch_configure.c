/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/dispatch with other files; what can be seen of it; what a message says.
 */
#include "alert_life.h"

static const char simple[] = "route: {receiver: a, group_by: [g], " WAITS "}\n" RECEIVERS;
static const char split[] = "route: {receiver: a, group_by: [g], " WAITS
                            ", routes: [{matchers: [g=1], receiver: b}]}\n" RECEIVERS;
static const char longer[] =
    "route: {receiver: a, group_by: [g], group_wait: 1m, group_interval: 5m}\n" RECEIVERS;

/* --- other files --- */

static void configure(struct play *p, const char *text)
{
    struct alert_file *f = kind_file(text);
    assert_int_equal(dispatch_configure(p->d, f), 0);
    alert_file_unref(f); /* dispatch holds it */
}

static void test_same_groups_go_on(void **state)
{
    struct alert_file *f;
    struct play p;
    (void)state;
    begin(&p, simple, &f);
    script(&p, "fire alertname=x g=1\nfire alertname=y g=2");
    until(&p, 20000);
    expect(&p, "10000 a/0 +x first notification\n10000 a/0 +y first notification\n");
    configure(&p, simple);
    until(&p, 25000);
    script(&p, "fire alertname=z g=1");
    until(&p, 80000);
    expect(&p, "70000 a/0 +x +z new alerts added\n");
    configure(&p, longer); /* the next look is at its time, those after it later */
    script(&p, "fire alertname=w g=1");
    until(&p, 600000);
    expect(&p, "130000 a/0 +w +x +z new alerts added\n");
    script(&p, "end alertname=x g=1");
    until(&p, 1200000);
    expect(&p, "730000 a/0 +w +z -x some alerts resolved\n");
    end(&p, f);
}

static void test_another_receiver_is_told(void **state)
{
    struct alert_file *f;
    struct play p;
    (void)state;
    begin(&p, simple, &f);
    script(&p, "fire alertname=x g=1\nfire alertname=y g=2");
    until(&p, 20000);
    expect(&p, "10000 a/0 +x first notification\n10000 a/0 +y first notification\n");
    configure(&p, split); /* it fires for longer than the group waits: told at once */
    until(&p, 1000000);
    expect(&p, "20000 b/0 +x first notification\n");
    script(&p, "end alertname=x g=1\nend alertname=y g=2");
    until(&p, 2000000);
    expect(&p, "1030000 a/0 -y all alerts resolved\n1040000 b/0 -x all alerts resolved\n");
    end(&p, f);
}

/* " webhook webhook": the kinds that are told until then. */
static void expect_kinds(struct play *p, int64_t ms, const char *want)
{
    struct dispatch_due due;
    struct buf kinds;
    struct arena a;
    arena_init(&a, NULL);
    buf_init(&kinds, 1000);
    for (p->now_ms += 1000; p->now_ms <= DAY + ms; p->now_ms += 1000) {
        while (dispatch_next(p->d, p->s, p->now_ms, &a, &due) == 1) {
            assert_int_equal(buf_printf(&kinds, " %s", due.integration->kind->name), 0);
            dispatch_told(p->d, due.token, p->now_ms);
        }
    }
    assert_span_equal("kinds", buf_span(&kinds), span_cstr(want));
    buf_done(&kinds);
    arena_done(&a);
}

static void test_a_kind_beside_another(void **state)
{
    static const char both[] = "route: {receiver: a, group_by: [g], " WAITS "}\n"
                               "receivers: [{name: a, email_configs: [{url: x}], webhook_configs: "
                               "[{url: x}]}]\n";
    struct alert_file *f;
    struct play p;
    (void)state;
    begin(&p, simple, &f);
    script(&p, "fire alertname=x");
    expect_kinds(&p, 20000, " webhook");
    configure(&p, both); /* in front of what is there: who was told is not told again */
    expect_kinds(&p, 200000, " email");
    configure(&p, simple);
    configure(&p, both);
    expect_kinds(&p, 400000, "");
    end(&p, f);
}

static void test_while_messages_are_out(void **state)
{
    struct alert_file *f;
    struct play p;
    (void)state;
    begin(&p, simple, &f);
    script(&p, "slow a 30000\nfail b 1 40000\nfire alertname=x g=1\nfire alertname=y g=2");
    until(&p, 20000);
    expect(&p, "10000 a/0 +x first notification\n10000 a/0 +y first notification\n");
    configure(&p, simple); /* they are told once only */
    configure(&p, split);  /* g=1 is b's now; a's message still counts */
    until(&p, 30000);
    expect(&p, "20000 b/0 +x first notification failed\n");
    configure(&p, split); /* what waits for its next attempt goes on waiting */
    until(&p, 59999);
    expect(&p, "");
    until(&p, 100000);
    expect(&p, "60000 b/0 +x first notification\n");
    int n[2] = {0};
    assert_int_equal(dispatch_each_log(p.d, count_log, n), 0);
    assert_int_equal(n[0], 3); /* a: both groups; b */
    end(&p, f);
}

/* --- lists --- */

static int list_alert(void *ctx, const struct dispatch_seen *one)
{
    struct buf *out = ctx;
    int r = buf_printf(
        out, " %.*s%s%s:", SPAN_ARG(labels_get(one->alert->labels, SPAN("alertname"))),
        one->silenced_by ? "(silenced)" : "", one->n_inhibited_by > 0 ? "(inhibited)" : "");
    assert_int_equal(dispatch_fingerprint(one->alert->labels), one->alert->fingerprint);
    for (size_t i = 0; i < one->n_receivers && r == 0; i++)
        r = buf_printf(out, "%.*s,", SPAN_ARG(one->receivers[i]));
    return r;
}

static int list_group(void *ctx, const struct dispatch_group *g)
{
    return buf_printf(ctx, "[%.*s %.*s", SPAN_ARG(g->receiver),
                      SPAN_ARG(labels_get(g->labels, SPAN("g")))) == 0
               ? span_eq(labels_get(g->labels, SPAN("g")), SPAN("3"))
               : -ENOMEM;
}

static int list_end(void *ctx)
{
    return buf_append(ctx, SPAN("]"));
}

static void test_lists(void **state)
{
    static const char text[] =
        "route: {receiver: a, group_by: [g], routes: [\n"
        "  {matchers: [g=1], receiver: b, continue: true}, {matchers: [g=1]},\n"
        "  {matchers: [g=1]}]}\n" RECEIVERS
        "inhibit_rules: [{source_matchers: [alertname=x], target_matchers: [alertname=z]}]\n";
    struct alert_file *f;
    struct play p;
    struct buf out;
    size_t n_alerts, n_groups;
    (void)state;
    begin(&p, text, &f);
    script(&p, "fire alertname=x g=1\nfire alertname=y g=2\nfire alertname=z g=2\n"
               "fire alertname=w g=3\nfire alertname=v g=2\nend alertname=v g=2\n"
               "silence {\"matchers\": [{\"name\": \"alertname\", \"value\": \"y\"}], \"endsAt\": "
               "\"1970-01-03T00:00:00Z\"}");
    buf_init(&out, 10000);
    assert_int_equal(dispatch_each_alert(p.d, p.s, p.now_ms, list_alert, &out), 0);
    assert_true(span_find(buf_span(&out), SPAN(" x:a,b,")) < buf_len(&out));
    assert_true(span_find(buf_span(&out), SPAN(" y(silenced):a,")) < buf_len(&out));
    assert_true(span_find(buf_span(&out), SPAN(" z(inhibited):a,")) < buf_len(&out));
    assert_int_equal(buf_len(&out), strlen(" x:a,b, y(silenced):a, z(inhibited):a, w:a,"));
    buf_clear(&out);
    struct dispatch_group_visitor v = {list_group, list_alert, list_end, &out};
    assert_int_equal(dispatch_each_group(p.d, p.s, p.now_ms, &v), 0);
    assert_span_equal("groups", buf_span(&out),
                      SPAN("[a 1 x:a,][b 1 x:b,][a 2 y(silenced):a, z(inhibited):a,][a 3"));
    dispatch_counts(p.d, &n_alerts, &n_groups);
    assert_int_equal(n_alerts, 5);
    struct arena a;
    arena_init(&a, NULL);
    assert_true(dispatch_has(p.d, dispatch_fingerprint(kind_labels(&a, "alertname=v g=2"))));
    assert_false(dispatch_has(p.d, dispatch_fingerprint(kind_labels(&a, "alertname=v g=3"))));
    until(&p, 60000); /* its end is no news to anybody */
    assert_false(dispatch_has(p.d, dispatch_fingerprint(kind_labels(&a, "alertname=v g=2"))));
    assert_true(dispatch_has(p.d, dispatch_fingerprint(kind_labels(&a, "alertname=x g=1"))));
    arena_done(&a);
    assert_int_equal(n_groups, 4);
    buf_done(&out);
    end(&p, f);
}

/* --- what a message says --- */

static void test_message(void **state)
{
    static const char text[] = "route: {receiver: a, group_by: [g, h], group_wait: 0s, labels: "
                               "{owner: me}}\n" RECEIVERS;
    struct alert_file *f;
    struct play p;
    struct dispatch_due due;
    struct arena a;
    (void)state;
    begin(&p, text, &f);
    arena_init(&a, NULL);
    assert_int_equal(dispatch_set_url(p.d, SPAN("http://other")), 0);
    assert_int_equal(play_put(&p, kind_labels(&a, "alertname=x g=1 n=1 job=j"), false), 0);
    assert_int_equal(play_put(&p, kind_labels(&a, "alertname=x g=1 n=2"), false), 0);
    assert_int_equal(play_put(&p, kind_labels(&a, "alertname=x g=1 n=0"), false), 0);
    assert_int_equal(dispatch_next(p.d, p.s, p.now_ms, &a, &due), 1);
    const struct alert_message *m = &due.message;
    assert_int_equal(m->n, 3);
    assert_int_equal(m->n_firing, 3);
    assert_span_equal("job first", labels_get(m->alerts[0].labels, SPAN("n")), SPAN("1"));
    assert_span_equal("by labels", labels_get(m->alerts[1].labels, SPAN("n")), SPAN("0"));
    assert_span_equal("key", m->group_key, SPAN("{}:{g=\"1\"}"));
    assert_span_equal("url", m->external_url, SPAN("http://other"));
    assert_int_equal(m->group_labels.n, 1);
    assert_int_equal(m->common_labels.n, 2);
    assert_int_equal(m->common_annotations.n, 1);
    assert_span_equal("route", labels_get(m->route_labels, SPAN("owner")), SPAN("me"));
    assert_int_equal(m->alerts[0].starts_ms, DAY);
    assert_int_equal(m->alerts[0].ends_ms, 0);
    assert_span_equal("graph", m->alerts[0].generator_url, SPAN("http://graph"));
    assert_true(due.receiver == f->route->to && due.integration == due.receiver->integrations);
    uint64_t token = due.token;
    assert_int_equal(dispatch_next(p.d, p.s, p.now_ms, &a, &due), 0); /* it is out */
    dispatch_failed(p.d, token, p.now_ms);
    assert_int_equal(dispatch_next(p.d, p.s, p.now_ms, &a, &due), 1);
    assert_int_equal(due.token, token);
    dispatch_told(p.d, token, p.now_ms);
    dispatch_told(p.d, token, p.now_ms); /* of nothing */
    dispatch_failed(p.d, 4711, p.now_ms);
    arena_done(&a);
    end(&p, f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_groups_go_on),
        cmocka_unit_test(test_another_receiver_is_told),
        cmocka_unit_test(test_a_kind_beside_another),
        cmocka_unit_test(test_while_messages_are_out),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
