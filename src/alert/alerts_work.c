/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/alerts_work.c - the thread of delivery.
 *
 * A turn: notices go from the inbox to dispatch and to the Alertmanagers, with what was found out
 * about them; what is due is started; what changed is written; then it waits for the first of a
 * transfer, a timer, and somebody who calls. Between two turns nothing is on its way but transfers.
 */
#include <errno.h>

#include "alert/alerts_private.h"
#include "alert/fingerprint.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/stat.h"

enum {
    STOP_MS = 2000,
    /* For looking into alerts, of a turn: those that begin together by the thousand are delivered
     * without what takes longer, which comes with a later notice of theirs. */
    EVIDENCE_MS = 300,
};

/* --- evidence --- */

struct evidence *alerts_evidence(struct alerts *a, uint64_t fingerprint)
{
    struct alert_map_node *node = alert_map_first(&a->evidence, fingerprint);
    if (node)
        return ALERT_MAP_ENTRY(node, struct evidence, node);
    struct evidence *e = mem_zalloc(1, sizeof(*e));
    if (!e)
        return NULL;
    arena_init(&e->arena, NULL);
    alert_map_add(&a->evidence, &e->node, fingerprint);
    return e;
}

void alerts_evidence_free(struct alerts *a, struct evidence *e)
{
    alert_map_remove(&a->evidence, &e->node);
    arena_done(&e->arena);
    mem_free(e);
}

int alerts_join(struct arena *a, struct labels annotations, struct labels evidence,
                struct labels *ret)
{
    struct label *at = arena_array(a, annotations.n + evidence.n, sizeof(*at));
    size_t n = 0;
    if (!at)
        return -ENOMEM;
    for (size_t i = 0; i < annotations.n; i++)
        at[n++] = annotations.at[i];
    for (size_t i = 0; i < evidence.n; i++)
        if (labels_get(annotations, evidence.at[i].name).n == 0)
            at[n++] = evidence.at[i];
    return labels_normalise(at, n, ret, NULL);
}

/* Asks for evidence when an alert begins to fire, without the lock; again with the next notice
 * where it could not be told, or there was no time. */
static int look_into(struct alerts *a, const struct alert_notice *n, struct evidence *e,
                     bool *ret_is_new)
{
    struct labels found = {0};
    struct arena arena;
    if (n->is_resolved) {
        e->is_known = false; /* what is known of this time stays until it fires again */
        return 0;
    }
    if (e->is_known || !a->evidence_now.find || mono_diff(a->evidence_until, clock_mono()) <= 0)
        return 0;
    arena_init(&arena, NULL);
    int r = a->evidence_now.find(a->evidence_now.ctx, n, &arena, &found);
    if (r == 0) {
        arena_reset(&e->arena);
        e->labels = (struct labels){0};
        r = labels_copy(&e->arena, found, &e->labels);
        *ret_is_new = e->is_known = r == 0;
    }
    arena_done(&arena);
    return r == -ENOMEM ? r : 0;
}

/* --- notices --- */

void alerts_batch_free(struct inbox_batch *b)
{
    list_remove(&b->node);
    arena_done(&b->arena);
    mem_free(b);
}

static int hand_on(struct alerts *a, const struct alert_notice *notice, const struct evidence *e,
                   bool is_new)
{
    struct alert_notice n = *notice;
    struct arena arena;
    arena_init(&arena, NULL);
    int r = alerts_join(&arena, notice->annotations, e->labels, &n.annotations);
    pthread_mutex_lock(&a->lock);
    if (r == 0)
        r = dispatch_put(a->dispatch, &n, alerts_now().wall_ms);
    if (r == 0 && is_new)
        alerts_keep_evidence(a, e->node.hash, e->labels);
    if (r == 0)
        r = alertmanagers_put(a->managers, &n, n.annotations);
    pthread_mutex_unlock(&a->lock);
    arena_done(&arena);
    return r;
}

static int work_batch(struct alerts *a, struct inbox_batch *b)
{
    for (; b->n_done < b->n; b->n_done++) {
        const struct alert_notice *n = &b->at[b->n_done];
        struct evidence *e = alerts_evidence(a, alert_fingerprint(n->labels));
        bool is_new = false;
        int r = e ? look_into(a, n, e, &is_new) : -ENOMEM;
        if (r == 0)
            r = hand_on(a, n, e, is_new);
        if (r < 0)
            return r;
    }
    return 0;
}

/* -ENOMEM: the rest stays for the next turn. */
static int work_inbox(struct alerts *a, int64_t evidence_ms)
{
    int r = 0;
    a->evidence_until = mono_add(clock_mono(), evidence_ms * NS_PER_MS);
    pthread_mutex_lock(&a->lock);
    while (!list_is_empty(&a->inbox)) {
        struct list *node = a->inbox.next;
        list_remove(node);
        list_push_back(&a->work, node);
    }
    a->n_inbox = 0;
    a->evidence_now = a->evidence_config;
    pthread_mutex_unlock(&a->lock);
    while (!list_is_empty(&a->work) && r == 0) {
        struct inbox_batch *b = CONTAINER_OF(a->work.next, struct inbox_batch, node);
        r = work_batch(a, b);
        if (r == 0)
            alerts_batch_free(b);
    }
    return r;
}

/* --- tests --- */

