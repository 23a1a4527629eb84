/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review/review_private.h - private to review/: what a review is made of.
 *
 * Order:     rules_in_force, firings_read, then objective by objective (review_burn.h), marks,
 *            sums per rule, advice. Everything lives in the arena of the review.
 */
#ifndef REVIEW_REVIEW_PRIVATE_H
#define REVIEW_REVIEW_PRIVATE_H

#include "baseline/propose.h"
#include "review/review.h"

enum verdict { VERDICT_UNJUDGED, VERDICT_REAL, VERDICT_NOISE };

/* A time during which one alert was pending or firing without a break. */
struct firing {
    int64_t from_ms, to_ms; /* to: the first moment when it was neither */
    int64_t fired_ms;       /* when it began to fire */
    int64_t firing_ms;      /* for how long it fired; 0: it never did */
    bool is_cut;            /* it may have begun before the period, or goes on behind it */
    bool is_marked;         /* as noise, by a person */
    bool has_requests;      /* some were counted for an objective around it */
    double burn;            /* the highest rate of an objective around it */
    const struct slo *slo;  /* that one; NULL: nothing burned */
    enum slo_objective objective;
};

/* All of one label set. */
struct alert_series {
    struct labels labels; /* without __name__ and alertstate */
    size_t row;           /* of struct review.rows */
    struct firing *at;
    size_t n, cap;
    unsigned n_fired, n_noise;
    int64_t firing_ms;
};

/* Times fired, by what came of judging. */
struct verdict_count {
    unsigned n_real, n_noise, n_unjudged;
};

enum { REVIEW_TOP = 5 };

/* An alerting rule: one in force, or what alerts of rules that are gone have in common. */
struct rule_row {
    struct span name, tier;                /* tier "": it says none */
    const struct rule *rule;               /* NULL: gone */
    const struct rule_group *group;        /* NULL: gone */
    int64_t step_ms;                       /* between two evaluations */
    unsigned n_fired, n_marked, n_pending; /* pending: never fired */
    struct verdict_count fired;
    int64_t firing_ms, noise_ms, longest_ms, last_ms; /* last: when it fired last; 0: never */
    const struct firing *worst;                       /* the one with most burn; NULL: none */
    size_t n_series;                                  /* label sets that fired */
    const struct alert_series *top[REVIEW_TOP];       /* most noise first, then most firings */
    size_t n_top;
};

struct review_budget {
    const struct slo *slo;
    enum slo_objective objective;
    int64_t first_ms, last_ms; /* of samples; first > last: there are none */
    double total, bad;         /* in the period */
    int64_t window_from_ms;    /* the budget's window, as far as data reaches */
    double window_total, window_bad;
};

/* An objective was missed, and no alert of tier P0 or P1 fired. */
struct review_miss {
    const struct slo *slo;
    enum slo_objective objective;
    int64_t from_ms, to_ms;
    double total, bad, burn;
    double budget_ratio; /* of what the whole period allowed */
};

/* Samples are this far apart from here on. */
struct review_stretch {
    int64_t from_ms, to_ms;
    int64_t resolution_ms; /* 0: as scraped */
};

/* histogram_quantile(q, ... selector ...) in a rule. */
struct quantile_use {
    const struct rule *rule;
    const struct rule_group *group;
    double q;
    const struct node *selector;
    const struct node *limit; /* what it is compared with (>, >=); NULL: nothing */
};

struct advice_for {
    const struct rule_row *row;
    int64_t for_ms;
    struct verdict_count now, then;
};

struct advice_threshold {
    const struct proposal *proposal;
    const struct quantile_use *use; /* NULL: no rule compares this p95 */
    double now;                     /* the rule's limit; NAN: not known */
};

enum { REVIEW_MISSES_SHOWN = 1000 }; /* in JSON */
enum { ADVICE_BOUNDS_MAX = 3 };
struct advice_bounds {
    const struct quantile_use *use; /* the first of its kind */
    unsigned n_uses;
    struct span metric;  /* without _bucket */
    double lower, upper; /* of the bucket that the quantile is in; upper may be +Inf */
    double value;        /* the quantile; NAN: beyond all bounds */
    double total;        /* observations that this is from */
    double bounds[ADVICE_BOUNDS_MAX];
    size_t n_bounds;
};

struct review {
    struct review_question q;
    struct arena_budget budget;
    struct arena arena;
    struct rule_row *rows;
    size_t n_rows, cap_rows;
    const struct rule_row **order; /* the rows: most noise first, then most firings, then names */
    struct alert_series *series;
    size_t n_series;
    int64_t alerts_first_ms, alerts_last_ms; /* of samples of ALERTS; first > last: none */
    struct review_budget *budgets;
    size_t n_budgets;
    struct review_miss *misses; /* the most expensive first */
    size_t n_misses, cap_misses;
    unsigned n_incident_alerts, n_marks;
    struct review_stretch *stretches;
    size_t n_stretches;
    struct quantile_use *uses;
    size_t n_uses, cap_uses;
    struct proposals proposals;
    struct advice_for *fors;
    size_t n_fors, cap_fors;
    struct advice_threshold *thresholds;
    size_t n_thresholds, cap_thresholds;
    struct advice_bounds *bounds;
    size_t n_bounds, cap_bounds;
    int64_t bounds_from_ms;
};

/* is_over of the question; 0 without one. */
int review_is_over(const struct review *r);
/* A text for r where there is none yet; returns r. */
int review_fail(const struct review *r, int error, struct err *reterr);

/* Whether somebody is woken or told: P0, P1. */
static inline bool review_is_waking(struct span tier)
{
    return span_eq(tier, SPAN("P0")) || span_eq(tier, SPAN("P1"));
}

/* judgement.c */
enum verdict judgement_of(const struct firing *f);
void judgement_add(struct verdict_count *c, enum verdict v);

/* rule_rows.c: a row for each alerting rule in force; the row of an alert, made where there is
 * none; what its firings come to. */
int rule_rows_init(struct review *r) WARN_UNUSED;
int rule_rows_find(struct review *r, struct labels alert, size_t *ret_row) WARN_UNUSED;
int rule_rows_sum(struct review *r) WARN_UNUSED;

/* firings.c: all of ALERTS. */
int firings_read(struct review *r, struct err *reterr) WARN_UNUSED;

/* marks.c: what people said of them. */
int marks_read(struct review *r, struct err *reterr) WARN_UNUSED;

/* advise_*.c */
int advise_for(struct review *r) WARN_UNUSED;
int advise_threshold(struct review *r, struct err *reterr) WARN_UNUSED;
int advise_bounds(struct review *r, struct err *reterr) WARN_UNUSED;

/* quantile_uses.c: of all rules in force. */
int quantile_uses_find(struct review *r) WARN_UNUSED;
/* The metric of a selector; "" where it has no name. */
struct span quantile_use_metric(const struct quantile_use *u);

#endif
