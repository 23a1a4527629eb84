/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/fhist_text.c - histograms as text: the literal of test scripts, and for people.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "series/fhist.h"
#include "series/fhist_layout.h"
#include "series/number.h"

static const char *const hint_names[] = {[FHIST_UNKNOWN] = "unknown",
                                         [FHIST_RESET] = "reset",
                                         [FHIST_NOT_RESET] = "not_reset",
                                         [FHIST_GAUGE] = "gauge"};

struct list {
    double *at;
    size_t n;
};

/* One literal as it is read: numbers and lists by name. */
struct literal {
    struct arena *arena;
    struct span rest;
    double schema, sum, count, z_bucket, z_bucket_w, offset, n_offset;
    struct list buckets, n_buckets, custom_values;
    enum fhist_hint hint;
    unsigned seen; /* keys, as bits */
};

enum field_kind { FIELD_NUMBER, FIELD_INTEGER, FIELD_LIST, FIELD_HINT };

static const struct {
    const char *name;
    enum field_kind kind;
    size_t offset;
} fields[] = {
    {"schema", FIELD_INTEGER, offsetof(struct literal, schema)},
    {"sum", FIELD_NUMBER, offsetof(struct literal, sum)},
    {"count", FIELD_NUMBER, offsetof(struct literal, count)},
    {"z_bucket", FIELD_NUMBER, offsetof(struct literal, z_bucket)},
    {"z_bucket_w", FIELD_NUMBER, offsetof(struct literal, z_bucket_w)},
    {"offset", FIELD_INTEGER, offsetof(struct literal, offset)},
    {"n_offset", FIELD_INTEGER, offsetof(struct literal, n_offset)},
    {"buckets", FIELD_LIST, offsetof(struct literal, buckets)},
    {"n_buckets", FIELD_LIST, offsetof(struct literal, n_buckets)},
    {"custom_values", FIELD_LIST, offsetof(struct literal, custom_values)},
    {"counter_reset_hint", FIELD_HINT, offsetof(struct literal, hint)},
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static void skip_space(struct span *s)
{
    while (s->n > 0 && is_space(s->p[0]))
        (void)span_take(s, 1);
}

/* Up to a space, a bracket, a brace or a colon. */
static struct span take_word(struct span *s)
{
    size_t n = 0;
    while (n < s->n && !is_space(s->p[n]) && !strchr("[]{}:", s->p[n]))
        n++;
    return span_take(s, n);
}

static int read_number(struct literal *l, bool is_integer, double *to)
{
    struct span before = l->rest;
    struct span word = take_word(&l->rest);
    double v;

    if (number_parse(word, &v) != 0 || (is_integer && (v != floor(v) || fabs(v) > INT32_MAX))) {
        l->rest = before;
        return -EINVAL;
    }
    *to = v;
    return 0;
}

static int read_list(struct literal *l, struct list *ret)
{
    size_t n_max = 0;

    if (l->rest.n == 0 || l->rest.p[0] != '[')
        return -EINVAL;
    (void)span_take(&l->rest, 1);
    for (size_t i = 0; i < l->rest.n && l->rest.p[i] != ']'; i++)
        n_max += i == 0 || is_space(l->rest.p[i]);
    double *at = arena_array(l->arena, n_max, sizeof(*at));
    if (!at)
        return -ENOMEM;
    for (size_t n = 0;; n++) {
        skip_space(&l->rest);
        if (l->rest.n > 0 && l->rest.p[0] == ']') {
            (void)span_take(&l->rest, 1);
            *ret = (struct list){at, n};
            return n > 0 ? 0 : -EINVAL;
        }
        if (n == n_max || read_number(l, false, &at[n]) != 0)
            return -EINVAL;
    }
}

static int read_hint(struct literal *l)
{
    struct span before = l->rest;
    struct span word = take_word(&l->rest);

    for (size_t i = 0; i < ARRAY_LEN(hint_names); i++)
        if (span_eq_nocase(word, span_cstr(hint_names[i]))) {
            l->hint = (enum fhist_hint)i;
            return 0;
        }
    l->rest = before;
    return -EINVAL;
}

static int read_value(struct literal *l, size_t i)
{
    void *to = (char *)l + fields[i].offset;

    switch (fields[i].kind) {
    case FIELD_LIST:
        return read_list(l, to);
    case FIELD_HINT:
        return read_hint(l);
    default:
        return read_number(l, fields[i].kind == FIELD_INTEGER, to);
    }
}

/* key:value */
static int read_field(struct literal *l)
{
    struct span before = l->rest;
    struct span word = take_word(&l->rest);

    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (!span_eq_nocase(word, span_cstr(fields[i].name)))
            continue;
        if (l->rest.n == 0 || l->rest.p[0] != ':' || (l->seen & (1U << i)))
            break;
        (void)span_take(&l->rest, 1);
        l->seen |= 1U << i;
        return read_value(l, i);
    }
    l->rest = before;
    return -EINVAL;
}

static int make_side(struct arena *m, const double *counts, size_t n, double offset,
                     struct fhist_side *ret)
{
    struct fhist_bucket *at = arena_array(m, n, sizeof(*at));

    if (!at)
        return -ENOMEM;
    if (offset + (double)n > INT32_MAX)
        return -EINVAL;
    for (size_t i = 0; i < n; i++)
        at[i] = (struct fhist_bucket){(int32_t)offset + (int32_t)i, counts[i]};
    *ret = (struct fhist_side){at, n};
    return 0;
}

