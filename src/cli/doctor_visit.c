/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/doctor_visit.c - the subcommand "inferometer doctor".
 */
#include "cli/doctor_visit.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/doctor_show.h"
#include "cli/flag.h"
#include "daemon/config.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };
enum { FILES_MAX = 64, DIRECTORY_MAX = 4096 };

static const char usage[] =
    "usage: inferometer doctor [URL] [FLAGS]\n"
    "\n"
    "Goes the way from a client to an engine step by step, and names the cause of what does not\n"
    "work: variables that contradict, settings files of tools, the base URL, the key, proxies,\n"
    "name, connection, TLS, clocks, the API's answers, models, a stream and its usage, buffers on\n"
    "the way, metrics, rules. The first line is the main cause; a step that waits for another, or\n"
    "that another explains, is a SKIP. Keys are never shown.\n"
    "\n"
    "It asks for the list of models and sends up to six requests of 1 to 40 tokens.\n"
    "\n"
    "  URL             base URL, as clients have it; without one that of OPENAI_BASE_URL,\n"
    "                  OPENAI_API_BASE or ANTHROPIC_BASE_URL\n"
    "  --key-env NAME  the variable that has the key (default OPENAI_API_KEY, or\n"
    "                  ANTHROPIC_AUTH_TOKEN or ANTHROPIC_API_KEY)\n"
    "  --model NAME    the model to try (default: the first of the list)\n"
    "  --api NAME      openai or anthropic (default: by URL and variables)\n"
    "  --config FILE   a gateway's configuration, and the rule files that it names\n"
    "  --rules FILE    a rule file; may be given several times\n"
    "  --ca FILE       issuers to trust, PEM (default: those of the system)\n"
    "  --timeout TIME  for each request (default 15s)\n"
    "  --json          the same as JSON\n"
    "\n"
    "Exit status: 0 nothing failed, 1 something did, 2 wrong usage.\n"
    "\n"
    "examples:\n"
    "  inferometer doctor http://127.0.0.1:8000/v1\n"
    "  inferometer doctor --json | jq -r .cause\n"
    "  inferometer doctor https://api.example.com/v1 --key-env EXAMPLE_KEY --model m\n";

struct wish {
    struct doctor_ask ask;
    bool as_json;
    const char *files[FILES_MAX];
    size_t n_files;
    char directory[DIRECTORY_MAX];
    char mistake[1024];
    struct config *config;
    glob_t found;
    bool has_found;
    struct arena arena;
};

static const char *get(const char *name)
{
    return getenv(name);
}

/* --- flags --- */

/* A value as a text with an end, in the arena. */
static int take_text(struct wish *w, struct flag *f, struct span *ret, struct err *reterr)
{
    struct span value;
    int r = flag_value(f, NULL, &value, reterr);

    if (r < 0)
        return r;
    *ret = arena_dup(&w->arena, value);
    return ret->p ? 0 : err_set(reterr, -ENOMEM, "out of memory");
}

static int take_api(struct wish *w, struct flag *f, struct err *reterr)
{
    struct span value;
    int r = flag_value(f, NULL, &value, reterr);

    if (r < 0)
        return r;
    w->ask.is_anthropic = span_eq(value, SPAN("anthropic"));
    if (w->ask.is_anthropic || span_eq(value, SPAN("openai")))
        return 0;
    return err_set(reterr, -EINVAL, "--api: it is openai or anthropic");
}

static int take_rules(struct wish *w, struct flag *f, struct err *reterr)
{
    struct span value;
    int r = take_text(w, f, &value, reterr);

    if (r < 0)
        return r;
    if (w->n_files == FILES_MAX)
        return err_set(reterr, -E2BIG, "--rules: at most %d files", FILES_MAX);
    w->files[w->n_files++] = value.p;
    return 0;
}

static int take_path(struct wish *w, struct flag *f, const char **ret, struct err *reterr)
{
    struct span value;
    int r = take_text(w, f, &value, reterr);

    if (r == 0)
        *ret = value.p;
    return r;
}

static int take_timeout(struct wish *w, struct flag *f, struct err *reterr)
{
    int r = flag_duration(f, &w->ask.timeout_ns, reterr);

    return r == 0 && w->ask.timeout_ns <= 0
               ? err_set(reterr, -EINVAL, "--timeout: it is longer than 0")
               : r;
}

