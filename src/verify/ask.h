/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/ask.h - one request after the other to the programs of a run.
 *
 * Limits:    VERIFY_ASK_MS for all of a request, VERIFY_ANSWER_MAX of an answer.
 * Errors:    negative errno with *reterr, which names the URL; an answer that is not 2xx is
 *            -EBADMSG.
 * Threading: one owner. SIGPIPE has to be ignored.
 */
#ifndef VERIFY_ASK_H
#define VERIFY_ASK_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

enum { VERIFY_ASK_MS = 3000, VERIFY_ANSWER_MAX = 16 * 1024 * 1024 };

struct verify_asker;
int verify_ask_new(struct verify_asker **ret) WARN_UNUSED;
struct verify_asker *verify_ask_free(struct verify_asker *a); /* NULL is allowed; returns NULL */

/* json NULL: GET; else it is posted. out: the body, in place of what was there. */
int verify_ask(struct verify_asker *a, const char *url, const char *json, struct buf *out,
               struct err *reterr) WARN_UNUSED;
/* An instant query of a server with Prometheus' API. NaN: no series. *ret_n: how many there are. */
int verify_ask_value(struct verify_asker *a, const char *server, const char *query, double *ret,
                     size_t *ret_n, struct err *reterr) WARN_UNUSED;

#endif
