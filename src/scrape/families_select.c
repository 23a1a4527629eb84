/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scrape/families_select.c - some families of a page, with the place of each series' value.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "scrape/families_private.h"
#include "scrape/text_private.h"

struct selection {
    struct arena *a;
    struct family_slot *slots;
    size_t n_slots;
};

static int add_slot(struct selection *s, struct labels l, double *v)
{
    struct family_slot *slot = &s->slots[s->n_slots];

    if (labels_copy(s->a, l, &slot->labels) < 0)
        return -ENOMEM;
    slot->v = v;
    s->n_slots++;
    return 0;
}

/* --- histograms --- */

struct hist_copy {
    struct family_hist *hists;
    struct family_bucket **buckets; /* of each */
    size_t n;
};

static int hist_cmp(const void *a, const void *b)
{
    return labels_cmp(((const struct family_hist *)a)->labels,
                      ((const struct family_hist *)b)->labels);
}

static int bucket_cmp(const void *a, const void *b)
{
    const struct family_bucket *x = a, *y = b;

    return (x->le > y->le) - (x->le < y->le);
}

/* Where a bucket is counted; NULL: it has no bound. */
static double *bucket_of(const struct hist_copy *c, size_t i, struct labels l)
{
    struct family_bucket key = {.n = 0};

    if (text_value(labels_get(l, SPAN(LABEL_LE)), &key.le) < 0 || isnan(key.le))
        return NULL;
    struct family_bucket *b =
        bsearch(&key, c->buckets[i], c->hists[i].n_buckets, sizeof(*b), bucket_cmp);
    return b ? &b->n : NULL;
}

/* families_hists has put them together in the same way. *ret NULL: it is none of their parts. */
static int part_of(const struct hist_copy *c, const struct page_family *f, struct arena *a,
                   struct labels l, double **ret)
{
    static const struct span parted[] = {SPAN_INIT(LABEL_NAME), SPAN_INIT(LABEL_LE)};
    struct span suffix = span_from(labels_name(l), f->name.n);
    struct family_hist key = {.n_buckets = 0};

    *ret = NULL;
    if (labels_without(a, l, parted, ARRAY_LEN(parted), &key.labels) < 0)
        return -ENOMEM;
    const struct family_hist *h = bsearch(&key, c->hists, c->n, sizeof(*c->hists), hist_cmp);
    if (!h)
        return 0;
    size_t i = (size_t)(h - c->hists);
    if (span_eq(suffix, SPAN("_bucket")))
        *ret = bucket_of(c, i, l);
    else if (span_eq(suffix, SPAN("_sum")) || span_eq(suffix, SPAN("_gsum")))
        *ret = &c->hists[i].sum;
    else if (span_eq(suffix, SPAN("_count")) || span_eq(suffix, SPAN("_gcount")))
        *ret = &c->hists[i].count;
    return 0;
}

static int copy_hists(struct selection *s, const struct page_family *f, struct page_family *to)
{
    struct hist_copy c = {arena_array(s->a, f->n_hists, sizeof(*c.hists)),
                          arena_array(s->a, f->n_hists, sizeof(*c.buckets)), f->n_hists};

    if (!c.hists || !c.buckets)
        return -ENOMEM;
    for (size_t i = 0; i < f->n_hists; i++) {
        size_t n = f->hists[i].n_buckets;
        c.hists[i] = f->hists[i];
        c.buckets[i] = arena_array(s->a, n, sizeof(**c.buckets));
        if (!c.buckets[i] || labels_copy(s->a, f->hists[i].labels, &c.hists[i].labels) < 0)
            return -ENOMEM;
        if (n > 0)
            memcpy(c.buckets[i], f->hists[i].buckets, n * sizeof(**c.buckets));
        c.hists[i].buckets = c.buckets[i];
    }
    to->hists = c.hists;
    to->samples = NULL;
    to->n = 0;
    for (size_t i = 0; i < f->n; i++) {
        double *v;
        int r = part_of(&c, f, s->a, f->samples[i].labels, &v);
        if (r == 0 && v)
            r = add_slot(s, f->samples[i].labels, v);
        if (r < 0)
            return r;
    }
    return 0;
}

/* --- families --- */

static int copy_samples(struct selection *s, const struct page_family *f, struct page_family *to)
{
    struct family_sample *samples = arena_array(s->a, f->n, sizeof(*samples));

    if (!samples)
        return -ENOMEM;
    for (size_t i = 0; i < f->n; i++) {
        samples[i] = f->samples[i];
        if (add_slot(s, f->samples[i].labels, &samples[i].v) < 0)
            return -ENOMEM;
        samples[i].labels = s->slots[s->n_slots - 1].labels;
    }
    to->samples = samples;
    return 0;
}

static int copy_family(struct selection *s, const struct page_family *f, struct page_family *to)
{
    *to = *f;
    to->name = arena_dup(s->a, f->name);
    to->help = to->unit = SPAN("");
    if (!to->name.p)
        return -ENOMEM;
    return f->n_hists > 0 ? copy_hists(s, f, to) : copy_samples(s, f, to);
}

static int slot_cmp(const void *a, const void *b)
{
    return labels_cmp(((const struct family_slot *)a)->labels,
                      ((const struct family_slot *)b)->labels);
}

int families_select(const struct families *f, const struct span *names, size_t n, struct arena *a,
                    struct families_selection *ret)
{
    struct page_family *at = arena_zalloc(a, n, sizeof(*at));
    struct selection s = {.a = a};
    size_t n_found = 0, n_samples = 0;

    for (size_t i = 0; i < n; i++) {
        const struct page_family *fam = families_find(f, names[i]);
        n_samples += fam ? fam->n : 0;
    }
    s.slots = arena_array(a, n_samples, sizeof(*s.slots));
    if (!at || !s.slots)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct page_family *fam = families_find(f, names[i]);
        if (fam && copy_family(&s, fam, &at[n_found++]) < 0)
            return -ENOMEM;
    }
    if (s.n_slots > 1)
        qsort(s.slots, s.n_slots, sizeof(*s.slots), slot_cmp);
    *ret = (struct families_selection){at, n_found, s.slots, s.n_slots};
    return 0;
}
