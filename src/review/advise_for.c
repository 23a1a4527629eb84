/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review/advise_for.c - a `for` that noise would not have outlived.
 *
 * What an alert's expression said is in the times that it was pending or firing without a break: it
 * would have fired with another `for` where they are at least that long. Times that the period cuts
 * are left out, since nobody knows how long they were.
 */
#include <errno.h>

#include "review/review_private.h"

#define MINUTE_MS (INT64_C(60) * 1000)
static const int64_t candidates[] = {MINUTE_MS,      2 * MINUTE_MS,  3 * MINUTE_MS,
                                     5 * MINUTE_MS,  10 * MINUTE_MS, 15 * MINUTE_MS,
                                     20 * MINUTE_MS, 30 * MINUTE_MS};

/* From the first evaluation that found it to the last one. */
static int64_t active_ms(const struct firing *f, const struct rule_row *row)
{
    int64_t keep_ms = row->rule->keep_firing_ms;
    int64_t ms = f->to_ms - f->from_ms - row->step_ms - keep_ms;
    return ms > 0 ? ms : 0;
}

/* for_ms < 0: as it was. */
static struct verdict_count simulate(const struct review *r, size_t row, int64_t for_ms)
{
    struct verdict_count c = {0, 0, 0};
    for (size_t i = 0; i < r->n_series; i++) {
        for (size_t k = 0; k < r->series[i].n && r->series[i].row == row; k++) {
            const struct firing *f = &r->series[i].at[k];
            if (!f->is_cut && f->firing_ms > 0 &&
                (for_ms < 0 || active_ms(f, &r->rows[row]) >= for_ms))
                judgement_add(&c, judgement_of(f));
        }
    }
    return c;
}

/* INT64_MAX: nothing was real. */
static int64_t shortest_real_ms(const struct review *r, size_t row)
{
    int64_t shortest_ms = INT64_MAX;
    for (size_t i = 0; i < r->n_series; i++) {
        for (size_t k = 0; k < r->series[i].n && r->series[i].row == row; k++) {
            const struct firing *f = &r->series[i].at[k];
            int64_t ms = active_ms(f, &r->rows[row]);
            if (!f->is_cut && f->firing_ms > 0 && judgement_of(f) == VERDICT_REAL &&
                ms < shortest_ms)
                shortest_ms = ms;
        }
    }
    return shortest_ms;
}

static int advice_add(struct review *r, struct advice_for a)
{
    struct advice_for *at = arena_grow(&r->arena, r->fors, r->n_fors, 1, &r->cap_fors, sizeof(*at));
    if (!at)
        return -ENOMEM;
    r->fors = at;
    at[r->n_fors++] = a;
    return 0;
}

/* The shortest that leaves the least noise and takes away at least half of it. All that was real
 * has to last twice as long: told when it is over it is of no use. */
static int advise_row(struct review *r, size_t row)
{
    struct advice_for best = {.row = &r->rows[row], .now = simulate(r, row, -1)};
    int64_t longest_ms = shortest_real_ms(r, row) / 2;
    best.then = best.now;
    for (size_t i = 0; i < ARRAY_LEN(candidates) && best.then.n_noise > 0; i++) {
        if (candidates[i] <= r->rows[row].rule->for_ms || candidates[i] > longest_ms)
            continue;
        struct verdict_count c = simulate(r, row, candidates[i]);
        if (c.n_noise < best.then.n_noise) {
            best.then = c;
            best.for_ms = candidates[i];
        }
    }
    bool is_worth_it = best.for_ms > 0 && 2 * best.then.n_noise <= best.now.n_noise;
    return is_worth_it ? advice_add(r, best) : 0;
}

int advise_for(struct review *r)
{
    int error = 0;
    for (size_t i = 0; i < r->n_rows && error == 0; i++)
        if (r->rows[i].rule && r->rows[i].fired.n_noise > 0)
            error = advise_row(r, i);
    return error;
}
