/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/talk.h - one HTTP request to a running gateway, and its answer.
 *
 * Role:      commands that talk to the admin listener. Blocking: there is nothing else to do.
 * Access:    sends the token in INFEROMETER_TOKEN along, where that variable is set.
 * Limits:    TALK_ANSWER_MAX of an answer; TALK_PATIENCE_S between two reads, where a question does
 *            not say for how long its whole answer is waited for.
 * Threading: pure.
 */
#ifndef CLI_TALK_H
#define CLI_TALK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"

enum { TALK_PATIENCE_S = 150, TALK_HOST_MAX = 256, TALK_PREFIX_MAX = 256 };
#define TALK_ANSWER_MAX (256 * MIB)

/* Where: taken from a URL, from ADDR:PORT or from unix:/path. */
struct talk_place {
    char host[TALK_HOST_MAX];     /* as in the field Host */
    char prefix[TALK_PREFIX_MAX]; /* of the path, without a slash at the end */
};
int talk_place_parse(struct span text, struct talk_place *ret, struct err *reterr) WARN_UNUSED;

/*
 * Sends something to path: a form with POST, or what else is said. accept: the type of the answer
 * that is wanted; flag: the one that says where, for the hint. *ret_status is that of the answer,
 * whose body is appended to body; *reterr says who did not answer.
 */
struct talk_question {
    const char *path, *accept, *flag;
    struct span form;
    const char *method;      /* NULL: POST */
    const char *type;        /* of form; NULL: that of a form */
    int64_t patience_ns;     /* for the whole answer; 0: TALK_PATIENCE_S between two reads */
    bool (*must_stop)(void); /* asked before each read and when a signal came: then -EINTR */
};
int talk_ask(const struct talk_place *at, const struct talk_question *q, int *ret_status,
             struct buf *body, struct err *reterr) WARN_UNUSED;

/* r, of who read the answer: it is none of those that are wanted ("result"). Returns r. */
int talk_misread(const struct talk_place *at, int status, const char *wanted, int r,
                 struct err *reterr);

/* Who asks: the user's name, "" where there is none. Static. */
struct span talk_user(void);

/* name=value, encoded, behind what is in the form already. */
int talk_add(struct buf *form, struct span name, struct span value) WARN_UNUSED;

/* Likewise; nothing for NaN, which is a time that was not said. */
int talk_add_seconds(struct buf *form, struct span name, double s) WARN_UNUSED;

/* %XX for what is neither a letter nor a digit. */
int talk_encode(struct span s, struct buf *out) WARN_UNUSED;

#endif
