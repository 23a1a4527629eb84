/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/business: the order of sources, odd values, and that nothing else of a request is told.
 */
#include "harness.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "memfail.h"
#include "policy/business.h"
#include "policy/keyring.h"

static struct business *business_of(const struct business_label *labels, size_t n)
{
    struct business *b = NULL;
    assert_int_equal(business_new(labels, n, &b), 0);
    return b;
}

static const struct keyring_label key_labels[] = {{"team", "search"}, {"empty", ""}};
static const struct keyring_key key = {
    .tenant = "acme", .labels = key_labels, .n_labels = ARRAY_LEN(key_labels)};

/* The value that one label "tenant" with these sources has; NULL: none. Static. */
static const char *told_by(const char *const *sources, size_t n, const struct http1_head *head,
                           const char *metadata, const struct keyring_key *k)
{
    static struct business_told told;
    struct business_label label = {"tenant", sources, n};
    struct business *b = business_of(&label, 1);
    struct business_asked asked = {head, span_cstr(metadata), k};
    business_tell(b, &asked, &told);
    business_unref(b);
    if (told.n == 0)
        return NULL;
    assert_int_equal(told.n, 1);
    assert_int_equal(told.labels[0].index, 0);
    return told.labels[0].value;
}

static const char *told_by_one(const char *source, const struct http1_head *head,
                               const char *metadata, const struct keyring_key *k)
{
    return told_by(&source, 1, head, metadata, k);
}

static void assert_told(const char *what, const char *got, const char *want)
{
    assert_row(what, (got == NULL) == (want == NULL));
    if (want)
        assert_string_equal(got, want);
}

static const struct http1_head with_tenant = {
    .n_fields = 2,
    .fields = {{SPAN_INIT("Authorization"), SPAN_INIT("Bearer secret")},
               {SPAN_INIT("X-TENANT"), SPAN_INIT("globex")}}};
static const struct http1_head bare = {.n_fields = 0};

static void the_first_source_that_tells_wins(void **state)
{
    (void)state;
    static const char *const sources[] = {"key", "header:x-tenant", "metadata:tenant"};
    static const char body[] = "{\"tenant\":\"initech\"}";
    assert_told("key", told_by(sources, 3, &with_tenant, body, &key), "acme");
    assert_told("header", told_by(sources, 3, &with_tenant, body, NULL), "globex");
    assert_told("metadata", told_by(sources, 3, &bare, body, NULL), "initech");
    assert_told("none", told_by(sources, 3, &bare, "", NULL), NULL);
    assert_told("no sources", told_by(sources, 0, &with_tenant, body, &key), NULL);
}

static void keys_tell_tenant_and_labels(void **state)
{
    (void)state;
    assert_told("its name", told_by_one("key", &bare, "", &key), "acme");
    assert_told("team", told_by_one("key:team", &bare, "", &key), "search");
    assert_told("tenant", told_by_one("key:tenant", &bare, "", &key), "acme");
    assert_told("empty", told_by_one("key:empty", &bare, "", &key), NULL);
    assert_told("other", told_by_one("key:other", &bare, "", &key), NULL);
    assert_told("no key", told_by_one("key:team", &bare, "", NULL), NULL);
}

