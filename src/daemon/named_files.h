/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/named_files.h - files that the configuration names: rules, routes, what is scraped.
 *
 * Role:      paths and patterns to texts, and mistakes in them to one message, with the list beside
 *            it for those who have room for all.
 * Errors:    negative errno; *reterr says which file, and what to do.
 * Threading: any; the working directory is where relative paths begin.
 */
#ifndef DAEMON_NAMED_FILES_H
#define DAEMON_NAMED_FILES_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/err_list.h"

enum { NAMED_FILES_PATH_MAX = 1024 };

/* Of the first file that has any. */
struct file_mistakes {
    struct err_list list;
    char path[NAMED_FILES_PATH_MAX]; /* where all of them are; cut when it is too long */
};
void named_files_init(struct file_mistakes *m);

/* One of them: text is valid during the call. */
typedef int (*named_files_take)(void *ctx, const char *path, struct span text);
/*
 * A path, or a pattern (*, ?, [...]), which may mean no file: then a warning is logged. what: "rule
 * files". Ends with the first error of take, which has told why.
 */
int named_files_each(const char *path, const char *what, size_t max, named_files_take take,
                     void *ctx, struct err *reterr) WARN_UNUSED;
/* One path as it is. */
int named_files_one(const char *path, size_t max, named_files_take take, void *ctx,
                    struct err *reterr) WARN_UNUSED;
/* Returns error, with the first mistake and the number of them. path goes, the list stays. */
int named_files_tell(struct file_mistakes *m, const char *path, int error, struct err *reterr);

#endif
