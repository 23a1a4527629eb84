/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rule files: every text is either accepted or has at least one mistake with a place inside of it;
 * what is accepted has all that the evaluator relies on, and advice names its rules.
 * fuzz-links: rules
 */
#include <errno.h>

#include "pieces.h"
#include "rules/file.h"

static void check_list(const struct err_list *errs, struct span text)
{
    int n_lines = 1;

    for (size_t i = 0; i < text.n; i++)
        n_lines += text.p[i] == '\n' || text.p[i] == '\r' || (unsigned char)text.p[i] >= 0x80;
    for (size_t i = 0; i < errs->n; i++) {
        const struct err_item *item = &errs->items[i];

        FUZZ_CHECK(item->err.text[0] != '\0');
        FUZZ_CHECK(item->line >= 0 && item->line <= n_lines + 1);
        FUZZ_CHECK((item->line == 0) == (item->column == 0));
    }
}

static void check_rule(const struct rule *rule)
{
    FUZZ_CHECK(rule->name.n > 0 && rule->expr && promql_root(rule->expr));
    FUZZ_CHECK(rule->for_ms >= 0 && rule->keep_firing_ms >= 0);
    FUZZ_CHECK(rule->is_alert || (rule->for_ms == 0 && rule->n_annotations == 0));
    for (size_t i = 0; i < rule->n_labels; i++) {
        FUZZ_CHECK(rule->labels[i].name.n > 0);
        FUZZ_CHECK(rule->is_alert == (rule->labels[i].template != NULL));
        FUZZ_CHECK(i == 0 || !span_eq(rule->labels[i].name, rule->labels[i - 1].name));
    }
    for (size_t i = 0; i < rule->n_annotations; i++)
        FUZZ_CHECK(rule->annotations[i].template != NULL);
}

static void check_file(const struct rule_file *f)
{
    for (size_t i = 0; i < f->n; i++) {
        const struct rule_group *g = &f->groups[i];

        FUZZ_CHECK(g->name.n > 0 && g->interval_ms >= 0 && g->query_offset_ms >= -1);
        for (size_t j = 0; j < g->n; j++)
            check_rule(&g->rules[j]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct err_list errs;
    struct span text = span_of(data, size);
    struct rule_file *f = NULL;

    if (size > 20000) /* slow for nothing */
        return 0;
    err_list_init(&errs);
    int r = rule_file_read(text, "f", &f, &errs);
    FUZZ_CHECK(r == 0 ? f && errs.n == 0 : r == -EINVAL && !f && errs.n > 0);
    check_list(&errs, text);
    if (!f)
        return 0;
    check_file(f);
    err_list_init(&errs);
    FUZZ_CHECK(rule_file_advise(f, 30000, &errs) == 0);
    check_list(&errs, text);
    rule_file_unref(f);
    return 0;
}
