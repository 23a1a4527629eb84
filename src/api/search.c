/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/search.c - parameters to a question about request rows.
 *
 * A parameter is split at its first '=' before it comes here: "ttft_ms>=5" is the name "ttft_ms>"
 * with the value "5", and "ttft_ms>5" is all name.
 */
#include "api/search.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/num.h"
#include "base/suggest.h"
#include "base/timestamp.h"
#include "store/fields.h"

struct reading {
    const struct params *params;
    wall_t now;
    struct arena *arena;
    struct search *s;
    struct err *reterr;
};

/* --- texts of errors --- */

static int refuse(struct reading *r, struct span name, struct span value, const char *wanted)
{
    return err_set(r->reterr, -EINVAL, "parameter \"%.*s\": \"%.*s\" is not %s", SPAN_ARG(name),
                   SPAN_ARG(value), wanted);
}

static void offer_fields(struct suggest *s)
{
    for (size_t i = 0; i < record_n_fields; i++) {
        struct span name = span_cstr(record_fields[i].name);
        suggest_offer(s, name);
        if (span_ends_with(name, SPAN("_ms")))
            suggest_offer(s, span_of(name.p, name.n - 3));
    }
}

/* s was offered what there is. */
static void hint_nearest(struct reading *r, const struct suggest *s, const char *otherwise)
{
    if (s->best.n > 0)
        err_hint(r->reterr, "did you mean \"%.*s\"?", SPAN_ARG(s->best));
    else
        err_hint(r->reterr, "%s", otherwise);
}

static int refuse_name(struct reading *r, struct span name)
{
    static const char *const others[] = {"from", "to", "limit", "order", "after"};
    struct suggest s;
    int e = err_set(r->reterr, -EINVAL, "parameter \"%.*s\": a request has no such field",
                    SPAN_ARG(name));
    suggest_init(&s, name);
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        suggest_offer(&s, span_cstr(others[i]));
    offer_fields(&s);
    hint_nearest(r, &s, "fields are those of the request log (docs/RECORD.md)");
    return e;
}

/* A value of an enumeration or a flag that there is not. */
static int refuse_value(struct reading *r, const struct record_field *f, struct span value)
{
    struct suggest s;
    char all[236] = "one of";
    size_t n = strlen(all);
    int n_names = fields_n_names(f);
    suggest_init(&s, value);
    for (int i = 0; i < n_names; i++) {
        struct span name = span_cstr(f->enum_name(i));
        suggest_offer(&s, name);
        if (n + 1 + name.n < sizeof(all)) {
            all[n++] = ' ';
            n += span_copy(name, all + n, sizeof(all) - n);
        }
    }
    int e = refuse(r, span_cstr(f->name), value, "one of its values");
    hint_nearest(r, &s, all);
    return e;
}

/* --- values --- */

static struct span text_of(struct reading *r, const char *name)
{
    return params_get(r->params, span_cstr(name));
}

int search_time(struct span s, wall_t now, wall_t *ret)
{
    const double seconds_max = 1e11;
    double seconds;
    int64_t ms;
    if (span_eq(s, SPAN("now"))) {
        *ret = now;
        return 0;
    }
    if (num_parse_double(s, &seconds) == 0) {
        if (!(seconds >= 0 && seconds <= seconds_max))
            return -EINVAL;
        ret->us = llround(seconds * (double)US_PER_S);
        return 0;
    }
    if (s.n > 1 && s.p[0] == '-') {
        if (params_duration(span_from(s, 1), &ms) < 0 || ms > now.us / 1000)
            return -EINVAL;
        ret->us = now.us - ms * 1000;
        return 0;
    }
    return timestamp_parse(s, ret);
}

static const char time_form[] =
    "a time: 2026-11-30T02:10:00Z, seconds since the epoch, now, or a distance from now like -90m";

static int read_time(struct reading *r, const char *name, wall_t *ret)
{
    struct span s = text_of(r, name);
    if (s.n == 0 || search_time(s, r->now, ret) == 0)
        return 0;
    return refuse(r, span_cstr(name), s, time_form);
}

/* Milliseconds, or with a unit; what a row shows becomes the very ns that it was made of. */
static int read_duration(struct span s, double *ret_ns)
{
    double ms;
    int64_t ns;
    if (num_parse_double(s, &ms) == 0)
        *ret_ns = round(ms * (double)NS_PER_MS);
    else if (num_parse_duration(s, &ns) == 0)
        *ret_ns = (double)ns;
    else
        return -EINVAL;
    return 0;
}

static int read_number(struct reading *r, const struct record_field *f, struct span s, double *ret)
{
    struct span name = span_cstr(f->name);
    wall_t t;
    if (f->type == RECORD_WALL) {
        if (search_time(s, r->now, &t) < 0)
            return refuse(r, name, s, time_form);
        *ret = (double)t.us;
        return 0;
    }
    if (f->type == RECORD_DURATION)
        return read_duration(s, ret) == 0
                   ? 0
                   : refuse(r, name, s, "a number of milliseconds, or a duration like 1.5s");
    return num_parse_double(s, ret) == 0 ? 0 : refuse(r, name, s, "a number");
}

