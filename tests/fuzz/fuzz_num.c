/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers from text: whatever is accepted is what the C library would have read, and reading back
 * what we format gives the same value. jsonw: the output is valid UTF-8 without raw controls.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/jsonw.h"
#include "base/num.h"
#include "fuzz.h"

enum { MAX_TEXT = 2000 };

static void require(int ok)
{
    if (!ok)
        abort();
}

static void check_integers(struct span s, const char *text)
{
    uint64_t u;
    int64_t i;
    char dst[24];
    if (num_parse_u64(s, &u) == 0) {
        uint64_t back;
        require(u == strtoull(text, NULL, 10));
        require(num_parse_u64(span_of(dst, num_format_u64(u, dst)), &back) == 0 && back == u);
    }
    if (num_parse_i64(s, &i) == 0) {
        int64_t back;
        require(i == strtoll(text, NULL, 10));
        require(num_parse_i64(span_of(dst, num_format_i64(i, dst)), &back) == 0 && back == i);
    }
    if (num_parse_hex(s, &u) == 0)
        require(u == strtoull(text, NULL, 16));
}

static void check_double(struct span s, const char *text)
{
    double v;
    double back;
    char dst[32];
    char *end;
    if (num_parse_double(s, &v) != 0)
        return;
    back = strtod(text, &end);
    require(*end == '\0' && memcmp(&back, &v, sizeof(v)) == 0);
    require(num_parse_double(span_of(dst, num_format_double(v, dst)), &back) == 0);
    require(memcmp(&back, &v, sizeof(v)) == 0);
}

static void check_units(struct span s)
{
    int64_t ns;
    uint64_t bytes;
    if (num_parse_duration(s, &ns) == 0)
        require(ns >= 0);
    (void)!num_parse_bytes(s, &bytes); /* only that it survives */
}

static void check_json(struct span s)
{
    struct buf b;
    struct jsonw w;
    buf_init(&b, 6 * MAX_TEXT + 2); /* every byte as \u00xx */
    jsonw_init(&w, &b);
    jsonw_str(&w, s);
    require(jsonw_error(&w) == 0);
    struct span out = buf_span(&b);
    require(out.n >= 2 && out.p[0] == '"' && out.p[out.n - 1] == '"');
    for (size_t i = 1; i + 1 < out.n; i++) {
        unsigned char c = (unsigned char)out.p[i];
        require(c >= 0x20 && c != '"' && c != 0xc0 && c != 0xc1 && c < 0xf5);
        if (c == '\\') {
            require(strchr("\"\\nrtu", out.p[i + 1]) != NULL);
            i++;
        }
    }
    buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[MAX_TEXT + 1];
    if (size > MAX_TEXT)
        return 0;
    struct span s = span_of(data, size);
    (void)span_copy(s, text, sizeof(text));
    check_integers(s, text);
    check_double(s, text);
    check_units(s);
    check_json(s);
    return 0;
}
