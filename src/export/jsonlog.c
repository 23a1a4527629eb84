/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export/jsonlog.c - queue -> batch of lines -> write(2).
 *
 * The thread lingers LINGER_MS after the first record of a batch, and between batches: under load
 * it wakes only so often, each time for many lines, and the bell of the queue does not ring at all,
 * because nobody looked into it and found it empty.
 *
 * A batch stays until it is written; `n_written` may point into a line. While the file refuses it,
 * records are taken from the queue all the same: on_record sees them, and up to a capacity of them
 * are held until their lines are made. On a changed file n_written goes back to the start of its
 * line, unless the old file still takes the rest of it.
 */
#include "export/jsonlog.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/queue.h"
#include "base/stat.h"
#include "export/row_pool.h"

enum {
    BATCH_RECORDS = 512,
    BATCH_BYTES_MAX = 1024 * 1024,
    LINGER_MS = 50,
    POLL_MS = 20, /* for a pipe that takes no more */
    RETRY_MS = 500,
    IDLE_MS = 1000,
    GIVE_UP_MS = 2000, /* at the end, when the disk takes nothing */
    FILE_MODE = 0640,
    TORN_LOOKS = 20, /* until it has stopped growing */
    TORN_PAUSE_MS = 20,
};

struct jsonlog {
    struct queue *queue;
    struct row_pool rows;
    char *path; /* "": no file, and fd is -1 */
    void (*on_line)(void *arg, struct span line);
    void *on_line_arg;
    void (*on_record)(void *arg, const struct record *r);
    void *on_record_arg;
    int fd;
    int bell; /* eventfd: reopen or stop was asked for */
    pthread_t thread;
    _Atomic bool must_reopen;
    _Atomic bool must_stop;
    _Atomic bool is_failing; /* the last write failed */
    /* the thread's own */
    struct buf batch;
    size_t n_written;  /* bytes of the batch that are in the file */
    size_t n_lines;    /* in the batch */
    bool is_torn;      /* the file, as opened, ends inside a line that must be ended first */
    bool must_linger;  /* before the next look into the queue */
    void **taken;      /* from the queue, in order: its capacity and BATCH_RECORDS more */
    size_t n_taken;    /* of which */
    size_t n_seen;     /* on_record has seen so many, */
    size_t n_rendered; /* and so many have a line, or failed to get one */
};

/* --- file --- */

static bool has_file(const struct jsonlog *log)
{
    return log->path[0] != '\0';
}

static bool is_stdout(const struct jsonlog *log)
{
    return strcmp(log->path, "-") == 0;
}

/* The same for an open file, whose size is told. */
static bool is_inside_line(int fd, off_t *ret_size)
{
    char last = '\n';
    struct stat st;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
        return false;
    *ret_size = st.st_size;
    return pread(fd, &last, 1, st.st_size - 1) == 1 && last != '\n';
}

/* Whether the file ends inside a line for good; unknown counts as no. While the process before us
 * writes there, it may look so for a moment. */
static bool ends_inside_line(const char *path)
{
    struct timespec pause = {.tv_nsec = TORN_PAUSE_MS * NS_PER_MS};
    off_t size = 0, before = -1;
    bool is_inside = true;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    for (int i = 0; is_inside && size != before && i < TORN_LOOKS; i++) {
        before = size;
        if (i > 0)
            (void)nanosleep(&pause, NULL);
        is_inside = is_inside_line(fd, &size);
    }
    close(fd);
    return is_inside;
}

/* The descriptor, or a negative errno. There is a file to open. */
static int open_file(struct jsonlog *log)
{
    if (is_stdout(log))
        return STDOUT_FILENO;
    bool is_torn = ends_inside_line(log->path);
    int fd = open(log->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, FILE_MODE);
    if (fd < 0)
        return -errno;
    log->is_torn = is_torn;
    return fd;
}

static void close_file(const struct jsonlog *log)
{
    if (log->fd >= 0 && !is_stdout(log))
        close(log->fd);
}

/* --- batches --- */

static bool is_batch_written(const struct jsonlog *log)
{
    return log->n_written == buf_len(&log->batch);
}

static void render(struct jsonlog *log, const struct record *r)
{
    size_t len = buf_len(&log->batch);
    int error = record_to_json(r, &log->batch);
    size_t end = buf_len(&log->batch);
    if (error == 0)
        error = buf_append(&log->batch, SPAN("\n"));
    if (error < 0) {
        buf_truncate(&log->batch, len);
        stat_inc(error == -ENOMEM ? STAT_DROP_NO_MEMORY : STAT_DROP_LOG_WRITE);
        return;
    }
    log->n_lines++;
    if (log->on_line)
        log->on_line(log->on_line_arg, span_of(buf_span(&log->batch).p + len, end - len));
}

