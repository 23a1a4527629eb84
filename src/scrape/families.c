/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scrape/families.c - lines of a page put together as families.
 *
 * Comments and samples are collected first, since either may come before the other. Then samples
 * are sorted by family, and families are cut out of that.
 */
#include "scrape/families.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "scrape/families_private.h"

static int line_number(size_t line)
{
    return line < INT_MAX ? (int)line : INT_MAX;
}

struct err *families_advise(struct families_reading *r, size_t line)
{
    return err_list_add(&r->out->advice, r->where, line_number(line), 1);
}

static void add_mistake(struct families_reading *r, size_t line, int column, const char *why)
{
    struct err *err = err_list_add(&r->out->mistakes, r->where, line_number(line), column);

    (void)err_set(err, -EINVAL, "%s", why);
    r->out->n_mistakes++;
}

/* --- lines --- */

static int add_sample(struct families_reading *r, const struct text_item *item)
{
    struct labels labels;
    const char *why;

    if (r->n_refs == FAMILIES_SAMPLES_MAX)
        return -E2BIG;
    int e = text_labels(item->series, &r->out->_arena, &labels, &why);
    if (e == -EINVAL) {
        add_mistake(r, item->line, 1, why);
        return 0;
    }
    if (e < 0)
        return e;
    void *at = arena_grow(&r->scratch, r->refs, r->n_refs, 1, &r->refs_cap, sizeof(*r->refs));
    if (!at)
        return -ENOMEM;
    r->refs = at;
    r->refs[r->n_refs++] = (struct families_ref){.sample = {.labels = labels,
                                                            .v = item->v,
                                                            .has_time = item->has_time,
                                                            .t_ms = item->t_ms,
                                                            .line = item->line}};
    return 0;
}

static int add_decl(struct families_reading *r, const struct text_item *item)
{
    struct families_decl d = {.name = item->name, .line = item->line, .type = item->type};
    int e = 0;

    d.has_type = item->kind == TEXT_TYPE;
    if (item->kind == TEXT_HELP)
        e = text_unescape(item->words, r->format, &r->out->_arena, &d.help);
    else if (item->kind == TEXT_UNIT)
        d.unit = item->words;
    if (e < 0)
        return e;
    void *at = arena_grow(&r->scratch, r->decls, r->n_decls, 1, &r->decls_cap, sizeof(*r->decls));
    if (!at)
        return -ENOMEM;
    r->decls = at;
    r->decls[r->n_decls++] = d;
    return 0;
}

static int read_lines(struct families_reading *r, struct span body)
{
    struct text t;
    struct text_item item;
    int e = 0;

    text_init(&t, body, r->format);
    for (text_next(&t, &item); item.kind != TEXT_END && e == 0; text_next(&t, &item)) {
        if (item.kind == TEXT_MISTAKE)
            add_mistake(r, item.line, item.column, item.mistake);
        else
            e = item.kind == TEXT_SAMPLE ? add_sample(r, &item) : add_decl(r, &item);
    }
    return e;
}

/* --- series that are there twice --- */

static int ref_cmp_line(const struct families_ref *x, const struct families_ref *y)
{
    return (x->sample.line > y->sample.line) - (x->sample.line < y->sample.line);
}

static int ref_cmp_labels(const void *a, const void *b)
{
    const struct families_ref *x = a, *y = b;
    int c = labels_cmp(x->sample.labels, y->sample.labels);
    return c != 0 ? c : ref_cmp_line(x, y);
}

static int ref_cmp_family(const void *a, const void *b)
{
    const struct families_ref *x = a, *y = b;
    int c = span_cmp(x->family, y->family);
    return c != 0 ? c : ref_cmp_line(x, y);
}

/* The later one counts. */
static void drop_twins(struct families_reading *r)
{
    char shown[ERR_LIST_SHOWN_MAX];
    size_t n = 0;

    if (r->n_refs > 1)
        qsort(r->refs, r->n_refs, sizeof(*r->refs), ref_cmp_labels);
    for (size_t i = 0; i < r->n_refs; i++) {
        struct family_sample *s = &r->refs[i].sample;
        if (n > 0 && labels_eq(r->refs[n - 1].sample.labels, s->labels)) {
            struct err *err = families_advise(r, s->line);
            (void)err_set(err, -EEXIST, "a series of \"%s\" is there twice, in line %zu as well",
                          err_list_shown(labels_name(s->labels), shown),
                          r->refs[n - 1].sample.line);
            err_hint(err, "the later sample counts");
            n--;
        }
        r->refs[n++] = r->refs[i];
    }
    r->n_refs = n;
}

