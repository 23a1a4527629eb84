/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access to the admin listener: every route by every kind of caller, the login of a browser, and
 * what its session may change.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "api/routes.h"
#include "base/limits.h"
#include "base/mem.h"
#include "memfail.h"
#include "rig.h"

#define WRITE "write-token-of-32-characters-0001"
#define READ  "read-token-of-32-characters-00001"
#define AUTH  "Authorization: Bearer "
#define FORM  "Content-Type: application/x-www-form-urlencoded\r\n"
#define EMPTY "Content-Length: 0\r\n"

struct rig {
    struct admin admin;
    struct api_access access;
    uint64_t n_reloads;
};

static bool is_ready(void *arg, const char **ret_why)
{
    (void)arg;
    *ret_why = "";
    return true;
}

static void access_now(void *arg, struct api_access *ret)
{
    struct rig *r = arg;
    *ret = r->access;
}

static uint64_t reload(void *arg)
{
    struct rig *r = arg;
    r->n_reloads++;
    return 0;
}

static void inflight(void *arg, struct jsonw *w)
{
    (void)arg;
    (void)w;
}

static int setup(void **state)
{
    static struct rig r;
    struct api_sources sources = {.is_ready = is_ready,
                                  .access = access_now,
                                  .inflight = inflight,
                                  .reload = reload,
                                  .arg = &r};
    memset(&r, 0, sizeof(r));
    r.access = (struct api_access){.write_token = WRITE,
                                   .read_token = READ,
                                   .open_health = true,
                                   .session_ns = 3600 * NS_PER_S,
                                   .origin = "https://inferometer.example"};
    admin_start(&r.admin, &sources, 1);
    *state = &r;
    return 0;
}

static int teardown(void **state)
{
    struct rig *r = *state;
    admin_stop(&r->admin);
    return 0;
}

static bool has(struct span text, const char *needle)
{
    return span_find(text, span_cstr(needle)) < text.n;
}

static int status_of(struct span answer)
{
    return (answer.p[9] - '0') * 100 + (answer.p[10] - '0') * 10 + answer.p[11] - '0';
}

static struct span post(struct rig *r, const char *target, const char *fields, const char *form)
{
    char all[2048];
    snprintf(all, sizeof(all), "%sContent-Length: %zu\r\n", fields, strlen(form));
    return admin_receive(&r->admin, admin_send(&r->admin, "POST", target, all, form));
}

/* A route's path with something in place of its star. */
static void path_of(const struct route *route, char *dst, size_t n)
{
    struct span rest = route->path;
    size_t at = span_find_char(rest, '*');
    size_t k = span_copy(span_of(rest.p, at), dst, n);
    if (at == rest.n)
        return;
    dst[k++] = 'x';
    (void)span_copy(span_from(rest, at + 1), dst + k, n - k);
}

/* Whatever is added to the table later is closed, too. */
static void test_every_route_without_a_token(void **state)
{
    static const char *const open[] = {"/",       "/healthz",   "/readyz",
                                       "/ui/**",  "/assets/*",  "/login",
                                       "/logout", "/login.css", "/api/v1/session"};
    struct rig *r = *state;
    static const char *const shown[] = {"", AUTH "wrong\r\n", AUTH "\r\n",
                                        "Authorization: Basic " WRITE "\r\n",
                                        "Cookie: inferometer_session=write.9999999999.00.00\r\n",
                                        /* A wrong token is not made up for by anything else. */
                                        AUTH "wrong\r\nCookie: inferometer_session=" WRITE "\r\n"};
    for (size_t i = 0; route_at(i); i++) {
        const struct route *route = route_at(i);
        char path[128];
        bool is_open = false;
        for (size_t k = 0; k < ARRAY_LEN(open); k++)
            is_open = is_open || span_eq(route->path, span_cstr(open[k]));
        path_of(route, path, sizeof(path));
        for (size_t k = 0; k < ARRAY_LEN(shown); k++) {
            struct span got = admin_ask(&r->admin, "GET", path, shown[k]);
            bool is_refused = status_of(got) == 401;
            assert_row(path, is_refused != is_open || strcmp(path, "/") == 0);
            if (is_refused)
                assert_row(path, has(got, "WWW-Authenticate: Bearer"));
        }
    }
    /* "/" is a page for browsers; the state of the gateway is none of it. */
    assert_int_equal(status_of(admin_ask(&r->admin, "GET", "/", "")), 401);
}

