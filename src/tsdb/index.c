/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/index.c - series come and go.
 *
 * Ids only grow, so that postings stay sorted by appending. Forgetting takes many at a time and
 * passes over all postings once.
 */
#include "tsdb/index.h"

#include "tsdb/place.h"

enum { SLOTS_MIN = 256, IDS_MIN = 256, POSTINGS_MIN = 4, MAX_LABELS = 4096 };

void index_init(struct index *x)
{
    *x = (struct index){0};
    symbols_init(&x->symbols);
}

static void series_free(struct series *s)
{
    if (s)
        head_done(&s->head);
    mem_free(s);
}

void index_done(struct index *x)
{
    for (uint32_t i = 0; i < x->n_ids; i++)
        series_free(x->by_id[i]);
    for (uint32_t i = 0; i < x->n_by_pair; i++)
        if (x->by_pair[i]) {
            mem_free(x->by_pair[i]->ids);
            mem_free(x->by_pair[i]);
        }
    mem_free(x->by_id);
    mem_free(x->by_labels);
    mem_free(x->by_pair);
    symbols_done(&x->symbols);
    index_init(x);
}

static uint32_t mix(uint64_t h)
{
    h = (h ^ h >> 32) * 0x9e3779b97f4a7c15;
    return (uint32_t)(h >> 32);
}

static uint32_t hash_pairs(const uint32_t *pairs, uint32_t n_pairs)
{
    uint64_t h = n_pairs;
    for (uint32_t i = 0; i < 2 * n_pairs; i++)
        h = (h ^ pairs[i]) * 0xd6e8feb86659fd93 + (h >> 32);
    return mix(h);
}

/* --- by labels --- */

static uint32_t *labels_slot(const struct index *x, const uint32_t *pairs, uint32_t n_pairs,
                             uint32_t hash)
{
    for (uint32_t i = hash & (x->n_by_labels - 1);; i = (i + 1) & (x->n_by_labels - 1)) {
        uint32_t at = x->by_labels[i];
        if (at == 0)
            return &x->by_labels[i];
        const struct series *s = x->by_id[at - 1];
        if (s->hash == hash && s->n_pairs == n_pairs &&
            memcmp(s->pairs, pairs, (size_t)2 * n_pairs * sizeof(*pairs)) == 0)
            return &x->by_labels[i];
    }
}

