/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/cookie.h - private to api/: the cookies of a request.
 *
 * Threading: pure.
 */
#ifndef API_COOKIE_H
#define API_COOKIE_H

#include "base/span.h"
#include "wire/http1.h"

/* The value of a cookie, borrowed of the head; p == NULL when there is none. Where a name is there
 * twice, the first: browsers send the one with the longer path first. */
struct span cookie_value(const struct http1_head *head, struct span name);

#endif
