/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/letter.c - the text of a message.
 *
 * A block (one alert) is made whole and taken only when it fits, so that nothing is ever cut within
 * markup. What shrinks is the part of each text that a block shows: the less room for each alert,
 * the less of it, and the first block that does not fit is tried again with less and less.
 */
#include "alert/letter.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

enum {
    SCRATCH_MAX = 4 << 20,
    FIELD_CHARS_MAX = 2000, /* of a description; of other texts a part of it */
    FIELD_CHARS_MIN = 20,
    OTHERS_PART = 4,
    NAME_CHARS = 120,
};

struct words {
    const char *firing, *resolved, *several;
    const char *value, *since, *resolved_at, *labels, *evidence, *requests, *runbook, *source,
        *open;
    const char *more, *more_end; /* around a number */
};

static const struct words words_of[] = {
    [LETTER_EN] = {"FIRING", "RESOLVED", "several alerts", "Value", "Since", "resolved", "Labels",
                   "Evidence", "Requests", "Runbook", "Source", "All alerts", "... and ", " more"},
    [LETTER_ZH] = {"告警", "已恢复", "多个告警", "当前值", "开始时间", "恢复于", "标签", "依据",
                   "相关请求", "处理手册", "来源", "查看全部", "... 还有 ", " 条"},
};

/* What a title names of the labels that all alerts have. */
static const char *const title_labels[] = {"tier", "severity", "model", "upstream"};

/* Annotations with a place of their own. */
static const char *const placed_annotations[] = {
    "summary", "description", "runbook_url", "runbook", "exemplar_requests", "evidence", "message"};

size_t letter_size(enum letter_unit unit, struct span text)
{
    size_t n = text.n;
    if (unit == LETTER_CHARS)
        return prose_chars(text);
    for (size_t i = 0; i < text.n && unit == LETTER_JSON_BYTES; i++) {
        unsigned char c = (unsigned char)text.p[i];
        n += c == '"' || c == '\\' || c == '\n' ? 1 : c < ' ' ? 5 : 0;
    }
    return n;
}

static struct span annotation(const struct alert_view *a, const char *name)
{
    return labels_get(a->annotations, span_cstr(name));
}

/* --- title --- */

static int append_sep(struct buf *out, size_t start, const char *sep)
{
    return buf_len(out) > start ? buf_append(out, span_cstr(sep)) : 0;
}

static int title_name(const struct alert_message *m, const struct words *w, struct buf *out)
{
    struct span name = labels_get(m->common_labels, SPAN("alertname"));
    size_t start = buf_len(out);
    int r = 0;
    if (name.n > 0)
        return prose_clean(prose_cut(name, NAME_CHARS), false, out);
    for (size_t i = 0; i < m->group_labels.n && r == 0; i++) {
        r = append_sep(out, start, " ");
        if (r == 0)
            r = prose_clean(prose_cut(m->group_labels.at[i].value, NAME_CHARS), false, out);
    }
    return r == 0 && buf_len(out) == start ? buf_append(out, span_cstr(w->several)) : r;
}

static int title_details(const struct alert_message *m, struct buf *out)
{
    size_t start = buf_len(out);
    int r = 0;
    for (size_t i = 0; i < ARRAY_LEN(title_labels) && r == 0; i++) {
        struct span v = labels_get(m->common_labels, span_cstr(title_labels[i]));
        if (v.n == 0)
            continue;
        r = buf_append(out, buf_len(out) > start ? SPAN(", ") : SPAN(" ("));
        if (r == 0)
            r = prose_clean(prose_cut(v, NAME_CHARS), false, out);
    }
    return r == 0 && buf_len(out) > start ? buf_append(out, SPAN(")")) : r;
}

int letter_title(const struct alert_message *m, enum letter_language language, size_t max_chars,
                 struct buf *out)
{
    const struct words *w = &words_of[language];
    struct buf title;
    buf_init(&title, SCRATCH_MAX);
    int r = m->n_firing > 0 ? buf_printf(&title, "[%s:%zu] ", w->firing, m->n_firing)
                            : buf_printf(&title, "[%s] ", w->resolved);
    if (r == 0)
        r = title_name(m, w, &title);
    if (r == 0)
        r = title_details(m, &title);
    if (r == 0)
        r = buf_append(out, prose_cut(buf_span(&title), max_chars));
    buf_done(&title);
    return r;
}

/* --- a block --- */

struct block {
    const struct letter *l;
    const struct words *w;
    const struct alert_message *m;
    size_t field_chars;
    struct buf out;
    size_t start; /* of this paragraph: a line end goes before what is not the first line */
};

