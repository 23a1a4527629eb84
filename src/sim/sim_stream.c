/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/sim_stream.c - most phases send the events of one stage of the voice, one per step: a table
 * says which. Tokens are different: they come when the model says so, and open and close blocks.
 */
#include "sim/sim_stream.h"

#include "sim/sim_pace.h"

static const mono_t at_once = {1};

/* --- what is told --- */

void sim_stream_tell_usage(struct sim_answer *a)
{
    const struct switches *s = &a->switches;
    const struct model_request *r = &a->_request;
    int64_t done = r->n_done;
    int64_t reasoning = s->n_reasoning < done ? s->n_reasoning : done;
    int64_t cached = s->cached_tokens > 0 ? s->cached_tokens : a->_live.n_cached;

    speech_set_usage(&a->_speech,
                     (struct speech_usage){
                         .prompt = a->_prompt_tokens,
                         .cached = cached < a->_prompt_tokens ? cached : a->_prompt_tokens,
                         .completion = done * a->_n_choices,
                         .reasoning = reasoning * a->_n_choices,
                     });
    speech_set_times(&a->_speech, (struct speech_times){
                                      .total_ns = mono_diff(clock_mono(), r->t_arrived),
                                      .queue_ns = mono_diff(r->t_started, r->t_arrived),
                                      .prefill_ns = mono_diff(r->t_first, r->t_started),
                                      .decode_ns = done > 0 ? mono_diff(a->_t_last, r->t_first) : 0,
                                      .n_tokens = done,
                                  });
}

enum voice_reason sim_stream_reason(const struct sim_answer *a)
{
    const char *const *reasons = a->_speech.voice->reasons;

    if (a->switches.is_tool_call && reasons[REASON_CALL])
        return REASON_CALL;
    if (a->switches.is_refusal && reasons[REASON_REFUSAL])
        return REASON_REFUSAL;
    return a->_request.is_limited ? REASON_LENGTH : REASON_STOP;
}

/* Usage at the end of the stream. */
static bool wants_usage(const struct sim_answer *a)
{
    int64_t usage = a->switches.usage;

    if (usage == SWITCH_USAGE_ASKED)
        return a->ask.has_include_usage || !a->_speech.voice->is_usage_asked;
    return usage != SWITCH_USAGE_NEVER;
}

/* --- phases that send the events of a stage --- */

static const struct phase_row {
    enum voice_stage stage;
    enum truth_kind kind;
    bool is_per_choice;
} phase_rows[] = {
    [PHASE_COMMENTS] = {STAGE_COMMENT, TRUTH_COMMENT, false},
    [PHASE_PRELUDE] = {STAGE_PRELUDE, TRUTH_ROLE, true},
    [PHASE_OPEN] = {STAGE_OPEN, TRUTH_BLOCK, false},
    [PHASE_CLOSE] = {STAGE_CLOSE, TRUTH_BLOCK, false},
    [PHASE_FINISH] = {STAGE_FINISH, TRUTH_FINISH, true},
    [PHASE_USAGE] = {STAGE_USAGE, TRUTH_USAGE, false},
    [PHASE_DONE] = {STAGE_DONE, TRUTH_DONE, false},
    [PHASE_ERROR] = {STAGE_ERROR, TRUTH_ERROR, false},
};

static bool is_wanted(const struct sim_answer *a, enum sim_phase phase)
{
    const struct switches *s = &a->switches;

    switch (phase) {
    case PHASE_PRELUDE:
        return s->has_role;
    case PHASE_OPEN:
    case PHASE_CLOSE:
        return a->_block >= 0;
    case PHASE_FINISH:
        return s->has_done || !a->_speech.voice->is_finish_end;
    case PHASE_USAGE:
        return wants_usage(a);
    case PHASE_DONE:
        return s->has_done;
    default:
        return true;
    }
}

/* The stage of a phase, in the present block. */
static int phase_stage(const struct sim_answer *a, enum sim_phase phase)
{
    bool is_of_block = phase == PHASE_OPEN || phase == PHASE_CLOSE;

    return (int)phase_rows[phase].stage + (is_of_block ? a->_block : 0);
}

static int64_t phase_n_events(const struct sim_answer *a, enum sim_phase phase)
{
    int64_t n;

    if (!is_wanted(a, phase))
        return 0;
    n = speech_n_events(&a->_speech, phase_stage(a, phase));
    if (phase == PHASE_COMMENTS)
        return n > 0 ? a->switches.n_comments : 0;
    return phase_rows[phase].is_per_choice ? n * a->_n_choices : n;
}