static void test_every_route_with_a_token(void **state)
{
    struct rig *r = *state;
    for (size_t i = 0; route_at(i); i++) {
        char path[128];
        path_of(route_at(i), path, sizeof(path));
        /* HEAD: events go on and on. */
        int read = status_of(admin_ask(&r->admin, "HEAD", path, AUTH READ "\r\n"));
        int write = status_of(admin_ask(&r->admin, "HEAD", path, AUTH WRITE "\r\n"));
        assert_row(path, read != 401 && read != 403 && read == write);
    }
}

/* The token for looking changes nothing, wherever a change could be. */
static void test_every_change_with_a_token_for_looking(void **state)
{
    struct rig *r = *state;
    size_t n_changes = 0;
    for (size_t i = 0; route_at(i); i++) {
        const struct route *route = route_at(i);
        const char *method = route->kind == ROUTE_OBJECT ? "DELETE" : "POST";
        bool is_change = route->kind == ROUTE_CHANGE || route->kind == ROUTE_LIST ||
                         route->kind == ROUTE_OBJECT || route->kind == ROUTE_WORK;
        char path[128];
        if (!is_change)
            continue;
        path_of(route, path, sizeof(path));
        n_changes++;
        assert_row(path, status_of(admin_ask(&r->admin, method, path, EMPTY)) == 401);
        assert_row(path,
                   status_of(admin_ask(&r->admin, method, path, EMPTY AUTH READ "\r\n")) == 403);
        assert_row(path,
                   status_of(admin_ask(&r->admin, method, path, EMPTY AUTH WRITE "\r\n")) != 403);
    }
    assert_true(n_changes >= 7);
    assert_int_equal(r->n_reloads, 1);
}

static void test_what_may_stand_open(void **state)
{
    struct rig *r = *state;
    assert_int_equal(status_of(admin_ask(&r->admin, "GET", "/metrics", "")), 401);
    assert_false(has(admin_ask(&r->admin, "GET", "/healthz", ""), "version"));
    assert_true(has(admin_ask(&r->admin, "GET", "/healthz", AUTH READ "\r\n"), "\"version\""));
    r->access.open_metrics = true;
    r->access.open_health = false;
    assert_int_equal(status_of(admin_ask(&r->admin, "GET", "/metrics", "")), 200);
    assert_int_equal(status_of(admin_ask(&r->admin, "GET", "/healthz", "")), 401);
    assert_int_equal(status_of(admin_ask(&r->admin, "GET", "/api/v1/status", "")), 401);
}

static void test_people_are_sent_to_the_login(void **state)
{
    struct rig *r = *state;
    struct span got = admin_ask(&r->admin, "GET", "/status?a=1&b", "Accept: text/html,*/*\r\n");
    assert_int_equal(status_of(got), 303);
    assert_true(has(got, "\r\nLocation: /login?next=%2F%73%74%61%74%75%73%3F%61%3D%31%26%62\r\n"));
    got = admin_ask(&r->admin, "GET", "/login?next=%2Fstatus%3Fa%3D1%26b%3D%22%3E%3Cx%3E", "");
    assert_int_equal(status_of(got), 200);
    assert_true(has(got, "value=\"/status?a=1&amp;b=&quot;&gt;&lt;x&gt;\""));
    assert_true(has(got, "Content-Security-Policy: default-src 'none'"));
    got = admin_ask(&r->admin, "GET", "/login", "Accept-Language: zh\r\n");
    assert_true(has(got, "<html lang=\"zh-CN\">"));
    assert_true(has(got, "登录"));
    assert_false(has(got, "{{"));
}

/* The login leads nowhere else. */
static void test_next_is_a_path_of_ours(void **state)
{
    static const struct {
        const char *next, *location;
    } rows[] = {
        {"%2Fui%2Flatency%3Fa%3D1", "/ui/latency?a=1"},
        {"%2F%2Fevil.example", "/"},
        {"https%3A%2F%2Fevil.example", "/"},
        {"%2F%5Cevil.example", "/"},
        {"%2Fa%0D%0ASet-Cookie%3A%20x%3D1", "/"},
        {"%2Fa%00", "/"},
        {"%2F%C3%A9", "/"},
        {"", "/"},
    };
    struct rig *r = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char form[256], location[64];
        snprintf(form, sizeof(form), "token=%s&next=%s", WRITE, rows[i].next);
        snprintf(location, sizeof(location), "\r\nLocation: %s\r\n", rows[i].location);
        struct span got = post(r, "/login", FORM "Accept: text/html\r\n", form);
        assert_row(rows[i].next, status_of(got) == 303 && has(got, location));
        assert_row(rows[i].next, has(got, "; Path=/; Max-Age=3600; HttpOnly; SameSite=Strict\r\n"));
    }
}