/* Room that the longest line surely fits in. */
static bool has_room(const struct jsonlog *log)
{
    return buf_len(&log->batch) + RECORD_LINE_MAX + 1 <= BATCH_BYTES_MAX;
}

static void clear_batch(struct jsonlog *log)
{
    buf_clear(&log->batch);
    log->n_written = 0;
    log->n_lines = 0;
}

/* At most BATCH_RECORDS, for which there is room; how many. */
static size_t take_records(struct jsonlog *log)
{
    size_t n = queue_pop_many(log->queue, log->taken + log->n_taken, BATCH_RECORDS);
    log->n_taken += n;
    return n;
}

static void give_back(struct jsonlog *log, void **from, size_t n)
{
    row_pool_give(&log->rows, from, n);
    stat_add(STAT_RECORDS_QUEUED, -(int64_t)n);
}

static void give_back_rendered(struct jsonlog *log)
{
    size_t n = log->n_rendered;
    give_back(log, log->taken, n);
    memmove(log->taken, log->taken + n, (log->n_taken - n) * sizeof(*log->taken));
    log->n_taken -= n;
    log->n_seen -= n;
    log->n_rendered = 0;
}

/* The first n of `taken`: each once. */
static void show_records(struct jsonlog *log, size_t n)
{
    for (; log->n_seen < n; log->n_seen++) {
        if (log->on_record)
            log->on_record(log->on_record_arg, log->taken[log->n_seen]);
    }
}

/* While the file refuses: what is queued is shown, and held as far as that is allowed. */
static void hold_records(struct jsonlog *log)
{
    size_t n;
    give_back_rendered(log);
    do {
        n = take_records(log);
        show_records(log, log->n_taken);
        if (log->n_taken > queue_capacity(log->queue)) {
            size_t n_lost = log->n_taken - queue_capacity(log->queue);
            log->n_taken = log->n_seen = queue_capacity(log->queue);
            give_back(log, log->taken + log->n_taken, n_lost);
            stat_add(STAT_DROP_LOG_WRITE, (int64_t)n_lost);
        }
    } while (n == BATCH_RECORDS);
}

/* Fills an empty batch, from the queue once all that was taken is rendered; false: nothing was
 * there. */
static bool fill_batch(struct jsonlog *log)
{
    clear_batch(log);
    if (log->n_taken == 0)
        (void)take_records(log);
    while (log->n_rendered < log->n_taken && has_room(log)) {
        const struct record *r = log->taken[log->n_rendered++];
        if (log->n_rendered < log->n_taken)
            row_pool_prefetch(log->taken[log->n_rendered]);
        show_records(log, log->n_rendered);
        render(log, r);
    }
    bool is_all = log->n_rendered == log->n_taken;
    log->must_linger = is_all && log->n_taken < BATCH_RECORDS; /* the queue is, or was, empty */
    if (is_all)
        give_back_rendered(log);
    return log->n_lines > 0;
}

static void end_batch(struct jsonlog *log)
{
    if (has_file(log))
        stat_add(STAT_RECORDS_LOGGED, (int64_t)log->n_lines);
    clear_batch(log);
    if (atomic_exchange_explicit(&log->is_failing, false, memory_order_relaxed))
        LOG_INFO("request log \"%s\" takes records again", log->path);
}

static void report_failure(struct jsonlog *log, int error)
{
    if (!atomic_exchange_explicit(&log->is_failing, true, memory_order_relaxed))
        LOG_ERROR("could not write request log \"%s\": %s, keeping up to %zu records", log->path,
                  err_str(error), queue_capacity(log->queue));
}

/* Writes until end (an offset in the batch) or the file takes no more. 0 or a negative errno. */
static int write_until(struct jsonlog *log, size_t end)
{
    if (log->is_torn && end > 0) {
        if (write(log->fd, "\n", 1) != 1)
            return -errno;
        log->is_torn = false;
    }
    while (log->n_written < end) {
        struct span rest = span_from(buf_span(&log->batch), log->n_written);
        rest.n = end - log->n_written;
        ssize_t n = write(log->fd, rest.p, rest.n);
        if (n > 0)
            log->n_written += (size_t)n;
        else if (n < 0 && errno != EINTR)
            return -errno;
    }
    return 0;
}

