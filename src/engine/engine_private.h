/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/engine_private.h - between the files that recognise a page and those that read it.
 *
 * Threading: pure.
 */
#ifndef ENGINE_ENGINE_PRIVATE_H
#define ENGINE_ENGINE_PRIVATE_H

#include "base/attr.h"
#include "engine/recognise.h"
#include "engine/signals.h"

enum { ENGINE_NAME_MAX = 256 }; /* longer names are in no table */

/* --- naming.c: names of a page and of the tables --- */

/* The family that a name of the tables means on this page, with samples or only declared; NULL:
 * there is none. */
const struct page_family *naming_family(const struct families *f, const struct engine_found *e,
                                        const char *metric);
/* Whether a family of the page is a name of the table, or the time at which one was made. */
bool naming_is_known(const struct engine_found *e, struct span family);
bool naming_has(const struct engine_map *map, struct span name); /* as in the tables */
/* A name of the page as the tables have it, in dst (ENGINE_NAME_MAX); false: not one of theirs. */
bool naming_to_table(const struct engine_found *e, struct span family, char *dst);
const char *naming_text(struct arena *a, const char *fmt, ...)
    PRINTF_LIKE(2, 3); /* NULL: -ENOMEM */

/* --- versions.c --- */

/* Fills since, until, edition, because and what belongs to them; the rest is there. */
int versions_find(const struct families *f, struct arena *a, struct engine_found *e) WARN_UNUSED;

/* --- parts.c: samples of one part of a source --- */

struct part_sample {
    struct labels labels;
    double v;
    const struct family_hist *hist; /* NULL: v counts */
};
struct part_read {
    struct part_sample *at;
    size_t n;
    size_t n_matched; /* before sentinels were dropped */
};
/* Those that match and are no sentinels, of the lowest ranks. */
int parts_read(const struct families *f, const struct engine_found *e,
               const struct engine_source *s, size_t part, struct arena *a,
               struct part_read *ret) WARN_UNUSED;
bool parts_is_hist(const struct engine_source *s);

/* --- values.c --- */

/* What a source says on this page; *ret_n 0: nothing. *ret_is_odd: metric[2] of a ratio says
 * something else. .from of the values is found. */
int values_read(const struct families *f, const struct signal_found *found, struct arena *a,
                struct signal_value **ret, size_t *ret_n, bool *ret_is_odd) WARN_UNUSED;

/* --- missing.c --- */

int missing_why(const struct families *f, const struct engine_found *e, enum signal s,
                struct arena *a, struct signal_missing *ret) WARN_UNUSED;

#endif
