/* SPDX-License-Identifier: Apache-2.0 */
#include "store/condition.h"

#include <errno.h>
#include <math.h>

static bool is_equality(enum rows_test t)
{
    return t == ROWS_EQ || t == ROWS_NE;
}

static bool is_presence(enum rows_test t)
{
    return t == ROWS_KNOWN || t == ROWS_UNKNOWN;
}

/* The value of that name; NaN: none has it. */
static double value_of_name(const struct record_field *f, struct span name)
{
    int n = fields_n_names(f);
    for (int i = 0; i < n; i++) {
        if (span_eq(span_cstr(f->enum_name(i)), name))
            return i;
    }
    return (double)NAN;
}

int condition_prepare(const struct rows_condition *c, struct condition *ret)
{
    const struct record_field *f = c->field;
    if (!f || f < record_fields || f >= record_fields + record_n_fields)
        return -EINVAL;
    *ret = (struct condition){.test = c->test,
                              .field = (size_t)(f - record_fields),
                              .text = c->text,
                              .number = c->number};
    if (f->type == RECORD_LABELS && is_equality(c->test)) {
        ret->kind = CONDITION_LABEL;
    } else if (fields_is_text(f->type)) {
        ret->kind = CONDITION_TEXT;
    } else if (f->type == RECORD_FLAGS && c->text.n > 0) {
        double bit = value_of_name(f, c->text);
        ret->kind = CONDITION_FLAG;
        ret->mask = isnan(bit) ? 0 : INT64_C(1) << (int)bit;
        return is_equality(c->test) ? 0 : -EINVAL;
    } else if (f->type == RECORD_ENUM && c->text.n > 0) {
        ret->number = value_of_name(f, c->text);
        return is_equality(c->test) || is_presence(c->test) ? 0 : -EINVAL;
    }
    return 0;
}

/* An unknown one is NaN, which compares as false. */
static bool test_number(const struct condition *c, double v)
{
    switch (c->test) {
    case ROWS_EQ:
        return v >= c->number && v <= c->number;
    case ROWS_NE:
        return !(v >= c->number && v <= c->number);
    case ROWS_LT:
        return v < c->number;
    case ROWS_LE:
        return v <= c->number;
    case ROWS_GT:
        return v > c->number;
    case ROWS_GE:
        return v >= c->number;
    case ROWS_KNOWN:
        return !isnan(v);
    case ROWS_UNKNOWN:
        return isnan(v);
    }
    return false;
}

static bool test_text(const struct condition *c, struct span v)
{
    switch (c->test) {
    case ROWS_EQ:
        return span_eq(v, c->text);
    case ROWS_NE:
        return !span_eq(v, c->text);
    case ROWS_LT:
        return span_cmp(v, c->text) < 0;
    case ROWS_LE:
        return span_cmp(v, c->text) <= 0;
    case ROWS_GT:
        return span_cmp(v, c->text) > 0;
    case ROWS_GE:
        return span_cmp(v, c->text) >= 0;
    case ROWS_KNOWN:
        return v.n > 0;
    case ROWS_UNKNOWN:
        return v.n == 0;
    }
    return false;
}

/* Whether "name=value" is among the labels. */
static bool test_label(const struct condition *c, struct span labels)
{
    struct span value = c->text;
    struct span name = span_split(&value, '=');
    bool has = false;
    while (labels.n > 0 && !has) {
        struct span n = span_split(&labels, '\0');
        struct span v = span_split(&labels, '\0');
        has = span_eq(n, name) && span_eq(v, value);
    }
    return has == (c->test == ROWS_EQ);
}

static bool test_any_text(const struct condition *c, struct span v)
{
    return c->kind == CONDITION_LABEL ? test_label(c, v) : test_text(c, v);
}

bool condition_may_hold(const struct condition *c, const struct chunk_source *s, struct span zones)
{
    struct column_zone z;
    if (c->kind != CONDITION_NUMBER || s->fields[c->field] == 0 ||
        !segment_zone(zones, s->fields[c->field], &z))
        return true;
    switch (c->test) {
    case ROWS_EQ:
        return c->number >= z.min && c->number <= z.max;
    case ROWS_LT:
        return z.min < c->number;
    case ROWS_LE:
        return z.min <= c->number;
    case ROWS_GT:
        return z.max > c->number;
    case ROWS_GE:
        return z.max >= c->number;
    case ROWS_KNOWN:
        return z.min <= z.max;
    case ROWS_NE:
    case ROWS_UNKNOWN:
        break;
    }
    return true;
}

static int apply_numbers(const struct condition *c, struct chunk_source *s,
                         const struct chunk *chunk, int64_t *numbers, uint8_t *keep)
{
    enum record_type type = record_fields[c->field].type;
    int has = chunk_numbers(s, chunk, c->field, numbers);
    if (has < 0)
        return has;
    for (size_t i = 0; i < chunk->n_rows; i++) {
        if (c->kind == CONDITION_FLAG)
            keep[i] &= ((numbers[i] & c->mask) != 0) == (c->test == ROWS_EQ);
        else
            keep[i] &= test_number(c, has ? fields_value(type, numbers[i]) : (double)NAN);
    }
    return 0;
}

static int apply_block(const struct condition *c, struct chunk_source *s, const struct chunk *chunk,
                       uint8_t *keep)
{
    const struct span *texts = s->room->batch->texts[c->field];
    int r = chunk_load_block(s, chunk);
    for (size_t i = 0; i < chunk->n_rows && r == 0; i++)
        keep[i] &= test_any_text(c, texts[i]);
    return r;
}

/* A dictionary's texts are tested once each. */
static void apply_column(const struct condition *c, const struct column *column, uint8_t *keep)
{
    bool nothing = test_any_text(c, (struct span){0});
    bool of_text[COLUMN_ROWS_MAX] = {false};
    size_t k = 0;
    for (size_t i = 0; i < column->n_texts; i++)
        of_text[i] = test_any_text(c, column_text_at(column, i));
    for (size_t i = 0; i < column->n_rows; i++)
        keep[i] &= column_has(column, i) ? of_text[column_text_index(column, k++)] : nothing;
}

int condition_apply(const struct condition *c, struct chunk_source *s, const struct chunk *chunk,
                    int64_t *numbers, uint8_t *keep)
{
    struct column column;
    if (c->kind == CONDITION_NUMBER || c->kind == CONDITION_FLAG)
        return apply_numbers(c, s, chunk, numbers, keep);
    if (chunk->is_tail)
        return apply_block(c, s, chunk, keep);
    int has = chunk_column(s, chunk, c->field, &column);
    if (has == 1)
        apply_column(c, &column, keep);
    bool nothing = test_any_text(c, (struct span){0});
    for (size_t i = 0; i < chunk->n_rows && has == 0; i++)
        keep[i] &= nothing;
    return has < 0 ? has : 0;
}
