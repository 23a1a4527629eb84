/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/speech.c - what each slot of a template is filled with: a table of places in struct speech,
 * and a few that are made on the spot.
 */
#include "sim/speech.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/jsonw.h"
#include "base/limits.h"
#include "base/num.h"

enum slot_kind {
    KIND_EMPTY,
    KIND_SPAN,
    KIND_NUMBER,
    KIND_MS, /* of a member in ns */
    KIND_DOUBLE,
    KIND_ID,
    KIND_NOW,
    KIND_NEXT,   /* a number that counts itself */
    KIND_OPENER, /* of an array's element */
    KIND_STAGE,  /* said only with usage */
    KIND_TIMES,
    KIND_WHOLE,
    KIND_WORDS,
};

enum { NUMBER_MAX = 40 };

#define AT(member) offsetof(struct speech, member)

static const struct slot_row {
    enum slot_kind kind;
    size_t offset; /* KIND_STAGE: the stage */
} slot_rows[SLOT_COUNT_] = {
    [SLOT_PREFIX] = {KIND_SPAN, AT(_prefix)},
    [SLOT_ID] = {KIND_ID, 0},
    [SLOT_MODEL] = {KIND_SPAN, AT(_model)},
    [SLOT_CREATED] = {KIND_NUMBER, AT(_created_s)},
    [SLOT_NOW] = {KIND_NOW, 0},
    [SLOT_CHOICE] = {KIND_NUMBER, AT(choice)},
    [SLOT_BLOCK] = {KIND_NUMBER, AT(_block)},
    [SLOT_SEQUENCE] = {KIND_NEXT, AT(_sequence)},
    [SLOT_OPENER] = {KIND_OPENER, 0},
    [SLOT_CLOSER] = {KIND_SPAN, AT(_closer)},
    [SLOT_TEXT] = {KIND_SPAN, AT(_text)},
    [SLOT_ARGS_BEGIN] = {KIND_SPAN, AT(_args_begin)},
    [SLOT_ARGS_END] = {KIND_SPAN, AT(_args_end)},
    [SLOT_REASON] = {KIND_SPAN, AT(_reason)},
    [SLOT_WHY] = {KIND_SPAN, AT(_why)},
    [SLOT_PROMPT] = {KIND_NUMBER, AT(_usage.prompt)},
    [SLOT_PROMPT_NEW] = {KIND_NUMBER, AT(_usage._prompt_new)},
    [SLOT_CACHED] = {KIND_NUMBER, AT(_usage.cached)},
    [SLOT_COMPLETION] = {KIND_NUMBER, AT(_usage.completion)},
    [SLOT_ANSWER] = {KIND_NUMBER, AT(_usage._answer)},
    [SLOT_REASONING] = {KIND_NUMBER, AT(_usage.reasoning)},
    [SLOT_TOTAL] = {KIND_NUMBER, AT(_usage._total)},
    [SLOT_TOTAL_NS] = {KIND_NUMBER, AT(_times.total_ns)},
    [SLOT_QUEUE_NS] = {KIND_NUMBER, AT(_times.queue_ns)},
    [SLOT_PREFILL_NS] = {KIND_NUMBER, AT(_times.prefill_ns)},
    [SLOT_DECODE_NS] = {KIND_NUMBER, AT(_times.decode_ns)},
    [SLOT_QUEUE_MS] = {KIND_MS, AT(_times.queue_ns)},
    [SLOT_PREFILL_MS] = {KIND_MS, AT(_times.prefill_ns)},
    [SLOT_DECODE_MS] = {KIND_MS, AT(_times.decode_ns)},
    [SLOT_ITL_MS] = {KIND_MS, AT(_times._itl_ns)},
    [SLOT_PREFILL_TOKEN_MS] = {KIND_MS, AT(_times._prefill_token_ns)},
    [SLOT_DECODE_TOKEN_MS] = {KIND_MS, AT(_times._decode_token_ns)},
    [SLOT_PREFILL_RATE] = {KIND_DOUBLE, AT(_times._prefill_rate)},
    [SLOT_DECODE_RATE] = {KIND_DOUBLE, AT(_times._decode_rate)},
    [SLOT_STATUS] = {KIND_NUMBER, AT(_status)},
    [SLOT_ERROR_TYPE] = {KIND_SPAN, AT(_error_type)},
    [SLOT_MESSAGE] = {KIND_SPAN, AT(_message)},
    [SLOT_NO_USAGE] = {KIND_SPAN, AT(_no_usage)},
    [SLOT_FIRST_USAGE] = {KIND_STAGE, STAGE_FIRST_USAGE},
    [SLOT_USAGE] = {KIND_STAGE, STAGE_WITH_USAGE},
    [SLOT_TIMES] = {KIND_TIMES, 0},
    [SLOT_WHOLE] = {KIND_WHOLE, 0},
    [SLOT_ALL_TEXT] = {KIND_WORDS, AT(answer)},
    [SLOT_ALL_REASONING] = {KIND_WORDS, AT(reasoning)},
    [SLOT_ALL_ARGS] = {KIND_WORDS, AT(args)},
};

