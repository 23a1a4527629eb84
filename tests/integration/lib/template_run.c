/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_run.c - runs templates for template.test.mjs.
 *
 * Reads fields, each "WORD LENGTH\n", so many bytes and "\n":
 *
 *   label NAME=VALUE, external NAME=VALUE, url TEXT, value NUMBER, now MS   what the alert has
 *   query EXPR     an answer follows: sample NUMBER begins one of its samples, of NAME=VALUE adds a
 *                  label to it
 *   clear          an alert without anything
 *   text TEMPLATE  runs it; prints "ok LENGTH\n" or "error LENGTH\n", the result or the message,
 * "\n"
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/num.h"
#include "series/number.h"
#include "template/template.h"

enum { LABELS_MAX = 32, SAMPLES_MAX = 200, QUERIES_MAX = 20 };

struct set {
    struct label at[LABELS_MAX];
    size_t n;
};

struct answer {
    struct span expr;
    struct template_sample samples[SAMPLES_MAX];
    struct set sets[SAMPLES_MAX];
    size_t n;
};

static struct {
    struct arena arena;
    struct set labels, external;
    struct span url;
    double value;
    int64_t now_ms;
    struct answer answers[QUERIES_MAX];
    size_t n_answers;
} given;

static _Noreturn void die(const char *why)
{
    (void)fprintf(stderr, "template_run: %s\n", why);
    exit(2);
}

static struct span keep(struct span s)
{
    struct span copy = arena_dup(&given.arena, s);
    if (!copy.p)
        die("no memory");
    return copy;
}

static double number_of(struct span s)
{
    double v;
    if (number_parse(s, &v) != 0)
        die("not a number");
    return v;
}

static struct labels labels_of(struct set *set)
{
    struct labels l;
    if (labels_normalise(set->at, set->n, &l, NULL) != 0)
        die("a label twice");
    return l;
}

static void add_label(struct set *set, struct span s)
{
    if (set->n == LABELS_MAX)
        die("too many labels");
    s = keep(s);
    set->at[set->n].name = span_split(&s, '=');
    set->at[set->n++].value = s;
}

static struct answer *last_answer(void)
{
    if (given.n_answers == 0)
        die("a sample without a query");
    return &given.answers[given.n_answers - 1];
}

static void add_sample(struct span s)
{
    struct answer *a = last_answer();
    if (a->n == SAMPLES_MAX)
        die("too many samples");
    a->sets[a->n].n = 0;
    a->samples[a->n++] = (struct template_sample){.v = number_of(s)};
}

static int answer(void *ctx, struct span expr, struct arena *a, struct template_sample **ret,
                  size_t *ret_n, struct err *reterr)
{
    (void)ctx;
    for (size_t i = 0; i < given.n_answers; i++) {
        struct answer *found = &given.answers[i];
        if (!span_eq(found->expr, expr))
            continue;
        *ret = arena_array(a, found->n, sizeof(**ret));
        if (!*ret)
            return -ENOMEM;
        for (size_t k = 0; k < found->n; k++) {
            (*ret)[k] = found->samples[k];
            (*ret)[k].labels = labels_of(&found->sets[k]);
        }
        *ret_n = found->n;
        return 0;
    }
    return err_set(reterr, -EINVAL, "no such query");
}

static void run(struct span text)
{
    struct template_env env = {.labels = labels_of(&given.labels),
                               .external_labels = labels_of(&given.external),
                               .external_url = given.url,
                               .value = given.value,
                               .now_ms = given.now_ms,
                               .query = answer};
    struct template *t = NULL;
    struct err err = {.text = ""};
    struct buf out;
    buf_init(&out, TEMPLATE_OUTPUT_MAX);
    int r = template_parse(text, &t, &err);
    if (r == 0)
        r = template_run(t, &env, &out, &err);
    struct span s = r == 0 ? buf_span(&out) : span_cstr(err.text);
    (void)printf("%s %zu\n", r == 0 ? "ok" : "error", s.n);
    (void)fwrite(s.p, 1, s.n, stdout);
    (void)putchar('\n');
    template_free(t);
    buf_done(&out);
}

static void take(struct span word, struct span s)
{
    if (span_eq(word, SPAN("label")))
        add_label(&given.labels, s);
    else if (span_eq(word, SPAN("external")))
        add_label(&given.external, s);
    else if (span_eq(word, SPAN("url")))
        given.url = keep(s);
    else if (span_eq(word, SPAN("value")))
        given.value = number_of(s);
    else if (span_eq(word, SPAN("now")))
        given.now_ms = (int64_t)number_of(s);
    else if (span_eq(word, SPAN("query")) && given.n_answers < QUERIES_MAX)
        given.answers[given.n_answers++] = (struct answer){.expr = keep(s)};
    else if (span_eq(word, SPAN("sample")))
        add_sample(s);
    else if (span_eq(word, SPAN("of")) && last_answer()->n > 0)
        add_label(&last_answer()->sets[last_answer()->n - 1], s);
    else if (span_eq(word, SPAN("clear")))
        given.labels.n = given.external.n = given.n_answers = 0;
    else if (span_eq(word, SPAN("text")))
        run(s);
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
        if (line.n == 0 || num_parse_u64(span_of(line.p, line.n - 1), &n) != 0 || n > 1 << 20)
            die("a bad length");
        char *text = mem_must(mem_zalloc(n + 1, 1));
        if (fread(text, 1, n + 1, stdin) != n + 1)
            die("a field is cut");
        take(word, span_of(text, n));
        mem_free(text);
    }
    arena_done(&given.arena);
    return 0;
}
