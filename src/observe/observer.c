/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe/observer.c - one per worker: birth, death, and what is open right now for another thread.
 *
 * The rows of what is open are copied under the lock and visited without it: writing JSON for ten
 * thousand rows must not stop the worker that wants to begin its next exchange.
 */
#include <errno.h>

#include "base/check.h"
#include "base/mem.h"
#include "observe/exchange.h"

int observer_new(const struct observer_config *config, const struct sink_ops *ops, void *sink,
                 struct observer **ret)
{
    struct observer *o = mem_zalloc(1, sizeof(*o));
    if (!o)
        return -ENOMEM;
    o->config = *config;
    o->ops = ops;
    o->sink = sink;
    list_init(&o->spare);
    list_init(&o->open);
    if (pthread_mutex_init(&o->lock, NULL) != 0) {
        mem_free(o);
        return -ENOMEM;
    }
    *ret = o;
    return 0;
}

void observer_reload(struct observer *o, const struct observer_config *config)
{
    o->config = *config;
}

struct observer *observer_free(struct observer *o)
{
    if (!o)
        return NULL;
    ASSERT(list_is_empty(&o->open)); /* every exchange has ended */
    while (!list_is_empty(&o->spare)) {
        struct tap *t = CONTAINER_OF(o->spare.next, struct tap, link);
        list_remove(&t->link);
        mem_free(t);
    }
    slow_done(&o->slow);
    (void)pthread_mutex_destroy(&o->lock); /* not locked: nothing can fail */
    mem_free(o);
    return NULL;
}

/* --- in flight --- */

static void copy_row(struct tap *t, struct observe_inflight *row)
{
    *row = (struct observe_inflight){
        .endpoint = t->labels.endpoint,
        .is_stream = t->is_stream_asked,
    };
    (void)span_copy(span_cstr(t->rec.request_id), row->request_id, sizeof(row->request_id));
    (void)span_copy(span_cstr(t->rec.model_requested), row->model, sizeof(row->model));
    (void)span_copy(span_cstr(t->rec.upstream), row->upstream, sizeof(row->upstream));
    row->t_accept = t->rec.t_accept;
    row->t_first_token.ns = atomic_load_explicit(&t->shown_first_token_ns, memory_order_relaxed);
    row->t_last_token.ns = atomic_load_explicit(&t->shown_last_token_ns, memory_order_relaxed);
    row->t_stalled.ns = atomic_load_explicit(&t->shown_stalled_since_ns, memory_order_relaxed);
    row->n_output_events = atomic_load_explicit(&t->shown_n_output_events, memory_order_relaxed);
}

/* Copies up to n rows; returns how many exchanges were open. */
static size_t copy_rows(struct observer *o, struct observe_inflight *rows, size_t n)
{
    size_t i = 0;
    observer_lock(o);
    for (struct list *l = o->open.next; l != &o->open && i < n; l = l->next)
        copy_row(CONTAINER_OF(l, struct tap, link), &rows[i++]);
    size_t n_open = o->n_open;
    observer_unlock(o);
    return n_open;
}

void observer_each_inflight(struct observer *o,
                            void (*visit)(void *ctx, const struct observe_inflight *f), void *ctx)
{
    enum { SLACK = 16 }; /* exchanges that may begin between counting and copying */
    size_t n = copy_rows(o, NULL, 0) + SLACK;
    struct observe_inflight *rows = mem_zalloc(n, sizeof(*rows));
    if (!rows)
        return; /* a display; the next look will tell */
    size_t n_open = copy_rows(o, rows, n);
    for (size_t i = 0; i < n && i < n_open; i++)
        visit(ctx, &rows[i]);
    mem_free(rows);
}
