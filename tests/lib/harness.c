/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <stdio.h>

/* Text for people: long values are cut, control bytes shown as '.'. */
static void print_bytes(const char *label, struct span s)
{
    enum { SHOWN_BYTES = 200 };
    char text[SHOWN_BYTES + 1];
    size_t n = span_copy(s, text, sizeof(text));
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)text[i] < 0x20)
            text[i] = '.';
    }
    print_error("  %s (%zu bytes): %s\n", label, s.n, text);
}

void harness_assert_span(const char *name, struct span got, struct span want, const char *file,
                         int line)
{
    if (span_eq(got, want))
        return;
    print_error("%s: the bytes differ\n", name);
    print_bytes("got ", got);
    print_bytes("want", want);
    _fail(file, line);
}

void harness_assert_row(const char *name, int ok, const char *what, const char *file, int line)
{
    if (ok)
        return;
    print_error("%s: not true: %s\n", name, what);
    _fail(file, line);
}
