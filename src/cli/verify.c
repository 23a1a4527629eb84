/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/verify.c - flags of verify, its rule files, and what is printed.
 *
 * With --json standard output is one object; what happens meanwhile goes to standard error.
 */
#include "cli/verify.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/suggest.h"
#include "cli/flag.h"
#include "cli/signals.h"
#include "verify/program.h"
#include "verify/report.h"
#include "verify/scaled.h"
#include "verify/stage.h"
#include "verify/verify.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };
enum { TEXT_MAX = 512 };
#define SHOWN_MAX (64 * MIB)

/* What is verified without --rules. */
static const char own_rules[] =
    "groups:\n"
    "  - name: inferometer.verify\n"
    "    interval: 1s\n"
    "    rules:\n"
    "      - alert: VerifyTimeToFirstTokenSlow\n"
    "        expr: histogram_quantile(0.99, sum by (le) (rate(llm_ttft_seconds_bucket[5s]))) > 2\n"
    "        for: 3s\n"
    "        labels: {tier: P3}\n"
    "        annotations: {summary: 'first tokens take {{ humanizeDuration $value }}'}\n";

struct options {
    struct verify_config config;
    const char *rules[VERIFY_FILES_MAX];
    size_t n_rules;
    char engine_url[TEXT_MAX], metrics_url[TEXT_MAX], prometheus[TEXT_MAX], alertmanager[TEXT_MAX];
    char rule_paths[VERIFY_FILES_MAX][TEXT_MAX];
    bool is_real_time, is_json, is_help, has_no_peers;
};

static const char usage[] =
    "usage: inferometer verify [--rules FILE] [--json] [FLAGS]\n\n"
    "Proves the whole chain on this machine: starts a simulated engine, a gateway, a load and,\n"
    "where they are installed, a Prometheus and an Alertmanager, all on free ports of 127.0.0.1;\n"
    "injects latency, little and then much, and tells with figures whether the p99 of clients\n"
    "passed the threshold, whether the engine's own histogram rose with it, and whether each\n"
    "alert went inactive, pending, firing in time and resolved afterwards. Everything that was\n"
    "started ends with it, files included; Ctrl-C does the same earlier.\n\n"
    "  --rules FILE         alert rules in Prometheus' format to verify, may be repeated; without\n"
    "                       it a rule on the p99 of TTFT. Ranges, `for`, intervals and the like\n"
    "                       are scaled so that a run takes less than 2 minutes; what runs is\n"
    "                       printed\n"
    "  --real-time          run the rules as they are written, however long that takes\n"
    "  --latency A,B        what is injected (default 0.5s,3s)\n"
    "  --rate R             requests a second (default 20)\n"
    "  --no-peers           without Prometheus and Alertmanager\n"
    "  --prometheus PATH, --alertmanager PATH\n"
    "                       these programs, not the ones in PATH\n"
    "  --engine-url URL     a simulator that runs already: inferometer sim --engine vllm-0.13\n"
    "  --metrics-url URL    where the engine's metrics are (default ENGINE/metrics), or none\n"
    "  --json               one JSON object instead of the verdicts' lines\n\n"
    "exit status: 0 all is well, 1 a verdict failed or nothing could be verified, 2 wrong usage\n\n"
    "examples:\n"
    "  inferometer verify\n"
    "  inferometer verify --rules deploy/rules/latency.yml --latency 0.5s,12s\n"
    "  inferometer verify --json | jq '.verdicts[] | select(.verdict == \"FAIL\")'\n";

/* --- flags --- */

static int take_text(struct flag *f, char *dst, struct err *reterr)
{
    struct span value;
    int r = flag_value(f, NULL, &value, reterr);

    if (r == 0 && (value.n == 0 || value.n >= TEXT_MAX))
        r = err_set(reterr, -EINVAL, "--%.*s takes 1 to %d bytes", SPAN_ARG(f->name), TEXT_MAX - 1);
    if (r == 0)
        (void)span_copy(value, dst, TEXT_MAX);
    return r;
}

