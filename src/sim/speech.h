/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/speech.h - one answer in the words of its dialect: events as parts ready for one write, whole
 * answers, refusals.
 *
 * Role:      the owner says what happened (which block, which tokens, what usage), the voice's
 *            templates say how that is written. Knows no time but what it is told.
 * Cost:      what is the same in all events of a stream is rendered once; an event is a vector of
 *            views into that, the templates and the words. Only events with usage or with whole
 *            texts are put together, in `scratch`, which keeps its memory.
 * Lifetime:  a rendered event is valid until the next one with the same scratch.
 */
#ifndef SIM_SPEECH_H
#define SIM_SPEECH_H

#include "base/clock.h"
#include "sim/chunk.h"
#include "sim/voice.h"
#include "sim/words.h"

enum { SPEECH_ID_MAX = 32, SPEECH_PREFIX_MAX = 512, SPEECH_SECOND_MAX = 24 };

struct speech_usage {
    int64_t prompt, cached, completion, reasoning;
    int64_t _prompt_new, _answer, _total; /* what follows from them */
};

/* The engine's own, of this request. */
struct speech_times {
    int64_t total_ns;   /* since it was received */
    int64_t queue_ns;   /* until it was scheduled */
    int64_t prefill_ns; /* from there to the first token */
    int64_t decode_ns;  /* from there to the last one so far */
    int64_t n_tokens;   /* so far */
    int64_t _itl_ns, _prefill_token_ns, _decode_token_ns;
    double _prefill_rate, _decode_rate; /* tokens a second */
};

/* Tokens of one choice, by number. */
struct speech_range {
    int64_t first, end;
};

struct speech {
    const struct voice *voice;
    /* set by the owner before an event */
    int64_t choice;
    bool has_usage;         /* this event tells it, where its template can */
    enum voice_stage times; /* STAGE_TIMES_*: told with usage; STAGE_PREFIX: never */
    struct speech_range reasoning, answer, args; /* for whole texts; args is a part of answer */
    enum voice_block block;                      /* kind of the answer, for whole answers */
    /* private */
    const struct voice_forms *_forms;
    const struct voice_events *_stages;
    const struct words *_words;
    struct buf *_scratch;
    struct speech_usage _usage;
    struct speech_times _times;
    struct span _text, _args_begin, _args_end, _reason, _why, _model, _prefix, _closer;
    struct span _error_type, _message, _no_usage;
    int64_t _created_s, _block, _sequence, _n_elements, _status;
    int64_t _second_s; /* whose text stands in _second */
    size_t _n_id;
    char _id[SPEECH_ID_MAX];
    char _second[SPEECH_SECOND_MAX];
    char _prefix_text[SPEECH_PREFIX_MAX];
};

/* Who answers, and how it is to be told. */
struct speech_head {
    struct span id;    /* at most SPEECH_ID_MAX bytes, copied */
    struct span model; /* JSON-escaped, at most ASK_MODEL_MAX bytes, borrowed */
    int64_t created_s;
    bool is_crlf;
    bool may_tell_usage; /* the stream tells usage at its end: events without have a null where the
                          * API wants it */
};

/* Everything but the head is borrowed. -ENOMEM. */
int speech_init(struct speech *s, const struct voice_forms *forms, const struct words *words,
                struct buf *scratch, const struct speech_head *head) WARN_UNUSED;

void speech_set_usage(struct speech *s, struct speech_usage usage);
void speech_set_times(struct speech *s, struct speech_times times);
void speech_set_reason(struct speech *s, enum voice_reason reason);

/* The block that this voice says `block` with. */
enum voice_block speech_block(const struct speech *s, enum voice_block block);

/* A block begins; counted for <block>. */
void speech_begin_block(struct speech *s);

/* The tokens of the next token event: n of them from number first on. */
void speech_set_text(struct speech *s, int64_t first, int64_t n);
/* Those of a tool call's arguments, JSON in a string: {"query":"text text"} over several events. */
void speech_set_args(struct speech *s, int64_t first, int64_t n, bool is_first, bool is_last);

/* How many events a stage has. */
static inline int speech_n_events(const struct speech *s, int stage)
{
    return s->_stages[stage].n;
}

/* Event i of a stage. -ENOMEM. */
int speech_event(struct speech *s, int stage, int i, struct chunk *ret) WARN_UNUSED;

/* Appends the whole answer as one JSON text, with usage and times when has_usage. -errno of buf. */
int speech_whole(struct speech *s, int64_t n_choices, struct buf *out) WARN_UNUSED;

/* Appends an error in the dialect's own form; hint may be "". Needs no speech. -errno of buf. */
int speech_refuse(const struct voice_forms *forms, int status, const char *message,
                  const char *hint, struct buf *out) WARN_UNUSED;

#endif
