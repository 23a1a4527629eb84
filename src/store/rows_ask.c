/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/rows_ask.c - questions: the best rows by time or by a number.
 *
 * The chunks of a day are looked at in the order of the best row that each may have, by its zones;
 * once there are enough rows, and the next chunk can have none that is better than the worst of
 * them, the day is done. Of by far the most chunks only that is ever read. Whole records are made
 * at the end, for the rows that are left, some at a time.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "store/condition.h"
#include "store/rows_reader.h"

enum { RECORDS_AT_ONCE = 128, CONDITIONS_MAX = 32 };

struct hit {
    double score; /* the higher the better */
    int64_t day, row;
};

struct ask {
    struct rows_reader *r;
    const struct rows_question *q;
    int64_t from_us, to_us;
    struct condition conditions[CONDITIONS_MAX];
    size_t order;     /* index in record_fields; only with q->order */
    struct hit *hits; /* a heap, the worst one in front */
    size_t n_hits;
    struct hit after; /* rows have to be worse; row 0: none */
};

/* --- hits --- */

static bool is_better(const struct ask *a, const struct hit *x, const struct hit *y)
{
    if (x->score > y->score || x->score < y->score)
        return x->score > y->score;
    bool is_later = x->day != y->day ? x->day > y->day : x->row > y->row;
    bool is_same = x->day == y->day && x->row == y->row;
    return !is_same && is_later == a->q->is_descending;
}

static bool is_full(const struct ask *a)
{
    return a->n_hits == a->q->limit;
}

static void swap(struct hit *x, struct hit *y)
{
    struct hit h = *x;
    *x = *y;
    *y = h;
}

static void sink(struct ask *a, size_t i)
{
    for (;;) {
        size_t worst = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < a->n_hits; child++) {
            if (is_better(a, &a->hits[worst], &a->hits[child]))
                worst = child;
        }
        if (worst == i)
            return;
        swap(&a->hits[i], &a->hits[worst]);
        i = worst;
    }
}

static void add(struct ask *a, const struct hit *h)
{
    if (a->after.row > 0 && !is_better(a, &a->after, h))
        return;
    if (is_full(a)) {
        if (!is_better(a, h, &a->hits[0]))
            return;
        a->hits[0] = *h;
        sink(a, 0);
        return;
    }
    size_t i = a->n_hits++;
    a->hits[i] = *h;
    for (; i > 0 && is_better(a, &a->hits[(i - 1) / 2], &a->hits[i]); i = (i - 1) / 2)
        swap(&a->hits[i], &a->hits[(i - 1) / 2]);
}

/* The best one first. */
static void sort_hits(struct ask *a)
{
    size_t n = a->n_hits;
    while (a->n_hits > 1) {
        swap(&a->hits[0], &a->hits[--a->n_hits]);
        sink(a, 0);
    }
    a->n_hits = n;
}

/* --- chunks --- */

static double score_of(const struct ask *a, double v)
{
    return a->q->is_descending ? v : -v;
}

static double best_by_time(const struct ask *a, const struct chunk *c)
{
    return score_of(a, (double)(a->q->is_descending ? c->to_us : c->from_us));
}

static bool keep_chunk(void *ctx, const struct chunk_source *s, struct chunk *c, struct span zones)
{
    struct ask *a = ctx;
    struct column_zone z;
    c->best = (double)INFINITY;
    for (size_t i = 0; i < a->q->n_conditions; i++) {
        if (!condition_may_hold(&a->conditions[i], s, zones))
            return false;
    }
    if (!a->q->order)
        c->best = best_by_time(a, c);
    else if (s->fields[a->order] != 0 && segment_zone(zones, s->fields[a->order], &z)) {
        if (z.min > z.max)
            return false;
        c->best = score_of(a, a->q->is_descending ? z.max : z.min);
    }
    return true;
}

static int compare_chunks(const void *x, const void *y)
{
    const struct chunk *a = x;
    const struct chunk *b = y;
    if (a->best > b->best || a->best < b->best)
        return a->best > b->best ? -1 : 1;
    return (a->first_row > b->first_row) - (a->first_row < b->first_row);
}

/* Rows of the chunk that are wanted, but for the order. *ret_ends: where they were read, else NULL.
 */
