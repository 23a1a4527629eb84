/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/parse.h - text of a query to a checked tree, and back.
 *
 * Errors:    -EINVAL with position and reason, worded as Prometheus words them where its users know
 *            the words ("1:5: parse error: ..."); -ENOMEM; -E2BIG: too long or too deep.
 * Limits:    PROMQL_QUERY_MAX bytes (and so at most as many nodes), PROMQL_DEPTH_MAX nested
 *            expressions, PROMQL_HEIGHT_MAX nodes from the root to a leaf (a + b + c + ... is as
 *            high as it has operands): what walks a tree may recurse.
 * Threading: pure.
 */
#ifndef PROMQL_PARSE_H
#define PROMQL_PARSE_H

#include "promql/ast.h"

enum { PROMQL_QUERY_MAX = 64 * 1024, PROMQL_DEPTH_MAX = 250, PROMQL_HEIGHT_MAX = 1000 };

struct promql_error {
    size_t at, to;    /* bytes of the query */
    int line, column; /* from 1; line 0: the reason is not about a place */
    char text[512];   /* without the position */
};

/* A parsed expression; holds its own copy of the text. */
struct promql_expr;
int promql_parse(struct span query, struct promql_expr **ret,
                 struct promql_error *reterr) WARN_UNUSED;
struct promql_expr *promql_free_expr(struct promql_expr *e);
const struct node *promql_root(const struct promql_expr *e);
struct span promql_text(const struct promql_expr *e);

/* "1:5: parse error: unexpected ..." */
int promql_error_print(const struct promql_error *e, struct buf *out) WARN_UNUSED;

/* Line and column, from 1, of a byte of a text. */
void promql_position(struct span text, size_t at, int *ret_line, int *ret_column);

/*
 * A selector alone, as match[] of the HTTP API has it: name{a="b"}, at least one matcher that does
 * not match the empty string. The result is a promql_expr whose root is NODE_SELECTOR.
 */
int promql_parse_selector(struct span text, struct promql_expr **ret,
                          struct promql_error *reterr) WARN_UNUSED;

/* A duration (series/duration.h), or a bare number of seconds, which may be negative. ms. */
int promql_parse_duration(struct span text, int64_t *ret_ms) WARN_UNUSED;

/*
 * What a duration is worth in a query with that step and that range (end - start). -EINVAL: not a
 * number, out of range or, unless it may_be_negative (an offset), not greater than 0.
 */
int promql_duration_ms(const struct duration *d, int64_t step_ms, int64_t range_ms,
                       bool may_be_negative, int64_t *ret_ms,
                       struct promql_error *reterr) WARN_UNUSED;

/* The canonical text of a tree: parses to the same tree. */
int promql_print(const struct node *n, struct buf *out) WARN_UNUSED;

/*
 * The same in another time: every range, offset and step of a subquery is written as what stretch
 * makes of it, in ms, as one plain duration (operations are carried out). Moments (@) and numbers
 * stay. -EINVAL: a duration needs a query's step() or range(), of which there are none here.
 */
enum promql_span { PROMQL_SPAN_RANGE, PROMQL_SPAN_STEP, PROMQL_SPAN_OFFSET };
typedef int64_t (*promql_stretch)(void *ctx, enum promql_span what, int64_t ms);
int promql_print_stretched(const struct node *n, promql_stretch stretch, void *ctx,
                           struct buf *out) WARN_UNUSED;

/*
 * The head of a line of a test script: metric{a="b"} without values; consumes it from *s. The pairs
 * are copied into a. -EINVAL with *reterr.
 */
int promql_parse_series(struct span *s, struct arena *a, struct labels *ret,
                        struct promql_error *reterr) WARN_UNUSED;

#endif
