/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/guard.h - private to api/: who may change something through the admin listener.
 *
 * Role:      a page of another site, open in a browser on this machine, may send requests to
 *            loopback. What changes something is refused when it comes from one: its Origin is not
 *            this listener. Programs send no Origin. A browser's session has to tell both: its
 *            Origin, and the second secret in X-Inferometer-CSRF.
 * Names:     where no tokens are needed, the name that was asked for could have been made to point
 *            here (DNS rebinding), and that page would read answers, too: only addresses,
 *            localhost, this machine's name and the one that is configured are answered then.
 * Threading: pure.
 */
#ifndef API_GUARD_H
#define API_GUARD_H

#include "api/session.h"

/* NULL: go on; else why not, static text. The session may write. */
const char *guard_refusal(const struct http1_head *head, const struct session *s,
                          const struct api_access *a);

/* Whether the request tells that a page of another site sends it. */
bool guard_is_foreign(const struct http1_head *head, const struct api_access *a);

/* Whether the name that was asked for may be another site's, made to point here. */
bool guard_is_rebound(const struct http1_head *head, const struct session *s,
                      const struct api_access *a);

#endif
