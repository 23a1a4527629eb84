/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review: a day as JSON and as Markdown (day.json, day.md beside this file), marks of people,
 * nothing at all, memory that is not there, being told to stop.
 */
#include "rig.h"

#include "memfail.h"
#include "tempdir.h"

#define AT(m) (T0 + (m) * (int64_t)MINUTE)

static const char rules[] =
    "groups:\n"
    "  - name: own|rules\n"
    "    rules:\n"
    "      - alert: Real\n"
    "        expr: histogram_quantile(0.95, rate(llm_ttft_seconds_bucket[10m])) > 1\n"
    "        for: 5m\n"
    "        labels: {tier: P1}\n"
    "      - alert: Noisy\n"
    "        expr: up > 0\n"
    "        for: 1m\n"
    "        labels: {tier: P2}\n"
    "      - {alert: Quiet, expr: up > 0}\n";

#define HOSTILE                                                                                    \
    "alertname=\"Noisy\",model=\"a|b `c` <b>d</b> [e](http://f) *g*\\n# h \\u0007\",tier=\"P2\""

static void fill_ttft(struct rig *g)
{
    static const char *const bounds[] = {"1", "4", "+Inf"};
    static const int upto[] = {50, 99, 100};
    struct arena a;
    struct labels l;
    struct span s = SPAN("llm_ttft_seconds{model=\"a|b\"}");
    struct promql_error error;
    for (size_t i = 0; i < ARRAY_LEN(bounds); i++) {
        char series[128];
        (void)snprintf(series, sizeof(series), "llm_ttft_seconds_bucket{le=\"%s\"}", bounds[i]);
        rig_run(g, series,
                (struct run_of){AT(-20), AT(1440) + 1, 4 * MINUTE, 0, 4.0 * upto[i], false});
    }
    arena_init(&a, NULL);
    assert_int_equal(promql_parse_series(&s, &a, &l, &error), 0);
    for (int i = -20; i <= 1440; i += 4) {
        char text[96];
        struct fhist *h;
        int n = 60 * (i + 20);
        (void)snprintf(text, sizeof(text), "{{schema:0 sum:%d count:%d offset:1 buckets:[%d]}}", n,
                       n, n);
        struct span literal = span_cstr(text);
        assert_int_equal(fhist_parse(&literal, &a, &h, NULL), 0);
        assert_int_equal(memory_append(g->m, l, AT(i), 0, h), 0);
    }
    arena_done(&a);
}

/* Bad from 02:00 to 02:20, with an alert, and from 10:00 to 10:15, without. */
static void fill_day(struct rig *g)
{
    static const struct bad bad[] = {{AT(120), AT(140), 30}, {AT(600), AT(615), 60}};
    rig_traffic(g, CHAT, AT(-20), AT(1440), 60, bad, 2);
    rig_alert(g, "alertname=\"Real\",tier=\"P1\"", AT(121), 5 * MINUTE, 20 * MINUTE);
    for (int i = 0; i < 3; i++)
        rig_alert(g, HOSTILE, AT(300 + 60 * i), MINUTE, 2 * MINUTE);
    rig_alert(g, "alertname=\"Noisy\",model=\"m\",tier=\"P2\"", AT(122), MINUTE, 15 * MINUTE);
    rig_alert(g, "alertname=\"Noisy\",model=\"m\",tier=\"P2\"", AT(900), MINUTE / 2, 0);
    rig_alert(g, "alertname=\"Old <i>\"", AT(1000), 0, 2 * MINUTE);
    fill_ttft(g);
}

/* REVIEW_WRITE=1 writes the file instead, to be looked at. */
static void compare(struct rig *g, const char *path)
{
    static char want[1 << 20];
    struct span got = span_of(buf_span(&g->text).p, buf_len(&g->text) - 1);
    bool is_written = getenv("REVIEW_WRITE") != NULL;
    FILE *f = fopen(path, is_written ? "we" : "re");
    assert_non_null(f);
    if (is_written)
        assert_int_equal(fwrite(got.p, 1, got.n, f), got.n);
    size_t n = is_written ? 0 : fread(want, 1, sizeof(want), f);
    assert_int_equal(fclose(f), 0);
    if (!is_written)
        assert_span_equal(path, got, span_of(want, n));
}

