/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/sim_answer.c - life and phases of an answer. Each phase has a time when it is due and a step
 * that sends something; answer_pump runs steps until one lies in the future, needs the model, or
 * ends it all.
 *
 *   all:     READ (where the network is slow)
 *   stream:  HEAD  WAIT (engine queue)  then those of sim/sim_stream.c
 *   file:    HEAD  PLAY
 *   other:   WAIT  RENDER (all tokens ready)  BODY
 *   error:   BODY
 *
 * A step that ends the answer returns false; the memory may be gone then.
 */
#include "sim/sim_answer.h"

#include <errno.h>
#include <stdio.h>

#include "base/limits.h"
#include "sim/fault.h"
#include "sim/sim_pace.h"
#include "sim/sim_stream.h"

enum { BODY_MAX = 64 * MIB };

/* --- end --- */

static void answer_publish(struct sim_answer *a)
{
    struct truth_head *h = truth_entry_head(a->_truth);

    if (!h)
        return;
    (void)span_copy(span_cstr(a->_id), h->id, sizeof(h->id));
    h->status = mono_is_set(a->_out.t_headers) ? a->_status : 0;
    h->is_stream = a->play || a->ask.is_stream;
    h->t_request = a->_t_request;
    h->t_started = a->_request.t_started;
    h->t_headers = a->_out.t_headers;
    h->prompt_tokens = a->_prompt_tokens;
    h->completion_tokens = a->_request.n_done * a->_n_choices;
    truth_publish(a->_engine->truth, a->_truth);
    a->_truth = NULL;
}

/* Everything but the connection. */
static void answer_over(struct sim_answer *a)
{
    struct sim_engine *e = a->_engine;

    sim_pace_leave(a);
    answer_publish(a);
    loop_timer_stop(e->loop, &a->_timer);
    task_cancel(&a->_go);
    outlet_done(&a->_out);
    buf_done(&a->_body);
    a->on_over(a);
}

static bool answer_end(struct sim_answer *a)
{
    http_server_end(a->_conn);
    answer_over(a);
    return false;
}

void sim_answer_gone(struct sim_answer *a)
{
    answer_over(a);
}

/* r of a write: the answer goes on only while it is not negative. */
static bool answer_goes_on(struct sim_answer *a, int r)
{
    return r < 0 ? answer_end(a) : true;
}

/* --- faults that come after a number of token events --- */

static bool answer_silence(struct sim_answer *a)
{
    truth_entry_add(a->_truth, TRUTH_HANG, 0, clock_mono());
    a->_phase = PHASE_SILENT;
    return answer_goes_on(a, outlet_flush(&a->_out));
}

static bool answer_fail(struct sim_answer *a)
{
    a->_phase = PHASE_ERROR;
    a->_step = 0;
    return answer_goes_on(a, sim_stream_step(a));
}

/* The beginning of what would have come next. */
static void answer_cut_inside(struct sim_answer *a)
{
    struct play_place place = a->_place;
    struct chunk chunk;

    if (outlet_head_now(&a->_out) < 0)
        return;
    if (a->play)
        fault_half_chunk(a->_conn, play_take(a->play, &place, a->switches.play_bytes));
    else if (sim_stream_peek(a, &chunk) == 0)
        fault_half_chunk(a->_conn, chunk.parts[0]);
}

static bool answer_cut(struct sim_answer *a)
{
    int64_t how = a->switches.cut;
    int r = outlet_flush(&a->_out);

    truth_entry_add(a->_truth, TRUTH_CUT, 0, clock_mono());
    a->_phase = PHASE_LAST_PIECES;
    if (r == 0 && how == SWITCH_CUT_END)
        return answer_goes_on(a, outlet_end(&a->_out));
    if (r == 0 && how == SWITCH_CUT_MID)
        answer_cut_inside(a);
    if (how == SWITCH_CUT_RESET)
        fault_reset(a->_conn);
    else
        http_server_end(a->_conn);
    answer_over(a);
    return false;
}

/*
 * Runs the fault that is due now, if there is one; *ret_goes_on as from a step. "After 0 events" is
 * before the prelude too.
 */
static bool answer_fault(struct sim_answer *a, bool *ret_goes_on)
{
    const struct switches *s = &a->switches;

    if (a->_phase < PHASE_PLAY || a->_phase > PHASE_FINISH || a->_n_taken > 0)
        return false;
    if (a->_n_events == s->error_after)
        *ret_goes_on = answer_fail(a);
    else if (a->_n_events == s->cut_after)
        *ret_goes_on = answer_cut(a);
    else if (a->_n_events == s->hang_after)
        *ret_goes_on = answer_silence(a);
    else
        return false;
    return true;
}

