/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/group.h - a group in use: its slots, its rules, and what they have been so far.
 *
 * Role:      inside of rules only; rules.h is the door.
 * Slots:     k * interval + offset, the offset from a hash of file and name, so that groups do not
 *            all run at once and a restart does not move them.
 * Ownership: a group holds its file, and texts that are made of it in an arena.
 * Threading: the evaluator's thread changes; what rules_write reads is changed under rules->lock.
 */
#ifndef RULES_GROUP_H
#define RULES_GROUP_H

#include "rules/alert_state.h"
#include "rules/harvest.h"
#include "rules/override.h"
#include "rules/rules.h"

enum { RULE_ERROR_MAX = 512 };
enum rule_health { RULE_UNKNOWN, RULE_OK, RULE_BAD };

/* A rule in use. */
struct rule_run {
    const struct rule *def;
    const struct override *labels; /* of group and rule, as written, empty ones too; by name */
    size_t n_labels;
    const struct override *set; /* what results get: labels, alertname, the name gone or replaced */
    size_t n_set;
    const struct override *annotations;
    size_t n_annotations;
    struct span query;         /* the expression, printed */
    struct span generator_url; /* of alerts */

    struct recorded_list recorded; /* the last time */
    struct alert_states alerts;
    bool is_restored; /* samples of ALERTS are written */
    enum rule_health health;
    int64_t evaluated_ms; /* ALERT_NEVER */
    int64_t duration_ns;
    char error[RULE_ERROR_MAX];
};

struct group {
    struct rule_file *file;
    const struct rule_group *def;
    struct rule_run *rules;
    size_t n;
    int64_t interval_ms, query_offset_ms, slot_offset_ms;
    bool is_ahead;     /* of others that are due */
    int64_t next_ms;   /* its next slot */
    int64_t last_ms;   /* the last one that was evaluated, or is; ALERT_NEVER */
    bool is_under_way; /* an evaluation that other groups interrupt */
    size_t at;         /* the rule that it goes on with */
    uint64_t turn;     /* when it was interrupted: those that wait longest go on first */
    int64_t spent_ns;  /* by this evaluation up to there */
    int64_t evaluated_ms, duration_ns;
    struct recorded_list stale;  /* of rules that a reload removed: to be marked */
    bool is_restoring;           /* alerts wait for the second evaluation */
    int n_evaluated;             /* up to there */
    struct template **templates; /* of the labels of the group; those of rules are the file's */
    size_t n_templates;
    struct arena arena;
};

/* config: defaults filled in. */
int group_new(const struct rules_config *config, struct rule_file *f, const struct rule_group *def,
              int64_t now_ms, struct group **ret) WARN_UNUSED;
/* Recorded series are let go without a marker. */
struct group *group_free(struct group *g, struct recorded_table *t);

/* Goes on with what another group of the same name was. The other one stays as it is. */
int group_copy_state(struct group *g, const struct group *from) WARN_UNUSED;
/* All that its rules hold, for markers. */
int group_recorded(const struct group *g, struct recorded_list *to) WARN_UNUSED;

/* A clock that was stepped back gives the next slot anew. */
void group_follow_clock(struct group *g, int64_t now_ms);
/* The last slot up to now, which is due; the next one is set, and those in between counted. */
int64_t group_take_slot(struct group *g, int64_t now_ms, uint64_t *n_missed);

#endif
