/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/keyfile.h - the file that the gateway's keys are kept in, and the pepper beside it.
 *
 * Role:      text -> keyring; adds and removes keys.
 * Form:      JSON, {"version": 1, "keys": [{"id": ..., "hash": ..., "tenant": ...}]}; hashes only.
 *            The pepper is 64 hexadecimal digits in FILE.pepper, made with the first key. Whoever
 *            has one of the two files cannot use the keys, nor try secrets against them.
 * Failing:   a file that is not as it has to be gives no keyring at all, never an empty one; every
 *            mistake is listed with its place. Both files are refused when anybody but their owner
 *            may read or write them.
 * Writing:
 *            a new file beside the old one, flushed, renamed over it, and the directory flushed,
 *            under a lock on FILE.lock: there is always a whole file, and two writers lose nothing.
 *            The owner of the old file keeps the new one.
 * Threading: any.
 */
#ifndef DAEMON_KEYFILE_H
#define DAEMON_KEYFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err_list.h"
#include "base/span.h"
#include "policy/keyring.h"

/*
 * *ret has one reference. On failure *reterrs, whose places borrow path, has at least one message:
 * -ENOENT, -EACCES and so on of the system; -EPERM: others may read or write it; -EINVAL: mistakes;
 * -ENOMEM.
 */
int keyfile_load(const char *path, struct keyring **ret, struct err_list *reterrs) WARN_UNUSED;

/* Which files were there, to see whether they have changed. */
struct keyfile_mark {
    uint64_t _of[2][5]; /* the file and its pepper: device, inode, size, time of change (s, ns); 0:
                           none */
};
/* Taken before a load, so that what changes meanwhile is seen the next time. */
void keyfile_look(const char *path, struct keyfile_mark *ret);
bool keyfile_is_same(const struct keyfile_mark *a, const struct keyfile_mark *b);

/*
 * Makes a key like `wanted` (id and hash are chosen here) and adds it; the files are made when
 * there are none. ret_key: the key, terminated, not to be had again. Failures as above.
 */
int keyfile_add(const char *path, const struct keyring_key *wanted,
                char ret_key[KEYRING_KEY_LEN + 1], struct err_list *reterrs) WARN_UNUSED;

/* Removes the key of that id; ret_tenant: whose it was. -ENOENT with the nearest id as a hint. */
int keyfile_remove(const char *path, struct span id, char ret_tenant[KEYRING_NAME_MAX],
                   struct err_list *reterrs) WARN_UNUSED;

#endif
