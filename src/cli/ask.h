/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/ask.h - one HTTP request to a running gateway, and its answer.
 *
 * Role:      commands that talk to the admin listener. Blocking: there is nothing else to do.
 * Limits:    ASK_ANSWER_MAX of an answer, ASK_PATIENCE_S between two reads.
 * Threading: pure.
 */
#ifndef CLI_ASK_H
#define CLI_ASK_H

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"

enum { ASK_PATIENCE_S = 150, ASK_HOST_MAX = 256, ASK_PREFIX_MAX = 256 };
#define ASK_ANSWER_MAX (256 * MIB)

/* Where: taken from a URL, from ADDR:PORT or from unix:/path. */
struct ask_place {
    char host[ASK_HOST_MAX];     /* as in the field Host */
    char prefix[ASK_PREFIX_MAX]; /* of the path, without a slash at the end */
};
int ask_place_parse(struct span text, struct ask_place *ret, struct err *reterr) WARN_UNUSED;

/*
 * POSTs a form to path. accept: the type of the answer that is wanted. *ret_status is that of the
 * answer, whose body is appended to body; *reterr says who did not answer, the hint is the
 * caller's.
 */
struct ask_question {
    const char *path, *accept;
    struct span form;
};
int ask_post(const struct ask_place *at, const struct ask_question *q, int *ret_status,
             struct buf *body, struct err *reterr) WARN_UNUSED;

/* name=value, encoded, behind what is in the form already. */
int ask_add(struct buf *form, const char *name, struct span value) WARN_UNUSED;

#endif
