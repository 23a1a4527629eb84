/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/collector_scrape.c - targets scraped when they are due.
 */
#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "collect/collector_private.h"
#include "collect/schedule.h"

void collector_scrape_set_due(struct slot *s)
{
    const struct target *t = s->next ? s->next : s->target;

    s->due = schedule_first(clock_mono(), collector_wall_ms(), target_interval_ms(t),
                            target_offset_ms(t));
}

/* --- answers --- */

/* Behind a request: the target that waits for its place. */
static void take_next(struct slot *s)
{
    if (!s->next)
        return;
    target_take(s->next, s->target);
    s->target = target_free(s->target);
    s->file = scrape_file_unref(s->file);
    s->target = s->next;
    s->file = s->next_file;
    s->next = NULL;
    s->next_file = NULL;
}

static void lost(const struct slot *s, int r)
{
    LOG_WARN("what \"%.*s\" answered is lost: %s", SPAN_ARG(target_url(s->target)), err_str(r));
}

static void on_done(void *ctx, void *tag, const struct web_reply *reply)
{
    struct collector *c = ctx;
    struct slot *s = tag;
    struct batch *b = NULL;
    int r = batch_new(&b);

    pthread_mutex_lock(&c->lock);
    s->is_busy = false;
    if (r == 0 && s->pool)
        r = target_reply(s->target, reply, s->t_ms, b);
    if (r < 0)
        lost(s, r);
    take_next(s);
    pthread_mutex_unlock(&c->lock);
    collector_give(c, b);
}

/* --- requests --- */

static void fail(struct collector *c, struct slot *s, const char *fault, const char *words)
{
    struct batch *b = NULL;
    int r = batch_new(&b);

    if (r == 0)
        r = target_fail(s->target, fault, words, s->t_ms, b);
    if (r < 0)
        lost(s, r);
    pthread_mutex_unlock(&c->lock);
    collector_give(c, b);
    pthread_mutex_lock(&c->lock);
}

/* Under the lock, but for what may wait. */
static void start(struct collector *c, struct slot *s)
{
    struct err err = {.text = ""};

    s->is_wanted = false;
    s->t_ms = collector_wall_ms();
    if (s->pool->is_over_limit) {
        fail(c, s, "limit", "the job has more targets than its target_limit");
        return;
    }
    pthread_mutex_unlock(&c->lock); /* files of credentials may be slow */
    int r = target_request(s->target, &s->request, &err);
    pthread_mutex_lock(&c->lock);
    if (r < 0) {
        fail(c, s, "credentials", err.text[0] ? err.text : err_str(r));
        return;
    }
    r = web_start(c->web, &s->request, on_done, c, s);
    if (r < 0)
        fail(c, s, "request",
             r == -EINVAL ? "this cannot be requested: look at its URL" : err_str(r));
    else
        s->is_busy = true;
}

void collector_scrape_due(struct collector *c, mono_t now)
{
    for (size_t i = 0; i < c->n_slots; i++) {
        struct slot *s = c->slots[i];
        bool is_due = s->due.ns <= now.ns;
        if (!s->pool)
            continue;
        if (is_due)
            s->due = schedule_next(s->due, now, target_wait_ms(s->target));
        if ((is_due || s->is_wanted) && !s->is_busy)
            start(c, s);
    }
}

mono_t collector_scrape_next_due(const struct collector *c)
{
    mono_t first = MONO_NONE;

    for (size_t i = 0; i < c->n_slots; i++)
        if (c->slots[i]->pool && (!mono_is_set(first) || c->slots[i]->due.ns < first.ns))
            first = c->slots[i]->due;
    return first;
}

/* --- ends --- */

/* Those that have no job any more, and no request under way. */
void collector_scrape_end_gone(struct collector *c)
{
    struct batch *b = NULL;
    size_t n = 0;

    for (size_t i = 0; i < c->n_slots; i++) {
        struct slot *s = c->slots[i];
        if (s->pool || s->is_busy) {
            c->slots[n++] = s;
            continue;
        }
        int r = b ? 0 : batch_new(&b);
        if (r == 0)
            r = target_end(s->target, collector_wall_ms(), b);
        if (r < 0)
            lost(s, r);
        collector_slot_free(c, s);
    }
    c->n_slots = n;
    pthread_mutex_unlock(&c->lock);
    collector_give(c, b);
    pthread_mutex_lock(&c->lock);
}
