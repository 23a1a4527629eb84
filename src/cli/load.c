/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/load.c - flags of the load generator, and its exit status: 0 all requests ended well, 1 some
 * did not, 2 it was called wrongly.
 */
#include "cli/load.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "base/limits.h"
#include "base/num.h"
#include "base/suggest.h"
#include "cli/flag.h"
#include "cli/nofile.h"
#include "load/load_run.h"

struct options {
    struct load_config config;
    struct trace_options trace;
    struct trace rows;
    char trace_path[1024];
    double rate_per_s; /* 0: not given */
    char ca_path[1024];
    bool is_insecure;
    bool has_url;
    bool is_json;
    bool is_help;
};

static void help_print(void)
{
    (void)fputs(
        "usage: inferometer load --url URL (--rate R | --concurrency C | --trace FILE) [FLAGS]\n\n"
        "Sends requests to an OpenAI-compatible endpoint and reports latencies. With --rate and\n"
        "--trace, requests start when they are due whatever the server does, and latencies count "
        "from\n"
        "there; with --concurrency, a request starts when another one ended.\n\n"
        "what to send:\n"
        "  --url URL              http://HOST:PORT/v1/chat/completions (or /v1/completions);\n"
        "                         https://..., or unix:/SOCKET:/v1/chat/completions\n"
        "  --ca FILE              trust these issuers of certificates (PEM), not the system's\n"
        "  --insecure             do not check the server's certificate\n"
        "  --model NAME           (default simulated)\n"
        "  --prompt-tokens N      size of the prompts, 4 bytes a token (default 256)\n"
        "  --max-tokens N         asked for (default 128)\n"
        "  --stream, --no-stream  (default --stream; a trace may say it per request)\n"
        "  --no-usage             do not ask for stream_options.include_usage\n"
        "  --header 'K: V'        more header lines, may be repeated\n\n"
        "when:\n"
        "  --rate R               requests a second\n"
        "  --arrivals KIND        poisson or constant (default poisson)\n"
        "  --concurrency C        requests in flight\n"
        "  --trace FILE           tab-separated: arrival_s or arrival_ms, input_tokens,\n"
        "                         output_tokens; optional session, type\n"
        "  --speed X              replay the trace X times as fast (default 1)\n"
        "  --session-every D      start of each session of a trace after the one before (default "
        "10s)\n"
        "  --duration D           no starts after it (default 10s; a trace: all of it)\n"
        "  --requests N           no more than that\n"
        "  --timeout D            of one request (default 120s)\n"
        "  --seed N               of arrivals and prompts (default 1)\n\n"
        "what to tell:\n"
        "  --slo NAME=D           limit for the goodput: ttft, tpot or e2e, may be repeated\n"
        "  --json                 one JSON object instead of the table; durations in ns\n"
        "  --live                 a line a second on standard error\n\n"
        "exit status: 0 all ended well, 1 some requests failed, 2 wrong flags\n\n"
        "examples:\n"
        "  inferometer load --url http://127.0.0.1:8000/v1/chat/completions --rate 5 --live \\\n"
        "    --slo ttft=500ms --slo tpot=50ms\n"
        "  inferometer load --url http://127.0.0.1:8000/v1/completions --concurrency 32 --requests "
        "500\n"
        "  inferometer load --url http://127.0.0.1:8000/v1/chat/completions --trace conv.tsv "
        "--speed 4\n"
        "  inferometer load --url http://127.0.0.1:8000/v1/chat/completions --rate 2 --json \\\n"
        "    --header 'Authorization: Bearer KEY' --model my-model\n",
        stdout);
}

/* --- flags --- */

static int slo_apply(struct flag *f, struct tally_slo *slo, struct err *reterr)
{
    struct span name, value;
    int64_t ns;
    int r = flag_value(f, NULL, &value, reterr);

    if (r < 0)
        return r;
    name = span_split(&value, '=');
    if (num_parse_duration(value, &ns) < 0)
        return err_set(reterr, -EINVAL, "--slo %.*s: write it like ttft=500ms", SPAN_ARG(name));
    if (span_eq(name, SPAN("ttft")))
        slo->ttft_ns = ns;
    else if (span_eq(name, SPAN("tpot")))
        slo->tpot_ns = ns;
    else if (span_eq(name, SPAN("e2e")))
        slo->e2e_ns = ns;
    else
        return err_set(reterr, -EINVAL, "--slo: \"%.*s\" is none of ttft, tpot, e2e",
                       SPAN_ARG(name));
    return 0;
}