static void test_a_day(void **state)
{
    struct rig g;
    (void)state;
    rig_start(&g, rules);
    fill_day(&g);
    (void)rig_make(&g);
    rig_print(&g, true);
    compare(&g, "tests/unit/review/day.json");
    rig_print(&g, false);
    compare(&g, "tests/unit/review/day.md");
    rig_stop(&g);
}

/* Budgets alone are those of the whole review, and there is nothing else. */
static void test_of_budgets(void **state)
{
    struct rig g;
    char budgets[4096];
    (void)state;
    rig_start(&g, rules);
    fill_day(&g);
    (void)rig_make(&g);
    rig_print(&g, true);
    struct span all = buf_span(&g.text);
    size_t from = span_find(all, SPAN("\"budgets\":["));
    size_t to = span_find(all, SPAN(",\"suggestions\""));
    assert_true(from < to && to < all.n);
    span_copy(span_of(all.p + from, to - from), budgets, sizeof(budgets));

    g.q.is_of_budgets = true;
    assert_int_equal(rig_make(&g)->n_rows, 0);
    rig_print(&g, true);
    rig_has(&g, budgets);
    assert_true(span_find(buf_span(&g.text), SPAN("\"rules\"")) == buf_span(&g.text).n);
    rig_stop(&g);
}

/* --- nothing --- */

static void test_nothing(void **state)
{
    struct rig g;
    (void)state;
    rig_start(&g, rules);
    const struct review *r = rig_make(&g);
    assert_int_equal(r->n_rows, 3);
    assert_int_equal(r->n_misses + r->n_fors + r->n_thresholds + r->n_bounds, 0);
    rig_print(&g, false);
    rig_has(&g, "- Alerts: none is recorded. Either none was pending or fired, or no rules were "
                "evaluated here.\n- Objectives: no requests are recorded for any.\n");
    rig_has(&g, "No alert fired.\n\nNever fired: Noisy, Quiet, Real.\n");
    rig_has(&g, "| chat | errors | 99 % | 0 | 0 | not known | ");
    rig_has(&g, "## Suggestions\n\nNone.\n");
    rig_print(&g, true);
    rig_has(&g, "\"alerts\":null,\"objectives\":null,\"marks\":null");

    g.q.n_slos = 0;
    g.q.n_files = 0;
    (void)rig_make(&g);
    rig_print(&g, false);
    rig_has(&g, "- Objectives: none are configured (`slos`).\n");
    rig_stop(&g);
}

static void test_periods(void **state)
{
    const int64_t to_ms[] = {T0, T0 - 1, T0 + (REVIEW_DAYS_MAX + 1) * DAY};
    struct review *r = NULL;
    struct rig g;
    (void)state;
    rig_start(&g, NULL);
    for (size_t i = 0; i < ARRAY_LEN(to_ms); i++) {
        struct err err;
        g.q.to_ms = to_ms[i];
        assert_int_equal(review_make(&g.q, &r, &err), -EINVAL);
        assert_null(r);
        assert_string_equal(err.text, "the period of a review is at most 400 days and not empty");
    }
    rig_stop(&g);
}

/* --- what people said --- */

static void tell(struct incidents *i, const char *name, int64_t from_ms, int64_t now_ms,
                 bool is_resolved)
{
    const struct label labels[] = {{SPAN("alertname"), span_cstr(name)},
                                   {SPAN("tier"), SPAN("P1")}};
    struct alert_notice n = {.labels = {labels, ARRAY_LEN(labels)},
                             .starts_ms = from_ms,
                             .ends_ms = is_resolved ? now_ms : now_ms + 4 * MINUTE,
                             .is_resolved = is_resolved,
                             .value = 1,
                             .expr = SPAN("up > 0")};
    assert_int_equal(incidents_put(i, &n, 1, now_ms), 0);
}

/* The only incident is over; its alert of that name is marked. */
static void mark(struct incidents *i, const char *name, int64_t now_ms)
{
    static const char key[] = "\"id\":\"";
    struct incidents_filter all = {.limit = 10};
    struct buf out;
    struct jsonw w;
    struct err err;
    buf_init(&out, 1U << 20);
    jsonw_init(&w, &out);
    assert_int_equal(incidents_write(i, &all, &w), 0);
    struct span id = span_from(buf_span(&out), span_find(buf_span(&out), SPAN("\"id\":\"")));
    id = span_from(id, sizeof(key) - 1);
    id.n = span_find_char(id, '"');
    assert_int_equal(incidents_mark_noise(i, id, span_cstr(name), true, SPAN("me"), now_ms, &err),
                     0);
    buf_done(&out);
}

