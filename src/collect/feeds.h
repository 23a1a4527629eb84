/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/feeds.h - what jobs have looked up: files on one thread, names on another.
 *
 * Role:      discoveries (discover.h) looked at when they are due; what is new waits to be taken.
 * Ownership: feeds are counted under the lock of feeds; each holds its scrape file.
 * Threading: any thread; wake is called from those that look. One that hangs is left behind.
 */
#ifndef COLLECT_FEEDS_H
#define COLLECT_FEEDS_H

#include "base/clock.h"
#include "collect/discover.h"

enum { FEED_WORDS = 300 };

/* What a file_sd_config or dns_sd_config of a job lists, looked up on a thread of its own. */
struct feed {
    struct scrape_file *file; /* held */
    const struct scrape_job *job;
    const struct scrape_files *files; /* one of the two */
    const struct scrape_dns *dns;
    struct discover *discovery; /* the looking thread's */
    mono_t due;                 /* the same */
    /* under the lock of feeds: */
    int n_refs;
    struct finding *fresh; /* not taken yet */
    bool has_looked;
    char words[FEED_WORDS];
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
struct finding *feed_take(struct feeds *f, struct feed *one, char *words, bool *ret_has_looked);
/* Whether it looks for what a job has there, as often. */
bool feed_is_of(const struct feed *one, const struct scrape_job *job,
                const struct scrape_files *files, const struct scrape_dns *dns);

#endif
