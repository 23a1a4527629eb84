/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/search: parameters to questions; each mistake is told with its parameter and what is right.
 */
#include "api/search.h"

#include <errno.h>
#include <stdio.h>

#include "harness.h"
#include "memfail.h"
#include "store/fields.h"

static const wall_t now = {INT64_C(1796004600000000)}; /* 2026-11-30T02:10:00Z */

struct parsed {
    struct arena arena;
    struct params params;
    struct search search;
    struct err err;
    int r;
};

static struct rows_question *parse(struct parsed *p, const char *query)
{
    memset(p, 0, sizeof(*p));
    arena_init(&p->arena, NULL);
    p->r = params_parse(&p->arena, span_cstr(query), SPAN(""), &p->params);
    if (p->r == 0)
        p->r = search_parse(&p->params, now, &p->arena, &p->search, &p->err);
    return &p->search.question;
}

static void parsed_done(struct parsed *p)
{
    arena_done(&p->arena);
}

static void test_nothing_is_the_newest_of_all(void **state)
{
    (void)state;
    struct parsed p;
    const struct rows_question *q = parse(&p, "");
    assert_int_equal(p.r, 0);
    assert_true(q->from.us == 0 && q->to.us == INT64_MAX);
    assert_int_equal(q->n_conditions, 0);
    assert_null(q->order);
    assert_true(q->is_descending);
    assert_int_equal(q->limit, SEARCH_LIMIT_DEFAULT);
    assert_true(q->after == 0);
    parsed_done(&p);
}

static const struct {
    const char *query, *field;
    enum rows_test test;
    const char *text;
    double number;
} conditions[] = {
    {"model=m", "model", ROWS_EQ, "m", 0},
    {"model!=a%3Db", "model", ROWS_NE, "a=b", 0},
    {"model=a=b", "model", ROWS_EQ, "a=b", 0},
    {"model=", "model", ROWS_UNKNOWN, "", 0},
    {"model!=", "model", ROWS_KNOWN, "", 0},
    {"ttft_ms>=1.5", "ttft_ms", ROWS_GE, "", 1500000},
    {"ttft_ms>1.5", "ttft_ms", ROWS_GT, "", 1500000},
    {"ttft_ms<=12.345678", "ttft_ms", ROWS_LE, "", 12345678},
    {"ttft_ms<0.000001", "ttft_ms", ROWS_LT, "", 1},
    {"ttft_ms=12.345678", "ttft_ms", ROWS_EQ, "", 12345678},
    {"ttft_ms%3E=2", "ttft_ms", ROWS_GE, "", 2000000},
    {"ttft_ms%3E2=", "ttft_ms", ROWS_GT, "", 2000000},
    {"ttft>=1.5s", "ttft_ms", ROWS_GE, "", 1.5e9},
    {"ttft=", "ttft_ms", ROWS_UNKNOWN, "", 0},
    {"stage_wait>=1m", "stage_wait_ms", ROWS_GE, "", 6e10},
    {"status=200", "status", ROWS_EQ, "", 200},
    {"prompt_tokens>1e3", "prompt_tokens", ROWS_GT, "", 1000},
    {"tokens_per_event<1.5", "tokens_per_event", ROWS_LT, "", 1.5},
    {"is_stream=true", "is_stream", ROWS_EQ, "", 1},
    {"is_stream!=false", "is_stream", ROWS_NE, "", 0},
    {"outcome!=ok", "outcome", ROWS_NE, "ok", 0},
    {"flags=slow", "flags", ROWS_EQ, "slow", 0},
    {"flags=", "flags", ROWS_EQ, "", 0},
    {"flags!=", "flags", ROWS_NE, "", 0},
    {"labels.team=search", "labels", ROWS_EQ, "team=search", 0},
    {"labels.team!=a%3Db", "labels", ROWS_NE, "team=a=b", 0},
    {"labels.team=", "labels", ROWS_EQ, "team=", 0},
    {"labels=", "labels", ROWS_UNKNOWN, "", 0},
    {"labels!=", "labels", ROWS_KNOWN, "", 0},
    {"timeline!=", "timeline", ROWS_KNOWN, "", 0},
    {"started_at>=-10m", "started_at", ROWS_GE, "", 1796004000e6},
    {"started_at<2026-11-30T02:00:00.5Z", "started_at", ROWS_LT, "", 1796004000.5e6},
};

