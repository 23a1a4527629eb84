/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cookie.h"

struct span cookie_value(const struct http1_head *head, struct span name)
{
    struct span rest = http1_field_value(head, SPAN("Cookie"));

    while (rest.n > 0) {
        struct span value = span_trim(span_split(&rest, ';'));
        struct span key = span_split(&value, '=');

        if (span_eq(key, name))
            return value.p ? value : SPAN("");
    }
    return (struct span){0};
}
