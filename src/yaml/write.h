/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml/write.h - writes YAML that yaml/tree.h reads back as the same.
 *
 * yamlw_begin_map(&w); yamlw_key(&w, "url"); yamlw_secret(&w); yamlw_end_map(&w);
 *
 * Errors:    sticky: after a failed append every later call does nothing; yamlw_error tells.
 * Shape:     one key or item per line, two blanks per level; texts plain where that is safe, else
 *            between double quotes; "{}" and "[]" for what is empty.
 * Limits:    YAMLW_DEPTH_MAX levels; more is a bug of the caller.
 * Threading: one owner.
 */
#ifndef YAML_WRITE_H
#define YAML_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/span.h"

enum { YAMLW_DEPTH_MAX = 20 };

struct yamlw {
    struct buf *_b;
    int _error;
    int _depth;
    struct {
        bool is_list, is_used;
    } _levels[YAMLW_DEPTH_MAX];
    bool _is_behind_dash; /* the next key stands on the line of its "- " */
    bool _is_behind_key;
};

void yamlw_init(struct yamlw *w, struct buf *b);
int yamlw_error(const struct yamlw *w); /* 0 or the first negative errno */
/* What made a value has failed with r; nothing for r >= 0. */
void yamlw_fail(struct yamlw *w, int r);

void yamlw_begin_map(struct yamlw *w);
void yamlw_end_map(struct yamlw *w);
void yamlw_begin_list(struct yamlw *w);
void yamlw_end_list(struct yamlw *w);
void yamlw_key(struct yamlw *w, const char *key);
void yamlw_key_str(struct yamlw *w, struct span key); /* any text */

void yamlw_str(struct yamlw *w, struct span s);
void yamlw_bool(struct yamlw *w, bool v);
void yamlw_i64(struct yamlw *w, int64_t v);
void yamlw_secret(struct yamlw *w); /* <secret> */

#endif
