/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/access: credentials in every form, what a restricted key may ask for in every dialect, and
 * that no text has a key in it.
 */
#include "harness.h"

#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/stat.h"
#include "policy/access.h"
#include "policy/path.h"

#define KEY     "ifm-aaaaaaaa-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define OTHER   "ifm-bbbbbbbb-BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB"
#define EXPIRED "ifm-cccccccc-CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC"
#define UNKNOWN "ifm-dddddddd-DDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDD"

enum { NOW_S = 1000 };

/* KEY is restricted, OTHER is not, EXPIRED is over. */
static struct keyring *new_ring(void)
{
    static const unsigned char pepper[KEYRING_PEPPER_BYTES] = {7};
    static const char *const models[] = {"good", "llama-*", "models/x"};
    static const char *const keys[] = {KEY, OTHER, EXPIRED};
    struct keyring_key rows[ARRAY_LEN(keys)];
    struct keyring *r = NULL;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        rows[i] = (struct keyring_key){.tenant = "t", .note = ""};
        memcpy(rows[i].id, keys[i] + 4, KEYRING_ID_LEN);
        assert_int_equal(keyring_hash(pepper, span_cstr(keys[i]), rows[i].hash), 0);
    }
    rows[0].models = models;
    rows[0].n_models = ARRAY_LEN(models);
    rows[2].expires_s = NOW_S;
    assert_int_equal(keyring_new(pepper, rows, ARRAY_LEN(keys), &r, NULL, NULL), 0);
    return r;
}

/* "Name: value\nName: value" */
static struct http1_head head_of(const char *method, const char *target, const char *fields)
{
    struct http1_head h = {.method = span_cstr(method), .target = span_cstr(target)};
    struct span rest = span_cstr(fields);
    while (rest.n > 0) {
        struct span value = span_split(&rest, '\n');
        struct span name = span_split(&value, ':');
        h.fields[h.n_fields++] = (struct http1_field){name, span_trim(value)};
    }
    return h;
}

/* --- who asks --- */