/* Offset behind the line that n_written lies in; n_written itself between two lines. */
static size_t line_start(const struct jsonlog *log)
{
    size_t i = log->n_written;
    while (i > 0 && buf_span(&log->batch).p[i - 1] != '\n')
        i--;
    return i;
}

static size_t line_end(const struct jsonlog *log)
{
    struct span rest = span_from(buf_span(&log->batch), log->n_written);
    bool is_between = line_start(log) == log->n_written;
    return is_between ? log->n_written : log->n_written + span_find_char(rest, '\n') + 1;
}

/* Whether the path still names the file that is open. */
static bool is_current_file(const struct jsonlog *log)
{
    struct stat open_st;
    struct stat path_st;
    return fstat(log->fd, &open_st) == 0 && stat(log->path, &path_st) == 0 &&
           open_st.st_dev == path_st.st_dev && open_st.st_ino == path_st.st_ino;
}

static void reopen(struct jsonlog *log)
{
    if (!has_file(log) || is_stdout(log))
        return;
    bool is_line_whole = write_until(log, line_end(log)) == 0;
    if (!is_line_whole && is_current_file(log))
        return; /* it holds the beginning of the line, so the rest must follow there */
    int fd = open_file(log);
    if (fd < 0) {
        LOG_ERROR("could not reopen request log \"%s\": %s, keeping the former file", log->path,
                  err_str(fd));
        return;
    }
    if (!is_line_whole)
        log->n_written = line_start(log);
    close_file(log);
    log->fd = fd;
    stat_inc(STAT_LOG_REOPENS);
}

/* --- thread --- */

/* Waits for a record or the bell, or for the bell alone; whether that rang. */
static bool wait_for(struct jsonlog *log, bool is_for_records, int timeout_ms)
{
    struct pollfd fds[] = {
        {.fd = log->bell, .events = POLLIN},
        {.fd = is_for_records ? queue_fd(log->queue) : -1, .events = POLLIN},
    };
    uint64_t count;
    bool has_rung = poll(fds, ARRAY_LEN(fds), timeout_ms) > 0 && (fds[0].revents & POLLIN);
    if (has_rung && read(log->bell, &count, sizeof(count)) < 0)
        LOG_WARN("could not read the bell of the request log: %s", err_str(-errno));
    if (atomic_exchange_explicit(&log->must_reopen, false, memory_order_acquire))
        reopen(log);
    return has_rung;
}

static bool must_stop(const struct jsonlog *log)
{
    return atomic_load_explicit(&log->must_stop, memory_order_acquire);
}

/* Until the next try to write. */
static void wait_and_hold(struct jsonlog *log)
{
    mono_t end = mono_add(clock_mono(), RETRY_MS * NS_PER_MS);
    do
        hold_records(log);
    while (!wait_for(log, false, LINGER_MS) && mono_diff(end, clock_mono()) > 0);
}

/* Writes the batch; when the file takes no more, waits a while before the next try. */
static void flush(struct jsonlog *log)
{
    int r = has_file(log) ? write_until(log, buf_len(&log->batch)) : 0;
    if (r == 0) {
        end_batch(log);
    } else if (r == -EAGAIN) { /* a pipe that somebody made non-blocking */
        struct pollfd pfd = {.fd = log->fd, .events = POLLOUT};
        hold_records(log);
        (void)poll(&pfd, 1, POLL_MS); /* a try too many does no harm */
    } else {
        report_failure(log, r);
        wait_and_hold(log);
    }
}

static void count_lost(struct jsonlog *log)
{
    size_t n_whole = 0;
    struct span written = {buf_span(&log->batch).p, log->n_written};
    while (written.n > 0 && span_find_char(written, '\n') < written.n) {
        (void)span_split(&written, '\n');
        n_whole++;
    }
    size_t n_waiting = log->n_taken - log->n_rendered + queue_len(log->queue);
    size_t n_lost = log->n_lines - n_whole + n_waiting;
    stat_add(STAT_RECORDS_LOGGED, (int64_t)n_whole);
    stat_add(STAT_DROP_LOG_WRITE, (int64_t)n_lost);
    if (n_lost > 0) /* nobody will read the counters any more */
        LOG_ERROR("%zu records could not be written to request log \"%s\" and are lost", n_lost,
                  log->path);
}

