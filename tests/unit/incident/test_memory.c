/* SPDX-License-Identifier: Apache-2.0 */
/* No memory at any moment; several threads at once. */
#include "rig.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "db/db.h"
#include "faultvfs.h"
#include "incident/incidents_private.h"
#include "memfail.h"

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
    rig_stop(&rig);
    faultvfs_remove();
    return 0;
}

static int put(const char *name, int64_t from_ms, bool is_resolved)
{
    const struct told t = {name, "a", "P1", from_ms, is_resolved, 2};
    return rig_put(&rig, &t);
}

/* --- memory --- */

static int live(void *ctx)
{
    struct tempdir dir;
    struct incidents *i = NULL;
    static struct buf b;
    struct jsonw w;
    struct incidents_filter f = {0};
    (void)ctx;
    tempdir_make(&dir);
    struct incidents_config config = {.dir = dir.path};
    int r = incidents_open(&config, &i, NULL);
    assert_true(r == 0 || !i);
    struct incidents *before = rig.incidents;
    rig.incidents = i;
    rig.now_ms = T0;
    buf_init(&b, 1 << 20);
    jsonw_init(&w, &b);
    if (r == 0)
        r = put("Slow", T0, false);
    if (r == 0)
        r = put("Slow", T0, true);
    if (r == 0)
        r = incidents_tick(i, NULL, T0 + S);
    if (r == 0)
        r = incidents_note(i, SPAN("20231114T2214-1"), SPAN("me"), SPAN("why"), T0, NULL);
    if (r == 0)
        r = incidents_write(i, &f, &w);
    if (r == 0)
        r = incidents_write_one(i, SPAN("20231114T2214-1"), &w);
    if (r == 0)
        r = incidents_print_markdown(i, SPAN("20231114T2214-1"), &b);
    buf_done(&b);
    rig.incidents = before;
    (void)incidents_close(i);
    tempdir_remove(&dir);
    return r;
}

static void memory_may_end_at_any_allocation(void **state)
{
    (void)state;
    assert_int_equal(live(NULL), 0); /* what SQLite allocates once for all */
    assert_true(memfail_each(live, NULL) > 100);
}

/* Not taken for lack of memory, told again: it is there once. */
static void what_memory_did_not_take_is_told_again(void **state)
{
    (void)state;
    for (uint64_t n = 1; n < 60; n++) {
        mem_fail_from(n);
        int r = put("Slow", T0, false);
        mem_fail_off();
        rig.now_ms += 6 * S;
        if (r != 0)
            assert_int_equal(put("Slow", T0, false), 0);
        assert_has(rig_list(&rig), "\"times_fired\":1,\"firing\":1");
        assert_int_equal(rig_count(rig.text, "\"id\""), 1);
    }
}

/* --- threads --- */

enum { N_ROUNDS = 150, N_READERS = 3 };
#define ID "20231114T2214-1"

struct reading {
    pthread_t thread;
    int kind;
    atomic_bool *must_stop;
    int n;
};

static int pass(void *ctx, const struct incident_alert *a)
{
    (void)a;
    ++*(int *)ctx;
    return 0;
}

static void read_once(struct reading *g)
{
    struct buf b;
    struct jsonw w;
    const struct incidents_filter f = {0};
    struct incidents_stats stats;
    int n = 0;
    buf_init(&b, 8 * 1024 * 1024);
    jsonw_init(&w, &b);
    incidents_stats(rig.incidents, &stats);
    if (g->kind == 0) {
        assert_int_equal(incidents_write(rig.incidents, &f, &w), 0);
        assert_int_equal(incidents_each_alert(rig.incidents, 0, INT64_MAX, pass, &n), 0);
    } else if (g->kind == 1) {
        assert_int_equal(incidents_write_one(rig.incidents, SPAN(ID), &w), 0);
        assert_int_equal(incidents_print_markdown(rig.incidents, SPAN(ID), &b), 0);
    } else {
        int r = incidents_note(rig.incidents, SPAN(ID), SPAN("a"), SPAN("b"), T0, NULL);
        assert_true(r == 0 || r == -E2BIG);
    }
    buf_done(&b);
    g->n++;
}

