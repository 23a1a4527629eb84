/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/upstreams.c - see upstreams.h.
 */
#include "daemon/upstreams.h"

#include "base/log.h"

_Static_assert((int)ADMISSION_CLASSES == (int)ADMISSION_METRIC_CLASS_COUNT_ &&
                   (int)ADMISSION_BATCH == (int)ADMISSION_METRIC_BATCH,
               "the metrics' classes are admission's");

int upstreams_init(struct upstreams *a, const struct gateway_config *c, struct metrics *metrics)
{
    int r = metrics_shard_new(metrics, &a->_shard);

    for (size_t i = 0; r == 0 && i < c->n_upstreams; i++) {
        struct metrics_request labels = {.upstream = c->upstreams[i].name};

        (void)span_copy(span_cstr(labels.upstream), a->_names[i], sizeof(a->_names[i]));

        r = admission_new(&a->admission[i]);
        a->_sets[i] = metrics_shard_resolve(a->_shard, &labels);
        if (r == 0)
            breaker_init(&a->breakers[i], 0);
        a->_n = i + (r == 0);
    }
    if (r < 0)
        return r;
    upstreams_limit(a, c);
    upstreams_look(a); /* all series exist from now on; without memory: counted, and none later */
    return 0;
}

void upstreams_done(struct upstreams *a)
{
    for (size_t i = 0; i < a->_n; i++) {
        a->admission[i] = admission_free(a->admission[i]);
        breaker_done(&a->breakers[i]);
    }
    a->_shard = metrics_shard_release(a->_shard);
    a->_n = 0;
}

void upstreams_limit(struct upstreams *a, const struct gateway_config *c)
{
    for (size_t i = 0; i < a->_n; i++)
        admission_set_limits(a->admission[i], &c->upstreams[i].limits, clock_mono());
}

struct upstreams_traffic upstreams_traffic(struct upstreams *a, size_t i)
{
    struct upstreams_traffic t = {0};
    struct admission_numbers n;

    admission_read(a->admission[i], &n);
    t.n_inflight = n.n_inflight;
    for (int c = 0; c < ADMISSION_CLASSES; c++) {
        t.n_inflight += n.classes[c].n_waiting;
        t.n_granted += n.classes[c].n_grants;
    }
    return t;
}

static void tell_admission(struct upstreams *a, size_t i)
{
    struct metrics_admission told;
    struct admission_numbers n;

    admission_read(a->admission[i], &n);
    told = (struct metrics_admission){.n_inflight = n.n_inflight,
                                      .tokens_inflight = (int64_t)n.tokens_inflight};
    for (int c = 0; c < ADMISSION_CLASSES; c++) {
        told.n_waiting[c] = n.classes[c].n_waiting;
        told.n_rejected[c][ADMISSION_METRIC_FULL] = (int64_t)n.classes[c].n_full;
        told.n_rejected[c][ADMISSION_METRIC_TIMEOUT] = (int64_t)n.classes[c].n_timeouts;
    }
    metrics_set_admission(a->_sets[i], &told);
}

/* An upstream that opens or closes is news for the operator. */
static void tell_breaker(struct upstreams *a, size_t i)
{
    struct breaker_snapshot s = breaker_read(&a->breakers[i], clock_mono());
    bool is_open = s.state != BREAKER_CLOSED;

    if (is_open && !a->_is_open[i])
        LOG_WARN("upstream \"%s\" fails: %u in a row, %u of %u in the last %d s; others are asked "
                 "first",
                 a->_names[i], s.n_failures_in_row, s.n_window_failed,
                 s.n_window_ok + s.n_window_failed, BREAKER_WINDOW_S);
    else if (!is_open && a->_is_open[i])
        LOG_INFO("upstream \"%s\" answers again", a->_names[i]);
    a->_is_open[i] = is_open;
    metrics_set_breaker(a->_sets[i], is_open, s.n_opened);
}

void upstreams_look(struct upstreams *a)
{
    for (size_t i = 0; i < a->_n; i++) {
        tell_admission(a, i);
        tell_breaker(a, i);
    }
}
