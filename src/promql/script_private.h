/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/script_private.h - what the files of the test-script runner share.
 *
 * Memory:    what a command needs lives in the script's arena until the next one. wanted and got
 *            are what the running evaluation would report.
 * Errors:    comparing functions: 0 as told, SCRIPT_DIFFERS (wanted and got say how), or a negative
 *            errno.
 */
#ifndef PROMQL_SCRIPT_PRIVATE_H
#define PROMQL_SCRIPT_PRIVATE_H

#include "base/buf.h"
#include "promql/query.h"
#include "promql/script.h"
#include "series/memory.h"

enum { SCRIPT_DIFFERS = 1 };

/* Values of one line, of one command, in memory: some hundred MiB. */
enum {
    SCRIPT_LINE_VALUES_MAX = 1000000,
    SCRIPT_COMMAND_VALUES_MAX = 5000000,
    SCRIPT_SAMPLES_MAX = 20000000,
};

struct script {
    struct span text; /* what is left of it */
    int line;         /* of the one taken last, from 1 */
    struct arena arena;
    struct memory *memory;
    size_t n_read;   /* values of this command */
    size_t n_loaded; /* samples since the last clear */
    struct script_report *report;
    struct err *reterr;
    struct buf wanted, got;
};

/* script.c */
/* The next line, trimmed, empty where it is a comment; false at the end. */
bool script_take_line(struct script *s, struct span *ret);
/* The next line of a command's block, which an empty line ends. */
bool script_take_block_line(struct script *s, struct span *ret);
/* -EINVAL with "line: ..." in reterr. */
int script_wrong(struct script *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The word at the front, consumed with the space behind it. */
struct span script_take_word(struct span *s);
/* Appends to wanted or got; what is too much is cut. Only -ENOMEM is an error. */
int script_say(struct buf *to, const char *fmt, ...) PRINTF_LIKE(2, 3) WARN_UNUSED;
/* As script_say, of what printing into a buffer returned. */
int script_said(int r);

/* script_values.c: 5 2+3x2 _ stale {{schema:1 count:2 ...}}+{{...}}x3 */
struct script_value {
    bool is_omitted;
    bool has_hint; /* a hint was written, and is compared */
    double v;
    const struct fhist *h; /* NULL: v */
};
struct script_series {
    struct labels labels;
    struct script_value *values;
    size_t n;
    struct script_series *next;
    size_t position; /* among the expected ones, from 1 */
    bool is_seen;
};
/* metric{...} values; in the arena. */
int script_read_series(struct script *s, struct span line, struct script_series **ret) WARN_UNUSED;

/* script_load.c */
int script_load(struct script *s, struct span line) WARN_UNUSED;
/* script_nhcb.c: the classic histograms among series also as histograms with custom buckets. */
int script_load_nhcb(struct script *s, const struct script_series *series,
                     int64_t step_ms) WARN_UNUSED;
/* Appends as a Prometheus would give it back: with the hint that its storage makes. */
int script_append(struct script *s, struct labels labels, int64_t t_ms, double v,
                  const struct fhist *h, const struct fhist **last) WARN_UNUSED;

/* script_expect.c */
enum script_expect_kind {
    EXPECT_ORDERED,
    EXPECT_FAIL,
    EXPECT_WARN,
    EXPECT_NO_WARN,
    EXPECT_INFO,
    EXPECT_NO_INFO,
    EXPECT_COUNT_,
};
struct script_expect {
    enum script_expect_kind kind;
    struct span text;        /* the message, or the pattern's text */
    struct pattern *pattern; /* NULL: text is the whole message */
    bool is_any;             /* whatever it says */
    struct script_expect *next;
};
struct script_eval {
    int line;
    struct span query;
    bool is_range;
    int64_t start_ms, end_ms, step_ms;
    unsigned expects_of; /* kinds, as bits */
    struct script_expect *expects;
    struct script_series *series;
    bool is_scalar, has_range_vector, has_string;
    struct script_value scalar;
    struct span string;
};
/* The head (behind "eval") and the lines of an evaluation. script_eval_done also after an error. */
int script_read_eval(struct script *s, struct span mode, struct span line,
                     struct script_eval *ret) WARN_UNUSED;
void script_eval_done(struct script_eval *e);
bool script_expect_matches(const struct script_expect *e, struct span text);

/* script_eval.c */
int script_run_eval(struct script *s, struct script_eval *e) WARN_UNUSED;
/* script_pin.c: the same expression with every selector at t_ms; *ret is n itself where its worth
 * depends on the time all the same. */
int script_pin(struct arena *a, const struct node *n, int64_t t_ms,
               const struct node **ret) WARN_UNUSED;

/* script_compare.c */
int script_compare_value(struct script *s, struct script_eval *e,
                         const struct value *v) WARN_UNUSED;
/* An instant evaluation's value, taken from this step of a range. */
int script_compare_step(struct script *s, struct script_eval *e, const struct value *v,
                        size_t step) WARN_UNUSED;
int script_compare_notes(struct script *s, const struct script_eval *e,
                         const struct promql_result *result) WARN_UNUSED;

#endif
