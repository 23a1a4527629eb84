/* SPDX-License-Identifier: Apache-2.0 */
#include "incident/readable.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

static bool split(int64_t ms, struct tm *ret)
{
    time_t t = (time_t)(ms / 1000);
    return gmtime_r(&t, ret) != NULL;
}

const char *readable_time(int64_t ms, char dst[READABLE_TIME_BYTES])
{
    struct tm tm;
    size_t n = 0;
    if (split(ms, &tm))
        n = strftime(dst, READABLE_TIME_BYTES - sizeof(".000Z"), "%Y-%m-%dT%H:%M:%S", &tm);
    dst[n] = '\0';
    if (n > 0)
        (void)snprintf(dst + n, sizeof(".000Z"), ".%03dZ", (int)((ms % 1000 + 1000) % 1000));
    return dst;
}

const char *readable_moment(int64_t ms, char dst[READABLE_TIME_BYTES])
{
    struct tm tm;
    size_t n = 0;
    if (split(ms, &tm))
        n = strftime(dst, READABLE_TIME_BYTES, "%Y-%m-%d %H:%M:%S", &tm);
    dst[n] = '\0';
    return dst;
}

int readable_duration(int64_t ms, struct buf *out)
{
    long long s = ms > 0 ? (long long)(ms / 1000) : 0;
    if (s < 60)
        return buf_printf(out, "%lld s", s);
    if (s < 3600)
        return buf_printf(out, "%lld min %lld s", s / 60, s % 60);
    if (s < 86400)
        return buf_printf(out, "%lld h %lld min", s / 3600, s % 3600 / 60);
    return buf_printf(out, "%lld d %lld h", s / 86400, s % 86400 / 3600);
}

const char *readable_number(double v, char dst[READABLE_NUMBER_BYTES])
{
    if (isfinite(v))
        (void)snprintf(dst, READABLE_NUMBER_BYTES, "%.4g", v);
    else
        (void)snprintf(dst, READABLE_NUMBER_BYTES, "%s",
                       isnan(v) ? "NaN"
                       : v > 0  ? "+Inf"
                                : "-Inf");
    return dst;
}

/* --- plots --- */

static float largest(const float *at, size_t from, size_t to)
{
    float max = -INFINITY;
    for (size_t k = from; k < to; k++)
        max = fmaxf(max, at[k]); /* NAN is passed over */
    return max;
}

int readable_plot(const float *at, size_t n, size_t width, struct buf *out)
{
    static const char *const marks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const size_t highest = ARRAY_LEN(marks) - 1;
    float max = largest(at, 0, n);
    size_t n_marks = n < width ? n : width;
    int r = 0;
    for (size_t i = 0; i < n_marks && r == 0; i++) {
        float v = largest(at, i * n / n_marks, (i + 1) * n / n_marks);
        float share = max > 0 ? v / max * (float)highest : 0;
        size_t height = share > 0 ? (size_t)(share + 0.5F) : 0;
        r = buf_append(out, v == -INFINITY ? SPAN("·") : span_cstr(marks[height]));
    }
    return r;
}