/* Credentials would come back in messages and in the configuration of what is started. */
static int take_url(struct flag *f, char *dst, struct err *reterr)
{
    int r = take_text(f, dst, reterr);
    struct span url = span_cstr(dst);
    bool is_http =
        span_starts_with(url, SPAN("http://")) || span_starts_with(url, SPAN("https://"));

    if (r < 0 || (is_http && span_find_char(url, '@') == url.n))
        return r;
    if (flag_is(f, "metrics-url") && span_eq(url, SPAN("none")))
        return 0;
    return err_set(reterr, -EINVAL, "--%.*s takes http://HOST:PORT, without credentials",
                   SPAN_ARG(f->name));
}

static int take_rules(struct flag *f, struct options *o, struct err *reterr)
{
    int r;

    if (o->n_rules == VERIFY_FILES_MAX)
        return err_set(reterr, -EINVAL, "--rules: at most %d files", VERIFY_FILES_MAX);
    r = take_text(f, o->rule_paths[o->n_rules], reterr);
    if (r == 0) {
        o->rules[o->n_rules] = o->rule_paths[o->n_rules];
        o->n_rules++;
    }
    return r;
}

static int take_latency(struct flag *f, struct verify_config *c, struct err *reterr)
{
    struct span value, mild;
    int64_t mild_ns = 0, hard_ns = 0;
    int r = flag_value(f, NULL, &value, reterr);

    if (r < 0)
        return r;
    mild = span_split(&value, ',');
    if (num_parse_duration(mild, &mild_ns) < 0 || num_parse_duration(value, &hard_ns) < 0 ||
        mild_ns < 50 * NS_PER_MS || hard_ns <= mild_ns ||
        hard_ns > VERIFY_LATENCY_MAX_S * NS_PER_S) {
        (void)err_set(reterr, -EINVAL,
                      "--latency takes two durations, the second one longer, from 50ms to 60s");
        err_hint(reterr, "for example --latency 0.5s,3s");
        return -EINVAL;
    }
    c->mild_s = (double)mild_ns / 1e9;
    c->hard_s = (double)hard_ns / 1e9;
    return 0;
}

static int unknown_flag(const struct flag *f, struct err *reterr)
{
    static const char *const names[] = {
        "rules",        "real-time",  "latency",     "rate", "no-peers", "prometheus",
        "alertmanager", "engine-url", "metrics-url", "json", "help",
    };
    struct suggest s;

    suggest_init(&s, f->name);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        suggest_offer(&s, span_cstr(names[i]));
    return flag_unknown(f, &s, "verify", reterr);
}

/* Flags without a value; false: it is another one. */
static bool apply_bare(const struct flag *f, struct options *o)
{
    const struct {
        const char *name;
        bool *to;
    } rows[] = {{"help", &o->is_help},
                {"json", &o->is_json},
                {"real-time", &o->is_real_time},
                {"no-peers", &o->has_no_peers}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (!flag_is(f, rows[i].name))
            continue;
        *rows[i].to = true;
        return true;
    }
    return false;
}

static int apply(struct flag *f, struct options *o, struct err *reterr)
{
    const struct {
        const char *name;
        char *to;
        int (*take)(struct flag *f, char *dst, struct err *reterr);
    } texts[] = {{"engine-url", o->engine_url, take_url},
                 {"metrics-url", o->metrics_url, take_url},
                 {"prometheus", o->prometheus, take_text},
                 {"alertmanager", o->alertmanager, take_text}};

    if (apply_bare(f, o))
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (flag_is(f, texts[i].name))
            return texts[i].take(f, texts[i].to, reterr);
    if (flag_is(f, "rules"))
        return take_rules(f, o, reterr);
    if (flag_is(f, "latency"))
        return take_latency(f, &o->config, reterr);
    if (flag_is(f, "rate"))
        return flag_double(f, 1, 1000, &o->config.rate_per_s, reterr);
    return unknown_flag(f, reterr);
}

