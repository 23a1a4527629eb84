/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/labels_print.c - sets of labels as text, as users of Prometheus know them.
 */
#include "base/jsonw.h"
#include "base/utf8.h"
#include "series/labels.h"

/* The letter behind the backslash; 0 where there is none. */
static char escape_letter(unsigned char c)
{
    static const char letters[] = {
        ['\a'] = 'a', ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r',
        ['\t'] = 't', ['\v'] = 'v', ['"'] = '"',  ['\\'] = '\\'};
    if (c >= sizeof(letters))
        return '\0';
    return letters[c];
}

/* Bytes at the front of s that stand for themselves. */
static size_t plain_length(struct span s)
{
    size_t n = 0;

    while (n < s.n) {
        unsigned char c = (unsigned char)s.p[n];
        bool is_valid = true;
        size_t step = c < 0x80 ? 1 : utf8_step(span_from(s, n), &is_valid);
        if (c < 0x20 || c == 0x7f || c == '"' || c == '\\' || !is_valid)
            break;
        n += step;
    }
    return n;
}

int labels_quote(struct span text, struct buf *out)
{
    int r = buf_append(out, SPAN("\""));

    while (r == 0 && text.n > 0) {
        struct span plain = span_take(&text, plain_length(text));
        r = plain.n > 0 ? buf_append(out, plain) : 0;
        if (r != 0 || text.n == 0)
            break;
        unsigned char c = (unsigned char)span_take(&text, 1).p[0];
        char letter = escape_letter(c);
        r = letter ? buf_printf(out, "\\%c", letter) : buf_printf(out, "\\x%02x", c);
    }
    return r == 0 ? buf_append(out, SPAN("\"")) : r;
}

int labels_print_label_name(struct span name, struct buf *out)
{
    return labels_is_label_name(name) ? buf_append(out, name) : labels_quote(name, out);
}

static int print_pair(const struct label *label, bool is_first, struct buf *out)
{
    int r = is_first ? 0 : buf_append(out, SPAN(", "));

    if (r == 0)
        r = labels_print_label_name(label->name, out);
    if (r == 0)
        r = buf_append(out, SPAN("="));
    return r == 0 ? labels_quote(label->value, out) : r;
}

int labels_print_pairs(struct labels l, struct buf *out)
{
    int r = buf_append(out, SPAN("{"));

    for (size_t i = 0; i < l.n && r == 0; i++)
        r = print_pair(&l.at[i], i == 0, out);
    return r == 0 ? buf_append(out, SPAN("}")) : r;
}

int labels_print(struct labels l, struct buf *out)
{
    struct span name = labels_name(l);
    size_t n_pairs = 0;
    int r;

    if (name.n == 0 || !labels_is_metric_name(name))
        return labels_print_pairs(l, out);
    r = buf_append(out, name);
    for (size_t i = 0; i < l.n && r == 0; i++) {
        if (span_eq(l.at[i].name, SPAN(LABEL_NAME)))
            continue;
        if (n_pairs == 0)
            r = buf_append(out, SPAN("{"));
        if (r == 0)
            r = print_pair(&l.at[i], n_pairs == 0, out);
        n_pairs++;
    }
    return r == 0 && n_pairs > 0 ? buf_append(out, SPAN("}")) : r;
}

void labels_write(struct labels l, const char *key, struct jsonw *w)
{
    if (key)
        jsonw_key(w, key);
    jsonw_begin_object(w);
    for (size_t i = 0; i < l.n; i++) {
        jsonw_key_str(w, l.at[i].name);
        jsonw_str(w, l.at[i].value);
    }
    jsonw_end_object(w);
}