static void metadata_is_read_as_servers_do(void **state)
{
    (void)state;
    static const struct {
        const char *metadata, *want;
    } rows[] = {
        {"{\"user_tier\":\"gold\"}", "gold"},
        {" {\"a\":{\"user_tier\":\"x\"},\"user_tier\":\"gold\",\"b\":[1]}", "gold"},
        {"{\"user_tier\":\"iron\",\"user_tier\":\"gold\"}", "gold"},
        {"{\"user_tier\":\"gold\",\"user_tier\":null}", NULL},
        {"{\"user_ti\\u0065r\":\"gold\"}", "gold"},
        {"{\"user_tier\":\"g\\u006fld \\ud83e\\udd99\"}", "gold \xf0\x9f\xa6\x99"},
        {"{\"user_tier\":\"a\\nb\\u0000c\\u007f\"}", "a?b?c?"},
        {"{\"user_tier\":\"\\ud800\"}", "\xef\xbf\xbd"},
        {"{\"user_tier\":\"\xff\xe6\xa8\"}", "??"},
        {"{\"user_tier\":\"  gold\\t\"}", "gold"},
        {"{\"user_tier\":17}", "17"},
        {"{\"user_tier\":-1.5e3}", "-1.5e3"},
        {"{\"user_tier\":true}", "true"},
        {"{\"user_tier\":false}", "false"},
        {"{\"user_tier\":null}", NULL},
        {"{\"user_tier\":\"\"}", NULL},
        {"{\"user_tier\":\"  \"}", NULL},
        {"{\"user_tier\":[\"gold\"]}", NULL},
        {"{\"user_tier\":{\"a\":1}}", NULL},
        {"{\"USER_TIER\":\"gold\"}", NULL},
        {"{\"user_tier\":\"gold\"", NULL},
        {"[\"user_tier\",\"gold\"]", NULL},
        {"\"user_tier\"", NULL},
        {"null", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_told(rows[i].metadata,
                    told_by_one("metadata:user_tier", &bare, rows[i].metadata, NULL), rows[i].want);
}

/* Values end where a character ends. */
static void long_values_are_cut(void **state)
{
    (void)state;
    enum { MAX = BUSINESS_VALUE_MAX - 1 };
    char text[400];
    char body[500];
    for (size_t pad = 0; pad < 4; pad++) {
        memset(text, 'x', pad);
        for (size_t i = pad; i + 4 < sizeof(text); i += 3)
            memcpy(text + i, "\xe6\xa8\xa1", 4);
        struct http1_head head = {.n_fields = 1,
                                  .fields = {{SPAN_INIT("X-Tenant"), {text, strlen(text)}}}};
        const char *value = told_by_one("header:X-Tenant", &head, "", NULL);
        size_t n = strlen(value);
        assert_true(n <= MAX && n > MAX - 3 && (n - pad) % 3 == 0);
        assert_memory_equal(value, text, n);
        (void)snprintf(body, sizeof(body), "{\"t\":\"%s\"}", text);
        assert_int_equal(strlen(told_by_one("metadata:t", &bare, body, NULL)), n);
    }
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    struct http1_head head = {.n_fields = 1, .fields = {{SPAN_INIT("X-Tenant"), span_cstr(text)}}};
    assert_int_equal(strlen(told_by_one("header:X-Tenant", &head, "", NULL)), MAX);
}

/* Several labels: those without a value leave no gap, and say which they are. */
static void labels_keep_their_index(void **state)
{
    (void)state;
    static const char *const tenant[] = {"header:X-Tenant"};
    static const char *const nothing[] = {"header:X-None"};
    static const char *const tier[] = {"metadata:tier"};
    static const struct business_label labels[] = {
        {"nothing", nothing, 1}, {"tenant", tenant, 1}, {"tier", tier, 1}};
    struct business *b = business_of(labels, 3);
    struct business_asked asked = {.head = &with_tenant, .metadata = SPAN("{\"tier\":\"gold\"}")};
    struct business_told told;
    business_tell(b, &asked, &told);
    assert_int_equal(told.n, 2);
    assert_string_equal(told.labels[0].name, "tenant");
    assert_int_equal(told.labels[0].index, 1);
    assert_string_equal(told.labels[1].value, "gold");
    assert_int_equal(told.labels[1].index, 2);
    assert_span_equal("tenant", business_find(&told, SPAN("tenant")), SPAN("globex"));
    assert_int_equal(business_find(&told, SPAN("nothing")).n, 0);
    assert_null(business_unref(business_ref(b)));
    business_unref(b);
    assert_null(business_ref(NULL));
}

static void sources_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_one;
    } rows[] = {
        {"key", true},
        {"key:team", true},
        {"header:X-Tenant", true},
        {"metadata:user_id", true},
        {"metadata:a:b", true},
        {"", false},
        {"key:", false},
        {"header", false},
        {"header:", false},
        {"metadata:", false},
        {"body:prompt", false},
        {"Header:X", false},
        {"header:Authorization", false},
        {"header:authorization", false},
        {"header:X-Api-Key", false},
        {"header:api-key", false},
        {"header:x-goog-api-key", false},
        {"header:cookie", false},
        {"header:Proxy-Authorization", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err e = {0};
        assert_row(rows[i].text, (business_check_source(rows[i].text, &e) == 0) == rows[i].is_one);
        const struct business_label label = {"a", &rows[i].text, 1};
        struct business *b = NULL;
        int r = business_new(&label, 1, &b);
        assert_row(rows[i].text, r == (rows[i].is_one ? 0 : -EINVAL));
        business_unref(b);
    }
    static const char *const source[] = {"key"};
    static const struct business_label five[] = {
        {"a", source, 1}, {"b", source, 1}, {"c", source, 1}, {"d", source, 1}, {"e", source, 1}};
    struct business *b = NULL;
    assert_int_equal(business_new(five, 5, &b), -EINVAL);
    assert_null(b);
}

static int attempt(void *ctx)
{
    (void)ctx;
    static const char *const source[] = {"key"};
    const struct business_label label = {"a", source, 1};
    struct business *b = NULL;
    int r = business_new(&label, 1, &b);
    assert_true((r == 0) == (b != NULL));
    business_unref(b);
    return r;
}

static void without_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_source_that_tells_wins),
        cmocka_unit_test(keys_tell_tenant_and_labels),
        cmocka_unit_test(metadata_is_read_as_servers_do),
        cmocka_unit_test(long_values_are_cut),
        cmocka_unit_test(labels_keep_their_index),
        cmocka_unit_test(sources_are_checked),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
