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
#include <stdio.h>

#include "base/jsonw.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/stat.h"
#include "dialect/dialect.h"
#include "policy/catalog.h"
#include "policy/entry.h"
#include "policy/filter.h"
#include "policy/path.h"

enum {
    BYTES_PER_TOKEN = 4,
    REFUSED_MAX = 64,
    TARGET_MAX = 2 * LIMIT_HEAD_BYTES,
    CATALOG_MAX = LIMIT_ANSWER_LOCAL_BYTES
};

/* As JSON each byte of a name may take six. */
enum { RENAME_MAX = 6 * DIALECT_MODEL_MAX + 2 };

struct policy {
    struct routes *routes;
    struct keyring *keyring; /* NULL: open to everybody */
    struct key_use *key_use;
    struct business *business; /* NULL: no labels */
    bool inject_usage;
    struct rng rng;
    /* Which model of which upstream refused our edit; the newest REFUSED_MAX. */
    struct refused {
        size_t upstream;
        char model[DIALECT_MODEL_MAX];
    } refused[REFUSED_MAX];
    size_t n_refused; /* ever */
};

struct policy_exchange {
    const struct dialect *dialect; /* may be NULL */
    struct dialect_request request;
    struct routes *routes; /* those it was planned with */
    struct entry entry;
    struct routes_match match;
    struct span target;  /* what the client meant */
    struct buf answer;   /* where no upstream is asked */
    struct buf repaired; /* its text, where it is no part of the request's */
    struct buf dropped, renamed;
    struct buf rename; /* the model as this attempt's upstream calls it, as JSON */
    size_t upstream;   /* of the attempt under way */
    bool is_injected;  /* in the attempt under way */
    bool is_repeat;    /* that attempt is the one without our edit */
    struct filter filter;
    struct business_told told[]; /* one, where there are labels */
};

int policy_new(const struct policy_config *config, struct policy **ret)
{
    struct policy *p = mem_zalloc(1, sizeof(*p));
    if (!p)
        return -ENOMEM;
    rng_seed(&p->rng, config->seed);
    policy_reload(p, config);
    *ret = p;
    return 0;
}

struct policy *policy_free(struct policy *p)
{
    if (!p)
        return NULL;
    routes_unref(p->routes);
    keyring_unref(p->keyring);
    business_unref(p->business);
    mem_free(p);
    return NULL;
}

void policy_reload(struct policy *p, const struct policy_config *config)
{
    struct routes *old = p->routes;
    p->routes = routes_ref(config->routes);
    routes_unref(old);
    struct business *old_business = p->business;
    p->business = business_ref(config->business);
    business_unref(old_business);
    policy_set_keyring(p, config->keyring);
    p->key_use = config->key_use;
    p->inject_usage = config->inject_usage;
    p->n_refused = 0;
}

void policy_set_keyring(struct policy *p, struct keyring *keyring)
{
    struct keyring *old = p->keyring;
    p->keyring = keyring_ref(keyring);
    keyring_unref(old);
}

/* --- plan --- */

/* Of the prompt: what a client allows for the answer says little about its length. */
static uint32_t estimate_tokens(const struct dialect_request *req)
{
    int64_t n = req->prompt_bytes / BYTES_PER_TOKEN;
    return (uint32_t)(n > UINT32_MAX ? UINT32_MAX : n);
}

static struct policy_exchange *exchange_new(struct policy *p)
{
    struct policy_exchange *x = mem_zalloc(1, sizeof(*x) + (p->business ? sizeof(x->told[0]) : 0));
    if (!x)
        return NULL;
    x->routes = routes_ref(p->routes);
    buf_init(&x->repaired, TARGET_MAX);
    buf_init(&x->answer, CATALOG_MAX);
    buf_init(&x->dropped, TARGET_MAX);
    buf_init(&x->renamed, TARGET_MAX);
    buf_init(&x->rename, RENAME_MAX);
    return x;
}

