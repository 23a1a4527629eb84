/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/rules_check.c - the subcommand "inferometer rules".
 *
 * As promtool does it: one block per file, what is fine on standard output, what is wrong on
 * standard error, and all files are looked at whatever the first ones bring.
 */
#include "cli/rules_check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/rules_suggest.h"
#include "rules/file.h"
#include "rules/rule_test.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };
enum { INTERVAL_MS = 30 * 1000 }; /* of groups without one, as serve has it */

static const char usage[] =
    "usage: inferometer rules check [--lint] FILE...\n"
    "       inferometer rules test FILE...\n"
    "       inferometer rules suggest [--last 7d] [--rules]\n"
    "\n"
    "check  reads rule files in Prometheus' format and lists every mistake with its line, its\n"
    "       column and a hint. --lint also tells what is allowed and may not do what is meant\n"
    "       (a rule twice, an alert without `for`, ...); then any such remark is a failure, too.\n"
    "test   runs unit tests of rules in promtool's format: input series, alerts and results that\n"
    "       are expected. rule_files are relative to the test's directory and may be patterns.\n"
    "       Prints what does not come out as expected with its place.\n"
    "suggest  proposes thresholds from what a running gateway has recorded; has a --help of its\n"
    "       own.\n"
    "\n"
    "FILE - is standard input (check only). Exit status: 0 fine, 1 mistakes or failures, 2 wrong\n"
    "usage.\n"
    "\n"
    "examples:\n"
    "  inferometer rules check --lint deploy/rules/*.yml\n"
    "  inferometer rules test deploy/rules/tests/*.yml\n"
    "\n"
    "  cat > ttft.test.yml <<'END'\n"
    "  rule_files: [ttft.yml]\n"
    "  evaluation_interval: 1m\n"
    "  tests:\n"
    "    - interval: 1m\n"
    "      input_series:\n"
    "        - series: 'ttft_seconds{model=\"a\"}'\n"
    "          values: '0.2x5 3x10'\n"
    "      alert_rule_test:\n"
    "        - eval_time: 10m\n"
    "          alertname: SlowFirstToken\n"
    "          exp_alerts:\n"
    "            - exp_labels: {model: a, tier: P1}\n"
    "  END\n"
    "  inferometer rules test ttft.test.yml\n";

/* Output to people is (void): where it fails there is nobody left to tell. */

static const char *shown(const char *path)
{
    return strcmp(path, "-") == 0 ? "<stdin>" : path;
}

/* What was printed so far comes before what goes to standard error. */
static void say_failed(void)
{
    (void)fflush(stdout);
    (void)fputs("  FAILED:\n", stderr);
}

static int read_file(const char *path, size_t max, struct buf *text)
{
    int r = strcmp(path, "-") == 0 ? file_read_fd(0, max, text) : file_read(path, max, text);

    if (r == 0 && buf_len(text) <= max)
        return 0;
    say_failed();
    if (r == 0 || r == -EFBIG || r == -EMSGSIZE)
        (void)fprintf(stderr, "%s: larger than %zu MiB; make several files of it\n", shown(path),
                      max >> 20);
    else
        (void)fprintf(stderr, "%s: could not be read: %s\n", shown(path), err_str(r));
    return -1;
}

static void print_mistakes(int r, const char *path, const struct err_list *errs)
{
    say_failed();
    if (r == -EINVAL)
        err_list_print(errs, stderr);
    else
        (void)fprintf(stderr, "%s: %s\n", shown(path), err_str(r));
}

/* --- check --- */

struct check {
    bool with_advice;
    size_t n_bad;
};

static size_t count_rules(const struct rule_file *f)
{
    size_t n = 0;

    for (size_t i = 0; i < f->n; i++)
        n += f->groups[i].n;
    return n;
}

/* A file without mistakes. */
static int tell_advice(const struct check *c, const struct rule_file *f)
{
    struct err_list advice;
    size_t n = count_rules(f);

    err_list_init(&advice);
    int r = rule_file_advise(f, INTERVAL_MS, &advice);
    if (r < 0) {
        print_mistakes(r, f->path, &advice);
        return -1;
    }
    size_t n_advice = advice.n + advice.n_dropped;
    if (n_advice > 0 && c->with_advice) {
        say_failed();
        err_list_print(&advice, stderr);
        return -1;
    }
    (void)printf("  SUCCESS: %zu rule%s found", n, n == 1 ? "" : "s");
    if (n_advice > 0)
        (void)printf(" (%zu remark%s, shown by --lint)", n_advice, n_advice == 1 ? "" : "s");
    (void)printf("\n");
    return 0;
}

static int check_text(const struct check *c, const char *path, struct span text)
{
    struct rule_file *f = NULL;
    struct err_list errs;
    int r;

    err_list_init(&errs);
    r = rule_file_read(text, shown(path), &f, &errs);
    if (r < 0) {
        print_mistakes(r, path, &errs);
        return -1;
    }
    r = tell_advice(c, f);
    rule_file_unref(f);
    return r;
}

