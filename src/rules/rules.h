/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/rules.h - evaluates rule groups: recorded series, and the life of alerts.
 *
 * Semantics: Prometheus 3.14: slots of a group (k * interval + hash(file;group) % interval), rules
 *            in order within a group, late slots are counted as missed and not caught up; the alert
 *            state machine, `ALERTS` and `ALERTS_FOR_STATE`, stale markers, restoring after a
 *            start, resend rules as in docs/DEFINITIONS.md ("Alerts").
 * Order:     a rule sees what those before it in its group recorded at this very moment, although
 *            the store has not got it yet: readers look through what is on its way
 *            (rules/overlay.h).
 * Time:      comes from outside (rules_tick), so that tests move it. A clock that is stepped back
 *            takes the alerts' moments with it, so that neither `for` nor resending waits for it.
 * Units:     ms.
 * Fairness:  a tick ends with the rule behind RULES_SLICE_MS, and a rule of a group that was not
 *            through then; such a group goes on with later ticks. Groups of the files that are told
 *            first wait for a rule or two, however many others are slow; those for a rule of each
 *            slow group.
 * Errors:    of an expression: the rule's state stays as it is, and says why (health, last error).
 *            Of the store's reader (-EBUSY: another process has it): the slot is missed.
 * Reload:    groups with the same file and name go on; rules of a group keep their alerts where
 *            name and labels are the same, in order, as Prometheus does.
 * Threading: everything from one thread but rules_write* and rules_stats, which any thread may
 *            call.
 * Limits:    an evaluation may take what struct rules_config says; alerts of one rule
 *            RULES_ALERTS_MAX (beyond it the rule fails, and says so).
 */
#ifndef RULES_RULES_H
#define RULES_RULES_H

#include "base/jsonw.h"
#include "rules/file.h"
#include "rules/notice.h"
#include "series/batch.h"
#include "series/reader.h"

enum { RULES_ALERTS_MAX = 10000 };

struct rules_config {
    int64_t interval_ms;           /* 0: 30 s */
    int64_t query_offset_ms;       /* of groups that say none */
    int64_t resend_ms;             /* 0: 1 min */
    int64_t outage_tolerance_ms;   /* 0: 1 h */
    int64_t grace_ms;              /* 0: 10 min */
    int64_t lookback_ms;           /* 0: 5 min */
    uint64_t max_samples;          /* of one evaluation; 0: as promql has it */
    int64_t timeout_ms;            /* of one evaluation; 0: 10 s */
    struct labels external_labels; /* for templates; copied */
    struct span external_url;      /* copied; "" allowed */
};

struct rules_ops {
    /* -EBUSY and others: nothing can be evaluated now. */
    int (*reader_open)(void *ctx, struct reader **ret);
    void (*reader_close)(void *ctx, struct reader *r);
    /* Samples to be stored, what one rule recorded; the batch is the callee's if it returns 0.
     * *ret_number: grows from batch to batch. A sample that is not newer than the last one of its
     * series is to be left out, and no error. */
    int (*write)(void *ctx, struct batch *b, uint64_t *ret_number);
    /* Batches up to this number can be read from the store, by readers opened from now on. */
    uint64_t (*written)(void *ctx);
    /* Alerts to be delivered now; must not block. NULL: nobody is told. */
    void (*notify)(void *ctx, const struct alert_notice *notices, size_t n);
    void *ctx;
};

struct rules;
int rules_new(const struct rules_config *config, const struct rules_ops *ops,
              struct rules **ret) WARN_UNUSED;
/* Stale markers for what it recorded; alerts stay in ALERTS_FOR_STATE for the next start. NULL is
 * allowed; returns NULL. */
struct rules *rules_free(struct rules *r);

/* Another external_url: of what is loaded and expanded from now on. Copied. */
int rules_set_url(struct rules *r, struct span external_url) WARN_UNUSED;
/* The complete list of files from now on (referenced). All or nothing. Of groups that are due those
 * of the first n_ahead files go first. */
int rules_load(struct rules *r, struct rule_file *const *files, size_t n, size_t n_ahead,
               int64_t now_ms) WARN_UNUSED;

/* When the next slot of any group is due, a moment that is over where a group is not through;
 * INT64_MAX: there is none. */
int64_t rules_next_ms(const struct rules *r);
/* Evaluates the groups whose slot has come, for a while. must_stop (may be NULL) ends it between
 * two rules. */
void rules_tick(struct rules *r, int64_t now_ms, bool (*must_stop)(void *ctx), void *ctx);

/*
 * All groups at this moment in the order of rules_load, whatever their slots are, and nothing is
 * restored: what rule unit tests do.
 */
void rules_evaluate(struct rules *r, int64_t ts_ms);
/* The same in another order: indices of all groups, as rules_load had them. */
void rules_evaluate_in(struct rules *r, const size_t *order, int64_t ts_ms);

/* An alert as it is now; borrowed during the call. */
struct rules_alert {
    const struct rule *rule;
    const struct rule_group *group;
    struct labels labels, annotations;
    double value;
    bool is_firing;    /* else pending */
    int64_t active_ms; /* since when its expression holds */
};
/* Every rule in order, and its pending and firing alerts; a visit that returns nonzero ends it.
 * Returns that, or 0. From the thread of rules_tick. */
int rules_each_alert(struct rules *r, int (*visit)(void *ctx, const struct rules_alert *a),
                     void *ctx);
/* Every rule in order with its last error, "" when there is none. From the thread of rules_tick. */
int rules_each_rule(struct rules *r,
                    int (*visit)(void *ctx, const struct rule_group *g, const struct rule *rule,
                                 struct span error),
                    void *ctx);

/* The "data" of Prometheus' /api/v1/rules and /api/v1/alerts. Filters may be empty. */
struct rules_filter {
    bool only_alerts, only_records; /* type= */
    bool without_alerts;            /* exclude_alerts=true */
    const struct span *names, *groups, *files;
    size_t n_names, n_groups, n_files;
};
void rules_write(struct rules *r, const struct rules_filter *f, struct jsonw *w);
void rules_write_alerts(struct rules *r, struct jsonw *w);

/* For self-metrics; since the start. */
struct rules_stats {
    size_t n_groups, n_rules, n_pending, n_firing;
    uint64_t n_evaluations, n_failures, n_missed, n_lost_batches;
    int64_t last_tick_ns;
    bool is_blind; /* the store could not be read when it was tried last */
};
void rules_stats(struct rules *r, struct rules_stats *ret);

#endif