static int select_rows(struct ask *a, const struct chunk *c, bool are_ends_needed,
                       const int64_t **ret_ends)
{
    struct rows_reader *r = a->r;
    bool is_within = c->from_us >= a->from_us && c->to_us < a->to_us;
    int error = 0;
    memset(r->keep, 1, c->n_rows);
    *ret_ends = NULL;
    for (size_t i = 0; i < a->q->n_conditions && error == 0; i++)
        error = condition_apply(&a->conditions[i], r->source, c, r->numbers, r->keep);
    if (error == 0 && (are_ends_needed || !is_within))
        error = chunk_ends(r->source, c, ret_ends);
    for (size_t i = 0; error == 0 && !is_within && i < c->n_rows; i++)
        r->keep[i] &= (*ret_ends)[i] >= a->from_us && (*ret_ends)[i] < a->to_us;
    return error;
}

static int ask_chunk(struct ask *a, const struct chunk *c)
{
    struct rows_reader *r = a->r;
    const int64_t *ends;
    bool is_by_end = !a->q->order;
    int error = select_rows(a, c, is_by_end, &ends);
    if (error == 0 && !is_by_end) {
        error = chunk_numbers(r->source, c, a->order, r->numbers);
        if (error == 0)
            return 0; /* none has it */
        error = error < 0 ? error : 0;
    }
    for (uint32_t i = 0; i < c->n_rows && error == 0; i++) {
        double v = !r->keep[i] ? (double)NAN
                   : is_by_end ? (double)ends[i]
                               : fields_value(record_fields[a->order].type, r->numbers[i]);
        struct hit h = {score_of(a, v), r->source->day, c->first_row + i};
        if (!isnan(v))
            add(a, &h);
    }
    return error;
}

static int ask_day(struct ask *a)
{
    struct chunk *chunks;
    size_t n;
    int error = chunk_list(a->r->source, a->from_us, a->to_us, keep_chunk, a, &chunks, &n);
    if (error < 0)
        return error;
    if (n > 0)
        qsort(chunks, n, sizeof(*chunks), compare_chunks);
    for (size_t i = 0; i < n && error == 0; i++) {
        if (is_full(a) && chunks[i].best < a->hits[0].score)
            break;
        error = rows_reader_must_stop(a->r) ? -ECANCELED : ask_chunk(a, &chunks[i]);
        if (rows_reader_is_damage(a->r, error))
            error = 0;
    }
    mem_free(chunks);
    return error;
}

/* --- paging --- */

/* The row of that key ends the page before. Where it is gone, all of its day are. */
static int find_after(struct ask *a, uint64_t key)
{
    const int64_t *ends = NULL;
    struct chunk c;
    int64_t day = (int64_t)(key >> 40);
    int64_t row = (int64_t)(key & ((UINT64_C(1) << 40) - 1));
    int64_t edge_us = a->q->is_descending ? day * DAY_US : (day + 1) * DAY_US - 1;
    a->after =
        (struct hit){score_of(a, a->q->order ? a->q->after_number : (double)edge_us), day, row};
    if (a->q->order)
        return 0;
    int result = rows_reader_day(a->r, day);
    if (result == 1)
        result = chunk_of_row(a->r->source, row, &c);
    else if (result == 0)
        result = -ENOENT;
    if (result == 0)
        result = chunk_ends(a->r->source, &c, &ends);
    if (result == 0)
        a->after.score = score_of(a, (double)ends[row - c.first_row]);
    return result == -ENOENT || rows_reader_is_damage(a->r, result) ? 0 : result;
}

/* Days and chunks on the other side of it need no look. */
static void narrow(struct ask *a)
{
    int64_t us = (int64_t)(a->q->is_descending ? a->after.score : -a->after.score);
    if (a->q->is_descending)
        a->to_us = us + 1 < a->to_us ? us + 1 : a->to_us;
    else
        a->from_us = us > a->from_us ? us : a->from_us;
}

/* --- records --- */

/* Rows of one visit, by where they are. */
struct place {
    int64_t day, row;
    struct record *record;
    bool *is_there;
};

