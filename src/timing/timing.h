/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timing/timing.h - arrivals of one answer -> TTFT, gaps, TPOT, jitter, stalls.
 *
 * Role:      pure arithmetic on stamps, integers in ns. Definitions: docs/DEFINITIONS.md
 *            ("Stamps", "Durations"). Reads no clock.
 * Model:     an *arrival* is one read of the socket with its stamp; several output events of one
 *            read share it. Gaps exist between arrivals, never between events of one arrival.
 * Reasoning: hidden (only its count is known), opaque or summarised reasoning streams no tokens
 *            that events could be weighed with. The gaps up to the first answer are then kept in
 *            hidden_gaps: they count in jitter and stalls, and not in ITL.
 * Memory:    fixed size, no allocation. Gaps are kept in struct gaps (timing/gaps.h, <= 512 B
 *            each).
 * Threading: one owner.
 */
#ifndef TIMING_TIMING_H
#define TIMING_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "timing/gaps.h"

/* What one output event carries; bits. */
enum output_kind {
    OUTPUT_TEXT = 1u << 0,
    OUTPUT_REASONING = 1u << 1,        /* readable */
    OUTPUT_REASONING_OPAQUE = 1u << 2, /* redacted, encrypted, signature */
    OUTPUT_TOOL_NAME = 1u << 3,
    OUTPUT_TOOL_ARGS = 1u << 4,
    OUTPUT_REFUSAL = 1u << 5,
    OUTPUT_AUDIO = 1u << 6,
    OUTPUT_IMAGE = 1u << 7,
    OUTPUT_REASONING_SUMMARY = 1u << 8, /* set with OUTPUT_REASONING: a summary, not the tokens */
};
#define OUTPUT_ANY_REASONING (OUTPUT_REASONING | OUTPUT_REASONING_OPAQUE | OUTPUT_REASONING_SUMMARY)
/* Counted by content_events: all but tool names and opaque reasoning. */
#define OUTPUT_CONTENT                                                                             \
    (OUTPUT_TEXT | OUTPUT_REASONING | OUTPUT_TOOL_ARGS | OUTPUT_REFUSAL | OUTPUT_AUDIO |           \
     OUTPUT_IMAGE)

struct timing {
    mono_t t_first_event;
    mono_t t_first_token;  /* first output event */
    mono_t t_first_answer; /* first output event that is not only reasoning */
    mono_t t_last_token;
    mono_t t_last_event;
    uint32_t n_events;        /* stream events of any kind */
    uint32_t n_output_events; /* events with any output kind */
    uint32_t n_content_events;
    uint32_t n_answer_events; /* output events that are not only reasoning */
    uint32_t n_arrivals;      /* distinct arrivals with output */
    uint32_t n_coalesced;     /* output events that shared an arrival with an earlier one */
    uint32_t kinds;           /* union of output_kind seen */
    uint32_t n_blocked_gaps;  /* gaps left out because the client did not read */
    bool has_plain_reasoning; /* a reasoning event that was neither opaque nor a summary */
    bool is_order_violated;   /* a stamp went backwards; it was clamped */
    bool _is_last_gap_hidden; /* which histogram the last gap went to */
    bool _is_counted;         /* the engine told the first output event's tokens: shares are kept */
    uint32_t _n_over_1s;      /* kept gaps over one second, exact */
    int64_t _last_gap_ns;     /* -1: the last arrival closed no kept gap */
    int64_t _share_ns;        /* time that the tokens told next share; -1: it is not theirs alone */
    uint64_t _n_share_tokens; /* told by the last arrival */
    struct gaps gaps;         /* gaps before arrivals whose tokens streamed */
    struct gaps hidden_gaps;  /* gaps up to the first answer, while reasoning was not readable */
    struct gaps shares;       /* of gaps, one token's; "events" are tokens here */
};

/* The gap that an output event closed; ns < 0: none (first output, same arrival, or excluded). */
struct timing_step {
    bool is_first_token;
    bool is_first_answer;
    int64_t gap_ns; /* -1: no gap to record */
};

void timing_init(struct timing *t);

/*
 * One stream event arrived at stamp `at`; kinds: output_kind bits, 0 for events without output.
 * is_blocked: reading was paused for the client in the time since the last output arrival, so the
 * gap is not the engine's and is left out of every distribution.
 */
struct timing_step timing_event(struct timing *t, mono_t at, uint32_t kinds, bool is_blocked);

/* The same where the engine told how many tokens it generated since it last did with an output
 * event (-1: it did not). Told with the first one, these numbers are the weights of ITL: the tokens
 * of an arrival share its gap, and those before it whose arrivals told none. */
struct timing_step timing_event_counted(struct timing *t, mono_t at, uint32_t kinds,
                                        bool is_blocked, int64_t n_tokens);

/* Why there is no TPOT. */
enum tpot_status {
    TPOT_OK,
    TPOT_NOT_STREAM,
    TPOT_NO_USAGE,         /* completion tokens unknown */
    TPOT_TOO_FEW_TOKENS,   /* fewer than 2 tokens to divide by */
    TPOT_ONE_ARRIVAL,      /* all output in one read, or none */
    TPOT_MULTI_CHOICE,     /* n > 1 interleaves; the figure, if any, is for the record only */
    TPOT_HIDDEN_REASONING, /* reasoning hidden and its token count unknown */
    TPOT_UNOBSERVED,       /* the answer could not be followed */
    TPOT_STATUS_COUNT_,
};
const char *tpot_status_name(enum tpot_status s); /* "ok", "no_usage", ...: label values */

/* Token numbers as timing needs them; -1 = unknown. */
struct timing_tokens {
    int64_t completion;
    int64_t reasoning;
    bool is_multi_choice;
};

struct timing_summary {
    enum tpot_status tpot_status;
    int64_t tpot_ns;                            /* -1: none */
    int64_t jitter_ns;                          /* p95 - p50 of the gaps; -1: fewer than 2 gaps */
    int64_t gap_p50_ns, gap_p95_ns, gap_max_ns; /* -1: no gap */
    double tokens_per_event;                    /* of those whose tokens streamed; < 0: unknown */
    uint32_t n_stalls;                          /* gaps over max(1 s, 10 x median) */
    int64_t stall_max_ns;                       /* longest of them; 0: none */
    bool is_reasoning_hidden;
};

/* Fills *ret with "nothing": a summary of an answer that was no stream. */
void timing_summary_init(struct timing_summary *s, enum tpot_status status);

/* The silence after which this stream is stalled, from its gaps so far: max(1 s, 10 x median). */
int64_t timing_stall_after_ns(const struct timing *t);
#define TIMING_STALL_MIN_NS NS_PER_S /* it is never less */

/* At the end of a stream. Reasoning counts as hidden when it was opaque or summarised, or
 * tokens.reasoning > 0 and no reasoning event was seen, and none was plainly readable. */
void timing_summarise(const struct timing *t, struct timing_tokens tokens,
                      struct timing_summary *ret);

/*
 * Token-weighted gaps: calls emit once per bucket with the value of one token's share and the
 * number of tokens. Where the engine told the tokens of events, each is a sample of its share of
 * its own gap. Else buckets of gaps are shared by their tokens, which sum to round(events behind
 * gaps x tokens_per_event); one with less than one token gives its time to its neighbour. Does
 * nothing when the engine told none and tokens_per_event is unknown (< 0).
 */
void timing_each_itl(const struct timing *t, double tokens_per_event,
                     void (*emit)(void *ctx, int64_t itl_ns, uint64_t n_tokens), void *ctx);

#endif
