/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/alert.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "alert/matchers.h"
#include "base/clock.h"
#include "base/err_list.h"
#include "cli/alert_show.h"
#include "cli/dialog.h"
#include "cli/flag.h"

enum { WORDS_MAX = 32, REQUEST_MAX = 256 * 1024 };

struct options {
    struct talk_place at;
    struct span words[WORDS_MAX];
    size_t n_words;
    int64_t for_ns; /* of a silence; 0: not said */
    struct span comment, by;
    bool is_json, is_all;
};

static const char help[] =
    "usage: inferometer alert list [MATCHER]... [--all]\n"
    "       inferometer alert silence MATCHER... --for 2h --comment TEXT [--by NAME]\n"
    "       inferometer alert silences [MATCHER]...\n"
    "       inferometer alert unsilence ID...\n"
    "       inferometer alert test RECEIVER\n"
    "       inferometer alert route LABEL=VALUE...\n"
    "       inferometer alert deliveries\n"
    "\n"
    "Asks a running gateway which alerts fire, and tells it which ones not to tell anybody.\n"
    "\n"
    "  MATCHER          name=value, name!=value, name=~regex, name!~regex; all must hold; a word\n"
    "                   without =, ! and ~ is the name of an alert\n"
    "  list             alerts under delivery; --all: those silenced and inhibited, too\n"
    "  silence          alerts that match are not told for so long; prints the silence's id\n"
    "  --for DURATION   how long, like 30m, 2h, 7d\n"
    "  --comment TEXT   why, for those who wonder\n"
    "  --by NAME        who (default: your user name)\n"
    "  silences         those that are or will be in force\n"
    "  unsilence        ends one\n"
    "  test             sends a test alert to a receiver, and shows what came back\n"
    "  route            which receivers an alert with these labels would go to\n"
    "  deliveries       what was delivered last to whom, what failed and is tried again\n"
    "  --json           the gateway's answer as it is\n"
    "  --url URL        the gateway's admin listener (default http://127.0.0.1:8401)\n"
    "\n"
    "examples:\n"
    "  inferometer alert list\n"
    "  inferometer alert silence TTFTHigh model=llama-3 --for 2h --comment \"new weights\"\n"
    "  inferometer alert test oncall\n"
    "  inferometer alert route alertname=TTFTHigh tier=P0\n"
    "\n"
    "exit status: 0 done, 1 refused, not delivered or not reached, 2 wrong flags or words\n";

static int read_flag(struct flag *f, void *ctx, struct err *reterr)
{
    struct options *o = ctx;
    struct span url = {0};
    if (flag_is(f, "for"))
        return flag_duration(f, &o->for_ns, reterr);
    if (flag_is(f, "comment"))
        return flag_value(f, NULL, &o->comment, reterr);
    if (flag_is(f, "by"))
        return flag_value(f, NULL, &o->by, reterr);
    if (flag_is(f, "all") || flag_is(f, "json")) {
        *(flag_is(f, "all") ? &o->is_all : &o->is_json) = true;
        return 0;
    }
    if (flag_is(f, "url")) {
        int r = flag_value(f, NULL, &url, reterr);
        return r < 0 ? r : talk_place_parse(url, &o->at, reterr);
    }
    return err_set(reterr, -EINVAL, "there is no flag \"--%.*s\"", SPAN_ARG(f->name));
}

/* 1: go on; 0: help was asked for. */
static int options_parse(int argc, char **argv, struct options *o, struct err *reterr)
{
    struct dialog_words words = {o->words, 0, WORDS_MAX, ""};
    *o = (struct options){0};
    int r = talk_place_parse(SPAN("127.0.0.1:8401"), &o->at, reterr);
    if (r == 0)
        r = dialog_read_words(argc, argv, &words, read_flag, o, reterr);
    o->n_words = words.n;
    return r;
}

/* --- what is asked --- */

