/* SPDX-License-Identifier: Apache-2.0 */
/* What people say and see: notes, marks, hostile text, lists, reviews. */
#include "rig.h"

#include <stdlib.h>

#include "base/clock.h"
#include "incident/markdown.h"
#include "incident/readable.h"

static struct rig rig;
#define ID "20231114T2214-1"

static int setup(void **state)
{
    (void)state;
    rig_start(&rig);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rig_stop(&rig);
    return 0;
}

/* A closed one, done or not. */
static void past(const char *name, int64_t lasts_ms)
{
    int64_t from = rig.now_ms;
    rig_fire_at(&rig, name, from);
    rig.now_ms += lasts_ms;
    rig_resolve(&rig, name, from);
    rig_go(&rig, 6 * MINUTE, NULL);
}

static int note(const char *author, struct span text, struct err *err)
{
    return incidents_note(rig.incidents, SPAN(ID), span_cstr(author), text, T0 + MINUTE, err);
}

static void notes_and_marks_are_kept(void **state)
{
    (void)state;
    rig_fire(&rig, "Slow");
    rig_fire(&rig, "Errors");
    assert_int_equal(note("ann", SPAN("restarted it"), NULL), 0);
    assert_int_equal(incidents_acknowledge(rig.incidents, SPAN(ID), SPAN("bob"), T0, NULL), 0);
    assert_int_equal(incidents_acknowledge(rig.incidents, SPAN(ID), SPAN("eve"), T0, NULL), 0);
    assert_int_equal(
        incidents_mark_noise(rig.incidents, SPAN(ID), SPAN("Slow"), true, SPAN("bob"), T0, NULL),
        0);
    for (int i = 0; i < 2; i++) {
        assert_has(rig_list(&rig), "\"notes\":1,\"acknowledged_by\":\"bob\",\"acknowledged_at\":"
                                   "\"2023-11-14T22:14:00.000Z\",\"is_noise\":false");
        assert_has(rig_one(&rig, ID), "\"notes\":[{\"at\":\"2023-11-14T22:15:00.000Z\",\"author\":"
                                      "\"ann\",\"text\":\"restarted it\"}]");
        assert_has(rig.text, "\"act\":\"noise\",\"alert\":\"Slow\"");
        assert_int_equal(rig_count(rig.text, "\"is_noise\":true"), 1);
        rig_restart(&rig);
    }
    assert_has(rig_markdown(&rig, ID), "Acknowledged by bob, 2023-11-14 22:14:00 UTC.\n");
    assert_has(rig.text, "2023-11-14 22:15:00 UTC, ann wrote:\n\n> restarted it\n");
    assert_has(rig.text, "| P1 | Slow (noise) | model=a | 2023-11-14 22:14:00 | ");
    assert_has(rig.text, "| P1 | Errors | model=a | ");
    assert_int_equal(
        incidents_mark_noise(rig.incidents, SPAN(ID), SPAN(""), true, SPAN("bob"), T0, NULL), 0);
    assert_has(rig_list(&rig), "\"is_noise\":true");
    assert_int_equal(rig_count(rig_one(&rig, ID), "\"is_noise\":true"), 2);
    assert_int_equal(
        incidents_mark_noise(rig.incidents, SPAN(ID), SPAN("Errors"), false, SPAN("bob"), T0, NULL),
        0);
    assert_int_equal(rig_count(rig_one(&rig, ID), "\"is_noise\":true"), 1);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    struct err err = {0};
    static char large[1024 * 1024];
    memset(large, 'x', sizeof(large));
    rig_fire(&rig, "Slow");
    assert_int_equal(note("ann", span_of(large, sizeof(large)), &err), -EMSGSIZE);
    assert_has(err.text, "the note is longer than 16384 bytes");
    assert_int_equal(note("ann", span_of(large, INCIDENT_NOTE_MAX), NULL), 0);
    assert_int_equal(note("ann", SPAN(" \r\n\t"), &err), -EINVAL);
    assert_int_equal(note("", SPAN("x"), &err), -EINVAL);
    assert_has(err.text, "the author is empty");
    large[INCIDENT_AUTHOR_MAX + 1] = '\0';
    assert_int_equal(note(large, SPAN("x"), &err), -EMSGSIZE);
    assert_int_equal(
        incidents_mark_noise(rig.incidents, SPAN(ID), SPAN("Other"), true, SPAN("a"), T0, &err),
        -ENOENT);
    assert_has(err.text, "has no alert \"Other\"");
    static const char *const ids[] = {"", "20231114T2214-9", "'; DROP TABLE incidents; --", "*"};
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        struct span id = span_cstr(ids[i]);
        struct buf b;
        buf_init(&b, 1000);
        assert_int_equal(incidents_acknowledge(rig.incidents, id, SPAN("a"), T0, &err), -ENOENT);
        assert_has(err.hint, "incident list");
        assert_int_equal(incidents_print_markdown(rig.incidents, id, &b), -ENOENT);
        buf_done(&b);
    }
    for (int i = 0; i < INCIDENT_NOTES_MAX - 1; i++)
        assert_int_equal(note("ann", SPAN("x"), NULL), 0);
    assert_int_equal(note("ann", SPAN("x"), &err), -E2BIG);
}

