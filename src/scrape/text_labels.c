/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scrape/text_labels.c - what stands between braces, and texts with escapes.
 *
 * text_next goes over every label of every page with the same reader as text_labels: what it gives
 * out has no mistake left but a name twice.
 */
#include <errno.h>

#include "base/utf8.h"
#include "scrape/text_private.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define LETTER  (TEXT_METRIC_FIRST | TEXT_METRIC | TEXT_LABEL_FIRST | TEXT_LABEL)
#define DIGIT   (TEXT_METRIC | TEXT_LABEL)
#define FIVE(x) x, x, x, x, x

const unsigned char text_class[256] = {
    ['0'] = FIVE(DIGIT),
    FIVE(DIGIT),
    TEXT_METRIC_FIRST | TEXT_METRIC, /* ':' */
    ['A'] = FIVE(LETTER),
    FIVE(LETTER),
    FIVE(LETTER),
    FIVE(LETTER),
    FIVE(LETTER),
    LETTER,
    ['_'] = LETTER,
    ['a'] = FIVE(LETTER),
    FIVE(LETTER),
    FIVE(LETTER),
    FIVE(LETTER),
    FIVE(LETTER),
    LETTER,
};

static inline bool is_plain(char c)
{
    return c != '"' && c != '\\' && (unsigned char)c < 0x80;
}

/* Where a quote, a backslash or something beyond ASCII is. */
static inline const char *pass_plain(const char *p, const char *end)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
    for (; end - p >= 16; p += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(x, quote), _mm_cmpeq_epi8(x, backslash));
        int bits = _mm_movemask_epi8(_mm_or_si128(hit, x)); /* the top bits */
        if (bits != 0)
            return p + __builtin_ctz((unsigned)bits);
    }
#endif
    while (p < end && is_plain(*p))
        p++;
    return p;
}

/* At the quote that opens a text; the cursor is behind the one that closes it afterwards. */
static bool take_text(struct text_cursor *c, struct span *ret, bool *ret_has_escape)
{
    const char *open = c->p++;
    bool is_valid;

    *ret_has_escape = false;
    for (;;) {
        c->p = pass_plain(c->p, c->end);
        if (c->p == c->end)
            return text_wrong(c, open, "the label's value has no closing quote in this line");
        if (*c->p == '"')
            break;
        if (*c->p == '\\') {
            *ret_has_escape = true;
            c->p += c->end - c->p > 1 && (unsigned char)c->p[1] < 0x80 ? 2 : 1;
            continue;
        }
        size_t n = utf8_step(span_of(c->p, (size_t)(c->end - c->p)), &is_valid);
        if (!is_valid)
            return text_wrong(c, c->p, "the label's value is not UTF-8");
        c->p += n;
    }
    *ret = span_of(open + 1, (size_t)(c->p - open) - 1);
    c->p++;
    return true;
}

void text_begin_labels(struct text_cursor *c)
{
    c->p++;
    text_skip_blanks(c);
}

/* Behind a label: a comma or the end. */
static bool pass_comma(struct text_cursor *c)
{
    text_skip_blanks(c);
    if (text_is_at(c, '}'))
        return true;
    if (!text_is_at(c, ','))
        return text_wrong(c, c->p, "a comma or a closing brace is expected behind a label");
    c->p++;
    text_skip_blanks(c);
    return true;
}

static int wrong(struct text_cursor *c, const char *why)
{
    (void)text_wrong(c, c->p, why);
    return -1;
}

int text_next_label(struct text_cursor *c, size_t n, struct label *ret, bool *ret_has_escape)
{
    if (text_is_at(c, '}')) {
        c->p++;
        return 0;
    }
    if (n == TEXT_LABELS_MAX)
        return wrong(c, "the series has too many labels");
    ret->name = text_take_name(c, TEXT_LABEL_FIRST, TEXT_LABEL);
    if (ret->name.n == 0)
        return wrong(c, "a label's name or a closing brace is expected");
    text_skip_blanks(c);
    if (!text_is_at(c, '='))
        return wrong(c, "'=' is expected behind a label's name");
    c->p++;
    text_skip_blanks(c);
    if (!text_is_at(c, '"'))
        return wrong(c, "a label's value in double quotes is expected");
    return take_text(c, &ret->value, ret_has_escape) && pass_comma(c) ? 1 : -1;
}

