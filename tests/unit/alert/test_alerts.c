/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door with its thread: calls from several threads, birth and calls without memory, the rate of
 * an address. What arrives at receivers is tested from outside (tests/integration/alerts.test.mjs).
 */
#include "harness.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "alert/alertmanager_private.h"
#include "alert/alerts_private.h"
#include "alert/rate.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/timestamp.h"
#include "memfail.h"
#include "tempdir.h"

enum { N_THREADS = 3, N_CALLS = 40, WAIT_S = 20 };

static int put_one(struct alerts *a, int thread, int i, bool is_resolved)
{
    char number[24];
    int64_t now_ms = clock_wall().us / 1000;
    snprintf(number, sizeof(number), "%d.%d", thread, i);
    const struct label labels[] = {{SPAN_INIT("alertname"), SPAN_INIT("A")},
                                   {SPAN_INIT("number"), span_cstr(number)}};
    const struct alert_notice n = {.labels = {labels, 2},
                                   .starts_ms = now_ms,
                                   .ends_ms = now_ms + (is_resolved ? 0 : 60000),
                                   .is_resolved = is_resolved,
                                   .value = 1};
    return alerts_put(a, &n, 1);
}

/* --- calls from everywhere --- */

struct caller {
    struct alerts *alerts;
    int number;
};

static void write_all(struct alerts *a, struct buf *out)
{
    const struct alerts_filter all = {0};
    struct alerts_stats stats;
    struct jsonw w;
    buf_clear(out);
    jsonw_init(&w, out);
    jsonw_begin_array(&w);
    alerts_write(a, &all, &w);
    alerts_write_groups(a, &all, &w);
    alerts_write_silences(a, &all, &w);
    alerts_write_receivers(a, &w);
    alerts_write_status(a, &w);
    alerts_write_deliveries(a, &w);
    jsonw_end_array(&w);
    assert_int_equal(jsonw_error(&w), 0);
    alerts_stats(a, &stats);
}

static void *call(void *arg)
{
    struct caller *c = arg;
    struct buf out;
    buf_init(&out, 64 << 20);
    for (int i = 0; i < N_CALLS; i++) {
        assert_int_equal(put_one(c->alerts, c->number, i, i % 2 == 1), 0);
        if (i % 8 == 0)
            write_all(c->alerts, &out);
        if (i % 10 == 0)
            assert_int_equal(alerts_configure(c->alerts, &(struct alerts_config){0}), 0);
    }
    buf_done(&out);
    return NULL;
}

