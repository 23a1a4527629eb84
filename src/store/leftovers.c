/* SPDX-License-Identifier: Apache-2.0 */
#include "store/leftovers.h"

#include <errno.h>

#include "series/matcher.h"

enum { LOOKBACK_MS = 5 * 60 * 1000 };

struct work {
    struct tsdb *tsdb;
    struct reader *reader;
    int64_t t_ms;
    struct samples samples;
};

static int end_one(struct work *w, const struct series_ref *ref)
{
    struct samples *s = &w->samples;
    uint32_t id = 0;
    samples_clear(s);
    int r =
        w->reader->ops->samples(w->reader, ref->id, w->t_ms - LOOKBACK_MS, w->t_ms, SERIES_LAST, s);
    if (r < 0 || s->n == 0 || series_is_stale(s->v[s->n - 1]))
        return r;
    r = tsdb_series(w->tsdb, ref->labels, TSDB_UNKNOWN, &id);
    return r < 0 ? r : tsdb_append(w->tsdb, id, w->t_ms, series_stale());
}

static int end_all(struct work *w, const struct matcher *job, struct arena *a)
{
    struct series_select what = {job, 1, w->t_ms - LOOKBACK_MS, w->t_ms};
    struct series_ref *refs = NULL;
    size_t n = 0;
    int r = w->reader->ops->select(w->reader, &what, a, &refs, &n);
    for (size_t i = 0; i < n && r == 0; i++)
        r = end_one(w, &refs[i]);
    return r;
}

int leftovers_end(struct tsdb *t, struct span job, int64_t t_ms)
{
    struct work w = {.tsdb = t, .t_ms = t_ms};
    struct arena a;
    struct matcher m;
    arena_init(&a, NULL);
    samples_init(&w.samples, NULL);
    int r = matcher_init(&a, MATCH_EQ, SPAN("job"), job, &m, NULL);
    if (r == 0) {
        r = tsdb_reader_open(t, &w.reader);
        if (r == 0)
            r = end_all(&w, &m, &a);
        if (w.reader)
            tsdb_reader_close(w.reader);
        matcher_done(&m);
    }
    samples_done(&w.samples);
    arena_done(&a);
    return r;
}