static int make_hist(const struct literal *l, struct fhist **ret)
{
    struct fhist *h = arena_alloc(l->arena, sizeof(*h));
    int r;

    if (!h)
        return -ENOMEM;
    *h = (struct fhist){.schema = (int32_t)l->schema,
                        .hint = l->hint,
                        .zero_threshold = l->z_bucket_w,
                        .zero_count = l->z_bucket,
                        .count = l->count,
                        .sum = l->sum,
                        .custom = l->custom_values.at,
                        .n_custom = l->custom_values.n};
    r = make_side(l->arena, l->buckets.at, l->buckets.n, l->offset, &h->positive);
    if (r == 0)
        r = make_side(l->arena, l->n_buckets.at, l->n_buckets.n, l->n_offset, &h->negative);
    if (r == 0 && !fhist_is_valid(h))
        r = -EINVAL;
    if (r == 0)
        *ret = h;
    return r;
}

int fhist_parse(struct span *s, struct arena *m, struct fhist **ret, size_t *ret_at)
{
    struct literal l = {.arena = m, .rest = *s};
    int r = span_starts_with(*s, SPAN("{{")) ? 0 : -EINVAL;

    if (r == 0)
        (void)span_take(&l.rest, 2);
    while (r == 0) {
        skip_space(&l.rest);
        if (span_starts_with(l.rest, SPAN("}}")))
            break;
        r = read_field(&l);
    }
    if (r == 0)
        r = make_hist(&l, ret);
    if (r == 0)
        *s = span_from(l.rest, 2);
    else if (ret_at)
        *ret_at = (size_t)(l.rest.p - s->p);
    return r;
}

static int print_number(const char *key, double v, struct buf *out)
{
    int r = buf_printf(out, " %s:", key);
    return r == 0 ? number_print(v, out) : r;
}

/* buckets:[1 0 2], from the first bucket that is not empty to the last, with its offset. */
static int print_side(const struct fhist_side *side, const char *offset, const char *buckets,
                      struct buf *out)
{
    size_t from = 0;
    size_t to = side->n;
    int r = 0;

    while (from < to && side->at[from].count == 0)
        from++;
    while (to > from && side->at[to - 1].count == 0)
        to--;
    if (from == to)
        return 0;
    if (side->at[from].index != 0)
        r = buf_printf(out, " %s:%d", offset, side->at[from].index);
    if (r == 0)
        r = buf_printf(out, " %s:[", buckets);
    for (int64_t i = side->at[from].index; from < to && r == 0; i++) {
        double count = side->at[from].index == i ? side->at[from++].count : 0;
        r = number_print(count, out);
        if (r == 0 && from < to)
            r = buf_append(out, SPAN(" "));
    }
    return r == 0 ? buf_append(out, SPAN("]")) : r;
}

static int print_custom(const struct fhist *h, struct buf *out)
{
    int r = buf_append(out, SPAN(" custom_values:["));

    for (size_t i = 0; i < h->n_custom && r == 0; i++) {
        if (i > 0)
            r = buf_append(out, SPAN(" "));
        if (r == 0)
            r = number_print(h->custom[i], out);
    }
    return r == 0 ? buf_append(out, SPAN("]")) : r;
}

int fhist_print(const struct fhist *h, struct buf *out)
{
    int r = buf_printf(out, "{{schema:%d", h->schema);

    if (r == 0)
        r = print_number("count", h->count, out);
    if (r == 0)
        r = print_number("sum", h->sum, out);
    if (r == 0 && h->zero_count != 0)
        r = print_number("z_bucket", h->zero_count, out);
    if (r == 0 && h->zero_threshold != 0)
        r = print_number("z_bucket_w", h->zero_threshold, out);
    if (r == 0 && h->n_custom > 0)
        r = print_custom(h, out);
    if (r == 0 && h->hint != FHIST_UNKNOWN)
        r = buf_printf(out, " counter_reset_hint:%s", hint_names[h->hint]);
    if (r == 0)
        r = print_side(&h->positive, "offset", "buckets", out);
    if (r == 0)
        r = print_side(&h->negative, "n_offset", "n_buckets", out);
    return r == 0 ? buf_append(out, SPAN("}}")) : r;
}

static int describe_range(const struct fhist_range *b, struct buf *out)
{
    int r = buf_append(out, b->is_lower_inclusive ? SPAN(", [") : SPAN(", ("));

    r = r == 0 ? number_print_g(b->lower, out) : r;
    r = r == 0 ? buf_append(out, SPAN(",")) : r;
    r = r == 0 ? number_print_g(b->upper, out) : r;
    r = r == 0 ? buf_append(out, b->is_upper_inclusive ? SPAN("]:") : SPAN("):")) : r;
    return r == 0 ? number_print_g(b->count, out) : r;
}

int fhist_describe(const struct fhist *h, struct buf *out)
{
    struct fhist_walk w;
    struct fhist_range b;
    int r = buf_append(out, SPAN("{count:"));

    r = r == 0 ? number_print_g(h->count, out) : r;
    r = r == 0 ? buf_append(out, SPAN(", sum:")) : r;
    r = r == 0 ? number_print_g(h->sum, out) : r;
    fhist_walk_begin(&w, h);
    while (r == 0 && fhist_walk_next(&w, &b))
        if (b.count != 0)
            r = describe_range(&b, out);
    return r == 0 ? buf_append(out, SPAN("}")) : r;
}
