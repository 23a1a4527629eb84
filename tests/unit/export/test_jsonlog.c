/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request log against real files: its promise of 1 s, rotation, full disks of several kinds.
 * A disk is made full by a limit on file sizes (partial writes, then EFBIG) and by /dev/full.
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/stat.h"
#include "corpus.h"
#include "export/jsonlog.h"

struct fixture {
    char dir[64];
    char path[96];
    char rotated[96];
};

static void fixture_init(struct fixture *f)
{
    snprintf(f->dir, sizeof(f->dir), "/tmp/inferometer-test-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->path, sizeof(f->path), "%s/requests.jsonl", f->dir);
    snprintf(f->rotated, sizeof(f->rotated), "%s/requests.jsonl.1", f->dir);
}

static void fixture_done(struct fixture *f)
{
    (void)unlink(f->path); /* not every test makes both */
    (void)unlink(f->rotated);
    assert_int_equal(rmdir(f->dir), 0);
}

static struct jsonlog *log_of(const char *path, size_t capacity)
{
    struct jsonlog *log = NULL;
    struct err err = {0};
    assert_int_equal(
        jsonlog_new(&(struct jsonlog_config){.path = path, .capacity = capacity}, &log, &err), 0);
    return log;
}

static void push(struct jsonlog *log, int i)
{
    struct record r;
    record_init(&r);
    snprintf(r.request_id, sizeof(r.request_id), "req-%06d", i);
    r.endpoint = "chat";
    r.status = 200;
    jsonlog_push(log, &r);
}

/* The ids in the file in order, -1 for a line that is no whole record; returns how many lines. */
static size_t read_ids(const char *path, int *ids, size_t max)
{
    struct span file = corpus_read(path);
    struct span rest = file;
    size_t n = 0;
    assert_non_null(file.p);
    while (rest.n > 0) {
        assert_true(n < max);
        bool is_ended = span_find_char(rest, '\n') < rest.n;
        struct span line = span_split(&rest, '\n');
        struct span id = span_from(line, span_find(line, SPAN("\"req-")));
        bool is_whole = is_ended && line.n > 2 && line.p[0] == '{' && line.p[line.n - 1] == '}' &&
                        id.n > 12 && span_find(span_from(id, 5), SPAN("\"req-")) == id.n - 5;
        ids[n++] = is_whole ? atoi(id.p + 5) : -1;
    }
    free((void *)(uintptr_t)file.p);
    return n;
}

static bool is_there(const char *path, size_t n_lines)
{
    static int ids[100000];
    return access(path, F_OK) == 0 && read_ids(path, ids, ARRAY_LEN(ids)) >= n_lines;
}

/* Waits for so many lines; returns after how long, in ms. */
static int64_t wait_lines(const char *path, size_t n_lines)
{
    mono_t start = clock_mono();
    while (!is_there(path, n_lines)) {
        assert_true(mono_diff(clock_mono(), start) < 10 * NS_PER_S);
        usleep(2000);
    }
    return mono_diff(clock_mono(), start) / NS_PER_MS;
}

static void wait_stat(enum stat_id id, int64_t at_least)
{
    mono_t start = clock_mono();
    while (stat_sum(id) < at_least) {
        assert_true(mono_diff(clock_mono(), start) < 10 * NS_PER_S);
        usleep(2000);
    }
}

/* Until the thread has taken the one record that was pushed; what follows is a matter of
 * microseconds. */
static void wait_taken(void)
{
    mono_t start = clock_mono();
    while (stat_sum(STAT_RECORDS_QUEUED) > 0) {
        assert_true(mono_diff(clock_mono(), start) < 10 * NS_PER_S);
        usleep(2000);
    }
}

/* Until the file has grown to what it may have. */
static void wait_size(const char *path, off_t bytes)
{
    mono_t start = clock_mono();
    struct stat st;
    while (stat(path, &st) < 0 || st.st_size < bytes) {
        assert_true(mono_diff(clock_mono(), start) < 10 * NS_PER_S);
        usleep(2000);
    }
    assert_int_equal(st.st_size, bytes);
}

static void assert_ids(const char *path, int first, int n)
{
    int *ids = mem_must(mem_zalloc((size_t)n + 1000, sizeof(*ids)));
    assert_int_equal(read_ids(path, ids, (size_t)n + 1000), n);
    for (int i = 0; i < n; i++)
        assert_int_equal(ids[i], first + i);
    mem_free(ids);
}

/* --- normal days --- */

static void test_written_in_time(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    int64_t n_logged = stat_sum(STAT_RECORDS_LOGGED);
    struct jsonlog *log = log_of(f.path, 1000);
    push(log, 0);
    assert_true(wait_lines(f.path, 1) < 1000);
    usleep(50000); /* it sleeps again */
    push(log, 1);
    assert_true(wait_lines(f.path, 2) < 1000);
    jsonlog_free(log);
    assert_int_equal(stat_sum(STAT_RECORDS_LOGGED), n_logged + 2);
    assert_ids(f.path, 0, 2);
    struct stat st;
    assert_int_equal(stat(f.path, &st), 0);
    assert_int_equal(st.st_mode & 07, 0); /* not for others */
    fixture_done(&f);
}

static void test_end_writes_all(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    struct jsonlog *log = log_of(f.path, 20000);
    for (int i = 0; i < 20000; i++)
        push(log, i);
    jsonlog_free(log);
    assert_ids(f.path, 0, 20000);
    /* The next start appends. */
    log = log_of(f.path, 10);
    push(log, 20000);
    jsonlog_free(log);
    assert_ids(f.path, 0, 20001);
    assert_null(jsonlog_free(NULL));
    fixture_done(&f);
}

static void *push_thousand(void *log)
{
    for (int i = 0; i < 1000; i++)
        push(log, i);
    return NULL;
}

static void test_many_senders(void **state)
{
    (void)state;
    static int ids[10000];
    struct fixture f;
    fixture_init(&f);
    struct jsonlog *log = log_of(f.path, 10000);
    pthread_t threads[4];
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, push_thousand, log), 0);
    for (int i = 0; i < 20; i++) {
        jsonlog_reopen(log);
        usleep(1000);
    }
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        pthread_join(threads[i], NULL);
    jsonlog_free(log);
    assert_int_equal(read_ids(f.path, ids, ARRAY_LEN(ids)), 4000);
    for (int i = 0; i < 4000; i++)
        assert_true(ids[i] >= 0);
    fixture_done(&f);
}