static void credentials(void **state)
{
    (void)state;
    static const struct {
        const char *fields;
        enum tap_reason refusal;
        const char *id; /* NULL: none */
        const char *text;
    } rows[] = {
        {"Authorization: Bearer " KEY, TAP_REASON_NONE, "aaaaaaaa", ""},
        {"authorization: bearer " KEY, TAP_REASON_NONE, "aaaaaaaa", ""},
        {"AUTHORIZATION: BEARER   " KEY, TAP_REASON_NONE, "aaaaaaaa", ""},
        {"x-api-key: " KEY, TAP_REASON_NONE, "aaaaaaaa", ""},
        {"X-Api-Key: " OTHER, TAP_REASON_NONE, "bbbbbbbb", ""},
        {"api-key: " KEY, TAP_REASON_NONE, "aaaaaaaa", ""},
        {"x-goog-api-key: " KEY, TAP_REASON_NONE, "aaaaaaaa", ""},
        {"Authorization: Bearer none\nx-api-key: " KEY, TAP_REASON_NONE, "aaaaaaaa", ""},
        {"x-api-key: " KEY "\nAuthorization: Basic abc", TAP_REASON_NONE, "aaaaaaaa", ""},
        {"x-api-key: " KEY "\nAuthorization: Bearer " KEY, TAP_REASON_NONE, "aaaaaaaa", ""},
        {"x-api-key: " KEY "\nAuthorization: Bearer " OTHER, TAP_REASON_BAD_REQUEST, NULL, "two"},
        {"x-api-key: " KEY "\nx-api-key: " UNKNOWN, TAP_REASON_BAD_REQUEST, NULL, "two"},
        {"", TAP_REASON_UNAUTHORIZED, NULL, "Authorization: Bearer KEY"},
        {"Accept: */*\nCookie: " KEY, TAP_REASON_UNAUTHORIZED, NULL, "is needed"},
        {"Authorization:", TAP_REASON_UNAUTHORIZED, NULL, "is needed"},
        {"Authorization: " KEY, TAP_REASON_UNAUTHORIZED, NULL, "Authorization: Bearer KEY"},
        {"Authorization: Basic " KEY, TAP_REASON_UNAUTHORIZED, NULL, "no key of this gateway"},
        {"Authorization: Bearer", TAP_REASON_UNAUTHORIZED, NULL, "no key of this gateway"},
        {"Authorization: Bearer sk-123", TAP_REASON_UNAUTHORIZED, NULL, "no key of this gateway"},
        {"Authorization: Bearer " KEY "x", TAP_REASON_UNAUTHORIZED, NULL, "no key of this"},
        {"Authorization: Bearer " KEY " x", TAP_REASON_UNAUTHORIZED, NULL, "no key of this"},
        {"Authorization: Bearer " UNKNOWN, TAP_REASON_UNAUTHORIZED, NULL, "unknown gateway key"},
        {"x-api-key: ifm-aaaaaaaa-"
         "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB",
         TAP_REASON_UNAUTHORIZED, NULL, "unknown gateway key"},
        {"api-key: " EXPIRED, TAP_REASON_UNAUTHORIZED, "cccccccc", "cccccccc has expired"},
    };
    struct keyring *ring = new_ring();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct http1_head h = head_of("POST", "/v1/chat/completions", rows[i].fields);
        struct access_verdict v;
        int64_t n_before = stat_sum(STAT_KEY_CHECKS);
        access_identify(ring, &h, NOW_S, &v);
        assert_row(rows[i].fields, stat_sum(STAT_KEY_CHECKS) <= n_before + 1);
        assert_row(rows[i].fields, v.refusal == rows[i].refusal);
        assert_row(rows[i].fields,
                   rows[i].id ? v.key && strcmp(v.key->id, rows[i].id) == 0 : !v.key);
        assert_row(rows[i].fields, strstr(v.text, rows[i].text) != NULL);
        assert_row(rows[i].fields, (v.text[0] == '\0') == (v.refusal == TAP_REASON_NONE));
        assert_row(rows[i].fields,
                   strstr(v.text, "AAAA") == NULL && strstr(v.text, "BBBB") == NULL);
        assert_row(rows[i].fields, strstr(v.text, "sk-123") == NULL);
    }
    keyring_unref(ring);
}

static void without_keys_everybody_may(void **state)
{
    (void)state;
    struct http1_head h = head_of("POST", "/v1/chat/completions", "Authorization: Bearer sk-x");
    struct access_verdict v;
    access_identify(NULL, &h, NOW_S, &v);
    assert_int_equal(v.refusal, TAP_REASON_NONE);
    assert_null(v.key);
    struct access_asked a = {.head = &h, .endpoint = dialect_endpoint(h.method, h.target)};
    access_permit(&a, &v);
    assert_int_equal(v.refusal, TAP_REASON_NONE);
}

