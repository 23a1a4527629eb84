/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/params: a line is a query string, what follows it a form. What is decoded is no longer than
 * what came, and encoded again it decodes to the same; names, times and durations do no harm.
 * fuzz-links: api
 */
#include "pieces.h"

#include <errno.h>

#include "api/params.h"
#include "base/buf.h"
#include "promql/parse.h"

/* Every byte as %XX. */
static void encode(struct span s, struct buf *out)
{
    for (size_t i = 0; i < s.n; i++)
        FUZZ_CHECK(buf_printf(out, "%%%02x", (unsigned char)s.p[i]) == 0);
}

static void check_again(struct arena *a, const struct params *p)
{
    struct buf text;
    struct params again;
    buf_init(&text, 1 << 24);
    for (size_t i = 0; i < p->n; i++) {
        encode(p->at[i].name, &text);
        FUZZ_CHECK(buf_append(&text, SPAN("=")) == 0);
        encode(p->at[i].value, &text);
        FUZZ_CHECK(buf_append(&text, SPAN("&")) == 0);
    }
    if (p->n < PARAMS_MAX) {
        FUZZ_CHECK(params_parse(a, buf_span(&text), SPAN(""), &again) == 0);
        FUZZ_CHECK(again.n == p->n);
        for (size_t i = 0; i < p->n; i++) {
            FUZZ_CHECK(span_eq(again.at[i].name, p->at[i].name));
            FUZZ_CHECK(span_eq(again.at[i].value, p->at[i].value));
        }
    }
    buf_done(&text);
}

static void check_values(struct arena *a, const struct params *p)
{
    for (size_t i = 0; i < p->n; i++) {
        struct span name, v = p->at[i].value;
        int64_t ms = 0;
        if (params_time(v, &ms) == 0)
            FUZZ_CHECK(ms >= PARAMS_TIME_MIN && ms <= PARAMS_TIME_MAX);
        int64_t told_ms;
        if (params_duration(v, &ms) == 0 && promql_parse_duration(v, &told_ms) == 0)
            FUZZ_CHECK(ms == told_ms);
        FUZZ_CHECK(params_unescape_name(a, v, &name) == 0);
        FUZZ_CHECK(name.n <= v.n);
        FUZZ_CHECK(span_eq(params_get(p, p->at[i].name), v) ||
                   params_get(p, p->at[i].name).p != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span form = span_of((const char *)data, size);
    struct span query = span_split(&form, '\n');
    struct arena a;
    struct params p;
    arena_init(&a, NULL);
    int r = params_parse(&a, query, form, &p);
    FUZZ_CHECK(r == 0 || r == -EINVAL || r == -E2BIG);
    if (r == 0) {
        check_again(&a, &p);
        check_values(&a, &p);
    }
    arena_done(&a);
    return 0;
}