static void on_test_ended(void *ctx, struct delivery_test *t)
{
    struct alerts *a = ctx;
    struct alerts_job *job = CONTAINER_OF(t, struct alerts_job, test);
    job->is_ended = true;
    pthread_cond_broadcast(&a->ended);
}

static void start_job(struct alerts *a, struct alerts_job *job, struct moment now)
{
    static const struct label labels[] = {
        {SPAN_INIT("alertname"), SPAN_INIT("InferometerTest")},
        {SPAN_INIT("tier"), SPAN_INIT("test")},
    };
    static const struct label annotations[] = {
        {SPAN_INIT("description"),
         SPAN_INIT(
             "This is a test of the receiver. Nothing is wrong, and nothing has to be done.")},
        {SPAN_INIT("summary"), SPAN_INIT("Test of the receiver")},
    };
    const struct labels all = {labels, ARRAY_LEN(labels)}, name = {labels, 1};
    const struct alert_view alert = {.labels = all,
                                     .annotations = {annotations, ARRAY_LEN(annotations)},
                                     .starts_ms = now.wall_ms,
                                     .fingerprint = alert_fingerprint(all),
                                     .value = 1};
    const struct alert_message m = {.receiver = job->receiver,
                                    .group_key = SPAN_INIT("{}:{alertname=\"InferometerTest\"}"),
                                    .external_url = span_cstr(a->external_url),
                                    .group_labels = name,
                                    .common_labels = all,
                                    .common_annotations = alert.annotations,
                                    .alerts = &alert,
                                    .n = 1,
                                    .n_firing = 1,
                                    .reason = SPAN_INIT("test")};
    const struct alert_receiver *r = alert_file_receiver(a->file, job->receiver);
    job->is_started = true;
    job->test.text = &job->text;
    job->test.ended = on_test_ended;
    job->test.ctx = a;
    job->error = r ? 0 : -ENOENT;
    if (r)
        delivery_test(a->delivery, r, a->file, &m, &job->test, now);
    else
        on_test_ended(a, &job->test);
}

void alerts_job_free(struct alerts_job *job)
{
    list_remove(&job->node);
    buf_done(&job->text);
    mem_free(job);
}

static void work_jobs(struct alerts *a, struct moment now)
{
    for (struct list *i = a->jobs.next, *next; i != &a->jobs; i = next) {
        struct alerts_job *job = CONTAINER_OF(i, struct alerts_job, node);
        next = i->next;
        if (!job->is_started && !a->must_stop)
            start_job(a, job, now);
        if (job->is_ended && job->is_abandoned)
            alerts_job_free(job);
    }
}

/* --- turns --- */

static int64_t until(int64_t at, int64_t now, int64_t most)
{
    return at <= now ? 0 : at - now < most ? at - now : most;
}

static void tell_stats(struct alerts *a)
{
    struct delivery_stats stats;
    size_t n_alerts, n_groups;
    delivery_stats(a->delivery, &stats);
    dispatch_counts(a->dispatch, &n_alerts, &n_groups);
    stat_set(STAT_ALERT_WAITING, (int64_t)stats.n_waiting);
    stat_set(STAT_ALERT_ACTIVE, (int64_t)n_alerts);
}

/* Starts what is due; returns for how long nothing else has to be done. */
static int64_t work(struct alerts *a, int inbox_error)
{
    struct moment now = alerts_now();
    enum { LEAST_WAIT_MS = 2 }; /* whatever a timer says: no turns for nothing */
    int64_t wait = TURN_MS;
    pthread_mutex_lock(&a->lock);
    work_jobs(a, now);
    int r = a->must_stop ? 0 : delivery_run(a->delivery, a->dispatch, a->silences, now);
    if (!a->must_stop)
        alertmanagers_run(a->managers, now);
    if (now.mono_ms >= a->clean_ms) {
        a->clean_ms = now.mono_ms + CLEAN_MS;
        alerts_clean(a, now);
    }
    alerts_keep_changes(a, now, a->must_stop);
    tell_stats(a);
    if (r == 0 && inbox_error == 0 && !a->must_stop) {
        wait = until(dispatch_next_ms(a->dispatch), now.wall_ms, wait);
        wait = until(delivery_next_ms(a->delivery), now.mono_ms, wait);
        wait = until(alertmanagers_next_ms(a->managers), now.mono_ms, wait);
    }
    pthread_mutex_unlock(&a->lock);
    return wait < LEAST_WAIT_MS ? LEAST_WAIT_MS : wait;
}

static bool must_stop(struct alerts *a)
{
    pthread_mutex_lock(&a->lock);
    bool r = a->must_stop;
    pthread_mutex_unlock(&a->lock);
    return r;
}

void *alerts_run(void *ctx)
{
    struct alerts *a = ctx;
    process_name_thread("alerts");
    while (!must_stop(a)) {
        int r = work_inbox(a, EVIDENCE_MS);
        transport_turn(a->transport, work(a, r));
    }
    (void)work_inbox(a, 0); /* what has no memory is in alerts.db */
    mono_t end = mono_add(clock_mono(), STOP_MS * NS_PER_MS);
    while (transport_n(a->transport) > 0 && mono_diff(end, clock_mono()) > 0)
        transport_turn(a->transport, 50);
    (void)work(a, 0);
    return NULL;
}