static void test_conditions(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(conditions); i++) {
        struct parsed p;
        const struct rows_question *q = parse(&p, conditions[i].query);
        if (p.r != 0 || q->n_conditions != 1)
            fail_msg("%s: %d %s", conditions[i].query, p.r, p.err.text);
        const struct rows_condition *c = &q->conditions[0];
        assert_string_equal(c->field->name, conditions[i].field);
        if (c->test != conditions[i].test || c->number < conditions[i].number ||
            c->number > conditions[i].number)
            fail_msg("%s: test %d, number %.17g", conditions[i].query, (int)c->test, c->number);
        assert_span_equal(conditions[i].query, c->text, span_cstr(conditions[i].text));
        parsed_done(&p);
    }
}

static void test_all_together(void **state)
{
    (void)state;
    struct parsed p;
    const struct rows_question *q =
        parse(&p, "from=-1h&to=now&limit=7&order=-ttft&model=m&flags=slow&flags=stalled&ttft>1");
    assert_int_equal(p.r, 0);
    assert_true(q->from.us == now.us - 3600 * US_PER_S && q->to.us == now.us);
    assert_int_equal(q->limit, 7);
    assert_string_equal(q->order->name, "ttft_ms");
    assert_true(q->is_descending);
    assert_int_equal(q->n_conditions, 4);
    parsed_done(&p);
    q = parse(&p, "order=time");
    assert_true(p.r == 0 && !q->order && !q->is_descending);
    parsed_done(&p);
    q = parse(&p, "order=-time&from=0&to=1796004600.5");
    assert_true(p.r == 0 && !q->order && q->is_descending);
    assert_true(q->from.us == 0 && q->to.us == now.us + 500000);
    parsed_done(&p);
    q = parse(&p, "order=started_at");
    assert_true(p.r == 0 && q->order && !q->is_descending);
    parsed_done(&p);
}

static const struct {
    const char *query, *text, *hint;
} mistakes[] = {
    {"ttf_ms>5", "parameter \"ttf_ms\": a request has no such field", "did you mean \"ttft_ms\"?"},
    {"limt=5", "parameter \"limt\": a request has no such field", "did you mean \"limit\"?"},
    {"xyzzyxyzzy=5", "parameter \"xyzzyxyzzy\": a request has no such field",
     "fields are those of the request log (docs/RECORD.md)"},
    {"outcome=broken", "parameter \"outcome\": \"broken\" is not one of its values",
     "one of ok http_error"},
    {"outcome=timeouts", "parameter \"outcome\": \"timeouts\" is not one of its values",
     "did you mean \"timeout\"?"},
    {"flags=slwo", "parameter \"flags\": \"slwo\" is not one of its values",
     "did you mean \"slow\"?"},
    {"outcome>ok", "parameter \"outcome\": only = and != compare what is no number", ""},
    {"model>=m", "parameter \"model\": only = and != compare what is no number", ""},
    {"labels.team>x", "parameter \"labels\": only = and != compare what is no number", ""},
    {"labels=team",
     "parameter \"labels\": \"team\" is not how to ask for a label, which is "
     "labels.NAME=VALUE",
     ""},
    {"timeline=x",
     "parameter \"timeline\": \"x\" is not empty, and only whether it is there can "
     "be asked",
     ""},
    {"ttft_ms=fast", "parameter \"ttft_ms\": \"fast\" is not a number of milliseconds", ""},
    {"ttft_ms>", "parameter \"ttft_ms\": \"\" is not a number of milliseconds", ""},
    {"ttft_ms=NaN", "parameter \"ttft_ms\": \"NaN\" is not a number of milliseconds", ""},
    {"status=2xx", "parameter \"status\": \"2xx\" is not a number", ""},
    {"is_stream=1", "parameter \"is_stream\": \"1\" is not true or false", ""},
    {"started_at>noon", "parameter \"started_at\": \"noon\" is not a time: 2026-", ""},
    {"ttft_ms!5", "parameter \"ttft_ms!5\": this is no condition", "FIELD=VALUE, FIELD!="},
    {"ttft_ms>5=6", "parameter \"ttft_ms>5\": this is no condition", "FIELD=VALUE, FIELD!="},
    {"from=soon", "parameter \"from\": \"soon\" is not a time: ", ""},
    {"from=-5", "parameter \"from\": \"-5\" is not a time: ", ""},
    {"from=-1x", "parameter \"from\": \"-1x\" is not a time: ", ""},
    {"from=-100y", "parameter \"from\": \"-100y\" is not a time: ", ""},
    {"from=1e300", "parameter \"from\": \"1e300\" is not a time: ", ""},
    {"from=now&to=-1h", "parameter \"to\": it is before \"from\"", ""},
    {"limit=0", "parameter \"limit\": \"0\" is not a number from 1 to 1000", ""},
    {"limit=1001", "parameter \"limit\": \"1001\" is not a number from 1 to 1000", ""},
    {"limit=many", "parameter \"limit\": \"many\" is not a number from 1 to 1000", ""},
    {"order=model", "parameter \"order\": \"model\" is not a field to order by, which", ""},
    {"order=-outcome", "parameter \"order\": \"-outcome\" is not a field to order by, which", ""},
    {"order=-tftt_ms", "parameter \"order\": \"-tftt_ms\" is not time or a field",
     "did you mean \"ttft_ms\"?"},
    {"order=-", "parameter \"order\": \"-\" is not time or a field",
     "for example order=-ttft_ms: the slowest first"},
    {"after=12", "parameter \"after\": \"12\" is not a key that came as \"next\"", ""},
    {"after=0000000000000000", "parameter \"after\": \"0000", ""},
    {"after=00000000000000010000000000000000", "parameter \"after\": \"0000", ""},
    {"order=ttft&after=0000000000000001", "parameter \"after\": \"0000", ""},
    {"order=ttft&after=00000000000000017ff8000000000000", "parameter \"after\": \"0000", ""},
};