static void test_standard_output(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    int saved = dup(STDOUT_FILENO);
    int fd = open(f.path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    fflush(stdout);
    dup2(fd, STDOUT_FILENO);
    struct jsonlog *log = log_of("-", 10);
    push(log, 0);
    jsonlog_reopen(log); /* does nothing */
    jsonlog_free(log);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    close(fd);
    assert_ids(f.path, 0, 1);
    fixture_done(&f);
}

static void keep_line(void *arg, struct span line)
{
    struct buf *lines = arg;
    assert_int_equal(buf_append(lines, line), 0);
    assert_int_equal(buf_append(lines, SPAN("\n")), 0);
}

/* The same lines go to whoever wants them; also without a file. */
static void test_on_line(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    const char *const paths[] = {f.path, ""};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct buf lines;
        struct jsonlog *log = NULL;
        buf_init(&lines, 1 << 20);
        struct jsonlog_config config = {
            .path = paths[i], .capacity = 100, .on_line = keep_line, .on_line_arg = &lines};
        int64_t n_logged = stat_sum(STAT_RECORDS_LOGGED);
        int64_t n_lost = stat_sum(STAT_DROP_LOG_WRITE);
        assert_int_equal(jsonlog_new(&config, &log, NULL), 0);
        for (int k = 0; k < 10; k++)
            push(log, k);
        jsonlog_reopen(log);
        jsonlog_free(log);
        struct span file = corpus_read(f.path);
        assert_span_equal(paths[i], buf_span(&lines), file);
        free((void *)(uintptr_t)file.p);
        buf_done(&lines);
        assert_int_equal(stat_sum(STAT_RECORDS_LOGGED) - n_logged, i == 0 ? 10 : 0);
        assert_int_equal(stat_sum(STAT_DROP_LOG_WRITE), n_lost);
    }
    fixture_done(&f);
}

static void keep_id(void *arg, const struct record *r)
{
    struct buf *ids = arg;
    assert_int_equal(buf_append(ids, span_cstr(r->request_id)), 0);
}

/* And the records themselves. */
static void test_on_record(void **state)
{
    (void)state;
    struct buf ids;
    struct jsonlog *log = NULL;
    buf_init(&ids, 1 << 20);
    struct jsonlog_config config = {
        .path = "", .capacity = 100, .on_record = keep_id, .on_record_arg = &ids};
    assert_int_equal(jsonlog_new(&config, &log, NULL), 0);
    for (int k = 0; k < 3; k++)
        push(log, k);
    jsonlog_free(log);
    assert_span_equal("ids", buf_span(&ids), SPAN("req-000000req-000001req-000002"));
    buf_done(&ids);
}

