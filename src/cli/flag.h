/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/flag.h - command line flags of sim, load and key: "--name value" or "--name=value".
 *
 *   struct flag f;
 *   flag_init(&f, argc, argv);
 *   while ((r = flag_next(&f, &err)) > 0)
 *       if (flag_is(&f, "rate"))
 *           r = flag_double(&f, 0, 1e6, &rate, &err);
 *
 * Errors: -EINVAL with a text that names the flag; what the caller gave is then unchanged.
 */
#ifndef CLI_FLAG_H
#define CLI_FLAG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/span.h"

struct flag {
    struct span name; /* without the dashes */
    int _argc, _i;
    char **_argv;
    struct span _value; /* behind '='; p == NULL: none */
};

void flag_init(struct flag *f, int argc, char **argv);

/* 1: name is set; 0: no more; -EINVAL: not a flag. -h comes as "help", -c as "config". */
int flag_next(struct flag *f, struct err *reterr) WARN_UNUSED;
bool flag_is(const struct flag *f, const char *name);

/* true and the next argument where that is no flag. */
bool flag_word(struct flag *f, struct span *ret);

/* The value; fallback: used when none follows (NULL: that is an error). */
int flag_value(struct flag *f, const char *fallback, struct span *ret,
               struct err *reterr) WARN_UNUSED;

int flag_i64(struct flag *f, int64_t min, int64_t max, int64_t *ret,
             struct err *reterr) WARN_UNUSED;
int flag_double(struct flag *f, double min, double max, double *ret,
                struct err *reterr) WARN_UNUSED;
int flag_duration(struct flag *f, int64_t *ret_ns, struct err *reterr) WARN_UNUSED; /* "10s" */
int flag_ms(struct flag *f, int64_t *ret_ns,
            struct err *reterr) WARN_UNUSED; /* bare milliseconds */

/* A moment, in seconds since the epoch: those, RFC 3339, now, or a distance from now like -90m. */
int flag_time(struct flag *f, double *ret_s, struct err *reterr) WARN_UNUSED;

/* Says that there is no such flag: -EINVAL. The hint is what s has found to be like it, where that
 * is not NULL, or the command's --help. */
struct suggest;
int flag_unknown(const struct flag *f, const struct suggest *s, const char *command,
                 struct err *reterr);

/* Prints "inferometer COMMAND: text" and the hint to standard error. Returns 2, the exit status. */
int flag_complain(const char *command, const struct err *e);

#endif
