/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/dispatch_clock.c - steps of the clock. When it goes back, all moments that were reckoned
 * from it go back with it. When it goes forward by more than a turn takes, it was stepped or the
 * machine slept: then the alerts that nobody could tell again meanwhile hold longer by that.
 */
#include "alert/dispatch_impl.h"

enum {
    BACK_MS = 1000, /* times told by different threads are that much out of order at most */
};

static int shift_item(void *ctx, struct alert_map_node *node)
{
    struct dispatch_item *item = ALERT_MAP_ENTRY(node, struct dispatch_item, node);
    const int64_t *by_ms = ctx;
    if (!item->is_resolved) {
        item->ends_ms += *by_ms;
        if (item->place)
            item->place->source.until_ms += *by_ms;
    }
    item->quiet_ms += *by_ms;
    silence_memo_done(&item->silences); /* what had expired may be to come */
    return 0;
}

struct shift {
    struct dispatch *d;
    int64_t by_ms;
};

static int shift_entry(void *ctx, struct alert_map_node *node)
{
    const struct shift *s = ctx;
    struct dispatch_entry *e = ALERT_MAP_ENTRY(node, struct dispatch_entry, node);
    if (!e->is_gone) {
        e->log.told_ms += s->by_ms;
        dispatch_entry_mark(s->d, e);
    }
    return 0;
}

/* All by the same: the heap stays in order. */
static void step_back(struct dispatch *d, int64_t by_ms)
{
    for (size_t i = 0; i < d->board->n_heap; i++) {
        struct dispatch_set *set = d->board->heap[i];
        set->next_ms += by_ms;
        set->due_ms += by_ms;
        for (size_t k = 0; k < set->n_channels; k++)
            set->channels[k].due_ms += by_ms;
    }
    (void)alert_map_each(&d->items, shift_item, &by_ms); /* never ends early */
    (void)alert_map_each(&d->entries, shift_entry, &(struct shift){d, by_ms});
}

void dispatch_clock(struct dispatch *d, int64_t now_ms)
{
    bool is_first = d->seen_ms == 0;
    int64_t by_ms = now_ms - d->seen_ms;
    if (!is_first && by_ms < 0 && by_ms >= -BACK_MS)
        return;
    d->seen_ms = now_ms;
    if (!is_first && by_ms < 0)
        step_back(d, by_ms);
    else if (!is_first && by_ms > DISPATCH_TURN_MAX_MS)
        (void)alert_map_each(&d->items, shift_item, &by_ms); /* never ends early */
}
