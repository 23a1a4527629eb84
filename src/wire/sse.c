/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/sse.c - see sse.h.
 *
 * Why two ways through a line: nearly every line lies whole in one input, so it is found with one
 * scan and its value stays a view. Only a line that an input cuts is fed piecewise, its value going
 * straight into the buffer it belongs to; no byte is looked at twice on either way.
 *
 * Invariants: the data of the unfinished event is either one view into the current input (struct
 * block) or the content of _data, never both; the same holds for the name. Between two calls no
 * view is pending: hold() has copied it. Whether an event is too large depends on the lengths of
 * its lines alone, so that the answer is the same on both ways.
 */
#include "wire/sse.h"

#include "base/check.h"
#include "base/limits.h"
#include "wire/scan.h"

/* What the unfinished line is, as far as its bytes tell. */
enum line {
    LINE_START,      /* no byte of it seen */
    LINE_FIELD,      /* inside a field name, kept in _field */
    LINE_DATA_COLON, /* behind "data:": one space is dropped */
    LINE_DATA,
    LINE_NAME_COLON, /* behind "event:" */
    LINE_NAME,
    LINE_STRAY, /* an unknown field that is kept */
    LINE_SKIP,  /* comment, ignored or unknown field: its bytes do not matter */
};

enum field { FIELD_DATA, FIELD_EVENT, FIELD_IGNORED, FIELD_STRAY };

/* What of the unfinished event still lies in the current input. */
struct block {
    struct span data;
    struct span name;
    bool has_data;
    bool has_name;
};

void sse_init(struct sse_parser *p, size_t max_event_bytes)
{
    *p = (struct sse_parser){._max = max_event_bytes, ._line = LINE_START};
    buf_init(&p->_data, max_event_bytes);
    buf_init(&p->_name, max_event_bytes);
    buf_init(&p->_stray, LIMIT_STRAY_BYTES);
}

static void free_buffers(struct sse_parser *p)
{
    buf_done(&p->_data);
    buf_done(&p->_name);
    p->_has_kept = false;
    p->_is_delivered = false;
}

void sse_done(struct sse_parser *p)
{
    free_buffers(p);
    buf_done(&p->_stray);
}

struct span sse_stray(const struct sse_parser *p)
{
    return buf_span(&p->_stray);
}

bool sse_is_between_events(const struct sse_parser *p)
{
    return !p->_in_block && p->_n_bom != 1 && p->_n_bom != 2;
}

static enum field classify(struct span name)
{
    switch (name.n) {
    case 4:
        return memcmp(name.p, "data", 4) == 0 ? FIELD_DATA : FIELD_STRAY;
    case 5:
        if (memcmp(name.p, "event", 5) == 0)
            return FIELD_EVENT;
        return memcmp(name.p, "retry", 5) == 0 ? FIELD_IGNORED : FIELD_STRAY;
    case 2:
        return memcmp(name.p, "id", 2) == 0 ? FIELD_IGNORED : FIELD_STRAY;
    default:
        return FIELD_STRAY;
    }
}

/* Notes that the unfinished event has grown by n bytes; from the limit on nothing is kept. */
static bool fits(struct sse_parser *p, struct block *b, size_t n)
{
    if (p->_is_skipping)
        return false;
    size_t data = b->has_data ? b->data.n : buf_len(&p->_data);
    size_t name = b->has_name ? b->name.n : buf_len(&p->_name);
    if (LIKELY(n <= p->_max && data + name <= p->_max - n))
        return true;
    p->_is_skipping = true;
    free_buffers(p);
    *b = (struct block){.has_data = false};
    return false;
}

/* false: no memory. */
static bool keep(struct sse_parser *p, struct buf *dst, struct span s)
{
    p->_has_kept = true;
    return buf_append(dst, s) == 0;
}

/* Copies what is still a view into the buffers. */
static bool hold(struct sse_parser *p, struct block *b)
{
    bool is_ok = (!b->has_data || keep(p, &p->_data, b->data)) &&
                 (!b->has_name || keep(p, &p->_name, b->name));
    *b = (struct block){.has_data = false};
    return is_ok;
}

/* Opens a data line: from the second one on, the lines are joined in the buffer. */
static bool open_data(struct sse_parser *p, struct block *b)
{
    bool is_first = !p->_has_data;
    p->_has_data = true;
    if (is_first || !fits(p, b, 1))
        return true;
    return hold(p, b) && keep(p, &p->_data, SPAN("\n"));
}

/* Opens an event line: it replaces the name. */
static void open_name(struct sse_parser *p, struct block *b)
{
    b->has_name = false;
    buf_clear(&p->_name);
}

