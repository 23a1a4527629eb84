/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/rules.h"

#include <errno.h>

#include "base/mem.h"
#include "rules/rules_private.h"

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)

/* --- birth and end --- */

static void fill_defaults(struct rules_config *c)
{
    const struct {
        int64_t *value, otherwise;
    } rows[] = {
        {&c->interval_ms, 30 * SECOND_MS},         {&c->resend_ms, MINUTE_MS},
        {&c->outage_tolerance_ms, 60 * MINUTE_MS}, {&c->grace_ms, 10 * MINUTE_MS},
        {&c->lookback_ms, 5 * MINUTE_MS},          {&c->timeout_ms, 10 * SECOND_MS},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (*rows[i].value <= 0)
            *rows[i].value = rows[i].otherwise;
}

int rules_new(const struct rules_config *config, const struct rules_ops *ops, struct rules **ret)
{
    struct rules *r = mem_zalloc(1, sizeof(*r));
    if (!r)
        return -ENOMEM;
    r->config = *config;
    r->ops = *ops;
    r->last_ms = ALERT_NEVER;
    r->budget.max_bytes = RULES_SCRATCH_BYTES;
    fill_defaults(&r->config);
    overlay_init(&r->overlay);
    arena_init(&r->arena, NULL);
    arena_init(&r->scratch, &r->budget);
    buf_init(&r->text, TEMPLATE_OUTPUT_MAX);
    pthread_mutex_init(&r->lock, NULL);
    int x = rules_set_url(r, config->external_url);
    if (x == 0)
        x = labels_copy(&r->arena, config->external_labels, &r->config.external_labels);
    if (x < 0) {
        (void)rules_free(r);
        return -ENOMEM;
    }
    *ret = r;
    return 0;
}

int rules_set_url(struct rules *r, struct span external_url)
{
    char *copy = mem_strndup(external_url.n > 0 ? external_url.p : "", external_url.n);
    if (!copy)
        return -ENOMEM;
    mem_free(r->external_url);
    r->external_url = copy;
    r->config.external_url = span_of(copy, external_url.n);
    return 0;
}

void rules_gone_free(struct gone *g, struct recorded_table *t)
{
    for (struct gone *next; g; g = next) {
        next = g->next;
        recorded_list_done(&g->series, t);
        mem_free(g);
    }
}

static bool is_for_state(const struct recorded *s)
{
    return span_eq(labels_name(s->labels), SPAN("ALERTS_FOR_STATE"));
}

/* Behind its last sample, and not before now. */
static int add_last(struct batch *b, struct recorded *s, int64_t now_ms, uint64_t mark)
{
    if (s->mark == mark || s->last_ms == RECORDED_NEVER || is_for_state(s))
        return 0;
    s->mark = mark;
    int64_t t_ms = now_ms > s->last_ms ? now_ms : s->last_ms + 1;
    return batch_add(b, s->labels, t_ms, series_stale(), NULL);
}

static int end_series(struct rules *r, struct batch *b)
{
    struct recorded_list all = {.at = NULL};
    uint64_t mark = ++r->overlay.table.mark;
    int x = 0;
    for (size_t i = 0; i < r->n_groups && x == 0; i++)
        x = group_recorded(r->groups[i], &all);
    for (const struct gone *g = r->gone; g && x == 0; g = g->next)
        x = recorded_list_add(&all, &g->series);
    for (size_t i = 0; i < all.n && x == 0; i++)
        x = add_last(b, all.at[i], r->last_ms, mark);
    recorded_list_done(&all, &r->overlay.table);
    return x;
}

static void mark_all_stale(struct rules *r)
{
    struct batch *b;
    uint64_t number;
    if (!r->is_loaded || batch_new(&b) < 0)
        return;
    if (end_series(r, b) < 0 || b->n == 0 || r->ops.write(r->ops.ctx, b, &number) < 0)
        (void)batch_free(b);
}

struct rules *rules_free(struct rules *r)
{
    if (!r)
        return NULL;
    mark_all_stale(r);
    for (size_t i = 0; i < r->n_groups; i++)
        (void)group_free(r->groups[i], &r->overlay.table);
    mem_free(r->groups);
    mem_free(r->by_name);
    rules_gone_free(r->gone, &r->overlay.table);
    overlay_done(&r->overlay);
    buf_done(&r->text);
    arena_done(&r->scratch);
    arena_done(&r->arena);
    mem_free(r->external_url);
    pthread_mutex_destroy(&r->lock);
    mem_free(r);
    return NULL;
}

/* --- what there is --- */

int rules_each_alert(struct rules *r, int (*visit)(void *ctx, const struct rules_alert *a),
                     void *ctx)
{
    int x = 0;
    for (size_t i = 0; i < r->n_groups; i++)
        for (size_t j = 0; j < r->groups[i]->n; j++) {
            const struct rule_run *rule = &r->groups[i]->rules[j];
            for (size_t k = 0; k < rule->alerts.n && x == 0; k++) {
                const struct alert_state *a = &rule->alerts.at[k];
                const struct rules_alert alert = {.rule = rule->def,
                                                  .group = r->groups[i]->def,
                                                  .labels = a->labels->labels,
                                                  .annotations = a->annotations->labels,
                                                  .value = a->value,
                                                  .is_firing = a->phase == ALERT_FIRING,
                                                  .active_ms = a->active_ms};
                if (a->phase != ALERT_INACTIVE)
                    x = visit(ctx, &alert);
            }
        }
    return x;
}

int rules_each_rule(struct rules *r,
                    int (*visit)(void *ctx, const struct rule_group *g, const struct rule *rule,
                                 struct span error),
                    void *ctx)
{
    int x = 0;
    for (size_t i = 0; i < r->n_groups; i++)
        for (size_t j = 0; j < r->groups[i]->n && x == 0; j++) {
            const struct rule_run *rule = &r->groups[i]->rules[j];
            x = visit(ctx, r->groups[i]->def, rule->def, span_cstr(rule->error));
        }
    return x;
}

void rules_show_stats(struct rules *r)
{
    pthread_mutex_lock(&r->lock);
    r->shown = r->stats;
    pthread_mutex_unlock(&r->lock);
}

void rules_stats(struct rules *r, struct rules_stats *ret)
{
    pthread_mutex_lock(&r->lock);
    *ret = r->shown;
    ret->n_groups = r->n_groups;
    for (size_t i = 0; i < r->n_groups; i++) {
        ret->n_rules += r->groups[i]->n;
        for (size_t j = 0; j < r->groups[i]->n; j++) {
            const struct alert_states *s = &r->groups[i]->rules[j].alerts;
            ret->n_pending += alert_states_count(s, ALERT_PENDING);
            ret->n_firing += alert_states_count(s, ALERT_FIRING);
        }
    }
    pthread_mutex_unlock(&r->lock);
}
