/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/matcher.c - matchers, and patterns that need no regular expression.
 *
 * Dashboards send mostly lists of words (a|b|c), .*, .+ and prefixes. Such a pattern is recognised
 * by unescaping it piece by piece; the first byte that means something else leaves it to PCRE2.
 */
#include "series/matcher.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 10000, WORDS_SORTED_MIN = 9 };

/* What stands before and behind the literal text. */
enum gap { GAP_NONE, GAP_ANY, GAP_SOME }; /* nothing, .* and .+ */

enum quick { QUICK_NONE, QUICK_WORDS, QUICK_LITERAL };

struct matcher_pattern {
    enum quick quick;
    struct span *words; /* QUICK_WORDS; sorted when there are many */
    size_t n_words;
    enum gap before, behind; /* QUICK_LITERAL */
    struct span literal;
    struct pattern *regex; /* QUICK_NONE */
    int error;
};

static bool is_special(char c)
{
    return c == '\0' || strchr("\\.+*?()|[]{}^$", c);
}

/*
 * Takes plain text up to the first special byte or the end, unescaped, into dst (room for s->n
 * bytes). Bytes behind a backslash are plain when they are punctuation.
 */
static size_t take_plain(struct span *s, char *dst)
{
    size_t n = 0;

    while (s->n > 0) {
        char c = s->p[0];
        bool is_escaped = c == '\\' && s->n > 1 && (unsigned char)s->p[1] < 0x80 &&
                          is_special(s->p[1]) && s->p[1] != '\0';
        if (is_escaped) {
            c = s->p[1];
            (void)span_take(s, 1);
        } else if (is_special(c)) {
            break;
        }
        (void)span_take(s, 1);
        dst[n++] = c;
    }
    return n;
}

/* A repetition binds to the last letter: then the text before it is not plain. */
static bool is_repeated(struct span rest)
{
    return rest.n > 0 && strchr("*+?{", rest.p[0]);
}

static enum gap take_gap(struct span *s)
{
    enum gap gap = span_starts_with(*s, SPAN(".*"))   ? GAP_ANY
                   : span_starts_with(*s, SPAN(".+")) ? GAP_SOME
                                                      : GAP_NONE;
    if (gap == GAP_NONE || is_repeated(span_from(*s, 2)))
        return GAP_NONE;
    (void)span_take(s, 2);
    return gap;
}

/* .*text.+ and the like. */
static bool read_literal(struct span text, char *room, struct matcher_pattern *p)
{
    p->before = take_gap(&text);
    size_t n = take_plain(&text, room);
    p->literal = span_of(room, n);
    p->behind = take_gap(&text);
    /* Two gaps with nothing between ask for a sum of lengths, which matching below does not know.
     */
    return text.n == 0 && !(n == 0 && p->before != GAP_NONE && p->behind != GAP_NONE);
}

/* a|b|c, also in one pair of parentheses. */
static bool read_words(struct span text, char *room, struct matcher_pattern *p)
{
    if (text.n >= 2 && text.p[0] == '(' && text.p[text.n - 1] == ')') {
        text = span_of(text.p + 1, text.n - 2);
        if (span_starts_with(text, SPAN("?:")))
            (void)span_take(&text, 2);
    }
    for (;;) {
        size_t n = take_plain(&text, room);
        p->words[p->n_words++] = span_of(room, n);
        room += n;
        if (text.n == 0)
            return true;
        if (text.p[0] != '|')
            return false;
        (void)span_take(&text, 1);
    }
}

static int word_cmp(const void *a, const void *b)
{
    const struct span *x = a;
    const struct span *y = b;
    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    return x->n > 0 ? memcmp(x->p, y->p, x->n) : 0;
}

static int pattern_read(struct arena *a, struct span text, struct matcher_pattern *p,
                        struct err *reterr)
{
    size_t n_bars = 0;
    size_t at;
    char *room = arena_alloc(a, text.n + 1);

    for (size_t i = 0; i < text.n; i++)
        n_bars += text.p[i] == '|';
    if (!room)
        return -ENOMEM;
    if (pattern_syntax_check(text, &at) || text.n > PATTERN_TEXT_MAX)
        return pattern_new(text, &p->regex, reterr); /* which tells why it is refused */
    if (n_bars < WORDS_MAX) {
        p->words = arena_array(a, n_bars + 1, sizeof(*p->words));
        if (!p->words)
            return -ENOMEM;
        if (read_words(text, room, p)) {
            if (p->n_words >= WORDS_SORTED_MIN)
                qsort(p->words, p->n_words, sizeof(*p->words), word_cmp);
            p->quick = QUICK_WORDS;
            return 0;
        }
    }
    if (read_literal(text, room, p)) {
        p->quick = QUICK_LITERAL;
        return 0;
    }
    return pattern_new(text, &p->regex, reterr);
}

