/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_pages.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/jsonw.h"
#include "base/limits.h"
#include "base/mem.h"
#include "sim/sim_page.h"
#include "wire/json.h"

enum { TOKEN_BYTES = 4 };

/* --- metrics --- */

static int put_gpu_metrics(const struct sim_live *l, struct buf *out)
{
    const struct sim_live_config *c = sim_live_config_get(l);

    return sim_gpu_render(sim_live_gpu(l), &c->gpu, c->gpu_names, out);
}

static int put_metrics(struct sim_live *l, struct buf *out)
{
    const struct sim_live_config *c = sim_live_config_get(l);
    struct batching_counts counts = sim_live_counts(l);
    struct sim_page page = {
        .version = c->version,
        .model = c->model,
        .max_model_len = c->max_model_len,
        .block_tokens = c->batching.block_tokens,
        .has_prefix_cache = c->batching.has_prefix_cache,
        .started_at_s = sim_live_started_at_s(l),
        .pid = getpid(),
    };
    int r = sim_page_render(&page, &counts, sim_live_stats(l), out);

    return r == 0 && c->has_gpu_on_page ? put_gpu_metrics(l, out) : r;
}

static int answer_metrics(struct sim_live *l, const struct sim_page_ask *ask, struct buf *out,
                          struct err *reterr)
{
    (void)ask;
    (void)reterr;
    return put_metrics(l, out) < 0 ? 500 : 200;
}

static int answer_gpu_metrics(struct sim_live *l, const struct sim_page_ask *ask, struct buf *out,
                              struct err *reterr)
{
    (void)ask;
    (void)reterr;
    return put_gpu_metrics(l, out) < 0 ? 500 : 200;
}

/* --- about itself --- */

static void put_version(const struct sim_live *l, struct jsonw *w)
{
    int number = sim_live_config_get(l)->version.number;
    char text[24];

    (void)snprintf(text, sizeof(text), "%d.%d.%d", number / 10000, number / 100 % 100,
                   number % 100);
    jsonw_put_cstr(w, "version", text);
}

static int answer_version(struct sim_live *l, const struct sim_page_ask *ask, struct buf *out,
                          struct err *reterr)
{
    struct jsonw w;

    (void)ask;
    (void)reterr;
    jsonw_init(&w, out);
    jsonw_begin_object(&w);
    put_version(l, &w);
    jsonw_end_object(&w);
    return jsonw_error(&w) < 0 ? 500 : 200;
}

static int answer_server_info(struct sim_live *l, const struct sim_page_ask *ask, struct buf *out,
                              struct err *reterr)
{
    const struct sim_live_config *c = sim_live_config_get(l);
    struct jsonw w;

    (void)ask;
    (void)reterr;
    jsonw_init(&w, out);
    jsonw_begin_object(&w);
    jsonw_put_cstr(&w, "model_path", c->model);
    jsonw_put_cstr(&w, "served_model_name", c->model);
    jsonw_put_i64(&w, "context_length", c->max_model_len);
    jsonw_put_i64(&w, "tp_size", c->gpu.n_gpus);
    jsonw_put_i64(&w, "page_size", c->batching.block_tokens);
    jsonw_put_i64(&w, "max_running_requests", c->batching.max_seqs);
    jsonw_put_i64(&w, "chunked_prefill_size", c->batching.token_budget);
    jsonw_put_i64(&w, "max_total_num_tokens", c->batching.n_blocks * c->batching.block_tokens);
    jsonw_put_bool(&w, "disable_radix_cache", !c->batching.has_prefix_cache);
    jsonw_put_bool(&w, "enable_metrics", true);
    jsonw_key(&w, "internal_states");
    jsonw_begin_array(&w);
    jsonw_begin_object(&w);
    jsonw_put_double(&w, "last_gen_throughput", sim_live_stats(l)->output_rate);
    jsonw_end_object(&w);
    jsonw_end_array(&w);
    put_version(l, &w);
    jsonw_end_object(&w);
    return jsonw_error(&w) < 0 ? 500 : 200;
}

static int answer_load(struct sim_live *l, const struct sim_page_ask *ask, struct buf *out,
                       struct err *reterr)
{
    struct jsonw w;

