/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scrape/text.c - lines of a page, one after the other, and what comments say.
 */
#include "scrape/text.h"

#include "base/utf8.h"
#include "scrape/text_private.h"

static const struct {
    struct span name;
    bool is_of[2]; /* by enum text_format */
    enum metric_type type;
} types[] = {
    {SPAN_INIT("counter"), {true, true}, METRIC_COUNTER},
    {SPAN_INIT("gauge"), {true, true}, METRIC_GAUGE},
    {SPAN_INIT("histogram"), {true, true}, METRIC_HISTOGRAM},
    {SPAN_INIT("summary"), {true, true}, METRIC_SUMMARY},
    {SPAN_INIT("untyped"), {true, false}, METRIC_UNKNOWN},
    {SPAN_INIT("unknown"), {false, true}, METRIC_UNKNOWN},
    {SPAN_INIT("gaugehistogram"), {false, true}, METRIC_GAUGE_HISTOGRAM},
    {SPAN_INIT("info"), {false, true}, METRIC_INFO},
    {SPAN_INIT("stateset"), {false, true}, METRIC_STATE_SET},
};

const char *metric_type_name(enum metric_type t)
{
    static const char *const names[METRIC_TYPE_COUNT_] = {
        [METRIC_UNKNOWN] = "unknown", [METRIC_COUNTER] = "counter",
        [METRIC_GAUGE] = "gauge",     [METRIC_HISTOGRAM] = "histogram",
        [METRIC_SUMMARY] = "summary", [METRIC_GAUGE_HISTOGRAM] = "gaugehistogram",
        [METRIC_INFO] = "info",       [METRIC_STATE_SET] = "stateset",
    };
    return names[t];
}

enum text_format text_format_of(struct span content_type)
{
    struct span type = span_trim(span_split(&content_type, ';'));
    return span_eq_nocase(type, SPAN("application/openmetrics-text")) ? TEXT_OPENMETRICS
                                                                      : TEXT_PROMETHEUS;
}

void text_init(struct text *t, struct span body, enum text_format format)
{
    *t = (struct text){
        .format = format, ._p = body.p, ._end = body.n > 0 ? body.p + body.n : body.p};
}

/* The next line without its end. */
static struct span take_line(struct text *t)
{
    const char *from = t->_p;
    const char *end = memchr(from, '\n', (size_t)(t->_end - from));

    t->_line++;
    t->_p = end ? end + 1 : t->_end;
    end = end ? end : t->_end;
    if (end > from && end[-1] == '\r')
        end--;
    return span_of(from, (size_t)(end - from));
}

/* What a line turned out to be: an item, none, or one that cannot be read. */
enum verdict { LINE_ITEM, LINE_NONE, LINE_WRONG };

static enum verdict item_of(struct text_item *ret, enum text_kind kind)
{
    ret->kind = kind;
    return LINE_ITEM;
}

static enum verdict wrong(struct text_cursor *c, const char *at, const char *why)
{
    (void)text_wrong(c, at, why);
    return LINE_WRONG;
}

static enum verdict read_type(struct text_cursor *c, enum text_format format, struct text_item *ret)
{
    struct span word = span_trim(span_of(c->p, (size_t)(c->end - c->p)));

    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (types[i].is_of[format] && span_eq(types[i].name, word)) {
            ret->type = types[i].type;
            return item_of(ret, TEXT_TYPE);
        }
    return wrong(c, word.n > 0 ? word.p : c->end, "the type is none that this format has");
}

static enum verdict read_help(struct text_cursor *c, enum text_format format, struct text_item *ret)
{
    const char *from = c->p;

    text_skip_blanks(c);
    if (c->p == c->end && format == TEXT_PROMETHEUS)
        from = c->end; /* blanks alone are no text there */
    /* One blank parts it from the name; others are its own. */
    ret->words = from < c->end ? span_of(from + 1, (size_t)(c->end - from) - 1) : SPAN("");
    return utf8_is_valid(ret->words) ? item_of(ret, TEXT_HELP)
                                     : wrong(c, ret->words.p, "the help text is not UTF-8");
}

static enum verdict read_unit(struct text_cursor *c, enum text_format format, struct text_item *ret)
{
    (void)format;
    ret->words = span_trim(span_of(c->p, (size_t)(c->end - c->p)));
    return utf8_is_valid(ret->words) ? item_of(ret, TEXT_UNIT)
                                     : wrong(c, ret->words.p, "the unit is not UTF-8");
}

