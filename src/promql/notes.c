/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/notes.c - see notes.h.
 *
 * Two notes are the same when their texts are, wherever they stand: a query over a thousand series
 * has one line per kind of trouble and metric.
 */
#include "promql/notes.h"

#include <errno.h>
#include <stdio.h>

#include "base/fnv.h"
#include "base/num.h"

enum { NOTES_TEXT_MAX = 600, NOTES_PLACE_MAX = 40 };

void notes_init(struct notes *n, struct arena *a, struct span text)
{
    *n = (struct notes){._a = a, ._text = text};
}

static bool is_known(const struct notes *n, struct span head, uint64_t hash)
{
    for (size_t i = 0; i < n->n; i++)
        if (n->_hash[i] == hash && span_eq(span_of(n->at[i].text.p, n->_head[i]), head))
            return true;
    return false;
}

static int grow(struct notes *n)
{
    size_t cap = n->_cap ? 2 * n->_cap : 8;
    struct promql_note *at = arena_array(n->_a, cap, sizeof(*at));
    uint64_t *hash = arena_array(n->_a, cap, sizeof(*hash));
    size_t *head = arena_array(n->_a, cap, sizeof(*head));
    if (!at || !hash || !head)
        return -ENOMEM;
    if (n->n > 0) {
        memcpy(at, n->at, n->n * sizeof(*at));
        memcpy(hash, n->_hash, n->n * sizeof(*hash));
        memcpy(head, n->_head, n->n * sizeof(*head));
    }
    n->at = at;
    n->_hash = hash;
    n->_head = head;
    n->_cap = cap;
    return 0;
}

__attribute__((format(printf, 4, 0))) static int add(struct notes *n, bool is_warning, size_t at,
                                                     const char *fmt, va_list args)
{
    char text[NOTES_TEXT_MAX + NOTES_PLACE_MAX];
    struct span head = is_warning ? SPAN("PromQL warning: ") : SPAN("PromQL info: ");
    memcpy(text, head.p, head.n);
    int r = vsnprintf(text + head.n, NOTES_TEXT_MAX - head.n, fmt, args);
    size_t len = strlen(text);
    uint64_t hash = fnv_add(FNV_START, span_of(text, len));
    int line, column;
    if (r < 0 || n->n >= NOTES_MAX || is_known(n, span_of(text, len), hash))
        return 0;
    if (n->n == n->_cap && grow(n) < 0)
        return -ENOMEM;
    size_t head_len = len;
    promql_position(n->_text, at, &line, &column);
    len += (size_t)snprintf(text + len, NOTES_PLACE_MAX, " (%d:%d)", line, column);
    struct span copy = arena_dup(n->_a, span_of(text, len));
    if (!copy.p)
        return -ENOMEM;
    n->_hash[n->n] = hash;
    n->_head[n->n] = head_len;
    n->at[n->n++] = (struct promql_note){.is_warning = is_warning, .text = copy};
    return 0;
}

int notes_info(struct notes *n, size_t at, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int r = add(n, false, at, fmt, args);
    va_end(args);
    return r;
}

int notes_warn(struct notes *n, size_t at, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int r = add(n, true, at, fmt, args);
    va_end(args);
    return r;
}

/* Names are as long as a client likes; a note shows a part. */
static int shown(struct span name)
{
    return name.n < 120 ? (int)name.n : 120;
}

const char *notes_for_name(struct span name, char *dst)
{
    dst[0] = '\0';
    if (name.n > 0)
        (void)snprintf(dst, NOTES_NAME_MAX, " for metric name \"%.*s\"", shown(name), name.p);
    return dst;
}

int notes_mixed(struct notes *n, size_t at, struct span name)
{
    return notes_warn(n, at, "encountered a mix of histograms and floats for metric name \"%.*s\"",
                      shown(name), name.p);
}

int notes_mixed_schemas(struct notes *n, size_t at, struct span name)
{
    return notes_warn(n, at,
                      "vector contains a mix of histograms with exponential and custom buckets "
                      "schemas for metric name \"%.*s\"",
                      shown(name), name.p);
}

int notes_reconciled(struct notes *n, size_t at, const char *operation)
{
    return notes_info(n, at, "mismatched custom buckets were reconciled during %s", operation);
}

int notes_hints_collide(struct notes *n, size_t at, const char *operation)
{
    return notes_warn(n, at, "conflicting counter resets during histogram %s", operation);
}

int notes_ignored_in_range(struct notes *n, size_t at, struct span name)
{
    return notes_info(n, at,
                      "ignored histograms in a range containing both floats and histograms for "
                      "metric name \"%.*s\"",
                      shown(name), name.p);
}

int notes_ignored_in_aggregation(struct notes *n, size_t at, const char *aggregation)
{
    return notes_info(n, at, "ignored histogram in %s aggregation", aggregation);
}

int notes_quantile(struct notes *n, size_t at, double q)
{
    char number[32];
    if (q >= 0 && q <= 1)
        return 0;
    size_t len = num_format_double(q, number);
    return notes_warn(n, at, "quantile value should be between 0 and 1, got %.*s", (int)len,
                      number);
}
