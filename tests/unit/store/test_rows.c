/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows against a plain array: whatever is asked, in whatever state the days are, the answer is that
 * of a loop over all rows.
 */
#include "harness.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "sample.h"
#include "store/day.h"
#include "store/rows.h"
#include "tally.h"
#include "tempdir.h"

enum { N_ROWS = 14000, N_QUESTIONS = 60 };

static const int64_t first_day = 20787; /* 2026-11-30 */

struct model {
    struct tempdir dir;
    struct sample *rows;
    size_t n, n_committed;
    struct rows *writer;
    struct rows_reader *reader;
    struct rng g;
};

static void open_writer(struct model *m)
{
    assert_int_equal(rows_open(m->dir.path, NULL, &m->writer, NULL), 0);
}

static void setup(struct model *m, size_t cap, uint64_t seed)
{
    *m = (struct model){0};
    rng_seed(&m->g, seed);
    tempdir_make(&m->dir);
    m->rows = mem_must(mem_zalloc(cap, sizeof(*m->rows)));
    open_writer(m);
    assert_int_equal(rows_reader_open(m->dir.path, &m->reader, NULL), 0);
}

static void teardown(struct model *m)
{
    rows_close(m->writer);
    rows_reader_close(m->reader);
    mem_free(m->rows);
    tempdir_remove(&m->dir);
    assert_int_equal(mem_live_blocks(), 0);
}

/* Ends go on, with some that come late; n_days in all. */
static int64_t next_end(struct model *m, size_t n_all, int64_t n_days)
{
    int64_t at =
        first_day * DAY_US + (int64_t)((double)m->n / (double)n_all * (double)(n_days * DAY_US));
    int64_t end = at - (int64_t)rng_below(&m->g, 20 * US_PER_S);
    return end - end % 1000; /* many are the same */
}

static void append(struct model *m, size_t n, size_t n_all, int64_t n_days)
{
    for (size_t i = 0; i < n && m->n < n_all; i++) {
        struct sample *s = &m->rows[m->n];
        sample_fill(s, &m->g, next_end(m, n_all, n_days));
        m->n++;
        assert_int_equal(rows_append(m->writer, &s->r), 0);
    }
}

static void commit(struct model *m)
{
    assert_int_equal(rows_commit(m->writer), 0);
    assert_int_equal(rows_n_pending(m->writer), 0);
    m->n_committed = m->n;
}

static void maintain(struct model *m, int64_t now_us)
{
    int more;
    while ((more = rows_maintain(m->writer, (wall_t){now_us})) == 1)
        ;
    assert_int_equal(more, 0);
}

/* --- what the loop over all rows says --- */

static int64_t end_of(const struct record *r)
{
    return fields_end_us(r->started_at.us, r->total_ns);
}

static bool has_label(const struct record *r, const char *text)
{
    return r->labels.n > 0 && strcmp(r->labels.p + 5, text + 5) == 0; /* "team=t1" */
}

/* Conditions that the test knows how to check by itself. */
static const struct {
    const char *field;
    enum rows_test test;
    const char *text;
    double number;
} known_conditions[] = {
    {"outcome", ROWS_EQ, "http_error", 0}, {"outcome", ROWS_NE, "ok", 0},
    {"tenant", ROWS_EQ, "other-3", 0},     {"tenant", ROWS_NE, "other-3", 0},
    {"ttft_ms", ROWS_GT, "", 700000},      {"ttft_ms", ROWS_LE, "", 200000},
    {"ttft_ms", ROWS_KNOWN, "", 0},        {"ttft_ms", ROWS_UNKNOWN, "", 0},
    {"labels", ROWS_EQ, "team=t1", 0},     {"labels", ROWS_NE, "team=t1", 0},
    {"flags", ROWS_EQ, "stalled", 0},      {"flags", ROWS_NE, "stalled", 0},
    {"request_id", ROWS_GT, "8", 0},       {"endpoint", ROWS_UNKNOWN, "", 0},
};

