/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/symbols.c - an array by number and a hash table by text (linear probing, half full at most).
 */
#include "tsdb/symbols.h"

#include <errno.h>

#include "base/fnv.h"
#include "base/mem.h"

enum { SLOTS_MIN = 256, NUMBERS_MIN = 128 };

void symbols_init(struct symbols *s)
{
    *s = (struct symbols){.n = 1};
}

void symbols_done(struct symbols *s)
{
    for (uint32_t i = 1; s->at && i < s->n; i++)
        mem_free(s->at[i].p);
    mem_free(s->at);
    mem_free(s->slots);
    symbols_init(s);
}

static uint32_t hash(struct span s)
{
    uint64_t h = fnv_add(FNV_START, s);
    return (uint32_t)(h >> 32 ^ h);
}

/* Where text is or would be. */
static uint32_t *slot_of(const struct symbols *s, struct span text)
{
    for (uint32_t i = hash(text) & (s->n_slots - 1);; i = (i + 1) & (s->n_slots - 1))
        if (s->slots[i] == 0 || span_eq(symbols_text(s, s->slots[i]), text))
            return &s->slots[i];
}

uint32_t symbols_find(const struct symbols *s, struct span text)
{
    return text.n == 0 || s->n_slots == 0 ? 0 : *slot_of(s, text);
}

static int slots_grow(struct symbols *s)
{
    uint32_t n = s->n_slots ? 2 * s->n_slots : SLOTS_MIN;
    uint32_t *slots = mem_zalloc(n, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    mem_free(s->slots);
    s->slots = slots;
    s->n_slots = n;
    for (uint32_t i = 1; i < s->n; i++)
        if (s->at[i].p)
            *slot_of(s, symbols_text(s, i)) = i;
    return 0;
}

static int numbers_grow(struct symbols *s, uint32_t number)
{
    uint32_t cap = s->cap ? s->cap : NUMBERS_MIN;
    while (cap <= number)
        cap = cap > UINT32_MAX / 2 ? UINT32_MAX : 2 * cap;
    struct symbol *at = mem_realloc(s->at, cap * sizeof(*at));
    if (!at)
        return -ENOMEM;
    memset(at + s->cap, 0, (cap - s->cap) * sizeof(*at));
    s->at = at;
    s->cap = cap;
    return 0;
}

int symbols_load(struct symbols *s, uint32_t number, struct span text)
{
    int r = 0;
    if (number == 0 || number == UINT32_MAX || text.n == 0 || text.n > UINT32_MAX / 2)
        return -EBADMSG;
    if (number >= s->cap)
        r = numbers_grow(s, number);
    if (r == 0 && 2 * (s->n_used + 1) > s->n_slots)
        r = slots_grow(s);
    if (r < 0)
        return r;
    uint32_t *slot = slot_of(s, text);
    if (s->at[number].p || *slot != 0)
        return -EBADMSG;
    char *p = mem_alloc(text.n);
    if (!p)
        return -ENOMEM;
    memcpy(p, text.p, text.n);
    s->at[number] = (struct symbol){p, (uint32_t)text.n, 0};
    *slot = number;
    s->n_used++;
    if (number >= s->n)
        s->n = number + 1;
    return 0;
}

int symbols_take(struct symbols *s, struct span text, uint32_t *ret)
{
    uint32_t number = symbols_find(s, text);
    if (number == 0) {
        number = s->n;
        int r = symbols_load(s, number, text);
        if (r < 0)
            return r;
    }
    symbols_refer(s, number);
    *ret = number;
    return 0;
}

void symbols_refer(struct symbols *s, uint32_t number)
{
    s->at[number].n_refs++;
}

bool symbols_has(const struct symbols *s, uint32_t number)
{
    return number < s->n && number > 0 && s->at[number].p;
}

/* Closes the gap at i: whoever behind it would rather stand there moves up. */
static void slot_remove(struct symbols *s, uint32_t i)
{
    uint32_t mask = s->n_slots - 1;
    for (uint32_t j = (i + 1) & mask; s->slots[j] != 0; j = (j + 1) & mask) {
        uint32_t home = hash(symbols_text(s, s->slots[j])) & mask;
        if (((j - home) & mask) >= ((j - i) & mask)) {
            s->slots[i] = s->slots[j];
            i = j;
        }
    }
    s->slots[i] = 0;
}

void symbols_release(struct symbols *s, uint32_t number)
{
    s->at[number].n_refs--;
}

bool symbols_is_unused(const struct symbols *s, uint32_t number)
{
    return symbols_has(s, number) && s->at[number].n_refs == 0;
}

void symbols_drop(struct symbols *s, uint32_t number)
{
    struct symbol *symbol = &s->at[number];
    slot_remove(s, (uint32_t)(slot_of(s, symbols_text(s, number)) - s->slots));
    mem_free(symbol->p);
    *symbol = (struct symbol){0};
    s->n_used--;
}

size_t symbols_bytes(const struct symbols *s)
{
    size_t n = s->cap * sizeof(*s->at) + s->n_slots * sizeof(*s->slots);
    for (uint32_t i = 1; i < s->n; i++)
        n += s->at[i].n;
    return n;
}
