/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/tscolumn.c - one value in, one value out.
 *
 * A value begins with a varint u. Even: the difference to the mantissa before, zigzag, in u >> 1.
 * Odd: (u >> 1) & 3 says what comes, u >> 3 is its argument:
 *   XOR    argument n: 0 .. 8 low bytes, or 9 .. 15: n - 8 high bytes, of the bits' XOR
 *   SCALE  argument s: mantissa in units of 10^-3s, zigzag, follows
 *   STALE  a stale marker; the value before stays what it was
 *   OTHER  something that is no float
 * Decoding divides the mantissa by a power of ten, which IEEE 754 rounds in one way only, so that
 * what was checked while writing comes out when reading.
 */
#include "tsdb/tscolumn.h"

#include <math.h>

#include "series/reader.h"

enum { OP_XOR, OP_SCALE, OP_STALE, OP_OTHER };
enum { N_SCALES = 4 };

static const double powers[N_SCALES] = {1.0, 1e3, 1e6, 1e9};

/* v as a mantissa in that scale, when it is one exactly (which -0 is not). */
static inline bool to_mantissa(double v, unsigned scale, int64_t *ret)
{
    double scaled = v * powers[scale];
    if (!(fabs(scaled) < TSCOLUMN_WHOLE_MAX)) /* NaN, too */
        return false;
    int64_t m = llrint(scaled);
    double back = scale == 0 ? (double)m : (double)m / powers[scale];
    *ret = m;
    return tscolumn_bits(back) == tscolumn_bits(v);
}

static uint8_t *put_op(uint8_t *at, unsigned op, unsigned arg)
{
    *at++ = (uint8_t)(arg << 3 | op << 1 | 1);
    return at;
}

static unsigned low_bytes(uint64_t x)
{
    return x ? (71 - (unsigned)__builtin_clzll(x)) / 8 : 0;
}

static uint8_t *put_bytes(uint8_t *at, uint64_t x, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        *at++ = (uint8_t)(x >> (8 * i));
    return at;
}

/* The number of bytes as an argument; *ret_x: what to write of them. */
static unsigned shorten(uint64_t x, uint64_t *ret_x, unsigned *ret_n)
{
    unsigned n_low = low_bytes(x);
    unsigned n_high = x ? 8 - (unsigned)__builtin_ctzll(x) / 8 : 0;
    bool is_high = n_high < n_low;
    *ret_n = is_high ? n_high : n_low;
    *ret_x = is_high ? x >> (64 - 8 * n_high) : x;
    return is_high ? 8 + n_high : n_low;
}

static bool get_bytes(struct varint_in *in, unsigned arg, uint64_t *ret)
{
    unsigned n = arg > 8 ? arg - 8 : arg;
    uint64_t x = 0;
    if (arg > 15 || (size_t)(in->end - in->p) < n)
        return false;
    for (unsigned i = 0; i < n; i++)
        x |= (uint64_t)in->p[i] << (8 * i);
    in->p += n;
    *ret = arg > 8 ? x << (64 - 8 * n) : x;
    return true;
}

uint8_t *tscolumn_put_xor(uint8_t *at, uint64_t x)
{
    unsigned n;
    *at++ = (uint8_t)shorten(x, &x, &n);
    return put_bytes(at, x, n);
}

bool tscolumn_get_xor(struct varint_in *in, uint64_t *ret)
{
    if (in->p == in->end)
        return false;
    unsigned arg = *in->p++;
    return get_bytes(in, arg, ret);
}

static uint8_t *put_raw(struct tscolumn *c, uint8_t *at, uint64_t bits)
{
    uint64_t x;
    unsigned n, arg = shorten(bits ^ c->bits, &x, &n);
    at = put_bytes(put_op(at, OP_XOR, arg), x, n);
    c->bits = bits;
    c->has_mantissa = false;
    return at;
}

/* Trying all scales costs more than the XOR: after some misses only now and then. */
static bool find_scale(struct tscolumn *c, double v, unsigned *ret_scale, int64_t *ret_m)
{
    enum { MISSES_BEFORE_REST = 4, REST = 16 };
    if (c->n_misses > MISSES_BEFORE_REST && c->n_misses % REST != 0) {
        c->n_misses++;
        return false;
    }
    for (unsigned s = 0; s < N_SCALES; s++)
        if (to_mantissa(v, s, ret_m)) {
            *ret_scale = s;
            c->n_misses = 0;
            return true;
        }
    c->n_misses = c->n_misses > MISSES_BEFORE_REST ? REST + 1 : c->n_misses + 1;
    return false;
}

uint8_t *tscolumn_put(struct tscolumn *c, uint8_t *at, double v)
{
    int64_t m;
    unsigned scale;
    uint64_t bits = tscolumn_bits(v);
    if (c->has_mantissa && to_mantissa(v, c->scale, &m)) {
        at = varint_put(at, varint_zigzag(m - c->mantissa) << 1);
        c->mantissa = m;
        c->bits = bits;
        return at;
    }
    if (bits == SERIES_STALE_BITS)
        return put_op(at, OP_STALE, 0);
    if (!find_scale(c, v, &scale, &m))
        return put_raw(c, at, bits);
    c->scale = (uint8_t)scale;
    c->mantissa = m;
    c->has_mantissa = true;
    c->bits = bits;
    return varint_put_signed(put_op(at, OP_SCALE, scale), m);
}

uint8_t *tscolumn_put_other(uint8_t *at)
{
    return put_op(at, OP_OTHER, 0);
}

static inline int take_mantissa(struct tscolumn *c, int64_t m, double *ret)
{
    if (UNLIKELY(m >= INT64_C(1) << 53 || m <= -(INT64_C(1) << 53)))
        return -EBADMSG;
    double v = c->scale == 0 ? (double)m : (double)m / powers[c->scale];
    c->mantissa = m;
    c->bits = tscolumn_bits(v);
    *ret = v;
    return 0;
}

static int get_scale(struct tscolumn *c, struct varint_in *in, uint64_t scale, double *ret)
{
    int64_t m;
    if (scale >= N_SCALES || !varint_get_signed(in, &m))
        return -EBADMSG;
    c->scale = (uint8_t)scale;
    c->has_mantissa = true;
    return take_mantissa(c, m, ret);
}

static int get_op(struct tscolumn *c, struct varint_in *in, uint64_t u, double *ret)
{
    uint64_t arg = u >> 3, x;
    switch ((u >> 1) & 3) {
    case OP_XOR:
        if (arg > 15 || !get_bytes(in, (unsigned)arg, &x))
            return -EBADMSG;
        c->bits ^= x;
        c->has_mantissa = false;
        *ret = tscolumn_of_bits(c->bits);
        return 0;
    case OP_SCALE:
        return get_scale(c, in, arg, ret);
    case OP_STALE:
        *ret = tscolumn_of_bits(SERIES_STALE_BITS);
        return arg == 0 ? 0 : -EBADMSG;
    default:
        return arg == 0 ? 1 : -EBADMSG;
    }
}

int tscolumn_get(struct tscolumn *c, struct varint_in *in, double *ret)
{
    uint64_t u;
    if (UNLIKELY(!varint_get(in, &u)))
        return -EBADMSG;
    if (UNLIKELY(u & 1))
        return get_op(c, in, u, ret);
    if (UNLIKELY(!c->has_mantissa || u >> 57))
        return -EBADMSG;
    return take_mantissa(c, c->mantissa + varint_unzigzag(u >> 1), ret);
}
