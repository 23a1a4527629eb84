/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/slos.c - the subcommand "inferometer slo".
 */
#include "cli/slos.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "cli/flag.h"
#include "cli/review_ask.h"
#include "cli/slos_table.h"
#include "daemon/config.h"
#include "slo/burn.h"
#include "slo/simulate.h"
#include "slo/slo_rules.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, MONTHS = 12, PATH_BYTES_MAX = 4096 };

static const char help[] =
    "usage: inferometer slo rules [--config FILE] [--out FILE]\n"
    "       inferometer slo table [--config FILE] [--months N]\n"
    "       inferometer slo simulate [--target PERCENT] [--rate N] [OPTIONS]\n"
    "       inferometer slo review [--since 90d] [--markdown | --json]\n"
    "\n"
    "rules     prints the SLOs of the configuration as a Prometheus rule file: counts over "
    "windows,\n"
    "          burn-rate pages and tickets, what is left of the budget, no data.\n"
    "table     how soon a total outage pages for each objective, and how often chance does.\n"
    "simulate  pages of months in which a given part of the requests is bad.\n"
    "review    asks a running gateway which alerts were noise and what none told of; has a --help "
    "of its own.\n"
    "\n"
    "  -c, --config FILE   where the SLOs are; without: the presets chat, completion and batch\n"
    "  --out FILE          write there instead; the file is replaced when all of it is written\n"
    "  --months N          months of 30 days to simulate (12)\n"
    "\n"
    "simulate:\n"
    "  --target PERCENT    of the objective (99); below 83.34 nothing can page\n"
    "  --rate N            requests per hour (60)\n"
    "  --bad PERCENT       of them are bad (what the target allows)\n"
    "  --min-bad N         as in the configuration (6)\n"
    "  --days N            (30)\n"
    "  --seed N            (1)\n"
    "  --trace             print every step of 30 s: requests, bad ones, whether it pages\n"
    "\n"
    "Exit status: 0, 1 mistakes in FILE or a file that cannot be written, 2 wrong usage.\n"
    "\n"
    "examples:\n"
    "  inferometer slo rules -c /etc/inferometer.yaml --out /etc/prometheus/rules/slo.yml\n"
    "  inferometer slo table\n"
    "  inferometer slo simulate --target 99.5 --rate 20 --days 3650\n";

struct wish {
    struct span command;
    const char *config, *out; /* NULL: none */
    int64_t n_months, n_days, min_bad, seed;
    double target_percent, bad_percent, per_hour; /* bad_percent < 0: as the target allows */
    bool is_trace;
};

/* --- where SLOs come from --- */

static int presets_load(struct slo_set **ret)
{
    struct slo slos[SLO_MAX];

    for (size_t i = 0; i < slo_n_presets; i++) {
        slos[i] = (struct slo){.name = slo_presets[i].name,
                               .window_ms = SLO_WINDOW_MS,
                               .min_bad = SLO_MIN_BAD_DEFAULT};
        memcpy(slos[i].targets, slo_presets[i].targets, sizeof(slos[i].targets));
    }
    return slo_set_new(slos, slo_n_presets, ret);
}

/* -EINVAL: told already. */
static int slos_load(const struct wish *w, struct slo_set **ret)
{
    struct err_list errs;
    struct config *c;

    if (!w->config)
        return presets_load(ret);
    err_list_init(&errs);
    if (config_load_partial(w->config, &c, &errs) < 0) {
        err_list_print(&errs, stderr);
        return -EINVAL;
    }
    *ret = slo_set_ref(c->slo_set);
    config_unref(c);
    if ((*ret)->n == 0)
        (void)fprintf(stderr, "inferometer slo: %s has no \"slos\"\n", w->config);
    return 0;
}

/* --- rules --- */

/* Beside the file first, so that whoever reads it sees the old or the new one. */
static int file_write(const char *path, struct span text)
{
    char beside[PATH_BYTES_MAX];
    int n = snprintf(beside, sizeof(beside), "%s.new", path);
    bool is_written;
    FILE *f;

    errno = ENAMETOOLONG;
    f = n > 0 && (size_t)n < sizeof(beside) ? fopen(beside, "we") : NULL;
    is_written = f && fwrite(text.p, 1, text.n, f) == text.n;
    if (f)
        is_written = fclose(f) == 0 && is_written;
    if (is_written && rename(beside, path) == 0)
        return EXIT_OK;
    (void)fprintf(stderr, "inferometer slo: could not write \"%s\": %s\n", path, err_str(-errno));
    if (f)
        (void)remove(beside); /* half a file is no use */
    return EXIT_FAILED;
}

static int rules_print(const struct wish *w, const struct slo_set *slos)
{
    struct buf text;
    int status = EXIT_FAILED;

    buf_init(&text, SLO_RULES_BYTES_MAX);
    if (slo_rules_write(slos->items, slos->n, &text) < 0)
        (void)fprintf(stderr, "inferometer slo: out of memory\n");
    else if (w->out)
        status = file_write(w->out, buf_span(&text));
    else if (fwrite(buf_span(&text).p, 1, buf_len(&text), stdout) == buf_len(&text) &&
             fflush(stdout) == 0)
        status = EXIT_OK;
    else
        (void)fprintf(stderr, "inferometer slo: could not write: %s\n", err_str(-errno));
    buf_done(&text);
    return status;
}

/* --- simulate --- */

static void step_print(void *ctx, struct simulate_step counted, bool is_firing)
{
    (void)ctx;
    (void)printf("%u %u %d\n", counted.total, counted.bad, is_firing);
}

