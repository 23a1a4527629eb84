/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe/verdict.c - how an exchange ended: what the path saw, read together with what the
 * answer said.
 *
 * Order of evidence: what the gateway refused; an answer whose end mark came (nothing later can
 * spoil it: clients hang up on [DONE], some servers keep the connection open); an error that the
 * answer reported; then how the connection ended.
 */
#include "observe/exchange.h"

struct verdict {
    enum outcome outcome;
    const char *reason;
};

static const struct verdict by_reason[TAP_REASON_COUNT_] = {
    [TAP_REASON_NONE] = {OUTCOME_INTERNAL, ""},
    [TAP_REASON_BAD_REQUEST] = {OUTCOME_BAD_REQUEST, ""},
    [TAP_REASON_BODY_TOO_LARGE] = {OUTCOME_BAD_REQUEST, "body_too_large"},
    [TAP_REASON_UNAUTHORIZED] = {OUTCOME_UNAUTHORIZED, ""},
    [TAP_REASON_FORBIDDEN] = {OUTCOME_FORBIDDEN, ""},
    [TAP_REASON_NO_ROUTE] = {OUTCOME_BAD_REQUEST, "no_route"},
    [TAP_REASON_REJECTED] = {OUTCOME_REJECTED, "queue_full"},
    [TAP_REASON_REJECTED_TIMEOUT] = {OUTCOME_REJECTED, "queue_timeout"},
    [TAP_REASON_CONNECT_DNS] = {OUTCOME_CONNECT_FAILED, "dns"},
    [TAP_REASON_CONNECT_REFUSED] = {OUTCOME_CONNECT_FAILED, "refused"},
    [TAP_REASON_CONNECT_PROXY] = {OUTCOME_CONNECT_FAILED, "proxy"},
    [TAP_REASON_CONNECT_TLS] = {OUTCOME_CONNECT_FAILED, "tls"},
    [TAP_REASON_CONNECT_OTHER] = {OUTCOME_CONNECT_FAILED, "other"},
    [TAP_REASON_BAD_RESPONSE] = {OUTCOME_BAD_RESPONSE, ""},
    [TAP_REASON_UPSTREAM_CUT] = {OUTCOME_UPSTREAM_CUT, ""},
    [TAP_REASON_STALLED] = {OUTCOME_STALLED, ""},
    [TAP_REASON_RUNAWAY] = {OUTCOME_CUT_BY_GATEWAY, "runaway"},
    [TAP_REASON_TIMEOUT_CONNECT] = {OUTCOME_TIMEOUT, "connect"},
    [TAP_REASON_TIMEOUT_FIRST_BYTE] = {OUTCOME_TIMEOUT, "first_byte"},
    [TAP_REASON_TIMEOUT_IDLE] = {OUTCOME_TIMEOUT, "idle"},
    [TAP_REASON_TIMEOUT_TOTAL] = {OUTCOME_TIMEOUT, "total"},
    [TAP_REASON_TIMEOUT_REQUEST] = {OUTCOME_TIMEOUT, "request"},
    [TAP_REASON_DRAIN] = {OUTCOME_CUT_BY_GATEWAY, "drain"},
    [TAP_REASON_INTERNAL] = {OUTCOME_INTERNAL, ""},
};

static struct verdict of_reason(enum tap_reason reason)
{
    return (unsigned)reason < TAP_REASON_COUNT_ ? by_reason[reason]
                                                : by_reason[TAP_REASON_INTERNAL];
}

/* The answer came whole, as far as the connection goes. */
static struct verdict of_complete(const struct tap *t)
{
    const struct dialect_answer *a = &t->answer;
    if (t->rec.upstream_status >= 400)
        return (struct verdict){OUTCOME_HTTP_ERROR, a->error};
    if (a->has_error)
        return (struct verdict){OUTCOME_STREAM_ERROR, a->error};
    bool is_stream_read = t->is_followed && t->rec.is_stream && t->dialect != NULL;
    if (is_stream_read && t->rec.upstream_status < 300 && !t->dialect->is_ended(a))
        return (struct verdict){OUTCOME_TRUNCATED, ""};
    return (struct verdict){OUTCOME_OK, ""};
}

static struct verdict of_client_gone(const struct tap *t)
{
    bool has_first = record_is_generating_stream(&t->rec) ? mono_is_set(t->timing.t_first_token)
                                                          : mono_is_set(t->rec.t_first_byte);
    return (struct verdict){
        has_first ? OUTCOME_CLIENT_GONE_AFTER_FIRST : OUTCOME_CLIENT_GONE_BEFORE_FIRST, ""};
}

static struct verdict verdict_of(const struct tap *t, const struct tap_finish *f)
{
    if (f->end == TAP_END_REFUSED)
        return of_reason(f->reason);
    if (f->end == TAP_END_COMPLETE || t->answer.has_end_mark)
        return of_complete(t);
    if (t->answer.has_error && t->rec.upstream_status < 400)
        return (struct verdict){OUTCOME_STREAM_ERROR, t->answer.error};
    switch (f->end) {
    case TAP_END_CLIENT_GONE:
        return of_client_gone(t);
    case TAP_END_UPSTREAM_CUT:
        return (struct verdict){OUTCOME_UPSTREAM_CUT, ""};
    case TAP_END_BAD_RESPONSE:
        return (struct verdict){OUTCOME_BAD_RESPONSE, ""};
    case TAP_END_TIMEOUT:
        return f->reason == TAP_REASON_NONE ? (struct verdict){OUTCOME_TIMEOUT, ""}
                                            : of_reason(f->reason);
    case TAP_END_DRAIN:
        return (struct verdict){OUTCOME_CUT_BY_GATEWAY, "drain"};
    case TAP_END_COMPLETE:
    case TAP_END_REFUSED:
    case TAP_END_INTERNAL:
        break;
    }
    return (struct verdict){OUTCOME_INTERNAL, ""};
}

void verdict_decide(struct tap *t, const struct tap_finish *f)
{
    struct verdict v = verdict_of(t, f);
    t->rec.outcome = v.outcome;
    (void)span_copy(span_cstr(v.reason), t->rec.outcome_reason, sizeof(t->rec.outcome_reason));
}
