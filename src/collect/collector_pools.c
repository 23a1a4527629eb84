/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/collector_pools.c - targets of jobs, made anew when a file changed, a plan, or what is
 * discovered; those that are the same keep their slot.
 */
#include <errno.h>

#include "base/log.h"
#include "base/mem.h"
#include "collect/collector_private.h"

/* --- targets of a pool --- */

static int drop(struct pool *pool, struct span address, struct labels group, struct labels meta)
{
    pool->n_dropped_all++;
    if (pool->n_dropped == POOL_DROPPED_MAX)
        return 0;
    if (!pool->dropped)
        pool->dropped = arena_array(&pool->arena, POOL_DROPPED_MAX, sizeof(*pool->dropped));
    if (!pool->dropped)
        return -ENOMEM;
    int r = target_discover(pool->job, address, group, meta, &pool->arena,
                            &pool->dropped[pool->n_dropped]);
    pool->n_dropped += r == 0;
    return r;
}

static int add_target(struct collector *c, struct pool *pool, struct span address,
                      struct labels group, struct labels meta)
{
    struct err err = {.text = ""};
    struct target *t;
    int r = target_new(pool->job, address, group, meta, &t, &err);

    if (r == 1)
        return drop(pool, address, group, meta);
    if (r == -EINVAL) {
        if (pool->n_bad++ == 0)
            (void)span_copy(span_cstr(err.text), pool->words, sizeof(pool->words));
        return 0;
    }
    if (r < 0)
        return r;
    uint64_t hash = target_hash(t);
    struct slot *s = collector_slot_find(c, t, hash);
    if (s && s->is_claimed) { /* the same twice */
        (void)target_free(t);
        return 0;
    }
    pool->n_targets++;
    if (!s) {
        r = collector_slot_add(c, t, hash, pool);
        if (r < 0)
            (void)target_free(t);
        return r;
    }
    s->is_claimed = true;
    s->pool = pool;
    collector_slot_put(s, t, pool->file);
    return 0;
}

static int fill_pool(struct collector *c, struct pool *pool)
{
    const struct scrape_job *j = pool->job;
    struct labels none = {NULL, 0};
    int r = 0;

    pool->n_targets = pool->n_bad = pool->n_dropped = pool->n_dropped_all = 0;
    pool->dropped = NULL;
    pool->words[0] = '\0';
    arena_done(&pool->arena);
    for (size_t i = 0; i < j->n_groups && r == 0; i++)
        for (size_t k = 0; k < j->groups[i].n && r == 0; k++)
            r = add_target(c, pool, j->groups[i].addresses[k], j->groups[i].labels, none);
    for (size_t i = 0; i < pool->n_feeds && r == 0; i++) {
        const struct finding *f = pool->feeds[i].finding;
        for (size_t k = 0; f && k < f->n && r == 0; k++)
            r = add_target(c, pool, f->at[k].address, f->at[k].group, f->at[k].meta);
    }
    pool->is_over_limit = j->limits.targets > 0 && pool->n_targets > j->limits.targets;
    if (pool->n_bad > 0)
        LOG_WARN("job \"%.*s\": %zu targets are left out: %s", SPAN_ARG(j->name), pool->n_bad,
                 pool->words);
    if (pool->is_over_limit)
        LOG_WARN("job \"%.*s\" has %zu targets, above its target_limit: none is scraped",
                 SPAN_ARG(j->name), pool->n_targets);
    return r;
}

/* --- pools --- */

static void pool_done(struct collector *c, struct pool *pool)
{
    for (size_t i = 0; i < pool->n_feeds; i++) {
        pool->feeds[i].finding = finding_unref(pool->feeds[i].finding);
        pool->feeds[i].feed = feed_unref(c->feeds, pool->feeds[i].feed);
    }
    mem_free(pool->feeds);
    pool->file = scrape_file_unref(pool->file);
    arena_done(&pool->arena);
}

static void free_pools(struct collector *c, struct pool *pools, size_t n)
{
    for (size_t i = 0; i < n; i++)
        pool_done(c, &pools[i]);
    mem_free(pools);
}

static bool has_feed(const struct pool *pool, const struct feed *feed)
{
    for (size_t i = 0; i < pool->n_feeds; i++)
        if (pool->feeds[i].feed == feed)
            return true;
    return false;
}

/* One that is there already goes on with what it knows; of two that are alike each has its own. */
static bool take_over(struct collector *c, const struct pool *pool,
                      const struct scrape_files *files, const struct scrape_dns *dns,
                      struct pool_feed *ret)
{
    for (size_t i = 0; i < c->n_pools; i++)
        for (size_t k = 0; k < c->pools[i].n_feeds; k++) {
            const struct pool_feed *old = &c->pools[i].feeds[k];
            if (!feed_is_of(old->feed, pool->job, files, dns) || has_feed(pool, old->feed))
                continue;
            *ret = *old;
            (void)feed_ref(c->feeds, old->feed);
            if (old->finding)
                (void)finding_ref(old->finding);
            return true;
        }
    return false;
}

