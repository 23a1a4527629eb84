/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/script_values.c - series lines of test scripts: labels and a sequence of values.
 */
#include <errno.h>
#include <string.h>

#include "base/num.h"
#include "promql/script_private.h"
#include "series/number.h"

struct sequence {
    struct script *script;
    struct script_value *at;
    size_t n, cap;
};

static int sequence_grow(struct sequence *q, size_t n)
{
    bool is_long_line = n > SCRIPT_LINE_VALUES_MAX;
    if (is_long_line || n > SCRIPT_COMMAND_VALUES_MAX - q->script->n_read) {
        (void)err_set(q->script->reterr, -E2BIG, "%d: more than %d values in one %s",
                      q->script->line,
                      is_long_line ? SCRIPT_LINE_VALUES_MAX : SCRIPT_COMMAND_VALUES_MAX,
                      is_long_line ? "line" : "command");
        return -E2BIG;
    }
    struct script_value *at =
        arena_grow(&q->script->arena, q->at, q->n, n - q->n, &q->cap, sizeof(*at));
    if (!at)
        return -ENOMEM;
    q->at = at;
    return 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool takes(struct span *s, char c)
{
    if (s->n == 0 || s->p[0] != c)
        return false;
    (void)span_take(s, 1);
    return true;
}

static size_t sign_length(struct span s)
{
    return span_at(s, 0) == '-' || span_at(s, 0) == '+' ? 1 : 0;
}

static size_t digits_length(struct span s)
{
    size_t n = 0;

    while (is_digit(span_at(s, n)))
        n++;
    return n;
}

/* A word of letters, or a number up to what belongs to it no more: "1e-5", "-.5", "Inf". */
static size_t number_length(struct span s)
{
    size_t n = sign_length(s), from = n;

    while (is_digit(span_at(s, n)) || span_at(s, n) == '.')
        n++;
    if (n == from)
        return s.n < n + 3 ? s.n : n + 3; /* Inf and NaN */
    if (span_at(s, n) == 'e' || span_at(s, n) == 'E') {
        n++;
        n += sign_length(span_from(s, n));
        n += digits_length(span_from(s, n));
    }
    return n;
}

static bool take_number(struct span *s, double *ret)
{
    size_t n = number_length(*s);

    if (number_parse(span_of(s->p, n), ret) != 0)
        return false;
    (void)span_take(s, n);
    return true;
}

/* x5; without one *ret stays. */
static bool take_times(struct span *s, uint64_t *ret)
{
    if (!takes(s, 'x'))
        return true;
    return num_parse_u64(span_take(s, digits_length(*s)), ret) == 0;
}

static int wrong_value(struct sequence *q, struct span item)
{
    return script_wrong(q->script, "cannot read the values from \"%.*s\" on",
                        item.n > 60 ? 60 : (int)item.n, item.p);
}

static int add_times(struct sequence *q, struct script_value value, uint64_t n)
{
    int r = n > SCRIPT_LINE_VALUES_MAX ? sequence_grow(q, SCRIPT_LINE_VALUES_MAX + 1)
                                       : sequence_grow(q, q->n + n);

    for (uint64_t i = 0; i < n && r == 0; i++)
        q->at[q->n++] = value;
    return r;
}

/* 1, 1x5, 1+2x5, stale. */
static int read_floats(struct sequence *q, struct span *s)
{
    struct span item = *s;
    struct script_value value = {.v = 0};
    uint64_t n = 0;
    double step = 0;

    if (span_starts_with(*s, SPAN("stale"))) {
        (void)span_take(s, 5);
        value.v = series_stale();
    } else if (!take_number(s, &value.v)) {
        return wrong_value(q, item);
    }
    bool has_step = s->n > 0 && (s->p[0] == '+' || s->p[0] == '-');
    if ((has_step && (!take_number(s, &step) || s->n == 0 || s->p[0] != 'x')) || !take_times(s, &n))
        return wrong_value(q, item);
    if (!has_step)
        return add_times(q, value, n + 1); /* the first one is there besides the n */
    int r = 0;
    for (uint64_t i = 0; i <= n && r == 0; i++) {
        r = add_times(q, value, 1);
        value.v += step;
    }
    return r;
}

static int read_hist(struct sequence *q, struct span *s, struct fhist **ret, bool *ret_has_hint)
{
    struct span item = *s;
    size_t at = 0;
    int r = fhist_parse(s, &q->script->arena, ret, &at);

    if (r == -EINVAL)
        return script_wrong(q->script, "cannot read the histogram from \"%.*s\" on",
                            item.n - at > 60 ? 60 : (int)(item.n - at), item.p + at);
    if (r == 0) {
        item.n -= s->n;
        *ret_has_hint = span_find(item, SPAN("counter_reset_hint")) < item.n;
    }
    return r;
}

/* One step of {{...}}+{{...}}x5. Unlike the operator "-", it leaves the hint of a counter. */
static int step_hist(struct sequence *q, const struct fhist *h, const struct fhist *step,
                     bool is_minus, struct fhist **ret)
{
    struct arena *a = &q->script->arena;
    unsigned flags;
    int r = is_minus ? fhist_sub(a, h, step, ret, &flags) : fhist_add(a, h, step, ret, &flags);

    if (r != 0)
        return r;
    if (flags & FHIST_INCOMPATIBLE || h->schema > step->schema)
        return script_wrong(q->script, "histograms of schema %d and %d cannot be combined",
                            h->schema, step->schema);
    if (is_minus && h->hint == step->hint)
        (*ret)->hint = h->hint;
    return 0;
}

/* {{...}}, {{...}}x5, {{...}}+{{...}}x5. */
static int read_hists(struct sequence *q, struct span *s)
{
    struct span item = *s;
    struct fhist *h;
    struct fhist *step;
    bool has_hint;
    uint64_t n = 0;
    int r = read_hist(q, s, &h, &has_hint);

    if (r != 0)
        return r;
    bool is_minus = takes(s, '-');
    bool has_step = is_minus || takes(s, '+');
    if (has_step && (r = read_hist(q, s, &step, &has_hint)) != 0)
        return r;
    if ((has_step && (s->n == 0 || s->p[0] != 'x')) || !take_times(s, &n))
        return wrong_value(q, item);
    struct script_value value = {.has_hint = has_hint, .h = h};
    if (!has_step)
        return add_times(q, value, n + 1);
    r = add_times(q, value, 1);
    for (uint64_t i = 0; i < n && r == 0; i++) {
        r = step_hist(q, h, step, is_minus, &h);
        value.h = h;
        if (r == 0)
            r = add_times(q, value, 1);
    }
    return r;
}

static int read_item(struct sequence *q, struct span *s)
{
    struct span item = *s;
    uint64_t n = 1;

    if (span_starts_with(*s, SPAN("{{")))
        return read_hists(q, s);
    if (!takes(s, '_'))
        return read_floats(q, s);
    return take_times(s, &n) ? add_times(q, (struct script_value){.is_omitted = true}, n)
                             : wrong_value(q, item);
}

static int read_sequence(struct sequence *q, struct span s)
{
    int r = 0;

    while (r == 0 && s.n > 0) {
        struct span item = s;
        if (s.p[0] != ' ' && s.p[0] != '\t')
            return wrong_value(q, item);
        while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
            (void)span_take(&s, 1);
        r = s.n > 0 ? read_item(q, &s) : 0;
    }
    return r;
}

int script_read_series(struct script *s, struct span line, struct script_series **ret)
{
    struct sequence q = {.script = s};
    struct promql_error error;
    struct script_series *series = arena_zalloc(&s->arena, 1, sizeof(*series));
    int r = series ? promql_parse_series(&line, &s->arena, &series->labels, &error) : -ENOMEM;

    if (r == -EINVAL)
        return script_wrong(s, "%s", error.text);
    if (r == 0)
        r = read_sequence(&q, line);
    if (r != 0)
        return r;
    s->n_read += q.n;
    series->values = q.at;
    series->n = q.n;
    *ret = series;
    return 0;
}
