/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/csv.h"

#include <stdbool.h>

int csv_field(struct span s, struct buf *out)
{
    bool is_plain = true;
    for (size_t i = 0; i < s.n; i++)
        is_plain = is_plain && s.p[i] != '"' && s.p[i] != ',' && s.p[i] != '\n' && s.p[i] != '\r';
    if (is_plain)
        return buf_append(out, s);
    int r = buf_append(out, SPAN("\""));
    while (s.n > 0 && r == 0) {
        size_t n = span_find_char(s, '"');
        r = buf_append(out, span_take(&s, n));
        if (r == 0 && s.n > 0) {
            (void)span_take(&s, 1);
            r = buf_append(out, SPAN("\"\""));
        }
    }
    return r ? r : buf_append(out, SPAN("\""));
}
