/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/log.c - lines for the operator.
 *
 * The text is formatted on the caller's stack; only a finished line goes to the heap, and only
 * while the writer thread runs. Losing a line is always preferred to waiting for a terminal: the
 * writer is the only thread that may block on standard error, and log_stop gives up on it after
 * LOG_STOP_WAIT_S rather than keep the process alive.
 */
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/queue.h"
#include "base/span.h"
#include "base/stat.h"

enum {
    LOG_LINE_BYTES = 1024,
    LOG_TAIL_BYTES = 40, /* of these, kept for the suppression note and the newline */
    LOG_QUEUE_LINES = 1024,
    LOG_LINES_PER_WINDOW = 10, /* per call site */
    LOG_STOP_WAIT_MS = 2000,
    LOG_WRITE_WAIT_MS = 1000, /* for a non-blocking standard error that is full */
};
#define LOG_WINDOW_NS NS_PER_S

static const char *const level_names[] = {
    [LOG_LEVEL_ERROR] = "error",
    [LOG_LEVEL_WARN] = "warn",
    [LOG_LEVEL_INFO] = "info",
    [LOG_LEVEL_DEBUG] = "debug",
};

static enum log_level max_level = LOG_LEVEL_INFO; /* accessed with __atomic */

/* Guards the queue pointer against log_stop; held for a push, never while writing. */
static pthread_mutex_t writer_lock = PTHREAD_MUTEX_INITIALIZER;
static struct queue *writer_queue; /* NULL: lines are written by the caller */
static pthread_t writer_thread;
static int writer_done_fd; /* eventfd: the writer has written everything */

void log_level_set(enum log_level level)
{
    __atomic_store_n(&max_level, level, __ATOMIC_RELAXED);
}

int log_level_parse(const char *name, enum log_level *ret_level)
{
    for (size_t i = 0; i < ARRAY_LEN(level_names); i++) {
        if (strcmp(name, level_names[i]) == 0) {
            *ret_level = (enum log_level)i;
            return 0;
        }
    }
    return -EINVAL;
}

static void write_line(const char *p, size_t n)
{
    while (n > 0) {
        ssize_t r = write(STDERR_FILENO, p, n);
        if (r >= 0) {
            p += r;
            n -= (size_t)r;
        } else if (errno == EAGAIN) {
            struct pollfd pfd = {.fd = STDERR_FILENO, .events = POLLOUT};
            if (poll(&pfd, 1, LOG_WRITE_WAIT_MS) > 0)
                continue;
            stat_inc(STAT_DROP_LOG_LINES);
            return;
        } else if (errno != EINTR) {
            stat_inc(STAT_DROP_LOG_LINES); /* nowhere to report it to */
            return;
        }
    }
}

static void *writer_main(void *arg)
{
    struct queue *q = arg;
    process_name_thread("log");
    while (!queue_is_done(q)) {
        char *line = queue_pop(q);
        if (!line) {
            queue_wait(q, -1);
            continue;
        }
        write_line(line, strlen(line));
        mem_free(line);
    }
    uint64_t one = 1;
    ssize_t n = write(writer_done_fd, &one, sizeof(one));
    (void)n; /* log_stop then waits its time */
    return NULL;
}

int log_start(struct err *reterr)
{
    struct queue *q;
    int r = queue_new(LOG_QUEUE_LINES, &q);
    if (r < 0)
        return err_set(reterr, r, "could not create the log queue: %s", err_str(r));

    writer_done_fd = eventfd(0, EFD_CLOEXEC);
    r = writer_done_fd < 0 ? -errno : process_start_thread(&writer_thread, NULL, writer_main, q);
    if (r < 0) {
        if (writer_done_fd >= 0)
            close(writer_done_fd);
        queue_free(q, NULL);
        return err_set(reterr, r, "could not start the log thread: %s", err_str(r));
    }
    pthread_mutex_lock(&writer_lock);
    writer_queue = q;
    pthread_mutex_unlock(&writer_lock);
    return 0;
}