static void refuse(struct policy_plan *plan, enum tap_reason reason, const char *text)
{
    plan->refusal = reason;
    plan->refusal_text = text;
}

static const char *const repair_warnings[] = {
    [PATH_AS_IT_IS] = NULL,
    [PATH_DOUBLED] = "a client's base URL ends with /v1 where its library adds another: requests "
                     "for /v1/v1/... are taken for /v1/...",
    [PATH_BARE] = NULL, /* both ways to write a base URL are right */
};

static int plan_target(struct policy_exchange *x, const struct policy_request *req,
                       struct policy_plan *ret)
{
    enum path_repair repair;
    x->target = path_of_target(req->head->target);
    int r = path_repair(&x->target, &x->repaired, &repair);
    if (r < 0)
        return r;
    ret->warning = repair_warnings[repair];
    if (repair != PATH_AS_IT_IS)
        stat_inc(STAT_PATHS_REPAIRED);
    return 0;
}

static void plan_route(struct policy *p, struct policy_exchange *x, struct policy_plan *ret)
{
    routes_find(x->routes, x->request.model, &p->rng, &x->match);
    ret->n_candidates = x->match.n;
    if (x->match.model != x->request.model)
        ret->told.model = x->match.model; /* lives in x->routes */
    for (size_t i = 0; i < x->match.n; i++)
        ret->candidates[i] = (uint16_t)x->match.candidates[i].upstream;
    if (x->match.n > 0)
        return;
    (void)snprintf(x->entry.access.text, sizeof(x->entry.access.text),
                   "no upstream serves the model \"%s\"; /v1/models lists what there is",
                   x->request.model);
    refuse(ret, TAP_REASON_NO_ROUTE, x->entry.access.text);
}

static void plan_labels(const struct policy *p, struct policy_exchange *x,
                        const struct policy_request *req, struct policy_plan *ret)
{
    if (!p->business)
        return;
    const struct business_asked asked = {
        .head = req->head, .metadata = x->request.metadata, .key = x->entry.access.key};
    business_tell(p->business, &asked, &x->told[0]);
    ret->told.labels = x->told[0].labels;
    ret->told.n_labels = x->told[0].n;
    if (ret->tenant.n == 0)
        ret->tenant = business_find(&x->told[0], SPAN("tenant"));
}

/* Only ever to the lower one: what a client says of itself gains it nothing. */
static void plan_class(const struct policy_request *req, struct policy_plan *ret)
{
    if (span_eq_nocase(http1_field_value(req->head, SPAN("X-Inferometer-Class")), SPAN("batch")))
        ret->admission_class = 1;
}

/* A key is shown what it may use. */
static bool is_shown(void *ctx, const char *name)
{
    const struct entry *e = ctx;
    return !e->access.key || keyring_allows(e->access.key, span_cstr(name));
}

/* The models of all upstreams; one that stands alone answers for itself. */
static void plan_catalog(struct policy_exchange *x, const struct policy_request *req,
                         struct policy_plan *ret)
{
    struct catalog_request asked;
    bool is_found;
    if (routes_is_transparent(x->routes) || !catalog_take(req->head, x->target, &asked))
        return;
    ret->is_answered = true;
    if (catalog_write(x->routes, &asked, is_shown, &x->entry, &x->answer, &is_found) < 0) {
        refuse(ret, TAP_REASON_INTERNAL, "out of memory");
    } else if (!is_found) {
        (void)snprintf(
            x->entry.access.text, sizeof(x->entry.access.text), "there is no model \"%.*s\"",
            (int)(asked.one.n < DIALECT_MODEL_MAX ? asked.one.n : DIALECT_MODEL_MAX), asked.one.p);
        refuse(ret, TAP_REASON_NO_ROUTE, x->entry.access.text);
    }
}

static int policy_answer_body(struct policy *p, struct policy_exchange *x, struct buf *out)
{
    (void)p;
    return buf_append(out, buf_span(&x->answer));
}

