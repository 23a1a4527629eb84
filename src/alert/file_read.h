/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/file_read.h - between the parts that read a file of routes.
 *
 * Role:      file.c owns the file and its top level; file_keys.c reads mappings by tables of keys
 *            and single values; file_route.c, file_receivers.c, file_rules.c (inhibitions) and
 *            file_times.c read one section each.
 * Errors:    mistakes go to the list, and reading goes on; functions return 0 or -ENOMEM.
 * Threading: one owner.
 */
#ifndef ALERT_FILE_READ_H
#define ALERT_FILE_READ_H

#include <stdatomic.h>

#include "alert/file.h"
#include "alert/matchers.h"
#include "alert/receiver.h"
#include "alert/times.h"

/* Matchers that have to be given back with the file. */
struct file_owned {
    struct alert_matchers matchers;
    struct file_owned *next;
};

struct file_impl {
    struct alert_file file; /* first: what others see */
    struct arena arena;
    struct file_owned *owned;
    atomic_int n_refs;
};

struct file_reader {
    struct file_impl *to;
    const char *where;
    struct err_list *errs;
    const struct yaml_node *global; /* a mapping, or NULL */
};

/* A mistake at node; to be filled at once. */
struct err *file_error(struct file_reader *rd, const struct yaml_node *node);

/* A key, and what takes its value. read NULL: known, and not supported: hint says what to use. */
struct file_key {
    const char *name;
    int (*read)(struct file_reader *rd, const struct yaml_node *value, void *to);
    const char *hint;
};
/* what: "route", for messages. Anything but a mapping is a mistake. */
int file_keys_read(struct file_reader *rd, const struct yaml_node *map, const char *what,
                   const struct file_key *keys, size_t n, void *to) WARN_UNUSED;
/* Whether a key of a mapping is a text; else yaml_read has listed that. */
static inline bool file_keys_is_text(const struct yaml_node *key)
{
    return key->kind == YAML_NODE_SCALAR;
}
/* The value of a key; NULL: none, or nothing was written there. */
const struct yaml_node *file_keys_value(const struct yaml_node *map, const char *name);
/* Each item of a list, in order; anything else is a mistake. Null is an empty list. */
int file_keys_each(struct file_reader *rd, const struct yaml_node *list, const char *what,
                   int (*visit)(struct file_reader *rd, const struct yaml_node *item, void *to),
                   void *to) WARN_UNUSED;
size_t file_keys_length(const struct yaml_node *list); /* 0: no list */

/* Scalars: false: a mistake, which is listed. what: the key. */
bool file_text(struct file_reader *rd, const struct yaml_node *node, const char *what,
               struct span *ret);
bool file_bool(struct file_reader *rd, const struct yaml_node *node, const char *what, bool *ret);
bool file_duration(struct file_reader *rd, const struct yaml_node *node, const char *what,
                   bool may_be_zero, int64_t *ret_ms);
int file_copy(struct file_reader *rd, struct span s, struct span *ret) WARN_UNUSED;

/* matchers: a list of texts; match, match_re: mappings, op is theirs. */
int file_matchers(struct file_reader *rd, const struct yaml_node *list,
                  struct alert_matchers *to) WARN_UNUSED;
int file_match(struct file_reader *rd, const struct yaml_node *map, enum matcher_op op,
               struct alert_matchers *to) WARN_UNUSED;
/* From here on the file gives them back. */
int file_own(struct file_reader *rd, struct alert_matchers *m) WARN_UNUSED;

int file_times_read(struct file_reader *rd, const struct yaml_node *list,
                    const struct yaml_node *old_list) WARN_UNUSED;
int file_receivers_read(struct file_reader *rd, const struct yaml_node *list) WARN_UNUSED;
int file_global_read(struct file_reader *rd, const struct yaml_node *map) WARN_UNUSED;
int file_rules_read(struct file_reader *rd, const struct yaml_node *list) WARN_UNUSED;
/* After receivers and times: it names them. */
int file_route_read(struct file_reader *rd, const struct yaml_node *map) WARN_UNUSED;

#endif
