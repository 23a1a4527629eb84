/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml/doc.h - a YAML document, mapping by mapping, with all of its mistakes.
 *
 * Role:      what rule files, their unit tests and scrape files are read with: known keys out of a
 *            mapping, texts, numbers, durations, and the place of whatever is wrong.
 * Errors:    mistakes go to the list and set has_mistakes; the functions return 0 all the same,
 *            with *ret as it was, or -ENOMEM. doc_read: as yaml_read.
 * Ownership: texts live in the arena; nodes until doc_done.
 */
#ifndef YAML_DOC_H
#define YAML_DOC_H

#include <stdint.h>

#include "base/arena.h"
#include "yaml/tree.h"

struct doc {
    struct span text;
    const char *where; /* outlives the list of mistakes */
    struct err_list *errs;
    struct arena *arena;
    bool has_mistakes;
    struct yaml_node *root; /* NULL: nothing was there */
};

/* d->text, where, errs and arena are set. */
int doc_read(struct doc *d, size_t bytes_max) WARN_UNUSED;
void doc_done(struct doc *d);

/* Room for a mistake at a node, or at a byte of a scalar's value. */
struct err *doc_error(struct doc *d, const struct yaml_node *at);
/* *ret_is_exact: false where only the place of the scalar is known. */
struct err *doc_error_in(struct doc *d, const struct yaml_node *scalar, size_t at,
                         bool *ret_is_exact);

/* A key that was found; both NULL when it is not there. An empty value (null) is value NULL. */
struct doc_key {
    const struct yaml_node *key, *value;
};

/*
 * Finds the keys called names[0 .. n) of a mapping; unknown ones are mistakes. of: "a rule". false:
 * node is no mapping (listed), or its end was not reached, so that keys may be missing; then ret is
 * what there is.
 */
bool doc_keys(struct doc *d, const struct yaml_node *node, const char *of, const char *const *names,
              size_t n, struct doc_key *ret);

/* Whether the value is of that kind; else a mistake ("rules" has to be a list, ...). */
bool doc_is(struct doc *d, const struct doc_key *k, enum yaml_node_kind kind);

/* A scalar's text; without the key *ret stays. */
int doc_text(struct doc *d, const struct doc_key *k, struct span *ret) WARN_UNUSED;
/* "5m", as Prometheus has durations and parse reads them: a unit is needed, but for 0. */
typedef int doc_parse_duration(struct span s, int64_t *ret_ms);
void doc_duration(struct doc *d, const struct doc_key *k, doc_parse_duration *parse,
                  int64_t *ret_ms);
void doc_whole(struct doc *d, const struct doc_key *k, int64_t *ret);
void doc_bool(struct doc *d, const struct doc_key *k, bool *ret);

/*
 * The elements of a list, each read into one of size bytes (zeroed, in the arena) by read, whose
 * errors end it. Where there is no list, or it is a mistake, *ret_n stays.
 */
int doc_list(struct doc *d, const struct doc_key *k, size_t size,
             int (*read)(void *ctx, const struct yaml_node *node, void *ret), void *ctx, void *ret,
             size_t *ret_n) WARN_UNUSED;

/* What has a name of its own among n others; a second one of a name (empty ones aside) is a
 * mistake, "a second WHAT ...". Sorts names. */
struct doc_name {
    struct span name;
    int line, column;
};
void doc_names_once(struct doc *d, const char *what, struct doc_name *names, size_t n);

/* A mapping of texts, in the order of the file. */
struct doc_pair {
    const struct yaml_node *name, *value; /* scalars both; value NULL: empty */
};
int doc_pairs(struct doc *d, const struct doc_key *k, struct doc_pair **ret,
              size_t *ret_n) WARN_UNUSED;
static inline struct span doc_value(const struct yaml_node *value)
{
    return value ? yaml_span(value) : SPAN("");
}

#endif
