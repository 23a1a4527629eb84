/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split.h - feeds one input to a parser in many divisions; the result must always be the same.
 *
 * For each division: begin, then feed for each part in order, then end, which compares. The
 * divisions are: whole, every 2-way split, byte by byte, and random ones from a fixed seed. Every
 * part lies in front of an inaccessible page (guard.h) and is overwritten by the next one, so a
 * parser that keeps a pointer into its input or reads past it is found out.
 */
#ifndef SPLIT_H
#define SPLIT_H

#include "base/span.h"

struct split_ops {
    void (*begin)(void *ctx);
    void (*feed)(void *ctx, struct span part);
    void (*end)(void *ctx, const char *how); /* how: the division, for the failure message */
};

/*
 * Large inputs: 2-way splits are thinned out evenly so that all of them together feed about
 * SPLIT_BUDGET_BYTES; below 8 KiB every offset is tried.
 */
#define SPLIT_BUDGET_BYTES ((size_t)64 << 20)

void split_each(struct span input, const struct split_ops *ops, void *ctx);

#endif