static void *run(void *arg)
{
    struct jsonlog *log = arg;
    mono_t t_stop = MONO_NONE;
    process_name_thread("request-log");
    for (;;) {
        if (must_stop(log) && !mono_is_set(t_stop))
            t_stop = clock_mono();
        if (!is_batch_written(log)) {
            bool is_late =
                mono_is_set(t_stop) && mono_diff(clock_mono(), t_stop) >= GIVE_UP_MS * NS_PER_MS;
            if (is_late)
                break;
            flush(log);
            continue;
        }
        if (log->must_linger && !must_stop(log))
            (void)wait_for(log, false, LINGER_MS);
        if (fill_batch(log))
            continue;
        if (must_stop(log) && queue_len(log->queue) == 0)
            break;
        (void)wait_for(log, true, IDLE_MS);
        log->must_linger = queue_len(log->queue) > 0;
    }
    count_lost(log);
    return NULL;
}

/* What waits at the end was counted as lost. */
static void free_records(struct jsonlog *log)
{
    do {
        give_back(log, log->taken, log->n_taken);
        log->n_taken = 0;
    } while (log->taken && take_records(log) > 0);
    row_pool_done(&log->rows);
}

static void free_parts(struct jsonlog *log)
{
    close_file(log);
    if (log->bell >= 0)
        close(log->bell);
    free_records(log);
    queue_free(log->queue, NULL);
    buf_done(&log->batch);
    mem_free(log->taken);
    mem_free(log->path);
    mem_free(log);
}

static int init_parts(struct jsonlog *log, const struct jsonlog_config *config)
{
    log->fd = -1;
    log->bell = -1;
    log->on_line = config->on_line;
    log->on_line_arg = config->on_line_arg;
    log->on_record = config->on_record;
    log->on_record_arg = config->on_record_arg;
    buf_init(&log->batch, BATCH_BYTES_MAX);
    row_pool_init(&log->rows);
    log->path = mem_strdup(config->path);
    if (!log->path)
        return -ENOMEM;
    int r = queue_new(config->capacity, &log->queue);
    if (r < 0)
        return r;
    log->taken = mem_zalloc(queue_capacity(log->queue) + BATCH_RECORDS, sizeof(*log->taken));
    if (!log->taken)
        return -ENOMEM;
    log->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (log->bell < 0)
        return -errno;
    if (has_file(log)) {
        log->fd = open_file(log);
        if (log->fd < 0)
            return log->fd;
    }
    /* Without signals a file size limit (SIGXFSZ) is an error of write, too. */
    return process_start_thread(&log->thread, NULL, run, log);
}

int jsonlog_new(const struct jsonlog_config *config, struct jsonlog **ret, struct err *reterr)
{
    struct jsonlog *log = mem_zalloc(1, sizeof(*log));
    int r = log ? init_parts(log, config) : -ENOMEM;
    if (r < 0) {
        if (log)
            free_parts(log);
        err_set(reterr, r, "could not open request log \"%s\": %s", config->path, err_str(r));
        if (r == -ENOENT)
            err_hint(reterr, "create its directory first, or name another file with --log");
        else if (r == -EACCES || r == -EROFS || r == -EISDIR)
            err_hint(reterr, "name a file that this user may write with --log, or - for standard "
                             "output");
        return r;
    }
    *ret = log;
    return 0;
}

static void ring(struct jsonlog *log)
{
    uint64_t one = 1;
    ssize_t n = write(log->bell, &one, sizeof(one));
    (void)n; /* fails only when it rings already */
}

struct jsonlog *jsonlog_free(struct jsonlog *log)
{
    if (!log)
        return NULL;
    atomic_store_explicit(&log->must_stop, true, memory_order_release);
    ring(log);
    pthread_join(log->thread, NULL);
    free_parts(log);
    return NULL;
}

void jsonlog_push(struct jsonlog *log, const struct record *r)
{
    void *copy = row_pool_copy(&log->rows, r);
    if (!copy) {
        stat_inc(STAT_DROP_NO_MEMORY);
        return;
    }
    stat_inc(STAT_RECORDS_QUEUED); /* before the writer can see it */
    if (queue_push(log->queue, copy) < 0) {
        stat_add(STAT_RECORDS_QUEUED, -1);
        row_pool_give(&log->rows, &copy, 1);
        bool is_failing = atomic_load_explicit(&log->is_failing, memory_order_relaxed);
        stat_inc(is_failing ? STAT_DROP_LOG_WRITE : STAT_DROP_LOG_QUEUE);
    }
}

void jsonlog_reopen(struct jsonlog *log)
{
    atomic_store_explicit(&log->must_reopen, true, memory_order_release);
    ring(log);
}
