/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scrape/text_sample.c - a line with a sample: series, value, time, exemplar.
 */
#include <math.h>

#include "base/num.h"
#include "scrape/text_private.h"

/* Seconds of OpenMetrics that are milliseconds in 64 bits, with room. */
#define SECONDS_MAX 9e15

/* Name and labels, which are gone over and left as they are written. */
static bool take_series(struct text_cursor *c, struct text_item *ret)
{
    struct label label;
    bool has_escape;
    int r;

    ret->name = text_take_name(c, TEXT_METRIC_FIRST, TEXT_METRIC);
    if (ret->name.n == 0)
        return text_wrong(c, c->p, "a metric's name is expected");
    ret->series = ret->name;
    text_skip_blanks(c);
    if (!text_is_at(c, '{'))
        return true;
    text_begin_labels(c);
    for (size_t n = 0; (r = text_next_label(c, n, &label, &has_escape)) > 0;)
        n++;
    ret->series.n = (size_t)(c->p - ret->series.p);
    return r == 0;
}

static bool take_value(struct text_cursor *c, struct span *ret_text, double *ret)
{
    text_skip_blanks(c);
    *ret_text = text_take_word(c);
    if (ret_text->n == 0)
        return text_wrong(c, c->p, "a value is expected");
    if (text_value(*ret_text, ret) < 0)
        return text_wrong(c, ret_text->p, "the value is not a number");
    text_skip_blanks(c);
    return true;
}

static bool take_seconds(struct text_cursor *c, struct span word, int64_t *ret_ms)
{
    double s;

    if (text_value(word, &s) < 0 || !(fabs(s) < SECONDS_MAX))
        return text_wrong(c, word.p, "the time is not a number of seconds");
    *ret_ms = llround(s * 1000);
    return true;
}

/* At what is not the end: a time, where none but a comment may follow. */
static bool take_time(struct text_cursor *c, enum text_format format, bool *ret_has, int64_t *ret)
{
    struct span word = text_take_word(c);

    *ret_has = true;
    if (format == TEXT_OPENMETRICS) {
        if (!take_seconds(c, word, ret))
            return false;
    } else if (num_parse_i64(word, ret) < 0) {
        return text_wrong(c, word.p, "the time is not a number of milliseconds");
    }
    text_skip_blanks(c);
    return true;
}

/* At '#', which is passed. */
static bool take_exemplar(struct text_cursor *c, struct text_exemplar *ret)
{
    const char *from;
    struct label label;
    struct span text;
    bool has_escape;
    int r;

    c->p++;
    text_skip_blanks(c);
    from = c->p;
    if (!text_is_at(c, '{'))
        return text_wrong(c, c->p, "labels of an exemplar are expected");
    text_begin_labels(c);
    for (size_t n = 0; (r = text_next_label(c, n, &label, &has_escape)) > 0;)
        n++;
    if (r < 0)
        return false;
    ret->labels = span_of(from, (size_t)(c->p - from));
    if (!take_value(c, &text, &ret->v))
        return false;
    return c->p == c->end || take_time(c, TEXT_OPENMETRICS, &ret->has_time, &ret->t_ms);
}

bool text_sample_rest(struct text_cursor *c, enum text_format format, struct text_item *ret)
{
    if (!take_value(c, &ret->value, &ret->v))
        return false;
    if (c->p == c->end)
        return true;
    if (*c->p != '#' && !take_time(c, format, &ret->has_time, &ret->t_ms))
        return false;
    if (format == TEXT_OPENMETRICS && text_is_at(c, '#') && !take_exemplar(c, &ret->exemplar))
        return false;
    return c->p == c->end || text_wrong(c, c->p, "the line goes on behind the sample");
}

bool text_sample(struct text_cursor *c, enum text_format format, struct text_item *ret)
{
    return take_series(c, ret) && text_sample_rest(c, format, ret);
}
