/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/feeds.c - two threads that look, one at files and one in DNS, so that a name
 * server that hangs keeps no file waiting.
 */
#include "collect/feeds.h"

#include <errno.h>
#include <pthread.h>

#include "base/mem.h"
#include "base/process.h"
#include "collect/deadline.h"

enum { KIND_FILES, KIND_DNS, KIND_COUNT_, END_MS = 2000, RETRY_MS = 1000 };

struct feed_list {
    struct feed **at;
    size_t n;
};
struct feeds {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t threads[KIND_COUNT_];
    size_t n_threads; /* the owner's */
    int n_refs;       /* ours, the threads' */
    bool is_closing;
    struct feed_list lists[KIND_COUNT_];
    void (*wake)(void *ctx);
    void *ctx;
};
struct looker {
    struct feeds *feeds;
    int kind;
};

/* --- feeds --- */

static void feed_free(struct feed *one)
{
    one->discovery = discover_free(one->discovery);
    one->fresh = finding_unref(one->fresh);
    one->file = scrape_file_unref(one->file);
    mem_free(one);
}

int feed_new(struct scrape_file *file, const struct scrape_job *job,
             const struct scrape_files *files, const struct scrape_dns *dns, struct feed **ret)
{
    struct feed *one = mem_zalloc(1, sizeof(*one));

    if (!one)
        return -ENOMEM;
    *one = (struct feed){
        .file = scrape_file_ref(file), .job = job, .files = files, .dns = dns, .n_refs = 1};
    int r =
        files ? discover_of_files(files, &one->discovery) : discover_of_dns(dns, &one->discovery);
    if (r < 0) {
        feed_free(one);
        return r;
    }
    *ret = one;
    return 0;
}

/* Under the lock. */
static void let_go(struct feed *one)
{
    if (--one->n_refs == 0)
        feed_free(one);
}

struct feed *feed_ref(struct feeds *f, struct feed *one)
{
    pthread_mutex_lock(&f->lock);
    one->n_refs++;
    pthread_mutex_unlock(&f->lock);
    return one;
}

struct feed *feed_unref(struct feeds *f, struct feed *one)
{
    if (!one)
        return NULL;
    pthread_mutex_lock(&f->lock);
    let_go(one);
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

struct finding *feed_take(struct feeds *f, struct feed *one, char *words, bool *ret_has_looked)
{
    pthread_mutex_lock(&f->lock);
    struct finding *fresh = one->fresh;
    one->fresh = NULL;
    *ret_has_looked = one->has_looked;
    memcpy(words, one->words, sizeof(one->words));
    pthread_mutex_unlock(&f->lock);
    return fresh;
}

static bool is_same_list(const struct span *a, size_t n_a, const struct span *b, size_t n_b)
{
    if (n_a != n_b)
        return false;
    for (size_t i = 0; i < n_a; i++)
        if (!span_eq(a[i], b[i]))
            return false;
    return true;
}

bool feed_is_of(const struct feed *one, const struct scrape_job *job,
                const struct scrape_files *files, const struct scrape_dns *dns)
{
    if (!one->files != !files || !span_eq(one->job->name, job->name))
        return false;
    if (files)
        return one->files->refresh_ms == files->refresh_ms &&
               is_same_list(one->files->patterns, one->files->n, files->patterns, files->n);
    return one->dns->type == dns->type && one->dns->port == dns->port &&
           one->dns->refresh_ms == dns->refresh_ms &&
           is_same_list(one->dns->names, one->dns->n, dns->names, dns->n);
}

/* --- looking --- */

/* Under the lock: the one that is due first; NULL: none. */
static struct feed *first_due(const struct feed_list *l)
{
    struct feed *first = NULL;

