/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway/admission.c - the counts, whose turn it is, and the grants. The invariant behind every
 * unlock: whoever may go has gone (turns_give). So one who enters can at most let itself in, and
 * needs a look at the queues only where somebody waits.
 */
#include <errno.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/rng.h"
#include "gateway/admission_object.h"

enum {
    INTERACTIVE_IN_ROW = 9, /* grants, while batch waits; the next one is batch's */
    HELD_SHARE = 8,         /* the newest grant's share in the moving average is 1/8 */
    RETRY_MAX_S = 60,
};

const char *admission_class_name(enum admission_class c)
{
    return c == ADMISSION_BATCH ? "batch" : "interactive";
}

int admission_new(struct admission **ret)
{
    struct admission *a = mem_zalloc(1, sizeof(*a));
    struct rng rng;

    if (!a)
        return -ENOMEM;
    pthread_mutex_init(&a->lock, NULL);
    for (int c = 0; c < ADMISSION_CLASSES; c++)
        admission_queue_init(&a->lanes[c].queue);
    rng_seed_random(&rng);
    a->seed = rng_u64(&rng);
    *ret = a;
    return 0;
}

struct admission *admission_free(struct admission *a)
{
    if (!a)
        return NULL;
    ASSERT(a->total.n == 0);
    pthread_mutex_destroy(&a->lock);
    mem_free(a);
    return NULL;
}

/* --- who fits --- */

static bool share_has_room(const struct share *s, uint32_t max_n, uint64_t max_tokens,
                           uint32_t tokens)
{
    if (max_n > 0 && s->n >= max_n)
        return false;
    return max_tokens == 0 || s->n == 0 || s->tokens + tokens <= max_tokens;
}

static bool fits_upstream(const struct admission *a, const struct admission_ticket *t)
{
    return share_has_room(&a->total, a->limits.max_inflight, a->limits.max_tokens, t->_tokens);
}

static bool fits_class(const struct admission *a, const struct admission_ticket *t)
{
    const struct admission_class_limits *l = &a->limits.classes[t->_class];

    return share_has_room(&a->lanes[t->_class].share, l->max_inflight, l->max_tokens, t->_tokens);
}

/* Of the two classes' next ones, either of which may be missing, or not fit into its class. */
static struct admission_ticket *turn_between(const struct admission *a,
                                             struct admission_ticket *interactive,
                                             struct admission_ticket *batch)
{
    if (interactive && !fits_class(a, interactive))
        interactive = NULL;
    if (batch && !fits_class(a, batch))
        batch = NULL;
    if (interactive && batch)
        return a->n_in_row >= INTERACTIVE_IN_ROW ? batch : interactive;
    return interactive ? interactive : batch;
}

static struct admission_ticket *next_of(struct admission *a, enum admission_class c)
{
    return admission_queue_next(&a->lanes[c].queue);
}

/* Whether it would be t's turn, which has just come. */
static bool is_turn_of(struct admission *a, struct admission_ticket *t)
{
    if (a->lanes[t->_class].queue.n_waiting > 0)
        return false;
    if (t->_class == ADMISSION_INTERACTIVE)
        return turn_between(a, t, next_of(a, ADMISSION_BATCH)) == t;
    return turn_between(a, next_of(a, ADMISSION_INTERACTIVE), t) == t;
}

/* --- grants --- */

static void grant_count(struct admission *a, struct admission_ticket *t, mono_t now)
{
    struct lane *lane = &a->lanes[t->_class];

    a->total.n++;
    a->total.tokens += t->_tokens;
    lane->share.n++;
    lane->share.tokens += t->_tokens;
    lane->n_grants++;
    t->_granted_at = now;
    if (t->_class == ADMISSION_BATCH)
        a->n_in_row = 0;
    else if (a->lanes[ADMISSION_BATCH].queue.n_waiting > 0 && a->n_in_row < INTERACTIVE_IN_ROW)
        a->n_in_row++;
}

static void grant_uncount(struct admission *a, struct admission_ticket *t)
{
    struct lane *lane = &a->lanes[t->_class];

    ASSERT(a->total.n > 0 && lane->share.n > 0);
    a->total.n--;
    a->total.tokens -= t->_tokens;
    lane->share.n--;
    lane->share.tokens -= t->_tokens;
}

