/* SPDX-License-Identifier: Apache-2.0 */
/*
 * incident/incidents_curves.c - curves taken part by part, one a tick, so that rules do not wait
 * for them and nothing is lost when raw samples go while an incident lasts.
 */
#include <errno.h>

#include "incident/incidents_private.h"

enum {
    SETTLE_MS = 30 * 1000, /* until samples can be read */
    PART_MS = 5 * 60 * 1000,
    RETRY_MS = 10 * 1000,
    TRIES = 2,
    GIVE_UP_MS = 24 * 60 * 60 * 1000,
};

struct part {
    struct incident *of;
    size_t kind;
    int64_t from_ms, until_ms;
    bool is_last;
};

static int64_t begin_of(const struct incident *c)
{
    int64_t ms = c->from_ms - INCIDENT_BEFORE_MS;
    return ms - ms % CURVE_STEP_MS;
}

static bool is_over(const struct incident *c, int64_t now_ms)
{
    return c->state == INCIDENT_CLOSED && now_ms >= c->over_ms + INCIDENT_AFTER_MS + SETTLE_MS;
}

static bool part_find(struct incident *c, size_t kind, int64_t now_ms, struct part *ret)
{
    const struct incident_curve *k = &c->curves[kind];
    bool must_wait = now_ms < k->retry_ms && k->retry_ms - now_ms <= RETRY_MS;
    if (k->is_complete || c->state == INCIDENT_DONE || must_wait)
        return false;
    int64_t begin_ms = begin_of(c);
    *ret = (struct part){.of = c, .kind = kind, .is_last = is_over(c, now_ms)};
    ret->from_ms = k->covered_ms > begin_ms ? k->covered_ms : begin_ms;
    int64_t end_ms = incident_curves_end(c) + 1;
    ret->until_ms = now_ms - SETTLE_MS;
    if (ret->is_last || (c->state == INCIDENT_CLOSED && ret->until_ms > end_ms))
        ret->until_ms = end_ms;
    return ret->is_last || ret->until_ms - ret->from_ms >= PART_MS;
}

/* Those that wait longest, first. */
static bool next_part(struct incidents *i, int64_t now_ms, struct part *ret)
{
    for (struct incident *c = i->live; c; c = c->next) {
        for (size_t kind = 0; kind < curves_n; kind++) {
            if (part_find(c, kind, now_ms, ret))
                return true;
        }
    }
    return false;
}

bool incidents_wants_reader(struct incidents *i, int64_t now_ms)
{
    struct part p;
    pthread_mutex_lock(&i->lock);
    bool wants = next_part(i, now_ms, &p);
    pthread_mutex_unlock(&i->lock);
    return wants;
}

/* Whole points only, but at the very end. *ret_to: how far it came. */
static int extend(const struct incidents *i, const struct part *p, struct curve *c,
                  struct reader *r, int64_t *ret_to)
{
    int64_t until = p->until_ms;
    if (!p->is_last)
        until = c->start_ms + (until - c->start_ms) / c->step_ms * c->step_ms;
    int64_t to = curves_part_end(c, p->from_ms, until);
    *ret_to = to > p->from_ms ? to : p->from_ms;
    return curves_take(c, &curves_kinds[p->kind], i->range_ms, r, p->from_ms, to);
}

/* What is there, what comes now, and both together as bytes. */
static int make(const struct incidents *i, const struct part *p, struct reader *r, struct buf *out,
                int64_t *ret_to)
{
    const struct buf *packed = &p->of->curves[p->kind].packed;
    struct arena a;
    struct curve c;
    int n = 0;
    arena_init(&a, NULL);
    if (buf_len(packed) > 0)
        n = curve_unpack(buf_span(packed), &a, &c);
    if (buf_len(packed) == 0 || n == -EBADMSG || (n == 0 && p->from_ms < c.start_ms)) {
        curve_init(&c, begin_of(p->of), &a);
        n = 0;
    }
    if (n == 0)
        n = extend(i, p, &c, r, ret_to);
    if (n == 0)
        n = curve_pack(&c, out);
    arena_done(&a);
    return n;
}

/* The part becomes a gap. */
static void give_up(struct incident_curve *k, const struct part *p)
{
    k->n_failures = 0;
    k->covered_ms = p->until_ms;
    k->is_complete = p->is_last;
    k->is_dirty = true;
}

/* Not for now only: it asks for too much. */
static bool is_hopeless(int error)
{
    return error == -EINVAL || error == -E2BIG || error == -EMSGSIZE || error == -ETIMEDOUT;
}

/* Under the lock. */
static void take_result(const struct part *p, int n, struct buf *packed, int64_t to_ms,
                        int64_t now_ms)
{
    struct incident_curve *k = &p->of->curves[p->kind];
    if (n < 0) {
        k->retry_ms = now_ms + RETRY_MS;
        k->n_failures += is_hopeless(n);
        if (k->n_failures >= TRIES)
            give_up(k, p);
        return;
    }
    k->n_failures = 0;
    k->retry_ms = to_ms > p->from_ms ? 0 : now_ms + RETRY_MS;
    if (to_ms == p->from_ms && !p->is_last)
        return;
    struct buf before = k->packed;
    k->packed = *packed;
    *packed = before;
    k->covered_ms = to_ms;
    k->is_complete = p->is_last && to_ms >= p->until_ms;
    k->is_dirty = true;
}

int incidents_take_curve(struct incidents *i, struct reader *r, int64_t now_ms)
{
    struct part p;
    struct buf packed;
    int64_t to_ms = 0;
    pthread_mutex_lock(&i->lock);
    bool is_due = next_part(i, now_ms, &p);
    pthread_mutex_unlock(&i->lock);
    if (!is_due)
        return 0;
    buf_init(&packed, INCIDENT_PACKED_MAX);
    int n = make(i, &p, r, &packed, &to_ms);
    pthread_mutex_lock(&i->lock);
    take_result(&p, n, &packed, to_ms, now_ms);
    pthread_mutex_unlock(&i->lock);
    buf_done(&packed);
    return n;
}

void incidents_finish_curves(struct incidents *i, int64_t now_ms)
{
    for (struct incident *c = i->live; c; c = c->next) {
        bool is_whole = c->state == INCIDENT_CLOSED;
        for (size_t k = 0; k < curves_n && is_whole; k++)
            is_whole = c->curves[k].is_complete;
        bool is_late =
            c->state == INCIDENT_CLOSED && now_ms >= c->over_ms + INCIDENT_AFTER_MS + GIVE_UP_MS;
        if (!is_whole && !is_late)
            continue;
        c->state = INCIDENT_DONE;
        c->is_dirty = true;
    }
}
