/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample.h - random records whose every field may be anything, and what tells two of them apart.
 */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <stdio.h>

#include "base/rng.h"
#include "store/fields.h"

struct sample {
    struct record r;
    char labels[64], timeline[64];
};

static inline int64_t sample_number(struct rng *g, enum record_type type)
{
    static const int64_t edges[] = {0,         1,        -2, 255, INT32_MAX, INT64_C(1) << 40,
                                    INT64_MAX, INT64_MIN};
    double d = (double)rng_below(g, 4000) / 64;
    int64_t v = (int64_t)rng_lognormal(g, 1e6, 2);
    if (type == RECORD_DOUBLE)
        memcpy(&v, &d, sizeof(v));
    else if (rng_below(g, 64) == 0)
        v = edges[rng_below(g, ARRAY_LEN(edges))];
    if (type == RECORD_ENUM)
        return (int64_t)rng_below(g, 3);
    if (type == RECORD_BOOL)
        return v & 1;
    if (type == RECORD_FLAGS)
        return v & 0x1ff;
    if (type == RECORD_INT)
        return (int)(v % 600);
    return type == RECORD_U32 ? (int64_t)(uint32_t)v : v;
}

static inline size_t sample_bytes(struct rng *g, char *dst, size_t cap)
{
    size_t n = rng_below(g, cap);
    for (size_t i = 0; i < n; i++)
        dst[i] = (char)rng_below(g, 256);
    return n;
}

/* A row that ended at end_us; id: of the request, one in four without trace and the like. */
static inline void sample_fill(struct sample *s, struct rng *g, int64_t end_us)
{
    static const char *const texts[] = {"chat_completions", "responses", "", "other"};
    struct record *r = &s->r;
    record_init(r);
    for (size_t i = 0; i < record_n_fields; i++) {
        const struct record_field *f = &record_fields[i];
        if (rng_below(g, 4) == 0)
            continue;
        if (!fields_is_text(f->type)) {
            fields_set_number(f, r, sample_number(g, f->type));
        } else if (f->type == RECORD_CSTR) {
            fields_set_text(f, r, span_cstr(texts[rng_below(g, ARRAY_LEN(texts))]));
        } else if (f->type == RECORD_STR) {
            char text[24];
            int n = snprintf(text, sizeof(text), "%s-%u", texts[rng_below(g, 4)],
                             (unsigned)rng_below(g, i % 3 == 0 ? 100000 : 7));
            fields_set_text(f, r, span_of(text, (size_t)n));
        }
    }
    rng_hex(g, r->request_id, 32);
    r->request_id[32] = '\0';
    snprintf(s->labels, sizeof(s->labels), "team%ct%u%ctier%cgold", 0, (unsigned)rng_below(g, 5), 0,
             0);
    r->labels = rng_below(g, 3) == 0 ? (struct span){0} : span_of(s->labels, 18);
    r->timeline = span_of(
        s->timeline, rng_below(g, 9) == 0 ? sample_bytes(g, s->timeline, sizeof(s->timeline)) : 0);
    r->ttft_ns = rng_below(g, 5) == 0 ? -1 : (int64_t)rng_below(g, 1000000);
    r->total_ns = (int64_t)rng_below(g, 5000000000);
    r->started_at.us = end_us - r->total_ns / NS_PER_US;
}

/* The name of the first field in which they differ, NULL: in none. */
static inline const char *sample_difference(const struct record *a, const struct record *b)
{
    for (size_t i = 0; i < record_n_fields; i++) {
        const struct record_field *f = &record_fields[i];
        bool is_same = fields_is_text(f->type) ? span_eq(fields_text(f, a), fields_text(f, b))
                                               : fields_number(f, a) == fields_number(f, b);
        if (!is_same)
            return f->name;
    }
    return NULL;
}

static inline const struct record_field *sample_field(const char *name)
{
    int i = fields_find(span_cstr(name));
    return i < 0 ? NULL : &record_fields[i];
}

#endif
