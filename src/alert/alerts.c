/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/alerts.c - the door: birth, end, and what callers bring. What the thread does is in
 * alerts_work.c, what is kept in alerts_keep.c, lists in alerts_write.c.
 */
#include "alert/alerts.h"

#include <errno.h>
#include <stdio.h>

#include "alert/alerts_private.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/rng.h"

struct moment alerts_now(void)
{
    return (struct moment){clock_wall().us / 1000, clock_mono().ns / NS_PER_MS};
}

/* --- what transfers end with --- */

static void on_attempt(void *ctx, void *tag, const struct receiver_reply *reply)
{
    struct alerts *a = ctx;
    pthread_mutex_lock(&a->lock);
    delivery_ended(a->delivery, a->dispatch, tag, reply, alerts_now());
    pthread_mutex_unlock(&a->lock);
}

static void on_request(void *ctx, void *tag, const struct receiver_reply *reply)
{
    struct alerts *a = ctx;
    pthread_mutex_lock(&a->lock);
    alertmanagers_ended(a->managers, tag, reply, alerts_now());
    pthread_mutex_unlock(&a->lock);
}

/* --- birth --- */

static int init_locks(struct alerts *a)
{
    pthread_condattr_t attr;
    if (pthread_mutex_init(&a->lock, NULL) != 0)
        return -ENOMEM;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&a->ended, &attr);
    pthread_condattr_destroy(&attr);
    list_init(&a->inbox);
    list_init(&a->jobs);
    list_init(&a->work);
    alert_map_init(&a->evidence);
    return 0;
}

static int take_file(struct alert_file *given, struct alert_file **ret)
{
    if (!given)
        return alert_file_default(ret);
    *ret = alert_file_ref(given);
    return 0;
}

static int make_parts(struct alerts *a, const struct alerts_config *c)
{
    struct rng rng;
    rng_seed_random(&rng);
    a->external_url =
        mem_strndup(c->external_url.n > 0 ? c->external_url.p : "", c->external_url.n);
    int r = a->external_url ? take_file(c->file, &a->file) : -ENOMEM;
    if (r == 0)
        r = dispatch_new(a->file, c->external_url, &a->dispatch);
    if (r == 0)
        r = silences_new(&a->silences);
    if (r == 0)
        r = transport_new(&a->transport);
    if (r == 0)
        r = delivery_new(a->transport, on_attempt, a, rng_u64(&rng), &a->delivery);
    if (r == 0)
        r = alertmanagers_new(a->transport, on_request, a, rng_u64(&rng), &a->managers);
    if (r == 0)
        r = alertmanagers_configure(a->managers, c->alertmanagers, c->n_alertmanagers,
                                    c->external_labels);
    return r;
}

static int begin(struct alerts *a, const struct alerts_config *c, struct err *reterr)
{
    int r = make_parts(a, c);
    if (r < 0)
        return err_set(reterr, r, "could not set up the delivery of alerts: %s", err_str(r));
    a->evidence_config = (struct evidence_source){c->evidence, c->ctx};
    a->started_ms = alerts_now().wall_ms;
    a->clean_ms = alerts_now().mono_ms + CLEAN_MS;
    if (c->dir && !(a->dir = mem_strdup(c->dir)))
        return err_set(reterr, -ENOMEM, "out of memory");
    if (a->dir)
        r = alerts_restore(a, reterr);
    if (r == 0 && (r = process_start_thread(&a->thread, NULL, alerts_run, a)) < 0)
        err_set(reterr, r, "could not start the thread of delivery: %s", err_str(r));
    a->has_thread = r == 0;
    return r;
}

int alerts_new(const struct alerts_config *config, struct alerts **ret, struct err *reterr)
{
    struct alerts *a = mem_zalloc(1, sizeof(*a));
    int r = a ? init_locks(a) : -ENOMEM;
    if (r < 0) {
        mem_free(a);
        return err_set(reterr, r, "out of memory");
    }
    r = begin(a, config, reterr);
    if (r < 0)
        alerts_free(a);
    else
        *ret = a;
    return r;
}

static int free_evidence(void *ctx, struct alert_map_node *node)
{
    alerts_evidence_free(ctx, ALERT_MAP_ENTRY(node, struct evidence, node));
    return 0;
}

static void free_list(struct list *batches)
{
    while (!list_is_empty(batches))
        alerts_batch_free(CONTAINER_OF(batches->next, struct inbox_batch, node));
}

