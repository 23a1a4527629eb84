/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config_build.h - private to daemon/config*: a configuration while it is being put
 * together.
 *
 * Role:      begin; then file, text, and single values, the later over the earlier; then finish.
 * Errors:    mistakes are listed and building goes on; finish tells whether there were any.
 *            The first -ENOMEM ends it.
 * Threading: one owner.
 */
#ifndef DAEMON_CONFIG_BUILD_H
#define DAEMON_CONFIG_BUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "daemon/config.h"
#include "daemon/config_keys.h"

struct config_place {
    const char *where;
    int line, column;
};

struct config_build {
    struct config *config;
    struct err_list *errs;
    size_t n_errs_before;
    const char *where;                           /* the file, for what is missing in it */
    int result;                                  /* first failure that is no mistake in a value */
    bool is_cut;                                 /* the file was not read to its end */
    struct config_key_set keys_seen;             /* right or wrong */
    struct config_place places[CONFIG_KEYS_MAX]; /* of the keys seen */
};

/* Defaults. Adds to errs. -ENOMEM: nothing to free. */
int config_build_begin(struct config_build *b, struct err_list *errs) WARN_UNUSED;

/* Places borrow path, where, and flag. */
void config_build_file(struct config_build *b, const char *path);
void config_build_text(struct config_build *b, struct span text, const char *where);

/* One value as on a command line: as it stands, or (has_flow) a list or mapping in [] or {}. */
struct config_build_value {
    const struct config_key *key;
    const char *text;
    const char *flag; /* for messages */
    bool has_flow;
};
void config_build_value(struct config_build *b, const struct config_build_value *v, bool is_append);

/*
 * Checks what is required (when is_whole) and what has to fit together. Hands the configuration out
 * or, on any failure, frees it and says why in errs.
 */
int config_build_finish(struct config_build *b, bool is_whole, struct config **ret) WARN_UNUSED;

#endif
