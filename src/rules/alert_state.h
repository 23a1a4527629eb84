/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/alert_state.h - the life of the alerts of one rule, evaluation by evaluation.
 *
 * States:    pending -> firing -> inactive (resolved), as Prometheus 3.14 has them:
 *            - a row of the result that is not known is pending since ts; one that is known keeps
 *              its start and gets its value and annotations anew; one that is resolved begins anew.
 *            - pending and ts - start >= for: firing since ts, in the same evaluation. Firing and
 *              ts - start < for (the rule was changed): pending again.
 *            - missing: pending is forgotten at once; firing goes on while it is missing for less
 *              than keep_firing_for, else it is resolved at ts, and kept ALERT_KEPT_MS more.
 *            - limit: more active alerts than that are an error, and all alerts are forgotten.
 * Telling:   never while pending; at once when resolved since it was last told; else when the last
 *            time is longer ago than the resend delay. What was told holds for 4 times the longer
 *            of interval and resend delay.
 * Shape:     sorted by labels. A step makes a new generation and leaves the old one as it is, so
 *            that an evaluation may fail anywhere.
 * Units:     ms since the epoch; ALERT_NEVER where there is no such moment.
 * Errors:    -ENOMEM; -E2BIG: limit.
 * Threading: pure, but for the counts of pairs.
 * Source:    Prometheus 3.14, behaviour of rules/alerting.go; docs/DEFINITIONS.md, "Alerts".
 */
#ifndef RULES_ALERT_STATE_H
#define RULES_ALERT_STATE_H

#include "rules/pairs.h"

#define ALERT_NEVER INT64_MIN
enum { ALERT_KEPT_MS = 15 * 60 * 1000 };

/* In the order in which a rule's state is the highest of its alerts'. */
enum alert_phase { ALERT_INACTIVE, ALERT_PENDING, ALERT_FIRING };

struct alert_state {
    struct pairs *labels, *annotations;
    enum alert_phase phase;
    double value;
    int64_t active_ms, fired_ms, resolved_ms; /* since when */
    int64_t keep_since_ms;                    /* missing since, and still firing */
    int64_t told_ms, valid_until_ms;
    bool is_told; /* by the step that made this generation */
};

struct alert_states {
    struct alert_state *at;
    size_t n;
};

/* A row of an expression's result, with the labels that the alert gets. */
struct alert_row {
    struct labels labels, annotations;
    double value;
};

struct alert_terms {
    int64_t for_ms, keep_firing_ms;
    int64_t interval_ms, resend_ms;
    uint64_t limit; /* 0: none */
};

/* Sorts rows in place as states are sorted. -EEXIST: two have the same labels. */
int alert_rows_sort(struct alert_row *rows, size_t n) WARN_UNUSED;

/* rows: sorted. *ret_n_active (also with -E2BIG): pending and firing ones. */
int alert_states_step(const struct alert_states *old, const struct alert_row *rows, size_t n,
                      const struct alert_terms *terms, int64_t ts_ms, struct alert_states *ret,
                      size_t *ret_n_active) WARN_UNUSED;
int alert_states_copy(const struct alert_states *from, struct alert_states *ret) WARN_UNUSED;
void alert_states_done(struct alert_states *s);

/* The alert with these labels; NULL: there is none. */
struct alert_state *alert_states_find(const struct alert_states *s, struct labels l);
/* All moments by_ms later: the clock was stepped. */
void alert_states_shift(struct alert_states *s, int64_t by_ms);
size_t alert_states_count(const struct alert_states *s, enum alert_phase phase);
const char *alert_phase_name(enum alert_phase phase);

#endif
