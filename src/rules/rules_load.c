/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/rules_load.c - the groups that are to be are made complete, then they take the place of
 * those that were.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "rules/rules_private.h"

/* What is to be, until it is complete. */
struct loading {
    struct rules *r;
    struct group **groups, **by_name;
    size_t n;
    bool *is_taken; /* groups there are: one goes on in their place */
    struct gone *gone;
    int64_t now_ms;
};

static const struct group *find_old(const struct loading *l, const struct group *g)
{
    for (size_t i = 0; i < l->r->n_groups; i++) {
        const struct group *old = l->r->groups[i];
        if (!l->is_taken[i] && span_eq(old->def->name, g->def->name) &&
            strcmp(old->def->file, g->def->file) == 0) {
            l->is_taken[i] = true;
            return old;
        }
    }
    return NULL;
}

/* Alerts of the first load wait for what was before it. */
static void await_restoring(struct group *g)
{
    g->is_restoring = true;
    for (size_t i = 0; i < g->n; i++)
        g->rules[i].is_restored = !g->rules[i].def->is_alert;
}

static int load_group(struct loading *l, struct rule_file *f, const struct rule_group *def,
                      bool is_ahead)
{
    struct group *g;
    int x = group_new(&l->r->config, f, def, l->now_ms, &g);
    if (x < 0)
        return x;
    l->groups[l->n++] = g;
    g->is_ahead = is_ahead;
    const struct group *old = find_old(l, g);
    if (old)
        return group_copy_state(g, old);
    if (!l->r->is_loaded)
        await_restoring(g);
    return 0;
}

static int leave_group(struct loading *l, const struct group *g)
{
    struct gone *gone = mem_zalloc(1, sizeof(*gone));
    if (!gone)
        return -ENOMEM;
    gone->t_ms = l->now_ms - g->query_offset_ms;
    gone->wait_ms = 2 * g->interval_ms;
    gone->due_ms = l->now_ms + gone->wait_ms;
    gone->next = l->gone;
    l->gone = gone;
    return group_recorded(g, &gone->series);
}

static int compare_names(const void *a, const void *b)
{
    const struct rule_group *x = (*(struct group *const *)a)->def;
    const struct rule_group *y = (*(struct group *const *)b)->def;
    int order = strcmp(x->file, y->file);
    return order != 0 ? order : span_cmp(x->name, y->name);
}

static void sort_by_name(struct loading *l)
{
    memcpy(l->by_name, l->groups, l->n * sizeof(struct group *));
    if (l->n > 1)
        qsort(l->by_name, l->n, sizeof(struct group *), compare_names);
}

static int load(struct loading *l, struct rule_file *const *files, size_t n, size_t n_ahead)
{
    size_t n_groups = 0;
    int x = 0;
    for (size_t i = 0; i < n; i++)
        n_groups += files[i]->n;
    l->groups = mem_zalloc(n_groups > 0 ? n_groups : 1, sizeof(struct group *));
    l->by_name = mem_zalloc(n_groups > 0 ? n_groups : 1, sizeof(struct group *));
    l->is_taken = mem_zalloc(l->r->n_groups > 0 ? l->r->n_groups : 1, sizeof(*l->is_taken));
    if (!l->groups || !l->by_name || !l->is_taken)
        return -ENOMEM;
    for (size_t i = 0; i < n && x == 0; i++)
        for (size_t j = 0; j < files[i]->n && x == 0; j++)
            x = load_group(l, files[i], &files[i]->groups[j], i < n_ahead);
    for (size_t i = 0; i < l->r->n_groups && x == 0; i++)
        if (!l->is_taken[i])
            x = leave_group(l, l->r->groups[i]);
    return x;
}

/* Those that are to be exchange places with those that were. */
static void exchange(struct loading *l)
{
    struct rules *r = l->r;
    struct group **groups = r->groups, **by_name = r->by_name;
    size_t n = r->n_groups;
    struct gone **last = &r->gone;
    sort_by_name(l);
    pthread_mutex_lock(&r->lock);
    r->groups = l->groups;
    r->by_name = l->by_name;
    r->n_groups = l->n;
    pthread_mutex_unlock(&r->lock);
    l->groups = groups;
    l->by_name = by_name;
    l->n = n;
    while (*last)
        last = &(*last)->next;
    *last = l->gone;
    l->gone = NULL;
    r->is_loaded = true;
    r->last_ms = l->now_ms;
}

int rules_load(struct rules *r, struct rule_file *const *files, size_t n, size_t n_ahead,
               int64_t now_ms)
{
    struct loading l = {.r = r, .now_ms = now_ms};
    int x = load(&l, files, n, n_ahead);
    if (x == 0)
        exchange(&l);
    for (size_t i = 0; i < l.n; i++)
        (void)group_free(l.groups[i], &r->overlay.table);
    rules_gone_free(l.gone, &r->overlay.table);
    mem_free(l.groups);
    mem_free(l.by_name);
    mem_free(l.is_taken);
    return x;
}