static void the_path_knows_the_same_fields(void **state)
{
    (void)state;
    static const char *const names[] = {"authorization", "X-API-KEY", "api-key", "X-Goog-Api-Key"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_true(tap_is_credential(span_cstr(names[i])));
    assert_false(tap_is_credential(SPAN("cookie")));
}

/* --- what for --- */

static enum tap_reason asked(const struct keyring *ring, const char *key, struct http1_head *h,
                             const char *body, bool is_complete, char *ret_text)
{
    struct dialect_request r;
    struct access_verdict v;
    struct span prefix;
    struct span target = path_of_target(h->target);
    const struct dialect_endpoint *e = dialect_endpoint_split(h->method, target, &prefix);
    char bearer[KEYRING_KEY_LEN + 8];
    (void)snprintf(bearer, sizeof(bearer), "Bearer %s", key);
    h->fields[h->n_fields++] = (struct http1_field){SPAN("Authorization"), span_cstr(bearer)};
    access_identify(ring, h, NOW_S, &v);
    if (e->dialect)
        e->dialect->inspect(target, span_cstr(body), is_complete, &r);
    struct access_asked a = {h, target, e, prefix, e->dialect ? &r : NULL};
    access_permit(&a, &v);
    (void)span_copy(span_cstr(v.text), ret_text, ACCESS_TEXT_MAX);
    return v.refusal;
}

#define CHAT "/v1/chat/completions"
#define GOOD "{\"model\":\"good\",\"messages\":[]}"
#define JSON "Content-Type: application/json"
#define OK   TAP_REASON_NONE
#define DENY TAP_REASON_FORBIDDEN
#define BAD  TAP_REASON_BAD_REQUEST

static const struct request {
    const char *target;
    const char *body;
    enum tap_reason refusal;
    const char *text;   /* in the refusal's */
    const char *fields; /* NULL: JSON */
    const char *method; /* NULL: POST */
} requests[] = {
    /* every dialect: allowed, not allowed, not told */
    {CHAT, GOOD, OK, "", NULL, NULL},
    {CHAT, "{\"model\":\"llama-7b\"}", OK, "", NULL, NULL},
    {CHAT, "{\"model\":\"bad\"}", DENY, "may use: good, llama-*, models/x", NULL, NULL},
    {CHAT, "{}", DENY, "names none", NULL, NULL},
    {CHAT, "{\"model\":\"\"}", DENY, "names none", NULL, NULL},
    {CHAT, "{\"model\":null}", DENY, "names none", NULL, NULL},
    {CHAT, "{\"model\":[\"good\"]}", DENY, "names none", NULL, NULL},
    {CHAT, "{\"model\":{\"model\":\"good\"}}", DENY, "names none", NULL, NULL},
    {CHAT, "{\"x\":{\"model\":\"good\"}}", DENY, "names none", NULL, NULL},
    {"/v1/completions", "{\"model\":\"good\"}", OK, "", NULL, NULL},
    {"/v1/completions", "{\"model\":\"bad\"}", DENY, "may not use", NULL, NULL},
    {"/v1/embeddings", "{\"model\":\"good\"}", OK, "", NULL, NULL},
    {"/v1/embeddings", "{\"model\":\"bad\"}", DENY, "may not use", NULL, NULL},
    {"/v1/responses", "{\"model\":\"good\"}", OK, "", NULL, NULL},
    {"/v1/responses", "{\"prompt\":{\"id\":\"p\"}}", DENY, "names none", NULL, NULL},
    {"/v1/messages", "{\"model\":\"good\"}", OK, "", NULL, NULL},
    {"/anthropic/v1/messages", "{\"model\":\"bad\"}", DENY, "may not use", NULL, NULL},
    {"/v1/messages/count_tokens", "{\"model\":\"good\"}", OK, "", NULL, NULL},
    {"/v1/messages/count_tokens", "{\"model\":\"bad\"}", DENY, "may not use", NULL, NULL},
    {"/api/chat", "{\"model\":\"good\"}", OK, "", NULL, NULL},
    {"/api/chat", "{\"model\":\"good\",\"Model\":\"bad\"}", BAD, "more than one way", NULL, NULL},
    {"/api/generate", "{\"model\":\"llama-3:8b\"}", OK, "", NULL, NULL},
    {"/api/generate", "{\"model\":\"bad\"}", DENY, "may not use", NULL, NULL},
    {"/api/embed", "{\"model\":\"good\"}", OK, "", NULL, NULL},
    {"/api/embed", "{\"model\":\"bad\"}", DENY, "may not use", NULL, NULL},
    {"/v1beta/models/good:generateContent", "{\"contents\":[]}", OK, "", NULL, NULL},
    {"/v1beta/models/llama-1:streamGenerateContent?alt=sse", "{}", OK, "", NULL, NULL},
    {"/v1beta/models/bad:generateContent", "{}", DENY, "may not use", NULL, NULL},
    {"/v1beta/models/good:generateContent", "{\"model\":\"models/bad\"}", BAD, "", NULL, NULL},
    {"/v1beta/models/bad:generateContent", "{\"model\":\"good\"}", DENY, "\"bad\"", NULL, NULL},
    {"/v1beta/tunedModels/good:generateContent", "{}", DENY, "tunedModels", NULL, NULL},
    {"/v1/projects/p/locations/l/endpoints/good:generateContent", "{}", DENY, "endpoints", NULL,
     NULL},
    {"/v1/projects/p/locations/l/publishers/google/models/good:generateContent", "{}", OK, "", NULL,
     NULL},
    {"/v1/models/good/bad:generateContent", "{}", DENY, "\"bad\" in the path", NULL, NULL},
    {"/v1/models/:generateContent", "{}", DENY, "", NULL, NULL},
    {"/v1internal:generateContent", "{\"model\":\"good\",\"request\":{}}", OK, "", NULL, NULL},
    {"/v1internal:generateContent", "{\"model\":\"bad\"}", DENY, "may not use", NULL, NULL},
    {"/v1internal:generateContent", "{\"model\":\"good\",\"request\":{\"model\":\"bad\"}}", BAD, "",
     NULL, NULL},
    /* bodies that two readers read differently */
    {CHAT, "{\"model\":\"good\",\"model\":\"bad\"}", BAD, "more than one way", NULL, NULL},
    {CHAT, "{\"model\":\"bad\",\"model\":\"good\"}", BAD, "more than one way", NULL, NULL},
    {CHAT, "{\"model\":\"good\",\"mod\\u0065l\":\"bad\"}", BAD, "", NULL, NULL},
    {CHAT, "{\"mod\\u0065l\":\"good\"}", BAD, "", NULL, NULL},
    {CHAT, "{\"model\":\"good\",\"MODEL\":\"bad\"}", BAD, "", NULL, NULL},
    {CHAT, "{\"model\":\"good\",\"model\\u0000\":\"bad\"}", BAD, "", NULL, NULL},
    {CHAT, "{\"model\":\"good\",\"models\":[\"bad\"]}", BAD, "fallbacks", NULL, NULL},
    {CHAT, "{\"model\":\"good\",\"fallbacks\":[\"bad\"]}", BAD, "fallbacks", NULL, NULL},
    {CHAT, "{\"model\":\"good\\u0000bad\"}", DENY, "", NULL, NULL},
    {CHAT, "{\"model\":\"g\\u006fod\"}", OK, "", NULL, NULL}, /* every reader reads that */
    {CHAT, "{\"model\":\"good\"} {\"model\":\"bad\"}", DENY, "no JSON", NULL, NULL},
    {CHAT, "{\"model\":\"good\"", DENY, "no JSON", NULL, NULL},
    {CHAT, "{\"model\":\"good\",}", DENY, "no JSON", NULL, NULL},
    {CHAT, "{'model':'good'}", DENY, "no JSON", NULL, NULL},
    {CHAT, "{\"model\":\"good\",\"x\":NaN}", DENY, "no JSON", NULL, NULL},
    {CHAT, "{/**/\"model\":\"good\"}", DENY, "no JSON", NULL, NULL},
    {CHAT, "[{\"model\":\"good\"}]", DENY, "no JSON", NULL, NULL},
    {CHAT, "\xef\xbb\xbf{\"model\":\"good\"}", DENY, "no JSON", NULL, NULL},
    {CHAT, "", DENY, "no JSON", NULL, NULL},
    {CHAT, "model=good", DENY, "no JSON", NULL, NULL},
    /* heads that say it is not what it seems */
    {CHAT, GOOD, OK, "", "", NULL},
    {CHAT, GOOD, OK, "", "Content-Type: application/json; charset=\"UTF-8\"", NULL},
    {CHAT, GOOD, OK, "", "Content-Type: application/vnd.api+json\nContent-Encoding: identity",
     NULL},
    {CHAT, GOOD, DENY, "compressed", JSON "\nContent-Encoding: gzip", NULL},
    {CHAT, GOOD, DENY, "compressed", JSON "\nContent-Encoding: identity, br", NULL},
    {CHAT, GOOD, DENY, "compressed", "content-encoding: identity\nContent-Encoding: zstd", NULL},
    {CHAT, GOOD, DENY, "application/json", "Content-Type: multipart/form-data; boundary=x", NULL},
    {CHAT, GOOD, DENY, "application/json", "Content-Type: application/x-www-form-urlencoded", NULL},
    {CHAT, GOOD, DENY, "application/json", JSON "\nContent-Type: text/plain", NULL},
    {CHAT, GOOD, DENY, "UTF-8", "Content-Type: application/json; charset=utf-7", NULL},
    {CHAT, GOOD, DENY, "UTF-8", "Content-Type: application/json; charset*=utf-8''utf-7", NULL},
    {CHAT, GOOD, DENY, "UTF-8", JSON "; a=\"; charset=utf-8\"; charset=utf-16", NULL},
    /* paths */
    {"/v1/chat/completions/", GOOD, OK, "", NULL, NULL},
    {"http://host/v1/chat/completions", GOOD, OK, "", NULL, NULL},
    {"/chat/completions?x=%2e//..", GOOD, OK, "", NULL, NULL},
    {"/v1/chat%2fcompletions", GOOD, BAD, "not plain", NULL, NULL},
    {"/v1beta/models/go%6fd:generateContent", "{}", BAD, "not plain", NULL, NULL},
    {"//v1/chat/completions", GOOD, BAD, "not plain", NULL, NULL},
    {"/v1/chat/completions//", GOOD, BAD, "not plain", NULL, NULL},
    {"/v1/../v1/chat/completions", GOOD, BAD, "not plain", NULL, NULL},
    {"/v1/./chat/completions", GOOD, BAD, "not plain", NULL, NULL},
    {"/v1/chat/completions/..", GOOD, BAD, "not plain", NULL, NULL},
    {"/v1;a=b/chat/completions", GOOD, BAD, "not plain", NULL, NULL},
    {"/v1\\chat/completions", GOOD, BAD, "not plain", NULL, NULL},
    {"/v1/models#/chat/completions", GOOD, BAD, "not plain", NULL, NULL},
    {"/openai/deployments/good/chat/completions?api-version=1", GOOD, OK, "", NULL, NULL},
    {"/openai/deployments/bad/chat/completions", GOOD, DENY, "\"bad\"", NULL, NULL},
    {"/openai/deployments/good/chat/completions", "{}", DENY, "names none", NULL, NULL},
    {"/v1/engines/bad/completions", "{\"model\":\"good\"}", DENY, "\"bad\"", NULL, NULL},
    {"/v1/engines/completions", "{\"model\":\"good\"}", DENY, "engines", NULL, NULL},
    {"/models/bad/v1/chat/completions", GOOD, DENY, "\"bad\"", NULL, NULL},
    {"/route-to-bad/v1/chat/completions", GOOD, DENY, "route-to-bad", NULL, NULL},
    /* endpoints without a dialect, and those that need no model */
    {"/v1/rerank", GOOD, DENY, "none that the gateway reads", NULL, NULL},
    {"/v1/audio/speech", GOOD, DENY, "none that the gateway reads", NULL, NULL},
    {"/v1/batches", GOOD, DENY, "none that the gateway reads", NULL, NULL},
    {CHAT, GOOD, DENY, "none that the gateway reads", NULL, "PUT"},
    {CHAT, "", DENY, "none that the gateway reads", NULL, "GET"},
    {"*", "", BAD, "", NULL, "OPTIONS"},
    {"/metrics", "", DENY, "", NULL, "GET"},
    {"/v1/models", "", OK, "", "", "GET"},
    {"/v1/models/any", "", OK, "", "", "GET"},
    {"/api/tags", "", OK, "", "", "GET"},
    {"/health", "", OK, "", "", "GET"},
    {"/ping", "", OK, "", "", "HEAD"},
    {"/x/../health", "", BAD, "", "", "GET"},
    {"/v1/models", "", DENY, "", "", "POST"},
};

static void restricted_keys(void **state)
{
    (void)state;
    struct keyring *ring = new_ring();
    for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
        const struct request *q = &requests[i];
        struct http1_head h =
            head_of(q->method ? q->method : "POST", q->target, q->fields ? q->fields : JSON);
        char text[ACCESS_TEXT_MAX];
        char name[1024];
        enum tap_reason r = asked(ring, KEY, &h, q->body, true, text);
        (void)snprintf(name, sizeof(name), "%zu %s %s: %s", i, q->target, q->body, text);
        assert_row(name, r == q->refusal);
        assert_row(name, strstr(text, q->text) != NULL);
        assert_row(name, strstr(text, "AAAA") == NULL);
        assert_row(name, (text[0] == '\0') == (r == OK));
    }
    keyring_unref(ring);
}

