/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/timestamp.h - points in time as other programs write them.
 *
 * Threading: pure.
 */
#ifndef BASE_TIMESTAMP_H
#define BASE_TIMESTAMP_H

#include "base/attr.h"
#include "base/clock.h"
#include "base/span.h"

/*
 * Whole milliseconds since the Unix epoch ("1764434739272"), or RFC 3339
 * ("2026-11-29T16:25:39.27Z", "2026-11-30T00:25:39+08:00"; a blank or "t" may stand for "T", digits
 * behind the microseconds do not count). From 1970, not included, to 9999. -EINVAL.
 */
int timestamp_parse(struct span s, wall_t *ret) WARN_UNUSED;

#endif
