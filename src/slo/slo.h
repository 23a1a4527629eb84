/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slo/slo.h - objectives: which requests count, and which of them were good.
 *
 * Role:      decided once, when a request's record is done, against its exact values. Each
 * objective has counts of its own; goodput is the joint one (every objective that applies was met).
 * Source:    docs/DEFINITIONS.md "SLO" is the authority for eligibility.
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

enum slo_verdict { SLO_NOT_ELIGIBLE, SLO_GOOD, SLO_BAD };

struct slo_target {
    bool is_set;
    int64_t threshold_ns; /* durations */
    double target;        /* 0.99: 99 % have to be good */
};

enum { SLO_MATCHES_MAX = 8, SLO_NAME_MAX = 63, SLO_MAX = 32 };
/* A label of a request that has to have one of the values: model, endpoint, upstream, tenant, and
 * the business labels. */
struct slo_match {
    const char *label;
    const char *const *values;
    size_t n_values;
};

struct slo {
    const char *name;
    struct slo_match matches[SLO_MATCHES_MAX];
    size_t n_matches;
    struct slo_target targets[SLO_OBJECTIVE_COUNT_];
    int64_t window_ms; /* of the error budget; 30 d */
    uint32_t min_bad;  /* 6 */
};

/* Whether the request is one of those it speaks of. */
bool slo_is_for(const struct slo *s, const struct record *r);
/* A verdict for each objective that is set; the others are not eligible. */
void slo_judge(const struct slo *s, const struct record *r,
               enum slo_verdict ret[SLO_OBJECTIVE_COUNT_]);

#endif
