/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/script_expect.c - eval: what is asked, and what is told of the answer.
 */
#include <errno.h>

#include "promql/script_private.h"
#include "series/number.h"

static const char *const kind_names[EXPECT_COUNT_] = {
    [EXPECT_ORDERED] = "ordered", [EXPECT_FAIL] = "fail", [EXPECT_WARN] = "warn",
    [EXPECT_NO_WARN] = "no_warn", [EXPECT_INFO] = "info", [EXPECT_NO_INFO] = "no_info"};

void script_eval_done(struct script_eval *e)
{
    for (struct script_expect *i = e->expects; i; i = i->next)
        i->pattern = pattern_free(i->pattern);
}

bool script_expect_matches(const struct script_expect *e, struct span text)
{
    if (e->is_any)
        return true;
    return e->pattern ? pattern_matches(e->pattern, text) == 1 : span_eq(e->text, text);
}

/* A pattern that may stand anywhere in the text. */
static int search_new(struct script *s, struct span text, struct pattern **ret)
{
    struct err e = {.text = ""};
    struct buf b;
    int r;

    buf_init(&b, text.n + 16);
    r = buf_printf(&b, ".*(?:%.*s).*", SPAN_ARG(text));
    if (r == 0)
        r = pattern_new(buf_span(&b), ret, &e);
    buf_done(&b);
    return r == -EINVAL ? script_wrong(s, "%s", e.text) : r;
}

static int add_expect(struct script *s, struct script_eval *e, enum script_expect_kind kind,
                      struct span *text, bool is_pattern)
{
    struct script_expect *x = arena_zalloc(&s->arena, 1, sizeof(*x));

    if (!x)
        return -ENOMEM;
    x->kind = kind;
    x->is_any = text == NULL;
    if (text)
        x->text = *text;
    if (is_pattern) {
        int r = search_new(s, *text, &x->pattern);
        if (r != 0)
            return r;
    }
    x->next = e->expects;
    e->expects = x;
    e->expects_of |= 1U << kind;
    return 0;
}

/* from 10s to 1m step 10s */
static int read_times(struct script *s, struct span *line, struct script_eval *e)
{
    static const char *const words[] = {"from", "to", "step"};
    int64_t *const to[] = {&e->start_ms, &e->end_ms, &e->step_ms};

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        struct span word = script_take_word(line);
        struct span time = script_take_word(line);
        if (!span_eq(word, span_cstr(words[i])) || promql_parse_duration(time, to[i]) != 0)
            return script_wrong(s, "a range is \"from TIME to TIME step DURATION\"");
    }
    if (e->end_ms < e->start_ms)
        return script_wrong(s, "the range ends before it starts");
    if (e->step_ms <= 0)
        return script_wrong(s, "the step is not a length of time");
    return 0;
}

static int expect_range_vector(struct script *s, struct span line, struct script_eval *e)
{
    e->has_range_vector = true;
    return read_times(s, &line, e);
}

static int expect_string(struct script *s, struct span line, struct script_eval *e)
{
    struct promql_expr *x;
    int r = promql_parse(line, &x, NULL);

    if (r == -ENOMEM)
        return r;
    if (r != 0 || promql_root(x)->kind != NODE_STRING) {
        if (r == 0)
            promql_free_expr(x);
        return script_wrong(s, "expect string wants a quoted string");
    }
    e->has_string = true;
    e->string = arena_dup(&s->arena, promql_root(x)->string);
    promql_free_expr(x);
    return e->string.p ? 0 : -ENOMEM;
}

/* Contradictions. */
static int check_expects(struct script *s, const struct script_eval *e)
{
    unsigned info = 1U << EXPECT_INFO | 1U << EXPECT_NO_INFO;
    unsigned warn = 1U << EXPECT_WARN | 1U << EXPECT_NO_WARN;
    size_t n_fail = 0;

    if ((e->expects_of & info) == info)
        return script_wrong(s, "info and no_info exclude each other");
    if ((e->expects_of & warn) == warn)
        return script_wrong(s, "warn and no_warn exclude each other");
    for (const struct script_expect *i = e->expects; i; i = i->next)
        n_fail += i->kind == EXPECT_FAIL ? 1 : 0;
    return n_fail > 1 ? script_wrong(s, "there is more than one \"expect fail\"") : 0;
}

