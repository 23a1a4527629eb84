/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/review_ask.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "cli/dialog.h"
#include "cli/flag.h"

enum { FORM_MAX = 64 * 1024 };
#define DAY_NS     (24 * (3600 * NS_PER_S))
#define SINCE_DAYS 90

struct options {
    struct talk_place at;
    int64_t since_ns;
    double to_s; /* 0: now */
    bool is_json, is_markdown;
};

static const char help[] =
    "usage: inferometer slo review [--since 90d] [--to TIME] [--markdown | --json]\n"
    "\n"
    "Asks a running gateway to look back: which alerts fired how often and for how long, how much "
    "of\n"
    "that was noise, which degradations no alert told of, what is left of the error budgets; and\n"
    "what follows from that: longer waits, thresholds, bucket bounds, each with its evidence.\n"
    "\n"
    "  --since DURATION   how far to look back (default 90d, at most 400d); what the gateway "
    "keeps\n"
    "                     less long is said\n"
    "  --to TIME          until then: RFC 3339, seconds, or like -7d (default now)\n"
    "  --markdown         for people, as it is without any of these two\n"
    "  --json             the gateway's answer as it is\n"
    "  --url URL          the gateway's admin listener (default http://127.0.0.1:8401)\n"
    "\n"
    "An alert is noise where somebody marked it so (inferometer incident noise), or no objective\n"
    "used its error budget faster than it may, from 10 minutes before it to 10 minutes behind it.\n"
    "\n"
    "examples:\n"
    "  inferometer slo review --since 30d > review.md\n"
    "  inferometer slo review --json\n"
    "\n"
    "exit status: 0 answered, 1 refused or not reached, 2 wrong flags\n";

static int read_flag(struct flag *f, void *ctx, struct err *reterr)
{
    struct options *o = ctx;
    struct span url = {0};
    if (flag_is(f, "since"))
        return flag_duration(f, &o->since_ns, reterr);
    if (flag_is(f, "to"))
        return flag_time(f, &o->to_s, reterr);
    if (flag_is(f, "json") || flag_is(f, "markdown")) {
        *(flag_is(f, "json") ? &o->is_json : &o->is_markdown) = true;
        return 0;
    }
    if (flag_is(f, "url")) {
        int r = flag_value(f, NULL, &url, reterr);
        return r < 0 ? r : talk_place_parse(url, &o->at, reterr);
    }
    return err_set(reterr, -EINVAL, "there is no flag \"--%.*s\"", SPAN_ARG(f->name));
}

static int check(const struct options *o, struct err *reterr)
{
    if (o->is_json && o->is_markdown)
        return err_set(reterr, -EINVAL, "either --json or --markdown");
    if (o->since_ns < NS_PER_S)
        return err_set(reterr, -EINVAL, "--since is at least 1s");
    return 1;
}

/* 1: go on; 0: help was asked for. */
static int options_parse(int argc, char **argv, struct options *o, struct err *reterr)
{
    struct dialog_words words = {NULL, 0, 0, ": flags begin with --"};
    *o = (struct options){.since_ns = SINCE_DAYS * DAY_NS};
    int r = talk_place_parse(SPAN("127.0.0.1:8401"), &o->at, reterr);
    if (r == 0)
        r = dialog_read_words(argc, argv, &words, read_flag, o, reterr);
    return r == 1 ? check(o, reterr) : r;
}

static int put_form(const struct options *o, struct buf *form)
{
    int r = talk_add_seconds(form, SPAN("since"), (double)o->since_ns / (double)NS_PER_S);
    if (r == 0 && o->to_s > 0)
        r = talk_add_seconds(form, SPAN("to"), o->to_s);
    return r == 0 && !o->is_json ? talk_add(form, SPAN("format"), SPAN("markdown")) : r;
}

static int review(const struct options *o, struct err *reterr)
{
    struct buf form, answer;
    int status = 0;
    buf_init(&form, FORM_MAX);
    buf_init(&answer, TALK_ANSWER_MAX);
    int r = put_form(o, &form);
    const struct talk_question question = {
        .path = "/api/v1/slo/review", .accept = "*/*", .form = buf_span(&form)};
    if (r < 0)
        (void)err_set(reterr, r, "%s", err_str(r));
    else
        r = dialog_get(&o->at, question, &answer, &status, reterr);
    if (status == 503)
        err_hint(reterr, "the gateway needs data_dir in its configuration; a shorter --since takes "
                         "less time");
    if (r == 0)
        (void)fwrite(buf_span(&answer).p, 1, buf_len(&answer), stdout);
    if (r == 0 && o->is_json)
        (void)putchar('\n');
    buf_done(&form);
    buf_done(&answer);
    return r;
}

int review_ask_main(int argc, char **argv)
{
    struct options o;
    struct err err = {0};
    int r = options_parse(argc, argv, &o, &err);
    if (r < 0)
        return flag_complain("slo review", &err);
    if (r == 0) {
        (void)fputs(help, stdout);
        return 0;
    }
    if (review(&o, &err) == 0)
        return 0;
    (void)flag_complain("slo review", &err);
    return 1;
}
