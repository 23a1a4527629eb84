/* SPDX-License-Identifier: Apache-2.0 */
/* Disks that are full, broken, busy, or give other bytes; files that go; kill -9. */
#include "rig.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rng.h"
#include "faultvfs.h"

static struct rig rig;

static int setup(void **state)
{
    (void)state;
    faultvfs_install();
    rig_start(&rig);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    faultvfs_heal();
    rig_stop(&rig);
    faultvfs_remove();
    return 0;
}

static int put(const char *name, int64_t from_ms, bool is_resolved)
{
    const struct told t = {name, "a", "P1", from_ms, is_resolved, 2};
    return rig_put(&rig, &t);
}

static size_t n_unsaved(void)
{
    struct incidents_stats stats;
    incidents_stats(rig.incidents, &stats);
    return stats.n_unsaved;
}

static void what_cannot_be_written_is_written_later(void **state)
{
    (void)state;
    static const struct {
        enum faultvfs_kind kind;
        int error;
    } rows[] = {{FAULTVFS_FULL, -ENOSPC}, {FAULTVFS_IOERR, -EIO}, {FAULTVFS_BUSY, -EBUSY}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t from = rig.now_ms;
        struct err err = {0};
        char id[64];
        faultvfs_fail(rows[i].kind, 1, true);
        int r = put("Slow", from, false);
        assert_row("told", r == rows[i].error || r == -EIO);
        assert_int_equal(n_unsaved(), 1);
        assert_row("within the back-off", put("Slow", from, false) < 0);
        if (rows[i].kind == FAULTVFS_FULL) { /* it can still be looked at */
            snprintf(id, sizeof(id), "20231114T2214-%zu", i + 1);
            assert_has(rig_one(&rig, id), "\"is_firing\":true");
            assert_int_equal(rig_n_of(&rig, "open"), 1);
            /* People hear that it was not written. */
            assert_true(incidents_note(rig.incidents, span_cstr(id), SPAN("me"), SPAN("x"),
                                       rig.now_ms, &err) < 0);
            assert_has(err.text, "could not be written");
        }
        faultvfs_heal();
        rig.now_ms += 5 * S;
        assert_int_equal(incidents_tick(rig.incidents, NULL, rig.now_ms), 0);
        assert_int_equal(n_unsaved(), 0);
        rig_restart(&rig);
        assert_int_equal(rig_n_of(&rig, "open"), 1);
        assert_int_equal(put("Slow", from, true), 0);
        rig_go(&rig, 6 * MINUTE, NULL);
        assert_int_equal(rig_n(&rig), (int)i + 1);
    }
}

/* Any single call that fails, of any kind, costs nothing in the end. */
static void a_call_that_fails_once_costs_nothing(void **state)
{
    (void)state;
    static const enum faultvfs_kind kinds[] = {FAULTVFS_FULL, FAULTVFS_IOERR};
    int n = 0;
    char name[32];
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        for (uint64_t at = 1; at < 40; at++) {
            snprintf(name, sizeof(name), "Slow%d", n++);
            faultvfs_fail(kinds[k], at, false);
            int r = put(name, rig.now_ms, false);
            bool has_failed = faultvfs_n_failed() > 0;
            faultvfs_heal();
            rig.now_ms += 6 * S;
            assert_int_equal(incidents_tick(rig.incidents, NULL, rig.now_ms), 0);
            if (!has_failed)
                assert_int_equal(r, 0);
        }
    }
    char what[64];
    snprintf(what, sizeof(what), "\"times_fired\":%d,\"firing\":%d", n, n);
    rig_restart(&rig);
    assert_has(rig_list(&rig), what);
}

/* --- files --- */

static void damage(const char *path)
{
    FILE *f = fopen(path, "r+");
    assert_non_null(f);
    for (int i = 0; i < 4096; i++)
        assert_int_equal(fputc(0x5a, f), 0x5a);
    assert_int_equal(fclose(f), 0);
}

static void a_damaged_file_goes_aside(void **state)
{
    (void)state;
    rig_fire(&rig, "Slow");
    rig.incidents = incidents_close(rig.incidents);
    damage(tempdir_file(&rig.dir, "incidents.db"));
    rig_open(&rig);
    assert_int_equal(rig_n(&rig), 0);
    assert_int_equal(tempdir_count(&rig.dir, "incidents.db.damaged-"), 1);
    rig_fire(&rig, "Slow");
    assert_int_equal(rig_n(&rig), 1);
}

/* What lives is in the new file, too. */
static void damage_found_at_work_goes_aside(void **state)
{
    (void)state;
    rig_fire(&rig, "Slow");
    rig_restart(&rig); /* nothing of it is in memory of the connection */
    faultvfs_fail(FAULTVFS_CORRUPT, 1, true);
    struct buf b;
    struct jsonw w;
    struct incidents_filter f = {0};
    buf_init(&b, 1 << 20);
    jsonw_init(&w, &b);
    int r = incidents_write(rig.incidents, &f, &w);
    buf_done(&b);
    faultvfs_heal();
    assert_int_equal(r, -EBADMSG);
    rig_go(&rig, S, NULL);
    assert_int_equal(tempdir_count(&rig.dir, "incidents.db.damaged-"), 1);
    assert_int_equal(rig_n_of(&rig, "open"), 1);
    rig_restart(&rig);
    assert_int_equal(rig_n_of(&rig, "open"), 1);
    assert_has(rig_one(&rig, "20231114T2214-1"), "it is slow");
}

