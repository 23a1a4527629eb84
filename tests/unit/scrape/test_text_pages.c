/* SPDX-License-Identifier: Apache-2.0 */
/* Random pages, sound and spoilt: a second reader, prefixes, and what is printed again. */
#include <errno.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "guard.h"
#include "pages.h"

enum { PAGE_MAX = 8192, N_PAGES = 3000 };

/* --- a reader of format 0.0.4 that is slow and plain: two regular expressions --- */

#define B     "[ \t]*"
#define LABEL "[a-zA-Z_][a-zA-Z0-9_]*" B "=" B "\"([^\"\\]|\\\\.)*\"" B
#define SET   "[{]" B "(" LABEL "(," B LABEL ")*(," B ")?)?[}]"
#define REST  "^" B "(" SET ")?" B "([^ \t{]+)(" B "(-?[0-9]+))?" B "$"
#define NUMBER                                                                                     \
    "^([+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?|[+-]?[iI][nN][fF]([iI][nN][iI][tT]["    \
    "yY])?|[nN][aA][nN])$"

static regex_t rest_of_line, number;

static void compile(void)
{
    assert_int_equal(regcomp(&rest_of_line, REST, REG_EXTENDED), 0);
    assert_int_equal(regcomp(&number, NUMBER, REG_EXTENDED), 0);
}

static bool is_utf8(const char *s)
{
    struct span left = span_cstr(s);
    bool is_valid = true;
    while (left.n > 0 && is_valid)
        (void)span_take(&left, utf8_step(left, &is_valid));
    return is_valid;
}

struct plain {
    char line[PAGE_MAX];
    size_t from, name_end, set_end; /* of the series */
    double v;
    bool has_time;
    long long t_ms;
};

/* A sample, or false: this line is none that can be read. line has neither CR nor LF at its end. */
static bool plain_sample(struct plain *p)
{
    regmatch_t m[12];
    char word[PAGE_MAX];
    p->from = strspn(p->line, " \t");
    const char *name = p->line + p->from;
    size_t n_name =
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_:0123456789");
    if (n_name == 0 || (name[0] >= '0' && name[0] <= '9') || !is_utf8(p->line))
        return false;
    const char *rest = name + n_name;
    if (regexec(&rest_of_line, rest, ARRAY_LEN(m), m, 0) != 0)
        return false;
    p->name_end = p->from + n_name;
    p->set_end = m[1].rm_so < 0 ? p->name_end : p->name_end + (size_t)m[1].rm_eo;
    (void)span_copy(span_of(rest + m[7].rm_so, (size_t)(m[7].rm_eo - m[7].rm_so)), word,
                    sizeof(word));
    if (regexec(&number, word, 0, NULL, 0) != 0)
        return false;
    p->v = strtod(word, NULL);
    if (isinf(p->v) && !strpbrk(word, "iI"))
        return false;
    p->has_time = m[9].rm_so >= 0;
    /* A time needs a blank in front. */
    if (p->has_time && m[9].rm_so == m[7].rm_eo)
        return false;
    errno = 0;
    p->t_ms = p->has_time ? strtoll(rest + m[9].rm_so, NULL, 10) : 0;
    return errno == 0;
}

static bool is_same_number(double a, double b)
{
    return memcmp(&a, &b, sizeof(a)) == 0 || (isnan(a) && isnan(b));
}

/* Labels of a sound series in the order they come, one at a time, unescaped. */
static const char *plain_label(const char *p, char *name, char *value)
{
    while (strchr(" \t,{", *p))
        p++;
    if (*p == '}')
        return NULL;
    while (!strchr(" \t=", *p))
        *name++ = *p++;
    *name = '\0';
    p = strchr(p, '"') + 1;
    for (; *p != '"'; p++) {
        if (p[0] == '\\' && strchr("\\\"n", p[1]))
            *value++ = *++p == 'n' ? '\n' : *p;
        else
            *value++ = *p;
    }
    *value = '\0';
    return p + 1;
}

