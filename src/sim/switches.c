/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/switches.c - the table of switches and the one setter that walks it.
 */
#include "sim/switches.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/suggest.h"

enum switch_type { SWITCH_BOOL, SWITCH_COUNT, SWITCH_MS, SWITCH_WORD };

enum { COUNT_MAX = 10000000, MS_MAX = 24 * 3600 * 1000, PER_EVENT_MAX = 64 };

struct switch_row {
    const char *name;
    enum switch_type type;
    size_t offset;
    int64_t min, max;  /* SWITCH_COUNT */
    const char *words; /* SWITCH_WORD: "a|b|c", the value is the position */
    const char *help;
};

#define AT(member) .offset = offsetof(struct switches, member)

static const struct switch_row rows[] = {
    {"ttft-ms", SWITCH_MS, AT(ttft_ns), .help = "time to first token of this answer"},
    {"itl-ms", SWITCH_MS, AT(itl_ns), .help = "constant time per token"},
    {"tokens", SWITCH_COUNT, AT(n_tokens), .max = COUNT_MAX, .help = "output tokens"},
    {"tokens-per-event", SWITCH_COUNT, AT(tokens_per_event), .min = 1, .max = PER_EVENT_MAX,
     .help = "tokens in each event"},
    {"role", SWITCH_BOOL, AT(has_role), .help = "role-only chunk (message_start, ...) first"},
    {"role-delay-ms", SWITCH_MS, AT(role_delay_ns), .help = "from that to the first token"},
    {"reasoning", SWITCH_COUNT, AT(n_reasoning), .max = COUNT_MAX,
     .help = "how many of the tokens are reasoning, in front"},
    {"tool-calls", SWITCH_BOOL, AT(is_tool_call), .help = "a tool call and no text"},
    {"refusal", SWITCH_BOOL, AT(is_refusal), .help = "a refusal instead of content"},
    {"choices", SWITCH_COUNT, AT(n_choices), .max = 8, .help = "answers; 0: as the request asks"},
    {"prompt-tokens", SWITCH_COUNT, AT(prompt_tokens), .max = COUNT_MAX,
     .help = "prompt tokens to work on and to report"},
    {"cached-tokens", SWITCH_COUNT, AT(cached_tokens), .max = COUNT_MAX,
     .help = "of them, from the prefix cache"},
    {"prefix", SWITCH_COUNT, AT(prefix), .max = COUNT_MAX,
     .help = "with --engine: prompts of one number begin alike; 0: like no other"},
    {"prefix-tokens", SWITCH_COUNT, AT(prefix_tokens), .max = COUNT_MAX,
     .help = "for so many tokens (else for all of the shorter one)"},
    {"usage", SWITCH_WORD, AT(usage), .words = "never|asked|always|every_chunk",
     .help = "when streams tell usage"},
    {"engine-times", SWITCH_WORD, AT(engine_times), .words = "none|vllm|llamacpp",
     .help = "the engine's own times beside usage (OpenAI's APIs)"},
    {"refuse-stream-options", SWITCH_BOOL, AT(must_refuse_options),
     .help = "400 to requests with stream_options"},
    {"comments", SWITCH_COUNT, AT(n_comments), .max = 1000,
     .help = "keep-alive comments (pings, ...) before the first token"},
    {"crlf", SWITCH_BOOL, AT(is_crlf), .help = "event lines end in CRLF"},
    {"done", SWITCH_BOOL, AT(has_done), .help = "[DONE] (message_stop, ...) at the end"},
    {"end", SWITCH_WORD, AT(end), .words = "normal|hold",
     .help = "hold: the body stays open behind the end mark"},
    {"batch", SWITCH_COUNT, AT(batch), .min = 1, .max = 1000, .help = "events in one write"},
    {"split", SWITCH_COUNT, AT(split), .min = 1, .max = 1000, .help = "writes for one event"},
    {"split-gap-ms", SWITCH_MS, AT(split_gap_ns), .help = "between the pieces of an event"},
    {"play-bytes", SWITCH_COUNT, AT(play_bytes), .max = COUNT_MAX,
     .help = "of a played file in one write; 0: its reads or events"},
    {"play-gap-ms", SWITCH_MS, AT(play_gap_ns), .help = "between the writes of a played file"},
    {"error-after", SWITCH_COUNT, AT(error_after), .max = COUNT_MAX,
     .help = "error event after N token events"},
    {"cut-after", SWITCH_COUNT, AT(cut_after), .max = COUNT_MAX,
     .help = "cut after N token events (non-stream: 0 = in the body)"},
    {"cut", SWITCH_WORD, AT(cut), .words = "end|close|mid|reset",
     .help = "regular end of body, FIN, FIN inside a chunk, RST"},
    {"hang-after", SWITCH_COUNT, AT(hang_after), .max = COUNT_MAX,
     .help = "silence after N token events"},
    {"head", SWITCH_WORD, AT(head), .words = "now|first",
     .help = "response head at once, or with the first event"},
    {"slow-head-ms", SWITCH_MS, AT(slow_head_ns), .help = "head dribbled over that time"},
    {"interim", SWITCH_COUNT, AT(interim), .max = 199, .help = "1xx answer sent first"},
    {"early", SWITCH_BOOL, AT(is_early), .help = "answer before the request body is complete"},
    {"gzip", SWITCH_BOOL, AT(is_gzip), .help = "gzip coding, asked or not"},
    {"close", SWITCH_BOOL, AT(is_close), .help = "connection closed after the answer"},
    {"status", SWITCH_COUNT, AT(status), .min = 200, .max = 599, .help = "an error answer"},
    {"retry-after", SWITCH_COUNT, AT(retry_after_s), .max = 86400,
     .help = "Retry-After in seconds on an error answer"},
};