static bool holds(size_t i, const struct record *r)
{
    bool is_other_3 = strcmp(r->tenant, "other-3") == 0;
    bool is_stalled = (r->flags & RECORD_STALLED) != 0;
    const bool answers[] = {
        r->outcome == OUTCOME_HTTP_ERROR,
        r->outcome != OUTCOME_OK,
        is_other_3,
        !is_other_3,
        r->ttft_ns > 700000,
        r->ttft_ns >= 0 && r->ttft_ns <= 200000,
        r->ttft_ns >= 0,
        r->ttft_ns<0, has_label(r, "team=t1"), !has_label(r, "team=t1"), is_stalled, !is_stalled,
                   strcmp(r->request_id, "8")> 0,
        r->endpoint[0] == '\0',
    };
    assert_int_equal(ARRAY_LEN(answers), ARRAY_LEN(known_conditions));
    return answers[i];
}

struct wanted {
    double score;
    size_t row; /* of the model */
    int64_t day;
};

static bool is_wanted_descending;

static int compare_wanted(const void *x, const void *y)
{
    const struct wanted *a = x;
    const struct wanted *b = y;
    int order = a->score < b->score ? -1 : a->score > b->score;
    if (order == 0)
        order = a->day < b->day ? -1 : a->day > b->day;
    if (order == 0)
        order = a->row < b->row ? -1 : a->row > b->row;
    return is_wanted_descending ? -order : order;
}

struct answer {
    struct model *m;
    const struct wanted *wanted;
    size_t n_wanted, n_seen;
    uint64_t last_key;
};

static int check_row(void *ctx, uint64_t key, const struct record *r)
{
    struct answer *a = ctx;
    assert_true(a->n_seen < a->n_wanted);
    const struct record *want = &a->m->rows[a->wanted[a->n_seen].row].r;
    assert_string_equal(r->request_id, want->request_id);
    const char *difference = sample_difference(r, want);
    if (difference)
        fail_msg("row %zu differs in %s", a->wanted[a->n_seen].row, difference);
    assert_int_equal(key >> 40, day_of(end_of(want)));
    a->n_seen++;
    a->last_key = key;
    return 0;
}

static size_t list_wanted(struct model *m, const struct rows_question *q, const size_t *conditions,
                          struct wanted *out)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n_committed; i++) {
        const struct record *r = &m->rows[i].r;
        int64_t end_us = end_of(r);
        bool is_kept = end_us >= q->from.us && end_us < q->to.us;
        for (size_t k = 0; k < q->n_conditions; k++)
            is_kept = is_kept && holds(conditions[k], r);
        double score = (double)end_us;
        if (q->order) {
            score = fields_value(q->order->type, fields_number(q->order, r));
            is_kept = is_kept && !isnan(score);
        }
        if (is_kept)
            out[n++] = (struct wanted){score, i, day_of(end_us)};
    }
    is_wanted_descending = q->is_descending;
    qsort(out, n, sizeof(*out), compare_wanted);
    return n;
}

/* Asks, and pages on, most often to the end. */
static void check_question(struct model *m, struct rows_question *q, const size_t *conditions)
{
    struct wanted *wanted = mem_must(mem_alloc((m->n + 1) * sizeof(*wanted)));
    size_t n = list_wanted(m, q, conditions, wanted);
    size_t done = 0;
    do {
        size_t n_left = n - done < q->limit ? n - done : q->limit;
        struct answer a = {.m = m, .wanted = wanted + done, .n_wanted = n_left};
        assert_int_equal(rows_ask(m->reader, q, check_row, &a), 0);
        assert_int_equal(a.n_seen, n_left);
        done += n_left;
        q->after = a.last_key;
        q->after_number = done > 0 ? wanted[done - 1].score : 0;
    } while (done < n && done < 5 * q->limit);
    mem_free(wanted);
}

static void ask_something(struct model *m)
{
    static const char *const orders[] = {"ttft_ms",          "e2e_ms",     "completion_tokens",
                                         "tokens_per_event", "started_at", "request_bytes"};
    struct rows_condition conditions[3];
    size_t chosen[3];
    struct rows_question q = {
        .from = {first_day * DAY_US - DAY_US},
        .to = {first_day * DAY_US + 30 * DAY_US},
        .conditions = conditions,
        .n_conditions = rng_below(&m->g, 4),
        .is_descending = rng_below(&m->g, 2) == 0,
        .limit = rng_below(&m->g, 3) == 0 ? 1 + rng_below(&m->g, 3000) : 1 + rng_below(&m->g, 150),
    };
    for (size_t i = 0; i < q.n_conditions; i++) {
        chosen[i] = rng_below(&m->g, ARRAY_LEN(known_conditions));
        conditions[i] =
            (struct rows_condition){.field = sample_field(known_conditions[chosen[i]].field),
                                    .test = known_conditions[chosen[i]].test,
                                    .text = span_cstr(known_conditions[chosen[i]].text),
                                    .number = known_conditions[chosen[i]].number};
    }
    if (rng_below(&m->g, 2) == 0)
        q.order = sample_field(orders[rng_below(&m->g, ARRAY_LEN(orders))]);
    if (rng_below(&m->g, 2) == 0) {
        q.from.us = first_day * DAY_US + (int64_t)rng_below(&m->g, 2 * DAY_US);
        q.to.us = q.from.us + (int64_t)rng_below(&m->g, DAY_US);
    }
    check_question(m, &q, chosen);
}

