/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/map.h - what each engine and exporter calls its metrics, in which versions, and which
 * signal that is: the one place where such names are written down.
 *
 * Role:      tables, a file per engine (map_vllm.c, map_sglang.c, ...): names with the versions
 * that have them; sources of signals in the order in which they are tried: the first that is there
 * is taken, two are never added (both vllm:gpu_cache_usage_perc and vllm:kv_cache_usage_perc are
 * there in some versions). Names:     as format 0.0.4 shows them: counters with _total where the
 * client library adds it. Prefixes that others put in front (Ray's "ray_", Dynamo's "trtllm:", an
 * AMD prefix) are aliases of the engine. Threading: constant. Source:    reference
 * "engine-metrics", sections 2 to 13.
 */
#ifndef ENGINE_MAP_H
#define ENGINE_MAP_H

#include <stdint.h>

#include "engine/signal.h"

/* 0.10.2 is ENGINE_VERSION(0, 10, 2); b5441 of llama.cpp ENGINE_VERSION(0, 0, 5441) and so on:
 * what a version looks like, its engine says. */
typedef uint64_t engine_version;
#define ENGINE_VERSION(a, b, c) (((uint64_t)(a) << 40) | ((uint64_t)(b) << 20) | (uint64_t)(c))
#define ENGINE_NEWEST           UINT64_MAX

enum engine_name_flags {
    ENGINE_NAME_OPTIONAL = 1, /* needs a flag, a feature, a first event: absence says nothing */
    ENGINE_NAME_HIDDEN = 2,   /* only with --show-hidden-metrics-for-version and the like */
};
/* A name that an engine has in some versions, or a label of a name. */
struct engine_name {
    const char *name;
    const char *label; /* NULL: the name itself is the evidence */
    engine_version since, until;
    unsigned flags;
};

enum engine_source_flags {
    ENGINE_SOURCE_APPROXIMATE = 1,       /* not quite the quantity: the note says how */
    ENGINE_SOURCE_MEAN_ONLY = 2,         /* a gauge or sum where the signal is a histogram */
    ENGINE_SOURCE_AT_FINISH = 4,         /* counted when a request ends, not while it runs */
    ENGINE_SOURCE_NO_CACHED = 8,         /* prompt tokens without those from the cache */
    ENGINE_SOURCE_MINUS_ONE = 16,        /* -1 means unknown, off */
    ENGINE_SOURCE_PERCENT_OR_RATIO = 32, /* percent where any sample is above 1 */
};
enum engine_how {
    ENGINE_ONE,      /* metric[0] */
    ENGINE_RATIO,    /* metric[0] / metric[1] */
    ENGINE_ADD,      /* all of them */
    ENGINE_HIST_SUM, /* the _sum of histogram metric[0] */
};
enum { ENGINE_PARTS_MAX = 3 };
struct engine_part {
    const char *metric;
    const char *select; /* matchers as in PromQL, without braces; NULL: all */
};
struct engine_source {
    enum signal signal;
    enum engine_how how;
    struct engine_part part[ENGINE_PARTS_MAX];
    double scale;           /* to the signal's unit; 0: 1 */
    const char *label_from; /* label of the sample that becomes the signal's own; NULL: none */
    const char *label_is;   /* or its value: "thermal" */
    unsigned flags;
    const char *note; /* what a reader of the value should know; NULL */
};

/* A name that is no metric of any version, though it is written about. */
struct engine_wrong {
    const char *name;
    const char *instead; /* NULL: there is none */
    const char *why;
};

struct engine_map {
    const char *name;            /* "vllm" */
    const char *title;           /* "vLLM" */
    const char *const *prefixes; /* of its metrics; the first is the one in the tables */
    const struct engine_name *names;
    size_t n_names;
    const struct engine_source *sources; /* by signal, then in the order in which they are tried */
    size_t n_sources;
    const enum signal *expected; /* what it should tell: missing ones are reported */
    size_t n_expected;
    /* Writes a version as the engine does; dst >= 32 bytes. */
    size_t (*print_version)(engine_version v, char *dst);
    bool (*is_sentinel)(double v); /* "not available" that leaks as a value; NULL: none */
    const char *when_absent;       /* why a page of it may have none of these, for people */
};
extern const struct engine_map *const engine_maps[];
extern const size_t engine_maps_n;
extern const struct engine_wrong engine_wrongs[];
extern const size_t engine_wrongs_n;

#endif
