/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/source_thread.h - a thread of a source's own, since drivers and brokers hang.
 *
 * Role:      begins the source when it is asked first (and again while that fails), reads it each
 *            time it is asked, holds what it said until that is taken.
 * Hanging:   one that has not come back is not asked again, and is left behind at the end: its
 *            memory lives as long as its thread.
 * Threading: source_thread_* from one thread; wake is called from the source's.
 */
#ifndef COLLECT_SOURCE_THREAD_H
#define COLLECT_SOURCE_THREAD_H

#include <stdbool.h>
#include <time.h>

#include "base/clock.h"
#include "collect/source.h"

struct source_thread;
int source_thread_new(const struct source_kind *kind, const void *config, void (*wake)(void *ctx),
                      void *ctx, struct source_thread **ret) WARN_UNUSED;
/* It is to end; nothing is waited for. */
void source_thread_close(struct source_thread *t);
/* Closes it, and waits until end at most. False: it is left behind, and goes on with its config. */
bool source_thread_free(struct source_thread *t, const struct timespec *end);

/* false: it has not come back from the last time. */
bool source_thread_ask(struct source_thread *t, int64_t t_ms);

struct source_word {
    enum source_state state;
    char words[480];     /* why; "" when it works */
    int64_t t_ms;        /* as asked */
    struct batch *batch; /* the caller's; also what a broken one can tell. NULL: nothing */
};
/* What it said since it was asked: true, once. */
bool source_thread_take(struct source_thread *t, struct source_word *ret);
mono_t source_thread_busy_since(struct source_thread *t); /* not set: it is not */

#endif