static int arrivals_apply(struct flag *f, struct options *o, struct err *reterr)
{
    struct span value;
    int r = flag_value(f, NULL, &value, reterr);

    if (r < 0)
        return r;
    if (span_eq(value, SPAN("poisson")))
        o->config.schedule.kind = SCHEDULE_POISSON;
    else if (span_eq(value, SPAN("constant")))
        o->config.schedule.kind = SCHEDULE_CONSTANT;
    else
        return err_set(reterr, -EINVAL, "--arrivals: \"%.*s\" is neither poisson nor constant",
                       SPAN_ARG(value));
    return 0;
}

static int text_apply(struct flag *f, char *dst, size_t cap, struct err *reterr)
{
    struct span value;
    int r = flag_value(f, NULL, &value, reterr);

    if (r < 0)
        return r;
    if (value.n == 0 || value.n >= cap)
        return err_set(reterr, -EINVAL, "--%.*s takes 1 to %zu bytes", SPAN_ARG(f->name), cap - 1);
    (void)span_copy(value, dst, cap);
    return 0;
}

static int url_apply(struct flag *f, struct options *o, struct err *reterr)
{
    struct span value;
    int r = flag_value(f, NULL, &value, reterr);

    o->has_url = true;
    return r < 0 ? r : load_config_url(&o->config, value, reterr);
}

static int header_apply(struct flag *f, struct options *o, struct err *reterr)
{
    struct span value;
    int r = flag_value(f, NULL, &value, reterr);

    return r < 0 ? r : load_config_field(&o->config, value, reterr);
}

static int unknown_flag(const struct flag *f, struct err *reterr)
{
    static const char *const names[] = {
        "url",      "model",    "prompt-tokens", "max-tokens",    "stream",      "no-stream",
        "no-usage", "header",   "rate",          "arrivals",      "concurrency", "trace",
        "speed",    "duration", "requests",      "timeout",       "seed",        "slo",
        "json",     "live",     "help",          "session-every", "ca",          "insecure",
    };
    struct suggest s;

    suggest_init(&s, f->name);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        suggest_offer(&s, span_cstr(names[i]));
    return flag_unknown(f, &s, "load", reterr);
}

/* Flags without a value; false: it is another one. */
static bool bare_flag_apply(const struct flag *f, struct options *o)
{
    struct load_config *c = &o->config;

    if (flag_is(f, "help"))
        o->is_help = true;
    else if (flag_is(f, "json"))
        o->is_json = true;
    else if (flag_is(f, "insecure"))
        o->is_insecure = true;
    else if (flag_is(f, "live"))
        c->is_live = true;
    else if (flag_is(f, "no-usage"))
        c->include_usage = false;
    else if (flag_is(f, "stream") || flag_is(f, "no-stream"))
        c->is_stream = flag_is(f, "stream");
    else
        return false;
    c->is_stream_forced |= flag_is(f, "stream") || flag_is(f, "no-stream");
    return true;
}

static int flag_apply(struct flag *f, struct options *o, struct err *reterr)
{
    struct load_config *c = &o->config;

    if (bare_flag_apply(f, o))
        return 0;
    if (flag_is(f, "url"))
        return url_apply(f, o, reterr);
    if (flag_is(f, "header"))
        return header_apply(f, o, reterr);
    if (flag_is(f, "slo"))
        return slo_apply(f, &c->slo, reterr);
    if (flag_is(f, "arrivals"))
        return arrivals_apply(f, o, reterr);
    if (flag_is(f, "model"))
        return text_apply(f, c->model, sizeof(c->model), reterr);
    if (flag_is(f, "ca"))
        return text_apply(f, o->ca_path, sizeof(o->ca_path), reterr);
    if (flag_is(f, "trace"))
        return text_apply(f, o->trace_path, sizeof(o->trace_path), reterr);
    if (flag_is(f, "prompt-tokens"))
        return flag_i64(f, 1, 10000000, &c->schedule.prompt_tokens, reterr);
    if (flag_is(f, "max-tokens"))
        return flag_i64(f, 1, 10000000, &c->schedule.max_tokens, reterr);
    if (flag_is(f, "rate"))
        return flag_double(f, 0.001, 1e6, &o->rate_per_s, reterr);
    if (flag_is(f, "concurrency"))
        return flag_i64(f, 1, 100000, &c->concurrency, reterr);
    if (flag_is(f, "speed"))
        return flag_double(f, 0.001, 1e6, &c->schedule.speed, reterr);
    if (flag_is(f, "session-every"))
        return flag_duration(f, &o->trace.session_every_ns, reterr);
    if (flag_is(f, "duration"))
        return flag_duration(f, &c->duration_ns, reterr);
    if (flag_is(f, "timeout"))
        return flag_duration(f, &c->timeout_ns, reterr);
    if (flag_is(f, "requests"))
        return flag_i64(f, 1, INT64_C(1000000000), &c->n_requests, reterr);
    if (flag_is(f, "seed"))
        return flag_i64(f, 0, INT64_MAX, (int64_t *)&c->schedule.seed, reterr);
    return unknown_flag(f, reterr);
}

