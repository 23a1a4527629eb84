/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/switches.h - how one answer of the simulated engine behaves: content, timing and faults.
 *
 * Role:      one table names every switch. A command line flag (--error-after 3) sets the default,
 *            a request header (X-Sim-Error-After: 3) the behaviour of that request.
 * Names:     case does not matter, '_' and '-' are the same.
 * Threading: plain values.
 */
#ifndef SIM_SWITCHES_H
#define SIM_SWITCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/span.h"

enum switch_usage {
    SWITCH_USAGE_NEVER,
    SWITCH_USAGE_ASKED,       /* as the API does: OpenAI's to those who ask, the others always */
    SWITCH_USAGE_ALWAYS,      /* at the end, asked or not */
    SWITCH_USAGE_EVERY_CHUNK, /* running counts in each token event too, where the API has them */
};

/* How an answer is cut. */
enum switch_cut {
    SWITCH_CUT_END,   /* the body ends regularly, only the dialect's end mark is missing */
    SWITCH_CUT_CLOSE, /* connection closed between two chunks, no last chunk */
    SWITCH_CUT_MID,   /* connection closed in the middle of a chunk */
    SWITCH_CUT_RESET, /* RST after a whole chunk */
};

enum switch_head {
    SWITCH_HEAD_NOW,   /* as soon as the request is complete */
    SWITCH_HEAD_FIRST, /* together with the first event */
};

/* What an engine tells about its own time, where it tells usage. */
enum switch_engine_times {
    SWITCH_TIMES_NONE,
    SWITCH_TIMES_VLLM,
    SWITCH_TIMES_LLAMACPP,
};

enum switch_end {
    SWITCH_END_NORMAL,
    SWITCH_END_HOLD, /* the end mark is sent and the body stays open until the client goes */
};

/* Counts are int64_t so that one table row reaches each of them. -1: not set. */
struct switches {
    /* timing */
    int64_t ttft_ns;       /* -1: the model draws it */
    int64_t itl_ns;        /* constant time per token; -1: the model draws it */
    int64_t role_delay_ns; /* from the prelude to the first token */
    int64_t slow_head_ns;  /* the head is dribbled over that time; 0: at once */
    int64_t split_gap_ns;  /* between the pieces of a split event */
    int64_t play_gap_ns;   /* between the writes of a played file */
    /* content */
    int64_t n_tokens;         /* output tokens; -1: max_tokens of the request, or drawn */
    int64_t tokens_per_event; /* >= 1 */
    int64_t n_reasoning;      /* of the tokens, how many are reasoning, in front */
    int64_t n_choices;        /* 0: as the request asks */
    int64_t prompt_tokens;    /* as reported; -1: a quarter of the prompt's bytes */
    int64_t cached_tokens;    /* as reported, part of the prompt */
    int64_t prefix;           /* prompts with the same number begin alike; 0: like no other; -1: as
                               * their bytes say. Of the batching engine */
    int64_t prefix_tokens;    /* for that many tokens; -1: all */
    int64_t usage;            /* enum switch_usage */
    int64_t engine_times;     /* enum switch_engine_times */
    bool has_role;            /* the stream begins with its prelude: a role-only chunk, ... */
    bool has_done;            /* the stream ends with its end mark: [DONE], ... */
    bool is_tool_call;        /* tool call events instead of text */
    bool is_refusal;          /* refusal text instead of content */
    int64_t n_comments;       /* keep-alive comments before the first token */
    bool is_crlf;             /* event lines end in CRLF */
    /* transport and faults; *_after count token events, -1: never */
    int64_t error_after;      /* then an error event, and the body ends */
    int64_t cut_after;        /* then the cut */
    int64_t cut;              /* enum switch_cut */
    int64_t hang_after;       /* then nothing any more */
    int64_t head;             /* enum switch_head */
    int64_t end;              /* enum switch_end */
    int64_t batch;            /* events in one write */
    int64_t split;            /* writes for one event */
    int64_t play_bytes;       /* in one write of a played file; 0: its reads or events */
    int64_t status;           /* other than 200: a JSON error is all there is */
    int64_t retry_after_s;    /* header on an error answer; -1: with 429 only, 1 s */
    int64_t interim;          /* status of an interim answer sent first; 0: none */
    bool is_early;            /* answers once the request head is there */
    bool is_gzip;             /* content-coded, asked or not */
    bool is_close;            /* connection closed after the answer */
    bool must_refuse_options; /* 400 to a request with stream_options */
};

void switches_init(struct switches *s);

/*
 * Sets one switch by its name ("error-after"). -ENOENT: no such switch, with the nearest name in
 * the hint; -EINVAL: a value it cannot have. *s is then unchanged.
 */
int switches_set(struct switches *s, struct span name, struct span value,
                 struct err *reterr) WARN_UNUSED;

/* A request header: 0 when it is no X-Sim-* field or was applied, else as switches_set. */
int switches_header(struct switches *s, struct span field, struct span value,
                    struct err *reterr) WARN_UNUSED;

/* For help texts: false behind the last. values: "on|off", "N", "MS" or the list of words. */
struct switch_help {
    const char *name;
    const char *values;
    const char *text;
};
bool switches_help(size_t i, struct switch_help *ret);

#endif
