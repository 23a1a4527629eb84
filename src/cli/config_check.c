/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/config_check.c - the subcommand "inferometer config".
 */
#include "cli/config_check.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "daemon/alarms.h"
#include "daemon/collecting.h"
#include "daemon/config.h"

enum { EXIT_OK = 0, EXIT_MISTAKES = 1, EXIT_USAGE = 2 };

static const char usage[] =
    "usage: inferometer config check FILE\n"
    "       inferometer config show [FILE]\n"
    "\n"
    "check  lists every mistake in FILE with its line, its column and a hint; then those of the\n"
    "       files of rules and routes that it names.\n"
    "show   prints the values that hold with FILE, or the defaults, as a configuration file.\n"
    "\n"
    "FILE is YAML; - is standard input. Exit status: 0 fine, 1 mistakes, 2 wrong usage.\n"
    "\n"
    "examples:\n"
    "  inferometer config check /etc/inferometer.yaml\n"
    "  inferometer config show > inferometer.yaml\n"
    "  generate-config | inferometer config check -\n";

static const char *shown(const char *path)
{
    return strcmp(path, "-") == 0 ? "<stdin>" : path;
}

static int print_mistakes(const char *path, const struct err_list *errs)
{
    size_t n = errs->n + errs->n_dropped;

    err_list_print(errs, stderr);
    (void)fprintf(stderr, "%s: %zu mistake%s\n", shown(path), n, n == 1 ? "" : "s");
    return EXIT_MISTAKES;
}

/* Rules, routes and jobs are as much of a configuration as what names them. */
static int read_named(const struct config *c, struct file_mistakes *errs, struct err *err)
{
    struct alarms_files files;
    struct collecting_files pages;
    int r = alarms_read(c, &files, errs, err);

    if (r < 0)
        return r;
    alarms_files_done(&files);
    r = collecting_read(c, &pages, errs, err);
    if (r < 0)
        return r;
    collecting_files_done(&pages);
    return collecting_check(c, err);
}

static int check_named(const char *path, const struct config *c)
{
    struct file_mistakes errs;
    struct err err = {0};

    if (read_named(c, &errs, &err) == 0)
        return EXIT_OK;
    if (errs.list.n > 0)
        return print_mistakes(errs.path, &errs.list);
    (void)fprintf(stderr, "%s: %s\n", shown(path), err.text);
    if (err.hint[0] != '\0')
        (void)fprintf(stderr, "  hint: %s\n", err.hint);
    return EXIT_MISTAKES;
}

static int check(const char *path)
{
    struct err_list errs;
    struct config *c;
    size_t n;
    int status;

    err_list_init(&errs);
    if (config_load(path, &c, &errs) < 0)
        return print_mistakes(path, &errs);
    n = config_n_set(c);
    status = check_named(path, c);
    if (status == EXIT_OK)
        printf("%s: ok (%zu key%s set)\n", shown(path), n, n == 1 ? "" : "s");
    config_unref(c);
    return status;
}

static int print_values(const struct config *c)
{
    struct buf text;
    int status = EXIT_OK;

    buf_init(&text, 4 * MIB);
    if (config_to_yaml(c, &text) < 0 ||
        fwrite(buf_span(&text).p, 1, buf_len(&text), stdout) != buf_len(&text)) {
        (void)fprintf(stderr, "inferometer config: could not print the values\n");
        status = EXIT_MISTAKES;
    }
    buf_done(&text);
    return status;
}

static int show(const char *path)
{
    struct err_list errs;
    struct config *c;
    int status;

    err_list_init(&errs);
    if (config_load_partial(path, &c, &errs) < 0)
        return print_mistakes(path ? path : "configuration", &errs);
    status = print_values(c);
    config_unref(c);
    return status;
}

static int wrong_usage(const char *what)
{
    (void)fprintf(stderr, "inferometer config: %s\n%s", what, usage);
    return EXIT_USAGE;
}

static bool is_flag(const char *arg)
{
    return arg[0] == '-' && arg[1] != '\0';
}

int config_check_main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            (void)fputs(usage, stdout);
            return EXIT_OK;
        }
        if (is_flag(argv[i]))
            return wrong_usage("unknown flag");
    }
    if (argc < 2)
        return wrong_usage("tell what to do: check or show");
    if (strcmp(argv[1], "check") == 0) {
        if (argc < 3)
            return wrong_usage("check needs the FILE to check");
        return argc == 3 ? check(argv[2]) : wrong_usage("check takes one FILE");
    }
    if (strcmp(argv[1], "show") == 0)
        return argc <= 3 ? show(argc == 3 ? argv[2] : NULL) : wrong_usage("show takes one FILE");
    return wrong_usage("the commands are check and show");
}
