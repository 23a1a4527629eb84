/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/keyfile_io.h - private to daemon/keyfile*: the two files on the disk.
 *
 * Errors:    as keyfile_load, listed; but nothing is where the key file is not there (-ENOENT): the
 *            caller knows what that means.
 * Threading: any.
 */
#ifndef DAEMON_KEYFILE_IO_H
#define DAEMON_KEYFILE_IO_H

#include <sys/stat.h>

#include "base/attr.h"
#include "base/buf.h"
#include "daemon/keyfile.h"
#include "daemon/keyfile_json.h"

enum { KEYFILE_PATH_MAX = 4096 };

/* The rows of the key file; keyfile_json_done. */
int keyfile_io_rows(const char *path, struct keyfile_rows *ret, struct stat *ret_stat,
                    struct err_list *errs) WARN_UNUSED;

/* "PATH.pepper" into dst (KEYFILE_PATH_MAX); NULL: too long. */
const char *keyfile_io_pepper_path(const char *path, char *dst);
int keyfile_io_pepper(const char *path, unsigned char ret[KEYRING_PEPPER_BYTES],
                      struct err_list *errs) WARN_UNUSED;

/* keyring_new, its failure listed. */
int keyfile_io_ring(const char *path, const unsigned char *pepper, const struct keyring_key *keys,
                    size_t n, struct keyring **ret, struct err_list *errs) WARN_UNUSED;

/* Puts a file of mode 0600 with that text in the place of path, whole or not at all. like: whose
 * owner it gets; NULL: ours. -errno; nothing is listed. */
int keyfile_io_write(const char *path, struct span text, const struct stat *like) WARN_UNUSED;

#endif
