/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config_args.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "config_text.h"
#include "daemon/config_keys.h"
#include "harness.h"
#include "memfail.h"

enum { ARGS_MAX = 30 };

static char *line[ARGS_MAX + 2];

/* argv of a command line, separated by blanks; "serve" in front. */
static int split(const char *text)
{
    static char storage[512];
    static char command[] = "serve";
    struct span rest = {storage, span_copy(span_cstr(text), storage, sizeof(storage))};
    int n = 0;

    line[n++] = command;
    while (rest.n > 0) {
        struct span word = span_split(&rest, ' ');
        char *p = storage + (word.p - storage);

        p[word.n] = '\0';
        line[n++] = p;
    }
    line[n] = NULL;
    return n;
}

static int load(const char *text, struct config **ret)
{
    struct config_args args = {0};
    struct err e = {0};
    int r = config_args_parse(split(text), line, &args, &e);

    err_list_init(&errs);
    if (r < 0) {
        fail_msg("%s: %s", text, e.text);
        return r;
    }
    return config_args_load(&args, ret, &errs);
}

static struct config *must_load(const char *text)
{
    struct config *c = NULL;
    int r = load(text, &c);

    return must_be_loaded(text, r, c);
}

static void test_flags(void **state)
{
    struct config *c = must_load("--upstream http://h:1 --listen :1 --listen=[::1]:2 --admin :3 "
                                 "--workers=5 --data /d --log - --log-level warn");
    (void)state;
    assert_string_equal(c->upstreams.items[0].name, "h:1");
    assert_int_equal(c->listen.n, 2);
    assert_string_equal(c->listen.items[0], ":1");
    assert_string_equal(c->listen.items[1], "[::1]:2");
    assert_string_equal(c->admin_listen, ":3");
    assert_int_equal(c->workers, 5);
    assert_string_equal(c->data_dir, "/d");
    assert_string_equal(c->log_file, "-");
    assert_int_equal(c->log_level, LOG_LEVEL_WARN);
    assert_int_equal(config_n_set(c), 7);
    config_unref(c);
}

static void test_set(void **state)
{
    struct config *c =
        must_load("--upstream http://h --set models=[a,b] --set models=c --set timeouts.connect=2s "
                  "--set metrics.bounds={\"llm_ttft_seconds\":[1s,2s]} --set=log.file= --workers 2 "
                  "--workers 3");
    (void)state;
    assert_int_equal(c->models.n, 3);
    assert_string_equal(c->models.items[2], "c");
    assert_int_equal(c->connect_timeout_ns, 2 * NS_PER_S);
    assert_string_equal(c->log_file, "");
    assert_int_equal(c->workers, 3); /* the last one holds */
    config_unref(c);
}

/* Flags stand over the file, and replace its lists. A reload reads the file again. */
static void test_flags_over_file(void **state)
{
    char path[] = "/tmp/test_args_XXXXXX";
    char text[128];
    struct config_args args = {0};
    struct config *c = NULL;

    (void)state;
    make_file(path, "upstreams: http://file\nworkers: 9\nlisten: [':7', ':8']\nmodels: [x]\n");
    (void)snprintf(text, sizeof(text), "-c %s --listen :1 --upstream http://flag --set models=y",
                   path);
    assert_int_equal(config_args_parse(split(text), line, &args, NULL), 0);
    for (int i = 0; i < 2; i++) {
        err_list_init(&errs);
        assert_int_equal(config_args_load(&args, &c, &errs), 0);
        assert_int_equal(c->workers, 9);
        assert_int_equal(c->listen.n, 1);
        assert_string_equal(c->listen.items[0], ":1");
        assert_int_equal(c->upstreams.n, 1);
        assert_string_equal(c->upstreams.items[0].url, "http://flag");
        assert_int_equal(c->models.n, 1);
        c = config_unref(c);
    }
    assert_int_equal(unlink(path), 0);
}

static void test_help(void **state)
{
    struct config_args args = {0};
    char *text = NULL;
    size_t n = 0;
    FILE *out;

    (void)state;
    assert_int_equal(config_args_parse(split("--help"), line, &args, NULL), 0);
    assert_true(args.is_help);
    out = open_memstream(&text, &n);
    config_args_help(out);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "  -c, --config FILE            read this configuration file"));
    assert_non_null(strstr(text, "      --log-level LEVEL        error, warn"));
    free(text);
}

/* --- mistakes --- */

