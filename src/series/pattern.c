/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/pattern.c - PCRE2 behind a seam.
 *
 * pcre2_match backtracks: there are patterns for which that takes time that doubles with each
 * byte. So it gets a budget of steps, and what does not end within it goes to pcre2_dfa_match,
 * which follows all ways at once. That one needs room for the states it is in, which it searches
 * one after the other for each byte: the longer the text, the less room it gets. And one pattern
 * may take that way a limited number of times, since a query may ask of many thousand values.
 */
#include "series/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <errno.h>
#include <math.h>
#include <pcre2.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/utf8.h"

enum {
    STEPS_MAX = 100000,     /* of pcre2_match, some ms */
    STEPS_MANY_MAX = 10000, /* the same, for each match when a text has many */
    FOUND_FEW = 100,        /* how many are not many */
    DEPTH_MAX = 10000,      /* of nested recursion */
    HEAP_MAX_KIB = 4096,    /* of its frames */
    STATES_MIN = 1024,      /* ints of pcre2_dfa_match's workspace */
    STATES_MAX = 64 * 1024, /* the same */
    SLOW_MAX = 1000,        /* texts of one pattern that go to pcre2_dfa_match */
    NESTING_MAX = 250,      /* parentheses */
    GROUP_NAME_MAX = 128,   /* with its end */
};

/* Comparisons of states that pcre2_dfa_match may make for one text: about half a second. */
#define DFA_WORK_MAX 5e8

struct pattern {
    pcre2_general_context *memory;
    pcre2_match_context *limits;
    pcre2_code *code;
    pcre2_match_data *found;
    int n_slow;
};

static void *pattern_malloc(size_t n, void *ctx)
{
    (void)ctx;
    return mem_alloc(n);
}

static void pattern_mfree(void *p, void *ctx)
{
    (void)ctx;
    mem_free(p);
}

struct pattern *pattern_free(struct pattern *p)
{
    if (!p)
        return NULL;
    pcre2_match_data_free(p->found);
    pcre2_code_free(p->code);
    pcre2_match_context_free(p->limits);
    pcre2_general_context_free(p->memory);
    mem_free(p);
    return NULL;
}

static int refuse(struct err *reterr, const char *why, size_t at, struct span text)
{
    int n = text.n > 200 ? 200 : (int)text.n;
    return err_set(reterr, -EINVAL, "error parsing regexp: %s at offset %zu of `%.*s`", why, at, n,
                   text.p);
}

static int pattern_compile(struct pattern *p, struct span text, bool is_search, struct err *reterr)
{
    const uint32_t whole = PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_DOTALL;
    const uint32_t options =
        PCRE2_DOLLAR_ENDONLY | PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | (is_search ? 0 : whole);
    pcre2_compile_context *how = pcre2_compile_context_create(p->memory);
    int code;
    size_t at;

    if (!how)
        return -ENOMEM;
    pcre2_set_parens_nest_limit(how, NESTING_MAX);
    p->code = pcre2_compile((PCRE2_SPTR)text.p, text.n, options, &code, &at, how);
    pcre2_compile_context_free(how);
    if (p->code)
        return 0;
    if (code == PCRE2_ERROR_HEAP_FAILED)
        return -ENOMEM;
    char why[160];
    if (pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof(why)) < 0)
        why[0] = '\0';
    return refuse(reterr, why, at, text);
}

static int pattern_init(struct pattern *p, struct span text, bool is_search, struct err *reterr)
{
    int r;

    p->memory = pcre2_general_context_create(pattern_malloc, pattern_mfree, NULL);
    p->limits = p->memory ? pcre2_match_context_create(p->memory) : NULL;
    if (!p->limits)
        return -ENOMEM;
    pcre2_set_match_limit(p->limits, STEPS_MAX);
    pcre2_set_depth_limit(p->limits, DEPTH_MAX);
    pcre2_set_heap_limit(p->limits, HEAP_MAX_KIB);
    r = pattern_compile(p, text, is_search, reterr);
    if (r != 0)
        return r;
    p->found = pcre2_match_data_create_from_pattern(p->code, p->memory);
    return p->found ? 0 : -ENOMEM;
}

