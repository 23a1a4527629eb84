/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/access: a whole request, head and body, of a key that is restricted to models. Either it
 * is refused, with a text that has no key in it, or whatever another JSON reader takes for its
 * model is allowed: the last "model", the first one, and those in other case.
 * fuzz-links: jansson
 */
#include "pieces.h"

#include <jansson.h>

#include "dialect/dialect.h"
#include "policy/access.h"
#include "policy/path.h"

#define KEY "ifm-aaaaaaaa-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

static struct keyring *new_ring(void)
{
    static const unsigned char pepper[KEYRING_PEPPER_BYTES] = {7};
    static const char *const models[] = {"good", "llama-*"};
    struct keyring_key row = {
        .tenant = "t", .note = "", .id = "aaaaaaaa", .models = models, .n_models = 2};
    struct keyring *r = NULL;
    FUZZ_CHECK(keyring_hash(pepper, SPAN(KEY), row.hash) == 0);
    FUZZ_CHECK(keyring_new(pepper, &row, 1, &r, NULL, NULL) == 0);
    return r;
}

static bool is_allowed(const char *model, size_t n)
{
    struct span s = span_of(model, n);
    return span_eq(s, SPAN("good")) || span_starts_with(s, SPAN("llama-"));
}

/* Every member of the object that some reader takes for the model. */
static void check_members(json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        if (span_eq_nocase(span_cstr(key), SPAN("model"))) {
            FUZZ_CHECK(json_is_string(value));
            FUZZ_CHECK(is_allowed(json_string_value(value), json_string_length(value)));
        }
    }
}

/* json_loadb keeps the last of equal names; so in each of the object's beginnings the last one is
 * every one of them. */
static void check_every_model(struct span body)
{
    char *text = mem_must(mem_alloc(body.n + 1));
    memcpy(text, body.p, body.n);
    for (size_t i = 0; i <= body.n; i++) {
        if (i < body.n && body.p[i] != ',')
            continue;
        text[i] = '}';
        json_t *object = json_loadb(text, i < body.n ? i + 1 : i, JSON_ALLOW_NUL, NULL);
        if (json_is_object(object))
            check_members(object);
        json_decref(object);
        if (i < body.n)
            text[i] = ',';
    }
    mem_free(text);
}

static void check_allowed(const struct access_asked *a, struct span body)
{
    struct span path = span_of(a->target.p, span_find_char(a->target, '?'));
    struct span models = span_from(path, span_find(path, SPAN("/models/")) + strlen("/models/"));
    if (a->endpoint->is_lookup)
        return;
    FUZZ_CHECK(a->endpoint->dialect && is_allowed(a->request->model, strlen(a->request->model)));
    if (strcmp(a->endpoint->dialect->name, "gemini") == 0 && models.n > 0)
        FUZZ_CHECK(is_allowed(models.p, span_find(models, SPAN(":"))));
    check_every_model(body);
}

static void run(struct http1_head *head, struct span body)
{
    struct keyring *ring = new_ring();
    struct dialect_request request;
    struct access_verdict v;
    enum path_repair repair;
    struct buf room;
    struct access_asked a = {.head = head, .target = path_of_target(head->target)};
    buf_init(&room, 2 * LIMIT_HEAD_BYTES);
    FUZZ_CHECK(path_repair(&a.target, &room, &repair) == 0);
    access_identify(ring, head, 0, &v);
    FUZZ_CHECK(v.refusal == TAP_REASON_UNAUTHORIZED || v.refusal == TAP_REASON_BAD_REQUEST ||
               (v.refusal == TAP_REASON_NONE && v.key));
    if (v.refusal == TAP_REASON_NONE) {
        a.endpoint = dialect_endpoint_split(head->method, a.target, &a.prefix);
        if (a.endpoint->dialect) {
            a.endpoint->dialect->inspect(a.target, body, true, &request);
            a.request = &request;
        }
        access_permit(&a, &v);
        if (v.refusal == TAP_REASON_NONE)
            check_allowed(&a, body);
    }
    FUZZ_CHECK((v.text[0] == '\0') == (v.refusal == TAP_REASON_NONE));
    FUZZ_CHECK(!strstr(v.text, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA") ||
               span_find(head->target, SPAN("AAAAAAAA")) < head->target.n ||
               span_find(body, SPAN("AAAAAAAA")) < body.n);
    buf_done(&room);
    keyring_unref(ring);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span in = span_of(data, size);
    struct http1_head head;
    enum http1_error error;
    size_t scanned = 0;
    ptrdiff_t n = http1_find_end(in, &scanned, &error);
    if (n <= 0 || http1_parse_request(span_of(in.p, (size_t)n), &head) != HTTP1_OK)
        return 0;
    run(&head, span_from(in, (size_t)n));
    if (head.n_fields < LIMIT_HEAD_FIELDS) { /* and with a key that opens something */
        head.fields[head.n_fields++] =
            (struct http1_field){SPAN("Authorization"), SPAN("Bearer " KEY)};
        run(&head, span_from(in, (size_t)n));
    }
    FUZZ_CHECK(mem_live_blocks() == 0);
    return 0;
}