static void test_a_login_that_fails(void **state)
{
    static const struct {
        const char *fields, *form;
        int status;
    } rows[] = {
        {FORM, "token=wrong", 403},
        {FORM, "token=", 403},
        {FORM, "", 403},
        {FORM, "token=%zz", 400},
        {FORM "Accept: text/html\r\n", "token=wrong", 403},
        {FORM "Origin: https://evil.example\r\n", "token=" WRITE, 403},
        {FORM "Origin: null\r\n", "token=" WRITE, 403},
    };
    struct rig *r = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct span got = post(r, "/login", rows[i].fields, rows[i].form);
        assert_row(rows[i].form, status_of(got) == rows[i].status);
        assert_row(rows[i].form, !has(got, "Set-Cookie"));
        assert_row(rows[i].form, !has(got, WRITE) && !has(got, READ));
    }
}

/* Who has shown no token takes little memory. */
static void test_a_login_of_many_bytes(void **state)
{
    struct rig *r = *state;
    char fields[128];
    char *form = mem_zalloc(1, 20001);
    memset(form, 'x', 20000);
    snprintf(fields, sizeof(fields), FORM "Content-Length: 20000\r\n");
    int fd = admin_send(&r->admin, "POST", "/login", fields, "");
    assert_int_equal(send(fd, form, 20000, 0), 20000);
    assert_int_equal(status_of(admin_receive(&r->admin, fd)), 413);
    mem_free(form);
}

/* The cookie's field and the second secret, as a browser has them behind a login. */
struct browser {
    char cookie[256], csrf[SESSION_MAC_HEX + 1];
};

static void copy_until(struct span s, const char *before, char end, char *dst, size_t n)
{
    struct span rest = span_from(s, span_find(s, span_cstr(before)) + strlen(before));
    assert_true(rest.n > 0);
    span_copy(span_of(rest.p, span_find_char(rest, end)), dst, n);
}

static struct browser browser_login(struct rig *r, const char *token)
{
    struct browser b;
    char form[128], value[SESSION_VALUE_MAX];
    snprintf(form, sizeof(form), "token=%s", token);
    struct span got = post(r, "/login", FORM, form);
    assert_int_equal(status_of(got), 200);
    copy_until(got, "Set-Cookie: inferometer_session=", ';', value, sizeof(value));
    copy_until(got, "\"csrf\":\"", '"', b.csrf, sizeof(b.csrf));
    snprintf(b.cookie, sizeof(b.cookie), "Cookie: a=1; inferometer_session=%s\r\n", value);
    return b;
}

static void test_a_browser_looks(void **state)
{
    struct rig *r = *state;
    struct browser b = browser_login(r, READ);
    assert_int_equal(status_of(admin_ask(&r->admin, "GET", "/api/v1/status", b.cookie)), 200);
    struct span got = admin_ask(&r->admin, "GET", "/api/v1/session", b.cookie);
    assert_true(has(got, "{\"is_token_needed\":true,\"role\":\"read\",\"csrf\":\""));
    assert_true(has(got, b.csrf));
    assert_true(has(got, "Cache-Control: no-store\r\n"));
    got = admin_ask(&r->admin, "GET", "/api/v1/session", "");
    assert_true(has(got, "\"role\":\"none\",\"csrf\":null,\"expires\":null}"));
    got = admin_ask(&r->admin, "GET", "/api/v1/session", AUTH WRITE "\r\n");
    assert_true(has(got, "\"role\":\"write\",\"csrf\":null,\"expires\":null}"));
}

