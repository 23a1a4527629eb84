/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/collector.c - the collector's life, its thread, turns.
 */
#include "collect/collector.h"

#include <errno.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "collect/collector_private.h"
#include "collect/deadline.h"

enum { WAIT_MAX_MS = 1000 };

void collector_give(struct collector *c, struct batch *b)
{
    if (b && b->n > 0)
        c->write(c->ctx, b);
    else
        (void)batch_free(b);
}

/* --- turns --- */

static bool has_looked(const struct collector *c)
{
    for (size_t i = 0; i < c->n_pools; i++)
        for (size_t k = 0; k < c->pools[i].n_feeds; k++)
            if (!c->pools[i].feeds[k].has_looked)
                return false;
    return !c->has_next;
}

static void move_turn(struct collector *c)
{
    if (c->is_turn_asked && !c->is_turning && has_looked(c)) {
        c->is_turn_asked = false;
        c->is_turning = true;
        for (size_t i = 0; i < c->n_slots; i++)
            c->slots[i]->is_wanted = c->slots[i]->pool != NULL;
    }
}

static void end_turn(struct collector *c)
{
    if (!c->is_turning)
        return;
    for (size_t i = 0; i < c->n_slots; i++)
        if (c->slots[i]->pool && (c->slots[i]->is_wanted || c->slots[i]->is_busy))
            return;
    c->is_turning = false;
    c->n_turns++;
    pthread_cond_broadcast(&c->turned);
}

int collector_turn(struct collector *c, int64_t timeout_ms)
{
    struct timespec end = deadline_in(timeout_ms * NS_PER_MS);
    int r = 0;

    pthread_mutex_lock(&c->lock);
    uint64_t n = c->n_turns + (c->is_turning ? 2 : 1);
    c->is_turn_asked = true;
    web_wake(c->web);
    while (c->n_turns < n && r == 0)
        r = pthread_cond_timedwait(&c->turned, &c->lock, &end);
    r = c->n_turns >= n ? 0 : -r;
    pthread_mutex_unlock(&c->lock);
    return r;
}

/* --- the thread --- */

static int64_t wait_ms(const struct collector *c, mono_t now)
{
    mono_t dues[] = {collector_scrape_next_due(c), collector_sources_next_due(c)};
    int64_t wait_ns = WAIT_MAX_MS * NS_PER_MS;

    for (size_t i = 0; i < ARRAY_LEN(dues); i++)
        if (mono_is_set(dues[i]) && mono_diff(dues[i], now) < wait_ns)
            wait_ns = mono_diff(dues[i], now);
    return wait_ns <= 0 ? 0 : (wait_ns + NS_PER_MS - 1) / NS_PER_MS;
}

static int64_t turn(struct collector *c)
{
    pthread_mutex_lock(&c->lock);
    mono_t now = clock_mono();
    if (c->has_next && collector_pools_apply(c) < 0)
        LOG_ERROR("no memory for what is to be scraped; tried again");
    collector_pools_take_feeds(c);
    collector_scrape_end_gone(c);
    move_turn(c);
    collector_scrape_due(c, now);
    collector_sources_due(c, now);
    end_turn(c);
    int64_t ms = wait_ms(c, clock_mono());
    pthread_mutex_unlock(&c->lock);
    return ms;
}

static void *run(void *arg)
{
    struct collector *c = arg;

    process_name_thread("collector");
    while (!atomic_load(&c->is_closing))
        web_turn(c->web, turn(c));
    return NULL;
}

/* --- life --- */

static void wake(void *ctx)
{
    web_wake(((struct collector *)ctx)->web);
}

static int set_plan(struct collector *c, const struct collector_plan *plan)
{
    struct scrape_file **files = mem_zalloc(plan->n_files + 1, sizeof(struct scrape_file *));

    if (!files)
        return -ENOMEM;
    for (size_t i = 0; i < plan->n_files; i++)
        files[i] = scrape_file_ref(plan->files[i]);
    pthread_mutex_lock(&c->lock);
    struct scrape_file **old = c->next_files;
    size_t n_old = c->n_next_files;
    c->next_files = files;
    c->n_next_files = plan->n_files;
    c->has_next = true;
    pthread_mutex_unlock(&c->lock);
    for (size_t i = 0; i < n_old; i++)
        scrape_file_unref(old[i]);
    mem_free(old);
    return 0;
}

int collector_configure(struct collector *c, const struct collector_plan *plan)
{
    int r = set_plan(c, plan);

    if (r == 0)
        web_wake(c->web);
    return r;
}

static void name_machine(struct collector *c)
{
    if (gethostname(c->instance, sizeof(c->instance) - 1) < 0 || !c->instance[0])
        (void)span_copy(SPAN("localhost"), c->instance, sizeof(c->instance));
}

static int start(struct collector *c, const struct collector_plan *plan)
{
    int r = web_new(&c->web);

    if (r == 0)
        r = feeds_new(wake, c, &c->feeds);
    if (r == 0)
        r = set_plan(c, plan);
    if (r == 0)
        r = collector_sources_start(c, plan);
    if (r == 0)
        r = process_start_thread(&c->thread, NULL, run, c);
    c->has_thread = r == 0;
    return r;
}

int collector_new(const struct collector_plan *plan, collector_write write, void *ctx,
                  struct collector **ret, struct err *reterr)
{
    struct collector *c = mem_zalloc(1, sizeof(*c));
    pthread_condattr_t attr;

    if (!c)
        return err_set(reterr, -ENOMEM, "no memory for the collector");
    c->write = write;
    c->ctx = ctx;
    atomic_init(&c->is_closing, false);
    name_machine(c);
    pthread_mutex_init(&c->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&c->turned, &attr);
    pthread_condattr_destroy(&attr);
    int r = start(c, plan);
    if (r < 0) {
        (void)collector_free(c);
        return err_set(reterr, r, "the collector could not be started: %s", err_str(r));
    }
    *ret = c;
    return 0;
}

bool collector_stop(struct collector *c)
{
    atomic_store(&c->is_closing, true);
    if (c->has_thread) {
        web_wake(c->web);
        pthread_join(c->thread, NULL);
        c->has_thread = false;
    }
    return collector_sources_end(c);
}

struct collector *collector_free(struct collector *c)
{
    if (!c)
        return NULL;
    (void)collector_stop(c);
    feeds_stop(c->feeds); /* nobody wakes us any more */
    c->web = web_free(c->web);
    collector_pools_free(c);
    c->feeds = feeds_free(c->feeds);
    pthread_cond_destroy(&c->turned);
    pthread_mutex_destroy(&c->lock);
    mem_free(c);
    return NULL;
}
