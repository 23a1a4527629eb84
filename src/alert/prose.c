/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/prose.h"

#include <errno.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <time.h>

#include "base/utf8.h"

/* --- codings --- */

int prose_base64(struct span s, struct buf *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *p;
    size_t n = (s.n + 2) / 3 * 4;
    int r = buf_reserve(out, n, &p);
    if (r < 0)
        return r;
    for (size_t i = 0; i < s.n; i += 3) {
        uint32_t v = 0;
        for (size_t k = 0; k < 3; k++)
            v = v << 8 | (i + k < s.n ? (unsigned char)s.p[i + k] : 0);
        *p++ = digits[v >> 18];
        *p++ = digits[v >> 12 & 63];
        *p++ = digits[v >> 6 & 63];
        *p++ = digits[v & 63];
    }
    for (size_t missing = (3 - s.n % 3) % 3; missing > 0; missing--)
        p[-(ptrdiff_t)missing] = '=';
    buf_commit(out, n);
    return 0;
}

static bool is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

int prose_percent(struct span s, struct buf *out)
{
    int r = 0;
    for (size_t i = 0; i < s.n && r == 0; i++) {
        if (is_unreserved(s.p[i]))
            r = buf_append(out, span_of(s.p + i, 1));
        else
            r = buf_printf(out, "%%%02X", (unsigned char)s.p[i]);
    }
    return r;
}

int prose_sign(struct span key, struct span message, struct buf *out)
{
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    if (key.n > INT32_MAX || !HMAC(EVP_sha256(), key.p ? key.p : "", (int)key.n,
                                   (const unsigned char *)message.p, message.n, mac, &n))
        return -ENOMEM;
    return prose_base64(span_of(mac, n), out);
}

/* --- characters --- */

size_t prose_chars(struct span s)
{
    bool is_valid;
    size_t n = 0;
    for (; s.n > 0; n++)
        (void)span_take(&s, utf8_step(s, &is_valid));
    return n;
}

struct span prose_cut(struct span s, size_t max_chars)
{
    bool is_valid;
    struct span rest = s;
    for (size_t n = 0; n < max_chars && rest.n > 0; n++)
        (void)span_take(&rest, utf8_step(rest, &is_valid));
    return span_of(s.p, s.n - rest.n);
}

struct span prose_cut_bytes(struct span s, size_t max_bytes)
{
    bool is_valid;
    struct span rest = s;
    while (rest.n > 0) {
        size_t n = utf8_step(rest, &is_valid);
        if (s.n - rest.n + n > max_bytes)
            break;
        (void)span_take(&rest, n);
    }
    return span_of(s.p, s.n - rest.n);
}

/* A character that changes where later ones stand: U+200E, U+200F, U+202A to U+202E, U+2066 to
 * U+2069, U+061C, and the byte order mark. */
static bool is_direction_mark(struct span c)
{
    unsigned char b = c.n > 2 ? (unsigned char)c.p[2] : 0;
    if (c.n == 2)
        return memcmp(c.p, "\xd8\x9c", 2) == 0;
    if (c.n != 3)
        return false;
    if (memcmp(c.p, "\xe2\x80", 2) == 0)
        return b == 0x8e || b == 0x8f || (b >= 0xaa && b <= 0xae);
    return (memcmp(c.p, "\xe2\x81", 2) == 0 && b >= 0xa6 && b <= 0xa9) ||
           memcmp(c.p, "\xef\xbb\xbf", 3) == 0;
}

static bool is_line_end(struct span c)
{
    return (c.n == 1 && c.p[0] == '\n') || (c.n == 3 && (memcmp(c.p, "\xe2\x80\xa8", 3) == 0 ||
                                                         memcmp(c.p, "\xe2\x80\xa9", 3) == 0));
}

static bool is_control(struct span c)
{
    unsigned char first = (unsigned char)c.p[0];
    return (c.n == 1 && (first < ' ' || first == 0x7f)) ||
           (c.n == 2 && first == 0xc2 && (unsigned char)c.p[1] < 0xa0);
}

int prose_clean(struct span s, bool keeps_lines, struct buf *out)
{
    int r = 0, n_newlines = 0;
    while (s.n > 0 && r == 0) {
        bool is_valid;
        struct span c = span_take(&s, utf8_step(s, &is_valid));
        bool is_newline = is_valid && is_line_end(c) && keeps_lines;
        n_newlines = is_newline ? n_newlines + 1 : 0;
        if (!is_valid)
            r = buf_append(out, SPAN("\xef\xbf\xbd"));
        else if (is_newline)
            r = n_newlines <= 2 ? buf_append(out, SPAN("\n")) : 0;
        else if (is_direction_mark(c) || (c.p[0] == '\r' && s.n > 0 && s.p[0] == '\n'))
            continue;
        else
            r = buf_append(out, is_control(c) || is_line_end(c) ? SPAN(" ") : c);
    }
    return r;
}

/* --- times --- */

int prose_rfc3339(int64_t ms, struct buf *out)
{
    time_t s = (time_t)(ms / 1000 - (ms % 1000 < 0));
    int fraction = (int)(ms - (int64_t)s * 1000);
    struct tm t;
    if (!gmtime_r(&s, &t) || t.tm_year > 9999 - 1900 || t.tm_year < -1900)
        return buf_append(out, SPAN("0001-01-01T00:00:00Z"));
    return buf_printf(out, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", t.tm_year + 1900, t.tm_mon + 1,
                      t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, fraction);
}

int prose_local_time(int64_t ms, struct buf *out)
{
    time_t s = (time_t)(ms / 1000);
    struct tm t;
    if (!localtime_r(&s, &t))
        return prose_rfc3339(ms, out);
    long offset = t.tm_gmtoff / 60, size = offset < 0 ? -offset : offset;
    return buf_printf(out, "%04d-%02d-%02d %02d:%02d:%02d %c%02ld:%02ld", t.tm_year + 1900,
                      t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec,
                      offset < 0 ? '-' : '+', size / 60, size % 60);
}

int prose_duration(int64_t ms, struct buf *out)
{
    long long s = ms > 0 ? ms / 1000 : 0;
    if (s < 60)
        return buf_printf(out, "%llds", s);
    if (s < 3600)
        return buf_printf(out, "%lldm", s / 60);
    if (s < 86400)
        return buf_printf(out, "%lldh %lldm", s / 3600, s / 60 % 60);
    return buf_printf(out, "%lldd %lldh", s / 86400, s / 3600 % 24);
}