struct alerts *alerts_free(struct alerts *a)
{
    if (!a)
        return NULL;
    if (a->has_thread) {
        pthread_mutex_lock(&a->lock);
        a->must_stop = true;
        pthread_mutex_unlock(&a->lock);
        transport_wake(a->transport);
        pthread_join(a->thread, NULL);
    }
    a->transport = transport_free(a->transport); /* before what its requests belong to */
    a->delivery = delivery_free(a->delivery);
    a->managers = alertmanagers_free(a->managers);
    a->dispatch = dispatch_free(a->dispatch);
    a->silences = silences_free(a->silences);
    a->db = alertdb_close(a->db);
    free_list(&a->inbox);
    free_list(&a->work);
    while (!list_is_empty(&a->jobs))
        alerts_job_free(CONTAINER_OF(a->jobs.next, struct alerts_job, node));
    (void)alert_map_each(&a->evidence, free_evidence, a);
    alert_map_done(&a->evidence);
    alert_file_unref(a->file);
    mem_free(a->external_url);
    mem_free(a->dir);
    pthread_cond_destroy(&a->ended);
    pthread_mutex_destroy(&a->lock);
    mem_free(a);
    return NULL;
}

int alerts_configure(struct alerts *a, const struct alerts_config *c)
{
    struct alert_file *file;
    int r = take_file(c->file, &file);
    if (r < 0)
        return r;
    char *url = mem_strndup(c->external_url.n > 0 ? c->external_url.p : "", c->external_url.n);
    pthread_mutex_lock(&a->lock);
    r = url ? alertmanagers_configure(a->managers, c->alertmanagers, c->n_alertmanagers,
                                      c->external_labels)
            : -ENOMEM;
    if (r == 0)
        r = dispatch_set_url(a->dispatch, c->external_url);
    if (r == 0)
        r = dispatch_configure(a->dispatch, file);
    if (r == 0) {
        struct alert_file *old = a->file;
        a->file = file;
        file = old;
        char *old_url = a->external_url;
        a->external_url = url;
        url = old_url;
        delivery_configure(a->delivery, a->file);
        a->evidence_config = (struct evidence_source){c->evidence, c->ctx};
    }
    pthread_mutex_unlock(&a->lock);
    alert_file_unref(file);
    mem_free(url);
    transport_wake(a->transport);
    return r;
}

/* --- notices --- */

static int copy_notice(struct arena *a, const struct alert_notice *n, struct alert_notice *ret)
{
    *ret = *n;
    int r = labels_copy(a, n->labels, &ret->labels);
    if (r == 0)
        r = labels_copy(a, n->annotations, &ret->annotations);
    ret->expr = arena_dup(a, n->expr);
    ret->generator_url = arena_dup(a, n->generator_url);
    return r == 0 && (!ret->expr.p || !ret->generator_url.p) ? -ENOMEM : r;
}

static int make_batch(const struct alert_notice *notices, size_t n, struct inbox_batch **ret)
{
    struct inbox_batch *b = mem_zalloc(1, sizeof(*b));
    if (!b)
        return -ENOMEM;
    list_init(&b->node);
    arena_init(&b->arena, NULL);
    b->n = n;
    b->at = arena_array(&b->arena, n, sizeof(*b->at));
    int r = b->at ? 0 : -ENOMEM;
    for (size_t i = 0; i < n && r == 0; i++)
        r = copy_notice(&b->arena, &notices[i], &b->at[i]);
    if (r < 0) {
        alerts_batch_free(b);
        return r;
    }
    *ret = b;
    return 0;
}

int alerts_put(struct alerts *a, const struct alert_notice *notices, size_t n)
{
    struct inbox_batch *b;
    if (n == 0)
        return 0;
    int r = make_batch(notices, n, &b);
    if (r < 0)
        return r;
    pthread_mutex_lock(&a->lock);
    if (a->n_inbox + n > INBOX_NOTICES_MAX) {
        r = -ENOMEM;
    } else {
        alerts_keep_notices(a, notices, n);
        list_push_back(&a->inbox, &b->node);
        a->n_inbox += n;
    }
    pthread_mutex_unlock(&a->lock);
    if (r < 0)
        alerts_batch_free(b);
    transport_wake(a->transport);
    return r;
}

/* --- tests of receivers --- */

