/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scrape/families_hists.c - samples of a histogram put together by label set.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "scrape/families_private.h"
#include "scrape/text_private.h"

enum part { PART_BUCKET, PART_SUM, PART_COUNT, PART_NONE };

struct part_ref {
    struct labels labels; /* without name and bound */
    enum part part;
    double le, v;
    size_t line;
};

static enum part part_of(const struct page_family *f, struct span name)
{
    static const struct {
        struct span suffix;
        enum part part;
    } parts[] = {
        {SPAN_INIT("_bucket"), PART_BUCKET}, {SPAN_INIT("_sum"), PART_SUM},
        {SPAN_INIT("_count"), PART_COUNT},   {SPAN_INIT("_gsum"), PART_SUM},
        {SPAN_INIT("_gcount"), PART_COUNT},
    };
    struct span suffix = span_from(name, f->name.n);

    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (span_eq(suffix, parts[i].suffix))
            return parts[i].part;
    return PART_NONE;
}

static int ref_cmp(const void *a, const void *b)
{
    const struct part_ref *x = a, *y = b;
    int c = labels_cmp(x->labels, y->labels);

    if (c != 0)
        return c;
    if (x->part != y->part)
        return x->part < y->part ? -1 : 1;
    if (x->part == PART_BUCKET && x->le != y->le)
        return x->le < y->le ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

static void advise(struct families_reading *r, const struct page_family *f, size_t line,
                   const char *what)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct err *err = families_advise(r, line);

    (void)err_set(err, -EINVAL, "histogram \"%s\" %s", err_list_shown(f->name, shown), what);
}

/* The parts of a family's histograms; *ret_n: how many. */
static int collect(struct families_reading *r, const struct page_family *f, struct part_ref *refs,
                   size_t *ret_n)
{
    static const struct span parted[] = {SPAN_INIT(LABEL_NAME), SPAN_INIT(LABEL_LE)};

    *ret_n = 0;
    for (size_t i = 0; i < f->n; i++) {
        const struct family_sample *s = &f->samples[i];
        struct part_ref ref = {.part = part_of(f, labels_name(s->labels)), .v = s->v};
        ref.line = s->line;
        if (ref.part == PART_NONE) {
            advise(r, f, s->line, "has a sample that is none of its parts");
            continue;
        }
        if (ref.part == PART_BUCKET &&
            (text_value(labels_get(s->labels, SPAN(LABEL_LE)), &ref.le) < 0 || isnan(ref.le))) {
            advise(r, f, s->line, "has a bucket without a bound");
            continue;
        }
        if (labels_without(&r->out->_arena, s->labels, parted, ARRAY_LEN(parted), &ref.labels) < 0)
            return -ENOMEM;
        refs[(*ret_n)++] = ref;
    }
    return 0;
}

/* One histogram from the front of refs; returns how many of them it took. */
static size_t take_hist(struct families_reading *r, const struct page_family *f,
                        const struct part_ref *refs, size_t n, struct family_bucket *buckets,
                        struct family_hist *ret)
{
    size_t i = 0;

    *ret = (struct family_hist){
        .labels = refs[0].labels, .buckets = buckets, .sum = (double)NAN, .count = (double)NAN};
    for (; i < n && labels_eq(refs[i].labels, ret->labels); i++) {
        struct family_bucket b = {refs[i].le, refs[i].v};
        if (refs[i].part == PART_SUM)
            ret->sum = refs[i].v;
        else if (refs[i].part == PART_COUNT)
            ret->count = refs[i].v;
        else if (ret->n_buckets > 0 && !(buckets[ret->n_buckets - 1].le < b.le)) {
            advise(r, f, refs[i].line, "has a bound twice, the later bucket counts");
            buckets[ret->n_buckets - 1] = b;
        } else
            buckets[ret->n_buckets++] = b;
    }
    return i;
}

int families_hists(struct families_reading *r, struct page_family *family)
{
    struct arena *a = &r->out->_arena;
    size_t n_refs;

    if (family->n == 0 ||
        (family->type != METRIC_HISTOGRAM && family->type != METRIC_GAUGE_HISTOGRAM))
        return 0;
    struct part_ref *refs = arena_array(&r->scratch, family->n, sizeof(*refs));
    if (!refs || collect(r, family, refs, &n_refs) < 0)
        return -ENOMEM;
    if (n_refs > 1)
        qsort(refs, n_refs, sizeof(*refs), ref_cmp);
    struct family_bucket *buckets = arena_array(a, n_refs, sizeof(*buckets));
    struct family_hist *hists = arena_array(a, n_refs, sizeof(*hists));
    if (!buckets || !hists)
        return -ENOMEM;
    family->hists = hists;
    for (size_t i = 0; i < n_refs;) {
        struct family_hist *h = &hists[family->n_hists++];
        i += take_hist(r, family, refs + i, n_refs - i, buckets, h);
        buckets += h->n_buckets;
    }
    return 0;
}
