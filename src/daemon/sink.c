/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/sink.h"

#include <errno.h>

#include "base/stat.h"

_Static_assert((int)TAP_LABELS_MAX == (int)FAMILY_BUSINESS_MAX,
               "metrics reads as many as observe keeps");

static struct live_labels labels_of(const struct sink_labels *l)
{
    return (struct live_labels){.model = l->model,
                                .endpoint = l->endpoint,
                                .upstream = l->upstream,
                                .version = l->version,
                                .business = l->business,
                                .request_id = l->request_id,
                                .upstream_status = l->upstream_status,
                                .is_stream = l->is_stream,
                                .is_generating = l->is_generating};
}

static void on_started(void *sink, struct sink_labels *l)
{
    struct sink *s = sink;
    struct live_labels labels = labels_of(l);

    l->slot = live_started(s->_live, &labels);
}

static void on_admitted(void *sink, struct sink_labels *l, int64_t queue_ns)
{
    struct live_labels labels = labels_of(l);

    (void)sink;
    live_admitted(l->slot, &labels, queue_ns);
}

static void on_retried(void *sink, struct sink_labels *l)
{
    struct live_labels labels = labels_of(l);

    (void)sink;
    live_retried(l->slot, &labels);
}

static void on_runaway(void *sink, struct sink_labels *l)
{
    struct live_labels labels = labels_of(l);

    (void)sink;
    live_runaway(l->slot, &labels);
}

static void on_first_token(void *sink, struct sink_labels *l, int64_t ttft_ns)
{
    struct live_labels labels = labels_of(l);

    (void)sink;
    live_first_token(l->slot, &labels, ttft_ns);
}

static void on_first_answer(void *sink, struct sink_labels *l, int64_t ttfa_ns)
{
    struct live_labels labels = labels_of(l);

    (void)sink;
    live_first_answer(l->slot, &labels, ttfa_ns);
}

static void on_gap(void *sink, struct sink_labels *l, int64_t icl_ns)
{
    struct live_labels labels = labels_of(l);

    (void)sink;
    live_gap(l->slot, &labels, icl_ns);
}

static void on_event_overhead(void *sink, struct sink_labels *l, int64_t overhead_ns)
{
    struct sink *s = sink;

    (void)l;
    metrics_record_event_overhead(s->_shard, overhead_ns);
}

static void on_itl(void *sink, struct sink_labels *l, int64_t itl_ns, uint64_t n_tokens)
{
    struct live_labels labels = labels_of(l);

    (void)sink;
    live_itl(l->slot, &labels, itl_ns, n_tokens);
}

static void judge(struct sink *s, struct metrics_series_set *set, const struct live_labels *labels,
                  const struct record *r)
{
    enum slo_verdict verdicts[SLO_OBJECTIVE_COUNT_];

    for (size_t i = 0; s->_slos && i < s->_slos->n; i++) {
        const struct slo *slo = &s->_slos->items[i];

        if (!slo_is_for(slo, r, labels->model))
            continue;
        slo_judge(slo, r, verdicts);
        metrics_record_slo(set, s->_slo_ids[i], s->_judged[i], verdicts);
    }
}

static void on_done(void *sink, struct sink_labels *l, const struct record *r, bool was_started)
{
    struct sink *s = sink;
    struct live_labels labels = labels_of(l);

    judge(s, live_finished(s->_live, was_started ? l->slot : NULL, &labels, r), &labels, r);
    l->slot = NULL;
    stat_inc(STAT_RECORDS_MADE);
    if (r->flags & RECORD_BUFFERED_HOP)
        hops_tell(s->_hops, r->upstream, r->buffer_bytes);
    if (s->_log)
        jsonlog_push(s->_log, r);
}

const struct sink_ops sink_to_metrics_and_log = {
    .started = on_started,
    .admitted = on_admitted,
    .retried = on_retried,
    .runaway = on_runaway,
    .first_token = on_first_token,
    .first_answer = on_first_answer,
    .gap = on_gap,
    .event_overhead = on_event_overhead,
    .itl = on_itl,
    .done = on_done,
};

int sink_init(struct sink *s, struct metrics *metrics, struct jsonlog *log, struct hops *hops)
{
    int r;

    *s = (struct sink){._log = log, ._hops = hops, ._metrics = metrics};
    r = metrics_shard_new(metrics, &s->_shard);
    if (r == 0)
        r = live_pool_new(s->_shard, &s->_live);
    if (r < 0)
        sink_done(s);
    return r;
}

void sink_judge_by(struct sink *s, struct slo_set *slos)
{
    slo_set_ref(slos);
    slo_set_unref(s->_slos);
    s->_slos = slos;
    for (size_t i = 0; slos && i < slos->n; i++) {
        s->_slo_ids[i] = metrics_slo_id(s->_metrics, slos->items[i].name);
        s->_judged[i] = slo_judged(&slos->items[i]);
    }
}

void sink_done(struct sink *s)
{
    s->_slos = slo_set_unref(s->_slos);
    s->_live = live_pool_free(s->_live);
    s->_shard = s->_shard ? metrics_shard_release(s->_shard) : NULL;
}
