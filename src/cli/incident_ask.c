/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/incident_ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/dialog.h"
#include "cli/flag.h"
#include "cli/incident_show.h"
#include "cli/terminal.h"

enum { WORDS_MAX = 2, REQUEST_MAX = 256 * 1024, PLOT_MIN = 20, PLOT_MAX = 60 };

struct options {
    struct talk_place at;
    struct span words[WORDS_MAX];
    size_t n_words;
    struct span by;
    double from_s, to_s; /* 0: not said */
    int64_t limit;
    bool is_json, is_markdown, is_open, is_undo;
};

static const char help[] =
    "usage: inferometer incident list [--open] [--from TIME] [--to TIME] [--limit N]\n"
    "       inferometer incident show ID [--markdown | --json]\n"
    "       inferometer incident note ID TEXT [--by NAME]\n"
    "       inferometer incident ack ID [--by NAME]\n"
    "       inferometer incident noise ID [ALERT] [--undo] [--by NAME]\n"
    "\n"
    "Asks a running gateway what went wrong, and keeps what people know of it. An incident begins\n"
    "with the first firing alert of tier P0 or P1 and ends five minutes after the last.\n"
    "\n"
    "  list             newest first; --open: what is going on\n"
    "  --from, --to     those that overlap this time: RFC 3339, seconds, now, or like -7d\n"
    "  --limit N        at most so many (default 100)\n"
    "  show             alerts, the requests behind them, curves around it, notes\n"
    "  --markdown       for a ticket\n"
    "  note             adds a note\n"
    "  ack              says that somebody sees to it\n"
    "  noise            it was no incident, or one alert of it was wrong: reviews count that;\n"
    "                   --undo: it was one after all\n"
    "  --by NAME        who (default: your user name)\n"
    "  --json           the gateway's answer as it is\n"
    "  --url URL        the gateway's admin listener (default http://127.0.0.1:8401)\n"
    "\n"
    "examples:\n"
    "  inferometer incident list --from -7d\n"
    "  inferometer incident show 20261130T0412-7\n"
    "  inferometer incident show 20261130T0412-7 --markdown > incident.md\n"
    "  inferometer incident note 20261130T0412-7 \"one GPU was throttled, restarted\" --by ann\n"
    "  inferometer incident noise 20261130T0412-7 LLMOutputSlow\n"
    "\n"
    "exit status: 0 done, 1 refused or not reached, 2 wrong flags or words\n";

/* --- the command line --- */

static int read_switch(const struct flag *f, struct options *o)
{
    struct {
        const char *name;
        bool *is;
    } const switches[] = {{"json", &o->is_json},
                          {"markdown", &o->is_markdown},
                          {"open", &o->is_open},
                          {"undo", &o->is_undo}};
    for (size_t i = 0; i < ARRAY_LEN(switches); i++) {
        if (!flag_is(f, switches[i].name))
            continue;
        *switches[i].is = true;
        return 1;
    }
    return 0;
}

static int read_flag(struct flag *f, void *ctx, struct err *reterr)
{
    struct options *o = ctx;
    struct span url = {0};
    if (read_switch(f, o) > 0)
        return 0;
    if (flag_is(f, "by"))
        return flag_value(f, NULL, &o->by, reterr);
    if (flag_is(f, "from"))
        return flag_time(f, &o->from_s, reterr);
    if (flag_is(f, "to"))
        return flag_time(f, &o->to_s, reterr);
    if (flag_is(f, "limit"))
        return flag_i64(f, 1, 1000000, &o->limit, reterr);
    if (flag_is(f, "url")) {
        int r = flag_value(f, NULL, &url, reterr);
        return r < 0 ? r : talk_place_parse(url, &o->at, reterr);
    }
    return err_set(reterr, -EINVAL, "there is no flag \"--%.*s\"", SPAN_ARG(f->name));
}

