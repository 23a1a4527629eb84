/* SPDX-License-Identifier: Apache-2.0 */
#include "top/cells.h"

#include <math.h>
#include <stdio.h>

#include "base/attr.h"
#include "base/utf8.h"

int top_cells_style(enum top_style s, struct buf *out)
{
    char byte = (char)s;
    return buf_append(out, span_of(&byte, 1));
}

/* --- characters --- */

struct range {
    uint32_t first, last;
};

/* Unicode's East Asian wide and full-width blocks, and emoji; coarse, as terminals are. */
static const struct range wide[] = {
    {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xa960, 0xa97f},
    {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
    {0xffe0, 0xffe6},   {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1faff},
    {0x20000, 0x3fffd},
};
static const struct range combining[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x064b, 0x065f},
    {0x0e34, 0x0e3a}, {0x0e47, 0x0e4e}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
    {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xe0100, 0xe01ef},
};
/* Controls, and what reorders or hides: marks of direction, zero-width characters, tags. */
static const struct range harmful[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},     {0x061c, 0x061c}, {0x200b, 0x200f},   {0x2028, 0x202e},
    {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
};

static bool is_in(uint32_t c, const struct range *ranges, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return true;
    return false;
}

struct character {
    struct span bytes; /* as they may be shown */
    size_t columns;
};

static struct character next(struct span *s, bool has_utf8)
{
    bool is_valid;
    struct span bytes = span_take(s, utf8_step(*s, &is_valid));
    uint32_t c = is_valid ? utf8_value(bytes) : 0;
    if ((c >= 0x80 && !has_utf8) || is_in(c, harmful, ARRAY_LEN(harmful)))
        return (struct character){SPAN("?"), 1};
    if (c >= 0x300 && is_in(c, combining, ARRAY_LEN(combining)))
        return (struct character){bytes, 0};
    return (struct character){bytes, c >= 0x1100 && is_in(c, wide, ARRAY_LEN(wide)) ? 2 : 1};
}

size_t top_cells_width(struct span text)
{
    size_t n = 0;
    while (text.n > 0)
        n += next(&text, true).columns;
    return n;
}

static int put_blanks(size_t n, struct buf *out)
{
    return n > 0 ? buf_printf(out, "%*s", (int)n, "") : 0;
}

int top_cells_put(struct span text, size_t width, enum top_align align, bool has_utf8,
                  struct buf *out)
{
    size_t all = 0, used = 0;
    for (struct span rest = text; rest.n > 0 && all <= width;)
        all += next(&rest, has_utf8).columns;
    bool is_cut = all > width;
    size_t limit = is_cut && width > 0 ? width - 1 : width;
    int r = align == TOP_RIGHT && !is_cut ? put_blanks(width - all, out) : 0;
    while (r == 0 && text.n > 0) {
        struct character c = next(&text, has_utf8);
        if (used + c.columns > limit)
            break;
        used += c.columns;
        r = buf_append(out, c.bytes);
    }
    if (r == 0 && is_cut && width > 0) {
        r = buf_append(out, has_utf8 ? SPAN("\xe2\x80\xa6") : SPAN("~"));
        used++;
    }
    if (r == 0 && (align == TOP_LEFT || is_cut))
        r = put_blanks(width - used, out);
    return r;
}

/* --- numbers --- */

static const struct {
    double from; /* seconds */
    int64_t large, small;
    char units[2];
} spans[] = {
    {86400, 86400, 3600, {'d', 'h'}},
    {3600, 3600, 60, {'h', 'm'}},
    {100, 60, 1, {'m', 's'}},
};

enum { DIGITS_MAX = 400 };

/* Three digits at most. */
static int decimals(double v)
{
    return v < 9.995 ? 2 : v < 99.95 ? 1 : 0;
}

/* snprintf would write all digits of 1e300: they are cut. */
static void put(double v, int n_decimals, const char *unit, char *dst)
{
    char digits[DIGITS_MAX];
    (void)snprintf(digits, sizeof(digits), "%.*f%s", n_decimals, v, unit);
    (void)span_copy(span_cstr(digits), dst, TOP_CELL_BYTES);
}

void top_cells_seconds(double s, char *dst)
{
    if (isnan(s)) {
        (void)snprintf(dst, TOP_CELL_BYTES, "-");
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(spans); i++)
        if (s >= spans[i].from && s < 1e12) {
            int64_t n = (int64_t)s;
            (void)snprintf(dst, TOP_CELL_BYTES, "%lld%c%lld%c", (long long)(n / spans[i].large),
                           spans[i].units[0], (long long)(n % spans[i].large / spans[i].small),
                           spans[i].units[1]);
            return;
        }
    if (s >= 0.9995)
        put(s, decimals(s), "s", dst);
    else
        put(s * 1e3, decimals(s * 1e3), "ms", dst);
}

void top_cells_number(double v, char *dst)
{
    static const struct {
        double at;
        const char *prefix;
    } units[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
    const char *prefix = "";
    if (isnan(v)) {
        (void)snprintf(dst, TOP_CELL_BYTES, "-");
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (v >= units[i].at * 0.9995) {
            v /= units[i].at;
            prefix = units[i].prefix;
            break;
        }
    put(v, v == floor(v) && !*prefix ? 0 : decimals(v), prefix, dst);
}

void top_cells_ratio(double v, char *dst)
{
    double pct = v * 100;
    if (isnan(v))
        (void)snprintf(dst, TOP_CELL_BYTES, "-");
    else
        put(pct, pct > 0 && pct < 9.95 ? 1 : 0, "%", dst);
}

int top_cells_trend(const float *v, size_t n, bool has_utf8, struct buf *out)
{
    static const char *const bars[] = {"\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83",
                                       "\xe2\x96\x84", "\xe2\x96\x85", "\xe2\x96\x86",
                                       "\xe2\x96\x87", "\xe2\x96\x88"};
    static const char marks[] = "_.,-=+*#";
    float most = 0;
    int r = 0;
    for (size_t i = 0; i < n; i++)
        most = v[i] > most ? v[i] : most;
    for (size_t i = 0; i < n && r == 0; i++) {
        size_t level = most > 0 && v[i] > 0 ? (size_t)(v[i] / most * 7.0f + 0.5f) : 0;
        if (isnan(v[i]))
            r = buf_append(out, SPAN(" "));
        else
            r = buf_append(out, has_utf8 ? span_cstr(bars[level]) : span_of(&marks[level], 1));
    }
    return r;
}
