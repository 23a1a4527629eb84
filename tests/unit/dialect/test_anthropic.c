/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/anthropic: what events and whole answers say, whole streams in every division, requests,
 * refusals. JSON is written with ' for ".
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/mem.h"
#include "dialect/anthropic.h"
#include "guard.h"
#include "split.h"
#include "wire/events.h"

#define NO USAGE_UNTOLD

enum {
    TEXT = DIALECT_TEXT,
    REASON = DIALECT_REASONING,
    OPAQUE = DIALECT_REASONING_OPAQUE,
    NAME = DIALECT_TOOL_NAME,
    ARGS = DIALECT_TOOL_ARGS,
};

/* The text with " for ', in one of two buffers by turns. */
static struct span json(const char *text)
{
    static char buffers[2][4096];
    static int at;
    char *to = buffers[at = !at];
    size_t n = strlen(text);
    assert_true(n < sizeof(buffers[0]));
    for (size_t i = 0; i <= n; i++)
        to[i] = text[i] == '\'' ? '"' : text[i];
    return span_of(to, n);
}

static struct token_event event_of(struct dialect_answer *a, const char *name, const char *data)
{
    struct token_event e;
    dialect_anthropic.event(a, span_cstr(name), json(data), &e);
    return e;
}

/* --- events --- */

/* Every row begins with the type. */
static const struct {
    const char *data;
    uint32_t kinds;
} events[] = {
    {"{'type':'message_start','message':{'id':'m','type':'message','role':'assistant',"
     "'content':[],'model':'c','stop_reason':null,'usage':{'input_tokens':1,'output_tokens':1}}}",
     0},
    {"{'type':'ping'}", 0},
    {"{'type':'ping','delta':{'type':'text_delta','text':'a'}}", 0},
    {"{'type':'some_event_of_later','delta':{'type':'text_delta','text':'a'}}", 0},
    {"{'type':'content_block_stop','index':0}", 0},

    {"{'type':'content_block_start','index':0,'content_block':{'type':'text','text':''}}", 0},
    {"{'type':'content_block_start','index':0,'content_block':{'type':'text','text':'a'}}", TEXT},
    {"{'type':'content_block_start','content_block':{'type':'text','text':'','citations':[]}}", 0},
    {"{'type':'content_block_start','content_block':{'type':'thinking','thinking':'',"
     "'signature':''}}",
     0},
    {"{'type':'content_block_start','content_block':{'type':'thinking','thinking':'h'}}", REASON},
    {"{'type':'content_block_start','content_block':{'type':'redacted_thinking','data':'Eo'}}",
     OPAQUE},
    {"{'type':'content_block_start','content_block':{'data':'Eo','type':'redacted_thinking'}}",
     OPAQUE},
    {"{'type':'content_block_start','content_block':{'type':'redacted_thinking','data':''}}", 0},
    {"{'type':'content_block_start','content_block':{'type':'text','data':'Eo','text':''}}", 0},
    {"{'type':'content_block_start','content_block':{'type':'tool_use','id':'t','name':'f',"
     "'input':{}}}",
     NAME},
    {"{'type':'content_block_start','content_block':{'type':'tool_use','id':'t','name':'f',"
     "'input':{'a':1}}}",
     NAME | ARGS},
    {"{'type':'content_block_start','content_block':{'input':{'a':[{}]},'name':'f',"
     "'type':'server_tool_use'}}",
     NAME | ARGS},
    {"{'type':'content_block_start','content_block':{'type':'server_tool_use','name':'web_search',"
     "'input':{}}}",
     NAME},
    {"{'type':'content_block_start','content_block':{'type':'mcp_tool_use','name':'f',"
     "'server_name':'s','input':{}}}",
     NAME},
    {"{'type':'content_block_start','content_block':{'type':'tool_use','name':'f','input':null}}",
     NAME},
    {"{'type':'content_block_start','content_block':{'type':'web_search_tool_result',"
     "'tool_use_id':'t','content':[{'type':'web_search_result','title':'x','text':'y'}]}}",
     0},
    {"{'type':'content_block_start','content_block':{'type':'mcp_tool_result','is_error':false,"
     "'content':[{'type':'text','text':'y'}]}}",
     0},
    {"{'type':'content_block_start','content_block':{'type':'compaction','content':'c'}}", TEXT},
    {"{'type':'content_block_start','content_block':{'type':'compaction','content':null}}", 0},
    {"{'type':'content_block_start','content_block':{'type':'x','content':'c'}}", 0},
    {"{'type':'content_block_start','content_block':null}", 0},
    {"{'type':'content_block_start','content_block':'text'}", 0},
    {"{'type':'content_block_start','content_block':[{'type':'text','text':'a'}]}", 0},
    {"{'type':'content_block_start'}", 0},

    {"{'type':'content_block_delta','index':0,'delta':{'type':'text_delta','text':'a'}}", TEXT},
    {"{'type':'content_block_delta','delta':{'text':'a','type':'text_delta'},'index':0}", TEXT},
    {"{'type':'content_block_delta','delta':{'type':'text_delta','text':'\\u00fc\\n'}}", TEXT},
    {"{'type':'content_block_delta','delta':{'type':'text\\u005fdelta','t\\u0065xt':' '}}", TEXT},
    {"{'type':'content_block_delta','delta':{'type':'text_delta','text':''}}", 0},
    {"{'type':'content_block_delta','delta':{'type':'text_delta','text':null}}", 0},
    {"{'type':'content_block_delta','delta':{'type':'text_delta','text':['a']}}", 0},
    {"{'type':'content_block_delta','delta':{'type':'text_delta','text':'a','text':''}}", 0},
    {"{'type':'content_block_delta','delta':{'type':'text_delta','text':'','text':'a'}}", TEXT},
    {"{'type':'content_block_delta','delta':{'type':'text_delta','text':'a'},'delta':{}}", 0},
    {"{'type':'content_block_delta','delta':{'type':'text_delta','thinking':'a'}}", 0},
    {"{'type':'content_block_delta','delta':{'type':'thinking_delta','thinking':'h'}}", REASON},
    {"{'type':'content_block_delta','delta':{'type':'thinking_delta','thinking':''}}", 0},
    {"{'type':'content_block_delta','delta':{'type':'thinking_delta','thinking':'',"
     "'estimated_tokens':50}}",
     0},
    {"{'type':'content_block_delta','delta':{'type':'signature_delta','signature':'Eq'}}", OPAQUE},
    {"{'type':'content_block_delta','delta':{'type':'signature_delta','signature':''}}", 0},
    {"{'type':'content_block_delta','delta':{'type':'input_json_delta','partial_json':'{'}}", ARGS},
    {"{'type':'content_block_delta','delta':{'type':'input_json_delta','partial_json':''}}", 0},
    {"{'type':'content_block_delta','delta':{'type':'compaction_delta','content':'c'}}", TEXT},
    {"{'type':'content_block_delta','delta':{'type':'citations_delta','citation':{'type':"
     "'char_location','cited_text':'x'},'text':'x'}}",
     0},
    {"{'type':'content_block_delta','delta':{'text':'a'}}", 0},
    {"{'type':'content_block_delta','delta':'a'}", 0},
    {"{'type':'content_block_delta','content_block':{'type':'text','text':'a'}}", 0},
    {"{'type':'content_block_delta'}", 0},

    {"{'type':'message_delta','delta':{'stop_reason':'end_turn','stop_sequence':null},"
     "'usage':{'output_tokens':12}}",
     0},
    {"{'type':'message_delta','delta':{'type':'text_delta','text':'a'}}", 0},
    {"{'type':'message_stop'}", 0},
};

