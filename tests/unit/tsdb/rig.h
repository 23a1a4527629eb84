/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rig.h - a store in a directory of its own, and the model that it is compared with.
 */
#ifndef RIG_H
#define RIG_H

#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "harness.h"
#include "series/memory.h"
#include "tempdir.h"
#include "tsdb/tsdb.h"

#define RIG_DAY_MS  (INT64_C(24) * 3600 * 1000)
#define RIG_HOUR_MS (INT64_C(3600) * 1000)
#define RIG_MIN_MS  (INT64_C(60) * 1000)
/* Midnight, UTC. */
#define RIG_START_MS (INT64_C(20000) * RIG_DAY_MS)

struct rig {
    struct tempdir dir;
    char path[128];
    struct tsdb_config config;
    struct tsdb *t;
    struct reader *reader;
    bool was_damaged;
};

static inline void rig_open(struct rig *g)
{
    struct err err = {0};
    int r = tsdb_open(g->path, &g->config, &g->t, &g->was_damaged, &err);
    if (r < 0)
        fail_msg("%s", err.text);
    assert_int_equal(tsdb_reader_open(g->t, &g->reader), 0);
}

static inline void rig_close(struct rig *g)
{
    g->reader = tsdb_reader_close(g->reader);
    g->t = tsdb_close(g->t);
}

static inline void rig_init(struct rig *g)
{
    memset(g, 0, sizeof(*g));
    tempdir_make(&g->dir);
    snprintf(g->path, sizeof(g->path), "%s", tempdir_file(&g->dir, "series.db"));
}

static inline void rig_done(struct rig *g)
{
    rig_close(g);
    tempdir_remove(&g->dir);
}

static inline void rig_maintain(struct rig *g, int64_t now_ms)
{
    int r, n = 0;
    while ((r = tsdb_maintain(g->t, now_ms)) == 1)
        assert_true(++n < 1000000);
    assert_int_equal(r, 0);
}

static inline struct tsdb_stats rig_stats(const struct rig *g)
{
    struct tsdb_stats s;
    tsdb_stats(g->t, &s);
    return s;
}

/* {__name__="name", label="value"}; texts have to stay. */
static inline struct labels rig_labels(struct label pairs[2], const char *name, const char *value)
{
    pairs[0] = (struct label){SPAN("__name__"), span_cstr(name)};
    pairs[1] = (struct label){SPAN("instance"), span_cstr(value)};
    return (struct labels){pairs, 2};
}

static inline uint32_t rig_series(struct rig *g, const char *name, const char *value,
                                  enum tsdb_kind kind)
{
    struct label pairs[2];
    uint32_t id = UINT32_MAX;
    assert_int_equal(tsdb_series(g->t, rig_labels(pairs, name, value), kind, &id), 0);
    return id;
}

/* The samples of the one series of that name. */
static inline void rig_read(struct reader *reader, const char *name, int64_t from_ms, int64_t to_ms,
                            enum series_aspect aspect, struct samples *out)
{
    struct arena a;
    struct matcher m;
    struct series_ref *refs = NULL;
    size_t n = 0;
    arena_init(&a, NULL);
    assert_int_equal(matcher_init(&a, MATCH_EQ, SPAN("__name__"), span_cstr(name), &m, NULL), 0);
    struct series_select what = {&m, 1, from_ms, to_ms};
    samples_clear(out);
    assert_int_equal(reader->ops->select(reader, &what, &a, &refs, &n), 0);
    assert_true(n <= 1);
    if (n == 1)
        assert_int_equal(reader->ops->samples(reader, refs[0].id, from_ms, to_ms, aspect, out), 0);
    matcher_done(&m);
    arena_done(&a);
}

static inline void rig_same_samples(const struct samples *got, const struct samples *want)
{
    assert_int_equal(got->n, want->n);
    for (size_t i = 0; i < want->n; i++) {
        const struct fhist *h = got->h ? got->h[i] : NULL;
        const struct fhist *w = want->h ? want->h[i] : NULL;
        assert_true(got->t[i] == want->t[i]);
        assert_true(!h == !w);
        if (w)
            assert_true(fhist_eq(h, w) && h->hint == w->hint);
        else
            assert_memory_equal(&got->v[i], &want->v[i], sizeof(double));
    }
}

#endif