/* --- slots --- */

/* 2026-11-29T19:26:06.123456Z: the seconds are written once a second. */
static size_t now_format(struct speech *s, char *dst)
{
    enum { DIGITS = 6 };
    int64_t us = clock_wall().us;
    time_t second = (time_t)(us / US_PER_S);
    size_t n = SPEECH_SECOND_MAX - 4;

    if (s->_second_s != second) {
        struct tm tm;

        s->_second_s = second;
        if (!gmtime_r(&second, &tm) ||
            strftime(s->_second, sizeof(s->_second), "%Y-%m-%dT%H:%M:%S.", &tm) != n)
            memcpy(s->_second, "1970-01-01T00:00:00.", n);
    }
    memcpy(dst, s->_second, n);
    num_format_padded((uint64_t)(us % US_PER_S), DIGITS, dst + n);
    dst[n + DIGITS] = 'Z';
    return n + DIGITS + 1;
}

/* The text of a slot that is no form; number: room for one (NUMBER_MAX). */
static struct span slot_text(struct speech *s, enum slot slot, char *number)
{
    const struct slot_row *row = &slot_rows[slot];
    char *at = (char *)s + row->offset;
    int64_t *i64 = (int64_t *)(void *)at;

    switch (row->kind) {
    case KIND_SPAN:
        return *(const struct span *)(const void *)at;
    case KIND_NUMBER:
        return span_of(number, num_format_i64(*i64, number));
    case KIND_NEXT:
        return span_of(number, num_format_i64((*i64)++, number));
    case KIND_MS:
        return span_of(number, num_format_decimal((double)*i64 / (double)NS_PER_MS, 6, number));
    case KIND_DOUBLE:
        return span_of(number, num_format_decimal(*(const double *)(const void *)at, 3, number));
    case KIND_ID:
        return span_of(s->_id, s->_n_id);
    case KIND_NOW:
        return span_of(number, now_format(s, number));
    case KIND_OPENER:
        if (!s->voice->is_stream_array)
            return SPAN("data: ");
        return s->_n_elements++ == 0 ? SPAN("[") : SPAN(",\n");
    default:
        return s->_no_usage; /* <usage> where none is told; <times> comes with it only */
    }
}

/* --- forms into a buffer --- */

static int form_write(struct speech *s, struct form form, struct buf *out);

/* The only event of a stage, or nothing. */
static int stage_write(struct speech *s, int stage, struct buf *out)
{
    const struct voice_events *st = &s->_stages[stage];

    return st->n > 0 ? form_write(s, st->forms[0], out) : 0;
}

static int words_write(const struct speech *s, struct speech_range range, struct buf *out)
{
    int r = 0;

    for (int64_t i = range.first; i < range.end && r == 0; i += WORDS_MAX) {
        int64_t n = range.end - i < WORDS_MAX ? range.end - i : WORDS_MAX;
        r = buf_append(out, words_get(s->_words, i + s->choice, n));
    }
    return r;
}