/* Why there may be few pages, or none, and which target or rate there would be more with. */
static void limits_print(const struct simulate_wish *s)
{
    double least = slo_page_least_per_hour(s->target, s->min_bad);

    for (int i = 0; i < SLO_BURN_PAGES; i++) {
        const struct slo_burn *b = &slo_burns[i];
        struct err why = {0};

        if (slo_factor_check(s->target, b->factor, &why) != 0)
            (void)fprintf(stderr,
                          "inferometer slo: the burn rate over %s is capped at %.4g: %s\n  %s\n",
                          b->long_text, slo_burn_factor(b, s->target), why.text, why.hint);
    }
    if (s->per_hour < least)
        (void)fprintf(stderr,
                      "inferometer slo: fewer than %.3g requests an hour hardly ever page: even "
                      "when all are bad, there are too few of them in a window\n",
                      least);
}

static int simulate_print(const struct wish *w)
{
    struct simulate_wish s = {.target = w->target_percent / 100,
                              .min_bad = (uint32_t)w->min_bad,
                              .per_hour = w->per_hour,
                              .bad_part = w->bad_percent / 100,
                              .days = (int)w->n_days,
                              .seed = (uint64_t)w->seed};
    struct err e = {0};
    uint64_t n;

    if (slo_target_check(s.target, &e) < 0)
        return flag_complain("slo", &e);
    limits_print(&s);
    if (w->bad_percent < 0)
        s.bad_part = 1 - s.target;
    if (w->is_trace)
        s.on_step = step_print;
    n = simulate_pages(&s);
    if (!w->is_trace)
        (void)printf("%llu pages in %lld days, %.3f in 30\n", (unsigned long long)n,
                     (long long)w->n_days, (double)n * 30 / (double)w->n_days);
    return EXIT_OK;
}

/* --- the command line --- */

static int path_take(struct flag *f, const char **ret, struct err *e)
{
    struct span value;
    int r = flag_value(f, NULL, &value, e);

    if (r == 0)
        *ret = value.p; /* the end of an argument */
    return r;
}

static int flag_take(struct flag *f, struct wish *w, struct err *e)
{
    if (flag_is(f, "config"))
        return path_take(f, &w->config, e);
    if (flag_is(f, "out"))
        return path_take(f, &w->out, e);
    if (flag_is(f, "months"))
        return flag_i64(f, 1, 10000, &w->n_months, e);
    if (flag_is(f, "target"))
        return flag_double(f, 1, 99.9999999, &w->target_percent, e);
    if (flag_is(f, "rate"))
        return flag_double(f, 0.001, 1e6, &w->per_hour, e);
    if (flag_is(f, "bad"))
        return flag_double(f, 0, 100, &w->bad_percent, e);
    if (flag_is(f, "min-bad"))
        return flag_i64(f, 1, 1000000, &w->min_bad, e);
    if (flag_is(f, "days"))
        return flag_i64(f, 1, 1000000, &w->n_days, e);
    if (flag_is(f, "seed"))
        return flag_i64(f, 0, INT64_MAX, &w->seed, e);
    if (flag_is(f, "trace")) {
        w->is_trace = true;
        return 0;
    }
    return flag_unknown(f, NULL, "slo", e);
}

/* 0; 1: help was asked for; -EINVAL. */
static int wish_take(int argc, char **argv, struct wish *w, struct err *e)
{
    struct flag f;
    int r;

    flag_init(&f, argc, argv);
    (void)flag_word(&f, &w->command);
    while ((r = flag_next(&f, e)) > 0) {
        if (flag_is(&f, "help"))
            return 1;
        r = flag_take(&f, w, e);
        if (r < 0)
            return r;
    }
    return r;
}

static int run(const struct wish *w)
{
    struct slo_set *slos = NULL;
    int status, r;

    if (span_eq(w->command, SPAN("simulate")))
        return simulate_print(w);
    r = slos_load(w, &slos);
    if (r == -ENOMEM)
        (void)fprintf(stderr, "inferometer slo: out of memory\n");
    if (r < 0)
        return EXIT_FAILED;
    if (span_eq(w->command, SPAN("rules"))) {
        status = rules_print(w, slos);
    } else {
        slos_table_print(slos->items, slos->n, (int)w->n_months, stdout);
        status = EXIT_OK;
    }
    slo_set_unref(slos);
    return status;
}

static bool is_command(struct span s)
{
    return span_eq(s, SPAN("rules")) || span_eq(s, SPAN("table")) || span_eq(s, SPAN("simulate"));
}

int slos_main(int argc, char **argv)
{
    struct wish w = {.n_months = MONTHS,
                     .n_days = 30,
                     .min_bad = SLO_MIN_BAD_DEFAULT,
                     .seed = 1,
                     .target_percent = 99,
                     .bad_percent = -1,
                     .per_hour = 60};
    struct err e = {0};
    int r;

    if (argc > 1 && strcmp(argv[1], "review") == 0)
        return review_ask_main(argc - 1, argv + 1);
    r = wish_take(argc, argv, &w, &e);

    if (r > 0) {
        (void)fputs(help, stdout);
        return EXIT_OK;
    }
    if (r == 0 && !is_command(w.command)) {
        r = err_set(&e, -EINVAL, "tell what to do: rules, table, simulate or review");
        err_hint(&e, "inferometer slo --help");
    }
    return r < 0 ? flag_complain("slo", &e) : run(&w);
}
