/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config_keys.h - private to daemon/config*: the one table of configuration keys.
 *
 * Role:      a row is all there is to say about a key. A new key needs a field in struct config and
 *            a row; a new kind of value needs a struct config_type.
 * Threading: constant data.
 */
#ifndef DAEMON_CONFIG_KEYS_H
#define DAEMON_CONFIG_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/span.h"
#include "daemon/config.h"
#include "daemon/config_yaml.h"

struct config_key;

/* Where a value comes from and where its mistakes go. */
struct config_source {
    const char *where; /* file or flag */
    struct err_list *errs;
};

/* One kind of value. Fields are at config_key.offset in struct config. */
struct config_type {
    const char *what; /* for messages and docs: "a duration" */
    bool is_scalar;   /* a flag's value is taken as it stands, not as YAML */
    bool is_list;     /* min and max are numbers of items; a repeated flag adds one */
    /*
     * Replaces the field (adds to it when is_append, lists only). -EINVAL: the mistake is listed;
     * -ENOMEM. The field is then as before.
     */
    int (*set)(const struct config_source *source, const struct config_key *key,
               const struct config_node *node, bool is_append, void *field);
    /* Appends the value as YAML of one line. */
    int (*format)(const struct config_key *key, const void *field, struct buf *out);
    bool (*is_equal)(const void *a, const void *b);
    void (*done)(void *field); /* NULL: owns nothing */
};

/* config_scalars.c */
extern const struct config_type config_type_bool, config_type_count, config_type_bytes,
    config_type_duration, config_type_text, config_type_addr, config_type_log_level;
/* config_lists.c, config_bounds.c */
extern const struct config_type config_type_addrs, config_type_texts, config_type_upstreams,
    config_type_bounds;

struct config_key {
    const char *path; /* with dots */
    const struct config_type *type;
    const char *def;  /* default, as a flag's value; NULL: none, the key is required */
    int64_t min, max; /* of numbers: in the field's unit; of lists: items */
    enum config_reload reload;
    size_t offset;
    const char *word;    /* counts: a word that stands for 0, or NULL */
    const char *example; /* as YAML, for the docs; NULL: the default is one */
    const char *help;    /* sentences */
};

extern const struct config_key config_keys[];
extern const size_t config_keys_n;

/* The row of that path, or NULL. */
const struct config_key *config_keys_find(struct span path);

/* Whether keys exist below path ("timeouts"). */
bool config_keys_is_section(struct span path);

/* The name of the key's last part: "connect" of "timeouts.connect". */
const char *config_keys_leaf(const struct config_key *key);

/* "1ms to 1h", "1 to 256, or auto" and so on; "" where nothing is bounded. Returns dst. */
enum { CONFIG_RANGE_MAX = 96 };
const char *config_keys_range(const struct config_key *key, char *dst);

/*
 * Hint for an unknown name in section ("" is the top): the name meant, or which names there are.
 */
void config_keys_hint(struct span section, struct span name, struct err *e);

/* A mistake in the value node. */
static inline struct err *config_keys_error(const struct config_source *source,
                                            const struct config_node *node)
{
    return err_list_add(source->errs, source->where, node->line, node->column);
}

static inline void *config_keys_field(const struct config_key *key, struct config *c)
{
    return (char *)c + key->offset;
}

static inline const void *config_keys_const_field(const struct config_key *key,
                                                  const struct config *c)
{
    return (const char *)c + key->offset;
}

#endif
