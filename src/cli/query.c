/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/query.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/flag.h"
#include "cli/plot.h"
#include "cli/query_show.h"
#include "cli/talk.h"
#include "cli/terminal.h"

enum { PLOT_HEIGHT = 17 };
#define HOUR_S 3600.0

enum format { FORMAT_AUTO, FORMAT_TABLE, FORMAT_PLOT, FORMAT_JSON, FORMAT_CSV };

struct query_options {
    struct span expr;
    struct talk_place at;
    enum format format;
    bool is_range, is_closed;
    struct span smooth;
    double at_s, start_s, end_s, step_s; /* NaN: not said */
};

static void help_print(void)
{
    (void)fputs(
        "usage: inferometer query EXPR [--at TIME] [--start TIME --end TIME --step DURATION]\n\n"
        "Asks a running gateway for its history, in PromQL.\n\n"
        "  --at TIME           the moment to look at (default now)\n"
        "  --start, --end TIME the range to look at instead (defaults: an hour ago, now)\n"
        "  --step DURATION     distance of its samples (default: as the width has room for)\n"
        "  --format FORMAT     table, plot, json or csv (default: a plot of ranges on a terminal,\n"
        "                      else a table)\n"
        "  --url URL           the gateway's admin listener (default http://127.0.0.1:8401), or\n"
        "                      anything else with the HTTP API of Prometheus\n"
        "  --smooth sma:30m    ranges made smooth by a mean over so long, or ema:5m, where what "
        "is\n"
        "                      5 minutes old has half of the weight\n"
        "  --range-semantics 2 closed ranges, as Prometheus 2 had them\n\n"
        "TIME is seconds since the epoch, RFC 3339, now, or a distance from now like -90m.\n\n"
        "exit status: 0 answered, 1 refused or not reached, 2 wrong flags or query\n",
        stdout);
}

/* --- flags --- */

static int read_step(struct flag *f, double *ret, struct err *reterr)
{
    struct span s = {0};
    int64_t ms;
    int r = flag_value(f, NULL, &s, reterr);
    if (r < 0)
        return r;
    if (promql_parse_duration(s, &ms) < 0 || ms <= 0)
        return err_set(reterr, -EINVAL, "--step: \"%.*s\" is not a duration like 15s or 1h",
                       SPAN_ARG(s));
    *ret = (double)ms / 1000;
    return 0;
}

static int read_format(struct flag *f, enum format *ret, struct err *reterr)
{
    static const char *const names[] = {"", "table", "plot", "json", "csv"};
    struct span s = {0};
    int r = flag_value(f, NULL, &s, reterr);
    if (r < 0)
        return r;
    for (int i = FORMAT_TABLE; i <= FORMAT_CSV; i++) {
        if (span_eq(s, span_cstr(names[i]))) {
            *ret = (enum format)i;
            return 0;
        }
    }
    return err_set(reterr, -EINVAL, "--format is table, plot, json or csv");
}

static int read_flag(struct flag *f, struct query_options *o, struct err *reterr)
{
    struct span url = {0};
    int64_t semantics = 0;
    if (flag_is(f, "at"))
        return flag_time(f, &o->at_s, reterr);
    if (flag_is(f, "start"))
        return flag_time(f, &o->start_s, reterr);
    if (flag_is(f, "end"))
        return flag_time(f, &o->end_s, reterr);
    if (flag_is(f, "step"))
        return read_step(f, &o->step_s, reterr);
    if (flag_is(f, "format"))
        return read_format(f, &o->format, reterr);
    if (flag_is(f, "url")) {
        int r = flag_value(f, NULL, &url, reterr);
        return r < 0 ? r : talk_place_parse(url, &o->at, reterr);
    }
    if (flag_is(f, "range-semantics")) {
        int r = flag_i64(f, 2, 3, &semantics, reterr);
        o->is_closed = semantics == 2;
        return r;
    }
    if (flag_is(f, "smooth"))
        return flag_value(f, NULL, &o->smooth, reterr);
    return err_set(reterr, -EINVAL, "there is no flag \"--%.*s\"", SPAN_ARG(f->name));
}

/* What of a range was not said. */
static int fill_range(struct query_options *o, struct err *reterr)
{
    o->is_range = !isnan(o->start_s) || !isnan(o->end_s) || !isnan(o->step_s);
    if (!o->is_range && o->format != FORMAT_PLOT)
        return 0;
    o->is_range = true;
    if (!isnan(o->at_s))
        return err_set(reterr, -EINVAL,
                       "--at is for one moment, --start, --end and --step and a "
                       "plot are for a range");
    if (isnan(o->end_s))
        o->end_s = (double)clock_wall().us / 1e6;
    if (isnan(o->start_s))
        o->start_s = o->end_s - HOUR_S;
    if (o->end_s < o->start_s)
        return err_set(reterr, -EINVAL, "--end is before --start");
    if (isnan(o->step_s))
        o->step_s = fmax(1, ceil((o->end_s - o->start_s) / terminal_width()));
    return 0;
}

