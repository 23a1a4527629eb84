/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top/feed.c - series by what they are, in one table; their values in arrays, one for a moment.
 */
#include "top/feed.h"

#include <errno.h>
#include <math.h>

#include "base/fnv.h"
#include "base/mem.h"
#include "base/num.h"
#include "scrape/text.h"
#include "top/feed_private.h"

const char top_feed_question[] =
    "{__name__=~\"llm_(queue|ttft|tpot|e2e)_seconds_bucket|llm_(requests|tokens)_total|"
    "llm_inflight_requests|inferometer_build_info\"}[5m]"; /* the last one: all moments */

/* Names of series, and the family of those whose labels do not decide it. */
static const struct {
    struct span name;
    enum top_family family;
} names[] = {
    {SPAN_INIT("llm_queue_seconds_bucket"), TOP_QUEUE},
    {SPAN_INIT("llm_ttft_seconds_bucket"), TOP_TTFT},
    {SPAN_INIT("llm_tpot_seconds_bucket"), TOP_TPOT},
    {SPAN_INIT("llm_e2e_seconds_bucket"), TOP_E2E},
    {SPAN_INIT("llm_requests_total"), TOP_OK},
    {SPAN_INIT("llm_tokens_total"), TOP_COMPLETION_TOKENS},
    {SPAN_INIT("llm_inflight_requests"), TOP_INFLIGHT},
};

static const struct span not_errors[] = {
    SPAN_INIT("ok"),
    SPAN_INIT("client_gone_before_first"),
    SPAN_INIT("client_gone_after_first"),
    SPAN_INIT("unauthorized"),
    SPAN_INIT("forbidden"),
    SPAN_INIT("bad_request"),
};

bool top_feed_is_error(struct span outcome)
{
    for (size_t i = 0; i < ARRAY_LEN(not_errors); i++)
        if (span_eq(outcome, not_errors[i]))
            return false;
    return true;
}

void top_feed_init(struct top_feed *f, const struct span *dims, size_t n)
{
    *f = (struct top_feed){.n_dims = n < TOP_DIMS_MAX ? n : TOP_DIMS_MAX};
    for (size_t i = 0; i < f->n_dims; i++)
        f->dims[i] = dims[i];
    arena_init(&f->_arena, NULL);
}

void top_feed_done(struct top_feed *f)
{
    for (size_t i = 0; i < f->n_moments; i++)
        mem_free(f->moments[i].v);
    mem_free(f->series);
    mem_free(f->_series_index.slots);
    mem_free(f->_texts_index.slots);
    mem_free(f->_texts);
    arena_done(&f->_arena);
    *f = (struct top_feed){0};
}

/* --- texts and series by number --- */

/* Room for one more of n. */
static int grow(void **at, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return 0;
    size_t more = *cap ? *cap * 2 : 64;
    void *p = mem_realloc(*at, more * size);
    if (!p)
        return -ENOMEM;
    *at = p;
    *cap = more;
    return 0;
}

typedef uint64_t (*hash_of)(const struct top_feed *f, size_t number);

static void index_put(const struct top_feed *f, struct top_index *x, size_t number, hash_of hash)
{
    size_t at = (size_t)hash(f, number) & (x->cap - 1);
    while (x->slots[at] != 0)
        at = (at + 1) & (x->cap - 1);
    x->slots[at] = (uint32_t)number + 1;
}