void log_stop(void)
{
    pthread_mutex_lock(&writer_lock);
    struct queue *q = writer_queue;
    writer_queue = NULL;
    pthread_mutex_unlock(&writer_lock);
    if (!q)
        return;
    queue_close(q);
    struct pollfd done = {.fd = writer_done_fd, .events = POLLIN};
    if (poll(&done, 1, LOG_STOP_WAIT_MS) != 1) {
        /* Standard error is blocked. The writer keeps the queue; the process is about to end. */
        pthread_detach(writer_thread);
        return;
    }
    pthread_join(writer_thread, NULL);
    close(writer_done_fd);
    queue_free(q, mem_free);
}

/*
 * Decides whether a call site may speak. *ret_n_suppressed: lines withheld in earlier windows, to
 * be told now. Several threads may pass here at once; losing a count among them is harmless, so
 * the fields are relaxed atomics and no lock is taken.
 */
static bool site_admit(struct log_site *site, uint32_t *ret_n_suppressed)
{
    int64_t now_ns = clock_mono().ns;
    int64_t window_ns = __atomic_load_n(&site->_window_ns, __ATOMIC_RELAXED);
    *ret_n_suppressed = 0;
    if (window_ns == 0 || now_ns - window_ns >= LOG_WINDOW_NS) {
        __atomic_store_n(&site->_window_ns, now_ns, __ATOMIC_RELAXED);
        __atomic_store_n(&site->_n_in_window, 1, __ATOMIC_RELAXED);
        *ret_n_suppressed = __atomic_exchange_n(&site->_n_suppressed, 0, __ATOMIC_RELAXED);
        return true;
    }
    if (__atomic_add_fetch(&site->_n_in_window, 1, __ATOMIC_RELAXED) <= LOG_LINES_PER_WINDOW)
        return true;
    __atomic_add_fetch(&site->_n_suppressed, 1, __ATOMIC_RELAXED);
    return false;
}

/* A line stays one line, and a peer's text cannot drive the terminal. */
static void blank_controls(char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)p[i];
        if (c < 0x20 || c == 0x7f)
            p[i] = '?';
    }
}

/* The number of bytes that vsnprintf has put into a buffer with cap bytes. */
static size_t n_written(int r, size_t cap)
{
    if (r < 0)
        return 0;
    return (size_t)r < cap ? (size_t)r : cap - 1;
}

static size_t format_prefix(char *dst, size_t cap, enum log_level level, const char *module)
{
    int64_t us = clock_wall().us;
    time_t seconds = (time_t)(us / (NS_PER_S / NS_PER_US));
    int ms = (int)(us / 1000 % 1000);
    struct tm tm;
    char date[32];
    gmtime_r(&seconds, &tm);
    size_t n = strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
    date[n] = '\0';
    return n_written(snprintf(dst, cap, "%s.%03dZ %s %s: ", date, ms, level_names[level], module),
                     cap);
}

static void deliver(const char *line, size_t n)
{
    pthread_mutex_lock(&writer_lock);
    struct queue *q = writer_queue;
    if (q) {
        char *copy = mem_strndup(line, n);
        if (!copy || queue_push(q, copy) < 0) {
            mem_free(copy);
            stat_inc(STAT_DROP_LOG_LINES);
        }
    }
    pthread_mutex_unlock(&writer_lock);
    if (!q)
        write_line(line, n);
}

void log_write(struct log_site *site, enum log_level level, const char *module, const char *fmt,
               ...)
{
    uint32_t n_suppressed;
    if (level > __atomic_load_n(&max_level, __ATOMIC_RELAXED) || !site_admit(site, &n_suppressed))
        return;

    char line[LOG_LINE_BYTES];
    size_t cap = sizeof(line) - LOG_TAIL_BYTES;
    size_t n = format_prefix(line, cap, level, module);
    va_list args;
    va_start(args, fmt);
    n += n_written(vsnprintf(line + n, cap - n, fmt, args), cap - n);
    va_end(args);
    blank_controls(line, n);
    if (n_suppressed > 0)
        n +=
            n_written(snprintf(line + n, LOG_TAIL_BYTES - 1, " (%u more suppressed)", n_suppressed),
                      LOG_TAIL_BYTES - 1);
    line[n++] = '\n';
    deliver(line, n);
}