    (void)ask;
    (void)reterr;
    jsonw_init(&w, out);
    jsonw_begin_object(&w);
    jsonw_put_i64(&w, "server_load", sim_live_n_open(l));
    jsonw_end_object(&w);
    return jsonw_error(&w) < 0 ? 500 : 200;
}

/* --- tokenizer --- */

/* The text of a member: a string's own, of anything else its JSON. p NULL: none. */
static struct span member(struct span body, const char *const *names, bool *ret_is_string,
                          bool *ret_has_escape)
{
    struct span found = {0};
    struct json_value v;
    struct json j;
    struct span key;

    json_init(&j, body);
    if (!json_next(&j, &v) || v.type != JSON_OBJECT)
        return found;
    while (json_key(&j, &key)) {
        size_t begin;
        bool is_it = false;

        for (size_t i = 0; names[i]; i++)
            is_it |= json_str_eq(key, span_cstr(names[i]));
        if (!json_next(&j, &v))
            break;
        begin = (size_t)(v.raw.p - body.p);
        if ((v.type == JSON_OBJECT || v.type == JSON_ARRAY) && !json_leave(&j))
            break;
        if (!is_it)
            continue;
        *ret_is_string = v.type == JSON_STRING;
        *ret_has_escape = v.has_escape;
        found = v.type == JSON_STRING ? v.raw : span_of(v.raw.p, json_offset(&j) - begin);
    }
    return json_is_done(&j) ? found : (struct span){0};
}

static void put_tokens(struct jsonw *w, struct span text)
{
    jsonw_key(w, "tokens");
    jsonw_begin_array(w);
    while (text.n > 0) {
        uint32_t token = 0;
        struct span piece = span_take(&text, text.n < TOKEN_BYTES ? text.n : TOKEN_BYTES);

        for (size_t i = 0; i < piece.n; i++)
            token |= (uint32_t)(unsigned char)piece.p[i] << (8 * i);
        jsonw_u64(w, token);
    }
    jsonw_end_array(w);
}

static int answer_tokenize(struct sim_live *l, const struct sim_page_ask *ask, struct buf *out,
                           struct err *reterr)
{
    static const char *const names[] = {"prompt", "messages", NULL};
    bool is_string = false, has_escape = false;
    struct span text = member(ask->body, names, &is_string, &has_escape);
    char *plain = NULL;
    struct jsonw w;

    if (!text.p) {
        (void)err_set(reterr, -EINVAL, "the body has neither \"prompt\" nor \"messages\"");
        err_hint(reterr, "{\"prompt\": \"some text\"}");
        return 400;
    }
    if (is_string && has_escape) {
        plain = mem_alloc(text.n + 1);
        if (!plain)
            return 500;
        text = span_of(plain, json_unescape(text, plain, text.n + 1));
    }
    jsonw_init(&w, out);
    jsonw_begin_object(&w);
    jsonw_put_i64(&w, "count", (int64_t)(text.n + TOKEN_BYTES - 1) / TOKEN_BYTES);
    jsonw_put_i64(&w, "max_model_len", sim_live_config_get(l)->max_model_len);
    put_tokens(&w, text);
    jsonw_key(&w, "token_strs");
    jsonw_null(&w);
    jsonw_end_object(&w);
    mem_free(plain);
    return jsonw_error(&w) < 0 ? 500 : 200;
}

/* The bytes of a list of tokens. -EINVAL: it is none. */
static int take_tokens(struct span list, struct buf *text)
{
    struct json_value v;
    struct json j;

    json_init(&j, list);
    if (!json_next(&j, &v) || v.type != JSON_ARRAY)
        return -EINVAL;
    while (json_item(&j)) {
        char bytes[TOKEN_BYTES];
        size_t n = 0;
        int64_t token;
        int r;

        if (!json_next(&j, &v) || v.type != JSON_NUMBER || !json_i64(&v, &token) || token < 0 ||
            token > UINT32_MAX)
            return -EINVAL;
        for (; token > 0; token >>= 8)
            bytes[n++] = (char)(token & 0xff);
        r = n > 0 ? buf_append(text, span_of(bytes, n)) : 0;
        if (r < 0)
            return r;
    }
    return json_is_done(&j) ? 0 : -EINVAL;
}

