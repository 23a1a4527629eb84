/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/play.h - a recorded body, and the writes it is played in.
 *
 * Files:     FILE ends in .sse, .ndjson or .json, which says what it is. FILE.reads beside it,
 *            where there is one, has the length of each write, one a line; together they are FILE's
 *            size. Without it a write is one event: an event stream's, a line, an element of an
 *            array.
 * Memory:    the file is held whole, at most PLAY_BYTES_MAX.
 * Threading: read-only once opened.
 */
#ifndef SIM_PLAY_H
#define SIM_PLAY_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/span.h"

enum { PLAY_BYTES_MAX = 256 * 1024 * 1024, PLAY_NAME_MAX = 256 };

struct play;

/* Blocking file I/O. -errno, -EINVAL (not a file that can be played), -EMSGSIZE, -ENOMEM. */
int play_open(const char *path, struct play **ret, struct err *reterr) WARN_UNUSED;
struct play *play_free(struct play *p);

/* A file of that directory, by its plain name. -EINVAL: not a plain name; else as play_open. */
int play_open_in(const char *dir, struct span name, struct play **ret,
                 struct err *reterr) WARN_UNUSED;

const char *play_content_type(const struct play *p);

struct play_place {
    size_t offset; /* bytes taken */
    size_t _write;
};

/* Takes the next write, of n_bytes where that is not 0. Empty: nothing is left. */
struct span play_take(const struct play *p, struct play_place *at, int64_t n_bytes);
size_t play_n_writes(const struct play *p, int64_t n_bytes);
size_t play_len(const struct play *p);

#endif
