/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scrape_run.c - reads pages and relabels label sets for scrape.test.mjs and relabel.test.mjs.
 *
 * Reads fields, each "WORD LENGTH\n", so many bytes and "\n":
 *
 *   page TEXT, openmetrics TEXT   prints a line of JSON: families, mistakes, advice
 *   action, source, separator, regex, target, replacement, modulus TEXT   of the rule that follows
 *   rule           ends the rule; prints "null", or what is wrong with it as JSON
 *   name, value TEXT   a label
 *   relabel        by the rules so far; prints an object of labels, null: dropped
 *   clear          no rules, no labels
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/jsonw.h"
#include "base/mem.h"
#include "base/num.h"
#include "scrape/families.h"
#include "scrape/relabel.h"

enum { LABELS_MAX = 64, SOURCES_MAX = 16, RULES_MAX = 64, FIELD_MAX = 1 << 26 };

static struct families page;

static struct {
    struct arena arena;
    struct label labels[LABELS_MAX];
    size_t n_labels;
    const struct relabel_rule *rules[RULES_MAX];
    size_t n_rules;
    struct relabel_wish wish;
    struct span sources[SOURCES_MAX];
    bool has_bad_action;
} given;

static _Noreturn void die(const char *why)
{
    (void)fprintf(stderr, "scrape_run: %s\n", why);
    exit(2);
}

static struct span keep(struct span s)
{
    struct span copy = arena_dup(&given.arena, s);
    if (!copy.p)
        die("no memory");
    return copy;
}

static void print(struct jsonw *w, struct buf *b)
{
    if (jsonw_error(w) < 0)
        die("the answer is too long");
    (void)fwrite(buf_span(b).p, 1, buf_len(b), stdout);
    (void)putchar('\n');
    buf_done(b);
}

static void write_value(struct jsonw *w, const char *key, double v)
{
    char text[40];
    jsonw_key(w, key);
    jsonw_str(w, span_of(text, num_format_double(v, text)));
}

static void write_samples(struct jsonw *w, const struct page_family *f)
{
    jsonw_key(w, "samples");
    jsonw_begin_array(w);
    for (size_t i = 0; i < f->n; i++) {
        jsonw_begin_object(w);
        labels_write(f->samples[i].labels, "labels", w);
        write_value(w, "v", f->samples[i].v);
        if (f->samples[i].has_time) {
            jsonw_key(w, "t");
            jsonw_i64(w, f->samples[i].t_ms);
        }
        jsonw_end_object(w);
    }
    jsonw_end_array(w);
}

static void write_errors(struct jsonw *w, const char *key, const struct err_list *list)
{
    jsonw_key(w, key);
    jsonw_begin_array(w);
    for (size_t i = 0; i < list->n; i++) {
        jsonw_begin_object(w);
        jsonw_key(w, "line");
        jsonw_i64(w, list->items[i].line);
        jsonw_key(w, "column");
        jsonw_i64(w, list->items[i].column);
        jsonw_key(w, "text");
        jsonw_cstr(w, list->items[i].err.text);
        jsonw_end_object(w);
    }
    jsonw_end_array(w);
}

static void read_page(struct span text, enum text_format format)
{
    struct jsonw w;
    struct buf b;
    buf_init(&b, (size_t)1 << 30);
    jsonw_init(&w, &b);
    if (families_read(text, format, "page", &page) != 0)
        die("the page is too long");
    jsonw_begin_object(&w);
    jsonw_key(&w, "families");
    jsonw_begin_array(&w);
    for (size_t i = 0; i < page.n; i++) {
        const struct page_family *f = &page.at[i];
        jsonw_begin_object(&w);
        jsonw_key(&w, "name");
        jsonw_str(&w, f->name);
        jsonw_key(&w, "type");
        jsonw_cstr(&w, metric_type_name(f->type));
        jsonw_key(&w, "help");
        jsonw_str(&w, f->help);
        jsonw_key(&w, "unit");
        jsonw_str(&w, f->unit);
        write_samples(&w, f);
        jsonw_end_object(&w);
    }
    jsonw_end_array(&w);
    write_errors(&w, "mistakes", &page.mistakes);
    write_errors(&w, "advice", &page.advice);
    jsonw_end_object(&w);
    families_done(&page);
    print(&w, &b);
}

