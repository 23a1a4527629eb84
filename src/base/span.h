/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/span.h - a borrowed run of bytes: pointer and length, never owned, never NUL-terminated.
 *
 * Role:      the argument and result type of every parser. How long a span stays valid is said
 *            in the header that hands it out.
 * Threading: plain values.
 */
#ifndef BASE_SPAN_H
#define BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct span {
    const char *p; /* may be NULL only when n is 0 */
    size_t n;      /* bytes */
};

/* A span over a string literal; SPAN_INIT is the form for static initialisers. */
#define SPAN_INIT(literal)                                                                         \
    {                                                                                              \
        "" literal "", sizeof(literal) - 1                                                         \
    }
#define SPAN(literal) ((struct span)SPAN_INIT(literal))

/* For printf's "%.*s". */
#define SPAN_ARG(s) (int)(s).n, (s).p

static inline struct span span_of(const void *p, size_t n)
{
    return (struct span){p, n};
}

static inline struct span span_cstr(const char *s)
{
    return (struct span){s, s ? strlen(s) : 0};
}

static inline bool span_eq(struct span a, struct span b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* Bytewise, the shorter first: less than, equal to or more than 0. */
static inline int span_cmp(struct span a, struct span b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int r = n > 0 ? memcmp(a.p, b.p, n) : 0;
    return r != 0 ? r : (a.n > b.n) - (a.n < b.n);
}
int span_sort_cmp(const void *a, const void *b); /* the same, for qsort of an array of spans */

/* Takes the first n bytes off *s and returns them; n must not exceed s->n. */
static inline struct span span_take(struct span *s, size_t n)
{
    struct span head = {s->p, n};
    s->p += n;
    s->n -= n;
    return head;
}

/* The part of s from offset on; empty when offset is past the end. */
static inline struct span span_from(struct span s, size_t offset)
{
    return offset >= s.n ? (struct span){s.p + s.n, 0} : (struct span){s.p + offset, s.n - offset};
}

static inline bool span_starts_with(struct span s, struct span prefix)
{
    return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}

static inline bool span_ends_with(struct span s, struct span suffix)
{
    return s.n >= suffix.n &&
           (suffix.n == 0 || memcmp(s.p + s.n - suffix.n, suffix.p, suffix.n) == 0);
}

/* ASCII case-insensitive comparison (header names, tokens). */
bool span_eq_nocase_n(const char *a, const char *b, size_t n);
static inline bool span_eq_nocase(struct span a, struct span b)
{
    if (a.n != b.n || a.n == 0)
        return a.n == b.n;
    /* Letters differ from each other in this bit; the first one tells most names apart. */
    return ((a.p[0] ^ b.p[0]) & ~('a' - 'A')) == 0 && span_eq_nocase_n(a.p, b.p, a.n);
}

/* The byte at i; '\0' behind the end. */
static inline char span_at(struct span s, size_t i)
{
    if (i >= s.n)
        return '\0';
    return s.p[i];
}

/* Without leading and trailing spaces and tabs. */
struct span span_trim(struct span s);

/* Offset of the first c / of the first needle in s, or s.n when there is none. */
size_t span_find_char(struct span s, char c);
size_t span_find(struct span s, struct span needle);

/*
 * Splits at the first sep: returns the part before it and moves *s behind it. Without sep the
 * whole of *s is returned and *s becomes empty.
 */
struct span span_split(struct span *s, char sep);

/* Copies s into dst (cap bytes), cut at cap - 1, always terminated. Returns the bytes copied. */
size_t span_copy(struct span s, char *dst, size_t cap);

#endif
