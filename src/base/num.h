/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/num.h - numbers and units from text and back. No locale, no partial success.
 *
 * Every parser takes the whole span (no leading or trailing space), returns 0 or -EINVAL (not a
 * number of this kind) or -ERANGE (does not fit), and sets *ret only on success.
 */
#ifndef BASE_NUM_H
#define BASE_NUM_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/span.h"

int num_parse_u64(struct span s, uint64_t *ret) WARN_UNUSED;  /* digits only */
int num_parse_i64(struct span s, int64_t *ret) WARN_UNUSED;   /* optional '-' */
int num_parse_hex(struct span s, uint64_t *ret) WARN_UNUSED;  /* 1..16 hex digits, no prefix */
int num_parse_double(struct span s, double *ret) WARN_UNUSED; /* finite decimal */

/* "250ms", "1.5s", "90s", "5m", "1h", "20us", "7d"; a bare "0" too. Result in ns. */
int num_parse_duration(struct span s, int64_t *ret_ns) WARN_UNUSED;

/* "512", "64KiB", "1MiB", "2GiB", also KB/MB/GB (powers of 1000). Result in bytes. */
int num_parse_bytes(struct span s, uint64_t *ret_bytes) WARN_UNUSED;

/* Shortest text that reads back as the same double ("0.1", "1e-06", "+Inf", "NaN"). dst >= 32 B. */
size_t num_format_double(double v, char *dst);
/* The same, and ".0" behind whole numbers, as OpenMetrics writes bounds of buckets: "1.0". */
size_t num_format_fraction(double v, char *dst);

size_t num_format_long_u64(uint64_t v, char *dst); /* num_format_u64's way with several digits */
/* The same digits without an exponent, whatever they cost: "0.000001". Returns the length. */
enum { NUM_PLAIN_BYTES = 360 };
size_t num_format_plain(double v, char dst[NUM_PLAIN_BYTES]);

/* Decimal digits of v; dst >= 24 B. Returns the length; not terminated. */
static inline size_t num_format_u64(uint64_t v, char *dst)
{
    if (v >= 10)
        return num_format_long_u64(v, dst);
    *dst = (char)('0' + v);
    return 1;
}
size_t num_format_i64(int64_t v, char *dst);

/*
 * v in decimal, rounded to at most `decimals` (1..9) digits behind the point, without zeros at the
 * end: "1", "1.25". v: 0 .. 1e9; anything else is written as by num_format_double. dst >= 32 B;
 * returns the length; not terminated.
 */
size_t num_format_decimal(double v, int decimals, char *dst);

extern const char num_digit_pairs[]; /* "00" to "99", one after the other */

/* The largest whole number that is not above a / b; b > 0. */
static inline int64_t num_floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0 ? 1 : 0);
}
/* What is left then: 0 .. b - 1. */
static inline int64_t num_floor_mod(int64_t a, int64_t b)
{
    return a % b + (a % b < 0 ? b : 0);
}

/* Exactly `width` decimal digits of v, zeros in front; v < 10^width. Not terminated. */
static inline void num_format_padded(uint64_t v, int width, char *dst)
{
    for (; width >= 2; width -= 2) { /* two digits for one division */
        memcpy(dst + width - 2, num_digit_pairs + 2 * (v % 100), 2);
        v /= 100;
    }
    if (width == 1)
        dst[0] = (char)('0' + v % 10);
}

#endif