static void test_mistakes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(mistakes); i++) {
        struct parsed p;
        (void)parse(&p, mistakes[i].query);
        if (p.r != -EINVAL || strncmp(p.err.text, mistakes[i].text, strlen(mistakes[i].text)) != 0)
            fail_msg("%s: %d %s", mistakes[i].query, p.r, p.err.text);
        size_t n = strlen(mistakes[i].hint);
        if (strncmp(p.err.hint, mistakes[i].hint, n) != 0 || (n == 0 && p.err.hint[0] != '\0'))
            fail_msg("%s: hint %s", mistakes[i].query, p.err.hint);
        parsed_done(&p);
    }
}

static void test_too_many_conditions(void **state)
{
    (void)state;
    char query[SEARCH_CONDITIONS_MAX * 16 + 32] = "";
    struct parsed p;
    size_t n = 0;
    for (int i = 0; i < SEARCH_CONDITIONS_MAX; i++)
        n += (size_t)snprintf(query + n, sizeof(query) - n, "status=%d&", i);
    assert_int_equal(parse(&p, query)->n_conditions, SEARCH_CONDITIONS_MAX);
    assert_int_equal(p.r, 0);
    parsed_done(&p);
    (void)snprintf(query + n, sizeof(query) - n, "status=1");
    (void)parse(&p, query);
    assert_int_equal(p.r, -EINVAL);
    assert_string_equal(p.err.text, "more than 32 conditions");
    parsed_done(&p);
}

/* No field is named like a parameter that is no field; each can be asked for by its name. */
static void test_every_field(void **state)
{
    (void)state;
    for (size_t i = 0; i < record_n_fields; i++) {
        char query[80];
        struct parsed p;
        (void)snprintf(query, sizeof(query), "%s!=", record_fields[i].name);
        const struct rows_question *q = parse(&p, query);
        if (p.r != 0 || q->n_conditions != 1 || q->conditions[0].field != &record_fields[i])
            fail_msg("%s: %s", query, p.err.text);
        parsed_done(&p);
    }
}

static void test_keys(void **state)
{
    (void)state;
    struct parsed p;
    struct record r;
    char key[SEARCH_KEY_BYTES], query[120];
    record_init(&r);
    r.ttft_ns = 12345678;
    (void)parse(&p, "order=ttft");
    search_key(&p.search, 0x1234567890abcdef, &r, key);
    parsed_done(&p);
    (void)snprintf(query, sizeof(query), "order=ttft&after=%s", key);
    const struct rows_question *q = parse(&p, query);
    assert_int_equal(p.r, 0);
    assert_true(q->after == 0x1234567890abcdef);
    assert_true(q->after_number >= 12345678 && q->after_number <= 12345678);
    parsed_done(&p);
    (void)parse(&p, "");
    search_key(&p.search, 42, &r, key);
    assert_string_equal(key, "000000000000002a");
    parsed_done(&p);
    assert_true(parse(&p, "after=000000000000002a")->after == 42);
    parsed_done(&p);
}

static int attempt(void *ctx)
{
    (void)ctx;
    struct parsed p;
    (void)parse(&p, "labels.team=search&model=m&from=-1h");
    parsed_done(&p);
    return p.r;
}

static void test_failing_allocations(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_the_newest_of_all),
        cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_all_together),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_too_many_conditions),
        cmocka_unit_test(test_every_field),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
