/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/voice.h - how each API says what the simulated engine has to say: one table per dialect.
 *
 * Role:      the phases of an answer (sim/sim_stream.c) know no dialect; they ask for the events of
 *            a stage. A voice has a template (sim/form.h) for each; where an API has several events
 *            in a place, they stand in one text with VOICE_NEXT between them; where it has none,
 *            there is no text. sim/speech.h renders them.
 * Blocks:    the output of an answer is a run of blocks: reasoning first, then text, a refusal or a
 *            tool call. STAGE_OPEN + block is sent before its first token, STAGE_CLOSE + block
 *            after its last. A voice without a token event for a block says it as text.
 */
#ifndef SIM_VOICE_H
#define SIM_VOICE_H

#include "sim/ask.h"
#include "sim/form.h"

#define VOICE_NEXT "\f"

enum voice_block { BLOCK_REASONING, BLOCK_TEXT, BLOCK_REFUSAL, BLOCK_CALL, BLOCK_COUNT_ };

enum voice_stage {
    STAGE_PREFIX, /* rendered once per answer, for <prefix> */
    /* a stream, in order */
    STAGE_COMMENT,
    STAGE_PRELUDE,
    STAGE_OPEN, /* + block */
    STAGE_OPEN_LAST = STAGE_OPEN + BLOCK_COUNT_ - 1,
    STAGE_CALL_NAME, /* a token event: first of a tool call */
    STAGE_TOKEN,     /* + block; of a tool call: its arguments */
    STAGE_TOKEN_LAST = STAGE_TOKEN + BLOCK_COUNT_ - 1,
    STAGE_CLOSE, /* + block */
    STAGE_CLOSE_LAST = STAGE_CLOSE + BLOCK_COUNT_ - 1,
    STAGE_FINISH, /* per choice */
    STAGE_USAGE,
    STAGE_DONE,
    STAGE_ERROR, /* in the middle of a stream */
    /* a whole answer, in order */
    STAGE_WHOLE_BEGIN,
    STAGE_WHOLE_CHOICE,
    STAGE_WHOLE, /* + block */
    STAGE_WHOLE_LAST = STAGE_WHOLE + BLOCK_COUNT_ - 1,
    STAGE_WHOLE_CHOICE_END,
    STAGE_WHOLE_END,
    STAGE_REFUSED, /* an error status instead of an answer */
    /* parts of others */
    STAGE_FIRST_USAGE, /* <first_usage> */
    STAGE_WITH_USAGE,  /* <usage> */
    STAGE_NO_USAGE,    /* <usage> where none is told, and <no_usage> */
    STAGE_TIMES_VLLM,  /* <times> */
    STAGE_TIMES_LLAMACPP,
    VOICE_STAGE_COUNT_, /* STAGE_COUNT_ is that of record/record.h */
};

/* Why an answer ends; a voice without a word for the last two says stop or length. */
enum voice_reason { REASON_STOP, REASON_LENGTH, REASON_CALL, REASON_REFUSAL, REASON_COUNT_ };

/* The name of a status; 400 and 500 are those of all others below and from 500 on. */
struct voice_error {
    int status;
    const char *type;
};

struct voice {
    const char *name;
    const char *stream_type;      /* Content-Type of a stream */
    const struct ask_field *asks; /* where a request says what, see sim/ask.h */
    const char *missing;          /* said about a request without a prompt */
    int64_t max_choices;
    bool is_stream_default; /* where the request does not say */
    bool is_stream_array;   /* <opener> and <closer> make a JSON array, not an event stream */
    bool is_usage_asked;    /* streams tell usage only to those who ask for it */
    bool is_call_whole;     /* a tool call is one event, once all of it is there */
    bool is_finish_end;     /* the finish events are the end mark */
    bool has_output;        /* generates tokens; otherwise there is a whole answer only */
    const char *reasons[REASON_COUNT_]; /* <reason> */
    const char *whys[REASON_COUNT_];    /* <why> */
    const struct voice_error *errors;   /* ended by status 0 */
    const char *stages[VOICE_STAGE_COUNT_];
};

enum voice_id {
    VOICE_CHAT,
    VOICE_COMPLETIONS,
    VOICE_EMBEDDINGS,
    VOICE_RESPONSES,
    VOICE_MESSAGES,
    VOICE_COUNT_TOKENS,
    VOICE_OLLAMA_CHAT,
    VOICE_OLLAMA_GENERATE,
    VOICE_OLLAMA_EMBED,
    VOICE_GEMINI_SSE,
    VOICE_GEMINI_ARRAY,
    VOICE_COUNT_,
};
const struct voice *voice_get(enum voice_id id);

/* Type of an error status in that voice. */
const char *voice_error_type(const struct voice *v, int status);

extern const struct voice voice_openai_chat, voice_openai_completions, voice_openai_embeddings,
    voice_responses, voice_anthropic_messages, voice_anthropic_count, voice_ollama_chat,
    voice_ollama_generate, voice_ollama_embed, voice_gemini_sse, voice_gemini_array;

/* --- read once, for all answers of the process --- */

enum { VOICE_EVENTS_MAX = 4 }; /* of one stage */

struct voice_events {
    int n;
    struct form forms[VOICE_EVENTS_MAX];
};

struct voice_forms {
    const struct voice *voice;
    const struct forms *forms;
    struct voice_events stages[2][VOICE_STAGE_COUNT_]; /* [is_crlf] */
};

struct voices {
    struct forms _forms;
    struct voice_forms of[VOICE_COUNT_];
};

/* -EINVAL (a fault in a table), -ENOMEM. */
int voices_new(struct voices **ret) WARN_UNUSED;
struct voices *voices_free(struct voices *v);

#endif