/* Nothing follows the event of this step. */
static bool is_last_event(const struct sim_answer *a, enum sim_phase phase)
{
    if (a->_step + 1 < phase_n_events(a, phase))
        return false;
    if (phase == PHASE_ERROR)
        return true;
    if (phase < PHASE_CLOSE || !model_is_finished(&a->_request) ||
        a->switches.end == SWITCH_END_HOLD)
        return false;
    for (int p = (int)phase + 1; p <= PHASE_DONE; p++)
        if (phase_n_events(a, (enum sim_phase)p) > 0)
            return false;
    return true;
}

/* --- blocks --- */

static enum voice_block block_at(const struct sim_answer *a, int64_t token)
{
    enum voice_block block = BLOCK_TEXT;

    if (token < a->switches.n_reasoning)
        block = BLOCK_REASONING;
    else if (a->switches.is_tool_call)
        block = BLOCK_CALL;
    else if (a->switches.is_refusal)
        block = BLOCK_REFUSAL;
    return speech_block(&a->_speech, block);
}

static void block_begin(struct sim_answer *a)
{
    struct speech *s = &a->_speech;
    int64_t first = a->_request.n_done;
    struct speech_range none = {first, first};

    a->_block = (int)block_at(a, first);
    a->_n_block_events = 0;
    speech_begin_block(s);
    if (a->_block == BLOCK_REASONING)
        s->reasoning = none;
    else
        s->answer = s->args = none;
}

/* Tokens up to `end` belong to the present block. */
static void block_extend(struct sim_answer *a, int64_t end)
{
    struct speech *s = &a->_speech;

    if (a->_block == BLOCK_REASONING) {
        s->reasoning.end = end;
        return;
    }
    s->answer.end = end;
    s->args.end = end;
    if (a->_n_block_events == 0) /* the name of a call; a whole call has both in one */
        s->args.first = s->voice->is_call_whole ? a->_first_taken + 1 : end;
}

/* --- tokens --- */

/* Renders the token event of one choice. */
static int token_render(struct sim_answer *a, int64_t first, int64_t n, struct chunk *ret)
{
    struct speech *s = &a->_speech;

    if (a->_block == BLOCK_CALL && a->_n_block_events == 0)
        return speech_event(s, STAGE_CALL_NAME, 0, ret);
    if (a->_block == BLOCK_CALL)
        speech_set_args(s, first, n, a->_n_block_events == 1, model_is_finished(&a->_request));
    else
        speech_set_text(s, first, n);
    return speech_event(s, STAGE_TOKEN + a->_block, 0, ret);
}

/* The present block is one event. */
static bool is_call_whole(const struct sim_answer *a)
{
    return a->_block == BLOCK_CALL && a->_speech.voice->is_call_whole;
}

/* Takes the tokens of the next event; of a call that comes whole, all that are left. */
static void tokens_take(struct sim_answer *a)
{
    struct model_request *r = &a->_request;

    a->_first_taken = r->n_done;
    sim_pace_take(a, is_call_whole(a));
    a->_n_taken = r->n_done - a->_first_taken;
    block_extend(a, r->n_done);
    if (a->switches.usage == SWITCH_USAGE_EVERY_CHUNK)
        sim_stream_tell_usage(a);
}

static int step_tokens(struct sim_answer *a)
{
    struct chunk chunk UNINITIALIZED;
    int r;

    if (a->_n_taken == 0) {
        if ((int)block_at(a, a->_request.n_done) != a->_block) {
            a->_phase = PHASE_CLOSE;
            return 0;
        }
        tokens_take(a);
        if (is_call_whole(a))
            return 0; /* due when the last of them is ready */
    }
    a->_speech.choice = a->_step;
    a->_speech.has_usage = a->switches.usage == SWITCH_USAGE_EVERY_CHUNK;
    r = token_render(a, a->_first_taken, a->_n_taken, &chunk);
    if (r == 0)
        r = outlet_event(&a->_out, TRUTH_TOKEN, a->_n_taken, &chunk, false);
    if (++a->_step < a->_n_choices)
        return r;
    a->_step = 0;
    a->_n_taken = 0;
    a->_n_events++;
    a->_n_block_events++;
    if (model_is_finished(&a->_request))
        a->_phase = PHASE_CLOSE;
    return r;
}

int sim_stream_peek(struct sim_answer *a, struct chunk *ret)
{
    if (a->_block < 0)
        a->_block = (int)block_at(a, a->_request.n_done);
    a->_speech.choice = 0;
    return token_render(a, a->_request.n_done, 1, ret);
}

