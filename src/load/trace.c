/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load/trace.c - rows are read in file order, spread within their buckets session by session, then
 * put in order of time.
 */
#include "load/trace.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/rng.h"

enum { COLUMNS_MAX = 64, FILE_MAX = 256 * MIB };
#define SPREAD_MAX_NS (10 * NS_PER_S)
#define ARRIVAL_MAX_S 1e8

enum column {
    COLUMN_ARRIVAL_S,
    COLUMN_ARRIVAL_MS,
    COLUMN_INPUT,
    COLUMN_OUTPUT,
    COLUMN_SESSION,
    COLUMN_TYPE,
    COLUMN_COUNT_,
};

static const char *const column_names[COLUMN_COUNT_] = {
    "arrival_s", "arrival_ms", "input_tokens", "output_tokens", "session", "type",
};

struct reader {
    const char *name;
    const struct trace_options *options;
    struct err *reterr;
    int line;
    int of_column[COLUMNS_MAX]; /* enum column, or -1 */
    int n_columns;
    bool has[COLUMN_COUNT_];
    struct span session; /* of the row before */
    int32_t n_sessions;
    struct trace_row *rows;
    size_t n, cap;
};

/* column: in bytes, from 1. */
static int fail(struct reader *r, size_t column, const char *what, struct span value)
{
    return err_set(r->reterr, -EINVAL, "%s:%d:%zu: %s, not \"%.*s\"", r->name, r->line, column,
                   what, (int)(value.n < 40 ? value.n : 40), value.p);
}

/* --- the line of names --- */

static int column_find(struct span name)
{
    for (int i = 0; i < COLUMN_COUNT_; i++) {
        if (span_eq(name, span_cstr(column_names[i])))
            return i;
    }
    return -1;
}

static int missing(struct reader *r, const char *what)
{
    (void)err_set(r->reterr, -EINVAL, "%s:1:1: there is no column %s", r->name, what);
    err_hint(r->reterr, "the first line names the columns, separated by tabs: arrival_s (or "
                        "arrival_ms), input_tokens, output_tokens");
    return -EINVAL;
}

static int read_names(struct reader *r, struct span line)
{
    while (line.n > 0) {
        int c = column_find(span_trim(span_split(&line, '\t')));

        if (r->n_columns == COLUMNS_MAX)
            return err_set(r->reterr, -EINVAL, "%s:1:1: more than %d columns", r->name,
                           COLUMNS_MAX);
        r->of_column[r->n_columns++] = c;
        if (c >= 0)
            r->has[c] = true;
    }
    if (!r->has[COLUMN_ARRIVAL_S] && !r->has[COLUMN_ARRIVAL_MS])
        return missing(r, "arrival_s or arrival_ms");
    if (!r->has[COLUMN_INPUT])
        return missing(r, "input_tokens");
    return r->has[COLUMN_OUTPUT] ? 0 : missing(r, "output_tokens");
}

/* --- rows --- */

static int read_arrival(struct span value, double per_s, int64_t *ret_ns)
{
    double v;

    if (num_parse_double(value, &v) < 0 || v < 0 || v / per_s > ARRIVAL_MAX_S)
        return -EINVAL;
    *ret_ns = llround(v / per_s * 1e9);
    return 0;
}

static int read_field(struct reader *r, enum column c, size_t at, struct span value,
                      struct trace_row *row)
{
    int64_t *count = c == COLUMN_INPUT ? &row->input_tokens : &row->output_tokens;

    switch (c) {
    case COLUMN_ARRIVAL_S:
    case COLUMN_ARRIVAL_MS:
        if (read_arrival(value, c == COLUMN_ARRIVAL_S ? 1 : 1000, &row->at_ns) < 0)
            return fail(r, at, "an arrival time is a number, 0 or more", value);
        return 0;
    case COLUMN_INPUT:
    case COLUMN_OUTPUT:
        if (num_parse_i64(value, count) < 0 || *count < 0)
            return fail(r, at, "a token count is a whole number, 0 or more", value);
        return 0;
    case COLUMN_SESSION:
        if (!span_eq(value, r->session) || r->n_sessions == 0) {
            r->session = value;
            r->n_sessions++;
        }
        row->session = r->n_sessions - 1;
        return 0;
    case COLUMN_TYPE:
        if (!span_eq(value, SPAN("n")) && !span_eq(value, SPAN("s")))
            return fail(r, at, "a type is n (no stream) or s (stream)", value);
        row->is_stream = value.p[0] == 's';
        return 0;
    default:
        return 0;
    }
}

/* A row may be shorter than the line of names, as long as every column that is read is there. */
static int read_row(struct reader *r, struct span line, struct trace_row *row)
{
    const char *start = line.p;
    bool is_over = false;

    *row = (struct trace_row){.is_stream = -1};
    for (int i = 0; i < r->n_columns; i++) {
        size_t at = (size_t)(line.p - start) + 1;
        bool is_last = span_find_char(line, '\t') == line.n;
        struct span value = span_trim(span_split(&line, '\t'));
        int result;

        if (r->of_column[i] >= 0 && is_over)
            return err_set(r->reterr, -EINVAL, "%s:%d:%zu: the row ends before column %s", r->name,
                           r->line, at, column_names[r->of_column[i]]);
        result = r->of_column[i] < 0 || is_over
                     ? 0
                     : read_field(r, (enum column)r->of_column[i], at, value, row);
        if (result < 0)
            return result;
        is_over = is_over || is_last;
    }
    return 0;
}

