/* SPDX-License-Identifier: Apache-2.0 */
#include "alert_kinds.h"

#include "alert/silence.h"
#include "memfail.h"

enum { NOW_MS = 1000000000 }; /* 1970-01-12T13:46:40Z */

#define START "\"startsAt\": \"1970-01-12T13:46:40Z\""
#define LATER "\"endsAt\": \"1970-01-12T14:46:40Z\""
#define WHO   "\"createdBy\": \"me\", \"comment\": \"why\""

static struct silences *make(void)
{
    struct silences *s = NULL;
    assert_int_equal(silences_new(&s), 0);
    return s;
}

static const struct silence *set(struct silences *s, const char *json, int64_t now_ms)
{
    const struct silence *one = NULL;
    struct err err = {.text = ""};
    int r = silences_set(s, span_cstr(json), now_ms, &one, &err);
    if (r != 0)
        fail_msg("%d %s: %s", r, err.text, json);
    return one;
}

static const char *match(const struct silences *s, const char *labels, int64_t now_ms)
{
    struct arena a;
    arena_init(&a, NULL);
    const char *id = silences_match(s, kind_labels(&a, labels), now_ms);
    arena_done(&a);
    return id;
}

static void test_a_life(void **state)
{
    struct silences *s = make();
    struct jsonw w;
    struct buf b;
    (void)state;
    const struct silence *one =
        set(s,
            "{\"matchers\": [{\"name\": \"model\", \"value\": \"m\"}, {\"name\": \"zone\", "
            "\"value\": \"z.*\", \"isRegex\": true, \"isEqual\": false}], " START ", " LATER
            ", " WHO ", \"odd\": [1]}",
            NOW_MS);
    assert_int_equal(strlen(one->id), 36);
    assert_true(one->id[8] == '-' && one->id[14] == '4' && one->id[23] == '-');
    assert_string_equal(match(s, "model=m a=b", NOW_MS), one->id);
    assert_null(match(s, "model=m zone=z1", NOW_MS));
    assert_null(match(s, "model=n", NOW_MS));
    assert_null(match(s, "model=m", NOW_MS - 1));
    assert_non_null(match(s, "model=m", NOW_MS + 3599999));
    assert_null(match(s, "model=m", NOW_MS + 3600000));
    buf_init(&b, 10000);
    jsonw_init(&w, &b);
    silence_write(one, NOW_MS, &w);
    assert_int_equal(buf_printf(&b, "."), 0);
    char want[600];
    (void)snprintf(want, sizeof(want),
                   "{\"id\":\"%s\",\"status\":{\"state\":\"active\"},"
                   "\"updatedAt\":\"1970-01-12T13:46:40.000Z\",\"comment\":\"why\","
                   "\"createdBy\":\"me\",\"startsAt\":\"1970-01-12T13:46:40.000Z\","
                   "\"endsAt\":\"1970-01-12T14:46:40.000Z\",\"matchers\":[{\"name\":\"model\","
                   "\"value\":\"m\",\"isRegex\":false,\"isEqual\":true},{\"name\":\"zone\","
                   "\"value\":\"z.*\",\"isRegex\":true,\"isEqual\":false}]}.",
                   one->id);
    assert_span_equal("json", buf_span(&b), span_cstr(want));
    buf_done(&b);
    assert_int_equal(silences_expire(s, SPAN("none"), NOW_MS), -ENOENT);
    assert_int_equal(silences_expire(s, span_cstr(one->id), NOW_MS + 5), 0);
    assert_int_equal(silences_expire(s, span_cstr(one->id), NOW_MS + 9), 0);
    assert_int_equal(one->ends_ms, NOW_MS + 5);
    assert_null(match(s, "model=m", NOW_MS + 5));
    silences_free(s);
}

static int n_gone;
static void gone(void *ctx, const char *id)
{
    (void)ctx;
    assert_int_equal(strlen(id), 36);
    n_gone++;
}

static void test_kept_five_days(void **state)
{
    struct silences *s = make();
    (void)state;
    (void)set(s, "{\"matchers\": [{\"name\": \"a\", \"value\": \"1\"}], " LATER "}", NOW_MS);
    (void)set(s,
              "{\"matchers\": [{\"name\": \"a\", \"value\": \"1\"}], \"endsAt\": "
              "\"1970-01-13T00:00:00Z\"}",
              NOW_MS);
    silences_clean(s, NOW_MS + 3600000 + 432000000 - 1, gone, NULL);
    assert_int_equal(n_gone, 0);
    silences_clean(s, NOW_MS + 3600000 + 432000000, gone, NULL);
    assert_int_equal(n_gone, 1);
    assert_int_equal(silences_n(s), 1);
    assert_non_null(match(s, "a=1", NOW_MS));
    silences_clean(s, NOW_MS + 864000000, NULL, NULL);
    assert_int_equal(silences_n(s), 0);
    assert_null(match(s, "a=1", NOW_MS));
    silences_free(s);
}

