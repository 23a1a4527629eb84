/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/parse, print: whatever parses is printed, and the text parses to a tree with the same
 * text. The same bytes as a series and as a duration do no harm.
 * fuzz-links: promql series
 */
#include "pieces.h"

#include <errno.h>

#include "promql/parse.h"
#include "series/duration.h"

static void print(const struct promql_expr *e, struct buf *out)
{
    buf_init(out, 1 << 24);
    FUZZ_CHECK(promql_print(promql_root(e), out) == 0);
}

/* An error has a reason, and a place within the text. */
static void check_error(int r, const struct promql_error *error, size_t size)
{
    FUZZ_CHECK(r == -EINVAL || r == -E2BIG);
    FUZZ_CHECK(error->text[0] != '\0');
    FUZZ_CHECK(error->at <= error->to && error->to <= size);
    FUZZ_CHECK(error->line >= 0 && error->column >= 0);
}

static void check_again(struct span text)
{
    struct promql_expr *e = NULL;
    struct promql_error error;
    if (text.n > PROMQL_QUERY_MAX)
        return; /* escapes are longer than what they stand for */
    FUZZ_CHECK(promql_parse(text, &e, &error) == 0);
    struct buf out;
    print(e, &out);
    FUZZ_CHECK(span_eq(buf_span(&out), text));
    buf_done(&out);
    (void)promql_free_expr(e);
}

static void check_query(struct span text)
{
    struct promql_expr *e = NULL;
    struct promql_error error;
    int r = promql_parse(text, &e, &error);
    if (r < 0) {
        check_error(r, &error, text.n);
        return;
    }
    struct buf out;
    print(e, &out);
    (void)promql_free_expr(e);
    check_again(buf_span(&out));
    buf_done(&out);
}

static void check_series(struct span text)
{
    struct arena a;
    arena_init(&a, NULL);
    struct labels l;
    struct promql_error error;
    struct span rest = text;
    int r = promql_parse_series(&rest, &a, &l, &error);
    if (r < 0)
        check_error(r, &error, text.n);
    else
        FUZZ_CHECK(rest.p + rest.n == text.p + text.n && rest.n < text.n);
    arena_done(&a);
}

/* Printed, a duration is read as the same. */
static void check_duration(int64_t ms)
{
    struct buf b;
    int64_t again = 0;
    buf_init(&b, 256);
    if (ms > 0) {
        FUZZ_CHECK(duration_print(ms, &b) == 0);
        FUZZ_CHECK(promql_parse_duration(buf_span(&b), &again) == 0);
        FUZZ_CHECK(again == ms);
    }
    buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = span_of((const char *)data, size);
    int64_t ms;
    check_query(text);
    if (size > 0)
        check_series(text);
    if (promql_parse_duration(text, &ms) == 0)
        check_duration(ms);
    struct promql_expr *e = NULL;
    struct promql_error error;
    int r = promql_parse_selector(text, &e, &error);
    if (r < 0)
        check_error(r, &error, size);
    (void)promql_free_expr(e);
    return 0;
}
