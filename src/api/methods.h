/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/methods.h - private to api/: what a resource may be asked with, and by whom.
 *
 * Role:      everything that is refused before a handler sees it: paths that are none, who shows no
 *            token, other methods, changes by who may look only or by pages of other sites.
 * Threading: pure.
 */
#ifndef API_METHODS_H
#define API_METHODS_H

#include "api/routes.h"

bool methods_is_look(struct span method); /* GET, HEAD */
bool methods_is_change(const struct route *route, struct span method);

/* Whether it is refused; the answer is there then. route: NULL: there is none. */
bool methods_refuse(const struct api_request *req, const struct route *route,
                    struct api_answer *ret);

/* The field Allow of an answer 405. */
const char *methods_allow(const struct route *route);

#endif
