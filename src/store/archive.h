/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/archive.h - a day's rows as compressed JSON lines, before its file goes.
 *
 * Shape:     DIR/requests-2026-11-30.jsonl.zst, lines as in the request log (docs/RECORD.md), in
 *            the order in which rows were stored. Written under another name, synced, then
 *            renamed; where the name is taken, a number comes before the ending.
 * Errors:    as db/db.h and of writing files; what is damaged is left out.
 * Threading: one owner.
 */
#ifndef STORE_ARCHIVE_H
#define STORE_ARCHIVE_H

#include <stdint.h>

#include "base/attr.h"

struct archive;
int archive_begin(const char *dir, const char *archive_dir, int64_t day,
                  struct archive **ret) WARN_UNUSED;
/* The next few thousand rows. 1: more are left; 0: the file is there, as archive_abort must still
 * be told. */
int archive_step(struct archive *a) WARN_UNUSED;
/* Frees; removes what is not finished. NULL is allowed; returns NULL. */
struct archive *archive_abort(struct archive *a);

#endif
