/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/group.h"

#include <errno.h>

#include "base/mem.h"
#include "rules/rules_private.h"

/* --- slots --- */

static int64_t slot_offset(const struct rule_group *def, int64_t interval_ms)
{
    struct label pairs[] = {{SPAN("file"), span_cstr(def->file)}, {SPAN("name"), def->name}};
    uint64_t hash = labels_hash((struct labels){pairs, ARRAY_LEN(pairs)});
    return (int64_t)(hash % (uint64_t)interval_ms);
}

/* The last slot that is not behind t_ms. */
static int64_t slot_before(const struct group *g, int64_t t_ms)
{
    int64_t beyond = (t_ms - g->slot_offset_ms) % g->interval_ms;
    return t_ms - beyond - (beyond < 0 ? g->interval_ms : 0);
}

void group_follow_clock(struct group *g, int64_t now_ms)
{
    if (g->next_ms - now_ms > 2 * g->interval_ms)
        g->next_ms = slot_before(g, now_ms) + g->interval_ms;
}

int64_t group_take_slot(struct group *g, int64_t now_ms, uint64_t *n_missed)
{
    int64_t slot = slot_before(g, now_ms);
    *n_missed += (uint64_t)((slot - g->next_ms) / g->interval_ms);
    g->next_ms = slot + g->interval_ms;
    return slot;
}

/* --- birth --- */

static int fill(struct group *g, const struct rules_config *config, const struct rule_group *def,
                int64_t now_ms)
{
    g->def = def;
    g->n = def->n;
    g->interval_ms = def->interval_ms > 0 ? def->interval_ms : config->interval_ms;
    g->query_offset_ms = def->query_offset_ms >= 0 ? def->query_offset_ms : config->query_offset_ms;
    g->slot_offset_ms = slot_offset(def, g->interval_ms);
    g->next_ms = slot_before(g, now_ms) + g->interval_ms;
    g->last_ms = g->evaluated_ms = ALERT_NEVER;
    g->rules = mem_zalloc(def->n > 0 ? def->n : 1, sizeof(*g->rules));
    if (!g->rules)
        return -ENOMEM;
    for (size_t i = 0; i < g->n; i++) {
        g->rules[i].def = &def->rules[i];
        g->rules[i].evaluated_ms = ALERT_NEVER;
        g->rules[i].is_restored = true;
    }
    return group_texts(g, config->external_url);
}

int group_new(const struct rules_config *config, struct rule_file *f, const struct rule_group *def,
              int64_t now_ms, struct group **ret)
{
    struct group *g = mem_zalloc(1, sizeof(*g));
    if (!g)
        return -ENOMEM;
    arena_init(&g->arena, NULL);
    g->file = rule_file_ref(f);
    int r = fill(g, config, def, now_ms);
    if (r < 0)
        (void)group_free(g, NULL);
    else
        *ret = g;
    return r;
}

struct group *group_free(struct group *g, struct recorded_table *t)
{
    if (!g)
        return NULL;
    for (size_t i = 0; g->rules && i < g->n; i++) {
        recorded_list_done(&g->rules[i].recorded, t);
        alert_states_done(&g->rules[i].alerts);
    }
    recorded_list_done(&g->stale, t);
    group_texts_done(g);
    mem_free(g->rules);
    arena_done(&g->arena);
    (void)rule_file_unref(g->file);
    mem_free(g);
    return NULL;
}

/* --- reload --- */

static bool is_same_rule(const struct rule_run *a, const struct rule_run *b)
{
    if (!span_eq(a->def->name, b->def->name) || a->n_labels != b->n_labels)
        return false;
    for (size_t i = 0; i < a->n_labels; i++)
        if (!span_eq(a->labels[i].name, b->labels[i].name) ||
            !span_eq(a->labels[i].value, b->labels[i].value))
            return false;
    return true;
}

static int copy_rule(struct rule_run *to, const struct rule_run *from)
{
    int r = recorded_list_copy(&from->recorded, &to->recorded);
    if (r == 0 && to->def->is_alert && from->def->is_alert) {
        r = alert_states_copy(&from->alerts, &to->alerts);
        to->is_restored = from->is_restored;
    }
    if (to->def->is_alert != from->def->is_alert || !span_eq(to->query, from->query))
        return r; /* what is known of it is not about this expression */
    to->health = from->health;
    to->evaluated_ms = from->evaluated_ms;
    to->duration_ns = from->duration_ns;
    memcpy(to->error, from->error, sizeof(to->error));
    return r;
}

/* Each rule takes the state of the first one before that is the same and not taken yet. */
static int copy_rules(struct group *g, const struct group *from, bool *is_taken)
{
    size_t first = 0; /* not taken */
    int r = 0;
    for (size_t i = 0; i < g->n && r == 0; i++) {
        while (first < from->n && is_taken[first])
            first++;
        size_t j = first;
        while (j < from->n && (is_taken[j] || !is_same_rule(&g->rules[i], &from->rules[j])))
            j++;
        if (j == from->n)
            continue;
        is_taken[j] = true;
        r = copy_rule(&g->rules[i], &from->rules[j]);
    }
    for (size_t j = 0; j < from->n && r == 0; j++)
        if (!is_taken[j])
            r = recorded_list_add(&g->stale, &from->rules[j].recorded);
    return r;
}

int group_copy_state(struct group *g, const struct group *from)
{
    bool *is_taken = mem_zalloc(from->n > 0 ? from->n : 1, sizeof(*is_taken));
    if (!is_taken)
        return -ENOMEM;
    g->evaluated_ms = from->evaluated_ms;
    g->duration_ns = from->duration_ns;
    g->last_ms = from->last_ms;
    if (g->interval_ms == from->interval_ms)
        g->next_ms = from->next_ms;
    g->is_restoring = from->is_restoring;
    g->n_evaluated = from->n_evaluated;
    for (size_t i = 0; i < g->n; i++)
        g->rules[i].is_restored = !from->is_restoring;
    int r = recorded_list_add(&g->stale, &from->stale);
    if (r == 0)
        r = copy_rules(g, from, is_taken);
    mem_free(is_taken);
    return r;
}

int group_recorded(const struct group *g, struct recorded_list *to)
{
    int r = recorded_list_add(to, &g->stale);
    for (size_t i = 0; i < g->n && r == 0; i++)
        r = recorded_list_add(to, &g->rules[i].recorded);
    return r;
}
