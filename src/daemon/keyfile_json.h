/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/keyfile_json.h - private to daemon/keyfile*: the key file's text and its rows.
 *
 * Role:      text -> rows with every mistake at its line and column, and rows -> text. Nothing but
 *            what a row has is in the text, so that writing rows loses nothing.
 * Memory:    rows own their texts.
 * Threading: one owner.
 */
#ifndef DAEMON_KEYFILE_JSON_H
#define DAEMON_KEYFILE_JSON_H

#include "base/buf.h"
#include "daemon/keyfile.h"

enum { KEYFILE_VERSION = 1 };

struct keyfile_rows {
    struct keyring_key *keys;
    size_t n;
    void *_texts, *_pointers, *_labels; /* what the rows point to */
};

/* Fails with -EINVAL or -ENOMEM; then there is nothing to free. */
int keyfile_json_parse(struct span text, const char *path, struct keyfile_rows *ret,
                       struct err_list *errs) WARN_UNUSED;
void keyfile_json_done(struct keyfile_rows *rows);

/* -ENOMEM, -EMSGSIZE. */
int keyfile_json_print(const struct keyring_key *keys, size_t n, struct buf *out) WARN_UNUSED;

/* Lower-case hexadecimal digits, exactly 2 * n of them. */
bool keyfile_hex_parse(struct span text, unsigned char *dst, size_t n);
void keyfile_hex_format(const unsigned char *bytes, size_t n, char *dst); /* terminated */

#endif