static void test_wrong_usage(void **state)
{
    static const struct {
        const char *args, *message, *hint;
    } rows[] = {
        {"--worker 3", "unknown flag \"--worker\"", "did you mean --workers?"},
        {"--worker=3", "unknown flag \"--worker=3\"", "did you mean --workers?"},
        {"-x", "unknown flag \"-x\"", "--help lists the flags"},
        {"file.yaml", "unexpected argument \"file.yaml\"",
         "a configuration file is given with -c FILE"},
        {"--workers", "--workers needs a value", "write --workers N"},
        {"-c", "--config needs a value", "write --config FILE"},
        {"--set workers", "--set \"workers\" has no \"=\"",
         "write --set KEY=VALUE, for example --set timeouts.connect=2s"},
        {"--set wrkers=3", "--set: unknown key \"wrkers\"", "did you mean \"workers\"?"},
        {"--set timeouts.conect=3", "--set: unknown key \"timeouts.conect\"",
         "did you mean \"connect\"?"},
        {"--set timeouts=3", "--set: unknown key \"timeouts\"",
         "known here: connect, first_byte, idle, total, client_head, client_body, client_idle, "
         "client_write, "
         "upstream_idle"},
        {"--set connect=3", "--set: unknown key \"connect\"", "did you mean \"timeouts.connect\"?"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct config_args args = {0};
        struct err e = {0};

        assert_row(rows[i].args,
                   config_args_parse(split(rows[i].args), line, &args, &e) == -EINVAL);
        assert_span_equal(rows[i].args, span_cstr(e.text), span_cstr(rows[i].message));
        assert_span_equal(rows[i].args, span_cstr(e.hint), span_cstr(rows[i].hint));
        assert_row(rows[i].args,
                   config_args_parse(split(rows[i].args), line, &args, NULL) == -EINVAL);
    }
}

static void test_wrong_values(void **state)
{
    static const struct {
        const char *args, *where;
        int at_line, column;
        const char *message;
    } rows[] = {
        {"--upstream http://h --workers x", "--workers", 0, 0,
         "\"workers\": \"x\" is not a whole number"},
        {"--upstream http://h --upstream http://h/base", "--upstream", 0, 0,
         "an upstream \"h\" stands twice"},
        {"--upstream http://h --set timeouts.idle=9", "--set", 0, 0,
         "\"timeouts.idle\": \"9\" has no unit"},
        {"--upstream http://h --set models=[a", "--set", 2, 1,
         "YAML syntax: did not find expected ',' or ']' while parsing a flow sequence that began "
         "on line 1"},
        {"--upstream http://h --set models=[a,a]", "--set", 1, 4, "\"models\": \"a\" stands twice"},
        {"--upstream http://h --listen :1 --listen :1", "--listen", 0, 0,
         "\"listen\": \":1\" stands twice"},
        {"--upstream http://h --admin 127.0.0.1:8400", "--admin", 0, 0,
         "\"admin.listen\" is the same address as in \"listen\": 127.0.0.1:8400"},
        {"--upstream http://127.0.0.1:8400", "--upstream", 0, 0,
         "upstream \"http://127.0.0.1:8400\" is the gateway's own address"},
        {"--workers 2", "configuration", 0, 0, "missing key \"upstreams\""},
        {"-c /nonexistent.yaml", "/nonexistent.yaml", 0, 0,
         "could not open the file: no such file or directory"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct config *c = NULL;

        assert_row(rows[i].args, load(rows[i].args, &c) < 0 && c == NULL);
        assert_int_equal(errs.n, 1);
        assert_span_equal(rows[i].args, span_cstr(errs.items[0].where), span_cstr(rows[i].where));
        assert_span_equal(rows[i].args, span_cstr(errs.items[0].err.text),
                          span_cstr(rows[i].message));
        assert_row(rows[i].args, errs.items[0].line == rows[i].at_line);
        assert_row(rows[i].args, errs.items[0].column == rows[i].column);
    }
}

static void test_too_many(void **state)
{
    static char command[] = "serve", flag[] = "--workers=1";
    char *argv[CONFIG_ARGS_MAX + 2] = {command};
    struct config_args args = {0};
    struct err e;

    (void)state;
    for (int i = 1; i <= CONFIG_ARGS_MAX + 1; i++)
        argv[i] = flag;
    assert_int_equal(config_args_parse(CONFIG_ARGS_MAX + 1, argv, &args, NULL), 0);
    assert_int_equal(config_args_parse(CONFIG_ARGS_MAX + 2, argv, &args, &e), -E2BIG);
    assert_string_equal(e.text, "more than 64 flags");
}

static void test_take(void **state)
{
    struct config_args args = {0};
    int n = split("--demo --workers 3 -- --set workers=4");
    int i = 1;

    (void)state;
    assert_int_equal(config_args_take(&args, n, line, &i, NULL), 0);
    assert_int_equal(i, 1);
    i = 2;
    assert_int_equal(config_args_take(&args, n, line, &i, NULL), 1);
    assert_int_equal(i, 4);
    assert_int_equal(config_args_take(&args, n, line, &i, NULL), 0);
    i = 5;
    assert_int_equal(config_args_take(&args, n, line, &i, NULL), 1);
    assert_int_equal(i, 7);
    assert_int_equal(args.n, 2);
}

/* Every flag stands for a key of the table. */
static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < config_args_flags_n; i++) {
        const struct config_flag *f = &config_args_flags[i];

        assert_true(span_starts_with(span_cstr(f->name), SPAN("--")));
        if (f->path)
            assert_row(f->name, config_keys_find(span_cstr(f->path)) != NULL);
    }
}

static int attempt(void *ctx)
{
    struct config *c = NULL;
    int r = load(ctx, &c);

    config_unref(c);
    return r;
}

static void test_no_memory(void **state)
{
    char text[] = "--upstream http://h --listen :1 --listen :2 --set models=[a,b] --set models=c";

    (void)state;
    assert_true(memfail_each(attempt, text) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flags),           cmocka_unit_test(test_set),
        cmocka_unit_test(test_flags_over_file), cmocka_unit_test(test_help),
        cmocka_unit_test(test_wrong_usage),     cmocka_unit_test(test_wrong_values),
        cmocka_unit_test(test_too_many),        cmocka_unit_test(test_take),
        cmocka_unit_test(test_table),           cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("daemon/config_args", tests, NULL, NULL);
}
