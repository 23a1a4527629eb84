/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/recognise.h - whose metrics a page has, of which versions, and which signals it tells.
 *
 * Role:      families (scrape/families.h) in, what they are out: engines (several at once are
 *            normal: Dynamo's workers, an engine behind Ray), the versions that have just these
 *            names, for each signal the source in use, and what is missing, with the reason.
 * Versions:  names that are there must be of a version; names that are not there exclude versions
 *            that always have them, when the page looks whole (an excerpt excludes nothing).
 * Ownership: the result lives in the arena that is given and borrows from families.
 * Errors:    -ENOMEM.
 * Threading: pure.
 */
#ifndef ENGINE_RECOGNISE_H
#define ENGINE_RECOGNISE_H

#include "engine/map.h"
#include "scrape/families.h"

struct engine_found {
    const struct engine_map *map;
    struct span prefix;          /* as on this page */
    engine_version since, until; /* until may be ENGINE_NEWEST */
    const char *const *because;  /* names that set these bounds */
    size_t n_because;
};
struct signal_found {
    enum signal signal;
    const struct engine_found *engine;
    const struct engine_source *source;
    struct span metric[ENGINE_PARTS_MAX]; /* as on this page */
};
struct signal_missing {
    enum signal signal;
    const struct engine_found *engine;
    const char *why; /* static, or in the arena */
};
struct engine_page {
    const struct engine_found *engines;
    size_t n_engines;
    const struct signal_found *signals; /* by engine, then signal */
    size_t n_signals;
    const struct signal_missing *missing;
    size_t n_missing;
    const char *remark; /* why nothing was recognised, or what is odd; NULL */
};
int engine_recognise(const struct families *f, struct arena *a,
                     struct engine_page *ret) WARN_UNUSED;

/* A name that is not there: what was meant. NULL: no idea. *ret_why may be set: a known wrong name
 * ("never existed"). */
const char *engine_did_you_mean(struct span name, const char **ret_why);

#endif
