/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record/record_json.c - the JSON line, driven by record_fields.
 *
 * Durations are written from integers: a double would already round the nanoseconds of a long day.
 *
 * A line is written for every request, so it goes straight into room that was reserved for the
 * longest one; only texts that need escapes take the way through base/jsonw.h.
 */
#include "record/record.h"

#include <string.h>

#include "base/jsonw.h"
#include "base/num.h"

/* All texts full, each byte escaped to six, and everything else besides; a test holds it. */
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

/* A line under construction: bytes since start are not yet committed to out. */
struct line {
    struct buf *out;
    size_t n_extra; /* room that this row needs beyond LINE_BYTES_MAX */
    char *start;
    char *at;
    int error;
};

static void line_reserve(struct line *l)
{
    l->error = buf_reserve(l->out, LINE_BYTES_MAX + l->n_extra, &l->start);
    l->at = l->start;
}

static void line_commit(struct line *l)
{
    buf_commit(l->out, (size_t)(l->at - l->start));
    l->start = l->at;
}

static void put(struct line *l, struct span s)
{
    memcpy(l->at, s.p, s.n);
    l->at += s.n;
}

/* "12.345678": ms with exactly the nanoseconds as decimals. */
static void put_ms(struct line *l, int64_t ns)
{
    uint64_t magnitude = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    if (ns < 0)
        *l->at++ = '-';
    l->at += num_format_u64(magnitude / (uint64_t)NS_PER_MS, l->at);
    *l->at++ = '.';
    num_format_padded(magnitude % (uint64_t)NS_PER_MS, 6, l->at);
    l->at += 6;
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
static void put_wall(struct line *l, int64_t t_us)
{
    const int64_t us_per_day = INT64_C(86400) * 1000000;
    int64_t days = t_us / us_per_day - (t_us % us_per_day < 0);
    int64_t us = t_us - days * us_per_day;
    int64_t year;
    int month;
    int day;
    char *at = l->at + 1;
    civil_from_days(days, &year, &month, &day);
    put(l, SPAN("\"0000-00-00T00:00:00.000000Z\""));
    num_format_padded((uint64_t)year % 10000, 4, at);
    num_format_padded((uint64_t)month, 2, at + 5);
    num_format_padded((uint64_t)day, 2, at + 8);
    num_format_padded((uint64_t)(us / 3600000000), 2, at + 11);
    num_format_padded((uint64_t)(us / 60000000 % 60), 2, at + 14);
    num_format_padded((uint64_t)(us / 1000000 % 60), 2, at + 17);
    num_format_padded((uint64_t)(us % 1000000), 6, at + 20);
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

static struct span read_span(const void *p)
{
    struct span s;
    memcpy(&s, p, sizeof(s));
    return s;
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
    case RECORD_LABELS:
    case RECORD_TIMELINE:
        return read_span(p).n > 0;
    case RECORD_U32:
    case RECORD_U64:
    case RECORD_BOOL:
    case RECORD_ENUM:
    case RECORD_FLAGS:
        break;
    }
    return true;
}

/* Non-zero: a byte of word is below n (at most 0x80), counted in its lowest such byte. */
static uint64_t has_below(uint64_t word, uint8_t n)
{
    const uint64_t ones = ~UINT64_C(0) / 255;
    return (word - ones * n) & ~word & (ones * 0x80);
}

static bool is_plain_word(uint64_t word)
{
    const uint64_t ones = ~UINT64_C(0) / 255;
    uint64_t odd = (word & (ones * 0x80)) | has_below(word, 0x20) |
                   has_below(word ^ ones * 0x7f, 1) | has_below(word ^ ones * '"', 1) |
                   has_below(word ^ ones * '\\', 1);
    return odd == 0;
}

/* Bytes that stand for themselves between quotes: eight at a time, the last ones among blanks. */
static bool is_plain(struct span s)
{
    uint64_t word;
    size_t i = 0;
    for (; i + sizeof(word) <= s.n; i += sizeof(word)) {
        memcpy(&word, s.p + i, sizeof(word));
        if (!is_plain_word(word))
            return false;
    }
    memset(&word, ' ', sizeof(word));
    for (size_t k = 0; i + k < s.n; k++)
        ((char *)&word)[k] = s.p[i + k];
    return is_plain_word(word);
}

/* A peer's text, with escapes and repaired UTF-8 where it needs them. */
static void put_odd_text(struct line *l, struct span s)
{
    struct jsonw w;
    line_commit(l);
    jsonw_init(&w, l->out);
    jsonw_str(&w, s);
    line_reserve(l);
    if (jsonw_error(&w) < 0)
        l->error = jsonw_error(&w);
}

static void put_text(struct line *l, struct span s)
{
    if (UNLIKELY(!is_plain(s))) {
        put_odd_text(l, s);
        return;
    }
    *l->at++ = '"';
    put(l, s);
    *l->at++ = '"';
}

static void put_flags(struct line *l, const struct record_field *f, uint32_t bits)
{
    const char *open = l->at;
    *l->at++ = '[';
    for (; bits != 0; bits &= bits - 1) {
        if (l->at > open + 1)
            *l->at++ = ',';
        put_text(l, span_cstr(f->enum_name(__builtin_ctz(bits))));
    }
    *l->at++ = ']';
}

/* "12.345": ms from whole microseconds. */
static void put_ms_of_us(struct line *l, uint64_t us)
{
    l->at += num_format_u64(us / 1000, l->at);
    *l->at++ = '.';
    num_format_padded(us % 1000, 3, l->at);
    l->at += 3;
}

static void put_timeline(struct line *l, struct span bytes)
{
    struct timeline_entry e = {0};
    const char *separator = "[";
    while (timeline_next(&bytes, &e)) {
        put(l, span_cstr(separator));
        *l->at++ = '[';
        put_ms_of_us(l, (uint64_t)e.offset_us);
        *l->at++ = ',';
        l->at += num_format_u64(e.n_events, l->at);
        *l->at++ = ',';
        l->at += num_format_u64(e.n_tokens, l->at);
        *l->at++ = ']';
        separator = ",";
    }
    *l->at++ = ']';
}

static void put_labels(struct line *l, struct span pairs)
{
    char next = '{';
    while (pairs.n > 0) {
        *l->at++ = next;
        put_text(l, span_split(&pairs, '\0'));
        *l->at++ = ':';
        put_text(l, span_split(&pairs, '\0'));
        next = ',';
    }
    *l->at++ = '}';
}

static void put_value(struct line *l, const struct record_field *f, const void *p)
{
    switch (f->type) {
    case RECORD_STR:
    case RECORD_CSTR:
        put_text(l, read_text(f, p));
        break;
    case RECORD_I64:
    case RECORD_RAW_I64:
        l->at += num_format_i64(read_i64(p), l->at);
        break;
    case RECORD_INT:
        l->at += num_format_i64(read_int(p), l->at);
        break;
    case RECORD_U32:
        l->at += num_format_u64(read_u32(p), l->at);
        break;
    case RECORD_U64:
        l->at += num_format_u64((uint64_t)read_i64(p), l->at);
        break;
    case RECORD_BOOL:
        put(l, *(const bool *)p ? SPAN("true") : SPAN("false"));
        break;
    case RECORD_DURATION:
        put_ms(l, read_i64(p));
        break;
    case RECORD_WALL:
        put_wall(l, read_i64(p));
        break;
    case RECORD_ENUM:
        put_text(l, span_cstr(f->enum_name(read_int(p))));
        break;
    case RECORD_FLAGS:
        put_flags(l, f, read_u32(p));
        break;
    case RECORD_LABELS:
        put_labels(l, read_span(p));
        break;
    case RECORD_TIMELINE:
        put_timeline(l, read_span(p));
        break;
    case RECORD_DOUBLE:
        l->at += num_format_decimal(read_double(p), TOKENS_DECIMALS, l->at);
        break;
    }
}

/* Fields about a stream say nothing about an answer that was none. */
static bool is_applicable(const struct record_field *f, const struct record *r)
{
    return f->is_base || r->is_stream || f->group != record_group_stream;
}

static void put_field(struct line *l, const struct record_field *f, const struct record *r)
{
    const void *p = (const char *)r + f->offset;
    bool is_written = is_known(f, p) && is_applicable(f, r);
    if (!is_written && !f->is_base)
        return;
    *l->at++ = ',';
    put(l, f->json_key);
    if (is_written)
        put_value(l, f, p);
    else
        put(l, SPAN("null"));
}

int record_to_json(const struct record *r, struct buf *out)
{
    size_t n_before = buf_len(out);
    struct line l = {.out = out,
                     .n_extra = r->timeline.n * TIMELINE_TEXT_PER_BYTE +
                                r->labels.n * LABELS_TEXT_PER_BYTE};
    line_reserve(&l);
    if (l.error < 0)
        return l.error;
    put(&l, SPAN("{\"schema_version\":"));
    l.at += num_format_i64(RECORD_SCHEMA_VERSION, l.at);
    for (size_t i = 0; i < record_n_fields && l.error == 0; i++)
        put_field(&l, &record_fields[i], r);
    if (l.error < 0) {
        buf_truncate(out, n_before);
        return l.error;
    }
    *l.at++ = '}';
    line_commit(&l);
    return 0;
}
