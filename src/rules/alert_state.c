/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/alert_state.c - see alert_state.h. A step merges two sorted lists: the alerts there are,
 * and the rows of the result.
 */
#include "rules/alert_state.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"

static int compare_rows(const void *a, const void *b)
{
    return labels_cmp(((const struct alert_row *)a)->labels, ((const struct alert_row *)b)->labels);
}

int alert_rows_sort(struct alert_row *rows, size_t n)
{
    if (n > 1)
        qsort(rows, n, sizeof(*rows), compare_rows);
    for (size_t i = 1; i < n; i++)
        if (labels_eq(rows[i - 1].labels, rows[i].labels))
            return -EEXIST;
    return 0;
}

/* --- one alert --- */

static int begin(const struct alert_row *row, int64_t ts_ms, struct alert_state *ret)
{
    *ret = (struct alert_state){.phase = ALERT_PENDING,
                                .value = row->value,
                                .active_ms = ts_ms,
                                .fired_ms = ALERT_NEVER,
                                .resolved_ms = ALERT_NEVER,
                                .keep_since_ms = ALERT_NEVER,
                                .told_ms = ALERT_NEVER,
                                .valid_until_ms = ALERT_NEVER};
    int r = pairs_new(row->labels, &ret->labels);
    if (r < 0)
        return r;
    r = pairs_new(row->annotations, &ret->annotations);
    if (r < 0)
        ret->labels = pairs_unref(ret->labels);
    return r;
}

/* The alert of the generation before, still in the result. */
static int go_on(const struct alert_state *old, const struct alert_row *row,
                 struct alert_state *ret)
{
    struct pairs *annotations;
    int r = 0;
    if (labels_eq(old->annotations->labels, row->annotations))
        annotations = pairs_ref(old->annotations);
    else
        r = pairs_new(row->annotations, &annotations);
    if (r < 0)
        return r;
    *ret = *old;
    ret->labels = pairs_ref(old->labels);
    ret->annotations = annotations;
    ret->value = row->value;
    ret->keep_since_ms = ALERT_NEVER;
    return 0;
}

/* The alert is missing from the result; false: it is forgotten. */
static bool miss(struct alert_state *a, const struct alert_terms *terms, int64_t ts_ms)
{
    if (a->phase == ALERT_PENDING)
        return false;
    if (a->phase == ALERT_INACTIVE)
        return ts_ms - a->resolved_ms <= ALERT_KEPT_MS;
    if (terms->keep_firing_ms > 0) {
        if (a->keep_since_ms == ALERT_NEVER)
            a->keep_since_ms = ts_ms;
        if (ts_ms - a->keep_since_ms < terms->keep_firing_ms)
            return true;
    }
    a->phase = ALERT_INACTIVE;
    a->resolved_ms = ts_ms;
    return true;
}

static void ripen(struct alert_state *a, const struct alert_terms *terms, int64_t ts_ms)
{
    bool is_ripe = ts_ms - a->active_ms >= terms->for_ms;
    if (a->phase == ALERT_PENDING && is_ripe) {
        a->phase = ALERT_FIRING;
        a->fired_ms = ts_ms;
    } else if (a->phase == ALERT_FIRING && !is_ripe) {
        a->phase = ALERT_PENDING;
        a->fired_ms = a->told_ms = a->keep_since_ms = ALERT_NEVER;
    }
}

static void tell(struct alert_state *a, const struct alert_terms *terms, int64_t ts_ms)
{
    int64_t longer_ms =
        terms->interval_ms > terms->resend_ms ? terms->interval_ms : terms->resend_ms;
    a->is_told =
        a->phase != ALERT_PENDING && (a->told_ms == ALERT_NEVER || a->resolved_ms > a->told_ms ||
                                      a->told_ms + terms->resend_ms < ts_ms);
    if (!a->is_told)
        return;
    a->told_ms = ts_ms;
    a->valid_until_ms = ts_ms + 4 * longer_ms;
}

/* --- all of them --- */

static int step_row(const struct alert_state *old, const struct alert_row *row, int64_t ts_ms,
                    struct alert_states *to)
{
    bool is_known = old && old->phase != ALERT_INACTIVE;
    int r = is_known ? go_on(old, row, &to->at[to->n]) : begin(row, ts_ms, &to->at[to->n]);
    if (r == 0)
        to->n++;
    return r;
}

