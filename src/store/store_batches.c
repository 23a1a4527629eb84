/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/store_batches.c - samples of rules and scrapes, from their thread to the series.
 */
#include <errno.h>

#include "base/stat.h"
#include "store/store_private.h"

int store_write(struct store *s, struct batch *b, uint64_t *ret_number)
{
    size_t n_bytes = batch_bytes(b);
    pthread_mutex_lock(&s->lock);
    bool is_full = s->n_batch_bytes > 0 && s->n_batch_bytes + n_bytes > STORE_BATCH_BYTES;
    if (!is_full) {
        b->next = NULL;
        b->number = ++s->n_batches;
        *ret_number = b->number;
        *s->last_batch = b;
        s->last_batch = &b->next;
        s->n_batch_bytes += n_bytes;
    }
    pthread_mutex_unlock(&s->lock);
    if (is_full)
        return -ENOBUFS;
    store_ring(s);
    return 0;
}

uint64_t store_written(struct store *s)
{
    return atomic_load_explicit(&s->n_written, memory_order_acquire);
}

static struct batch *take_all(struct store *s)
{
    pthread_mutex_lock(&s->lock);
    struct batch *first = s->first_batch;
    s->first_batch = NULL;
    s->last_batch = &s->first_batch;
    s->n_batch_bytes = 0;
    pthread_mutex_unlock(&s->lock);
    return first;
}

static int append(struct tsdb *t, const struct batch_sample *sample)
{
    uint32_t id;
    int r = tsdb_series(t, sample->labels, sample->h ? TSDB_HISTOGRAM : TSDB_UNKNOWN, &id);
    if (r == 0 && sample->h)
        r = tsdb_append_hist(t, id, sample->t_ms, sample->h);
    else if (r == 0)
        r = tsdb_append(t, id, sample->t_ms, sample->v);
    return r;
}

int store_take_batches(struct store *s)
{
    struct batch *next;
    struct batch *b = take_all(s);
    if (!b)
        return 0;
    for (; b; b = next) {
        size_t n_lost = 0;
        for (size_t i = 0; i < b->n; i++)
            n_lost += append(s->series, &b->at[i]) < 0;
        stat_add(STAT_STORE_SAMPLES, (int64_t)(b->n - n_lost));
        stat_add(STAT_DROP_STORE_SAMPLES, (int64_t)n_lost);
        atomic_store_explicit(&s->n_written, b->number, memory_order_release);
        next = b->next;
        batch_free(b);
    }
    int r = tsdb_commit(s->series);
    return r < 0 ? r : 1;
}

void store_drop_batches(struct store *s)
{
    struct batch *next;
    for (struct batch *b = take_all(s); b; b = next) {
        stat_add(STAT_DROP_STORE_SAMPLES, (int64_t)b->n);
        next = b->next;
        batch_free(b);
    }
}