static void check_labels(struct span series, const char *line, const struct plain *p)
{
    static char names[TEXT_LABELS_MAX][64], values[TEXT_LABELS_MAX][PAGE_MAX];
    struct arena a;
    struct labels l;
    const char *mistake, *at = p->set_end > p->name_end ? line + p->name_end : NULL;
    size_t n = 0, n_full = 0;
    bool is_twice = false;
    arena_init(&a, NULL);
    int r = text_labels(series, &a, &l, &mistake);
    while (at && (at = plain_label(at, names[n], values[n])) != NULL) {
        for (size_t i = 0; i < n; i++)
            is_twice |= strcmp(names[i], names[n]) == 0;
        n_full += values[n++][0] != '\0';
    }
    assert_int_equal(r, is_twice ? -EINVAL : 0);
    for (size_t i = 0; i < n && r == 0; i++)
        assert_span_equal(line, labels_get(l, span_cstr(names[i])), span_cstr(values[i]));
    if (r == 0) {
        assert_int_equal(l.n, n_full + 1);
        assert_span_equal(line, labels_name(l), span_of(line + p->from, p->name_end - p->from));
        for (size_t i = 1; i < l.n; i++)
            assert_true(labels_cmp((struct labels){&l.at[i - 1], 1}, (struct labels){&l.at[i], 1}) <
                        0);
    }
    arena_done(&a);
}

/* Every line that is no comment is a sample here if it is one there, and the same one. */
static int compare(struct span page)
{
    static struct plain p;
    struct text t;
    struct text_item item;
    size_t line = 0;
    int n_samples = 0;
    text_init(&t, page, TEXT_PROMETHEUS);
    text_next(&t, &item);
    while (page.n > 0) {
        struct span text = span_split(&page, '\n');
        line++;
        if (text.n > 0 && text.p[text.n - 1] == '\r')
            text.n--;
        (void)span_copy(text, p.line, sizeof(p.line));
        const char *first = p.line + strspn(p.line, " \t");
        bool is_ours = item.kind != TEXT_END && item.line == line;
        if (*first != '\0' && *first != '#') {
            bool is_sample = plain_sample(&p);
            if (!is_ours || (item.kind == TEXT_SAMPLE) != is_sample)
                fail_msg("\"%s\": %s here, %s there (%s)", p.line,
                         is_ours ? "something" : "nothing", is_sample ? "a sample" : "none",
                         item.mistake ? item.mistake : "");
            if (is_sample) {
                n_samples++;
                assert_span_equal(p.line, item.series,
                                  span_of(p.line + p.from, p.set_end - p.from));
                assert_row(p.line, is_same_number(item.v, p.v));
                assert_row(p.line, item.has_time == p.has_time && item.t_ms == p.t_ms);
                check_labels(item.series, p.line, &p);
            }
        } else {
            assert_row(p.line, !is_ours || item.kind != TEXT_SAMPLE);
        }
        if (is_ours)
            text_next(&t, &item);
    }
    assert_int_equal(item.kind, TEXT_END);
    return n_samples;
}

static void test_as_the_plain_reader(void **state)
{
    struct pages p = {.format = TEXT_PROMETHEUS};
    char text[PAGE_MAX];
    int n = 0, n_spoilt = 0;
    (void)state;
    compile();
    rng_seed(&p.rng, 11);
    buf_init(&p.out, PAGE_MAX);
    for (int i = 0; i < N_PAGES; i++) {
        pages_make(&p, 12);
        size_t len = span_copy(buf_span(&p.out), text, sizeof(text));
        n += compare(span_of(text, len));
        n_spoilt += compare(span_of(text, pages_spoil(&p, text, len, sizeof(text) - 1)));
    }
    assert_true(n > 7 * N_PAGES && n_spoilt > 5 * N_PAGES && n_spoilt < n);
    buf_done(&p.out);
    regfree(&rest_of_line);
    regfree(&number);
}

/* --- prefixes --- */

enum { ITEMS_MAX = 64 };

struct items {
    struct text_item at[ITEMS_MAX];
    size_t n;
};

static void read_all(struct span body, enum text_format format, struct items *ret)
{
    struct text t;
    ret->n = 0;
    text_init(&t, body, format);
    for (;;) {
        assert_true(ret->n < ITEMS_MAX);
        text_next(&t, &ret->at[ret->n]);
        if (ret->at[ret->n].kind == TEXT_END)
            return;
        ret->n++;
    }
}

/* The first n_bytes of a page: items of whole lines are those of the whole page. */
static void check_prefix(const struct items *whole, struct span cut, enum text_format format)
{
    static struct items got;
    size_t last = 1;
    for (size_t i = 0; i < cut.n; i++)
        last += cut.p[i] == '\n';
    read_all(cut, format, &got);
    for (size_t i = 0; i < got.n; i++) {
        const struct text_item *a = &got.at[i], *b = &whole->at[i];
        if (a->line >= last)
            continue;
        assert_int_equal(a->kind, b->kind);
        assert_int_equal(a->line, b->line);
        assert_true(span_eq(a->series, b->series) && span_eq(a->name, b->name));
        assert_true(is_same_number(a->v, b->v) && a->t_ms == b->t_ms && a->column == b->column);
        assert_true(span_eq(a->exemplar.labels, b->exemplar.labels));
    }
}

