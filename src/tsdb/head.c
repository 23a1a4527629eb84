/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/head.c - samples in, full chunks out.
 */
#include "tsdb/head.h"

#include "tsdb/place.h"

void head_done(struct head *h)
{
    tschunk_done(&h->chunk);
    for (struct full *f = h->full_first, *next; f; f = next) {
        next = f->next;
        bytes_done(&f->body);
        mem_free(f);
    }
    *h = (struct head){0};
}

bool head_is_full(const struct head *h, int64_t t_ms)
{
    const struct tschunk *c = &h->chunk;
    return c->n > 0 && (tschunk_bytes(c) >= HEAD_FULL_BYTES || t_ms - c->t_first >= HEAD_SPAN_MS ||
                        place_slot(0, t_ms) != place_slot(0, c->t_first));
}

int head_cut(struct head *h, uint32_t id, struct full_queue *queue)
{
    if (h->chunk.n == 0)
        return 0;
    struct full *f = mem_zalloc(1, sizeof(*f));
    if (!f)
        return -ENOMEM;
    int r = tschunk_write(&h->chunk, &f->body);
    if (r < 0) {
        mem_free(f);
        return r;
    }
    f->id = id;
    f->first_seq = h->first_seq;
    f->t_first = h->chunk.t_first;
    f->t_last = h->chunk.t_last;
    tschunk_done(&h->chunk);
    *(h->full_last ? &h->full_last->next : &h->full_first) = f;
    h->full_last = f;
    *(queue->last ? &queue->last->queue_next : &queue->first) = f;
    queue->last = f;
    queue->n++;
    return 0;
}

int head_append(struct head *h, uint64_t seq, int64_t t_ms, double v, const struct fhist *hist)
{
    struct tschunk *c = &h->chunk;
    int r = c->columns ? 0 : tschunk_init(c, TSCHUNK_PLAIN);
    if (r == 0)
        r = hist ? tschunk_append_hist(c, t_ms, hist) : tschunk_append(c, t_ms, v);
    if (r == 0 && c->n == 1)
        h->first_seq = seq;
    return r;
}

void head_drop_first(struct head *h, struct full_queue *queue)
{
    struct full *f = queue->first;
    queue->first = f->queue_next;
    if (!queue->first)
        queue->last = NULL;
    queue->n--;
    h->full_first = f->next;
    if (!h->full_first)
        h->full_last = NULL;
    bytes_done(&f->body);
    mem_free(f);
}

bool head_first(const struct head *h, int64_t *ret_t)
{
    if (!h->full_first && h->chunk.n == 0)
        return false;
    *ret_t = h->full_first ? h->full_first->t_first : h->chunk.t_first;
    return true;
}

size_t head_bytes(const struct head *h)
{
    size_t n = h->chunk.t.out.cap + (h->chunk.columns ? h->chunk.columns[0].stream.out.cap : 0);
    for (const struct full *f = h->full_first; f; f = f->next)
        n += f->body.cap + sizeof(*f);
    return n;
}
