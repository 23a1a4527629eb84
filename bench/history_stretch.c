/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/history_stretch.c - a long history of the nature of a short one.
 *
 *   history_stretch FROM_DIR SECONDS DIR HOURS INTERVAL
 *
 * FROM_DIR is a data directory with a sample a second, of which the last SECONDS are read. Each
 * series goes on as it did over some INTERVAL of that time, which is drawn anew for each step and
 * is the same for all series: counters and histograms grow by as much, gauges are as they were.
 * What had no sample there has none. INTERVAL: in s. The last sample is now.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "fill.h"
#include "series/matcher.h"

enum { SECOND_MS = 1000, HOUR_S = 3600 };

/* One series of both stores. */
struct series {
    uint32_t id;
    enum tsdb_kind kind;
    double *v;               /* per second; NAN: none */
    const struct fhist **h;  /* the same of a histogram; NULL: none */
    struct fhist **grown;    /* by how much over the interval that begins there; made when wanted */
    double total;            /* what a counter counts to now */
    const struct fhist *sum; /* the same of a histogram */
};

struct stretch {
    struct tsdb *from, *to;
    struct arena keep, sums[2]; /* sums: those of this step, and of the one before */
    struct series *series;
    size_t n, n_seconds, interval_s;
    int64_t start_ms; /* of FROM_DIR */
    uint64_t n_samples;
};

static void *must_have(void *p)
{
    must(p ? 0 : -ENOMEM, "memory");
    return p;
}

/* --- what there is --- */

static void take(struct stretch *s, struct series *x, const struct samples *from)
{
    for (size_t i = 0; i < s->n_seconds; i++)
        x->v[i] = NAN;
    for (size_t i = 0; i < from->n; i++) {
        size_t at = (size_t)((from->t[i] - s->start_ms) / SECOND_MS);
        struct fhist *copy = NULL;
        if (at >= s->n_seconds || series_is_stale(from->v[i]))
            continue;
        x->v[at] = from->v[i];
        if (!from->h || !from->h[i])
            continue;
        must(fhist_copy(&s->keep, from->h[i], &copy), "histogram");
        if (!x->h)
            x->h = must_have(arena_zalloc(&s->keep, s->n_seconds, sizeof(*x->h)));
        x->h[at] = copy;
    }
}

/* Samples come now and then later than in their second. */
static void close_gaps(struct stretch *s, struct series *x)
{
    for (size_t i = 1; i < s->n_seconds; i++) {
        if (!isnan(x->v[i]) || isnan(x->v[i - 1]) || (i + 1 < s->n_seconds && isnan(x->v[i + 1])))
            continue;
        x->v[i] = x->v[i - 1];
        if (x->h)
            x->h[i] = x->h[i - 1];
    }
}

static void read_series(struct stretch *s, struct reader *reader, const struct series_ref *ref,
                        struct series *x)
{
    struct samples samples;
    samples_init(&samples, NULL);
    must(reader->ops->samples(reader, ref->id, 0, INT64_MAX, SERIES_LAST, &samples), "samples");
    x->v = must_have(arena_array(&s->keep, s->n_seconds, sizeof(*x->v)));
    take(s, x, &samples);
    close_gaps(s, x);
    samples_done(&samples);
    x->kind = x->h ? TSDB_HISTOGRAM : fill_kind_of(labels_name(ref->labels));
    if (x->h)
        x->grown = must_have(arena_zalloc(&s->keep, s->n_seconds, sizeof(*x->grown)));
    must(tsdb_series(s->to, ref->labels, x->kind, &x->id), "series");
}

