/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/memory.c - series in memory: a list, and a hash table to find one by its labels.
 */
#include "series/memory.h"

#include <errno.h>

#include "base/mem.h"

struct memory_series {
    struct labels labels;
    uint64_t hash;
    struct samples samples;
};

struct memory {
    struct reader reader;
    struct arena arena; /* of the labels */
    struct memory_series **series;
    size_t n_series, cap;
    uint32_t *slots; /* index + 1 of a series; 0: free. A power of two, at most half full. */
    size_t n_slots;
};

static const struct reader_ops memory_ops;

int memory_new(struct memory **ret)
{
    struct memory *m = mem_zalloc(1, sizeof(*m));

    if (!m)
        return -ENOMEM;
    m->reader.ops = &memory_ops;
    arena_init(&m->arena, NULL);
    *ret = m;
    return 0;
}

void memory_clear(struct memory *m)
{
    for (size_t i = 0; i < m->n_series; i++) {
        samples_done(&m->series[i]->samples);
        mem_free(m->series[i]);
    }
    m->n_series = 0;
    if (m->n_slots > 0)
        memset(m->slots, 0, m->n_slots * sizeof(*m->slots));
    arena_reset(&m->arena);
}

struct memory *memory_free(struct memory *m)
{
    if (!m)
        return NULL;
    memory_clear(m);
    arena_done(&m->arena);
    mem_free(m->series);
    mem_free(m->slots);
    mem_free(m);
    return NULL;
}

/* The slot of a series with these labels, or the free one where it would be. */
static uint32_t *slot_find(struct memory *m, struct labels l, uint64_t hash)
{
    for (size_t i = hash & (m->n_slots - 1);; i = (i + 1) & (m->n_slots - 1)) {
        uint32_t at = m->slots[i];
        if (at == 0)
            return &m->slots[i];
        if (m->series[at - 1]->hash == hash && labels_eq(m->series[at - 1]->labels, l))
            return &m->slots[i];
    }
}

static int slots_grow(struct memory *m)
{
    enum { SLOTS_MIN = 64 };
    size_t n = m->n_slots > 0 ? 2 * m->n_slots : SLOTS_MIN;
    uint32_t *slots = mem_zalloc(n, sizeof(*slots));

    if (!slots)
        return -ENOMEM;
    mem_free(m->slots);
    m->slots = slots;
    m->n_slots = n;
    for (size_t i = 0; i < m->n_series; i++)
        *slot_find(m, m->series[i]->labels, m->series[i]->hash) = (uint32_t)(i + 1);
    return 0;
}

static int series_grow(struct memory *m)
{
    enum { CAP_MIN = 16 };
    size_t cap = m->cap > 0 ? 2 * m->cap : CAP_MIN;
    struct memory_series **series = mem_realloc(m->series, cap * sizeof(struct memory_series *));

    if (!series)
        return -ENOMEM;
    m->series = series;
    m->cap = cap;
    return 0;
}

static int series_add(struct memory *m, struct labels l, uint64_t hash, struct memory_series **ret)
{
    struct memory_series *s;
    int r = m->n_series == m->cap ? series_grow(m) : 0;

    if (r == 0 && 2 * (m->n_series + 1) > m->n_slots)
        r = slots_grow(m);
    if (r != 0)
        return r;
    s = mem_zalloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    if (labels_copy(&m->arena, l, &s->labels) != 0) {
        mem_free(s);
        return -ENOMEM;
    }
    s->hash = hash;
    samples_init(&s->samples, NULL);
    *slot_find(m, l, hash) = (uint32_t)(m->n_series + 1);
    m->series[m->n_series++] = s;
    *ret = s;
    return 0;
}

static int series_get(struct memory *m, struct labels l, struct memory_series **ret)
{
    uint64_t hash = labels_hash(l);
    uint32_t at = m->n_slots > 0 ? *slot_find(m, l, hash) : 0;

    if (at == 0)
        return series_add(m, l, hash, ret);
    *ret = m->series[at - 1];
    return 0;
}

int memory_append(struct memory *m, struct labels labels, int64_t t_ms, double v,
                  const struct fhist *h)
{
    struct memory_series *s;
    struct fhist *copy;
    int r = series_get(m, labels, &s);

    if (r != 0)
        return r;
    if (s->samples.n > 0 && s->samples.t[s->samples.n - 1] >= t_ms)
        return -EINVAL;
    if (!h)
        return samples_add(&s->samples, t_ms, v);
    r = fhist_copy(&s->samples.arena, h, &copy);
    return r == 0 ? samples_add_hist(&s->samples, t_ms, copy) : r;
}

struct reader *memory_reader(struct memory *m)
{
    return &m->reader;
}

size_t memory_n_series(const struct memory *m)
{
    return m->n_series;
}

/* Index of the first sample at or behind t_ms. */
static size_t samples_from(const struct samples *s, int64_t t_ms)
{
    size_t low = 0;
    size_t high = s->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->t[middle] < t_ms)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int memory_select(struct reader *r, const struct series_select *what, struct arena *a,
                         struct series_ref **ret, size_t *ret_n)
{
    struct memory *m = CONTAINER_OF(r, struct memory, reader);
    struct series_ref *refs = arena_array(a, m->n_series, sizeof(*refs));
    size_t n = 0;

    if (!refs)
        return -ENOMEM;
    for (size_t i = 0; i < m->n_series; i++) {
        const struct memory_series *s = m->series[i];
        size_t at = samples_from(&s->samples, what->from_ms);
        if (at == s->samples.n || s->samples.t[at] > what->to_ms)
            continue;
        if (matcher_matches_all(what->matchers, what->n_matchers, s->labels))
            refs[n++] = (struct series_ref){s->labels, i};
    }
    for (size_t i = 0; i < what->n_matchers; i++)
        if (matcher_error(&what->matchers[i]) != 0)
            return matcher_error(&what->matchers[i]);
    *ret = refs;
    *ret_n = n;
    return 0;
}

static int memory_samples(struct reader *r, uint64_t id, int64_t from_ms, int64_t to_ms,
                          enum series_aspect aspect, struct samples *out)
{
    const struct memory *m = CONTAINER_OF(r, struct memory, reader);
    const struct samples *s = &m->series[id]->samples;

    (void)aspect; /* nothing is downsampled here */
    for (size_t i = samples_from(s, from_ms); i < s->n && s->t[i] <= to_ms; i++) {
        int rc = s->h && s->h[i] ? samples_add_hist(out, s->t[i], s->h[i])
                                 : samples_add(out, s->t[i], s->v[i]);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int64_t memory_resolution(struct reader *r, int64_t t_ms)
{
    (void)r;
    (void)t_ms;
    return 0;
}

static const struct reader_ops memory_ops = {
    .select = memory_select,
    .samples = memory_samples,
    .resolution = memory_resolution,
};
