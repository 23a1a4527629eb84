/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/histrec.c - one histogram in, one histogram out.
 *
 * A record is a byte of flags (LAYOUT, WHOLE, the hint), the layout when it is another one than
 * before, then zero count, count, sum, and the buckets in order. With a new layout the buckets
 * before are taken over by index, so that a bucket that comes into use costs only the layout.
 * Whole numbers are differences: (zigzag << 1), or for n buckets in a row that did not change
 * ((n - 1) << 1 | 1). Others are the XOR of their bits.
 */
#include "tsdb/histrec.h"

enum { FLAG_LAYOUT = 1, FLAG_WHOLE = 2, HINT_SHIFT = 2, FLAGS_END = 16 };

static void side_done(struct fhist_side *s)
{
    mem_free(s->at);
    *s = (struct fhist_side){0};
}

static void custom_done(struct fhist *h)
{
    union {
        const double *in;
        void *out;
    } p = {.in = h->custom};
    mem_free(p.out);
    h->custom = NULL;
    h->n_custom = 0;
}

void histrec_done(struct histrec *r)
{
    side_done(&r->h.positive);
    side_done(&r->h.negative);
    custom_done(&r->h);
    *r = (struct histrec){0};
}

static bool is_same_side(const struct fhist_side *a, const struct fhist_side *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (a->at[i].index != b->at[i].index)
            return false;
    return true;
}

static bool is_same_layout(const struct fhist *a, const struct fhist *b)
{
    return a->schema == b->schema && a->n_custom == b->n_custom &&
           tscolumn_bits(a->zero_threshold) == tscolumn_bits(b->zero_threshold) &&
           (a->n_custom == 0 || memcmp(a->custom, b->custom, a->n_custom * sizeof(double)) == 0) &&
           is_same_side(&a->positive, &b->positive) && is_same_side(&a->negative, &b->negative);
}

static bool is_whole_side(const struct fhist_side *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (!tscolumn_is_whole(s->at[i].count))
            return false;
    return true;
}

static bool is_whole(const struct fhist *h)
{
    return tscolumn_is_whole(h->zero_count) && tscolumn_is_whole(h->count) &&
           is_whole_side(&h->positive) && is_whole_side(&h->negative);
}

/* Counts of those of old's buckets that to has as well, 0 for the others. */
static void carry_over(struct fhist_side *to, const struct fhist_side *old)
{
    size_t j = 0;
    for (size_t i = 0; i < to->n; i++) {
        while (j < old->n && old->at[j].index < to->at[i].index)
            j++;
        bool is_in_both = j < old->n && old->at[j].index == to->at[i].index;
        to->at[i].count = is_in_both ? old->at[j].count : 0.0;
    }
}

/* r's own arrays for n buckets; the old ones are given back by whoever calls. */
static int side_alloc(struct fhist_side *s, size_t n)
{
    s->n = n;
    s->at = n == 0 ? NULL : mem_zalloc(n, sizeof(s->at[0]));
    return n == 0 || s->at ? 0 : -ENOMEM;
}

static int custom_alloc(struct fhist *h, size_t n, double **ret)
{
    *ret = n == 0 ? NULL : mem_zalloc(n, sizeof(double));
    if (n > 0 && !*ret)
        return -ENOMEM;
    h->custom = *ret;
    h->n_custom = n;
    return 0;
}

/* next has all of the new layout but the counts; its arrays become r's. */
static void take_layout(struct histrec *r, struct fhist *next)
{
    bool is_kin = r->has_layout && r->h.schema == next->schema;
    struct fhist_side none = {0};
    carry_over(&next->positive, is_kin ? &r->h.positive : &none);
    carry_over(&next->negative, is_kin ? &r->h.negative : &none);
    next->count = is_kin ? r->h.count : 0.0;
    next->zero_count = is_kin ? r->h.zero_count : 0.0;
    if (!is_kin)
        r->is_whole = true;
    side_done(&r->h.positive);
    side_done(&r->h.negative);
    custom_done(&r->h);
    r->h = *next;
    r->has_layout = true;
}

static void layout_done(struct fhist *h)
{
    side_done(&h->positive);
    side_done(&h->negative);
    custom_done(h);
}

/* --- writing --- */

static uint8_t *put_side_layout(uint8_t *at, const struct fhist_side *s)
{
    int64_t before = 0;
    at = varint_put(at, s->n);
    for (size_t i = 0; i < s->n; i++) {
        at = varint_put_signed(at, s->at[i].index - before);
        before = s->at[i].index;
    }
    return at;
}

