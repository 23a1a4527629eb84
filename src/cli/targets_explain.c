/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/targets_explain.c - the subcommand "inferometer targets explain".
 */
#include "cli/targets_explain.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/limits.h"
#include "cli/explain_show.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

#define PAGE_MAX_BYTES (64 * MIB)
#define SHOWN_MAX      (256 * MIB) /* of what is printed */

static const char usage[] =
    "usage: inferometer targets explain FILE|- [--json]\n"
    "\n"
    "Reads a saved /metrics page of an engine or exporter (Prometheus text format or OpenMetrics)\n"
    "and tells: which engine it is, of which versions and why; each signal with its value and the\n"
    "name that it came from; signals that are missing and why; names that are in no table, and\n"
    "what was meant where they resemble one that is.\n"
    "\n"
    "  --json  the same as JSON, histograms with their buckets\n"
    "\n"
    "FILE - is standard input. Exit status: 0 recognised, 1 nothing was recognised, lines that\n"
    "cannot be read or a file that cannot, 2 wrong usage.\n"
    "\n"
    "examples:\n"
    "  curl -s http://127.0.0.1:8000/metrics | inferometer targets explain -\n"
    "  inferometer targets explain page.prom --json | jq '.missing[]'\n";

/* Output to people is (void): where it fails there is nobody left to tell. */

static int complain(const char *path, const char *why)
{
    (void)fprintf(stderr, "inferometer targets: \"%s\": %s\n", path, why);
    return EXIT_FAILED;
}

/* A file has no content type: only OpenMetrics has an end. */
static enum text_format format_of(struct span body)
{
    while (body.n > 0 && strchr("\r\n", body.p[body.n - 1]))
        body.n--;
    return span_ends_with(body, SPAN("# EOF")) ? TEXT_OPENMETRICS : TEXT_PROMETHEUS;
}

static int show(const struct explained *x, bool as_json)
{
    struct buf out;
    int r;

    buf_init(&out, SHOWN_MAX);
    r = as_json ? explain_show_json(x, &out) : explain_show_table(x, &out);
    if (r == 0)
        (void)fwrite(buf_span(&out).p, 1, buf_len(&out), stdout);
    buf_done(&out);
    return r;
}

/* What is read and understood. */
static int explain_families(const struct families *f, const char *path, struct span body,
                            bool as_json)
{
    struct explained x = {.families = f};
    struct arena a;
    int r;

    arena_init(&a, NULL);
    x.arena = &a;
    r = engine_recognise(f, &a, &x.page);
    if (r == 0)
        r = engine_values(f, &x.page, &a, &x.values, &x.n_values);
    if (r == 0 && x.page.n_engines == 0 && engine_why_no_page(body))
        x.page.remark = engine_why_no_page(body);
    if (r == 0)
        r = show(&x, as_json);
    arena_done(&a);
    if (r < 0)
        return complain(path, err_str(r));
    return x.page.n_engines > 0 && f->n_mistakes == 0 ? EXIT_OK : EXIT_FAILED;
}

static int explain_body(const char *path, struct span body, bool as_json)
{
    struct families f;
    int r = families_read(body, format_of(body), path, &f);

    if (r < 0)
        return complain(path,
                        r == -E2BIG ? "it has more samples than one page may have" : err_str(r));
    r = explain_families(&f, path, body, as_json);
    families_done(&f);
    return r;
}

static int explain_file(const char *path, bool as_json)
{
    bool is_stdin = strcmp(path, "-") == 0;
    const char *shown = is_stdin ? "<stdin>" : path;
    struct buf body;
    int r;

    buf_init(&body, PAGE_MAX_BYTES + 1);
    r = is_stdin ? file_read_fd(0, PAGE_MAX_BYTES, &body) : file_read(path, PAGE_MAX_BYTES, &body);
    if (r == -EMSGSIZE || r == -EFBIG || (r == 0 && buf_len(&body) > PAGE_MAX_BYTES))
        r = complain(shown, "it is larger than 64 MiB");
    else if (r < 0)
        r = complain(shown, err_str(r));
    else
        r = explain_body(shown, buf_span(&body), as_json);
    buf_done(&body);
    return r;
}

static int wrong_usage(const char *what)
{
    (void)fprintf(stderr, "inferometer targets: %s\n%s", what, usage);
    return EXIT_USAGE;
}

int targets_explain_main(int argc, char **argv)
{
    const char *path = NULL;
    bool as_json = false;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            (void)fputs(usage, stdout);
            return EXIT_OK;
        }
    }
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            as_json = true;
        else if (argv[i][0] == '-' && argv[i][1] != '\0')
            return wrong_usage("unknown flag");
        else if (path)
            return wrong_usage("explain takes one FILE");
        else
            path = argv[i];
    }
    return path ? explain_file(path, as_json) : wrong_usage("explain needs the FILE to read");
}