static int print(const struct options *o, const struct buf *body,
                 int (*show)(struct span json, int64_t now_ms, struct buf *out), struct err *reterr)
{
    struct buf out;
    buf_init(&out, TALK_ANSWER_MAX);
    int r = o->is_json ? buf_append(&out, buf_span(body))
                       : show(buf_span(body), clock_wall().us / 1000, &out);
    if (r == 0)
        (void)fwrite(buf_span(&out).p, 1, buf_len(&out), stdout);
    else
        r = talk_misread(&o->at, 200, "list", r, reterr);
    buf_done(&out);
    return r;
}

static int ask_and_print(const struct options *o, struct talk_question q,
                         int (*show)(struct span json, int64_t now_ms, struct buf *out),
                         struct err *reterr)
{
    struct buf body;
    buf_init(&body, TALK_ANSWER_MAX);
    int r = dialog_get(&o->at, q, &body, NULL, reterr);
    if (r == 0)
        r = print(o, &body, show, reterr);
    buf_done(&body);
    return r;
}

static bool has_operator(struct span s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (strchr("=!~", s.p[i]))
            return true;
    }
    return false;
}

/* A word is a matcher; a name alone is that of an alert. */
static int matcher_of(struct span word, struct arena *a, struct matcher *ret, struct err *reterr)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct err err = {.code = 0};
    int r = has_operator(word) ? alert_matcher_parse(word, a, ret, &err)
                               : matcher_init(a, MATCH_EQ, SPAN("alertname"), word, ret, &err);
    if (r == -EINVAL) {
        (void)err_set(reterr, r, "\"%s\": %s", err_list_shown(word, shown), err.text);
        err_hint(reterr, "write name=value, name!=value, name=~pattern or name!~pattern; the name "
                         "of an alert with one of =!~ in it as alertname=\"...\"");
    }
    return r;
}

static int add_filters(const struct options *o, struct buf *form, struct err *reterr)
{
    struct arena a;
    struct buf text;
    int r = 0;
    arena_init(&a, NULL);
    buf_init(&text, REQUEST_MAX);
    for (size_t i = 0; i < o->n_words && r == 0; i++) {
        struct matcher m;
        r = matcher_of(o->words[i], &a, &m, reterr);
        if (r < 0)
            break;
        buf_clear(&text);
        r = alert_matchers_print_one(&m, &text);
        if (r == 0)
            r = talk_add(form, SPAN("filter"), buf_span(&text));
        matcher_done(&m);
    }
    buf_done(&text);
    arena_done(&a);
    return r;
}

/* GET path?form, as a list. */
static int ask_list(const struct options *o, const char *path, const struct buf *form,
                    int (*show)(struct span json, int64_t now_ms, struct buf *out),
                    struct err *reterr)
{
    struct buf target;
    buf_init(&target, REQUEST_MAX);
    int r = buf_printf(&target, "%s?%.*s", path, SPAN_ARG(buf_span(form)));
    if (r == 0)
        r = buf_append(&target, span_of("", 1));
    if (r == 0)
        r = ask_and_print(o, (struct talk_question){.path = buf_span(&target).p, .method = "GET"},
                          show, reterr);
    else
        err_set(reterr, r, "%s", err_str(r));
    buf_done(&target);
    return r;
}

static int run_list(const struct options *o, struct err *reterr)
{
    struct buf form;
    buf_init(&form, REQUEST_MAX);
    int r = add_filters(o, &form, reterr);
    if (r == 0 && !o->is_all)
        r = talk_add(&form, SPAN("silenced"), SPAN("false"));
    if (r == 0 && !o->is_all)
        r = talk_add(&form, SPAN("inhibited"), SPAN("false"));
    if (r == 0)
        r = ask_list(o, "/api/v2/alerts", &form, alert_show_list, reterr);
    else if (reterr->code == 0)
        err_set(reterr, r, "%s", err_str(r));
    buf_done(&form);
    return r;
}

static int run_silences(const struct options *o, struct err *reterr)
{
    struct buf form;
    buf_init(&form, REQUEST_MAX);
    int r = add_filters(o, &form, reterr);
    if (r == 0)
        r = ask_list(o, "/api/v2/silences", &form, alert_show_silences, reterr);
    else if (reterr->code == 0)
        err_set(reterr, r, "%s", err_str(r));
    buf_done(&form);
    return r;
}

