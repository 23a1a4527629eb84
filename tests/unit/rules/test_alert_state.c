/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/alert_state: every transition as a row of a table: an evaluation each minute, whether the
 * expression returned the alert, and what it is then.
 */
#include "harness.h"

#include <errno.h>
#include <string.h>

#include "memfail.h"
#include "rules/alert_state.h"

enum { MINUTE = 60 * 1000 };

static struct label pairs[] = {{SPAN_INIT("alertname"), SPAN_INIT("a")}};
static const struct labels labels = {pairs, 1};

/* The alert after a step: P, F, I; - when there is none. */
static char shown(const struct alert_states *s)
{
    static const char letters[] = "IPF";
    return s->n == 0 ? '-' : letters[s->at[0].phase];
}

static void step(struct alert_states *s, bool is_there, double value,
                 const struct alert_terms *terms, int64_t ts_ms)
{
    struct alert_row row = {.labels = labels, .value = value};
    struct alert_states next;
    size_t n;
    assert_int_equal(alert_states_step(s, &row, is_there, terms, ts_ms, &next, &n), 0);
    alert_states_done(s);
    *s = next;
}

static void test_states(void **state)
{
    static const struct {
        const char *name;
        int for_min, keep_min;
        const char *rows;   /* 1: in the result, each minute */
        const char *states; /* then */
        const char *told;   /* t: told */
    } table[] = {
        {"without for it fires at once", 0, 0, "111", "FFF", "t.t"},
        {"pending until for is over", 3, 0, "11111", "PPPFF", "...t."},
        {"missing once, for begins anew", 2, 0, "11.111", "PP-PPF", ".....t"},
        {"pending and missing: forgotten, never told", 2, 0, "1...", "P---", "...."},
        {"firing and missing: resolved, told at once", 0, 0, "1..", "FII", "tt."},
        {"resolved is told again, and kept 15 min", 0, 0, "1.................",
         "FIIIIIIIIIIIIIIII-", "tt.t.t.t.t.t.t.t.."},
        {"resolved and back: a new one, pending again", 2, 0, "111.111", "PPFIPPF", "..tt..t"},
        {"kept firing while missing", 0, 3, "1....", "FFFFI", "t.t.t"},
        {"kept firing, back in time", 0, 3, "1..1...", "FFFFFFF", "t.t.t.t"},
        {"back in time: counted from the next miss", 0, 2, "1.1..", "FFFFF", "t.t.t"},
        {"kept firing is over at exactly that time", 0, 2, "1..", "FFF", "t.t"},
        {"kept firing, then resolved", 0, 2, "1...", "FFFI", "t.tt"},
        {"keep_firing_for is nothing to a pending one", 2, 5, "1.", "P-", ".."},
        {"for of less than an interval waits for the next one", 1, 0, "11", "PF", ".t"},
        {"never", 0, 0, "...", "---", "..."},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        const struct alert_terms terms = {.for_ms = table[i].for_min * MINUTE,
                                          .keep_firing_ms = table[i].keep_min * MINUTE,
                                          .interval_ms = MINUTE,
                                          .resend_ms = MINUTE};
        struct alert_states s = {.at = NULL};
        char states[40] = "", told[40] = "";
        size_t n = strlen(table[i].rows);
        for (size_t t = 0; t < n; t++) {
            step(&s, table[i].rows[t] == '1', (double)t, &terms, (int64_t)t * MINUTE);
            states[t] = shown(&s);
            told[t] = s.n > 0 && s.at[0].is_told ? 't' : '.';
        }
        assert_span_equal(table[i].name, span_cstr(states), span_cstr(table[i].states));
        assert_span_equal(table[i].name, span_cstr(told), span_cstr(table[i].told));
        alert_states_done(&s);
    }
}

/* Since when, and until when. */
static void test_moments(void **state)
{
    const struct alert_terms terms = {.for_ms = MINUTE,
                                      .keep_firing_ms = 2 * MINUTE,
                                      .interval_ms = 30 * 1000,
                                      .resend_ms = MINUTE};
    struct alert_states s = {.at = NULL};
    (void)state;
    step(&s, true, 7, &terms, 1000);
    assert_int_equal(s.at[0].active_ms, 1000);
    assert_int_equal(s.at[0].fired_ms, ALERT_NEVER);
    step(&s, true, 8, &terms, 1000 + MINUTE);
    assert_int_equal(s.at[0].active_ms, 1000);
    assert_int_equal(s.at[0].fired_ms, 1000 + MINUTE);
    assert_int_equal(s.at[0].valid_until_ms, 1000 + 5 * MINUTE);
    assert_true(s.at[0].value == 8);
    step(&s, false, 0, &terms, 1000 + 2 * MINUTE);
    assert_int_equal(s.at[0].keep_since_ms, 1000 + 2 * MINUTE);
    assert_true(s.at[0].value == 8); /* the last there was */
    step(&s, true, 9, &terms, 1000 + 3 * MINUTE);
    assert_int_equal(s.at[0].keep_since_ms, ALERT_NEVER);
    step(&s, false, 0, &terms, 1000 + 4 * MINUTE);
    step(&s, false, 0, &terms, 1000 + 6 * MINUTE);
    assert_int_equal(s.at[0].phase, ALERT_INACTIVE);
    assert_int_equal(s.at[0].resolved_ms, 1000 + 6 * MINUTE);
    alert_states_shift(&s, -1000);
    assert_int_equal(s.at[0].active_ms, 0);
    assert_int_equal(s.at[0].resolved_ms, 6 * MINUTE);
    alert_states_done(&s);
}

