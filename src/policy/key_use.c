/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/key_use.c - see key_use.h.
 *
 * A bucket is kept as time: a minute's worth when full, growing with the clock, and a request takes
 * a minute divided by the key's rate. So a limit that a reload changes holds at once, and needs no
 * state of its own.
 */
#include "policy/key_use.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/mem.h"

#define MINUTE_NS (60 * NS_PER_S)

struct use {
    uint64_t id; /* its 8 characters */
    uint32_t n_inflight;
    int64_t credit_ns;
    mono_t filled; /* the credit is as of then */
};

struct key_use {
    pthread_mutex_t lock;
    struct use *rows; /* by id */
    size_t n;
};

int key_use_new(struct key_use **ret)
{
    struct key_use *u = mem_zalloc(1, sizeof(*u));
    if (!u)
        return -ENOMEM;
    (void)pthread_mutex_init(&u->lock, NULL); /* cannot fail with default attributes on Linux */
    *ret = u;
    return 0;
}

struct key_use *key_use_free(struct key_use *u)
{
    if (!u)
        return NULL;
    (void)pthread_mutex_destroy(&u->lock);
    mem_free(u->rows);
    mem_free(u);
    return NULL;
}

/* Big-endian, so that numbers are in the order of the texts. */
static uint64_t id_number(const char *id)
{
    uint64_t v = 0;
    _Static_assert(KEYRING_ID_LEN == sizeof(v), "an id fits a number");
    for (int i = 0; i < KEYRING_ID_LEN; i++)
        v = v << 8 | (unsigned char)id[i];
    return v;
}

static struct use *find(struct key_use *u, uint64_t id)
{
    size_t low = 0;
    size_t high = u->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (u->rows[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < u->n && u->rows[low].id == id ? &u->rows[low] : NULL;
}

/* Both are in order of ids: merges them. Returns how many rows there are then. */
static size_t merge(const struct key_use *u, const struct keyring *ring, struct use *rows)
{
    size_t n = 0;
    size_t i = 0;
    for (size_t k = 0; k < keyring_n(ring); k++) {
        uint64_t id = id_number(keyring_at(ring, k)->id);
        for (; i < u->n && u->rows[i].id < id; i++) {
            if (u->rows[i].n_inflight > 0)
                rows[n++] = u->rows[i];
        }
        bool is_known = i < u->n && u->rows[i].id == id;
        rows[n++] = is_known ? u->rows[i++] : (struct use){.id = id, .credit_ns = MINUTE_NS};
    }
    for (; i < u->n; i++) {
        if (u->rows[i].n_inflight > 0)
            rows[n++] = u->rows[i];
    }
    return n;
}

int key_use_sync(struct key_use *u, const struct keyring *ring)
{
    int r = 0;
    (void)pthread_mutex_lock(&u->lock);
    struct use *rows = mem_zalloc(u->n + keyring_n(ring) + 1, sizeof(*rows));
    if (rows) {
        u->n = merge(u, ring, rows);
        mem_free(u->rows);
        u->rows = rows;
    } else {
        r = -ENOMEM;
    }
    (void)pthread_mutex_unlock(&u->lock);
    return r;
}

static void fill(struct use *row, mono_t now)
{
    int64_t passed_ns = mono_is_set(row->filled) ? mono_diff(now, row->filled) : 0;
    if (passed_ns < 0)
        return; /* another worker's clock reading was later */
    row->filled = now;
    row->credit_ns =
        passed_ns >= MINUTE_NS - row->credit_ns ? MINUTE_NS : row->credit_ns + passed_ns;
}

static enum key_use_entry take(struct use *row, const struct keyring_key *key, uint32_t *ret_wait_s)
{
    if (key->max_inflight > 0 && row->n_inflight >= key->max_inflight) {
        *ret_wait_s = 1;
        return KEY_USE_TOO_MANY;
    }
    if (key->max_requests_per_minute > 0) {
        int64_t cost_ns = MINUTE_NS / key->max_requests_per_minute;
        if (row->credit_ns < cost_ns) {
            *ret_wait_s = (uint32_t)((cost_ns - row->credit_ns + NS_PER_S - 1) / NS_PER_S);
            return KEY_USE_TOO_FAST;
        }
        row->credit_ns -= cost_ns;
    }
    row->n_inflight++;
    return KEY_USE_OK;
}

enum key_use_entry key_use_enter(struct key_use *u, const struct keyring_key *key, mono_t now,
                                 struct key_use_ticket *ret, uint32_t *ret_wait_s)
{
    enum key_use_entry entry = KEY_USE_OK;
    uint64_t id = id_number(key->id);
    ret->_id = 0;
    (void)pthread_mutex_lock(&u->lock);
    struct use *row = find(u, id);
    if (row) {
        fill(row, now);
        entry = take(row, key, ret_wait_s);
        ret->_id = entry == KEY_USE_OK ? id : 0;
    }
    (void)pthread_mutex_unlock(&u->lock);
    return entry;
}

void key_use_leave(struct key_use *u, struct key_use_ticket *t)
{
    if (t->_id == 0)
        return;
    (void)pthread_mutex_lock(&u->lock);
    struct use *row = find(u, t->_id);
    if (row && row->n_inflight > 0)
        row->n_inflight--;
    (void)pthread_mutex_unlock(&u->lock);
    t->_id = 0;
}

uint32_t key_use_inflight(struct key_use *u, const struct keyring_key *key)
{
    (void)pthread_mutex_lock(&u->lock);
    const struct use *row = find(u, id_number(key->id));
    uint32_t n = row ? row->n_inflight : 0;
    (void)pthread_mutex_unlock(&u->lock);
    return n;
}
