/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scrape/text.h - what a /metrics page says: the text formats of Prometheus, read line by line.
 *
 * Formats:   Prometheus 0.0.4, and OpenMetrics 1.0 with units, exemplars, times in seconds and
 *            "# EOF". Which one it is, the content type says (text_format_of).
 * Role:      one pass over a body, an item for a line, without allocation: spans of the body. A
 *            series comes as it is written ("name{a="b"}"), so that who reads the same page again
 *            knows it by its bytes; text_labels reads it.
 * Mistakes:  a line that cannot be read is an item of its own, with column and reason, and the next
 *            one is read: whether a page with such lines is taken is the caller's decision.
 * Tolerated, since engines write it: HELP without a text, blank lines, other comments, spaces
 *            around '=' and ',', a comma behind the last label, labels in any order, the families'
 *            lines apart, CR before LF, no LF at the end, "nan", "inf", "Infinity", blanks in front
 *            of a line and around a type.
 * Not judged here: whether types and names fit each other (families.h).
 * Threading: pure.
 * Limits:    TEXT_LINE_MAX bytes of a line, TEXT_LABELS_MAX labels of a series; what is longer is a
 *            mistake of that line.
 * Source:    Prometheus' exposition formats, OpenMetrics 1.0; reference "engine-metrics" 14.
 */
#ifndef SCRAPE_TEXT_H
#define SCRAPE_TEXT_H

#include "base/arena.h"
#include "base/err.h"
#include "series/labels.h"

enum { TEXT_LINE_MAX = 64 * 1024, TEXT_LABELS_MAX = 128 };

enum text_format { TEXT_PROMETHEUS, TEXT_OPENMETRICS };
enum metric_type {
    METRIC_UNKNOWN, /* "untyped", "unknown", or nothing was said */
    METRIC_COUNTER,
    METRIC_GAUGE,
    METRIC_HISTOGRAM,
    METRIC_SUMMARY,
    METRIC_GAUGE_HISTOGRAM,
    METRIC_INFO,
    METRIC_STATE_SET,
    METRIC_TYPE_COUNT_
};
const char *metric_type_name(enum metric_type t); /* as OpenMetrics has it */

enum text_kind { TEXT_SAMPLE, TEXT_TYPE, TEXT_HELP, TEXT_UNIT, TEXT_MISTAKE, TEXT_END };

struct text_exemplar {
    struct span labels; /* as written, with its braces; empty: there is none */
    double v;
    bool has_time;
    int64_t t_ms;
};

struct text_item {
    enum text_kind kind;
    size_t line;        /* from 1 */
    struct span series; /* SAMPLE: from the name to the last brace */
    struct span name;   /* of the sample or the family */
    double v;
    struct span value; /* as written */
    bool has_time;
    int64_t t_ms;
    struct text_exemplar exemplar;
    enum metric_type type; /* TYPE */
    struct span words;     /* HELP: escaped as written (text_unescape); UNIT, may be empty */
    int column;            /* MISTAKE, from 1 */
    const char *mistake;   /* what is wrong, static */
};

struct text {
    enum text_format format;
    const char *_p, *_end;
    size_t _line;
    bool _is_over; /* "# EOF", or its lack was told */
};

/* "application/openmetrics-text; version=..." or anything else. */
enum text_format text_format_of(struct span content_type);
void text_init(struct text *t, struct span body, enum text_format format);
/*
 * The next item; TEXT_END behind the last. OpenMetrics: the first of what follows "# EOF", and a
 * body without it, are mistakes. A sample's syntax is checked whole; values are the nearest double,
 * without underscores and hexadecimal digits, and none beyond a double's range.
 */
void text_next(struct text *t, struct text_item *ret);
/*
 * If the next line begins with that series, as text_next gave it once: true, and the line is read
 * as text_next would do it, but for `name`, which is empty; false: nothing was read. For who
 * expects a page to be much as it was: names and labels are compared and not gone over again.
 */
bool text_next_same(struct text *t, struct span series, struct text_item *ret);

/*
 * Labels of a series (or an exemplar) as text_next gave it: sorted, without empty ones, the
 * metric's name among them. Escaped texts are written to a, others borrowed from the body; a
 * backslash before anything but a backslash, '"' and 'n' stays as it is, as Prometheus has it.
 * -EINVAL: *ret_mistake says what is wrong: of what text_next gave, a label is there twice;
 * -ENOMEM.
 */
int text_labels(struct span series, struct arena *a, struct labels *ret,
                const char **ret_mistake) WARN_UNUSED;
/* HELP's words with their escapes undone: \\ and \n, of OpenMetrics \" as well. */
int text_unescape(struct span words, enum text_format format, struct arena *a,
                  struct span *ret) WARN_UNUSED;

#endif