static void test_what_a_browser_may_change(void **state)
{
    static const struct {
        const char *name, *origin;
        bool has_csrf;
        int status; /* 503: it was asked for */
    } rows[] = {
        {"as its page does", "http://127.0.0.1", true, 503},
        {"behind TLS of others", "https://127.0.0.1", true, 503},
        {"under the name that is configured", "https://inferometer.example", true, 503},
        {"without the second secret", "http://127.0.0.1", false, 403},
        {"of another site", "http://evil.example", true, 403},
        {"of a page without a site", "null", true, 403},
        {"without Origin", NULL, true, 403},
    };
    struct rig *r = *state;
    struct browser b = browser_login(r, WRITE);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char fields[1024];
        uint64_t before = r->n_reloads;
        snprintf(fields, sizeof(fields), EMPTY "%s%s%s%s%s%s%s", b.cookie,
                 rows[i].origin ? "Origin: " : "", rows[i].origin ? rows[i].origin : "",
                 rows[i].origin ? "\r\n" : "", rows[i].has_csrf ? "X-Inferometer-CSRF: " : "",
                 rows[i].has_csrf ? b.csrf : "", rows[i].has_csrf ? "\r\n" : "");
        assert_row(rows[i].name,
                   status_of(admin_ask(&r->admin, "POST", "/-/reload", fields)) == rows[i].status);
        assert_row(rows[i].name, r->n_reloads - before == (rows[i].status == 503));
    }
    /* The secret of another session is none of this one's. */
    struct browser other = browser_login(r, WRITE);
    char fields[1024];
    snprintf(fields, sizeof(fields),
             EMPTY "%sOrigin: http://127.0.0.1\r\nX-Inferometer-CSRF: %s\r\n", b.cookie,
             other.csrf);
    assert_int_equal(status_of(admin_ask(&r->admin, "POST", "/-/reload", fields)), 403);
}

static void test_the_end_of_a_session(void **state)
{
    struct rig *r = *state;
    struct browser b = browser_login(r, WRITE);
    struct span got = post(r, "/logout", FORM, "");
    assert_true(has(got, "Set-Cookie: inferometer_session=; Path=/; Max-Age=0; HttpOnly"));
    got = post(r, "/logout", FORM "Accept: text/html\r\n", "");
    assert_true(has(got, "\r\nLocation: /login\r\n"));
    assert_int_equal(status_of(post(r, "/logout", FORM "Origin: http://evil.example\r\n", "")),
                     403);
    span_copy(SPAN("another-token-of-32-characters-01"), r->access.write_token, API_TOKEN_MAX);
    assert_int_equal(status_of(admin_ask(&r->admin, "GET", "/api/v1/status", b.cookie)), 401);
}

static void test_over_tls_the_cookie_is_secure(void **state)
{
    struct rig *r = *state;
    struct span got =
        post(r, "/login", FORM "Origin: https://inferometer.example\r\n", "token=" WRITE);
    assert_true(has(got, "HttpOnly; SameSite=Strict; Secure\r\n"));
}

/* As it always was on loopback; the login has nothing to ask for. */
static void test_without_tokens(void **state)
{
    struct rig *r = *state;
    r->access = (struct api_access){.open_health = true};
    assert_int_equal(status_of(admin_ask(&r->admin, "GET", "/metrics", "")), 200);
    struct span got = admin_ask(&r->admin, "GET", "/api/v1/session", "");
    assert_true(has(got, "{\"is_token_needed\":false,\"role\":\"write\",\"csrf\":null"));
    assert_true(has(admin_ask(&r->admin, "GET", "/login", ""), "\r\nLocation: /\r\n"));
    assert_int_equal(status_of(post(r, "/login", FORM, "token=")), 404);
}

static struct span ask_as(struct rig *r, const char *host, const char *method, const char *path)
{
    int fd = admin_send_to(&r->admin, host, method, path, "Accept: text/html\r\n", "");
    return admin_receive(&r->admin, fd);
}

