/* SPDX-License-Identifier: Apache-2.0 */
#include "api/recent.h"

#include <errno.h>
#include <pthread.h>

#include "base/mem.h"

struct recent {
    pthread_mutex_t lock;
    size_t capacity;
    size_t n;    /* lines held */
    size_t next; /* slot of the next line */
    struct {
        char *text;
        size_t n;
    } lines[];
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

void recent_push(struct recent *r, struct span line)
{
    char *text, *old;

    while (line.n > 0 && (line.p[line.n - 1] == '\n' || line.p[line.n - 1] == '\r'))
        line.n--;
    if (line.n == 0 || line.n > RECENT_LINE_MAX)
        return;
    text = mem_strndup(line.p, line.n);
    if (!text)
        return;
    pthread_mutex_lock(&r->lock);
    old = r->lines[r->next].text;
    r->lines[r->next].text = text;
    r->lines[r->next].n = line.n;
    r->next = (r->next + 1) % r->capacity;
    if (r->n < r->capacity)
        r->n++;
    pthread_mutex_unlock(&r->lock);
    mem_free(old);
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