static int slot_write(struct speech *s, enum slot slot, struct buf *out)
{
    const struct slot_row *row = &slot_rows[slot];
    char number[NUMBER_MAX];

    switch (row->kind) {
    case KIND_EMPTY:
        return 0;
    case KIND_STAGE:
        if (s->has_usage)
            return stage_write(s, (int)row->offset, out);
        break;
    case KIND_TIMES:
        return s->has_usage && s->times != STAGE_PREFIX ? stage_write(s, (int)s->times, out) : 0;
    case KIND_WHOLE:
        return speech_whole(s, 1, out);
    case KIND_WORDS:
        return words_write(
            s, *(const struct speech_range *)(const void *)((const char *)s + row->offset), out);
    default:
        break;
    }
    return buf_append(out, slot_text(s, slot, number));
}

static int form_write(struct speech *s, struct form form, struct buf *out)
{
    const struct form_part *parts = forms_parts(s->_forms->forms, form);
    int r = 0;

    for (int i = 0; i < form.n && r == 0; i++) {
        r = buf_append(out, parts[i].text);
        if (r == 0)
            r = slot_write(s, parts[i].slot, out);
    }
    return r;
}

/* --- events --- */

int speech_event(struct speech *s, int stage, int i, struct chunk *ret)
{
    struct form form = s->_stages[stage].forms[i];
    const struct form_part *parts;
    int r;

    chunk_begin(ret);
    if (form.is_long || (form.has_nested && s->has_usage)) {
        buf_clear(s->_scratch);
        r = form_write(s, form, s->_scratch);
        chunk_add(ret, buf_span(s->_scratch));
        return r;
    }
    parts = forms_parts(s->_forms->forms, form);
    for (int p = 0; p < form.n; p++) {
        char *number = ret->_scratch + ret->_n_scratch;
        struct span text;

        chunk_add(ret, parts[p].text);
        if (parts[p].slot == SLOT_NONE || parts[p].slot == SLOT_TIMES)
            continue;
        text = slot_text(s, parts[p].slot, number);
        if (text.p == number)
            ret->_n_scratch += text.n;
        chunk_add(ret, text);
        if (NEVER(ret->_n_scratch + NUMBER_MAX > sizeof(ret->_scratch)))
            return -EMSGSIZE;
    }
    return 0;
}

/* --- whole answers --- */

static int choice_write(struct speech *s, struct buf *out)
{
    int r = stage_write(s, STAGE_WHOLE_CHOICE, out);

    if (r == 0 && s->reasoning.end > s->reasoning.first)
        r = stage_write(s, STAGE_WHOLE + BLOCK_REASONING, out);
    if (r == 0)
        r = stage_write(s, STAGE_WHOLE + (int)speech_block(s, s->block), out);
    return r < 0 ? r : stage_write(s, STAGE_WHOLE_CHOICE_END, out);
}

int speech_whole(struct speech *s, int64_t n_choices, struct buf *out)
{
    int r = stage_write(s, STAGE_WHOLE_BEGIN, out);

    for (int64_t i = 0; i < n_choices && r == 0; i++) {
        s->choice = i;
        if (i > 0)
            r = buf_append(out, SPAN(","));
        if (r == 0)
            r = choice_write(s, out);
    }
    s->choice = 0;
    return r < 0 ? r : stage_write(s, STAGE_WHOLE_END, out);
}

static int refusal_write(struct speech *s, const char *message, const char *hint, struct buf *text,
                         struct buf *out)
{
    char joined[800];
    struct jsonw w;

    (void)snprintf(joined, sizeof(joined), "%s%s%s", message, hint[0] != '\0' ? "; " : "", hint);
    jsonw_init(&w, text);
    jsonw_cstr(&w, joined);
    s->_message = buf_span(text);
    return jsonw_error(&w) < 0 ? jsonw_error(&w) : stage_write(s, STAGE_REFUSED, out);
}

int speech_refuse(const struct voice_forms *forms, int status, const char *message,
                  const char *hint, struct buf *out)
{
    struct speech s = {.voice = forms->voice, ._forms = forms, ._stages = forms->stages[0]};
    struct buf text;
    int r;

    s._status = status;
    s._error_type = span_cstr(voice_error_type(forms->voice, status));
    buf_init(&text, 8 * KIB);
    r = refusal_write(&s, message, hint, &text, out);
    buf_done(&text);
    return r;
}

