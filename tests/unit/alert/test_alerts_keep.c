/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alerts.db that cannot be opened, written or read: delivery goes on, and what is in memory is kept
 * as soon as that is possible.
 */
#include "harness.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alert/alertdb_private.h"
#include "alert/alerts_private.h"
#include "alert/dispatch_impl.h"
#include "alert/fingerprint.h"
#include "tempdir.h"

#define SILENCE                                                                                    \
    "{\"matchers\":[{\"name\":\"a\",\"value\":\"b\",\"isRegex\":false}],"                          \
    "\"startsAt\":\"2020-01-01T00:00:00Z\",\"endsAt\":\"2199-01-01T00:00:00Z\","                   \
    "\"createdBy\":\"ann\",\"comment\":\"c\"}"

static struct alerts *begin(const struct tempdir *dir)
{
    struct alerts *a = NULL;
    assert_int_equal(alerts_new(&(struct alerts_config){.dir = dir->path}, &a, NULL), 0);
    return a;
}

static void silence(struct alerts *a, char id[SILENCE_ID_BYTES])
{
    assert_int_equal(alerts_silence(a, SPAN(SILENCE), id, NULL), 0);
}

static bool has_silence(struct alerts *a, const char *id)
{
    pthread_mutex_lock(&a->lock);
    bool is_there = silences_get(a->silences, span_cstr(id)) != NULL;
    pthread_mutex_unlock(&a->lock);
    return is_there;
}

static void tell(struct alerts *a, const char *group, int64_t told_ms)
{
    const uint64_t firing = 7;
    const struct dispatch_log l = {.group_key = span_cstr(group),
                                   .receiver = SPAN("r"),
                                   .told_ms = told_ms,
                                   .firing = &firing,
                                   .n_firing = 1};
    struct dispatch_entry *e;
    assert_int_equal(dispatch_entry_new(&l, &e), 0);
    pthread_mutex_lock(&a->lock);
    dispatch_entry_put(a->dispatch, e);
    alerts_keep_changes(a, alerts_now(), false);
    pthread_mutex_unlock(&a->lock);
}

/* -1: nothing is known. */
static int64_t told_ms(struct alerts *a, const char *group)
{
    pthread_mutex_lock(&a->lock);
    const struct dispatch_entry *e =
        dispatch_entry_find(a->dispatch, span_cstr(group), SPAN("r"), 0);
    int64_t ms = e ? e->log.told_ms : -1;
    pthread_mutex_unlock(&a->lock);
    return ms;
}

/* As if the time until the next try were over. */
static void catch_up(struct alerts *a)
{
    struct moment later = alerts_now();
    later.mono_ms += CATCH_UP_MS + 1;
    pthread_mutex_lock(&a->lock);
    alerts_keep_changes(a, later, false);
    pthread_mutex_unlock(&a->lock);
}

/* A new life after a sudden end of this one: what alerts_free would write is not. */
static struct alerts *begin_anew(struct alerts *a, const struct tempdir *dir)
{
    pthread_mutex_lock(&a->lock);
    a->db = alertdb_close(a->db);
    a->is_db_behind = false;
    pthread_mutex_unlock(&a->lock);
    alerts_free(a);
    return begin(dir);
}

static void exec(struct alerts *a, const char *sql)
{
    pthread_mutex_lock(&a->lock);
    assert_int_equal(db_exec(a->db->db, sql), 0);
    pthread_mutex_unlock(&a->lock);
}

static void what_found_a_full_disk_is_written_later(void **state)
{
    (void)state;
    struct tempdir dir;
    char id[SILENCE_ID_BYTES];
    int64_t now_ms = alerts_now().wall_ms;
    tempdir_make(&dir);
    struct alerts *a = begin(&dir);
    exec(a, "CREATE TRIGGER full_1 BEFORE INSERT ON silences BEGIN SELECT RAISE(FAIL, 'full'); END;"
            "CREATE TRIGGER full_2 BEFORE INSERT ON told BEGIN SELECT RAISE(FAIL, 'full'); END");
    silence(a, id);
    tell(a, "g", now_ms);
    exec(a, "DROP TRIGGER full_1; DROP TRIGGER full_2");
    catch_up(a);
    a = begin_anew(a, &dir);
    assert_true(has_silence(a, id));
    assert_int_equal(told_ms(a, "g"), now_ms);
    alerts_free(a);
    tempdir_remove(&dir);
}

