/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/sim.c - flags of the simulated engine. Those of the model are here, the switches come from
 * their own table (sim/switches.c).
 */
#include "cli/sim.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/suggest.h"
#include "cli/engine_flags.h"
#include "cli/flag.h"
#include "cli/nofile.h"
#include "cli/signals.h"
#include "sim/sim_server.h"

enum { OPTION_PATH_MAX = 1024 };

struct options {
    struct sim_config config;
    struct engine_flags engine;
    struct play *play;
    char play_dir[PLAY_NAME_MAX * 4];
    char tls_cert[OPTION_PATH_MAX], tls_key[OPTION_PATH_MAX];
    bool is_help;
};

enum option_type { OPTION_COUNT, OPTION_DOUBLE, OPTION_MS, OPTION_US };

/* Model and server flags that are numbers: where they go and what they may be. */
static const struct option_row {
    const char *name;
    enum option_type type;
    size_t offset;
    double min, max;
    const char *help;
} option_rows[] = {
    {"concurrency", OPTION_COUNT, offsetof(struct sim_config, model.concurrency), 1, 1e7,
     "requests served at once; others wait in order (default 10000)"},
    {"ttft-median-ms", OPTION_MS, offsetof(struct sim_config, model.ttft_median_ns), 0, 0,
     "time to first token, median of a lognormal (default 80)"},
    {"ttft-sigma", OPTION_DOUBLE, offsetof(struct sim_config, model.ttft_sigma), 0, 5,
     "its sigma; 0: constant (default 0.3)"},
    {"ttft-per-token-us", OPTION_US, offsetof(struct sim_config, model.ttft_per_prompt_token_ns), 0,
     1e6, "added per prompt token (default 20)"},
    {"itl-mean-ms", OPTION_MS, offsetof(struct sim_config, model.itl_mean_ns), 0, 0,
     "time per further token, mean (default 12)"},
    {"itl-sigma", OPTION_DOUBLE, offsetof(struct sim_config, model.itl_sigma), 0, 5,
     "its sigma; 0: constant (default 0.1)"},
    {"load-factor", OPTION_DOUBLE, offsetof(struct sim_config, model.load_factor), 1, 1000,
     "time per token at full concurrency, relative to one request (default 1)"},
    {"output-median", OPTION_COUNT, offsetof(struct sim_config, model.output_median), 0, 1e7,
     "output tokens drawn around it; 0: as many as asked for (default 0)"},
    {"output-sigma", OPTION_DOUBLE, offsetof(struct sim_config, model.output_sigma), 0, 5,
     "sigma of that lognormal (default 0)"},
    {"output-max", OPTION_COUNT, offsetof(struct sim_config, model.output_max), 1, 1e7,
     "most output tokens, and those of requests that ask for no number (default 128)"},
    {"truth", OPTION_COUNT, offsetof(struct sim_config, n_truth), 0, 1e6,
     "requests remembered for /sim/truth; 0: none (default 4096)"},
    {"idle-close-ms", OPTION_MS, offsetof(struct sim_config, idle_close_ns), 0, 0,
     "idle connections are closed after it (default 300000)"},
    {"seed", OPTION_COUNT, offsetof(struct sim_config, seed), 0, 9e15,
     "of all random draws (default 1)"},
};

_Static_assert(sizeof(size_t) == sizeof(int64_t) && sizeof(uint64_t) == sizeof(int64_t),
               "counts of the table are written as int64_t");

static const char help_head[] =
    "usage: inferometer sim [--listen ADDR:PORT] [FLAGS]\n\n"
    "A simulated engine that speaks the APIs of OpenAI, Anthropic, Ollama and Gemini, or\n"
    "plays a recorded answer. It prints \"listening on ADDR:PORT\" when it is ready, and ends\n"
    "with Ctrl-C or SIGTERM.\n\n"
    "  POST /v1/chat/completions, /v1/completions, /v1/embeddings, /v1/responses\n"
    "  POST /v1/messages, /v1/messages/count_tokens\n"
    "  POST /api/chat, /api/generate, /api/embed\n"
    "  POST /v1beta/models/NAME:generateContent, :streamGenerateContent [?alt=sse]\n"
    "  GET  /v1/models, /health\n"
    "  GET  /sim/truth?id=X-REQUEST-ID (or ?last=N)   what was sent, and when "
    "(CLOCK_MONOTONIC)\n\n"
    "server and model:\n"
    "  --listen ADDR:PORT           where (default 127.0.0.1:0, any free port); or unix:/PATH\n"
    "  --tls-cert FILE, --tls-key FILE\n"
    "                               speak TLS with this certificate and key (PEM)\n"
    "  --workers N                  threads (default 1)\n"
    "  --model NAME                 name told by /v1/models (default simulated)\n"
    "  --play FILE                  answer every POST with this body (.sse, .ndjson, .json),\n"
    "                               in the writes of FILE.reads, or one per event\n"
    "  --play-dir DIR               files that a request may name: X-Sim-Play: FILE\n";

