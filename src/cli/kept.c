/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/kept.c - inferometer requests: flags, and the pages of an answer one after the other.
 */
#include "cli/kept.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "cli/flag.h"
#include "cli/kept_show.h"
#include "cli/talk.h"
#include "cli/terminal.h"
#include "store/fields.h"

enum { FILTERS_MAX = 32, LIMIT_DEFAULT = 20, LIMIT_MAX = 10000000, PAGE_MAX = 1000 };

enum format { FORMAT_TABLE, FORMAT_JSON, FORMAT_CSV };

struct kept_options {
    struct talk_place at;
    struct span id; /* p == NULL: a list */
    struct span filters[FILTERS_MAX];
    size_t n_filters;
    double from_s, to_s; /* NaN: not said */
    struct span order;
    int64_t limit;
    enum format format;
};

static void help_print(void)
{
    (void)fputs(
        "usage: inferometer requests [CONDITION]... [--last 1h] [--order -ttft] [--limit N]\n"
        "       inferometer requests ID\n\n"
        "Asks a running gateway for the requests that it keeps: the newest, or with an ID (that\n"
        "came in X-Request-Id, or that the client gave) everything about one.\n\n"
        "  CONDITION           FIELD=VALUE, FIELD!=VALUE, of numbers and times also < <= > >=;\n"
        "                      fields are those of the request log, durations in ms or like 1.5s;\n"
        "                      without a value: unknown (FIELD=), known (FIELD!=). All must hold\n"
        "  --last DURATION     that ended in the last 1h, 30m, 7d\n"
        "  --from, --to TIME   that ended in this range\n"
        "  --order FIELD       by a number, the smallest first; -FIELD: the largest first\n"
        "                      (default -time: the newest)\n"
        "  --limit N           how many (default 20)\n"
        "  --format FORMAT     table, json (a row per line) or csv (all fields)\n"
        "  --url URL           the gateway's admin listener (default http://127.0.0.1:8401)\n\n"
        "TIME is seconds since the epoch, RFC 3339, now, or a distance from now like -90m.\n\n"
        "examples:\n"
        "  inferometer requests --last 1h --order -ttft\n"
        "  inferometer requests outcome!=ok model=llama-3 --limit 100\n"
        "  inferometer requests 'ttft>=2s' 'prompt_tokens<1000' --last 24h\n\n"
        "exit status: 0 answered, 1 refused or not reached, 2 wrong flags or conditions\n",
        stdout);
}

/* --- flags --- */

static int read_format(struct flag *f, enum format *ret, struct err *reterr)
{
    static const char *const names[] = {"table", "json", "csv"};
    struct span s = {0};
    int r = flag_value(f, NULL, &s, reterr);
    if (r < 0)
        return r;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (span_eq(s, span_cstr(names[i]))) {
            *ret = (enum format)i;
            return 0;
        }
    }
    return err_set(reterr, -EINVAL, "--format is table, json or csv");
}

static int read_last(struct flag *f, double *ret, struct err *reterr)
{
    int64_t ns = 0;
    int r = flag_duration(f, &ns, reterr);
    if (r == 0)
        *ret = (double)clock_wall().us / 1e6 - (double)ns / 1e9;
    return r;
}

static int read_flag(struct flag *f, struct kept_options *o, struct err *reterr)
{
    struct span url = {0};
    if (flag_is(f, "last"))
        return read_last(f, &o->from_s, reterr);
    if (flag_is(f, "from"))
        return flag_time(f, &o->from_s, reterr);
    if (flag_is(f, "to"))
        return flag_time(f, &o->to_s, reterr);
    if (flag_is(f, "order"))
        return flag_value(f, NULL, &o->order, reterr);
    if (flag_is(f, "limit"))
        return flag_i64(f, 1, LIMIT_MAX, &o->limit, reterr);
    if (flag_is(f, "format"))
        return read_format(f, &o->format, reterr);
    if (flag_is(f, "url")) {
        int r = flag_value(f, NULL, &url, reterr);
        return r < 0 ? r : talk_place_parse(url, &o->at, reterr);
    }
    return err_set(reterr, -EINVAL, "there is no flag \"--%.*s\"", SPAN_ARG(f->name));
}

