/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/play.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"

static char dir[] = "/tmp/inferometer-play-XXXXXX";

static int setup(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return rmdir(dir);
}

/* The path of a file of ours; static, two at a time. */
static const char *path_of(const char *name)
{
    static char paths[2][256];
    static int i;

    i = !i;
    (void)snprintf(paths[i], sizeof(paths[i]), "%s/%s", dir, name);
    return paths[i];
}

static void file_write(const char *name, const char *text)
{
    FILE *f = fopen(path_of(name), "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* The writes, with '|' between them; static. */
static const char *writes_of(const struct play *p, int64_t n_bytes)
{
    static char text[512];
    struct play_place at = {0};
    struct span w;
    size_t n = 0, n_writes = 0;

    while ((w = play_take(p, &at, n_bytes)).n > 0) {
        n_writes++;
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%.*s|", SPAN_ARG(w));
    }
    text[n] = '\0';
    assert_int_equal(n_writes, play_n_writes(p, n_bytes));
    return text;
}

static void test_writes(void **state)
{
    static const struct {
        const char *name, *text, *reads;
        int64_t n_bytes;
        const char *type, *expect;
    } rows[] = {
        {"a.sse", "data: 1\n\n: c\n\ndata: 2\n\n", NULL, 0, "text/event-stream; charset=utf-8",
         "data: 1\n\n|: c\n\ndata: 2\n\n|"},
        {"a.sse", "data: 1\n\ndata: 2", NULL, 0, "text/event-stream; charset=utf-8",
         "data: 1\n\n|data: 2|"},
        {"a.sse", "data: 1\n\n", "4\n5\n", 0, "text/event-stream; charset=utf-8", "data|: 1\n\n|"},
        {"a.sse", "data: 1\n\n", "4\r\n 5", 0, "text/event-stream; charset=utf-8", "data|: 1\n\n|"},
        {"a.sse", "data: 1\n\n", "9\n", 4, "text/event-stream; charset=utf-8", "data|: 1\n|\n|"},
        {"a.ndjson", "{}\n{}\n", NULL, 0, "application/x-ndjson", "{}\n|{}\n|"},
        {"a.JSON", "[{},{}]", NULL, 0, "application/json", "[{}|,{}|]|"},
        {"a.json", "{\"a\":1}\n", NULL, 0, "application/json", "{\"a\":1}|\n|"},
        {"a.json", "", NULL, 0, "application/json", ""},
        {"a.json", "", NULL, 3, "application/json", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char reads[40];
        struct play *p = NULL;
        struct err e = {0};

        (void)snprintf(reads, sizeof(reads), "%s.reads", rows[i].name);
        file_write(rows[i].name, rows[i].text);
        if (rows[i].reads)
            file_write(reads, rows[i].reads);
        assert_int_equal(play_open(path_of(rows[i].name), &p, &e), 0);
        assert_string_equal(play_content_type(p), rows[i].type);
        assert_int_equal(play_len(p), strlen(rows[i].text));
        assert_span_equal(rows[i].text, span_cstr(writes_of(p, rows[i].n_bytes)),
                          span_cstr(rows[i].expect));
        assert_null(play_free(p));
        unlink(path_of(rows[i].name));
        unlink(path_of(reads));
    }
}

static void test_refused(void **state)
{
    static const struct {
        const char *name, *reads;
        int error;
        const char *text, *hint;
    } rows[] = {
        {"missing.sse", NULL, -ENOENT, "could not read", "check the path"},
        {"b.txt", NULL, -EINVAL, "b.txt\" is not a file that can be played", ".ndjson"},
        {".sse", NULL, -ENOENT, "could not read", "check the path"},
        {"b.sse", "4\nx\n", -EINVAL, "b.sse.reads:2: \"x\" is not a length", "the file, 9"},
        {"b.sse", "4\n0\n5\n", -EINVAL, "b.sse.reads:2: \"0\" is not a length", "one a line"},
        {"b.sse", "4\n\n5\n", -EINVAL, "b.sse.reads:2: \"\" is not a length", "one a line"},
        {"b.sse", "4\n6\n", -EINVAL, "b.sse.reads:2: the writes go beyond", "the file, 9"},
        {"b.sse", "4\n4\n", -EINVAL, "b.sse.reads: the writes have 8 bytes, the file has 9",
         "one a line"},
        {"b.sse", "99999999999999999999\n", -EINVAL, "is not a length", "one a line"},
    };
    (void)state;
    file_write("b.sse", "data: 1\n\n");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct play *p = NULL;
        struct err e = {0};

        if (rows[i].reads)
            file_write("b.sse.reads", rows[i].reads);
        assert_row(rows[i].text, play_open(path_of(rows[i].name), &p, &e) == rows[i].error);
        assert_row(rows[i].text, strstr(e.text, rows[i].text) != NULL);
        assert_row(rows[i].text, strstr(e.hint, rows[i].hint) != NULL);
        assert_null(p);
    }
    unlink(path_of("b.sse.reads"));
    unlink(path_of("b.sse"));
}

static void test_a_directory_is_no_file(void **state)
{
    struct play *p = NULL;
    struct err e = {0};
    (void)state;
    assert_int_equal(mkdir(path_of("d.sse"), 0700), 0);
    assert_int_equal(play_open(path_of("d.sse"), &p, &e), -EISDIR);
    assert_null(p);
    rmdir(path_of("d.sse"));
}

static void test_names(void **state)
{
    static const char *const bad[] = {"",    "../c.sse", "/etc/c.sse", ".c.sse",
                                      "x/c", "..",       "c.sse/",     "."};
    struct play *p = NULL;
    struct err e = {0};
    (void)state;
    file_write("c.sse", "data: 1\n\n");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        e = (struct err){0};
        assert_row(bad[i], play_open_in(dir, span_cstr(bad[i]), &p, &e) == -EINVAL);
        assert_row(bad[i], strstr(e.text, "is not the plain name of a file") != NULL);
        assert_row(bad[i], strstr(e.hint, "--play-dir") != NULL);
    }
    assert_int_equal(play_open_in(dir, span_of("c\0.sse", 6), &p, &e), -EINVAL);
    assert_null(p);
    assert_int_equal(play_open_in(dir, SPAN("c.sse"), &p, &e), 0);
    p = play_free(p);
    unlink(path_of("c.sse"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writes),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_a_directory_is_no_file),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests_name("sim/play", tests, setup, teardown);
}
