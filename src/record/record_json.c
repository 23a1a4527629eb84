/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record/record_json.c - the JSON line, driven by record_fields.
 *
 * Durations are written from integers: a double would already round the nanoseconds of a long day.
 *
 * A line is written for every request, so it goes straight into room that was reserved for the
 * longest one. A field's key is written before anybody knows whether its value is known; only what
 * moves on behind the value makes it count. So each function that writes gets where to write, and
 * returns where that ends, or NULL for a value that is unknown.
 */
#include "record/record.h"

#include <string.h>

#include "base/jsonw.h"
#include "base/num.h"

/* All texts full, each byte escaped to six, and everything else besides, with much to spare for
 * copies of whole blocks that end behind what they copy; a test holds it. */
enum { LINE_BYTES_MAX = 16 * 1024, TOKENS_DECIMALS = 6 };

/*
 * Text of an entry of the timeline, for each byte of it. An entry of three bytes is the worst: its
 * offset is a sum and may have all of 17 digits and 3 decimals, its counts 3 digits each; with 6
 * signs that is 32, and each further byte adds 3 at most. The list's own two signs fit as well.
 */
enum { TIMELINE_TEXT_PER_BYTE = 12 };

/* A byte of a label is six when it is escaped; its two ends leave room for the signs around it. */
enum { LABELS_TEXT_PER_BYTE = 6 };
_Static_assert(LINE_BYTES_MAX + TIMELINE_TEXT_PER_BYTE * TIMELINE_BYTES +
                       LABELS_TEXT_PER_BYTE * RECORD_LABELS_MAX ==
                   RECORD_LINE_MAX,
               "what is reserved for a line");

/* Takes into out what was written up to at. */
static void commit(struct buf *out, const char *at)
{
    buf_commit(out, (size_t)(at - buf_end(out)));
}

static char *put(char *at, struct span s)
{
    memcpy(at, s.p, s.n);
    return at + s.n;
}

/* --- numbers and times --- */

