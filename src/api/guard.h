/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/guard.h - private to api/: who may change something through the admin listener.
 *
 * Role:      a page of another site, open in a browser on this machine, may send requests to
 *            loopback. What changes something is refused when it comes from one: its Origin is not
 *            this listener, or the name that it asked for could have been made to point here (DNS
 *            rebinding). Programs send no Origin.
 * Threading: pure.
 */
#ifndef API_GUARD_H
#define API_GUARD_H

#include "base/span.h"
#include "wire/http1.h"

/* NULL: go on; else why not, static text. */
const char *guard_refusal(const struct http1_head *head);

#endif
