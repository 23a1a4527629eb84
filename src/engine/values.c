/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/values.c - what a source says: its parts reduced to the labels of a signal, put together
 * and brought to its unit.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "engine/engine_private.h"

/* Parts may differ by so much in what they say about one ratio. */
#define RATIO_SLACK 0.1

enum { ALIASES_MAX = 7, TARGETS_MAX = 4 };

/* A label of signals and where it comes from: the first that is there. */
struct target {
    const char *name;
    const char *from[ALIASES_MAX];
};
static const struct target targets_of_engine[] = {
    {"engine", {"engine", "dp_rank", "ReplicaId", "replica"}},
    {"model", {"model_name", "model", "served_model_name", "served_model", "name"}},
    {NULL, {NULL}},
};
static const struct target targets_of_gpu[] = {
    {"gpu", {"gpu", "gpu_id"}},
    {"mig", {"GPU_I_ID", "gpu_instance_id", "mig", "mig_uuid", "gpu_partition_id"}},
    {"uuid", {"UUID", "uuid", "gpu_uuid", "GPU_UUID", "serial_number", "SERIAL_NUMBER"}},
    {NULL, {NULL}},
};
static const struct target targets_of_kafka[] = {
    {"consumergroup", {"consumergroup"}},
    {"partition", {"partition"}},
    {"topic", {"topic"}},
    {NULL, {NULL}},
};
static const struct target *const targets[] = {
    [SIGNAL_OF_ENGINE] = targets_of_engine,
    [SIGNAL_OF_GPU] = targets_of_gpu,
    [SIGNAL_OF_KAFKA] = targets_of_kafka,
};

static struct span target_value(const struct target *t, struct labels l)
{
    struct span v = {NULL, 0};

    for (size_t i = 0; i < ALIASES_MAX && t->from[i] && v.n == 0; i++)
        v = labels_get(l, span_cstr(t->from[i]));
    return v;
}

/* The signal's labels out of a sample's. */
static int reduce(const struct engine_source *s, struct labels l, struct arena *a,
                  struct labels *ret)
{
    struct label *pairs = arena_array(a, TARGETS_MAX, sizeof *pairs);
    const char *own = signal_table[s->signal].label;
    size_t n = 0;

    if (!pairs)
        return -ENOMEM;
    for (const struct target *t = targets[signal_kind_of(s->signal)]; t->name; t++)
        pairs[n++] = (struct label){span_cstr(t->name), target_value(t, l)};
    if (own) {
        struct span v = s->label_is     ? span_cstr(s->label_is)
                        : s->label_from ? labels_get(l, span_cstr(s->label_from))
                                        : SPAN("");
        pairs[n++] = (struct label){span_cstr(own), v};
    }
    return labels_normalise(pairs, n, ret, NULL);
}

/* --- samples that have the same labels now --- */

static int value_cmp(const void *pa, const void *pb)
{
    const struct signal_value *a = pa, *b = pb;

    return labels_cmp(a->labels, b->labels);
}

static double add_if_there(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : a + b;
}

/* Counts at the bounds that both have; cumulative counts add up there. */
static int add_hist(struct signal_value *to, const struct signal_value *v, struct arena *a)
{
    size_t max = to->n_buckets < v->n_buckets ? to->n_buckets : v->n_buckets, n = 0;
    struct family_bucket *sum = arena_array(a, max, sizeof *sum);

    if (!sum)
        return -ENOMEM;
    for (size_t i = 0, k = 0; i < to->n_buckets && k < v->n_buckets;) {
        double x = to->buckets[i].le, y = v->buckets[k].le;

        if (x == y)
            sum[n++] = (struct family_bucket){x, to->buckets[i].n + v->buckets[k].n};
        i += x <= y;
        k += y <= x;
    }
    to->buckets = sum;
    to->n_buckets = n;
    to->sum = add_if_there(to->sum, v->sum);
    to->count = add_if_there(to->count, v->count);
    return 0;
}