/* The interval is longer than the resend delay. */
static void test_long_interval(void **state)
{
    const struct alert_terms terms = {.interval_ms = 5 * MINUTE, .resend_ms = MINUTE};
    struct alert_states s = {.at = NULL};
    (void)state;
    step(&s, true, 1, &terms, 0);
    assert_int_equal(s.at[0].valid_until_ms, 20 * MINUTE);
    step(&s, true, 1, &terms, 5 * MINUTE);
    assert_true(s.at[0].is_told);
    alert_states_done(&s);
}

/* A rule whose `for` became longer. */
static void test_longer_for(void **state)
{
    struct alert_terms terms = {.interval_ms = MINUTE, .resend_ms = MINUTE};
    struct alert_states s = {.at = NULL};
    (void)state;
    step(&s, true, 1, &terms, 0);
    assert_int_equal(s.at[0].phase, ALERT_FIRING);
    terms.for_ms = 3 * MINUTE;
    step(&s, true, 1, &terms, MINUTE);
    assert_int_equal(s.at[0].phase, ALERT_PENDING);
    assert_int_equal(s.at[0].fired_ms, ALERT_NEVER);
    assert_false(s.at[0].is_told);
    step(&s, true, 1, &terms, 3 * MINUTE);
    assert_int_equal(s.at[0].phase, ALERT_FIRING);
    assert_true(s.at[0].is_told);
    alert_states_done(&s);
}

static struct label many[5][2];

static void make_rows(struct alert_row *rows, const char *names)
{
    static const char letters[] = "abcde";
    for (size_t i = 0; names[i]; i++) {
        size_t k = (size_t)(names[i] - 'a');
        many[k][0] = (struct label){SPAN("alertname"), SPAN("x")};
        many[k][1] = (struct label){SPAN("i"), span_of(&letters[k], 1)};
        rows[i] = (struct alert_row){.labels = {many[k], 2}, .value = (double)k};
    }
}

static void test_many(void **state)
{
    const struct alert_terms terms = {.for_ms = MINUTE, .interval_ms = MINUTE, .limit = 3};
    struct alert_row rows[5];
    struct alert_states s = {.at = NULL}, next;
    size_t n;
    (void)state;
    make_rows(rows, "db");
    assert_int_equal(alert_rows_sort(rows, 2), 0);
    assert_int_equal(alert_states_step(&s, rows, 2, &terms, 0, &next, &n), 0);
    assert_int_equal(n, 2);
    alert_states_done(&s);
    s = next;
    assert_span_equal("first", s.at[0].labels->labels.at[1].value, SPAN("b"));

    make_rows(rows, "cba");
    assert_int_equal(alert_rows_sort(rows, 3), 0);
    assert_int_equal(alert_states_step(&s, rows, 3, &terms, MINUTE, &next, &n), 0);
    alert_states_done(&s);
    s = next;
    assert_int_equal(s.n, 3); /* d is forgotten */
    assert_int_equal(alert_states_count(&s, ALERT_FIRING), 1);
    assert_int_equal(alert_states_count(&s, ALERT_PENDING), 2);
    assert_non_null(alert_states_find(&s, rows[2].labels));

    make_rows(rows, "abcd"); /* one too many */
    assert_int_equal(alert_states_step(&s, rows, 4, &terms, 2 * MINUTE, &next, &n), -E2BIG);
    assert_int_equal(n, 4);
    assert_int_equal(s.n, 3);
    make_rows(rows, "aba");
    assert_int_equal(alert_rows_sort(rows, 3), -EEXIST);
    alert_states_done(&s);
}

static int attempt(void *ctx)
{
    const struct alert_terms terms = {.interval_ms = MINUTE};
    struct label pair = {SPAN("summary"), SPAN("other")};
    struct alert_row row = {.labels = labels};
    struct alert_states s, next;
    size_t n;
    (void)ctx;
    int r = alert_states_step(&(struct alert_states){.at = NULL}, &row, 1, &terms, 0, &s, &n);
    if (r < 0)
        return r;
    row.annotations = (struct labels){&pair, 1}; /* renewed */
    r = alert_states_step(&s, &row, 1, &terms, MINUTE, &next, &n);
    if (r == 0)
        alert_states_done(&next);
    else
        assert_int_equal(s.at[0].annotations->labels.n, 0);
    alert_states_done(&s);
    return r;
}

static void test_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states),        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_long_interval), cmocka_unit_test(test_longer_for),
        cmocka_unit_test(test_many),          cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
