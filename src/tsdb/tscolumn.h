/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/tscolumn.h - values of a series as few bytes: decimal numbers as differences, others by XOR.
 *
 * Role:      inner coding of chunks (README.md has the format). A value that is a whole number of
 *            units, thousandths, millionths or billionths is kept as the difference of that number
 *            to the one before; other values as their bits XOR those of the value before.
 * Errors:    tscolumn_get: -EBADMSG for bytes that no tscolumn_put wrote.
 * Threading: pure.
 */
#ifndef TSDB_TSCOLUMN_H
#define TSDB_TSCOLUMN_H

#include <math.h>

#include "tsdb/bytes.h"

/* What the next value is a difference to. Zeroed: the start of a column. */
struct tscolumn {
    uint64_t bits;     /* of the value before */
    int64_t mantissa;  /* of it, in units of 10^-(3 * scale) */
    uint8_t scale;     /* 0 .. 3 */
    bool has_mantissa; /* else the value before was no such number */
    uint8_t n_misses;  /* writing: values in a row that are no such number */
};

enum { TSCOLUMN_MAX_BYTES = 2 * VARINT_MAX_BYTES }; /* of one value */

/* Writes v; TSCOLUMN_MAX_BYTES must be there. Returns where it ends. */
uint8_t *tscolumn_put(struct tscolumn *c, uint8_t *at, double v);
/* Marks a place where something else follows, which whoever calls writes and reads. */
uint8_t *tscolumn_put_other(uint8_t *at);

/* 0, 1: something else follows, -EBADMSG. */
int tscolumn_get(struct tscolumn *c, struct varint_in *in, double *ret) WARN_UNUSED;

/* Bits XOR others, without the zero bytes on one side: 1 to 9 bytes. */
uint8_t *tscolumn_put_xor(uint8_t *at, uint64_t x);
bool tscolumn_get_xor(struct varint_in *in, uint64_t *ret);

#define TSCOLUMN_WHOLE_MAX 9007199254740992.0 /* 2^53 */

/* A whole number that a double holds exactly, with all of its neighbours. */
static inline bool tscolumn_is_whole(double v)
{
    return fabs(v) <= TSCOLUMN_WHOLE_MAX && (double)(int64_t)v == v;
}

static inline uint64_t tscolumn_bits(double v)
{
    uint64_t u;
    memcpy(&u, &v, sizeof(u));
    return u;
}

static inline double tscolumn_of_bits(uint64_t u)
{
    double v;
    memcpy(&v, &u, sizeof(v));
    return v;
}

#endif