static void test_queue_full(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    int64_t n_lost = stat_sum(STAT_DROP_LOG_QUEUE);
    int64_t n_logged = stat_sum(STAT_RECORDS_LOGGED);
    struct jsonlog *log = log_of(f.path, 8);
    for (int i = 0; i < 100000 && stat_sum(STAT_DROP_LOG_QUEUE) == n_lost; i++)
        push(log, i);
    assert_true(stat_sum(STAT_DROP_LOG_QUEUE) > n_lost);
    jsonlog_free(log);
    assert_true(stat_sum(STAT_RECORDS_LOGGED) >= n_logged + 8);
    fixture_done(&f);
}

static void test_no_memory(void **state)
{
    (void)state;
    struct fixture f;
    struct jsonlog *log = NULL;
    struct err err = {0};
    fixture_init(&f);
    for (uint64_t n = 1; !log; n++) {
        mem_fail_from(n);
        int r = jsonlog_new(&(struct jsonlog_config){.path = f.path, .capacity = 10}, &log, &err);
        mem_fail_off();
        if (r == 0)
            break;
        assert_int_equal(r, -ENOMEM);
        assert_null(log);
        assert_true(n < 10);
    }
    int64_t n_lost = stat_sum(STAT_DROP_NO_MEMORY);
    mem_fail_from(1);
    push(log, 0);
    mem_fail_off();
    assert_int_equal(stat_sum(STAT_DROP_NO_MEMORY), n_lost + 1);
    jsonlog_free(log);
    fixture_done(&f);
}

/* A full timeline, whose room is written over once the row was pushed. */
static void push_long(struct jsonlog *log, int i)
{
    static char room[TIMELINE_BYTES];
    struct timeline t;
    struct record r;
    record_init(&r);
    snprintf(r.request_id, sizeof(r.request_id), "req-%06d", i);
    memset(r.model_requested, 1, sizeof(r.model_requested) - 1); /* each becomes six bytes */
    r.is_stream = true;
    timeline_init(&t, room);
    for (int k = 0; k < 660; k++)
        timeline_add(&t, INT64_MAX / 2 + k * NS_PER_US, false, 100);
    r.timeline = timeline_bytes(&t);
    assert_true(r.timeline.n > 1900);
    char labels[] = "tenant\0acme";
    r.labels = span_of(labels, sizeof(labels));
    jsonlog_push(log, &r);
    memset(room, 0xff, sizeof(room));
    memset(labels, 0xff, sizeof(labels));
}

/* More than fits into a batch, so that rows of any length meet the end of one. */
static void test_long_lines(void **state)
{
    (void)state;
    enum { N = 1000 };
    struct fixture f;
    fixture_init(&f);
    int64_t n_dropped = stat_sum(STAT_DROP_LOG_WRITE);
    struct jsonlog *log = log_of(f.path, N);
    for (int i = 0; i < N; i++) {
        if (i % 3 == 0)
            push(log, i);
        else
            push_long(log, i);
    }
    jsonlog_free(log);
    assert_int_equal(stat_sum(STAT_DROP_LOG_WRITE), n_dropped);
    assert_ids(f.path, 0, N);
    struct span file = corpus_read(f.path);
    size_t n_timelines = 0;
    size_t n_labels = 0;
    for (struct span rest = file; rest.n > 0;) {
        struct span line = span_split(&rest, '\n');
        n_timelines += span_find(line, SPAN("\"timeline\":[[")) < line.n;
        n_labels += span_find(line, SPAN("\"labels\":{\"tenant\":\"acme\"}")) < line.n;
    }
    assert_int_equal(n_timelines, N - (N + 2) / 3);
    assert_int_equal(n_labels, n_timelines);
    free((void *)(uintptr_t)file.p);
    fixture_done(&f);
}

static int try_to_push(void *ctx)
{
    struct jsonlog *log = ctx;
    int64_t n = stat_sum(STAT_DROP_NO_MEMORY);
    int64_t n_queued = stat_sum(STAT_RECORDS_QUEUED);
    push_long(log, 1);
    if (stat_sum(STAT_DROP_NO_MEMORY) == n)
        return 0;
    assert_int_equal(stat_sum(STAT_RECORDS_QUEUED), n_queued);
    return -ENOMEM;
}