/* --- conditions --- */

enum value_kind { VALUE_NUMBER, VALUE_BOOL, VALUE_NAME, VALUE_TEXT, VALUE_LABELS, VALUE_NONE };

static enum value_kind kind_of(enum record_type type)
{
    switch (type) {
    case RECORD_STR:
    case RECORD_CSTR:
        return VALUE_TEXT;
    case RECORD_BOOL:
        return VALUE_BOOL;
    case RECORD_ENUM:
    case RECORD_FLAGS:
        return VALUE_NAME;
    case RECORD_LABELS:
        return VALUE_LABELS;
    case RECORD_TIMELINE:
        return VALUE_NONE;
    default:
        return VALUE_NUMBER;
    }
}

static const struct record_field *field_of(struct span name)
{
    int i = fields_find_short(name);
    return i < 0 ? NULL : &record_fields[i];
}

/* A condition as it is written. */
struct written {
    struct span name, value; /* value without the operator */
    enum rows_test test;
};

static bool is_operator(char c)
{
    return c == '<' || c == '>' || c == '!';
}

static int split(struct reading *r, const struct param *p, struct written *ret)
{
    size_t at = 0;
    while (at < p->name.n && !is_operator(p->name.p[at]))
        at++;
    *ret = (struct written){span_of(p->name.p, at), p->value, ROWS_EQ};
    if (at == p->name.n)
        return 0;
    char c = p->name.p[at];
    struct span rest = span_from(p->name, at + 1);
    if (rest.n == 0) {
        ret->test = c == '!' ? ROWS_NE : c == '<' ? ROWS_LE : ROWS_GE;
        return 0;
    }
    if (c != '!' && p->value.n == 0) {
        ret->test = c == '<' ? ROWS_LT : ROWS_GT;
        ret->value = rest;
        return 0;
    }
    (void)err_set(r->reterr, -EINVAL, "parameter \"%.*s\": this is no condition",
                  SPAN_ARG(p->name));
    err_hint(r->reterr, "FIELD=VALUE, FIELD!=VALUE, FIELD<VALUE, FIELD<=VALUE, FIELD>VALUE or "
                        "FIELD>=VALUE");
    return -EINVAL;
}

static bool is_equality(enum rows_test t)
{
    return t == ROWS_EQ || t == ROWS_NE;
}

/* labels.NAME */
static int set_label(struct reading *r, struct span name, const struct written *w,
                     struct rows_condition *c)
{
    char *text = arena_alloc(r->arena, name.n + 1 + w->value.n);
    if (!text)
        return err_set(r->reterr, -ENOMEM, "out of memory");
    memcpy(text, name.p, name.n);
    text[name.n] = '=';
    if (w->value.n > 0)
        memcpy(text + name.n + 1, w->value.p, w->value.n);
    c->text = span_of(text, name.n + 1 + w->value.n);
    return 0;
}

static bool is_name_of(const struct record_field *f, struct span value)
{
    int n = fields_n_names(f);
    for (int i = 0; i < n; i++) {
        if (span_eq(span_cstr(f->enum_name(i)), value))
            return true;
    }
    return false;
}

static int set_value(struct reading *r, const struct written *w, struct rows_condition *c)
{
    const struct record_field *f = c->field;
    struct span name = span_cstr(f->name);
    enum value_kind kind = kind_of(f->type);
    if (kind != VALUE_NUMBER && !is_equality(w->test))
        return err_set(r->reterr, -EINVAL,
                       "parameter \"%.*s\": only = and != compare what is no number",
                       SPAN_ARG(name));
    if (w->value.n == 0 && f->type == RECORD_FLAGS)
        return 0; /* none is set, some are: the number 0 */
    if (w->value.n == 0 && is_equality(w->test)) {
        c->test = w->test == ROWS_EQ ? ROWS_UNKNOWN : ROWS_KNOWN;
        return 0;
    }
    switch (kind) {
    case VALUE_NUMBER:
        return read_number(r, f, w->value, &c->number);
    case VALUE_BOOL:
        c->number = span_eq(w->value, SPAN("true"));
        return c->number > 0 || span_eq(w->value, SPAN("false"))
                   ? 0
                   : refuse(r, name, w->value, "true or false");
    case VALUE_NAME:
        c->text = w->value;
        return is_name_of(f, w->value) ? 0 : refuse_value(r, f, w->value);
    case VALUE_TEXT:
        c->text = w->value;
        return 0;
    case VALUE_LABELS:
        return refuse(r, name, w->value, "how to ask for a label, which is labels.NAME=VALUE");
    case VALUE_NONE:
        break;
    }
    return refuse(r, name, w->value, "empty, and only whether it is there can be asked");
}