/* The layout of h with arrays of its own. */
static int copy_layout(const struct fhist *h, struct fhist *next)
{
    double *custom = NULL;
    *next = (struct fhist){.schema = h->schema, .zero_threshold = h->zero_threshold};
    if (side_alloc(&next->positive, h->positive.n) < 0 ||
        side_alloc(&next->negative, h->negative.n) < 0 ||
        custom_alloc(next, h->n_custom, &custom) < 0) {
        layout_done(next);
        return -ENOMEM;
    }
    for (size_t i = 0; i < h->positive.n; i++)
        next->positive.at[i].index = h->positive.at[i].index;
    for (size_t i = 0; i < h->negative.n; i++)
        next->negative.at[i].index = h->negative.at[i].index;
    for (size_t i = 0; i < h->n_custom; i++)
        custom[i] = h->custom[i];
    return 0;
}

static uint8_t *put_layout(uint8_t *at, const struct fhist *h)
{
    at = varint_put_signed(at, h->schema);
    at = tscolumn_put_xor(at, tscolumn_bits(h->zero_threshold));
    at = varint_put(at, h->n_custom);
    for (size_t i = 0; i < h->n_custom; i++)
        at = tscolumn_put_xor(at, tscolumn_bits(h->custom[i]));
    at = put_side_layout(at, &h->positive);
    return put_side_layout(at, &h->negative);
}

static int64_t whole_diff(double now, double before)
{
    return (int64_t)now - (int64_t)before;
}

static uint8_t *put_whole_side(uint8_t *at, const struct fhist_side *now,
                               const struct fhist_side *before)
{
    for (size_t i = 0; i < now->n;) {
        size_t same = i;
        while (same < now->n && whole_diff(now->at[same].count, before->at[same].count) == 0)
            same++;
        if (same > i) {
            at = varint_put(at, (uint64_t)(same - i - 1) << 1 | 1);
            i = same;
            continue;
        }
        int64_t diff = whole_diff(now->at[i].count, before->at[i].count);
        at = varint_put(at, varint_zigzag(diff) << 1);
        i++;
    }
    return at;
}

static uint8_t *put_xor_side(uint8_t *at, const struct fhist_side *now,
                             const struct fhist_side *before)
{
    for (size_t i = 0; i < now->n; i++)
        at = tscolumn_put_xor(at,
                              tscolumn_bits(now->at[i].count) ^ tscolumn_bits(before->at[i].count));
    return at;
}

static void keep_counts(struct fhist *to, const struct fhist *h)
{
    to->count = h->count;
    to->zero_count = h->zero_count;
    for (size_t i = 0; i < h->positive.n; i++)
        to->positive.at[i].count = h->positive.at[i].count;
    for (size_t i = 0; i < h->negative.n; i++)
        to->negative.at[i].count = h->negative.at[i].count;
}

static uint8_t *put_counts(struct histrec *r, uint8_t *at, const struct fhist *h, bool is_diff)
{
    const struct fhist *before = &r->h;
    if (is_diff) {
        at = varint_put_signed(at, whole_diff(h->zero_count, before->zero_count));
        at = varint_put_signed(at, whole_diff(h->count, before->count));
    } else {
        at = tscolumn_put_xor(at, tscolumn_bits(h->zero_count) ^ tscolumn_bits(before->zero_count));
        at = tscolumn_put_xor(at, tscolumn_bits(h->count) ^ tscolumn_bits(before->count));
    }
    at = tscolumn_put(&r->sum, at, h->sum);
    uint8_t *(*put_side)(uint8_t *, const struct fhist_side *, const struct fhist_side *) =
        is_diff ? put_whole_side : put_xor_side;
    at = put_side(at, &h->positive, &before->positive);
    at = put_side(at, &h->negative, &before->negative);
    keep_counts(&r->h, h);
    return at;
}

int histrec_put(struct histrec *r, struct bytes *out, const struct fhist *h)
{
    bool has_layout = !r->has_layout || !is_same_layout(&r->h, h);
    bool is_h_whole = is_whole(h);
    size_t n_buckets = h->positive.n + h->negative.n;
    struct fhist next;
    /* All that can fail comes first. */
    uint8_t *flags = bytes_room(out, 1 + TSCOLUMN_MAX_BYTES +
                                         VARINT_MAX_BYTES * (8 + 2 * n_buckets + h->n_custom));
    if (!flags || (has_layout && copy_layout(h, &next) < 0))
        return -ENOMEM;
    uint8_t *at = flags + 1;
    if (has_layout) {
        at = put_layout(at, h);
        take_layout(r, &next);
    }
    bool is_diff = r->is_whole && is_h_whole;
    *flags = (uint8_t)((has_layout ? FLAG_LAYOUT : 0) | (is_diff ? FLAG_WHOLE : 0) |
                       (h->hint & 3) << HINT_SHIFT);
    bytes_end(out, put_counts(r, at, h, is_diff));
    r->is_whole = is_h_whole;
    return 0;
}

/* --- reading --- */