/* The programs that are installed, where none are named. */
static int find_peers(struct options *o, struct err *reterr)
{
    struct {
        char *path;
        const char *flag, *commands[2];
        const char **to;
    } rows[] = {
        {o->prometheus, "prometheus", {"prometheus", NULL}, &o->config.prometheus},
        {o->alertmanager,
         "alertmanager",
         {"prometheus-alertmanager", "alertmanager"},
         &o->config.alertmanager},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool is_there = rows[i].path[0] != '\0';
        if (is_there && access(rows[i].path, X_OK) < 0)
            return err_set(reterr, -errno, "--%s: \"%.300s\" cannot be run: %s", rows[i].flag,
                           rows[i].path, err_str(-errno));
        for (size_t k = 0; k < 2 && !is_there && !o->has_no_peers && rows[i].commands[k]; k++)
            is_there = verify_program_find(rows[i].commands[k], rows[i].path, TEXT_MAX);
        *rows[i].to = is_there ? rows[i].path : NULL;
    }
    return 0;
}

static int parse(int argc, char **argv, struct options *o, struct err *reterr)
{
    struct flag f;
    int r;

    flag_init(&f, argc, argv);
    while ((r = flag_next(&f, reterr)) > 0) {
        r = apply(&f, o, reterr);
        if (r < 0 || o->is_help)
            return r;
    }
    if (r < 0)
        return r;
    o->config.engine_url = o->engine_url[0] ? o->engine_url : NULL;
    o->config.metrics_url = o->metrics_url[0] ? o->metrics_url : NULL;
    return find_peers(o, reterr);
}

/* --- rule files --- */

struct rule_files {
    struct rule_file *at[VERIFY_FILES_MAX];
    size_t n;
};

static void rules_unref(struct rule_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        files->at[i] = rule_file_unref(files->at[i]);
    files->n = 0;
}

static int read_rules(const char *path, struct span text, struct rule_files *files)
{
    struct err_list errs;
    int r;

    err_list_init(&errs);
    r = rule_file_read(text, path, &files->at[files->n], &errs);
    if (r == -EINVAL)
        err_list_print(&errs, stderr);
    else if (r < 0)
        (void)fprintf(stderr, "%s: %s\n", path, err_str(r));
    else
        files->n++;
    return r;
}

static int load_rules(const struct options *o, struct rule_files *files)
{
    struct buf text;
    int r = 0;

    if (o->n_rules == 0)
        return read_rules("(built in)", span_cstr(own_rules), files);
    buf_init(&text, (size_t)RULE_FILE_BYTES_MAX + 1);
    for (size_t i = 0; i < o->n_rules && r == 0; i++) {
        buf_clear(&text);
        r = file_read(o->rules[i], RULE_FILE_BYTES_MAX, &text);
        if (r < 0)
            (void)fprintf(stderr, "inferometer verify: \"%s\" could not be read: %s\n", o->rules[i],
                          err_str(r));
        else
            r = read_rules(o->rules[i], buf_span(&text), files);
    }
    buf_done(&text);
    return r;
}

/* --- the run --- */

static bool wait_signal(void *ctx, int ms)
{
    (void)ctx;
    return signals_wait(ms) != 0;
}

static void say(void *ctx, const char *line)
{
    FILE *to = ctx;

    (void)fprintf(to, "%s\n", line);
    (void)fflush(to);
}

/* What runs, in place of what is written. */
static int show_plan(const struct verify_plan *plan, FILE *to)
{
    struct buf text;
    int r = 0;

    buf_init(&text, SHOWN_MAX);
    for (size_t i = 0; i < plan->n_files && r == 0; i++)
        r = verify_scaled_show(plan, i, &text);
    if (r == 0)
        (void)fwrite(buf_span(&text).p, 1, buf_len(&text), to);
    else
        (void)fprintf(stderr, "inferometer verify: the rules cannot be scaled: %s\n",
                      r == -EINVAL ? "a duration hangs on step() or range()" : err_str(r));
    buf_done(&text);
    return r;
}

