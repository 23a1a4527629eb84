/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/matcher, pattern: "pattern\nvalue". The ways without a regular expression come to the same
 * as the one with it, =~ and !~ are opposites, and nothing takes long.
 * fuzz-links: series
 */
#include "pieces.h"

#include <errno.h>

#include "base/utf8.h"
#include "series/matcher.h"

static bool is_utf8(struct span s)
{
    bool is_valid = true;
    while (s.n > 0 && is_valid)
        (void)span_take(&s, utf8_step(s, &is_valid));
    return is_valid;
}

static bool matches(struct arena *a, enum matcher_op op, struct span text, struct span value,
                    int *ret_error)
{
    struct matcher m;
    FUZZ_CHECK(matcher_init(a, op, SPAN("l"), text, &m, NULL) == 0);
    bool is = matcher_matches(&m, value);
    *ret_error = matcher_error(&m);
    matcher_done(&m);
    return is;
}

static void check(struct pattern *p, struct span text, struct span value)
{
    struct arena a;
    struct buf b;
    int r = pattern_matches(p, value);
    int error;
    arena_init(&a, NULL);
    bool is = matches(&a, MATCH_RE, text, value, &error);
    if (r >= 0 && error == 0 && is_utf8(value)) {
        FUZZ_CHECK(is == (r == 1));
        FUZZ_CHECK(matches(&a, MATCH_NRE, text, value, &error) != is);
    }
    buf_init(&b, 1 << 20);
    int expanded = pattern_expand(p, value, SPAN("$0|${1}|$name|$$"), &b);
    FUZZ_CHECK(expanded != 0 || r != 0);
    FUZZ_CHECK(expanded == 0 || buf_len(&b) == 0);
    buf_done(&b);
    arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span value = span_of(data, size);
    struct span text = span_split(&value, '\n');
    struct pattern *p;
    struct err err = {.text = ""};
    if (size > 2000)
        return 0;
    int r = pattern_new(text, &p, &err);
    FUZZ_CHECK(r == 0 || (r == -EINVAL && err.text[0] != '\0'));
    if (r != 0)
        return 0;
    check(p, text, value);
    pattern_free(p);
    return 0;
}
