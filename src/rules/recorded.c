/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/recorded.h"

#include <errno.h>

#include "base/mem.h"
#include "series/reader.h"

enum { SLOTS_MIN = 64 };

void recorded_done(struct recorded_table *t)
{
    mem_free(t->slots);
    *t = (struct recorded_table){.slots = NULL};
}

uint64_t recorded_name_hash(struct span name)
{
    struct label pair = {SPAN(LABEL_NAME), name};
    return labels_hash((struct labels){&pair, 1});
}

static struct recorded **slot_of(const struct recorded_table *t, uint64_t hash)
{
    return &t->slots[hash & (t->n_slots - 1)];
}

static struct recorded *find(const struct recorded_table *t, struct labels l, uint64_t hash)
{
    if (t->n_slots == 0)
        return NULL;
    for (struct recorded *s = *slot_of(t, hash); s; s = s->_next)
        if (s->hash == hash && labels_eq(s->labels, l))
            return s;
    return NULL;
}

struct recorded *recorded_find(const struct recorded_table *t, struct labels l)
{
    return find(t, l, labels_hash(l));
}

static int grow(struct recorded_table *t)
{
    struct recorded_table larger = *t;
    larger.n_slots = t->n_slots > 0 ? 2 * t->n_slots : SLOTS_MIN;
    larger.slots = mem_zalloc(larger.n_slots, sizeof(struct recorded *));
    if (!larger.slots)
        return -ENOMEM;
    for (size_t i = 0; i < t->n_slots; i++)
        for (struct recorded *s = t->slots[i], *next; s; s = next) {
            struct recorded **slot = slot_of(&larger, s->hash);
            next = s->_next;
            s->_next = *slot;
            *slot = s;
        }
    mem_free(t->slots);
    *t = larger;
    return 0;
}

static int make(struct recorded_table *t, struct labels l, uint64_t hash, struct recorded **ret)
{
    int r = t->n >= t->n_slots ? grow(t) : 0;
    if (r < 0)
        return r;
    struct recorded *s = mem_zalloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    r = pairs_new(l, &s->_pairs);
    if (r < 0) {
        mem_free(s);
        return r;
    }
    s->labels = s->_pairs->labels;
    s->hash = hash;
    s->name_hash = recorded_name_hash(labels_name(l));
    s->last_ms = RECORDED_NEVER;
    s->n_refs = 1;
    struct recorded **slot = slot_of(t, hash);
    s->_next = *slot;
    *slot = s;
    t->n++;
    *ret = s;
    return 0;
}

int recorded_get(struct recorded_table *t, struct labels l, struct recorded **ret)
{
    uint64_t hash = labels_hash(l);
    struct recorded *s = find(t, l, hash);
    if (!s)
        return make(t, l, hash, ret);
    *ret = recorded_ref(s);
    return 0;
}

struct recorded *recorded_ref(struct recorded *s)
{
    s->n_refs++;
    return s;
}

void recorded_unref(struct recorded_table *t, struct recorded *s)
{
    if (--s->n_refs > 0)
        return;
    struct recorded **at = slot_of(t, s->hash);
    while (*at != s)
        at = &(*at)->_next;
    *at = s->_next;
    t->n--;
    (void)pairs_unref(s->_pairs);
    mem_free(s->at);
    mem_free(s);
}

enum recorded_verdict recorded_judge(const struct recorded *s, int64_t t_ms, double v, bool is_hist)
{
    if (t_ms > s->last_ms)
        return RECORDED_TAKEN;
    if (t_ms < s->last_ms)
        return RECORDED_OLD;
    if (is_hist || s->was_hist) /* what is in two histograms is not compared */
        return is_hist == s->was_hist ? RECORDED_SAME : RECORDED_DUPLICATE;
    return series_same_bits(v, s->last_v) ? RECORDED_SAME : RECORDED_DUPLICATE;
}