static void hostile_text_stays_text(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"plain text, 12.5 % - ok (yes)", "plain text, 12.5 % - ok (yes)"},
        {"a\r\nb\tc", "a  b c"},
        {"# head", "\\# head"},
        {"1. list", "1\\. list"},
        {"12) list", "12\\) list"},
        {"1.5 s", "1\\.5 s"},
        {"- item", "\\- item"},
        {"    code", "code"},
        {"a | b", "a \\| b"},
        {"<script>alert(1)</script>", "\\<script\\>alert(1)\\</script\\>"},
        {"[x](javascript:1)", "\\[x\\](javascript:1)"},
        {"![x](http://e/)", "\\!\\[x\\](http://e/)"},
        {"`a` *b* _c_ ~~d~~", "\\`a\\` \\*b\\* \\_c\\_ \\~\\~d\\~\\~"},
        {"&lt; \\", "\\&lt; \\\\"},
        {"\x1b[2J\x7f\xc2\x9b", "?\\[2J??"},
        {"\xff\xfe ok \xe4\xbd\xa0", "?? ok \xe4\xbd\xa0"},
        {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf b;
        buf_init(&b, 1000);
        assert_int_equal(markdown_text(span_cstr(rows[i].in), &b), 0);
        assert_span_equal(rows[i].in, buf_span(&b), span_cstr(rows[i].out));
        buf_done(&b);
    }
}

/* Of labels, values and annotations of series, which anybody's request may have made. */
static void hostile_labels_break_no_table(void **state)
{
    (void)state;
    const struct told t = {"Slow|#\n", "x|y\n| P0 | fake |<img src=x>", "P1", T0, false, 1};
    assert_int_equal(rig_put(&rig, &t), 0);
    struct err err = {0};
    assert_int_equal(incidents_note(rig.incidents, SPAN(ID), SPAN("m\r\nallory"),
                                    SPAN("# a\r\n<b>\r\n\r\n- c\x00\x1b]0;x\x07\xff"), T0, &err),
                     0);
    assert_has(rig_markdown(&rig, ID),
               "\n| P1 | Slow\\|\\#  | model=x\\|y \\| P0 \\| fake \\|\\<img src=x\\> | 2023");
    assert_has(rig.text,
               "UTC, m allory wrote:\n\n> \\# a  \n> \\<b\\>  \n>\n> \\- c??\\]0;x?\xef\xbf\xbd\n");
    assert_int_equal(rig_count(rig.text, "<"), rig_count(rig.text, "\\<"));
    assert_has(rig_one(&rig, ID), "\"text\":\"# a\\n<b>\\n\\n- c??]0;x?\xef\xbf\xbd\"");
}