/* Where the operator of a condition begins; s.n: there is none. */
static size_t operator_at(struct span s)
{
    size_t at = 0;
    while (at < s.n && !strchr("=<>!", s.p[at]))
        at++;
    return at;
}

static int read_word(struct span word, struct kept_options *o, struct err *reterr)
{
    if (operator_at(word) < word.n) {
        if (o->n_filters == FILTERS_MAX)
            return err_set(reterr, -EINVAL, "more than %d conditions", FILTERS_MAX);
        o->filters[o->n_filters++] = word;
        return 0;
    }
    if (o->id.p || word.n == 0) {
        (void)err_set(reterr, -EINVAL, "\"%.*s\" is neither a condition nor the only request id",
                      SPAN_ARG(word));
        err_hint(reterr, "conditions are like model=llama-3 or 'ttft>=2s'");
        return -EINVAL;
    }
    o->id = word;
    return 0;
}

/* 1: go on; 0: help was asked for. */
static int options_parse(int argc, char **argv, struct kept_options *o, struct err *reterr)
{
    struct flag f;
    struct span word;
    *o = (struct kept_options){.from_s = (double)NAN, .to_s = (double)NAN, .limit = LIMIT_DEFAULT};
    int r = talk_place_parse(SPAN("127.0.0.1:8401"), &o->at, reterr);
    flag_init(&f, argc, argv);
    while (r == 0) {
        if (flag_word(&f, &word)) {
            r = read_word(word, o, reterr);
            continue;
        }
        int next = flag_next(&f, reterr);
        if (next < 0)
            return next;
        if (next == 0)
            break;
        if (flag_is(&f, "help"))
            return 0;
        r = read_flag(&f, o, reterr);
    }
    if (r == 0 && o->id.p && o->n_filters > 0)
        r = err_set(reterr, -EINVAL, "a request id and conditions do not go together");
    return r < 0 ? r : 1;
}

/* --- asking --- */

static int form_write(const struct kept_options *o, int64_t limit, struct span after,
                      struct buf *form)
{
    char text[24];
    int n = snprintf(text, sizeof(text), "%lld", (long long)limit);
    int r = talk_add(form, SPAN("limit"), span_of(text, (size_t)n));
    if (r == 0)
        r = talk_add_seconds(form, SPAN("from"), o->from_s);
    if (r == 0)
        r = talk_add_seconds(form, SPAN("to"), o->to_s);
    if (r == 0 && o->order.n > 0)
        r = talk_add(form, SPAN("order"), o->order);
    if (r == 0 && after.n > 0)
        r = talk_add(form, SPAN("after"), after);
    for (size_t i = 0; i < o->n_filters && r == 0; i++) {
        struct span value = o->filters[i];
        struct span name = span_split(&value, '=');
        r = talk_add(form, name, value.p ? value : SPAN(""));
    }
    return r;
}

/* One question; page lives as long as the arena and body. -EINVAL: a parameter was refused. */
static int ask(const struct kept_options *o, const char *path, struct span form, struct arena *a,
               struct buf *body, struct kept_page *page, struct err *reterr)
{
    const struct talk_question q = {
        .path = path, .accept = "application/json", .flag = "--url", .form = form};
    int status = 0;
    int r = talk_ask(&o->at, &q, &status, body, reterr);
    if (r < 0)
        return r;
    r = o->id.p ? kept_single_read(buf_span(body), a, page)
                : kept_page_read(buf_span(body), a, page);
    if (r < 0)
        return talk_misread(&o->at, status, "requests", r, reterr);
    if (page->error.p)
        return err_set(reterr, status == 400 ? -EINVAL : -EPROTO, "%.*s", SPAN_ARG(page->error));
    return 0;
}

static int print(struct buf *out, int r, struct err *reterr)
{
    if (r < 0)
        return err_set(reterr, r, "the answer cannot be shown: %s", err_str(r));
    (void)fwrite(buf_span(out).p, 1, buf_len(out), stdout);
    buf_clear(out);
    return 0;
}

/* Columns for what was asked about. */
static void add_columns(const struct kept_options *o, struct kept_columns *c)
{
    struct span order = o->order;
    if (order.n > 0)
        kept_columns_add(c, fields_find_short(span_from(order, order.p[0] == '-')));
    for (size_t i = 0; i < o->n_filters; i++) {
        struct span name = span_of(o->filters[i].p, operator_at(o->filters[i]));
        if (span_starts_with(name, SPAN("labels.")))
            name = SPAN("labels");
        kept_columns_add(c, fields_find_short(name));
    }
}