static void calls_from_several_threads(void **state)
{
    (void)state;
    struct tempdir dir;
    struct alerts *a;
    struct caller callers[N_THREADS];
    pthread_t threads[N_THREADS];
    struct alerts_stats stats = {0};
    tempdir_make(&dir);
    assert_int_equal(alerts_new(&(struct alerts_config){.dir = dir.path}, &a, NULL), 0);
    for (int i = 0; i < N_THREADS; i++) {
        callers[i] = (struct caller){a, i};
        assert_int_equal(pthread_create(&threads[i], NULL, call, &callers[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    mono_t start = clock_mono();
    while (stats.n_active < N_THREADS * N_CALLS / 2) {
        assert_true(mono_diff(clock_mono(), start) < WAIT_S * NS_PER_S);
        alerts_stats(a, &stats);
        usleep(1000);
    }
    alerts_free(a);
    tempdir_remove(&dir);
}

/* --- evidence that takes its time --- */

static int slow_evidence(void *ctx, const struct alert_notice *n, struct arena *a,
                         struct labels *ret)
{
    (void)n;
    (void)a;
    (*(int *)ctx)++; /* read behind alerts_free */
    *ret = (struct labels){0};
    usleep(20000);
    return 0;
}

static void looking_into_thousands_delays_nobody(void **state)
{
    (void)state;
    enum { N = 2000, LEAST = 5 };
    struct alerts *a;
    struct alerts_stats stats = {0};
    int n_looks = 0;
    const struct alerts_config config = {.evidence = slow_evidence, .ctx = &n_looks};
    assert_int_equal(alerts_new(&config, &a, NULL), 0);
    mono_t start = clock_mono();
    for (int i = 0; i < N; i++)
        assert_int_equal(put_one(a, 0, i, false), 0);
    while (stats.n_active < N) { /* one by one it would be 40 s */
        assert_true(mono_diff(clock_mono(), start) < WAIT_S * NS_PER_S);
        alerts_stats(a, &stats);
        usleep(1000);
    }
    alerts_free(a);
    assert_in_range(n_looks, LEAST, N / 2);
}

/* --- times that keep a route quiet --- */

static void write_groups(struct alerts *a, bool no_muted, struct buf *out)
{
    const struct alerts_filter f = {.no_muted = no_muted};
    struct jsonw w;
    buf_clear(out);
    jsonw_init(&w, out);
    alerts_write_groups(a, &f, &w);
    assert_int_equal(jsonw_error(&w), 0);
}

static void a_group_tells_what_keeps_it_quiet(void **state)
{
    (void)state;
    static struct err_list errs;
    static const char text[] =
        "route: {receiver: r, routes: [{mute_time_intervals: [ever]}]}\n"
        "receivers: [{name: r}]\n"
        "time_intervals: [{name: ever, time_intervals: [{years: ['1970:9999']}]}]\n";
    struct alert_file *file = NULL;
    struct alerts_stats stats = {0};
    struct alerts *a;
    struct buf out;
    err_list_init(&errs);
    buf_init(&out, 1 << 20);
    assert_int_equal(alert_file_read(span_cstr(text), "f", &file, &errs), 0);
    assert_int_equal(alerts_new(&(struct alerts_config){.file = file}, &a, NULL), 0);
    assert_int_equal(put_one(a, 0, 0, false), 0);
    mono_t start = clock_mono();
    while (stats.n_active < 1) {
        assert_true(mono_diff(clock_mono(), start) < WAIT_S * NS_PER_S);
        alerts_stats(a, &stats);
        usleep(1000);
    }
    write_groups(a, false, &out);
    assert_true(span_find(buf_span(&out), SPAN("\"state\":\"suppressed\"")) < buf_len(&out));
    assert_true(span_find(buf_span(&out), SPAN("\"mutedBy\":[\"ever\"]")) < buf_len(&out));
    write_groups(a, true, &out);
    assert_span_equal("not muted", buf_span(&out), SPAN("[]"));
    alerts_free(a);
    alert_file_unref(file);
    buf_done(&out);
}

/* --- alerts.db is gone --- */

static void a_file_that_was_removed_is_made_again(void **state)
{
    (void)state;
    struct tempdir dir;
    struct alerts *a;
    char id[SILENCE_ID_BYTES], kept[SILENCE_ID_BYTES] = "";
    struct buf out;
    struct jsonw w;
    const struct alerts_filter all = {0};
    tempdir_make(&dir);
    assert_int_equal(alerts_new(&(struct alerts_config){.dir = dir.path}, &a, NULL), 0);
    assert_int_equal(alerts_silence(a,
                                    SPAN("{\"matchers\":[{\"name\":\"a\",\"value\":\"b\","
                                         "\"isRegex\":false}],"
                                         "\"startsAt\":\"2020-01-01T00:00:00Z\","
                                         "\"endsAt\":\"2199-01-01T00:00:00Z\","
                                         "\"createdBy\":\"ann\",\"comment\":\"c\"}"),
                                    id, NULL),
                     0);
    assert_int_equal(unlink(tempdir_file(&dir, "alerts.db")), 0);
    (void)unlink(tempdir_file(&dir, "alerts.db-wal"));
    (void)unlink(tempdir_file(&dir, "alerts.db-shm"));
    pthread_mutex_lock(&a->lock);
    alerts_clean(a, alerts_now());
    pthread_mutex_unlock(&a->lock);
    alerts_free(a);
    assert_int_equal(alerts_new(&(struct alerts_config){.dir = dir.path}, &a, NULL), 0);
    buf_init(&out, 1 << 20);
    jsonw_init(&w, &out);
    alerts_write_silences(a, &all, &w);
    size_t at = span_find(buf_span(&out), span_cstr(id));
    (void)span_copy(span_from(buf_span(&out), at), kept, sizeof(kept));
    assert_string_equal(kept, id);
    buf_done(&out);
    alerts_free(a);
    tempdir_remove(&dir);
}

/* --- what is too large for an Alertmanager --- */

static void an_alert_that_fits_nowhere_holds_up_no_other(void **state)
{
    (void)state;
    enum { LARGE = 300 * 1024, N = 4 };
    static char text[LARGE];
    struct alerts *a;
    struct alerts_stats stats = {0};
    const struct span managers[] = {SPAN_INIT("http://127.0.0.1:9/")};
    const struct alerts_config config = {.alertmanagers = managers, .n_alertmanagers = 1};
    const struct label name = {SPAN_INIT("alertname"), SPAN_INIT("Large")};
    struct label annotations[N] = {
        {.name = SPAN("a")}, {.name = SPAN("b")}, {.name = SPAN("c")}, {.name = SPAN("d")}};
    memset(text, 'x', sizeof(text));
    for (size_t i = 0; i < N; i++)
        annotations[i].value = span_of(text, sizeof(text));
    const struct alert_notice large = {
        .labels = {&name, 1}, .annotations = {annotations, N}, .ends_ms = INT64_MAX, .value = 1};
    assert_int_equal(alerts_new(&config, &a, NULL), 0);
    assert_int_equal(alerts_put(a, &large, 1), 0);
    assert_int_equal(put_one(a, 0, 0, false), 0);
    mono_t start = clock_mono();
    while (stats.n_active < 2) {
        assert_true(mono_diff(clock_mono(), start) < WAIT_S * NS_PER_S);
        alerts_stats(a, &stats);
        usleep(1000);
    }
    pthread_mutex_lock(&a->lock);
    assert_int_equal(a->managers->at[0]->n_dropped, 1);
    pthread_mutex_unlock(&a->lock);
    alerts_free(a);
}

/* A rule with `for: 9m` needs that long after a start to tell again what fires. */
static void what_fired_holds_until_its_rule_can_tell(void **state)
{
    enum { RULE_NEEDS_MS = 10 * 60 * 1000 };
    (void)state;
    static const struct alerts_filter all = {0};
    const struct span key = SPAN("\"endsAt\":\"");
    struct tempdir dir;
    struct alerts *a;
    struct buf out;
    struct jsonw w;
    wall_t ends;
    tempdir_make(&dir);
    assert_int_equal(alerts_new(&(struct alerts_config){.dir = dir.path}, &a, NULL), 0);
    assert_int_equal(put_one(a, 0, 0, false), 0);
    alerts_free(a);
    assert_int_equal(alerts_new(&(struct alerts_config){.dir = dir.path}, &a, NULL), 0);
    buf_init(&out, 1 << 20);
    jsonw_init(&w, &out);
    alerts_write(a, &all, &w);
    struct span rest = span_from(buf_span(&out), span_find(buf_span(&out), key) + key.n);
    assert_int_equal(timestamp_parse(span_split(&rest, '"'), &ends), 0);
    assert_true(ends.us / 1000 > clock_wall().us / 1000 + RULE_NEEDS_MS);
    buf_done(&out);
    alerts_free(a);
    tempdir_remove(&dir);
}

/* --- no memory --- */

static int live(void *ctx)
{
    struct alerts *a;
    struct buf out;
    struct jsonw w;
    const struct alerts_filter all = {0};
    const struct span managers[] = {SPAN_INIT("http://127.0.0.1:9/")};
    const struct alerts_config config = {.dir = ctx,
                                         .external_url = SPAN_INIT("http://e/"),
                                         .alertmanagers = managers,
                                         .n_alertmanagers = 1};
    int r = alerts_new(&config, &a, NULL);
    if (r < 0)
        return r;
    buf_init(&out, 1 << 20);
    jsonw_init(&w, &out);
    r = put_one(a, 0, 0, false);
    if (r == 0)
        r = alerts_configure(a, &config);
    if (r == 0) {
        alerts_write(a, &all, &w);
        alerts_write_deliveries(a, &w);
        r = jsonw_error(&w);
    }
    buf_done(&out);
    alerts_free(a);
    return r;
}

/* What libcurl, SQLite and jansson keep for good is taken before anything is counted. */
static void warm_up(const char *dir)
{
    struct alerts *a;
    assert_int_equal(alerts_new(&(struct alerts_config){.dir = dir}, &a, NULL), 0);
    assert_int_equal(put_one(a, 0, 0, false), 0);
    alerts_free(a);
}

static void without_memory_nothing_is_left(void **state)
{
    (void)state;
    struct tempdir dir;
    tempdir_make(&dir);
    warm_up(dir.path);
    (void)memfail_each(live, dir.path);
    tempdir_remove(&dir);
}

static void never(void *ctx, void *tag, const struct receiver_reply *reply)
{
    (void)ctx;
    (void)tag;
    (void)reply;
}

static int start_transfers(void *ctx)
{
    struct transport *t;
    const struct web_header header = {SPAN_INIT("X-Key"), SPAN_INIT("secret")};
    const struct span to = SPAN_INIT("a@b");
    const struct receiver_request http = {.kind = REQUEST_HTTP,
                                          .url = SPAN_INIT("http://127.0.0.1:9/"),
                                          .body = SPAN_INIT("{}"),
                                          .content_type = SPAN_INIT("application/json"),
                                          .headers = &header,
                                          .n_headers = 1};
    const struct receiver_request mail = {.kind = REQUEST_MAIL,
                                          .url = SPAN_INIT("smtp://127.0.0.1:9"),
                                          .body = SPAN_INIT("x"),
                                          .from = SPAN_INIT("a@b"),
                                          .hello = SPAN_INIT("h"),
                                          .to = &to,
                                          .n_to = 1};
    (void)ctx;
    int r = transport_new(&t);
    if (r < 0)
        return r;
    r = transport_start(t, &http, never, NULL, NULL);
    if (r == 0)
        r = transport_start(t, &mail, never, NULL, NULL);
    transport_free(t);
    return r;
}

static void without_memory_no_transfer_is_begun(void **state)
{
    (void)state;
    assert_int_equal(start_transfers(NULL), 0);
    assert_true(memfail_each(start_transfers, NULL) > 10);
}

/* A request that could become two is not sent. */
static void line_ends_do_not_reach_the_wire(void **state)
{
    (void)state;
    static const struct web_header bad[] = {
        {SPAN_INIT("X"), SPAN_INIT("a\r\nY: b")},
        {SPAN_INIT("X\r\nY"), SPAN_INIT("a")},
    };
    struct transport *t;
    assert_int_equal(transport_new(&t), 0);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        const struct receiver_request r = {
            .url = SPAN_INIT("http://127.0.0.1:9/"), .headers = &bad[i], .n_headers = 1};
        assert_int_equal(transport_start(t, &r, never, NULL, NULL), -EINVAL);
    }
    const struct receiver_request file = {.url = SPAN_INIT("http://127.0.0.1:9/\r\nX: y")};
    assert_int_equal(transport_start(t, &file, never, NULL, NULL), -EINVAL);
    assert_int_equal(transport_n(t), 0);
    transport_free(t);
}

/* --- rates --- */

static void no_minute_has_more_than_its_rate(void **state)
{
    (void)state;
    struct rate r = {.per_min = 18};
    int64_t sent[200];
    size_t n = 0;
    for (int64_t now = 1; n < ARRAY_LEN(sent); now += 7) {
        if (rate_next_ms(&r) > now)
            continue;
        sent[n++] = now;
        rate_sent(&r, now);
    }
    for (size_t i = 18; i < n; i++)
        assert_true(sent[i] - sent[i - 18] >= RATE_WINDOW_MS);
    assert_true(sent[17] < 200);
    r = (struct rate){.per_min = 0};
    for (int i = 0; i < 1000; i++)
        rate_sent(&r, 5);
    assert_true(rate_next_ms(&r) <= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_from_several_threads),
        cmocka_unit_test(looking_into_thousands_delays_nobody),
        cmocka_unit_test(a_group_tells_what_keeps_it_quiet),
        cmocka_unit_test(a_file_that_was_removed_is_made_again),
        cmocka_unit_test(an_alert_that_fits_nowhere_holds_up_no_other),
        cmocka_unit_test(what_fired_holds_until_its_rule_can_tell),
        cmocka_unit_test(without_memory_nothing_is_left),
        cmocka_unit_test(without_memory_no_transfer_is_begun),
        cmocka_unit_test(line_ends_do_not_reach_the_wire),
        cmocka_unit_test(no_minute_has_more_than_its_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