static int rows_add(struct reader *r, const struct trace_row *row)
{
    if (r->n == r->cap) {
        size_t cap = r->cap > 0 ? r->cap * 2 : 1024;
        struct trace_row *grown = mem_realloc(r->rows, cap * sizeof(*grown));

        if (!grown)
            return err_set(r->reterr, -ENOMEM, "%s: out of memory", r->name);
        r->rows = grown;
        r->cap = cap;
    }
    r->rows[r->n++] = *row;
    return 0;
}

static int read_lines(struct reader *r, struct span text)
{
    int result = 0;

    while (text.n > 0 && result == 0) {
        struct span line = span_split(&text, '\n');
        struct trace_row row;

        r->line++;
        if (line.n > 0 && line.p[line.n - 1] == '\r')
            line.n--;
        if (r->line == 1) {
            result = read_names(r, line);
            continue;
        }
        if (span_trim(line).n == 0)
            continue;
        result = read_row(r, line, &row);
        if (result == 0)
            result = rows_add(r, &row);
    }
    if (result == 0 && r->n == 0)
        result = err_set(r->reterr, -EINVAL, "%s: no requests in it", r->name);
    return result;
}

/* --- time --- */

static int compare(const void *a, const void *b)
{
    const struct trace_row *x = a, *y = b;

    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    return 0;
}

static int compare_in_session(const void *a, const void *b)
{
    const struct trace_row *x = a, *y = b;

    if (x->session != y->session)
        return x->session < y->session ? -1 : 1;
    return compare(a, b);
}

/* Rows first..end share a session and a time; gap_ns is the room behind it. */
static void spread(struct trace_row *rows, size_t first, size_t end, int64_t gap_ns,
                   struct rng *rng)
{
    if (end - first < 2 || gap_ns <= 0)
        return;
    if (gap_ns > SPREAD_MAX_NS)
        gap_ns = SPREAD_MAX_NS;
    for (size_t i = first; i < end; i++)
        rows[i].at_ns += (int64_t)rng_below(rng, (uint64_t)gap_ns);
}

static void spread_all(struct trace_row *rows, size_t n, uint64_t seed)
{
    struct rng rng;
    int64_t gap_ns = 0; /* of the bucket before: for the last bucket */

    rng_seed(&rng, seed);
    for (size_t first = 0, end; first < n; first = end) {
        int64_t at_ns = rows[first].at_ns;

        for (end = first;
             end < n && rows[end].session == rows[first].session && rows[end].at_ns == at_ns;)
            end++;
        if (end < n && rows[end].session == rows[first].session)
            gap_ns = rows[end].at_ns - at_ns;
        spread(rows, first, end, gap_ns, &rng);
        if (end < n && rows[end].session != rows[first].session)
            gap_ns = 0;
    }
}

int trace_parse(const char *name, struct span text, const struct trace_options *options,
                struct trace *ret, struct err *reterr)
{
    struct reader r = {.name = name, .options = options, .reterr = reterr};
    int result = read_lines(&r, text);

    if (result < 0 || !r.rows) { /* without rows there is an error */
        mem_free(r.rows);
        return result;
    }
    qsort(r.rows, r.n, sizeof(r.rows[0]), compare_in_session);
    spread_all(r.rows, r.n, options->seed);
    for (size_t i = 0; i < r.n; i++)
        r.rows[i].at_ns += r.rows[i].session * options->session_every_ns;
    qsort(r.rows, r.n, sizeof(r.rows[0]), compare);
    *ret = (struct trace){.rows = r.rows, .n = r.n};
    return 0;
}

static int file_read(const char *path, struct buf *ret, struct err *reterr)
{
    FILE *f = fopen(path, "re");
    size_t n = 1;
    int r = 0;

    if (!f)
        return err_set(reterr, -errno, "could not open trace \"%s\": %s", path, err_str(-errno));
    while (n > 0 && r == 0) {
        char *p;

        r = buf_reserve(ret, 64 * KIB, &p);
        if (r == 0) {
            n = fread(p, 1, 64 * KIB, f);
            buf_commit(ret, n);
        }
    }
    if (r == 0 && ferror(f))
        r = -EIO;
    (void)fclose(f); /* it was only read */
    return r < 0 ? err_set(reterr, r, "could not read trace \"%s\": %s", path, err_str(r)) : 0;
}

int trace_read(const char *path, const struct trace_options *options, struct trace *ret,
               struct err *reterr)
{
    struct buf text;
    int r;

    buf_init(&text, FILE_MAX);
    r = file_read(path, &text, reterr);
    if (r == 0)
        r = trace_parse(path, buf_span(&text), options, ret, reterr);
    buf_done(&text);
    return r;
}

void trace_done(struct trace *t)
{
    mem_free(t->rows);
    *t = (struct trace){0};
}
