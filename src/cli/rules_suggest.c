/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/rules_suggest.c - inferometer rules suggest: flags, the questions of baseline/propose.h asked
 * over HTTP, and what came of them.
 */
#include "cli/rules_suggest.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "baseline/propose.h"
#include "cli/dialog.h"
#include "cli/flag.h"
#include "cli/query_windows.h"
#include "cli/talk.h"

#define DAY_NS (24 * (3600 * NS_PER_S))

struct propose_options {
    struct talk_place at;
    int64_t days;
    double margin_pct;
    bool is_rules;
};

static void help_print(void)
{
    (void)fputs(
        "usage: inferometer rules suggest [--last 7d] [--margin 50] [--rules]\n\n"
        "Proposes thresholds from what a running gateway has recorded: by stage and model the p95\n"
        "and half as much again, with the number of requests behind it, p50, p95 and p99, and how\n"
        "often an alert with that threshold would have fired in that time.\n\n"
        "  --last DURATION     how far to look back, in whole days (default 7d, at most 90d)\n"
        "  --margin PERCENT    how much more than the p95 (default 50)\n"
        "  --rules             a rule file in Prometheus' format instead of a table\n"
        "  --url URL           the gateway's admin listener (default http://127.0.0.1:8401)\n\n"
        "example:\n"
        "  inferometer rules suggest --last 14d --rules >suggested.yml\n\n"
        "exit status: 0 answered, 1 refused or not reached, 2 wrong flags\n",
        stdout);
}

/* --- flags --- */

static int read_last(struct flag *f, int64_t *ret_days, struct err *reterr)
{
    int64_t ns = 0;
    int r = flag_duration(f, &ns, reterr);
    if (r < 0)
        return r;
    if (ns <= 0 || ns % DAY_NS != 0 || ns / DAY_NS > PROPOSE_DAYS_MAX)
        return err_set(reterr, -EINVAL, "--last is a number of days, from 1d to %dd",
                       PROPOSE_DAYS_MAX);
    *ret_days = ns / DAY_NS;
    return 0;
}

static int read_flag(struct flag *f, void *ctx, struct err *reterr)
{
    struct propose_options *o = ctx;
    struct span url = {0};
    if (flag_is(f, "last"))
        return read_last(f, &o->days, reterr);
    if (flag_is(f, "margin"))
        return flag_double(f, 0, 1000, &o->margin_pct, reterr);
    if (flag_is(f, "rules")) {
        o->is_rules = true;
        return 0;
    }
    if (flag_is(f, "url")) {
        int r = flag_value(f, NULL, &url, reterr);
        return r < 0 ? r : talk_place_parse(url, &o->at, reterr);
    }
    return err_set(reterr, -EINVAL, "there is no flag \"--%.*s\"", SPAN_ARG(f->name));
}

/* 1: go on; 0: help was asked for. */
static int options_parse(int argc, char **argv, struct propose_options *o, struct err *reterr)
{
    struct dialog_words none = {0};
    *o = (struct propose_options){.days = 7, .margin_pct = 50};
    int r = talk_place_parse(SPAN("127.0.0.1:8401"), &o->at, reterr);
    return r == 0 ? dialog_read_words(argc, argv, &none, read_flag, o, reterr) : r;
}

/* --- asking --- */

static int take_answer(const struct talk_place *from, struct span answer, int status,
                       struct arena *a, struct propose_series **ret, size_t *ret_n,
                       struct err *reterr)
{
    struct query_data d;
    int r = query_data_read(answer, a, &d);
    if (r == 0 && d.error.p) {
        (void)err_set(reterr, -EPROTO, "%.*s", SPAN_ARG(d.error));
        err_hint(reterr, "%s",
                 span_eq(d.error_type, SPAN("execution"))
                     ? "a shorter time may do: --last 1d"
                     : "the gateway needs data_dir in its configuration");
        return -EPROTO;
    }
    if (r == 0)
        r = query_windows_read(&d, a, ret, ret_n);
    return r < 0 ? talk_misread(from, status, "result", r, reterr) : 0;
}

static int ask(void *ctx, const struct propose_question *q, struct arena *a,
               struct propose_series **ret, size_t *ret_n, struct err *reterr)
{
    const struct talk_place *at = ctx;
    struct buf form, answer;
    int status = 0;
    buf_init(&form, MIB);
    buf_init(&answer, TALK_ANSWER_MAX);
    int r = talk_add(&form, SPAN("query"), q->query);
    if (r == 0)
        r = talk_add_seconds(&form, SPAN("start"), (double)q->start_ms / 1000);
    if (r == 0)
        r = talk_add_seconds(&form, SPAN("end"), (double)q->end_ms / 1000);
    if (r == 0)
        r = talk_add_seconds(&form, SPAN("step"), (double)q->step_ms / 1000);
    const struct talk_question question = {.path = "/api/v1/query_range",
                                           .accept = "application/json",
                                           .flag = "--url",
                                           .form = buf_span(&form)};
    if (r < 0)
        (void)err_set(reterr, r, "the query cannot be sent: %s", err_str(r));
    else
        r = talk_ask(at, &question, &status, &answer, reterr);
    /* Texts of the result are views into the answer, which goes: it moves into the arena. */
    struct span kept = r == 0 ? arena_dup(a, buf_span(&answer)) : SPAN("");
    if (r == 0 && !kept.p)
        r = err_set(reterr, -ENOMEM, "%s", err_str(-ENOMEM));
    buf_done(&form);
    buf_done(&answer);
    return r < 0 ? r : take_answer(at, kept, status, a, ret, ret_n, reterr);
}

static int suggest(struct propose_options *o, struct err *reterr)
{
    const struct propose_source source = {ask, &o->at};
    const struct propose_wish wish = {
        .to_ms = clock_wall().us / 1000, .days = (int)o->days, .margin = o->margin_pct / 100};
    struct proposals s;
    struct arena a;
    struct buf out;
    arena_init(&a, NULL);
    buf_init(&out, TALK_ANSWER_MAX);
    int r = propose_make(&source, &wish, &a, &s, reterr);
    if (r == 0) {
        r = o->is_rules ? propose_print_rules(&s, &out) : propose_print(&s, &out);
        if (r < 0)
            (void)err_set(reterr, r, "the answer cannot be shown: %s", err_str(r));
        else
            (void)fwrite(buf_span(&out).p, 1, buf_len(&out), stdout);
    }
    buf_done(&out);
    arena_done(&a);
    return r;
}

int rules_suggest_main(int argc, char **argv)
{
    struct propose_options o;
    struct err err = {0};
    int r = options_parse(argc, argv, &o, &err);
    if (r < 0)
        return flag_complain("rules suggest", &err);
    if (r == 0) {
        help_print();
        return 0;
    }
    if (suggest(&o, &err) == 0)
        return 0;
    (void)flag_complain("rules suggest", &err);
    return 1;
}
