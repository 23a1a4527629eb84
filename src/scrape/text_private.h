/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scrape/text_private.h - a place in a line, and what all readers of lines share. Private to
 * scrape.
 *
 * Nothing at or behind `end` is ever read. A mistake is told once, where it is first seen.
 */
#ifndef SCRAPE_TEXT_PRIVATE_H
#define SCRAPE_TEXT_PRIVATE_H

#include "scrape/text.h"

struct text_cursor {
    const char *p, *end;
    const char *mistake;    /* NULL: none yet */
    const char *mistake_at; /* where */
};

/* Returns false, for `return text_wrong(...)`. */
static inline bool text_wrong(struct text_cursor *c, const char *at, const char *why)
{
    c->mistake = why;
    c->mistake_at = at;
    return false;
}

static inline bool text_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static inline void text_skip_blanks(struct text_cursor *c)
{
    while (c->p < c->end && text_is_blank(*c->p))
        c->p++;
}

static inline bool text_is_at(const struct text_cursor *c, char byte)
{
    return c->p < c->end && *c->p == byte;
}

/* Bits of text_class: may begin a name; may be in one, too; the same for labels, without ':'. */
enum { TEXT_METRIC_FIRST = 1, TEXT_METRIC = 2, TEXT_LABEL_FIRST = 4, TEXT_LABEL = 8 };
extern const unsigned char text_class[256];

/* A name at the cursor, which is passed; empty where there is none. */
static inline struct span text_take_name(struct text_cursor *c, int first, int other)
{
    const char *from = c->p;
    const char *p = from;

    if (p < c->end && (text_class[(unsigned char)*p] & first)) {
        p++;
        while (p < c->end && (text_class[(unsigned char)*p] & other))
            p++;
    }
    c->p = p;
    return span_of(from, (size_t)(p - from));
}

/* What there is up to the next blank or the end. */
static inline struct span text_take_word(struct text_cursor *c)
{
    const char *from = c->p;

    while (c->p < c->end && !text_is_blank(*c->p))
        c->p++;
    return span_of(from, (size_t)(c->p - from));
}

/* At a '{': passes it. */
void text_begin_labels(struct text_cursor *c);
/*
 * The next label: 1; 0 behind the closing brace; -1: a mistake. n: labels before it. The value is
 * as written; *ret_has_escape: it wants unescaping.
 */
int text_next_label(struct text_cursor *c, size_t n, struct label *ret, bool *ret_has_escape);

/* A sample's line into *ret, which is a TEXT_SAMPLE already; false: a mistake. */
bool text_sample(struct text_cursor *c, enum text_format format, struct text_item *ret);
/* The same behind the series. */
bool text_sample_rest(struct text_cursor *c, enum text_format format, struct text_item *ret);

/* All of s as Prometheus reads a value; -EINVAL. */
int text_value(struct span s, double *ret) WARN_UNUSED;

#endif