/* A long row that finds no memory is counted, and leaves nothing. */
static void test_push_without_memory(void **state)
{
    (void)state;
    struct jsonlog *log = log_of("", 10);
    int64_t n_live = mem_live_blocks();
    mem_fail_from(1);
    assert_int_equal(try_to_push(log), -ENOMEM);
    mem_fail_off();
    assert_int_equal(mem_live_blocks(), n_live);
    assert_int_equal(try_to_push(log), 0);
    jsonlog_free(log);
}

static void test_cannot_open(void **state)
{
    (void)state;
    struct jsonlog *log = NULL;
    struct err err = {0};
    struct jsonlog_config config = {.path = "/nonexistent/dir/file", .capacity = 10};
    assert_int_equal(jsonlog_new(&config, &log, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/nonexistent/dir/file"));
    config = (struct jsonlog_config){.path = "/tmp/x", .capacity = 0};
    assert_int_equal(jsonlog_new(&config, &log, &err), -EINVAL);
    assert_null(log);
}

/* --- rotation --- */

static void test_reopen(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    int64_t n_reopens = stat_sum(STAT_LOG_REOPENS);
    struct jsonlog *log = log_of(f.path, 1000);
    push(log, 0);
    wait_lines(f.path, 1);
    assert_int_equal(rename(f.path, f.rotated), 0);
    push(log, 1); /* until told, into the renamed file */
    wait_lines(f.rotated, 2);
    mono_t start = clock_mono();
    jsonlog_reopen(log);
    wait_stat(STAT_LOG_REOPENS, n_reopens + 1);
    assert_true(mono_diff(clock_mono(), start) < NS_PER_S);
    push(log, 2);
    wait_lines(f.path, 1);
    jsonlog_free(log);
    assert_ids(f.rotated, 0, 2);
    assert_ids(f.path, 2, 1);
    fixture_done(&f);
}

/* The directory is gone: the former file goes on. */
static void test_reopen_fails(void **state)
{
    (void)state;
    struct fixture f;
    char moved[80];
    fixture_init(&f);
    struct jsonlog *log = log_of(f.path, 1000);
    snprintf(moved, sizeof(moved), "%s.moved", f.dir);
    assert_int_equal(rename(f.dir, moved), 0);
    jsonlog_reopen(log);
    usleep(100000);
    push(log, 0);
    jsonlog_free(log);
    assert_int_equal(rename(moved, f.dir), 0);
    assert_ids(f.path, 0, 1);
    fixture_done(&f);
}

static void test_torn_last_line(void **state)
{
    (void)state;
    static int ids[10];
    struct fixture f;
    fixture_init(&f);
    int fd = open(f.path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, "{\"request_id\":\"req-9", 20), 20);
    close(fd);
    struct jsonlog *log = log_of(f.path, 10);
    push(log, 1);
    jsonlog_free(log);
    assert_int_equal(read_ids(f.path, ids, ARRAY_LEN(ids)), 2);
    assert_int_equal(ids[0], -1);
    assert_int_equal(ids[1], 1);
    fixture_done(&f);
}

/* --- full disks --- */

static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Full inside a line, then room again: nothing is lost and every line is whole. */
static void test_full_and_room_again(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    int64_t n_lost = stat_sum(STAT_DROP_LOG_WRITE) + stat_sum(STAT_DROP_LOG_QUEUE);
    struct jsonlog *log = log_of(f.path, 1000);
    limit_file_size(1000);
    for (int i = 0; i < 100; i++)
        push(log, i);
    wait_size(f.path, 1000); /* a part of a line is in the file */
    limit_file_size(RLIM_INFINITY);
    wait_lines(f.path, 100);
    push(log, 100);
    jsonlog_free(log);
    assert_ids(f.path, 0, 101);
    assert_int_equal(stat_sum(STAT_DROP_LOG_WRITE) + stat_sum(STAT_DROP_LOG_QUEUE), n_lost);
    fixture_done(&f);
}

/* Full from the start, behind a torn line: that one is ended before the next begins. */
static void test_full_behind_torn_line(void **state)
{
    (void)state;
    static int ids[10];
    struct fixture f;
    fixture_init(&f);
    int fd = open(f.path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, "{\"request_id\":\"req-9", 20), 20);
    close(fd);
    limit_file_size(20);
    struct jsonlog *log = log_of(f.path, 10);
    push(log, 1);
    wait_taken();
    usleep(50000);
    limit_file_size(RLIM_INFINITY);
    jsonlog_free(log);
    assert_int_equal(read_ids(f.path, ids, ARRAY_LEN(ids)), 2);
    assert_int_equal(ids[0], -1);
    assert_int_equal(ids[1], 1);
    fixture_done(&f);
}

