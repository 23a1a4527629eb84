/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slo/slo.c - matching and judging one finished request.
 *
 * Why so much is not eligible: an objective's ratio is only worth waking somebody for when both its
 * counts come from the same requests. What is unknown for some (the engine's queue) or the client's
 * own doing (its mistakes, its leaving) would only ever add to one side.
 */
#include "slo/slo.h"

#include <string.h>

const char *slo_objective_name(enum slo_objective o)
{
    static const char *const names[SLO_OBJECTIVE_COUNT_] = {
        [SLO_TTFT] = "ttft", [SLO_TPOT] = "tpot",     [SLO_QUEUE] = "queue",
        [SLO_E2E] = "e2e",   [SLO_ERRORS] = "errors", [SLO_GOODPUT] = "goodput",
    };
    return (unsigned)o < SLO_OBJECTIVE_COUNT_ ? names[o] : "unknown";
}

/* --- which requests --- */

const char *slo_label_name(enum slo_label l)
{
    static const char *const names[SLO_LABEL_COUNT_] = {
        [SLO_LABEL_MODEL] = "model",       [SLO_LABEL_ENDPOINT] = "endpoint",
        [SLO_LABEL_UPSTREAM] = "upstream", [SLO_LABEL_VERSION] = "version",
        [SLO_LABEL_STREAM] = "stream",     [SLO_LABEL_TENANT] = "tenant",
    };
    return (unsigned)l < SLO_LABEL_COUNT_ ? names[l] : "";
}

enum slo_label slo_label_find(const char *name)
{
    int l = 0;

    while (l < SLO_LABEL_COUNT_ && strcmp(slo_label_name((enum slo_label)l), name) != 0)
        l++;
    return (enum slo_label)l;
}

/* labels: "name\0value\0" each. */
static const char *business_value(const struct record *r, const char *name)
{
    const char *p = r->labels.p, *end = p + r->labels.n;

    while (p && p < end) {
        const char *value = p + strlen(p) + 1;

        if (strcmp(p, name) == 0)
            return value;
        p = value + strlen(value) + 1;
    }
    return "";
}

static const char *value_of(const struct slo_match *m, const struct record *r, const char *model)
{
    switch (m->label) {
    case SLO_LABEL_MODEL:
        return model ? model : "";
    case SLO_LABEL_ENDPOINT:
        return r->endpoint ? r->endpoint : "";
    case SLO_LABEL_UPSTREAM:
        return r->upstream;
    case SLO_LABEL_VERSION:
        return r->model_version;
    case SLO_LABEL_STREAM:
        return r->is_stream ? "true" : "false";
    case SLO_LABEL_TENANT:
        return r->tenant[0] ? r->tenant : business_value(r, m->name);
    case SLO_LABEL_BUSINESS:
        break;
    }
    return business_value(r, m->name);
}

static bool is_like(const char *value, const char *wanted)
{
    size_t n = strlen(wanted);

    if (n > 0 && wanted[n - 1] == '*')
        return strncmp(value, wanted, n - 1) == 0;
    return strcmp(value, wanted) == 0;
}

bool slo_is_for(const struct slo *s, const struct record *r, const char *model)
{
    for (size_t i = 0; i < s->n_matches; i++) {
        const struct slo_match *m = &s->matches[i];
        const char *value = value_of(m, r, model);
        size_t k = 0;

        while (k < m->n_values && !is_like(value, m->values[k]))
            k++;
        if (k == m->n_values)
            return false;
    }
    return true;
}

/* --- how good they were --- */

static bool is_client_gone(const struct record *r)
{
    return r->outcome == OUTCOME_CLIENT_GONE_BEFORE_FIRST ||
           r->outcome == OUTCOME_CLIENT_GONE_AFTER_FIRST;
}

/* An answer that says "too many" or "too slow" is the server's doing, whatever its number. */
static bool is_client_status(int status)
{
    return status >= 400 && status < 500 && status != 408 && status != 429;
}

/* The request was wrong, not the service. */
static bool is_client_fault(const struct record *r)
{
    switch (r->outcome) {
    case OUTCOME_UNAUTHORIZED:
    case OUTCOME_FORBIDDEN:
    case OUTCOME_BAD_REQUEST:
        return true;
    case OUTCOME_HTTP_ERROR:
        return is_client_status(r->upstream_status);
    case OUTCOME_TIMEOUT:
        return strcmp(r->outcome_reason, "request") == 0; /* it was slow to send it */
    default:
        return false;
    }
}

static enum slo_verdict errors_judge(const struct record *r)
{
    switch (r->outcome) {
    case OUTCOME_OK:
        return SLO_GOOD;
    case OUTCOME_CLIENT_GONE_BEFORE_FIRST:
    case OUTCOME_CLIENT_GONE_AFTER_FIRST:
    case OUTCOME_CUT_BY_GATEWAY: /* the operator's doing */
        return SLO_NOT_ELIGIBLE;
    default:
        return SLO_BAD;
    }
}

static enum slo_verdict against(int64_t value_ns, int64_t threshold_ns)
{
    return value_ns <= threshold_ns ? SLO_GOOD : SLO_BAD;
}

/* It ended without what was waited for: late already, or nothing can be said. */
static enum slo_verdict waited_judge(const struct record *r, int64_t threshold_ns)
{
    if (!mono_is_set(r->t_request) || !mono_is_set(r->t_delivered))
        return SLO_NOT_ELIGIBLE;
    return r->t_delivered.ns - r->t_request.ns > threshold_ns ? SLO_BAD : SLO_NOT_ELIGIBLE;
}

static enum slo_verdict ttft_judge(const struct record *r, int64_t threshold_ns)
{
    if (!record_is_generating_stream(r))
        return SLO_NOT_ELIGIBLE;
    if (r->ttft_ns >= 0)
        return against(r->ttft_ns, threshold_ns);
    if (mono_is_set(r->t_first_token) || r->unobserved[0])
        return SLO_NOT_ELIGIBLE; /* there may have been one */
    return waited_judge(r, threshold_ns);
}

static enum slo_verdict tpot_judge(const struct record *r, int64_t threshold_ns)
{
    const struct timing_summary *t = &r->timing;

    if (is_client_gone(r) || !record_is_generating_stream(r) || r->flags & RECORD_MULTI_CHOICE ||
        t->tpot_status != TPOT_OK || t->tpot_ns < 0)
        return SLO_NOT_ELIGIBLE;
    return against(t->tpot_ns, threshold_ns);
}

/* Where the engine tells nothing, a long wait in the gateway would be the only thing ever seen, and
 * every request seen would be bad. */
static enum slo_verdict queue_judge(const struct record *r, int64_t threshold_ns)
{
    if (is_client_gone(r) || r->queue_ns < 0 || r->engine_ns[ENGINE_QUEUE] < 0)
        return SLO_NOT_ELIGIBLE;
    return against(r->queue_ns + r->engine_ns[ENGINE_QUEUE], threshold_ns);
}

/* How long a stream lasts is what was asked for, and says nothing of the service. */
static enum slo_verdict e2e_judge(const struct record *r, int64_t threshold_ns)
{
    if (r->is_stream)
        return SLO_NOT_ELIGIBLE;
    if (r->outcome == OUTCOME_OK && r->e2e_ns >= 0)
        return against(r->e2e_ns, threshold_ns);
    return is_client_gone(r) || r->unobserved[0] ? SLO_NOT_ELIGIBLE : waited_judge(r, threshold_ns);
}

static enum slo_verdict joined(enum slo_verdict a, enum slo_verdict b)
{
    return a > b ? a : b; /* one bad is bad; one good is more than nothing */
}

void slo_judge(const struct slo *s, const struct record *r,
               enum slo_verdict ret[SLO_OBJECTIVE_COUNT_])
{
    static enum slo_verdict (*const judges[SLO_ERRORS])(const struct record *r, int64_t ns) = {
        [SLO_TTFT] = ttft_judge,
        [SLO_TPOT] = tpot_judge,
        [SLO_QUEUE] = queue_judge,
        [SLO_E2E] = e2e_judge,
    };
    enum slo_verdict errors, joint;

    memset(ret, 0, SLO_OBJECTIVE_COUNT_ * sizeof(ret[0]));
    if (is_client_fault(r))
        return;
    errors = errors_judge(r);
    joint = errors;
    for (int o = 0; o < SLO_ERRORS; o++) {
        if (s->targets[o].is_set)
            ret[o] = judges[o](r, s->targets[o].threshold_ns);
        joint = joined(joint, ret[o]);
    }
    if (s->targets[SLO_ERRORS].is_set)
        ret[SLO_ERRORS] = errors;
    ret[SLO_GOODPUT] = joint;
}

unsigned slo_judged(const struct slo *s)
{
    unsigned bits = 1u << SLO_GOODPUT;

    for (int o = 0; o < SLO_GOODPUT; o++)
        bits |= (unsigned)s->targets[o].is_set << o;
    return bits;
}
