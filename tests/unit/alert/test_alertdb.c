/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes into alerts.db comes out again, rows that were damaged cost only themselves, and a
 * failing allocation leaves nothing behind.
 */
#include "harness.h"

#include <errno.h>
#include <math.h>

#include "alert/alertdb.h"
#include "base/mem.h"
#include "memfail.h"
#include "tempdir.h"

static const struct label labels[] = {
    {SPAN_INIT("alertname"), SPAN_INIT("A \"x\"\n")},
    {SPAN_INIT("z"), SPAN_INIT("\xf0\x9f\x94\xa5\0b")},
};
static const struct label evidence[] = {{SPAN_INIT("exemplar_requests"), SPAN_INIT("r1, r2")}};

static const struct alert_notice notice = {.labels = {labels, 2},
                                           .annotations = {labels, 1},
                                           .starts_ms = 1000,
                                           .ends_ms = 2000,
                                           .value = 4.25,
                                           .expr = SPAN_INIT("up == 0"),
                                           .generator_url = SPAN_INIT("http://g/")};

static const uint64_t fingerprints[] = {1, UINT64_MAX};
static const struct dispatch_log told = {.group_key = SPAN_INIT("{}:{a=\"b\"}"),
                                         .receiver = SPAN_INIT("ops"),
                                         .integration = 2,
                                         .told_ms = 3000,
                                         .firing = fingerprints,
                                         .resolved = fingerprints,
                                         .n_firing = 2,
                                         .n_resolved = 1};
static const struct delivery_held held = {.receiver = SPAN_INIT("ops"),
                                          .group_key = SPAN_INIT("k"),
                                          .kind = "webhook",
                                          .integration = 1,
                                          .first_ms = 5,
                                          .last_ms = 6,
                                          .n_attempts = 7,
                                          .is_given_up = true,
                                          .why = SPAN_INIT("why"),
                                          .hint = SPAN_INIT("hint"),
                                          .shown = SPAN_INIT("http://h/...")};

/* --- visitors: what is read is compared at once --- */

struct seen {
    size_t n_silences, n_told, n_alerts, n_held;
};

static int on_silence(void *ctx, const struct silence *s)
{
    struct seen *seen = ctx;
    assert_string_equal(s->id, "01234567-89ab-cdef-0123-456789abcdef");
    assert_int_equal(s->n_matchers, 2);
    assert_int_equal(s->matchers[1].op, MATCH_RE);
    assert_true(matcher_matches(&s->matchers[1], SPAN("xyz")));
    assert_int_equal(s->ends_ms, 20);
    assert_span_equal("comment", s->comment, SPAN("work"));
    seen->n_silences++;
    return 0;
}

static int on_told(void *ctx, const struct dispatch_log *l)
{
    struct seen *seen = ctx;
    assert_span_equal("key", l->group_key, told.group_key);
    assert_span_equal("receiver", l->receiver, told.receiver);
    assert_int_equal(l->integration, 2);
    assert_int_equal(l->told_ms, 3000);
    assert_int_equal(l->n_firing, 2);
    assert_int_equal(l->n_resolved, 1);
    assert_true(l->firing[1] == UINT64_MAX && l->resolved[0] == 1);
    seen->n_told++;
    return 0;
}

static int on_alert(void *ctx, const struct alert_notice *n, struct labels e)
{
    struct seen *seen = ctx;
    assert_true(labels_eq(n->labels, notice.labels));
    assert_true(labels_eq(n->annotations, notice.annotations));
    assert_true(labels_eq(e, (struct labels){evidence, 1}));
    assert_true(n->starts_ms == 1000 && n->ends_ms == 2000 && !n->is_resolved);
    assert_true(n->value == 4.25);
    assert_span_equal("expr", n->expr, notice.expr);
    assert_span_equal("url", n->generator_url, notice.generator_url);
    seen->n_alerts++;
    return 0;
}

static int on_held(void *ctx, const struct delivery_held *h)
{
    struct seen *seen = ctx;
    assert_span_equal("receiver", h->receiver, held.receiver);
    assert_string_equal(h->kind, "webhook");
    assert_true(h->integration == 1 && h->first_ms == 5 && h->last_ms == 6 && h->n_attempts == 7);
    assert_true(h->is_given_up);
    assert_span_equal("why", h->why, held.why);
    assert_span_equal("shown", h->shown, held.shown);
    seen->n_held++;
    return 0;
}

static int read_all(struct alertdb *d, struct seen *seen, size_t *ret_n_bad)
{
    const struct alertdb_visitor v = {on_silence, on_told, on_alert, on_held, seen};
    *seen = (struct seen){0};
    return alertdb_read(d, &v, ret_n_bad);
}

static int put_silence(struct alertdb *d)
{
    struct arena a;
    struct matcher *m;
    arena_init(&a, NULL);
    m = arena_zalloc(&a, 2, sizeof(*m));
    int r = m ? matcher_init(&a, MATCH_EQ, SPAN("a"), SPAN("b"), &m[0], NULL) : -ENOMEM;
    if (r == 0)
        r = matcher_init(&a, MATCH_RE, SPAN("c"), SPAN("x.*"), &m[1], NULL);
    struct silence s = {.id = "01234567-89ab-cdef-0123-456789abcdef",
                        .matchers = m,
                        .n_matchers = 2,
                        .starts_ms = 10,
                        .ends_ms = 20,
                        .updated_ms = 30,
                        .created_by = SPAN_INIT("ann"),
                        .comment = SPAN_INIT("work")};
    if (r == 0) {
        r = alertdb_put_silence(d, &s);
        matcher_done(&m[0]);
        matcher_done(&m[1]);
    }
    arena_done(&a);
    return r;
}

