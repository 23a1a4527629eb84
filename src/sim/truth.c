/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/truth.c - one event is one word: 48 bits of ns since the entry's first stamp (78 hours), 4
 * bits of kind, 12 bits of tokens.
 */
#include "sim/truth.h"

#include <errno.h>
#include <pthread.h>

#include "base/jsonw.h"
#include "base/mem.h"

enum { NS_BITS = 48, TOKEN_BITS = 12, EVENTS_MIN = 16 };
#define NS_MASK    ((UINT64_C(1) << NS_BITS) - 1)
#define TOKENS_MAX ((1 << TOKEN_BITS) - 1)

struct truth_entry {
    struct truth_head head;
    mono_t base; /* of the packed stamps; the first one */
    size_t n, cap;
    uint64_t n_lost;
    uint64_t *events;
};

struct truth {
    pthread_mutex_t lock;
    size_t capacity;
    size_t first, n; /* ring positions */
    size_t n_events; /* in all entries */
    struct truth_entry **ring;
};

const char *truth_kind_name(enum truth_kind k)
{
    static const char *const names[TRUTH_KIND_COUNT_] = {
        [TRUTH_COMMENT] = "comment", [TRUTH_ROLE] = "role",   [TRUTH_TOKEN] = "token",
        [TRUTH_FINISH] = "finish",   [TRUTH_USAGE] = "usage", [TRUTH_DONE] = "done",
        [TRUTH_ERROR] = "error",     [TRUTH_CUT] = "cut",     [TRUTH_HANG] = "hang",
        [TRUTH_BODY] = "body",       [TRUTH_BLOCK] = "block", [TRUTH_READ] = "read",
    };

    return k < TRUTH_KIND_COUNT_ ? names[k] : "?";
}

/* --- entries --- */

struct truth_entry *truth_entry_new(size_t n_events)
{
    struct truth_entry *e = mem_zalloc(1, sizeof(*e));

    if (!e)
        return NULL;
    e->cap = n_events < EVENTS_MIN         ? EVENTS_MIN
             : n_events > TRUTH_EVENTS_MAX ? TRUTH_EVENTS_MAX
                                           : n_events;
    e->events = mem_alloc(e->cap * sizeof(*e->events));
    if (!e->events) {
        mem_free(e);
        return NULL;
    }
    return e;
}

struct truth_entry *truth_entry_free(struct truth_entry *e)
{
    if (e) {
        mem_free(e->events);
        mem_free(e);
    }
    return NULL;
}

struct truth_head *truth_entry_head(struct truth_entry *e)
{
    return e ? &e->head : NULL;
}

size_t truth_entry_len(const struct truth_entry *e)
{
    return e ? e->n : 0;
}

static bool entry_grow(struct truth_entry *e)
{
    size_t cap = e->cap * 2 < TRUTH_EVENTS_MAX ? e->cap * 2 : TRUTH_EVENTS_MAX;
    uint64_t *events;

    if (e->n < e->cap)
        return true;
    if (e->cap >= TRUTH_EVENTS_MAX)
        return false;
    events = mem_realloc(e->events, cap * sizeof(*events));
    if (!events)
        return false;
    e->events = events;
    e->cap = cap;
    return true;
}

static uint64_t packed_ns(struct truth_entry *e, mono_t t)
{
    int64_t ns;

    if (!mono_is_set(e->base))
        e->base = t;
    ns = mono_diff(t, e->base);
    return ns < 0 ? 0 : (uint64_t)ns & NS_MASK;
}

void truth_entry_add(struct truth_entry *e, enum truth_kind kind, int64_t n_tokens, mono_t t)
{
    if (!e)
        return;
    if (!entry_grow(e)) {
        e->n_lost++;
        return;
    }
    n_tokens = n_tokens < 0 ? 0 : n_tokens > TOKENS_MAX ? TOKENS_MAX : n_tokens;
    e->events[e->n++] =
        packed_ns(e, t) << (64 - NS_BITS) | (uint64_t)kind << TOKEN_BITS | (uint64_t)n_tokens;
}

void truth_entry_restamp(struct truth_entry *e, size_t first, mono_t t)
{
    if (!e)
        return;
    for (size_t i = first; i < e->n; i++) {
        uint64_t rest = e->events[i] & ((UINT64_C(1) << (64 - NS_BITS)) - 1);
        e->events[i] = packed_ns(e, t) << (64 - NS_BITS) | rest;
    }
}

/* --- ring --- */