static const struct comment {
    struct span word;
    bool is_openmetrics;
    enum verdict (*read)(struct text_cursor *c, enum text_format format, struct text_item *ret);
} comments[] = {
    {SPAN_INIT("HELP"), false, read_help},
    {SPAN_INIT("TYPE"), false, read_type},
    {SPAN_INIT("UNIT"), true, read_unit},
};

static const struct comment *comment_find(struct span word, enum text_format format)
{
    for (size_t i = 0; i < ARRAY_LEN(comments); i++)
        if (span_eq(word, comments[i].word))
            return comments[i].is_openmetrics && format != TEXT_OPENMETRICS ? NULL : &comments[i];
    return NULL;
}

/* Behind '#'. */
static enum verdict read_comment(struct text *t, struct text_cursor *c, struct text_item *ret)
{
    if (c->p == c->end || !text_is_blank(*c->p))
        return LINE_NONE;
    text_skip_blanks(c);
    struct span word = text_take_word(c);
    if (t->format == TEXT_OPENMETRICS && span_eq(word, SPAN("EOF")) && c->p == c->end) {
        t->_is_over = true;
        return LINE_NONE;
    }
    const struct comment *comment = comment_find(word, t->format);
    if (!comment || c->p == c->end)
        return LINE_NONE;
    text_skip_blanks(c);
    ret->name = text_take_name(c, TEXT_METRIC_FIRST, TEXT_METRIC);
    if (ret->name.n == 0 || (c->p < c->end && !text_is_blank(*c->p)))
        return wrong(c, c->p, "a metric's name is expected");
    return comment->read(c, t->format, ret);
}

static enum verdict read_line(struct text *t, struct text_cursor *c, struct text_item *ret)
{
    if (c->end - c->p > TEXT_LINE_MAX)
        return wrong(c, c->p, "the line is too long");
    text_skip_blanks(c);
    if (c->p == c->end)
        return LINE_NONE;
    if (t->_is_over) {
        t->_p = t->_end;
        return wrong(c, c->p, "the page goes on behind \"# EOF\"");
    }
    if (*c->p == '#') {
        c->p++;
        return read_comment(t, c, ret);
    }
    return text_sample(c, t->format, ret) ? item_of(ret, TEXT_SAMPLE) : LINE_WRONG;
}

static void mistake(struct text_item *ret, size_t line, long column, const char *why)
{
    *ret = (struct text_item){
        .kind = TEXT_MISTAKE, .line = line, .column = (int)column, .mistake = why};
}

void text_next(struct text *t, struct text_item *ret)
{
    while (t->_p < t->_end) {
        struct span line = take_line(t);
        struct text_cursor c = {.p = line.p, .end = line.p + line.n};
        *ret = (struct text_item){.line = t->_line};
        enum verdict is = read_line(t, &c, ret);
        if (is == LINE_WRONG)
            mistake(ret, t->_line, c.mistake_at - line.p + 1, c.mistake);
        if (is != LINE_NONE)
            return;
    }
    if (t->format == TEXT_OPENMETRICS && !t->_is_over) {
        t->_is_over = true;
        mistake(ret, t->_line + 1, 1, "the page does not end with \"# EOF\"");
        return;
    }
    *ret = (struct text_item){.kind = TEXT_END, .line = t->_line};
}

/* Whether the next line is one of that series; a name alone may be followed by labels. */
static bool begins_with(const struct text *t, struct span series)
{
    size_t n = (size_t)(t->_end - t->_p);
    const char *p = t->_p + series.n;

    if (t->_is_over || series.n == 0 || n <= series.n || memcmp(t->_p, series.p, series.n) != 0 ||
        !text_is_blank(*p))
        return false;
    while (p < t->_end && text_is_blank(*p))
        p++;
    return p < t->_end && *p != '{';
}

bool text_next_same(struct text *t, struct span series, struct text_item *ret)
{
    if (!begins_with(t, series))
        return false;
    struct span line = take_line(t);
    struct text_cursor c = {.p = line.p + series.n, .end = line.p + line.n};
    *ret = (struct text_item){
        .kind = TEXT_SAMPLE, .line = t->_line, .series = span_of(line.p, series.n)};
    if (line.n > TEXT_LINE_MAX)
        mistake(ret, t->_line, 1, "the line is too long");
    else if (!text_sample_rest(&c, t->format, ret))
        mistake(ret, t->_line, c.mistake_at - line.p + 1, c.mistake);
    return true;
}
