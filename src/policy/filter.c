/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/filter.c - see filter.h.
 *
 * Why not wire/sse alone: its events are without their bytes, and here the bytes are what must stay
 * exactly as they are. So lines are found here, and only the data of a whole event that could be
 * the unwanted one is read with the SSE parser.
 *
 * Invariants: _held is the beginning of the unfinished event, or empty; every byte that came in
 * was passed on, is held, or belonged to a removed event. Each byte is looked at once for line
 * ends: one cursor each for CR and LF, moved only when passed.
 *
 * The beginning of a stream is special: a byte order mark there is no part of it. When everything
 * before some line was removed, a mark in front of that line would become one, so an empty line,
 * which means nothing, is passed first.
 */
#include "policy/filter.h"

#include "base/check.h"
#include "base/limits.h"
#include "wire/sse.h"

void filter_init(struct filter *f, bool (*may_be_unwanted)(struct span event),
                 bool (*is_unwanted)(struct span data))
{
    *f = (struct filter){._may_be_unwanted = may_be_unwanted, ._is_unwanted = is_unwanted};
    buf_init(&f->_held, LIMIT_HELD_EVENT_BYTES);
}

void filter_done(struct filter *f)
{
    buf_done(&f->_held);
}

/* Whether the event in these bytes is the unwanted one. A comment or two may stand among them. */
static bool is_unwanted(const struct filter *f, struct span event)
{
    struct sse_parser p;
    struct event e;
    if (f->_is_passing || !f->_may_be_unwanted(event))
        return false;
    sse_init(&p, LIMIT_HELD_EVENT_BYTES);
    if (!f->_may_have_bom) {
        struct span line_before = SPAN("\n");
        (void)sse_next(&p, &line_before, &e); /* an empty line is no event */
    }
    enum event_status status = sse_next(&p, &event, &e);
    if (status == EVENT_MORE)
        status = sse_finish(&p, &e);
    bool r = status == EVENT_WHOLE && f->_is_unwanted(e.data);
    sse_done(&p);
    return r;
}

/* Finds line ends in one input; each byte is passed over once per character. */
struct lines {
    const char *p;
    const char *end;
    const char *next_lf;
    const char *next_cr;
};

static const char *find(const char *p, const char *end, char c)
{
    const char *at = p < end ? memchr(p, c, (size_t)(end - p)) : NULL;
    return at ? at : end;
}

static void lines_init(struct lines *l, struct span in)
{
    ASSERT(in.p);
    *l = (struct lines){.p = in.p, .end = in.p + in.n};
    l->next_lf = find(l->p, l->end, '\n');
    l->next_cr = find(l->p, l->end, '\r');
}

/* The first line end at or behind p, or the end of the input. */
static const char *lines_find_end(struct lines *l)
{
    if (l->next_lf < l->p)
        l->next_lf = find(l->p, l->end, '\n');
    if (l->next_cr < l->p)
        l->next_cr = find(l->p, l->end, '\r');
    return l->next_lf < l->next_cr ? l->next_lf : l->next_cr;
}

enum step {
    STEP_INPUT_ENDS, /* all bytes were taken */
    STEP_EVENT_ENDS, /* l->p stands behind the empty line that closed an event */
};

/*
 * Takes lines until an event ends or the input does. *ret_event: where the unfinished or finished
 * event starts in this input; NULL: none is open (what was taken passes).
 */
static enum step take_lines(struct filter *f, struct lines *l, const char **ret_event)
{
    const char *event = f->_in_event ? l->p : NULL;
    while (l->p < l->end) {
        if (f->_after_cr) {
            f->_after_cr = false;
            if (*l->p == '\n') {
                l->p++;
                continue;
            }
        }
        const char *line_end = lines_find_end(l);
        bool is_empty = !f->_in_line && line_end == l->p;
        if (!f->_in_line && !is_empty) {
            f->_in_line = true;
            f->_in_comment = !f->_in_event && *l->p == ':';
            if (!f->_in_comment && !f->_in_event) {
                f->_in_event = true;
                f->_may_have_bom = !f->_had_line;
                event = l->p;
            }
        }
        if (line_end == l->end) {
            l->p = l->end;
            break;
        }
        f->_in_line = false;
        f->_had_line = true;
        l->p = line_end + 1;
        f->_after_cr = *line_end == '\r' && l->p == l->end;
        if (*line_end == '\r' && l->p < l->end && *l->p == '\n')
            l->p++;
        if (is_empty && f->_in_event) {
            f->_in_event = false;
            *ret_event = event;
            return STEP_EVENT_ENDS;
        }
    }
    *ret_event = event;
    return STEP_INPUT_ENDS;
}

struct output {
    struct span *spans;
    size_t n;
};