int truth_new(size_t capacity, struct truth **ret)
{
    struct truth *t = mem_zalloc(1, sizeof(*t));

    if (!t)
        return -ENOMEM;
    t->ring = mem_zalloc(capacity, sizeof(struct truth_entry *));
    if (!t->ring) {
        mem_free(t);
        return -ENOMEM;
    }
    t->capacity = capacity;
    pthread_mutex_init(&t->lock, NULL);
    *ret = t;
    return 0;
}

static struct truth_entry *ring_at(const struct truth *t, size_t i)
{
    return t->ring[(t->first + i) % t->capacity];
}

static void ring_drop_oldest(struct truth *t)
{
    struct truth_entry *e = ring_at(t, 0);

    t->n_events -= e->cap;
    t->first = (t->first + 1) % t->capacity;
    t->n--;
    truth_entry_free(e);
}

struct truth *truth_free(struct truth *t)
{
    if (!t)
        return NULL;
    while (t->n > 0)
        ring_drop_oldest(t);
    pthread_mutex_destroy(&t->lock);
    mem_free(t->ring);
    mem_free(t);
    return NULL;
}

void truth_publish(struct truth *t, struct truth_entry *e)
{
    if (!e)
        return;
    pthread_mutex_lock(&t->lock);
    while (t->n > 0 && (t->n == t->capacity || t->n_events + e->cap > TRUTH_EVENTS_TOTAL))
        ring_drop_oldest(t);
    t->ring[(t->first + t->n) % t->capacity] = e;
    t->n++;
    t->n_events += e->cap;
    pthread_mutex_unlock(&t->lock);
}

/* --- JSON --- */

static void write_stamp(struct jsonw *w, const char *key, mono_t t)
{
    jsonw_key(w, key);
    if (mono_is_set(t))
        jsonw_i64(w, t.ns);
    else
        jsonw_null(w);
}

static void write_events(struct jsonw *w, const struct truth_entry *e)
{
    jsonw_key(w, "events");
    jsonw_begin_array(w);
    for (size_t i = 0; i < e->n; i++) {
        uint64_t word = e->events[i];

        jsonw_begin_object(w);
        jsonw_put_i64(w, "t_ns", e->base.ns + (int64_t)(word >> (64 - NS_BITS)));
        jsonw_put_cstr(w, "kind", truth_kind_name((enum truth_kind)(word >> TOKEN_BITS & 0xf)));
        jsonw_put_i64(w, "tokens", (int64_t)(word & TOKENS_MAX));
        jsonw_end_object(w);
    }
    jsonw_end_array(w);
}

static void write_entry(struct jsonw *w, const struct truth_entry *e)
{
    const struct truth_head *h = &e->head;

    jsonw_begin_object(w);
    jsonw_put_cstr(w, "request_id", h->id);
    jsonw_put_i64(w, "status", h->status);
    jsonw_put_bool(w, "stream", h->is_stream);
    write_stamp(w, "t_request_ns", h->t_request);
    write_stamp(w, "t_started_ns", h->t_started);
    write_stamp(w, "t_headers_ns", h->t_headers);
    jsonw_key(w, "queue_ns");
    if (mono_is_set(h->t_started) && mono_is_set(h->t_request))
        jsonw_i64(w, mono_diff(h->t_started, h->t_request));
    else
        jsonw_null(w);
    jsonw_put_i64(w, "prompt_tokens", h->prompt_tokens);
    jsonw_put_i64(w, "completion_tokens", h->completion_tokens);
    jsonw_put_i64(w, "events_lost", (int64_t)e->n_lost);
    write_events(w, e);
    jsonw_end_object(w);
}

int truth_json_by_id(struct truth *t, struct span id, struct buf *out)
{
    struct jsonw w;
    int r = -ENOENT;

    jsonw_init(&w, out);
    pthread_mutex_lock(&t->lock);
    for (size_t i = t->n; i > 0 && r == -ENOENT; i--) {
        const struct truth_entry *e = ring_at(t, i - 1);
        if (span_eq(span_cstr(e->head.id), id)) {
            write_entry(&w, e);
            r = jsonw_error(&w);
        }
    }
    pthread_mutex_unlock(&t->lock);
    return r;
}

int truth_json_last(struct truth *t, size_t n, struct buf *out)
{
    struct jsonw w;

    jsonw_init(&w, out);
    jsonw_begin_object(&w);
    jsonw_key(&w, "requests");
    jsonw_begin_array(&w);
    pthread_mutex_lock(&t->lock);
    for (size_t i = n < t->n ? t->n - n : 0; i < t->n; i++)
        write_entry(&w, ring_at(t, i));
    pthread_mutex_unlock(&t->lock);
    jsonw_end_array(&w);
    jsonw_end_object(&w);
    return jsonw_error(&w);
}
