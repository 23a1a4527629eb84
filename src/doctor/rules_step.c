/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/rules_step.c - rule files: what is allowed there and cannot work.
 */
#include <errno.h>
#include <math.h>

#include "base/file.h"
#include "base/stat.h"
#include "base/suggest.h"
#include "doctor/doctor_private.h"
#include "metrics/family.h"
#include "rules/file.h"

enum { INTERVAL_MS = 30 * 1000, SCRAPE_MS = 10 * 1000 };

struct look {
    struct doctor *d;
    struct rule_file *files[DOCTOR_RULE_FILES_MAX];
    size_t n_files, n_rules, n_odd;
    const struct rule_file *file; /* under way */
    const struct rule *rule;
};

/* --- names --- */

static struct span without_tail(struct span name)
{
    static const struct span tails[] = {SPAN_INIT("_bucket"), SPAN_INIT("_count"),
                                        SPAN_INIT("_sum")};

    for (size_t i = 0; i < ARRAY_LEN(tails); i++)
        if (span_ends_with(name, tails[i]))
            return span_of(name.p, name.n - tails[i].n);
    return name;
}

static bool is_recorded(const struct look *l, struct span name)
{
    for (size_t f = 0; f < l->n_files; f++)
        for (size_t g = 0; g < l->files[f]->n; g++)
            for (size_t i = 0; i < l->files[f]->groups[g].n; i++)
                if (!l->files[f]->groups[g].rules[i].is_alert &&
                    span_eq(l->files[f]->groups[g].rules[i].name, name))
                    return true;
    return false;
}

/* Names that the gateway makes: of its families, of itself, of engines' signals. Offers each that
 * is compared. */
static bool is_ours(struct span name, struct suggest *s)
{
    struct span base = without_tail(name);

    for (int i = 0; i < METRIC_COUNT_; i++) {
        struct span own = span_cstr(family_table[i].name);
        if (span_eq(own, name) || span_eq(own, base))
            return true;
        suggest_offer(s, own);
    }
    for (int i = 0; i < SIGNAL_COUNT_; i++) {
        struct span own = span_cstr(signal_table[i].series);
        if (span_eq(own, name) || span_eq(own, base))
            return true;
        suggest_offer(s, own);
    }
    for (int i = 0; i < STAT_COUNT_; i++) {
        struct span own = span_cstr(stat_table[i].name);
        if (span_eq(own, name))
            return true;
        suggest_offer(s, own);
    }
    return false;
}

static void tell_name(struct look *l, struct span name, struct span meant, const char *why)
{
    struct doctor *d = l->d;
    struct span remedy = meant.n > 0 ? doctor_text(d, "did you mean %.*s?", SPAN_ARG(meant))
                                     : span_cstr(doctor_causes[CAUSE_METRIC_UNKNOWN_NAME].remedy);

    l->n_odd++;
    doctor_add_remedy(d, CAUSE_METRIC_UNKNOWN_NAME, remedy, "%s:%d: \"%.*s\" asks for %.*s%s%s",
                      l->file->path, l->rule->line, SPAN_ARG(l->rule->name), SPAN_ARG(name),
                      why ? ", which " : ", which nothing is known to have", why ? why : "");
}

static void check_name(struct look *l, struct span name)
{
    struct suggest s;
    const char *why = NULL, *meant;

    suggest_init(&s, without_tail(name));
    if (name.n == 0 || is_recorded(l, name) || is_ours(name, &s))
        return;
    if (l->d->page.is_read && (families_find(&l->d->page.families, name) ||
                               families_find(&l->d->page.families, without_tail(name))))
        return;
    meant = engine_did_you_mean(name, &why);
    if (meant || why)
        tell_name(l, name, span_cstr(meant), why);
    else if (span_starts_with(name, SPAN("inferometer_")) ||
             (span_starts_with(name, SPAN("llm_")) && s.best.n > 0))
        tell_name(l, name, s.best, NULL);
}

/* --- ranges --- */

static int64_t scrape_ms(const struct look *l)
{
    return l->d->ask->rules.scrape_ms > 0 ? l->d->ask->rules.scrape_ms : SCRAPE_MS;
}