/* A reader that is slow: nothing is lost, and the rest is counted when it never comes back. */
static void test_slow_pipe(void **state)
{
    (void)state;
    struct fixture f;
    int ends[2];
    fixture_init(&f);
    assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    int saved = dup(STDOUT_FILENO);
    fflush(stdout);
    dup2(ends[1], STDOUT_FILENO);
    int64_t n_done = stat_sum(STAT_RECORDS_LOGGED) + stat_sum(STAT_DROP_LOG_WRITE);
    int64_t n_logged = stat_sum(STAT_RECORDS_LOGGED);
    struct jsonlog *log = log_of("-", 1000);
    for (int i = 0; i < 1000; i++)
        push(log, i);
    jsonlog_free(log);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    close(ends[0]);
    close(ends[1]);
    assert_true(stat_sum(STAT_RECORDS_LOGGED) > n_logged);
    assert_int_equal(stat_sum(STAT_RECORDS_LOGGED) + stat_sum(STAT_DROP_LOG_WRITE), n_done + 1000);
    fixture_done(&f);
}

/* Full inside a line, then rotated: the line stands whole in the new file. */
static void test_full_and_rotated(void **state)
{
    (void)state;
    static int ids[200];
    struct fixture f;
    fixture_init(&f);
    int64_t n_reopens = stat_sum(STAT_LOG_REOPENS);
    struct jsonlog *log = log_of(f.path, 1000);
    limit_file_size(1000);
    for (int i = 0; i < 20; i++)
        push(log, i);
    wait_size(f.path, 1000);
    jsonlog_reopen(log); /* the same file still: its line must not be ended */
    usleep(50000);
    assert_int_equal(stat_sum(STAT_LOG_REOPENS), n_reopens);
    assert_int_equal(rename(f.path, f.rotated), 0);
    jsonlog_reopen(log);
    wait_stat(STAT_LOG_REOPENS, n_reopens + 1);
    limit_file_size(RLIM_INFINITY);
    jsonlog_free(log);
    size_t n_old = read_ids(f.rotated, ids, ARRAY_LEN(ids));
    assert_true(n_old >= 2);
    assert_int_equal(ids[n_old - 1], -1); /* cut, and nothing behind it */
    assert_ids(f.path, (int)n_old - 1, 20 - (int)n_old + 1);
    fixture_done(&f);
}

/* A device that takes nothing: what the queue cannot hold is counted by its cause. */
static void test_dev_full(void **state)
{
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    int64_t n_write = stat_sum(STAT_DROP_LOG_WRITE);
    int64_t n_logged = stat_sum(STAT_RECORDS_LOGGED);
    int64_t n_queue = stat_sum(STAT_DROP_LOG_QUEUE);
    struct jsonlog *log = log_of("/dev/full", 10);
    push(log, 0);
    wait_taken();
    usleep(50000); /* the first write fails, the thread holds one record */
    for (int i = 1; i <= 15; i++)
        push(log, i);
    wait_stat(STAT_DROP_LOG_WRITE, n_write + 5);
    assert_int_equal(stat_sum(STAT_DROP_LOG_WRITE), n_write + 5);
    mono_t start = clock_mono();
    jsonlog_free(log);
    assert_true(mono_diff(clock_mono(), start) < 4 * NS_PER_S);
    assert_int_equal(stat_sum(STAT_DROP_LOG_WRITE), n_write + 16); /* each is accounted for */
    assert_int_equal(stat_sum(STAT_DROP_LOG_QUEUE), n_queue);
    assert_int_equal(stat_sum(STAT_RECORDS_LOGGED), n_logged);
}

struct seen {
    _Atomic int n;
    _Atomic bool is_wrong; /* one came twice, or too early */
};

static void see(void *arg, const struct record *r)
{
    struct seen *seen = arg;
    if (atoi(r->request_id + 4) != seen->n)
        seen->is_wrong = true;
    seen->n++;
}

static void wait_seen(const struct seen *seen, int n)
{
    mono_t start = clock_mono();
    while (seen->n < n) {
        assert_true(mono_diff(clock_mono(), start) < 10 * NS_PER_S);
        usleep(2000);
    }
}

static struct jsonlog *log_that_is_seen(const char *path, struct seen *seen)
{
    struct jsonlog *log = NULL;
    struct jsonlog_config config = {
        .path = path, .capacity = 10, .on_record = see, .on_record_arg = seen};
    assert_int_equal(jsonlog_new(&config, &log, NULL), 0);
    return log;
}

