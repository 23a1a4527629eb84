/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/suggest.c - edit distance over names.
 */
#include "base/suggest.h"

enum { PREFIX_MIN_BYTES = 3 };

/* Letters that people take for each other. */
static char fold(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    if (c == '_')
        return '-';
    return c;
}

static int min3(int a, int b, int c)
{
    int m = a < b ? a : b;
    return m < c ? m : c;
}

int suggest_distance(struct span a, struct span b)
{
    int rows[3][SUGGEST_NAME_MAX + 1]; /* the last two rows and the one being made */
    int *before = rows[0], *above = rows[1], *row = rows[2];

    if (a.n > SUGGEST_NAME_MAX || b.n > SUGGEST_NAME_MAX)
        return INT_MAX;
    for (size_t j = 0; j <= b.n; j++)
        above[j] = (int)j;
    for (size_t i = 1; i <= a.n; i++) {
        int *oldest = before;

        row[0] = (int)i;
        for (size_t j = 1; j <= b.n; j++) {
            int replace = above[j - 1] + (fold(a.p[i - 1]) != fold(b.p[j - 1]));

            row[j] = min3(above[j] + 1, row[j - 1] + 1, replace);
            if (i > 1 && j > 1 && fold(a.p[i - 1]) == fold(b.p[j - 2]) &&
                fold(a.p[i - 2]) == fold(b.p[j - 1]) && before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
        before = above;
        above = row;
        row = oldest;
    }
    return above[b.n];
}

void suggest_offer(struct suggest *s, struct span name)
{
    int distance = suggest_distance(s->wanted, name);
    size_t longer = name.n > s->wanted.n ? name.n : s->wanted.n;
    bool is_prefix = (name.n >= PREFIX_MIN_BYTES && span_starts_with(s->wanted, name)) ||
                     (s->wanted.n >= PREFIX_MIN_BYTES && span_starts_with(name, s->wanted));

    /* A third of the name may be wrong, of short names one letter; and the end may be missing. */
    if (distance < s->_distance && (distance <= 1 || (size_t)distance <= longer / 3 || is_prefix)) {
        s->_distance = distance;
        s->best = name;
    }
}
