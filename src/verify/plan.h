/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/plan.h - what of some rule files a run can verify, and how fast time has to go for it.
 *
 * Role:      for each alert of parsed files: which metrics it reads (through what rules record,
 *            too), whether latency to the first token moves it, how far back it looks, what its
 *            limit is; and from all that are driven the factor that durations are divided by.
 * Scaling:   ranges, offsets and steps of subqueries, `for`, keep_firing_for, intervals of groups
 *            and query_offset become 1/factor of themselves. Ranges stay at least
 *            VERIFY_RANGE_MIN_MS, steps and intervals VERIFY_STEP_MIN_MS, since there is a sample a
 *            second. Thresholds, numbers, @ and texts stay.
 * Units:     ms.
 * Ownership: everything lives in the plan, but for the rule files, which outlive it.
 * Errors:    -ENOMEM.
 * Threading: pure.
 */
#ifndef VERIFY_PLAN_H
#define VERIFY_PLAN_H

#include "base/arena.h"
#include "rules/file.h"

enum {
    VERIFY_SAMPLE_MS = 1000,    /* the gateway's history, the peers' scrapes */
    VERIFY_RANGE_MIN_MS = 5000, /* so that five samples are in it */
    VERIFY_STEP_MIN_MS = VERIFY_SAMPLE_MS,
    VERIFY_INTERVAL_MS = 30 * 1000, /* of groups without one, as serve has it */
    /* What windows and `for` of a run may add up to, see verify_plan_make. */
    VERIFY_STRETCH_MS = 60 * 1000,
};

struct verify_names {
    struct span *at; /* sorted, unique */
    size_t n;
};

enum verify_drive {
    VERIFY_DRIVEN,
    VERIFY_SKIPPED, /* nothing that is injected moves it */
    VERIFY_BROKEN,  /* it can be told now that it never fires: reads what nobody has */
};

struct verify_alert {
    const struct rule *rule;
    const struct rule_group *group;
    size_t i_file, i_rule; /* of the plan's files; among the alerts of its group */
    enum verify_drive drive;
    const char *why;           /* not driven: why */
    struct verify_names needs; /* without these it has no value */
    /* As they run. */
    int64_t window_ms; /* how far back it looks, with the intervals of what it reads */
    int64_t for_ms, keep_ms, interval_ms;
    double limit;         /* NaN: cannot be told */
    bool limit_is_ttft;   /* a quantile of the time to the first token, in seconds */
    bool limit_is_e2e;    /* likewise of whole requests */
    const char *measured; /* what is compared, scaled, as an expression; NULL: no comparison */
};

struct verify_plan {
    const struct rule_file *const *files;
    size_t n_files;
    struct verify_alert *alerts;
    size_t n;
    size_t n_driven;
    double factor;                                   /* 1: as written */
    int64_t window_ms, for_ms, keep_ms, interval_ms; /* the longest of those that are driven */
    struct arena arena;
};

/*
 * Three windows, `for` and keep_firing_for of the slowest alert that is driven come to at most
 * VERIFY_STRETCH_MS, where the smallest ranges allow it. is_real_time: the factor is 1.
 */
int verify_plan_make(const struct rule_file *const *files, size_t n_files, bool is_real_time,
                     struct verify_plan *ret) WARN_UNUSED;
void verify_plan_done(struct verify_plan *p);

/* One duration as it runs. */
int64_t verify_plan_range(double factor, int64_t ms);
int64_t verify_plan_step(double factor, int64_t ms);
int64_t verify_plan_span(double factor, int64_t ms); /* offset, `for`: no minimum */
int64_t verify_plan_interval(double factor, const struct rule_group *g); /* also the default one */

/* An expression, scaled; appended to out. -EINVAL: it has no fixed durations. */
int verify_plan_print(const struct node *n, double factor, struct buf *out) WARN_UNUSED;

#endif