/* What only makes sense together. */
static int options_check(struct options *o, struct err *reterr)
{
    struct load_config *c = &o->config;
    bool has_trace = o->trace_path[0] != '\0';
    int n_modes = (o->rate_per_s > 0) + (c->concurrency > 0) + has_trace;

    if (!o->has_url) {
        (void)err_set(reterr, -EINVAL, "--url is missing");
        err_hint(reterr, "for example --url http://127.0.0.1:8000/v1/chat/completions");
        return -EINVAL;
    }
    if (n_modes != 1) {
        (void)err_set(reterr, -EINVAL, "%s of --rate, --concurrency and --trace",
                      n_modes == 0 ? "give one" : "give only one");
        err_hint(reterr, "for example --rate 5");
        return -EINVAL;
    }
    if (!has_trace && c->duration_ns == 0 && c->n_requests == 0)
        c->duration_ns = 10 * NS_PER_S;
    if (!has_trace)
        return 0;
    c->schedule.kind = SCHEDULE_TRACE;
    o->trace.seed = c->schedule.seed;
    c->schedule.trace = &o->rows;
    return trace_read(o->trace_path, &o->trace, &o->rows, reterr);
}

static int options_parse(int argc, char **argv, struct options *o, struct err *reterr)
{
    struct flag f;
    int r;

    flag_init(&f, argc, argv);
    while ((r = flag_next(&f, reterr)) > 0) {
        r = flag_apply(&f, o, reterr);
        if (r < 0 || o->is_help)
            return r;
    }
    o->config.schedule.rate_per_s = o->rate_per_s;
    return r < 0 ? r : options_check(o, reterr);
}

/* --- main --- */

static struct load_run *running; /* for the signal handler */

static void on_signal(int sig)
{
    (void)sig;
    load_run_interrupt(running);
}

static void signals_catch(void)
{
    struct sigaction end = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    /* These cannot fail for valid signal numbers. A second Ctrl-C ends the program at once. */
    (void)sigaction(SIGINT, &end, NULL);
    (void)sigaction(SIGTERM, &end, NULL);
    (void)sigaction(SIGPIPE, &ignore, NULL);
}

static int report_print(struct load_run *run, bool is_json)
{
    struct buf out;
    int r;

    buf_init(&out, MIB);
    r = is_json ? load_report_json(load_run_tally(run), load_run_summary(run), &out)
                : load_report_table(load_run_tally(run), load_run_summary(run), &out);
    if (r == 0 && fwrite(buf_span(&out).p, 1, buf_len(&out), stdout) != buf_len(&out))
        r = -EIO;
    if (fflush(stdout) != 0)
        r = -EIO;
    buf_done(&out);
    return r;
}

static int run_and_report(const struct options *o)
{
    struct err e = {0};
    int status;

    if (load_run_new(&o->config, &running, &e) < 0) {
        (void)flag_complain("load", &e);
        return 1;
    }
    signals_catch();
    load_run_go(running);
    status = tally_n_failed(load_run_tally(running)) > 0 ? 1 : 0;
    if (report_print(running, o->is_json) < 0)
        status = 1;
    running = load_run_free(running);
    return status;
}

static int tls_open(struct options *o, struct err *reterr)
{
    struct tls_client_config c = {.ca_file = o->ca_path[0] != '\0' ? o->ca_path : NULL,
                                  .is_unverified = o->is_insecure};

    return o->config.is_tls ? tls_client_new(&c, &o->config.tls, reterr) : 0;
}

int load_main(int argc, char **argv)
{
    struct options o = {
        .config = {.model = "simulated",
                   .schedule = {.prompt_tokens = 256, .max_tokens = 128, .speed = 1, .seed = 1},
                   .timeout_ns = 120 * NS_PER_S,
                   .is_stream = true,
                   .include_usage = true,
                   .slo = {-1, -1, -1}},
        .trace = {.session_every_ns = 10 * NS_PER_S},
    };
    struct err e = {0};
    int status;

    if (options_parse(argc, argv, &o, &e) < 0)
        return flag_complain("load", &e);
    if (o.is_help) {
        help_print();
        return 0;
    }
    nofile_raise();
    status = tls_open(&o, &e) < 0 ? flag_complain("load", &e) : run_and_report(&o);
    tls_context_unref(o.config.tls);
    trace_done(&o.rows);
    return status;
}
