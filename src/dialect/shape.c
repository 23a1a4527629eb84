/* SPDX-License-Identifier: Apache-2.0 */
#include "dialect/shape.h"

#include <string.h>

void shape_learn(struct shape *s, struct span data, struct span text)
{
    size_t head = (size_t)(text.p - data.p);
    size_t tail = data.n - head - text.n;

    s->_head = 0;
    if (head + tail > SHAPE_BYTES_MAX)
        return;
    memcpy(s->_bytes, data.p, head);
    memcpy(s->_bytes + head, text.p + text.n, tail);
    s->_head = (uint16_t)head;
    s->_tail = (uint16_t)tail;
}

/* Bytes that stand for themselves in a JSON string. */
static bool is_plain(struct span text)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (c < 0x20 || c == '"' || c == '\\')
            return false;
    }
    return true;
}

bool shape_matches(const struct shape *s, struct span data)
{
    struct span text;

    if (s->_head == 0 || data.n <= (size_t)s->_head + s->_tail)
        return false;
    text = span_of(data.p + s->_head, data.n - s->_head - s->_tail);
    return memcmp(data.p, s->_bytes, s->_head) == 0 &&
           memcmp(text.p + text.n, s->_bytes + s->_head, s->_tail) == 0 && is_plain(text);
}