static int pool_init(struct collector *c, struct pool *pool, struct scrape_file *file,
                     const struct scrape_job *job)
{
    size_t n = job->n_files + job->n_dns;

    *pool = (struct pool){.file = scrape_file_ref(file), .job = job};
    arena_init(&pool->arena, NULL);
    pool->feeds = mem_zalloc(n + 1, sizeof(*pool->feeds));
    if (!pool->feeds)
        return -ENOMEM;
    for (; pool->n_feeds < n; pool->n_feeds++) {
        size_t i = pool->n_feeds;
        const struct scrape_files *files = i < job->n_files ? &job->files[i] : NULL;
        const struct scrape_dns *dns = files ? NULL : &job->dns[i - job->n_files];
        if (take_over(c, pool, files, dns, &pool->feeds[i]))
            continue;
        int r = feed_new(file, job, files, dns, &pool->feeds[i].feed);
        if (r < 0)
            return r;
    }
    return 0;
}

static int make_pools(struct collector *c, struct pool **ret, size_t *ret_n)
{
    struct pool *pools;
    size_t n = 0, n_made = 0;
    int r = 0;

    for (size_t i = 0; i < c->n_next_files; i++)
        n += c->next_files[i]->n;
    pools = mem_zalloc(n + 1, sizeof(*pools));
    if (!pools)
        return -ENOMEM;
    for (size_t i = 0; i < c->n_next_files && r == 0; i++)
        for (size_t k = 0; k < c->next_files[i]->n && r == 0; k++)
            r = pool_init(c, &pools[n_made++], c->next_files[i], &c->next_files[i]->jobs[k]);
    if (r < 0) {
        free_pools(c, pools, n_made);
        return r;
    }
    *ret = pools;
    *ret_n = n_made;
    return 0;
}

static int set_feeds(struct collector *c, const struct pool *pools, size_t n)
{
    struct feed **list;
    size_t n_feeds = 0;

    for (size_t i = 0; i < n; i++)
        n_feeds += pools[i].n_feeds;
    list = mem_zalloc(n_feeds + 1, sizeof(struct feed *));
    if (!list)
        return -ENOMEM;
    n_feeds = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < pools[i].n_feeds; k++)
            list[n_feeds++] = pools[i].feeds[k].feed;
    int r = feeds_set(c->feeds, list, n_feeds);
    mem_free(list);
    return r;
}

static void forget_plan(struct collector *c)
{
    for (size_t i = 0; i < c->n_next_files; i++)
        scrape_file_unref(c->next_files[i]);
    mem_free(c->next_files);
    c->next_files = NULL;
    c->n_next_files = 0;
    c->has_next = false;
}

int collector_pools_apply(struct collector *c)
{
    struct pool *pools = NULL, *old = c->pools;
    size_t n = 0, n_old = c->n_pools;
    int r = make_pools(c, &pools, &n);

    if (r == 0)
        r = set_feeds(c, pools, n);
    if (r < 0) {
        free_pools(c, pools, n);
        return r;
    }
    for (size_t i = 0; i < c->n_slots; i++) {
        c->slots[i]->is_claimed = false;
        c->slots[i]->pool = NULL;
    }
    c->pools = pools;
    c->n_pools = n;
    for (size_t i = 0; i < n && r == 0; i++)
        r = fill_pool(c, &pools[i]);
    free_pools(c, old, n_old);
    if (r == 0)
        forget_plan(c);
    return r;
}

static bool take_pool_feeds(struct collector *c, struct pool *pool)
{
    bool is_changed = false;

    for (size_t i = 0; i < pool->n_feeds; i++) {
        struct pool_feed *pf = &pool->feeds[i];
        char words[FEED_WORDS];
        struct finding *fresh = feed_take(c->feeds, pf->feed, words, &pf->has_looked);
        if (words[0] && strcmp(words, pf->words) != 0)
            LOG_WARN("job \"%.*s\": %s", SPAN_ARG(pool->job->name), words);
        memcpy(pf->words, words, sizeof(words));
        if (!fresh)
            continue;
        (void)finding_unref(pf->finding);
        pf->finding = fresh;
        is_changed = true;
    }
    return is_changed;
}

void collector_pools_take_feeds(struct collector *c)
{
    for (size_t i = 0; i < c->n_pools; i++) {
        struct pool *pool = &c->pools[i];
        if (!take_pool_feeds(c, pool))
            continue;
        for (size_t k = 0; k < c->n_slots; k++) /* those that are gone may come back */
            c->slots[k]->is_claimed = c->slots[k]->pool && c->slots[k]->pool != pool;
        if (fill_pool(c, pool) < 0) {
            LOG_ERROR("no memory for the targets of job \"%.*s\"", SPAN_ARG(pool->job->name));
            continue; /* those that are there stay */
        }
        for (size_t k = 0; k < c->n_slots; k++)
            if (!c->slots[k]->is_claimed)
                c->slots[k]->pool = NULL;
    }
}

void collector_pools_free(struct collector *c)
{
    forget_plan(c);
    free_pools(c, c->pools, c->n_pools);
    collector_slots_free(c);
}