static void end_rule(void)
{
    const char *field = "action";
    struct err err = {.text = "no such action"};
    struct jsonw w;
    struct buf b;
    int r = -EINVAL;
    if (given.n_rules == RULES_MAX)
        die("too many rules");
    given.wish.sources = given.sources;
    if (!given.has_bad_action)
        r = relabel_make(&given.wish, &given.arena, &given.rules[given.n_rules], &field, &err);
    given.n_rules += r == 0;
    given.wish = (struct relabel_wish){0};
    given.has_bad_action = false;
    buf_init(&b, 4096);
    jsonw_init(&w, &b);
    if (r == 0) {
        jsonw_null(&w);
    } else {
        jsonw_begin_object(&w);
        jsonw_key(&w, "field");
        jsonw_cstr(&w, field);
        jsonw_key(&w, "text");
        jsonw_cstr(&w, err.text);
        jsonw_end_object(&w);
    }
    print(&w, &b);
}

static struct relabel_list rules(void)
{
    return (struct relabel_list){given.rules, given.n_rules};
}

static void relabel(void)
{
    struct labels from, to;
    struct jsonw w;
    struct buf b;
    if (labels_normalise(given.labels, given.n_labels, &from, NULL) != 0)
        die("a label twice");
    int r = relabel_apply(rules(), from, &given.arena, &to);
    if (r < 0)
        die(err_str(r));
    buf_init(&b, 1 << 20);
    jsonw_init(&w, &b);
    if (r == 1)
        labels_write(to, NULL, &w);
    else
        jsonw_null(&w);
    print(&w, &b);
}

static void clear(void)
{
    relabel_done(rules());
    given.n_rules = given.n_labels = 0;
}

static void add_label(struct span name)
{
    if (given.n_labels == LABELS_MAX)
        die("too many labels");
    given.labels[given.n_labels++].name = keep(name);
}

static void add_source(struct span name)
{
    if (given.wish.n_sources == SOURCES_MAX)
        die("too many sources");
    given.sources[given.wish.n_sources++] = keep(name);
}

/* Parts of a rule; false: the word is none of them. */
static bool take_part(struct span word, struct span s)
{
    struct relabel_wish *w = &given.wish;
    if (span_eq(word, SPAN("action"))) {
        given.has_bad_action = relabel_action_of(s, &w->action) != 0;
    } else if (span_eq(word, SPAN("source"))) {
        add_source(s);
    } else if (span_eq(word, SPAN("separator"))) {
        w->separator = keep(s);
        w->has_separator = true;
    } else if (span_eq(word, SPAN("regex"))) {
        w->regex = keep(s);
        w->has_regex = true;
    } else if (span_eq(word, SPAN("target"))) {
        w->target = keep(s);
    } else if (span_eq(word, SPAN("replacement"))) {
        w->replacement = keep(s);
        w->has_replacement = true;
    } else if (span_eq(word, SPAN("modulus"))) {
        if (num_parse_u64(s, &w->modulus) != 0)
            die("a bad modulus");
    } else {
        return false;
    }
    return true;
}

static void take(struct span word, struct span s)
{
    if (take_part(word, s))
        return;
    if (span_eq(word, SPAN("page")))
        read_page(s, TEXT_PROMETHEUS);
    else if (span_eq(word, SPAN("openmetrics")))
        read_page(s, TEXT_OPENMETRICS);
    else if (span_eq(word, SPAN("rule")))
        end_rule();
    else if (span_eq(word, SPAN("name")))
        add_label(s);
    else if (span_eq(word, SPAN("value")) && given.n_labels > 0)
        given.labels[given.n_labels - 1].value = keep(s);
    else if (span_eq(word, SPAN("relabel")))
        relabel();
    else if (span_eq(word, SPAN("clear")))
        clear();
    else
        die("an unknown word");
}

int main(void)
{
    char head[64];
    arena_init(&given.arena, NULL);
    while (fgets(head, sizeof(head), stdin)) {
        struct span line = span_cstr(head);
        struct span word = span_split(&line, ' ');
        uint64_t n;
        if (line.n == 0 || num_parse_u64(span_of(line.p, line.n - 1), &n) != 0 || n > FIELD_MAX)
            die("a bad length");
        char *text = mem_must(mem_zalloc(n + 1, 1));
        if (fread(text, 1, n + 1, stdin) != n + 1)
            die("a field is cut");
        take(word, span_of(text, n));
        mem_free(text);
    }
    clear();
    arena_done(&given.arena);
    return 0;
}
