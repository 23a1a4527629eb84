/* SPDX-License-Identifier: Apache-2.0 */
#include "store/fields.h"

#include <pthread.h>
#include <string.h>

/* What is in memory, and how it stands on disk. */
enum shape { SHAPE_I64, SHAPE_INT, SHAPE_U32, SHAPE_BOOL, SHAPE_CHARS, SHAPE_CSTR, SHAPE_SPAN };

static const struct {
    enum shape shape;
    char letter;
    int64_t nothing;
} types[] = {
    [RECORD_STR] = {SHAPE_CHARS, 's', 0},
    [RECORD_CSTR] = {SHAPE_CSTR, 'c', 0},
    [RECORD_I64] = {SHAPE_I64, 'i', -1},
    [RECORD_RAW_I64] = {SHAPE_I64, 'r', RECORD_UNTOLD},
    [RECORD_INT] = {SHAPE_INT, 'n', 0},
    [RECORD_U32] = {SHAPE_U32, 'u', 0},
    [RECORD_U64] = {SHAPE_I64, 'U', 0},
    [RECORD_BOOL] = {SHAPE_BOOL, 'b', 0},
    [RECORD_DURATION] = {SHAPE_I64, 'd', -1},
    [RECORD_WALL] = {SHAPE_I64, 'w', 0},
    [RECORD_ENUM] = {SHAPE_INT, 'e', 0},
    [RECORD_FLAGS] = {SHAPE_U32, 'f', 0},
    [RECORD_DOUBLE] = {SHAPE_I64, 'D', INT64_C(-4616189618054758400)}, /* the bits of -1.0 */
    [RECORD_LABELS] = {SHAPE_SPAN, 'l', 0},
    [RECORD_TIMELINE] = {SHAPE_SPAN, 't', 0},
};

bool fields_is_text(enum record_type type)
{
    return types[type].shape >= SHAPE_CHARS;
}

int64_t fields_nothing(enum record_type type)
{
    return types[type].nothing;
}

int64_t fields_missing(enum record_type type)
{
    return type == RECORD_ENUM ? -1 : types[type].nothing;
}

char fields_letter(enum record_type type)
{
    return types[type].letter;
}

int fields_type(char letter)
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        if (types[i].letter == letter)
            return (int)i;
    }
    return -1;
}

int64_t fields_number(const struct record_field *f, const struct record *r)
{
    const char *p = (const char *)r + f->offset;
    int64_t v = 0;
    int i = 0;
    uint32_t u = 0;
    switch (types[f->type].shape) {
    case SHAPE_I64:
        memcpy(&v, p, sizeof(v));
        break;
    case SHAPE_INT:
        memcpy(&i, p, sizeof(i));
        v = i;
        break;
    case SHAPE_U32:
        memcpy(&u, p, sizeof(u));
        v = u;
        break;
    case SHAPE_BOOL:
        v = *p != 0;
        break;
    case SHAPE_CHARS:
    case SHAPE_CSTR:
    case SHAPE_SPAN:
        break;
    }
    return v;
}

void fields_set_number(const struct record_field *f, struct record *r, int64_t v)
{
    char *p = (char *)r + f->offset;
    int i = (int)v;
    uint32_t u = (uint32_t)v;
    bool b = v != 0;
    switch (types[f->type].shape) {
    case SHAPE_I64:
        memcpy(p, &v, sizeof(v));
        break;
    case SHAPE_INT:
        memcpy(p, &i, sizeof(i));
        break;
    case SHAPE_U32:
        memcpy(p, &u, sizeof(u));
        break;
    case SHAPE_BOOL:
        memcpy(p, &b, sizeof(b));
        break;
    case SHAPE_CHARS:
    case SHAPE_CSTR:
    case SHAPE_SPAN:
        break;
    }
}

struct span fields_text(const struct record_field *f, const struct record *r)
{
    const char *p = (const char *)r + f->offset;
    struct span s = {0};
    const char *text = NULL;
    switch (types[f->type].shape) {
    case SHAPE_CHARS:
        return span_of(p, strnlen(p, f->size));
    case SHAPE_CSTR:
        memcpy(&text, p, sizeof(text));
        return span_cstr(text);
    case SHAPE_SPAN:
        memcpy(&s, p, sizeof(s));
        return s;
    case SHAPE_I64:
    case SHAPE_INT:
    case SHAPE_U32:
    case SHAPE_BOOL:
        break;
    }
    return s;
}

void fields_set_text(const struct record_field *f, struct record *r, struct span text)
{
    char *p = (char *)r + f->offset;
    if (types[f->type].shape == SHAPE_CHARS)
        (void)span_copy(text, p, f->size);
    else if (types[f->type].shape == SHAPE_CSTR)
        memcpy(p, &text.p, sizeof(text.p));
    else if (types[f->type].shape == SHAPE_SPAN)
        memcpy(p, &text, sizeof(text));
}

bool fields_is_known(enum record_type type, int64_t v)
{
    double d;
    switch (type) {
    case RECORD_I64:
    case RECORD_DURATION:
        return v >= 0;
    case RECORD_RAW_I64:
        return v != RECORD_UNTOLD;
    case RECORD_INT:
    case RECORD_WALL:
        return v != 0;
    case RECORD_DOUBLE:
        memcpy(&d, &v, sizeof(d));
        return d >= 0.0;
    case RECORD_ENUM:
        return v >= 0; /* negative: a name that this program does not know */
    default:
        return true;
    }
}

double fields_value(enum record_type type, int64_t v)
{
    double d;
    if (!fields_is_known(type, v))
        return (double)NAN;
    if (type == RECORD_U64)
        return (double)(uint64_t)v;
    if (type != RECORD_DOUBLE)
        return (double)v;
    memcpy(&d, &v, sizeof(d));
    return d;
}

int fields_find(struct span name)
{
    for (size_t i = 0; i < record_n_fields; i++) {
        if (span_eq(span_cstr(record_fields[i].name), name))
            return (int)i;
    }
    return -1;
}

int fields_find_short(struct span name)
{
    static const struct span unit = SPAN_INIT("_ms");
    int found = fields_find(name);
    for (size_t i = 0; i < record_n_fields && found < 0; i++) {
        struct span full = span_cstr(record_fields[i].name);
        if (full.n == name.n + unit.n && span_starts_with(full, name) && span_ends_with(full, unit))
            found = (int)i;
    }
    return found;
}

static int started_at;
static int total;
static int request_id;

static void look_up(void)
{
    started_at = fields_find(SPAN("started_at"));
    total = fields_find(SPAN("total_ms"));
    request_id = fields_find(SPAN("request_id"));
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

int fields_started_at(void)
{
    pthread_once(&once, look_up);
    return started_at;
}

int fields_total(void)
{
    pthread_once(&once, look_up);
    return total;
}

int fields_request_id(void)
{
    pthread_once(&once, look_up);
    return request_id;
}

int fields_n_names(const struct record_field *f)
{
    int n = 0;
    if (f->type == RECORD_FLAGS || f->type == RECORD_ENUM) {
        while (n < 32 && strcmp(f->enum_name(n), "unknown") != 0)
            n++;
    }
    return n;
}