static void without_its_file_it_begins_and_reads_it_later(void **state)
{
    (void)state;
    struct tempdir dir;
    char before[SILENCE_ID_BYTES], meanwhile[SILENCE_ID_BYTES], path[4096], away[4096];
    int64_t now_ms = alerts_now().wall_ms;
    tempdir_make(&dir);
    snprintf(path, sizeof(path), "%s/alerts.db", dir.path);
    snprintf(away, sizeof(away), "%s/away", dir.path);
    struct alerts *a = begin(&dir);
    silence(a, before);
    tell(a, "old", now_ms - 2000);
    tell(a, "both", now_ms - 2000);
    alerts_free(a);
    assert_int_equal(rename(path, away), 0);
    assert_int_equal(mkdir(path, 0700), 0); /* nothing that could be opened */

    a = begin(&dir);
    silence(a, meanwhile);
    tell(a, "both", now_ms - 1000);
    assert_false(has_silence(a, before));
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rename(away, path), 0);
    catch_up(a);
    for (int life = 0; life < 2; life++) {
        assert_true(has_silence(a, before));
        assert_true(has_silence(a, meanwhile));
        assert_int_equal(told_ms(a, "old"), now_ms - 2000);
        assert_int_equal(told_ms(a, "both"), now_ms - 1000); /* the newer one */
        a = begin_anew(a, &dir);
    }
    alerts_free(a);
    tempdir_remove(&dir);
}

static struct alert_notice firing(const struct label *name, const struct label *annotation)
{
    int64_t now_ms = alerts_now().wall_ms;
    return (struct alert_notice){.labels = {name, 1},
                                 .annotations = {annotation, 1},
                                 .starts_ms = now_ms,
                                 .ends_ms = now_ms + 60000,
                                 .value = 1};
}

static bool has_alert(struct alerts *a, struct label name)
{
    pthread_mutex_lock(&a->lock);
    bool is_there = dispatch_has(a->dispatch, alert_fingerprint((struct labels){&name, 1}));
    pthread_mutex_unlock(&a->lock);
    return is_there;
}

static void what_is_too_large_to_be_kept_costs_only_itself(void **state)
{
    (void)state;
    enum { LARGE = 5 << 20 };
    static char text[LARGE];
    static const struct label names[] = {{SPAN_INIT("alertname"), SPAN_INIT("Large")},
                                         {SPAN_INIT("alertname"), SPAN_INIT("Small")}};
    const struct label large = {SPAN_INIT("summary"), span_of(text, sizeof(text))};
    const struct label small = {SPAN_INIT("summary"), SPAN_INIT("s")};
    struct tempdir dir;
    memset(text, 'x', sizeof(text));
    tempdir_make(&dir);
    struct alerts *a = begin(&dir);
    const struct alert_notice both[] = {firing(&names[0], &large), firing(&names[1], &small)};
    assert_int_equal(alerts_put(a, both, 2), 0);
    a = begin_anew(a, &dir);
    assert_true(has_alert(a, names[1]));
    assert_false(has_alert(a, names[0]));
    alerts_free(a);
    tempdir_remove(&dir);
}

/* It opens, but a table of it is no table. */
static void damage(const char *path)
{
    char page[4096] = {0};
    FILE *f = fopen(path, "r+");
    assert_non_null(f);
    memset(page, 0x55, sizeof(page));
    for (long i = 1; i < 9; i++) {
        assert_int_equal(fseek(f, i * (long)sizeof(page), SEEK_SET), 0);
        assert_int_equal(fwrite(page, sizeof(page), 1, f), 1);
    }
    assert_int_equal(fclose(f), 0);
}

static void a_file_that_cannot_be_read_makes_way_for_one_that_can(void **state)
{
    (void)state;
    struct tempdir dir;
    char id[SILENCE_ID_BYTES];
    tempdir_make(&dir);
    alerts_free(begin(&dir));
    damage(tempdir_file(&dir, "alerts.db"));
    struct alerts *a = begin(&dir);
    silence(a, id);
    catch_up(a);
    a = begin_anew(a, &dir);
    assert_true(has_silence(a, id));
    alerts_free(a);
    tempdir_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_found_a_full_disk_is_written_later),
        cmocka_unit_test(without_its_file_it_begins_and_reads_it_later),
        cmocka_unit_test(what_is_too_large_to_be_kept_costs_only_itself),
        cmocka_unit_test(a_file_that_cannot_be_read_makes_way_for_one_that_can),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