static int compare_places(const void *x, const void *y)
{
    const struct place *a = x;
    const struct place *b = y;
    if (a->day != b->day)
        return a->day < b->day ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* Fills the first of the places and those that are in the same chunk; returns how many these are.
 */
static int fill_chunk(struct ask *a, const struct place *places, size_t n)
{
    struct chunk c;
    uint32_t at[RECORDS_AT_ONCE];
    struct record *records[RECORDS_AT_ONCE];
    size_t k = 0;
    int result = rows_reader_day(a->r, places[0].day);
    if (result <= 0)
        return result < 0 ? result : 1;
    result = chunk_of_row(a->r->source, places[0].row, &c);
    if (result == -ENOENT)
        return 1;
    if (result < 0)
        return result;
    for (; k < n && places[k].day == places[0].day && places[k].row < c.first_row + c.n_rows; k++) {
        at[k] = (uint32_t)(places[k].row - c.first_row);
        records[k] = places[k].record;
    }
    result = chunk_records(a->r->source, &c, at, k, &a->r->arena, records);
    for (size_t i = 0; i < k && result == 0; i++)
        *places[i].is_there = true;
    return result == 0 || rows_reader_is_damage(a->r, result) ? (int)k : result;
}

static int fill(struct ask *a, const struct hit *hits, size_t n, struct record *records,
                bool *is_there)
{
    struct place places[RECORDS_AT_ONCE] = {0};
    for (size_t i = 0; i < n; i++) {
        is_there[i] = false;
        places[i] = (struct place){hits[i].day, hits[i].row, &records[i], &is_there[i]};
    }
    qsort(places, n, sizeof(places[0]), compare_places);
    for (size_t i = 0; i < n;) {
        int k = rows_reader_must_stop(a->r) ? -ECANCELED : fill_chunk(a, places + i, n - i);
        if (k < 0)
            return k;
        i += (size_t)k;
    }
    return 0;
}

static int visit_hits(struct ask *a,
                      int (*visit)(void *ctx, uint64_t key, const struct record *record), void *ctx)
{
    bool is_there[RECORDS_AT_ONCE];
    int result = 0;
    struct record *records = mem_alloc(RECORDS_AT_ONCE * sizeof(*records));
    if (!records)
        return -ENOMEM;
    for (size_t first = 0; first < a->n_hits && result == 0; first += RECORDS_AT_ONCE) {
        const struct hit *hits = a->hits + first;
        size_t n = a->n_hits - first < RECORDS_AT_ONCE ? a->n_hits - first : RECORDS_AT_ONCE;
        arena_reset(&a->r->arena);
        result = fill(a, hits, n, records, is_there);
        for (size_t i = 0; i < n && result == 0; i++) {
            if (is_there[i])
                result = visit(ctx, rows_reader_key(hits[i].day, hits[i].row), &records[i]);
        }
    }
    mem_free(records);
    return result;
}

/* --- the whole --- */

static int ask_days(struct ask *a)
{
    int64_t *days;
    size_t n;
    int error = rows_reader_days(a->r, a->from_us, a->to_us, &days, &n);
    if (error < 0)
        return error;
    for (size_t i = 0; i < n && error == 0; i++) {
        /* Days follow each other in time: what is behind enough rows is no better. */
        if (!a->q->order && is_full(a))
            break;
        int result = rows_reader_day(a->r, days[a->q->is_descending ? n - 1 - i : i]);
        if (result == 1)
            result = ask_day(a);
        error = result > 0 || rows_reader_is_damage(a->r, result) ? 0 : result;
    }
    mem_free(days);
    return error;
}

static int prepare(struct ask *a)
{
    const struct rows_question *q = a->q;
    int error = 0;
    if (q->limit < 1 || q->limit > ROWS_LIMIT_MAX || q->n_conditions > CONDITIONS_MAX ||
        (q->order && fields_is_text(q->order->type)))
        return -EINVAL;
    for (size_t i = 0; i < q->n_conditions && error == 0; i++)
        error = condition_prepare(&q->conditions[i], &a->conditions[i]);
    if (q->order)
        a->order = (size_t)(q->order - record_fields);
    a->from_us = q->from.us;
    a->to_us = q->to.us;
    return error;
}

int rows_ask(struct rows_reader *r, const struct rows_question *q,
             int (*visit)(void *ctx, uint64_t key, const struct record *record), void *ctx)
{
    struct ask *a = mem_zalloc(1, sizeof(*a));
    if (!a)
        return -ENOMEM;
    a->r = r;
    a->q = q;
    int result = prepare(a);
    if (result == 0 && (a->hits = mem_alloc(q->limit * sizeof(*a->hits))) == NULL)
        result = -ENOMEM;
    if (result == 0 && q->after != 0) {
        result = find_after(a, q->after);
        if (!q->order)
            narrow(a);
    }
    if (result == 0)
        result = ask_days(a);
    if (result == 0) {
        sort_hits(a);
        result = visit_hits(a, visit, ctx);
    }
    mem_free(a->hits);
    mem_free(a);
    return rows_reader_end(r, result);
}
