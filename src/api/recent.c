/* SPDX-License-Identifier: Apache-2.0 */
#include "api/recent.h"

#include <errno.h>
#include <pthread.h>

#include "base/mem.h"

enum { ROOM_STEP = 256 };

struct line {
    char *text;
    size_t n;
    size_t room; /* bytes at text */
};

struct recent {
    pthread_mutex_t lock;
    size_t capacity;
    size_t n;    /* lines held */
    size_t next; /* slot of the next line */
    uint64_t n_pushed;
    struct line lines[];
};

int recent_new(size_t capacity, struct recent **ret)
{
    struct recent *r;

    if (capacity == 0)
        return -EINVAL;
    r = mem_zalloc(1, sizeof(*r) + capacity * sizeof(r->lines[0]));
    if (!r)
        return -ENOMEM;
    pthread_mutex_init(&r->lock, NULL);
    r->capacity = capacity;
    *ret = r;
    return 0;
}

struct recent *recent_free(struct recent *r)
{
    if (!r)
        return NULL;
    for (size_t i = 0; i < r->capacity; i++)
        mem_free(r->lines[i].text);
    pthread_mutex_destroy(&r->lock);
    mem_free(r);
    return NULL;
}

/* Makes the slot's memory fit a line of n bytes, which is much like the one before as a rule. */
static bool fit(struct line *l, size_t n)
{
    size_t room = (n / ROOM_STEP + 1) * ROOM_STEP;
    char *text;

    if (l->room >= n && l->room <= 2 * room)
        return true;
    text = mem_alloc(room);
    if (!text)
        return false;
    mem_free(l->text);
    *l = (struct line){.text = text, .room = room};
    return true;
}

static void keep(struct recent *r, struct span line)
{
    struct line *l = &r->lines[r->next];

    if (!fit(l, line.n))
        return;
    memcpy(l->text, line.p, line.n);
    l->n = line.n;
    r->next = r->next + 1 < r->capacity ? r->next + 1 : 0;
    if (r->n < r->capacity)
        r->n++;
}

void recent_push(struct recent *r, struct span line)
{
    while (line.n > 0 && (line.p[line.n - 1] == '\n' || line.p[line.n - 1] == '\r'))
        line.n--;
    if (line.n == 0 || line.n > RECENT_LINE_MAX)
        return;
    pthread_mutex_lock(&r->lock);
    r->n_pushed++;
    keep(r, line);
    pthread_mutex_unlock(&r->lock);
}

uint64_t recent_n_pushed(struct recent *r)
{
    pthread_mutex_lock(&r->lock);
    uint64_t n = r->n_pushed;
    pthread_mutex_unlock(&r->lock);
    return n;
}

void recent_write(struct recent *r, size_t max, struct jsonw *w)
{
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->n && i < max; i++) {
        size_t at = (r->next + r->capacity - 1 - i) % r->capacity;
        jsonw_raw(w, span_of(r->lines[at].text, r->lines[at].n));
    }
    pthread_mutex_unlock(&r->lock);
}