static int check_found(void *ctx, uint64_t key, const struct record *r)
{
    (void)key;
    const char *difference = sample_difference(r, ctx);
    if (difference)
        fail_msg("the row found differs in %s", difference);
    return 7;
}

static void look_up(struct model *m)
{
    struct record *r = &m->rows[rng_below(&m->g, m->n_committed)].r;
    assert_int_equal(rows_find(m->reader, span_cstr(r->request_id), check_found, r), 7);
    assert_int_equal(rows_find(m->reader, SPAN("0123456789abcdef0123456789abcdef"), check_found, r),
                     -ENOENT);
}

struct sums {
    double n, sum, n_known;
};

static int add_up(void *ctx, size_t n_rows, const double *const *columns)
{
    struct sums *s = ctx;
    s->n += (double)n_rows;
    for (size_t i = 0; i < n_rows; i++) {
        s->n_known += !isnan(columns[1][i]);
        s->sum += isnan(columns[1][i]) ? 0 : columns[1][i];
    }
    return 0;
}

static void scan(struct model *m)
{
    const struct record_field *fields[] = {sample_field("status"), sample_field("ttft_ms")};
    struct sums want = {0};
    struct sums got = {0};
    wall_t from = {first_day * DAY_US + (int64_t)rng_below(&m->g, DAY_US)};
    wall_t to = {from.us + (int64_t)rng_below(&m->g, 2 * DAY_US)};
    for (size_t i = 0; i < m->n_committed; i++) {
        const struct record *r = &m->rows[i].r;
        if (end_of(r) < from.us || end_of(r) >= to.us)
            continue;
        want.n++;
        want.n_known += r->ttft_ns >= 0;
        want.sum += r->ttft_ns >= 0 ? (double)r->ttft_ns : 0;
    }
    assert_int_equal(rows_scan(m->reader, from, to, fields, 2, add_up, &got), 0);
    assert_true(got.n == want.n && got.n_known == want.n_known && got.sum == want.sum);
}

static void answers_are_those_of_a_loop_over_all_rows(void **state)
{
    (void)state;
    struct model m;
    setup(&m, N_ROWS, 1);
    for (size_t i = 0; m.n < N_ROWS; i++) {
        append(&m, 1 + rng_below(&m.g, i % 7 == 0 ? 2000 : 40), N_ROWS, 2);
        if (rng_below(&m.g, 3) > 0)
            commit(&m);
        if (m.n_committed > 0 && rng_below(&m.g, 12) == 0)
            maintain(&m, end_of(&m.rows[m.n_committed - 1].r));
        if (m.n_committed > 0 && rng_below(&m.g, 20) == 0)
            ask_something(&m);
        if (rng_below(&m.g, 40) == 0) {
            commit(&m);
            rows_close(m.writer);
            open_writer(&m);
        }
    }
    commit(&m);
    maintain(&m, first_day * DAY_US + 2 * DAY_US);
    for (size_t i = 0; i < N_QUESTIONS; i++) {
        ask_something(&m);
        look_up(&m);
        scan(&m);
    }
    teardown(&m);
}

/* What is asked while rows are pending and after they were made segments is the same. */
static void a_question_that_cannot_be_is_refused(void **state)
{
    (void)state;
    struct model m;
    struct rows_condition text_order = {sample_field("flags"), ROWS_LT, SPAN("slow"), 0};
    const struct rows_question questions[] = {
        {.to = {1}, .limit = 0},
        {.to = {1}, .limit = ROWS_LIMIT_MAX + 1},
        {.to = {1}, .limit = 1, .order = sample_field("model")},
        {.to = {1}, .limit = 1, .conditions = &text_order, .n_conditions = 1},
    };
    setup(&m, 1, 2);
    for (size_t i = 0; i < ARRAY_LEN(questions); i++)
        assert_int_equal(rows_ask(m.reader, &questions[i], check_row, NULL), -EINVAL);
    teardown(&m);
}