static void times_and_plots_are_readable(void **state)
{
    (void)state;
    char text[READABLE_TIME_BYTES];
    static const struct {
        int64_t ms;
        const char *out;
    } rows[] = {{-5, "0 s"},
                {59999, "59 s"},
                {725 * S, "12 min 5 s"},
                {3 * HOUR + 2 * MINUTE, "3 h 2 min"},
                {4 * DAY + HOUR, "4 d 1 h"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf b;
        buf_init(&b, 100);
        assert_int_equal(readable_duration(rows[i].ms, &b), 0);
        assert_span_equal(rows[i].out, buf_span(&b), span_cstr(rows[i].out));
        buf_done(&b);
    }
    assert_string_equal(readable_time(T0 + 7, text), "2023-11-14T22:14:00.007Z");
    assert_string_equal(readable_time(INT64_MAX, text), "292278994-08-17T07:12:55.807Z");
    float at[] = {0, 1, 2, 8, __builtin_nanf(""), 4};
    struct buf b;
    buf_init(&b, 1000);
    assert_int_equal(readable_plot(at, 6, 40, &b), 0);
    assert_span_equal("plot", buf_span(&b), SPAN("▁▂▃█·▅"));
    buf_clear(&b);
    assert_int_equal(readable_plot(at, 6, 3, &b), 0); /* the largest of two */
    assert_span_equal("plot", buf_span(&b), SPAN("▂█▅"));
    buf_clear(&b);
    float none[] = {0, 0, -3};
    assert_int_equal(readable_plot(none, 3, 40, &b), 0);
    assert_span_equal("plot", buf_span(&b), SPAN("▁▁▁"));
    buf_done(&b);
}

/* --- lists and reviews --- */

static void lists_are_filtered(void **state)
{
    (void)state;
    past("First", MINUTE);
    int64_t second = rig.now_ms;
    past("Second", MINUTE);
    int64_t third = rig.now_ms;
    rig_fire(&rig, "Third");
    const struct {
        const char *name;
        struct incidents_filter f;
        const char *names[4];
    } rows[] = {
        {"all", {0}, {"Third", "Second", "First"}},
        {"two", {.limit = 2}, {"Third", "Second"}},
        {"one", {.limit = 1}, {"Third"}},
        {"open", {.only_open = true}, {"Third"}},
        {"from", {.from_ms = second}, {"Third", "Second"}},
        {"to", {.to_ms = second - S}, {"First"}},
        {"middle", {.from_ms = second, .to_ms = third - S}, {"Second"}},
        {"later", {.from_ms = third + HOUR}, {"Third"}},
        {"before", {.to_ms = T0 - S}, {NULL}},
    };
    struct memory *m;
    assert_int_equal(memory_new(&m), 0);
    for (int k = 0; k < 2; k++) { /* from memory, and from the file */
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            const char *at = rig_list_of(&rig, &rows[i].f);
            int n = 0;
            for (; rows[i].names[n]; n++) {
                at = strstr(at, rows[i].names[n]);
                assert_row(rows[i].name, at != NULL);
            }
            assert_row(rows[i].name, rig_count(rig.text, "\"id\"") == n);
        }
        for (int i = 0; i < 8; i++) { /* the third keeps firing */
            rig_fire_at(&rig, "Third", third);
            rig_go(&rig, 3 * MINUTE, memory_reader(m));
        }
    }
    memory_free(m);
}

struct review {
    char text[4096];
    size_t n;
};

static int take(void *ctx, const struct incident_alert *a)
{
    struct review *v = ctx;
    v->n += (size_t)snprintf(v->text + v->n, sizeof(v->text) - v->n,
                             "%.*s %.*s %" PRId64 "+%" PRId64 "%s%s\n", SPAN_ARG(a->incident),
                             SPAN_ARG(a->name), (a->from_ms - T0) / S, (a->to_ms - a->from_ms) / S,
                             a->is_noise ? " noise" : "", a->is_firing ? " fires" : "");
    assert_int_equal(a->labels.n, 3);
    return 0;
}

static int stop(void *ctx, const struct incident_alert *a)
{
    (void)a;
    return ++*(int *)ctx == 2 ? -ECANCELED : 0;
}

