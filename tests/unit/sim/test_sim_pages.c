/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_pages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "live.h"
#include "memfail.h"

static struct sim_live *engine;

static int answer(enum sim_page_id id, const char *method, const char *name, const char *body,
                  struct buf *out, struct err *e)
{
    struct sim_page_ask ask = {span_cstr(method), span_cstr(body), span_cstr(name)};

    buf_clear(out);
    *e = (struct err){0};
    return sim_pages_answer(id, engine, &ask, out, e);
}

static const struct row {
    enum sim_page_id id;
    const char *method, *name, *body;
    int status;
    const char *holds; /* the answer; or the error and its hint */
} rows[] = {
    {SIM_PAGE_METRICS, "GET", "", "", 200, "vllm:num_requests_running{"},
    {SIM_PAGE_GPU_METRICS, "GET", "", "", 200, "DCGM_FI_DEV_SM_CLOCK{"},
    {SIM_PAGE_VERSION, "GET", "", "", 200, "{\"version\":\"0.13.0\"}"},
    {SIM_PAGE_SERVER_INFO, "GET", "", "", 200, "\"max_running_requests\":256,"},
    {SIM_PAGE_SERVER_INFO, "GET", "", "", 200, "\"max_total_num_tokens\":1600,"},
    {SIM_PAGE_LOAD, "GET", "", "", 200, "{\"server_load\":0}"},
    {SIM_PAGE_TOKENIZE, "POST", "", "{\"prompt\":\"abcdef\"}", 200,
     "{\"count\":2,\"max_model_len\":1600,\"tokens\":[1684234849,26213],\"token_strs\":null}"},
    {SIM_PAGE_TOKENIZE, "POST", "", "{\"model\":[{}],\"prompt\":\"a\\nb\"}", 200, "\"count\":1,"},
    {SIM_PAGE_TOKENIZE, "POST", "", "{\"prompt\":\"\"}", 200, "\"count\":0,"},
    {SIM_PAGE_TOKENIZE, "POST", "", "{\"messages\":[{\"content\":\"x\"}]}", 200, "\"count\":5,"},
    {SIM_PAGE_TOKENIZE, "POST", "", "{\"text\":\"x\"}", 400, "neither \"prompt\" nor"},
    {SIM_PAGE_TOKENIZE, "POST", "", "{\"prompt\":\"x\"", 400, "neither \"prompt\" nor"},
    {SIM_PAGE_TOKENIZE, "POST", "", "[]", 400, "{\"prompt\": \"some text\"}"},
    {SIM_PAGE_DETOKENIZE, "POST", "", "{\"tokens\":[1684234849,26213]}", 200,
     "{\"prompt\":\"abcdef\"}"},
    {SIM_PAGE_DETOKENIZE, "POST", "", "{\"tokens\":[]}", 200, "{\"prompt\":\"\"}"},
    {SIM_PAGE_DETOKENIZE, "POST", "", "{\"tokens\":[4294967296]}", 400, "no list of tokens"},
    {SIM_PAGE_DETOKENIZE, "POST", "", "{\"tokens\":[-1]}", 400, "no list of tokens"},
    {SIM_PAGE_DETOKENIZE, "POST", "", "{\"tokens\":[\"a\"]}", 400, "no list of tokens"},
    {SIM_PAGE_DETOKENIZE, "POST", "", "{\"tokens\":7}", 400, "no list of tokens"},
    {SIM_PAGE_DETOKENIZE, "POST", "", "{}", 400, "no list of tokens"},
    {SIM_PAGE_FAULTS, "GET", "", "", 200, "{\"active\":{},"},
    {SIM_PAGE_FAULTS, "POST", "", "{\"slow_gpu\":2,\"errors\":true}", 200,
     "{\"active\":{\"slow_gpu\":2,\"errors\":0.1},"},
    {SIM_PAGE_FAULTS, "POST", "", "{\"slow_gpu\":0}", 400, "slow_gpu takes 1 to 1000"},
    {SIM_PAGE_FAULTS, "DELETE", "slow-gpu", "", 200, "{\"active\":{\"errors\":0.1},"},
    {SIM_PAGE_FAULTS, "DELETE", "eror", "", 404, "did you mean errors?"},
    {SIM_PAGE_FAULTS, "GET", "", "", 200, "{\"active\":{\"errors\":0.1},"},
    {SIM_PAGE_FAULTS, "DELETE", "", "", 200, "{\"active\":{},"},
};

static void test_answers(void **state)
{
    struct sim_live_config config = live_config();
    struct buf out;
    (void)state;
    engine = live_start(&config);
    buf_init(&out, MIB);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *row = &rows[i];
        char name[160], text[sizeof(struct err)];
        struct err e;
        int status = answer(row->id, row->method, row->name, row->body, &out, &e);
        struct span all = buf_span(&out);

        (void)snprintf(name, sizeof(name), "row %zu: %s", i, row->body);
        if (status != 200) {
            (void)snprintf(text, sizeof(text), "%s; %s", e.text, e.hint);
            all = span_cstr(text);
        }
        assert_row(name, status == row->status);
        assert_row(name, span_find(all, span_cstr(row->holds)) < all.n);
    }
    buf_done(&out);
    live_stop(engine);
}

