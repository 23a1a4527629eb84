/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/parts.c - the samples of a page that a part of a source means.
 *
 * Of ranks that work on the same requests (tensor, pipeline, expert parallel) only the lowest is
 * taken: its numbers are those of all.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/num.h"
#include "engine/engine_private.h"
#include "series/matcher.h"

static const struct span rank_labels[] = {
    SPAN_INIT("moe_ep_rank"),
    SPAN_INIT("pp_rank"),
    SPAN_INIT("tp_rank"),
};

bool parts_is_hist(const struct engine_source *s)
{
    if (s->how == ENGINE_HIST_SUM)
        return true;
    return s->how == ENGINE_ONE && signal_table[s->signal].type == METRIC_HISTOGRAM &&
           (s->flags & ENGINE_SOURCE_MEAN_ONLY) == 0;
}

/* label="value", and the other operators; the tables are ours, and a test reads all of them. */
static int select_init(const char *select, struct arena *a, struct matcher *ret)
{
    struct span text = span_cstr(select), name = span_of(text.p, strcspn(select, "=!"));
    enum matcher_op op = MATCH_EQ;

    text = span_from(text, name.n);
    if (span_starts_with(text, SPAN("=~")))
        op = MATCH_RE;
    else if (span_starts_with(text, SPAN("!~")))
        op = MATCH_NRE;
    else if (span_starts_with(text, SPAN("!=")))
        op = MATCH_NE;
    text = span_from(text, op == MATCH_EQ ? 2 : 3); /* and the quote */
    if (text.n == 0)
        return -EINVAL;
    return matcher_init(a, op, name, span_of(text.p, text.n - 1), ret, NULL);
}

static bool is_dropped(const struct engine_found *e, const struct engine_source *s, double v)
{
    return isnan(v) || ((s->flags & ENGINE_SOURCE_MINUS_ONE) != 0 && v == -1) ||
           (e->map->is_sentinel && e->map->is_sentinel(v));
}

/* NaN: not a whole number ("None"). */
static double number_of(struct span text)
{
    uint64_t v;

    return num_parse_u64(text, &v) < 0 ? (double)NAN : (double)v;
}

static double product_of(const struct engine_source *s, struct labels l)
{
    double v = 1;

    for (size_t i = 0; i < ENGINE_FACTORS_MAX && s->factors[i]; i++)
        v *= number_of(labels_get(l, span_cstr(s->factors[i])));
    return v;
}

/* --- ranks --- */

static double rank_of(struct labels l, size_t i)
{
    double v = number_of(labels_get(l, rank_labels[i]));

    return isnan(v) ? 0 : v;
}

static bool has_ranks(const struct part_read *r)
{
    for (size_t i = 0; i < r->n; i++)
        for (size_t k = 0; k < ARRAY_LEN(rank_labels); k++)
            if (labels_get(r->at[i].labels, rank_labels[k]).n > 0)
                return true;
    return false;
}

struct ranked {
    struct labels others;
    const struct part_sample *sample;
};

static int ranked_cmp(const void *pa, const void *pb)
{
    const struct ranked *a = pa, *b = pb;
    int r = labels_cmp(a->others, b->others);

    for (size_t k = 0; k < ARRAY_LEN(rank_labels) && r == 0; k++) {
        double x = rank_of(a->sample->labels, k), y = rank_of(b->sample->labels, k);

        r = (x > y) - (x < y);
    }
    return r;
}

static int keep_lowest_ranks(struct part_read *r, struct arena *a)
{
    struct ranked *all = arena_array(a, r->n, sizeof *all);
    struct part_sample *kept = arena_array(a, r->n, sizeof *kept);
    size_t n = 0;

    if (!all || !kept)
        return -ENOMEM;
    for (size_t i = 0; i < r->n; i++) {
        all[i].sample = &r->at[i];
        if (labels_without(a, r->at[i].labels, rank_labels, ARRAY_LEN(rank_labels),
                           &all[i].others) < 0)
            return -ENOMEM;
    }
    qsort(all, r->n, sizeof *all, ranked_cmp);
    for (size_t i = 0; i < r->n; i++)
        if (i == 0 || !labels_eq(all[i].others, all[i - 1].others))
            kept[n++] = *all[i].sample;
    r->at = kept;
    r->n = n;
    return 0;
}

/* --- reading --- */

static void take_hists(const struct page_family *fam, const struct matcher *m, struct part_read *r)
{
    for (size_t i = 0; i < fam->n_hists; i++) {
        const struct family_hist *h = &fam->hists[i];

        if (m && !matcher_matches(m, labels_get(h->labels, m->name)))
            continue;
        r->n_matched++;
        r->at[r->n++] = (struct part_sample){.labels = h->labels, .hist = h};
    }
}

static void take_samples(const struct page_family *fam, const struct engine_found *e,
                         const struct engine_source *s, const struct matcher *m,
                         struct part_read *r)
{
    for (size_t i = 0; i < fam->n; i++) {
        struct labels l = fam->samples[i].labels;
        double v = s->how == ENGINE_FACTORS ? product_of(s, l) : fam->samples[i].v;

        if (m && !matcher_matches(m, labels_get(l, m->name)))
            continue;
        r->n_matched++;
        if (!is_dropped(e, s, v))
            r->at[r->n++] = (struct part_sample){.labels = l, .v = v};
    }
}

/* A name whose type is another one than a source needs is not what the source means. */
static bool has_shape(const struct page_family *fam, bool is_hist)
{
    bool is_plain = fam->type != METRIC_HISTOGRAM && fam->type != METRIC_SUMMARY &&
                    fam->type != METRIC_GAUGE_HISTOGRAM;

    return is_hist ? fam->n_hists > 0 : is_plain;
}

int parts_read(const struct families *f, const struct engine_found *e,
               const struct engine_source *s, size_t part, struct arena *a, struct part_read *ret)
{
    const struct page_family *fam = naming_family(f, e, s->part[part].metric);
    bool is_hist = parts_is_hist(s);
    struct matcher m = {.pattern = NULL};
    int r = 0;

    *ret = (struct part_read){.at = NULL};
    if (!fam || !has_shape(fam, is_hist))
        return 0;
    ret->at = arena_array(a, is_hist ? fam->n_hists : fam->n, sizeof *ret->at);
    if (!ret->at)
        return -ENOMEM;
    if (s->part[part].select)
        r = select_init(s->part[part].select, a, &m);
    if (r < 0)
        return r;
    const struct matcher *used = s->part[part].select ? &m : NULL;
    if (is_hist)
        take_hists(fam, used, ret);
    else
        take_samples(fam, e, s, used, ret);
    if (used) {
        r = matcher_error(&m);
        matcher_done(&m);
    }
    return r == 0 && has_ranks(ret) ? keep_lowest_ranks(ret, a) : r;
}
