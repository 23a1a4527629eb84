/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/span.c - the operations on spans that are too large to inline.
 *
 * Every function accepts the empty span with a NULL pointer; the C library's functions do not, so
 * emptiness is tested before any of them is called.
 */
#include "base/span.h"

#include <stdint.h>

int span_sort_cmp(const void *a, const void *b)
{
    return span_cmp(*(const struct span *)a, *(const struct span *)b);
}

static unsigned char ascii_lower(char c)
{
    unsigned char u = (unsigned char)c;
    return u >= 'A' && u <= 'Z' ? (unsigned char)(u + ('a' - 'A')) : u;
}

/* The same for eight bytes: the sums have the top bit of a byte that is at least 'A', and of one
 * that is above 'Z', without a carry into the next one, since that bit is left out of what is
 * added. */
static uint64_t lower_word(const char *p)
{
    const uint64_t ones = UINT64_MAX / 0xff;
    uint64_t word;
    memcpy(&word, p, sizeof(word));
    uint64_t low_bits = word & (ones * 0x7f);
    uint64_t is_from_a = low_bits + ones * (0x80 - 'A');
    uint64_t is_behind_z = low_bits + ones * (0x80 - 'Z' - 1);
    uint64_t is_upper = is_from_a & ~is_behind_z & ~word & (ones * 0x80);
    return word | is_upper >> 2; /* 0x20: 'a' - 'A' */
}

bool span_eq_nocase_n(const char *a, const char *b, size_t n)
{
    size_t i = 0;
    for (; n - i >= sizeof(uint64_t); i += sizeof(uint64_t)) {
        if (lower_word(a + i) != lower_word(b + i))
            return false;
    }
    for (; i < n; i++) {
        if (a[i] != b[i] && ascii_lower(a[i]) != ascii_lower(b[i]))
            return false;
    }
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

struct span span_trim(struct span s)
{
    while (s.n > 0 && is_blank(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && is_blank(s.p[s.n - 1]))
        s.n--;
    return s;
}

size_t span_find_char(struct span s, char c)
{
    if (s.n == 0)
        return 0;
    const char *at = memchr(s.p, c, s.n);
    return at ? (size_t)(at - s.p) : s.n;
}

size_t span_find(struct span s, struct span needle)
{
    if (needle.n == 0)
        return 0;
    if (s.n < needle.n)
        return s.n;
    const char *at = memmem(s.p, s.n, needle.p, needle.n);
    return at ? (size_t)(at - s.p) : s.n;
}

struct span span_split(struct span *s, char sep)
{
    size_t at = span_find_char(*s, sep);
    bool is_found = at < s->n;
    struct span head = span_take(s, at);
    if (is_found)
        (void)span_take(s, 1); /* the separator itself belongs to neither part */
    return head;
}

size_t span_copy(struct span s, char *dst, size_t cap)
{
    if (cap == 0)
        return 0;
    size_t n = s.n < cap ? s.n : cap - 1;
    if (n > 0)
        memcpy(dst, s.p, n);
    dst[n] = '\0';
    return n;
}