static void grant_send(struct admission *a, struct admission_ticket *t, mono_t now)
{
    admission_queue_pop(&a->lanes[t->_class].queue, t);
    grant_count(a, t, now);
    t->_state = ADMISSION_CALLED;
    list_push_back(&t->_port->_granted, &t->_link);
    admission_port_ring(t->_port);
}

/* Lets in whoever waits and may go now. */
static void turns_give(struct admission *a, mono_t now)
{
    for (;;) {
        struct admission_ticket *t =
            turn_between(a, next_of(a, ADMISSION_INTERACTIVE), next_of(a, ADMISSION_BATCH));
        if (!t || !fits_upstream(a, t))
            return;
        grant_send(a, t, now);
    }
}

void admission_set_limits(struct admission *a, const struct admission_limits *limits, mono_t now)
{
    pthread_mutex_lock(&a->lock);
    a->limits = *limits;
    turns_give(a, now);
    pthread_mutex_unlock(&a->lock);
}

/* --- enter --- */

/* In how many seconds those who wait, and one more, will have had their turn: what is in flight
 * leaves at its usual pace. */
static uint32_t retry_after(const struct admission *a, enum admission_class c)
{
    uint64_t held_ms = a->held_ns > 0 ? (uint64_t)(a->held_ns / NS_PER_MS) : 1000;
    uint64_t n_ahead = (uint64_t)a->lanes[c].queue.n_waiting + 1;
    uint64_t n_places = a->total.n > 0 ? a->total.n : 1;
    uint64_t s;

    if (held_ms > RETRY_MAX_S * 1000 * n_places) /* also keeps the product small */
        return RETRY_MAX_S;
    s = (n_ahead * held_ms / n_places + 999) / 1000;
    return s < 1 ? 1 : s > RETRY_MAX_S ? RETRY_MAX_S : (uint32_t)s;
}

static bool enter_at_once(struct admission *a, struct admission_ticket *t, mono_t now)
{
    if (!fits_upstream(a, t) || !is_turn_of(a, t))
        return false;
    grant_count(a, t, now);
    t->_state = ADMISSION_IN;
    return true;
}

static enum admission_verdict enter_or_wait(struct admission *a, struct admission_ticket *t,
                                            mono_t now)
{
    const struct admission_class_limits *limits = &a->limits.classes[t->_class];
    struct lane *lane = &a->lanes[t->_class];

    if (enter_at_once(a, t, now))
        return ADMISSION_GRANTED;
    if (limits->max_queue > 0 && lane->queue.n_waiting >= limits->max_queue) {
        lane->n_full++;
        t->retry_after_s = retry_after(a, t->_class);
        return ADMISSION_REJECTED;
    }
    t->_hash = admission_queue_hash(span_of(t->_tenant, t->_n_tenant), a->seed);
    t->_state = ADMISSION_WAITING;
    t->max_wait_ns = limits->max_queue_ns;
    admission_queue_push(&lane->queue, t);
    lane->n_queued++;
    return ADMISSION_QUEUED;
}

enum admission_verdict admission_enter(struct admission_port *p, struct admission_ticket *t,
                                       mono_t now)
{
    enum admission_verdict v;

    ASSERT(t->_state == ADMISSION_OUT);
    t->_port = p;
    pthread_mutex_lock(&p->_a->lock);
    v = enter_or_wait(p->_a, t, now);
    pthread_mutex_unlock(&p->_a->lock);
    if (v == ADMISSION_REJECTED)
        t->_port = NULL;
    return v;
}

bool admission_try(struct admission_port *p, struct admission_ticket *t, mono_t now)
{
    bool is_in;

    ASSERT(t->_state == ADMISSION_OUT);
    t->_port = p;
    pthread_mutex_lock(&p->_a->lock);
    is_in = enter_at_once(p->_a, t, now);
    pthread_mutex_unlock(&p->_a->lock);
    if (!is_in)
        t->_port = NULL;
    return is_in;
}

/* --- leave --- */

static void held_fold(struct admission *a, int64_t held_ns)
{
    if (held_ns <= 0)
        held_ns = 1; /* the loops' times differ a little */
    a->held_ns = a->held_ns == 0 ? held_ns : a->held_ns + (held_ns - a->held_ns) / HELD_SHARE;
}