static void kinds_of_events(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(events); i++) {
        struct dialect_answer a;
        dialect_answer_init(&a);
        struct token_event e = event_of(&a, "", events[i].data);
        if (e.kinds != events[i].kinds)
            fail_msg("%s: kinds 0x%x, not 0x%x", events[i].data, e.kinds, events[i].kinds);
        assert_row(events[i].data, a.n_bad_json == 0 && !a.has_error && !e.is_error);
        assert_row(events[i].data, e.is_end == (strstr(events[i].data, "message_stop") != NULL));
    }
}

/* {'type':'T','a':1} -> 'type':'T' and 'a':1 (or nothing) */
static void take_apart(const char *data, char type[64], char rest[2048])
{
    size_t n = strcspn(data, ",}");
    (void)span_copy(span_of(data + 1, n - 1), type, 64);
    (void)snprintf(rest, 2048, "%s", data[n] == ',' ? data + n + 1 : data + n);
    rest[strlen(rest) - 1] = '\0';
}

/* What an event says, and what it leaves in the answer, its shape apart. */
static void assert_same(const char *row, const struct dialect_answer *a, struct token_event e,
                        const char *name, const char *data)
{
    struct dialect_answer b;
    dialect_answer_init(&b);
    struct token_event got = event_of(&b, name, data);
    b.shape = a->shape;
    assert_row(row, got.kinds == e.kinds && got.is_end == e.is_end && got.is_error == e.is_error);
    assert_row(row, got.has_usage == e.has_usage);
    assert_row(row, memcmp(a, &b, sizeof(b)) == 0);
}

/* The type may stand last, or come as the name of the SSE event alone. */
static void the_place_of_the_type_changes_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(events); i++) {
        struct dialect_answer a;
        char type[64];
        char rest[2048];
        char data[2200];
        dialect_answer_init(&a);
        struct token_event e = event_of(&a, "", events[i].data);
        take_apart(events[i].data, type, rest);
        const char *comma = rest[0] != '\0' ? "," : "";
        (void)snprintf(data, sizeof(data), "{%s%s%s}", rest, comma, type);
        assert_same(events[i].data, &a, e, "", data);
        assert_same(events[i].data, &a, e, "something_else", data);
        char name[64];
        (void)snprintf(name, sizeof(name), "%.*s", (int)strlen(type) - 9, type + 8);
        (void)snprintf(data, sizeof(data), "{%s}", rest);
        assert_same(events[i].data, &a, e, name, data);
        (void)snprintf(data, sizeof(data), "{%s%s'type':null}", rest, comma);
        assert_same(events[i].data, &a, e, name, data);
    }
}

