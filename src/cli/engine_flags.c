/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/engine_flags.h"

#include <errno.h>
#include <stdio.h>

#include "base/file.h"

enum { WORD_MAX = 64, PATH_BYTES_MAX = 1024, KV_TOKENS_MAX = 1000000000 };

/* --- values that are words --- */

static int take_text(struct flag *f, char *dst, size_t cap, struct err *reterr)
{
    struct span value;
    int r = flag_value(f, NULL, &value, reterr);

    if (r == 0 && value.n >= cap)
        r = err_set(reterr, -EINVAL, "--%.*s: at most %zu bytes", SPAN_ARG(f->name), cap - 1);
    if (r == 0)
        (void)span_copy(value, dst, cap);
    return r;
}

static int apply_engine(struct engine_flags *e, struct flag *f, struct err *reterr)
{
    char name[WORD_MAX];
    int r = take_text(f, name, sizeof(name), reterr);

    if (r < 0)
        return r;
    e->is_on = true;
    if (sim_version_of(name, &e->live.version))
        return 0;
    (void)err_set(reterr, -EINVAL, "--engine: \"%s\" is none that can be played", name);
    err_hint(reterr, "vllm-0.6 to vllm-0.13 (also vllm-0.10.1), or sglang-0.5.7");
    return -EINVAL;
}

/* The cards that a fit was made on. */
static void set_cards(struct sim_gpu_config *g, const char *hardware)
{
    struct span name = span_cstr(hardware);

    sim_gpu_config_init(g);
    if (span_ends_with(name, SPAN("-tp4")))
        g->n_gpus = 4;
    if (span_find(name, SPAN("-a100-")) == name.n)
        return;
    g->model = "NVIDIA A100-SXM4-80GB";
    g->memory_mib = 81920;
    g->sm_clock_mhz = 1410;
    g->memory_clock_mhz = 1593;
    g->idle_watts = 60;
    g->limit_watts = 400;
}

static int apply_hardware(struct engine_flags *e, struct flag *f, struct err *reterr)
{
    char name[WORD_MAX], names[160] = "";
    int r = take_text(f, name, sizeof(name), reterr);
    size_t n = 0;

    if (r < 0)
        return r;
    if (batching_cost_of(name, &e->live.batching.cost)) {
        set_cards(&e->live.gpu, name);
        return 0;
    }
    for (size_t i = 0; batching_cost_name(i); i++) {
        n += span_copy(i > 0 ? SPAN(", ") : SPAN(""), names + n, sizeof(names) - n);
        n += span_copy(span_cstr(batching_cost_name(i)), names + n, sizeof(names) - n);
    }
    (void)err_set(reterr, -EINVAL, "--hardware: nothing is known of \"%s\"", name);
    err_hint(reterr, "one of %s", names);
    return -EINVAL;
}

static int apply_gpu_metrics(struct engine_flags *e, struct flag *f, struct err *reterr)
{
    char where[WORD_MAX];
    int r = take_text(f, where, sizeof(where), reterr);

    if (r < 0)
        return r;
    e->live.has_gpu_on_page = span_eq(span_cstr(where), SPAN("page"));
    if (e->live.has_gpu_on_page || span_eq(span_cstr(where), SPAN("path")))
        return 0;
    return err_set(reterr, -EINVAL, "--gpu-metrics takes page or path, not \"%s\"", where);
}

static int apply_gpu_names(struct engine_flags *e, struct flag *f, struct err *reterr)
{
    char names[WORD_MAX];
    int r = take_text(f, names, sizeof(names), reterr);

    if (r < 0)
        return r;
    if (span_eq(span_cstr(names), SPAN("dcgm-4.8")))
        e->live.gpu_names = SIM_GPU_NAMES_DCGM_4_8;
    else if (span_eq(span_cstr(names), SPAN("dcgm-4.9")))
        e->live.gpu_names = SIM_GPU_NAMES_DCGM_4_9;
    else
        r = err_set(reterr, -EINVAL, "--gpu-names takes dcgm-4.8 or dcgm-4.9, not \"%s\"", names);
    return r;
}

