/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/stage.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "verify/peers.h"
#include "verify/port.h"
#include "verify/scaled.h"

enum {
    READY_MS = 20 * 1000, /* Prometheus on a busy machine */
    LOOK_MS = 20,
    PATIENCE_MS = 5000, /* until a program that does not end is killed */
    DIR_BYTES = 400,    /* of the directory's name: its files have room */
    ADDRESS_MAX = 128,
    NUMBER_MAX = 32,
};

/* --- files --- */

static int make_dir(struct verify_stage *s, struct err *reterr)
{
    const char *tmp = getenv("TMPDIR");
    const char *where = tmp && tmp[0] ? tmp : "/tmp";
    int n = snprintf(s->dir, DIR_BYTES, "%s/inferometer-verify-XXXXXX", where);
    int r = n < DIR_BYTES ? 0 : -ENAMETOOLONG;

    if (r == 0 && !mkdtemp(s->dir))
        r = -errno;
    if (r == 0)
        return 0;
    s->dir[0] = '\0';
    return err_set(reterr, r, "no directory could be made below \"%.200s\": %s", where, err_str(r));
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    (void)remove(path); /* what cannot be removed is told by its directory */
    return 0;
}

static int write_file(const char *path, struct span text, struct err *reterr)
{
    FILE *f = fopen(path, "we");
    bool is_written = f && fwrite(text.p, 1, text.n, f) == text.n;

    if (f && fclose(f) != 0)
        is_written = false;
    return is_written ? 0
                      : err_set(reterr, -EIO, "\"%.300s\" could not be written: %s", path,
                                err_str(-errno));
}

static int write_rules(struct verify_stage *s, struct buf *text, struct err *reterr)
{
    const struct verify_plan *p = s->config->plan;
    int r = 0;

    if (p->n_files > VERIFY_FILES_MAX)
        return err_set(reterr, -E2BIG, "more than %d rule files", VERIFY_FILES_MAX);
    for (size_t i = 0; i < p->n_files && r == 0; i++) {
        (void)snprintf(s->_rules[i], sizeof(s->_rules[i]), "%.400s/rules-%zu.yml", s->dir, i);
        s->rules[i] = s->_rules[i];
        buf_clear(text);
        r = verify_scaled_write(p, i, text);
        if (r < 0)
            return err_set(reterr, r, "%.200s: a rule cannot be scaled: %s", p->files[i]->path,
                           r == -EINVAL ? "a duration hangs on step() or range()" : err_str(r));
        r = write_file(s->rules[i], buf_span(text), reterr);
    }
    return r;
}

/* --- waiting --- */

static mono_t deadline(void)
{
    return mono_add(clock_mono(), READY_MS * NS_PER_MS);
}

static bool is_late(mono_t until)
{
    return mono_diff(clock_mono(), until) > 0;
}

static bool is_stopped(struct verify_stage *s)
{
    return s->ops->wait(s->ops->ctx, LOOK_MS);
}

static int say_late(const struct verify_program *p, struct err *reterr)
{
    char words[300];

    verify_program_last_words(p, words, sizeof(words));
    return err_set(reterr, -ETIMEDOUT, "%s was not ready within %d s%s%s", p->name, READY_MS / 1000,
                   words[0] ? ": " : "", words);
}

/* Until the program printed that word. */
static int await_word(struct verify_stage *s, struct verify_program *p, const char *behind,
                      char *dst, size_t cap, struct err *reterr)
{
    for (mono_t until = deadline(); !is_late(until);) {
        if (verify_program_word(p, behind, dst, cap))
            return 0;
        if (verify_program_is_over(p, reterr))
            return -ECHILD;
        if (is_stopped(s))
            return -EINTR;
    }
    return say_late(p, reterr);
}

/* Until the program answers there. */
static int await_answer(struct verify_stage *s, struct verify_program *p, const char *url,
                        struct err *reterr)
{
    struct buf body;
    int r = -ETIMEDOUT;