struct list {
    const struct kept_options *o;
    struct kept_columns columns;
    int64_t n_left;
    bool is_first;
    char after[64];
    struct buf form, body, out;
};

static int show(struct list *l, const struct kept_page *p)
{
    switch (l->o->format) {
    case FORMAT_JSON:
        return kept_show_json(p, &l->out);
    case FORMAT_CSV:
        return kept_show_csv(p, !l->is_first, &l->out);
    case FORMAT_TABLE:
        break;
    }
    return kept_show_table(&l->columns, p, &l->out);
}

/* 1: there is another page, and it is wanted. */
static int next_page(struct list *l, struct err *reterr)
{
    struct arena a;
    struct kept_page page;
    int64_t limit = l->n_left < PAGE_MAX ? l->n_left : PAGE_MAX;
    buf_clear(&l->form);
    buf_clear(&l->body);
    arena_init(&a, NULL);
    int r = form_write(l->o, limit, span_cstr(l->after), &l->form);
    if (r < 0)
        (void)err_set(reterr, r, "the question cannot be sent: %s", err_str(r));
    else
        r = ask(l->o, "/api/v1/requests", buf_span(&l->form), &a, &l->body, &page, reterr);
    if (r == 0)
        r = print(&l->out, show(l, &page), reterr);
    if (r == 0) {
        l->is_first = false;
        l->n_left -= (int64_t)page.n;
        (void)span_copy(page.next, l->after, sizeof(l->after));
        if (page.next.p && l->n_left <= 0 && l->o->format == FORMAT_TABLE)
            (void)fputs("note: there are more; --limit says how many to show\n", stderr);
        r = page.next.p && page.n > 0 && l->n_left > 0;
    }
    arena_done(&a);
    return r;
}

static int list(const struct kept_options *o, struct err *reterr)
{
    struct list l = {.o = o, .n_left = o->limit, .is_first = true};
    int r = 1;
    kept_columns_init(&l.columns);
    add_columns(o, &l.columns);
    buf_init(&l.form, MIB);
    buf_init(&l.body, TALK_ANSWER_MAX);
    buf_init(&l.out, TALK_ANSWER_MAX);
    while (r == 1)
        r = next_page(&l, reterr);
    buf_done(&l.form);
    buf_done(&l.body);
    buf_done(&l.out);
    return r;
}

static int single(const struct kept_options *o, struct err *reterr)
{
    const struct kept_one_options one = {terminal_width(), terminal_has_utf8()};
    struct arena a;
    struct kept_page page;
    struct buf path, body, out;
    arena_init(&a, NULL);
    buf_init(&path, MIB);
    buf_init(&body, TALK_ANSWER_MAX);
    buf_init(&out, TALK_ANSWER_MAX);
    int r = buf_append(&path, SPAN("/api/v1/requests/"));
    if (r == 0)
        r = talk_encode(o->id, &path);
    if (r == 0)
        r = buf_append(&path, span_of("", 1));
    if (r < 0)
        (void)err_set(reterr, r, "the question cannot be sent: %s", err_str(r));
    else
        r = ask(o, buf_span(&path).p, SPAN(""), &a, &body, &page, reterr);
    if (r == 0 && o->format == FORMAT_TABLE)
        r = print(&out, kept_show_one(&page.rows[0], &one, &out), reterr);
    else if (r == 0)
        r = print(&out,
                  o->format == FORMAT_JSON ? kept_show_json(&page, &out)
                                           : kept_show_csv(&page, false, &out),
                  reterr);
    buf_done(&path);
    buf_done(&body);
    buf_done(&out);
    arena_done(&a);
    return r;
}

int kept_main(int argc, char **argv)
{
    struct kept_options o;
    struct err err = {0};
    int r = options_parse(argc, argv, &o, &err);
    if (r < 0)
        return flag_complain("requests", &err);
    if (r == 0) {
        help_print();
        return 0;
    }
    r = o.id.p ? single(&o, &err) : list(&o, &err);
    if (r == 0)
        return 0;
    (void)flag_complain("requests", &err);
    return r == -EINVAL ? 2 : 1;
}