static int pattern_make(struct span text, bool is_search, struct pattern **ret, struct err *reterr)
{
    size_t at = 0;
    const char *wrong = pattern_syntax_check(text, &at);
    struct pattern *p;
    int r;

    if (text.n == 0)
        text = SPAN(""); /* PCRE2 wants a pointer */
    if (text.n > PATTERN_TEXT_MAX)
        return err_set(reterr, -EINVAL, "error parsing regexp: expression is too large (%zu bytes)",
                       text.n);
    if (wrong)
        return refuse(reterr, wrong, at, text);
    p = mem_zalloc(1, sizeof(*p));
    if (!p)
        return -ENOMEM;
    r = pattern_init(p, text, is_search, reterr);
    if (r == 0)
        *ret = p;
    else
        pattern_free(p);
    return r;
}

int pattern_new(struct span text, struct pattern **ret, struct err *reterr)
{
    return pattern_make(text, false, ret, reterr);
}

int pattern_new_search(struct span text, struct pattern **ret, struct err *reterr)
{
    return pattern_make(text, true, ret, reterr);
}

/* PCRE2's result: found, not found, or why not known. */
static int match_result(int code)
{
    if (code >= 0)
        return 1;
    if (code == PCRE2_ERROR_NOMEMORY)
        return -ENOMEM;
    if (code == PCRE2_ERROR_MATCHLIMIT || code == PCRE2_ERROR_DEPTHLIMIT ||
        code == PCRE2_ERROR_HEAPLIMIT || code == PCRE2_ERROR_DFA_WSSIZE)
        return -E2BIG;
    return 0; /* no match; or s is no UTF-8 */
}

/* A state has three ints in each of two lists. */
static size_t states_for(size_t n_bytes)
{
    double n = 6 * sqrt(DFA_WORK_MAX / (double)(n_bytes + 1));
    return n < STATES_MIN ? STATES_MIN : n > STATES_MAX ? STATES_MAX : (size_t)n;
}

static int match_without_backtracking(struct pattern *p, struct span s)
{
    size_t n = states_for(s.n);
    int *workspace;
    int r;

    if (++p->n_slow > SLOW_MAX)
        return -E2BIG;
    workspace = mem_alloc(n * sizeof(*workspace));
    if (!workspace)
        return -ENOMEM;
    r = match_result(
        pcre2_dfa_match(p->code, (PCRE2_SPTR)s.p, s.n, 0, 0, p->found, p->limits, workspace, n));
    mem_free(workspace);
    return r;
}

int pattern_matches(struct pattern *p, struct span s)
{
    int r;

    if (s.n == 0)
        s = SPAN("");
    r = match_result(pcre2_match(p->code, (PCRE2_SPTR)s.p, s.n, 0, 0, p->found, p->limits));
    return r == -E2BIG ? match_without_backtracking(p, s) : r;
}

int pattern_n_slow(const struct pattern *p)
{
    return p->n_slow;
}