/* 1: go on; 0: help was asked for. */
static int options_parse(int argc, char **argv, struct options *o, struct err *reterr)
{
    struct dialog_words words = {o->words, 0, WORDS_MAX, "; quote a text"};
    *o = (struct options){0};
    int r = talk_place_parse(SPAN("127.0.0.1:8401"), &o->at, reterr);
    if (r == 0)
        r = dialog_read_words(argc, argv, &words, read_flag, o, reterr);
    o->n_words = words.n;
    return r;
}

/* --- asking --- */

/* /api/v1/incidents, with an id and what is behind it. */
static int put_path(struct buf *path, struct span id, const char *behind)
{
    int r = buf_append(path, SPAN("/api/v1/incidents"));
    if (r == 0 && id.p)
        r = buf_append(path, SPAN("/"));
    if (r == 0 && id.p)
        r = talk_encode(id, path);
    return r == 0 ? buf_append(path, span_cstr(behind)) : r;
}

static size_t plot_width(void)
{
    int n = terminal_width() / 2;
    return (size_t)(n < PLOT_MIN ? PLOT_MIN : n > PLOT_MAX ? PLOT_MAX : n);
}

/* show NULL: as it is. */
static int look(const struct options *o, struct buf *path,
                int (*show)(struct span json, size_t width, struct buf *out), struct err *reterr)
{
    struct buf body, out;
    buf_init(&body, TALK_ANSWER_MAX);
    buf_init(&out, TALK_ANSWER_MAX);
    int r = buf_append(path, span_of("", 1)); /* a C string */
    if (r == 0)
        r = dialog_get(&o->at, (struct talk_question){.path = buf_span(path).p, .method = "GET"},
                       &body, NULL, reterr);
    else
        err_set(reterr, r, "%s", err_str(r));
    if (r == 0 && show) {
        r = show(buf_span(&body), plot_width(), &out);
        if (r < 0)
            r = talk_misread(&o->at, 200, "incident", r, reterr);
    }
    struct span text = buf_span(show ? &out : &body);
    if (r == 0)
        (void)fwrite(text.p, 1, text.n, stdout);
    buf_done(&out);
    buf_done(&body);
    return r;
}

static int run_list(const struct options *o, struct err *reterr)
{
    struct buf path, form;
    buf_init(&path, REQUEST_MAX);
    buf_init(&form, REQUEST_MAX);
    int r = put_path(&path, (struct span){0}, "?");
    if (r == 0 && o->is_open)
        r = talk_add(&form, SPAN("open"), SPAN("true"));
    if (r == 0 && o->from_s > 0)
        r = talk_add_seconds(&form, SPAN("from"), o->from_s);
    if (r == 0 && o->to_s > 0)
        r = talk_add_seconds(&form, SPAN("to"), o->to_s);
    if (r == 0 && o->limit > 0)
        r = buf_printf(&form, "%slimit=%lld", buf_len(&form) > 0 ? "&" : "", (long long)o->limit);
    if (r == 0)
        r = buf_append(&path, buf_span(&form));
    if (r < 0)
        err_set(reterr, r, "%s", err_str(r));
    else
        r = look(o, &path, o->is_json ? NULL : incident_show_list, reterr);
    buf_done(&form);
    buf_done(&path);
    return r;
}

static int run_show(const struct options *o, struct err *reterr)
{
    struct buf path;
    buf_init(&path, REQUEST_MAX);
    int r = put_path(&path, o->words[0], o->is_markdown ? "?format=markdown" : "");
    if (r < 0)
        err_set(reterr, r, "%s", err_str(r));
    else
        r = look(o, &path, o->is_json || o->is_markdown ? NULL : incident_show_one, reterr);
    buf_done(&path);
    return r;
}

/* --- telling --- */