static int labels_rehash(struct index *x, uint32_t n)
{
    uint32_t *slots = mem_zalloc(n, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    mem_free(x->by_labels);
    x->by_labels = slots;
    x->n_by_labels = n;
    for (uint32_t i = 0; i < x->n_ids; i++) {
        const struct series *s = x->by_id[i];
        if (s)
            *labels_slot(x, s->pairs, s->n_pairs, s->hash) = i + 1;
    }
    return 0;
}

/* --- by pair --- */

static uint32_t hash_pair(uint32_t name, uint32_t value)
{
    return mix((uint64_t)name << 32 | value);
}

static struct postings **pair_slot(const struct index *x, uint32_t name, uint32_t value)
{
    uint32_t mask = x->n_by_pair - 1;
    for (uint32_t i = hash_pair(name, value) & mask;; i = (i + 1) & mask) {
        struct postings *p = x->by_pair[i];
        if (!p || (p->name == name && p->value == value))
            return &x->by_pair[i];
    }
}

const struct postings *index_postings(const struct index *x, uint32_t name, uint32_t value)
{
    return x->n_by_pair ? *pair_slot(x, name, value) : NULL;
}

static int pairs_rehash(struct index *x, uint32_t n)
{
    struct postings **old = x->by_pair;
    uint32_t n_old = x->n_by_pair;
    struct postings **slots = mem_zalloc(n, sizeof(struct postings *));
    if (!slots)
        return -ENOMEM;
    x->by_pair = slots;
    x->n_by_pair = n;
    for (uint32_t i = 0; i < n_old; i++)
        if (old[i])
            *pair_slot(x, old[i]->name, old[i]->value) = old[i];
    mem_free(old);
    return 0;
}

/* Room for one more id in the postings of a pair, which are made where they are new. */
static int postings_room(struct index *x, uint32_t name, uint32_t value)
{
    if (2 * (x->n_pairs + 1) > x->n_by_pair) {
        int r = pairs_rehash(x, x->n_by_pair ? 2 * x->n_by_pair : SLOTS_MIN);
        if (r < 0)
            return r;
    }
    struct postings **slot = pair_slot(x, name, value);
    struct postings *p = *slot;
    if (!p) {
        if (!(p = mem_zalloc(1, sizeof(*p))))
            return -ENOMEM;
        p->name = name;
        p->value = value;
        *slot = p;
        x->n_pairs++;
    }
    if (p->n < p->cap)
        return 0;
    uint32_t cap = p->cap ? p->cap + p->cap / 2 : POSTINGS_MIN;
    uint32_t *ids = mem_realloc(p->ids, cap * sizeof(*ids));
    if (!ids)
        return -ENOMEM;
    p->ids = ids;
    p->cap = cap;
    return 0;
}

/* --- adding --- */

static int ids_room(struct index *x, uint32_t id)
{
    if (id < x->cap)
        return 0;
    uint32_t cap = x->cap ? x->cap : IDS_MIN;
    while (cap <= id)
        cap *= 2;
    struct series **by_id = mem_realloc(x->by_id, cap * sizeof(struct series *));
    if (!by_id)
        return -ENOMEM;
    memset(by_id + x->cap, 0, (cap - x->cap) * sizeof(struct series *));
    x->by_id = by_id;
    x->cap = cap;
    return 0;
}

/* All memory that a series needs; what is left over after an error does no harm. */
static int prepare(struct index *x, uint32_t id, const uint32_t *pairs, uint32_t n_pairs)
{
    int r = ids_room(x, id);
    if (r == 0 && 2 * (x->n_series + 1) > x->n_by_labels)
        r = labels_rehash(x, x->n_by_labels ? 2 * x->n_by_labels : SLOTS_MIN);
    for (size_t i = 0; r == 0 && i < n_pairs; i++)
        r = postings_room(x, pairs[2 * i], pairs[2 * i + 1]);
    return r;
}

int index_load(struct index *x, uint32_t id, const uint32_t *pairs, uint32_t n_pairs,
               struct series **ret)
{
    if (id > PLACE_MAX_ID)
        return -ENOSPC;
    if (id < x->n_ids && x->by_id[id])
        return -EBADMSG;
    struct series *s = mem_zalloc(1, sizeof(*s) + (size_t)2 * n_pairs * sizeof(*pairs));
    int r = s ? prepare(x, id, pairs, n_pairs) : -ENOMEM;
    uint32_t hash = hash_pairs(pairs, n_pairs);
    uint32_t *slot = r == 0 ? labels_slot(x, pairs, n_pairs, hash) : NULL;
    if (!slot || *slot != 0) {
        mem_free(s);
        return r < 0 ? r : -EBADMSG;
    }
    s->id = id;
    s->hash = hash;
    s->n_pairs = n_pairs;
    s->t_first = s->t_last = s->t_sealed = INDEX_NEVER;
    if (n_pairs > 0)
        memcpy(s->pairs, pairs, (size_t)2 * n_pairs * sizeof(*pairs));
    for (size_t i = 0; i < n_pairs; i++) {
        struct postings *p = *pair_slot(x, pairs[2 * i], pairs[2 * i + 1]);
        p->ids[p->n++] = id;
        symbols_refer(&x->symbols, pairs[2 * i]);
        symbols_refer(&x->symbols, pairs[2 * i + 1]);
    }
    x->by_id[id] = s;
    *slot = id + 1;
    x->n_series++;
    if (id >= x->n_ids)
        x->n_ids = id + 1;
    *ret = s;
    return 0;
}

int index_add(struct index *x, struct labels l, struct series **ret)
{
    uint32_t n = 0;
    int r = 0;
    if (l.n > MAX_LABELS)
        return -EINVAL;
    uint32_t *pairs = mem_alloc(2 * (l.n + 1) * sizeof(*pairs));
    if (!pairs)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < l.n; i++) {
        if ((r = symbols_take(&x->symbols, l.at[i].name, &pairs[n])) == 0)
            n++;
        if (r == 0 && (r = symbols_take(&x->symbols, l.at[i].value, &pairs[n])) == 0)
            n++;
    }
    if (r == 0)
        r = index_load(x, x->n_ids, pairs, n / 2, ret);
    /* The series has references of its own now. */
    for (uint32_t i = 0; i < n; i++)
        symbols_release(&x->symbols, pairs[i]);
    mem_free(pairs);
    return r;
}

