/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/admissions.c - see admissions.h.
 */
#include "daemon/admissions.h"

_Static_assert((int)ADMISSION_CLASSES == (int)ADMISSION_METRIC_CLASS_COUNT_ &&
                   (int)ADMISSION_BATCH == (int)ADMISSION_METRIC_BATCH,
               "the metrics' classes are admission's");

int admissions_init(struct admissions *a, const struct gateway_config *c, struct metrics *metrics)
{
    int r = metrics_shard_new(metrics, &a->_shard);

    for (size_t i = 0; r == 0 && i < c->n_upstreams; i++) {
        struct metrics_request labels = {.upstream = c->upstreams[i].name};

        r = admission_new(&a->of[i]);
        a->_sets[i] = metrics_shard_resolve(a->_shard, &labels);
        a->_n = i + (r == 0);
    }
    if (r < 0)
        return r;
    admissions_limit(a, c);
    admissions_look(a); /* all series exist from now on; without memory: counted, and none later */
    return 0;
}

void admissions_done(struct admissions *a)
{
    for (size_t i = 0; i < a->_n; i++)
        a->of[i] = admission_free(a->of[i]);
    a->_shard = metrics_shard_release(a->_shard);
    a->_n = 0;
}

void admissions_limit(struct admissions *a, const struct gateway_config *c)
{
    for (size_t i = 0; i < a->_n; i++)
        admission_set_limits(a->of[i], &c->upstreams[i].limits, clock_mono());
}

void admissions_look(struct admissions *a)
{
    for (size_t i = 0; i < a->_n; i++) {
        struct metrics_admission told;
        struct admission_numbers n;

        admission_read(a->of[i], &n);
        told = (struct metrics_admission){.n_inflight = n.n_inflight,
                                          .tokens_inflight = (int64_t)n.tokens_inflight};
        for (int c = 0; c < ADMISSION_CLASSES; c++) {
            told.n_waiting[c] = n.classes[c].n_waiting;
            told.n_rejected[c][ADMISSION_METRIC_FULL] = (int64_t)n.classes[c].n_full;
            told.n_rejected[c][ADMISSION_METRIC_TIMEOUT] = (int64_t)n.classes[c].n_timeouts;
        }
        metrics_set_admission(a->_sets[i], &told);
    }
}