static void policy_plan(struct policy *p, const struct policy_request *req, struct policy_plan *ret)
{
    *ret = (struct policy_plan){.refusal = TAP_REASON_NONE};
    struct policy_exchange *x = exchange_new(p);
    if (!x || plan_target(x, req, ret) < 0) {
        ret->exchange = x;
        refuse(ret, TAP_REASON_INTERNAL, "out of memory");
        return;
    }
    struct access_asked asked = {.head = req->head, .target = x->target};
    const struct dialect_endpoint *endpoint =
        dialect_endpoint_split(req->head->method, x->target, &asked.prefix);
    asked.endpoint = endpoint;
    ret->exchange = x;
    ret->wants_identity = endpoint->dialect != NULL;
    ret->told.endpoint = endpoint->label;
    ret->told.dialect = x->dialect = endpoint->dialect;
    if (!entry_identify(&x->entry, p->keyring, p->key_use, req, ret))
        return;
    if (x->dialect) {
        x->dialect->inspect(x->target, req->window, req->is_complete, &x->request);
        ret->is_stream = x->request.is_stream;
        ret->estimated_tokens = estimate_tokens(&x->request);
        ret->told.request = asked.request = &x->request;
    }
    ret->is_repeatable = x->dialect != NULL || span_eq(req->head->method, SPAN("GET")) ||
                         span_eq(req->head->method, SPAN("HEAD"));
    if (!entry_grant(&x->entry, &asked, req->now, ret))
        return;
    plan_class(req, ret);
    plan_labels(p, x, req, ret);
    plan_catalog(x, req, ret);
    if (!ret->is_answered)
        plan_route(p, x, ret);
}

/* --- aim --- */

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

static void aim_injection(struct policy *p, struct policy_exchange *x,
                          const struct policy_aim_request *req, struct policy_aim *ret)
{
    struct dialect_edit edit;
    if (!p->inject_usage || req->is_plain || !req->is_complete || is_refused(p, x))
        return;
    if (!x->dialect || !x->dialect->can_include_usage || !x->dialect->add_include_usage ||
        !x->dialect->add_include_usage(req->window, &x->request, &edit))
        return;
    ret->edits[ret->n_edits++] = (struct policy_edit){edit.at, edit.remove, edit.insert};
    ret->is_usage_injected = true;
    x->is_injected = true;
    filter_init(&x->filter, x->dialect->may_be_bare_usage, x->dialect->is_bare_usage);
    stat_inc(STAT_USAGE_INJECTED);
}

static const char *served_by(const struct policy_exchange *x, size_t upstream)
{
    for (size_t i = 0; i < x->match.n; i++) {
        if (x->match.candidates[i].upstream == upstream)
            return x->match.candidates[i].served;
    }
    return NULL;
}

/* The name that the upstream knows, in the body or in the path. */
static int aim_model(struct policy_exchange *x, struct policy_aim *ret)
{
    const struct dialect_request *request = &x->request;
    const char *served = served_by(x, x->upstream);
    struct jsonw w;
    if (!served || request->model_bytes == 0 || strcmp(served, request->model) == 0)
        return 0;
    ret->model = served;
    if (request->is_model_in_target)
        return path_replace(&ret->target, request->model_at, request->model_bytes,
                            span_cstr(served), &x->renamed);
    buf_clear(&x->rename);
    jsonw_init(&w, &x->rename);
    jsonw_cstr(&w, served);
    ret->edits[ret->n_edits++] =
        (struct policy_edit){request->model_at, request->model_bytes, buf_span(&x->rename)};
    return jsonw_error(&w);
}

/* The upstream's own key in place of whatever the client has. */
static int aim_credential(struct policy_exchange *x, struct policy_aim *ret)
{
    struct routes_credential key =
        routes_credential(x->routes, x->upstream, x->dialect ? x->dialect->key_field : NULL);
    ret->drops_credentials = key.name.n > 0 || x->entry.keyring != NULL;
    ret->credential_name = key.name;
    ret->credential = key.value;
    return ret->drops_credentials ? path_drop_parameter(&ret->target, SPAN("key"), &x->dropped) : 0;
}