static int put_all(struct alertdb *d)
{
    int r = alertdb_begin(d);
    if (r == 0)
        r = put_silence(d);
    if (r == 0)
        r = alertdb_put_told(d, &told);
    if (r == 0)
        r = alertdb_put_alert(d, UINT64_MAX, &notice);
    if (r == 0)
        r = alertdb_put_evidence(d, UINT64_MAX, (struct labels){evidence, 1});
    if (r == 0)
        r = alertdb_put_alert(d, UINT64_MAX, &notice); /* the evidence stays */
    if (r == 0)
        r = alertdb_drop_held(d);
    if (r == 0)
        r = alertdb_put_held(d, &held);
    if (r == 0)
        return alertdb_commit(d);
    alertdb_rollback(d);
    return r;
}

static bool keep_none(void *ctx, uint64_t fingerprint)
{
    assert_true(fingerprint == UINT64_MAX);
    (void)ctx;
    return false;
}

static void what_goes_in_comes_out(void **state)
{
    (void)state;
    struct tempdir dir;
    struct alertdb *d;
    struct seen seen;
    size_t n_bad;
    tempdir_make(&dir);
    assert_int_equal(alertdb_open(dir.path, &d, NULL), 0);
    assert_int_equal(put_all(d), 0);
    alertdb_close(d);
    assert_int_equal(alertdb_open(dir.path, &d, NULL), 0);
    assert_int_equal(read_all(d, &seen, &n_bad), 0);
    assert_int_equal(n_bad, 0);
    assert_true(seen.n_silences == 1 && seen.n_told == 1 && seen.n_alerts == 1 && seen.n_held == 1);
    struct dispatch_log gone = told;
    gone.told_ms = -1;
    assert_int_equal(alertdb_put_told(d, &gone), 0);
    assert_int_equal(alertdb_drop_silence(d, "01234567-89ab-cdef-0123-456789abcdef"), 0);
    assert_int_equal(alertdb_clean_alerts(d, keep_none, NULL), 0);
    assert_int_equal(alertdb_drop_held(d), 0);
    assert_int_equal(read_all(d, &seen, &n_bad), 0);
    assert_true(seen.n_silences == 0 && seen.n_told == 0 && seen.n_alerts == 0 && seen.n_held == 0);
    alertdb_close(d);
    tempdir_remove(&dir);
    assert_int_equal(mem_live_blocks(), 0);
}

static void a_bad_row_costs_only_itself(void **state)
{
    (void)state;
    struct tempdir dir;
    struct alertdb *d;
    struct seen seen;
    size_t n_bad;
    sqlite3 *raw;
    tempdir_make(&dir);
    assert_int_equal(alertdb_open(dir.path, &d, NULL), 0);
    assert_int_equal(put_all(d), 0);
    alertdb_close(d);
    assert_int_equal(sqlite3_open(tempdir_file(&dir, "alerts.db"), &raw), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(raw,
                     "INSERT INTO alerts VALUES(1, '{\"a\":', '{}', '{}', 0, 0, 0, 0, '', '');"
                     "INSERT INTO alerts VALUES(2, '[]', '{}', '{}', 0, 0, 0, 0, '', '');"
                     "INSERT INTO alerts VALUES(3, '{\"a\":1}', '{}', '{}', 0, 0, 0, 0, '', '');"
                     "INSERT INTO told VALUES('k', 'r', 0, 1, x'00', x'');"
                     "INSERT INTO silences VALUES('short', '[]', 0, 0, 0, '', '');"
                     "INSERT INTO silences VALUES('01234567-89ab-cdef-0123-456789abcdee',"
                     " '[[9,\"a\",\"b\"]]', 0, 0, 0, '', '');"
                     "INSERT INTO silences VALUES('01234567-89ab-cdef-0123-456789abcded',"
                     " '[]', 0, 0, 0, '', '');"
                     "INSERT INTO silences VALUES('01234567-89ab-cdef-0123-456789abcdec',"
                     " '{}', 0, 0, 0, '', '');",
                     NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(raw);
    assert_int_equal(alertdb_open(dir.path, &d, NULL), 0);
    assert_int_equal(read_all(d, &seen, &n_bad), 0);
    assert_int_equal(n_bad, 8);
    assert_true(seen.n_silences == 1 && seen.n_told == 1 && seen.n_alerts == 1 && seen.n_held == 1);
    alertdb_close(d);
    tempdir_remove(&dir);
}

static int put_and_read(void *ctx)
{
    struct alertdb *d;
    struct seen seen;
    size_t n_bad;
    int r = alertdb_open(ctx, &d, NULL);
    if (r < 0)
        return r;
    r = put_all(d);
    if (r == 0)
        r = read_all(d, &seen, &n_bad);
    alertdb_close(d);
    return r;
}

static void without_memory_it_says_so(void **state)
{
    (void)state;
    struct tempdir dir;
    struct alertdb *d;
    tempdir_make(&dir);
    assert_int_equal(alertdb_open(dir.path, &d, NULL), 0);
    assert_int_equal(put_all(d), 0);
    alertdb_close(d);
    assert_true(memfail_each(put_and_read, dir.path) > 10);
    tempdir_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_in_comes_out),
        cmocka_unit_test(a_bad_row_costs_only_itself),
        cmocka_unit_test(without_memory_it_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