/* The same requests of a key without restriction all pass. */
static void other_keys(void **state)
{
    (void)state;
    struct keyring *ring = new_ring();
    for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
        const struct request *q = &requests[i];
        struct http1_head h =
            head_of(q->method ? q->method : "POST", q->target, q->fields ? q->fields : JSON);
        char text[ACCESS_TEXT_MAX];
        assert_row(q->target, asked(ring, OTHER, &h, q->body, i % 2, text) == OK);
    }
    keyring_unref(ring);
}

/* A second "model" may follow behind what was read. */
static void windows_are_not_enough(void **state)
{
    (void)state;
    struct keyring *ring = new_ring();
    static const char *const targets[] = {CHAT, "/v1beta/models/good:generateContent", "/api/chat"};
    for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
        struct http1_head h = head_of("POST", targets[i], JSON);
        char text[ACCESS_TEXT_MAX];
        assert_int_equal(asked(ring, KEY, &h, GOOD, false, text), DENY);
        assert_non_null(strstr(text, "request_window"));
    }
    keyring_unref(ring);
}

static void long_names(void **state)
{
    (void)state;
    struct keyring *ring = new_ring();
    for (int n = DIALECT_MODEL_MAX - 8; n < DIALECT_MODEL_MAX + 8; n++) {
        char body[DIALECT_MODEL_MAX + 64];
        char text[ACCESS_TEXT_MAX];
        struct http1_head h = head_of("POST", CHAT, JSON);
        int total = n + (int)strlen("llama-");
        (void)snprintf(body, sizeof(body), "{\"model\":\"llama-%0*d\"}", n, 1);
        assert_int_equal(asked(ring, KEY, &h, body, true, text),
                         total < DIALECT_MODEL_MAX ? OK : DENY);
    }
    keyring_unref(ring);
}

