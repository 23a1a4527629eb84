/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <stdio.h>

#include "base/attr.h"
#include "doctor/doctor_status.h"

#define FIELD(name, value)                                                                         \
    {                                                                                              \
        SPAN_INIT(name), SPAN_INIT(value)                                                          \
    }

static const struct {
    int status;
    struct http1_field field; /* one of the answer's */
    const char *body;
    enum doctor_cause cause;
} rows[] = {
    {200, FIELD("Content-Type", "application/json"), "{}", CAUSE_NO_CAUSE},
    {204, FIELD("X", "y"), "", CAUSE_NO_CAUSE},
    {200, FIELD("Content-Type", "text/html; charset=utf-8"), "x", CAUSE_HTTP_PAGE},
    {200, FIELD("X", "y"), "\n <!DOCTYPE html>", CAUSE_HTTP_PAGE},
    {307, FIELD("Location", "/v1/models/"), "", CAUSE_HTTP_REDIRECT},
    {308, FIELD("Location", "https://h"), "", CAUSE_HTTP_REDIRECT},
    {304, FIELD("Location", "x"), "", CAUSE_HTTP_400},
    {302, FIELD("X", "y"), "", CAUSE_HTTP_400},
    {400, FIELD("X", "y"), "{}", CAUSE_HTTP_400},
    {400, FIELD("Server", "nginx"), "The plain HTTP request was sent to HTTPS port",
     CAUSE_HTTP_TO_TLS},
    {401, FIELD("WWW-Authenticate", "Bearer"), "{}", CAUSE_HTTP_401},
    {401, FIELD("WWW-Authenticate", "BASIC realm=\"x\""), "{}", CAUSE_HTTP_401_PROXY},
    {401, FIELD("WWW-Authenticate", "Negotiate"), "{}", CAUSE_HTTP_401_PROXY},
    {403, FIELD("Content-Type", "application/json"), "{}", CAUSE_HTTP_403},
    {403, FIELD("Content-Type", "text/html"), "", CAUSE_HTTP_403_WALL},
    {404, FIELD("X", "y"), "", CAUSE_HTTP_404},
    {405, FIELD("X", "y"), "", CAUSE_HTTP_405},
    {407, FIELD("X", "y"), "", CAUSE_PROXY_LOGIN},
    {429, FIELD("X", "y"), "", CAUSE_HTTP_429},
    {418, FIELD("X", "y"), "", CAUSE_HTTP_400},
    {500, FIELD("X", "y"), "", CAUSE_HTTP_5XX},
    {501, FIELD("X", "y"), "", CAUSE_HTTP_501},
    {502, FIELD("Content-Type", "text/html"), "<html>", CAUSE_HTTP_502},
    {503, FIELD("X", "y"), "", CAUSE_HTTP_503},
    {504, FIELD("X", "y"), "", CAUSE_HTTP_504},
    {507, FIELD("X", "y"), "", CAUSE_HTTP_5XX},
    {522, FIELD("X", "y"), "", CAUSE_HTTP_502},
    {599, FIELD("X", "y"), "", CAUSE_HTTP_5XX},
};

static void test_statuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct doctor_answer a = {
            .has_head = true,
            .status = rows[i].status,
            .fields = &rows[i].field,
            .n_fields = 1,
            .body = span_cstr(rows[i].body),
        };
        char name[64];

        (void)snprintf(name, sizeof(name), "%d of row %zu", rows[i].status, i);
        assert_row(name, doctor_status_cause(&a) == rows[i].cause);
    }
}

static void test_hops(void **state)
{
    static const struct {
        struct http1_field field;
        const char *hop;
    } hops[] = {
        {FIELD("server", "nginx/1.22.1"), "nginx"},
        {FIELD("SERVER", "NGINX"), "nginx"},
        {FIELD("Server", "uvicorn"), NULL},
        {FIELD("CF-Ray", "8a"), "Cloudflare"},
        {FIELD("Via", "1.1 x (squid/5.7)"), "Squid"},
        {FIELD("Server", "openresty/1"), "OpenResty"},
        {FIELD("X-LiteLLM-Version", "1.7"), "LiteLLM"},
        {FIELD("Server", "envoy"), "Envoy"},
        {FIELD("Server", ""), NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(hops); i++) {
        struct doctor_answer a = {.fields = &hops[i].field, .n_fields = 1};
        const char *advice = NULL, *hop = doctor_hop(&a, &advice);

        assert_row(hops[i].field.value.p, (hop == NULL) == (hops[i].hop == NULL));
        if (hop) {
            assert_string_equal(hop, hops[i].hop);
            assert_non_null(advice);
        }
    }
}

static void test_clocks(void **state)
{
    static const struct http1_field date = FIELD("Date", "Thu, 01 Jan 1970 00:00:10 GMT");
    static const struct http1_field bad = FIELD("Date", "yesterday");
    struct doctor_answer a = {
        .has_head = true, .fields = &date, .n_fields = 1, .wall_us = 70 * 1000000};
    int64_t skew_s = 7;

    (void)state;
    assert_true(doctor_skew(&a, &skew_s));
    assert_int_equal(skew_s, 60);
    a.fields = &bad;
    skew_s = 7;
    assert_false(doctor_skew(&a, &skew_s));
    assert_int_equal(skew_s, 7);
    a.n_fields = 0;
    assert_false(doctor_skew(&a, &skew_s));
}

static void test_expiry(void **state)
{
    enum { DAY = 24 * 3600 };

    (void)state;
    assert_true(doctor_expires_soon(DAY, 91 * DAY, 78 * DAY));
    assert_false(doctor_expires_soon(DAY, 91 * DAY, 76 * DAY));
    assert_false(doctor_expires_soon(DAY, 8 * DAY, 7 * DAY)); /* made for a week */
    assert_false(doctor_expires_soon(0, 0, 7 * DAY));         /* there is none */
}

/* Every cause has a name of its own, and all that are told say what to do. */
static void test_causes(void **state)
{
    (void)state;
    for (int i = 1; i < CAUSE_COUNT_; i++) {
        const struct doctor_cause_info *c = &doctor_causes[i];

        assert_non_null(c->id);
        assert_row(c->id, c->id[0] != '\0' && c->remedy[0] != '\0');
        assert_row(c->id, c->level != DOCTOR_OK);
        assert_row(c->id, c->remedy[strlen(c->remedy) - 1] != '.');
        for (int k = 1; k < i; k++)
            assert_row(c->id, strcmp(c->id, doctor_causes[k].id) != 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statuses), cmocka_unit_test(test_hops),
        cmocka_unit_test(test_clocks),   cmocka_unit_test(test_expiry),
        cmocka_unit_test(test_causes),
    };
    return cmocka_run_group_tests_name("doctor/doctor_status", tests, NULL, NULL);
}
