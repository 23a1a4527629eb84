/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/labels.c - sets of labels: compared, hashed, projected.
 *
 * Everything is a walk over two sorted lists. The hash is stored on disk, so that it must never
 * change and must not depend on the machine's byte order.
 */
#include "series/labels.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>

struct span labels_get(struct labels l, struct span name)
{
    for (size_t i = 0; i < l.n; i++)
        if (span_eq(l.at[i].name, name))
            return l.at[i].value;
    return SPAN("");
}

struct span labels_name(struct labels l)
{
    return labels_get(l, SPAN(LABEL_NAME));
}

bool labels_eq(struct labels a, struct labels b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (!span_eq(a.at[i].name, b.at[i].name) || !span_eq(a.at[i].value, b.at[i].value))
            return false;
    return true;
}

int labels_cmp(struct labels a, struct labels b)
{
    for (size_t i = 0; i < a.n && i < b.n; i++) {
        int c = span_cmp(a.at[i].name, b.at[i].name);
        if (c == 0)
            c = span_cmp(a.at[i].value, b.at[i].value);
        if (c != 0)
            return c;
    }
    return (a.n > b.n) - (a.n < b.n);
}

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ (h >> 29);
}

static uint64_t mix_text(uint64_t h, struct span s)
{
    uint64_t word;

    h = mix(h, s.n); /* so that a text's end counts */
    while (s.n >= sizeof(word)) {
        memcpy(&word, span_take(&s, sizeof(word)).p, sizeof(word));
        h = mix(h, le64toh(word));
    }
    if (s.n > 0) {
        word = 0;
        memcpy(&word, s.p, s.n);
        h = mix(h, le64toh(word));
    }
    return h;
}

static uint64_t mix_label(uint64_t h, const struct label *label)
{
    return mix_text(mix_text(h, label->name), label->value);
}

static uint64_t mix_end(uint64_t h)
{
    h = (h ^ (h >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    return h ^ (h >> 32);
}

enum { HASH_START = 0x5eed };

uint64_t labels_hash(struct labels l)
{
    uint64_t h = HASH_START;
    for (size_t i = 0; i < l.n; i++)
        h = mix_label(h, &l.at[i]);
    return mix_end(h);
}

/* Which labels count: a walk along the sorted names. */
struct choice {
    const struct span *names;
    size_t n;
    bool is_without;
};

static bool choice_takes(struct choice *c, struct span name)
{
    int order = 1;

    while (c->n > 0 && (order = span_cmp(name, c->names[0])) > 0) {
        c->names++;
        c->n--;
    }
    bool is_named = c->n > 0 && order == 0;
    return c->is_without ? !is_named : is_named;
}

/* The next label from *i on that counts; NULL at the end. */
static const struct label *choice_next(struct choice *c, const struct labels *l, size_t *i)
{
    for (; *i < l->n; (*i)++) {
        const struct label *label = &l->at[*i];
        if (c->is_without && span_eq(label->name, SPAN(LABEL_NAME)))
            continue;
        if (choice_takes(c, label->name)) {
            (*i)++;
            return label;
        }
    }
    return NULL;
}

uint64_t labels_hash_of(struct labels l, const struct span *names, size_t n, bool is_without)
{
    struct choice c = {names, n, is_without};
    const struct label *label;
    uint64_t h = HASH_START;

    for (size_t i = 0; (label = choice_next(&c, &l, &i)) != NULL;)
        h = mix_label(h, label);
    return mix_end(h);
}

bool labels_eq_of(struct labels a, struct labels b, const struct span *names, size_t n,
                  bool is_without)
{
    struct choice of_a = {names, n, is_without};
    struct choice of_b = {names, n, is_without};
    size_t i = 0;
    size_t j = 0;

    for (;;) {
        const struct label *left = choice_next(&of_a, &a, &i);
        const struct label *right = choice_next(&of_b, &b, &j);
        if (!left || !right)
            return left == right;
        if (!span_eq(left->name, right->name) || !span_eq(left->value, right->value))
            return false;
    }
}

static struct span put_text(char **at, struct span s)
{
    char *p = *at;

    if (s.n > 0)
        memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    *at += s.n + 1;
    return span_of(p, s.n);
}

/* In one piece: samples on their way to the store are copied by the thousand. */
int labels_copy(struct arena *a, struct labels l, struct labels *ret)
{
    size_t n_bytes = l.n * sizeof(struct label);

    for (size_t i = 0; i < l.n; i++)
        n_bytes += l.at[i].name.n + l.at[i].value.n + 2;
    struct label *pairs = arena_alloc(a, n_bytes);
    if (!pairs)
        return -ENOMEM;
    char *at = (char *)(pairs + l.n);
    for (size_t i = 0; i < l.n; i++) {
        pairs[i].name = put_text(&at, l.at[i].name);
        pairs[i].value = put_text(&at, l.at[i].value);
    }
    *ret = (struct labels){pairs, l.n};
    return 0;
}

static int label_cmp(const void *a, const void *b)
{
    return span_cmp(((const struct label *)a)->name, ((const struct label *)b)->name);
}

int labels_normalise(struct label *pairs, size_t n, struct labels *ret, struct span *ret_twice)
{
    size_t n_kept = 0;

    if (n > 1)
        qsort(pairs, n, sizeof(*pairs), label_cmp);
    for (size_t i = 1; i < n; i++)
        if (span_eq(pairs[i - 1].name, pairs[i].name)) {
            if (ret_twice)
                *ret_twice = pairs[i].name;
            return -EINVAL;
        }
    for (size_t i = 0; i < n; i++)
        if (pairs[i].value.n > 0)
            pairs[n_kept++] = pairs[i];
    *ret = (struct labels){pairs, n_kept};
    return 0;
}

static int choose(struct arena *a, struct labels l, struct choice c, struct labels *ret)
{
    struct label *pairs = arena_array(a, l.n, sizeof(*pairs));
    size_t n_kept = 0;

    if (!pairs)
        return -ENOMEM;
    for (size_t i = 0; i < l.n; i++)
        if (choice_takes(&c, l.at[i].name))
            pairs[n_kept++] = l.at[i];
    *ret = (struct labels){pairs, n_kept};
    return 0;
}

int labels_without(struct arena *a, struct labels l, const struct span *names, size_t n,
                   struct labels *ret)
{
    return choose(a, l, (struct choice){names, n, true}, ret);
}

int labels_only(struct arena *a, struct labels l, const struct span *names, size_t n,
                struct labels *ret)
{
    return choose(a, l, (struct choice){names, n, false}, ret);
}

int labels_with(struct arena *a, struct labels l, struct span name, struct span value,
                struct labels *ret)
{
    struct label *pairs = arena_array(a, l.n + 1, sizeof(*pairs));
    size_t n = 0;
    size_t i = 0;

    if (!pairs)
        return -ENOMEM;
    while (i < l.n && span_cmp(l.at[i].name, name) < 0)
        pairs[n++] = l.at[i++];
    if (i < l.n && span_eq(l.at[i].name, name))
        i++;
    if (value.n > 0)
        pairs[n++] = (struct label){name, value};
    while (i < l.n)
        pairs[n++] = l.at[i++];
    *ret = (struct labels){pairs, n};
    return 0;
}

static bool is_name(struct span s, bool may_have_colon)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        bool is_digit = c >= '0' && c <= '9';
        if (!is_letter && !(is_digit && i > 0) && !(c == ':' && may_have_colon))
            return false;
    }
    return s.n > 0;
}

bool labels_is_metric_name(struct span s)
{
    return is_name(s, true);
}

bool labels_is_label_name(struct span s)
{
    return is_name(s, false);
}
