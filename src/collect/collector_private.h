/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/collector_private.h - between the files of the collector.
 *
 * Role:      collector.c is its life and its thread; collector_pools.c makes targets of jobs and
 *            keeps those that stay, collector_slots.c has a place for each; collector_scrape.c
 *            scrapes them; feeds.h looks files and names up; collector_sources.c asks sources;
 *            collector_write.c tells about all.
 * Locking:   `lock` is over what others read: pools, slots, sources' words, the plan that waits.
 *            Only the collector's thread changes slots and pools, and it is never held while a
 *            request, a disk or write is waited for.
 */
#ifndef COLLECT_COLLECTOR_PRIVATE_H
#define COLLECT_COLLECTOR_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "collect/collector.h"
#include "collect/feeds.h"
#include "collect/present.h"
#include "collect/source_thread.h"
#include "web/web.h"

/* --- collector_pools.c --- */

struct pool_feed {
    struct feed *feed;
    struct finding *finding; /* NULL: none yet */
    bool has_looked;
    char words[FEED_WORDS];
};
/* A job and what became of it. */
struct pool {
    struct scrape_file *file; /* held */
    const struct scrape_job *job;
    struct pool_feed *feeds;
    size_t n_feeds;
    size_t n_targets;
    bool is_over_limit;
    char words[480]; /* what is wrong with a target that is none; "" */
    size_t n_bad;
    struct arena arena;     /* of dropped */
    struct labels *dropped; /* as discovered; the first POOL_DROPPED_MAX */
    size_t n_dropped, n_dropped_all;
};
enum { POOL_DROPPED_MAX = 1000 };
struct slot {
    struct target *target;
    struct scrape_file *file; /* of the target; held */
    struct target *next;      /* takes its place when the request is over; NULL: none */
    struct scrape_file *next_file;
    struct pool *pool;     /* NULL: it is not to be scraped any more */
    struct slot *follower; /* of the same bucket */
    uint64_t hash;
    bool is_claimed; /* while targets are made anew */
    bool is_busy;
    bool is_wanted; /* for a turn */
    mono_t due;
    int64_t t_ms; /* of the request under way */
    struct web_request request;
};
int collector_pools_apply(struct collector *c) WARN_UNUSED; /* the plan that waits */
void collector_pools_take_feeds(struct collector *c);       /* findings that are fresh */
void collector_pools_free(struct collector *c);

/* --- collector_slots.c --- */

/* That of a target that is the same; NULL: there is none. */
struct slot *collector_slot_find(const struct collector *c, const struct target *t, uint64_t hash);
/* One more, with t in it. */
int collector_slot_add(struct collector *c, struct target *t, uint64_t hash,
                       struct pool *pool) WARN_UNUSED;
/* It goes on with t, at once or when its request is over. */
void collector_slot_put(struct slot *s, struct target *t, struct scrape_file *file);
void collector_slot_free(struct collector *c, struct slot *s); /* c->slots is the caller's care */
void collector_slots_free(struct collector *c);

/* --- collector_scrape.c --- */

void collector_scrape_due(struct collector *c, mono_t now);
mono_t collector_scrape_next_due(const struct collector *c); /* not set: never */
/* Behind a change of pools: what goes, goes. */
void collector_scrape_end_gone(struct collector *c);
void collector_scrape_set_due(struct slot *s);

/* --- collector_sources.c --- */

struct source_slot {
    struct collector_source plan;
    struct source_thread *thread;
    struct present live;
    mono_t due;
    bool is_hanging, has_said;
    enum source_state state;
    char words[480];
    int64_t t_ms;
    size_t n_samples;
};
int collector_sources_start(struct collector *c, const struct collector_plan *plan) WARN_UNUSED;
bool collector_sources_end(struct collector *c); /* as collector_stop */
void collector_sources_due(struct collector *c, mono_t now);
mono_t collector_sources_next_due(const struct collector *c);

/* --- collector.c --- */

struct collector {
    collector_write write;
    void *ctx;
    struct web *web;
    struct feeds *feeds;
    pthread_t thread;
    bool has_thread;
    atomic_bool is_closing;
    char instance[256]; /* this machine */

    pthread_mutex_t lock;
    pthread_cond_t turned;
    struct scrape_file **next_files; /* the plan that waits */
    size_t n_next_files;
    bool has_next;
    struct pool *pools;
    size_t n_pools;
    struct slot **slots;
    size_t n_slots, cap_slots;
    struct slot **slot_buckets; /* cap_slots of them, by hash: a power of two */
    struct source_slot *sources;
    size_t n_sources;
    bool is_turn_asked, is_turning;
    uint64_t n_turns;
};
void collector_give(struct collector *c, struct batch *b); /* write, or free what is empty */
static inline int64_t collector_wall_ms(void)
{
    return clock_wall().us / 1000;
}

#endif