/* 1: go on; 0: help was asked for. */
static int options_parse(int argc, char **argv, struct query_options *o, struct err *reterr)
{
    struct flag f;
    struct span word;
    int r;
    *o = (struct query_options){
        .at_s = (double)NAN, .start_s = (double)NAN, .end_s = (double)NAN, .step_s = (double)NAN};
    r = talk_place_parse(SPAN("127.0.0.1:8401"), &o->at, reterr);
    flag_init(&f, argc, argv);
    while (r == 0) {
        if (flag_word(&f, &word)) {
            if (o->expr.p)
                return err_set(reterr, -EINVAL, "more than one query; put quotes around it");
            o->expr = word;
            continue;
        }
        int next = flag_next(&f, reterr);
        if (next <= 0) {
            r = next;
            break;
        }
        if (flag_is(&f, "help"))
            return 0;
        r = read_flag(&f, o, reterr);
    }
    if (r < 0)
        return r;
    if (!o->expr.p) {
        (void)err_set(reterr, -EINVAL, "no query");
        err_hint(reterr, "for example: inferometer query 'sum(rate(llm_requests_total[5m]))'");
        return -EINVAL;
    }
    r = fill_range(o, reterr);
    return r < 0 ? r : 1;
}

/* --- asking --- */

static int form_write(const struct query_options *o, struct buf *form)
{
    int r = talk_add(form, SPAN("query"), o->expr);
    if (r == 0 && o->is_closed)
        r = talk_add(form, SPAN("range_semantics"), SPAN("2"));
    if (r == 0 && o->smooth.n > 0)
        r = talk_add(form, SPAN("smooth"), o->smooth);
    if (r == 0 && o->is_range)
        r = talk_add_seconds(form, SPAN("start"), o->start_s);
    if (r == 0 && o->is_range)
        r = talk_add_seconds(form, SPAN("end"), o->end_s);
    if (r == 0 && o->is_range)
        r = talk_add_seconds(form, SPAN("step"), o->step_s);
    if (r == 0 && !o->is_range)
        r = talk_add_seconds(form, SPAN("time"), o->at_s);
    return r;
}

static int show(const struct query_options *o, const struct query_data *d, struct span answer,
                struct buf *out)
{
    bool is_terminal = isatty(STDOUT_FILENO);
    const struct plot_options plot = {.width = terminal_width(),
                                      .height = PLOT_HEIGHT,
                                      .has_color = is_terminal && !getenv("NO_COLOR"),
                                      .has_utf8 = terminal_has_utf8(),
                                      .start = o->start_s,
                                      .end = o->end_s,
                                      .step = o->step_s};
    enum format f = o->format;
    if (f == FORMAT_AUTO)
        f = o->is_range && is_terminal ? FORMAT_PLOT : FORMAT_TABLE;
    switch (f) {
    case FORMAT_JSON: {
        int r = buf_append(out, answer);
        return r ? r : buf_append(out, SPAN("\n"));
    }
    case FORMAT_CSV:
        return query_show_csv(d, out);
    case FORMAT_PLOT:
        return plot_print(d->series, d->n_series, &plot, out);
    default:
        return query_show_table(d, out);
    }
}

static int answer_take(const struct query_options *o, struct span answer, int status,
                       struct err *reterr)
{
    struct arena a;
    struct query_data d;
    struct buf out;
    arena_init(&a, NULL);
    buf_init(&out, 2 * TALK_ANSWER_MAX);
    int r = query_data_read(answer, &a, &d);
    if (r < 0)
        (void)talk_misread(&o->at, status, "result", r, reterr);
    else if (d.error.p)
        r = err_set(reterr, -EPROTO, "%.*s", SPAN_ARG(d.error));
    else if ((r = show(o, &d, answer, &out)) < 0)
        (void)err_set(reterr, r, "the answer cannot be shown: %s", err_str(r));
    if (r == 0) {
        (void)fwrite(buf_span(&out).p, 1, buf_len(&out), stdout);
        for (size_t i = 0; i < d.n_notes; i++)
            (void)fprintf(stderr, "note: %.*s\n", SPAN_ARG(d.notes[i]));
    }
    buf_done(&out);
    arena_done(&a);
    return r;
}

static int ask(const struct query_options *o, struct err *reterr)
{
    struct buf form, answer;
    int status = 0;
    buf_init(&form, MIB);
    buf_init(&answer, TALK_ANSWER_MAX);
    int r = form_write(o, &form);
    const struct talk_question q = {.path = o->is_range ? "/api/v1/query_range" : "/api/v1/query",
                                    .accept = "application/json",
                                    .flag = "--url",
                                    .form = buf_span(&form)};
    if (r < 0)
        (void)err_set(reterr, r, "the query cannot be sent: %s", err_str(r));
    else
        r = talk_ask(&o->at, &q, &status, &answer, reterr);
    if (r == 0)
        r = answer_take(o, buf_span(&answer), status, reterr);
    buf_done(&form);
    buf_done(&answer);
    return r;
}

/* What is wrong is told before anybody is asked, with its place. */
static int check(const struct query_options *o)
{
    struct promql_expr *e = NULL;
    struct promql_error error;
    struct buf out;
    if (promql_parse(o->expr, &e, &error) == 0) {
        (void)promql_free_expr(e);
        return 0;
    }
    buf_init(&out, MIB);
    if (promql_error_print(&error, &out) == 0 && buf_append(&out, SPAN("\n")) == 0 &&
        query_show_place(o->expr, &error, &out) == 0)
        (void)fprintf(stderr, "inferometer query: %.*s", SPAN_ARG(buf_span(&out)));
    buf_done(&out);
    return 2;
}

int query_main(int argc, char **argv)
{
    struct query_options o;
    struct err err = {0};
    int r = options_parse(argc, argv, &o, &err);
    if (r < 0)
        return flag_complain("query", &err);
    if (r == 0) {
        help_print();
        return 0;
    }
    r = check(&o);
    if (r != 0 || ask(&o, &err) == 0)
        return r;
    (void)flag_complain("query", &err);
    return 1;
}