static int get_side_layout(struct varint_in *in, struct fhist_side *s)
{
    uint64_t n;
    int64_t index = 0, diff;
    /* Each bucket takes a byte at least: nothing large is allocated for a few bytes. */
    if (!varint_get(in, &n) || n > (uint64_t)(in->end - in->p))
        return -EBADMSG;
    if (side_alloc(s, (size_t)n) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < s->n; i++) {
        if (!varint_get_signed(in, &diff) || diff > INT32_MAX * INT64_C(2) ||
            diff < INT32_MIN * INT64_C(2) || (i > 0 && diff <= 0))
            return -EBADMSG;
        index += diff;
        if (index > INT32_MAX || index < INT32_MIN)
            return -EBADMSG;
        s->at[i].index = (int32_t)index;
    }
    return 0;
}

static int get_custom(struct varint_in *in, struct fhist *h)
{
    uint64_t n, bits;
    double *custom;
    if (!varint_get(in, &n) || n > (uint64_t)(in->end - in->p))
        return -EBADMSG;
    if (custom_alloc(h, (size_t)n, &custom) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        if (!tscolumn_get_xor(in, &bits))
            return -EBADMSG;
        custom[i] = tscolumn_of_bits(bits);
    }
    return 0;
}

static int get_layout(struct histrec *r, struct varint_in *in)
{
    struct fhist next = {0};
    int64_t schema;
    uint64_t bits;
    int x = -EBADMSG;
    if (varint_get_signed(in, &schema) && tscolumn_get_xor(in, &bits) && schema >= INT32_MIN &&
        schema <= INT32_MAX) {
        next.schema = (int32_t)schema;
        next.zero_threshold = tscolumn_of_bits(bits);
        if ((x = get_custom(in, &next)) == 0 && (x = get_side_layout(in, &next.positive)) == 0)
            x = get_side_layout(in, &next.negative);
        if (x == 0 && !fhist_is_valid(&next))
            x = -EBADMSG;
    }
    if (x < 0) {
        layout_done(&next);
        return x;
    }
    take_layout(r, &next);
    return 0;
}

/* Adds a difference to a whole number. */
static bool add_whole(double *count, int64_t diff)
{
    int64_t sum;
    if (__builtin_add_overflow((int64_t)*count, diff, &sum) || !tscolumn_is_whole((double)sum))
        return false;
    *count = (double)sum;
    return true;
}

static int get_whole_side(struct varint_in *in, struct fhist_side *s)
{
    uint64_t u;
    for (size_t i = 0; i < s->n;) {
        if (!varint_get(in, &u))
            return -EBADMSG;
        if (u & 1) {
            if (u >> 1 >= s->n - i)
                return -EBADMSG;
            i += (size_t)(u >> 1) + 1;
            continue;
        }
        if (!add_whole(&s->at[i++].count, varint_unzigzag(u >> 1)))
            return -EBADMSG;
    }
    return 0;
}

static bool get_xored(struct varint_in *in, double *count)
{
    uint64_t x;
    if (!tscolumn_get_xor(in, &x))
        return false;
    *count = tscolumn_of_bits(tscolumn_bits(*count) ^ x);
    return true;
}

static int get_xor_side(struct varint_in *in, struct fhist_side *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (!get_xored(in, &s->at[i].count))
            return -EBADMSG;
    return 0;
}

static int get_counts(struct histrec *r, struct varint_in *in, bool is_diff)
{
    int64_t diff[2];
    if (is_diff) {
        if (!varint_get_signed(in, &diff[0]) || !varint_get_signed(in, &diff[1]) ||
            !add_whole(&r->h.zero_count, diff[0]) || !add_whole(&r->h.count, diff[1]))
            return -EBADMSG;
    } else if (!get_xored(in, &r->h.zero_count) || !get_xored(in, &r->h.count)) {
        return -EBADMSG;
    }
    if (tscolumn_get(&r->sum, in, &r->h.sum) != 0)
        return -EBADMSG;
    int (*get_side)(struct varint_in *, struct fhist_side *) =
        is_diff ? get_whole_side : get_xor_side;
    int x = get_side(in, &r->h.positive);
    return x < 0 ? x : get_side(in, &r->h.negative);
}

int histrec_get(struct histrec *r, struct varint_in *in)
{
    if (in->p == in->end || *in->p >= FLAGS_END)
        return -EBADMSG;
    unsigned flags = *in->p++;
    int x = flags & FLAG_LAYOUT ? get_layout(r, in) : r->has_layout ? 0 : -EBADMSG;
    if (x < 0)
        return x;
    bool is_diff = (flags & FLAG_WHOLE) != 0;
    if (is_diff && !r->is_whole)
        return -EBADMSG;
    r->h.hint = (enum fhist_hint)(flags >> HINT_SHIFT & 3);
    if ((x = get_counts(r, in, is_diff)) < 0)
        return x;
    r->is_whole = is_diff || is_whole(&r->h);
    return 0;
}
