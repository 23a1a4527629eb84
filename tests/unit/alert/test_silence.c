/* SPDX-License-Identifier: Apache-2.0 */
#include "alert_kinds.h"

#include <time.h>

#include "alert/silence.h"
#include "base/rng.h"
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
    struct silence_memo memo = {.n = 0};
    struct arena a;
    arena_init(&a, NULL);
    const char *id = silence_match(s, &memo, kind_labels(&a, labels), now_ms);
    silence_memo_done(&memo);
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
    char first[37];
    (void)state;
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
    (void)snprintf(first, sizeof(first), "%s", silences_at(s, 0)->id);
    silences_free(s);
    assert_non_null(match(next, "a=1 b=xx", NOW_MS));
    assert_string_equal(match(next, "a=1", NOW_MS), first);
    assert_string_equal(match(next, "b=xxx", NOW_MS), silences_at(next, 1)->id);
    assert_string_equal(match(next, "b=xx c=1", NOW_MS), silences_at(next, 1)->id);
    silences_free(next);
}

/* --- what is remembered --- */

enum { MEMO_LABELS = 12, MEMO_STEPS = 4000 };

static const char *const memo_names[] = {"a", "b"};

/* One for a value, or for a pattern, of a or b; pending, active, or ended soon. */
static void memo_set(struct silences *s, struct rng *rng, int64_t now_ms, const char *id)
{
    char text[600];
    time_t from = (time_t)(now_ms / 1000 + (int64_t)rng_below(rng, 60));
    time_t to = from + 1 + (time_t)rng_below(rng, 300);
    struct tm tm;
    char times[2][32];
    (void)strftime(times[0], sizeof(times[0]), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&from, &tm));
    (void)strftime(times[1], sizeof(times[1]), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&to, &tm));
    bool is_pattern = rng_below(rng, 2) == 0;
    (void)snprintf(text, sizeof(text),
                   "{%s%s%s\"matchers\": [{\"name\": \"%s\", \"value\": \"%llu%s\", \"isRegex\": "
                   "%s}], \"startsAt\": \"%s\", \"endsAt\": \"%s\"}",
                   id ? "\"id\": \"" : "", id ? id : "", id ? "\", " : "",
                   memo_names[rng_below(rng, 2)], (unsigned long long)rng_below(rng, 4),
                   is_pattern ? ".?" : "", is_pattern ? "true" : "false", times[0], times[1]);
    (void)set(s, text, now_ms);
}

static bool is_silenced(const struct silences *s, struct labels l, int64_t now_ms)
{
    for (size_t i = 0; i < silences_n(s); i++) {
        const struct silence *one = silences_at(s, i);
        if (silence_state(one, now_ms) == SILENCE_ACTIVE &&
            matcher_matches_all(one->matchers, one->n_matchers, l))
            return true;
    }
    return false;
}

/* Whatever happens to the silences, what is remembered answers as a look at all of them. */
static void test_memo(void **state)
{
    struct silences *s = make();
    struct silence_memo memos[MEMO_LABELS] = {{.n = 0}};
    struct labels labels[MEMO_LABELS];
    char texts[MEMO_LABELS][40];
    struct arena a;
    struct rng rng;
    int64_t now_ms = NOW_MS;
    size_t n_silenced = 0;
    (void)state;
    rng_seed(&rng, 6);
    arena_init(&a, NULL);
    for (int i = 0; i < MEMO_LABELS; i++) {
        (void)snprintf(texts[i], sizeof(texts[i]), "a=%d b=%d", i % 4, i / 4 * 11);
        labels[i] = kind_labels(&a, texts[i]);
    }
    for (int i = 0; i < MEMO_STEPS; i++) {
        size_t n = silences_n(s);
        const char *any = n > 0 ? silences_at(s, rng_below(&rng, n))->id : NULL;
        unsigned int what = (unsigned int)rng_below(&rng, 16);
        if (what < 2 && n < 40)
            memo_set(s, &rng, now_ms, NULL);
        else if (what == 2 && any)
            memo_set(s, &rng, now_ms, any);
        else if (what == 3 && any)
            assert_int_equal(silences_expire(s, span_cstr(any), now_ms), 0);
        else if (what == 4)
            silences_clean(s, now_ms + 432000000 - 60000, NULL, NULL);
        else
            now_ms += (int64_t)rng_below(&rng, 20000);
        int k = (int)rng_below(&rng, MEMO_LABELS);
        bool wanted = is_silenced(s, labels[k], now_ms);
        n_silenced += wanted;
        assert_true((silence_match(s, &memos[k], labels[k], now_ms) != NULL) == wanted);
    }
    assert_true(n_silenced > MEMO_STEPS / 10 && n_silenced < MEMO_STEPS * 9 / 10);
    for (int i = 0; i < MEMO_LABELS; i++)
        silence_memo_done(&memos[i]);
    arena_done(&a);
    silences_free(s);
}

/* One that is changed is looked at again, and is remembered once. */
static void test_memo_of_a_changed_one(void **state)
{
    static const struct label pair = {SPAN_INIT("a"), SPAN_INIT("1")};
    const struct labels l = {&pair, 1};
    struct silences *s = make();
    struct silence_memo memo = {.n = 0};
    char text[300];
    (void)state;
    const struct silence *one =
        set(s, "{" A "\"startsAt\": \"1970-01-12T14:00:00Z\", " LATER "}", NOW_MS);
    for (int i = 0; i < 3; i++) {
        assert_null(silence_match(s, &memo, l, NOW_MS));
        (void)snprintf(text, sizeof(text),
                       "{\"id\": \"%s\", " A "\"startsAt\": \"1970-01-12T14:0%d:00Z\", " LATER "}",
                       one->id, i);
        one = set(s, text, NOW_MS);
    }
    assert_int_equal(silences_n(s), 1);
    assert_int_equal(memo.n, 1);
    assert_string_equal(silence_match(s, &memo, l, one->starts_ms), one->id);
    assert_null(silence_match(s, &memo, l, one->ends_ms));
    assert_int_equal(memo.n, 0);
    silence_memo_done(&memo);
    silences_free(s);
}

static int attempt(void *ctx)
{
    static const struct label pairs[] = {{SPAN_INIT("a"), SPAN_INIT("1")},
                                         {SPAN_INIT("b"), SPAN_INIT("x")}};
    struct silences *s = ctx;
    struct silence_memo memo = {.n = 0};
    const struct silence *one = NULL;
    size_t n = silences_n(s);
    int r = silences_set(s,
                         SPAN("{\"matchers\": [{\"name\": \"a\", \"value\": \"1\"}, {\"name\": "
                              "\"b\", \"value\": \"x+\", \"isRegex\": true}], " LATER ", " WHO "}"),
                         NOW_MS, &one, NULL);
    assert_int_equal(silences_n(s), r == 0 ? n + 1 : n);
    assert_true((one != NULL) == (r == 0));
    if (r == 0) {                     /* so that nothing is left */
        for (int i = 0; i < 2; i++) { /* also where it cannot be remembered */
            assert_non_null(silence_match(s, &memo, (struct labels){pairs, 2}, NOW_MS));
            r = memo.n == 0 ? -ENOMEM : r;
        }
        silence_memo_done(&memo);
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
        cmocka_unit_test(test_memo),           cmocka_unit_test(test_memo_of_a_changed_one),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
