/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics/label_set.c - one open-addressing table per label, sized for its cap at birth and never
 * more than half full, so that it needs no growing while others look into it.
 *
 * An entry is complete before its slot is stored with release, and is never changed or removed.
 */
#include "metrics/label_set.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/stat.h"

enum { N_FIXED = 2, MAX_VALUES_MAX = 100000 };

struct entry {
    uint32_t id;
    uint32_t hash;
    char text[]; /* NUL-terminated */
};

struct label_table {
    const char *name;
    char *own_name; /* freed with the table; NULL: name is a constant */
    uint32_t max_values;
    uint32_t mask;                  /* slots - 1 */
    _Atomic(struct entry *) *slots; /* by hash, linear probing */
    _Atomic(const char *) *texts;   /* by id */
    _Atomic uint32_t n;             /* ids given out, the fixed ones included */
};

struct label_set {
    pthread_mutex_t lock; /* held to add */
    uint32_t n_business;
    struct label_table tables[LABEL_COUNT_];
};

/* --- texts --- */

/* Length of the valid UTF-8 sequence at p (1..4), or 0. p is NUL-terminated. */
static size_t utf8_len(const unsigned char *p)
{
    size_t n = p[0] < 0x80   ? 1
               : p[0] < 0xc2 ? 0
               : p[0] < 0xe0 ? 2
               : p[0] < 0xf0 ? 3
               : p[0] < 0xf5 ? 4
                             : 0;
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0; /* a NUL ends here too */
    }
    bool is_bad = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
                  (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f);
    return is_bad ? 0 : n;
}

/* The form of text that may become a label value. */
struct clean {
    size_t n;
    uint32_t hash;
    char text[LABELS_TEXT_MAX + 1];
};

static void clean_set(struct clean *c, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    c->n = 0;
    while (*p) {
        size_t n = *p < 0x80 ? 1 : utf8_len(p);
        size_t n_out = n > 0 ? n : 1;
        if (c->n + n_out > LABELS_TEXT_MAX)
            break;
        if (n > 0)
            memcpy(c->text + c->n, p, n);
        else
            c->text[c->n] = '?';
        c->n += n_out;
        p += n_out;
    }
    c->text[c->n] = '\0';
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < c->n; i++)
        hash = (hash ^ (unsigned char)c->text[i]) * 16777619u;
    c->hash = hash;
}

/* --- the tables --- */

static int table_init(struct label_table *table, const char *name, uint32_t max_values)
{
    uint32_t n_slots = 16;
    while (n_slots < 2 * max_values)
        n_slots *= 2;
    table->name = name;
    table->max_values = max_values;
    table->mask = n_slots - 1;
    table->slots = mem_zalloc(n_slots, sizeof(*table->slots));
    table->texts = mem_zalloc(max_values + N_FIXED, sizeof(*table->texts));
    if (!table->slots || !table->texts)
        return -ENOMEM;
    atomic_store_explicit(&table->texts[LABELS_OTHER], "other", memory_order_relaxed);
    atomic_store_explicit(&table->texts[LABELS_NONE], "none", memory_order_relaxed);
    atomic_store_explicit(&table->n, N_FIXED, memory_order_relaxed);
    return 0;
}

/* What was allocated of it, perhaps not all. */
static void table_done(struct label_table *table)
{
    for (uint32_t s = 0; table->slots && s <= table->mask; s++)
        mem_free(atomic_load_explicit(&table->slots[s], memory_order_relaxed));
    mem_free(table->slots);
    mem_free(table->texts);
    mem_free(table->own_name);
    *table = (struct label_table){0};
}

int label_set_new(uint32_t max_values, struct label_set **ret)
{
    static const char *const names[LABEL_BUSINESS] = {[LABEL_MODEL] = "model",
                                                      [LABEL_ENDPOINT] = "endpoint",
                                                      [LABEL_UPSTREAM] = "upstream",
                                                      [LABEL_SLO] = "slo",
                                                      [LABEL_VERSION] = "version"};
    if (max_values == 0 || max_values > MAX_VALUES_MAX)
        return -EINVAL;
    struct label_set *t = mem_zalloc(1, sizeof(*t));
    if (!t)
        return -ENOMEM;
    pthread_mutex_init(&t->lock, NULL);
    for (int i = 0; i < LABEL_BUSINESS; i++) {
        if (table_init(&t->tables[i], names[i], max_values) < 0) {
            label_set_free(t);
            return -ENOMEM;
        }
    }
    *ret = t;
    return 0;
}