struct series *index_find(const struct index *x, struct labels l)
{
    uint32_t some[64], *pairs = some, n = 0;
    if (x->n_by_labels == 0 || l.n > MAX_LABELS)
        return NULL;
    if (2 * l.n > ARRAY_LEN(some) && !(pairs = mem_alloc(2 * l.n * sizeof(*pairs))))
        return NULL;
    struct series *s = NULL;
    for (size_t i = 0; i < l.n; i++) {
        uint32_t name = symbols_find(&x->symbols, l.at[i].name);
        uint32_t value = name ? symbols_find(&x->symbols, l.at[i].value) : 0;
        if (!value)
            break;
        pairs[n++] = name;
        pairs[n++] = value;
    }
    if (n == 2 * l.n) {
        uint32_t at = *labels_slot(x, pairs, n / 2, hash_pairs(pairs, n / 2));
        s = at ? x->by_id[at - 1] : NULL;
    }
    if (pairs != some)
        mem_free(pairs);
    return s;
}

/* --- forgetting --- */

/* Takes what is at i out of a table of linear probing: whoever behind it would rather stand there
 * moves up. */
static void labels_remove(struct index *x, uint32_t i)
{
    uint32_t mask = x->n_by_labels - 1;
    for (uint32_t j = (i + 1) & mask; x->by_labels[j] != 0; j = (j + 1) & mask) {
        uint32_t home = x->by_id[x->by_labels[j] - 1]->hash & mask;
        if (((j - home) & mask) >= ((j - i) & mask)) {
            x->by_labels[i] = x->by_labels[j];
            i = j;
        }
    }
    x->by_labels[i] = 0;
}

static void pair_remove(struct index *x, uint32_t i)
{
    uint32_t mask = x->n_by_pair - 1;
    for (uint32_t j = (i + 1) & mask; x->by_pair[j]; j = (j + 1) & mask) {
        uint32_t home = hash_pair(x->by_pair[j]->name, x->by_pair[j]->value) & mask;
        if (((j - home) & mask) >= ((j - i) & mask)) {
            x->by_pair[i] = x->by_pair[j];
            i = j;
        }
    }
    x->by_pair[i] = NULL;
}

/* Leaves out the dead, who are not in by_id any more; frees postings without anybody. */
static void postings_sweep(struct index *x)
{
    for (uint32_t i = 0; i < x->n_by_pair;) {
        struct postings *p = x->by_pair[i];
        uint32_t n = 0;
        for (uint32_t j = 0; p && j < p->n; j++)
            if (x->by_id[p->ids[j]])
                p->ids[n++] = p->ids[j];
        if (p)
            p->n = n;
        if (!p || n > 0) {
            i++;
            continue;
        }
        pair_remove(x, i); /* another one may have moved here */
        mem_free(p->ids);
        mem_free(p);
        x->n_pairs--;
    }
}

void index_forget(struct index *x, bool (*is_dead)(void *ctx, const struct series *s), void *ctx)
{
    for (uint32_t i = 0; i < x->n_ids; i++) {
        struct series *s = x->by_id[i];
        if (!s || !is_dead(ctx, s))
            continue;
        labels_remove(x, (uint32_t)(labels_slot(x, s->pairs, s->n_pairs, s->hash) - x->by_labels));
        for (uint32_t j = 0; j < 2 * s->n_pairs; j++)
            symbols_release(&x->symbols, s->pairs[j]);
        series_free(s);
        x->by_id[i] = NULL;
        x->n_series--;
    }
    postings_sweep(x);
}

size_t index_bytes(const struct index *x)
{
    size_t n = symbols_bytes(&x->symbols) + x->cap * sizeof(struct series *) +
               x->n_by_labels * sizeof(*x->by_labels) + x->n_by_pair * sizeof(struct postings *);
    for (uint32_t i = 0; i < x->n_ids; i++)
        if (x->by_id[i])
            n += sizeof(struct series) + (size_t)2 * x->by_id[i]->n_pairs * sizeof(uint32_t);
    for (uint32_t i = 0; i < x->n_by_pair; i++)
        if (x->by_pair[i])
            n += sizeof(struct postings) + x->by_pair[i]->cap * sizeof(uint32_t);
    return n;
}
