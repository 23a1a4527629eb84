/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/outdir.h - files of a directory that a command writes.
 *
 * Errors:    negative errno with a text that names the path. A file is there whole, or as it was.
 * Threading: the main thread.
 */
#ifndef CLI_OUTDIR_H
#define CLI_OUTDIR_H

#include "base/err.h"
#include "base/span.h"

enum { OUTDIR_PATH_MAX = 4096 };

/* name: below dir, as "rules/engine.yml"; directories are made where there are none (mode 0755; a
 * new file's is 0644). */
int outdir_put(const char *dir, const char *name, struct span text, struct err *reterr) WARN_UNUSED;

/* The absolute path of dir/name, for texts. */
int outdir_path(const char *dir, const char *name, char dst[OUTDIR_PATH_MAX],
                struct err *reterr) WARN_UNUSED;

#endif