static int begin_line(struct block *b)
{
    return append_sep(&b->out, b->start, b->l->markup->line_end);
}

/* A text, cut where it is too long. */
static int put_cut(struct block *b, struct span text, size_t max_chars, bool keeps_lines)
{
    struct span shown = prose_cut(text, max_chars);
    int r = markup_text(b->l->markup, shown, keeps_lines, &b->out);
    return r == 0 && shown.n < text.n ? buf_append(&b->out, SPAN("…")) : r;
}

static int put_words(struct block *b, const char *words)
{
    int r = b->l->markup->put(b->l->markup, span_cstr(words), &b->out);
    return r < 0 ? r : buf_append(&b->out, SPAN(": "));
}

static int put_field(struct block *b, const char *words, struct span text)
{
    if (text.n == 0)
        return 0;
    int r = begin_line(b);
    if (r == 0)
        r = put_words(b, words);
    return r < 0 ? r : put_cut(b, text, b->field_chars / OTHERS_PART, false);
}

static int put_paragraph(struct block *b, struct span text, size_t max_chars)
{
    if (text.n == 0)
        return 0;
    int r = begin_line(b);
    return r < 0 ? r : put_cut(b, text, max_chars, true);
}

static int put_name(struct block *b, const struct alert_view *a)
{
    bool is_mixed = b->m->n_firing > 0 && b->m->n_firing < b->m->n;
    struct span name = labels_get(a->labels, SPAN("alertname"));
    if (b->m->n == 1)
        return 0;
    int r = begin_line(b);
    if (r == 0)
        r = buf_append(&b->out, span_cstr(b->l->markup->bold));
    if (r == 0 && is_mixed)
        r = buf_printf(&b->out, "[%s] ", a->is_resolved ? b->w->resolved : b->w->firing);
    if (r == 0)
        r = put_cut(b, name.n > 0 ? name : SPAN("?"), NAME_CHARS, false);
    return r < 0 ? r : buf_append(&b->out, span_cstr(b->l->markup->bold_end));
}

static int put_value(struct block *b, const struct alert_view *a)
{
    char text[64];
    if (a->is_resolved || isnan(a->value))
        return 0;
    int n = snprintf(text, sizeof(text), "%.6g", a->value);
    return put_field(b, b->w->value, span_of(text, (size_t)n));
}

static int put_since(struct block *b, const struct alert_view *a)
{
    int64_t end = a->is_resolved ? a->ends_ms : b->l->now_ms;
    int r = begin_line(b);
    if (r == 0)
        r = put_words(b, b->w->since);
    if (r == 0)
        r = prose_local_time(a->starts_ms, &b->out);
    if (r == 0 && a->is_resolved) {
        r = buf_printf(&b->out, ", %s ", b->w->resolved_at);
        if (r == 0)
            r = prose_local_time(a->ends_ms, &b->out);
    }
    if (r == 0)
        r = buf_append(&b->out, SPAN(" ("));
    if (r == 0)
        r = prose_duration(end - a->starts_ms, &b->out);
    return r < 0 ? r : buf_append(&b->out, SPAN(")"));
}

static bool is_common(const struct block *b, const struct label *l)
{
    struct span common = labels_get(b->m->common_labels, l->name);
    return b->m->n > 1 && common.n > 0 && span_eq(common, l->value);
}

static int put_pair(struct block *b, const struct label *l, size_t max_chars)
{
    int r = put_cut(b, l->name, max_chars, false);
    if (r == 0)
        r = buf_append(&b->out, SPAN("="));
    return r < 0 ? r : put_cut(b, l->value, max_chars, false);
}

/* The labels of one alert that are its own, or those of all of them. */
static int put_labels(struct block *b, struct labels l, bool is_of_all)
{
    size_t start = 0, n_left = b->field_chars;
    int r = 0;
    for (size_t i = 0; i < l.n && r == 0; i++) {
        bool is_name = span_eq(l.at[i].name, SPAN("alertname")) && (is_of_all || b->m->n == 1);
        if (is_name || (!is_of_all && is_common(b, &l.at[i])))
            continue;
        if (start == 0 && (r = begin_line(b)) == 0 && (r = put_words(b, b->w->labels)) == 0)
            start = buf_len(&b->out);
        if (r == 0)
            r = append_sep(&b->out, start, ", ");
        if (r == 0 && n_left == 0) /* there is more than has room */
            return buf_append(&b->out, SPAN("…"));
        if (r == 0)
            r = put_pair(b, &l.at[i], b->field_chars / OTHERS_PART);
        size_t n = prose_chars(l.at[i].name) + prose_chars(l.at[i].value);
        n_left -= n < n_left ? n : n_left;
    }
    return r;
}

