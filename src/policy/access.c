/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/access.c - see access.h.
 *
 * Whatever a restricted key asks for is refused unless a rule below lets it pass; a check that is
 * forgotten for something new then costs a client an error and nobody a model.
 */
#include "policy/access.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/attr.h"

#define HOW_TO_SEND                                                                                \
    "send \"Authorization: Bearer KEY\", or the key in x-api-key, api-key or x-goog-api-key"

static void refuse(struct access_verdict *v, enum tap_reason reason, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

static void refuse(struct access_verdict *v, enum tap_reason reason, const char *fmt, ...)
{
    va_list args;
    v->refusal = reason;
    va_start(args, fmt);
    (void)vsnprintf(v->text, sizeof(v->text), fmt, args); /* cut to fit */
    va_end(args);
}

/* --- who asks --- */

/* Where a client may show a key. tap_is_credential knows the same names. */
static const struct credential {
    struct span field;
    bool is_bearer; /* behind that scheme */
} credentials[] = {
    {SPAN_INIT("Authorization"), true},
    {SPAN_INIT("x-api-key"), false},
    {SPAN_INIT("api-key"), false},
    {SPAN_INIT("x-goog-api-key"), false},
};

/* What a field shows, or an empty span. */
static struct span shown_by(const struct http1_field *f)
{
    static const struct span scheme = SPAN_INIT("Bearer ");
    for (size_t i = 0; i < ARRAY_LEN(credentials); i++) {
        if (!span_eq_nocase(f->name, credentials[i].field))
            continue;
        if (!credentials[i].is_bearer)
            return f->value;
        if (f->value.n > scheme.n && span_eq_nocase(span_of(f->value.p, scheme.n), scheme))
            return span_trim(span_from(f->value, scheme.n));
        return span_of("?", f->value.n > 0 ? 1 : 0); /* something, and no key */
    }
    return (struct span){0};
}

/* The one key that the head shows: what has its form before what has not. false: there are two. */
static bool find_shown(const struct http1_head *head, struct span *ret)
{
    *ret = (struct span){0};
    bool is_key = false;
    for (size_t i = 0; i < head->n_fields; i++) {
        struct span shown = shown_by(&head->fields[i]);
        if (shown.n == 0)
            continue;
        if (!keyring_is_form(shown)) {
            *ret = is_key ? *ret : shown;
            continue;
        }
        if (is_key && !span_eq(*ret, shown))
            return false;
        *ret = shown;
        is_key = true;
    }
    return true;
}

void access_identify(const struct keyring *ring, const struct http1_head *head, int64_t now_s,
                     struct access_verdict *ret)
{
    struct span shown;
    ret->refusal = TAP_REASON_NONE;
    ret->key = NULL;
    ret->text[0] = '\0';
    if (!ring)
        return;
    if (!find_shown(head, &shown)) {
        refuse(ret, TAP_REASON_BAD_REQUEST, "the request shows two different keys; send one");
        return;
    }
    if (shown.n == 0) {
        refuse(ret, TAP_REASON_UNAUTHORIZED, "a gateway key is needed: %s", HOW_TO_SEND);
        return;
    }
    switch (keyring_find(ring, shown, now_s, &ret->key)) {
    case KEYRING_FOUND:
        return;
    case KEYRING_MALFORMED:
        refuse(
            ret, TAP_REASON_UNAUTHORIZED,
            "that is no key of this gateway (they begin with \"ifm-\" and have %d characters): %s",
            KEYRING_KEY_LEN, HOW_TO_SEND);
        return;
    case KEYRING_UNKNOWN:
        refuse(ret, TAP_REASON_UNAUTHORIZED,
               "unknown gateway key: mistyped, revoked or never issued; ask the operator for one");
        return;
    case KEYRING_EXPIRED:
        refuse(ret, TAP_REASON_UNAUTHORIZED,
               "the gateway key %s has expired; ask the operator for a new one", ret->key->id);
        return;
    case KEYRING_FAILED:
        break;
    }
    refuse(ret, TAP_REASON_INTERNAL, "the key could not be checked, try again");
}

/* --- paths --- */

/* Whether a server could read it as another path. */
static bool is_plain_path(struct span path)
{
    for (size_t i = 0; i < path.n; i++) {
        if (strchr("%\\;#", path.p[i]) || path.p[i] == '\0')
            return false;
    }
    while (path.n > 0) {
        struct span rest = span_from(path, 1); /* path begins with a slash */
        size_t n = span_find_char(rest, '/');
        struct span segment = span_of(rest.p, n);
        if (path.p[0] != '/' || span_eq(segment, SPAN(".")) || span_eq(segment, SPAN("..")) ||
            (n == 0 && rest.n > 0))
            return false;
        path = span_from(rest, n);
    }
    return true;
}

/* What may stand in front of an endpoint's own path. */
static const struct part {
    struct span name;
    enum { PART_ALONE, PART_WITH_ID, PART_WITH_MODEL } kind;
} parts[] = {
    {SPAN_INIT("v1"), PART_ALONE},
    {SPAN_INIT("v1alpha"), PART_ALONE},
    {SPAN_INIT("v1beta"), PART_ALONE},
    {SPAN_INIT("v1beta1"), PART_ALONE},
    {SPAN_INIT("v1internal"), PART_ALONE},
    {SPAN_INIT("v2"), PART_ALONE},
    {SPAN_INIT("api"), PART_ALONE},
    {SPAN_INIT("openai"), PART_ALONE},
    {SPAN_INIT("anthropic"), PART_ALONE},
    {SPAN_INIT("ollama"), PART_ALONE},
    {SPAN_INIT("projects"), PART_WITH_ID},
    {SPAN_INIT("locations"), PART_WITH_ID},
    {SPAN_INIT("publishers"), PART_WITH_ID},
    {SPAN_INIT("models"), PART_WITH_MODEL},
    {SPAN_INIT("deployments"), PART_WITH_MODEL},
    {SPAN_INIT("engines"), PART_WITH_MODEL},
};

static struct span take_segment(struct span *path)
{
    struct span rest = span_from(*path, 1);
    struct span segment = span_of(rest.p, span_find_char(rest, '/'));
    *path = span_from(rest, segment.n);
    return segment;
}

static const struct part *part_of(struct span name)
{
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (span_eq(parts[i].name, name))
            return &parts[i];
    }
    return NULL;
}