static void change(const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(tempdir_file(&rig.dir, "incidents.db"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static int count_alert(void *ctx, const struct incident_alert *a)
{
    int64_t *n = ctx;
    assert_true(span_starts_with(a->name, SPAN("Slow")));
    (*n)++;
    return 0;
}

/* Of an old one, that nobody writes any more: the others are still there. */
static void a_damaged_row_costs_that_row(void **state)
{
    (void)state;
    struct buf b;
    int64_t n = 0;
    rig_fire(&rig, "Slow");
    rig_resolve(&rig, "Slow", T0);
    rig_go(&rig, 6 * MINUTE, NULL);
    rig_fire(&rig, "Slow2");
    rig.incidents = incidents_close(rig.incidents);
    change("UPDATE episodes SET labels=x'ff' WHERE incident=1;"
           "UPDATE incidents SET state=2 WHERE row=1");
    rig_open(&rig);
    buf_init(&b, 1 << 20);
    assert_int_equal(incidents_print_markdown(rig.incidents, SPAN("20231114T2214-1"), &b), -EILSEQ);
    buf_done(&b);
    rig_go(&rig, S, NULL);
    assert_int_equal(rig_n(&rig), 2);
    assert_int_equal(incidents_each_alert(rig.incidents, 0, INT64_MAX, count_alert, &n), 0);
    assert_int_equal(n, 2);
    assert_int_equal(tempdir_count(&rig.dir, "incidents.db.damaged-"), 0);
}

static void a_file_that_was_removed_is_made_again(void **state)
{
    (void)state;
    rig_fire(&rig, "Slow");
    rig_go(&rig, S, NULL);
    assert_int_equal(unlink(tempdir_file(&rig.dir, "incidents.db")), 0);
    rig_go(&rig, 31 * S, NULL);
    rig_restart(&rig);
    assert_int_equal(rig_n_of(&rig, "open"), 1);
}

static void a_file_of_somebody_else_is_left_alone(void **state)
{
    (void)state;
    struct incidents_config config = {.dir = rig.dir.path};
    struct incidents *i = NULL;
    struct err err = {0};
    rig.incidents = incidents_close(rig.incidents);
    const char *path = tempdir_file(&rig.dir, "incidents.db");
    assert_int_equal(unlink(path), 0);
    sqlite3 *other;
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "CREATE TABLE a(x)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    assert_int_equal(incidents_open(&config, &i, &err), -EPROTO);
    assert_true(err.text[0] && !i);
    config.dir = tempdir_file(&rig.dir, "nowhere");
    assert_int_equal(incidents_open(&config, &i, &err), -ENOENT);
    assert_int_equal(unlink(tempdir_file(&rig.dir, "incidents.db")), 0);
    rig_open(&rig);
}

/* --- kill -9 --- */

enum { N_KILLS = 25, KILL_WITHIN_US = 60000 };

/* Alerts that begin and end; a line through the pipe for each that put took. */
static void tell_for_ever(int64_t n, int fd)
{
    char name[32];
    rig_open(&rig);
    for (;; n++) {
        snprintf(name, sizeof(name), "Slow%" PRId64, n);
        rig.now_ms = T0 + n * S;
        if (put(name, rig.now_ms, false) != 0 || write(fd, &n, sizeof(n)) != sizeof(n))
            _exit(1);
        if (n > 2 && n % 3 == 0) {
            snprintf(name, sizeof(name), "Slow%" PRId64, n - 3);
            if (put(name, T0 + (n - 3) * S, true) != 0)
                _exit(1);
        }
        if (incidents_tick(rig.incidents, NULL, rig.now_ms) != 0)
            _exit(1);
    }
}

static int64_t last_told(int fd, int64_t last)
{
    int64_t n;
    while (read(fd, &n, sizeof(n)) == (ssize_t)sizeof(n))
        last = n;
    return last;
}

static void what_put_took_survives_kill_9(void **state)
{
    (void)state;
    struct rng g;
    int64_t last = -1;
    rng_seed(&g, 7);
    rig.incidents = incidents_close(rig.incidents);
    for (int k = 0; k < N_KILLS && last < INCIDENT_ALERTS_MAX - 200; k++) {
        int fds[2], status;
        assert_int_equal(pipe(fds), 0);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            close(fds[0]);
            tell_for_ever(last + 1, fds[1]);
        }
        close(fds[1]);
        int64_t told = last;
        if (k % 2 == 1) /* however slow the machine is; the others may end before anything is put */
            assert_int_equal(read(fds[0], &told, sizeof(told)), sizeof(told));
        usleep((useconds_t)rng_below(&g, KILL_WITHIN_US));
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        told = last_told(fds[0], told);
        close(fds[0]);
        int64_t n = 0;
        rig_open(&rig);
        assert_int_equal(incidents_each_alert(rig.incidents, 0, INT64_MAX, count_alert, &n), 0);
        assert_true(n >= told + 1 && n <= told + 2); /* one may be there that nobody heard of */
        assert_true(rig_n(&rig) <= 1);
        last = n - 1;
        rig.incidents = incidents_close(rig.incidents);
    }
    assert_true(last >= N_KILLS / 2 - 1);
    rig_open(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_cannot_be_written_is_written_later, setup, teardown),
        cmocka_unit_test_setup_teardown(a_call_that_fails_once_costs_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_damaged_file_goes_aside, setup, teardown),
        cmocka_unit_test_setup_teardown(damage_found_at_work_goes_aside, setup, teardown),
        cmocka_unit_test_setup_teardown(a_damaged_row_costs_that_row, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_that_was_removed_is_made_again, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_of_somebody_else_is_left_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(what_put_took_survives_kill_9, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