/* Of what stands behind a backslash; 0: nothing that is known. */
static char escaped(char c, bool may_quote)
{
    if (c == 'n')
        return '\n';
    return c == '\\' || (c == '"' && may_quote) ? c : '\0';
}

/* Backslashes before anything else stay as they are, as Prometheus has it. */
static int unescape(struct span s, bool may_quote, struct arena *a, struct span *ret)
{
    char *to = arena_alloc(a, s.n);
    size_t n = 0;

    if (!to)
        return -ENOMEM;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i] == '\\' && i + 1 < s.n ? escaped(s.p[i + 1], may_quote) : '\0';
        to[n++] = c ? c : s.p[i];
        i += c != '\0';
    }
    *ret = span_of(to, n);
    return 0;
}

int text_unescape(struct span words, enum text_format format, struct arena *a, struct span *ret)
{
    if (span_find_char(words, '\\') < words.n)
        return unescape(words, format == TEXT_OPENMETRICS, a, ret);
    *ret = words;
    return 0;
}

/* Puts a label where its name belongs; most pages have them in order. False: it is there already.
 */
static bool insert(struct label *pairs, size_t n, struct label label)
{
    size_t at = n;
    int order = -1;

    while (at > 0 && (order = span_cmp(pairs[at - 1].name, label.name)) > 0)
        at--;
    if (at > 0 && order == 0)
        return false;
    memmove(pairs + at + 1, pairs + at, (n - at) * sizeof(*pairs));
    pairs[at] = label;
    return true;
}

/* Those at the cursor, sorted, with empty ones: they make a name be there twice as well. */
static int read_pairs(struct text_cursor *c, struct arena *a, struct label *pairs, size_t *n)
{
    struct label label;
    bool has_escape;
    int r;

    for (size_t i = 0; (r = text_next_label(c, i, &label, &has_escape)) > 0; i++) {
        if (has_escape && unescape(label.value, true, a, &label.value) < 0)
            return -ENOMEM;
        if (!insert(pairs, *n, label)) {
            (void)text_wrong(c, label.name.p, "the series has a label twice");
            return -EINVAL;
        }
        (*n)++;
    }
    return r < 0 ? -EINVAL : 0;
}

static int read_series(struct text_cursor *c, struct arena *a, struct label *pairs, size_t *n)
{
    struct span name = text_take_name(c, TEXT_METRIC_FIRST, TEXT_METRIC);
    int r = 0;

    if (name.n > 0)
        pairs[(*n)++] = (struct label){SPAN(LABEL_NAME), name};
    text_skip_blanks(c);
    if (text_is_at(c, '{')) {
        text_begin_labels(c);
        r = read_pairs(c, a, pairs, n);
    }
    if (r < 0 || c->p == c->end)
        return r;
    (void)text_wrong(c, c->p, "this is not a series");
    return -EINVAL;
}

int text_labels(struct span series, struct arena *a, struct labels *ret, const char **ret_mistake)
{
    struct label pairs[TEXT_LABELS_MAX + 1] UNINITIALIZED; /* the name, too */
    struct text_cursor c = {.p = series.p, .end = series.p + series.n};
    size_t n = 0, n_kept = 0;
    int r = read_series(&c, a, pairs, &n);

    if (r < 0) {
        if (r != -ENOMEM)
            *ret_mistake = c.mistake;
        return r;
    }
    struct label *kept = arena_array(a, n, sizeof(*kept));
    if (!kept)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        if (pairs[i].value.n > 0)
            kept[n_kept++] = pairs[i];
    *ret = (struct labels){kept, n_kept};
    return 0;
}
