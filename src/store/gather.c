/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/gather.c - see gather.h.
 *
 * What is known of an exposed series is found by a hash of its name and labels, of 64 bits: among
 * 10,000 of them two share one once in 300 billion times.
 */
#include "store/gather.h"

#include <errno.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "metrics/expose.h"
#include "store/bytes.h"
#include "store/leftovers.h"

enum {
    LABELS_MAX = METRICS_LABELS_MAX + 8, /* with name, le and extra ones */
    IDS_MAX = HIST_BOUNDS_MAX + 4,
    SLOTS_MIN = 256,
};

/* Ids of a histogram: native, sum, count, then a bucket per bound and the one up to +Inf. */
enum { ID_NATIVE, ID_SUM, ID_COUNT, ID_BUCKETS };

struct entry {
    uint64_t hash;      /* 0: an empty slot */
    uint64_t tick;      /* in which it was there last */
    int64_t created_us; /* of what its last sample counted; -1: there was none */
    uint32_t *ids;
    uint32_t n_ids;
    const struct hist_bounds *bounds; /* of the buckets */
};

struct gather {
    const struct metrics *metrics;
    struct tsdb *tsdb;
    struct arena extra_arena;
    struct labels extra;
    struct entry *slots;
    size_t n_slots, n_entries;
    uint64_t tick;
    int64_t t_ms, before_ms; /* of this tick; no sample before it is later than that */
    int64_t started_us;
    struct fhist_bucket buckets[HIST_BUCKETS]; /* of the histogram at hand */
    struct gather_stats stats;
};

/* Without it they are seen for some minutes more: no reason not to begin. */
static void end_leftovers(struct gather *g)
{
    struct tsdb_stats held;
    struct span job = labels_get(g->extra, SPAN("job"));
    tsdb_stats(g->tsdb, &held);
    g->before_ms = held.newest_ms;
    if (job.n == 0 || held.newest_ms == INT64_MIN)
        return;
    g->before_ms++;
    int r = leftovers_end(g->tsdb, job, g->before_ms);
    if (r < 0)
        LOG_WARN("could not end the series of the run before: %s", err_str(r));
}

int gather_new(const struct metrics *m, struct tsdb *t, struct labels extra, int64_t started_ms,
               struct gather **ret)
{
    struct gather *g = mem_zalloc(1, sizeof(*g));
    if (!g)
        return -ENOMEM;
    g->started_us = started_ms * 1000;
    g->metrics = m;
    g->tsdb = t;
    arena_init(&g->extra_arena, NULL);
    g->n_slots = SLOTS_MIN;
    g->slots = mem_zalloc(g->n_slots, sizeof(*g->slots));
    int r = g->slots ? labels_copy(&g->extra_arena, extra, &g->extra) : -ENOMEM;
    if (r == 0)
        end_leftovers(g);
    if (r == 0 && extra.n > LABELS_MAX - METRICS_LABELS_MAX - 2)
        r = -EINVAL;
    if (r < 0) {
        gather_free(g);
        return r;
    }
    *ret = g;
    return 0;
}

struct gather *gather_free(struct gather *g)
{
    if (!g)
        return NULL;
    for (size_t i = 0; g->slots && i < g->n_slots; i++)
        mem_free(g->slots[i].ids);
    mem_free(g->slots);
    arena_done(&g->extra_arena);
    mem_free(g);
    return NULL;
}

/* --- what is known --- */

static uint64_t hash_of(const struct expose_series *s)
{
    uint64_t h = bytes_hash(span_cstr(s->name));
    for (size_t i = 0; i < s->n_labels; i++) {
        h = bytes_mix(h ^ bytes_hash(span_cstr(s->labels[i].name)), UINT64_C(0xd6e8feb86659fd93));
        h = bytes_mix(h ^ bytes_hash(span_cstr(s->labels[i].value)), UINT64_C(0xa0761d6478bd642f));
    }
    return h | 1;
}

