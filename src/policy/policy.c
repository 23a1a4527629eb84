/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/policy.c - see policy.h.
 *
 * Why the repeat decides: a 400 says that something in the request was wrong, not what. Only when
 * the same request without our edit succeeds was it ours, and only then is the upstream
 * remembered; a client's own mistake must not switch usage off for everybody.
 */
#include "policy/policy.h"

#include <errno.h>

#include "base/mem.h"
#include "base/stat.h"
#include "dialect/dialect.h"
#include "policy/filter.h"

enum { BYTES_PER_TOKEN = 4 };

enum { REFUSED_MAX = 64 };

struct policy {
    bool inject_usage;
    /* Which model of which upstream refused our edit; the newest REFUSED_MAX. */
    struct refused {
        size_t upstream;
        char model[DIALECT_MODEL_MAX];
    } refused[REFUSED_MAX];
    size_t n_refused; /* ever */
    size_t n_upstreams;
    struct policy_upstream {
        char *name;
    } upstreams[];
};

struct policy_exchange {
    const struct dialect *dialect; /* may be NULL */
    struct dialect_request request;
    size_t upstream;
    bool is_injected; /* in the attempt under way */
    bool is_repeat;   /* that attempt is the one without our edit */
    struct filter filter;
};

int policy_new(const struct policy_config *config, struct policy **ret)
{
    if (config->n_upstreams == 0)
        return -EINVAL;
    struct policy *p = mem_zalloc(1, sizeof(*p) + config->n_upstreams * sizeof(p->upstreams[0]));
    if (!p)
        return -ENOMEM;
    p->inject_usage = config->inject_usage;
    for (size_t i = 0; i < config->n_upstreams; i++) {
        p->upstreams[i].name = mem_strdup(config->upstreams[i]);
        if (!p->upstreams[i].name) {
            policy_free(p);
            return -ENOMEM;
        }
        p->n_upstreams++;
    }
    *ret = p;
    return 0;
}

struct policy *policy_free(struct policy *p)
{
    if (!p)
        return NULL;
    for (size_t i = 0; i < p->n_upstreams; i++)
        mem_free(p->upstreams[i].name);
    mem_free(p);
    return NULL;
}

void policy_reload(struct policy *p, bool inject_usage)
{
    p->inject_usage = inject_usage;
    p->n_refused = 0;
}

/* --- plan --- */

static uint32_t estimate_tokens(const struct dialect_request *req)
{
    int64_t n = req->prompt_bytes / BYTES_PER_TOKEN;
    if (req->max_tokens > 0)
        n = req->max_tokens > UINT32_MAX - n ? UINT32_MAX : n + req->max_tokens;
    return (uint32_t)(n > UINT32_MAX ? UINT32_MAX : n);
}

static bool is_refused(const struct policy *p, const struct policy_exchange *x)
{
    size_t n = p->n_refused < REFUSED_MAX ? p->n_refused : REFUSED_MAX;
    for (size_t i = 0; i < n; i++) {
        if (p->refused[i].upstream == x->upstream &&
            strcmp(p->refused[i].model, x->request.model) == 0)
            return true;
    }
    return false;
}

static void remember_refusal(struct policy *p, const struct policy_exchange *x)
{
    struct refused *r = &p->refused[p->n_refused++ % REFUSED_MAX];
    r->upstream = x->upstream;
    memcpy(r->model, x->request.model, sizeof(r->model));
}

static void plan_injection(struct policy *p, struct policy_exchange *x, struct span window,
                           struct policy_plan *ret)
{
    struct dialect_edit edit;
    if (!p->inject_usage || is_refused(p, x))
        return;
    if (!x->dialect->can_include_usage || !x->dialect->add_include_usage ||
        !x->dialect->add_include_usage(window, &x->request, &edit))
        return;
    ret->edits[ret->n_edits++] = (struct policy_edit){edit.at, edit.remove, edit.insert};
    ret->told.is_usage_injected = true;
    x->is_injected = true;
    filter_init(&x->filter, x->dialect->may_be_bare_usage, x->dialect->is_bare_usage);
    stat_inc(STAT_USAGE_INJECTED);
}

static void policy_plan(struct policy *p, const struct policy_request *req, struct policy_plan *ret)
{
    const struct dialect_endpoint *endpoint =
        dialect_endpoint(req->head->method, req->head->target);
    *ret = (struct policy_plan){.wants_identity = endpoint->dialect != NULL};
    ret->told.endpoint = endpoint->label;
    ret->told.dialect = endpoint->dialect;
    ret->told.upstream = p->upstreams[ret->upstream].name;
    struct policy_exchange *x = mem_zalloc(1, sizeof(*x));
    if (!x) {
        stat_inc(STAT_UNOBSERVED_NO_MEMORY);
        return; /* passes unchanged */
    }
    x->dialect = endpoint->dialect;
    x->upstream = ret->upstream;
    ret->exchange = x;
    if (!x->dialect)
        return;
    x->dialect->inspect(req->head->target, req->window, req->is_complete, &x->request);
    ret->is_stream = x->request.is_stream;
    ret->estimated_tokens = estimate_tokens(&x->request);
    ret->told.request = &x->request;
    plan_injection(p, x, req->window, ret);
}

/* --- answers --- */

static bool is_refusal_of_edit(int status)
{
    return status == 400 || status == 422;
}

static enum policy_verdict policy_answer_head(struct policy *p, struct policy_exchange *x,
                                              const struct http1_head *head)
{
    if (!x || head->status < 200)
        return POLICY_PASS;
    if (x->is_injected && is_refusal_of_edit(head->status)) {
        x->is_injected = false;
        x->is_repeat = true;
        return POLICY_REPEAT_PLAIN;
    }
    if (x->is_repeat && head->status < 300) {
        x->is_repeat = false;
        remember_refusal(p, x);
        stat_inc(STAT_USAGE_INJECTION_REFUSED);
    }
    return POLICY_PASS;
}

