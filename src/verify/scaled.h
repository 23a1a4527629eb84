/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/scaled.h - a rule file as it runs, for the programs that read it and for people.
 *
 * Errors:    -ENOMEM, -EMSGSIZE; -EINVAL: an expression has no fixed durations (step(), range()).
 * Threading: pure.
 */
#ifndef VERIFY_SCALED_H
#define VERIFY_SCALED_H

#include "verify/plan.h"

/* File i of the plan as JSON, which is YAML; groups without an interval get the default one. */
int verify_scaled_write(const struct verify_plan *p, size_t i, struct buf *out) WARN_UNUSED;

/* What changed: each rule of a file with its scaled expression and times, a line each. */
int verify_scaled_show(const struct verify_plan *p, size_t i, struct buf *out) WARN_UNUSED;

#endif