static struct entry *slot_of(struct entry *slots, size_t n, uint64_t hash)
{
    size_t i = (hash >> 8) % n;
    while (slots[i].hash != 0 && slots[i].hash != hash)
        i = (i + 1) % n;
    return &slots[i];
}

static int resize(struct gather *g, size_t n)
{
    struct entry *slots = mem_zalloc(n, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    for (size_t i = 0; i < g->n_slots; i++) {
        if (g->slots[i].hash != 0)
            *slot_of(slots, n, g->slots[i].hash) = g->slots[i];
    }
    mem_free(g->slots);
    g->slots = slots;
    g->n_slots = n;
    return 0;
}

/* The entry of that series, new ones without ids. NULL: no memory. */
static struct entry *entry_of(struct gather *g, const struct expose_series *s)
{
    uint64_t hash = hash_of(s);
    struct entry *e = slot_of(g->slots, g->n_slots, hash);
    if (e->hash != 0)
        return e;
    if (2 * (g->n_entries + 1) > g->n_slots) {
        if (resize(g, 2 * g->n_slots) < 0)
            return NULL;
        e = slot_of(g->slots, g->n_slots, hash);
    }
    *e = (struct entry){.hash = hash, .created_us = -1};
    g->n_entries++;
    return e;
}

/* --- series --- */

static void count(struct gather *g, int result)
{
    g->stats.n_samples += result == 0;
    g->stats.n_lost += result < 0;
}

static bool has_label(const struct label *pairs, size_t n, struct span name)
{
    for (size_t i = 0; i < n; i++) {
        if (span_eq(pairs[i].name, name))
            return true;
    }
    return false;
}

/* The series of an exposed one, with a suffix to its name and le (NULL: without). */
static int find_series(struct gather *g, const struct expose_series *s, const char *suffix,
                       const char *le, enum tsdb_kind kind, uint32_t *ret)
{
    struct label pairs[LABELS_MAX];
    struct labels labels;
    char name[128];
    size_t n = 0;
    size_t n_name = span_copy(span_cstr(s->name), name, sizeof(name));
    n_name += span_copy(span_cstr(suffix), name + n_name, sizeof(name) - n_name);
    pairs[n++] = (struct label){SPAN(LABEL_NAME), span_of(name, n_name)};
    if (le)
        pairs[n++] = (struct label){SPAN(LABEL_LE), span_cstr(le)};
    for (size_t i = 0; i < s->n_labels; i++)
        pairs[n++] = (struct label){span_cstr(s->labels[i].name), span_cstr(s->labels[i].value)};
    for (size_t i = 0; i < g->extra.n; i++) {
        if (!has_label(pairs, n, g->extra.at[i].name))
            pairs[n++] = g->extra.at[i];
    }
    int r = labels_normalise(pairs, n, &labels, NULL);
    return r < 0 ? r : tsdb_series(g->tsdb, labels, kind, ret);
}

static int find_buckets(struct gather *g, const struct expose_series *s, uint32_t *ids)
{
    const struct hist_bounds *b = s->hist->bounds;
    char le[40];
    int r = 0;
    for (size_t i = 0; i <= b->n && r == 0; i++) {
        size_t n = i < b->n ? num_format_fraction(hist_raw_to_unit(b->layout, b->upper[i]), le)
                            : span_copy(SPAN("+Inf"), le, sizeof(le));
        le[n] = '\0';
        r = find_series(g, s, "_bucket", le, TSDB_COUNTER, &ids[ID_BUCKETS + i]);
    }
    return r;
}

static int find_histogram(struct gather *g, const struct expose_series *s, uint32_t *ids,
                          uint32_t *ret_n)
{
    int r = find_series(g, s, "", NULL, TSDB_HISTOGRAM, &ids[ID_NATIVE]);
    if (r == 0)
        r = find_series(g, s, "_sum", NULL, TSDB_COUNTER, &ids[ID_SUM]);
    if (r == 0)
        r = find_series(g, s, "_count", NULL, TSDB_COUNTER, &ids[ID_COUNT]);
    if (r == 0)
        r = find_buckets(g, s, ids);
    *ret_n = ID_BUCKETS + (uint32_t)s->hist->bounds->n + 1;
    return r;
}

static bool is_among(uint32_t id, const uint32_t *ids, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (ids[i] == id)
            return true;
    }
    return false;
}