static const char help_examples[] =
    "\nexamples:\n"
    "  inferometer sim --listen 127.0.0.1:8000 --concurrency 64 --load-factor 3\n"
    "  inferometer sim --ttft-ms 200 --itl-ms 20 --usage always\n"
    "  inferometer sim --listen 127.0.0.1:8000 --play answer.sse --play-gap-ms 20\n"
    "  curl -N 127.0.0.1:8000/v1/chat/completions -H 'X-Sim-Cut-After: 5' \\\n"
    "    -d '{\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}'\n"
    "  inferometer sim --listen 127.0.0.1:8000 --engine vllm-0.13 --kv-tokens 20000\n"
    "  curl 127.0.0.1:8000/sim/faults -d '{\"load_surge\": 8}'\n"
    "  curl -N 127.0.0.1:8000/v1/messages -H 'X-Sim-Reasoning: 20' \\\n"
    "    -d '{\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}'\n"
    "  curl -N 127.0.0.1:8000/api/chat \\\n"
    "    -d '{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}'\n";

static void help_print(void)
{
    static const char *const kinds[] = {
        [OPTION_COUNT] = "N", [OPTION_DOUBLE] = "X", [OPTION_MS] = "MS", [OPTION_US] = "US"};
    struct switch_help h;

    (void)fputs(help_head, stdout);
    for (size_t i = 0; i < ARRAY_LEN(option_rows); i++) {
        char left[64];
        (void)snprintf(left, sizeof(left), "--%s %s", option_rows[i].name,
                       kinds[option_rows[i].type]);
        (void)printf("  %-28s %s\n", left, option_rows[i].help);
    }
    (void)fputs(
        "\nswitches: defaults by flag (--tokens 20), of one request by header (X-Sim-Tokens: 20)\n",
        stdout);
    for (size_t i = 0; switches_help(i, &h); i++) {
        char left[64];
        (void)snprintf(left, sizeof(left), "--%s %s", h.name, h.values);
        (void)printf("  %-36s %s\n", left, h.text);
    }
    engine_flags_help();
    (void)fputs(help_examples, stdout);
}

/* --- flags --- */

static int row_apply(const struct option_row *row, struct flag *f, struct sim_config *c,
                     struct err *reterr)
{
    char *at = (char *)c + row->offset;
    int64_t n = 0;
    double v = 0;
    int r = 0;

    switch (row->type) {
    case OPTION_COUNT:
        r = flag_i64(f, (int64_t)row->min, (int64_t)row->max, &n, reterr);
        break;
    case OPTION_MS:
        r = flag_ms(f, &n, reterr);
        break;
    case OPTION_US:
        r = flag_double(f, row->min, row->max, &v, reterr);
        n = (int64_t)(v * (double)NS_PER_US);
        break;
    case OPTION_DOUBLE:
        r = flag_double(f, row->min, row->max, &v, reterr);
        if (r == 0)
            memcpy(at, &v, sizeof(v));
        return r;
    }
    if (r == 0)
        memcpy(at, &n, sizeof(n));
    return r;
}

static int unknown_flag(const struct flag *f, struct err *reterr)
{
    struct suggest s;
    struct switch_help h;

    suggest_init(&s, f->name);
    suggest_offer(&s, SPAN("listen"));
    suggest_offer(&s, SPAN("tls-cert"));
    suggest_offer(&s, SPAN("tls-key"));
    suggest_offer(&s, SPAN("workers"));
    suggest_offer(&s, SPAN("model"));
    suggest_offer(&s, SPAN("play"));
    suggest_offer(&s, SPAN("play-dir"));
    for (size_t i = 0; i < ARRAY_LEN(option_rows); i++)
        suggest_offer(&s, span_cstr(option_rows[i].name));
    for (size_t i = 0; switches_help(i, &h); i++)
        suggest_offer(&s, span_cstr(h.name));
    engine_flags_offer(&s);
    return flag_unknown(f, &s, "sim", reterr);
}

static int switch_apply(struct flag *f, struct options *o, struct err *reterr)
{
    struct switches probe = o->config.defaults;
    struct span value;
    int r = switches_set(&probe, f->name, SPAN("1"), NULL);

    if (r == -ENOENT)
        return unknown_flag(f, reterr);
    r = flag_value(f, "on", &value, reterr);
    return r < 0 ? r : switches_set(&o->config.defaults, f->name, value, reterr);
}

static int model_name_apply(struct flag *f, struct options *o, struct err *reterr)
{
    struct span value;
    int r = flag_value(f, NULL, &value, reterr);

    if (r < 0)
        return r;
    if (value.n >= sizeof(o->config.model_name))
        return err_set(reterr, -EINVAL, "--model: a name has at most %d bytes", ASK_MODEL_MAX - 1);
    (void)span_copy(value, o->config.model_name, sizeof(o->config.model_name));
    return 0;
}

static int dir_check(const char *path, struct err *reterr)
{
    struct stat st;

    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return 0;
    (void)err_set(reterr, -ENOTDIR, "--play-dir: \"%.300s\" is not a directory", path);
    err_hint(reterr, "name the directory that the files of X-Sim-Play are in");
    return -ENOTDIR;
}

