/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/present.c - series by their labels, and rounds.
 */
#include "collect/present.h"

#include <errno.h>

#include "base/mem.h"
#include "series/reader.h"

enum { BUCKETS_MIN = 64, SWEEP_ROUNDS = 16 };

void present_init(struct present *l)
{
    *l = (struct present){._buckets = NULL};
}

void present_done(struct present *l)
{
    for (size_t i = 0; i < l->_n_buckets; i++)
        while (l->_buckets[i]) {
            struct present_series *s = l->_buckets[i];
            l->_buckets[i] = s->_next;
            keeper_let_go(l->_keeper, &s->_piece);
        }
    l->_keeper = keeper_free(l->_keeper);
    mem_free(l->_buckets);
    present_init(l);
}

void present_begin(struct present *l, const struct batch *out)
{
    keeper_tidy(l->_keeper);
    l->_round++;
    l->_n_before = out->n;
    l->_n_again = 0;
}

static int grow(struct present *l)
{
    size_t n = l->_n_buckets > 0 ? 2 * l->_n_buckets : BUCKETS_MIN;
    struct present_series **buckets = mem_zalloc(n, sizeof(struct present_series *));

    if (!buckets)
        return -ENOMEM;
    for (size_t i = 0; i < l->_n_buckets; i++)
        while (l->_buckets[i]) {
            struct present_series *s = l->_buckets[i];
            l->_buckets[i] = s->_next;
            s->_next = buckets[s->_hash & (n - 1)];
            buckets[s->_hash & (n - 1)] = s;
        }
    mem_free(l->_buckets);
    l->_buckets = buckets;
    l->_n_buckets = n;
    return 0;
}

static struct span put(char **at, struct span s)
{
    if (s.n > 0)
        memcpy(*at, s.p, s.n);
    *at += s.n;
    return span_of(*at - s.n, s.n);
}

/* In one piece with its labels. */
static struct present_series *series_new(struct labels l, uint64_t hash)
{
    size_t n_bytes = l.n * sizeof(struct label);

    for (size_t i = 0; i < l.n; i++)
        n_bytes += l.at[i].name.n + l.at[i].value.n;
    struct present_series *s = mem_alloc(sizeof(*s) + n_bytes);
    if (!s)
        return NULL;
    struct label *pairs = (struct label *)(s + 1);
    char *at = (char *)(pairs + l.n);
    *s = (struct present_series){.labels = {pairs, l.n}, ._hash = hash, ._n_bytes = n_bytes};
    for (size_t i = 0; i < l.n; i++)
        pairs[i] = (struct label){put(&at, l.at[i].name), put(&at, l.at[i].value)};
    return s;
}

int present_hold(struct present *l, struct labels labels, struct present_series **ret)
{
    uint64_t hash = labels_hash(labels);
    struct present_series *s = l->_n_buckets > 0 ? l->_buckets[hash & (l->_n_buckets - 1)] : NULL;

    while (s && (s->_hash != hash || !labels_eq(s->labels, labels)))
        s = s->_next;
    if (!s) {
        if (!l->_keeper && keeper_new(&l->_keeper) < 0)
            return -ENOMEM;
        if (l->_n >= l->_n_buckets && grow(l) < 0)
            return -ENOMEM;
        s = series_new(labels, hash);
        if (!s)
            return -ENOMEM;
        s->_next = l->_buckets[hash & (l->_n_buckets - 1)];
        l->_buckets[hash & (l->_n_buckets - 1)] = s;
        l->_n++;
    }
    s->_n_held++;
    *ret = s;
    return 0;
}

void present_let_go(struct present_series *s)
{
    if (s)
        s->_n_held--;
}

static int add(const struct present *l, const struct present_series *s, int64_t t_ms, double v,
               struct batch *out)
{
    return batch_add_kept(out, l->_keeper, s->labels, s->_n_bytes, t_ms, v);
}

static void note_change(struct present *l, struct present_series *s, bool ends)
{
    s->_ends = ends;
    if (s->_has_changed || s->_is_there == ends)
        return;
    s->_has_changed = true;
    s->_next_changed = l->_changed;
    l->_changed = s;
}

int present_tell(struct present *l, struct present_series *s, int64_t t_ms, double v, bool ends,
                 struct batch *out)
{
    if (s->_round == l->_round) {
        out->at[s->_at].t_ms = t_ms;
        out->at[s->_at].v = v;
        note_change(l, s, ends);
        return 0;
    }
    int r = add(l, s, t_ms, v, out);
    if (r < 0)
        return r;
    s->_at = out->n - 1;
    s->_round = l->_round;
    l->_n_again += s->_is_there;
    note_change(l, s, ends);
    return 0;
}

static int add_markers(const struct present *l, int64_t t_ms, struct batch *out)
{
    int r = 0;

    for (size_t i = 0; i < l->_n_buckets; i++)
        for (const struct present_series *s = l->_buckets[i]; s && r == 0; s = s->_next)
            if (s->_is_there && s->_round != l->_round)
                r = add(l, s, t_ms, series_stale(), out);
    return r;
}

/* What was not told is not there any more, and what nobody needs is forgotten. */
static void sweep(struct present *l)
{
    for (size_t i = 0; i < l->_n_buckets; i++)
        for (struct present_series **at = &l->_buckets[i]; *at;) {
            struct present_series *s = *at;
            if (s->_is_there && s->_round != l->_round) {
                s->_is_there = false;
                l->_n_there--;
            }
            if (s->_is_there || s->_n_held > 0) {
                at = &s->_next;
                continue;
            }
            *at = s->_next;
            keeper_let_go(l->_keeper, &s->_piece);
            l->_n--;
        }
}

static void take_changes(struct present *l, bool is_kept)
{
    while (l->_changed) {
        struct present_series *s = l->_changed;
        l->_changed = s->_next_changed;
        s->_has_changed = false;
        if (!is_kept || s->_is_there == s->_ends)
            continue;
        s->_is_there = s->_ends;
        l->_n_there += s->_ends ? 1 : (size_t)-1;
    }
}

int present_end(struct present *l, int64_t t_ms, struct batch *out)
{
    bool has_gone = l->_n_again < l->_n_there;
    size_t n = out->n;
    int r = has_gone ? add_markers(l, t_ms, out) : 0;

    if (r < 0) {
        out->n = n;
        return r;
    }
    take_changes(l, true);
    if (has_gone || l->_round % SWEEP_ROUNDS == 0) /* pages mostly stay as they are */
        sweep(l);
    return 0;
}

void present_abort(struct present *l, struct batch *out)
{
    out->n = l->_n_before;
    take_changes(l, false);
    l->_round++; /* nothing was told in it */
}
