/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top_live.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/jsonw.h"
#include "cli/dialog.h"
#include "cli/flag.h"
#include "cli/terminal.h"
#include "cli/top_ask.h"
#include "top/cells.h"
#include "top/keys.h"
#include "top/screen.h"

static const char help[] =
    "usage: inferometer top [--by LABELS] [--interval D] [--url URL]\n"
    "       inferometer top --once [--json] [--window D] [--sort COLUMN] [--filter TEXT]\n"
    "\n"
    "Shows live what passes through a running gateway: a row per model and upstream (or what else\n"
    "is wanted) with requests, errors, tokens and open requests, quantiles of queue, TTFT, TPOT "
    "and\n"
    "E2E, a trend of the last minutes; open requests with their ages; alerts. ? shows the keys.\n"
    "\n"
    "  --by LABELS      what rows stand for, with commas (default model,upstream); any label of\n"
    "                   llm_requests_total, up to two besides model, upstream; all: one row\n"
    "  --sort COLUMN    name, requests, errors, tokens, open, queue, ttft, tpot, e2e (default\n"
    "                   requests)\n"
    "  --filter TEXT    rows with that text in their name\n"
    "  --window D       quantiles and rates over so long (default 1m, at most 5m)\n"
    "  --interval D     time between looks (default 2s, at least 500ms)\n"
    "  --once           print it once and end; without history (data_dir), after two looks\n"
    "  --json           with --once: figures as JSON\n"
    "  --width N        with --once: columns (default: the terminal's, or 120)\n"
    "  --url URL        the gateway's admin listener (default http://127.0.0.1:8401)\n"
    "\n"
    "examples:\n"
    "  inferometer top --by tenant\n"
    "  inferometer top --once --json | jq '.rows[] | select(.ttft_s.p99 > 1)'\n"
    "\n"
    "exit status: 0 shown, 1 the gateway does not answer, 2 wrong flags, 130 Ctrl-C\n";

enum {
    WIDTH_DEFAULT = 120, /* where there is no terminal */
    INTERRUPTED = 130    /* as shells tell it */
};

struct options {
    struct talk_place at;
    struct span url;
    struct span names[TOP_DIMS_MAX];
    bool by[TOP_DIMS_MAX];
    size_t n_names;
    enum top_figure sort;
    struct span filter;
    int64_t interval_ns, window_ns, width;
    bool is_once, is_json;
};

/* --- the command line --- */

static const char *const sorts[TOP_FIGURES] = {"name",  "requests", "errors", "tokens", "open",
                                               "queue", "ttft",     "tpot",   "e2e"};

static int read_by(struct options *o, struct span list, struct err *reterr)
{
    memset(o->by, 0, sizeof(o->by));
    if (span_eq(list, SPAN("all")))
        return 0;
    while (list.n > 0) {
        struct span name = span_split(&list, ',');
        size_t i = 0;
        while (i < o->n_names && !span_eq(o->names[i], name))
            i++;
        if (i == TOP_DIMS_MAX && !o->by[2])
            i = 2; /* the default tenant makes room */
        if (i == TOP_DIMS_MAX)
            return err_set(reterr, -EINVAL, "--by takes two labels besides model and upstream");
        if (i == o->n_names)
            o->n_names++;
        o->names[i] = name;
        o->by[i] = true;
    }
    return 0;
}

static int read_sort(struct options *o, struct span name, struct err *reterr)
{
    for (int i = 0; i < TOP_FIGURES; i++)
        if (span_eq(name, span_cstr(sorts[i]))) {
            o->sort = (enum top_figure)i;
            return 0;
        }
    (void)err_set(reterr, -EINVAL, "--sort: there is no column \"%.*s\"", SPAN_ARG(name));
    err_hint(reterr, "name, requests, errors, tokens, open, queue, ttft, tpot or e2e");
    return -EINVAL;
}

static int read_text(struct options *o, struct flag *f, struct err *reterr)
{
    struct span value;
    int r = flag_value(f, NULL, &value, reterr);
    if (r < 0)
        return r;
    if (flag_is(f, "by"))
        return read_by(o, value, reterr);
    if (flag_is(f, "sort"))
        return read_sort(o, value, reterr);
    if (flag_is(f, "filter"))
        o->filter = value;
    else {
        o->url = value;
        r = talk_place_parse(value, &o->at, reterr);
    }
    return r;
}

