/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/file_rules.c - inhibit_rules.
 */
#include "alert/file_read.h"

#include <errno.h>
#include <stdlib.h>

struct rule_reader {
    struct alert_inhibition rule;
    struct alert_matchers source, target;
    struct span *equal;
};

static int read_name(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    struct rule_reader *rr = to;
    struct span s = {0};
    return file_text(rd, value, "name", &s) ? file_copy(rd, s, &rr->rule.name) : 0;
}

static int read_source(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    return file_matchers(rd, value, &((struct rule_reader *)to)->source);
}

static int read_target(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    return file_matchers(rd, value, &((struct rule_reader *)to)->target);
}

static int read_source_match(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    return file_match(rd, value, MATCH_EQ, &((struct rule_reader *)to)->source);
}

static int read_target_match(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    return file_match(rd, value, MATCH_EQ, &((struct rule_reader *)to)->target);
}

static int read_source_match_re(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    return file_match(rd, value, MATCH_RE, &((struct rule_reader *)to)->source);
}

static int read_target_match_re(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    return file_match(rd, value, MATCH_RE, &((struct rule_reader *)to)->target);
}

static int read_equal_name(struct file_reader *rd, const struct yaml_node *item, void *to)
{
    struct rule_reader *rr = to;
    struct span s = {0};
    if (!file_text(rd, item, "equal", &s))
        return 0;
    if (!alert_matchers_is_name(s)) {
        (void)err_set(file_error(rd, item), -EINVAL, "\"equal\" takes names of labels");
        return 0;
    }
    for (size_t i = 0; i < rr->rule.n_equal; i++) {
        if (span_eq(rr->equal[i], s))
            return 0;
    }
    return file_copy(rd, s, &rr->equal[rr->rule.n_equal++]);
}

static int read_equal(struct file_reader *rd, const struct yaml_node *value, void *to)
{
    struct rule_reader *rr = to;
    rr->rule.n_equal = 0;
    rr->equal = arena_zalloc(&rd->to->arena, file_keys_length(value), sizeof(*rr->equal));
    return rr->equal ? file_keys_each(rd, value, "equal", read_equal_name, rr) : -ENOMEM;
}

static int rule_keep(struct file_reader *rd, struct rule_reader *rr, struct alert_inhibition *all)
{
    if (rr->rule.n_equal > 1)
        qsort(rr->equal, rr->rule.n_equal, sizeof(*rr->equal), span_sort_cmp);
    rr->rule.equal = rr->equal;
    int r = file_own(rd, &rr->source);
    if (r < 0) {
        alert_matchers_done(&rr->source);
        alert_matchers_done(&rr->target);
        return r;
    }
    r = file_own(rd, &rr->target);
    if (r < 0) {
        alert_matchers_done(&rr->target);
        return r;
    }
    rr->rule.source = rr->source.at;
    rr->rule.n_source = rr->source.n;
    rr->rule.target = rr->target.at;
    rr->rule.n_target = rr->target.n;
    all[rd->to->file.n_inhibitions++] = rr->rule;
    return 0;
}

static int read_rule(struct file_reader *rd, const struct yaml_node *item, void *to)
{
    static const struct file_key keys[] = {
        {"name", read_name, NULL},
        {"source_matchers", read_source, NULL},
        {"target_matchers", read_target, NULL},
        {"source_match", read_source_match, NULL},
        {"target_match", read_target_match, NULL},
        {"source_match_re", read_source_match_re, NULL},
        {"target_match_re", read_target_match_re, NULL},
        {"equal", read_equal, NULL},
    };
    struct rule_reader rr = {.rule.name = SPAN("")};
    int r = file_keys_read(rd, item, "inhibit_rules", keys, ARRAY_LEN(keys), &rr);
    if (r == 0)
        return rule_keep(rd, &rr, to);
    alert_matchers_done(&rr.source);
    alert_matchers_done(&rr.target);
    return r;
}

int file_rules_read(struct file_reader *rd, const struct yaml_node *list)
{
    size_t n = file_keys_length(list);
    if (n > ALERT_FILE_INHIBITIONS_MAX) {
        (void)err_set(file_error(rd, list), -E2BIG, "more than %d inhibit_rules",
                      ALERT_FILE_INHIBITIONS_MAX);
        return 0;
    }
    struct alert_inhibition *all = arena_zalloc(&rd->to->arena, n, sizeof(*all));
    if (!all)
        return -ENOMEM;
    rd->to->file.inhibitions = all;
    return file_keys_each(rd, list, "inhibit_rules", read_rule, all);
}