static bool is_word(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The name behind a '$', consumed; empty when the '$' is plain. */
static struct span take_group(struct span *s)
{
    bool has_brace = s->n > 0 && s->p[0] == '{';
    size_t from = has_brace ? 1 : 0;
    size_t n = 0;

    while (from + n < s->n && is_word(s->p[from + n]))
        n++;
    if (n == 0 || (has_brace && (from + n >= s->n || s->p[from + n] != '}')))
        return SPAN("");
    struct span name = span_of(s->p + from, n);
    (void)span_take(s, from + n + (has_brace ? 1 : 0));
    return name;
}

/* What a group matched; empty for one that took no part, or that there is not. */
static struct span group_text(struct pattern *p, struct span s, struct span name)
{
    char text[GROUP_NAME_MAX];
    const size_t *ends = pcre2_get_ovector_pointer(p->found);
    uint32_t n_groups = pcre2_get_ovector_count(p->found);
    uint64_t i;

    if (num_parse_u64(name, &i) != 0) {
        int found;
        if (name.n >= sizeof(text))
            return SPAN("");
        (void)span_copy(name, text, sizeof(text));
        found = pcre2_substring_number_from_name(p->code, (PCRE2_SPTR)text);
        if (found < 0)
            return SPAN("");
        i = (uint64_t)found;
    }
    if (i >= n_groups || ends[2 * i] == PCRE2_UNSET)
        return SPAN("");
    return span_of(s.p + ends[2 * i], ends[2 * i + 1] - ends[2 * i]);
}

static int expand(struct pattern *p, struct span s, struct span replacement, struct buf *out)
{
    int r = 0;

    while (replacement.n > 0 && r == 0) {
        struct span plain = span_take(&replacement, span_find_char(replacement, '$'));
        r = plain.n > 0 ? buf_append(out, plain) : 0;
        if (r != 0 || replacement.n == 0)
            break;
        (void)span_take(&replacement, 1);
        if (replacement.n > 0 && replacement.p[0] == '$') {
            r = buf_append(out, span_take(&replacement, 1));
            continue;
        }
        struct span name = take_group(&replacement);
        struct span text = name.n > 0 ? group_text(p, s, name) : SPAN("$");
        r = text.n > 0 ? buf_append(out, text) : 0;
    }
    return r;
}

int pattern_expand(struct pattern *p, struct span s, struct span replacement, struct buf *out)
{
    size_t len = out ? buf_len(out) : 0;
    int r;

    if (s.n == 0)
        s = SPAN("");
    /* Not the matcher without backtracking: it knows no groups. */
    r = match_result(pcre2_match(p->code, (PCRE2_SPTR)s.p, s.n, 0, 0, p->found, p->limits));
    if (r <= 0 || !out)
        return r > 0 ? 0 : r == 0 ? -EINVAL : r;
    r = expand(p, s, replacement, out);
    if (r != 0)
        buf_truncate(out, len);
    return r;
}

/* Where the search goes on behind a match that ended at end: at least a character further. */
static size_t search_from(struct span s, size_t at, size_t end)
{
    bool is_valid;
    if (end > at || at >= s.n)
        return end > at ? end : at + 1;
    return at + utf8_step(span_from(s, at), &is_valid);
}

/*
 * As Go does it: an empty match right behind another one counts for nothing. The text's encoding is
 * looked at once, in the first search.
 */
static int replace_all(struct pattern *p, struct span s, struct span replacement, struct buf *out)
{
    const size_t *ends = pcre2_get_ovector_pointer(p->found);
    size_t at = 0, done = 0;
    int r = 0, n;

    for (n = 0; at <= s.n && r == 0; n++) {
        if (n == FOUND_FEW)
            pcre2_set_match_limit(p->limits, STEPS_MANY_MAX);
        int found = match_result(pcre2_match(p->code, (PCRE2_SPTR)s.p, s.n, at,
                                             n > 0 ? PCRE2_NO_UTF_CHECK : 0, p->found, p->limits));
        if (found <= 0 || n == PATTERN_FOUND_MAX) {
            r = found > 0 ? -E2BIG : found;
            break;
        }
        size_t from = ends[0], to = ends[1];
        if (from > done)
            r = buf_append(out, span_of(s.p + done, from - done));
        if (r == 0 && (to > done || from == 0))
            r = expand(p, s, replacement, out);
        done = to;
        at = search_from(s, at, to);
    }
    if (r == 0 && done < s.n)
        r = buf_append(out, span_from(s, done));
    return r == 0 ? n : r;
}

int pattern_replace_all(struct pattern *p, struct span s, struct span replacement, struct buf *out)
{
    size_t len = buf_len(out);
    int r;

    if (s.n == 0)
        s = SPAN("");
    r = replace_all(p, s, replacement, out);
    pcre2_set_match_limit(p->limits, STEPS_MAX);
    if (r < 0)
        buf_truncate(out, len);
    return r;
}