static int read_flag(struct flag *f, void *ctx, struct err *reterr)
{
    struct options *o = ctx;
    if (flag_is(f, "by") || flag_is(f, "sort") || flag_is(f, "filter") || flag_is(f, "url"))
        return read_text(o, f, reterr);
    if (flag_is(f, "interval"))
        return flag_duration(f, &o->interval_ns, reterr);
    if (flag_is(f, "window"))
        return flag_duration(f, &o->window_ns, reterr);
    if (flag_is(f, "width"))
        return flag_i64(f, TOP_WIDTH_MIN, TOP_WIDTH_MAX, &o->width, reterr);
    if (flag_is(f, "once") || flag_is(f, "json")) {
        *(flag_is(f, "once") ? &o->is_once : &o->is_json) = true;
        return 0;
    }
    return flag_unknown(f, NULL, "top", reterr);
}

static int check(const struct options *o, struct err *reterr)
{
    if (o->is_json && !o->is_once)
        return err_set(reterr, -EINVAL, "--json goes with --once");
    if (o->interval_ns < 500 * NS_PER_MS)
        return err_set(reterr, -EINVAL, "--interval is at least 500ms");
    if (o->window_ns < NS_PER_S || o->window_ns > 300 * NS_PER_S)
        return err_set(reterr, -EINVAL, "--window is 1s to 5m");
    return 1;
}

static int options_parse(int argc, char **argv, struct options *o, struct err *reterr)
{
    struct dialog_words words = {NULL, 0, 0, ""};
    *o = (struct options){.url = SPAN("http://127.0.0.1:8401"),
                          .names = {SPAN("model"), SPAN("upstream"), SPAN("tenant")},
                          .by = {true, true},
                          .n_names = 3,
                          .sort = TOP_BY_REQUESTS,
                          .interval_ns = 2 * NS_PER_S,
                          .window_ns = 60 * NS_PER_S,
                          .width = isatty(STDOUT_FILENO) ? terminal_width() : WIDTH_DEFAULT};
    int r = talk_place_parse(o->url, &o->at, reterr);
    if (r == 0)
        r = dialog_read_words(argc, argv, &words, read_flag, o, reterr);
    return r == 1 ? check(o, reterr) : r;
}

/* --- a look --- */

struct live {
    const struct options *options;
    struct top_feed feed;
    struct top_lists lists;
    struct top_keys keys;
    struct top_table table;
    struct buf text;
    struct err trouble;
    bool is_in_trouble;
    bool is_interrupted;
    mono_t answered; /* the last answer */
};

static void live_init(struct live *v, const struct options *o)
{
    *v = (struct live){.options = o, .answered = clock_mono()};
    top_lists_init(&v->lists);
    buf_init(&v->text, TALK_ANSWER_MAX);
    top_feed_init(&v->feed, o->names, o->n_names);
    top_keys_init(&v->keys, &v->feed, o->by);
    top_keys_filter(&v->keys, o->filter);
    v->keys.wish.window_ms = o->window_ns / NS_PER_MS;
    v->keys.wish.sort = o->sort;
    v->keys.view.where = o->url;
    v->keys.view.has_utf8 = terminal_has_utf8();
}

static void live_done(struct live *v)
{
    top_table_done(&v->table);
    top_lists_done(&v->lists);
    top_feed_done(&v->feed);
    buf_done(&v->text);
}

static int ask(struct live *v)
{
    struct err why = {0};
    int r = v->feed.n_moments == 0 ? top_ask_history(&v->options->at, &v->feed, &why) : 0;
    if (r == 0)
        r = top_ask_now(&v->options->at, &v->feed, &v->lists, &why);
    v->is_in_trouble = r < 0;
    v->trouble = why;
    if (r == 0)
        v->answered = clock_mono();
    return r;
}

/* The lines as they are now, in v->text. */
static int draw(struct live *v)
{
    struct top_view *view = &v->keys.view;
    view->now_ms = clock_wall().us / 1000;
    view->stale_s = (double)mono_diff(clock_mono(), v->answered) / (double)NS_PER_S;
    view->trouble = v->is_in_trouble ? span_cstr(v->trouble.text) : SPAN("");
    v->keys.wish.n_trend = top_view_trend(view);
    top_table_done(&v->table);
    int r = top_table_make(&v->feed, &v->keys.wish, &v->table);
    buf_clear(&v->text);
    return r < 0 ? r : top_view_draw(view, &v->feed, &v->keys.wish, &v->table, &v->lists, &v->text);
}

