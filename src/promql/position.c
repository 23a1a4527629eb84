/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/position.c - where in a text something is, and errors as text.
 */
#include "promql/parse.h"

void promql_position(struct span text, size_t at, int *ret_line, int *ret_column)
{
    int line = 1;
    size_t begin = 0;
    for (size_t i = 0; i < at && i < text.n; i++) {
        if (text.p[i] == '\n') {
            line++;
            begin = i + 1;
        }
    }
    *ret_line = line;
    *ret_column = (int)(at - begin) + 1;
}

int promql_error_print(const struct promql_error *e, struct buf *out)
{
    if (e->line == 0)
        return buf_append(out, span_cstr(e->text));
    return buf_printf(out, "%d:%d: parse error: %s", e->line, e->column, e->text);
}