static int new_job(struct span receiver, struct alerts_job **ret)
{
    struct alerts_job *job = mem_alloc(sizeof(*job) + receiver.n + 1);
    if (!job)
        return -ENOMEM;
    *job = (struct alerts_job){0};
    list_init(&job->node);
    (void)span_copy(receiver, job->_text, receiver.n + 1);
    job->receiver = span_of(job->_text, receiver.n);
    buf_init(&job->text, 1 << 20);
    *ret = job;
    return 0;
}

static void wait_for(struct alerts *a, const struct alerts_job *job,
                     const struct alerts_patience *p)
{
    enum { LOOK_MS = 100 };
    mono_t now = clock_mono(), end = mono_add(now, p->timeout_ms * NS_PER_MS);
    while (!job->is_ended && mono_diff(end, now) > 0 && !(p->is_over && p->is_over(p->ctx))) {
        mono_t look = mono_add(now, LOOK_MS * NS_PER_MS);
        look = mono_diff(end, look) < 0 ? end : look;
        struct timespec until = {.tv_sec = look.ns / NS_PER_S, .tv_nsec = look.ns % NS_PER_S};
        (void)pthread_cond_timedwait(&a->ended, &a->lock, &until);
        now = clock_mono();
    }
}

static int job_result(const struct alerts_job *job, struct span receiver, struct buf *text,
                      struct err *reterr)
{
    int r = buf_append(text, buf_span(&job->text));
    if (r == 0)
        r = job->test.error;
    if (r < 0)
        return err_set(reterr, r, "could not test the receiver: %s", err_str(r));
    if (job->error < 0) {
        (void)err_set(reterr, job->error, "there is no receiver \"%.*s\"", SPAN_ARG(receiver));
        err_hint(reterr, "take the name of one in alerting.file; /api/v2/receivers lists them");
        return job->error;
    }
    if (!job->is_ended)
        return err_set(reterr, -ETIMEDOUT, "receiver \"%.*s\" did not answer in time",
                       SPAN_ARG(receiver));
    if (job->test.n_failed > 0)
        return err_set(reterr, -EREMOTEIO, "receiver \"%.*s\" did not take the test",
                       SPAN_ARG(receiver));
    return 0;
}

int alerts_test(struct alerts *a, struct span receiver, const struct alerts_patience *patience,
                struct buf *text, struct err *reterr)
{
    struct alerts_job *job;
    int r = new_job(receiver, &job);
    if (r < 0)
        return err_set(reterr, r, "out of memory");
    pthread_mutex_lock(&a->lock);
    list_push_back(&a->jobs, &job->node);
    transport_wake(a->transport);
    wait_for(a, job, patience);
    r = job_result(job, receiver, text, reterr);
    job->is_abandoned = true;
    if (job->is_ended)
        alerts_job_free(job);
    pthread_mutex_unlock(&a->lock);
    return r;
}

/* --- silences --- */

int alerts_silence(struct alerts *a, struct span json, char ret_id[SILENCE_ID_BYTES],
                   struct err *reterr)
{
    const struct silence *s;
    pthread_mutex_lock(&a->lock);
    int64_t now_ms = alerts_now().wall_ms;
    int r = silences_set(a->silences, json, now_ms, &s, reterr);
    if (r == 0) {
        (void)span_copy(span_cstr(s->id), ret_id, SILENCE_ID_BYTES);
        alerts_keep_silences(a, now_ms);
    }
    pthread_mutex_unlock(&a->lock);
    return r;
}

int alerts_expire_silence(struct alerts *a, struct span id)
{
    pthread_mutex_lock(&a->lock);
    int64_t now_ms = alerts_now().wall_ms;
    int r = silences_expire(a->silences, id, now_ms);
    if (r == 0)
        alerts_keep_silences(a, now_ms);
    pthread_mutex_unlock(&a->lock);
    transport_wake(a->transport); /* what it kept quiet may be due */
    return r;
}

void alerts_stats(struct alerts *a, struct alerts_stats *ret)
{
    struct delivery_stats d;
    pthread_mutex_lock(&a->lock);
    *ret = (struct alerts_stats){.n_silences = silences_n(a->silences)};
    dispatch_counts(a->dispatch, &ret->n_active, &ret->n_groups);
    delivery_stats(a->delivery, &d);
    pthread_mutex_unlock(&a->lock);
    ret->n_waiting = d.n_waiting;
    ret->n_delivered = d.n_delivered;
    ret->n_failed_attempts = d.n_failed_attempts;
    ret->n_given_up = d.n_given_up;
}