    buf_init(&body, VERIFY_ANSWER_MAX);
    for (mono_t until = deadline(); r != 0 && !is_late(until);) {
        r = verify_ask(s->asker, url, NULL, &body, NULL);
        if (r != 0 && verify_program_is_over(p, reterr))
            r = -ECHILD;
        else if (r != 0 && is_stopped(s))
            r = -EINTR;
        if (r == -ECHILD || r == -EINTR)
            break;
    }
    buf_done(&body);
    if (r != 0 && r != -ECHILD && r != -EINTR)
        return say_late(p, reterr);
    return r;
}

/* --- the programs --- */

static int start_alertmanager(struct verify_stage *s, struct buf *text, struct err *reterr)
{
    char config[VERIFY_PATH_MAX + 64], file[VERIFY_PATH_MAX + 32], data[VERIFY_PATH_MAX + 32];
    char listen[ADDRESS_MAX], ready[VERIFY_URL_MAX + 32];
    int port = port_free(reterr);
    int r;

    if (port < 0)
        return port;
    (void)snprintf(file, sizeof(file), "%s/alertmanager.yml", s->dir);
    (void)snprintf(config, sizeof(config), "--config.file=%s", file);
    (void)snprintf(data, sizeof(data), "--storage.path=%s/alertmanager", s->dir);
    (void)snprintf(listen, sizeof(listen), "--web.listen-address=127.0.0.1:%d", port);
    (void)snprintf(s->alertmanager_url, sizeof(s->alertmanager_url), "http://127.0.0.1:%d", port);
    (void)snprintf(ready, sizeof(ready), "%s/-/ready", s->alertmanager_url);
    const char *const args[] = {config, data, listen, "--cluster.listen-address=", NULL};
    buf_clear(text);
    r = verify_peers_alertmanager(text);
    if (r == 0)
        r = write_file(file, buf_span(text), reterr);
    if (r == 0)
        r = verify_program_start(&s->alertmanager, "alertmanager", s->dir, s->config->alertmanager,
                                 args, reterr);
    return r < 0 ? r : await_answer(s, &s->alertmanager, ready, reterr);
}

static int start_engine(struct verify_stage *s, struct err *reterr)
{
    static const char *const args[] = {"sim",      "--engine",    "vllm-0.13",
                                       "--listen", "127.0.0.1:0", NULL};
    char address[ADDRESS_MAX];
    int r = verify_program_start(&s->engine, "sim", s->dir, NULL, args, reterr);

    if (r == 0)
        r = await_word(s, &s->engine, "listening on ", address, sizeof(address), reterr);
    if (r == 0)
        (void)snprintf(s->engine_url, sizeof(s->engine_url), "http://%s", address);
    return r;
}

/* Without the slash at its end. */
static void copy_url(const char *url, char *dst, size_t cap)
{
    struct span s = span_cstr(url);

    while (s.n > 0 && s.p[s.n - 1] == '/')
        s.n--;
    (void)span_copy(s, dst, cap);
}

static int find_engine(struct verify_stage *s, struct err *reterr)
{
    const struct verify_config *c = s->config;
    int r = 0;

    if (c->engine_url)
        copy_url(c->engine_url, s->engine_url, sizeof(s->engine_url));
    else
        r = start_engine(s, reterr);
    if (c->metrics_url && span_eq(span_cstr(c->metrics_url), SPAN("none")))
        s->metrics_url[0] = '\0';
    else if (c->metrics_url)
        copy_url(c->metrics_url, s->metrics_url, sizeof(s->metrics_url));
    else
        (void)snprintf(s->metrics_url, sizeof(s->metrics_url), "%.480s/metrics", s->engine_url);
    return r;
}

static struct verify_addresses addresses_of(const struct verify_stage *s, const char *data)
{
    return (struct verify_addresses){
        .engine = s->engine_url,
        .metrics = s->metrics_url[0] ? s->metrics_url : NULL,
        .admin = s->servers[VERIFY_GATEWAY],
        .alertmanager = s->alertmanager_url[0] ? s->alertmanager_url : NULL,
        .data_dir = data,
        .rules = s->rules,
        .n_rules = s->config->plan->n_files,
    };
}

