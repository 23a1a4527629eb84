/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/reader.c - columns of samples.
 */
#include "series/reader.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"

static uint64_t bits_of(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    return bits;
}

bool series_is_stale(double v)
{
    return bits_of(v) == SERIES_STALE_BITS;
}

bool series_same_bits(double a, double b)
{
    return bits_of(a) == bits_of(b);
}

double series_stale(void)
{
    uint64_t bits = SERIES_STALE_BITS;
    double v;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

void samples_init(struct samples *s, struct arena_budget *budget)
{
    *s = (struct samples){.n = 0};
    arena_init(&s->arena, budget);
}

/* What the columns count for in the budget. */
static size_t columns_bytes(const struct samples *s, size_t cap)
{
    return cap * (sizeof(*s->t) + sizeof(*s->v) + (s->h ? sizeof(const struct fhist *) : 0));
}

void samples_done(struct samples *s)
{
    struct arena_budget *budget = s->arena._budget;

    arena_budget_give(budget, columns_bytes(s, s->_cap));
    mem_free(s->t);
    mem_free(s->v);
    mem_free(s->h);
    arena_done(&s->arena);
    samples_init(s, budget);
}

void samples_clear(struct samples *s)
{
    s->n = 0;
    arena_reset(&s->arena);
}

/* One column; a larger one is kept even when the next fails, which _cap does not tell. */
static int column_grow(void *column, size_t cap, size_t size)
{
    void *old;
    void *p;

    memcpy(&old, column, sizeof(old));
    p = mem_realloc(old, cap * size);
    if (!p)
        return -ENOMEM;
    memcpy(column, &p, sizeof(p));
    return 0;
}

static int samples_grow(struct samples *s)
{
    enum { CAP_MIN = 16 };
    size_t cap = s->_cap > 0 ? 2 * s->_cap : CAP_MIN;
    size_t n_more = columns_bytes(s, cap) - columns_bytes(s, s->_cap);
    int r;

    if (cap > SIZE_MAX / 64 || !arena_budget_take(s->arena._budget, n_more))
        return -ENOMEM;
    r = column_grow(&s->t, cap, sizeof(*s->t));
    if (r == 0)
        r = column_grow(&s->v, cap, sizeof(*s->v));
    if (r == 0 && s->h)
        r = column_grow(&s->h, cap, sizeof(const struct fhist *));
    if (r == 0)
        s->_cap = cap;
    else
        arena_budget_give(s->arena._budget, n_more);
    return r;
}

/* The column of histograms, when the first one comes. */
static int samples_need_hists(struct samples *s)
{
    size_t n_bytes = s->_cap * sizeof(const struct fhist *);

    if (s->h)
        return 0;
    if (!arena_budget_take(s->arena._budget, n_bytes))
        return -ENOMEM;
    s->h = mem_zalloc(s->_cap, sizeof(const struct fhist *));
    if (!s->h)
        arena_budget_give(s->arena._budget, n_bytes);
    return s->h ? 0 : -ENOMEM;
}

int samples_add(struct samples *s, int64_t t_ms, double v)
{
    if (s->n == s->_cap) {
        int r = samples_grow(s);
        if (r != 0)
            return r;
    }
    s->t[s->n] = t_ms;
    s->v[s->n] = v;
    if (s->h)
        s->h[s->n] = NULL;
    s->n++;
    return 0;
}

int samples_add_hist(struct samples *s, int64_t t_ms, const struct fhist *h)
{
    int r = samples_add(s, t_ms, h->sum);

    if (r == 0 && (r = samples_need_hists(s)) != 0)
        s->n--;
    if (r == 0)
        s->h[s->n - 1] = h;
    return r;
}
