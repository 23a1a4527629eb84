/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/index_select.c - from matchers to series.
 *
 * The base of a selection is the matcher with the fewest series in its postings: one for equality,
 * or the few of a pattern that is a list of words. Without one, it is all series. What a matcher
 * says of a value is found out once and kept by the value's number.
 */
#include "tsdb/index.h"

enum { UNKNOWN, YES, NO };

/* A matcher, and what it said of values so far. */
struct check {
    const struct matcher *matcher;
    uint32_t name;    /* 0: no series has the label */
    uint8_t *answers; /* by the value's number; 0: no label */
};

struct base {
    const struct span *words;
    size_t n_words; /* values to walk over; 0: all series */
    uint32_t name;
    size_t n; /* series in it */
};

struct selection {
    const struct index *x;
    const struct series_select *what;
    struct check *checks;
    uint8_t *seen; /* values whose postings were walked over */
    struct arena *arena;
    struct series_ref *refs;
    size_t n, cap;
    /* Texts that were copied lately. */
    struct {
        uint32_t number;
        struct span text;
    } copies[256];
};

static const struct postings *postings_of(const struct index *x, uint32_t name, struct span value)
{
    uint32_t number = symbols_find(&x->symbols, value);
    return name && number ? index_postings(x, name, number) : NULL;
}

/* The values that a matcher asks for, when it names them all. */
static size_t words_of(const struct matcher *m, const struct span **ret)
{
    *ret = &m->value;
    if (m->op == MATCH_EQ)
        return m->value.n > 0 ? 1 : 0;
    if (m->op != MATCH_RE || matcher_matches_empty(m))
        return 0;
    return matcher_words(m, ret);
}

static struct base base_find(struct selection *s)
{
    struct base best = {.n = SIZE_MAX};
    for (size_t i = 0; i < s->what->n_matchers; i++) {
        struct base b = {.name = s->checks[i].name};
        b.n_words = words_of(s->checks[i].matcher, &b.words);
        for (size_t j = 0; j < b.n_words; j++) {
            const struct postings *p = postings_of(s->x, b.name, b.words[j]);
            b.n += p ? p->n : 0;
        }
        if (b.n_words > 0 && b.n < best.n)
            best = b;
    }
    return best;
}

static uint32_t value_of(const struct series *s, uint32_t name)
{
    for (size_t i = 0; i < s->n_pairs; i++)
        if (s->pairs[2 * i] == name)
            return s->pairs[2 * i + 1];
    return 0;
}

static bool matches(struct selection *s, const struct series *series)
{
    for (size_t i = 0; i < s->what->n_matchers; i++) {
        struct check *c = &s->checks[i];
        uint32_t value = c->name ? value_of(series, c->name) : 0;
        if (c->answers[value] == UNKNOWN) {
            struct span text = value ? symbols_text(&s->x->symbols, value) : SPAN("");
            c->answers[value] = matcher_matches(c->matcher, text) ? YES : NO;
        }
        if (c->answers[value] == NO)
            return false;
    }
    return true;
}

static bool has_samples(const struct series *series, const struct series_select *what)
{
    int64_t first = atomic_load_explicit(&series->t_first, memory_order_relaxed);
    int64_t last = atomic_load_explicit(&series->t_last, memory_order_relaxed);
    return last != INDEX_NEVER && last >= what->from_ms && first <= what->to_ms;
}

static int copy_text(struct selection *s, uint32_t number, struct span *ret)
{
    uint32_t at = number % ARRAY_LEN(s->copies);
    if (s->copies[at].number != number) {
        struct span copy = arena_dup(s->arena, symbols_text(&s->x->symbols, number));
        if (!copy.p)
            return -ENOMEM;
        s->copies[at].number = number;
        s->copies[at].text = copy;
    }
    *ret = s->copies[at].text;
    return 0;
}

static int take(struct selection *s, const struct series *series)
{
    int r = 0;
    struct series_ref *refs = arena_grow(s->arena, s->refs, s->n, 1, &s->cap, sizeof(*refs));
    struct label *pairs = arena_array(s->arena, series->n_pairs, sizeof(*pairs));
    if (!refs || !pairs)
        return -ENOMEM;
    s->refs = refs;
    for (size_t i = 0; r == 0 && i < series->n_pairs; i++) {
        r = copy_text(s, series->pairs[2 * i], &pairs[i].name);
        if (r == 0)
            r = copy_text(s, series->pairs[2 * i + 1], &pairs[i].value);
    }
    if (r == 0)
        s->refs[s->n++] = (struct series_ref){{pairs, series->n_pairs}, series->id};
    return r;
}

static int consider(struct selection *s, uint32_t id)
{
    const struct series *series = s->x->by_id[id];
    if (!series || !has_samples(series, s->what) || !matches(s, series))
        return 0;
    return take(s, series);
}

/* A list of words may have one twice. */
static int walk_words(struct selection *s, const struct base *base)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < base->n_words; i++) {
        const struct postings *p = postings_of(s->x, base->name, base->words[i]);
        if (!p || s->seen[p->value])
            continue;
        s->seen[p->value] = 1;
        for (uint32_t j = 0; r == 0 && j < p->n; j++)
            r = consider(s, p->ids[j]);
    }
    return r;
}

static int walk(struct selection *s)
{
    struct base base = base_find(s);
    int r = 0;
    if (base.n != SIZE_MAX)
        return walk_words(s, &base);
    for (uint32_t id = 0; r == 0 && id < s->x->n_ids; id++)
        r = consider(s, id);
    return r;
}

int index_select(const struct index *x, const struct series_select *what, struct arena *a,
                 struct series_ref **ret, size_t *ret_n)
{
    struct selection s = {.x = x, .what = what, .arena = a};
    size_t n_symbols = x->symbols.n;
    uint8_t *answers = mem_zalloc(what->n_matchers + 1, n_symbols);
    s.checks = mem_zalloc(what->n_matchers + 1, sizeof(s.checks[0]));
    int r = s.checks && answers ? 0 : -ENOMEM;
    for (size_t i = 0; r == 0 && i < what->n_matchers; i++) {
        s.checks[i].matcher = &what->matchers[i];
        s.checks[i].name = symbols_find(&x->symbols, what->matchers[i].name);
        s.checks[i].answers = answers + i * n_symbols;
    }
    s.seen = answers ? answers + what->n_matchers * n_symbols : NULL;
    if (r == 0)
        r = walk(&s);
    mem_free(s.checks);
    mem_free(answers);
    if (r < 0)
        return r;
    *ret = s.refs;
    *ret_n = s.n;
    return 0;
}