/* Texts that do not fit are cut, the list of models with the number of those left out. */
static void long_lists(void **state)
{
    (void)state;
    static const unsigned char pepper[KEYRING_PEPPER_BYTES] = {7};
    static char names[KEYRING_MODELS_MAX][KEYRING_MODEL_MAX];
    static const char *models[KEYRING_MODELS_MAX];
    struct keyring_key row = {.tenant = "t", .note = "", .id = "aaaaaaaa", .models = models};
    struct keyring *ring = NULL;
    for (size_t i = 0; i < KEYRING_MODELS_MAX; i++) {
        memset(names[i], 'a' + (int)(i % 26), i % 2 ? KEYRING_MODEL_MAX - 1 : 20);
        models[i] = names[i];
    }
    assert_int_equal(keyring_hash(pepper, span_cstr(KEY), row.hash), 0);
    for (row.n_models = 1; row.n_models <= KEYRING_MODELS_MAX; row.n_models++) {
        struct http1_head h = head_of("POST", CHAT, JSON);
        char text[ACCESS_TEXT_MAX];
        assert_int_equal(keyring_new(pepper, &row, 1, &ring, NULL, NULL), 0);
        assert_int_equal(asked(ring, KEY, &h, GOOD, true, text), DENY);
        assert_non_null(strstr(text, "it may use: aaaa"));
        assert_true((row.n_models > 3) == (strstr(text, " more") != NULL));
        keyring_unref(ring);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(credentials),
        cmocka_unit_test(without_keys_everybody_may),
        cmocka_unit_test(the_path_knows_the_same_fields),
        cmocka_unit_test(restricted_keys),
        cmocka_unit_test(other_keys),
        cmocka_unit_test(windows_are_not_enough),
        cmocka_unit_test(long_names),
        cmocka_unit_test(long_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
