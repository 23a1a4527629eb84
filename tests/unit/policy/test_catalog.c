/* SPDX-License-Identifier: Apache-2.0 */
/* policy/catalog: which requests ask for models, and what each API is answered. */
#include "harness.h"

#include <errno.h>

#include "base/attr.h"
#include "policy/catalog.h"

static const char *const models[] = {"b", "a/x", "p*"};
static const char *const aliases[] = {"alias=b"};

static struct routes *make(void)
{
    static const struct routes_upstream one[] = {
        {.name = "u", .weight = 1, .models = models, .n_models = 3}};
    struct routes_config config = {
        .upstreams = one, .n_upstreams = 1, .aliases = aliases, .n_aliases = 1};
    struct routes *r = NULL;
    assert_int_equal(routes_new(&config, &r), 0);
    return r;
}

static void which_requests(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int form; /* -1: none */
        const char *one;
    } rows[] = {
        {"/v1/models", CATALOG_OPENAI, ""},
        {"/v1/models/", CATALOG_OPENAI, ""},
        {"/v1/models?limit=5", CATALOG_OPENAI, ""},
        {"/v1/models/a/x", CATALOG_OPENAI, "a/x"},
        {"/v1beta/models", CATALOG_GEMINI, ""},
        {"/v1beta/models/b", CATALOG_GEMINI, "b"},
        {"/api/tags", CATALOG_OLLAMA, ""},
        {"/api/tags/x", -1, ""},
        {"/v1/modelsx", -1, ""},
        {"/v1/chat/completions", -1, ""},
        {"/x/v1/models", -1, ""},
        {"", -1, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct http1_head head = {.method = SPAN("GET")};
        struct catalog_request req;
        bool is_taken = catalog_take(&head, span_cstr(rows[i].path), &req);
        assert_row(rows[i].path, is_taken == (rows[i].form >= 0));
        if (!is_taken)
            continue;
        assert_row(rows[i].path, (int)req.form == rows[i].form);
        assert_span_equal(rows[i].path, req.one, span_cstr(rows[i].one));
        head.method = SPAN("POST");
        assert_false(catalog_take(&head, span_cstr(rows[i].path), &req));
    }
    struct http1_head head = {.method = SPAN("GET"), .n_fields = 1};
    struct catalog_request req;
    head.fields[0] = (struct http1_field){SPAN("Anthropic-Version"), SPAN("2023-06-01")};
    assert_true(catalog_take(&head, SPAN("/v1/models"), &req));
    assert_int_equal(req.form, CATALOG_ANTHROPIC);
}

static bool is_short(void *ctx, const char *name)
{
    (void)ctx;
    return strlen(name) == 1;
}

static void what_is_answered(void **state)
{
    (void)state;
    static const struct {
        struct catalog_request req;
        catalog_filter *filter;
        const char *want; /* NULL: not found */
    } rows[] = {
        {{CATALOG_OPENAI, SPAN_INIT("")},
         is_short,
         "{\"object\":\"list\",\"data\":[{\"id\":\"b\",\"object\":\"model\",\"created\":0,"
         "\"owned_by\":\"inferometer\"}]}"},
        {{CATALOG_OPENAI, SPAN_INIT("a/x")},
         NULL,
         "{\"id\":\"a/x\",\"object\":\"model\",\"created\":0,\"owned_by\":\"inferometer\"}"},
        {{CATALOG_OPENAI, SPAN_INIT("a/x")}, is_short, NULL},
        {{CATALOG_OPENAI, SPAN_INIT("p1")}, NULL, NULL},
        {{CATALOG_ANTHROPIC, SPAN_INIT("")},
         is_short,
         "{\"has_more\":false,\"data\":[{\"type\":\"model\",\"id\":\"b\",\"display_name\":\"b\","
         "\"created_at\":\"1970-01-01T00:00:00Z\"}]}"},
        {{CATALOG_GEMINI, SPAN_INIT("")},
         is_short,
         "{\"models\":[{\"name\":\"models/b\",\"displayName\":\"b\"}]}"},
        {{CATALOG_OLLAMA, SPAN_INIT("")},
         is_short,
         "{\"models\":[{\"name\":\"b\",\"model\":\"b\",\"modified_at\":\"1970-01-01T00:00:00Z\","
         "\"size\":0,\"digest\":\"\"}]}"},
    };
    struct routes *r = make();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf out;
        bool is_found;
        buf_init(&out, 4096);
        assert_int_equal(catalog_write(r, &rows[i].req, rows[i].filter, NULL, &out, &is_found), 0);
        assert_int_equal(is_found, rows[i].want != NULL);
        assert_span_equal("body", buf_span(&out), span_cstr(rows[i].want ? rows[i].want : ""));
        buf_done(&out);
    }
    struct buf out;
    bool is_found;
    buf_init(&out, 20);
    assert_int_equal(catalog_write(r, &rows[0].req, NULL, NULL, &out, &is_found), -EMSGSIZE);
    buf_done(&out);
    routes_unref(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(which_requests),
        cmocka_unit_test(what_is_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