static int apply_prefix_cache(struct engine_flags *e, struct flag *f, struct err *reterr)
{
    char word[WORD_MAX];
    int r = take_text(f, word, sizeof(word), reterr);

    if (r < 0)
        return r;
    e->live.batching.has_prefix_cache = span_eq(span_cstr(word), SPAN("on"));
    if (e->live.batching.has_prefix_cache || span_eq(span_cstr(word), SPAN("off")))
        return 0;
    return err_set(reterr, -EINVAL, "--prefix-cache takes on or off, not \"%s\"", word);
}

static int apply_tokenize(struct engine_flags *e, struct flag *f, struct err *reterr)
{
    return flag_ms(f, &e->live.tokenize_ns, reterr);
}

static int apply_script(struct engine_flags *e, struct flag *f, struct err *reterr)
{
    char path[PATH_BYTES_MAX];
    struct err why = {0};
    struct buf text;
    int r = take_text(f, path, sizeof(path), reterr);

    if (r < 0)
        return r;
    e->script = sim_script_free(e->script);
    buf_init(&text, SIM_SCRIPT_BYTES_MAX + 1);
    r = file_read(path, SIM_SCRIPT_BYTES_MAX, &text);
    if (r < 0) {
        (void)err_set(reterr, r, "--script: could not read \"%.300s\": %s", path, err_str(r));
    } else {
        r = sim_script_parse(buf_span(&text), &e->script, &why);
        if (r < 0) {
            (void)err_set(reterr, r, "--script: %.200s: %.240s", path, why.text);
            err_hint(reterr, "%s", why.hint);
        }
    }
    buf_done(&text);
    return r;
}

/* --- the table --- */

static const struct row {
    const char *name, *values;
    int (*apply)(struct engine_flags *e, struct flag *f, struct err *reterr); /* NULL: a count */
    size_t offset;
    int64_t min, max;
    const char *help;
} rows[] = {
    {"engine", "NAME", apply_engine, 0, 0, 0,
     "whose names /metrics has: vllm-0.6 to vllm-0.13, sglang-0.5.7"},
    {"hardware", "NAME", apply_hardware, 0, 0, 0,
     "how long iterations take (default llama2-70b-h100-tp8)"},
    {"kv-tokens", "N", NULL, offsetof(struct engine_flags, kv_tokens), 1, KV_TOKENS_MAX,
     "room for KV (default 1370000)"},
    {"max-seqs", "N", NULL, offsetof(struct engine_flags, live.batching.max_seqs), 1, 1000000,
     "requests that run at once (default 256)"},
    {"token-budget", "N", NULL, offsetof(struct engine_flags, live.batching.token_budget), 1,
     1000000, "tokens of an iteration (default 2048)"},
    {"block-tokens", "N", NULL, offsetof(struct engine_flags, live.batching.block_tokens), 1, 4096,
     "of a KV block (default 16)"},
    {"max-model-len", "N", NULL, offsetof(struct engine_flags, max_model_len), 2, 10000000,
     "tokens of prompt and output (default 16384, or as KV has room)"},
    {"prefix-cache", "on|off", apply_prefix_cache, 0, 0, 0, "(default on)"},
    {"tokenize-ms", "MS", apply_tokenize, 0, 0, 0, "what /tokenize takes (default 2)"},
    {"gpu-metrics", "page|path", apply_gpu_metrics, 0, 0, 0,
     "GPUs on /metrics, too, or only on /gpu/metrics (default path)"},
    {"gpu-names", "dcgm-4.8|dcgm-4.9", apply_gpu_names, 0, 0, 0, "(default dcgm-4.8)"},
    {"script", "FILE", apply_script, 0, 0, 0, "faults by time, see below"},
};

static int apply_count(const struct row *row, struct engine_flags *e, struct flag *f,
                       struct err *reterr)
{
    int64_t n;
    int r = flag_i64(f, row->min, row->max, &n, reterr);

    if (r == 0)
        memcpy((char *)e + row->offset, &n, sizeof(n));
    return r;
}

int engine_flags_apply(struct engine_flags *e, struct flag *f, struct err *reterr)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int r;

        if (!flag_is(f, rows[i].name))
            continue;
        if (!e->first && rows[i].apply != apply_engine)
            e->first = rows[i].name;
        r = rows[i].apply ? rows[i].apply(e, f, reterr) : apply_count(&rows[i], e, f, reterr);
        return r < 0 ? r : 1;
    }
    return 0;
}