static int read_condition(struct reading *r, const struct param *p)
{
    static const struct span label = SPAN_INIT("labels.");
    struct rows_question *q = &r->s->question;
    struct written w;
    int e = split(r, p, &w);
    if (e < 0)
        return e;
    if (q->n_conditions == SEARCH_CONDITIONS_MAX)
        return err_set(r->reterr, -EINVAL, "more than %d conditions", SEARCH_CONDITIONS_MAX);
    struct rows_condition *c = &r->s->conditions[q->n_conditions];
    bool is_label = span_starts_with(w.name, label) && w.name.n > label.n;
    *c = (struct rows_condition){.field = field_of(is_label ? SPAN("labels") : w.name),
                                 .test = w.test};
    if (!c->field)
        return refuse_name(r, w.name);
    if (is_label && is_equality(w.test))
        e = set_label(r, span_from(w.name, label.n), &w, c);
    else
        e = set_value(r, &w, c);
    q->n_conditions += e == 0;
    return e;
}

/* --- the rest --- */

static int read_limit(struct reading *r)
{
    char wanted[40];
    struct span s = text_of(r, "limit");
    uint64_t limit = SEARCH_LIMIT_DEFAULT;
    if (s.n > 0 && (num_parse_u64(s, &limit) < 0 || limit == 0 || limit > SEARCH_LIMIT_MAX)) {
        (void)snprintf(wanted, sizeof(wanted), "a number from 1 to %d", SEARCH_LIMIT_MAX);
        return refuse(r, SPAN("limit"), s, wanted);
    }
    r->s->question.limit = (size_t)limit;
    return 0;
}

static int read_order(struct reading *r)
{
    struct rows_question *q = &r->s->question;
    struct span s = text_of(r, "order");
    struct suggest near;
    q->is_descending = s.n == 0 || s.p[0] == '-';
    if (s.n == 0)
        return 0;
    struct span name = span_from(s, q->is_descending);
    if (span_eq(name, SPAN("time")))
        return 0;
    q->order = field_of(name);
    if (q->order && kind_of(q->order->type) == VALUE_NUMBER)
        return 0;
    int e = refuse(r, SPAN("order"), s,
                   q->order ? "a field to order by, which numbers and times are"
                            : "time or a field of a request, with - in front or not");
    suggest_init(&near, name);
    offer_fields(&near);
    if (!q->order)
        hint_nearest(r, &near, "for example order=-ttft_ms: the slowest first");
    return e;
}

/* 16 hex digits of the row's key; with an order 16 more, of its number. */
static int read_after(struct reading *r)
{
    struct rows_question *q = &r->s->question;
    struct span s = text_of(r, "after");
    struct span number = s;
    struct span key = span_take(&number, s.n < 16 ? s.n : 16);
    uint64_t bits = 0;
    if (s.n == 0)
        return 0;
    bool is_key = key.n == 16 && num_parse_hex(key, &q->after) == 0 && q->after > 0;
    if (q->order)
        is_key = is_key && number.n == 16 && num_parse_hex(number, &bits) == 0;
    else
        is_key = is_key && number.n == 0;
    memcpy(&q->after_number, &bits, sizeof(bits));
    if (is_key && isfinite(q->after_number))
        return 0;
    return refuse(r, SPAN("after"), s, "a key that came as \"next\" with the same order");
}

static bool is_reserved(struct span name)
{
    static const struct span names[] = {SPAN_INIT("from"), SPAN_INIT("to"), SPAN_INIT("limit"),
                                        SPAN_INIT("order"), SPAN_INIT("after")};
    bool is_one = false;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        is_one = is_one || span_eq(name, names[i]);
    return is_one;
}

int search_parse(const struct params *p, wall_t now, struct arena *a, struct search *ret,
                 struct err *reterr)
{
    struct reading r = {.params = p, .now = now, .arena = a, .s = ret, .reterr = reterr};
    struct rows_question *q = &ret->question;
    *q = (struct rows_question){.from = {0}, .to = {INT64_MAX}, .conditions = ret->conditions};
    int e = read_time(&r, "from", &q->from);
    if (e == 0)
        e = read_time(&r, "to", &q->to);
    if (e == 0 && q->from.us > q->to.us)
        e = err_set(reterr, -EINVAL, "parameter \"to\": it is before \"from\"");
    if (e == 0)
        e = read_limit(&r);
    if (e == 0)
        e = read_order(&r);
    if (e == 0)
        e = read_after(&r);
    for (size_t i = 0; i < p->n && e == 0; i++) {
        if (!is_reserved(p->at[i].name))
            e = read_condition(&r, &p->at[i]);
    }
    return e;
}

void search_key(const struct search *s, uint64_t key, const struct record *r,
                char dst[SEARCH_KEY_BYTES])
{
    const struct record_field *f = s->question.order;
    int n = snprintf(dst, SEARCH_KEY_BYTES, "%016llx", (unsigned long long)key);
    if (!f)
        return;
    double number = fields_value(f->type, fields_number(f, r));
    uint64_t bits;
    memcpy(&bits, &number, sizeof(bits));
    (void)snprintf(dst + n, (size_t)(SEARCH_KEY_BYTES - n), "%016llx", (unsigned long long)bits);
}
