/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/dialog.h - JSON answers of a running gateway, for commands that show them.
 *
 * Errors:    negative errno with a text; -EREMOTEIO: it refused, and the text says why.
 * Threading: the main thread.
 */
#ifndef CLI_DIALOG_H
#define CLI_DIALOG_H

#include <jansson.h>

#include "cli/talk.h"

struct flag;

/* The words and flags of a command. read takes one flag, and its value. */
struct dialog_words {
    struct span *at;
    size_t n, max;        /* max 0: only flags */
    const char *too_many; /* behind "more than N words"; "" */
};
/* 1: go on; 0: help was asked for. */
int dialog_read_words(int argc, char **argv, struct dialog_words *w,
                      int (*read)(struct flag *f, void *ctx, struct err *reterr), void *ctx,
                      struct err *reterr) WARN_UNUSED;

/* Asks; an answer with another status than 2xx is a refusal. accept is JSON where q says nothing.
 * *ret_status (may be NULL): 0 where nobody answered. */
int dialog_get(const struct talk_place *at, struct talk_question q, struct buf *body,
               int *ret_status, struct err *reterr) WARN_UNUSED;

/* NULL: it is no JSON. To be released with json_decref. */
json_t *dialog_load(struct span json);
/* The text of a member; "" where it is none. */
struct span dialog_text(const json_t *object, const char *key);
/* What a refusal says: a text, or {"error": text}; as it is where it is neither. */
int dialog_print_refusal(struct span json, struct buf *out) WARN_UNUSED;

#endif