static bool has_place(struct span name)
{
    for (size_t i = 0; i < ARRAY_LEN(placed_annotations); i++)
        if (span_eq(name, span_cstr(placed_annotations[i])))
            return true;
    return false;
}

static int put_others(struct block *b, const struct alert_view *a)
{
    size_t n_left = b->field_chars / 50 + 1;
    int r = 0;
    for (size_t i = 0; i < a->annotations.n && r == 0 && n_left > 0; i++) {
        if (has_place(a->annotations.at[i].name))
            continue;
        n_left--;
        r = begin_line(b);
        if (r == 0)
            r = put_cut(b, a->annotations.at[i].name, NAME_CHARS, false);
        if (r == 0)
            r = buf_append(&b->out, SPAN(": "));
        if (r == 0)
            r = put_cut(b, a->annotations.at[i].value, b->field_chars / OTHERS_PART, false);
    }
    return r;
}

static int put_link(struct block *b, const char *words, struct span url)
{
    if (!markup_is_link(url))
        return 0;
    int r = begin_line(b);
    return r < 0 ? r : b->l->markup->link(b->l->markup, span_cstr(words), url, &b->out);
}

struct span letter_runbook(const struct alert_view *alert)
{
    struct span url = annotation(alert, "runbook_url");
    if (url.n == 0)
        url = annotation(alert, "runbook");
    return markup_is_link(url) ? url : SPAN("");
}

static int put_alert(struct block *b, const struct alert_view *a)
{
    size_t small = b->field_chars / OTHERS_PART;
    int r = put_name(b, a);
    if (r == 0)
        r = put_paragraph(b, annotation(a, "summary"), small);
    if (r == 0)
        r = put_paragraph(b, annotation(a, "description"), b->field_chars);
    if (r == 0)
        r = put_paragraph(b, annotation(a, "message"), b->field_chars);
    if (r == 0)
        r = put_value(b, a);
    if (r == 0)
        r = put_since(b, a);
    if (r == 0)
        r = put_labels(b, a->labels, false);
    if (r == 0)
        r = put_field(b, b->w->evidence, annotation(a, "evidence"));
    if (r == 0)
        r = put_field(b, b->w->requests, annotation(a, "exemplar_requests"));
    if (r == 0)
        r = put_others(b, a);
    if (r == 0)
        r = put_link(b, b->w->runbook, letter_runbook(a));
    return r < 0 ? r : put_link(b, b->w->source, a->generator_url);
}

/* --- all of them --- */

static const char *gap(const struct letter *l)
{
    return l->markup == &markup_html ? "<br>\n<br>\n" : "\n\n";
}

/* What stands below the alerts: labels that all have, and where to see them. */
static int put_foot(struct block *b)
{
    int r = b->m->n > 1 ? put_labels(b, b->m->common_labels, true) : 0;
    return r < 0 ? r : put_link(b, b->w->open, b->m->external_url);
}

static int put_more(const struct letter *l, size_t n, struct buf *out)
{
    const struct words *w = &words_of[l->language];
    int r = buf_len(out) > 0 ? buf_append(out, span_cstr(gap(l))) : 0;
    return r < 0 || n == 0 ? r : buf_printf(out, "%s%zu%s", w->more, n, w->more_end);
}

/* Room that n more need, foot and gaps included. */
static size_t reserve_of(const struct letter *l, struct span foot)
{
    enum { MORE_SIZE = 48 }; /* both languages with 20 digits, in bytes */
    size_t gaps = 2 * letter_size(l->unit, span_cstr(gap(l)));
    return MORE_SIZE + gaps + letter_size(l->unit, foot);
}

/* Appends the block of an alert where it fits into room, -EMSGSIZE where it does not. */
static int add_alert(struct block *b, const struct alert_view *a, size_t room, struct buf *out)
{
    buf_clear(&b->out);
    b->start = 0;
    int r = put_alert(b, a);
    if (r < 0)
        return r;
    const char *before = buf_len(out) > 0 ? gap(b->l) : "";
    size_t size = letter_size(b->l->unit, buf_span(&b->out)) +
                  letter_size(b->l->unit, span_cstr(before)) +
                  letter_size(b->l->unit, buf_span(out));
    if (size > room)
        return -EMSGSIZE;
    r = buf_append(out, span_cstr(before));
    return r < 0 ? r : buf_append(out, buf_span(&b->out));
}

