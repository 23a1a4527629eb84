/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/evidence.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/num.h"
#include "store/fields.h"
#include "store/rows.h"

/* How far before an alert began to fire its cause is looked for: longer than what shipped rules
 * wait and look back. */
#define LOOK_BACK_US (INT64_C(15) * 60 * US_PER_S)

/* What an expression speaks of, by a word in it; the first that is there. */
struct subject {
    const char *word;
    const char *field; /* NULL: failed requests */
    const char *name;
};
static const struct subject subjects[] = {
    {"upstream_ttft", "upstream_ttft_ms", "TTFT at the upstream"},
    {"ttft", "ttft_ms", "TTFT"},
    {"ttfa", "ttfa_ms", "time to first answer"},
    {"tpot", "tpot_ms", "TPOT"},
    {"itl", "icl_p95_ms", "p95 of gaps"},
    {"icl", "icl_p95_ms", "p95 of gaps"},
    {"jitter", "jitter_ms", "jitter"},
    {"queue", "queue_ms", "queue"},
    {"e2e", "e2e_ms", "E2E"},
    {"outcome", NULL, ""},
    {"error", NULL, ""},
    {"breaker", NULL, ""},
    {"runaway", "e2e_ms", "E2E"},
};

/* Labels of series that are fields of rows. */
static const char *const own_labels[] = {"model", "upstream", "endpoint", "tenant"};
/* Labels of series and alerts that say nothing of a request. */
static const char *const other_labels[] = {"alertname", "job",   "instance",  "tier",   "severity",
                                           "stream",    "slo",   "objective", "le",     "version",
                                           "outcome",   "cause", "reason",    "metric", "__name__"};

enum { CONDITIONS_MAX = 12 };

struct look {
    struct rows_question q;
    struct rows_condition conditions[CONDITIONS_MAX];
    struct arena *arena;
    const struct subject *subject; /* NULL: all requests */
    const struct record_field *field;
    struct buf ids;
    size_t n_ids;
    int64_t *values;
    size_t n_values, n_rows, n_failed;
};

/* An alert of an objective says which one, one of a baseline the metric. */
static const struct subject *subject_of(const struct alert_notice *n)
{
    struct span objective = labels_get(n->labels, SPAN("objective"));
    struct span metric = labels_get(n->labels, SPAN("metric"));
    struct span expr = objective.n > 0 ? objective : metric.n > 0 ? metric : n->expr;
    for (size_t i = 0; i < ARRAY_LEN(subjects); i++) {
        if (span_find(expr, span_cstr(subjects[i].word)) < expr.n)
            return &subjects[i];
    }
    return NULL;
}

static bool is_one_of(struct span name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (span_eq(name, span_cstr(names[i])))
            return true;
    }
    return false;
}

/* --- conditions --- */

static const struct record_field *field_of(const char *name)
{
    return &record_fields[fields_find(span_cstr(name))]; /* names of the tables above are there */
}

static int add(struct look *l, const char *field, enum rows_test test, struct span text)
{
    if (l->q.n_conditions == CONDITIONS_MAX)
        return 0; /* more requests than meant is better than none */
    l->conditions[l->q.n_conditions++] =
        (struct rows_condition){.field = field_of(field), .test = test, .text = text};
    return 0;
}

static int add_business(struct look *l, const struct label *label)
{
    size_t n = label->name.n + 1 + label->value.n;
    char *text = arena_alloc(l->arena, n);
    if (!text)
        return -ENOMEM;
    memcpy(text, label->name.p, label->name.n);
    text[label->name.n] = '=';
    memcpy(text + label->name.n + 1, label->value.p, label->value.n);
    return add(l, "labels", ROWS_EQ, span_of(text, n));
}

/* Business labels are those that are nobody else's: where no row has one, the alert's own label was
 * meant, and the next look goes without. */
static int add_labels(struct look *l, struct labels labels, bool with_business)
{
    int r = 0;
    for (size_t i = 0; i < labels.n && r == 0; i++) {
        const struct label *label = &labels.at[i];
        char name[16];
        if (span_eq(label->value, SPAN("other")) || span_eq(label->value, SPAN("none")))
            continue;
        if (is_one_of(label->name, own_labels, ARRAY_LEN(own_labels))) {
            span_copy(label->name, name, sizeof(name));
            r = add(l, name, ROWS_EQ, label->value);
        } else if (with_business &&
                   !is_one_of(label->name, other_labels, ARRAY_LEN(other_labels))) {
            r = add_business(l, label);
        }
    }
    return r;
}

/* --- looking --- */

static int take_id(void *ctx, uint64_t key, const struct record *r)
{
    struct look *l = ctx;
    (void)key;
    l->n_ids++;
    return buf_printf(&l->ids, "%s%s", l->n_ids > 1 ? ", " : "", r->request_id);
}