/* Behind "expect": TYPE, TYPE msg: TEXT, TYPE regex: PATTERN. */
static int read_expect(struct script *s, struct span line, struct script_eval *e)
{
    struct span rest = line;
    struct span word = script_take_word(&rest);
    struct span how = rest;
    enum script_expect_kind kind = 0;
    int r;

    if (span_eq(word, SPAN("string")))
        return expect_string(s, rest, e);
    if (span_eq(word, SPAN("range")) && span_eq(script_take_word(&rest), SPAN("vector")))
        return expect_range_vector(s, rest, e);
    while (kind < EXPECT_COUNT_ && !span_eq(word, span_cstr(kind_names[kind])))
        kind++;
    if (kind == EXPECT_COUNT_)
        return script_wrong(s, "expect what? fail, warn, no_warn, info, no_info, ordered, string "
                               "or range vector");
    bool is_pattern = span_starts_with(how, SPAN("regex:"));
    if (how.n > 0 && !is_pattern && !span_starts_with(how, SPAN("msg:")))
        return script_wrong(s, "behind \"expect %s\" stands msg: or regex:", kind_names[kind]);
    struct span text = span_trim(span_from(how, is_pattern ? 6 : 4));
    r = add_expect(s, e, kind, how.n > 0 ? &text : NULL, is_pattern);
    return r == 0 ? check_expects(s, e) : r;
}

static int read_expected_series(struct script *s, struct span line, struct script_eval *e,
                                struct script_series ***end, size_t position)
{
    int r = script_read_series(s, line, *end);

    if (r != 0)
        return r;
    if ((**end)->n > 1 && !e->is_range && !e->has_range_vector)
        return script_wrong(s, "an instant evaluation has one value; \"expect range vector\" tells "
                               "of more");
    (**end)->position = position;
    *end = &(**end)->next;
    return 0;
}

/* Old form: a line behind eval_fail that says how. */
static int read_old_failure(struct script *s, struct span line, struct script_eval *e)
{
    bool is_pattern = span_starts_with(line, SPAN("expected_fail_regexp"));
    struct span text = line;

    (void)script_take_word(&text);
    script_eval_done(e);
    e->expects = NULL; /* the plain "it fails" of the head */
    return add_expect(s, e, EXPECT_FAIL, &text, is_pattern);
}

static int read_lines(struct script *s, struct script_eval *e)
{
    struct script_series **end = &e->series;
    struct span line;
    size_t position = 0;
    int r = 0;

    while (r == 0 && script_take_block_line(s, &line)) {
        struct span rest = line;
        struct span word = script_take_word(&rest);
        if (span_starts_with(word, SPAN("expected_fail_")) && (e->expects_of & 1U << EXPECT_FAIL)) {
            r = read_old_failure(s, line, e);
        } else if (span_eq(word, SPAN("expect"))) {
            r = read_expect(s, rest, e);
        } else if (rest.n == 0 && number_parse(word, &e->scalar.v) == 0) {
            e->is_scalar = true;
        } else {
            r = read_expected_series(s, line, e, &end, ++position);
        }
    }
    return r;
}

/* eval_fail and the like: "expect fail" in the head. */
static int read_mode(struct script *s, struct span mode, struct script_eval *e)
{
    static const enum script_expect_kind kinds[] = {EXPECT_FAIL, EXPECT_WARN, EXPECT_INFO,
                                                    EXPECT_ORDERED};

    if (mode.n == 0)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (span_eq(span_from(mode, 1), span_cstr(kind_names[kinds[i]])))
            return add_expect(s, e, kinds[i], NULL, false);
    return script_wrong(s, "there is no command \"eval%.*s\"", mode.n > 60 ? 60 : (int)mode.n,
                        mode.p);
}

int script_read_eval(struct script *s, struct span mode, struct span line, struct script_eval *ret)
{
    struct script_eval *e = ret;
    struct span word = script_take_word(&line);
    int r;

    *e = (struct script_eval){.line = s->line};
    r = read_mode(s, mode, e);
    if (r != 0)
        return r;
    if (span_eq(word, SPAN("range"))) {
        e->is_range = true;
        r = read_times(s, &line, e);
    } else if (!span_eq(word, SPAN("instant"))) {
        r = script_wrong(s,
                         "eval wants \"instant at TIME QUERY\" or \"range from TIME to TIME step "
                         "DURATION QUERY\"");
    } else if (span_starts_with(line, SPAN("at "))) {
        (void)script_take_word(&line);
        r = promql_parse_duration(script_take_word(&line), &e->start_ms) != 0
                ? script_wrong(s, "eval instant wants \"at TIME\"")
                : 0;
        e->end_ms = e->start_ms;
    }
    if (r != 0)
        return r;
    e->query = line;
    if (line.n == 0)
        return script_wrong(s, "there is nothing to evaluate");
    return read_lines(s, e);
}
