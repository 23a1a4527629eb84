/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway/headers.c - the fields of a message on its way through. What is dropped and added is a
 * table here and a page in docs/HEADERS.md; everything else is passed on in its order.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "base/mem.h"
#include "gateway/exchange.h"

/* Not passed to the upstream, besides hop-by-hop and nominated fields. */
static const struct span request_dropped[] = {
    SPAN_INIT("Host"),           /* replaced by the upstream's */
    SPAN_INIT("Content-Length"), /* written anew */
    SPAN_INIT("Expect"),         /* answered by the gateway */
};

/* Not passed to the client, besides hop-by-hop and nominated fields. */
static const struct span answer_dropped[] = {
    SPAN_INIT("Content-Length"), /* written anew */
};

static bool is_listed(const struct span *list, size_t n, struct span name)
{
    for (size_t i = 0; i < n; i++)
        if (span_eq_nocase(list[i], name))
            return true;
    return false;
}

static bool is_connection_bound(const struct http1_head *head, struct span name)
{
    return http1_is_hop_by_hop(name) || http1_is_nominated(head, name);
}

static bool is_request_dropped(const struct exchange *x, struct span name)
{
    const struct policy_aim *aim = &x->aim;

    if (is_connection_bound(x->head, name) ||
        is_listed(request_dropped, ARRAY_LEN(request_dropped), name))
        return true;
    if (x->plan.wants_identity && span_eq_nocase(name, SPAN("Accept-Encoding")))
        return true;
    if (aim->credential_name.n > 0 && span_eq_nocase(name, aim->credential_name))
        return true;
    return aim->drops_credentials && tap_is_credential(name);
}

/* "POST /base/v4/chat/completions": the upstream's version in place of the request's "/v1". */
static int request_line(const struct gateway_upstream *u, struct span method, struct span target,
                        struct buf *out)
{
    struct span rest = span_from(target, strlen("/v1"));
    char prefix[GATEWAY_PREFIX_MAX + GATEWAY_VERSION_MAX];

    if (u->version[0] == '\0' || !span_starts_with(target, SPAN("/v1")) ||
        (rest.n > 0 && rest.p[0] != '/' && rest.p[0] != '?'))
        return http_head_request(out, method, span_cstr(u->prefix), target);
    (void)snprintf(prefix, sizeof(prefix), "%s%s", u->prefix, u->version);
    return http_head_request(out, method, span_cstr(prefix), rest);
}

int gateway_upstream_head(const struct gateway_upstream *u, struct span method, struct span target,
                          struct buf *out)
{
    int r = request_line(u, method, target, out);

    if (r == 0)
        r = http_head_field(out, SPAN("Host"), span_cstr(u->authority));
    if (r == 0 && !u->is_tls && u->proxy.authorization[0] != '\0') /* else CONNECT has it */
        r = http_head_field(out, SPAN("Proxy-Authorization"), span_cstr(u->proxy.authorization));
    return r;
}

int headers_to_upstream(const struct exchange *x, const struct gateway_upstream *u,
                        struct http_framing framing, struct buf *out)
{
    bool has_id = false;
    int r;

    buf_clear(out);
    r = gateway_upstream_head(u, x->head->method, x->aim.target, out);
    for (size_t i = 0; r == 0 && i < x->head->n_fields; i++) {
        const struct http1_field *f = &x->head->fields[i];

        if (is_request_dropped(x, f->name))
            continue;
        if (span_eq_nocase(f->name, SPAN("X-Request-Id")))
            has_id = true;
        r = http_head_field(out, f->name, f->value);
    }
    if (r == 0 && x->aim.credential_name.n > 0)
        r = http_head_field(out, x->aim.credential_name, x->aim.credential);
    if (r == 0 && x->plan.wants_identity)
        r = http_head_field(out, SPAN("Accept-Encoding"), SPAN("identity"));
    if (r == 0 && !has_id)
        r = http_head_field(out, SPAN("X-Request-Id"), span_of(x->id, EXCHANGE_ID_LEN));
    return r < 0 ? r : http_head_end(out, framing);
}

int headers_to_client(const struct exchange *x, const struct http1_head *head, struct buf *out)
{
    bool has_accel = false;
    int r = 0;

    buf_clear(out);
    for (size_t i = 0; r == 0 && i < head->n_fields; i++) {
        const struct http1_field *f = &head->fields[i];
        struct span name = f->name;

        if (is_connection_bound(head, name))
            continue;
        if (span_eq_nocase(name, SPAN("X-Request-Id")))
            name = SPAN("X-Upstream-Request-Id");
        if (is_listed(answer_dropped, ARRAY_LEN(answer_dropped), name))
            continue;
        if (span_eq_nocase(name, SPAN("X-Accel-Buffering")))
            has_accel = true;
        r = http_head_field(out, name, f->value);
    }
    if (r == 0)
        r = http_head_field(out, SPAN("X-Request-Id"), span_of(x->id, EXCHANGE_ID_LEN));
    if (r == 0 && x->plan.is_stream && !has_accel)
        r = http_head_field(out, SPAN("X-Accel-Buffering"), SPAN("no"));
    return r;
}

static struct span span_move(struct span s, char **at)
{
    struct span moved = {*at, s.n};

    if (s.n > 0)
        memcpy(*at, s.p, s.n);
    *at += s.n;
    return moved;
}

struct http1_head *headers_copy(const struct http1_head *head)
{
    size_t fixed = offsetof(struct http1_head, fields) + head->n_fields * sizeof(head->fields[0]);
    size_t text = head->method.n + head->target.n;
    struct http1_head *copy;
    char *at;

    for (size_t i = 0; i < head->n_fields; i++)
        text += head->fields[i].name.n + head->fields[i].value.n;
    copy = mem_alloc(fixed + text);
    if (!copy)
        return NULL;
    memcpy(copy, head, fixed);
    at = (char *)copy + fixed;
    copy->method = span_move(head->method, &at);
    copy->target = span_move(head->target, &at);
    for (size_t i = 0; i < head->n_fields; i++) {
        copy->fields[i].name = span_move(head->fields[i].name, &at);
        copy->fields[i].value = span_move(head->fields[i].value, &at);
    }
    return copy;
}
