/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/sim_answer.c - the phases of an answer. Each has a time when it is due and a step that sends
 * something; answer_pump runs steps until one lies in the future, needs the model, or ends it all.
 *
 *   stream:  HEAD  WAIT (engine queue)  COMMENTS  ROLE  TOKENS  FINISH  USAGE  DONE
 *   other:   WAIT  RENDER (all tokens ready)  BODY
 *   error:   BODY
 *
 * A step that ends the answer returns false; the memory may be gone then.
 */
#include "sim/sim_answer.h"

#include <errno.h>
#include <stdio.h>

#include "base/limits.h"
#include "sim/completion.h"
#include "sim/fault.h"

enum phase {
    PHASE_HEAD,
    PHASE_WAIT,
    PHASE_COMMENTS,
    PHASE_ROLE,
    PHASE_TOKENS,
    PHASE_FINISH,
    PHASE_USAGE,
    PHASE_DONE,
    PHASE_RENDER,
    PHASE_BODY,
    PHASE_LAST_PIECES, /* only pieces are left */
    PHASE_SILENT,      /* hung or held: nothing more until the client goes */
};

enum { BODY_MAX = 64 * MIB };

/* --- end --- */

static void answer_publish(struct sim_answer *a)
{
    struct truth_head *h = truth_entry_head(a->_truth);

    if (!h)
        return;
    (void)span_copy(span_cstr(a->_id), h->id, sizeof(h->id));
    h->status = mono_is_set(a->_out.t_headers) ? a->_status : 0;
    h->is_stream = a->ask.is_stream;
    h->t_request = a->_request.t_arrived;
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
    struct model_request *next =
        a->_is_in_model ? model_leave(&e->model, &a->_request, clock_mono()) : NULL;

    if (next) {
        struct sim_answer *n = CONTAINER_OF(next, struct sim_answer, _request);
        loop_defer(e->loop, &n->_go);
    }
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

/* --- tokens --- */

static struct chunk_usage answer_usage(const struct sim_answer *a)
{
    const struct switches *s = &a->switches;
    int64_t done = a->_request.n_done;
    int64_t reasoning = s->n_reasoning < done ? s->n_reasoning : done;

    return (struct chunk_usage){
        .prompt = a->_prompt_tokens,
        .cached = s->cached_tokens < a->_prompt_tokens ? s->cached_tokens : a->_prompt_tokens,
        .completion = done * a->_n_choices,
        .reasoning = reasoning * a->_n_choices,
    };
}

static const char *answer_finish_reason(const struct sim_answer *a)
{
    if (a->switches.is_tool_call)
        return "tool_calls";
    return a->_request.is_limited ? "length" : "stop";
}

/* first: tokens produced before this event. */
static void token_chunk(struct sim_answer *a, struct chunk *c, int64_t choice, int64_t first,
                        int64_t n, const struct chunk_usage *usage)
{
    struct span text = words_get(&a->_engine->words, first + choice, n);
    enum chunk_field field = CHUNK_CONTENT;

    if (a->switches.is_tool_call && a->_n_events == 0) {
        chunk_tool_name(c, &a->_style, choice, usage);
    } else if (a->switches.is_tool_call) {
        chunk_tool_args(c, &a->_style, choice, text, a->_n_events == 1,
                        model_is_finished(&a->_request), usage);
    } else {
        if (first < a->switches.n_reasoning)
            field = CHUNK_REASONING;
        else if (a->switches.is_refusal)
            field = CHUNK_REFUSAL;
        chunk_text(c, &a->_style, choice, field, text, usage);
    }
}

static bool step_tokens(struct sim_answer *a)
{
    int64_t first = a->_request.n_done;
    int64_t n = model_take(&a->_engine->model, &a->_request);
    struct chunk_usage usage;
    const struct chunk_usage *told = NULL;
    struct chunk chunk;
    int r = 0;

    if (a->switches.usage == SWITCH_USAGE_EVERY_CHUNK) {
        usage = answer_usage(a);
        told = &usage;
    }
    for (int64_t choice = 0; choice < a->_n_choices && r == 0; choice++) {
        token_chunk(a, &chunk, choice, first, n, told);
        r = outlet_event(&a->_out, TRUTH_TOKEN, n, &chunk, false);
    }
    a->_n_events++;
    if (model_is_finished(&a->_request))
        a->_phase = PHASE_FINISH;
    return answer_goes_on(a, r);
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
    struct chunk chunk;
    int r;

    chunk_error(&chunk, &a->_style);
    r = outlet_event(&a->_out, TRUTH_ERROR, 0, &chunk, true);
    a->_phase = PHASE_LAST_PIECES;
    return answer_goes_on(a, r);
}

static bool answer_cut(struct sim_answer *a)
{
    int64_t how = a->switches.cut;
    int r = outlet_flush(&a->_out);
    struct chunk chunk;

    truth_entry_add(a->_truth, TRUTH_CUT, 0, clock_mono());
    a->_phase = PHASE_LAST_PIECES;
    if (r == 0 && how == SWITCH_CUT_END)
        return answer_goes_on(a, outlet_end(&a->_out));
    if (r == 0 && how == SWITCH_CUT_MID)
        r = outlet_head_now(&a->_out);
    if (r == 0 && how == SWITCH_CUT_MID) {
        token_chunk(a, &chunk, 0, a->_request.n_done, 1, NULL);
        fault_half_chunk(a->_conn, chunk.parts[0]);
    }
    if (how == SWITCH_CUT_RESET)
        fault_reset(a->_conn);
    else
        http_server_end(a->_conn);
    answer_over(a);
    return false;
}

/*
 * Runs the fault that is due now, if there is one; *ret_goes_on as from a step. "After 0 events" is
 * before the role chunk too.
 */
static bool answer_fault(struct sim_answer *a, bool *ret_goes_on)
{
    const struct switches *s = &a->switches;

    if (a->_phase < PHASE_ROLE || a->_phase > PHASE_FINISH)
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

/* --- the other phases of a stream --- */

static bool step_head(struct sim_answer *a)
{
    char fields[384];

    (void)snprintf(fields, sizeof(fields),
                   "Content-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\n"
                   "X-Request-Id: %s\r\n",
                   a->_id);
    a->_phase = PHASE_WAIT;
    return answer_goes_on(a, outlet_head(&a->_out, 200, fields,
                                         (struct http_framing){HTTP1_BODY_CHUNKED, 0},
                                         a->switches.head == SWITCH_HEAD_FIRST));
}

static bool step_comments(struct sim_answer *a)
{
    struct chunk chunk;

    if (a->_n_comments >= a->switches.n_comments) {
        a->_phase = PHASE_ROLE;
        return true;
    }
    a->_n_comments++;
    chunk_comment(&chunk, &a->_style);
    return answer_goes_on(a, outlet_event(&a->_out, TRUTH_COMMENT, 0, &chunk, false));
}

static bool step_role(struct sim_answer *a)
{
    bool is_wanted = a->switches.has_role && a->is_chat;
    struct chunk chunk;
    int r = 0;

    for (int64_t choice = 0; is_wanted && choice < a->_n_choices && r == 0; choice++) {
        chunk_role(&chunk, &a->_style, choice);
        r = outlet_event(&a->_out, TRUTH_ROLE, 0, &chunk, false);
    }
    a->_phase = model_is_finished(&a->_request) ? PHASE_FINISH : PHASE_TOKENS;
    return answer_goes_on(a, r);
}

/* Nothing follows this phase's events. */
static bool is_last_phase(const struct sim_answer *a, int phase)
{
    const struct switches *s = &a->switches;
    bool has_usage = s->usage >= SWITCH_USAGE_ALWAYS ||
                     (s->usage == SWITCH_USAGE_ASKED && a->ask.has_include_usage);

    if (s->end == SWITCH_END_HOLD)
        return false;
    if (phase == PHASE_FINISH)
        return !has_usage && !s->has_done;
    return phase == PHASE_DONE || !s->has_done;
}

static bool step_finish(struct sim_answer *a)
{
    bool is_last = is_last_phase(a, PHASE_FINISH);
    struct chunk chunk;
    int r = 0;

    for (int64_t choice = 0; choice < a->_n_choices && r == 0; choice++) {
        chunk_finish(&chunk, &a->_style, choice, answer_finish_reason(a));
        r = outlet_event(&a->_out, TRUTH_FINISH, 0, &chunk, is_last && choice + 1 == a->_n_choices);
    }
    a->_phase = is_last ? PHASE_LAST_PIECES : PHASE_USAGE;
    return answer_goes_on(a, r);
}

static bool step_usage(struct sim_answer *a)
{
    const struct switches *s = &a->switches;
    struct chunk_usage usage = answer_usage(a);
    bool is_last = is_last_phase(a, PHASE_USAGE);
    struct chunk chunk;

    a->_phase = PHASE_DONE;
    if (s->usage == SWITCH_USAGE_NEVER ||
        (s->usage == SWITCH_USAGE_ASKED && !a->ask.has_include_usage))
        return true;
    if (is_last)
        a->_phase = PHASE_LAST_PIECES;
    chunk_bare_usage(&chunk, &a->_style, &usage);
    return answer_goes_on(a, outlet_event(&a->_out, TRUTH_USAGE, 0, &chunk, is_last));
}

static bool step_done(struct sim_answer *a)
{
    bool is_held = a->switches.end == SWITCH_END_HOLD;
    struct chunk chunk;
    int r = 0;

    a->_phase = is_held ? PHASE_SILENT : PHASE_LAST_PIECES;
    if (a->switches.has_done) {
        chunk_done(&chunk, &a->_style);
        r = outlet_event(&a->_out, TRUTH_DONE, 0, &chunk, !is_held);
    }
    if (r == 0 && is_held)
        r = outlet_flush(&a->_out);
    return answer_goes_on(a, r);
}

/* --- whole answers --- */

static int answer_render(struct sim_answer *a)
{
    struct chunk_usage usage = answer_usage(a);
    struct completion c = {
        .id = a->_id,
        .model = a->ask.model,
        .finish_reason = answer_finish_reason(a),
        .created_s = clock_wall().us / 1000000,
        .words = &a->_engine->words,
        .scratch = &a->_engine->scratch,
        .usage = a->switches.usage != SWITCH_USAGE_NEVER ? &usage : NULL,
        .n_tokens = a->_request.n_tokens,
        .n_reasoning = usage.reasoning / a->_n_choices,
        .n_choices = a->_n_choices,
        .is_chat = a->is_chat,
        .is_tool_call = a->switches.is_tool_call,
        .is_refusal = a->switches.is_refusal,
    };

    return completion_render(&c, &a->_body);
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
    if (completion_render_error(&a->_body, status, message, "") < 0)
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
    while (!model_is_finished(&a->_request)) {
        a->_t_ready = a->_request.t_next;
        (void)model_take(&a->_engine->model, &a->_request); /* all events are in one body */
    }
    a->_phase = PHASE_RENDER;
    return true;
}

/* When the phase's step is due; MONO_NONE: something else has to happen first. */
static mono_t answer_due(const struct sim_answer *a)
{
    static const mono_t at_once = {1};
    const struct model_request *r = &a->_request;
    int64_t n = a->switches.n_comments;

    if (outlet_is_busy(&a->_out))
        return a->_out.t_piece;
    switch ((enum phase)a->_phase) {
    case PHASE_WAIT:
        return mono_is_set(r->t_started) ? at_once : MONO_NONE;
    case PHASE_COMMENTS:
        if (a->_n_comments >= n)
            return at_once;
        return mono_add(r->t_started,
                        mono_diff(r->t_first, r->t_started) / (n + 1) * (a->_n_comments + 1));
    case PHASE_ROLE:
        return mono_add(r->t_first, -a->switches.role_delay_ns);
    case PHASE_TOKENS:
        return r->t_next;
    case PHASE_RENDER:
        return a->_t_ready;
    case PHASE_SILENT:
        return MONO_NONE;
    default:
        return at_once;
    }
}

/* false: the answer is over. */
static bool answer_step(struct sim_answer *a)
{
    bool goes_on;

    if (outlet_is_busy(&a->_out))
        return answer_goes_on(a, outlet_piece(&a->_out));
    if (answer_fault(a, &goes_on))
        return goes_on;
    switch ((enum phase)a->_phase) {
    case PHASE_HEAD:
        return step_head(a);
    case PHASE_WAIT:
        return step_wait(a);
    case PHASE_COMMENTS:
        return step_comments(a);
    case PHASE_ROLE:
        return step_role(a);
    case PHASE_TOKENS:
        return step_tokens(a);
    case PHASE_FINISH:
        return step_finish(a);
    case PHASE_USAGE:
        return step_usage(a);
    case PHASE_DONE:
        return step_done(a);
    case PHASE_RENDER:
        return step_render(a);
    case PHASE_BODY:
        return step_body(a);
    case PHASE_LAST_PIECES:
        return answer_end(a);
    case PHASE_SILENT:
        break;
    }
    return true;
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

static void answer_on_go(struct task *t)
{
    answer_pump(CONTAINER_OF(t, struct sim_answer, _go));
}

void sim_answer_drained(struct sim_answer *a)
{
    answer_pump(a);
}

/* --- begin --- */

static void answer_init_id(struct sim_answer *a, struct span id)
{
    enum { HEX_DIGITS = 24 };
    char digits[HEX_DIGITS];

    if (a->ask.model[0] == '\0')
        (void)span_copy(SPAN("simulated"), a->ask.model, sizeof(a->ask.model));
    rng_hex(&a->_engine->rng, digits, HEX_DIGITS);
    if (id.n > 0)
        (void)span_copy(id, a->_id, sizeof(a->_id));
    else
        (void)snprintf(a->_id, sizeof(a->_id), "sim-%.*s", HEX_DIGITS, digits);
    chunk_style_init(&a->_style, a->is_chat, span_of(digits, HEX_DIGITS), clock_wall().us / 1000000,
                     span_cstr(a->ask.model));
    a->_style.is_crlf = a->switches.is_crlf;
    a->_style.has_null_usage = a->switches.usage != SWITCH_USAGE_NEVER && a->ask.has_include_usage;
}

static void answer_arrive(struct sim_answer *a, mono_t t_request)
{
    const struct switches *s = &a->switches;
    struct model_ask ask = {
        .prompt_tokens = a->_prompt_tokens,
        .max_tokens = a->ask.max_tokens,
        .n_tokens = s->n_tokens,
        .ttft_ns = s->ttft_ns,
        .itl_ns = s->itl_ns,
        .tokens_per_event = s->tokens_per_event,
        .min_ttft_ns = s->role_delay_ns,
    };

    model_arrive(&a->_engine->model, &a->_request, &ask, t_request);
    a->_is_in_model = true;
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
    enum { OTHERS = 8 };

    if (!a->ask.is_stream)
        return 1;
    return (size_t)((r->n_tokens / a->switches.tokens_per_event + OTHERS) * a->_n_choices);
}

void sim_answer_begin(struct sim_answer *a, struct sim_engine *e, struct http_server_conn *c,
                      struct span id, mono_t t_request)
{
    const struct switches *s = &a->switches;
    bool is_refused = s->must_refuse_options && a->ask.has_stream_options;

    a->_engine = e;
    a->_conn = c;
    a->_status = 200;
    a->_phase = a->ask.is_stream ? PHASE_HEAD : PHASE_WAIT;
    a->_n_choices = s->n_choices > 0 ? s->n_choices : a->ask.n_choices;
    a->_prompt_tokens = s->prompt_tokens >= 0 ? s->prompt_tokens : (a->ask.prompt_bytes + 3) / 4;
    a->_request = (struct model_request){.t_arrived = t_request};
    timer_init(&a->_timer, answer_on_timer);
    task_init(&a->_go, answer_on_go);
    buf_init(&a->_body, BODY_MAX);
    answer_init_id(a, id);
    if (s->status == 200 && !is_refused)
        answer_arrive(a, t_request);
    if (e->truth)
        a->_truth = truth_entry_new(expected_events(a));
    outlet_init(&a->_out, c, s, a->_truth);
    if (!answer_goes_on(a, answer_interim(a)))
        return;
    if (is_refused) {
        if (!answer_send_error(a, 400, "unrecognized request argument supplied: stream_options"))
            return;
    } else if (s->status != 200) {
        if (!answer_send_error(a, (int)s->status, "simulated error answer"))
            return;
    }
    answer_pump(a);
}