static void test_prefixes(void **state)
{
    static struct items whole;
    struct pages p = {0};
    struct guard g, h;
    (void)state;
    rng_seed(&p.rng, 12);
    buf_init(&p.out, PAGE_MAX);
    guard_init(&g, PAGE_MAX);
    guard_init(&h, PAGE_MAX);
    for (int i = 0; i < 60; i++) {
        char text[PAGE_MAX];
        p.format = i % 2 == 0 ? TEXT_PROMETHEUS : TEXT_OPENMETRICS;
        pages_make(&p, 12);
        size_t n = span_copy(buf_span(&p.out), text, sizeof(text));
        n = i % 3 == 0 ? pages_spoil(&p, text, n, sizeof(text)) : n;
        struct span page = guard_copy(&g, span_of(text, n));
        read_all(page, p.format, &whole);
        for (size_t at = 0; at <= n; at++)
            check_prefix(&whole, guard_copy(&h, span_of(text, at)), p.format);
    }
    guard_done(&g);
    guard_done(&h);
    buf_done(&p.out);
}

/* --- printed and read again --- */

static void print_time(struct buf *out, enum text_format format, bool has_time, int64_t t_ms)
{
    if (!has_time)
        return;
    assert_int_equal(
        format == TEXT_OPENMETRICS
            ? buf_printf(out, " %lld.%03lld", (long long)t_ms / 1000, (long long)t_ms % 1000)
            : buf_printf(out, " %lld", (long long)t_ms),
        0);
}

static void print_value(struct buf *out, double v)
{
    char text[32];
    assert_int_equal(buf_append(out, SPAN(" ")), 0);
    assert_int_equal(buf_append(out, span_of(text, num_format_double(v, text))), 0);
}

static bool print_sample(const struct text_item *it, enum text_format format, struct arena *a,
                         struct buf *out)
{
    struct labels l;
    const char *mistake;
    if (text_labels(it->series, a, &l, &mistake) != 0)
        return false;
    assert_int_equal(labels_print(l, out), 0);
    print_value(out, it->v);
    print_time(out, format, it->has_time, it->t_ms);
    if (it->exemplar.labels.n > 0 && text_labels(it->exemplar.labels, a, &l, &mistake) == 0) {
        assert_int_equal(buf_append(out, SPAN(" # ")), 0);
        assert_int_equal(labels_print(l, out), 0);
        print_value(out, it->exemplar.v);
        print_time(out, format, it->exemplar.has_time, it->exemplar.t_ms);
    }
    assert_int_equal(buf_append(out, SPAN("\n")), 0);
    return true;
}

static int print_all(struct span page, enum text_format format, struct arena *a, struct buf *out)
{
    struct text t;
    struct text_item item;
    int n = 0;
    text_init(&t, page, format);
    for (text_next(&t, &item); item.kind != TEXT_END; text_next(&t, &item))
        n += item.kind == TEXT_SAMPLE && print_sample(&item, format, a, out);
    if (format == TEXT_OPENMETRICS)
        assert_int_equal(buf_append(out, SPAN("# EOF\n")), 0);
    return n;
}

/* After one printing nothing changes any more: what is printed says all that was read. */
static void test_printed_again(void **state)
{
    struct pages p = {0};
    struct buf first, second;
    struct arena a;
    (void)state;
    rng_seed(&p.rng, 13);
    buf_init(&p.out, PAGE_MAX);
    buf_init(&first, 1 << 20);
    buf_init(&second, 1 << 20);
    arena_init(&a, NULL);
    for (int i = 0; i < 2000; i++) {
        p.format = i % 2 == 0 ? TEXT_PROMETHEUS : TEXT_OPENMETRICS;
        pages_make(&p, 12);
        buf_clear(&first);
        buf_clear(&second);
        int n = print_all(buf_span(&p.out), p.format, &a, &first);
        assert_int_equal(print_all(buf_span(&first), p.format, &a, &second), n);
        assert_span_equal("again", buf_span(&second), buf_span(&first));
        arena_reset(&a);
    }
    arena_done(&a);
    buf_done(&first);
    buf_done(&second);
    buf_done(&p.out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_the_plain_reader),
        cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_printed_again),
    };
    return cmocka_run_group_tests_name("scrape/text_pages", tests, NULL, NULL);
}