int matcher_init(struct arena *a, enum matcher_op op, struct span name, struct span value,
                 struct matcher *ret, struct err *reterr)
{
    struct matcher m = {.op = op, .name = arena_dup(a, name), .value = arena_dup(a, value)};

    if (!m.name.p || !m.value.p)
        return -ENOMEM;
    if (op == MATCH_RE || op == MATCH_NRE) {
        m.pattern = arena_zalloc(a, 1, sizeof(*m.pattern));
        if (!m.pattern)
            return -ENOMEM;
        int r = pattern_read(a, m.value, m.pattern, reterr);
        if (r != 0)
            return r;
    }
    *ret = m;
    return 0;
}

void matcher_done(struct matcher *m)
{
    if (m->pattern)
        m->pattern->regex = pattern_free(m->pattern->regex);
    m->pattern = NULL;
}

static bool words_match(const struct matcher_pattern *p, struct span value)
{
    if (p->n_words >= WORDS_SORTED_MIN)
        return bsearch(&value, p->words, p->n_words, sizeof(*p->words), word_cmp) != NULL;
    for (size_t i = 0; i < p->n_words; i++)
        if (span_eq(p->words[i], value))
            return true;
    return false;
}

static bool gap_takes(enum gap gap, size_t n)
{
    return gap == GAP_ANY || (gap == GAP_SOME ? n > 0 : n == 0);
}

static bool literal_matches(const struct matcher_pattern *p, struct span value)
{
    struct span literal = p->literal;

    if (value.n < literal.n)
        return false;
    size_t n_rest = value.n - literal.n;
    if (p->before == GAP_NONE)
        return span_starts_with(value, literal) && gap_takes(p->behind, n_rest);
    if (p->behind == GAP_NONE)
        return span_ends_with(value, literal) && gap_takes(p->before, n_rest);
    /* A gap on either side: each place where the literal stands with room around it. */
    size_t from = p->before == GAP_SOME ? 1 : 0;
    size_t to = p->behind == GAP_SOME ? 1 : 0;
    if (n_rest < from + to)
        return false;
    struct span inner = span_of(value.p + from, value.n - from - to);
    return span_find(inner, literal) < inner.n;
}

/* 1, 0 or a negative errno. */
static int pattern_judge(struct matcher_pattern *p, struct span value)
{
    switch (p->quick) {
    case QUICK_WORDS:
        return words_match(p, value);
    case QUICK_LITERAL:
        return literal_matches(p, value);
    default:
        return pattern_matches(p->regex, value);
    }
}

bool matcher_matches(const struct matcher *m, struct span value)
{
    if (!m->pattern)
        return span_eq(m->value, value) == (m->op == MATCH_EQ);
    int r = pattern_judge(m->pattern, value);
    if (r < 0 && m->pattern->error == 0)
        m->pattern->error = r;
    return r >= 0 && (r == 1) == (m->op == MATCH_RE);
}

int matcher_error(const struct matcher *m)
{
    return m->pattern ? m->pattern->error : 0;
}

bool matcher_matches_all(const struct matcher *m, size_t n, struct labels l)
{
    for (size_t i = 0; i < n; i++)
        if (!matcher_matches(&m[i], labels_get(l, m[i].name)))
            return false;
    return true;
}

bool matcher_matches_empty(const struct matcher *m)
{
    return matcher_matches(m, SPAN(""));
}

size_t matcher_words(const struct matcher *m, const struct span **ret)
{
    if (!m->pattern || m->pattern->quick != QUICK_WORDS)
        return 0;
    *ret = m->pattern->words;
    return m->pattern->n_words;
}

int matcher_print(const struct matcher *m, struct buf *out)
{
    static const char *const signs[] = {
        [MATCH_EQ] = "=", [MATCH_NE] = "!=", [MATCH_RE] = "=~", [MATCH_NRE] = "!~"};
    int r = labels_print_label_name(m->name, out);

    if (r == 0)
        r = buf_append(out, span_cstr(signs[m->op]));
    return r == 0 ? labels_quote(m->value, out) : r;
}
