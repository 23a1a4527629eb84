/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

enum { MODULE_A = 30, MODULE_B = 31 }; /* ids that no module of the program has */

static void test_counts(void **state)
{
    struct mem_count total = mem_count_total();
    int64_t n_live = mem_live_blocks();
    (void)state;
    char *a = mem_alloc_at(MODULE_A, 100);
    char *b = mem_zalloc_at(MODULE_B, 10, 20);
    assert_non_null(a);
    assert_non_null(b);
    for (int i = 0; i < 200; i++)
        assert_int_equal(b[i], 0);
    assert_int_equal(mem_live_blocks() - n_live, 2);
    a[99] = 'x';
    a = mem_realloc_at(MODULE_A, a, 300);
    assert_non_null(a);
    assert_int_equal(a[99], 'x');
    assert_int_equal(mem_live_blocks() - n_live, 2);
    char *c = mem_realloc_at(MODULE_A, NULL, 5);
    assert_int_equal(mem_live_blocks() - n_live, 3);

    assert_int_equal(mem_count_get(MODULE_A).n_allocs, 3);
    assert_int_equal(mem_count_get(MODULE_A).n_bytes, 405);
    assert_int_equal(mem_count_get(MODULE_B).n_allocs, 1);
    assert_int_equal(mem_count_get(MODULE_B).n_bytes, 200);
    assert_int_equal(mem_count_total().n_allocs - total.n_allocs, 4);
    assert_int_equal(mem_count_total().n_bytes - total.n_bytes, 605);
    assert_int_equal(mem_count_get(-1).n_allocs, 0);
    assert_int_equal(mem_count_get(MEM_MODULES_MAX).n_allocs, 0);

    mem_free(a);
    mem_free(b);
    mem_free(c);
    mem_free(NULL);
    assert_int_equal(mem_live_blocks(), n_live);
}

static void test_sizes_at_the_edge(void **state)
{
    int64_t n_live = mem_live_blocks();
    (void)state;
    /* Not written as a constant: the compiler would refuse such a size. */
    volatile size_t half = SIZE_MAX / 2;
    assert_null(mem_zalloc(half, 3));
    void *p = mem_alloc(0);
    void *q = mem_zalloc(0, 8);
    assert_non_null(p);
    assert_non_null(q);
    p = mem_realloc(p, 0);
    assert_non_null(p);
    mem_free(p);
    mem_free(q);
    assert_int_equal(mem_live_blocks(), n_live);
}

static void test_strdup(void **state)
{
    (void)state;
    char *a = mem_strdup("hello");
    char *b = mem_strndup("hello", 3);
    char *c = mem_strndup("hi", 10);
    char *d = mem_strndup(NULL, 0);
    assert_string_equal(a, "hello");
    assert_string_equal(b, "hel");
    assert_string_equal(c, "hi");
    assert_string_equal(d, "");
    mem_free(a);
    mem_free(b);
    mem_free(c);
    mem_free(d);
}

static void test_failing(void **state)
{
    (void)state;
    char *kept = mem_strdup("kept");
    int64_t n_live = mem_live_blocks();
    mem_fail_from(2);
    void *p = mem_alloc(1);
    assert_non_null(p);
    assert_null(mem_alloc(1));
    assert_null(mem_zalloc(1, 1));
    assert_null(mem_realloc(kept, 1000));
    assert_string_equal(kept, "kept"); /* untouched */
    assert_null(mem_strdup("x"));
    mem_free(p); /* freeing still works */
    mem_fail_off();
    p = mem_alloc(1);
    assert_non_null(p);
    mem_free(p);
    assert_int_equal(mem_live_blocks(), n_live);
    mem_free(kept);
}

static void *allocate_some(void *arg)
{
    (void)arg;
    for (int i = 0; i < 1000; i++) {
        void *p = mem_alloc_at(MODULE_A, 8);
        if (!p)
            return (void *)1;
        mem_free(p);
    }
    return NULL;
}

static void test_threads(void **state)
{
    enum { N_THREADS = 20 }; /* more than there are stripes */
    pthread_t threads[N_THREADS];
    uint64_t before = mem_count_get(MODULE_A).n_allocs;
    int64_t n_live = mem_live_blocks();
    (void)state;
    mem_fail_from(1); /* only for this thread */
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, allocate_some, NULL), 0);
    for (int i = 0; i < N_THREADS; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    mem_fail_off();
    assert_int_equal(mem_count_get(MODULE_A).n_allocs - before, N_THREADS * 1000);
    assert_int_equal(mem_live_blocks(), n_live);
}

static void test_must(void **state)
{
    int x;
    (void)state;
    assert_ptr_equal(mem_must(&x), &x);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(STDERR_FILENO);
        mem_must(NULL);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),  cmocka_unit_test(test_sizes_at_the_edge),
        cmocka_unit_test(test_strdup),  cmocka_unit_test(test_failing),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_must),
    };
    return cmocka_run_group_tests_name("base/mem", tests, NULL, NULL);
}