/* --- families --- */

static int decl_cmp_family(const void *a, const void *b)
{
    const struct families_decl *x = a, *y = b;
    int c = span_cmp(x->family, y->family);
    return c != 0 ? c : (x->line > y->line) - (x->line < y->line);
}

/* All declarations of a family ("x" and "x_total" may be both there); returns how many. */
static size_t declare(struct page_family *f, const struct families_decl *d, size_t n)
{
    size_t i = 0;

    for (; i < n && span_eq(d[i].family, f->name); i++) {
        f->type = d[i].has_type ? d[i].type : f->type;
        f->help = d[i].help.p ? d[i].help : f->help;
        f->unit = d[i].unit.p ? d[i].unit : f->unit;
        f->line = f->line == 0 || d[i].line < f->line ? d[i].line : f->line;
    }
    return i;
}

static size_t give_samples(struct page_family *f, struct family_sample *to,
                           const struct families_ref *refs, size_t n)
{
    size_t i = 0;

    for (; i < n && span_eq(refs[i].family, f->name); i++)
        to[i] = refs[i].sample;
    if (i > 0 && f->line == 0)
        f->type = refs[0].type;
    if (i > 0 && (f->line == 0 || refs[0].sample.line < f->line))
        f->line = refs[0].sample.line;
    f->samples = to;
    f->n = i;
    return i;
}

/* Both lists are sorted by family. */
static int make_families(struct families_reading *r)
{
    struct arena *a = &r->out->_arena;
    struct page_family *at = arena_zalloc(a, r->n_decls + r->n_refs, sizeof(*at));
    struct family_sample *samples = arena_array(a, r->n_refs, sizeof(*samples));
    size_t n = 0, i = 0, j = 0;
    int e = 0;

    if (!at || !samples)
        return -ENOMEM;
    while (e == 0 && (i < r->n_decls || j < r->n_refs)) {
        struct page_family *f = &at[n++];
        bool is_declared = j == r->n_refs ||
                           (i < r->n_decls && span_cmp(r->decls[i].family, r->refs[j].family) <= 0);
        f->name = is_declared ? r->decls[i].family : r->refs[j].family;
        i += declare(f, r->decls + i, r->n_decls - i);
        j += give_samples(f, samples + j, r->refs + j, r->n_refs - j);
        e = families_hists(r, f);
    }
    r->out->at = at;
    r->out->n = n;
    r->out->n_samples = r->n_refs;
    return e;
}

static int read_page(struct families_reading *r, struct span body)
{
    int e;

    struct span copy = arena_dup(&r->out->_arena, body);
    if (!copy.p)
        return -ENOMEM;
    e = read_lines(r, copy);
    if (e == 0)
        e = families_declare(r);
    if (e < 0)
        return e;
    drop_twins(r);
    for (size_t i = 0; i < r->n_refs; i++)
        families_assign(r, &r->refs[i]);
    if (r->n_decls > 1)
        qsort(r->decls, r->n_decls, sizeof(*r->decls), decl_cmp_family);
    if (r->n_refs > 1)
        qsort(r->refs, r->n_refs, sizeof(*r->refs), ref_cmp_family);
    e = make_families(r);
    err_list_sort(&r->out->mistakes, 0);
    err_list_sort(&r->out->advice, 0);
    return e;
}

int families_read(struct span body, enum text_format format, const char *where,
                  struct families *ret)
{
    struct families_reading r = {.out = ret, .where = where, .format = format};
    int e;

    *ret = (struct families){.is_openmetrics = format == TEXT_OPENMETRICS,
                             ._budget = {.max_bytes = FAMILIES_BYTES_MAX}};
    err_list_init(&ret->mistakes);
    err_list_init(&ret->advice);
    arena_init(&ret->_arena, &ret->_budget);
    arena_init(&r.scratch, &ret->_budget);
    e = read_page(&r, body);
    arena_done(&r.scratch);
    if (e == -ENOMEM && ret->_budget.is_exceeded)
        e = -E2BIG;
    if (e < 0)
        families_done(ret);
    return e;
}

void families_done(struct families *f)
{
    arena_done(&f->_arena);
    f->at = NULL;
    f->n = f->n_samples = 0;
}

const struct page_family *families_find(const struct families *f, struct span name)
{
    size_t low = 0, high = f->n;

    while (low < high) {
        size_t at = low + (high - low) / 2;
        int c = span_cmp(f->at[at].name, name);
        if (c == 0)
            return &f->at[at];
        if (c < 0)
            low = at + 1;
        else
            high = at;
    }
    return NULL;
}
