/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kept_rows.h"

#include <errno.h>
#include <math.h>

#include "base/num.h"
#include "store/fields.h"
#include "wire/json.h"

struct rows_taker {
    struct json j;
    struct span text;
    struct arena *arena;
    struct kept_page *page;
    size_t cap;
    int r; /* sticky */
};

static void fail(struct rows_taker *t, int r)
{
    if (t->r == 0)
        t->r = r;
}

static struct span unescape(struct rows_taker *t, struct span raw)
{
    char *p = arena_alloc(t->arena, raw.n + 1);
    if (!p) {
        fail(t, -ENOMEM);
        return (struct span){0};
    }
    return span_of(p, json_unescape(raw, p, raw.n + 1));
}

/* The next value, whatever it is; null: p == NULL. */
static struct span take_value(struct rows_taker *t)
{
    struct json_value v;
    if (!json_next(&t->j, &v)) {
        fail(t, -EPROTO);
        return (struct span){0};
    }
    if (v.type == JSON_NULL)
        return (struct span){0};
    if (v.type == JSON_STRING)
        return v.has_escape ? unescape(t, v.raw) : v.raw;
    if ((v.type == JSON_OBJECT || v.type == JSON_ARRAY) && !json_leave(&t->j)) {
        fail(t, -EPROTO);
        return (struct span){0};
    }
    if (v.type == JSON_OBJECT || v.type == JSON_ARRAY)
        return span_of(v.raw.p, (size_t)(t->text.p + json_offset(&t->j) - v.raw.p));
    return v.raw;
}

static struct kept_row *add_row(struct rows_taker *t)
{
    struct kept_page *p = t->page;
    if (p->n == t->cap) {
        size_t wider = t->cap ? t->cap * 2 : 16;
        struct kept_row *rows = arena_array(t->arena, wider, sizeof(*rows));
        if (!rows) {
            fail(t, -ENOMEM);
            return NULL;
        }
        if (p->n > 0)
            memcpy(rows, p->rows, p->n * sizeof(*rows));
        p->rows = rows;
        t->cap = wider;
    }
    struct kept_row *row = &p->rows[p->n++];
    row->values = arena_zalloc(t->arena, record_n_fields, sizeof(*row->values));
    if (!row->values)
        fail(t, -ENOMEM);
    return row;
}

/* Behind the bracket of a row, which stands at begin, up to its end. error: the member of that
 * name, where somebody asks for it. */
static void take_row(struct rows_taker *t, const char *begin, struct span *error)
{
    struct kept_row *row = add_row(t);
    struct span key;
    while (row && t->r == 0 && json_key(&t->j, &key)) {
        int field = fields_find(key);
        struct span v = take_value(t);
        if (field >= 0)
            row->values[field] = v;
        else if (error && span_eq(key, SPAN("error")))
            *error = v;
    }
    if (row && t->r == 0)
        row->json = span_of(begin, (size_t)(t->text.p + json_offset(&t->j) - begin));
}

static void take_rows(struct rows_taker *t)
{
    struct json_value v;
    if (!json_next(&t->j, &v) || v.type != JSON_ARRAY) {
        fail(t, -EPROTO);
        return;
    }
    while (t->r == 0 && json_item(&t->j)) {
        if (json_next(&t->j, &v) && v.type == JSON_OBJECT)
            take_row(t, v.raw.p, NULL);
        else
            fail(t, -EPROTO);
    }
}

static bool begin(struct rows_taker *t, struct span json, struct arena *a, struct kept_page *page,
                  struct json_value *ret)
{
    *page = (struct kept_page){0};
    *t = (struct rows_taker){.text = json, .arena = a, .page = page};
    json_init(&t->j, json);
    if (!json_next(&t->j, ret) || ret->type != JSON_OBJECT)
        fail(t, -EPROTO);
    return t->r == 0;
}

static int end(struct rows_taker *t)
{
    if (t->r == 0 && !json_is_done(&t->j))
        t->r = -EPROTO;
    return t->r;
}

int kept_page_read(struct span json, struct arena *a, struct kept_page *ret)
{
    struct rows_taker t;
    struct json_value v;
    struct span key;
    bool has_rows = false;
    if (!begin(&t, json, a, ret, &v))
        return t.r;
    while (t.r == 0 && json_key(&t.j, &key)) {
        if (span_eq(key, SPAN("requests"))) {
            take_rows(&t);
            has_rows = true;
        } else if (span_eq(key, SPAN("next"))) {
            ret->next = take_value(&t);
        } else if (span_eq(key, SPAN("error"))) {
            ret->error = take_value(&t);
        } else {
            (void)json_skip(&t.j);
        }
    }
    int r = end(&t);
    return r == 0 && !has_rows && !ret->error.p ? -EPROTO : r;
}

int kept_single_read(struct span json, struct arena *a, struct kept_page *ret)
{
    struct rows_taker t;
    struct json_value v;
    struct span error = {0};
    if (!begin(&t, json, a, ret, &v))
        return t.r;
    take_row(&t, v.raw.p, &error);
    int r = end(&t);
    ret->error = error;
    bool is_row = r == 0 && ret->rows[0].values[fields_request_id()].p;
    return r == 0 && !is_row && !error.p ? -EPROTO : r;
}

struct span kept_value(const struct kept_row *row, const char *name)
{
    const struct span none = {0};
    int i = fields_find(span_cstr(name));
    return i < 0 ? none : row->values[i];
}

double kept_number(struct span value)
{
    double v;
    return value.p && num_parse_double(value, &v) == 0 ? v : (double)NAN;
}