static int start_gateway(struct verify_stage *s, struct buf *text, struct err *reterr)
{
    char file[VERIFY_PATH_MAX + 32], data[VERIFY_PATH_MAX + 32], address[ADDRESS_MAX];
    const char *const args[] = {"serve", "-c", file, "--log-level", "warn", NULL};
    int r;

    (void)snprintf(file, sizeof(file), "%s/gateway.yml", s->dir);
    (void)snprintf(data, sizeof(data), "%s/data", s->dir);
    const struct verify_addresses a = addresses_of(s, data);
    buf_clear(text);
    r = verify_peers_gateway(&a, text);
    if (r == 0)
        r = write_file(file, buf_span(text), reterr);
    if (r == 0)
        r = verify_program_start(&s->gateway, "serve", s->dir, NULL, args, reterr);
    if (r == 0)
        r = await_word(s, &s->gateway, "admin=", address, sizeof(address), reterr);
    if (r < 0)
        return r;
    (void)snprintf(s->servers[VERIFY_GATEWAY], VERIFY_URL_MAX, "http://%s", address);
    r = await_word(s, &s->gateway, "listen=", address, sizeof(address), reterr);
    (void)snprintf(s->gateway_url, sizeof(s->gateway_url), "http://%s", address);
    return r;
}

static int start_prometheus(struct verify_stage *s, struct buf *text, struct err *reterr)
{
    char config[VERIFY_PATH_MAX + 64], file[VERIFY_PATH_MAX + 32], data[VERIFY_PATH_MAX + 32];
    char listen[ADDRESS_MAX], ready[VERIFY_URL_MAX + 32];
    const struct verify_addresses a = addresses_of(s, "");
    int port = port_free(reterr);
    int r;

    if (port < 0)
        return port;
    (void)snprintf(file, sizeof(file), "%s/prometheus.yml", s->dir);
    (void)snprintf(config, sizeof(config), "--config.file=%s", file);
    (void)snprintf(data, sizeof(data), "--storage.tsdb.path=%s/prometheus", s->dir);
    (void)snprintf(listen, sizeof(listen), "--web.listen-address=127.0.0.1:%d", port);
    (void)snprintf(ready, sizeof(ready), "http://127.0.0.1:%d/-/ready", port);
    const char *const args[] = {config, data, listen, NULL};
    buf_clear(text);
    r = verify_peers_prometheus(&a, text);
    if (r == 0)
        r = write_file(file, buf_span(text), reterr);
    if (r == 0)
        r = verify_program_start(&s->prometheus, "prometheus", s->dir, s->config->prometheus, args,
                                 reterr);
    if (r == 0)
        r = await_answer(s, &s->prometheus, ready, reterr);
    if (r == 0)
        (void)snprintf(s->servers[VERIFY_PROMETHEUS], VERIFY_URL_MAX, "http://127.0.0.1:%d", port);
    return r;
}

/* Its failure is a finding, unless the run is to stop. */
static int try_prometheus(struct verify_stage *s, struct buf *text)
{
    struct err why = {.text = ""};
    int r = start_prometheus(s, text, &why);

    if (r == 0 || r == -EINTR || r == -ENOMEM)
        return r;
    (void)span_copy(span_cstr(why.text), s->prometheus_error, sizeof(s->prometheus_error));
    verify_program_stop(&s->prometheus, 0);
    return 0;
}

