/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A writer is killed at any moment: what it was told is durable is there, nothing is torn, nothing
 * is there twice.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "db/db.h"
#include "faultvfs.h"
#include "rig.h"

enum { N_SERIES = 20, N_KILLS = 200 };
#define STEP_MS INT64_C(60000)

/* The value that a series has at a moment: what was read is known to be right or not. */
static double value_at(int i, int64_t t_ms)
{
    return (double)(t_ms / 1000 % 100000) * (i % 3 ? 1 : 0.37) + i;
}

static char names[N_SERIES][16];

/* Appends, commits and tells the pipe up to which moment, for ever. */
static void write_for_ever(struct rig *g, int64_t from_ms, int fd)
{
    uint32_t ids[N_SERIES];
    rig_open(g);
    for (int i = 0; i < N_SERIES; i++)
        ids[i] = rig_series(g, names[i], "a", i % 2 ? TSDB_COUNTER : TSDB_GAUGE);
    for (int64_t t = from_ms;; t += STEP_MS) {
        for (int i = 0; i < N_SERIES; i++)
            if (tsdb_append(g->t, ids[i], t, value_at(i, t)) < 0)
                _exit(3);
        if (tsdb_commit(g->t) < 0 || write(fd, &t, sizeof(t)) != sizeof(t) ||
            tsdb_maintain(g->t, t) < 0)
            _exit(4);
    }
}

/* The last moment that the writer told of before it was killed. */
static int64_t write_and_kill(struct rig *g, int64_t from_ms, long delay_us)
{
    int fds[2], status;
    int64_t told, last = from_ms - STEP_MS;
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(fds[0]);
        write_for_ever(g, from_ms, fds[1]);
    }
    close(fds[1]);
    /* It runs: now at any moment. */
    if (read(fds[0], &told, sizeof(told)) == sizeof(told))
        last = told;
    struct timespec delay = {0, delay_us * 1000};
    nanosleep(&delay, NULL);
    kill(pid, SIGKILL);
    while (read(fds[0], &told, sizeof(told)) == sizeof(told))
        last = told;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    close(fds[0]);
    return last;
}

/* Everything up to told_ms, and perhaps one more step; *ret_last is what there is. */
static void check(struct rig *g, int64_t told_ms, int64_t *ret_last)
{
    struct samples out;
    samples_init(&out, NULL);
    *ret_last = INT64_MIN;
    for (int i = 0; i < N_SERIES; i++) {
        rig_read(g->reader, names[i], INT64_MIN, INT64_MAX, SERIES_LAST, &out);
        assert_true(out.n > 0);
        for (size_t j = 0; j < out.n; j++) {
            assert_true(out.t[j] == RIG_START_MS + (int64_t)j * STEP_MS);
            assert_true(out.v[j] == value_at(i, out.t[j]));
        }
        int64_t last = out.t[out.n - 1];
        assert_true(last == told_ms || last == told_ms + STEP_MS);
        assert_true(i == 0 || last == *ret_last); /* all or none of a commit */
        *ret_last = last;
    }
    samples_done(&out);
}

static void test_killed_at_any_moment(void **state)
{
    (void)state;
    struct rig g;
    struct rng r;
    int64_t from = RIG_START_MS;
    rng_seed(&r, 5);
    rig_init(&g);
    g.config.keep_ms[0] = 10000 * RIG_DAY_MS;
    for (int i = 0; i < N_SERIES; i++)
        snprintf(names[i], sizeof(names[i]), "m%d", i);
    for (int i = 0; i < N_KILLS; i++) {
        int64_t told = write_and_kill(&g, from, (long)rng_below(&r, 12000)), last;
        rig_open(&g);
        assert_false(g.was_damaged);
        check(&g, told, &last);
        assert_int_equal(rig_stats(&g).n_damaged, 0);
        rig_close(&g);
        from = last + STEP_MS;
    }
    rig_open(&g);
    rig_done(&g);
}

static void test_second_writer_is_refused(void **state)
{
    (void)state;
    struct rig g;
    struct tsdb *other = NULL;
    struct err err = {0};
    rig_init(&g);
    rig_open(&g);
    assert_int_equal(tsdb_open(g.path, &g.config, &other, NULL, &err), -EBUSY);
    assert_non_null(strstr(err.hint, "another process"));
    assert_null(other);
    rig_done(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed_at_any_moment),
        cmocka_unit_test(test_second_writer_is_refused),
    };
    db_init();
    faultvfs_install(); /* for its speed */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
