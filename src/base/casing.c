/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/casing.c - ranges of letters whose two cases lie at a fixed distance.
 */
#include "base/casing.h"

#include <stdint.h>

#include "base/utf8.h"

/* Lower-case letters first, first + step, ... last; upper case is delta away. */
struct range {
    uint32_t first, last, step;
    int32_t delta;
};

static const struct range ranges[] = {
    {'a', 'z', 1, -32},      {0xe0, 0xf6, 1, -32},                            /* Latin-1 */
    {0xf8, 0xfe, 1, -32},    {0xff, 0xff, 1, 0x79},    {0x101, 0x12f, 2, -1}, /* Latin Extended-A */
    {0x133, 0x137, 2, -1},   {0x13a, 0x148, 2, -1},    {0x14b, 0x177, 2, -1},
    {0x17a, 0x17e, 2, -1},   {0x1ce, 0x1dc, 2, -1}, /* Latin Extended-B */
    {0x1df, 0x1ef, 2, -1},   {0x1f9, 0x21f, 2, -1},    {0x223, 0x233, 2, -1},
    {0x3ac, 0x3ac, 1, -38}, /* Greek */
    {0x3ad, 0x3af, 1, -37},  {0x3b1, 0x3c1, 1, -32},   {0x3c3, 0x3cb, 1, -32},
    {0x3cc, 0x3cc, 1, -64},  {0x3cd, 0x3ce, 1, -63},   {0x430, 0x44f, 1, -32}, /* Cyrillic */
    {0x450, 0x45f, 1, -80},  {0x461, 0x481, 2, -1},    {0x48b, 0x4bf, 2, -1},
    {0x4c2, 0x4ce, 2, -1},   {0x4cf, 0x4cf, 1, -15},   {0x4d1, 0x52f, 2, -1},
    {0x561, 0x586, 1, -48},                            /* Armenian */
    {0x1e01, 0x1e95, 2, -1},                           /* Latin Extended Additional */
    {0x1ea1, 0x1eff, 2, -1}, {0xff41, 0xff5a, 1, -32}, /* full width */
};

/* Those that have a way only to one side. */
static const struct {
    uint32_t from, to;
} only_upper[] = {{0xb5, 0x39c}, {0x131, 'I'}, {0x17f, 'S'}, {0x3c2, 0x3a3}},
  only_lower[] = {{0x130, 'i'}, {0x1e9e, 0xdf}, {0x212a, 'k'}, {0x212b, 0xe5}};

static uint32_t to_upper(uint32_t c)
{
    for (size_t i = 0; i < ARRAY_LEN(ranges); i++)
        if (c >= ranges[i].first && c <= ranges[i].last &&
            (c - ranges[i].first) % ranges[i].step == 0)
            return c + (uint32_t)ranges[i].delta;
    for (size_t i = 0; i < ARRAY_LEN(only_upper); i++)
        if (c == only_upper[i].from)
            return only_upper[i].to;
    return c;
}

static uint32_t to_lower(uint32_t c)
{
    for (size_t i = 0; i < ARRAY_LEN(ranges); i++) {
        uint32_t lower = c - (uint32_t)ranges[i].delta;
        if (lower >= ranges[i].first && lower <= ranges[i].last &&
            (lower - ranges[i].first) % ranges[i].step == 0)
            return lower;
    }
    for (size_t i = 0; i < ARRAY_LEN(only_lower); i++)
        if (c == only_lower[i].from)
            return only_lower[i].to;
    return c;
}

static int put(uint32_t c, struct buf *out)
{
    char text[4];
    return buf_append(out, span_of(text, utf8_put(c, text)));
}

static int convert(struct span s, uint32_t (*way)(uint32_t c), struct buf *out)
{
    int r = 0;
    while (s.n > 0 && r == 0)
        r = put(way(utf8_take(&s)), out);
    return r;
}

int casing_upper(struct span s, struct buf *out)
{
    return convert(s, to_upper, out);
}

int casing_lower(struct span s, struct buf *out)
{
    return convert(s, to_lower, out);
}

/* What stands within words, alone: o'neil, a.b */
static bool is_middle(uint32_t c)
{
    return c == '\'' || c == '.' || c == ':' || c == 0xb7 || c == 0x2019;
}

/* What ends a word: any other sign. Of other scripts, spaces and punctuation only. */
static bool is_break(uint32_t c)
{
    if (c >= 0x80)
        return c < 0xaa || (c >= 0x2000 && c < 0x2070) || (c >= 0x3000 && c < 0x3040) ||
               c == 0xfffd;
    return !(c == '_' || (c >= '0' && c <= '9') || to_upper(c) != c || to_lower(c) != c);
}

int casing_title(struct span s, struct buf *out)
{
    bool is_in_word = false, was_middle = false;
    int r = 0;
    while (s.n > 0 && r == 0) {
        uint32_t c = utf8_take(&s);
        bool is_mid = is_middle(c);
        if (is_mid ? was_middle : is_break(c))
            is_in_word = false;
        bool is_cased = to_upper(c) != c || to_lower(c) != c;
        r = put(is_in_word ? c : to_upper(c), out);
        is_in_word = is_in_word || is_cased;
        was_middle = is_mid;
    }
    return r;
}
