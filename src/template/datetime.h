/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/datetime.h - moments and durations: their text and their methods.
 *
 * Units:     ns; moments since the Unix epoch, always in UTC. What does not fit is cut at the ends
 *            of int64_t.
 * Methods:   of moments Format, Unix, UnixMilli, UnixMicro, UnixNano, Year, Day, Hour, Minute,
 *            Second, Nanosecond, YearDay, Add, Sub, Before, After, Equal, UTC, String; of durations
 *            String, Hours, Minutes, Seconds, Milliseconds, Microseconds, Nanoseconds.
 * Errors:    -ENOMEM, -EMSGSIZE (out is full); methods as functions of template/builtin.h.
 * Threading: pure.
 */
#ifndef TEMPLATE_DATETIME_H
#define TEMPLATE_DATETIME_H

#include "template/builtin.h"

/* 2015-06-23 13:19:44.128 +0000 UTC */
int datetime_print(int64_t ns, struct buf *out) WARN_UNUSED;
/* As a layout of Go says: "Mon Jan 2 15:04:05 2006". */
int datetime_format(int64_t ns, struct span layout, struct buf *out) WARN_UNUSED;
/* 1h2m3.5s, 1.5ms, 0s */
int datetime_print_duration(int64_t ns, struct buf *out) WARN_UNUSED;

/* -ENOENT: v has no method of that name. */
int datetime_method(struct builtin_call *c, const struct tvalue *v, struct span name,
                    const struct tvalue *args, size_t n, struct tvalue *ret) WARN_UNUSED;

#endif