/* The next event with the same bytes around its text is not taken for another of its name. */
static void a_name_is_not_part_of_a_shape(void **state)
{
    (void)state;
    static const char *const data = "{'delta':{'type':'text_delta','text':'abc'}}";
    struct dialect_answer a;
    dialect_answer_init(&a);
    assert_int_equal(event_of(&a, "content_block_delta", data).kinds, TEXT);
    assert_int_equal(event_of(&a, "content_block_delta", data).kinds, TEXT);
    assert_int_equal(event_of(&a, "ping", data).kinds, 0);
    assert_int_equal(event_of(&a, "", data).kinds, 0);
}

/* Events that were recognised by their shape say what they say when they are read. */
static void shapes_say_the_same(void **state)
{
    (void)state;
    struct dialect_answer seen;
    dialect_answer_init(&seen);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < ARRAY_LEN(events); i++) {
            struct token_event e = event_of(&seen, "", events[i].data);
            assert_row(events[i].data, e.kinds == events[i].kinds);
            e = event_of(&seen, "", events[i].data);
            assert_row(events[i].data, e.kinds == events[i].kinds);
        }
    }
}

/* Cut anywhere, an event is no JSON and leaves nothing behind. */
static void cut_events_leave_nothing(void **state)
{
    (void)state;
    struct span whole =
        json("{'type':'message_delta','message':{'model':'m','usage':{'input_tokens':1}},"
             "'delta':{'stop_reason':'end_turn','text':'a'},'usage':{'output_tokens':1},"
             "'content_block':{'text':'a'},'error':{'type':'t'},'model':'m'}");
    for (size_t n = 0; n < whole.n; n++) {
        struct dialect_answer a;
        struct dialect_answer before;
        struct token_event e;
        dialect_answer_init(&a);
        before = a;
        before.n_bad_json = 1;
        before.n_bad_objects = n > 0;
        dialect_anthropic.event(&a, SPAN("message_delta"), span_of(whole.p, n), &e);
        assert_int_equal(e.kinds, 0);
        assert_memory_equal(&a, &before, sizeof(a));
    }
}

static void nothing_but_message_stop_is_the_end(void **state)
{
    (void)state;
    struct dialect_answer a;
    dialect_answer_init(&a);
    (void)event_of(&a, "", "{'type':'message_delta','delta':{'stop_reason':'max_tokens'}}");
    assert_string_equal(a.finish, "max_tokens");
    assert_true(a.has_finish);
    assert_false(a.has_end_mark || dialect_anthropic.is_ended(&a));
    (void)event_of(&a, "", "{'type':'message_delta','delta':{'stop_reason':null}}");
    assert_string_equal(a.finish, "max_tokens");
    struct token_event e = event_of(&a, "message_stop", "{'type':'message_stop'}");
    assert_true(e.is_end && a.has_end_mark && dialect_anthropic.is_ended(&a));
    assert_false(a.has_done_marker);
    assert_int_equal(a.n_choices_finished, 1);
    assert_int_equal(a.max_choice_index, -1);
    /* Some send [DONE] behind it; it is no replacement. */
    e = event_of(&a, "", "[DONE]");
    assert_true(e.is_end && a.has_done_marker && dialect_anthropic.is_ended(&a));
    dialect_answer_init(&a);
    e = event_of(&a, "", "[DONE]");
    assert_true(e.is_end && a.has_done_marker);
    assert_false(a.has_end_mark || dialect_anthropic.is_ended(&a));
}

static void errors_in_every_form(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *data;
        const char *error; /* NULL: none */
    } rows[] = {
        {"error", "{'type':'error','error':{'type':'overloaded_error','message':'Overloaded'}}",
         "overloaded_error"},
        {"", "{'type':'error','error':{'details':null,'type':'api_error'},'request_id':'r'}",
         "api_error"},
        {"", "{'error':{'message':'m','type':'rate_limit_error'},'type':'error'}",
         "rate_limit_error"},
        {"", "{'error':{'code':429,'message':'m','status':'RESOURCE_EXHAUSTED'}}",
         "RESOURCE_EXHAUSTED"},
        {"", "{'error':'a text is never kept'}", "error"},
        {"", "{'type':'error','error':{'type':'the prompt was: hello'}}", "error"},
        {"", "{'type':'error'}", "error"},
        {"", "{'type':'error','error':null}", "error"},
        {"error", "{'message':'m'}", "error"},
        {"error", "not json", "error"},
        {"error", "", NULL},
        {"", "{'type':'message_stop','error':null}", NULL},
        {"",
         "{'type':'content_block_start','content_block':{'type':'web_search_tool_result',"
         "'content':{'type':'web_search_tool_result_error','error_code':'unavailable'}}}",
         NULL},
        {"", "{'type':'content_block_delta','delta':{'type':'text_delta','text':'error'}}", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct dialect_answer a;
        dialect_answer_init(&a);
        struct token_event e = event_of(&a, rows[i].name, rows[i].data);
        assert_row(rows[i].data, a.has_error == (rows[i].error != NULL));
        assert_row(rows[i].data, e.is_error == a.has_error);
        if (strcmp(a.error, rows[i].error ? rows[i].error : "") != 0)
            fail_msg("%s: \"%s\", not \"%s\"", rows[i].data, a.error, rows[i].error);
        if (rows[i].name[0] != '\0')
            continue;
        /* The same as the body of an HTTP error. */
        struct dialect_answer body;
        dialect_answer_init(&body);
        dialect_anthropic.answer(&body, json(rows[i].data));
        assert_row(rows[i].data, strcmp(body.error, a.error) == 0);
    }
}