static void reviews_see_every_alert(void **state)
{
    (void)state;
    struct review v = {.n = 0};
    past("Slow", MINUTE);
    rig_fire(&rig, "Errors");
    rig_resolve(&rig, "Errors", rig.now_ms);
    rig_go(&rig, 10 * S, NULL);
    rig_fire(&rig, "Errors");
    rig_go(&rig, 20 * S, NULL);
    assert_int_equal(
        incidents_mark_noise(rig.incidents, SPAN(ID), SPAN(""), true, SPAN("a"), T0, NULL), 0);
    assert_int_equal(incidents_each_alert(rig.incidents, 0, INT64_MAX, take, &v), 0);
    assert_string_equal(v.text, "20231114T2214-1 Slow 0+60 noise\n"
                                "20231114T2221-2 Errors 420+0\n"
                                "20231114T2221-2 Errors 430+20 fires\n");
    v.n = 0;
    assert_int_equal(incidents_each_alert(rig.incidents, T0 + 425 * S, INT64_MAX, take, &v), 0);
    assert_string_equal(v.text, "20231114T2221-2 Errors 430+20 fires\n");
    int n = 0;
    assert_int_equal(incidents_each_alert(rig.incidents, 0, INT64_MAX, stop, &n), -ECANCELED);
    assert_int_equal(n, 2);
}

/* Ten thousand, each with a note. */
static void many_are_listed_fast(void **state)
{
    (void)state;
    enum { MANY = 10000, AT_ONCE_MS = 2000 }; /* with sanitizers; measured: see README.md */
    struct err err = {0};
    for (int i = 0; i < 50; i++)
        past("Slow", S);
    rig.incidents = incidents_close(rig.incidents);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(tempdir_file(&rig.dir, "incidents.db"), &db), SQLITE_OK);
    char *sql = sqlite3_mprintf(
        "UPDATE incidents SET state=2;"
        "WITH RECURSIVE n(x) AS (SELECT 100 UNION ALL SELECT x+1 FROM n WHERE x<%d)"
        " INSERT INTO incidents SELECT x, 'i-'||x, 2, from_ms-x*1000, to_ms-x*1000, over_ms, tier,"
        " n_alerts, n_firing, is_cut, names FROM n, incidents WHERE row=1;"
        "INSERT INTO acts(incident, t_ms, kind, author, text) SELECT row, 1, 0, 'a', 'b' FROM"
        " incidents;"
        "INSERT INTO acts(incident, t_ms, kind, author, text) SELECT row, 1, 1, 'ann', '' FROM"
        " incidents;",
        MANY + 49);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_free(sql);
    sqlite3_close(db);
    rig_open(&rig);
    struct incidents_filter f = {.limit = MANY};
    mono_t begin = clock_mono();
    const char *all = rig_list_of(&rig, &f);
    int64_t ms = mono_diff(clock_mono(), begin) / NS_PER_MS;
    int n = 0; /* strstr goes through all of it with sanitizers */
    for (const char *at = all; *at; at++)
        n += *at == '{';
    assert_int_equal(n, MANY);
    f.limit = 100;
    begin = clock_mono();
    (void)rig_list_of(&rig, &f);
    int64_t first_us = mono_diff(clock_mono(), begin) / NS_PER_US;
    assert_int_equal(rig_count(rig.text, "\"notes\":1,\"acknowledged_by\":\"ann\""), 100);
    print_message("%d listed in %" PRId64 " ms, the first 100 in %" PRId64 " us\n", MANY, ms,
                  first_us);
    assert_true(ms < AT_ONCE_MS || getenv("UNDER_VALGRIND")); /* which is asked about memory */
    assert_int_equal(incidents_acknowledge(rig.incidents, SPAN("i-5000"), SPAN("x"), T0, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(notes_and_marks_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(hostile_text_stays_text, setup, teardown),
        cmocka_unit_test_setup_teardown(hostile_labels_break_no_table, setup, teardown),
        cmocka_unit_test_setup_teardown(times_and_plots_are_readable, setup, teardown),
        cmocka_unit_test_setup_teardown(lists_are_filtered, setup, teardown),
        cmocka_unit_test_setup_teardown(reviews_see_every_alert, setup, teardown),
        cmocka_unit_test_setup_teardown(many_are_listed_fast, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
