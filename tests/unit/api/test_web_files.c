/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pages that are built in: each file whole, in the reader's language, cached as long as it may
 * be, and under a policy that lets nothing of others in.
 */
#include <string.h>
#include <zlib.h>

#include "api/web_bundle.h"
#include "rig.h"

static bool is_ready(void *arg, const char **ret_why)
{
    (void)arg;
    *ret_why = "";
    return true;
}

static int setup(void **state)
{
    static struct admin a;
    struct api_sources sources = {.is_ready = is_ready};
    if (web_bundle_n == 0)
        return 0;
    admin_start(&a, &sources, 1);
    *state = &a;
    return 0;
}

static int teardown(void **state)
{
    if (*state)
        admin_stop(*state);
    return 0;
}

static bool has(struct span text, const char *needle)
{
    return span_find(text, span_cstr(needle)) < text.n;
}

static struct span get(struct admin *a, const char *target, const char *fields)
{
    return admin_ask(a, "GET", target, fields);
}

/* The body of an answer, decompressed. */
static struct span body_of(struct span answer)
{
    static char plain[8 * 1024 * 1024];
    size_t at = span_find(answer, SPAN("\r\n\r\n")) + 4;
    z_stream z = {.next_in = (Bytef *)(uintptr_t)(answer.p + at),
                  .avail_in = (uInt)(answer.n - at),
                  .next_out = (Bytef *)plain,
                  .avail_out = sizeof(plain)};
    assert_true(at <= answer.n);
    assert_int_equal(inflateInit2(&z, 16 + MAX_WBITS), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(z.avail_in, 0);
    inflateEnd(&z);
    return span_of(plain, sizeof(plain) - z.avail_out);
}

/* The value of an attribute, NUL-terminated. */
static const char *value_behind(struct span page, const char *before)
{
    static char value[256];
    struct span rest = span_from(page, span_find(page, span_cstr(before)) + strlen(before));
    assert_true(rest.n > 0);
    span_copy(span_of(rest.p, span_find_char(rest, '"')), value, sizeof(value));
    return value;
}

static void test_index(void **state)
{
    static const struct {
        const char *target, *fields, *lang;
    } rows[] = {
        {"/", "Accept: text/html\r\n", "en"},
        {"/", "Accept: text/html\r\nAccept-Language: zh-TW,en;q=0.5\r\n", "zh-CN"},
        {"/", "Accept: text/html\r\nAccept-Language: zh\r\nCookie: a=b; inferometer_lang=en\r\n",
         "en"},
        {"/", "Accept: text/html\r\nCookie: inferometer_lang=zh-CN\r\n", "zh-CN"},
        {"/", "Accept: text/html\r\nCookie: inferometer_lang=../x\r\n", "en"},
        {"/ui/", "", "en"},
        {"/ui/requests/0123?from=1", "Accept-Language: zh\r\n", "zh-CN"},
    };
    if (!*state)
        skip();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char lang[32];
        struct span answer = get(*state, rows[i].target, rows[i].fields);

        assert_true(span_starts_with(answer, SPAN("HTTP/1.1 200")));
        assert_true(has(answer, "Cache-Control: no-cache\r\n"));
        assert_true(has(answer, "Vary: Accept, Accept-Encoding, Accept-Language, Cookie\r\n"));
        snprintf(lang, sizeof(lang), "<html lang=\"%s\">", rows[i].lang);
        assert_true(has(body_of(answer), lang));
    }
}

/* What the page names is there: its script, its style. */
static void test_what_the_page_loads(void **state)
{
    static const struct {
        const char *before, *type;
    } rows[] = {
        {"src=\"", "Content-Type: text/javascript; charset=utf-8\r\n"},
        {"stylesheet\" href=\"", "Content-Type: text/css; charset=utf-8\r\n"},
    };
    if (!*state)
        skip();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct span page = body_of(get(*state, "/ui/", ""));
        struct span answer = get(*state, value_behind(page, rows[i].before), "");

        assert_true(span_starts_with(answer, SPAN("HTTP/1.1 200")));
        assert_true(has(answer, rows[i].type));
        assert_true(has(answer, "immutable\r\n"));
    }
}

static void test_every_file(void **state)
{
    if (!*state)
        skip();
    for (size_t i = 0; i < web_bundle_n; i++) {
        const struct web_file *f = &web_bundle[i];
        char known[128];
        if (strncmp(f->path, "/assets/", 8) != 0)
            continue;
        struct span answer = get(*state, f->path, "Accept-Encoding: br, gzip\r\n");
        assert_true(has(answer, "\r\nContent-Encoding: gzip\r\n"));
        assert_true(has(answer, "\r\nX-Content-Type-Options: nosniff\r\n"));
        assert_true(has(answer, "\r\nReferrer-Policy: same-origin\r\n"));
        assert_true(has(answer, "Content-Security-Policy: default-src 'none'; script-src 'self'; "
                                "style-src 'self'; img-src 'self' data:; connect-src 'self'; "
                                "base-uri 'none'; form-action 'self'; frame-ancestors 'none'\r\n"));
        assert_true(body_of(answer).n > 0);
        snprintf(known, sizeof(known), "If-None-Match: \"x\", %s\r\n", f->etag);
        answer = get(*state, f->path, known);
        assert_true(span_starts_with(answer, SPAN("HTTP/1.1 304")));
        assert_true(span_ends_with(answer, SPAN("\r\n\r\n")));
        assert_true(has(answer, f->etag));
    }
}

static void test_refusals(void **state)
{
    static const struct {
        const char *method, *target, *fields, *status;
    } rows[] = {
        {"GET", "/assets/nothing.js", "", "404"},
        {"GET", "/assets/../index.en.html", "", "404"},
        {"GET", "/index.en.html", "", "404"},
        {"GET", "/ui", "", "404"},
        {"GET", "/ui/", "Accept-Encoding: identity\r\n", "406"},
        {"POST", "/ui/", "Content-Length: 0\r\n", "405"},
    };
    if (!*state)
        skip();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct span answer = admin_ask(*state, rows[i].method, rows[i].target, rows[i].fields);
        assert_true(has(span_of(answer.p, 13), rows[i].status));
        assert_false(has(answer, "max-age"));
        assert_false(has(answer, "ETag"));
    }
}

/* What a terminal asks for stays text; the page of before has a path of its own. */
static void test_programs(void **state)
{
    if (!*state)
        skip();
    assert_true(has(get(*state, "/", ""), "Content-Type: text/plain; charset=utf-8\r\n"));
    assert_true(has(get(*state, "/status", "Accept: text/html\r\n"), "id=\"status\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_index, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_the_page_loads, setup, teardown),
        cmocka_unit_test_setup_teardown(test_every_file, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
        cmocka_unit_test_setup_teardown(test_programs, setup, teardown),
    };
    return cmocka_run_group_tests_name("api/web_files", tests, NULL, NULL);
}
