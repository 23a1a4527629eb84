/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/number.h - a sample's value from text and back, as Prometheus writes and reads it.
 *
 * Threading: pure.
 */
#ifndef SERIES_NUMBER_H
#define SERIES_NUMBER_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/span.h"

/* All of s: decimal, 0x.., Inf and NaN in any case, with a sign. -EINVAL, -ERANGE. */
int number_parse(struct span s, double *ret) WARN_UNUSED;
/* Shortest that reads back as v: "1", "0.1", "1e+06", "+Inf", "NaN". */
int number_print(double v, struct buf *out) WARN_UNUSED;

/* The same digits as Go's %g and %v have them, with an exponent below 1e-04 and from 1e+06 on:
 * "100000", "1.234567e+06". */
int number_print_g(double v, struct buf *out) WARN_UNUSED;

#endif
