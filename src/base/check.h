/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/check.h - assertions that tell a bug in our code from an event of the outside world.
 *
 * ASSERT(x)  holds or the program is wrong; aborts in dev builds (DEV_BUILD), nothing in release.
 * ALWAYS(x)  expression for the data plane: true as far as we know. Dev: aborts when false.
 *            Release: counts STAT_INTERNAL_ERRORS, remembers file:line for the log and yields
 *            false, so that the caller gives up this one exchange and not the process.
 * NEVER(x)   the same for what must not happen.
 * Bytes of a peer and failed allocations are events, never ASSERTs.
 */
#ifndef BASE_CHECK_H
#define BASE_CHECK_H

#include <stdbool.h>

#include "base/attr.h"

NORETURN void check_abort(const char *what, const char *file, int line);
void check_count(const char *what, const char *file, int line);

/* Copies "file:line: condition" of the most recent counted failure; false when there is none. */
bool check_last(char *dst, size_t cap);

#ifdef DEV_BUILD
#define ASSERT(x) (LIKELY(x) ? (void)0 : check_abort(#x, __FILE__, __LINE__))
#define ALWAYS(x) (LIKELY(x) ? true : (check_abort(#x, __FILE__, __LINE__), false))
#define NEVER(x)  (UNLIKELY(x) ? (check_abort(#x, __FILE__, __LINE__), true) : false)
#else
#define ASSERT(x) ((void)sizeof(x))
#define ALWAYS(x) (LIKELY(x) ? true : (check_count(#x, __FILE__, __LINE__), false))
#define NEVER(x)  (UNLIKELY(x) ? (check_count(#x, __FILE__, __LINE__), true) : false)
#endif

#endif
