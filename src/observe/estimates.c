/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe/estimates.c - rolling tokens per event by model, a small bounded table.
 *
 * Only for answers that ended without usage, and always marked as an estimate: the ratio is that of
 * the model's recent whole answers. A model that was never seen gives no estimate at all.
 */
#include "observe/exchange.h"

#include "base/fnv.h"

#define WEIGHT_OF_NEWEST 0.1

static uint64_t key_of(const char *model)
{
    uint64_t h = fnv_add(FNV_START, span_cstr(model));
    return h != 0 ? h : 1;
}

void estimates_update(struct estimates *e, const char *model, double tokens_per_event)
{
    uint64_t key = key_of(model);
    struct estimate_slot *slot = &e->slots[0];
    for (size_t i = 0; i < ESTIMATE_SLOTS; i++) {
        if (e->slots[i].key == key) {
            slot = &e->slots[i];
            break;
        }
        if (e->slots[i].used_at < slot->used_at)
            slot = &e->slots[i]; /* empty, or longest not used */
    }
    if (slot->key != key) {
        slot->key = key;
        slot->tokens_per_event = tokens_per_event;
    } else {
        slot->tokens_per_event += (tokens_per_event - slot->tokens_per_event) * WEIGHT_OF_NEWEST;
    }
    slot->used_at = ++e->n_updates;
}

double estimates_get(const struct estimates *e, const char *model)
{
    uint64_t key = key_of(model);
    for (size_t i = 0; i < ESTIMATE_SLOTS; i++) {
        if (e->slots[i].key == key)
            return e->slots[i].tokens_per_event;
    }
    return -1.0;
}