static int add_alerts(struct block *b, size_t room, struct buf *out, size_t *ret_n)
{
    int r = 0;
    size_t i = 0;
    while (i < b->m->n) {
        r = add_alert(b, &b->m->alerts[i], room, out);
        if (r == 0)
            i++;
        else if (r != -EMSGSIZE || i > 0 || b->field_chars < FIELD_CHARS_MIN)
            break;
        else
            b->field_chars /= 2;
    }
    *ret_n = i;
    return r == -EMSGSIZE ? 0 : r;
}

static size_t field_chars(const struct letter *l, const struct alert_message *m, size_t room)
{
    size_t each = room / (m->n > 0 ? m->n : 1) / 2;
    each = each > FIELD_CHARS_MAX ? FIELD_CHARS_MAX : each;
    size_t least = l->max / 16; /* with many alerts: some that say something, and "N more" */
    least = least > 400 ? 400 : least;
    return each < least ? least : each;
}

int letter_text(const struct letter *l, const struct alert_message *m, struct buf *out)
{
    struct block foot = {.l = l, .w = &words_of[l->language], .m = m};
    struct block b = foot;
    size_t n = 0;
    struct buf text;
    foot.field_chars = l->max / 8 > 1000 ? 1000 : l->max / 8;
    buf_init(&foot.out, SCRATCH_MAX);
    buf_init(&b.out, SCRATCH_MAX);
    buf_init(&text, SCRATCH_MAX);
    int r = put_foot(&foot);
    if (r == 0 && letter_size(l->unit, buf_span(&foot.out)) > l->max / 2)
        buf_clear(&foot.out);
    size_t reserve = reserve_of(l, buf_span(&foot.out));
    size_t room = l->max > reserve ? l->max - reserve : 0;
    b.field_chars = field_chars(l, m, room);
    if (r == 0)
        r = add_alerts(&b, room, &text, &n);
    if (r == 0 && m->n - n + m->n_truncated > 0)
        r = put_more(l, m->n - n + m->n_truncated, &text);
    if (r == 0 && buf_len(&foot.out) > 0)
        r = put_more(l, 0, &text);
    if (r == 0)
        r = buf_append(&text, buf_span(&foot.out));
    if (r == 0)
        r = buf_append(out, buf_span(&text));
    buf_done(&text);
    buf_done(&b.out);
    buf_done(&foot.out);
    return r;
}

/* --- one line --- */

static int line_field(struct buf *out, const char *words, struct span text)
{
    if (text.n == 0)
        return 0;
    int r = buf_printf(out, " %s=\"", words);
    if (r == 0)
        r = prose_clean(prose_cut(text, 200), false, out);
    return r < 0 ? r : buf_append(out, SPAN("\""));
}

static int line_parts(const struct alert_view *a, struct buf *out)
{
    char value[64];
    struct span name = labels_get(a->labels, SPAN("alertname"));
    int n = snprintf(value, sizeof(value), "%.6g", a->value);
    int r = buf_printf(out, "alert %s: ", a->is_resolved ? "resolved" : "firing");
    if (r == 0)
        r = prose_clean(prose_cut(name, NAME_CHARS), false, out);
    if (r == 0 && !a->is_resolved)
        r = line_field(out, "value", span_of(value, (size_t)n));
    if (r == 0)
        r = line_field(out, "summary", annotation(a, "summary"));
    if (r == 0)
        r = line_field(out, "requests", annotation(a, "exemplar_requests"));
    for (size_t i = 0; i < a->labels.n && r == 0; i++) {
        if (span_eq(a->labels.at[i].name, SPAN("alertname")))
            continue;
        r = buf_append(out, SPAN(" "));
        if (r == 0)
            r = prose_clean(prose_cut(a->labels.at[i].name, NAME_CHARS), false, out);
        if (r == 0)
            r = buf_append(out, SPAN("=\""));
        if (r == 0)
            r = prose_clean(prose_cut(a->labels.at[i].value, NAME_CHARS), false, out);
        if (r == 0)
            r = buf_append(out, SPAN("\""));
    }
    return r;
}

int letter_line(const struct alert_view *alert, size_t max_bytes, struct buf *out)
{
    struct buf line;
    buf_init(&line, SCRATCH_MAX);
    int r = line_parts(alert, &line);
    if (r == 0)
        r = buf_append(out, prose_cut_bytes(buf_span(&line), max_bytes));
    buf_done(&line);
    return r;
}