static int report(const struct options *o, const struct verify_result *result)
{
    struct verify_findings findings;
    struct arena a;
    struct buf text;
    bool is_passed = false;
    int r;

    arena_init(&a, NULL);
    buf_init(&text, SHOWN_MAX);
    r = verify_judge(o->config.plan, result, &a, &findings);
    if (r == 0)
        r = o->is_json ? verify_report_json(&o->config, result, &findings, &text)
                       : verify_report_text(&findings, &text);
    if (r == 0) {
        is_passed = verify_judge_is_passed(&findings);
        (void)printf("%s%.*s", o->is_json ? "" : "\n", SPAN_ARG(buf_span(&text)));
    } else {
        (void)fprintf(stderr, "inferometer verify: %s\n", err_str(r));
    }
    buf_done(&text);
    arena_done(&a);
    return is_passed ? EXIT_OK : EXIT_FAILED;
}

/* What is left out for want of a program. */
static void show_absent(const struct options *o, FILE *to)
{
    if (!o->config.prometheus && !o->has_no_peers)
        (void)fprintf(to, "prometheus is not installed: it is left out\n");
    if (!o->config.alertmanager && !o->has_no_peers)
        (void)fprintf(to, "alertmanager is not installed: it is left out\n");
}

static int run(struct options *o, FILE *to)
{
    const struct verify_ops ops = {.wait = wait_signal, .say = say, .ctx = to};
    struct verify_result result = {.page_error = ""};
    struct err why = {.text = ""};
    int status = EXIT_FAILED;
    int r = 0;

    for (int w = 0; w < VERIFY_WHERES && r == 0; w++) {
        result.seen[w] = mem_zalloc(o->config.plan->n + 1, sizeof(*result.seen[w]));
        r = result.seen[w] ? 0 : -ENOMEM;
    }
    signals_block(); /* not before: until now there is nothing to clean up */
    if (r == 0)
        r = verify_run(&o->config, &ops, &result, &why);
    if (r == 0)
        status = report(o, &result);
    else if (r == -EINTR)
        (void)fprintf(stderr, "inferometer verify: stopped, nothing is left behind\n");
    else
        (void)fprintf(stderr, "inferometer verify: %s\n", why.text[0] ? why.text : err_str(r));
    for (int w = 0; w < VERIFY_WHERES; w++)
        mem_free(result.seen[w]);
    return status;
}

static int plan_and_run(struct options *o, const struct rule_files *files)
{
    struct verify_plan plan;
    FILE *to = o->is_json ? stderr : stdout;
    int status = EXIT_FAILED;
    int r = verify_plan_make((const struct rule_file *const *)files->at, files->n, o->is_real_time,
                             &plan);

    if (r < 0) {
        (void)fprintf(stderr, "inferometer verify: %s\n", err_str(r));
        return EXIT_FAILED;
    }
    o->config.plan = &plan;
    if (plan.n == 0)
        (void)fprintf(stderr, "inferometer verify: there is no alert in these rules\n");
    else if (show_plan(&plan, to) == 0) {
        show_absent(o, to);
        status = run(o, to);
    }
    verify_plan_done(&plan);
    return status;
}

int verify_main(int argc, char **argv)
{
    struct options o = {.config = {.rate_per_s = 20, .mild_s = 0.5, .hard_s = 3}};
    struct rule_files files = {.n = 0};
    struct err err = {.text = ""};
    int status = EXIT_USAGE;

    if (parse(argc, argv, &o, &err) < 0)
        return flag_complain("verify", &err);
    if (o.is_help) {
        (void)fputs(usage, stdout);
        return EXIT_OK;
    }
    if (load_rules(&o, &files) == 0)
        status = plan_and_run(&o, &files);
    rules_unref(&files);
    return status;
}