/* --- what the owner says --- */

/* What <usage> is where none is told: literal text, if anything. */
static struct span no_usage(const struct speech *s, bool may_tell_usage)
{
    const struct voice_events *st = &s->_stages[STAGE_NO_USAGE];

    if (st->n == 0 || (s->voice->is_usage_asked && !may_tell_usage))
        return SPAN("");
    return forms_parts(s->_forms->forms, st->forms[0])->text;
}

int speech_init(struct speech *s, const struct voice_forms *forms, const struct words *words,
                struct buf *scratch, const struct speech_head *head)
{
    int r;

    *s = (struct speech){
        .voice = forms->voice,
        .times = STAGE_PREFIX,
        .block = BLOCK_TEXT,
        ._forms = forms,
        ._stages = forms->stages[head->is_crlf],
        ._words = words,
        ._scratch = scratch,
        ._model = head->model,
        ._created_s = head->created_s,
        ._block = -1,
        ._n_id = head->id.n < SPEECH_ID_MAX ? head->id.n : SPEECH_ID_MAX,
    };
    memcpy(s->_id, head->id.p, s->_n_id);
    if (!s->voice->is_stream_array)
        s->_closer = head->is_crlf ? SPAN("\r\n\r\n") : SPAN("\n\n");
    s->_no_usage = no_usage(s, head->may_tell_usage);
    speech_set_reason(s, REASON_STOP);
    buf_clear(scratch);
    r = stage_write(s, STAGE_PREFIX, scratch);
    if (r == 0 && NEVER(buf_len(scratch) > sizeof(s->_prefix_text)))
        r = -EMSGSIZE;
    if (r < 0)
        return r;
    s->_prefix = span_of(s->_prefix_text, buf_len(scratch));
    memcpy(s->_prefix_text, buf_span(scratch).p, buf_len(scratch));
    return 0;
}

void speech_set_usage(struct speech *s, struct speech_usage usage)
{
    usage._prompt_new = usage.prompt - usage.cached;
    usage._answer = usage.completion - usage.reasoning;
    usage._total = usage.prompt + usage.completion;
    s->_usage = usage;
}

static double rate_of(int64_t n, int64_t ns)
{
    return ns > 0 ? (double)n * (double)NS_PER_S / (double)ns : 0;
}

/* After speech_set_usage: the prompt counts, too. */
void speech_set_times(struct speech *s, struct speech_times times)
{
    int64_t n = times.n_tokens, n_prompt = s->_usage._prompt_new;

    times._itl_ns = n > 1 ? times.decode_ns / (n - 1) : 0;
    times._prefill_token_ns = n_prompt > 0 ? times.prefill_ns / n_prompt : 0;
    times._decode_token_ns = n > 0 ? times.decode_ns / n : 0;
    times._prefill_rate = rate_of(n_prompt, times.prefill_ns);
    times._decode_rate = rate_of(n, times.decode_ns);
    s->_times = times;
}

void speech_set_reason(struct speech *s, enum voice_reason reason)
{
    s->_reason = span_cstr(s->voice->reasons[reason]);
    s->_why = span_cstr(s->voice->whys[reason]);
}

enum voice_block speech_block(const struct speech *s, enum voice_block block)
{
    return s->_stages[STAGE_TOKEN + (int)block].n > 0 ? block : BLOCK_TEXT;
}

void speech_begin_block(struct speech *s)
{
    s->_block++;
}

void speech_set_text(struct speech *s, int64_t first, int64_t n)
{
    s->_text = words_get(s->_words, first + s->choice, n);
    s->_args_begin = s->_args_end = (struct span){0};
}

void speech_set_args(struct speech *s, int64_t first, int64_t n, bool is_first, bool is_last)
{
    speech_set_text(s, first, n);
    if (is_first)
        s->_args_begin = SPAN("{\\\"query\\\":\\\"");
    if (is_last)
        s->_args_end = SPAN("\\\"}");
}