/* Series that are not among those of now, end. */
static void end_ids(struct gather *g, const struct entry *e, const uint32_t *now, uint32_t n_now)
{
    for (uint32_t i = 0; i < e->n_ids; i++) {
        if (!is_among(e->ids[i], now, n_now))
            count(g, tsdb_append(g->tsdb, e->ids[i], g->t_ms, series_stale()));
    }
}

/* The ids that an entry should have now. */
static int renew(struct gather *g, const struct expose_series *s, struct entry *e)
{
    uint32_t ids[IDS_MAX];
    uint32_t n = 1;
    int r = s->hist ? find_histogram(g, s, ids, &n)
                    : find_series(g, s, "", NULL,
                                  s->type == FAMILY_COUNTER ? TSDB_COUNTER : TSDB_GAUGE, ids);
    if (r < 0)
        return r;
    uint32_t *kept = mem_alloc(n * sizeof(*kept));
    if (!kept)
        return -ENOMEM;
    memcpy(kept, ids, n * sizeof(*kept));
    end_ids(g, e, kept, n);
    mem_free(e->ids);
    e->ids = kept;
    e->n_ids = n;
    e->bounds = s->hist ? s->hist->bounds : NULL;
    return 0;
}

/* --- samples --- */

static int append_native(struct gather *g, const struct entry *e, const struct hist_snapshot *h)
{
    const struct hist_layout *layout = h->bounds->layout;
    struct fhist f = {.schema = HIST_SCHEMA,
                      .zero_threshold = hist_raw_to_unit(layout, layout->zero_raw),
                      .zero_count = (double)h->buckets[0],
                      .count = (double)h->n,
                      .sum = hist_snapshot_sum(h),
                      .positive = {.at = g->buckets}};
    for (uint32_t k = h->first > 1 ? h->first : 1; k < h->end; k++) {
        if (h->buckets[k] > 0)
            g->buckets[f.positive.n++] = (struct fhist_bucket){
                .index = hist_native_index(layout, k), .count = (double)h->buckets[k]};
    }
    return tsdb_append_hist(g->tsdb, e->ids[ID_NATIVE], g->t_ms, &f);
}

static int append_classic(struct gather *g, const struct entry *e, const struct hist_snapshot *h)
{
    uint64_t n = 0;
    int r = 0;
    int error = 0;
    for (size_t i = 0; i <= h->bounds->n; i++) {
        n += h->classic[i];
        r = tsdb_append(g->tsdb, e->ids[ID_BUCKETS + i], g->t_ms, (double)n);
        count(g, r);
        error = error == 0 ? r : error;
    }
    r = tsdb_append(g->tsdb, e->ids[ID_SUM], g->t_ms, hist_snapshot_sum(h));
    count(g, r);
    error = error == 0 ? r : error;
    r = tsdb_append(g->tsdb, e->ids[ID_COUNT], g->t_ms, (double)n);
    count(g, r);
    return error == 0 ? r : error;
}

static int append(struct gather *g, const struct entry *e, const struct expose_series *s)
{
    if (!s->hist) {
        int r = tsdb_append(g->tsdb, e->ids[0], g->t_ms, (double)s->value);
        count(g, r);
        return r;
    }
    int native = append_native(g, e, s->hist);
    count(g, native);
    int classic = append_classic(g, e, s->hist);
    return native < 0 ? native : classic;
}

