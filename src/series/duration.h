/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/duration.h - durations as Prometheus writes them: 1h30m, 5m, 250ms.
 *
 * Units:     y w d h m s ms, from long to short, each once; a year has 365 days.
 * Errors:    -EINVAL: none; -ERANGE: its ns would not fit into 64 bits; -ENOMEM, -EMSGSIZE.
 * Threading: pure.
 */
#ifndef SERIES_DURATION_H
#define SERIES_DURATION_H

#include <stdint.h>

#include "base/buf.h"

/* Without a sign. */
int duration_parse(struct span s, int64_t *ret_ms) WARN_UNUSED;
/* Its first unit that there is none of; empty: all are known. */
struct span duration_unknown_unit(struct span s);
int duration_print(int64_t ms, struct buf *out) WARN_UNUSED;

#endif
