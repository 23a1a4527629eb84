/* SPDX-License-Identifier: Apache-2.0 */
/* Incidents over HTTP: lists, one of them in both forms, what people say, and who may say it. */
#include <errno.h>

#include "rig.h"
#include "tempdir.h"

#define T0 INT64_C(1700000040000)
#define ID "20231114T2214-1"

struct rig {
    struct admin admin;
    struct incidents *incidents; /* NULL: not open yet */
    struct tempdir dir;
};

static int incidents_use(void *arg, void (*use)(void *ctx, struct incidents *i), void *ctx)
{
    struct rig *r = arg;
    if (!r->incidents)
        return -EBUSY;
    use(ctx, r->incidents);
    return 0;
}

static int setup(void **state)
{
    static struct rig r;
    static struct api_sources sources;
    const struct label labels[] = {{SPAN("alertname"), SPAN("Slow")}, {SPAN("tier"), SPAN("P1")}};
    const struct alert_notice n = {
        .labels = {labels, 2}, .starts_ms = T0, .ends_ms = T0 + 240000, .value = 3};
    r = (struct rig){0};
    tempdir_make(&r.dir);
    struct incidents_config config = {.dir = r.dir.path};
    assert_int_equal(incidents_open(&config, &r.incidents, NULL), 0);
    assert_int_equal(incidents_put(r.incidents, &n, 1, T0), 0);
    sources = (struct api_sources){.incidents_use = incidents_use, .arg = &r};
    admin_start(&r.admin, &sources, 4);
    *state = &r;
    return 0;
}

static int teardown(void **state)
{
    struct rig *r = *state;
    admin_stop(&r->admin);
    r->incidents = incidents_close(r->incidents);
    tempdir_remove(&r->dir);
    return 0;
}

static void ask(struct rig *r, const char *target, const char *status, const char *what)
{
    const char *all = admin_ask(&r->admin, "GET", target, "").p;
    if (!strstr(all, status) || !strstr(all, what))
        fail_msg("%s: %s", target, all);
}

static void post(struct rig *r, const char *target, const char *form, const char *status,
                 const char *what)
{
    char fields[128];
    snprintf(fields, sizeof(fields),
             "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %zu\r\n",
             strlen(form));
    int fd = admin_send_to(&r->admin, "localhost", "POST", target, fields, form);
    const char *all = admin_receive(&r->admin, fd).p;
    if (!strstr(all, status) || !strstr(all, what))
        fail_msg("%s: %s", target, all);
}

static void they_are_looked_at(void **state)
{
    struct rig *r = *state;
    ask(r, "/api/v1/incidents", " 200 ",
        "{\"status\":\"success\",\"data\":[{\"id\":\"" ID "\",\"state\":\"open\"");
    ask(r, "/api/v1/incidents?limit=1&open=true&from=1700000040&to=2023-11-14T22:15:00Z", " 200 ",
        ID);
    ask(r, "/api/v1/incidents?to=1700000039", " 200 ", "\"data\":[]");
    ask(r, "/api/v1/incidents?from=x", " 400 ", "invalid parameter");
    ask(r, "/api/v1/incidents?limit=-1", " 400 ", "invalid parameter");
    ask(r, "/api/v1/incidents/" ID, "Content-Type: application/json", "\"data\":{\"id\":\"" ID);
    ask(r, "/api/v1/incidents/" ID "?format=json", " 200 ", "\"curves\":[");
    ask(r, "/api/v1/incidents/" ID "?format=markdown",
        "Content-Type: text/markdown; charset=utf-8\r\n", "\r\n\r\n# Incident " ID "\n");
    ask(r, "/api/v1/incidents/" ID "?format=html", " 400 ", "json or markdown");
    ask(r, "/api/v1/incidents/20231114T2214%2D1", " 200 ", ID);
    ask(r, "/api/v1/incidents/%zz", " 404 ", "there is no incident");
    ask(r, "/api/v1/incidents/none", " 404 ", "there is no incident \\\"none\\\"");
    ask(r, "/api/v1/incidents/none?format=markdown", "Content-Type: application/json",
        "\"errorType\":\"not_found\"");
}

static void people_say_something(void **state)
{
    struct rig *r = *state;
    post(r, "/api/v1/incidents/" ID "/notes", "author=ann&text=it+was%0Athe%20disk", " 200 ",
         "{\"id\":\"" ID "\"}");
    post(r, "/api/v1/incidents/" ID "/ack", "author=bob", " 200 ", "success");
    post(r, "/api/v1/incidents/" ID "/noise", "author=bob&alert=Slow", " 200 ", "success");
    ask(r, "/api/v1/incidents/" ID, "\"text\":\"it was\\nthe disk\"", "\"is_noise\":true");
    ask(r, "/api/v1/incidents", "\"notes\":1", "\"acknowledged_by\":\"bob\"");
    post(r, "/api/v1/incidents/" ID "/noise", "author=bob&alert=Slow&undo=true", " 200 ",
         "success");
    ask(r, "/api/v1/incidents/" ID, " 200 ", "\"is_noise\":false");
    post(r, "/api/v1/incidents/" ID "/noise", "author=bob&alert=Other", " 404 ", "no alert");
    post(r, "/api/v1/incidents/" ID "/notes", "author=ann", " 400 ", "the note is empty");
    post(r, "/api/v1/incidents/" ID "/ack", "", " 400 ", "the author is empty");
    post(r, "/api/v1/incidents/none/ack", "author=bob", " 404 ", "there is no incident");
}

/* Pages of other sites in a browser on this machine may not. */
static void not_everybody_may(void **state)
{
    struct rig *r = *state;
    ask(r, "/api/v1/incidents/" ID "/ack?author=x", " 405 ", "only POST");
    int fd = admin_send_to(&r->admin, "localhost", "POST", "/api/v1/incidents/" ID "/ack?author=x",
                           "Origin: http://evil.example\r\nContent-Length: 0\r\n", "");
    assert_non_null(strstr(admin_receive(&r->admin, fd).p, " 403 "));
    ask(r, "/api/v1/incidents", " 200 ", "\"acknowledged_by\":null");
}

static void without_a_data_directory(void **state)
{
    struct rig *r = *state;
    r->incidents = incidents_close(r->incidents);
    ask(r, "/api/v1/incidents", " 503 ", "another process has the data directory");
    ask(r, "/api/v1/incidents/x?format=markdown", " 503 ", "another process");
    post(r, "/api/v1/incidents/x/ack", "author=a", " 503 ", "another process");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(they_are_looked_at, setup, teardown),
        cmocka_unit_test_setup_teardown(people_say_something, setup, teardown),
        cmocka_unit_test_setup_teardown(not_everybody_may, setup, teardown),
        cmocka_unit_test_setup_teardown(without_a_data_directory, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