/* --- usage --- */

static void counts_of_a_usage(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        struct usage want;
    } rows[] = {
        {"{'input_tokens':7,'output_tokens':9}", {7, 9, NO, NO, NO, NO, NO}},
        {"{'input_tokens':7,'cache_creation_input_tokens':5,'cache_read_input_tokens':6,"
         "'cache_creation':{'ephemeral_5m_input_tokens':5,'ephemeral_1h_input_tokens':0},"
         "'output_tokens':1,'service_tier':'standard','inference_geo':'not_available'}",
         {7, 1, 6, 5, NO, NO, NO}},
        {"{'output_tokens_details':{'thinking_tokens':4}}", {NO, NO, NO, NO, 4, NO, NO}},
        {"{'output_tokens_details':{'reasoning_tokens':4}}", {NO, NO, NO, NO, 4, NO, NO}},
        {"{'output_tokens_details':{'reasoning_tokens':4,'thinking_tokens':3}}",
         {NO, NO, NO, NO, 3, NO, NO}},
        {"{'output_tokens_details':null,'output_tokens':'9','input_tokens':null}",
         {NO, NO, NO, NO, NO, NO, NO}},
        {"{'input_tokens':-1,'server_tool_use':{'web_search_requests':2,'input_tokens':99}}",
         {-1, NO, NO, NO, NO, NO, NO}},
        {"{}", {NO, NO, NO, NO, NO, NO, NO}},
    };
    static const char *const places[] = {
        "{'type':'message_start','message':{'usage':#}}",
        "{'type':'message_delta','usage':#}",
        "{'usage':#,'type':'message'}",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows) * ARRAY_LEN(places); i++) {
        const char *place = places[i % ARRAY_LEN(places)];
        char data[1024];
        struct dialect_answer a;
        dialect_answer_init(&a);
        size_t at = span_find_char(span_cstr(place), '#');
        (void)span_copy(span_of(place, at), data, sizeof(data));
        (void)snprintf(data + at, sizeof(data) - at, "%s%s", rows[i / ARRAY_LEN(places)].text,
                       place + at + 1);
        assert_row(data, event_of(&a, "", data).has_usage);
        assert_memory_equal(&a.usage, &rows[i / ARRAY_LEN(places)].want, sizeof(a.usage));
    }
}

/* C35: running totals, per field the last one; the input is that of message_start unless a later
 * event tells another. */
static void c35_the_last_value_wins_per_field(void **state)
{
    (void)state;
    struct dialect_answer a;
    dialect_answer_init(&a);
    (void)event_of(&a, "",
                   "{'type':'message_start','message':{'usage':{'input_tokens':25,"
                   "'cache_read_input_tokens':100,'output_tokens':1}}}");
    assert_int_equal(a.usage.completion, 1);
    assert_true(a.is_completion_early);
    (void)event_of(&a, "", "{'type':'message_delta','delta':{},'usage':{'output_tokens':10}}");
    assert_false(a.is_completion_early);
    (void)event_of(&a, "", "{'type':'message_delta','delta':{},'usage':{'output_tokens':15}}");
    (void)event_of(&a, "", "{'type':'message_delta','delta':{},'usage':null}");
    (void)event_of(&a, "", "{'type':'message_stop','usage':{'output_tokens':99}}");
    assert_int_equal(a.usage.prompt, 25);
    assert_int_equal(a.usage.cached, 100);
    assert_int_equal(a.usage.completion, 15);
    (void)event_of(&a, "",
                   "{'type':'message_delta','usage':{'input_tokens':30,'output_tokens':16}}");
    assert_int_equal(a.usage.prompt, 30);
    assert_int_equal(a.usage.completion, 16);
}

/* A number that stood in message_start is none of what was generated after it. */
static void an_early_count_stays_early_until_another_one(void **state)
{
    (void)state;
    struct dialect_answer a;
    dialect_answer_init(&a);
    assert_false(a.is_completion_early);
    (void)event_of(&a, "", "{'type':'message_start','message':{'usage':{'input_tokens':25}}}");
    assert_false(a.is_completion_early);
    (void)event_of(&a, "", "{'type':'message_start','message':{'usage':{'output_tokens':3}}}");
    (void)event_of(&a, "", "{'type':'message_delta','usage':{'input_tokens':26}}");
    assert_true(a.is_completion_early);
    (void)event_of(&a, "", "{'type':'message_delta','usage':{'output_tokens':3}}");
    assert_false(a.is_completion_early);
}