/* Out, from wherever it is. */
static void ticket_out(struct admission *a, struct admission_ticket *t, mono_t now)
{
    switch (t->_state) {
    case ADMISSION_WAITING:
        admission_queue_remove(&a->lanes[t->_class].queue, t);
        break;
    case ADMISSION_CALLED:
        list_remove(&t->_link);
        grant_uncount(a, t);
        break;
    case ADMISSION_IN:
        grant_uncount(a, t);
        held_fold(a, mono_diff(now, t->_granted_at));
        break;
    case ADMISSION_OUT:
        return;
    }
    t->_state = ADMISSION_OUT;
    t->_port = NULL;
    turns_give(a, now);
}

void admission_cancel(struct admission_ticket *t, mono_t now)
{
    struct admission *a;

    if (!t->_port) /* it is out */
        return;
    a = t->_port->_a;
    pthread_mutex_lock(&a->lock);
    ticket_out(a, t, now);
    pthread_mutex_unlock(&a->lock);
}

bool admission_move(struct admission_port *p, struct admission_ticket *t, mono_t now)
{
    struct admission *from = t->_port->_a;
    mono_t since = t->_granted_at;
    bool is_in;

    ASSERT(t->_state == ADMISSION_IN);
    pthread_mutex_lock(&p->_a->lock);
    is_in = enter_at_once(p->_a, t, now);
    pthread_mutex_unlock(&p->_a->lock);
    if (!is_in)
        return false;
    t->_port = p;
    pthread_mutex_lock(&from->lock);
    grant_uncount(from, t);
    held_fold(from, mono_diff(now, since));
    turns_give(from, now);
    pthread_mutex_unlock(&from->lock);
    return true;
}

void admission_leave(struct admission_ticket *t, mono_t now)
{
    ASSERT(t->_state == ADMISSION_IN);
    admission_cancel(t, now);
}

bool admission_expire(struct admission_ticket *t, mono_t now)
{
    struct admission *a;
    bool was_waiting;

    if (!t->_port)
        return false;
    a = t->_port->_a;
    pthread_mutex_lock(&a->lock);
    was_waiting = t->_state == ADMISSION_WAITING;
    if (was_waiting) {
        a->lanes[t->_class].n_timeouts++;
        t->retry_after_s = retry_after(a, t->_class);
        ticket_out(a, t, now);
    }
    pthread_mutex_unlock(&a->lock);
    return was_waiting;
}

/* --- tickets --- */

void admission_ticket_init(struct admission_ticket *t, enum admission_class c, struct span tenant,
                           uint32_t estimated_tokens)
{
    *t = (struct admission_ticket){._class = c, ._tokens = estimated_tokens};
    t->_n_tenant = (uint8_t)(tenant.n < ADMISSION_TENANT_MAX ? tenant.n : ADMISSION_TENANT_MAX);
    if (t->_n_tenant > 0)
        memcpy(t->_tenant, tenant.p, t->_n_tenant);
    list_init(&t->_link);
    list_init(&t->_behind);
    list_init(&t->_chain);
}

enum admission_state admission_ticket_state(const struct admission_ticket *t)
{
    enum admission_state s;

    if (!t->_port)
        return ADMISSION_OUT;
    pthread_mutex_lock(&t->_port->_a->lock);
    s = t->_state;
    pthread_mutex_unlock(&t->_port->_a->lock);
    return s;
}

/* --- numbers --- */

void admission_read(struct admission *a, struct admission_numbers *ret)
{
    pthread_mutex_lock(&a->lock);
    *ret = (struct admission_numbers){
        .n_inflight = a->total.n, .tokens_inflight = a->total.tokens, .held_ns = a->held_ns};
    for (int i = 0; i < ADMISSION_CLASSES; i++) {
        const struct lane *lane = &a->lanes[i];
        ret->classes[i] = (struct admission_class_numbers){.n_inflight = lane->share.n,
                                                           .tokens_inflight = lane->share.tokens,
                                                           .n_waiting = lane->queue.n_waiting,
                                                           .n_tenants = lane->queue.n_tenants,
                                                           .n_grants = lane->n_grants,
                                                           .n_queued = lane->n_queued,
                                                           .n_full = lane->n_full,
                                                           .n_timeouts = lane->n_timeouts};
    }
    pthread_mutex_unlock(&a->lock);
}
