/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/query_windows.h - histograms of an answer, as windows of baseline/propose.h.
 *
 * Ownership: an arena's; models may be views into the answer.
 * Errors:    -EPROTO: a series without a name that can be read, a value that is no histogram.
 *            -ENOMEM.
 * Threading: pure.
 */
#ifndef CLI_QUERY_WINDOWS_H
#define CLI_QUERY_WINDOWS_H

#include "baseline/propose.h"
#include "cli/query_data.h"

int query_windows_read(const struct query_data *d, struct arena *a, struct propose_series **ret,
                       size_t *ret_n) WARN_UNUSED;

#endif