static void test_marks(void **state)
{
    static const struct bad bad[] = {{AT(120), AT(140), 30}};
    struct tempdir dir;
    struct incidents *incidents;
    struct err err;
    struct rig g;
    (void)state;
    tempdir_make(&dir);
    const struct incidents_config config = {.dir = dir.path};
    assert_int_equal(incidents_open(&config, &incidents, &err), 0);
    rig_start(&g, rules);
    rig_traffic(&g, CHAT, AT(-20), AT(1440), 60, bad, 1);
    /* Both fire while the budget burns, twice; the first time of one is marked. */
    for (int i = 0; i < 2; i++) {
        rig_alert(&g, "alertname=\"Marked\",tier=\"P1\"", AT(121 + 12 * i), 0, 5 * MINUTE);
        rig_alert(&g, "alertname=\"Other\",tier=\"P1\"", AT(121 + 12 * i), 0, 5 * MINUTE);
    }
    tell(incidents, "Marked", AT(121), AT(121), false);
    tell(incidents, "Other", AT(121), AT(121), false);
    tell(incidents, "Marked", AT(121), AT(126), true);
    tell(incidents, "Other", AT(121), AT(126), true);
    mark(incidents, "Marked", AT(130));
    g.q.incidents = incidents;
    const struct review *r = rig_make(&g);
    assert_int_equal(r->n_incident_alerts, 2);
    assert_int_equal(r->n_marks, 1);
    const struct rule_row *marked = rig_row(r, "Marked"), *other = rig_row(r, "Other");
    assert_int_equal(marked->n_marked, 1);
    assert_int_equal(marked->fired.n_noise, 1);
    assert_int_equal(marked->fired.n_real, 1);
    assert_int_equal(other->fired.n_real, 2);
    rig_print(&g, false);
    rig_has(&g, "- Marks: people marked 1 of 2 alerts in incidents as noise.\n");
    rig_print(&g, true);
    rig_has(&g, "\"marks\":{\"alerts\":2,\"noise\":1}");
    rig_stop(&g);
    incidents = incidents_close(incidents);
    tempdir_remove(&dir);
}

/* --- what fails --- */

static int attempt(void *ctx)
{
    struct rig *g = ctx;
    struct review *r = NULL;
    struct buf out;
    struct jsonw w;
    struct err err = {0};
    int error = review_make(&g->q, &r, &err);
    assert_true((error == 0) == (r != NULL) && (error == 0) == (err.text[0] == '\0'));
    buf_init(&out, 1U << 20);
    jsonw_init(&w, &out);
    if (error == 0)
        error = review_write(r, &w);
    if (error == 0)
        error = review_print_markdown(r, &out);
    buf_done(&out);
    r = review_free(r);
    return error;
}

static void test_allocation_failures(void **state)
{
    struct rig g;
    (void)state;
    rig_start(&g, rules);
    fill_day(&g);
    assert_true(memfail_each(attempt, &g) > 50);
    rig_stop(&g);
}

struct stop {
    int n_left, with;
};
static int is_over(void *ctx)
{
    struct stop *s = ctx;
    return s->n_left-- > 0 ? 0 : s->with;
}

/* Whenever it is told to stop, it does, and says so. */
static void test_stopping(void **state)
{
    const int errors[] = {-ECANCELED, -ETIMEDOUT};
    struct rig g;
    int n = 0, error = -1;
    (void)state;
    rig_start(&g, rules);
    fill_day(&g);
    for (n = 0; error < 0; n++) {
        struct stop stop = {n, errors[n % 2]};
        struct review *r = NULL;
        struct err err = {0};
        g.q.is_over = is_over;
        g.q.ctx = &stop;
        error = review_make(&g.q, &r, &err);
        if (error < 0) {
            assert_int_equal(error, errors[n % 2]);
            assert_null(r);
            assert_true(err.text[0] != '\0');
        }
        r = review_free(r);
    }
    assert_true(n > 5);
    rig_stop(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_day),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_of_budgets),
        cmocka_unit_test(test_periods),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_stopping),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
