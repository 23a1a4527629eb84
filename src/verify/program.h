/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/program.h - a program that runs beside us and never outlives us.
 *
 * Role:      this program's own subcommands, or another one by its path, with standard output and
 *            error in files of a directory: NAME.out, NAME.log.
 * Lifetime:  the kernel kills it when the thread that started it ends, however that comes; its
 *            process group is its own, so that Ctrl-C of a terminal reaches us alone. What it
 *            starts itself ends with it, unless we are killed by SIGKILL.
 * Environment: what finds files and programs. No keys, and no proxies.
 * Errors:    negative errno with *reterr.
 * Threading: one owner, a process with one thread.
 */
#ifndef VERIFY_PROGRAM_H
#define VERIFY_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

enum { VERIFY_PATH_MAX = 512, VERIFY_ARGS_MAX = 24 };

struct verify_program {
    const char *name; /* static: also of its files */
    pid_t pid;        /* 0: none */
    char out[VERIFY_PATH_MAX], log[VERIFY_PATH_MAX];
};

/* path NULL: this program. args: without argv[0], ends with NULL. */
int verify_program_start(struct verify_program *p, const char *name, const char *dir,
                         const char *path, const char *const *args, struct err *reterr) WARN_UNUSED;
/* SIGTERM to its group, SIGKILL after patience_ms; reaps it. Nothing for one that is not there. */
void verify_program_stop(struct verify_program *p, int64_t patience_ms);
/* Whether it ended by itself; then *reterr has its last words. */
bool verify_program_is_over(struct verify_program *p, struct err *reterr);

void verify_program_last_words(const struct verify_program *p, char *dst, size_t cap); /* or "" */

/* What it printed on standard output so far. */
int verify_program_output(const struct verify_program *p, struct buf *out) WARN_UNUSED;
/* The word behind `behind` there, up to white space; false: it is not there (yet). */
bool verify_program_word(const struct verify_program *p, const char *behind, char *dst, size_t cap);

/* A command's path out of PATH; false: there is none. */
bool verify_program_find(const char *command, char *dst, size_t cap);

#endif
