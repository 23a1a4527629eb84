/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of rows: their own, of any length, in memory that is used again up to a number.
 */
#include "export/row_pool.h"

#include <errno.h>

#include "base/mem.h"
#include "harness.h"
#include "memfail.h"

static char timeline[TIMELINE_BYTES];
static char labels[RECORD_LABELS_MAX];

/* A row that borrows so many bytes. */
static struct record row_with(size_t n_timeline, size_t n_labels)
{
    struct record r;
    record_init(&r);
    memcpy(r.request_id, "req-1", 6);
    memset(timeline, 't', sizeof(timeline));
    memset(labels, 'l', sizeof(labels));
    r.timeline = span_of(timeline, n_timeline);
    r.labels = span_of(labels, n_labels);
    return r;
}

static void assert_all(struct span s, size_t n, char c)
{
    assert_int_equal(s.n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(s.p[i], c);
}

/* What is borrowed goes along, around the room that is there for it and far beyond. */
static void test_copies_are_whole(void **state)
{
    static const struct {
        size_t n_timeline, n_labels;
    } rows_of[] = {{0, 0},     {10, 0},  {0, 10},    {100, 156},
                   {156, 100}, {256, 0}, {100, 157}, {TIMELINE_BYTES, RECORD_LABELS_MAX}};
    struct row_pool rows;
    (void)state;
    row_pool_init(&rows);
    for (int round = 0; round < 3; round++) {
        void *copies[ARRAY_LEN(rows_of)];
        for (size_t i = 0; i < ARRAY_LEN(rows_of); i++) {
            struct record r = row_with(rows_of[i].n_timeline, rows_of[i].n_labels);
            copies[i] = row_pool_copy(&rows, &r);
            assert_non_null(copies[i]);
        }
        memset(timeline, '!', sizeof(timeline));
        memset(labels, '!', sizeof(labels));
        for (size_t i = 0; i < ARRAY_LEN(rows_of); i++) {
            const struct record *copy = copies[i];
            row_pool_prefetch(copy);
            assert_string_equal(copy->request_id, "req-1");
            assert_all(copy->timeline, rows_of[i].n_timeline, 't');
            assert_all(copy->labels, rows_of[i].n_labels, 'l');
        }
        row_pool_give(&rows, copies, ARRAY_LEN(rows_of));
    }
    row_pool_done(&rows);
}

/* So many as are kept cost no allocation any more; the rest goes back, and long ones always do. */
static void test_memory_is_used_again(void **state)
{
    enum { N = ROW_POOL_SPARE_MAX + 10 };
    static void *copies[N];
    struct row_pool rows;
    struct record r = row_with(5, 5);
    struct record longer = row_with(500, 5);
    int64_t n_live = mem_live_blocks();
    (void)state;
    row_pool_init(&rows);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < N; i++)
            copies[i] = row_pool_copy(&rows, &r);
        assert_int_equal(mem_live_blocks(), n_live + N);
        row_pool_give(&rows, copies, N);
        assert_int_equal(mem_live_blocks(), n_live + ROW_POOL_SPARE_MAX);
    }
    mem_fail_from(1);
    copies[0] = row_pool_copy(&rows, &r);
    assert_non_null(copies[0]);
    assert_null(row_pool_copy(&rows, &longer));
    mem_fail_off();
    copies[1] = row_pool_copy(&rows, &longer);
    assert_int_equal(mem_live_blocks(), n_live + ROW_POOL_SPARE_MAX + 1);
    row_pool_give(&rows, copies, 2);
    assert_int_equal(mem_live_blocks(), n_live + ROW_POOL_SPARE_MAX);
    row_pool_give(&rows, NULL, 0);
    row_pool_done(&rows);
    assert_int_equal(mem_live_blocks(), n_live);
}

static int copy_once(void *ctx)
{
    struct row_pool rows;
    struct record r = row_with(5, 5);
    (void)ctx;
    row_pool_init(&rows);
    void *copy = row_pool_copy(&rows, &r);
    if (copy)
        row_pool_give(&rows, &copy, 1);
    row_pool_done(&rows);
    return copy ? 0 : -ENOMEM;
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_int_equal(memfail_each(copy_once, NULL), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies_are_whole),
        cmocka_unit_test(test_memory_is_used_again),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("export/row_pool", tests, NULL, NULL);
}
