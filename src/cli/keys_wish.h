/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/keys_wish.h - private to cli/keys*: what the command line of "inferometer key" asks for.
 *
 * Memory:    wish.key points into the wish and argv; keys_wish_done.
 */
#ifndef CLI_KEYS_WISH_H
#define CLI_KEYS_WISH_H

#include "cli/flag.h"
#include "policy/keyring.h"

struct keys_wish {
    const char *file;   /* NULL: not told */
    const char *config; /* whose access.keys is the file; NULL: not told */
    bool is_json;
    bool is_help;
    struct span id; /* to revoke */
    struct keyring_key key;
    const char *_models[KEYRING_MODELS_MAX];
    struct keyring_label _labels[KEYRING_LABELS_MAX];
    char *_label_names[KEYRING_LABELS_MAX]; /* what the labels' names are cut out of argv to */
};

/* Which flags may stand there. */
enum keys_command { KEYS_ADD, KEYS_LIST, KEYS_REVOKE };

/* argv[0] is the command's name. now_s: Unix time. -EINVAL, -ENOMEM with text and hint. */
int keys_wish_parse(enum keys_command command, int argc, char **argv, int64_t now_s,
                    struct keys_wish *ret, struct err *reterr) WARN_UNUSED;
void keys_wish_done(struct keys_wish *w);

/* "90d" from now, "2027-01-31" or "2027-01-31T12:00:00Z" (UTC). false: none of these, or past. */
bool keys_wish_expiry(struct span text, int64_t now_s, int64_t *ret_s);

#endif
