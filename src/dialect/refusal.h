/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/refusal.h - what the dialects' refusals share. Private to dialect/.
 *
 * Statuses and codes are the same for all; each dialect has its own names of error types.
 */
#ifndef DIALECT_REFUSAL_H
#define DIALECT_REFUSAL_H

#include "base/jsonw.h"
#include "dialect/dialect.h"

/* r, or an internal error where r is none: an index into tables of REFUSAL_COUNT_. */
static inline enum dialect_refusal refusal_known(enum dialect_refusal r)
{
    return (unsigned)r < REFUSAL_COUNT_ ? r : REFUSAL_INTERNAL;
}

/* One word for it, for dialects that tell one, and for want of a message. */
const char *refusal_code(enum dialect_refusal r);

/* What a refusal_body returns once all is written: 0, or -errno and body as it was (n_before). */
int refusal_end(const struct jsonw *w, struct buf *body, size_t n_before) WARN_UNUSED;

#endif
