/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slo/slo.h - objectives: which requests count, and which of them were good.
 *
 * Role:      decided once, when a request's record is done, against its exact values. Each
 *            objective has counts of its own; goodput is the joint one (every objective that
 *            applies was met).
 * Source:    docs/DEFINITIONS.md "Objectives" is the authority for eligibility.
 * Presets:   chat, completion, batch (slo_presets), each a row of thresholds and targets.
 * Bounds:    every threshold of a duration is a classic bucket bound of its family (slo_bounds), so
 *            that dashboards and rules on histograms can name it, too.
 * Units:     ns; targets are fractions (0.99).
 * Threading: pure; a struct slo is constant.
 */
#ifndef SLO_SLO_H
#define SLO_SLO_H

#include "base/err.h"
#include "record/record.h"

enum slo_objective {
    SLO_TTFT,
    SLO_TPOT,
    SLO_QUEUE,
    SLO_E2E,
    SLO_ERRORS,
    SLO_GOODPUT, /* joint; its target is that of the whole */
    SLO_OBJECTIVE_COUNT_,
};
const char *slo_objective_name(enum slo_objective o); /* "ttft", ... */

/* Whether it has a threshold: all but errors and goodput. */
static inline bool slo_objective_is_duration(enum slo_objective o)
{
    return o < SLO_ERRORS;
}

enum slo_verdict { SLO_NOT_ELIGIBLE, SLO_GOOD, SLO_BAD };

struct slo_target {
    bool is_set;
    int64_t threshold_ns; /* durations: good up to and with it */
    double target;        /* 0.99: 99 % have to be good */
};

enum { SLO_MATCHES_MAX = 8, SLO_VALUES_MAX = 100, SLO_NAME_MAX = 63, SLO_MAX = 32 };
#define SLO_WINDOW_MS       (INT64_C(30) * 24 * 3600 * 1000)
#define SLO_MIN_BAD_DEFAULT 6

/* What of a request is looked at. */
enum slo_label {
    SLO_LABEL_MODEL,
    SLO_LABEL_ENDPOINT,
    SLO_LABEL_UPSTREAM,
    SLO_LABEL_VERSION,
    SLO_LABEL_STREAM, /* "true", "false" */
    SLO_LABEL_TENANT, /* of the key, else the business label of that name */
    SLO_LABEL_BUSINESS,
    SLO_LABEL_COUNT_ = SLO_LABEL_BUSINESS,
};
/* "model", ...; SLO_LABEL_BUSINESS for every other name. */
enum slo_label slo_label_find(const char *name);
const char *slo_label_name(enum slo_label l); /* not of SLO_LABEL_BUSINESS */

/* A label of a request that has to have one of the values; "qwen*" is a beginning. */
struct slo_match {
    enum slo_label label;
    const char *name; /* of the label */
    const char *const *values;
    size_t n_values;
};

struct slo {
    const char *name;
    struct slo_match matches[SLO_MATCHES_MAX];
    size_t n_matches;
    struct slo_target targets[SLO_OBJECTIVE_COUNT_];
    int64_t window_ms; /* of the error budget */
    uint32_t min_bad;  /* in the long window of a page */
};

/* Whether the request is one of those it speaks of. model: what metrics call it (aliases are one
 * model), NULL: none. */
bool slo_is_for(const struct slo *s, const struct record *r, const char *model);

/* A verdict for each objective that is set, and for goodput always; the others are not eligible. */
void slo_judge(const struct slo *s, const struct record *r,
               enum slo_verdict ret[SLO_OBJECTIVE_COUNT_]);

/* Bits 1 << o of the objectives that slo_judge judges. */
unsigned slo_judged(const struct slo *s);

/* presets.c */
struct slo_preset {
    const char *name;
    struct slo_target targets[SLO_OBJECTIVE_COUNT_];
};
extern const struct slo_preset slo_presets[];
extern const size_t slo_n_presets;
const struct slo_preset *slo_preset_find(struct span name); /* NULL: there is none */

/* bounds.c: the thresholds of a duration over all of them, ascending, each once; returns how
 * many. */
size_t slo_bounds(const struct slo *slos, size_t n, enum slo_objective o, int64_t ret[SLO_MAX]);

#endif