/* Twice as large as needed for one more than n, at least. */
static int index_grow(const struct top_feed *f, struct top_index *x, size_t n, hash_of hash)
{
    if (2 * (n + 1) <= x->cap)
        return 0;
    size_t cap = x->cap ? 2 * x->cap : 256;
    uint32_t *slots = mem_zalloc(cap, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    mem_free(x->slots);
    *x = (struct top_index){slots, cap};
    for (size_t i = 0; i < n; i++)
        index_put(f, x, i, hash);
    return 0;
}

/* What text hashes to, from its 20th bit on. */
static uint64_t hash_text(struct span text)
{
    return fnv_add(FNV_START, text) >> 20;
}

static uint64_t hash_text_at(const struct top_feed *f, size_t number)
{
    return hash_text(f->_texts[number]);
}

/* 1: *ret is its number and 1; 0: there is no room for a series with a new one. */
static int text_number(struct top_feed *f, struct span text, uint32_t *ret)
{
    const struct top_index *x = &f->_texts_index;
    size_t at = x->cap > 0 ? (size_t)hash_text(text) & (x->cap - 1) : 0;
    for (; x->cap > 0 && x->slots[at] != 0; at = (at + 1) & (x->cap - 1))
        if (span_eq(f->_texts[x->slots[at] - 1], text)) {
            *ret = x->slots[at];
            return 1;
        }
    if (f->n_series == TOP_SERIES_MAX)
        return 0;
    void *texts = f->_texts;
    int r = grow(&texts, f->n_texts, &f->_texts_cap, sizeof(*f->_texts));
    f->_texts = texts;
    if (r == 0)
        r = index_grow(f, &f->_texts_index, f->n_texts, hash_text_at);
    if (r < 0)
        return r;
    struct span copy = arena_dup(&f->_arena, text);
    if (!copy.p)
        return -ENOMEM;
    f->_texts[f->n_texts] = copy;
    index_put(f, &f->_texts_index, f->n_texts++, hash_text_at);
    *ret = (uint32_t)f->n_texts;
    return 1;
}

struct span top_feed_text(const struct top_feed *f, uint32_t number)
{
    return number == 0 ? SPAN("") : f->_texts[number - 1];
}

static uint64_t hash_series(const struct top_series *s)
{
    uint64_t h = (uint64_t)s->family * 64 + s->bound;
    for (size_t i = 0; i < TOP_DIMS_MAX; i++)
        h = (h ^ s->dims[i]) * 0x9e3779b97f4a7c15u;
    return h >> 20;
}

static uint64_t hash_series_at(const struct top_feed *f, size_t number)
{
    return hash_series(&f->series[number]);
}

static bool is_same(const struct top_series *a, const struct top_series *b)
{
    bool is = a->family == b->family && a->bound == b->bound;
    for (size_t i = 0; i < TOP_DIMS_MAX; i++)
        is = is && a->dims[i] == b->dims[i];
    return is;
}

/* 1: *ret is its number; 0: there is no room for one more. */
static int series_number(struct top_feed *f, const struct top_series *s, size_t *ret)
{
    const struct top_index *x = &f->_series_index;
    size_t at = x->cap > 0 ? (size_t)hash_series(s) & (x->cap - 1) : 0;
    for (; x->cap > 0 && x->slots[at] != 0; at = (at + 1) & (x->cap - 1))
        if (is_same(&f->series[x->slots[at] - 1], s)) {
            *ret = x->slots[at] - 1;
            return 1;
        }
    if (f->n_series == TOP_SERIES_MAX)
        return 0;
    void *series = f->series;
    int r = grow(&series, f->n_series, &f->_series_cap, sizeof(*f->series));
    f->series = series;
    if (r == 0)
        r = index_grow(f, &f->_series_index, f->n_series, hash_series_at);
    if (r < 0)
        return r;
    f->series[f->n_series] = *s;
    index_put(f, &f->_series_index, f->n_series, hash_series_at);
    *ret = f->n_series++;
    return 1;
}

/* --- one series by its labels --- */

static bool bound_number(struct top_feed *f, enum top_family stage, struct span le, uint32_t *ret)
{
    double v = (double)INFINITY;
    if (!span_eq(le, SPAN("+Inf")) && (num_parse_double(le, &v) < 0 || isnan(v)))
        return false;
    size_t i = 0;
    while (i < f->n_bounds[stage] && f->bounds[stage][i] != v)
        i++;
    if (i == TOP_BOUNDS_MAX)
        return false;
    if (i == f->n_bounds[stage])
        f->bounds[stage][f->n_bounds[stage]++] = v;
    *ret = (uint32_t)i;
    return true;
}

/* false: not one of ours. */
static bool family_of(struct top_feed *f, struct labels l, struct top_series *s)
{
    struct span name = labels_name(l), type = labels_get(l, SPAN("type"));
    size_t i = 0;
    while (i < ARRAY_LEN(names) && !span_eq(names[i].name, name))
        i++;
    if (i == ARRAY_LEN(names))
        return false;
    s->family = names[i].family;
    if (s->family < TOP_STAGES)
        return bound_number(f, s->family, labels_get(l, SPAN(LABEL_LE)), &s->bound);
    if (s->family == TOP_OK && top_feed_is_error(labels_get(l, SPAN("outcome"))))
        s->family = TOP_ERRORS;
    if (s->family != TOP_COMPLETION_TOKENS || span_eq(type, SPAN("completion")))
        return true;
    s->family = TOP_PROMPT_TOKENS;
    return span_eq(type, SPAN("prompt"));
}

int top_feed_number(struct top_feed *f, struct labels l, size_t *ret)
{
    struct top_series s = {0};
    int r = 1;
    if (!family_of(f, l, &s))
        return 0;
    for (size_t i = 0; i < f->n_dims && r > 0; i++) {
        struct span value = labels_get(l, f->dims[i]);
        r = value.n > 0 ? text_number(f, value, &s.dims[i]) : 1;
    }
    if (r > 0)
        r = series_number(f, &s, ret);
    f->n_left_out += r == 0;
    return r;
}

int top_feed_moment_add(struct top_moment *m, size_t *cap, size_t series, double v)
{
    if (!isfinite(v))
        return 0;
    if (series >= *cap) {
        size_t more = 2 * series + 64;
        double *p = mem_realloc(m->v, more * sizeof(*p));
        if (!p)
            return -ENOMEM;
        m->v = p;
        *cap = more;
    }
    for (; m->n <= series; m->n++)
        m->v[m->n] = 0;
    m->v[series] += v;
    return 0;
}

/* --- moments --- */

static void thin_out(struct top_feed *f)
{
    size_t half = TOP_MOMENTS_MAX / 2, kept = 0;
    for (size_t i = 0; i < f->n_moments; i++) {
        if (i < half && i % 2 == 1)
            mem_free(f->moments[i].v);
        else
            f->moments[kept++] = f->moments[i];
    }
    f->n_moments = kept;
}

double top_feed_value(const struct top_moment *m, size_t series)
{
    return m && series < m->n ? m->v[series] : 0;
}

const struct top_moment *top_feed_at(const struct top_feed *f, int64_t t_ms)
{
    if (f->n_moments == 0)
        return NULL;
    size_t i = f->n_moments - 1;
    while (i > 0 && f->moments[i].t_ms > t_ms)
        i--;
    return &f->moments[i];
}

/* --- a page --- */

static int page_read(struct top_feed *f, struct span page, struct arena *a, struct top_moment *m)
{
    struct text text;
    struct text_item item;
    size_t cap = 0, number = 0;
    int r = 0;
    text_init(&text, page, TEXT_PROMETHEUS);
    for (text_next(&text, &item); item.kind != TEXT_END && r >= 0; text_next(&text, &item)) {
        struct labels l;
        const char *mistake;
        if (item.kind != TEXT_SAMPLE || !span_starts_with(item.name, SPAN("llm_")))
            continue;
        r = text_labels(item.series, a, &l, &mistake);
        if (r == 0)
            r = top_feed_number(f, l, &number);
        if (r > 0)
            r = top_feed_moment_add(m, &cap, number, item.v);
        if (r == -EINVAL)
            r = 0; /* a line that cannot be read */
    }
    return r < 0 ? r : 0;
}

int top_feed_page(struct top_feed *f, struct span page, int64_t t_ms)
{
    struct top_moment m = {.t_ms = t_ms};
    struct arena a;
    arena_init(&a, NULL);
    int r = page_read(f, page, &a, &m);
    arena_done(&a);
    if (r < 0) {
        mem_free(m.v);
        return r;
    }
    while (f->n_moments > 0 && f->moments[f->n_moments - 1].t_ms >= t_ms)
        mem_free(f->moments[--f->n_moments].v);
    if (f->n_moments == TOP_MOMENTS_MAX)
        thin_out(f);
    f->moments[f->n_moments++] = m;
    return 0;
}