static void refuse_model(struct access_verdict *v, struct span model);

/* The prefix of a plain path; false, and the verdict says so, where it leads elsewhere. */
static bool is_prefix_allowed(struct span prefix, struct access_verdict *v)
{
    while (prefix.n > 0) {
        struct span name = take_segment(&prefix);
        const struct part *part = part_of(name);
        struct span id = {0};
        if (part && part->kind != PART_ALONE)
            id = take_segment(&prefix);
        if (!part || (part->kind != PART_ALONE && id.n == 0)) {
            refuse(v, TAP_REASON_FORBIDDEN,
                   "this key is restricted to models, and \"%.*s\" in the path might name another; "
                   "use the path without it, such as /v1/chat/completions",
                   (int)(name.n < 64 ? name.n : 64), name.p);
            return false;
        }
        if (part->kind == PART_WITH_MODEL && !keyring_allows(v->key, id)) {
            refuse_model(v, id);
            return false;
        }
    }
    return true;
}

/* --- bodies --- */

/* charset=utf-8 or none; whatever else might read the bytes as other letters. */
static bool is_utf8_parameter(struct span parameter)
{
    struct span value = parameter;
    struct span name = span_trim(span_split(&value, '='));
    if (name.n < strlen("charset") || !span_eq_nocase(span_of(name.p, 7), SPAN("charset")))
        return true;
    value = span_trim(value);
    if (value.n >= 2 && value.p[0] == '"' && value.p[value.n - 1] == '"')
        value = span_of(value.p + 1, value.n - 2);
    return name.n == strlen("charset") &&
           (span_eq_nocase(value, SPAN("utf-8")) || span_eq_nocase(value, SPAN("utf8")));
}

static bool is_json_type(struct span value)
{
    struct span type = span_trim(span_split(&value, ';'));
    bool is_json = span_eq_nocase(type, SPAN("application/json")) ||
                   (type.n > 5 && span_eq_nocase(span_from(type, type.n - 5), SPAN("+json")));
    while (value.n > 0 && is_json) {
        struct span parameter = span_split(&value, ';');
        is_json = is_utf8_parameter(parameter);
    }
    return is_json;
}