static int take_flag(struct wish *w, struct flag *f, const char **ret_config, struct err *reterr)
{
    if (flag_is(f, "key-env"))
        return take_text(w, f, &w->ask.key_env, reterr);
    if (flag_is(f, "model"))
        return take_text(w, f, &w->ask.model, reterr);
    if (flag_is(f, "api"))
        return take_api(w, f, reterr);
    if (flag_is(f, "rules"))
        return take_rules(w, f, reterr);
    if (flag_is(f, "config"))
        return take_path(w, f, ret_config, reterr);
    if (flag_is(f, "ca"))
        return take_path(w, f, &w->ask.ca_file, reterr);
    if (flag_is(f, "timeout"))
        return take_timeout(w, f, reterr);
    if (!flag_is(f, "json"))
        return flag_unknown(f, NULL, "doctor", reterr);
    w->as_json = true;
    return 0;
}

static bool wants_help(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

static int take_args(struct wish *w, int argc, char **argv, const char **ret_config,
                     struct err *reterr)
{
    struct flag f;
    struct span word;
    int r = 1;

    flag_init(&f, argc, argv);
    while (r > 0) {
        while (flag_word(&f, &word)) {
            if (w->ask.url.n > 0)
                return err_set(reterr, -EINVAL, "there is one URL");
            w->ask.url = word;
        }
        r = flag_next(&f, reterr);
        if (r > 0 && take_flag(w, &f, ret_config, reterr) < 0)
            return -EINVAL;
    }
    return r;
}

/* --- the gateway's configuration --- */

static void take_found(struct wish *w)
{
    for (size_t i = 0; w->has_found && i < w->found.gl_pathc && w->n_files < FILES_MAX; i++)
        w->files[w->n_files++] = w->found.gl_pathv[i];
}

/* Of what rules may ask for: the gateway's own series, and those of targets. */
static int64_t sample_interval_ns(const struct config *c)
{
    bool has_targets = c->scrape_files.n > 0 || c->scrape_targets.n > 0;

    return has_targets && c->scrape_interval_ns > c->history_interval_ns ? c->scrape_interval_ns
                                                                         : c->history_interval_ns;
}

static void take_config(struct wish *w, const char *path)
{
    struct err_list *errs = arena_alloc(&w->arena, sizeof(*errs));

    w->ask.has_config = true;
    if (!errs)
        return;
    err_list_init(errs);
    if (config_load_partial(path, &w->config, errs) < 0) {
        const struct err_item *e = &errs->items[0];
        (void)snprintf(w->mistake, sizeof(w->mistake), "%s:%d:%d: %s", path, e->line, e->column,
                       e->err.text);
        w->ask.config_mistake = span_cstr(w->mistake);
        return;
    }
    w->ask.rules.interval_ms = w->config->rules_interval_ns / NS_PER_MS;
    w->ask.rules.scrape_ms = sample_interval_ns(w->config) / NS_PER_MS;
    for (size_t i = 0; i < w->config->rule_files.n; i++) {
        int flags = GLOB_NOMAGIC | (w->has_found ? GLOB_APPEND : 0);
        if (glob(w->config->rule_files.items[i], flags, NULL, &w->found) == 0)
            w->has_found = true;
    }
    take_found(w);
}

/* --- all of it --- */

static int examine(struct wish *w)
{
    struct doctor_report report;
    struct buf out;
    int r;

    w->ask.get = get;
    w->ask.home = getenv("HOME");
    w->ask.directory = getcwd(w->directory, sizeof(w->directory));
    w->ask.rules.files = w->files;
    w->ask.rules.n = w->n_files;
    buf_init(&out, 4 * MIB);
    r = doctor_run(&w->ask, &w->arena, &report);
    if (r == 0)
        r = w->as_json ? doctor_show_json(&report, &out) : doctor_show_table(&report, &out);
    if (r == 0)
        (void)fwrite(buf_span(&out).p, 1, buf_len(&out), stdout); /* nobody is left to tell */
    buf_done(&out);
    if (r < 0) {
        (void)fprintf(stderr, "inferometer doctor: %s\n", err_str(r));
        return EXIT_FAILED;
    }
    return doctor_worst(&report) == DOCTOR_FAIL ? EXIT_FAILED : EXIT_OK;
}

int doctor_visit_main(int argc, char **argv)
{
    struct wish w = {.as_json = false};
    const char *config = NULL;
    struct err err = {0};
    int status;

    if (wants_help(argc, argv)) {
        (void)fputs(usage, stdout);
        return EXIT_OK;
    }
    arena_init(&w.arena, NULL);
    if (take_args(&w, argc, argv, &config, &err) < 0) {
        status = flag_complain("doctor", &err);
    } else {
        if (config)
            take_config(&w, config);
        status = examine(&w);
    }
    if (w.has_found)
        globfree(&w.found);
    config_unref(w.config);
    arena_done(&w.arena);
    return status;
}