/* --- once --- */

static void rest(int64_t ns)
{
    const struct timespec t = {ns / NS_PER_S, (long)(ns % NS_PER_S)};
    (void)nanosleep(&t, NULL);
}

/* Without bytes of styles and blanks at the ends of lines. */
static void print_plain(struct span lines)
{
    while (lines.n > 0) {
        struct span line = span_split(&lines, '\n');
        while (line.n > 0 && line.p[line.n - 1] == ' ')
            line.n--;
        for (size_t i = 0; i < line.n; i++)
            if ((unsigned char)line.p[i] > TOP_REVERSE)
                (void)putchar(line.p[i]);
        (void)putchar('\n');
    }
}

static int print_json(struct live *v)
{
    struct jsonw w;
    buf_clear(&v->text);
    jsonw_init(&w, &v->text);
    jsonw_begin_object(&w);
    top_table_write(&v->feed, &v->keys.wish, &v->table, &w);
    jsonw_end_object(&w);
    if (jsonw_error(&w) < 0)
        return jsonw_error(&w);
    (void)fwrite(buf_span(&v->text).p, 1, buf_len(&v->text), stdout);
    (void)putchar('\n');
    return 0;
}

static int once(struct live *v, struct err *reterr)
{
    int r = ask(v);
    if (r == 0 && v->feed.n_moments < 2) {
        rest(v->options->interval_ns);
        r = ask(v);
    }
    if (r < 0) {
        *reterr = v->trouble;
        return r;
    }
    size_t width = (size_t)v->options->width;
    v->keys.view.width = width < TOP_WIDTH_MIN   ? TOP_WIDTH_MIN
                         : width > TOP_WIDTH_MAX ? TOP_WIDTH_MAX
                                                 : width;
    r = draw(v);
    if (r == 0 && v->options->is_json)
        r = print_json(v);
    else if (r == 0)
        print_plain(buf_span(&v->text));
    return r < 0 ? err_set(reterr, r, "%s", err_str(r)) : terminal_flush(reterr);
}

/* --- live --- */

static int show(struct live *v)
{
    top_screen_size(&v->keys.view.width, &v->keys.view.height);
    if (v->keys.view.width > TOP_WIDTH_MAX)
        v->keys.view.width = TOP_WIDTH_MAX;
    int r = draw(v);
    if (r == 0)
        top_screen_show(buf_span(&v->text));
    return r;
}

/* Keys until the next look is due. false: quit. */
static bool keys_until(struct live *v, mono_t due, int *ret_error)
{
    for (;;) {
        int64_t left_ns = mono_diff(due, clock_mono());
        int key = top_screen_key(left_ns > 0 ? (int)(left_ns / NS_PER_MS) + 1 : 0);
        v->is_interrupted = key == TOP_KEY_INTERRUPT;
        size_t n = top_view_items(v->keys.view.focus, &v->table, &v->lists);
        if (!top_keys_press(&v->keys, key, n))
            return false;
        *ret_error = show(v);
        if (*ret_error < 0)
            return false;
        if (key == TOP_KEY_NONE && mono_diff(due, clock_mono()) <= 0)
            return true;
    }
}

static int watch(struct live *v, struct err *reterr)
{
    bool goes_on = true;
    int r = top_screen_open(reterr);
    if (r < 0)
        return r;
    r = show(v);
    while (goes_on && r == 0) {
        mono_t due = mono_add(clock_mono(), v->options->interval_ns);
        if (!v->keys.view.is_paused)
            (void)ask(v); /* the screen says so */
        r = show(v);
        if (r == 0)
            goes_on = keys_until(v, due, &r);
    }
    top_screen_close();
    return r < 0 ? err_set(reterr, r, "%s", err_str(r)) : 0;
}

int top_live_main(int argc, char **argv)
{
    struct options o;
    struct live v;
    struct err err = {0};
    int r = options_parse(argc, argv, &o, &err);
    if (r == 0) {
        (void)fputs(help, stdout);
        return 0;
    }
    if (r < 0)
        return flag_complain("top", &err);
    live_init(&v, &o);
    r = o.is_once ? once(&v, &err) : watch(&v, &err);
    live_done(&v);
    if (r < 0)
        (void)flag_complain("top", &err);
    return r < 0 ? 1 : v.is_interrupted ? INTERRUPTED : 0;
}
