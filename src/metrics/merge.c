/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics/merge.c - merges the shards' series one by one, in place, while writers go on.
 */
#include <errno.h>

#include "base/mem.h"
#include "metrics/registry.h"

struct reader {
    const struct metrics *m;
    int (*visit)(void *ctx, const struct metrics_sample *s);
    void *ctx;
    struct hist_snapshot *snapshot;
    mono_t now;
    struct metrics_sample sample;
};

/* The label of an id; IDS_STREAM has none. */
static enum label_key label_of(int id)
{
    static const enum label_key labels[IDS_BUSINESS] = {[IDS_MODEL] = LABEL_MODEL,
                                                        [IDS_ENDPOINT] = LABEL_ENDPOINT,
                                                        [IDS_UPSTREAM] = LABEL_UPSTREAM,
                                                        [IDS_VERSION] = LABEL_VERSION,
                                                        [IDS_SLO] = LABEL_SLO};
    return id < IDS_BUSINESS ? labels[id] : (enum label_key)(LABEL_BUSINESS + id - IDS_BUSINESS);
}

/* The labels of a group, in front of the enumerated ones; those that may be missing and are, are
 * left out. */
static void set_scope_labels(struct reader *rd, const struct metrics_group *g)
{
    const struct label_set *labels = rd->m->labels;
    int n_ids = IDS_BUSINESS + (int)label_set_n_business(labels);
    size_t n = 0;
    for (int i = 0; i < n_ids; i++) {
        struct metrics_label *to = &rd->sample.labels[n];
        if (!(registry_scope_mask(g->scope) >> i & 1))
            continue;
        if (i == IDS_STREAM) {
            *to = (struct metrics_label){"stream", g->ids.id[i] ? "true" : "false"};
            n++;
        } else if (label_of(i) < LABEL_VERSION || g->ids.id[i] != LABELS_NONE) {
            enum label_key label = label_of(i);
            *to = (struct metrics_label){label_set_name(labels, label),
                                         label_set_text(labels, label, g->ids.id[i])};
            n++;
        }
    }
    rd->sample.n_labels = n;
}

/* Appends the enumerated labels of slot i of the family. */
static void set_enum_labels(struct reader *rd, int i)
{
    const struct family *f = rd->sample.family;
    int n_below = family_n_slots(rd->sample.metric);
    for (int e = 0; e < FAMILY_ENUMS_MAX && f->enums[e].label; e++) {
        n_below /= f->enums[e].n;
        rd->sample.labels[rd->sample.n_labels++] =
            (struct metrics_label){f->enums[e].label, f->enums[e].value(i / n_below)};
        i %= n_below;
    }
}

static wall_t earliest(wall_t a, wall_t b)
{
    return a.us != 0 && a.us <= b.us ? a : b;
}

static int64_t merged(const struct family *f, int64_t value, const struct metrics_series *s,
                      mono_t now)
{
    if (!f->is_max)
        return value + atomic_load_explicit(&s->value, memory_order_relaxed);
    int64_t max = measure_window_max(s, now);
    return max > value ? max : value;
}

/* Merges one series over the shards and visits it. */
static int visit_slot(struct reader *rd, const struct metrics_group *g, int i)
{
    struct metrics_sample *sample = &rd->sample;
    const struct family *f = sample->family;
    int slot = rd->m->first_slot[sample->metric] + i;
    if (!atomic_load_explicit(&g->is_made[slot], memory_order_acquire))
        return 0;
    sample->created_at = (wall_t){0};
    sample->value = f->is_max ? -1 : 0;
    sample->hist = NULL;
    if (f->type == FAMILY_HISTOGRAM) {
        const struct hist_bounds *bounds =
            atomic_load_explicit(&rd->m->bounds[sample->metric], memory_order_acquire);
        hist_snapshot_init(rd->snapshot, bounds);
        sample->hist = rd->snapshot;
    }
    const struct metrics_block *b = atomic_load_explicit(&g->blocks, memory_order_acquire);
    for (; b; b = b->next) {
        const struct metrics_series *s =
            atomic_load_explicit(&b->slots[slot], memory_order_acquire);
        if (!s)
            continue;
        sample->created_at = earliest(sample->created_at, s->created_at);
        if (sample->hist)
            hist_snapshot_add(rd->snapshot, &s->hist);
        else
            sample->value = merged(f, sample->value, s, rd->now);
    }
    if (f->is_max && sample->value < 0)
        return 0; /* no data in the window */
    if (sample->hist && sample->hist->bounds->created_at.us > sample->created_at.us)
        sample->created_at = sample->hist->bounds->created_at;
    set_scope_labels(rd, g);
    set_enum_labels(rd, i);
    return rd->visit(rd->ctx, sample);
}

static int visit_family(struct reader *rd)
{
    int n_slots = family_n_slots(rd->sample.metric);
    const struct metrics_group *g =
        atomic_load_explicit(&rd->m->groups[rd->sample.family->scope], memory_order_acquire);
    for (; g; g = atomic_load_explicit(&g->next, memory_order_acquire)) {
        for (int i = 0; i < n_slots; i++) {
            int r = visit_slot(rd, g, i);
            if (r != 0)
                return r;
        }
    }
    return 0;
}

static int visit_computed(struct reader *rd)
{
    rd->sample.n_labels = 0;
    rd->sample.hist = NULL;
    rd->sample.created_at = (wall_t){0};
    rd->sample.value = rd->sample.metric == METRIC_SERIES ? metrics_n_series(rd->m) : 1;
    set_enum_labels(rd, 0);
    return rd->visit(rd->ctx, &rd->sample);
}

int metrics_each(const struct metrics *m, int (*visit)(void *ctx, const struct metrics_sample *s),
                 void *ctx)
{
    struct reader rd = {.m = m, .visit = visit, .ctx = ctx, .now = clock_mono()};
    rd.snapshot = mem_alloc(sizeof(*rd.snapshot));
    if (!rd.snapshot)
        return -ENOMEM;
    int r = 0;
    for (int i = 0; i < METRIC_COUNT_ && r == 0; i++) {
        rd.sample.metric = (enum metric)i;
        rd.sample.family = &family_table[i];
        r = rd.sample.family->is_computed ? visit_computed(&rd) : visit_family(&rd);
    }
    mem_free(rd.snapshot);
    return r;
}