static bool is_at_new_start(const struct filter *f)
{
    return f->n_removed > 0 && !f->_has_passed;
}

/* One span, or two where the client's stream begins behind a removed event. */
static void pass(struct filter *f, struct output *o, const char *from, const char *to)
{
    if (to == from)
        return;
    if (is_at_new_start(f) && *from == '\xef')
        o->spans[o->n++] = SPAN("\n");
    o->spans[o->n++] = span_of(from, (size_t)(to - from));
    f->_has_passed = true;
}

static void pass_held(struct filter *f, struct output *o)
{
    struct span held = buf_span(&f->_held);
    pass(f, o, held.p, held.p + held.n);
    f->_is_held_out = true;
}

static void removed(struct filter *f)
{
    f->n_removed++;
    f->_is_removing_lf = f->_after_cr;
}

/* An event that began in an earlier input goes on in this one. */
static void finish_held(struct filter *f, struct span *in, struct output *o)
{
    struct lines l;
    const char *event;
    lines_init(&l, *in);
    enum step step = take_lines(f, &l, &event);
    struct span part = span_take(in, (size_t)(l.p - in->p));
    if (buf_append(&f->_held, part) < 0) { /* too large, or no memory: let it pass */
        f->_is_passing = step == STEP_INPUT_ENDS;
        pass_held(f, o);
        pass(f, o, part.p, part.p + part.n);
    } else if (step == STEP_EVENT_ENDS) {
        if (is_unwanted(f, buf_span(&f->_held))) {
            removed(f);
            buf_clear(&f->_held);
        } else {
            pass_held(f, o);
        }
    }
}

/* Nothing is held: whole events are judged where they lie, only an unfinished one is held. */
static void filter_fresh(struct filter *f, struct span *in, struct output *o, size_t max)
{
    struct lines l;
    const char *from = in->p; /* bytes since then pass, unless they turn out to be unwanted */
    lines_init(&l, *in);
    while (l.p < l.end && o->n < max) {
        const char *event;
        bool was_passing = f->_is_passing;
        enum step step = take_lines(f, &l, &event);
        if (step == STEP_EVENT_ENDS) {
            f->_is_passing = false;
            if (!was_passing && is_unwanted(f, span_of(event, (size_t)(l.p - event)))) {
                pass(f, o, from, event);
                removed(f);
                from = l.p;
            }
        } else if (event && !was_passing) {
            if (buf_append(&f->_held, span_of(event, (size_t)(l.end - event))) < 0) {
                f->_is_passing = true;
            } else {
                pass(f, o, from, event);
                from = l.end;
            }
        }
    }
    if (o->n < max)
        pass(f, o, from, l.p);
    else
        l.p = from; /* only directly behind a removed event */
    (void)span_take(in, (size_t)(l.p - in->p));
}

/* Whole events and none that could be unwanted: what nearly every read brings. */
static bool is_passing_whole(const struct filter *f, struct span in)
{
    return !f->_in_event && !f->_in_line && !f->_after_cr && !f->_is_removing_lf &&
           !f->_is_held_out && !f->_is_passing && !is_at_new_start(f) && buf_len(&f->_held) == 0 &&
           in.n >= 2 && in.p[in.n - 1] == '\n' && in.p[in.n - 2] == '\n' &&
           !f->_may_be_unwanted(in);
}

size_t filter_next(struct filter *f, struct span *in, bool is_last, struct span *out, size_t max)
{
    struct output o = {.spans = out};
    ASSERT(max >= 3);
    if (LIKELY(!is_last && is_passing_whole(f, *in))) {
        f->_had_line = true;
        f->_has_passed = true;
        out[0] = span_take(in, in->n);
        return 1;
    }
    if (f->_is_held_out) {
        buf_clear(&f->_held);
        f->_is_held_out = false;
    }
    if (f->_is_removing_lf && in->n > 0) {
        f->_is_removing_lf = false;
        if (in->p[0] == '\n') {
            f->_after_cr = false;
            (void)span_take(in, 1);
        }
    }
    size_t n_kept = (is_last ? 1 : 0) + (f->_has_passed ? 0 : 1); /* for what is held, for pass */
    if (in->n > 0 && buf_len(&f->_held) > 0)
        finish_held(f, in, &o);
    else if (in->n > 0)
        filter_fresh(f, in, &o, max - n_kept);
    if (is_last && in->n == 0 && buf_len(&f->_held) > 0 && !f->_is_held_out) {
        f->_in_event = false;
        if (is_unwanted(f, buf_span(&f->_held))) {
            f->n_removed++;
            buf_clear(&f->_held);
        } else {
            pass_held(f, &o);
        }
    }
    return o.n;
}