/* --- a file --- */

static int step_play(struct sim_answer *a)
{
    const struct switches *s = &a->switches;
    struct span bytes = play_take(a->play, &a->_place, s->play_bytes);
    bool may_follow =
        s->end == SWITCH_END_HOLD || s->error_after >= 0 || s->cut_after >= 0 || s->hang_after >= 0;
    bool is_last = a->_place.offset == play_len(a->play) && !may_follow;
    struct chunk chunk;

    if (bytes.n == 0) {
        a->_phase = PHASE_END;
        return 0;
    }
    a->_n_events++;
    a->_t_ready = mono_add(a->_t_ready, s->play_gap_ns);
    if (is_last)
        a->_phase = PHASE_LAST_PIECES;
    chunk_begin(&chunk);
    chunk_add(&chunk, bytes);
    return outlet_event(&a->_out, TRUTH_READ, 0, &chunk, is_last);
}

/* --- steps --- */

static enum sim_phase phase_next(struct sim_answer *a, enum sim_phase phase)
{
    bool is_finished = model_is_finished(&a->_request);

    if (phase == PHASE_PRELUDE || phase == PHASE_CLOSE) {
        if (is_finished)
            return PHASE_FINISH;
        block_begin(a);
        return PHASE_OPEN;
    }
    if (phase == PHASE_COMMENTS)
        return PHASE_PRELUDE;
    return (enum sim_phase)((int)phase + 1);
}

/* What the voice may say in that phase. */
static void phase_tell(struct sim_answer *a, enum sim_phase phase)
{
    struct speech *s = &a->_speech;

    s->has_usage = phase == PHASE_PRELUDE ? a->switches.usage != SWITCH_USAGE_NEVER
                                          : phase != PHASE_ERROR && wants_usage(a);
    sim_stream_tell_usage(a);
    speech_set_reason(s, sim_stream_reason(a));
}

static int step_stage(struct sim_answer *a, enum sim_phase phase)
{
    const struct phase_row *row = &phase_rows[phase];
    int64_t n_choices = row->is_per_choice ? a->_n_choices : 1;
    bool is_last;
    struct chunk chunk;
    int r;

    if (a->_step >= phase_n_events(a, phase)) {
        a->_step = 0;
        a->_phase = phase_next(a, phase);
        return 0;
    }
    is_last = is_last_event(a, phase);
    phase_tell(a, phase);
    a->_speech.choice = a->_step % n_choices;
    r = speech_event(&a->_speech, phase_stage(a, phase),
                     phase == PHASE_COMMENTS ? 0 : (int)(a->_step / n_choices), &chunk);
    a->_step++;
    if (is_last)
        a->_phase = PHASE_LAST_PIECES;
    return r < 0 ? r : outlet_event(&a->_out, row->kind, 0, &chunk, is_last);
}

static int step_end(struct sim_answer *a)
{
    bool is_held = a->switches.end == SWITCH_END_HOLD;

    a->_phase = is_held ? PHASE_SILENT : PHASE_LAST_PIECES;
    return is_held ? outlet_flush(&a->_out) : outlet_end(&a->_out);
}

mono_t sim_stream_due(const struct sim_answer *a)
{
    const struct model_request *r = &a->_request;
    int64_t n = a->switches.n_comments;

    switch ((enum sim_phase)a->_phase) {
    case PHASE_COMMENTS:
        if (a->_step >= phase_n_events(a, PHASE_COMMENTS))
            return at_once;
        if (a->_is_in_live) /* nobody knew before when the first token would come */
            return r->t_first;
        return mono_add(r->t_started,
                        mono_diff(r->t_first, r->t_started) / (n + 1) * (a->_step + 1));
    case PHASE_PLAY:
        return a->_t_ready;
    case PHASE_PRELUDE:
        return mono_add(r->t_first, a->_is_in_live ? 0 : -a->switches.role_delay_ns);
    case PHASE_TOKENS:
        return a->_n_taken > 0 ? a->_t_last : sim_pace_next(a, is_call_whole(a));
    default:
        return at_once;
    }
}

int sim_stream_step(struct sim_answer *a)
{
    switch ((enum sim_phase)a->_phase) {
    case PHASE_TOKENS:
        return step_tokens(a);
    case PHASE_PLAY:
        return step_play(a);
    case PHASE_END:
        return step_end(a);
    default:
        return step_stage(a, (enum sim_phase)a->_phase);
    }
}