static int merge_into(struct signal_value *to, const struct signal_value *v, enum signal_merge how,
                      struct arena *a)
{
    if (v->shape == SIGNAL_HISTOGRAM)
        return add_hist(to, v, a);
    if (how == SIGNAL_MAX)
        to->v = fmax(to->v, v->v);
    else
        to->v += v->v;
    return 0;
}

struct values {
    struct signal_value *at;
    size_t n;
};

/* One part of a source: reduced, sorted, merged. */
static int part_values(const struct families *f, const struct signal_found *found, size_t part,
                       struct arena *a, struct values *ret)
{
    const struct engine_source *s = found->source;
    enum signal_merge how = s->how == ENGINE_RATIO ? SIGNAL_SUM : signal_table[s->signal].merge;
    struct part_read read;
    size_t n = 0;
    int r = parts_read(f, found->engine, s, part, a, &read);

    ret->n = 0;
    ret->at = r < 0 ? NULL : arena_array(a, read.n, sizeof *ret->at);
    if (!ret->at)
        return r < 0 ? r : -ENOMEM;
    for (size_t i = 0; i < read.n && r == 0; i++) {
        const struct family_hist *h = read.at[i].hist;
        struct signal_value *v = &ret->at[i];

        *v = (struct signal_value){.from = found, .v = read.at[i].v};
        if (h) {
            v->shape = SIGNAL_HISTOGRAM;
            v->buckets = h->buckets;
            v->n_buckets = h->n_buckets;
            v->sum = h->sum;
            v->count = h->count;
        }
        r = reduce(s, read.at[i].labels, a, &v->labels);
    }
    if (r < 0)
        return r;
    qsort(ret->at, read.n, sizeof *ret->at, value_cmp);
    for (size_t i = 0; i < read.n && r == 0; i++) {
        if (n > 0 && labels_eq(ret->at[n - 1].labels, ret->at[i].labels))
            r = merge_into(&ret->at[n - 1], &ret->at[i], how, a);
        else
            ret->at[n++] = ret->at[i];
    }
    ret->n = n;
    return r;
}

/* --- parts put together --- */

static const struct signal_value *value_of(const struct values *in, struct labels l)
{
    struct signal_value key = {.labels = l};

    return in->n == 0 ? NULL : bsearch(&key, in->at, in->n, sizeof *in->at, value_cmp);
}

static double combined(enum engine_how how, double x, double y)
{
    if (how == ENGINE_RATIO)
        return y > 0 ? x / y : (double)NAN;
    return how == ENGINE_LESS ? x - y : x + y;
}

/* Values of to, each with the one of the same labels in v; those without go. */
static void combine(enum engine_how how, struct values *to, const struct values *v)
{
    size_t n = 0;

    for (size_t i = 0; i < to->n; i++) {
        const struct signal_value *other = value_of(v, to->at[i].labels);

        if (!other)
            continue;
        to->at[n] = to->at[i];
        to->at[n].v = combined(how, to->at[i].v, other->v);
        n += !isnan(to->at[n].v);
    }
    to->n = n;
}

static bool differs(const struct values *is, const struct values *check)
{
    for (size_t i = 0; i < is->n; i++) {
        const struct signal_value *other = value_of(check, is->at[i].labels);

        if (other && fabs(other->v - is->at[i].v) > RATIO_SLACK)
            return true;
    }
    return false;
}

static void as_sums(struct values *v, const struct values *counts)
{
    for (size_t i = 0; i < v->n; i++) {
        const struct signal_value *count = value_of(counts, v->at[i].labels);

        v->at[i].shape = SIGNAL_SUMS;
        v->at[i].sum = v->at[i].v;
        v->at[i].count = count ? count->v : (double)NAN;
    }
}

