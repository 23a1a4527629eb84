/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/explain_show.h - a page of metrics that was recognised, as a table for people and as JSON.
 *
 * Errors:    -ENOMEM, -EMSGSIZE.
 * Threading: pure.
 */
#ifndef CLI_EXPLAIN_SHOW_H
#define CLI_EXPLAIN_SHOW_H

#include "base/buf.h"
#include "engine/signals.h"

struct explained {
    const struct families *families;
    struct engine_page page;
    struct signal_value *values; /* as page.signals, then by labels */
    size_t n_values;
    struct arena *arena;
};

int explain_show_table(const struct explained *x, struct buf *out) WARN_UNUSED;
int explain_show_json(const struct explained *x, struct buf *out) WARN_UNUSED;

/* More names that are in no table are only counted: what was meant takes a moment for each. */
enum { EXPLAIN_SHOW_NAMES_MAX = 100 };

/* What both need: "a / b", "the _sum of a", with matchers. Names of others are as they are. */
int explain_show_source(const struct signal_found *s, struct buf *out) WARN_UNUSED;
/* A version as its engine writes it; "": none is known. */
void explain_show_version(const struct engine_found *e, engine_version v, char *dst);

#endif
