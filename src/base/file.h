/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/file.h - whole small files: configuration, keys, certificates.
 *
 * Threading: any.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/attr.h"
#include "base/buf.h"

/*
 * Appends what can be read from fd, up to max + 1 bytes: more than max behind this call means that
 * there was more. 0, -ENOMEM, -EMSGSIZE (out is full), or why it could not be read.
 */
int file_read_fd(int fd, size_t max, struct buf *out) WARN_UNUSED;

/* The same for the file at path. -EFBIG: it is longer than max. */
int file_read(const char *path, size_t max, struct buf *out) WARN_UNUSED;

/* Whether path still names what was opened as fd: nobody removed or replaced it. */
bool file_is_at(int fd, const char *path);

#endif