static void check_file(struct check *c, const char *path)
{
    struct buf text;

    (void)printf("Checking %s\n", shown(path));
    buf_init(&text, (size_t)RULE_FILE_BYTES_MAX + 1);
    if (read_file(path, RULE_FILE_BYTES_MAX, &text) < 0 || check_text(c, path, buf_span(&text)) < 0)
        c->n_bad++;
    buf_done(&text);
    (void)printf("\n");
}

/* --- test --- */

/* One file that is tested. */
struct tested {
    const char *path;
    bool has_failed;
};

static void begin_failures(struct tested *t)
{
    if (!t->has_failed)
        say_failed();
    t->has_failed = true;
}

/* Each line of a text behind a margin. */
static void print_indented(const char *head, struct span text)
{
    (void)fprintf(stderr, "    %s", head);
    for (bool is_first = true; is_first || text.n > 0; is_first = false) {
        struct span line = span_split(&text, '\n');
        (void)fprintf(stderr, "%s%.*s\n", is_first ? "" : "         ", SPAN_ARG(line));
    }
}

static void on_failure(void *ctx, const struct rule_test_failure *f)
{
    struct tested *t = ctx;

    begin_failures(t);
    (void)fprintf(stderr, "%s:%d:%d: %.*s", t->path, f->line, f->column, SPAN_ARG(f->title));
    if (f->name.n > 0)
        (void)fprintf(stderr, " (test \"%.*s\")", SPAN_ARG(f->name));
    (void)fputs("\n", stderr);
    if (f->wanted.n > 0) {
        print_indented("exp: ", f->wanted);
        print_indented("got: ", f->got);
    } else {
        print_indented("", f->got);
    }
}

static void on_remark(void *ctx, int line, int column, struct span text)
{
    const struct tested *t = ctx;

    (void)fflush(stdout);
    (void)fprintf(stderr, "  WARNING: %s:%d:%d: %.*s\n", t->path, line, column, SPAN_ARG(text));
}

static int run_tests(struct tested *t, struct span text)
{
    struct rule_test_report report = {.on_failure = on_failure, .on_remark = on_remark, .ctx = t};
    struct rule_test *test = NULL;
    struct err_list errs;
    int r;

    err_list_init(&errs);
    r = rule_test_read(text, t->path, &test, &errs);
    if (r == 0)
        r = rule_test_run(test, &report, &errs);
    if (r < 0)
        print_mistakes(r, t->path, &errs);
    else if (!t->has_failed)
        (void)printf("  SUCCESS: %" PRIu64 " test%s, %" PRIu64 " expectation%s of %zu rule%s\n",
                     report.n_tests, report.n_tests == 1 ? "" : "s", report.n_passed,
                     report.n_passed == 1 ? "" : "s", report.n_rules,
                     report.n_rules == 1 ? "" : "s");
    rule_test_free(test);
    return r < 0 || t->has_failed ? -1 : 0;
}

static int test_file(const char *path)
{
    struct tested t = {path, false};
    struct buf text;
    int r;

    (void)printf("Unit Testing:  %s\n", path);
    buf_init(&text, (size_t)RULE_TEST_BYTES_MAX + 1);
    r = read_file(path, RULE_TEST_BYTES_MAX, &text);
    if (r == 0)
        r = run_tests(&t, buf_span(&text));
    buf_done(&text);
    (void)printf("\n");
    return r;
}

/* --- the command --- */

static int wrong_usage(const char *what)
{
    (void)fprintf(stderr, "inferometer rules: %s\n%s", what, usage);
    return EXIT_USAGE;
}

static int end(const char *what, size_t n_bad, int n)
{
    if (n_bad == 0)
        return EXIT_OK;
    (void)fflush(stdout);
    (void)fprintf(stderr, "inferometer rules: %zu of %d %s\n", n_bad, n, what);
    return EXIT_FAILED;
}

/* Flags may stand anywhere behind the command. */
static int check_main(int n, char **args)
{
    struct check c = {false, 0};
    int n_files = 0;

    for (int i = 0; i < n; i++) {
        if (strcmp(args[i], "--lint") == 0)
            c.with_advice = true;
        else if (args[i][0] == '-' && args[i][1] != '\0')
            return wrong_usage("unknown flag");
        else
            args[n_files++] = args[i];
    }
    if (n_files == 0)
        return wrong_usage("check needs the FILE to check");
    for (int i = 0; i < n_files; i++)
        check_file(&c, args[i]);
    return end("files have mistakes", c.n_bad, n_files);
}

static int test_main(int n, char **args)
{
    size_t n_bad = 0;

    for (int i = 0; i < n; i++)
        if (args[i][0] == '-')
            return wrong_usage("test takes files only, and no flag");
    if (n == 0)
        return wrong_usage("test needs the FILE to run");
    for (int i = 0; i < n; i++)
        n_bad += test_file(args[i]) == 0 ? 0 : 1;
    return end("files failed", n_bad, n);
}

int rules_check_main(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], "suggest") == 0)
        return rules_suggest_main(argc - 1, argv + 1);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            (void)fputs(usage, stdout);
            return EXIT_OK;
        }
    }
    if (argc >= 2 && strcmp(argv[1], "check") == 0)
        return check_main(argc - 2, argv + 2);
    if (argc >= 2 && strcmp(argv[1], "test") == 0)
        return test_main(argc - 2, argv + 2);
    return wrong_usage("the commands are check, test and suggest");
}
