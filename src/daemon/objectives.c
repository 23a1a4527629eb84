/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/objectives.h"

/* The names that the match has for a label, and how many; beginnings are no names. */
static size_t names_of(const struct slo *s, enum slo_label label, const char *ret[])
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_matches; i++) {
        const struct slo_match *m = &s->matches[i];

        for (size_t k = 0; m->label == label && k < m->n_values; k++) {
            if (!strchr(m->values[k], '*'))
                ret[n++] = m->values[k];
        }
    }
    return n;
}

static void announce(struct metrics_shard *shard, uint32_t id, const struct slo *s,
                     const char *model, const char *upstream)
{
    static const enum slo_verdict nothing[SLO_OBJECTIVE_COUNT_];
    struct metrics_request request = {
        .model = model, .upstream = upstream, .is_model_proven = model != NULL};

    metrics_record_slo(metrics_shard_resolve(shard, &request), id, slo_judged(s), nothing);
}

static void announce_all(struct metrics_shard *shard, uint32_t id, const struct slo *s,
                         const struct config *c)
{
    const char *models[SLO_VALUES_MAX], *upstreams[SLO_VALUES_MAX];
    size_t n_models = names_of(s, SLO_LABEL_MODEL, models);
    size_t n_upstreams = names_of(s, SLO_LABEL_UPSTREAM, upstreams);

    if (n_upstreams == 0 && c->upstreams.n == 1)
        upstreams[n_upstreams++] = c->upstreams.items[0].name;
    for (size_t i = 0; i < n_models; i++) {
        for (size_t k = 0; k < n_upstreams; k++)
            announce(shard, id, s, models[i], upstreams[k]);
    }
    announce(shard, id, s, NULL, NULL);
}

void objectives_announce(struct metrics *m, const struct config *c)
{
    struct metrics_shard *shard;

    if (c->slo_set->n == 0 || metrics_shard_new(m, &shard) < 0)
        return;
    for (size_t i = 0; i < c->slo_set->n; i++) {
        const struct slo *s = &c->slo_set->items[i];

        announce_all(shard, metrics_slo_id(m, s->name), s, c);
    }
    metrics_shard_release(shard);
}