/* C37: input_tokens leaves out what was read from the cache and what was written to it. */
static void c37_cached_tokens_are_part_of_the_prompt(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct usage raw;
        struct dialect_tokens want;
        bool is_anomalous;
    } rows[] = {
        {"no cache", {10, 20, NO, NO, NO, NO, NO}, {10, 20, -1, -1, -1}, false},
        {"read and written", {3, 20, 9687, 120, NO, NO, NO}, {9810, 20, 9687, 120, -1}, false},
        {"more cached than not", {1, 97, 3068, 0, 0, NO, NO}, {3069, 97, 3068, 0, 0}, false},
        {"thinking is part", {50, 93, 0, 0, 53, NO, NO}, {50, 93, 0, 0, 53}, false},
        {"negative", {50, 93, -1, 0, NO, NO, NO}, {50, 93, -1, 0, -1}, true},
        {"too large", {INT64_MAX, 1, 1, NO, NO, NO, NO}, {-1, 1, 1, -1, -1}, true},
        {"prompt untold", {NO, 5, 7, NO, NO, NO, NO}, {-1, 5, 7, -1, -1}, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool is_anomalous = !rows[i].is_anomalous;
        struct dialect_tokens t =
            dialect_normalise(&dialect_anthropic, &rows[i].raw, &is_anomalous);
        assert_row(rows[i].name, memcmp(&t, &rows[i].want, sizeof(t)) == 0);
        assert_row(rows[i].name, is_anomalous == rows[i].is_anomalous);
    }
}

/* --- whole answers --- */

static void whole_answers(void **state)
{
    (void)state;
    struct dialect_answer a;
    dialect_answer_init(&a);
    dialect_anthropic.answer(
        &a, json(" {'id':'msg_1','type':'message','role':'assistant','model':'claude-x',"
                 "'content':[{'type':'thinking','thinking':'h','signature':'s'},"
                 "{'type':'text','text':'error'}],'stop_reason':'end_turn','stop_sequence':null,"
                 "'usage':{'input_tokens':9,'cache_creation_input_tokens':2,"
                 "'cache_read_input_tokens':3,'output_tokens':12}}\n"));
    assert_string_equal(a.model, "claude-x");
    assert_string_equal(a.finish, "end_turn");
    assert_int_equal(a.usage.prompt, 9);
    assert_int_equal(a.usage.completion, 12);
    assert_int_equal(a.usage.cached, 3);
    assert_int_equal(a.usage.cache_write, 2);
    assert_false(a.has_error || a.is_completion_early);
    assert_int_equal(a.n_bad_json, 0);
    dialect_anthropic.answer(&a, SPAN("<html>"));
    assert_int_equal(a.n_bad_json, 1);
}

static void counted_tokens_are_no_usage(void **state)
{
    (void)state;
    const struct dialect *d = &dialect_anthropic_count_tokens;
    struct dialect_answer a;
    struct token_event e;
    static const char *const bodies[] = {
        "{'input_tokens':2095}",
        "{'input_tokens':2095,'context_management':{'original_input_tokens':70000}}",
        "{'type':'message','usage':{'input_tokens':7,'output_tokens':8}}",
    };
    assert_false(d->is_generating);
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        dialect_answer_init(&a);
        d->answer(&a, json(bodies[i]));
        d->event(&a, SPAN(""), json(bodies[i]), &e);
        assert_row(bodies[i], memcmp(&a.usage, &USAGE_NONE, sizeof(a.usage)) == 0);
        assert_row(bodies[i], e.kinds == 0 && !e.has_usage && a.n_bad_json == 0);
    }
    d->answer(&a, json("{'type':'error','error':{'type':'not_found_error','message':'m'}}"));
    assert_string_equal(a.error, "not_found_error");
    d->answer(&a, SPAN("2095"));
    assert_int_equal(a.n_bad_json, 1);
}

static void events_allocate_nothing(void **state)
{
    (void)state;
    struct mem_count before = mem_count_total();
    struct dialect_answer a;
    dialect_answer_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(events); i++)
        (void)event_of(&a, "", events[i].data);
    assert_int_equal(mem_count_total().n_allocs, before.n_allocs);
}

/* --- whole streams --- */

#define SSE(name, members) "event: " name "\ndata: {'type':'" name "'" members "}\n\n"
#define START                                                                                      \
    SSE("message_start", ",'message':{'id':'msg_1','type':'message','role':'assistant',"           \
                         "'model':'claude-x','content':[],'stop_reason':null,'usage':{"            \
                         "'input_tokens':12,'cache_read_input_tokens':30,'output_tokens':2}}")
