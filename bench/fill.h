/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/fill.h - filling a data directory's series.db, as programs of the benches do.
 *
 * Whatever goes wrong ends the program, with a word of why.
 */
#ifndef BENCH_FILL_H
#define BENCH_FILL_H

#include <stdio.h>
#include <stdlib.h>

#include "base/num.h"
#include "tsdb/tsdb.h"

static inline void must(int r, const char *what)
{
    if (r >= 0)
        return;
    (void)fprintf(stderr, "%s: %s\n", what, err_str(r));
    exit(1);
}

static inline struct tsdb *fill_open(const char *dir)
{
    char path[4096];
    struct tsdb_config config = {0};
    struct err err = {0};
    struct tsdb *t = NULL;
    (void)snprintf(path, sizeof(path), "%s/series.db", dir);
    if (tsdb_open(path, &config, &t, NULL, &err) >= 0)
        return t;
    (void)fprintf(stderr, "%s: %s\n", path, err.text);
    exit(1);
}

static inline void fill_maintain(struct tsdb *t, int64_t now_ms)
{
    int r;
    while ((r = tsdb_maintain(t, now_ms)) == 1)
        ;
    must(r, "upkeep");
}

/* Upkeep runs behind each commit with the samples' own time, as it would have while they came. */
static inline void fill_commit(struct tsdb *t, int64_t now_ms)
{
    must(tsdb_commit(t), "commit");
    fill_maintain(t, now_ms);
}

/* What a series is, by its name. */
static inline enum tsdb_kind fill_kind_of(struct span name)
{
    static const char *const ends[] = {"_total", "_bucket", "_count", "_sum"};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        if (span_ends_with(name, span_cstr(ends[i])))
            return TSDB_COUNTER;
    }
    return TSDB_GAUGE;
}

static inline uint64_t fill_number(const char *text)
{
    uint64_t n;
    must(num_parse_u64(span_cstr(text), &n), text);
    return n;
}

#endif
