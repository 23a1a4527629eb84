/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/collector_private.h - between the files of the collector.
 *
 * Role:      collector.c is its life and its thread; collector_pools.c makes targets of jobs and
 *            keeps those that stay; collector_scrape.c scrapes them; collector_feeds.c looks files
 *            and names up; collector_sources.c asks sources; collector_write.c tells about all.
 * Locking:   `lock` is over what others read: pools, slots, sources' words, the plan that waits.
 * Only the collector's thread changes slots and pools, and it is never held while a request, a disk
 * or write is waited for.
 */
#ifndef COLLECT_COLLECTOR_PRIVATE_H
#define COLLECT_COLLECTOR_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "collect/collector.h"
#include "collect/discover.h"
#include "collect/live.h"
#include "collect/source_thread.h"
#include "web/web.h"

/* --- collector_feeds.c --- */

/* What a file_sd_config or dns_sd_config of a job lists, looked up on a thread of its own. */
struct feed {
    struct scrape_file *file; /* held */
    const struct scrape_job *job;
    const struct scrape_files *files; /* one of the two */
    const struct scrape_dns *dns;
    struct discovery *discovery; /* the looking thread's */
    mono_t due;                  /* the same */
    /* under the lock of feeds: */
    int n_refs;
    struct finding *fresh; /* not taken yet */
    bool has_looked;
    char words[300];
};
struct feeds;
/* wake: something is fresh. */
int feeds_new(void (*wake)(void *ctx), void *ctx, struct feeds **ret) WARN_UNUSED;
/* wake is not called any more. Twice is fine; NULL is allowed. */
void feeds_stop(struct feeds *f);
struct feeds *feeds_free(struct feeds *f); /* NULL is allowed; returns NULL */
int feed_new(struct scrape_file *file, const struct scrape_job *job,
             const struct scrape_files *files, const struct scrape_dns *dns,
             struct feed **ret) WARN_UNUSED;
struct feed *feed_ref(struct feeds *f, struct feed *one);
struct feed *feed_unref(struct feeds *f, struct feed *one); /* NULL is allowed; returns NULL */
/* From now on those are looked at; the list is copied. */
int feeds_set(struct feeds *f, struct feed *const *list, size_t n) WARN_UNUSED;
/* What is fresh (the caller's), or NULL; words: FEED_WORDS bytes. */
enum { FEED_WORDS = 300 };
struct finding *feed_take(struct feeds *f, struct feed *one, char *words, bool *ret_has_looked);
/* Whether it looks for what a job has there, as often. */
bool feed_is_of(const struct feed *one, const struct scrape_job *job,
                const struct scrape_files *files, const struct scrape_dns *dns);

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
    struct pool *pool; /* NULL: it is not to be scraped any more */
    uint64_t hash;
    bool is_claimed; /* while targets are made anew */
    bool is_busy;
    bool is_wanted; /* for a turn */
    mono_t due;
    int64_t t_ms; /* of the request under way */
    struct web_request request;
};
int pools_apply(struct collector *c) WARN_UNUSED; /* the plan that waits */
void pools_take_feeds(struct collector *c);       /* findings that are fresh */
void pools_free(struct collector *c);
void slot_free(struct slot *s);

/* --- collector_scrape.c --- */

void scrape_due(struct collector *c, mono_t now);
mono_t scrape_next_due(const struct collector *c); /* not set: never */
/* Behind a change of pools: what goes, goes. */
void scrape_end_gone(struct collector *c);
void scrape_set_due(struct slot *s);

/* --- collector_sources.c --- */

struct source_slot {
    struct collector_source plan;
    struct source_thread *thread;
    struct live live;
    mono_t due;
    bool is_hanging, has_said;
    enum source_state state;
    char words[480];
    int64_t t_ms;
    size_t n_samples;
};
int sources_start(struct collector *c, const struct collector_plan *plan) WARN_UNUSED;
void sources_free(struct collector *c);
void sources_due(struct collector *c, mono_t now);
mono_t sources_next_due(const struct collector *c);

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