#define BLOCK(i, members)                                                                          \
    SSE("content_block_start", ",'index':" #i ",'content_block':{" members "}")
#define DELTA(i, members) SSE("content_block_delta", ",'index':" #i ",'delta':{" members "}")
#define STOP(i)           SSE("content_block_stop", ",'index':" #i)
#define PING              SSE("ping", "")
#define TEXT_BLOCK(i)     BLOCK(i, "'type':'text','text':''")
#define TEXT_DELTA(i, t)  DELTA(i, "'type':'text_delta','text':'" t "'")
#define ENDING(reason, n)                                                                          \
    SSE("message_delta", ",'delta':{'stop_reason':'" reason "','stop_sequence':null},'usage':{"    \
                         "'output_tokens':" #n "}")
#define END SSE("message_stop", "")

/* Event numbers as in the index of recordings; -1: none. */
struct expected {
    int n_events, first_token, first_reasoning, first_text, first_args, last_token;
    uint32_t kinds;
    const char *finish;
    int64_t completion;
    bool is_ended;
    const char *error;
};

static const struct stream_row {
    const char *name;
    const char *text;
    struct expected want;
} streams[] = {
    {"text",
     START TEXT_BLOCK(0) PING TEXT_DELTA(0, "Hel") TEXT_DELTA(0, "lo \\u00fc") STOP(0)
         ENDING("end_turn", 9) END,
     {8, 3, -1, 3, -1, 4, TEXT, "end_turn", 9, true, ""}},
    {"pings first, comments between, nothing named",
     "data: {'type':'ping'}\n\n: c\n\ndata: {'type':'message_start','message':{'model':'claude-x',"
     "'usage':{'input_tokens':12,'cache_read_input_tokens':30}}}\n\n:\n\n"
     "data: {'type':'content_block_delta','delta':{'type':'text_delta','text':'a'}}\n\n"
     "data:{'usage':{'output_tokens':1},'delta':{'stop_reason':'end_turn'},'type':'message_delta'}"
     "\n\ndata: {'type':'message_stop'}\n\n",
     {5, 2, -1, 2, -1, 2, TEXT, "end_turn", 1, true, ""}},
    {"CR LF",
     "event: message_start\r\ndata: {'message':{'model':'claude-x','usage':{'input_tokens':12,"
     "'cache_read_input_tokens':30}}}\r\n\r\n"
     "event: content_block_delta\r\ndata: {'delta':{'type':'text_delta',\r\ndata: 'text':'a'}}\r\n"
     "\r\nevent: message_delta\r\ndata: {'usage':{'output_tokens':1}}\r\n\r\n"
     "event: message_stop\r\ndata: {}\r\n\r\n",
     {4, 1, -1, 1, -1, 1, TEXT, "", 1, true, ""}},
    {"thinking, then text",
     START BLOCK(0, "'type':'thinking','thinking':'','signature':''")
         DELTA(0, "'type':'thinking_delta','thinking':'Let me'")
             DELTA(0, "'type':'thinking_delta','thinking':' see'")
                 DELTA(0, "'type':'signature_delta','signature':'EqQB'") STOP(0) TEXT_BLOCK(1)
                     TEXT_DELTA(1, "42") STOP(1) ENDING("end_turn", 40) END,
     {11, 2, 2, 7, -1, 7, REASON | OPAQUE | TEXT, "end_turn", 40, true, ""}},
    {"thinking that is not shown (C08)",
     START BLOCK(0, "'type':'thinking','thinking':'','signature':''")
         DELTA(0, "'type':'signature_delta','signature':'EqQB'") STOP(0) TEXT_BLOCK(1)
             TEXT_DELTA(1, "42") STOP(1) ENDING("end_turn", 40) END,
     {9, 2, -1, 5, -1, 5, OPAQUE | TEXT, "end_turn", 40, true, ""}},
    {"redacted thinking (C08)",
     START BLOCK(0, "'type':'redacted_thinking','data':'EmwK'") STOP(0) TEXT_BLOCK(1)
         TEXT_DELTA(1, "42") STOP(1) ENDING("end_turn", 40) END,
     {8, 1, -1, 4, -1, 4, OPAQUE | TEXT, "end_turn", 40, true, ""}},
    {"nothing but thinking",
     START BLOCK(0, "'type':'thinking','thinking':''")
         DELTA(0, "'type':'thinking_delta','thinking':'Let'") STOP(0) ENDING("max_tokens", 5) END,
     {6, 2, 2, -1, -1, 2, REASON, "max_tokens", 5, true, ""}},
    {"text, then a tool",
     START TEXT_BLOCK(0) TEXT_DELTA(0, "I look.") STOP(0)
         BLOCK(1, "'type':'tool_use','id':'t','name':'f','input':{}")
             DELTA(1, "'type':'input_json_delta','partial_json':''")
                 DELTA(1, "'type':'input_json_delta','partial_json':'{\\'a\\''")
                     DELTA(1, "'type':'input_json_delta','partial_json':':1}'") STOP(1)
                         ENDING("tool_use", 33) END,
     {11, 2, -1, 2, 6, 7, TEXT | NAME | ARGS, "tool_use", 33, true, ""}},
    {"nothing but a tool without arguments (C05)",
     START BLOCK(0, "'type':'tool_use','id':'t','name':'f','input':{}")
         DELTA(0, "'type':'input_json_delta','partial_json':''") STOP(0) ENDING("tool_use", 20) END,
     {6, 1, -1, -1, -1, 1, NAME, "tool_use", 20, true, ""}},
    {"a tool that the server runs, its result, text with a citation",
     START BLOCK(0, "'type':'server_tool_use','id':'s','name':'web_search','input':{}")
         DELTA(0, "'type':'input_json_delta','partial_json':'{}'") STOP(0)
             BLOCK(1, "'type':'web_search_tool_result','content':[{'type':'web_search_result',"
                      "'encrypted_content':'x'}]") STOP(1) BLOCK(2, "'citations':[],'type':'text',"
                                                                    "'text':''")
                 DELTA(2, "'type':'citations_delta','citation':{'cited_text':'x'}")
                     TEXT_DELTA(2, "so") STOP(2) ENDING("pause_turn", 70) END,
     {12, 1, -1, 8, 2, 8, NAME | ARGS | TEXT, "pause_turn", 70, true, ""}},
    {"a compaction",
     START BLOCK(0, "'type':'compaction','content':null") DELTA(
         0, "'type':'compaction_delta','content':'short'") STOP(0) ENDING("compaction", 8) END,
     {6, 2, -1, 2, -1, 2, TEXT, "compaction", 8, true, ""}},
    {"no output",
     START ENDING("refusal", 0) END,
     {3, -1, -1, -1, -1, -1, 0, "refusal", 0, true, ""}},
    {"an error in the middle (C49)",
     START TEXT_BLOCK(0) TEXT_DELTA(0, "Hel")
         SSE("error", ",'error':{'type':'overloaded_error','message':'Overloaded'}"),
     {4, 2, -1, 2, -1, 2, TEXT, "", 2, false, "overloaded_error"}},
    {"an error that no event carries",
     START "data: {'error':{'type':'api_error','message':'m'}}\n\n",
     {2, -1, -1, -1, -1, -1, 0, "", 2, false, "api_error"}},
    {"cut before message_stop (C49)",
     START TEXT_BLOCK(0) TEXT_DELTA(0, "Hel") STOP(0) ENDING("end_turn", 4),
     {5, 2, -1, 2, -1, 2, TEXT, "end_turn", 4, false, ""}},
    {"the last block is not closed",
     START TEXT_BLOCK(0) TEXT_DELTA(0, "a") "event: message_stop\ndata: {'type':'message_stop'}\n",
     {4, 2, -1, 2, -1, 2, TEXT, "", 2, true, ""}},
};

struct reading {
    const struct stream_row *row;
    struct events events;
    struct dialect_answer answer;
    struct expected got;
};

static void note_first(int *first, bool is_kind, int n)
{
    if (is_kind && *first < 0)
        *first = n;
}

static void on_event(struct reading *r, const struct event *ev)
{
    struct token_event e;
    struct expected *g = &r->got;
    int n = g->n_events++;
    dialect_anthropic.event(&r->answer, ev->name, ev->data, &e);
    g->kinds |= e.kinds;
    if (e.kinds != 0)
        g->last_token = n;
    note_first(&g->first_token, e.kinds != 0, n);
    note_first(&g->first_reasoning, (e.kinds & REASON) != 0, n);
    note_first(&g->first_text, (e.kinds & TEXT) != 0, n);
    note_first(&g->first_args, (e.kinds & ARGS) != 0, n);
}

static void reading_begin(void *ctx)
{
    struct reading *r = ctx;
    r->got = (struct expected){.first_token = -1,
                               .first_reasoning = -1,
                               .first_text = -1,
                               .first_args = -1,
                               .last_token = -1};
    events_init(&r->events, FRAMING_SSE, 1 << 20);
    dialect_answer_init(&r->answer);
}

static void reading_feed(void *ctx, struct span part)
{
    struct reading *r = ctx;
    struct event ev;
    while (events_next(&r->events, &part, &ev) == EVENT_WHOLE)
        on_event(r, &ev);
}

static void reading_end(void *ctx, const char *how)
{
    struct reading *r = ctx;
    struct event ev;
    char row[256];
    if (events_finish(&r->events, &ev) == EVENT_WHOLE)
        on_event(r, &ev);
    events_done(&r->events);
    const struct expected *want = &r->row->want;
    const struct expected *got = &r->got;
    const struct dialect_answer *a = &r->answer;
    (void)snprintf(row, sizeof(row), "%s, %s", r->row->name, how);
    assert_row(row, got->n_events == want->n_events);
    assert_row(row, got->first_token == want->first_token);
    assert_row(row, got->first_reasoning == want->first_reasoning);
    assert_row(row, got->first_text == want->first_text);
    assert_row(row, got->first_args == want->first_args);
    assert_row(row, got->last_token == want->last_token);
    assert_row(row, got->kinds == want->kinds);
    assert_row(row, strcmp(a->finish, want->finish) == 0);
    assert_row(row, strcmp(a->error, want->error) == 0);
    assert_row(row, dialect_anthropic.is_ended(a) == want->is_ended);
    assert_row(row, a->usage.prompt == 12 && a->usage.cached == 30);
    assert_row(row, a->usage.completion == want->completion);
    assert_row(row, strcmp(a->model, "claude-x") == 0 && a->n_bad_json == 0);
}

static void streams_in_every_division(void **state)
{
    (void)state;
    static const struct split_ops ops = {reading_begin, reading_feed, reading_end};
    for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
        struct reading r = {.row = &streams[i]};
        split_each(json(streams[i].text), &ops, &r);
    }
}

/* --- requests --- */

static struct dialect_request inspect(const struct dialect *d, const char *body)
{
    struct dialect_request r;
    d->inspect((struct span){0}, json(body), true, &r);
    return r;
}

static void requests(void **state)
{
    (void)state;
    static const char *const system = "[{'type':'text','text':'be \\u0062rief'}]";
    static const char *const messages = "[{'role':'user','content':'hi'}]";
    static const char *const tools = "[{'name':'f','input_schema':{'type':'object'}}]";
    char body[1024];
    (void)snprintf(body, sizeof(body),
                   "{'model':'claude-x','max_tokens':1024,'system':%s,'messages':%s,'tools':%s,"
                   "'stream':true,'thinking':{'type':'enabled','budget_tokens':2000}}",
                   system, messages, tools);
    struct dialect_request r = inspect(&dialect_anthropic, body);
    assert_true(r.is_json && r.is_complete && r.is_stream);
    assert_false(r.is_duplicate_model || r.has_include_usage);
    assert_string_equal(r.model, "claude-x");
    assert_int_equal(r.max_tokens, 1024);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.prompt_bytes, strlen(system) + strlen(messages) + strlen(tools));

    r = inspect(&dialect_anthropic_count_tokens, body);
    assert_false(r.is_stream);
    assert_string_equal(r.model, "claude-x");

    r = inspect(&dialect_anthropic, "{'model':'a','stream':true,'mod\\u0065l':'b','stream':false,"
                                    "'max_tokens':5,'max_tokens':6,'n':3,'max_tokens':0}");
    assert_true(r.is_json && r.is_duplicate_model);
    assert_false(r.is_stream);
    assert_string_equal(r.model, "b");
    assert_int_equal(r.max_tokens, 6);
    assert_int_equal(r.n, 1);

    static const char *const others[] = {"", "[]", "'x'", "{", "{'stream':true", "{} {}", "no"};
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        assert_row(others[i], !inspect(&dialect_anthropic, others[i]).is_json);
    assert_null(dialect_anthropic.add_include_usage); /* usage comes unasked */
}