    for (size_t i = 0; i < l->n; i++)
        if (!first || l->at[i]->due.ns < first->due.ns)
            first = l->at[i];
    return first;
}

static void wait_until(struct feeds *f, const struct feed *first, mono_t now)
{
    if (!first) {
        pthread_cond_wait(&f->changed, &f->lock);
        return;
    }
    struct timespec end = deadline_in(mono_diff(first->due, now));
    pthread_cond_timedwait(&f->changed, &f->lock, &end);
}

/* Under the lock, but for the look itself. */
static void look(struct feeds *f, struct feed *one)
{
    struct finding *found = NULL;

    one->n_refs++;
    pthread_mutex_unlock(&f->lock);
    int r = discover_look(one->discovery, &found);
    pthread_mutex_lock(&f->lock);
    int64_t wait_ms = r < 0 ? RETRY_MS : discover_refresh_ms(one->discovery);
    one->due = mono_add(clock_mono(), wait_ms * NS_PER_MS);
    bool is_news = r == 1 || !one->has_looked || strcmp(one->words, discover_words(one->discovery));
    (void)span_copy(span_cstr(discover_words(one->discovery)), one->words, sizeof(one->words));
    one->has_looked = one->has_looked || r >= 0;
    if (r == 1) {
        (void)finding_unref(one->fresh);
        one->fresh = found;
    }
    let_go(one);
    if (is_news && f->wake)
        f->wake(f->ctx);
}

static void unref(struct feeds *f)
{
    bool is_last = --f->n_refs == 0;

    if (is_last)
        for (int k = 0; k < KIND_COUNT_; k++) {
            for (size_t i = 0; i < f->lists[k].n; i++)
                let_go(f->lists[k].at[i]);
            mem_free(f->lists[k].at);
        }
    pthread_mutex_unlock(&f->lock);
    if (!is_last)
        return;
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->lock);
    mem_free(f);
}

static void *run(void *arg)
{
    struct looker looker = *(struct looker *)arg;
    struct feeds *f = looker.feeds;

    mem_free(arg);
    process_name_thread(looker.kind == KIND_FILES ? "target files" : "target names");
    pthread_mutex_lock(&f->lock);
    while (!f->is_closing) {
        mono_t now = clock_mono();
        struct feed *first = first_due(&f->lists[looker.kind]);
        if (first && first->due.ns <= now.ns)
            look(f, first);
        else
            wait_until(f, first, now);
    }
    unref(f);
    return NULL;
}

/* --- life --- */

static int start(struct feeds *f, int kind)
{
    struct looker *looker = mem_zalloc(1, sizeof(*looker));

    if (!looker)
        return -ENOMEM;
    *looker = (struct looker){f, kind};
    pthread_mutex_lock(&f->lock);
    int r = process_start_thread(&f->threads[kind], NULL, run, looker);
    f->n_threads += r == 0;
    f->n_refs += r == 0;
    pthread_mutex_unlock(&f->lock);
    if (r < 0)
        mem_free(looker);
    return r;
}

int feeds_new(void (*wake)(void *ctx), void *ctx, struct feeds **ret)
{
    struct feeds *f = mem_zalloc(1, sizeof(*f));
    pthread_condattr_t attr;
    int r = 0;

    if (!f)
        return -ENOMEM;
    f->wake = wake;
    f->ctx = ctx;
    f->n_refs = 1;
    pthread_mutex_init(&f->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&f->changed, &attr);
    pthread_condattr_destroy(&attr);
    for (int k = 0; k < KIND_COUNT_ && r == 0; k++)
        r = start(f, k);
    if (r < 0)
        f = feeds_free(f);
    *ret = f;
    return r;
}

void feeds_stop(struct feeds *f)
{
    if (!f)
        return;
    pthread_mutex_lock(&f->lock);
    f->is_closing = true;
    f->wake = NULL;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
    struct timespec end = deadline_in(END_MS * NS_PER_MS);
    for (; f->n_threads > 0; f->n_threads--)
        deadline_join(f->threads[f->n_threads - 1], &end);
}

struct feeds *feeds_free(struct feeds *f)
{
    if (!f)
        return NULL;
    feeds_stop(f);
    pthread_mutex_lock(&f->lock);
    unref(f);
    return NULL;
}

int feeds_set(struct feeds *f, struct feed *const *list, size_t n)
{
    struct feed_list lists[KIND_COUNT_], old[KIND_COUNT_];

    for (int k = 0; k < KIND_COUNT_; k++)
        lists[k] = (struct feed_list){mem_zalloc(n + 1, sizeof(struct feed *)), 0};
    if (!lists[KIND_FILES].at || !lists[KIND_DNS].at) {
        mem_free(lists[KIND_FILES].at);
        mem_free(lists[KIND_DNS].at);
        return -ENOMEM;
    }
    pthread_mutex_lock(&f->lock);
    for (size_t i = 0; i < n; i++) {
        struct feed_list *l = &lists[list[i]->files ? KIND_FILES : KIND_DNS];
        list[i]->n_refs++;
        l->at[l->n++] = list[i];
    }
    memcpy(old, f->lists, sizeof(old));
    memcpy(f->lists, lists, sizeof(lists));
    for (int k = 0; k < KIND_COUNT_; k++) {
        for (size_t i = 0; i < old[k].n; i++)
            let_go(old[k].at[i]);
        mem_free(old[k].at);
    }
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
    return 0;
}
