/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/stat.h"
#include "fakeclock.h"
#include "harness.h"

/* 2026-11-29T15:04:05.123Z */
#define START_REAL_NS (INT64_C(1795964645) * NS_PER_S + 123 * NS_PER_MS)
#define PREFIX        "2026-11-29T15:04:05.123Z "

enum { CAPTURE_MAX = 4 << 20 };

/* Standard error in a pipe between capture_start and capture_end. */
static int capture_fd = -1;
static int saved_stderr = -1;

static void capture_start(void)
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    saved_stderr = dup(STDERR_FILENO);
    assert_true(dup2(fds[1], STDERR_FILENO) >= 0);
    close(fds[1]);
    capture_fd = fds[0];
}

/* What arrived, until the writing end is closed; buf_done it. */
static struct buf capture_end(void)
{
    struct buf b;
    char part[4096];
    ssize_t n;
    buf_init(&b, CAPTURE_MAX);
    dup2(saved_stderr, STDERR_FILENO); /* closes the last writing end */
    close(saved_stderr);
    while ((n = read(capture_fd, part, sizeof(part))) > 0)
        assert_int_equal(buf_append(&b, span_of(part, (size_t)n)), 0);
    close(capture_fd);
    return b;
}

static size_t count_lines(struct span s)
{
    size_t n = 0;
    while (s.n > 0) {
        (void)span_split(&s, '\n');
        n++;
    }
    return n;
}

static int set_up(void **state)
{
    (void)state;
    fakeclock_install(NS_PER_S, START_REAL_NS);
    log_level_set(LOG_LEVEL_INFO);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    log_stop();
    fakeclock_remove();
    return 0;
}

static void test_format(void **state)
{
    (void)state;
    capture_start();
    LOG_WARN("could not connect to upstream \"%s\": %s", "a", err_str(-ECONNREFUSED));
    LOG_ERROR("a peer says \"%s\"", "x\n2026 error: \x1b[31mforged\x7f");
    LOG_INFO("%s", "caf\xc3\xa9");
    struct buf b = capture_end();
    assert_span_equal("lines", buf_span(&b),
                      SPAN(PREFIX "warn test: could not connect to upstream \"a\": "
                                  "connection refused\n" PREFIX
                                  "error test: a peer says \"x?2026 error: ?[31mforged?\"\n" PREFIX
                                  "info test: caf\xc3\xa9\n"));
    buf_done(&b);
}

static void test_levels(void **state)
{
    enum log_level level = LOG_LEVEL_WARN;
    (void)state;
    assert_int_equal(log_level_parse("verbose", &level), -EINVAL);
    assert_int_equal(level, LOG_LEVEL_WARN);
    assert_int_equal(log_level_parse("", &level), -EINVAL);
    assert_int_equal(log_level_parse("debug", &level), 0);
    assert_int_equal(level, LOG_LEVEL_DEBUG);
    assert_int_equal(log_level_parse("error", &level), 0);
    assert_int_equal(level, LOG_LEVEL_ERROR);

    capture_start();
    LOG_DEBUG("not at the default level");
    log_level_set(LOG_LEVEL_ERROR);
    LOG_WARN("not now");
    log_level_set(LOG_LEVEL_DEBUG);
    LOG_DEBUG("now");
    struct buf b = capture_end();
    assert_span_equal("one line", buf_span(&b), SPAN(PREFIX "debug test: now\n"));
    buf_done(&b);
}

static void test_long_line_is_cut(void **state)
{
    char text[3000];
    (void)state;
    memset(text, 'a', sizeof(text));
    capture_start();
    LOG_INFO("%.*s", (int)sizeof(text), text);
    struct buf b = capture_end();
    struct span s = buf_span(&b);
    assert_true(s.n > 900 && s.n <= 1024);
    assert_int_equal(span_find_char(s, '\n'), s.n - 1);
    buf_done(&b);
}

static void speak(int n)
{
    for (int i = 0; i < n; i++)
        LOG_INFO("line");
}

static void test_rate_limit(void **state)
{
    (void)state;
    capture_start();
    speak(15);
    LOG_INFO("another site is not concerned");
    fakeclock_advance(NS_PER_S - 1);
    speak(2); /* the window is not over */
    fakeclock_advance(1);
    speak(2);
    fakeclock_advance(NS_PER_S);
    speak(1); /* nothing was suppressed before it */
    struct buf b = capture_end();
    struct span s = buf_span(&b);
    assert_int_equal(count_lines(s), 10 + 1 + 2 + 1);
    assert_int_equal(span_find(s, SPAN("suppressed")) + sizeof("suppressed)\n") - 1,
                     span_find(s, SPAN("(7 more suppressed)\n")) + sizeof("(7 more suppressed)\n") -
                         1);
    struct span rest = span_from(s, span_find(s, SPAN("suppressed")) + 1);
    assert_int_equal(span_find(rest, SPAN("suppressed")), rest.n); /* told once */
    buf_done(&b);
}

static void test_through_the_writer_thread(void **state)
{
    struct err err = {0};
    int64_t n_live = mem_live_blocks();
    (void)state;
    capture_start();
    assert_int_equal(log_start(&err), 0);
    for (int i = 0; i < 30; i++) {
        LOG_INFO("number %d", i);
        fakeclock_advance(NS_PER_S); /* every line in a window of its own */
    }
    log_stop(); /* drains */
    log_stop(); /* idempotent */
    assert_int_equal(mem_live_blocks(), n_live);
    LOG_INFO("direct again");
    struct buf b = capture_end();
    struct span s = buf_span(&b);
    for (int i = 0; i < 30; i++) {
        char expect[32];
        struct span line = span_split(&s, '\n');
        (void)snprintf(expect, sizeof(expect), "info test: number %d", i);
        assert_span_equal("in order", span_from(line, 25), span_cstr(expect));
    }
    assert_int_equal(count_lines(s), 1);
    buf_done(&b);
}