static int answer_detokenize(struct sim_live *l, const struct sim_page_ask *ask, struct buf *out,
                             struct err *reterr)
{
    static const char *const names[] = {"tokens", NULL};
    bool is_string = false, has_escape = false;
    struct span list = member(ask->body, names, &is_string, &has_escape);
    struct buf text;
    struct jsonw w;
    int r;

    (void)l;
    buf_init(&text, LIMIT_REQUEST_BODY_BYTES);
    r = list.p ? take_tokens(list, &text) : -EINVAL;
    jsonw_init(&w, out);
    if (r == 0) {
        jsonw_begin_object(&w);
        jsonw_put_str(&w, "prompt", buf_span(&text));
        jsonw_end_object(&w);
        r = jsonw_error(&w);
    }
    buf_done(&text);
    if (r == -EINVAL) {
        (void)err_set(reterr, -EINVAL, "the body has no list of tokens");
        err_hint(reterr, "{\"tokens\": [1751480691]}");
        return 400;
    }
    return r < 0 ? 500 : 200;
}

/* --- faults --- */

/* DELETE: one, or all. */
static int clear_faults(struct sim_live *l, struct span name, struct err *reterr)
{
    struct sim_faults f = *sim_live_faults(l);
    enum sim_fault which;

    if (name.n == 0)
        f = (struct sim_faults){0};
    else if (sim_fault_find(name, &which, reterr) < 0)
        return 404;
    else
        sim_faults_clear(&f, which);
    sim_live_set_faults(l, &f);
    return 200;
}

static int set_faults(struct sim_live *l, struct span body, struct err *reterr)
{
    struct sim_faults f = *sim_live_faults(l);

    if (sim_faults_read(&f, body, reterr) < 0)
        return 400;
    sim_live_set_faults(l, &f);
    return 200;
}

static int answer_faults(struct sim_live *l, const struct sim_page_ask *ask, struct buf *out,
                         struct err *reterr)
{
    struct jsonw w;
    int status = 200;

    if (span_eq(ask->method, SPAN("DELETE")))
        status = clear_faults(l, ask->name, reterr);
    else if (span_eq(ask->method, SPAN("POST")))
        status = set_faults(l, ask->body, reterr);
    if (status != 200)
        return status;
    jsonw_init(&w, out);
    sim_faults_write(sim_live_faults(l), &w);
    return jsonw_error(&w) < 0 ? 500 : 200;
}

/* --- the table --- */

static const struct page_row {
    int (*answer)(struct sim_live *l, const struct sim_page_ask *ask, struct buf *out,
                  struct err *reterr);
    const char *type;
} rows[SIM_PAGE_COUNT_] = {
    [SIM_PAGE_METRICS] = {answer_metrics, "text/plain; version=0.0.4; charset=utf-8"},
    [SIM_PAGE_GPU_METRICS] = {answer_gpu_metrics, "text/plain; version=0.0.4; charset=utf-8"},
    [SIM_PAGE_VERSION] = {answer_version, "application/json"},
    [SIM_PAGE_SERVER_INFO] = {answer_server_info, "application/json"},
    [SIM_PAGE_LOAD] = {answer_load, "application/json"},
    [SIM_PAGE_TOKENIZE] = {answer_tokenize, "application/json"},
    [SIM_PAGE_DETOKENIZE] = {answer_detokenize, "application/json"},
    [SIM_PAGE_FAULTS] = {answer_faults, "application/json"},
};

int sim_pages_answer(enum sim_page_id id, struct sim_live *l, const struct sim_page_ask *ask,
                     struct buf *out, struct err *reterr)
{
    int status = rows[id].answer(l, ask, out, reterr);

    if (status == 500)
        (void)err_set(reterr, -ENOMEM, "out of memory");
    return status;
}

const char *sim_pages_type(enum sim_page_id id)
{
    return rows[id].type;
}

int64_t sim_pages_delay_ns(enum sim_page_id id, const struct sim_live *l)
{
    bool is_tokenizer = id == SIM_PAGE_TOKENIZE || id == SIM_PAGE_DETOKENIZE;

    return is_tokenizer ? sim_live_tokenize_ns(l) : 0;
}