static int set_blocks(struct engine_flags *e, struct err *reterr)
{
    struct batching_config *b = &e->live.batching;

    if (e->kv_tokens < 0)
        return 0;
    b->n_blocks = (e->kv_tokens + b->block_tokens - 1) / b->block_tokens;
    if (b->n_blocks <= KV_BLOCKS_MAX)
        return 0;
    (void)err_set(reterr, -EINVAL,
                  "--kv-tokens: %lld blocks of %lld tokens; there are at most %lld",
                  (long long)b->n_blocks, (long long)b->block_tokens, (long long)KV_BLOCKS_MAX);
    err_hint(reterr, "lower it, or make blocks larger: --block-tokens %lld",
             (long long)((e->kv_tokens + KV_BLOCKS_MAX - 1) / KV_BLOCKS_MAX));
    return -EINVAL;
}

/* A sequence has to fit into the memory; real engines refuse to start, too. */
static int set_room(struct engine_flags *e, struct err *reterr)
{
    struct batching_config *b = &e->live.batching;
    int64_t n_tokens;
    int r = set_blocks(e, reterr);

    if (r < 0)
        return r;
    n_tokens = b->n_blocks * b->block_tokens;
    if (e->max_model_len > n_tokens) {
        (void)err_set(reterr, -EINVAL, "--max-model-len: KV has room for %lld tokens only",
                      (long long)n_tokens);
        err_hint(reterr, "raise --kv-tokens, or leave --max-model-len out");
        return -EINVAL;
    }
    if (e->max_model_len >= 0)
        e->live.max_model_len = e->max_model_len;
    else if (e->live.max_model_len > n_tokens)
        e->live.max_model_len = n_tokens;
    return 0;
}

int engine_flags_finish(struct engine_flags *e, struct sim_config *c, struct err *reterr)
{
    int r;

    if (!e->is_on && e->first) {
        (void)err_set(reterr, -EINVAL, "--%s is for the batching engine", e->first);
        err_hint(reterr, "choose one, too: --engine vllm-0.13");
        return -EINVAL;
    }
    if (!e->is_on)
        return 0;
    if (c->n_workers > 1) {
        (void)err_set(reterr, -EINVAL, "--engine is one engine and has one worker");
        err_hint(reterr, "leave --workers out, or start several simulators");
        return -EINVAL;
    }
    r = set_room(e, reterr);
    if (r < 0)
        return r;
    e->live.script = e->script;
    e->live.model = c->model_name;
    e->live.seed = c->seed;
    c->live = &e->live;
    return 0;
}

/* --- life, help --- */

void engine_flags_init(struct engine_flags *e)
{
    *e = (struct engine_flags){.kv_tokens = -1, .max_model_len = -1};
    sim_live_config_init(&e->live);
}

void engine_flags_done(struct engine_flags *e)
{
    e->script = sim_script_free(e->script);
}

void engine_flags_offer(struct suggest *s)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        suggest_offer(s, span_cstr(rows[i].name));
}

static void help_faults(void)
{
    const struct sim_fault_row *row;

    (void)fputs(
        "\nfaults of that engine, by POST /sim/faults {\"slow_gpu\": 1.5, \"errors\": true}, "
        "GET, and\nDELETE /sim/faults[/NAME], or by lines of a script: "
        "at 30s for 60s slow_gpu 1.5\n",
        stdout);
    for (size_t i = 0; (row = sim_fault_row(i)); i++) {
        char left[64];

        (void)snprintf(left, sizeof(left), "%s X", row->name);
        (void)printf("  %-20s %s (%s, default %g)\n", left, row->help, row->unit, row->strength);
    }
}

void engine_flags_help(void)
{
    (void)fputs("\nthe batching engine, which decides all times instead of the model; it has "
                "GET /metrics,\n/gpu/metrics, vLLM's /version, /load, /tokenize, /detokenize, "
                "SGLang's /get_server_info:\n",
                stdout);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char left[64];

        (void)snprintf(left, sizeof(left), "--%s %s", rows[i].name, rows[i].values);
        (void)printf("  %-36s %s\n", left, rows[i].help);
    }
    help_faults();
}
