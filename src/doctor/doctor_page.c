/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/doctor_page.h"

#include <math.h>

static enum text_format format_of(struct span type)
{
    return span_eq_nocase(type, SPAN("application/openmetrics-text")) ? TEXT_OPENMETRICS
                                                                      : TEXT_PROMETHEUS;
}

int doctor_page_read(struct doctor_page *p, struct span body, struct span type, struct arena *a)
{
    int r = families_read(body, format_of(type), "/metrics", &p->families);

    if (r < 0)
        return r;
    p->is_read = true;
    return engine_recognise(&p->families, a, &p->engine);
}

void doctor_page_done(struct doctor_page *p)
{
    if (p->is_read)
        families_done(&p->families);
    p->is_read = false;
}

/* Durations, and not sizes: their ladders say nothing about latency. */
static bool is_of_durations(struct span name)
{
    return span_ends_with(name, SPAN("_seconds")) || span_ends_with(name, SPAN("_milliseconds")) ||
           span_ends_with(name, SPAN("_ms"));
}

bool doctor_page_overflow(const struct doctor_page *p, size_t *at, struct doctor_overflow *ret)
{
    for (; *at < p->families.n; (*at)++) {
        const struct page_family *f = &p->families.at[*at];
        struct doctor_overflow o = {.family = f, .last_bound = -HUGE_VAL};
        double n_within = 0;

        for (size_t i = 0; i < f->n_hists && is_of_durations(f->name); i++) {
            const struct family_hist *h = &f->hists[i];

            if (h->n_buckets < 2 || !isinf(h->buckets[h->n_buckets - 1].le))
                continue;
            o.n += h->buckets[h->n_buckets - 1].n;
            n_within += h->buckets[h->n_buckets - 2].n;
            o.last_bound = fmax(o.last_bound, h->buckets[h->n_buckets - 2].le);
        }
        if (o.n < DOCTOR_SAMPLES_MIN || n_within >= 0.99 * o.n)
            continue;
        o.share = 1 - n_within / o.n;
        *ret = o;
        (*at)++;
        return true;
    }
    return false;
}
