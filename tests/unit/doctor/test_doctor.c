/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <errno.h>
#include <stdio.h>

#include "base/attr.h"
#include <stdlib.h>

#include "doctor/doctor.h"
#include "memfail.h"
#include "tempdir.h"

/* The environment of a run: NAME=value. */
static const char *const *world;

static const char *get(const char *name)
{
    size_t n = strlen(name);

    for (const char *const *v = world; *v; v++)
        if (strncmp(*v, name, n) == 0 && (*v)[n] == '=')
            return *v + n + 1;
    return NULL;
}

static enum doctor_cause main_cause(const struct doctor_report *r)
{
    return r->main >= 0 ? r->results[r->main].cause : CAUSE_NO_CAUSE;
}

static const struct doctor_result *first_of(const struct doctor_report *r, enum doctor_step step)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->results[i].step == step)
            return &r->results[i];
    fail();
    abort();
}

static const struct {
    const char *name;
    const char *const world[6];
    const char *url;
    enum doctor_cause cause;
    enum doctor_level worst;
} rows[] = {
    {"nothing", {NULL}, "", CAUSE_NO_CAUSE, DOCTOR_OK},
    {"a bad URL", {"OPENAI_BASE_URL=h:1", NULL}, "", CAUSE_URL_SCHEME, DOCTOR_FAIL},
    {"an argument goes before variables",
     {"OPENAI_BASE_URL=h:1", NULL},
     "'http://h'",
     CAUSE_URL_QUOTES,
     DOCTOR_FAIL},
    {"pairs",
     {"ANTHROPIC_API_KEY=sk-ant-1", "ANTHROPIC_AUTH_TOKEN=x1234", NULL},
     "",
     CAUSE_KEY_AND_TOKEN,
     DOCTOR_WARN},
    {"not in use", {"GROQ_API_KEY=\"gsk_1\"", NULL}, "", CAUSE_KEY_QUOTES, DOCTOR_WARN},
    {"not in use, and no more than a warning",
     {"GROQ_API_KEY=gsk_1\n", NULL},
     "",
     CAUSE_KEY_NEWLINE,
     DOCTOR_WARN},
    {"same but for a slash",
     {"OPENAI_BASE_URL=http://", "OPENAI_API_BASE=http:", NULL},
     "",
     CAUSE_URL_BAD,
     DOCTOR_FAIL},
    {"of a relay",
     {"ANTHROPIC_BASE_URL=x", "ANTHROPIC_API_KEY=sk-proj-1", NULL},
     "",
     CAUSE_URL_SCHEME,
     DOCTOR_FAIL},
};

static void test_local(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct doctor_ask ask = {.get = get, .url = span_cstr(rows[i].url)};
        struct doctor_report r;
        struct arena a;

        world = rows[i].world;
        arena_init(&a, NULL);
        assert_int_equal(doctor_run(&ask, &a, &r), 0);
        assert_row(rows[i].name, main_cause(&r) == rows[i].cause);
        assert_row(rows[i].name, doctor_worst(&r) == rows[i].worst);
        /* Every step has a word, and what waits for a failed one points to it. */
        for (int step = 0; step < STEP_COUNT_; step++)
            assert_true(first_of(&r, (enum doctor_step)step)->text.n > 0);
        if (rows[i].worst == DOCTOR_FAIL)
            assert_int_equal(first_of(&r, STEP_STREAM)->because, r.main);
        arena_done(&a);
    }
}

/* What is shown of a secret. */
static void test_masked(void **state)
{
    static const char *const worlds[][2] = {
        {"OPENAI_API_KEY=sk-secret-secret", NULL},
        {"OPENAI_API_KEY=secret78", NULL},
        {"OPENAI_API_KEY=\x1b[secret-secret", NULL},
        {"OPENAI_BASE_URL=sk-secret-secret", NULL},
        {"OPENAI_BASE_URL=http://user:secret@h:x/secret?secret", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(worlds); i++) {
        struct doctor_ask ask = {.get = get};
        struct doctor_report r;
        struct arena a;

        world = worlds[i];
        arena_init(&a, NULL);
        assert_int_equal(doctor_run(&ask, &a, &r), 0);
        for (size_t k = 0; k < r.n; k++) {
            assert_int_equal(span_find(r.results[k].text, SPAN("secret")), r.results[k].text.n);
            assert_int_equal(span_find_char(r.results[k].text, '\x1b'), r.results[k].text.n);
        }
        arena_done(&a);
    }
}

static void write_file(const struct tempdir *dir, const char *name, const char *text)
{
    FILE *f = fopen(tempdir_file(dir, name), "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int attempt(void *ctx)
{
    static const char *const vars[] = {"OPENAI_BASE_URL=http://127.0.0.1:1/v1",
                                       "no_proxy=127.0.0.1", "http_proxy=http://h:1",
                                       "ANTHROPIC_API_KEY=sk-ant-1", NULL};
    const struct tempdir *dir = ctx;
    const char *files[] = {tempdir_file(dir, "rules.yml")};
    struct doctor_ask ask = {
        .get = get, .home = dir->path, .directory = dir->path, .rules = {.files = files, .n = 1}};
    struct doctor_report r = {.n = 7};
    struct arena a;
    int error;

    world = vars;
    arena_init(&a, NULL);
    error = doctor_run(&ask, &a, &r);
    if (error < 0)
        assert_int_equal(r.n, 7);
    else
        assert_int_equal(main_cause(&r), CAUSE_TCP_REFUSED);
    arena_done(&a);
    return error;
}

/* Files, a refused connection and rules, with each allocation failing in turn. */
static void test_no_memory(void **state)
{
    struct tempdir dir;

    (void)state;
    tempdir_make(&dir);
    write_file(&dir, ".env", "OPENAI_API_KEY=other\n");
    write_file(&dir, ".claude.json", "{\"oauthAccount\": {\"accountUuid\": \"u\"}}");
    write_file(&dir, ".aider.conf.yml", "openai-api-base: http://h/v1/v1\n");
    write_file(&dir, "rules.yml",
               "groups:\n- name: g\n  rules:\n  - alert: A\n    expr: up == 0\n    for: 1s\n");
    assert_true(memfail_each(attempt, &dir) > 0);
    tempdir_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_local),
        cmocka_unit_test(test_masked),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("doctor/doctor", tests, NULL, NULL);
}