/* {what is sent with the id at +10 s; whether it is the same one then} */
static void test_changes(void **state)
{
    static const struct {
        const char *first, *change;
        bool is_same;
    } rows[] = {
        /* Active: its end may move, and texts. */
        {START ", " LATER, START ", \"endsAt\": \"1970-01-12T15:00:00Z\"", true},
        {START ", " LATER, START ", " LATER ", \"comment\": \"new\"", true},
        {START ", " LATER, "\"startsAt\": \"1970-01-12T13:00:00Z\", " LATER, false},
        {START ", " LATER, "\"startsAt\": \"1970-01-12T14:00:00Z\", " LATER, false},
        /* Pending: all that is to come. */
        {"\"startsAt\": \"1970-01-12T14:00:00Z\", " LATER,
         "\"startsAt\": \"1970-01-12T14:10:00Z\", " LATER, true},
        {"\"startsAt\": \"1970-01-12T14:00:00Z\", " LATER, START ", " LATER, false},
        /* Expired: a new one. */
        {"\"endsAt\": \"1970-01-12T13:46:45Z\"", START ", " LATER, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct silences *s = make();
        char text[600], id[37];
        (void)snprintf(text, sizeof(text),
                       "{\"matchers\": [{\"name\": \"a\", \"value\": \"1\"}], %s}", rows[i].first);
        (void)snprintf(id, sizeof(id), "%s", set(s, text, NOW_MS)->id);
        (void)snprintf(text, sizeof(text),
                       "{\"id\": \"%s\", \"matchers\": [{\"name\": \"a\", \"value\": \"1\"}], %s}",
                       id, rows[i].change);
        const struct silence *one = set(s, text, NOW_MS + 10000);
        assert_row(rows[i].change, (strcmp(one->id, id) == 0) == rows[i].is_same);
        assert_int_equal(silences_n(s), rows[i].is_same ? 1 : 2);
        const struct silence *old = silences_get(s, span_cstr(id));
        assert_non_null(old);
        if (!rows[i].is_same)
            assert_int_equal(silence_state(old, NOW_MS + 10000), SILENCE_EXPIRED);
        /* Other matchers are another silence. */
        (void)snprintf(
            text, sizeof(text),
            "{\"id\": \"%s\", \"matchers\": [{\"name\": \"a\", \"value\": \"2\"}], " LATER "}", id);
        assert_string_not_equal(set(s, text, NOW_MS + 10000)->id, id);
        assert_null(match(s, rows[i].is_same ? "a=1" : "a=3", NOW_MS + 10000));
        assert_non_null(match(s, "a=2", NOW_MS + 10000));
        silences_free(s);
    }
}

static void test_mistakes(void **state)
{
#define A "\"matchers\": [{\"name\": \"a\", \"value\": \"1\"}], "
    static const struct {
        const char *json, *message;
        int r;
    } rows[] = {
        {"", "", -EINVAL},
        {"[]", "not an object", -EINVAL},
        {"{" LATER "}", "\"matchers\" is missing", -EINVAL},
        {"{\"matchers\": [], " LATER "}", "\"matchers\" is missing", -EINVAL},
        {"{\"matchers\": [7], " LATER "}", "right members", -EINVAL},
        {"{\"matchers\": [{\"name\": \"a\"}], " LATER "}", "right members", -EINVAL},
        {"{\"matchers\": [{\"name\": \"\", \"value\": \"1\"}], " LATER "}", "no name", -EINVAL},
        {"{\"matchers\": [{\"name\": \"a\", \"value\": \"1\", \"isRegex\": 1}], " LATER "}",
         "right members", -EINVAL},
        {"{\"matchers\": [{\"name\": \"a\", \"value\": \"(\", \"isRegex\": true}], " LATER "}", "",
         -EINVAL},
        {"{\"matchers\": [{\"name\": \"a\", \"value\": \"\"}], " LATER "}", "match every", -EINVAL},
        {"{\"matchers\": [{\"name\": \"a\", \"value\": \".*\", \"isRegex\": true}], " LATER "}",
         "match every", -EINVAL},
        {"{" A START "}", "\"endsAt\" is no point in time", -EINVAL},
        {"{" A "\"endsAt\": 5}", "\"endsAt\" is no point in time", -EINVAL},
        {"{" A "\"startsAt\": \"soon\", " LATER "}", "\"startsAt\" is no point", -EINVAL},
        {"{" A START ", \"endsAt\": \"1970-01-12T13:46:40Z\"}", "ends before", -EINVAL},
        {"{" A "\"startsAt\": \"1970-01-11T00:00:00Z\", \"endsAt\": \"1970-01-12T13:00:00Z\"}",
         "has ended", -EINVAL},
        {"{\"id\": \"00000000-0000-4000-8000-000000000000\", " A LATER "}", "there is no silence",
         -ENOENT},
        {"{\"id\": \"00000000-0000-4000-8000-0000000000000\", " A LATER "}", "too long", -EINVAL},
    };
    struct silences *s = make();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct silence *one = NULL;
        struct err err = {.text = ""};
        assert_row(rows[i].json,
                   silences_set(s, span_cstr(rows[i].json), NOW_MS, &one, &err) == rows[i].r);
        assert_row(rows[i].json, err.text[0] != '\0' && strstr(err.text, rows[i].message));
        assert_null(one);
    }
    assert_int_equal(silences_n(s), 0);
    silences_free(s);
}