static int take_value(void *ctx, uint64_t key, const struct record *r)
{
    struct look *l = ctx;
    (void)key;
    l->n_rows++;
    l->n_failed += r->outcome != OUTCOME_OK;
    if (!l->field)
        return 0;
    int64_t v = fields_number(l->field, r);
    if (fields_is_known(l->field->type, v))
        l->values[l->n_values++] = v;
    return 0;
}

static int look(struct look *l, struct rows_reader *reader)
{
    struct rows_question slow = l->q;
    size_t n_conditions = l->q.n_conditions;
    int r = rows_ask(reader, &l->q, take_value, l);
    if (r < 0 || l->n_rows == 0)
        return r;
    slow.limit = EVIDENCE_IDS;
    slow.order = l->field;
    if (!l->field && l->subject) {
        (void)add(l, "outcome", ROWS_NE, span_cstr(outcome_name(OUTCOME_OK)));
        slow.n_conditions = l->q.n_conditions;
        l->q.n_conditions = n_conditions;
    }
    return rows_ask(reader, &slow, take_id, l);
}

/* --- telling --- */

static int compare(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* "812 ms", "2.93 s" */
static int print_time(struct buf *out, const char *before, int64_t ns)
{
    if (ns < NS_PER_S)
        return buf_printf(out, "%s%lld ms", before, (long long)(ns + NS_PER_MS / 2) / NS_PER_MS);
    return buf_printf(out, "%s%.2f s", before, (double)ns / NS_PER_S);
}

static int64_t quantile(const struct look *l, int percent)
{
    size_t rank = (l->n_values * (size_t)percent + 99) / 100;
    return l->values[rank > 0 ? rank - 1 : 0];
}

static int print(struct look *l, struct buf *out)
{
    int r = buf_printf(out, "%s%zu requests in 15 min around the beginning, %zu failed",
                       l->n_rows == EVIDENCE_ROWS ? "the newest " : "", l->n_rows, l->n_failed);
    if (r < 0 || !l->field || l->n_values == 0)
        return r;
    qsort(l->values, l->n_values, sizeof(*l->values), compare);
    r = buf_printf(out, "; %s of %zu: ", l->subject->name, l->n_values);
    if (r == 0)
        r = print_time(out, "p50 ", quantile(l, 50));
    if (r == 0)
        r = print_time(out, ", p95 ", quantile(l, 95));
    if (r == 0)
        r = print_time(out, ", p99 ", quantile(l, 99));
    return r < 0 ? r : print_time(out, ", most ", quantile(l, 100));
}

static int make_labels(struct look *l, struct labels *ret)
{
    struct label *pairs = arena_array(l->arena, 2, sizeof(*pairs));
    struct buf text;
    buf_init(&text, 1024);
    int r = pairs ? print(l, &text) : -ENOMEM;
    if (r == 0) {
        pairs[0] = (struct label){SPAN("evidence"), arena_dup(l->arena, buf_span(&text))};
        pairs[1] =
            (struct label){SPAN("exemplar_requests"), arena_dup(l->arena, buf_span(&l->ids))};
        r = pairs[0].value.p && pairs[1].value.p ? labels_normalise(pairs, 2, ret, NULL) : -ENOMEM;
    }
    buf_done(&text);
    return r;
}

static void look_begin(struct look *l, const struct alert_notice *n)
{
    int64_t begin_us = n->starts_ms * 1000;
    l->q = (struct rows_question){.from = {begin_us - LOOK_BACK_US},
                                  .to = {clock_wall().us},
                                  .conditions = l->conditions,
                                  .is_descending = true,
                                  .limit = EVIDENCE_ROWS};
    l->n_rows = l->n_failed = l->n_values = 0;
}

int evidence_find(void *ctx, const struct alert_notice *n, struct arena *a, struct labels *ret)
{
    struct look l = {.arena = a, .subject = subject_of(n)};
    struct rows_reader *reader = NULL;
    *ret = (struct labels){0};
    if (l.subject && l.subject->field)
        l.field = field_of(l.subject->field);
    buf_init(&l.ids, 1024);
    l.values = mem_alloc(EVIDENCE_ROWS * sizeof(*l.values));
    int r = l.values ? rows_reader_open(ctx, &reader, NULL) : -ENOMEM;
    for (int with_business = 1; with_business >= 0 && r == 0 && l.n_rows == 0; with_business--) {
        look_begin(&l, n);
        r = add_labels(&l, n->labels, with_business == 1);
        if (r == 0)
            r = look(&l, reader);
    }
    if (r == 0 && l.n_rows > 0)
        r = make_labels(&l, ret);
    rows_reader_close(reader);
    mem_free(l.values);
    buf_done(&l.ids);
    return r;
}
