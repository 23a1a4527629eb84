/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config_args.h - the command line's part of the configuration: flags over the file.
 *
 * Role:      a table of flags, each standing for a key; "--set KEY=VALUE" reaches every key. The
 *            parsed flags are kept, so that a reload reads the file again and puts them on top.
 * Memory:    borrows argv.
 * Threading: plain values.
 */
#ifndef DAEMON_CONFIG_ARGS_H
#define DAEMON_CONFIG_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/attr.h"
#include "base/err.h"
#include "daemon/config.h"
#include "daemon/config_build.h"

enum { CONFIG_ARGS_MAX = 64 };

struct config_flag {
    const char *short_name; /* "-c", or NULL */
    const char *name;       /* with "--" */
    const char *value;      /* what is shown for the value */
    const char *path;       /* the key; NULL: --config and --set */
    const char *help;
};
extern const struct config_flag config_args_flags[];
extern const size_t config_args_flags_n;

struct config_args {
    const char *config_path; /* -c, or NULL */
    bool is_help;            /* -h or --help */
    size_t n;
    struct config_build_value items[CONFIG_ARGS_MAX];
};

/*
 * Takes one flag and its value at argv[*i] ("--workers 4", "--workers=4") and moves *i behind them.
 * Returns 1; 0 when argv[*i] is no flag of this table (*i stays); -EINVAL with text and hint.
 * *args starts zeroed.
 */
int config_args_take(struct config_args *args, int argc, char *const argv[], int *i,
                     struct err *reterr) WARN_UNUSED;

/* All of argv[1..]: what is no flag of the table is a mistake. -EINVAL with text and hint. */
int config_args_parse(int argc, char *const argv[], struct config_args *ret,
                      struct err *reterr) WARN_UNUSED;

/* Hint for an unknown flag. */
void config_args_hint(const char *flag, struct err *e);

/* As config_load: defaults, the file of -c, then the flags. Also for every reload. */
int config_args_load(const struct config_args *args, struct config **ret,
                     struct err_list *reterrs) WARN_UNUSED;

/* The flags, one a line, for --help. */
void config_args_help(FILE *out);

#endif
