/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config_keys.h - private to daemon/config*: the tables of configuration keys.
 *
 * Role:      a row is all there is to say about a key. A new key needs a field in struct config (or
 *            in the item it belongs to) and a row; a new kind of value needs a struct config_type.
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
#include "yaml/tree.h"

struct config_key;
struct config_item;

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
    bool is_private;  /* mistakes do not show what stands there: it may be a secret */
    /*
     * Replaces the field (adds to it when is_append, lists only). -EINVAL: the mistake is listed;
     * -ENOMEM. The field is then as before.
     */
    int (*set)(const struct config_source *source, const struct config_key *key,
               const struct yaml_node *node, bool is_append, void *field);
    /* Appends the value as YAML of one line. */
    int (*format)(const struct config_key *key, const void *field, struct buf *out);
    bool (*is_equal)(const struct config_key *key, const void *a, const void *b);
    void (*done)(const struct config_key *key, void *field); /* NULL: owns nothing */
};

/* config_scalars.c */
extern const struct config_type config_type_bool, config_type_count, config_type_bytes,
    config_type_duration, config_type_text, config_type_addr, config_type_log_level;
/* config_lists.c, config_bounds.c */
extern const struct config_type config_type_addrs, config_type_texts, config_type_bounds;
void config_bounds_clear(struct config_bounds *b);
/* What types that are a text, or texts, by other rules have in common with these: config_scalars.c,
 * config_lists.c. */
int config_scalars_text_format(const struct config_key *key, const void *field, struct buf *out);
bool config_scalars_text_is_equal(const struct config_key *key, const void *a, const void *b);
void config_scalars_text_clear(const struct config_key *key, void *field);
int config_lists_texts_format(const struct config_key *key, const void *field, struct buf *out);
bool config_lists_texts_is_equal(const struct config_key *key, const void *a, const void *b);
void config_lists_texts_clear(const struct config_key *key, void *field);
/* config_slo_values.c: names, presets, matches and objectives of SLOs */
extern const struct config_type config_type_slo_name, config_type_slo_preset, config_type_slo_match,
    config_type_slo_objectives;
/* config_models.c: "NAME", "PREFIX*", "NAME=SERVED"; "NAME=MODEL" */
extern const struct config_type config_type_models, config_type_aliases;
/* config_items.c: lists of mappings, whose keys config_key.item tells. */
extern const struct config_type config_type_items;

struct config_key {
    const char *path; /* with dots */
    const struct config_type *type;
    const char *def;  /* default, as a flag's value; NULL: none, the key is required */
    int64_t min, max; /* of numbers: in the field's unit; of lists: items */
    enum config_reload reload;
    size_t offset;
    const struct config_item *item; /* of config_type_items: what each item is; else NULL */
    const char *word;    /* counts: one that stands for 0; durations: "0", below min; or NULL */
    const char *example; /* as YAML, for the docs; NULL: the default is one */
    const char *help;    /* sentences */
};

/*
 * The keys of one kind of mapping: the file's own, or those of each item of a list. A path's dots
 * mean nesting inside that mapping.
 */
struct config_table {
    const struct config_key *keys;
    size_t n;       /* at most CONFIG_KEYS_MAX */
    const char *of; /* for messages: "" or " of an upstream" */
};

extern const struct config_key config_keys[];
extern const size_t config_keys_n;
extern const struct config_table config_top; /* these keys */

/* config_table.c: the row of that path, or NULL. */
const struct config_key *config_table_find(const struct config_table *t, struct span path);

/* Whether keys exist below path ("timeouts"). */
bool config_table_is_section(const struct config_table *t, struct span path);

/*
 * Hint for an unknown name in section ("" is the top): the name meant, or which names there are.
 */
void config_table_hint(const struct config_table *t, struct span section, struct span name,
                       struct err *e);

/* The name of the key's last part: "connect" of "timeouts.connect". */
const char *config_keys_leaf(const struct config_key *key);
/* The part of its path in front of that; empty at the top. */
struct span config_keys_section(const struct config_key *key);

/* "1ms to 1h", "1 to 256, or auto" and so on; "" where nothing is bounded. Returns dst. */
enum { CONFIG_RANGE_MAX = 96 };
const char *config_keys_range(const struct config_key *key, char *dst);

static inline const struct config_key *config_keys_find(struct span path)
{
    return config_table_find(&config_top, path);
}

static inline bool config_keys_is_section(struct span path)
{
    return config_table_is_section(&config_top, path);
}

static inline void config_keys_hint(struct span section, struct span name, struct err *e)
{
    config_table_hint(&config_top, section, name, e);
}

/* A mistake in the value node. */
static inline struct err *config_keys_error(const struct config_source *source,
                                            const struct yaml_node *node)
{
    return err_list_add(source->errs, source->where, node->line, node->column);
}

/* The key's value in object: a struct config, or an item of a list. */
static inline void *config_keys_field(const struct config_key *key, void *object)
{
    return (char *)object + key->offset;
}

static inline const void *config_keys_const_field(const struct config_key *key, const void *object)
{
    return (const char *)object + key->offset;
}

#endif
