/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io/timer.c - the wheel. Level 0 holds the next 64 ticks, each higher level 64 times more; a slot
 * of a higher level is spread over the lower ones when its time comes. `_tick` is the next tick to
 * be processed, so every running timer has _tick >= wheel->_tick. Busy bits may be stale (set for
 * an empty slot); they only cost an empty look.
 */
#include "io/timer.h"

#define TICK_NS    NS_PER_MS
#define LEVEL_BITS 6
#define SLOT_MASK  (TIMER_SLOTS - 1)
#define TICKS_MAX  ((UINT64_C(1) << (LEVEL_BITS * TIMER_LEVELS)) - 1)

static uint64_t tick_floor(const struct timer_wheel *w, mono_t t)
{
    int64_t ns = mono_diff(t, w->_epoch);
    return ns < 0 ? 0 : (uint64_t)ns / (uint64_t)TICK_NS;
}

void timer_wheel_init(struct timer_wheel *w, mono_t now)
{
    *w = (struct timer_wheel){._epoch = now};
    for (int level = 0; level < TIMER_LEVELS; level++)
        for (int slot = 0; slot < TIMER_SLOTS; slot++)
            list_init(&w->_slots[level][slot]);
}

void timer_init(struct timer *t, void (*on_fire)(struct timer *t))
{
    list_init(&t->_link);
    t->_tick = 0;
    t->on_fire = on_fire;
}

bool timer_is_running(const struct timer *t)
{
    return !list_is_empty(&t->_link);
}

/* Puts t into the slot that its distance from the wheel's tick calls for. */
static void wheel_insert(struct timer_wheel *w, struct timer *t)
{
    uint64_t distance = t->_tick - w->_tick;
    int level = 0;

    while (level < TIMER_LEVELS - 1 && distance >> (LEVEL_BITS * (level + 1)) != 0)
        level++;

    unsigned slot = (unsigned)(t->_tick >> (LEVEL_BITS * level)) & SLOT_MASK;
    list_push_back(&w->_slots[level][slot], &t->_link);
    w->_busy[level] |= UINT64_C(1) << slot;
}

void timer_start(struct timer_wheel *w, struct timer *t, mono_t now, int64_t delay_ns)
{
    timer_stop(w, t);
    if (delay_ns < 0)
        delay_ns = 0;
    if (delay_ns > (int64_t)TICKS_MAX * TICK_NS)
        delay_ns = (int64_t)TICKS_MAX * TICK_NS;

    uint64_t tick = tick_floor(w, mono_add(now, delay_ns + TICK_NS - 1));
    if (tick < w->_tick)
        tick = w->_tick;
    if (tick - w->_tick > TICKS_MAX)
        tick = w->_tick + TICKS_MAX;
    t->_tick = tick;
    wheel_insert(w, t);
    w->_n++;
}

void timer_stop(struct timer_wheel *w, struct timer *t)
{
    if (!timer_is_running(t))
        return;
    list_remove(&t->_link);
    w->_n--;
}

/* Moves the timers of one slot into a list of the caller's. */
static void slot_take(struct timer_wheel *w, int level, unsigned slot, struct list *ret)
{
    struct list *head = &w->_slots[level][slot];

    list_init(ret);
    if (!list_is_empty(head)) {
        *ret = *head;
        ret->next->prev = ret;
        ret->prev->next = ret;
        list_init(head);
    }
    w->_busy[level] &= ~(UINT64_C(1) << slot);
}

/* At a multiple of 64 ticks: spreads the slots of the higher levels that begin here. */
static void wheel_cascade(struct timer_wheel *w)
{
    for (int level = TIMER_LEVELS - 1; level >= 1; level--) {
        uint64_t unit = UINT64_C(1) << (LEVEL_BITS * level);
        struct list due;

        if ((w->_tick & (unit - 1)) != 0)
            continue;
        slot_take(w, level, (unsigned)(w->_tick >> (LEVEL_BITS * level)) & SLOT_MASK, &due);
        while (!list_is_empty(&due)) {
            struct timer *t = CONTAINER_OF(due.next, struct timer, _link);
            list_remove(&t->_link);
            wheel_insert(w, t);
        }
    }
}

void timer_advance(struct timer_wheel *w, mono_t now)
{
    uint64_t target = tick_floor(w, now);

    if (w->_n == 0 && w->_tick <= target)
        w->_tick = target + 1; /* nothing to spread or fire, however long the sleep was */
    while (w->_tick <= target) {
        struct list due;

        if ((w->_tick & SLOT_MASK) == 0)
            wheel_cascade(w);
        if (w->_busy[0] == 0) {
            /* Nothing in this block of 64: on to the next one. */
            uint64_t next = (w->_tick | SLOT_MASK) + 1;
            w->_tick = next <= target ? next : target + 1;
            continue;
        }
        slot_take(w, 0, (unsigned)w->_tick & SLOT_MASK, &due);
        w->_tick++; /* before the callbacks, so that what they start lies ahead */
        while (!list_is_empty(&due)) {
            struct timer *t = CONTAINER_OF(due.next, struct timer, _link);
            list_remove(&t->_link);
            w->_n--;
            t->on_fire(t);
        }
    }
}

int64_t timer_next_ns(const struct timer_wheel *w, mono_t now)
{
    uint64_t best = UINT64_MAX;

    if (w->_n == 0)
        return -1;
    for (int level = 0; level < TIMER_LEVELS; level++) {
        int shift = LEVEL_BITS * level;
        uint64_t block = w->_tick >> shift;

        if (w->_busy[level] == 0)
            continue;
        /* A higher slot whose block has begun was spread already; it now means the next round. */
        if ((w->_tick & ((UINT64_C(1) << shift) - 1)) != 0)
            block++;

        unsigned r = (unsigned)block & SLOT_MASK;
        uint64_t rotated =
            w->_busy[level] >> r | (r == 0 ? 0 : w->_busy[level] << (TIMER_SLOTS - r));
        uint64_t tick = (block + (uint64_t)__builtin_ctzll(rotated)) << shift;
        if (tick < best)
            best = tick;
    }

    int64_t ns = w->_epoch.ns + (int64_t)best * TICK_NS - now.ns;
    return ns < 0 ? 0 : ns;
}
