/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/check.c - what happens when a statement about our own code turns out to be false.
 *
 * The counted form runs on the data plane, possibly on several threads at once. It should never
 * run at all, so a mutex around the remembered place costs nothing.
 */
#include "base/check.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/stat.h"

enum { CHECK_TEXT_BYTES = 512 };

static pthread_mutex_t last_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    const char *what;
    const char *file;
    int line;
} last;

void check_abort(const char *what, const char *file, int line)
{
    /* Not the log: its queue may be what is broken, and abort() would lose the line. Not dprintf:
     * it allocates, and the heap may be what is broken. */
    char text[CHECK_TEXT_BYTES];
    int n = snprintf(text, sizeof(text), "%s:%d: check failed: %s\n", file, line, what);
    if (n > 0) {
        size_t len = (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1;
        ssize_t written = write(STDERR_FILENO, text, len);
        (void)written;
    }
    abort();
}

void check_count(const char *what, const char *file, int line)
{
    stat_inc(STAT_INTERNAL_ERRORS);
    pthread_mutex_lock(&last_lock);
    last.what = what;
    last.file = file;
    last.line = line;
    pthread_mutex_unlock(&last_lock);
}

bool check_last(char *dst, size_t cap)
{
    pthread_mutex_lock(&last_lock);
    bool is_set = last.what != NULL;
    if (is_set)
        (void)snprintf(dst, cap, "%s:%d: %s", last.file, last.line, last.what);
    pthread_mutex_unlock(&last_lock);
    return is_set;
}
