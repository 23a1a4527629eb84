/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe/names.c - ids from headers, model names compared.
 *
 * Headers are a client's text: what is not exactly of the expected form is dropped, never repaired.
 */
#include "base/check.h"
#include "base/mem.h"
#include "base/timestamp.h"
#include "observe/exchange.h"

#define BACKLOG_MAX_US (30 * 86400 * US_PER_S)

static bool is_lower_hex(struct span s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
    }
    return true;
}

static bool is_all_zero(struct span s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != '0')
            return false;
    }
    return true;
}

/* W3C Trace Context, traceparent: version-traceid-parentid-flags. Empty when not valid. */
static struct span trace_id_of(struct span value)
{
    enum { VERSION = 0, TRACE = 3, PARENT = 36, FLAGS = 53, LENGTH = 55 };
    struct span none = {0};
    if (value.n < LENGTH || value.p[2] != '-' || value.p[35] != '-' || value.p[52] != '-')
        return none;
    struct span version = span_of(value.p + VERSION, 2);
    struct span trace = span_of(value.p + TRACE, 32);
    struct span parent = span_of(value.p + PARENT, 16);
    struct span flags = span_of(value.p + FLAGS, 2);
    if (!is_lower_hex(version) || !is_lower_hex(trace) || !is_lower_hex(parent) ||
        !is_lower_hex(flags) || is_all_zero(trace) || is_all_zero(parent))
        return none;
    if (span_eq(version, SPAN("ff")))
        return none;
    /* A later version may say more, behind another dash. */
    bool is_version_0 = span_eq(version, SPAN("00"));
    if (value.n > LENGTH && (is_version_0 || value.p[LENGTH] != '-'))
        return none;
    return trace;
}

static bool is_request_id(struct span s)
{
    if (s.n == 0 || s.n >= RECORD_ID_MAX)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_word && c != '.' && c != '_' && c != '-')
            return false;
    }
    return true;
}

/*
 * By wall clocks: ours and that of whoever put the request into its queue. Beyond what any queue
 * keeps it is another unit, seconds mostly, which would be a wait of half a century.
 */
static void take_backlog(struct record *r, struct span value)
{
    wall_t enqueued;
    if (value.n == 0 || r->started_at.us == 0)
        return;
    if (timestamp_parse(value, &enqueued) < 0) {
        stat_inc(STAT_BACKLOG_UNREADABLE);
        return;
    }
    int64_t us = r->started_at.us - enqueued.us;
    if (us < 0)
        stat_inc(STAT_BACKLOG_NEGATIVE);
    else if (us > BACKLOG_MAX_US)
        stat_inc(STAT_BACKLOG_UNREADABLE);
    else
        r->backlog_ns = us * NS_PER_US;
}

void names_from_head(struct record *r, const struct http1_head *head)
{
    struct span id = http1_field_value(head, SPAN("x-request-id"));
    if (is_request_id(id))
        (void)span_copy(id, r->client_request_id, sizeof(r->client_request_id));
    struct span trace = trace_id_of(http1_field_value(head, SPAN("traceparent")));
    (void)span_copy(trace, r->trace_id, sizeof(r->trace_id));
    take_backlog(r, http1_field_value(head, SPAN("X-Enqueue-Time")));
    (void)span_copy(head->method, r->method, sizeof(r->method));
    if (head->minor == 0)
        r->flags |= RECORD_HTTP_1_0;
}

static const char *keep_text(char **at, const char *text)
{
    const char *start = *at;
    *at += span_copy(span_cstr(text), *at, strlen(text) + 1) + 1;
    return start;
}

void names_keep_labels(struct tap *t, const struct tap_label *labels, size_t n)
{
    size_t n_bytes = 0;
    for (size_t i = 0; i < n; i++)
        n_bytes += strlen(labels[i].name) + strlen(labels[i].value) + 2;
    if (n_bytes == 0 || NEVER(n_bytes > RECORD_LABELS_MAX || t->label_texts))
        return;
    char *at = t->label_texts = mem_alloc(n_bytes);
    if (!at) {
        stat_inc(STAT_DROP_NO_MEMORY);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        (void)keep_text(&at, labels[i].name);
        t->labels.business[labels[i].index % TAP_LABELS_MAX] = keep_text(&at, labels[i].value);
    }
    t->rec.labels = span_of(t->label_texts, n_bytes);
}

/* Without the provider in front ("openai/gpt-4o"). */
static struct span model_base(const char *name)
{
    struct span s = span_cstr(name);
    size_t at;
    while ((at = span_find_char(s, '/')) < s.n)
        s = span_from(s, at + 1);
    return s;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* What vendors put behind a name to say which build of it: a date, a number, "v2", "latest". */
static bool is_version(struct span s)
{
    if (s.n >= 1 && is_digit(s.p[0]))
        return true;
    if (s.n >= 2 && (s.p[0] == 'v' || s.p[0] == 'V') && is_digit(s.p[1]))
        return true;
    return span_eq_nocase(s, SPAN("latest"));
}

/* Whether b is a with a version behind it: gpt-4o and gpt-4o-2024-08-06, not gpt-4o-mini. */
static bool is_with_suffix(struct span a, struct span b)
{
    if (a.n == 0 || b.n <= a.n || !span_eq_nocase(a, span_of(b.p, a.n)))
        return false;
    return strchr("-_.:@", b.p[a.n]) != NULL && /* model names hold no NUL */
           is_version(span_from(b, a.n + 1));
}

bool names_is_model_mismatch(const char *requested, const char *response)
{
    if (requested[0] == '\0' || response[0] == '\0')
        return false;
    struct span a = model_base(requested);
    struct span b = model_base(response);
    if (a.n > 7 && span_eq(span_from(a, a.n - 7), SPAN("-latest")))
        a.n -= 7; /* an alias is answered with what it stands for */
    return !span_eq_nocase(a, b) && !is_with_suffix(a, b) && !is_with_suffix(b, a);
}
