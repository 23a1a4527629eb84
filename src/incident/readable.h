/* SPDX-License-Identifier: Apache-2.0 */
/*
 * incident/readable.h - times, durations, numbers and small plots, as people read them.
 *
 * Threading: pure.
 */
#ifndef INCIDENT_READABLE_H
#define INCIDENT_READABLE_H

#include <stdint.h>

#include "base/buf.h"

/* "2026-11-30T04:12:03.250Z"; "" for what is no time. */
enum { READABLE_TIME_BYTES = 32 };
const char *readable_time(int64_t ms, char dst[READABLE_TIME_BYTES]);
/* "2026-11-30 04:12:03" */
const char *readable_moment(int64_t ms, char dst[READABLE_TIME_BYTES]);
/* "45 s", "12 min 5 s", "3 h 2 min", "4 d 1 h" */
int readable_duration(int64_t ms, struct buf *out) WARN_UNUSED;
/* At most four digits: "0.1234", "1.5e+07"; "NaN", "+Inf", "-Inf". */
enum { READABLE_NUMBER_BYTES = 32 };
const char *readable_number(double v, char dst[READABLE_NUMBER_BYTES]);

/* Eight heights from 0 to the largest value, the largest of those that share a character; a dot
 * where nothing is known. At most width characters. */
int readable_plot(const float *at, size_t n, size_t width, struct buf *out) WARN_UNUSED;

#endif