/* A site whose name was made to point here is shown nothing, but what scrapers and probes ask. */
static void test_names_that_may_be_of_others(void **state)
{
    char machine[HOST_NAME_MAX + 16] = "";
    const char *const ours[] = {"127.0.0.1:8401", "[::1]", "LocalHost:1", "Inferometer.example",
                                machine};
    static const char *const others[] = {"evil.example:8401", "localhost.evil.example",
                                         "inferometer.example:1", "127.0.0.1.evil.example"};
    struct rig *r = *state;
    assert_int_equal(gethostname(machine, HOST_NAME_MAX), 0);
    strcat(machine, ":8401"); /* as links in alerts have it */
    r->access.write_token[0] = r->access.read_token[0] = '\0';
    for (size_t i = 0; route_at(i); i++) {
        const struct route *route = route_at(i);
        bool is_for_probes =
            route->access == ROUTE_OPEN_METRICS || route->access == ROUTE_OPEN_HEALTH;
        char path[128];
        path_of(route, path, sizeof(path));
        for (size_t k = 0; k < ARRAY_LEN(others); k++)
            assert_row(path,
                       (status_of(ask_as(r, others[k], "GET", path)) == 403) != is_for_probes);
        for (size_t k = 0; k < ARRAY_LEN(ours); k++)
            assert_row(path, status_of(ask_as(r, ours[k], "HEAD", path)) != 403);
    }
    assert_true(has(ask_as(r, "evil.example", "GET", "/"), "alerting.external_url"));
    span_copy(SPAN(READ), r->access.read_token, API_TOKEN_MAX);
    assert_int_equal(status_of(ask_as(r, "evil.example", "GET", "/login")), 200);
}

struct attempt {
    const struct api_access *access;
    void (*handle)(const struct api_request *req, struct api_answer *ret);
    bool wants_html;
};

static void answer_done(struct api_answer *a)
{
    buf_done(&a->body);
    buf_done(&a->more_fields);
}

static int attempt_get(void *ctx)
{
    const struct attempt *t = ctx;
    const struct http1_head head = {.method = SPAN("GET"), .target = SPAN("/status")};
    const struct session who = {.role = SESSION_NONE};
    const struct api_request req = {
        .access = t->access, .session = &who, .head = &head, .path = SPAN("/assets/x")};
    struct api_answer a = {.status = 200};
    buf_init(&a.body, MIB);
    buf_init(&a.more_fields, 8 * KIB);
    t->handle(&req, &a);
    int r = a.status == 500 || buf_len(&a.body) + buf_len(&a.more_fields) == 0 ? -ENOMEM : 0;
    answer_done(&a);
    return r;
}

/* A session begins whole or not at all. */
static int attempt_post(void *ctx)
{
    const struct attempt *t = ctx;
    const struct api_form form = {.access = t->access,
                                  .form = SPAN("token=" WRITE "&next=%2Fstatus"),
                                  .wants_html = t->wants_html};
    struct api_answer a = {.status = 200};
    buf_init(&a.body, MIB);
    buf_init(&a.more_fields, 8 * KIB);
    login_post(&form, &a);
    bool is_in = a.status == (t->wants_html ? 303 : 200);
    assert_true(is_in == has(buf_span(&a.more_fields), "Set-Cookie: "));
    answer_done(&a);
    return is_in ? 0 : -ENOMEM;
}

static void test_without_memory(void **state)
{
    struct rig *r = *state;
    struct attempt t = {.access = &r->access};
    void (*const handles[])(const struct api_request *, struct api_answer *) = {
        login_handle_page, login_handle_style, login_handle_session, login_answer_needed};
    for (size_t i = 0; i < ARRAY_LEN(handles); i++) {
        t.handle = handles[i];
        assert_true(memfail_each(attempt_get, &t) > 0);
    }
    for (int i = 0; i < 2; i++) {
        t.wants_html = i > 0;
        assert_true(memfail_each(attempt_post, &t) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_route_without_a_token, setup, teardown),
        cmocka_unit_test_setup_teardown(test_every_route_with_a_token, setup, teardown),
        cmocka_unit_test_setup_teardown(test_every_change_with_a_token_for_looking, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_what_may_stand_open, setup, teardown),
        cmocka_unit_test_setup_teardown(test_people_are_sent_to_the_login, setup, teardown),
        cmocka_unit_test_setup_teardown(test_next_is_a_path_of_ours, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_login_that_fails, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_login_of_many_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_browser_looks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_a_browser_may_change, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_end_of_a_session, setup, teardown),
        cmocka_unit_test_setup_teardown(test_over_tls_the_cookie_is_secure, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_tokens, setup, teardown),
        cmocka_unit_test_setup_teardown(test_names_that_may_be_of_others, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_memory, setup, teardown),
    };
    return cmocka_run_group_tests_name("api/login", tests, NULL, NULL);
}
