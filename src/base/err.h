/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/err.h - failures a person has to read: configuration, command line, start-up.
 *
 * Data-plane code returns negative errno values; only code that talks to people fills a struct
 * err: what is wrong, where, and what to do about it.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/attr.h"

struct err {
    int code;       /* negative errno */
    char text[480]; /* one line, lower case, no full stop */
    char hint[240]; /* the remedy, or "" */
};

/* Fills *reterr (may be NULL) and returns code, so that callers can `return err_set(...)`. */
int err_set(struct err *reterr, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Adds or replaces the hint. */
void err_hint(struct err *reterr, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Static text for a negative errno value ("connection refused"). Any thread. */
const char *err_str(int code);

#endif