static int stop_at_three(void *ctx, uint64_t key, const struct record *r)
{
    (void)key;
    (void)r;
    int *n = ctx;
    return ++*n == 3 ? 42 : 0;
}

static void a_visit_ends_the_answer(void **state)
{
    (void)state;
    struct model m;
    int n = 0;
    setup(&m, 100, 3);
    append(&m, 100, 100, 1);
    commit(&m);
    struct rows_question q = {.to = {INT64_MAX}, .limit = 50};
    assert_int_equal(rows_ask(m.reader, &q, stop_at_three, &n), 42);
    assert_int_equal(n, 3);
    teardown(&m);
}

static int cancel(void *ctx, uint64_t key, const struct record *r)
{
    (void)key;
    (void)r;
    struct model *m = ctx;
    rows_reader_cancel(m->reader);
    return 0;
}

/* Canceled inside the first visit: no later batch of records is read. */
static void a_canceled_question_ends(void **state)
{
    (void)state;
    struct model m;
    setup(&m, 1000, 4);
    append(&m, 1000, 1000, 1);
    commit(&m);
    struct rows_question q = {.to = {INT64_MAX}, .limit = 1000};
    assert_int_equal(rows_ask(m.reader, &q, cancel, &m), -ECANCELED);
    assert_int_equal(rows_ask(m.reader, &q, cancel, &m), -ECANCELED); /* and those behind it */
    rows_reader_resume(m.reader);
    q.limit = 1;
    assert_int_equal(rows_ask(m.reader, &q, cancel, &m), 0);
    /* That one was canceled as it was over: it is not forgotten. */
    assert_int_equal(rows_ask(m.reader, &q, cancel, &m), -ECANCELED);
    teardown(&m);
}

/* Opens, appends, commits, makes a segment, asks: with the n-th allocation failing. */
static int attempt_all(void *ctx)
{
    struct model *m = ctx;
    struct rows *writer = NULL;
    struct rows_reader *reader = NULL;
    struct err err;
    size_t n = 0;
    struct rows_question q = {.to = {INT64_MAX}, .limit = 20, .order = sample_field("ttft_ms")};
    int r = rows_open(m->dir.path, NULL, &writer, &err);
    for (size_t i = 0; i < 40 && r == 0; i++)
        r = rows_append(writer, &m->rows[i].r);
    if (r == 0)
        r = rows_commit(writer);
    while (r == 0 && (r = rows_maintain(writer, (wall_t){(first_day + 3) * DAY_US})) == 1)
        r = 0;
    if (r == 0)
        r = rows_reader_open(m->dir.path, &reader, &err);
    if (r == 0)
        r = rows_ask(reader, &q, tally_row, &n);
    if (r == 0)
        r = rows_find(reader, span_cstr(m->rows[0].r.request_id), tally_row, &n);
    rows_close(writer);
    rows_reader_close(reader);
    return r;
}

/* SQLite allocates a thousand times, so not each of them: all of the first, fewer later on. */
static void without_memory_it_fails_and_nothing_leaks(void **state)
{
    (void)state;
    struct model m;
    int r = -ENOMEM;
    int n_failed = 0;
    setup(&m, 40, 5);
    append(&m, 40, 40, 1);
    int64_t n_blocks = mem_live_blocks();
    for (uint64_t n = 1; r != 0; n += 1 + n / 16) {
        mem_fail_from(n);
        r = attempt_all(&m);
        mem_fail_off();
        n_failed += r != 0;
        assert_int_equal(mem_live_blocks(), n_blocks);
        assert_true(r == 0 || r == -ENOMEM || r == -EIO || r == -EBUSY);
    }
    assert_true(n_failed > 40);
    teardown(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_a_loop_over_all_rows),
        cmocka_unit_test(a_question_that_cannot_be_is_refused),
        cmocka_unit_test(a_visit_ends_the_answer),
        cmocka_unit_test(a_canceled_question_ends),
        cmocka_unit_test(without_memory_it_fails_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