static void as_hist_sums(struct values *v)
{
    size_t n = 0;

    for (size_t i = 0; i < v->n; i++) {
        if (isnan(v->at[i].sum))
            continue;
        v->at[n] = v->at[i];
        v->at[n].shape = SIGNAL_PLAIN;
        v->at[n].v = v->at[i].sum;
        n++;
    }
    v->n = n;
}

static int put_together(const struct families *f, const struct signal_found *found, struct arena *a,
                        struct values *v, bool *ret_is_odd)
{
    enum engine_how how = found->source->how;
    size_t n_used = how == ENGINE_RATIO ? 2 : ENGINE_PARTS_MAX;
    int r = 0;

    for (size_t i = 1; i < n_used && found->source->part[i].metric && r == 0; i++) {
        struct values part;

        r = part_values(f, found, i, a, &part);
        if (r == 0 && how == ENGINE_SUM_COUNT)
            as_sums(v, &part);
        else if (r == 0)
            combine(how, v, &part);
    }
    if (r == 0 && how == ENGINE_SUM_COUNT && !found->source->part[1].metric)
        as_sums(v, &(struct values){.n = 0});
    if (r == 0 && how == ENGINE_HIST_SUM)
        as_hist_sums(v);
    if (r == 0 && how == ENGINE_RATIO && found->source->part[2].metric) {
        struct values check;

        r = part_values(f, found, 2, a, &check);
        *ret_is_odd = r == 0 && differs(v, &check);
    }
    return r;
}

/* --- units --- */

/* 300 ms are 0.3 s and not 0.30000000000000004: small scales divide. */
static double scaled(double v, double scale)
{
    double by = round(1 / scale);

    return scale < 1 && fabs(by * scale - 1) < 1e-9 ? v / by : v * scale;
}

/* 0: as it is. */
static double scale_of(const struct signal_found *found, const struct values *v)
{
    const struct engine_source *s = found->source;
    bool is_percent = found->engine->until < s->ratio_since;

    if ((s->flags & ENGINE_SOURCE_PERCENT_OR_RATIO) == 0)
        return s->scale;
    for (size_t i = 0; i < v->n && found->engine->since < s->ratio_since; i++)
        is_percent = is_percent || v->at[i].v > 1;
    return is_percent ? 1e-2 : 0;
}

static int scale_hist(struct signal_value *v, double scale, struct arena *a)
{
    struct family_bucket *b = arena_array(a, v->n_buckets, sizeof *b);

    if (!b)
        return -ENOMEM;
    for (size_t i = 0; i < v->n_buckets; i++)
        b[i] = (struct family_bucket){scaled(v->buckets[i].le, scale), v->buckets[i].n};
    v->buckets = b;
    return 0;
}

static int to_unit(struct values *v, double scale, struct arena *a)
{
    int r = 0;

    for (size_t i = 0; i < v->n && r == 0 && scale != 0; i++) {
        v->at[i].v = scaled(v->at[i].v, scale);
        v->at[i].sum = scaled(v->at[i].sum, scale);
        if (v->at[i].shape == SIGNAL_HISTOGRAM)
            r = scale_hist(&v->at[i], scale, a);
    }
    return r;
}

int values_read(const struct families *f, const struct signal_found *found, struct arena *a,
                struct signal_value **ret, size_t *ret_n, bool *ret_is_odd)
{
    struct values v;
    int r = part_values(f, found, 0, a, &v);

    *ret_is_odd = false;
    if (r == 0 && v.n > 0)
        r = put_together(f, found, a, &v, ret_is_odd);
    if (r == 0)
        r = to_unit(&v, scale_of(found, &v), a);
    if (r < 0)
        return r;
    for (size_t i = 0; i < v.n && (found->source->flags & ENGINE_SOURCE_MEAN_ONLY) != 0; i++)
        v.at[i].shape = SIGNAL_MEAN;
    *ret = v.at;
    *ret_n = v.n;
    return 0;
}
