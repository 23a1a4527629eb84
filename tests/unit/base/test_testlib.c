/* SPDX-License-Identifier: Apache-2.0 */
/* The test harness itself: a helper that checks nothing would make every test built on it pass. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "corpus.h"
#include "guard.h"
#include "harness.h"
#include "memfail.h"
#include "split.h"

static void test_guard_faults_behind_the_end(void **state)
{
    struct guard g;
    (void)state;
    guard_init(&g, 5000);
    struct span s = guard_copy(&g, SPAN("abc"));
    assert_span_equal("copy", s, SPAN("abc"));
    assert_int_equal(guard_copy(&g, SPAN("")).n, 0);
    s = guard_copy(&g, SPAN("xyz"));
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)signal(SIGSEGV, SIG_DFL);
        volatile char c = s.p[3];
        _exit(c == 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
    guard_done(&g);
}

struct joined {
    struct span input;
    struct buf got;
    size_t n_parts;
    int n_runs;
    int n_whole, n_bytewise, n_two, n_random;
};

static void joined_begin(void *ctx)
{
    struct joined *j = ctx;
    buf_clear(&j->got);
    j->n_parts = 0;
}

static void joined_feed(void *ctx, struct span part)
{
    struct joined *j = ctx;
    assert_int_equal(buf_append(&j->got, part), 0);
    j->n_parts++;
}

static void joined_end(void *ctx, const char *how)
{
    struct joined *j = ctx;
    assert_span_equal(how, buf_span(&j->got), j->input);
    j->n_runs++;
    j->n_whole += strcmp(how, "whole") == 0;
    j->n_two += strncmp(how, "split at ", 9) == 0;
    j->n_random += strncmp(how, "random", 6) == 0;
    if (strcmp(how, "byte by byte") == 0) {
        j->n_bytewise++;
        assert_int_equal(j->n_parts, j->input.n);
    }
}

static void test_split_feeds_every_division(void **state)
{
    static const struct split_ops ops = {joined_begin, joined_feed, joined_end};
    struct joined j = {.input = SPAN("event: x\ndata: hello\n\n")};
    (void)state;
    buf_init(&j.got, 1 << 20);
    split_each(j.input, &ops, &j);
    assert_int_equal(j.n_whole, 1);
    assert_int_equal(j.n_bytewise, 1);
    assert_int_equal(j.n_two, j.input.n + 1);
    assert_true(j.n_random >= 16);

    j = (struct joined){.got = j.got, .input = SPAN("")};
    split_each(j.input, &ops, &j);
    assert_int_equal(j.n_two, 1);

    static char large[100000];
    memset(large, 'l', sizeof(large));
    j = (struct joined){.got = j.got, .input = span_of(large, sizeof(large))};
    split_each(j.input, &ops, &j);
    assert_true(j.n_two > 300 && j.n_two < 1000); /* thinned out */
    buf_done(&j.got);
}

static int three_allocations(void *ctx)
{
    void *p[3] = {0};
    int r = 0;
    (*(int *)ctx)++;
    for (int i = 0; i < 3 && r == 0; i++) {
        p[i] = mem_alloc(1);
        r = p[i] ? 0 : -ENOMEM;
    }
    for (int i = 0; i < 3; i++)
        mem_free(p[i]);
    return r;
}

static void test_memfail(void **state)
{
    int n_attempts = 0;
    (void)state;
    assert_int_equal(memfail_each(three_allocations, &n_attempts), 3);
    assert_int_equal(n_attempts, 4);
}

static void collect(void *ctx, const char *path, struct span content)
{
    struct buf *names = ctx;
    assert_int_equal(buf_printf(names, "%s=%.*s;", strrchr(path, '/') + 1, SPAN_ARG(content)), 0);
}

static void write_file(const char *dir, const char *name, const char *content)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    (void)fputs(content, f);
    assert_int_equal(fclose(f), 0);
}

static void test_corpus(void **state)
{
    char top[] = "/tmp/test_testlib.XXXXXX";
    char path[256];
    struct buf names;
    (void)state;
    buf_init(&names, 4096);
    assert_non_null(mkdtemp(top));
    (void)snprintf(path, sizeof(path), "%s/c", top);
    assert_int_equal(mkdir(path, 0700), 0);
    write_file(path, "b.sse", "B");
    write_file(path, "a.sse", "");
    write_file(path, "a.txt", "T");
    write_file(path, ".hidden.sse", "H");
    (void)snprintf(path, sizeof(path), "%s/c/dir.sse", top);
    assert_int_equal(mkdir(path, 0700), 0);

    assert_int_equal(setenv("INFEROMETER_SHARED", top, 1), 0);
    assert_int_equal(corpus_each("c", ".sse", collect, &names), 2);
    assert_span_equal("sorted", buf_span(&names), SPAN("a.sse=;b.sse=B;"));
    buf_clear(&names);
    assert_int_equal(corpus_each("c", NULL, collect, &names), 3);
    assert_int_equal(corpus_each("absent", NULL, collect, &names), 0);
    assert_null(corpus_read("/nonexistent/file").p);
    assert_int_equal(unsetenv("INFEROMETER_SHARED"), 0);

    static const char *const made[] = {"c/dir.sse",     "c/a.sse", "c/a.txt", "c/b.sse",
                                       "c/.hidden.sse", "c",       "."};
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", top, made[i]);
        (void)remove(path);
    }
    (void)rmdir(top);
    buf_done(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_guard_faults_behind_the_end),
        cmocka_unit_test(test_split_feeds_every_division),
        cmocka_unit_test(test_memfail),
        cmocka_unit_test(test_corpus),
    };
    return cmocka_run_group_tests_name("tests/lib", tests, NULL, NULL);
}
