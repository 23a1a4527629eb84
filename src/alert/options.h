/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/options.h - the keys of one receiver, read by a table: a row a key.
 *
 * Role:      what the read functions of receiver kinds share. The struct that is filled has been
 *            set to its defaults before; what the text does not say is left alone.
 * Secrets:   a struct secret is a value or the path of a file that is read each time it is used,
 *            so that a new one counts without a restart. Neither is ever quoted in a message.
 * Errors:    mistakes go to the list, each with its place; -EINVAL when there was one, -ENOMEM.
 * Ownership: texts live in the arena.
 */
#ifndef ALERT_OPTIONS_H
#define ALERT_OPTIONS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err_list.h"
#include "yaml/tree.h"
#include "yaml/write.h"

struct secret {
    struct span value, file; /* both empty: not configured */
};

struct texts {
    const struct span *at;
    size_t n;
};

struct http_header {
    struct span name;
    struct secret value;
};
struct http_headers {
    const struct http_header *at;
    size_t n;
};

enum option_type {
    OPTION_TEXT,        /* struct span */
    OPTION_TEXTS,       /* struct texts: a list, or one text with commas */
    OPTION_BOOL,        /* bool */
    OPTION_COUNT,       /* size_t */
    OPTION_DURATION,    /* int64_t, ms */
    OPTION_WORD,        /* int: which of the words */
    OPTION_SECRET,      /* struct secret, its value */
    OPTION_SECRET_FILE, /* struct secret, its file */
    OPTION_URL,         /* struct span: http or https */
    OPTION_SECRET_URL,  /* struct secret, its value: http or https */
    OPTION_MAP,         /* a table of its own, for what begins at the offset */
    OPTION_HEADERS,     /* struct http_headers */
    OPTION_PASSED,      /* read by somebody else, or without a meaning here */
    OPTION_REFUSED,     /* Alertmanager has it and we do not: words say why */
};

struct option {
    const char *key;
    enum option_type type;
    uint32_t offset;          /* of the field */
    const struct option *map; /* OPTION_MAP: its rows, up to one without a key */
    const char *words;        /* OPTION_WORD: "en zh"; OPTION_REFUSED: what to do instead */
    bool is_alias;            /* another row is written for the same field */
};

/* Where things are read. */
struct options {
    const char *where;
    struct arena *arena;
    struct err_list *errs;
};

/* table ends with a row without a key. map may be NULL or null: nothing is read. */
int options_read(const struct options *o, const struct yaml_node *map, const struct option *table,
                 void *into) WARN_UNUSED;

/* The other way round, into a mapping that is open: what is configured, secrets hidden. */
void options_print(const struct option *table, const void *from, struct yamlw *w);

/* One value by its row. */
int options_read_one(const struct options *o, const struct option *row,
                     const struct yaml_node *node, void *into) WARN_UNUSED;

/* The value of a key of a mapping; NULL: there is none. map may be NULL. */
const struct yaml_node *options_find(const struct yaml_node *map, const char *key);

/* A mistake at a node. Returns the place to fill. */
struct err *options_err(const struct options *o, const struct yaml_node *at);

static inline bool secret_is_set(const struct secret *s)
{
    return s->value.n > 0 || s->file.n > 0;
}

/* The secret as it is now, without blanks around it. -EINVAL, -ENOENT and the like with a text that
 * names the file. */
int secret_get(const struct secret *s, struct arena *a, struct span *ret,
               struct err *reterr) WARN_UNUSED;

/* http:// or https:// with a host, and nothing that ends a line. */
bool options_is_http_url(struct span url);

#endif