static void *log_a_lot(void *arg)
{
    for (int i = 0; i < 200; i++) {
        LOG_INFO("thread %d line %d", *(int *)arg, i);
        fakeclock_advance(NS_PER_S / 4);
    }
    return NULL;
}

/* Lines of several threads never mix, and a stop in the middle loses no line in silence. */
static void test_threads(void **state)
{
    enum { N_THREADS = 4 };
    pthread_t threads[N_THREADS];
    int ids[N_THREADS];
    (void)state;
    capture_start();
    assert_int_equal(log_start(NULL), 0);
    for (int i = 0; i < N_THREADS; i++) {
        ids[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, log_a_lot, &ids[i]), 0);
    }
    log_stop();
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    struct buf b = capture_end();
    struct span s = buf_span(&b);
    size_t n = count_lines(s);
    assert_true(n >= 1 && n <= 200 * N_THREADS);
    while (s.n > 0) {
        struct span line = span_split(&s, '\n');
        assert_true(span_starts_with(line, SPAN("2026-11-")));
        assert_span_equal("whole line", span_take(&line, 0), SPAN(""));
        assert_true(span_starts_with(span_from(line, 25), SPAN("info test: thread ")));
    }
    buf_done(&b);
}

/* Fills the pipe behind standard error, so that the next blocking write would wait. */
static void fill_stderr(void)
{
    char part[1024];
    int flags = fcntl(STDERR_FILENO, F_GETFL);
    memset(part, '.', sizeof(part));
    fcntl(STDERR_FILENO, F_SETFL, flags | O_NONBLOCK);
    while (write(STDERR_FILENO, part, sizeof(part)) > 0)
        ;
    fcntl(STDERR_FILENO, F_SETFL, flags);
}

static void *drain(void *arg)
{
    char part[4096];
    (void)arg;
    while (read(capture_fd, part, sizeof(part)) > 0)
        ;
    return NULL;
}

static void test_blocked_terminal_drops_lines(void **state)
{
    pthread_t drainer;
    int64_t before = stat_sum(STAT_DROP_LOG_LINES);
    (void)state;
    capture_start();
    fill_stderr();
    assert_int_equal(log_start(NULL), 0);
    for (int i = 0; i < 1500; i++) { /* the queue holds 1,024 and the writer one */
        LOG_INFO("line %d", i);
        fakeclock_advance(NS_PER_S);
    }
    int64_t n_dropped = stat_sum(STAT_DROP_LOG_LINES) - before;
    assert_int_equal(pthread_create(&drainer, NULL, drain, NULL), 0);
    log_stop();
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    assert_int_equal(pthread_join(drainer, NULL), 0);
    close(capture_fd);
    assert_true(n_dropped >= 1500 - 1024 - 1 && n_dropped <= 1500 - 1024);
}

static void test_no_memory_drops_lines(void **state)
{
    int64_t before = stat_sum(STAT_DROP_LOG_LINES);
    (void)state;
    capture_start();
    assert_int_equal(log_start(NULL), 0);
    mem_fail_from(1);
    LOG_INFO("lost");
    mem_fail_off();
    LOG_INFO("kept");
    log_stop();
    struct buf b = capture_end();
    assert_span_equal("one line", buf_span(&b), SPAN(PREFIX "info test: kept\n"));
    assert_int_equal(stat_sum(STAT_DROP_LOG_LINES) - before, 1);
    buf_done(&b);
}

static void test_start_without_memory(void **state)
{
    struct err err = {0};
    (void)state;
    mem_fail_from(1);
    int r = log_start(&err);
    mem_fail_off();
    assert_int_equal(r, -ENOMEM);
    assert_string_equal(err.text, "could not create the log queue: out of memory");
}

static void test_closed_stderr(void **state)
{
    int64_t before = stat_sum(STAT_DROP_LOG_LINES);
    (void)state;
    int saved = dup(STDERR_FILENO);
    close(STDERR_FILENO);
    LOG_INFO("nobody hears this");
    dup2(saved, STDERR_FILENO);
    close(saved);
    assert_int_equal(stat_sum(STAT_DROP_LOG_LINES) - before, 1);
}

/* log_stop gives up on a terminal that stays blocked. In a child: the thread is left behind. */
static void test_stop_does_not_hang(void **state)
{
    (void)state;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        fakeclock_remove();
        capture_start();
        fill_stderr();
        if (log_start(NULL) < 0)
            _exit(2);
        LOG_INFO("stuck");
        mono_t start = clock_mono();
        log_stop();
        _exit(mono_diff(clock_mono(), start) < 20 * NS_PER_S ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define LOG_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOG_TEST(test_format),
        LOG_TEST(test_levels),
        LOG_TEST(test_long_line_is_cut),
        LOG_TEST(test_rate_limit),
        LOG_TEST(test_through_the_writer_thread),
        LOG_TEST(test_threads),
        LOG_TEST(test_blocked_terminal_drops_lines),
        LOG_TEST(test_no_memory_drops_lines),
        LOG_TEST(test_start_without_memory),
        LOG_TEST(test_closed_stderr),
        LOG_TEST(test_stop_does_not_hang),
    };
    return cmocka_run_group_tests_name("base/log", tests, NULL, NULL);
}