/* --- head, whole answers --- */

static bool step_head(struct sim_answer *a)
{
    char fields[384];

    (void)snprintf(fields, sizeof(fields),
                   "Content-Type: %s\r\nCache-Control: no-cache\r\nX-Request-Id: %s\r\n",
                   a->play ? play_content_type(a->play) : a->_speech.voice->stream_type, a->_id);
    a->_phase = a->play ? PHASE_PLAY : PHASE_WAIT;
    return answer_goes_on(a, outlet_head(&a->_out, 200, fields,
                                         (struct http_framing){HTTP1_BODY_CHUNKED, 0},
                                         a->switches.head == SWITCH_HEAD_FIRST));
}

static int answer_render(struct sim_answer *a)
{
    struct speech *s = &a->_speech;
    int64_t n = a->_request.n_tokens;
    int64_t n_reasoning = a->switches.n_reasoning < n ? a->switches.n_reasoning : n;

    if (speech_block(s, BLOCK_REASONING) != BLOCK_REASONING)
        n_reasoning = 0;
    s->reasoning = (struct speech_range){0, n_reasoning};
    s->answer = (struct speech_range){n_reasoning, n};
    s->args = (struct speech_range){n_reasoning + 1, n};
    s->has_usage = a->switches.usage != SWITCH_USAGE_NEVER;
    sim_stream_tell_usage(a);
    speech_set_reason(s, sim_stream_reason(a));
    return speech_whole(s, a->_n_choices, &a->_body);
}

/* The body is in _body: its head is next, the body follows when the head is out. */
static bool answer_send_body(struct sim_answer *a, const char *more_fields)
{
    char fields[384];
    struct buf zipped;
    int r = 0;

    if (a->switches.is_gzip) {
        buf_init(&zipped, BODY_MAX);
        r = outlet_gzip(buf_span(&a->_body), &zipped);
        buf_done(&a->_body);
        a->_body = zipped;
    }
    (void)snprintf(fields, sizeof(fields),
                   "Content-Type: application/json\r\nX-Request-Id: %s\r\n%s", a->_id, more_fields);
    a->_phase = PHASE_BODY;
    if (r == 0)
        r = outlet_head(&a->_out, a->_status, fields,
                        (struct http_framing){HTTP1_BODY_LENGTH, buf_len(&a->_body)}, true);
    return answer_goes_on(a, r);
}

static bool answer_send_error(struct sim_answer *a, int status, const char *message)
{
    char field[48] = "";
    int64_t retry_after_s = a->switches.retry_after_s;

    if (retry_after_s < 0 && status == 429)
        retry_after_s = 1;
    if (retry_after_s >= 0)
        (void)snprintf(field, sizeof(field), "Retry-After: %lld\r\n", (long long)retry_after_s);
    a->_status = status;
    if (speech_refuse(&a->_engine->voices->of[a->voice], status, message, "", &a->_body) < 0)
        return answer_end(a);
    return answer_send_body(a, field);
}

static bool step_render(struct sim_answer *a)
{
    const struct switches *s = &a->switches;

    if (s->hang_after >= 0)
        return answer_silence(a);
    if (s->error_after >= 0)
        return answer_send_error(a, 500, "simulated engine failure");
    if (answer_render(a) < 0)
        return answer_end(a);
    return answer_send_body(a, "");
}

static bool step_body(struct sim_answer *a)
{
    struct span body = buf_span(&a->_body);
    int r;

    if (a->switches.cut_after >= 0) {
        struct span half = span_of(body.p, body.n / 2);
        truth_entry_add(a->_truth, TRUTH_CUT, 0, clock_mono());
        outlet_part(&a->_out, half);
        if (a->switches.cut == SWITCH_CUT_RESET) {
            fault_reset(a->_conn);
            answer_over(a);
            return false;
        }
        return answer_end(a);
    }
    r = outlet_body(&a->_out, body);
    a->_phase = PHASE_LAST_PIECES;
    return answer_goes_on(a, r);
}

/* --- the pump --- */

/* The engine works on it. A whole answer is ready with its last token. */
static bool step_wait(struct sim_answer *a)
{
    if (a->ask.is_stream) {
        a->_phase = PHASE_COMMENTS;
        return true;
    }
    a->_t_ready = a->_request.t_first;
    if (!model_is_finished(&a->_request)) {
        sim_pace_take(a, true); /* all events are in one body */
        a->_t_ready = a->_t_last;
    }
    a->_phase = PHASE_RENDER;
    return true;
}

