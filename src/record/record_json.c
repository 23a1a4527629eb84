/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record/record_json.c - the JSON line, driven by record_fields.
 *
 * Durations are written from integers: a double would already round the nanoseconds of a long day.
 */
#include "record/record.h"

#include <string.h>

#include "base/jsonw.h"
#include "base/num.h"

enum { TEXT_BYTES = 96 };

/* "12.345678": ms with exactly the nanoseconds as decimals. dst: TEXT_BYTES. */
static struct span format_ms(int64_t ns, char *dst)
{
    uint64_t magnitude = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    size_t n = 0;
    if (ns < 0)
        dst[n++] = '-';
    n += num_format_u64(magnitude / (uint64_t)NS_PER_MS, dst + n);
    dst[n++] = '.';
    num_format_padded(magnitude % (uint64_t)NS_PER_MS, 6, dst + n);
    return span_of(dst, n + 6);
}

/* Days since the epoch -> date, proleptic Gregorian calendar, in eras of 400 years from 1 March. */
static void civil_from_days(int64_t days, int64_t *ret_year, int *ret_month, int *ret_day)
{
    int64_t z = days + 719468;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t day_of_era = z - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month_from_march = (5 * day_of_year + 2) / 153;
    *ret_day = (int)(day_of_year - (153 * month_from_march + 2) / 5 + 1);
    *ret_month = (int)(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9);
    *ret_year = year_of_era + era * 400 + (*ret_month <= 2);
}

/* RFC 3339, UTC, microseconds. dst: TEXT_BYTES. */
static struct span format_wall(wall_t t, char *dst)
{
    const int64_t us_per_day = INT64_C(86400) * 1000000;
    int64_t days = t.us / us_per_day - (t.us % us_per_day < 0);
    int64_t us = t.us - days * us_per_day;
    int64_t year;
    int month;
    int day;
    civil_from_days(days, &year, &month, &day);
    static const char pattern[] = "0000-00-00T00:00:00.000000Z";
    memcpy(dst, pattern, sizeof(pattern) - 1);
    num_format_padded((uint64_t)year % 10000, 4, dst);
    num_format_padded((uint64_t)month, 2, dst + 5);
    num_format_padded((uint64_t)day, 2, dst + 8);
    num_format_padded((uint64_t)(us / 3600000000), 2, dst + 11);
    num_format_padded((uint64_t)(us / 60000000 % 60), 2, dst + 14);
    num_format_padded((uint64_t)(us / 1000000 % 60), 2, dst + 17);
    num_format_padded((uint64_t)(us % 1000000), 6, dst + 20);
    return span_of(dst, sizeof(pattern) - 1);
}

static int64_t read_i64(const void *p)
{
    int64_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static uint32_t read_u32(const void *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static int read_int(const void *p)
{
    int v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static double read_double(const void *p)
{
    double v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static struct span read_text(const struct record_field *f, const void *p)
{
    if (f->type == RECORD_STR)
        return span_of(p, strnlen(p, f->size));
    const char *s;
    memcpy(&s, p, sizeof(s));
    return span_cstr(s);
}

static bool is_known(const struct record_field *f, const void *p)
{
    switch (f->type) {
    case RECORD_STR:
    case RECORD_CSTR:
        return read_text(f, p).n > 0;
    case RECORD_I64:
    case RECORD_DURATION:
        return read_i64(p) >= 0;
    case RECORD_RAW_I64:
        return read_i64(p) != RECORD_UNTOLD;
    case RECORD_WALL:
        return read_i64(p) != 0;
    case RECORD_INT:
        return read_int(p) != 0;
    case RECORD_DOUBLE:
        return read_double(p) >= 0.0;
    case RECORD_U32:
    case RECORD_U64:
    case RECORD_BOOL:
    case RECORD_ENUM:
    case RECORD_FLAGS:
        break;
    }
    return true;
}

static void write_flags(struct jsonw *w, const struct record_field *f, uint32_t bits)
{
    jsonw_begin_array(w);
    for (; bits != 0; bits &= bits - 1)
        jsonw_cstr(w, f->enum_name(__builtin_ctz(bits)));
    jsonw_end_array(w);
}

static void write_value(struct jsonw *w, const struct record_field *f, const void *p)
{
    char text[TEXT_BYTES] UNINITIALIZED;
    wall_t wall;
    switch (f->type) {
    case RECORD_STR:
    case RECORD_CSTR:
        jsonw_str(w, read_text(f, p));
        break;
    case RECORD_I64:
    case RECORD_RAW_I64:
        jsonw_i64(w, read_i64(p));
        break;
    case RECORD_INT:
        jsonw_i64(w, read_int(p));
        break;
    case RECORD_U32:
        jsonw_u64(w, read_u32(p));
        break;
    case RECORD_U64:
        jsonw_u64(w, (uint64_t)read_i64(p));
        break;
    case RECORD_BOOL:
        jsonw_bool(w, *(const bool *)p);
        break;
    case RECORD_DURATION:
        jsonw_raw(w, format_ms(read_i64(p), text));
        break;
    case RECORD_WALL:
        wall.us = read_i64(p);
        jsonw_str(w, format_wall(wall, text));
        break;
    case RECORD_ENUM:
        jsonw_cstr(w, f->enum_name(read_int(p)));
        break;
    case RECORD_FLAGS:
        write_flags(w, f, read_u32(p));
        break;
    case RECORD_DOUBLE:
        jsonw_double(w, read_double(p));
        break;
    }
}

/* Fields about a stream say nothing about an answer that was none. */
static bool is_applicable(const struct record_field *f, const struct record *r)
{
    return f->is_base || r->is_stream || f->group != record_group_stream;
}

int record_to_json(const struct record *r, struct buf *out)
{
    size_t n_before = buf_len(out);
    struct jsonw w;
    jsonw_init(&w, out);
    jsonw_begin_object(&w);
    jsonw_key(&w, "schema_version");
    jsonw_i64(&w, RECORD_SCHEMA_VERSION);
    for (size_t i = 0; i < record_n_fields; i++) {
        const struct record_field *f = &record_fields[i];
        const void *p = (const char *)r + f->offset;
        bool is_written = is_known(f, p) && is_applicable(f, r);
        if (!is_written && !f->is_base)
            continue;
        jsonw_quoted_key(&w, f->json_key);
        if (is_written)
            write_value(&w, f, p);
        else
            jsonw_null(&w);
    }
    jsonw_end_object(&w);
    int error = jsonw_error(&w);
    if (error < 0)
        buf_truncate(out, n_before);
    return error;
}
