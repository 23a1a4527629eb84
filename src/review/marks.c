/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review/marks.c - which firings somebody marked as noise.
 *
 * An incident's alert and a firing are the same where their labels are and their times overlap; the
 * incident has seen them when they were told, up to a margin.
 */
#include <errno.h>

#include "review/review_private.h"

static void mark(struct alert_series *s, const struct incident_alert *a)
{
    for (size_t i = 0; i < s->n; i++) {
        struct firing *f = &s->at[i];
        if (f->firing_ms > 0 && a->from_ms <= f->to_ms && f->fired_ms <= a->to_ms)
            f->is_marked = true;
    }
}

/* The series are in the order of their labels. */
static struct alert_series *series_find(struct review *r, struct labels l)
{
    size_t low = 0, high = r->n_series;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (labels_cmp(r->series[mid].labels, l) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low < r->n_series && labels_eq(r->series[low].labels, l) ? &r->series[low] : NULL;
}

static int take(void *ctx, const struct incident_alert *a)
{
    struct review *r = ctx;
    r->n_incident_alerts++;
    if (!a->is_noise)
        return 0;
    r->n_marks++;
    struct alert_series *s = series_find(r, a->labels);
    if (s)
        mark(s, a);
    return review_is_over(r);
}

int marks_read(struct review *r, struct err *reterr)
{
    if (!r->q.incidents)
        return 0;
    int error = incidents_each_alert(r->q.incidents, r->q.from_ms, r->q.to_ms, take, r);
    return error < 0 ? review_fail(r, error, reterr) : 0;
}
