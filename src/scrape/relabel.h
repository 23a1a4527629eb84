/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scrape/relabel.h - labels of targets and samples changed by rules, as Prometheus has them.
 *
 * Role:      relabel_configs (of a target, before it is scraped: __address__, __scheme__,
 *            __metrics_path__, __scrape_interval__, __scrape_timeout__, __param_*, __meta_*) and
 *            metric_relabel_configs (of each series).
 * Actions:   replace, keep, drop, keepequal, dropequal, hashmod, labelmap, labeldrop, labelkeep,
 *            lowercase, uppercase.
 * Meaning:   as Prometheus 2.42: the expression is anchored at both ends, "$1" and "${1}" in
 *            replacement and target_label, values of source_labels joined by the separator,
 *            defaults "(.*)", ";", "$1"; an empty result removes the label. labeldrop and labelkeep
 *            apply to names. A name that replacements make invalid is left out: of replace nothing
 *            happens, of labelmap that label is not made. As in Prometheus 2.42 an empty result
 *            does not remove what a target_label with "$" names.
 * Different: '.' matches a line feed, as everywhere here and in Prometheus 3; target_label of other
 *            actions than replace is a plain name.
 * Not judged here: whether what comes out still has a name, and a valid one.
 * Ownership: rules live in the arena that they were read into, their patterns until relabel_done;
 *            results in the arena of the call, and they may borrow from what was given and from
 *            rules.
 * Errors:    -ENOMEM; -EINVAL with a reason when a rule is made (relabel_make); -E2BIG: a value
 *            above RELABEL_VALUE_MAX, or an expression that wants too much work for it.
 * Threading: no globals; a rule is used by one thread at a time (patterns keep their last match).
 * Limits:    RELABEL_RULES_MAX rules in a list, RELABEL_VALUE_MAX bytes of a value.
 * Source:    Prometheus' configuration, relabel_config.
 */
#ifndef SCRAPE_RELABEL_H
#define SCRAPE_RELABEL_H

#include "base/arena.h"
#include "base/err.h"
#include "series/labels.h"

enum { RELABEL_RULES_MAX = 1000, RELABEL_VALUE_MAX = 64 * 1024 };

enum relabel_action {
    RELABEL_REPLACE,
    RELABEL_KEEP,
    RELABEL_DROP,
    RELABEL_KEEP_EQUAL,
    RELABEL_DROP_EQUAL,
    RELABEL_HASH_MOD,
    RELABEL_LABEL_MAP,
    RELABEL_LABEL_DROP,
    RELABEL_LABEL_KEEP,
    RELABEL_LOWERCASE,
    RELABEL_UPPERCASE,
    RELABEL_ACTION_COUNT_
};
const char *relabel_action_name(enum relabel_action a);
/* In any case of letters. -EINVAL: no such action. */
int relabel_action_of(struct span name, enum relabel_action *ret) WARN_UNUSED;

/* A rule as written; spans that are empty with is_set false have the default. */
struct relabel_wish {
    enum relabel_action action;
    const struct span *sources;
    size_t n_sources;
    struct span separator, regex, target, replacement;
    bool has_separator, has_regex, has_replacement;
    uint64_t modulus;
};
struct relabel_rule;
/* Texts are copied into a. -EINVAL: what is wrong, in *reterr; *ret_field is the key at fault
 * ("regex", "target_label", ...). */
int relabel_make(const struct relabel_wish *w, struct arena *a, const struct relabel_rule **ret,
                 const char **ret_field, struct err *reterr) WARN_UNUSED;

struct relabel_list {
    const struct relabel_rule *const *at;
    size_t n;
};
/* Patterns of rules that relabel_make made. */
void relabel_done(struct relabel_list rules);

/* 1: kept, *ret has the labels; 0: dropped; -ENOMEM, -E2BIG. */
int relabel_apply(struct relabel_list rules, struct labels from, struct arena *a,
                  struct labels *ret) WARN_UNUSED;

#endif