static int play_apply(struct flag *f, struct options *o, struct err *reterr)
{
    char path[sizeof(o->play_dir)];
    struct span value;
    int r = flag_value(f, NULL, &value, reterr);

    if (r < 0)
        return r;
    if (value.n >= sizeof(path))
        return err_set(reterr, -EINVAL, "--%.*s: a path has at most %zu bytes here",
                       SPAN_ARG(f->name), sizeof(path) - 1);
    (void)span_copy(value, path, sizeof(path));
    if (flag_is(f, "play-dir")) {
        memcpy(o->play_dir, path, sizeof(path));
        o->config.play_dir = o->play_dir;
        return dir_check(path, reterr);
    }
    o->play = play_free(o->play);
    r = play_open(path, &o->play, reterr);
    o->config.play = o->play;
    return r;
}

static int tls_path_apply(struct flag *f, char *dst, struct err *reterr)
{
    struct span value;
    int r = flag_value(f, NULL, &value, reterr);

    if (r == 0 && value.n >= OPTION_PATH_MAX)
        r = err_set(reterr, -EINVAL, "--%.*s: a path has at most %d bytes here", SPAN_ARG(f->name),
                    OPTION_PATH_MAX - 1);
    if (r == 0)
        (void)span_copy(value, dst, OPTION_PATH_MAX);
    return r;
}

static int flag_apply(struct flag *f, struct options *o, struct err *reterr)
{
    struct span value;
    int64_t n;
    int r;

    if (flag_is(f, "help")) {
        o->is_help = true;
        return 0;
    }
    if (flag_is(f, "listen")) {
        r = flag_value(f, NULL, &value, reterr);
        return r < 0 ? r : addr_parse(value, &o->config.listen, reterr);
    }
    if (flag_is(f, "workers")) {
        r = flag_i64(f, 1, SIM_WORKERS_MAX, &n, reterr);
        if (r == 0)
            o->config.n_workers = (int)n;
        return r;
    }
    if (flag_is(f, "tls-cert"))
        return tls_path_apply(f, o->tls_cert, reterr);
    if (flag_is(f, "tls-key"))
        return tls_path_apply(f, o->tls_key, reterr);
    if (flag_is(f, "model"))
        return model_name_apply(f, o, reterr);
    if (flag_is(f, "play") || flag_is(f, "play-dir"))
        return play_apply(f, o, reterr);
    for (size_t i = 0; i < ARRAY_LEN(option_rows); i++)
        if (flag_is(f, option_rows[i].name))
            return row_apply(&option_rows[i], f, &o->config, reterr);
    r = engine_flags_apply(&o->engine, f, reterr);
    return r != 0 ? r : switch_apply(f, o, reterr);
}

static int options_parse(int argc, char **argv, struct options *ret, struct err *reterr)
{
    struct flag f;
    int r;

    flag_init(&f, argc, argv);
    while ((r = flag_next(&f, reterr)) > 0) {
        r = flag_apply(&f, ret, reterr);
        if (r < 0 || ret->is_help)
            return r < 0 ? r : 0;
    }
    return r < 0 ? r : engine_flags_finish(&ret->engine, &ret->config, reterr);
}

static int tls_open(struct options *o, struct err *reterr)
{
    struct tls_server_config c = {.cert_file = o->tls_cert,
                                  .key_file = o->tls_key[0] != '\0' ? o->tls_key : NULL};

    if (o->tls_cert[0] != '\0')
        return tls_server_new(&c, &o->config.tls, reterr);
    if (o->tls_key[0] == '\0')
        return 0;
    (void)err_set(reterr, -EINVAL, "--tls-key without --tls-cert");
    err_hint(reterr, "name the certificate's file, too");
    return -EINVAL;
}

/* --- main --- */

static int sim_run(const struct sim_config *config)
{
    struct err e = {0};
    struct sim_server *server;
    struct addr bound;
    char text[ADDR_TEXT_MAX];

    nofile_raise();
    signals_block();
    if (sim_server_start(config, &server, &bound, &e) < 0) {
        (void)flag_complain("sim", &e);
        return 1;
    }
    addr_format(&bound, text);
    (void)printf("listening on %s\n", text);
    (void)fflush(stdout);
    while (signals_wait(-1) == SIGHUP)
        ; /* nothing to reload */
    server = sim_server_stop(server);
    return 0;
}

int sim_main(int argc, char **argv)
{
    struct options o = {0};
    struct err e = {0};
    int r;

    sim_config_init(&o.config);
    engine_flags_init(&o.engine);
    r = addr_parse(SPAN("127.0.0.1:0"), &o.config.listen, &e);
    if (r == 0)
        r = options_parse(argc, argv, &o, &e);
    if (r == 0 && !o.is_help)
        r = tls_open(&o, &e);
    if (r < 0)
        r = flag_complain("sim", &e);
    else if (o.is_help)
        help_print();
    else
        r = sim_run(&o.config);
    o.play = play_free(o.play);
    engine_flags_done(&o.engine);
    o.config.tls = tls_context_unref(o.config.tls);
    return r;
}
