/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/promql.c - the subcommand "inferometer promql".
 */
#include "cli/promql.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/limits.h"
#include "promql/script.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

#define SCRIPT_MAX_BYTES (64 * MIB)

static const char usage[] =
    "usage: inferometer promql test FILE...\n"
    "\n"
    "Runs test scripts in Prometheus' promql test format: load and load_with_nhcb, clear, eval\n"
    "instant, eval range, expect lines, histogram literals. Prints each evaluation that does not\n"
    "come out as told with its line, and at the end \"N passed, M failed\".\n"
    "\n"
    "FILE - is standard input. Exit status: 0 all passed, 1 a failure or a file that cannot be\n"
    "read, 2 wrong usage.\n"
    "\n"
    "example:\n"
    "  cat > ttft.test <<'END'\n"
    "  load 1m\n"
    "    requests_total{model=\"a\"} 0+60x10\n"
    "  eval instant at 10m rate(requests_total[5m])\n"
    "    {model=\"a\"} 1\n"
    "  END\n"
    "  inferometer promql test ttft.test\n";

/* What the callbacks of one file know. */
struct run {
    const char *path;
};

/* Output to people is (void): where it fails there is nobody left to tell. */
static void on_failure(void *ctx, const struct script_failure *f)
{
    const struct run *run = ctx;

    (void)printf("%s:%d: %.*s\n  wanted: %.*s\n  got:    %.*s\n", run->path, f->line,
                 SPAN_ARG(f->query), SPAN_ARG(f->wanted), SPAN_ARG(f->got));
}

static int read_script(const char *path, struct buf *text)
{
    int r = strcmp(path, "-") == 0 ? file_read_fd(0, SCRIPT_MAX_BYTES, text)
                                   : file_read(path, SCRIPT_MAX_BYTES, text);

    if (r == 0 && buf_len(text) <= SCRIPT_MAX_BYTES)
        return 0;
    (void)fprintf(stderr, "inferometer promql: could not read \"%s\": %s\n", path,
                  r == 0 ? "it is larger than 64 MiB" : err_str(r));
    return -1;
}

/* 0, or -1 after telling what is wrong with the file itself. */
static int test_file(const char *path, struct script_report *total)
{
    struct run run = {strcmp(path, "-") == 0 ? "<stdin>" : path};
    struct script_report report = {.on_failure = on_failure, .ctx = &run};
    struct err err = {.text = ""};
    struct buf text;
    int r;

    buf_init(&text, SCRIPT_MAX_BYTES + 1);
    r = read_script(path, &text);
    if (r == 0) {
        r = script_run(buf_span(&text), &report, &err);
        total->n_passed += report.n_passed;
        total->n_failed += report.n_failed;
        if (r != 0)
            (void)fprintf(stderr, "%s:%s\n", run.path, err.text[0] ? err.text : err_str(r));
    }
    buf_done(&text);
    return r == 0 ? 0 : -1;
}

static int test_files(int n, char **paths)
{
    struct script_report total = {0};
    int n_broken = 0;

    for (int i = 0; i < n; i++)
        n_broken += test_file(paths[i], &total) == 0 ? 0 : 1;
    (void)printf("%" PRIu64 " passed, %" PRIu64 " failed\n", total.n_passed, total.n_failed);
    if (n_broken > 0)
        (void)fprintf(stderr, "inferometer promql: %d of %d files could not be run to their end\n",
                      n_broken, n);
    return total.n_failed > 0 || n_broken > 0 ? EXIT_FAILED : EXIT_OK;
}

static int wrong_usage(const char *what)
{
    (void)fprintf(stderr, "inferometer promql: %s\n%s", what, usage);
    return EXIT_USAGE;
}

int promql_main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            (void)fputs(usage, stdout);
            return EXIT_OK;
        }
        if (argv[i][0] == '-' && argv[i][1] != '\0')
            return wrong_usage("unknown flag");
    }
    if (argc < 2 || strcmp(argv[1], "test") != 0)
        return wrong_usage("the command is test");
    if (argc < 3)
        return wrong_usage("test needs the FILE to run");
    return test_files(argc - 2, argv + 2);
}
