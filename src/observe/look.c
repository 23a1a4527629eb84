/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe/look.c - what is silent right now, looked for about once a second.
 *
 * Why a look and no timers: a timer per stream would have to be moved with every token. A look over
 * 5,000 streams reads 64 bytes of each, and more only of those that are late.
 *
 * Threads: the worker's; it alone changes the list of what is open, so that walking it takes no
 * lock. What other threads ask for is published under the lock, once per look.
 */
#include <string.h>

#include "observe/exchange.h"

void look_remember(struct tap *t)
{
    mono_t *heard = &t->observer->heard[t->upstream];
    mono_t last = {atomic_load_explicit(&t->shown_last_token_ns, memory_order_relaxed)};
    *heard = mono_max(*heard, mono_max(last, t->t_body));
}

void look_clear(struct tap *t)
{
    if (atomic_load_explicit(&t->shown_stalled_since_ns, memory_order_relaxed) == 0)
        return;
    atomic_store_explicit(&t->shown_stalled_since_ns, 0, memory_order_relaxed);
    stat_add(STAT_STREAMS_STALLED, -1);
}

/* By the first 64 bytes only: it has output, waits for more, and none came for a second. */
static bool is_late(const struct tap *t, mono_t now)
{
    int64_t last_ns = atomic_load_explicit(&t->shown_last_token_ns, memory_order_relaxed);
    return last_ns != 0 && mono_is_set(t->t_awaited) && !t->is_paused &&
           now.ns - last_ns > TIMING_STALL_MIN_NS;
}

mono_t look_stalled_since(const struct tap *t, mono_t now)
{
    if (!is_late(t, now) || !t->is_started || !t->labels.is_generating || t->is_timing_off)
        return MONO_NONE;
    /* The time of a pause is the client's; it is over, else the stream would not be late. */
    mono_t since = mono_max(mono_max(t->timing.t_last_token, t->t_unread), t->pause_to);
    return mono_diff(now, since) > timing_stall_after_ns(&t->timing) ? since : MONO_NONE;
}

/* A late one: the gauge and what is shown; returns since when it is stalled. */
static mono_t note_stall(struct tap *t, mono_t now)
{
    int64_t shown_ns = atomic_load_explicit(&t->shown_stalled_since_ns, memory_order_relaxed);
    if (shown_ns != 0 && shown_ns >= mono_max(t->timing.t_last_token, t->t_unread).ns)
        return (mono_t){shown_ns}; /* as at the last look: nothing has come since */
    mono_t since = look_stalled_since(t, now);
    if (!mono_is_set(since)) {
        look_clear(t);
        return since;
    }
    if (shown_ns == 0)
        stat_add(STAT_STREAMS_STALLED, 1);
    atomic_store_explicit(&t->shown_stalled_since_ns, since.ns, memory_order_relaxed);
    return since;
}

static void count_waiting(const struct tap *t, struct observe_waiting *waiting)
{
    struct observe_waiting *w = &waiting[t->upstream];
    if (!mono_is_set(t->t_awaited) || t->is_paused)
        return;
    w->n++;
    w->n_streams += t->is_stream_asked;
    if (!mono_is_set(w->t_oldest) || t->t_awaited.ns < w->t_oldest.ns)
        w->t_oldest = t->t_awaited;
}

/* What found is to be told of t, if anything. */
static bool judge(struct tap *t, mono_t now, enum look_finding *ret_what, int64_t *ret_silent_ns)
{
    mono_t since = MONO_NONE;
    bool has_run_away = runaway_is(t, now);
    if (has_run_away)
        runaway_note(t);
    if (is_late(t, now))
        since = note_stall(t, now);
    else
        look_clear(t);
    *ret_what = has_run_away ? LOOK_RUNAWAY : LOOK_STALLED;
    *ret_silent_ns = mono_is_set(since) ? mono_diff(now, since) : 0;
    return has_run_away || mono_is_set(since);
}

void look_around(struct observer *o, mono_t now, look_found *found, void *ctx)
{
    struct observe_waiting waiting[TAP_UPSTREAMS_MAX] = {0};
    struct list *next;
    for (struct list *l = o->open.next; l != &o->open; l = next) {
        struct tap *t = CONTAINER_OF(l, struct tap, link);
        next = l->next; /* t may be gone after the call below */
        count_waiting(t, waiting);
        look_remember(t);
        enum look_finding what;
        int64_t silent_ns;
        if (judge(t, now, &what, &silent_ns) && found)
            found(ctx, t->exchange, what, silent_ns);
    }
    for (size_t i = 0; i < TAP_UPSTREAMS_MAX; i++) {
        waiting[i].t_look = now;
        waiting[i].t_heard = o->heard[i];
    }
    observer_lock(o);
    memcpy(o->waiting, waiting, sizeof(o->waiting));
    observer_unlock(o);
}

void look_waiting(struct observer *o, struct observe_waiting *ret, size_t n)
{
    observer_lock(o);
    memcpy(ret, o->waiting, n * sizeof(*ret));
    observer_unlock(o);
}
