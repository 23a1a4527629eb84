/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/recognise.h - whose metrics a page has, of which versions, and which signals it tells.
 *
 * Role:      families (scrape/families.h) in, what they are out: engines (several at once are
 *            normal: Dynamo's workers, an engine behind Ray), the versions that have just these
 *            names, for each signal the source in use, and what is missing, with the reason.
 * There:     is a name with a sample. One that is only declared (# TYPE) is neither there nor
 *            absent.
 * Versions:  those that fit best. Names and labels that are there must be of a version; names that
 *            are not there speak against versions that always have them, when the page looks whole
 *            (an excerpt excludes nothing).
 * Once:      a signal that an engine tells is not taken from what stands in front of it, too
 *            (Dynamo, Ray Serve, Triton). Two engines on one page both count.
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
    const struct engine_prefix *alias;
    struct span prefix;          /* as on this page: what stands for alias->in_table */
    const char *edition;         /* "V0", "V1"; NULL: cannot be told, or there are none */
    engine_version since, until; /* since 0: any; until may be ENGINE_NEWEST */
    const char *const *because;  /* what set these bounds, for people */
    size_t n_because;
    bool is_whole; /* the page has (nearly) all that such a version always has */
    bool is_mixed; /* no version has all of these names */
};
struct signal_found {
    enum signal signal;
    const struct engine_found *engine;
    const struct engine_source *source;
    struct span metric[ENGINE_PARTS_MAX]; /* families as on this page */
    const char *note;                     /* what a reader should know; NULL */
};
enum missing_cause {
    MISSING_NEVER,   /* no version tells it */
    MISSING_VERSION, /* others do */
    MISSING_NO_DATA, /* declared without samples, or all samples say "not available" */
    MISSING_ABSENT,  /* this version should or could tell it */
};
struct signal_missing {
    enum signal signal;
    const struct engine_found *engine;
    enum missing_cause cause;
    const char *why; /* static, or in the arena */
};
struct engine_page {
    const struct engine_found *engines;
    size_t n_engines;
    const struct signal_found *signals; /* by engine, then signal */
    size_t n_signals;
    const struct signal_missing *missing; /* by engine, then as it is expected */
    size_t n_missing;
    const struct span *unknown; /* families with an engine's prefix that are in no table */
    size_t n_unknown;
    size_t n_foreign;   /* families that are of no engine */
    const char *remark; /* why nothing was recognised, or what is odd; NULL */
};
int engine_recognise(const struct families *f, struct arena *a,
                     struct engine_page *ret) WARN_UNUSED;

/* A name that is not there: what was meant. NULL: no idea, or there is such a name. *ret_why may be
 * set, also without an answer: a known wrong name ("never existed"). */
const char *engine_did_you_mean(struct span name, const char **ret_why);

/* Why a body is no page of metrics (JSON, HTML, empty), and what to do; NULL: it may be one. */
const char *engine_why_no_page(struct span body);

#endif