static int64_t created_us(const struct gather *g, const struct expose_series *s)
{
    return s->created_at.us != 0 ? s->created_at.us : g->started_us;
}

static bool needs_zero(const struct gather *g, const struct entry *e, const struct expose_series *s)
{
    bool is_zero = s->hist ? s->hist->n == 0 : s->value == 0;
    bool is_cumulative = s->hist || s->type == FAMILY_COUNTER;
    return is_cumulative && !is_zero && created_us(g, s) > e->created_us;
}

/* What counts from 0 since the last tick was 0 when it came into being: without that sample the
 * first value would be no increase, and a restart at a larger value no reset. */
static void append_zero(struct gather *g, const struct entry *e, const struct expose_series *s)
{
    int64_t t_ms = created_us(g, s) / 1000;
    uint32_t first = 0;
    if (g->before_ms >= g->t_ms - 1)
        return; /* no moment is left for it */
    if (t_ms <= g->before_ms)
        t_ms = g->before_ms + 1;
    if (t_ms >= g->t_ms)
        t_ms = g->t_ms - 1;
    if (s->hist) {
        const struct hist_layout *layout = s->hist->bounds->layout;
        struct fhist empty = {.schema = HIST_SCHEMA,
                              .zero_threshold = hist_raw_to_unit(layout, layout->zero_raw)};
        count(g, tsdb_append_hist(g->tsdb, e->ids[ID_NATIVE], t_ms, &empty));
        first = ID_SUM;
    }
    for (uint32_t i = first; i < e->n_ids; i++)
        count(g, tsdb_append(g->tsdb, e->ids[i], t_ms, 0));
}

static int append_all(struct gather *g, struct entry *e, const struct expose_series *s)
{
    if (needs_zero(g, e, s))
        append_zero(g, e, s);
    e->created_us = created_us(g, s);
    return append(g, e, s);
}

static int visit(void *ctx, const struct expose_series *s)
{
    struct gather *g = ctx;
    struct entry *e = entry_of(g, s);
    int r = 0;
    if (!e)
        return -ENOMEM;
    e->tick = g->tick;
    if (!e->ids || (s->hist && e->bounds != s->hist->bounds))
        r = renew(g, s, e);
    if (r == 0)
        r = append_all(g, e, s);
    if (r == -ENOENT) { /* forgotten since nothing came for so long */
        r = renew(g, s, e);
        if (r == 0)
            r = append(g, e, s);
    } else if (r < 0 && !e->ids) {
        g->stats.n_lost++; /* no series, no sample */
    }
    return r == -ENOMEM ? r : 0;
}

/* Series that were not there in this tick, end. Their entries stay, without ids: exposed series are
 * so many at most, and some come back. */
static void end_missing(struct gather *g)
{
    for (size_t i = 0; i < g->n_slots; i++) {
        struct entry *e = &g->slots[i];
        if (!e->ids || e->tick == g->tick)
            continue;
        end_ids(g, e, NULL, 0);
        mem_free(e->ids);
        e->ids = NULL;
        e->n_ids = 0;
    }
}

int gather_tick(struct gather *g, int64_t t_ms)
{
    g->tick++;
    g->t_ms = t_ms;
    int r = expose_each(g->metrics, visit, g);
    if (r == 0)
        end_missing(g);
    if (t_ms > g->before_ms)
        g->before_ms = t_ms;
    return r;
}

void gather_end(struct gather *g, int64_t t_ms)
{
    g->tick++;
    g->t_ms = t_ms > g->before_ms ? t_ms : g->before_ms + 1;
    end_missing(g);
    g->before_ms = g->t_ms;
}

void gather_stats(const struct gather *g, struct gather_stats *ret)
{
    *ret = g->stats;
    ret->n_series = 0;
    for (size_t i = 0; i < g->n_slots; i++)
        ret->n_series += g->slots[i].n_ids;
}
