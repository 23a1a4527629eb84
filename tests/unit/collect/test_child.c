/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/child.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/clock.h"
#include "harness.h"

static int run(struct child *c, const char *script, int64_t ms)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    return child_run(c, argv, ms * NS_PER_MS);
}

static void test_what_it_prints(void **state)
{
    struct child c;
    (void)state;
    child_init(&c);
    assert_int_equal(run(&c, "echo out; echo err >&2; exit 3", 10000), 0);
    assert_span_equal("out", buf_span(&c.out), SPAN("out\n"));
    assert_span_equal("err", buf_span(&c.errors), SPAN("err\n"));
    assert_int_equal(c.status, 3);
    assert_int_equal(run(&c, "cat", 10000), 0); /* its input is empty, and so is the rest now */
    assert_int_equal(buf_len(&c.out) + buf_len(&c.errors), 0);
    assert_int_equal(run(&c, "kill -11 $$", 10000), 0);
    assert_int_equal(c.status, 128 + SIGSEGV);
    assert_int_equal(run(&c, "yes | head -c 5000000; echo end >&2", 30000), 0);
    assert_int_equal(buf_len(&c.out), CHILD_OUT_BYTES); /* the rest is read and dropped */
    assert_span_equal("end", buf_span(&c.errors), SPAN("end\n"));
    child_done(&c);
}

/* None of our other descriptors, no blocked signals. */
static void test_what_it_gets(void **state)
{
    enum { OURS = 77 };
    struct child c;
    sigset_t all, before;
    (void)state;
    child_init(&c);
    assert_int_equal(dup2(STDOUT_FILENO, OURS), OURS);
    sigfillset(&all);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &all, &before), 0);
    assert_int_equal(
        run(&c, "grep SigBlk /proc/self/status; test -e /proc/$$/fd/77 || echo none", 10000), 0);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
    assert_span_equal("got", buf_span(&c.out), SPAN("SigBlk:\t0000000000000000\nnone\n"));
    close(OURS);
    child_done(&c);
}

/* What it needs to find programs and libraries: no keys. */
static void test_its_environment(void **state)
{
    struct child c;
    (void)state;
    child_init(&c);
    assert_int_equal(setenv("OPENAI_API_KEY", "sk-secret", 1), 0);
    assert_int_equal(setenv("PATH_OF_MINE", "x", 1), 0); /* begins like one that it gets */
    assert_int_equal(setenv("HOME", "/home/h", 1), 0);
    assert_int_equal(setenv("LANG", "C", 1), 0);
    assert_int_equal(setenv("LD_LIBRARY_PATH", "/opt/l", 1), 0);
    assert_int_equal(run(&c,
                         "tr '\\0' '\\n' </proc/$$/environ | grep -v ^PATH= | sort; "
                         "test -n \"$PATH\" && echo found",
                         10000),
                     0);
    assert_span_equal("environment", buf_span(&c.out),
                      SPAN("HOME=/home/h\nLANG=C\nLD_LIBRARY_PATH=/opt/l\nfound\n"));
    assert_int_equal(unsetenv("LD_LIBRARY_PATH"), 0);
    assert_int_equal(run(&c, "echo ${LD_LIBRARY_PATH-none}", 10000), 0);
    assert_span_equal("missing", buf_span(&c.out), SPAN("none\n"));
    unsetenv("OPENAI_API_KEY");
    unsetenv("PATH_OF_MINE");
    child_done(&c);
}

static void test_what_cannot_run(void **state)
{
    const char *missing[] = {"/nonexistent/program", NULL};
    const char *no_program[] = {"/etc/passwd", NULL};
    const char *directory[] = {"/tmp", NULL};
    struct child c;
    (void)state;
    child_init(&c);
    assert_int_equal(child_run(&c, missing, NS_PER_S), -ENOENT);
    assert_int_equal(child_run(&c, no_program, NS_PER_S), -EACCES);
    assert_int_equal(child_run(&c, directory, NS_PER_S), -EACCES);
    child_done(&c);
}

static void test_deadline(void **state)
{
    static const char *const scripts[] = {
        "sleep 1000",
        "echo x; sleep 1000",
        "sleep 1000 & exit 0",
        "exec >&- 2>&-; sleep 1000",
        "trap '' TERM; while :; do sleep 1; done",
        "while :; do echo x; done",
    };
    struct child c;
    (void)state;
    child_init(&c);
    for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
        mono_t before = clock_mono();
        assert_row(scripts[i], run(&c, scripts[i], 100) == -ETIMEDOUT);
        assert_row(scripts[i], mono_diff(clock_mono(), before) >= 100 * NS_PER_MS);
        assert_row(scripts[i], mono_diff(clock_mono(), before) < 10 * NS_PER_S);
        assert_row(scripts[i], !child_is_left(&c));
        errno = 0;
        assert_row(scripts[i], waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
    }
    child_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_it_prints),  cmocka_unit_test(test_what_it_gets),
        cmocka_unit_test(test_its_environment), cmocka_unit_test(test_what_cannot_run),
        cmocka_unit_test(test_deadline),
    };
    return cmocka_run_group_tests_name("collect/child", tests, NULL, NULL);
}
