/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/made_rows.h - request rows for benches: records as a gateway makes them, drawn with a fixed
 * seed.
 *
 * Shape:     8 models on 4 upstreams, 50 tenants, 3 teams; three of four are streams, one of a
 *            hundred was refused, two of a hundred streams have a timeline.
 * Ownership: what is handed out belongs to this file, until the next call.
 */
#ifndef BENCH_MADE_ROWS_H
#define BENCH_MADE_ROWS_H

#include <stddef.h>
#include <stdint.h>

struct record;

/* Before anything else; again, and the same rows come once more. */
void made_rows_begin(void);
/* Row i: an id of its own, and ended then. */
const struct record *made_rows_get(size_t i, int64_t ended_us);

#endif
