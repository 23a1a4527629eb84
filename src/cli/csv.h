/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/csv.h - fields of comma-separated values, as RFC 4180 has them.
 *
 * Threading: pure.
 */
#ifndef CLI_CSV_H
#define CLI_CSV_H

#include "base/buf.h"

/* In quotes where it has to be. */
int csv_field(struct span s, struct buf *out) WARN_UNUSED;

#endif