static void *read_all(void *arg)
{
    struct reading *g = arg;
    while (!atomic_load(g->must_stop))
        read_once(g);
    return NULL;
}

static void readers_and_the_evaluator_meet(void **state)
{
    (void)state;
    atomic_bool must_stop = false;
    struct reading readings[N_READERS];
    struct memory *m;
    assert_int_equal(memory_new(&m), 0);
    rig_fire(&rig, "Slow");
    for (int i = 0; i < N_READERS; i++) {
        readings[i] = (struct reading){.kind = i, .must_stop = &must_stop};
        assert_int_equal(pthread_create(&readings[i].thread, NULL, read_all, &readings[i]), 0);
    }
    for (int i = 0; i < N_ROUNDS; i++) { /* opens and closes, with curves */
        int64_t from = rig.now_ms;
        rig_fire_at(&rig, "Slow", from);
        rig_go(&rig, 10 * S, memory_reader(m));
        rig_resolve(&rig, "Slow", from);
        rig_go(&rig, i % 10 == 0 ? 15 * MINUTE : S, memory_reader(m));
    }
    atomic_store(&must_stop, true);
    for (int i = 0; i < N_READERS; i++) {
        pthread_join(readings[i].thread, NULL);
        assert_true(readings[i].n > 0);
    }
    assert_int_equal(rig_n(&rig), N_ROUNDS / 10 + 1); /* and the one that goes on */
    memory_free(m);
}

/* --- who waits for whom --- */

struct asking {
    pthread_t thread;
    atomic_int tid; /* 0: it has not begun */
    bool holds_up;
};

static void *ask(void *arg)
{
    struct asking *g = arg;
    struct buf b;
    struct jsonw w;
    buf_init(&b, 1 << 20);
    jsonw_init(&w, &b);
    atomic_store(&g->tid, gettid());
    assert_int_equal(incidents_write_one(rig.incidents, SPAN(ID), &w), 0);
    assert_true(span_find(buf_span(&b), SPAN("\"name\":\"Slow\"")) < buf_len(&b));
    buf_done(&b);
    return NULL;
}

/* 'S': it waits for something. */
static char state_of(int tid)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
    FILE *f = fopen(path, "re");
    if (!f)
        return '?';
    const char *end = fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;
    fclose(f);
    return end && end[1] ? end[2] : '?';
}

/* While the reading connection is held. */
static int tell_meanwhile(void *ctx, const struct incident_alert *a)
{
    struct asking *g = ctx;
    (void)a;
    assert_int_equal(pthread_create(&g->thread, NULL, ask, g), 0);
    while (atomic_load(&g->tid) == 0 || state_of(atomic_load(&g->tid)) != 'S')
        sched_yield();
    g->holds_up = pthread_mutex_trylock(&rig.incidents->lock) != 0;
    if (!g->holds_up)
        pthread_mutex_unlock(&rig.incidents->lock);
    return 1;
}

/* A long review, and somebody who looks at the incident that is open: alerts go on. */
static void who_looks_holds_up_no_alert(void **state)
{
    (void)state;
    struct asking g = {.tid = 0};
    rig_fire(&rig, "Slow");
    assert_int_equal(incidents_each_alert(rig.incidents, 0, INT64_MAX, tell_meanwhile, &g), 1);
    pthread_join(g.thread, NULL);
    assert_false(g.holds_up);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(memory_may_end_at_any_allocation, setup, teardown),
        cmocka_unit_test_setup_teardown(what_memory_did_not_take_is_told_again, setup, teardown),
        cmocka_unit_test_setup_teardown(readers_and_the_evaluator_meet, setup, teardown),
        cmocka_unit_test_setup_teardown(who_looks_holds_up_no_alert, setup, teardown),
    };
    db_init(); /* before the file system: SQLite's memory can be counted only then */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