static const mono_t at_once = {1};

/* When the phase's step could be made here; MONO_NONE: something else has to happen first. */
static mono_t answer_due_here(const struct sim_answer *a)
{
    switch ((enum sim_phase)a->_phase) {
    case PHASE_READ:
    case PHASE_RENDER:
        return a->_t_ready;
    case PHASE_HEAD:
    case PHASE_BODY:
        return a->_engine->live ? a->_request.t_arrived : at_once;
    case PHASE_WAIT:
        return sim_pace_is_started(a) ? at_once : MONO_NONE;
    case PHASE_SILENT:
        return MONO_NONE;
    default:
        return sim_stream_due(a);
    }
}

/* The same for the client, behind its network. */
static mono_t answer_due(const struct sim_answer *a)
{
    const struct sim_live *live = a->_engine->live;
    mono_t due;

    if (outlet_is_busy(&a->_out))
        return a->_out.t_piece;
    due = answer_due_here(a);
    if (!live || due.ns <= at_once.ns || a->_phase == PHASE_READ)
        return due;
    return mono_add(due, sim_live_lag_ns(live));
}

static bool answer_start(struct sim_answer *a, mono_t now);

/* false: the answer is over. */
static bool answer_step(struct sim_answer *a)
{
    bool goes_on;

    if (outlet_is_busy(&a->_out))
        return answer_goes_on(a, outlet_piece(&a->_out));
    if (a->_engine->live)
        a->_out.hold_bytes = sim_live_held_bytes(a->_engine->live);
    if (answer_fault(a, &goes_on))
        return goes_on;
    switch ((enum sim_phase)a->_phase) {
    case PHASE_READ:
        return answer_start(a, a->_t_ready);
    case PHASE_HEAD:
        return step_head(a);
    case PHASE_WAIT:
        return step_wait(a);
    case PHASE_RENDER:
        return step_render(a);
    case PHASE_BODY:
        return step_body(a);
    case PHASE_LAST_PIECES:
        return answer_end(a);
    case PHASE_SILENT:
        return true;
    default:
        return answer_goes_on(a, sim_stream_step(a));
    }
}

static void answer_pump(struct sim_answer *a)
{
    struct loop *l = a->_engine->loop;

    for (;;) {
        mono_t due = answer_due(a);
        int64_t left;

        if (!mono_is_set(due) || http_server_is_full(a->_conn))
            return; /* on_drained, _go or on_gone comes */
        left = mono_diff(due, loop_now(l));
        if (left > 0) {
            loop_timer_start(l, &a->_timer, left);
            return;
        }
        if (!answer_step(a))
            return;
    }
}

static void answer_on_timer(struct timer *t)
{
    answer_pump(CONTAINER_OF(t, struct sim_answer, _timer));
}

/* The model has started it, or the live engine has news. */
static void answer_on_go(struct task *t)
{
    struct sim_answer *a = CONTAINER_OF(t, struct sim_answer, _go);

    if (sim_pace_look(a) < 0)
        (void)answer_end(a); /* as when its process dies */
    else
        answer_pump(a);
}

void sim_answer_drained(struct sim_answer *a)
{
    answer_pump(a);
}

/* --- begin --- */

/* The ids, and the voice. -ENOMEM. */
static int answer_init_speech(struct sim_answer *a, struct span id)
{
    enum { HEX_DIGITS = 24 };
    const struct switches *s = &a->switches;
    struct sim_engine *e = a->_engine;
    bool is_runaway = e->live && sim_live_faults(e->live)->is_on[SIM_FAULT_RUNAWAY_OUTPUT];
    struct speech_head head;
    char digits[HEX_DIGITS];
    int r;

    if (a->ask.model[0] == '\0')
        (void)span_copy(SPAN("simulated"), a->ask.model, sizeof(a->ask.model));
    rng_hex(&e->rng, digits, HEX_DIGITS);
    if (id.n > 0)
        (void)span_copy(id, a->_id, sizeof(a->_id));
    else
        (void)snprintf(a->_id, sizeof(a->_id), "sim-%.*s", HEX_DIGITS, digits);
    head = (struct speech_head){
        .id = span_of(digits, HEX_DIGITS),
        .model = span_cstr(a->ask.model),
        .created_s = clock_wall().us / 1000000,
        .is_crlf = s->is_crlf,
        .may_tell_usage = s->usage != SWITCH_USAGE_NEVER && a->ask.has_include_usage,
    };
    r = speech_init(&a->_speech, &e->voices->of[a->voice], is_runaway ? &e->repeated : &e->words,
                    &e->scratch, &head);
    if (s->engine_times == SWITCH_TIMES_VLLM)
        a->_speech.times = STAGE_TIMES_VLLM;
    else if (s->engine_times == SWITCH_TIMES_LLAMACPP)
        a->_speech.times = STAGE_TIMES_LLAMACPP;
    if (s->is_tool_call)
        a->_speech.block = BLOCK_CALL;
    else if (s->is_refusal)
        a->_speech.block = BLOCK_REFUSAL;
    return r;
}

