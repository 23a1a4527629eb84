/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics/objective.c - the counts of objectives: one label set of requests may be in several SLOs,
 * so that its series are found by the SLO's label id.
 */
#include "base/mem.h"
#include "base/stat.h"
#include "metrics/registry.h"

uint32_t metrics_slo_id(struct metrics *m, const char *name)
{
    return label_set_intern(m->labels, LABEL_SLO, name);
}

static struct metrics_slo_slot *slot_get(struct metrics_series_set *set, uint32_t slo)
{
    if (slo >= set->n_slos) {
        struct metrics_slo_slot *bigger =
            mem_realloc(set->slos, ((size_t)slo + 1) * sizeof(*bigger));
        if (!bigger)
            return NULL;
        memset(bigger + set->n_slos, 0, (slo + 1 - set->n_slos) * sizeof(*bigger));
        set->slos = bigger;
        set->n_slos = slo + 1;
    }
    struct metrics_slo_slot *slot = &set->slos[slo];
    if (!slot->block) {
        struct label_ids ids = set->ids;
        ids.id[IDS_SLO] = slo;
        slot->block = registry_block(set->shard, SCOPE_SLO, &ids);
    }
    return slot->block ? slot : NULL;
}

static void bump(struct metrics_block *block, enum metric metric, int objective)
{
    struct metrics_series *s = series_of(block, metric, objective);
    if (s)
        atomic_store_explicit(&s->value, atomic_load_explicit(&s->value, memory_order_relaxed) + 1,
                              memory_order_relaxed);
}

/* Both at once: a total without its good ones would look like an outage. */
static void series_make(struct metrics_slo_slot *slot, unsigned judged)
{
    for (int o = 0; o < SLO_OBJECTIVE_COUNT_; o++) {
        if ((judged & ~slot->made) >> o & 1 && series_of(slot->block, METRIC_SLO_GOOD, o) &&
            series_of(slot->block, METRIC_SLO, o))
            slot->made |= 1u << o;
    }
}

void metrics_record_slo(struct metrics_series_set *set, uint32_t slo, unsigned judged,
                        const enum slo_verdict verdicts[SLO_OBJECTIVE_COUNT_])
{
    struct metrics_slo_slot *slot = LIKELY(set && slo < set->n_slos && set->slos[slo].block)
                                        ? &set->slos[slo]
                                    : set ? slot_get(set, slo)
                                          : NULL;
    if (!slot) {
        stat_inc(STAT_DROP_NO_MEMORY);
        return;
    }
    if (UNLIKELY(judged & ~slot->made))
        series_make(slot, judged);
    for (int o = 0; o < SLO_OBJECTIVE_COUNT_; o++) {
        if (verdicts[o] == SLO_NOT_ELIGIBLE || !(slot->made >> o & 1))
            continue;
        /* Good first: whoever reads in between sees one good too many rather than a bad one. */
        if (verdicts[o] == SLO_GOOD)
            bump(slot->block, METRIC_SLO_GOOD, o);
        bump(slot->block, METRIC_SLO, o);
    }
}