static int check_selector(void *ctx, const struct node *n)
{
    struct look *l = ctx;
    const struct duration *range = n->selector.range;

    check_name(l, n->selector.name);
    if (!range || range->op != DUR_NUMBER || range->seconds * 1000 >= 2 * (double)scrape_ms(l))
        return 0;
    l->n_odd++;
    doctor_add(l->d, CAUSE_RANGE_SHORT, true,
               "%s:%d: \"%.*s\" looks back %g s, and there is a sample every %g s", l->file->path,
               l->rule->line, SPAN_ARG(l->rule->name), range->seconds, (double)scrape_ms(l) / 1000);
    return l->d->is_out_of_memory ? -ENOMEM : 0;
}

/* --- rules --- */

static void check_rule(struct look *l, const struct rule_group *g, const struct rule *r)
{
    int64_t usual_ms =
        l->d->ask->rules.interval_ms > 0 ? l->d->ask->rules.interval_ms : INTERVAL_MS;
    int64_t interval_ms = g->interval_ms > 0 ? g->interval_ms : usual_ms;

    l->rule = r;
    l->n_rules++;
    if (r->is_alert && r->for_ms > 0 && r->for_ms < interval_ms) {
        l->n_odd++;
        doctor_add(l->d, CAUSE_FOR_SHORT, true,
                   "%s:%d: \"%.*s\" has for: %g s and is evaluated every %g s", l->file->path,
                   r->line, SPAN_ARG(r->name), (double)r->for_ms / 1000,
                   (double)interval_ms / 1000);
    }
    if (node_each_selector(promql_root(r->expr), check_selector, l) < 0)
        l->d->is_out_of_memory = true;
}

static void read_rules(struct look *l, const char *path)
{
    struct doctor *d = l->d;
    struct err_list *errs = arena_alloc(d->arena, sizeof(*errs));
    struct buf text;
    int r;

    if (!errs) {
        d->is_out_of_memory = true;
        return;
    }
    err_list_init(errs);
    buf_init(&text, RULE_FILE_BYTES_MAX + 1);
    r = file_read(path, RULE_FILE_BYTES_MAX, &text);
    if (r == 0)
        r = rule_file_read(buf_span(&text), path, &l->files[l->n_files], errs);
    buf_done(&text);
    if (r == 0)
        l->n_files++;
    else if (r == -EINVAL && errs->n > 0)
        doctor_add(d, CAUSE_RULES_MISTAKE, true, "%s:%d:%d: %s", path, errs->items[0].line,
                   errs->items[0].column, errs->items[0].err.text);
    else
        doctor_add(d, CAUSE_RULES_MISTAKE, true, "%s: %s", path, err_str(r));
    l->n_odd += r != 0;
}

static void check_file(struct look *l, const struct rule_file *f)
{
    l->file = f;
    for (size_t g = 0; g < f->n; g++)
        for (size_t i = 0; i < f->groups[g].n; i++)
            check_rule(l, &f->groups[g], &f->groups[g].rules[i]);
}

void doctor_step_rules(struct doctor *d)
{
    const struct doctor_rules *rules = &d->ask->rules;
    struct look l = {.d = d};

    if (d->ask->config_mistake.n > 0)
        doctor_add(d, CAUSE_CONFIG_MISTAKE, true, "%.*s", SPAN_ARG(d->ask->config_mistake));
    for (size_t i = 0; i < rules->n && i < DOCTOR_RULE_FILES_MAX; i++)
        read_rules(&l, rules->files[i]);
    for (size_t i = 0; i < l.n_files; i++)
        check_file(&l, l.files[i]);
    if (rules->n == 0 && d->ask->config_mistake.n == 0)
        doctor_skip(d, d->ask->has_config ? "the configuration names no rule files"
                                          : "give them with --rules or --config");
    else if (l.n_odd == 0 && d->ask->config_mistake.n == 0)
        doctor_ok(d, "%zu rules in %zu file%s", l.n_rules, l.n_files, l.n_files == 1 ? "" : "s");
    for (size_t i = 0; i < l.n_files; i++)
        (void)rule_file_unref(l.files[i]);
}