static bool take_data(struct sse_parser *p, struct block *b, struct span value)
{
    bool is_first = !p->_has_data;
    if (!open_data(p, b))
        return false;
    if (!fits(p, b, value.n))
        return true;
    if (!is_first)
        return keep(p, &p->_data, value);
    b->data = value;
    b->has_data = true;
    return true;
}

static void take_name(struct sse_parser *p, struct block *b, struct span value)
{
    open_name(p, b);
    if (fits(p, b, value.n)) {
        b->name = value;
        b->has_name = true;
    }
}

/* More of a stray line; start: the beginning of one. Returns whether its rest matters, too. */
static bool keep_stray(struct sse_parser *p, struct span s, bool is_start)
{
    if (is_start && buf_len(&p->_stray) == 0 && s.p[0] != '{')
        return false;
    if (p->_is_stray_lost)
        return false;
    if (buf_append(&p->_stray, s) == 0)
        return true;
    buf_done(&p->_stray);
    p->_is_stray_lost = true;
    return false;
}

/* One whole line, not empty, without its line end. false: no memory. */
static bool whole_line(struct sse_parser *p, struct block *b, struct span line)
{
    p->_in_block = true;
    if (span_starts_with(line, SPAN("data: "))) /* nearly every line there is */
        return take_data(p, b, span_from(line, 6));
    size_t n_name = 0;
    while (n_name < line.n && n_name <= sizeof(p->_field) && line.p[n_name] != ':')
        n_name++;
    if (n_name == 0) {
        p->n_comments++;
        return true;
    }
    struct span value = span_from(line, n_name + 1); /* empty when there is no colon */
    if (value.n > 0 && value.p[0] == ' ')
        span_take(&value, 1);
    switch (classify((struct span){line.p, n_name})) {
    case FIELD_DATA:
        return take_data(p, b, value);
    case FIELD_EVENT:
        take_name(p, b, value);
        break;
    case FIELD_IGNORED:
        break;
    case FIELD_STRAY:
        p->n_stray++;
        if (keep_stray(p, line, true))
            (void)keep_stray(p, SPAN("\n"), false); /* then it is lost, and that is noted */
        break;
    }
    return true;
}

/* The name of the fed line's field is complete, without the colon if there is one; sets what its
 * value is. */
static bool end_field(struct sse_parser *p, struct block *b, struct span colon)
{
    struct span name = {p->_field, p->_n_field};
    enum field field = classify(name);
    p->_n_field = 0;
    p->_line = LINE_SKIP;
    switch (field) {
    case FIELD_DATA:
        p->_line = LINE_DATA_COLON;
        return open_data(p, b);
    case FIELD_EVENT:
        p->_line = LINE_NAME_COLON;
        open_name(p, b);
        break;
    case FIELD_IGNORED:
        break;
    case FIELD_STRAY:
        p->n_stray++;
        if (keep_stray(p, name, true) && keep_stray(p, colon, false))
            p->_line = LINE_STRAY;
        break;
    }
    return true;
}

/* Takes bytes of a field name off *part, up to and including the colon. */
static bool feed_field(struct sse_parser *p, struct block *b, struct span *part)
{
    while (part->n > 0 && p->_n_field < sizeof(p->_field)) {
        char c = *span_take(part, 1).p;
        if (c == ':')
            return end_field(p, b, SPAN(":"));
        p->_field[p->_n_field++] = c;
    }
    return p->_n_field < sizeof(p->_field) || end_field(p, b, SPAN(""));
}

/* Bytes of a line that does not lie whole in one input; no line end among them. */
static bool feed_line(struct sse_parser *p, struct block *b, struct span part)
{
    if (part.n == 0)
        return true;
    if (p->_line == LINE_START) {
        p->_in_block = true;
        p->_line = LINE_FIELD;
        if (part.p[0] == ':') {
            p->n_comments++;
            p->_line = LINE_SKIP;
        }
    }
    if (p->_line == LINE_FIELD && !feed_field(p, b, &part))
        return false;
    if (part.n == 0 || p->_line == LINE_SKIP || p->_line == LINE_FIELD)
        return true;
    if (p->_line == LINE_STRAY) {
        (void)keep_stray(p, part, false); /* then it is lost, and that is noted */
        return true;
    }

    bool is_data = p->_line == LINE_DATA || p->_line == LINE_DATA_COLON;
    if ((p->_line == LINE_DATA_COLON || p->_line == LINE_NAME_COLON) && part.p[0] == ' ')
        span_take(&part, 1);
    p->_line = is_data ? LINE_DATA : LINE_NAME;
    if (!fits(p, b, part.n))
        return true;
    return keep(p, is_data ? &p->_data : &p->_name, part);
}

