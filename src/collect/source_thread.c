/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/source_thread.c - a source asked on its own thread.
 */
#include "collect/source_thread.h"

#include <errno.h>
#include <pthread.h>

#include "base/mem.h"
#include "base/process.h"
#include "collect/deadline.h"

enum phase { PHASE_IDLE, PHASE_ASKED, PHASE_SAID };

struct source_thread {
    const struct source_kind *kind;
    const void *config;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum phase phase;
    bool is_closing;
    int n_refs; /* ours, the thread's */
    void (*wake)(void *ctx);
    void *ctx;
    mono_t since; /* PHASE_ASKED */
    struct source_word word;
    void *source; /* the thread's; NULL: not begun */
};

static void unref(struct source_thread *t)
{
    pthread_mutex_lock(&t->lock);
    bool is_last = --t->n_refs == 0;
    pthread_mutex_unlock(&t->lock);
    if (!is_last)
        return;
    (void)batch_free(t->word.batch);
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
    mem_free(t);
}

/* --- its thread --- */

static void read_source(struct source_thread *t, struct source_word *w)
{
    struct err err = {.text = ""};
    int r = t->source ? 0 : t->kind->begin(t->config, &t->source, &err);

    w->state = r == -ENODEV ? SOURCE_ABSENT : SOURCE_BROKEN;
    if (r == 0)
        r = batch_new(&w->batch);
    if (r == 0)
        w->state = t->kind->read(t->source, w->t_ms, w->batch, &err);
    else if (!err.text[0])
        (void)err_set(&err, r, "%s", err_str(r));
    (void)span_copy(span_cstr(w->state == SOURCE_WORKING ? "" : err.text), w->words,
                    sizeof(w->words));
    if (w->state == SOURCE_ABSENT)
        w->batch = batch_free(w->batch);
}

static bool wait_for_question(struct source_thread *t, struct source_word *w)
{
    pthread_mutex_lock(&t->lock);
    while (t->phase != PHASE_ASKED && !t->is_closing)
        pthread_cond_wait(&t->changed, &t->lock);
    bool is_asked = !t->is_closing;
    *w = (struct source_word){.t_ms = t->word.t_ms};
    pthread_mutex_unlock(&t->lock);
    return is_asked;
}

static void say(struct source_thread *t, struct source_word *w)
{
    pthread_mutex_lock(&t->lock);
    if (t->is_closing) {
        w->batch = batch_free(w->batch);
    } else {
        t->word = *w;
        t->phase = PHASE_SAID;
        t->wake(t->ctx);
    }
    pthread_mutex_unlock(&t->lock);
}

static void *run(void *arg)
{
    struct source_thread *t = arg;
    struct source_word w;

    process_name_thread(t->kind->name);
    while (wait_for_question(t, &w)) {
        read_source(t, &w);
        say(t, &w);
    }
    if (t->source)
        t->kind->end(t->source);
    unref(t);
    return NULL;
}

/* --- the asking side --- */

int source_thread_new(const struct source_kind *kind, const void *config, void (*wake)(void *ctx),
                      void *ctx, struct source_thread **ret)
{
    struct source_thread *t = mem_zalloc(1, sizeof(*t));

    if (!t)
        return -ENOMEM;
    *t = (struct source_thread){
        .kind = kind, .config = config, .n_refs = 2, .wake = wake, .ctx = ctx};
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
    int r = process_start_thread(&t->thread, NULL, run, t);
    if (r < 0) {
        t->n_refs = 1;
        unref(t);
        return r;
    }
    *ret = t;
    return 0;
}

void source_thread_close(struct source_thread *t)
{
    pthread_mutex_lock(&t->lock);
    t->is_closing = true;
    pthread_cond_signal(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

bool source_thread_free(struct source_thread *t, const struct timespec *end)
{
    source_thread_close(t);
    bool is_back = deadline_join(t->thread, end);
    unref(t);
    return is_back;
}

bool source_thread_ask(struct source_thread *t, int64_t t_ms)
{
    pthread_mutex_lock(&t->lock);
    bool is_idle = t->phase == PHASE_IDLE;
    if (is_idle) {
        t->phase = PHASE_ASKED;
        t->since = clock_mono();
        t->word.t_ms = t_ms;
        pthread_cond_signal(&t->changed);
    }
    pthread_mutex_unlock(&t->lock);
    return is_idle;
}

bool source_thread_take(struct source_thread *t, struct source_word *ret)
{
    pthread_mutex_lock(&t->lock);
    bool has_said = t->phase == PHASE_SAID;
    if (has_said) {
        *ret = t->word;
        t->word.batch = NULL;
        t->phase = PHASE_IDLE;
    }
    pthread_mutex_unlock(&t->lock);
    return has_said;
}

mono_t source_thread_busy_since(struct source_thread *t)
{
    pthread_mutex_lock(&t->lock);
    mono_t since = t->phase == PHASE_ASKED ? t->since : MONO_NONE;
    pthread_mutex_unlock(&t->lock);
    return since;
}
