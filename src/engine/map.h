/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/map.h - what each engine and exporter calls its metrics, in which versions, and which
 * signal that is: the one place where such names are written down.
 *
 * Role:      tables, a file per engine (map_vllm.c, map_sglang.c, ...): names with the versions
 *            that have them; sources of signals in the order in which they are tried: the first
 *            that is there is taken, two are never added (vllm:gpu_cache_usage_perc and
 *            vllm:kv_cache_usage_perc are both there in some versions).
 * Names:     as format 0.0.4 shows them, counters with _total where the client library adds it.
 *            What others put in front (Ray's "ray_vllm_", Dynamo's "trtllm:", a prefix that an
 *            AMD exporter was given) is an alias of the engine's own prefix.
 * Threading: constant.
 * Source:    reference "engine-metrics", sections 2 to 13.
 */
#ifndef ENGINE_MAP_H
#define ENGINE_MAP_H

#include <stdint.h>

#include "engine/signal.h"

/* 0.10.2 is ENGINE_VERSION(0, 10, 2), 0.8.5.post1 ENGINE_POST(0, 8, 5, 1), b5441 of llama.cpp
 * ENGINE_VERSION(0, 0, 5441): what a version looks like, its engine says. Each part below 65535. */
typedef uint64_t engine_version;
#define ENGINE_POST(a, b, c, post)                                                                 \
    (((uint64_t)(a) << 48) | ((uint64_t)(b) << 32) | ((uint64_t)(c) << 16) | (uint64_t)(post))
#define ENGINE_VERSION(a, b, c) ENGINE_POST(a, b, c, 0)
#define ENGINE_NEWEST           UINT64_MAX
enum { ENGINE_VERSION_TEXT_MAX = 32 };

enum engine_name_flags {
    ENGINE_NAME_OPTIONAL = 1, /* needs a flag, a feature, a first event: absence says nothing */
    ENGINE_NAME_HIDDEN = 2,   /* only with --show-hidden-metrics-for-version and the like */
    /* An engine that was written anew and had both for a while: only of the one or the other. */
    ENGINE_NAME_V0 = 4,
    ENGINE_NAME_V1 = 8,
};
/* A name that an engine has in some versions, or a label of a name. Several rows of one name stand
 * together. */
struct engine_name {
    const char *name;
    const char *label;           /* NULL: the name itself is the evidence */
    engine_version since, until; /* both inclusive */
    unsigned flags;
};

enum engine_source_flags {
    ENGINE_SOURCE_APPROXIMATE = 1, /* not quite the quantity: the note says how */
    ENGINE_SOURCE_MEAN_ONLY = 2,   /* a gauge where the signal is a histogram */
    ENGINE_SOURCE_AT_FINISH = 4,   /* counted when a request ends, not while it runs */
    ENGINE_SOURCE_NO_CACHED = 8,   /* prompt tokens without those from the cache */
    ENGINE_SOURCE_MINUS_ONE = 16,  /* -1 means unknown, off */
    /* Percent before version ratio_since; where that cannot be told, if any sample is above 1. */
    ENGINE_SOURCE_PERCENT_OR_RATIO = 32,
};
enum engine_how {
    ENGINE_ONE,       /* metric[0] */
    ENGINE_RATIO,     /* metric[0] / metric[1]; metric[2], where named, should say the same */
    ENGINE_ADD,       /* all of them */
    ENGINE_LESS,      /* metric[0] - metric[1] */
    ENGINE_HIST_SUM,  /* the _sum of histogram metric[0] */
    ENGINE_SUM_COUNT, /* _sum and (where named) _count of the signal are the counters metric[0, 1]
                       */
    ENGINE_FACTORS,   /* the product of the values of labels of metric[0] */
};
enum { ENGINE_PARTS_MAX = 3, ENGINE_FACTORS_MAX = 2 };
struct engine_part {
    const char *metric;
    const char *select; /* one matcher as in PromQL, without braces; NULL: all */
};
struct engine_source {
    enum signal signal;
    enum engine_how how;
    struct engine_part part[ENGINE_PARTS_MAX];
    const char *factors[ENGINE_FACTORS_MAX];
    double scale;           /* to the signal's unit; 0: 1 */
    const char *label_from; /* label of the sample that becomes the signal's own; NULL: none */
    /* Or its value: "thermal". Sources of one signal with different values stand beside each
     * other; those with the same one are alternatives. */
    const char *label_is;
    unsigned flags;
    engine_version ratio_since;
    const char *note; /* what a reader of the value should know; NULL */
};

/* A signal that no version of an engine tells, and what there is to say about it. */
struct engine_never {
    enum signal signal;
    const char *why;
};

/* A name that is no metric of any version, though it is written about. */
struct engine_wrong {
    const char *name;
    const char *instead; /* NULL: there is none */
    const char *why;
};

enum engine_prefix_flags {
    ENGINE_PREFIX_NO_TOTAL = 1, /* counters may lack their _total, or have one more */
    ENGINE_PREFIX_EXACT = 2,    /* names that are not in the table are somebody else's */
    ENGINE_PREFIX_ANY = 4,      /* anything may stand in front, if a label of map.labels is there */
};
struct engine_prefix {
    const char *as;       /* on pages */
    const char *in_table; /* in the tables */
    size_t n_min;         /* so many names of the table tell; 0: any name that begins so */
    unsigned flags;
    engine_version since, until; /* of the engine; until 0: says nothing */
};

enum engine_rank {
    ENGINE_RANK_ENGINE,  /* whoever does the work: its word counts */
    ENGINE_RANK_WRAPPER, /* in front of an engine: counts for what no engine on the page tells */
};
struct engine_map {
    const char *name;  /* "vllm" */
    const char *title; /* "vLLM" */
    enum engine_rank rank;
    const struct engine_prefix *prefixes; /* ends with .as NULL */
    const char *const *labels;            /* ENGINE_PREFIX_ANY; ends with NULL */
    const struct engine_name *names;      /* sorted by name, then label */
    size_t n_names;
    const struct engine_source *sources; /* by signal, then in the order in which they are tried */
    size_t n_sources;
    const enum signal *expected; /* what it should tell: missing ones are reported */
    size_t n_expected;
    const struct engine_never *never; /* may be NULL */
    size_t n_never;
    /* Last post releases that are known, so that a bound "before 0.5.9" is 0.5.8.post1; ends with
     * 0; NULL: there are none. */
    const engine_version *posts;
    /* Writes a version as the engine does; ENGINE_VERSION_TEXT_MAX bytes. A part of 65535 stands
     * for "any": 0.15.x. */
    void (*print_version)(engine_version v, char *dst);
    bool (*is_sentinel)(double v); /* "not available" that leaks as a value; NULL: none */
    const char *when_absent;       /* why a page of it may have none of these, for people; NULL */
};
extern const struct engine_map *const engine_maps[];
extern const size_t engine_maps_n;
extern const struct engine_wrong engine_wrongs[];
extern const size_t engine_wrongs_n;

#endif