/* A window that is cut anywhere keeps what was before the cut, and reads nothing behind it. */
static void cut_windows_keep_what_is_known(void **state)
{
    (void)state;
    static const char *const head = "{'model':'m','stream':true";
    struct span body = json("{'model':'m','stream':true,'system':'s\\n','messages':[{'content':["
                            "{'type':'text','text':'x'}]}],'max_tokens':12}");
    struct guard guard;
    guard_init(&guard, body.n);
    for (size_t n = 1; n <= body.n; n++) {
        struct dialect_request r;
        struct span window = guard_copy(&guard, span_of(body.p, n));
        dialect_anthropic.inspect((struct span){0}, window, false, &r);
        assert_true(r.is_json);
        assert_false(r.is_complete);
        assert_int_equal(r.is_stream, n >= strlen(head));
        assert_string_equal(r.model, n >= strlen("{'model':'m'") ? "m" : "");
        assert_true((size_t)r.prompt_bytes <= n);
        assert_int_equal(r.max_tokens, n >= body.n ? 12 : -1);
    }
    guard_done(&guard);
}

/* --- refusals --- */

static void refusals_have_the_form(void **state)
{
    (void)state;
    static const char *const types[REFUSAL_COUNT_] = {
        [REFUSAL_BAD_REQUEST] = "invalid_request_error",
        [REFUSAL_UNAUTHORIZED] = "authentication_error",
        [REFUSAL_FORBIDDEN] = "permission_error",
        [REFUSAL_NOT_FOUND] = "not_found_error",
        [REFUSAL_REQUEST_TIMEOUT] = "invalid_request_error",
        [REFUSAL_BODY_TOO_LARGE] = "request_too_large",
        [REFUSAL_TOO_MANY] = "rate_limit_error",
        [REFUSAL_QUEUE_TIMEOUT] = "rate_limit_error",
        [REFUSAL_INTERNAL] = "api_error",
        [REFUSAL_CONNECT_FAILED] = "api_error",
        [REFUSAL_BAD_RESPONSE] = "api_error",
        [REFUSAL_UPSTREAM_CUT] = "api_error",
        [REFUSAL_DRAINING] = "overloaded_error",
        [REFUSAL_TIMEOUT] = "timeout_error",
    };
    for (int i = 0; i < REFUSAL_COUNT_; i++) {
        struct buf b;
        char want[256];
        buf_init(&b, 4096);
        assert_int_equal(dialect_anthropic.refusal_body((enum dialect_refusal)i, "say \"no\"", &b),
                         0);
        (void)snprintf(want, sizeof(want),
                       "{\"type\":\"error\",\"error\":{\"type\":\"%s\",\"message\":\"say "
                       "\\\"no\\\"\"}}",
                       types[i]);
        assert_span_equal(types[i], buf_span(&b), span_cstr(want));
        /* and is read as an error of that type */
        struct dialect_answer a;
        dialect_answer_init(&a);
        dialect_anthropic.answer(&a, buf_span(&b));
        assert_string_equal(a.error, types[i]);
        buf_done(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_of_events),
        cmocka_unit_test(the_place_of_the_type_changes_nothing),
        cmocka_unit_test(a_name_is_not_part_of_a_shape),
        cmocka_unit_test(shapes_say_the_same),
        cmocka_unit_test(cut_events_leave_nothing),
        cmocka_unit_test(nothing_but_message_stop_is_the_end),
        cmocka_unit_test(errors_in_every_form),
        cmocka_unit_test(counts_of_a_usage),
        cmocka_unit_test(c35_the_last_value_wins_per_field),
        cmocka_unit_test(an_early_count_stays_early_until_another_one),
        cmocka_unit_test(c37_cached_tokens_are_part_of_the_prompt),
        cmocka_unit_test(whole_answers),
        cmocka_unit_test(counted_tokens_are_no_usage),
        cmocka_unit_test(events_allocate_nothing),
        cmocka_unit_test(streams_in_every_division),
        cmocka_unit_test(requests),
        cmocka_unit_test(cut_windows_keep_what_is_known),
        cmocka_unit_test(refusals_have_the_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
