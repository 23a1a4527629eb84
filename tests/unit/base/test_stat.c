/* SPDX-License-Identifier: Apache-2.0 */
#include "base/stat.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"

static bool ends_with(const char *s, const char *suffix)
{
    size_t n = strlen(s);
    size_t n_suffix = strlen(suffix);
    return n >= n_suffix && strcmp(s + n - n_suffix, suffix) == 0;
}

static void test_names(void **state)
{
    (void)state;
    for (int i = 0; i < STAT_COUNT_; i++) {
        const struct stat_desc *d = &stat_table[i];
        char row[16];
        (void)snprintf(row, sizeof(row), "row %d", i);
        assert_row(row, d->name != NULL);
        assert_row(d->name, strncmp(d->name, "inferometer_", 12) == 0);
        for (const char *c = d->name; *c; c++)
            assert_row(d->name, islower((unsigned char)*c) || *c == '_');
        assert_row(d->name, ends_with(d->name, "_total") == (d->type == STAT_COUNTER));
        assert_row(d->name, d->labels != NULL);
        assert_row(d->name, strlen(d->help) > 10 && ends_with(d->help, "."));
        assert_row(d->name, strpbrk(d->help, "\n\\") == NULL);
    }
}

/* The exposition format wants the rows of a family together, with one type and one help. */
static void test_families(void **state)
{
    (void)state;
    for (int i = 0; i < STAT_COUNT_; i++) {
        bool is_adjacent = true;
        for (int j = i + 1; j < STAT_COUNT_; j++) {
            const struct stat_desc *a = &stat_table[i];
            const struct stat_desc *b = &stat_table[j];
            if (strcmp(a->name, b->name) != 0) {
                is_adjacent = false;
                continue;
            }
            assert_row(a->name, is_adjacent);
            assert_row(a->name, a->type == b->type && strcmp(a->help, b->help) == 0);
            assert_row(a->name, strcmp(a->labels, b->labels) != 0);
            assert_row(a->name, a->labels[0] != '\0' && b->labels[0] != '\0');
        }
    }
}

static void test_known_rows(void **state)
{
    (void)state;
    assert_string_equal(stat_table[STAT_CONNS_CLIENT_OPEN].name, "inferometer_connections_open");
    assert_string_equal(stat_table[STAT_CONNS_CLIENT_OPEN].labels, "side=\"client\"");
    assert_int_equal(stat_table[STAT_CONNS_CLIENT_OPEN].type, STAT_GAUGE);
    assert_string_equal(stat_table[STAT_DROP_LOG_QUEUE].name, "inferometer_drops_total");
    assert_string_equal(stat_table[STAT_DROP_LOG_QUEUE].labels, "cause=\"log_queue\"");
    assert_string_equal(stat_table[STAT_UNOBSERVED_CODED].name, "inferometer_unobserved_total");
}

static void test_one_thread(void **state)
{
    (void)state;
    int64_t before = stat_sum(STAT_SCRAPES);
    stat_inc(STAT_SCRAPES);
    stat_add(STAT_SCRAPES, 41);
    assert_int_equal(stat_sum(STAT_SCRAPES) - before, 42);
    stat_inc(STAT_EXCHANGES_OPEN);
    stat_add(STAT_EXCHANGES_OPEN, -1); /* a gauge goes down again */
    assert_int_equal(stat_sum(STAT_EXCHANGES_OPEN), 0);
}

enum { N_THREADS = 8, N_ADDS = 20000 };

static void *add_many(void *arg)
{
    (void)arg;
    for (int i = 0; i < N_ADDS; i++) {
        stat_inc(STAT_RECORDS_MADE);
        stat_add(STAT_BYTES_CLIENT_IN, 100);
    }
    return NULL;
}

/* Read while others write; nothing is lost when threads end, and sums never go down. */
static void test_threads(void **state)
{
    pthread_t threads[N_THREADS];
    (void)state;
    for (int round = 0; round < 3; round++) {
        int64_t before = stat_sum(STAT_RECORDS_MADE);
        int64_t bytes_before = stat_sum(STAT_BYTES_CLIENT_IN);
        int64_t last = before;
        for (int i = 0; i < N_THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, add_many, NULL), 0);
        for (int i = 0; i < 1000; i++) {
            int64_t now = stat_sum(STAT_RECORDS_MADE);
            assert_true(now >= last);
            last = now;
        }
        for (int i = 0; i < N_THREADS; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(stat_sum(STAT_RECORDS_MADE) - before, N_THREADS * N_ADDS);
        assert_int_equal(stat_sum(STAT_BYTES_CLIENT_IN) - bytes_before,
                         INT64_C(100) * N_THREADS * N_ADDS);
    }
}

/* One thread opens, another closes: the blocks hold +n and -n, the sum is right. */
static void *close_all(void *arg)
{
    (void)arg;
    stat_add(STAT_CONNS_CLIENT_OPEN, -5);
    return NULL;
}

static void test_gauge_over_threads(void **state)
{
    pthread_t thread;
    (void)state;
    stat_add(STAT_CONNS_CLIENT_OPEN, 5);
    assert_int_equal(pthread_create(&thread, NULL, close_all, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(stat_sum(STAT_CONNS_CLIENT_OPEN), 0);
}

static pthread_key_t late_key;

static void count_late(void *arg)
{
    (void)arg;
    stat_inc(STAT_SCRAPES);
}

static void *set_late_key(void *arg)
{
    stat_inc(STAT_LOG_REOPENS);
    pthread_setspecific(late_key, arg);
    return NULL;
}

/* Counting from a destructor that runs after the thread's block was given back. */
static void test_counting_while_a_thread_ends(void **state)
{
    pthread_t thread;
    int64_t before = stat_sum(STAT_SCRAPES);
    (void)state;
    assert_int_equal(pthread_key_create(&late_key, count_late), 0);
    assert_int_equal(pthread_create(&thread, NULL, set_late_key, &late_key), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(stat_sum(STAT_SCRAPES) - before, 1);
    pthread_key_delete(late_key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_known_rows),
        cmocka_unit_test(test_one_thread),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_gauge_over_threads),
        cmocka_unit_test(test_counting_while_a_thread_ends),
    };
    return cmocka_run_group_tests_name("base/stat", tests, NULL, NULL);
}