static int tell(const struct options *o, const char *what, struct buf *form, struct err *reterr)
{
    struct buf path, body;
    buf_init(&path, REQUEST_MAX);
    buf_init(&body, TALK_ANSWER_MAX);
    int r = put_path(&path, o->words[0], what);
    if (r == 0)
        r = buf_append(&path, span_of("", 1));
    if (r == 0)
        r = talk_add(form, SPAN("author"), o->by.p ? o->by : talk_user());
    if (r < 0)
        err_set(reterr, r, "%s", err_str(r));
    else
        r = dialog_get(&o->at,
                       (struct talk_question){.path = buf_span(&path).p, .form = buf_span(form)},
                       &body, NULL, reterr);
    if (r == 0 && o->is_json)
        (void)fwrite(buf_span(&body).p, 1, buf_len(&body), stdout);
    buf_done(&body);
    buf_done(&path);
    return r;
}

static int run_note(const struct options *o, struct err *reterr)
{
    struct buf form;
    buf_init(&form, REQUEST_MAX);
    int r = talk_add(&form, SPAN("text"), o->words[1]);
    if (r < 0)
        err_set(reterr, r, "the note is too long");
    else
        r = tell(o, "/notes", &form, reterr);
    buf_done(&form);
    return r;
}

static int run_ack(const struct options *o, struct err *reterr)
{
    struct buf form;
    buf_init(&form, REQUEST_MAX);
    int r = tell(o, "/ack", &form, reterr);
    buf_done(&form);
    return r;
}

static int run_noise(const struct options *o, struct err *reterr)
{
    struct buf form;
    buf_init(&form, REQUEST_MAX);
    int r = o->n_words > 1 ? talk_add(&form, SPAN("alert"), o->words[1]) : 0;
    if (r == 0 && o->is_undo)
        r = talk_add(&form, SPAN("undo"), SPAN("true"));
    if (r < 0)
        err_set(reterr, r, "%s", err_str(r));
    else
        r = tell(o, "/noise", &form, reterr);
    buf_done(&form);
    return r;
}

/* --- commands --- */

static const struct command {
    const char *name;
    int (*run)(const struct options *o, struct err *reterr);
    size_t min_words, max_words;
    const char *wants;
} commands[] = {
    {"list", run_list, 0, 0, "no words"},
    {"show", run_show, 1, 1, "the id of an incident"},
    {"note", run_note, 2, 2, "the id of an incident, and a text in quotes"},
    {"ack", run_ack, 1, 1, "the id of an incident"},
    {"noise", run_noise, 1, 2, "the id of an incident, and perhaps the name of an alert"},
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
    bool is_list = c->run == run_list, is_show = c->run == run_show;
    if (o->n_words < c->min_words || o->n_words > c->max_words)
        return err_set(reterr, -EINVAL, "%s needs %s", c->name, c->wants);
    if (!is_list && (o->is_open || o->from_s > 0 || o->to_s > 0 || o->limit > 0))
        return err_set(reterr, -EINVAL, "--open, --from, --to and --limit belong to list");
    if (o->is_markdown && (!is_show || o->is_json))
        return err_set(reterr, -EINVAL, "--markdown belongs to show, without --json");
    if (o->is_undo && c->run != run_noise)
        return err_set(reterr, -EINVAL, "--undo belongs to noise");
    if (o->by.p && (is_list || is_show))
        return err_set(reterr, -EINVAL, "--by belongs to note, ack and noise");
    return 0;
}

int incident_ask_main(int argc, char **argv)
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
        return flag_complain("incident", &err);
    if (!c) {
        (void)err_set(&err, -EINVAL, "there is no command \"%.*s\"", SPAN_ARG(o.words[0]));
        err_hint(&err, "list, show, note, ack or noise");
        return flag_complain("incident", &err);
    }
    if (check(c, &o, &err) < 0)
        return flag_complain("incident", &err);
    r = c->run(&o, &err);
    if (r < 0)
        (void)flag_complain("incident", &err);
    return r < 0 ? r == -EINVAL ? 2 : 1 : 0;
}
