/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics/metrics.c - birth and death of the whole, and reload of bounds and models.
 *
 * A reload stores a new generation of bounds in metrics.bounds[family] and nothing else. Readers
 * take data of older generations for none, so that the family is empty at once; each writer throws
 * its own data away when it records the next sample (metrics/hist.c).
 */
#include "metrics/metrics.h"

#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "metrics/registry.h"

/* The bounds that family m shall have: the last of the list that names it, or its default. */
static struct metrics_bounds wanted_bounds(enum metric m, const struct metrics_bounds *list,
                                           size_t n)
{
    for (size_t i = n; i-- > 0;) {
        if (list[i].metric == m)
            return list[i];
    }
    const struct family *f = &family_table[m];
    return (struct metrics_bounds){m, f->default_bounds, f->n_default_bounds};
}

static bool is_same(const struct hist_bounds *b, const struct metrics_bounds *wanted)
{
    return b && b->n == wanted->n &&
           (b->n == 0 || memcmp(b->upper, wanted->values, b->n * sizeof(b->upper[0])) == 0);
}

static struct bounds_generation *generation_new(const struct metrics_bounds *wanted, wall_t now,
                                                int *ret_error)
{
    struct bounds_generation *g = mem_zalloc(1, sizeof(*g));
    if (!g) {
        *ret_error = -ENOMEM;
        return NULL;
    }
    int r = hist_bounds_new(family_table[wanted->metric].hist_unit, wanted->values, wanted->n, now,
                            &g->bounds);
    if (r < 0) {
        mem_free(g);
        *ret_error = r;
        return NULL;
    }
    return g;
}

static void generations_free(struct bounds_generation *g)
{
    while (g) {
        struct bounds_generation *next = g->next;
        hist_bounds_free(g->bounds);
        mem_free(g);
        g = next;
    }
}

static bool is_histogram(enum metric m)
{
    return m < METRIC_COUNT_ && family_table[m].type == FAMILY_HISTOGRAM;
}

/* Under the lock, or before anyone else knows m. */
static int set_bounds(struct metrics *m, const struct metrics_bounds *list, size_t n)
{
    struct bounds_generation *made[METRIC_COUNT_] = {NULL};
    wall_t now = clock_wall();
    int r = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_histogram(list[i].metric))
            return -EINVAL;
    }
    for (int i = 0; i < METRIC_COUNT_ && r == 0; i++) {
        if (!is_histogram((enum metric)i))
            continue;
        struct metrics_bounds wanted = wanted_bounds((enum metric)i, list, n);
        if (!is_same(atomic_load_explicit(&m->bounds[i], memory_order_relaxed), &wanted))
            made[i] = generation_new(&wanted, now, &r);
    }
    for (int i = 0; i < METRIC_COUNT_; i++) {
        if (!made[i])
            continue;
        if (r < 0) {
            generations_free(made[i]);
            continue;
        }
        made[i]->next = m->generations;
        m->generations = made[i];
        atomic_store_explicit(&m->bounds[i], made[i]->bounds, memory_order_release);
    }
    return r;
}

int metrics_set_bounds(struct metrics *m, const struct metrics_bounds *bounds, size_t n)
{
    pthread_mutex_lock(&m->lock);
    int r = set_bounds(m, bounds, n);
    pthread_mutex_unlock(&m->lock);
    return r;
}

void metrics_allow_models(struct metrics *m, const char *const *models, size_t n)
{
    for (size_t i = 0; i < n; i++)
        (void)label_set_intern(m->labels, LABEL_MODEL, models[i]); /* over the cap: counted */
}

int metrics_new(const struct metrics_config *config, struct metrics **ret)
{
    static const struct metrics_config defaults = {0};
    if (!config)
        config = &defaults;
    struct metrics *m = mem_zalloc(1, sizeof(*m));
    if (!m)
        return -ENOMEM;
    pthread_mutex_init(&m->lock, NULL);
    m->max_series = config->max_series > 0 ? config->max_series : LIMIT_SERIES;
    registry_init(m);
    uint32_t max_values =
        config->max_label_values > 0 ? config->max_label_values : LIMIT_LABEL_VALUES;
    int r = label_set_new(max_values, &m->labels);
    for (size_t i = 0; i < config->n_business && r == 0; i++)
        r = label_set_add(m->labels, config->business[i].name,
                          config->business[i].max_values > 0 ? config->business[i].max_values
                                                             : LIMIT_LABEL_VALUES);
    if (r == 0)
        r = set_bounds(m, config->bounds, config->n_bounds);
    if (r < 0) {
        metrics_free(m);
        return r;
    }
    metrics_allow_models(m, config->models, config->n_models);
    *ret = m;
    return 0;
}

static void shard_free(struct metrics_shard *shard)
{
    for (uint32_t i = 0; i < shard->n_slots; i++) {
        if (shard->sets[i])
            mem_free(shard->sets[i]->slos);
        mem_free(shard->sets[i]);
    }
    mem_free(shard->sets);
    mem_free(shard);
}

struct metrics *metrics_free(struct metrics *m)
{
    if (!m)
        return NULL;
    registry_done(m);
    while (m->shards) {
        struct metrics_shard *next = m->shards->next;
        shard_free(m->shards);
        m->shards = next;
    }
    generations_free(m->generations);
    label_set_free(m->labels);
    pthread_mutex_destroy(&m->lock);
    mem_free(m);
    return NULL;
}

uint32_t metrics_n_series(const struct metrics *m)
{
    return atomic_load_explicit(&m->n_series, memory_order_relaxed);
}