void switches_init(struct switches *s)
{
    *s = (struct switches){
        .ttft_ns = -1,
        .itl_ns = -1,
        .split_gap_ns = 2 * NS_PER_MS,
        .n_tokens = -1,
        .tokens_per_event = 1,
        .prompt_tokens = -1,
        .prefix = -1,
        .prefix_tokens = -1,
        .usage = SWITCH_USAGE_ASKED,
        .has_role = true,
        .has_done = true,
        .error_after = -1,
        .cut_after = -1,
        .cut = SWITCH_CUT_CLOSE,
        .hang_after = -1,
        .batch = 1,
        .split = 1,
        .status = 200,
        .retry_after_s = -1,
    };
}

/* --- values --- */

static int parse_bool(struct span value, bool *ret)
{
    static const char *const words[][2] = {
        {"off", "on"}, {"false", "true"}, {"0", "1"}, {"no", "yes"}};

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        for (int v = 0; v < 2; v++) {
            if (span_eq_nocase(value, span_cstr(words[i][v]))) {
                *ret = v == 1;
                return 0;
            }
        }
    }
    return -EINVAL;
}

static int parse_ms(struct span value, int64_t *ret_ns)
{
    double ms;

    if (num_parse_double(value, &ms) < 0 || ms < 0 || ms > MS_MAX)
        return -EINVAL;
    *ret_ns = (int64_t)llround(ms * (double)NS_PER_MS);
    return 0;
}

static int parse_word(const char *words, struct span value, int64_t *ret)
{
    struct span left = span_cstr(words);

    for (int64_t i = 0; left.n > 0; i++) {
        if (span_eq_nocase(span_split(&left, '|'), value)) {
            *ret = i;
            return 0;
        }
    }
    return -EINVAL;
}

static int row_apply(const struct switch_row *row, struct switches *s, struct span value)
{
    char *at = (char *)s + row->offset;
    int64_t n = 0;
    bool b = false;
    int r = -EINVAL;

    switch (row->type) {
    case SWITCH_BOOL:
        r = parse_bool(value, &b);
        if (r == 0)
            memcpy(at, &b, sizeof(b));
        return r;
    case SWITCH_COUNT:
        r = num_parse_i64(value, &n);
        if (r == 0 && (n < row->min || n > row->max))
            r = -EINVAL;
        break;
    case SWITCH_MS:
        r = parse_ms(value, &n);
        break;
    case SWITCH_WORD:
        r = parse_word(row->words, value, &n);
        break;
    }
    if (r == 0)
        memcpy(at, &n, sizeof(n));
    return r < 0 ? -EINVAL : 0;
}

/* --- names --- */

static bool name_is(struct span name, const char *row_name)
{
    if (name.n != strlen(row_name))
        return false;
    for (size_t i = 0; i < name.n; i++) {
        struct span letter = name.p[i] == '_' ? SPAN("-") : span_of(name.p + i, 1);

        if (!span_eq_nocase(letter, span_of(row_name + i, 1)))
            return false;
    }
    return true;
}

static const struct switch_row *row_find(struct span name)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (name_is(name, rows[i].name))
            return &rows[i];
    }
    return NULL;
}

static int unknown_name(struct span name, struct err *reterr)
{
    struct suggest s;

    suggest_init(&s, name);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        suggest_offer(&s, span_cstr(rows[i].name));
    (void)err_set(reterr, -ENOENT, "unknown switch \"%.*s\"", SPAN_ARG(name));
    if (s.best.n > 0)
        err_hint(reterr, "did you mean \"%.*s\"?", SPAN_ARG(s.best));
    else
        err_hint(reterr, "\"inferometer sim --help\" lists them");
    return -ENOENT;
}

static void values_format(const struct switch_row *row, char *dst, size_t cap)
{
    switch (row->type) {
    case SWITCH_BOOL:
        (void)snprintf(dst, cap, "on or off");
        break;
    case SWITCH_COUNT:
        (void)snprintf(dst, cap, "a whole number from %lld to %lld", (long long)row->min,
                       (long long)row->max);
        break;
    case SWITCH_MS:
        (void)snprintf(dst, cap, "milliseconds from 0 to %d", MS_MAX);
        break;
    case SWITCH_WORD:
        (void)snprintf(dst, cap, "one of %s", row->words);
        break;
    }
}

int switches_set(struct switches *s, struct span name, struct span value, struct err *reterr)
{
    const struct switch_row *row = row_find(name);
    char values[120];

    if (!row)
        return unknown_name(name, reterr);
    if (row_apply(row, s, value) == 0)
        return 0;
    values_format(row, values, sizeof(values));
    return err_set(reterr, -EINVAL, "switch \"%s\" takes %s, not \"%.*s\"", row->name, values,
                   (int)(value.n < 60 ? value.n : 60), value.p);
}

int switches_header(struct switches *s, struct span field, struct span value, struct err *reterr)
{
    static const struct span prefix = SPAN_INIT("X-Sim-");

    if (field.n < prefix.n || !span_eq_nocase(span_of(field.p, prefix.n), prefix))
        return 0;
    return switches_set(s, span_from(field, prefix.n), value, reterr);
}

bool switches_help(size_t i, struct switch_help *ret)
{
    static const char *const values[] = {
        [SWITCH_BOOL] = "on|off", [SWITCH_COUNT] = "N", [SWITCH_MS] = "MS"};

    if (i >= ARRAY_LEN(rows))
        return false;
    *ret = (struct switch_help){
        .name = rows[i].name,
        .values = rows[i].type == SWITCH_WORD ? rows[i].words : values[rows[i].type],
        .text = rows[i].help,
    };
    return true;
}