static json_t *text_of(struct span s)
{
    return json_stringn(s.p ? s.p : "", s.n);
}

static json_t *matcher_json(const struct matcher *m)
{
    bool is_equal = m->op == MATCH_EQ || m->op == MATCH_RE;
    bool is_regex = m->op == MATCH_RE || m->op == MATCH_NRE;
    return json_pack("{s:o, s:o, s:b, s:b}", "name", text_of(m->name), "value", text_of(m->value),
                     "isRegex", (int)is_regex, "isEqual", (int)is_equal);
}

static int matchers_json(const struct options *o, json_t *list, struct err *reterr)
{
    struct arena a;
    int r = 0;
    arena_init(&a, NULL);
    for (size_t i = 0; i < o->n_words && r == 0; i++) {
        struct matcher m;
        r = matcher_of(o->words[i], &a, &m, reterr);
        if (r < 0)
            break;
        r = json_array_append_new(list, matcher_json(&m)) < 0 ? -ENOMEM : 0;
        matcher_done(&m);
    }
    arena_done(&a);
    return r;
}

static const char *time_text(int64_t s, char dst[32])
{
    struct tm tm;
    time_t t = (time_t)s;
    if (!gmtime_r(&t, &tm) || strftime(dst, 32, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        dst[0] = '\0';
    return dst;
}

static int take_text(const char *text, size_t n, void *ctx)
{
    return buf_append(ctx, span_of(text, n));
}

static int dump(const json_t *json, struct buf *out)
{
    return json_dump_callback(json, take_text, out, JSON_COMPACT) < 0 ? -ENOMEM : 0;
}

static int run_silence(const struct options *o, struct err *reterr)
{
    char from[32], to[32];
    int64_t now_s = clock_wall().us / US_PER_S;
    struct span by = o->by.p ? o->by : talk_user();
    json_t *list = json_array();
    json_t *all =
        json_pack("{s:O, s:s, s:s, s:o, s:o}", "matchers", list, "startsAt", time_text(now_s, from),
                  "endsAt", time_text(now_s + o->for_ns / NS_PER_S, to), "createdBy", text_of(by),
                  "comment", text_of(o->comment));
    int r = list && all ? matchers_json(o, list, reterr) : -ENOMEM;
    struct buf text;
    buf_init(&text, REQUEST_MAX);
    if (r == 0)
        r = dump(all, &text);
    if (r < 0 && reterr->code == 0)
        err_set(reterr, r, "%s", err_str(r));
    if (r == 0)
        r = ask_and_print(o,
                          (struct talk_question){.path = "/api/v2/silences",
                                                 .form = buf_span(&text),
                                                 .type = "application/json"},
                          alert_show_silence_id, reterr);
    buf_done(&text);
    json_decref(list);
    json_decref(all);
    return r;
}

static int run_unsilence(const struct options *o, struct err *reterr)
{
    int r = 0;
    for (size_t i = 0; i < o->n_words && r == 0; i++) {
        struct buf path, body;
        buf_init(&path, REQUEST_MAX);
        buf_init(&body, REQUEST_MAX);
        r = buf_append(&path, SPAN("/api/v2/silence/"));
        if (r == 0)
            r = talk_encode(o->words[i], &path);
        if (r == 0)
            r = buf_append(&path, span_of("", 1));
        if (r == 0)
            r = dialog_get(&o->at,
                           (struct talk_question){.path = buf_span(&path).p, .method = "DELETE"},
                           &body, NULL, reterr);
        buf_done(&body);
        buf_done(&path);
    }
    return r;
}

static int run_test(const struct options *o, struct err *reterr)
{
    struct buf form, body, out;
    bool is_delivered = false;
    buf_init(&form, REQUEST_MAX);
    buf_init(&body, REQUEST_MAX);
    buf_init(&out, REQUEST_MAX);
    int r = talk_add(&form, SPAN("receiver"), o->words[0]);
    if (r == 0)
        r = dialog_get(
            &o->at, (struct talk_question){.path = "/api/v1/alerts/test", .form = buf_span(&form)},
            &body, NULL, reterr);
    if (r == 0 && (r = alert_show_test(buf_span(&body), &is_delivered, &out)) < 0)
        r = talk_misread(&o->at, 200, "result", r, reterr);
    if (r == 0) {
        struct span text = o->is_json ? buf_span(&body) : buf_span(&out);
        (void)fwrite(text.p, 1, text.n, stdout);
        if (!is_delivered)
            r = err_set(reterr, -EREMOTEIO, "the receiver did not take it");
    }
    buf_done(&out);
    buf_done(&body);
    buf_done(&form);
    return r;
}

static int run_route(const struct options *o, struct err *reterr)
{
    struct buf form;
    int r = 0;
    buf_init(&form, REQUEST_MAX);
    for (size_t i = 0; i < o->n_words && r == 0; i++)
        r = talk_add(&form, SPAN("label"), o->words[i]);
    if (r == 0)
        r = ask_and_print(
            o, (struct talk_question){.path = "/api/v1/alerts/route", .form = buf_span(&form)},
            alert_show_names, reterr);
    buf_done(&form);
    return r;
}

static int run_deliveries(const struct options *o, struct err *reterr)
{
    return ask_and_print(o, (struct talk_question){.path = "/api/v1/alerts/deliveries"},
                         alert_show_deliveries, reterr);
}

/* --- commands --- */

static const struct command {
    const char *name;
    int (*run)(const struct options *o, struct err *reterr);
    size_t min_words, max_words;
    bool is_silence; /* needs --for and --comment */
    const char *wants;
} commands[] = {
    {"list", run_list, 0, WORDS_MAX, false, ""},
    {"silence", run_silence, 1, WORDS_MAX, true, "matchers, --for and --comment"},
    {"silences", run_silences, 0, WORDS_MAX, false, ""},
    {"unsilence", run_unsilence, 1, WORDS_MAX, false, "the id of a silence"},
    {"test", run_test, 1, 1, false, "the name of one receiver"},
    {"route", run_route, 1, WORDS_MAX, false, "labels, like tier=P0"},
    {"deliveries", run_deliveries, 0, 0, false, "no words"},
};

static const struct command *command_of(const char *name)
{
    for (size_t i = 0; name && i < ARRAY_LEN(commands); i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}

static int check(const struct command *c, const struct options *o, struct err *reterr)
{
    bool is_right = o->n_words >= c->min_words && o->n_words <= c->max_words;
    if (c->is_silence)
        is_right = is_right && o->for_ns >= NS_PER_S && o->comment.n > 0;
    else if (is_right && (o->for_ns || o->comment.p || o->by.p))
        return err_set(reterr, -EINVAL, "--for, --comment and --by belong to silence");
    return is_right ? 0 : err_set(reterr, -EINVAL, "%s needs %s", c->name, c->wants);
}

int alert_main(int argc, char **argv)
{
    const struct command *c = command_of(argc > 1 ? argv[1] : NULL);
    struct options o;
    struct err err = {0};
    int r = options_parse(argc - (c != NULL), argv + (c != NULL), &o, &err);
    if (r == 0 || (r == 1 && !c && o.n_words == 0)) {
        (void)fputs(help, r == 0 ? stdout : stderr);
        return r == 0 ? 0 : 2;
    }
    if (r < 0)
        return flag_complain("alert", &err);
    if (!c) {
        (void)err_set(&err, -EINVAL, "there is no command \"%.*s\"", SPAN_ARG(o.words[0]));
        err_hint(&err, "list, silence, silences, unsilence, test, route or deliveries");
        return flag_complain("alert", &err);
    }
    if (check(c, &o, &err) < 0)
        return flag_complain("alert", &err);
    r = c->run(&o, &err);
    if (r < 0)
        (void)flag_complain("alert", &err);
    return r < 0 ? r == -EINVAL ? 2 : 1 : 0;
}