/* Who sees the records does not wait for the file, nor lose what that has no room for. */
static void test_all_are_seen_while_full(void **state)
{
    enum { N = 60 };
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    int64_t n_write = stat_sum(STAT_DROP_LOG_WRITE);
    int64_t n_queued = stat_sum(STAT_RECORDS_QUEUED);
    struct seen seen = {0};
    struct jsonlog *log = log_that_is_seen("/dev/full", &seen);
    push(log, 0);
    wait_seen(&seen, 1);
    for (int i = 1; i < N; i++) {
        push(log, i);
        if (i % 6 == 0)
            wait_seen(&seen, i + 1); /* or the queue could be full */
    }
    wait_seen(&seen, N);
    wait_stat(STAT_DROP_LOG_WRITE, n_write + N - 11); /* one is in the batch, ten wait */
    assert_int_equal(stat_sum(STAT_DROP_LOG_WRITE), n_write + N - 11);
    assert_int_equal(stat_sum(STAT_RECORDS_QUEUED), n_queued + 10);
    jsonlog_free(log);
    assert_int_equal(seen.n, N);
    assert_false(seen.is_wrong);
    assert_int_equal(stat_sum(STAT_DROP_LOG_WRITE), n_write + N);
    assert_int_equal(stat_sum(STAT_RECORDS_QUEUED), n_queued);
}

/* What was held is written once there is room, and seen no second time. */
static void test_held_and_written(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    struct seen seen = {0};
    struct jsonlog *log = log_that_is_seen(f.path, &seen);
    limit_file_size(20);
    push(log, 0);
    wait_size(f.path, 20); /* a part of a line */
    for (int i = 1; i <= 10; i++)
        push(log, i);
    wait_seen(&seen, 11);
    wait_size(f.path, 20);
    limit_file_size(RLIM_INFINITY);
    wait_lines(f.path, 11);
    push(log, 11);
    jsonlog_free(log);
    assert_ids(f.path, 0, 12);
    assert_int_equal(seen.n, 12);
    assert_false(seen.is_wrong);
    fixture_done(&f);
}

/* A real small file system, where the test may mount one. */
static void test_full_file_system(void **state)
{
    (void)state;
    static int ids[100000];
    struct fixture f;
    char big[96];
    fixture_init(&f);
    if (mount("tmpfs", f.dir, "tmpfs", 0, "size=256k") != 0) {
        rmdir(f.dir);
        skip();
    }
    snprintf(big, sizeof(big), "%s/big", f.dir);
    int fd = open(big, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(ftruncate(fd, 0), 0);
    static const char zeros[128 * 1024];
    assert_int_equal(write(fd, zeros, sizeof(zeros)), sizeof(zeros));
    close(fd);
    struct jsonlog *log = log_of(f.path, 10000);
    int64_t n_logged = stat_sum(STAT_RECORDS_LOGGED);
    for (int i = 0; i < 600; i++)
        push(log, i);
    usleep(200000);
    assert_true(stat_sum(STAT_RECORDS_LOGGED) < n_logged + 600);
    assert_int_equal(unlink(big), 0);
    wait_lines(f.path, 600);
    jsonlog_free(log);
    size_t n = read_ids(f.path, ids, ARRAY_LEN(ids));
    assert_int_equal(n, 600);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(ids[i], i);
    assert_int_equal(umount(f.dir), 0);
    assert_int_equal(rmdir(f.dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_written_in_time),
        cmocka_unit_test(test_end_writes_all),
        cmocka_unit_test(test_many_senders),
        cmocka_unit_test(test_standard_output),
        cmocka_unit_test(test_on_line),
        cmocka_unit_test(test_on_record),
        cmocka_unit_test(test_queue_full),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_push_without_memory),
        cmocka_unit_test(test_cannot_open),
        cmocka_unit_test(test_reopen),
        cmocka_unit_test(test_reopen_fails),
        cmocka_unit_test(test_torn_last_line),
        cmocka_unit_test(test_full_and_room_again),
        cmocka_unit_test(test_full_behind_torn_line),
        cmocka_unit_test(test_slow_pipe),
        cmocka_unit_test(test_full_and_rotated),
        cmocka_unit_test(test_dev_full),
        cmocka_unit_test(test_all_are_seen_while_full),
        cmocka_unit_test(test_held_and_written),
        cmocka_unit_test(test_full_file_system),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