static void test_limit(void **state)
{
    struct silences *s = make();
    const struct silence *one = NULL;
    struct err err = {.text = ""};
    (void)state;
    for (int i = 0; i < SILENCES_MAX; i++)
        (void)set(s, "{" A LATER "}", NOW_MS);
    assert_int_equal(silences_set(s, SPAN("{" A LATER "}"), NOW_MS, &one, &err), -ENOSPC);
    assert_true(err.hint[0] != '\0');
    silences_free(s);
}

static void test_several(void **state)
{
    struct silences *s = make(), *next = make();
    const char *ids[2];
    struct arena a;
    (void)state;
    arena_init(&a, NULL);
    (void)set(s, "{" A LATER "}", NOW_MS);
    (void)set(
        s, "{\"matchers\": [{\"name\": \"b\", \"value\": \"x+\", \"isRegex\": true}], " LATER "}",
        NOW_MS);
    (void)set(s,
              "{\"matchers\": [{\"name\": \"a\", \"value\": \"1\"}, {\"name\": \"b\", "
              "\"value\": \"xx\"}], " LATER "}",
              NOW_MS);
    for (size_t i = 0; i < silences_n(s); i++)
        assert_int_equal(silences_restore(next, silences_at(s, i)), 0);
    assert_int_equal(silences_restore(next, silences_at(s, 0)), 0); /* once only */
    assert_int_equal(silences_n(next), 3);
    silences_free(s);
    assert_int_equal(silences_matching(next, kind_labels(&a, "a=1 b=xx"), NOW_MS, ids, 2), 3);
    assert_string_not_equal(ids[0], ids[1]);
    assert_int_equal(silences_matching(next, kind_labels(&a, "a=1"), NOW_MS, ids, 2), 1);
    assert_int_equal(silences_matching(next, kind_labels(&a, "b=xxx"), NOW_MS, ids, 2), 1);
    assert_int_equal(silences_matching(next, kind_labels(&a, "b=xx c=1"), NOW_MS, ids, 2), 1);
    arena_done(&a);
    silences_free(next);
}

static int attempt(void *ctx)
{
    static const struct label pairs[] = {{SPAN_INIT("a"), SPAN_INIT("1")},
                                         {SPAN_INIT("b"), SPAN_INIT("x")}};
    struct silences *s = ctx;
    const struct silence *one = NULL;
    size_t n = silences_n(s);
    int r = silences_set(s,
                         SPAN("{\"matchers\": [{\"name\": \"a\", \"value\": \"1\"}, {\"name\": "
                              "\"b\", \"value\": \"x+\", \"isRegex\": true}], " LATER ", " WHO "}"),
                         NOW_MS, &one, NULL);
    assert_int_equal(silences_n(s), r == 0 ? n + 1 : n);
    assert_true((one != NULL) == (r == 0));
    if (r == 0) { /* so that nothing is left */
        assert_non_null(silences_match(s, (struct labels){pairs, 2}, NOW_MS));
        silences_clean(s, INT64_MAX / 2, NULL, NULL);
    }
    return r;
}

static int attempt_restore(void *ctx)
{
    struct silences *s = NULL;
    int r = silences_new(&s);
    if (r == 0)
        r = silences_restore(s, ctx);
    silences_free(s);
    return r;
}

static void test_without_memory(void **state)
{
    struct silences *s = make();
    (void)state;
    for (int i = 0; i < 3; i++) /* maps and lists have what they need */
        (void)set(s, "{" A LATER "}", NOW_MS);
    assert_true(memfail_each(attempt_restore, (void *)(uintptr_t)silences_at(s, 0)) >= 3);
    silences_clean(s, INT64_MAX / 2, NULL, NULL);
    assert_true(memfail_each(attempt, s) >= 5);
    silences_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_life),         cmocka_unit_test(test_kept_five_days),
        cmocka_unit_test(test_changes),        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_limit),          cmocka_unit_test(test_several),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