/* The GPUs are on the engine's page where that is wanted. */
static void test_gpu_on_page(void **state)
{
    struct sim_live_config config = live_config();
    struct buf out;
    struct err e;
    (void)state;
    buf_init(&out, MIB);
    for (int i = 0; i < 2; i++) {
        struct span all;

        config.has_gpu_on_page = i == 1;
        config.gpu_names = SIM_GPU_NAMES_DCGM_4_9;
        engine = live_start(&config);
        assert_int_equal(answer(SIM_PAGE_METRICS, "GET", "", "", &out, &e), 200);
        all = buf_span(&out);
        assert_int_equal(span_find(all, SPAN("DCGM_FI_DEV_SM_CLOCK_HERTZ{")) < all.n, i == 1);
        live_stop(engine);
    }
    buf_done(&out);
}

static void test_delay(void **state)
{
    struct sim_live_config config = live_config();
    (void)state;
    config.tokenize_ns = 7 * NS_PER_MS;
    engine = live_start(&config);
    assert_int_equal(sim_pages_delay_ns(SIM_PAGE_METRICS, engine), 0);
    assert_int_equal(sim_pages_delay_ns(SIM_PAGE_TOKENIZE, engine), 7 * NS_PER_MS);
    live_set(engine, SIM_FAULT_HOST_STALL, 30);
    assert_int_equal(sim_pages_delay_ns(SIM_PAGE_DETOKENIZE, engine), 37 * NS_PER_MS);
    live_stop(engine);
}

/* Any text comes back from its tokens. */
static void test_there_and_back(void **state)
{
    static const char letters[] = "ab \t\n\"\\/{}\xc3\xa4\xe2\x82\xac";
    struct sim_live_config config = live_config();
    struct buf body, page;
    struct rng rng;
    struct err e;
    (void)state;
    engine = live_start(&config);
    rng_seed(&rng, 3);
    buf_init(&body, MIB);
    buf_init(&page, MIB);
    for (int i = 0; i < 300; i++) {
        char text[64];
        size_t n = 0;
        struct jsonw w;
        struct span list;

        for (uint64_t k = rng_below(&rng, 20); k > 0; k--) {
            size_t at = rng_below(&rng, sizeof(letters) - 6);

            text[n++] = letters[at];
            if (rng_below(&rng, 4) == 0) {
                memcpy(text + n, "\xc3\xa4", 2);
                n += 2;
            }
        }
        buf_clear(&body);
        jsonw_init(&w, &body);
        jsonw_begin_object(&w);
        jsonw_key(&w, "prompt");
        jsonw_str(&w, span_of(text, n));
        jsonw_end_object(&w);
        assert_int_equal(buf_append(&body, span_of("", 1)), 0);
        assert_int_equal(answer(SIM_PAGE_TOKENIZE, "POST", "", buf_span(&body).p, &page, &e), 200);
        list = span_from(buf_span(&page), span_find(buf_span(&page), SPAN("[")));
        list.n = span_find_char(list, ']') + 1;
        {
            char again[1024];

            assert_true(list.n < 400);
            (void)snprintf(again, sizeof(again), "{\"tokens\":%.*s}", (int)(list.n & 511), list.p);
            assert_int_equal(answer(SIM_PAGE_DETOKENIZE, "POST", "", again, &page, &e), 200);
        }
        buf_truncate(&body, buf_len(&body) - 1);
        assert_span_equal("text", buf_span(&page), buf_span(&body));
    }
    buf_done(&body);
    buf_done(&page);
    live_stop(engine);
}

/* Of a body that is right no prefix is. */
static void test_prefixes(void **state)
{
    static const struct {
        enum sim_page_id id;
        const char *body;
    } bodies[] = {
        {SIM_PAGE_TOKENIZE, "{\"a\":[{}],\"prompt\":\"a\\u00e4\\\"b\"}"},
        {SIM_PAGE_TOKENIZE, "{\"messages\":[{\"content\":[1,{\"text\":\"x\"}]}]}"},
        {SIM_PAGE_DETOKENIZE, "{\"tokens\":[1684234849, 26213]}"},
    };
    struct sim_live_config config = live_config();
    struct buf out;
    struct err e;
    (void)state;
    engine = live_start(&config);
    buf_init(&out, MIB);
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        for (size_t n = 0; n <= strlen(bodies[i].body); n++) {
            char *exact = malloc(n + 1); /* a sanitizer sees a read behind the end */

            assert_non_null(exact);
            memcpy(exact, bodies[i].body, n);
            exact[n] = '\0';
            assert_row(exact, answer(bodies[i].id, "POST", "", exact, &out, &e) ==
                                  (n == strlen(bodies[i].body) ? 200 : 400));
            free(exact);
        }
    }
    buf_done(&out);
    live_stop(engine);
}

static int attempt(void *ctx)
{
    const struct row *row = ctx;
    struct buf out;
    struct err e;
    int status;

    buf_init(&out, MIB);
    status = answer(row->id, row->method, row->name, row->body, &out, &e);
    buf_done(&out);
    if (status == 500)
        assert_string_equal(e.text, "out of memory");
    return status == 500 ? -ENOMEM : status == row->status ? 0 : -EIO;
}

static void test_no_memory(void **state)
{
    struct sim_live_config config = live_config();
    (void)state;
    engine = live_start(&config);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct row row = rows[i];

        if (row.status == 200)
            assert_row(row.holds, memfail_each(attempt, &row) >= 1);
    }
    live_stop(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),  cmocka_unit_test(test_gpu_on_page),
        cmocka_unit_test(test_delay),    cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_prefixes), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
