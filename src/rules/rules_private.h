/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/rules_private.h - what the files of the evaluator share: all groups, and one evaluation.
 *
 * Threading: the evaluator's thread works on its own and takes lock for the moment in which results
 *            become visible; rules_write* and rules_stats read under it.
 */
#ifndef RULES_RULES_PRIVATE_H
#define RULES_RULES_PRIVATE_H

#include <pthread.h>

#include "base/clock.h"
#include "promql/query.h"
#include "rules/group.h"

enum {
    RULES_QUERY_BYTES = 256 * 1024 * 1024,   /* of an expression's values */
    RULES_SCRATCH_BYTES = 256 * 1024 * 1024, /* of what is made of its result */
    RULES_SLICE_MS = 250,                    /* of a tick, and the rule that is being evaluated */
};

/* Series of a group that is gone: marked when two of its intervals are over, so that a group of
 * another name may take them over. */
struct gone {
    struct recorded_list series;
    int64_t due_ms, wait_ms, t_ms;
    struct gone *next;
};
void rules_gone_free(struct gone *g, struct recorded_table *t); /* and those behind it */

struct rules {
    struct rules_config config; /* defaults filled in */
    struct rules_ops ops;
    struct overlay overlay;
    struct arena arena; /* of the configuration's labels */
    char *external_url;
    struct arena_budget budget;
    struct arena scratch; /* of one rule's evaluation */
    struct buf text;      /* of one template */
    struct gone *gone;
    int64_t last_ms;          /* of the last tick or load */
    uint64_t n_turns;         /* interruptions of groups */
    bool is_loaded;           /* once: what comes later is not restored */
    struct rules_stats stats; /* but for what is counted when asked */

    pthread_mutex_t lock;
    struct group **groups;  /* in the order of the files */
    struct group **by_name; /* by file and name, as they are shown */
    size_t n_groups;
    struct rules_stats shown; /* stats as of late */
};
void rules_show_stats(struct rules *r);

/* One tick. */
struct tick {
    struct rules *r;
    struct reader *store; /* opened with the first slot that is due */
    int64_t now_ms;
    bool (*must_stop)(void *ctx);
    void *ctx;
    bool is_stopped;
    mono_t start;
    bool is_whole; /* no group is interrupted */
};

/* evaluate.c: one rule at ts, all or nothing but for what it says of itself. */
void evaluate_rule(struct tick *t, struct group *g, struct rule_run *rule, int64_t ts_ms);

/* restore.c: `for` goes on where the last process left it. */
void restore_group(struct tick *t, struct group *g);

/* group_texts.c: labels, annotations, texts of all rules of a new group. */
int group_texts(struct group *g, struct span external_url) WARN_UNUSED;
void group_texts_done(struct group *g);

#endif
