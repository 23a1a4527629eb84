/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/take.c - see take.h.
 */
#include "dialect/take.h"

#include <math.h>

bool take_whole(struct json *j, struct json_value *ret)
{
    if (!json_next(j, ret))
        return false;
    return (ret->type != JSON_OBJECT && ret->type != JSON_ARRAY) || json_leave(j);
}

static bool enter(struct json *j, enum json_type type)
{
    struct json_value v;
    if (!json_next(j, &v) || v.type == type)
        return json_status(j) == JSON_OK;
    if (v.type == JSON_OBJECT || v.type == JSON_ARRAY)
        (void)json_leave(j); /* the status is sticky */
    return false;
}

bool take_object(struct json *j)
{
    return enter(j, JSON_OBJECT);
}

bool take_array(struct json *j)
{
    return enter(j, JSON_ARRAY);
}

bool take_text(struct json *j)
{
    struct json_value v;
    return take_whole(j, &v) && json_is_nonempty_string(&v);
}

struct span take_string(struct json *j)
{
    struct json_value v;
    return take_whole(j, &v) && v.type == JSON_STRING ? v.raw : (struct span){0};
}

bool take_is_truthy(struct json *j, const struct json_value *v)
{
    struct span key;
    double number;
    bool is_filled;
    switch (v->type) {
    case JSON_NULL:
        return false;
    case JSON_BOOL:
        return v->is_true;
    case JSON_NUMBER:
        return !json_double(v, &number) || number < 0.0 || number > 0.0;
    case JSON_STRING:
        return v->raw.n > 0;
    case JSON_OBJECT:
        is_filled = json_key(j, &key);
        break;
    case JSON_ARRAY:
        is_filled = json_item(j);
        break;
    default:
        return false;
    }
    if (is_filled)
        (void)json_leave(j); /* the status is sticky */
    return is_filled;
}

bool take_truthy(struct json *j)
{
    struct json_value v;
    return json_next(j, &v) && take_is_truthy(j, &v);
}

void take_count(struct json *j, int64_t *ret)
{
    struct json_value v;
    if (take_whole(j, &v))
        (void)json_i64(&v, ret); /* null and other types tell nothing */
}

void take_positive(struct json *j, int64_t *ret)
{
    struct json_value v;
    int64_t n;
    if (take_whole(j, &v) && json_i64(&v, &n) && n > 0)
        *ret = n;
}

void take_scaled(struct json *j, double scale, int64_t *ret)
{
    struct json_value v;
    double number;
    if (take_whole(j, &v) && json_double(&v, &number) && number >= 0.0 && number * scale < 0x1p62)
        *ret = llround(number * scale);
}

void take_flag(struct json *j, bool *ret)
{
    struct json_value v;
    if (take_whole(j, &v))
        *ret = v.type == JSON_BOOL && v.is_true;
}

void take_name(struct json *j, struct span *ret)
{
    struct json_value v;
    if (take_whole(j, &v) && (json_is_nonempty_string(&v) || v.type == JSON_NUMBER))
        *ret = v.raw;
}

void take_size(struct json *j, size_t n_input, int64_t *ret)
{
    size_t before = json_offset(j);
    size_t after = json_skip(j) ? json_offset(j) : n_input;
    *ret += (int64_t)(after - before);
}
