/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/leaves.h - settings files as paths and values: JSON, TOML, YAML and .env read alike.
 *
 * Role:      visit(ctx, path, n, value) for every scalar of the file in order; path are the keys
 *            from the root, "[]" for an item of a list. Values are as text: strings unescaped, the
 *            others as written.
 * JSONC:     JSON with comments, and with commas at the end of lists and objects.
 * TOML:      tables, dotted and quoted keys, strings on one line; of other values the text up to
 *            the line's end or a comment. Strings and lists over several lines are passed over.
 * .env:      NAME=value, "export" in front, quotes around (taken off), comments. Values over
 *            several lines are passed over.
 * Errors:    -EINVAL: not in that format, with the line; what came before was told. -ENOMEM.
 * Limits:    LEAVES_DEPTH_MAX keys in a path (deeper ones are passed over); texts of
 *            LEAVES_VALUE_MAX bytes and keys of LEAVES_KEY_MAX in JSON (longer ones are cut).
 * Threading: pure.
 */
#ifndef DOCTOR_LEAVES_H
#define DOCTOR_LEAVES_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/span.h"

enum {
    LEAVES_BYTES_MAX = 8 * 1024 * 1024,
    LEAVES_DEPTH_MAX = 12,
    LEAVES_VALUE_MAX = 4096,
    LEAVES_KEY_MAX = 128
};

enum leaves_format { LEAVES_JSON, LEAVES_JSONC, LEAVES_TOML, LEAVES_YAML, LEAVES_ENV };

typedef void (*leaves_visit)(void *ctx, const struct span *path, size_t n, struct span value);

int leaves_read(enum leaves_format format, struct span text, leaves_visit visit, void *ctx,
                int *ret_line) WARN_UNUSED;

/* The formats; -EINVAL and the line. */
int leaves_json(struct span text, leaves_visit visit, void *ctx, int *ret_line) WARN_UNUSED;
int leaves_jsonc(struct span text, leaves_visit visit, void *ctx, int *ret_line) WARN_UNUSED;
int leaves_toml(struct span text, leaves_visit visit, void *ctx, int *ret_line) WARN_UNUSED;
int leaves_env(struct span text, leaves_visit visit, void *ctx, int *ret_line) WARN_UNUSED;

/* Whether a path is as a pattern says: keys with dots between; "*" is any one key. */
bool leaves_is(const char *pattern, const struct span *path, size_t n);

#endif
