/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/stream_steps.c - streams: is it one, what is in it, does it tell usage.
 */
#include <errno.h>

#include "doctor/doctor_private.h"

static const struct dialect *dialect_of(const struct doctor *d)
{
    return dialect_by_name(span_cstr(d->api->dialect));
}

static bool body_has(const struct doctor_answer *a, struct span text)
{
    return span_find(a->body, text) < a->body.n;
}

static bool is_refused(const struct doctor_answer *a)
{
    return a->has_head && (a->status == 400 || a->status == 422);
}

/* --- asking --- */

/* Some servers refuse members that others need. */
static void ask_stream(struct doctor *d, struct doctor_answer *a)
{
    doctor_chat(d, 1, false, a);
    if (is_refused(a) && !d->wants_completion_tokens &&
        body_has(a, SPAN("max_completion_tokens"))) {
        d->wants_completion_tokens = true;
        doctor_chat(d, 1, false, a);
    }
    if (is_refused(a) && !d->api->key_field) {
        struct doctor_answer again;

        d->drops_usage = true;
        doctor_chat(d, 1, false, &again);
        d->drops_usage = again.has_head && again.status >= 200 && again.status < 300;
        if (d->drops_usage)
            *a = again;
    }
}

/* --- what is no stream --- */

static bool begins_like_events(struct span body)
{
    return span_starts_with(body, SPAN("data:")) || span_starts_with(body, SPAN("event:")) ||
           span_starts_with(body, SPAN(":"));
}

/* True: what came can be read as one. */
static bool check_answer(struct doctor *d, const struct doctor_answer *a)
{
    struct span path = doctor_path(d, d->api->chat);
    struct span type = doctor_answer_type(a),
                coding = doctor_answer_field(a, SPAN("Content-Encoding"));

    if (!a->has_head) {
        doctor_tell_failure(d, a);
        return false;
    }
    if (doctor_is_model_unknown(a)) {
        doctor_add(d, CAUSE_MODEL_UNKNOWN, true, "%.*s: the server does not know \"%.*s\"",
                   SPAN_ARG(path), SPAN_ARG(d->model));
        return false;
    }
    if (doctor_status_cause(a) != CAUSE_NO_CAUSE) {
        doctor_tell_status(d, a, path);
        return false;
    }
    if (a->error == -ETIMEDOUT) {
        doctor_add(d, CAUSE_HTTP_SILENT, true,
                   "the answer began, and its end did not come in %lld s (%zu bytes did)",
                   (long long)(doctor_timeout_ns(d) / NS_PER_S), a->body.n);
        return false;
    }
    if (coding.n > 0 && !span_eq_nocase(coding, SPAN("identity"))) {
        d->is_coded = true;
        doctor_add(d, CAUSE_GZIP_UNASKED, true, "the stream is compressed (%.*s)",
                   SPAN_ARG(coding));
        return false;
    }
    if (span_eq_nocase(type, SPAN("text/event-stream")))
        return true;
    if (begins_like_events(a->body)) {
        doctor_add(d, CAUSE_STREAM_TYPE, true, "Content-Type is \"%.*s\"", SPAN_ARG(type));
        return true;
    }
    doctor_add(d, CAUSE_STREAM_NOT, true, "a whole answer came, of type \"%.*s\"", SPAN_ARG(type));
    return false;
}

/* --- what is in it --- */

/* What makes it unusable; true: something does. */
static bool check_broken(struct doctor *d, const struct doctor_answer *a)
{
    const struct doctor_stream *s = &d->shape;

    if (s->answer.has_error)
        doctor_add(d, CAUSE_STREAM_ERROR, true, "an error event came with status %d: %s", a->status,
                   s->answer.error[0] ? s->answer.error : "without a type");
    else if (s->answer.n_bad_json > 0)
        doctor_add(d, CAUSE_STREAM_BAD_JSON, true, "%u of %u events are no JSON",
                   s->answer.n_bad_json, s->n_events);
    else if (s->n_with_choices == 0 && s->n_without_choices > 0 && !s->is_anthropic)
        doctor_add(d, CAUSE_STREAM_NO_CHOICES, true, "none of %u events has \"choices\"",
                   s->n_events);
    else if (a->error < 0 || !dialect_of(d)->is_ended(&s->answer))
        doctor_add(d, CAUSE_STREAM_CUT, true, "it ends after %u events without its end",
                   s->n_events);
    else
        return false;
    return true;
}

static bool check_odd(struct doctor *d)
{
    const struct doctor_stream *s = &d->shape;
    bool is_odd = false;

    /* Thinking that is not shown uses a small budget up: no fault. */
    if (s->n_output == 0 &&
        !(usage_is_count(s->answer.usage.completion) && s->answer.usage.completion > 0)) {
        doctor_add(d, CAUSE_STREAM_NO_OUTPUT, true, "no event carries output");
        is_odd = true;
    }
    if (!d->api->key_field && !s->answer.has_done_marker) {
        doctor_add(d, CAUSE_STREAM_NO_DONE, true, "it ends without [DONE]");
        is_odd = true;
    }
    if (s->has_empty_choices) {
        doctor_add(d, CAUSE_STREAM_FILTER, true, "its first event has empty \"choices\"%s",
                   s->has_filter ? " (the verdict of a content filter)" : "");
        is_odd = true;
    }
    return is_odd;
}

void doctor_step_stream(struct doctor *d)
{
    struct doctor_answer a;
    const struct doctor_stream *s = &d->shape;

    ask_stream(d, &a);
    if (d->is_out_of_memory || !check_answer(d, &a))
        return;
    doctor_stream_read(&a, dialect_of(d), &d->shape);
    d->ttft_1_ns = s->first_ns;
    if (check_broken(d, &a) || check_odd(d))
        return;
    doctor_ok(d, "first output after %.1f ms; %u events%s", (double)s->first_ns / 1e6, s->n_events,
              s->has_role_only_first ? ", the first without output" : "");
}

void doctor_step_usage(struct doctor *d)
{
    const struct usage *u = &d->shape.answer.usage;
    bool is_anomalous;
    struct dialect_tokens t;

    if (d->is_coded) {
        doctor_skip(d, "the stream is compressed");
        return;
    }
    if (d->drops_usage) {
        doctor_add(d, CAUSE_USAGE_REFUSED, true, "requests with stream_options are refused");
        return;
    }
    if (!usage_is_set(u)) {
        doctor_add(d, CAUSE_USAGE_MISSING, true,
                   "the stream tells no usage, though it was asked to");
        return;
    }
    t = dialect_normalise(dialect_of(d), u, &is_anomalous);
    if (is_anomalous || (t.completion == 0 && d->shape.n_output > 0))
        doctor_add(d, CAUSE_USAGE_WRONG, true, "usage contradicts itself or what came");
    else
        doctor_ok(d, "%lld prompt and %lld completion tokens", (long long)t.prompt,
                  (long long)t.completion);
}
