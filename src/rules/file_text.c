/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/file_text.c - labels and annotations of rules.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/num.h"
#include "rules/file_private.h"

bool file_is_name(struct span name)
{
    static const char others[] = "_:.-/";

    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
        if (!is_letter && !(c >= '0' && c <= '9') && (c == '\0' || !strchr(others, c)))
            return false;
    }
    return name.n > 0;
}

static void check_name(struct file_reading *f, const struct yaml_node *name, const char *what)
{
    bool is_label = what[0] == 'l';
    char shown[ERR_LIST_SHOWN_MAX];
    struct err *e;

    if (name->n == 0) {
        e = doc_error(&f->doc, name);
        (void)err_set(e, -EINVAL, "%s without a name", what);
        err_hint(e, "write \"name: value\"");
    } else if (is_label && span_eq(yaml_span(name), SPAN(LABEL_NAME))) {
        e = doc_error(&f->doc, name);
        (void)err_set(e, -EINVAL, "a label cannot be called %s", LABEL_NAME);
        err_hint(e, "\"record: NAME\" or \"alert: NAME\" gives the name");
    } else if (!file_is_name(yaml_span(name))) {
        e = doc_error(&f->doc, name);
        (void)err_set(e, -EINVAL, "no name of %s: \"%s\"", is_label ? "a label" : "an annotation",
                      err_list_shown(yaml_span(name), shown));
        err_hint(e, "names are of letters, digits and _");
    }
}

/* Takes "12:" off *s. */
static bool take_number(struct span *s, uint64_t *ret)
{
    size_t n = span_find_char(*s, ':');

    if (n == s->n || num_parse_u64(span_of(s->p, n), ret) != 0)
        return false;
    (void)span_take(s, n + 1);
    return true;
}

/* Byte of a line and a column (in characters, from 1); the end, where there is no such. */
static size_t byte_at(struct span text, uint64_t line, uint64_t column)
{
    size_t at = 0;

    for (; line > 1 && at < text.n; line--)
        at += span_find_char(span_from(text, at), '\n') + 1;
    for (; column > 1 && at < text.n && text.p[at] != '\n'; column--)
        do
            at++;
        while (at < text.n && ((unsigned char)text.p[at] & 0xc0) == 0x80);
    return at < text.n ? at : text.n;
}

/* "1:12: reason" of the template's text becomes a place of the file. */
static void template_error(struct file_reading *f, const struct doc_pair *pair, const char *what,
                           const struct err *why)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct span whole = span_cstr(why->text);
    struct span reason = whole;
    uint64_t line, column;
    bool is_exact = false;
    struct err *e;

    if (take_number(&reason, &line) && take_number(&reason, &column)) {
        size_t at = byte_at(yaml_span(pair->value), line, column);
        e = doc_error_in(&f->doc, pair->value, at, &is_exact);
    } else {
        e = doc_error(&f->doc, pair->value);
    }
    reason = span_trim(is_exact ? reason : whole);
    (void)err_set(e, -EINVAL, "%s \"%s\": %.*s", what, err_list_shown(yaml_span(pair->name), shown),
                  SPAN_ARG(reason));
    err_hint(e, "%s", why->hint);
}

static int hold(struct file_reading *f, struct template *t)
{
    struct file_held *held = arena_alloc(f->doc.arena, sizeof(*held));

    if (!held) {
        template_free(t);
        return -ENOMEM;
    }
    *held = (struct file_held){NULL, t, f->held};
    f->held = held;
    return 0;
}

static int parse_template(struct file_reading *f, const struct doc_pair *pair, const char *what,
                          const struct template **ret)
{
    struct err why = {.text = "", .hint = ""};
    struct template *t = NULL;
    int r = template_parse(doc_value(pair->value), &t, &why);

    if (r == -ENOMEM)
        return r;
    if (r < 0) {
        template_error(f, pair, what, &why);
        return 0;
    }
    *ret = t;
    return hold(f, t);
}

static int text_cmp(const void *a, const void *b)
{
    return span_cmp(((const struct rule_text *)a)->name, ((const struct rule_text *)b)->name);
}

int file_read_texts(struct file_reading *f, const struct doc_key *k, const char *what,
                    bool with_templates, const struct rule_text **ret, size_t *ret_n)
{
    struct doc_pair *pairs = NULL;
    struct rule_text *texts;
    size_t n = 0;
    int r = doc_pairs(&f->doc, k, &pairs, &n);

    if (r < 0 || n == 0)
        return r;
    texts = arena_zalloc(f->doc.arena, n, sizeof(*texts));
    if (!texts)
        return -ENOMEM;
    for (size_t i = 0; i < n && r == 0; i++) {
        check_name(f, pairs[i].name, what);
        texts[i].name = arena_dup(f->doc.arena, yaml_span(pairs[i].name));
        texts[i].value = arena_dup(f->doc.arena, doc_value(pairs[i].value));
        if (!texts[i].name.p || !texts[i].value.p)
            return -ENOMEM;
        if (with_templates)
            r = parse_template(f, &pairs[i], what, &texts[i].template);
    }
    if (r < 0)
        return r;
    qsort(texts, n, sizeof(*texts), text_cmp);
    *ret = texts;
    *ret_n = n;
    return 0;
}

int file_read_labels(struct file_reading *f, const struct doc_key *k, struct labels *ret)
{
    const struct rule_text *texts = NULL;
    struct label *pairs;
    size_t n = 0;
    int r = file_read_texts(f, k, "label", false, &texts, &n);

    if (r < 0 || n == 0)
        return r;
    pairs = arena_array(f->doc.arena, n, sizeof(*pairs));
    if (!pairs)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        pairs[i] = (struct label){texts[i].name, texts[i].value};
    return labels_normalise(pairs, n, ret, NULL); /* a mapping has no name twice */
}
