/* SPDX-License-Identifier: Apache-2.0 */
#include "base/check.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/stat.h"
#include "harness.h"

static void test_counted_failures(void **state)
{
    char text[64] = "untouched";
    int64_t before = stat_sum(STAT_INTERNAL_ERRORS);
    (void)state;
    assert_false(check_last(text, sizeof(text)));
    assert_string_equal(text, "untouched");
    check_count("a < b", "x.c", 7);
    check_count("c != 0", "y.c", 12);
    assert_int_equal(stat_sum(STAT_INTERNAL_ERRORS) - before, 2);
    assert_true(check_last(text, sizeof(text)));
    assert_string_equal(text, "y.c:12: c != 0");
    char small[8];
    assert_true(check_last(small, sizeof(small)));
    assert_string_equal(small, "y.c:12:");
}

static void test_abort_says_where(void **state)
{
    int fds[2];
    (void)state;
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)signal(SIGABRT, SIG_DFL); /* sanitizers and cmocka install handlers */
        dup2(fds[1], STDERR_FILENO);
        check_abort("x > 0", "z.c", 3);
    }
    close(fds[1]);
    char text[128] = "";
    ssize_t n = read(fds[0], text, sizeof(text) - 1);
    close(fds[0]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_span_equal("message", span_of(text, (size_t)n), SPAN("z.c:3: check failed: x > 0\n"));
}

/* The macros evaluate their argument once, and true statements cost nothing visible. */
static void test_true_statements(void **state)
{
    int n = 0;
    int64_t before = stat_sum(STAT_INTERNAL_ERRORS);
    (void)state;
    ASSERT(before >= 0);
    assert_true(ALWAYS(++n == 1));
    assert_false(NEVER(++n == 1));
    assert_int_equal(n, 2);
    assert_int_equal(stat_sum(STAT_INTERNAL_ERRORS), before);
}

#ifndef DEV_BUILD
static void test_false_statements_in_release(void **state)
{
    char text[256];
    int zero = 0;
    int64_t before = stat_sum(STAT_INTERNAL_ERRORS);
    (void)state;
    assert_false(ALWAYS(zero == 1));
    assert_true(NEVER(zero == 0));
    assert_int_equal(stat_sum(STAT_INTERNAL_ERRORS) - before, 2);
    assert_true(check_last(text, sizeof(text)));
    assert_non_null(strstr(text, "test_check.c:"));
    assert_non_null(strstr(text, ": zero == 0"));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counted_failures),
        cmocka_unit_test(test_abort_says_where),
        cmocka_unit_test(test_true_statements),
#ifndef DEV_BUILD
        cmocka_unit_test(test_false_statements_in_release),
#endif
    };
    return cmocka_run_group_tests_name("base/check", tests, NULL, NULL);
}