static bool policy_wants_filter(struct policy *p, struct policy_exchange *x,
                                const struct http1_head *head)
{
    (void)p;
    if (!x || !x->is_injected || head->status < 200 || head->status >= 300)
        return false;
    struct span type = http1_field_value(head, SPAN("content-type"));
    type = span_trim((struct span){type.p, span_find_char(type, ';')});
    struct span coding = http1_field_value(head, SPAN("content-encoding"));
    /* Streams come under any name, and none; what is no stream passes the filter unchanged. */
    return !span_eq_nocase(type, SPAN("application/json")) &&
           (coding.n == 0 || span_eq_nocase(coding, SPAN("identity")));
}

static size_t policy_filter(struct policy *p, struct policy_exchange *x, struct span *in,
                            bool is_last, struct span *out, size_t max)
{
    (void)p;
    unsigned n_before = x->filter.n_removed;
    size_t n = filter_next(&x->filter, in, is_last, out, max);
    if (x->filter.n_removed != n_before)
        stat_add(STAT_USAGE_EVENTS_REMOVED, (int64_t)(x->filter.n_removed - n_before));
    return n;
}

/* --- refusals --- */

struct refusal {
    enum dialect_refusal kind;
    const char *text;
};

static const struct refusal refusals[TAP_REASON_COUNT_] = {
    [TAP_REASON_NONE] = {REFUSAL_INTERNAL, "internal error of the gateway"},
    [TAP_REASON_BAD_REQUEST] = {REFUSAL_BAD_REQUEST, "the request is not valid"},
    [TAP_REASON_BODY_TOO_LARGE] = {REFUSAL_BODY_TOO_LARGE, "the request body is too large"},
    [TAP_REASON_UNAUTHORIZED] = {REFUSAL_UNAUTHORIZED, "missing or unknown API key"},
    [TAP_REASON_FORBIDDEN] = {REFUSAL_FORBIDDEN, "this key may not do that"},
    [TAP_REASON_REJECTED] = {REFUSAL_TOO_MANY, "too many requests are waiting, try again later"},
    [TAP_REASON_CONNECT_DNS] = {REFUSAL_CONNECT_FAILED, "the upstream's name was not found"},
    [TAP_REASON_CONNECT_REFUSED] = {REFUSAL_CONNECT_FAILED, "the upstream refused the connection"},
    [TAP_REASON_CONNECT_OTHER] = {REFUSAL_CONNECT_FAILED, "could not connect to the upstream"},
    [TAP_REASON_BAD_RESPONSE] = {REFUSAL_BAD_RESPONSE, "the upstream's answer is not valid HTTP"},
    [TAP_REASON_UPSTREAM_CUT] = {REFUSAL_UPSTREAM_CUT, "the upstream closed without an answer"},
    [TAP_REASON_STALLED] = {REFUSAL_TIMEOUT, "the upstream fell silent"},
    [TAP_REASON_TIMEOUT_CONNECT] = {REFUSAL_TIMEOUT, "connecting to the upstream took too long"},
    [TAP_REASON_TIMEOUT_FIRST_BYTE] = {REFUSAL_TIMEOUT, "the upstream did not answer in time"},
    [TAP_REASON_TIMEOUT_IDLE] = {REFUSAL_TIMEOUT, "the upstream fell silent"},
    [TAP_REASON_TIMEOUT_TOTAL] = {REFUSAL_TIMEOUT, "the request took too long"},
    [TAP_REASON_TIMEOUT_REQUEST] = {REFUSAL_REQUEST_TIMEOUT, "the request came too slowly"},
    [TAP_REASON_DRAIN] = {REFUSAL_DRAINING, "the gateway is shutting down, try again"},
    [TAP_REASON_INTERNAL] = {REFUSAL_INTERNAL, "internal error of the gateway"},
};

/* Unknown paths are refused in the form that most clients of such a gateway understand. */
static const struct dialect *refusing_dialect(const struct policy_exchange *x,
                                              const struct http1_head *head)
{
    const struct dialect *d = x ? x->dialect : NULL;
    if (!d && head)
        d = dialect_endpoint(head->method, head->target)->dialect;
    return d ? d : dialect_at(0);
}

/* NOLINTNEXTLINE(readability-function-size): the parameters are those of struct policy_ops */
static int policy_refusal_body(struct policy *p, struct policy_exchange *x,
                               const struct http1_head *head, enum tap_reason reason,
                               const char *text, int *ret_status, const char **ret_content_type,
                               struct buf *out)
{
    (void)p;
    const struct refusal *r =
        &refusals[(unsigned)reason < TAP_REASON_COUNT_ ? reason : TAP_REASON_INTERNAL];
    int error =
        refusing_dialect(x, head)->refusal_body(r->kind, text && text[0] ? text : r->text, out);
    if (error < 0)
        return error;
    *ret_status = dialect_refusal_status(r->kind);
    *ret_content_type = "application/json";
    return 0;
}

static void policy_plan_done(struct policy *p, struct policy_exchange *x)
{
    (void)p;
    if (!x)
        return;
    filter_done(&x->filter);
    mem_free(x);
}

const struct policy_ops policy_ops = {
    .plan = policy_plan,
    .answer_head = policy_answer_head,
    .wants_filter = policy_wants_filter,
    .filter = policy_filter,
    .refusal_body = policy_refusal_body,
    .plan_done = policy_plan_done,
};