static int answer_interim(struct sim_answer *a)
{
    char text[80];
    int n;

    if (a->switches.interim < 100)
        return 0;
    n = snprintf(text, sizeof(text), "HTTP/1.1 %d %s\r\nX-Sim: interim\r\n\r\n",
                 (int)a->switches.interim, http1_reason((int)a->switches.interim));
    return fault_raw(a->_conn, span_of(text, (size_t)n));
}

static size_t expected_events(const struct sim_answer *a)
{
    const struct model_request *r = &a->_request;
    enum { OTHERS = 16 };

    if (a->play)
        return play_n_writes(a->play, a->switches.play_bytes);
    if (!a->ask.is_stream)
        return 1;
    return (size_t)((r->n_tokens / a->switches.tokens_per_event + OTHERS) * a->_n_choices);
}

static int64_t count_choices(const struct sim_answer *a)
{
    int64_t n = a->switches.n_choices > 0 ? a->switches.n_choices : a->ask.n_choices;
    int64_t most = a->_speech.voice->max_choices;

    return n < most ? n : most;
}

/* An error instead of an answer, with its text; 0: none. */
static int answer_refusal(struct sim_answer *a, mono_t now, const char **ret_message)
{
    struct sim_live *live = a->_engine->live;
    int64_t retry_after_s = -1;
    int status = live ? sim_live_door(live, now, ret_message, &retry_after_s) : 0;

    if (retry_after_s >= 0)
        a->switches.retry_after_s = retry_after_s;
    if (status != 0)
        return status;
    *ret_message = "simulated error answer";
    if (a->switches.must_refuse_options && a->ask.has_stream_options) {
        *ret_message = "unrecognized request argument supplied: stream_options";
        return 400;
    }
    return a->switches.status != 200 ? (int)a->switches.status : 0;
}

/* The time has come for a file, or the model is asked. 0, or the status of a refusal. */
static int answer_enter(struct sim_answer *a, mono_t now, const char **ret_message)
{
    const struct switches *s = &a->switches;

    a->_phase = a->play || a->ask.is_stream ? PHASE_HEAD : PHASE_WAIT;
    if (a->play) {
        a->_request.t_started = now;
        a->_t_ready = mono_add(now, s->ttft_ns > 0 ? s->ttft_ns : 0);
        return 0;
    }
    return sim_pace_arrive(a, now, ret_message);
}

/* The request is here. */
static bool answer_start(struct sim_answer *a, mono_t now)
{
    const char *message;
    int status;

    a->_request = (struct model_request){.t_arrived = now};
    status = answer_refusal(a, now, &message);
    if (status == 0)
        status = answer_enter(a, now, &message);
    if (a->_engine->truth)
        a->_truth = truth_entry_new(expected_events(a));
    outlet_init(&a->_out, a->_conn, &a->switches, a->_truth);
    if (!answer_goes_on(a, answer_interim(a)))
        return false;
    return status == 0 || answer_send_error(a, status, message);
}

void sim_answer_begin(struct sim_answer *a, struct sim_engine *e, struct http_server_conn *c,
                      struct span id, mono_t t_request)
{
    const struct switches *s = &a->switches;
    int64_t lag_ns = e->live ? sim_live_lag_ns(e->live) : 0;

    a->_engine = e;
    a->_conn = c;
    a->_status = 200;
    a->_block = -1;
    a->_prompt_tokens = s->prompt_tokens >= 0 ? s->prompt_tokens : (a->ask.prompt_bytes + 3) / 4;
    a->_t_request = t_request;
    timer_init(&a->_timer, answer_on_timer);
    task_init(&a->_go, answer_on_go);
    buf_init(&a->_body, BODY_MAX);
    if (!answer_goes_on(a, answer_init_speech(a, id)))
        return;
    a->_n_choices = count_choices(a);
    a->ask.is_stream = a->ask.is_stream && a->_speech.voice->has_output;
    a->_phase = PHASE_READ;
    a->_t_ready = mono_add(t_request, lag_ns);
    if (lag_ns > 0 || answer_start(a, t_request))
        answer_pump(a);
}
