/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/said.h - what one event or whole answer said, before it is folded into the answer.
 * Private to dialect/.
 *
 * Why:       an event that turns out to be no JSON halfway must leave nothing behind, so it is read
 *            into one of these first. Spans are views into the event.
 * Use:       a dialect's said_parse fills it in, said_event and said_answer do the rest.
 */
#ifndef DIALECT_SAID_H
#define DIALECT_SAID_H

#include "dialect/dialect.h"
#include "dialect/take.h"

struct said {
    uint32_t kinds;   /* dialect_kind bits */
    struct span text; /* raw output, where one string of it was noted */
    int n_texts;
    struct span varying[SHAPE_HOLES_MAX - 1]; /* raw values that mean nothing */
    int n_varying;
    bool is_end;         /* the dialect's own end mark */
    bool is_usage_early; /* told before the output that it should count */
    bool has_choices;
    bool has_usage;
    bool is_error;
    struct usage usage;
    struct engine_times engine;
    struct span model;
    struct span fingerprint; /* of the engine's configuration */
    struct span error_type;  /* raw; empty when only the fact is known */
    int64_t max_index;       /* of the choices; -1: none */
    int n_finished;
    struct {
        int64_t index;
        struct span finish;          /* raw */
        struct span detail;          /* raw; empty: none */
    } finished[DIALECT_CHOICES_MAX]; /* the last member: said_init leaves it alone */
};

void said_init(struct said *s);

/* A raw string that is not empty is output of that kind. */
void said_output(struct said *s, uint32_t kind, struct span raw);

/* Takes the next value: a string that is not empty is output of that kind. */
void said_take_output(struct said *s, struct json *j, uint32_t kind);

/* Takes the next value: a string or number that changes with every event and means nothing. */
void said_take_varying(struct said *s, struct json *j);

/* A choice (0 where there are none) ended, and why. An empty reason is none. With a detail that is
 * not empty it is kept as "reason:detail". */
void said_finish(struct said *s, int64_t index, struct span reason);
void said_finish_detail(struct said *s, int64_t index, struct span reason, struct span detail);

/* Takes the value of an "error" key: an object with type, code or status, or anything truthy. What
 * it names becomes *ret_type, where it names something. false: it is no error. */
bool said_is_error(struct json *j, struct span *ret_type);
void said_take_error(struct said *s, struct json *j);

/*
 * The event and answer ops of a dialect, over its walk through the members of one JSON object:
 * false when data is no JSON object. name: of the SSE event, may be empty. "[DONE]" ends what is
 * read, whoever sends it (has_done_marker), and is an end mark where the dialect says so; an event
 * named "error" is one, whatever it holds.
 */
typedef bool said_parse(struct span name, struct span data, struct said *ret);
void said_event(struct dialect_answer *a, struct span name, struct span data, said_parse *parse,
                struct token_event *ret);
void said_answer(struct dialect_answer *a, struct span body, said_parse *parse);

#endif