/* The fed line is over. */
static bool end_line(struct sse_parser *p, struct block *b)
{
    bool is_ok = p->_line != LINE_FIELD || end_field(p, b, SPAN(""));
    if (p->_line == LINE_STRAY)
        (void)keep_stray(p, SPAN("\n"), false); /* then it is lost, and that is noted */
    p->_line = LINE_START;
    return is_ok;
}

/* An empty line or the end of the stream: the event, if the block was one. */
static enum event_status end_block(struct sse_parser *p, const struct block *b, struct event *ret)
{
    enum event_status status = EVENT_MORE;
    p->_is_delivered = p->_has_kept; /* freed by the next call, whatever was in the block */
    if (p->_has_data) {
        status = p->_is_skipping ? EVENT_TOO_LARGE : EVENT_WHOLE;
        *ret = (struct event){
            .name = b->has_name ? b->name : buf_span(&p->_name),
            .data = b->has_data ? b->data : buf_span(&p->_data),
        };
    }
    p->_in_block = p->_has_data = p->_is_skipping = false;
    return status;
}

/* Drops a byte order mark at the very beginning of the stream, also a split one. */
static void pass_bom(struct sse_parser *p, struct span *in)
{
    static const char bom[3] = {'\xef', '\xbb', '\xbf'};
    while (in->n > 0 && p->_n_bom < sizeof(bom)) {
        if (*in->p == bom[p->_n_bom]) {
            span_take(in, 1);
            p->_n_bom++;
            continue;
        }
        if (p->_n_bom > 0) { /* it was the beginning of a field name, and no known one */
            p->_line = LINE_SKIP;
            p->_in_block = true;
            p->n_stray++;
        }
        p->_n_bom = sizeof(bom);
    }
}

static void pass_split_lf(struct sse_parser *p, struct span *in)
{
    if (p->_after_cr && in->n > 0) {
        if (*in->p == '\n')
            span_take(in, 1);
        p->_after_cr = false;
    }
}

/* Takes the line end in front of *in. */
static void pass_line_end(struct sse_parser *p, struct span *in)
{
    p->_after_cr = *in->p == '\r';
    span_take(in, 1);
    pass_split_lf(p, in);
}

static enum event_status give_up(struct sse_parser *p, struct span *in)
{
    p->_is_broken = true;
    free_buffers(p);
    if (in->n > 0)
        span_take(in, in->n);
    return EVENT_NO_MEMORY;
}

/* The loop of sse_next, without the bookkeeping around it. */
static enum event_status next_event(struct sse_parser *p, struct span *in, struct event *ret)
{
    struct block b = {.has_data = false};
    for (;;) {
        const char *end = in->p + in->n;
        struct span line = {in->p, (size_t)(scan_find(SCAN_LINE_END, in->p, end) - in->p)};
        span_take(in, line.n);
        bool is_cut = in->n == 0;
        bool is_empty = p->_line == LINE_START && line.n == 0;
        bool is_ok;
        if (is_cut)
            is_ok = feed_line(p, &b, line) && hold(p, &b);
        else if (is_empty)
            is_ok = true;
        else if (p->_line == LINE_START)
            is_ok = whole_line(p, &b, line);
        else
            is_ok = feed_line(p, &b, line) && end_line(p, &b);
        if (UNLIKELY(!is_ok))
            return give_up(p, in);
        if (is_cut)
            return EVENT_MORE;
        pass_line_end(p, in);
        if (is_empty) {
            enum event_status status = end_block(p, &b, ret);
            if (status != EVENT_MORE)
                return status;
            if (p->_is_delivered)
                free_buffers(p);
            b = (struct block){.has_data = false};
        }
    }
}

enum event_status sse_next(struct sse_parser *p, struct span *in, struct event *ret)
{
    if (UNLIKELY(p->_is_broken))
        return give_up(p, in);
    if (p->_is_delivered)
        free_buffers(p);
    size_t before = in->n;
    if (UNLIKELY(p->_n_bom < 3))
        pass_bom(p, in);
    pass_split_lf(p, in);
    enum event_status status = in->n > 0 ? next_event(p, in, ret) : EVENT_MORE;
    p->_consumed += before - in->n;
    if (status > EVENT_MORE)
        ret->end = p->_consumed;
    if (in->n == 0)
        p->_consumed = 0;
    return status;
}

enum event_status sse_finish(struct sse_parser *p, struct event *ret)
{
    struct span none = {"", 0};
    struct block b = {.has_data = false};
    if (p->_is_broken)
        return EVENT_NO_MEMORY;
    if (p->_is_delivered)
        free_buffers(p);
    if (p->_n_bom == 1 || p->_n_bom == 2) { /* a line of that alone */
        p->_n_bom = 3;
        p->n_stray++;
    }
    if (!end_line(p, &b))
        return give_up(p, &none);
    return end_block(p, &b, ret);
}
