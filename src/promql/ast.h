/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/ast.h - an expression as a tree.
 *
 * Role:      what parse.h makes, print.h writes and the evaluator walks.
 * Units:     durations and times in ms; positions are byte offsets into the query.
 * Ownership: nodes and texts live in the arena of the parse; matchers in node_selector need
 *            promql_free_expr (PCRE2's own memory), which promql_parse's result has.
 * Threading: immutable behind the parse.
 * Source:    Prometheus 3.x, "Querying".
 */
#ifndef PROMQL_AST_H
#define PROMQL_AST_H

#include <stdbool.h>
#include <stdint.h>

#include "series/matcher.h"

enum promql_type { PROMQL_SCALAR, PROMQL_VECTOR, PROMQL_MATRIX, PROMQL_STRING };
const char *promql_type_name(enum promql_type t); /* "scalar", "instant vector", ... */

enum node_kind {
    NODE_NUMBER,
    NODE_STRING,
    NODE_PAREN,
    NODE_NEGATE, /* unary minus; unary plus leaves its operand */
    NODE_BINARY,
    NODE_AGGREGATE,
    NODE_CALL,
    NODE_SELECTOR, /* instant vector, or with a range: matrix */
    NODE_SUBQUERY,
};

enum binary_op {
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_MOD,
    OP_POW,
    OP_ATAN2,
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_TRIM_UPPER,
    OP_TRIM_LOWER, /* </ and >/ */
    OP_AND,
    OP_OR,
    OP_UNLESS,
    OP_COUNT_,
};
struct binary_op_info {
    const char *text;
    int precedence; /* higher binds tighter */
    bool is_right_associative, is_comparison, is_set;
};
extern const struct binary_op_info binary_ops[OP_COUNT_];

enum aggregate_op {
    AGG_SUM,
    AGG_AVG,
    AGG_COUNT,
    AGG_MIN,
    AGG_MAX,
    AGG_GROUP,
    AGG_STDDEV,
    AGG_STDVAR,
    AGG_TOPK,
    AGG_BOTTOMK,
    AGG_COUNT_VALUES,
    AGG_QUANTILE,
    AGG_LIMITK,
    AGG_LIMIT_RATIO,
    AGG_COUNT_,
};
struct aggregate_op_info {
    const char *text;
    bool has_parameter;
    enum promql_type parameter;
};
extern const struct aggregate_op_info aggregate_ops[AGG_COUNT_];

/* A function's signature. */
enum { PROMQL_ARGS_MAX = 64 }; /* of any call */
struct function_info {
    const char *name;
    enum promql_type returns;
    enum promql_type args[5]; /* further ones are as the last */
    uint8_t n_args;           /* declared in args */
    uint8_t n_min, n_max;     /* how many a call may have; PROMQL_ARGS_MAX: as many as it likes */
    bool is_unsupported;      /* known, and told so when it is called (info) */
};
const struct function_info *function_find(struct span name);
extern const struct function_info function_infos[];
extern const size_t n_function_infos;

/*
 * A duration that may be an expression of step(), range() and numbers: [1h/2], offset 2*step();
 * promql_duration_ms (parse.h) is its value.
 */
enum duration_op {
    DUR_NUMBER, /* value in s */
    DUR_STEP,
    DUR_RANGE, /* of the query */
    DUR_ADD,
    DUR_SUB,
    DUR_MUL,
    DUR_DIV,
    DUR_MOD,
    DUR_POW,
    DUR_NEGATE,
    DUR_MIN_OF,
    DUR_MAX_OF,
};
struct duration {
    enum duration_op op;
    bool is_written_as_duration; /* "5m", not "300" */
    bool is_wrapped;             /* in parentheses */
    double seconds;
    const struct duration *left, *right;
    size_t from, to;
};

/* The moment of @: fixed, or an end of the query's range. */
enum at_kind { AT_NONE, AT_TIME, AT_START, AT_END };
struct when {
    enum at_kind at;
    int64_t at_ms;
    const struct duration *offset; /* NULL: none */
};

enum match_card { MATCH_ONE_TO_ONE, MATCH_MANY_TO_ONE, MATCH_ONE_TO_MANY, MATCH_MANY_TO_MANY };
struct vector_matching {
    enum match_card card;     /* many: the side of group_left / group_right; set operators: both */
    bool is_on;               /* on (names) or ignoring (names) */
    const struct span *names; /* sorted, unique */
    size_t n_names;
    const struct span *include; /* labels of group_left(...) */
    size_t n_include;
    bool has_fill_left, has_fill_right;
    double fill_left, fill_right;
};

struct node {
    enum node_kind kind;
    enum promql_type type;
    size_t from, to; /* where it stands in the query */
    union {
        struct {
            double value;
            bool is_duration; /* written as "5m" */
        } number;
        struct span string;
        const struct node *inner; /* NODE_PAREN, NODE_NEGATE */
        struct {
            enum binary_op op;
            bool is_bool;
            const struct node *left, *right;
            const struct vector_matching *matching; /* NULL: a side is a scalar */
        } binary;
        struct {
            enum aggregate_op op;
            const struct node *parameter, *inner;
            const struct span *names; /* sorted, unique */
            size_t n_names;
            bool is_without;
        } aggregate;
        struct {
            const struct function_info *function;
            const struct node **args;
            size_t n_args;
        } call;
        struct {
            struct span name; /* as written before the braces; also among the matchers */
            struct matcher *matchers;
            size_t n_matchers;
            const struct duration *range; /* NULL: instant */
            struct when when;
            bool is_anchored, is_smoothed; /* extended ranges: parsed, told as not supported */
        } selector;
        struct {
            const struct node *inner;
            const struct duration *range, *step; /* step NULL: the default */
            struct when when;
        } subquery;
    };
};

/* Visits n and every node in it, a node before what is in it; a visit that returns nonzero ends it.
 * Returns that, or 0. */
int node_each(const struct node *n, int (*visit)(void *ctx, const struct node *n),
              void *ctx) WARN_UNUSED;
/* The same, selectors only. */
int node_each_selector(const struct node *n, int (*visit)(void *ctx, const struct node *selector),
                       void *ctx) WARN_UNUSED;

#endif