int label_set_add(struct label_set *t, const char *name, uint32_t max_values)
{
    if (*name == '\0' || max_values == 0 || max_values > MAX_VALUES_MAX)
        return -EINVAL;
    if (t->n_business == FAMILY_BUSINESS_MAX)
        return -ENOSPC;
    struct label_table *table = &t->tables[LABEL_BUSINESS + t->n_business];
    char *own = mem_strdup(name);
    if (!own || table_init(table, own, max_values) < 0) {
        table_done(table);
        mem_free(own);
        return -ENOMEM;
    }
    table->own_name = own;
    t->n_business++;
    return 0;
}

uint32_t label_set_n_business(const struct label_set *t)
{
    return t->n_business;
}

const char *label_set_name(const struct label_set *t, enum label_key label)
{
    return t->tables[label].name;
}

struct label_set *label_set_free(struct label_set *t)
{
    if (!t)
        return NULL;
    for (int i = 0; i < LABEL_COUNT_; i++)
        table_done(&t->tables[i]);
    pthread_mutex_destroy(&t->lock);
    mem_free(t);
    return NULL;
}

/* The id of c, -1 when it is not there; *ret_slot: where it would stand. */
static int64_t probe(const struct label_set *t, enum label_key label, const struct clean *c,
                     uint32_t *ret_slot)
{
    const struct label_table *table = &t->tables[label];
    uint32_t slot = c->hash & table->mask;
    for (;; slot = (slot + 1) & table->mask) {
        const struct entry *e = atomic_load_explicit(&table->slots[slot], memory_order_acquire);
        if (!e)
            break;
        if (e->hash == c->hash && strcmp(e->text, c->text) == 0)
            return e->id;
    }
    *ret_slot = slot;
    return -1;
}

/* Ids of the fixed texts, so that a model called "other" makes no second series of that name. */
static int64_t fixed_id(enum label_key label, const char *text)
{
    if (!text || !*text || (label < LABEL_VERSION && strcmp(text, "none") == 0))
        return LABELS_NONE;
    return strcmp(text, "other") == 0 ? LABELS_OTHER : -1;
}

int64_t label_set_find(const struct label_set *t, enum label_key label, const char *text)
{
    int64_t id = fixed_id(label, text);
    if (id >= 0)
        return id;
    struct clean c;
    uint32_t slot;
    clean_set(&c, text);
    id = probe(t, label, &c, &slot);
    return id >= 0 ? id : -ENOENT;
}

/* Under the lock, c is not in the table. */
static uint32_t add(struct label_set *t, enum label_key label, const struct clean *c, uint32_t slot)
{
    struct label_table *table = &t->tables[label];
    uint32_t id = atomic_load_explicit(&table->n, memory_order_relaxed);
    if (id >= table->max_values + N_FIXED) {
        stat_inc(STAT_DROP_LABEL_CAP);
        return LABELS_OTHER;
    }
    struct entry *e = mem_alloc(sizeof(*e) + c->n + 1);
    if (!e) {
        stat_inc(STAT_DROP_NO_MEMORY);
        return LABELS_OTHER;
    }
    e->id = id;
    e->hash = c->hash;
    memcpy(e->text, c->text, c->n + 1);
    atomic_store_explicit(&table->texts[id], e->text, memory_order_release);
    atomic_store_explicit(&table->n, id + 1, memory_order_release);
    atomic_store_explicit(&table->slots[slot], e, memory_order_release);
    return id;
}

uint32_t label_set_intern(struct label_set *t, enum label_key label, const char *text)
{
    int64_t id = fixed_id(label, text);
    if (id >= 0)
        return (uint32_t)id;
    struct clean c;
    uint32_t slot;
    clean_set(&c, text);
    id = probe(t, label, &c, &slot);
    if (id >= 0)
        return (uint32_t)id;
    if (label_set_count(t, label) >= t->tables[label].max_values) {
        /* Full for good: no reason to queue for the lock with every request. */
        stat_inc(STAT_DROP_LABEL_CAP);
        return LABELS_OTHER;
    }
    pthread_mutex_lock(&t->lock);
    id = probe(t, label, &c, &slot); /* another thread may have been faster */
    uint32_t made = id >= 0 ? (uint32_t)id : add(t, label, &c, slot);
    pthread_mutex_unlock(&t->lock);
    return made;
}

const char *label_set_text(const struct label_set *t, enum label_key label, uint32_t id)
{
    return atomic_load_explicit(&t->tables[label].texts[id], memory_order_acquire);
}

uint32_t label_set_count(const struct label_set *t, enum label_key label)
{
    return atomic_load_explicit(&t->tables[label].n, memory_order_acquire) - N_FIXED;
}
