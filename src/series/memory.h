/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/memory.h - series held in memory, for tests and scripts: a reader and its writer.
 *
 * Errors:    -ENOMEM; -EINVAL: a sample that is not newer than the last one of its series.
 * Threading: one owner.
 */
#ifndef SERIES_MEMORY_H
#define SERIES_MEMORY_H

#include "series/reader.h"

struct memory;
int memory_new(struct memory **ret) WARN_UNUSED;
struct memory *memory_free(struct memory *m);
void memory_clear(struct memory *m);
/* labels and h are copied. h NULL: the float v. */
int memory_append(struct memory *m, struct labels labels, int64_t t_ms, double v,
                  const struct fhist *h) WARN_UNUSED;
struct reader *memory_reader(struct memory *m);
size_t memory_n_series(const struct memory *m);

#endif
