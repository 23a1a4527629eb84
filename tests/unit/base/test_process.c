/* SPDX-License-Identifier: Apache-2.0 */
#include "base/process.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/stat.h"
#include "harness.h"

static void test_follows_what_is_used(void **state)
{
    (void)state;
    process_sample();
    int64_t n_fds = stat_sum(STAT_OPEN_DESCRIPTORS);
    int64_t n_blocks = stat_sum(STAT_MEMORY_BLOCKS);
    int64_t n_allocations = stat_sum(STAT_MEMORY_ALLOCATIONS);
    assert_true(n_fds >= 3);
    assert_true(stat_sum(STAT_MEMORY_RESIDENT_BYTES) > 100 * 1024);

    int fd = open("/dev/null", O_RDONLY);
    void *block = mem_alloc(10);
    assert_true(fd >= 0 && block);
    process_sample();
    assert_int_equal(stat_sum(STAT_OPEN_DESCRIPTORS), n_fds + 1);
    assert_int_equal(stat_sum(STAT_MEMORY_BLOCKS), n_blocks + 1);
    assert_int_equal(stat_sum(STAT_MEMORY_ALLOCATIONS), n_allocations + 1);
    close(fd);
    mem_free(block);
    process_sample();
    assert_int_equal(stat_sum(STAT_OPEN_DESCRIPTORS), n_fds);
    assert_int_equal(stat_sum(STAT_MEMORY_BLOCKS), n_blocks);
}

static void *name_itself(void *name)
{
    process_name_thread("a-worker");
    assert_int_equal(pthread_getname_np(pthread_self(), name, 16), 0);
    return NULL;
}

static void test_threads_have_names(void **state)
{
    (void)state;
    pthread_t thread;
    char name[16] = "";
    assert_int_equal(pthread_create(&thread, NULL, name_itself, name), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_string_equal(name, "a-worker");
}

static void *take_mask(void *mask)
{
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, mask), 0);
    return NULL;
}

static void test_threads_without_signals(void **state)
{
    (void)state;
    pthread_t thread;
    sigset_t theirs, ours;
    assert_int_equal(process_start_thread(&thread, NULL, take_mask, &theirs), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)take_mask(&ours);
    assert_true(sigismember(&theirs, SIGTERM) && sigismember(&theirs, SIGXFSZ));
    assert_false(sigismember(&ours, SIGTERM));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_follows_what_is_used),
                                       cmocka_unit_test(test_threads_have_names),
                                       cmocka_unit_test(test_threads_without_signals)};
    return cmocka_run_group_tests_name("base/process", tests, NULL, NULL);
}