static void step_missing(const struct alert_state *old, const struct alert_terms *terms,
                         int64_t ts_ms, struct alert_states *to)
{
    struct alert_state a = *old;
    if (!miss(&a, terms, ts_ms))
        return;
    pairs_ref(a.labels);
    pairs_ref(a.annotations);
    to->at[to->n++] = a;
}

static int merge(const struct alert_states *old, const struct alert_row *rows, size_t n,
                 const struct alert_terms *terms, int64_t ts_ms, struct alert_states *to)
{
    size_t i = 0, j = 0;
    int r = 0;
    while (r == 0 && (i < old->n || j < n)) {
        int order = i == old->n ? 1
                    : j == n    ? -1
                                : labels_cmp(old->at[i].labels->labels, rows[j].labels);
        if (order < 0)
            step_missing(&old->at[i], terms, ts_ms, to);
        else
            r = step_row(order == 0 ? &old->at[i] : NULL, &rows[j], ts_ms, to);
        i += order <= 0;
        j += order >= 0;
    }
    return r;
}

/* For the alerts there are, and n_new others. */
static int make_room(const struct alert_states *old, size_t n_new, struct alert_states *ret)
{
    *ret = (struct alert_states){.at = NULL};
    if (old->n == 0 && n_new == 0)
        return 0;
    ret->at = mem_zalloc(old->n + n_new, sizeof(*ret->at));
    return ret->at ? 0 : -ENOMEM;
}

int alert_states_step(const struct alert_states *old, const struct alert_row *rows, size_t n,
                      const struct alert_terms *terms, int64_t ts_ms, struct alert_states *ret,
                      size_t *ret_n_active)
{
    struct alert_states next;
    size_t n_active = 0;
    int r = make_room(old, n, &next);
    if (r == 0)
        r = merge(old, rows, n, terms, ts_ms, &next);
    for (size_t i = 0; i < next.n; i++) {
        struct alert_state *a = &next.at[i];
        if (a->phase != ALERT_INACTIVE) {
            n_active++;
            ripen(a, terms, ts_ms);
        }
        tell(a, terms, ts_ms);
    }
    *ret_n_active = n_active;
    if (r == 0 && terms->limit > 0 && n_active > terms->limit)
        r = -E2BIG;
    if (r < 0)
        alert_states_done(&next);
    else
        *ret = next;
    return r;
}

int alert_states_copy(const struct alert_states *from, struct alert_states *ret)
{
    int r = make_room(from, 0, ret);
    if (r < 0)
        return r;
    for (size_t i = 0; i < from->n; i++) {
        ret->at[i] = from->at[i];
        pairs_ref(ret->at[i].labels);
        pairs_ref(ret->at[i].annotations);
    }
    ret->n = from->n;
    return 0;
}

void alert_states_done(struct alert_states *s)
{
    for (size_t i = 0; i < s->n; i++) {
        (void)pairs_unref(s->at[i].labels);
        (void)pairs_unref(s->at[i].annotations);
    }
    mem_free(s->at);
    *s = (struct alert_states){.at = NULL};
}

static int compare_to_labels(const void *key, const void *alert)
{
    return labels_cmp(*(const struct labels *)key,
                      ((const struct alert_state *)alert)->labels->labels);
}

struct alert_state *alert_states_find(const struct alert_states *s, struct labels l)
{
    return s->n == 0 ? NULL : bsearch(&l, s->at, s->n, sizeof(*s->at), compare_to_labels);
}

static void shift(int64_t *t_ms, int64_t by_ms)
{
    if (*t_ms != ALERT_NEVER)
        *t_ms += by_ms;
}

void alert_states_shift(struct alert_states *s, int64_t by_ms)
{
    for (size_t i = 0; i < s->n; i++) {
        struct alert_state *a = &s->at[i];
        shift(&a->active_ms, by_ms);
        shift(&a->fired_ms, by_ms);
        shift(&a->resolved_ms, by_ms);
        shift(&a->keep_since_ms, by_ms);
        shift(&a->told_ms, by_ms);
    }
}

size_t alert_states_count(const struct alert_states *s, enum alert_phase phase)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        n += s->at[i].phase == phase;
    return n;
}

const char *alert_phase_name(enum alert_phase phase)
{
    static const char *const names[] = {"inactive", "pending", "firing"};
    return names[phase];
}
