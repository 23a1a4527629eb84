/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

size_t utf8_step(struct span s, bool *ret_is_valid)
{
    unsigned char lead = (unsigned char)s.p[0];
    /* The second byte has a narrower range after some lead bytes: no overlong forms, no
     * surrogates, nothing above U+10FFFF. */
    unsigned char low = 0x80;
    unsigned char high = 0xbf;
    size_t len;
    *ret_is_valid = false;
    if (lead < 0x80) {
        *ret_is_valid = true;
        return 1;
    }
    if (lead < 0xc2 || lead > 0xf4)
        return 1;
    if (lead < 0xe0) {
        len = 2;
    } else if (lead < 0xf0) {
        len = 3;
        low = lead == 0xe0 ? 0xa0 : 0x80;
        high = lead == 0xed ? 0x9f : 0xbf;
    } else {
        len = 4;
        low = lead == 0xf0 ? 0x90 : 0x80;
        high = lead == 0xf4 ? 0x8f : 0xbf;
    }
    for (size_t i = 1; i < len; i++) {
        if (i >= s.n || (unsigned char)s.p[i] < low || (unsigned char)s.p[i] > high)
            return i;
        low = 0x80;
        high = 0xbf;
    }
    *ret_is_valid = true;
    return len;
}

bool utf8_is_valid(struct span s)
{
    bool is_valid = true;
    while (s.n > 0 && is_valid)
        (void)span_take(&s, utf8_step(s, &is_valid));
    return is_valid;
}

uint32_t utf8_value(struct span sequence)
{
    const unsigned char *p = (const unsigned char *)sequence.p;
    uint32_t c = sequence.n == 1 ? p[0] : p[0] & (0x7fu >> sequence.n);
    for (size_t i = 1; i < sequence.n; i++)
        c = c << 6 | (p[i] & 0x3f);
    return c;
}

uint32_t utf8_take(struct span *s)
{
    bool is_valid;
    size_t n = utf8_step(*s, &is_valid);
    struct span sequence = span_take(s, is_valid ? n : 1);
    return is_valid ? utf8_value(sequence) : 0xfffd;
}

bool utf8_is_odd(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff ||
           c == 0xfffe || c == 0xffff;
}

size_t utf8_put(uint32_t c, char dst[4])
{
    if (c < 0x80) {
        dst[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n; --i > 0; c >>= 6)
        dst[i] = (char)(0x80 | (c & 0x3f));
    dst[0] = (char)((0xf00u >> n) | c); /* 0xc0, 0xe0, 0xf0 in the low byte */
    return n;
}