int verify_stage_open(struct verify_stage *s, struct err *reterr)
{
    struct buf text;
    int r = verify_ask_new(&s->asker);

    if (r < 0)
        return err_set(reterr, r, "%s", err_str(r));
    buf_init(&text, 2 * (size_t)RULE_FILE_BYTES_MAX + MIB);
    r = make_dir(s, reterr);
    if (r == 0)
        r = write_rules(s, &text, reterr);
    if (r == 0 && s->config->alertmanager)
        r = start_alertmanager(s, &text, reterr);
    if (r == 0)
        r = find_engine(s, reterr);
    if (r == 0)
        r = start_gateway(s, &text, reterr);
    if (r == 0 && s->config->prometheus)
        r = try_prometheus(s, &text);
    buf_done(&text);
    return r;
}

void verify_stage_close(struct verify_stage *s)
{
    enum { OPEN_MAX_DIRS = 16 };

    for (size_t i = 0; i < VERIFY_LOADS; i++)
        verify_program_stop(&s->loads[i], PATIENCE_MS);
    verify_program_stop(&s->prometheus, PATIENCE_MS);
    verify_program_stop(&s->gateway, PATIENCE_MS);
    verify_program_stop(&s->engine, PATIENCE_MS);
    verify_program_stop(&s->alertmanager, PATIENCE_MS);
    if (s->dir[0] != '\0')
        (void)nftw(s->dir, remove_one, OPEN_MAX_DIRS, FTW_DEPTH | FTW_PHYS);
    s->dir[0] = '\0';
    s->asker = verify_ask_free(s->asker);
}

void verify_stage_explain(struct verify_stage *s, struct err *reterr)
{
    enum { FULL_BLOCKS = 16, DYING_MS = 200 };
    struct err more;
    struct statvfs fs;

    (void)s->ops->wait(s->ops->ctx, DYING_MS);
    if (verify_stage_check(s, &more) < 0)
        *reterr = more;
    if (s->dir[0] == '\0' || statvfs(s->dir, &fs) < 0 || fs.f_bavail >= FULL_BLOCKS)
        return;
    more = *reterr;
    (void)err_set(reterr, -ENOSPC, "no space is left for \"%.200s\", see TMPDIR (%.200s)", s->dir,
                  more.text);
}

int verify_stage_check(struct verify_stage *s, struct err *reterr)
{
    struct verify_program *const needed[] = {&s->engine, &s->gateway, &s->prometheus,
                                             &s->alertmanager};

    for (size_t i = 0; i < ARRAY_LEN(needed); i++)
        if (verify_program_is_over(needed[i], reterr))
            return -ECHILD;
    return 0;
}

/* --- load --- */

int verify_stage_load_begin(struct verify_stage *s, struct err *reterr)
{
    static const char *const names[VERIFY_LOADS] = {"load-0", "load-1"};
    char url[VERIFY_URL_MAX + 32], rate[NUMBER_MAX];
    const char *const args[] = {"load",     "--url",      url,
                                "--rate",   rate,         "--arrivals",
                                "constant", "--duration", "24h",
                                "--model",  "simulated",  "--max-tokens",
                                "8",        "--json",     "--prompt-tokens",
                                "64",       NULL};
    unsigned i = s->n_loads % VERIFY_LOADS;
    int r;

    (void)snprintf(url, sizeof(url), "%s/v1/chat/completions", s->gateway_url);
    (void)snprintf(rate, sizeof(rate), "%.6g", s->config->rate_per_s);
    r = verify_program_start(&s->loads[i], names[i], s->dir, NULL, args, reterr);
    if (r == 0)
        s->n_loads++;
    return r;
}

int verify_stage_load_end(struct verify_stage *s, unsigned age, struct verify_load *ret,
                          struct err *reterr)
{
    struct verify_program *p = &s->loads[(s->n_loads - 1 - age) % VERIFY_LOADS];
    struct buf text;
    int r;

    if (verify_program_is_over(p, reterr))
        return -ECHILD;
    verify_program_stop(p, PATIENCE_MS);
    buf_init(&text, MIB + 1);
    r = verify_program_output(p, &text);
    if (r == 0)
        r = verify_told_load(buf_span(&text), ret);
    buf_done(&text);
    return r < 0 ? err_set(reterr, r, "the load's report could not be read") : 0;
}