/* "12.345678": ms with exactly the nanoseconds as decimals. */
static char *put_ms(char *at, uint64_t ns)
{
    at += num_format_u64(ns / (uint64_t)NS_PER_MS, at);
    *at++ = '.';
    num_format_padded(ns % (uint64_t)NS_PER_MS, 6, at);
    return at + 6;
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

/* RFC 3339, UTC, microseconds, in quotes. */
static char *put_wall(char *at, int64_t t_us)
{
    const int64_t us_per_day = INT64_C(86400) * 1000000;
    int64_t days = t_us / us_per_day - (t_us % us_per_day < 0);
    int64_t us = t_us - days * us_per_day;
    uint64_t s = (uint64_t)(us / US_PER_S);
    int64_t year;
    int month;
    int day;
    civil_from_days(days, &year, &month, &day);
    char *end = put(at, SPAN("\"0000-00-00T00:00:00.000000Z\""));
    num_format_padded((uint64_t)year % 10000, 4, at + 1);
    num_format_padded((uint64_t)month, 2, at + 6);
    num_format_padded((uint64_t)day, 2, at + 9);
    num_format_padded(s / 3600, 2, at + 12);
    num_format_padded(s / 60 % 60, 2, at + 15);
    num_format_padded(s % 60, 2, at + 18);
    num_format_padded((uint64_t)(us % US_PER_S), 6, at + 21);
    return end;
}

/* "12.345": ms from whole microseconds. */
static char *put_ms_of_us(char *at, uint64_t us)
{
    at += num_format_u64(us / 1000, at);
    *at++ = '.';
    num_format_padded(us % 1000, 3, at);
    return at + 3;
}

static char *put_timeline(char *at, struct span bytes)
{
    struct timeline_entry e = {0};
    char next = '[';
    while (timeline_next(&bytes, &e)) {
        *at++ = next;
        *at++ = '[';
        at = put_ms_of_us(at, (uint64_t)e.offset_us);
        *at++ = ',';
        at += num_format_u64(e.n_events, at);
        *at++ = ',';
        at += num_format_u64(e.n_tokens, at);
        *at++ = ']';
        next = ',';
    }
    *at++ = ']';
    return at;
}

/* --- texts --- */

/* A name of ours: plain. */
static char *put_name(char *at, const char *name)
{
    *at++ = '"';
    at = put(at, span_cstr(name));
    *at++ = '"';
    return at;
}

/* A peer's text, with escapes and repaired UTF-8. What is reserved is enough for that, too. */
static char *put_odd_text(struct buf *out, char *at, struct span s)
{
    struct jsonw w;
    commit(out, at);
    jsonw_init(&w, out);
    jsonw_str(&w, s);
    return buf_end(out);
}

/* Up to its NUL, or all of max bytes. */
static char *put_text(struct buf *out, char *at, const char *text, size_t max)
{
    size_t n = jsonw_copy_plain(at + 1, text, max);
    if (UNLIKELY(n < max && text[n] != '\0'))
        return put_odd_text(out, at, span_of(text, strnlen(text, max)));
    at[0] = '"';
    at[n + 1] = '"';
    return at + n + 2;
}

static char *put_labels(struct buf *out, char *at, struct span pairs)
{
    char next = '{';
    while (pairs.n > 0) {
        struct span name = span_split(&pairs, '\0');
        struct span value = span_split(&pairs, '\0');
        *at++ = next;
        at = put_text(out, at, name.p, name.n);
        *at++ = ':';
        at = put_text(out, at, value.p, value.n);
        next = ',';
    }
    *at++ = '}';
    return at;
}

static char *put_flags(char *at, const struct record_field *f, uint32_t bits)
{
    char next = '[';
    if (bits == 0)
        return put(at, SPAN("[]"));
    for (; bits != 0; bits &= bits - 1) {
        *at++ = next;
        at = put_name(at, f->enum_name(__builtin_ctz(bits)));
        next = ',';
    }
    *at++ = ']';
    return at;
}

/* --- fields --- */

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

static struct span read_span(const void *p)
{
    struct span s;
    memcpy(&s, p, sizeof(s));
    return s;
}

static const char *read_name(const void *p)
{
    const char *name;
    memcpy(&name, p, sizeof(name));
    return name ? name : "";
}

/* The value of the member at p; NULL: it is unknown. */
static char *put_value(struct buf *out, char *at, const struct record_field *f, const void *p)
{
    switch (f->type) {
    case RECORD_STR:
        return *(const char *)p ? put_text(out, at, p, f->size) : NULL;
    case RECORD_CSTR: {
        const char *name = read_name(p);
        return *name ? put_text(out, at, name, strlen(name)) : NULL;
    }
    case RECORD_I64:
        return read_i64(p) >= 0 ? at + num_format_i64(read_i64(p), at) : NULL;
    case RECORD_RAW_I64:
        return read_i64(p) != RECORD_UNTOLD ? at + num_format_i64(read_i64(p), at) : NULL;
    case RECORD_INT:
        return read_int(p) != 0 ? at + num_format_i64(read_int(p), at) : NULL;
    case RECORD_U32:
        return at + num_format_u64(read_u32(p), at);
    case RECORD_U64:
        return at + num_format_u64((uint64_t)read_i64(p), at);
    case RECORD_BOOL:
        return put(at, *(const bool *)p ? SPAN("true") : SPAN("false"));
    case RECORD_DURATION:
        return read_i64(p) >= 0 ? put_ms(at, (uint64_t)read_i64(p)) : NULL;
    case RECORD_WALL:
        return read_i64(p) != 0 ? put_wall(at, read_i64(p)) : NULL;
    case RECORD_ENUM:
        return put_name(at, f->enum_name(read_int(p)));
    case RECORD_FLAGS:
        return put_flags(at, f, read_u32(p));
    case RECORD_LABELS:
        return read_span(p).n > 0 ? put_labels(out, at, read_span(p)) : NULL;
    case RECORD_TIMELINE:
        return read_span(p).n > 0 ? put_timeline(at, read_span(p)) : NULL;
    case RECORD_DOUBLE:
        return read_double(p) >= 0.0 ? at + num_format_decimal(read_double(p), TOKENS_DECIMALS, at)
                                     : NULL;
    }
    return NULL;
}

static char *put_field(struct buf *out, char *at, const struct record_field *f,
                       const struct record *r)
{
    char *key = at + 1;
    char *value = key + f->json_key.n;
    *at = ',';
    memcpy(key, f->json_key.p, RECORD_KEY_ROOM);
    char *end = put_value(out, value, f, (const char *)r + f->offset);
    if (end)
        return end;
    return f->is_base ? put(value, SPAN("null")) : at;
}

int record_to_json(const struct record *r, struct buf *out)
{
    size_t n_extra = r->timeline.n * TIMELINE_TEXT_PER_BYTE + r->labels.n * LABELS_TEXT_PER_BYTE;
    /* Fields about a stream say nothing about an answer that was none. */
    const char *left_out = r->is_stream ? NULL : record_group_stream;
    char *at = NULL;
    int error = buf_reserve(out, LINE_BYTES_MAX + n_extra, &at);
    if (error < 0)
        return error;
    at = put(at, SPAN("{\"schema_version\":"));
    at += num_format_i64(RECORD_SCHEMA_VERSION, at);
    for (size_t i = 0; i < record_n_fields; i++) {
        const struct record_field *f = &record_fields[i];
        if (f->group != left_out)
            at = put_field(out, at, f, r);
    }
    *at++ = '}';
    commit(out, at);
    return 0;
}