static void read_all(struct stretch *s)
{
    struct matcher any;
    struct err err = {0};
    struct reader *reader;
    struct series_ref *refs;
    struct tsdb_stats stats;
    tsdb_stats(s->from, &stats);
    s->start_ms = stats.newest_ms - (int64_t)(s->n_seconds - 1) * SECOND_MS;
    must(tsdb_reader_open(s->from, &reader), "reader");
    must(matcher_init(&s->keep, MATCH_RE, SPAN(LABEL_NAME), SPAN(".+"), &any, &err), err.text);
    struct series_select what = {.matchers = &any, .n_matchers = 1, .to_ms = INT64_MAX};
    must(reader->ops->select(reader, &what, &s->keep, &refs, &s->n), "select");
    s->series = must_have(arena_zalloc(&s->keep, s->n, sizeof(*s->series)));
    for (size_t i = 0; i < s->n; i++)
        read_series(s, reader, &refs[i], &s->series[i]);
    matcher_done(&any);
    tsdb_reader_close(reader);
}

/* --- what becomes of it --- */

static const struct fhist *grown(struct stretch *s, struct series *x, size_t at)
{
    unsigned flags = 0;
    if (!x->grown[at])
        must(fhist_sub(&s->keep, x->h[at + s->interval_s], x->h[at], &x->grown[at], &flags), "-");
    return x->grown[at];
}

static void append_hist(struct stretch *s, struct series *x, size_t at, int64_t t_ms)
{
    unsigned flags = 0;
    struct fhist *sum;
    const struct fhist *end = x->h[at + s->interval_s];
    if (x->sum && x->h[at] && end)
        must(fhist_add(&s->sums[0], x->sum, grown(s, x, at), &sum, &flags), "+");
    else if (x->sum || end)
        must(fhist_copy(&s->sums[0], x->sum ? x->sum : end, &sum), "copy");
    else
        return;
    sum->hint = FHIST_UNKNOWN;
    x->sum = sum;
    must(tsdb_append_hist(s->to, x->id, t_ms, sum), "append");
    s->n_samples++;
}

static void append_float(struct stretch *s, struct series *x, size_t at, int64_t t_ms)
{
    double v = x->v[at + s->interval_s];
    if (isnan(v))
        return;
    if (x->kind == TSDB_COUNTER) {
        x->total += v > x->v[at] ? v - x->v[at] : 0;
        v = x->total;
    }
    must(tsdb_append(s->to, x->id, t_ms, v), "append");
    s->n_samples++;
}

static void step(struct stretch *s, size_t at, int64_t t_ms)
{
    struct arena before = s->sums[0];
    s->sums[0] = s->sums[1];
    s->sums[1] = before;
    arena_reset(&s->sums[0]);
    for (size_t i = 0; i < s->n; i++)
        (s->series[i].h ? append_hist : append_float)(s, &s->series[i], at, t_ms);
    fill_commit(s->to, t_ms);
}

int main(int argc, char **argv)
{
    struct stretch s = {0};
    struct rng r;
    if (argc != 6) {
        fprintf(stderr, "usage: %s FROM_DIR SECONDS DIR HOURS INTERVAL\n", argv[0]);
        return 2;
    }
    s.n_seconds = (size_t)fill_number(argv[2]);
    s.interval_s = (size_t)fill_number(argv[5]);
    must(s.n_seconds > s.interval_s ? 0 : -EINVAL, "SECONDS");
    s.from = fill_open(argv[1]);
    s.to = fill_open(argv[3]);
    arena_init(&s.keep, NULL);
    arena_init(&s.sums[0], NULL);
    arena_init(&s.sums[1], NULL);
    read_all(&s);
    rng_seed(&r, 1);
    int64_t n_steps = (int64_t)fill_number(argv[4]) * HOUR_S / (int64_t)s.interval_s;
    int64_t apart_ms = (int64_t)s.interval_s * SECOND_MS;
    int64_t t_ms = clock_wall().us / (US_PER_S / SECOND_MS) - n_steps * apart_ms;
    for (int64_t i = 0; i < n_steps; i++) {
        t_ms += apart_ms;
        step(&s, (size_t)rng_below(&r, s.n_seconds - s.interval_s), t_ms);
    }
    tsdb_close(s.from);
    tsdb_close(s.to);
    arena_done(&s.sums[0]);
    arena_done(&s.sums[1]);
    arena_done(&s.keep);
    printf("%zu series, %llu samples\n", s.n, (unsigned long long)s.n_samples);
    return 0;
}