/* Whether the head says that the body is anything but JSON as it stands; a server may believe any
 * field that stands twice. */
static bool is_body_readable(const struct http1_head *head, struct access_verdict *v)
{
    for (size_t i = 0; i < head->n_fields; i++) {
        const struct http1_field *f = &head->fields[i];
        if (span_eq_nocase(f->name, SPAN("Content-Encoding")) &&
            !span_eq_nocase(f->value, SPAN("identity"))) {
            refuse(v, TAP_REASON_FORBIDDEN,
                   "this key is restricted to models, and the model in a compressed body is not "
                   "read; send the body without Content-Encoding");
            return false;
        }
        if (span_eq_nocase(f->name, SPAN("Content-Type")) && !is_json_type(f->value)) {
            refuse(v, TAP_REASON_FORBIDDEN,
                   "this key is restricted to models, and the model is only read from JSON in "
                   "UTF-8; send \"Content-Type: application/json\"");
            return false;
        }
    }
    return true;
}

/* --- models --- */

/* "a, b*, c and 2 more" */
static void list_models(const struct keyring_key *key, char *dst, size_t cap)
{
    size_t n = 0;
    dst[0] = '\0';
    for (size_t i = 0; i < key->n_models; i++) {
        size_t room = strlen(key->models[i]) + sizeof(", ") + sizeof(" and 64 more");
        if (n + room > cap) {
            (void)snprintf(dst + n, cap - n, " and %zu more", key->n_models - i);
            return;
        }
        n += (size_t)snprintf(dst + n, cap - n, "%s%s", i > 0 ? ", " : "", key->models[i]);
    }
}

static void refuse_nameless(struct access_verdict *v)
{
    char list[ACCESS_TEXT_MAX - 128];
    list_models(v->key, list, sizeof(list));
    refuse(v, TAP_REASON_FORBIDDEN,
           "this key is restricted to models, and the request names none; it may use: %s", list);
}

static void refuse_model(struct access_verdict *v, struct span model)
{
    char list[ACCESS_TEXT_MAX - DIALECT_MODEL_MAX - 64];
    list_models(v->key, list, sizeof(list));
    refuse(v, TAP_REASON_FORBIDDEN, "this key may not use the model \"%.*s\"; it may use: %s",
           (int)(model.n < DIALECT_MODEL_MAX ? model.n : DIALECT_MODEL_MAX - 1), model.p, list);
}

/* The one model that the body or the target names. */
static void permit_model(const struct dialect_request *r, struct access_verdict *v)
{
    if (!r->is_complete)
        refuse(v, TAP_REASON_FORBIDDEN,
               "this key is restricted to models, and the body is too large to be read whole for "
               "its model (limits.request_window of the gateway); send less");
    else if (r->is_duplicate_model)
        refuse(v, TAP_REASON_BAD_REQUEST,
               "the request names its model in more than one way; name it once, as \"model\" "
               "(or in the path only), without fallbacks");
    else if (!r->is_json)
        refuse(v, TAP_REASON_FORBIDDEN,
               "this key is restricted to models, and the body is no JSON object to read one from");
    else if (r->model[0] == '\0')
        refuse_nameless(v);
    else if (r->is_model_cut || !keyring_allows(v->key, span_cstr(r->model)))
        refuse_model(v, span_cstr(r->model));
}

void access_permit(const struct access_asked *a, struct access_verdict *v)
{
    struct span path = {a->target.p, span_find_char(a->target, '?')};
    if (v->refusal != TAP_REASON_NONE || !v->key || v->key->n_models == 0)
        return;
    if (!is_plain_path(path)) {
        refuse(v, TAP_REASON_BAD_REQUEST,
               "the path is not plain: write it without %%-escapes, \"//\", \"..\", \"\\\", \";\" "
               "and \"#\"");
        return;
    }
    if (!a->endpoint->is_lookup && (!a->endpoint->dialect || !a->request)) {
        refuse(v, TAP_REASON_FORBIDDEN,
               "this key is restricted to models, and this path is none that the gateway reads a "
               "model from; use one such as POST /v1/chat/completions");
        return;
    }
    if (!is_prefix_allowed(a->prefix, v) || a->endpoint->is_lookup)
        return;
    if (is_body_readable(a->head, v))
        permit_model(a->request, v);
}