static void sort_edits(struct policy_aim *aim)
{
    if (aim->n_edits == 2 && aim->edits[0].at > aim->edits[1].at) {
        struct policy_edit first = aim->edits[1];
        aim->edits[1] = aim->edits[0];
        aim->edits[0] = first;
    }
}

static int policy_aim(struct policy *p, struct policy_exchange *x,
                      const struct policy_aim_request *req, struct policy_aim *ret)
{
    *ret = (struct policy_aim){.target = x->target};
    x->upstream = req->upstream;
    if (x->is_injected)
        filter_done(&x->filter);
    x->is_injected = false;
    int r = aim_model(x, ret);
    if (r == 0)
        r = aim_credential(x, ret);
    if (r < 0)
        return r;
    aim_injection(p, x, req, ret);
    sort_edits(ret);
    return 0;
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
    [TAP_REASON_NO_ROUTE] = {REFUSAL_NOT_FOUND, "no upstream serves this model"},
    [TAP_REASON_REJECTED] = {REFUSAL_TOO_MANY, "too many requests are waiting, try again later"},
    [TAP_REASON_REJECTED_TIMEOUT] = {REFUSAL_QUEUE_TIMEOUT,
                                     "the request waited too long for its turn, try again later"},
    [TAP_REASON_CONNECT_DNS] = {REFUSAL_CONNECT_FAILED, "the upstream's name was not found"},
    [TAP_REASON_CONNECT_REFUSED] = {REFUSAL_CONNECT_FAILED, "the upstream refused the connection"},
    [TAP_REASON_CONNECT_PROXY] = {REFUSAL_CONNECT_FAILED,
                                  "the proxy made no connection to the upstream"},
    [TAP_REASON_CONNECT_TLS] = {REFUSAL_CONNECT_FAILED, "could not speak TLS with the upstream"},
    [TAP_REASON_CONNECT_OTHER] = {REFUSAL_CONNECT_FAILED, "could not connect to the upstream"},
    [TAP_REASON_BAD_RESPONSE] = {REFUSAL_BAD_RESPONSE, "the upstream's answer is not valid HTTP"},
    [TAP_REASON_UPSTREAM_CUT] = {REFUSAL_UPSTREAM_CUT, "the upstream closed without an answer"},
    [TAP_REASON_STALLED] = {REFUSAL_TIMEOUT, "the upstream fell silent"},
    [TAP_REASON_TIMEOUT_CONNECT] = {REFUSAL_TIMEOUT, "connecting to the upstream took too long"},
    [TAP_REASON_TIMEOUT_FIRST_BYTE] = {REFUSAL_TIMEOUT, "the upstream did not answer in time"},
    [TAP_REASON_TIMEOUT_IDLE] = {REFUSAL_TIMEOUT, "the upstream fell silent"},
    [TAP_REASON_TIMEOUT_TOTAL] = {REFUSAL_TIMEOUT, "the request took too long"},
    [TAP_REASON_TIMEOUT_REQUEST] = {REFUSAL_REQUEST_TIMEOUT, "the request came too slowly"},
    [TAP_REASON_RUNAWAY] = {REFUSAL_TIMEOUT, "the stream went on for too long"},
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
    buf_done(&x->repaired);
    buf_done(&x->answer);
    buf_done(&x->dropped);
    buf_done(&x->renamed);
    buf_done(&x->rename);
    entry_done(&x->entry);
    routes_unref(x->routes);
    mem_free(x);
}

const struct policy_ops policy_ops = {
    .plan = policy_plan,
    .answer_body = policy_answer_body,
    .aim = policy_aim,
    .answer_head = policy_answer_head,
    .wants_filter = policy_wants_filter,
    .filter = policy_filter,
    .refusal_body = policy_refusal_body,
    .plan_done = policy_plan_done,
};
