/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/params.h - private to api/: parameters of a query string and of a form, decoded.
 *
 * Role:      what the resources of Prometheus' API get: names may repeat (match[]), a form goes
 *            before the query string, as Go's FormValue has it.
 * Units:     ms since the epoch, ms.
 * Ownership: an arena's.
 * Threading: pure.
 */
#ifndef API_PARAMS_H
#define API_PARAMS_H

#include <stdint.h>

#include "base/arena.h"

enum { PARAMS_MAX = 1000 };

/* Ends of time, far enough from those of int64_t that a lookback never leaves it. */
#define PARAMS_TIME_MIN (INT64_MIN / 2)
#define PARAMS_TIME_MAX (INT64_MAX / 2)

struct param {
    struct span name, value;
};
struct params {
    const struct param *at;
    size_t n;
};

/* -EINVAL: a percent sign without two hex digits; -E2BIG: more than PARAMS_MAX; -ENOMEM. */
int params_parse(struct arena *a, struct span query, struct span form,
                 struct params *ret) WARN_UNUSED;

/* The first of that name; p == NULL: there is none. */
struct span params_get(const struct params *p, struct span name);

/* %XX, and + as a space where is_form. -EINVAL, -ENOMEM. */
int params_decode(struct arena *a, struct span s, bool is_form, struct span *ret) WARN_UNUSED;

/* Unix seconds, also with a fraction or negative, or RFC 3339. -EINVAL. */
int params_time(struct span s, int64_t *ret_ms) WARN_UNUSED;
/* Seconds or a duration as PromQL writes it. -EINVAL; -ERANGE: does not fit. */
int params_duration(struct span s, int64_t *ret_ms) WARN_UNUSED;

/* A name that had to be written as U__..., as it is: U__a_2e_b is a.b. What is not of that form
 * stays as it is. -ENOMEM. */
int params_unescape_name(struct arena *a, struct span name, struct span *ret) WARN_UNUSED;

#endif
