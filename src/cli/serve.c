/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/serve.c - runs the daemon until a signal ends it.
 *
 *   SIGINT, SIGTERM  drain, then stop; a second one stops at once
 *   SIGHUP           read the configuration again, open the log file anew
 */
#include "cli/serve.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/flag.h"
#include "cli/nofile.h"
#include "cli/signals.h"
#include "daemon/config_args.h"
#include "daemon/config_reload.h"
#include "daemon/daemon.h"

enum { DRAIN_LOOK_MS = 50, REPORT_MAX = 256 * 1024 };

/* What the admin listener is told of an attempt. */
static void answer_reload(struct daemon *d, uint64_t upto,
                          const struct config_reload_report *report)
{
    struct buf json, text;
    struct api_reloaded answer = {.upto = upto, .status = report->is_taken ? 200 : 400};

    buf_init(&json, REPORT_MAX);
    buf_init(&text, REPORT_MAX);
    if (config_reload_to_json(report, &json) < 0 || config_reload_to_text(report, &text) < 0)
        answer.status = 500;
    answer.json = buf_span(&json);
    answer.text = buf_span(&text);
    daemon_answer_reload(d, &answer);
    buf_done(&json);
    buf_done(&text);
}

/* upto: who of the admin listener's is answered; 0: nobody, it was a signal. */
static void reload(struct daemon *d, const struct config_args *args, uint64_t upto)
{
    struct config_reload_report report;

    daemon_reopen_log(d);
    config_reload_try(d, args, &report);
    config_reload_log(&report);
    if (upto > 0)
        answer_reload(d, upto, &report);
}

/* Until it is to stop. */
static void attend(struct daemon *d, const struct config_args *args, int signal_fd)
{
    for (;;) {
        int sig = signals_wait_or(signal_fd, daemon_wake_fd(d), -1);
        uint64_t upto;

        if (sig == SIGINT || sig == SIGTERM)
            return;
        if (sig == SIGHUP)
            reload(d, args, 0);
        if (daemon_take_reload(d, &upto))
            reload(d, args, upto);
    }
}

/* Whoever asked just before gets an answer, too. */
static void refuse_reloads(struct daemon *d)
{
    struct api_reloaded answer = {.status = 503,
                                  .json = SPAN("{\"error\":\"the program is stopping\"}\n"),
                                  .text = SPAN("refused: the program is stopping\n")};

    if (daemon_take_reload(d, &answer.upto))
        daemon_answer_reload(d, &answer);
}

static void drain(struct daemon *d, int64_t timeout_ns)
{
    mono_t until = mono_add(clock_mono(), timeout_ns);

    LOG_INFO(
        "stopping: no new connections, waiting up to %lld s for open requests; a second signal "
        "stops at once",
        (long long)(timeout_ns / NS_PER_S));
    daemon_drain(d);
    while (!daemon_is_drained(d) && clock_mono().ns < until.ns) {
        int sig = signals_wait(DRAIN_LOOK_MS);

        refuse_reloads(d);
        if (sig == SIGINT || sig == SIGTERM) {
            LOG_INFO("stopping at once, open requests are cut");
            return;
        }
    }
}

/* What stands in front of a listening address in a URL. */
static const char *scheme_of(const char *address, const struct config *config)
{
    if (span_starts_with(span_cstr(address), SPAN("unix:")))
        return "";
    return config->listen_cert[0] != '\0' ? "https://" : "http://";
}

static void announce(const struct daemon *d, const struct config *config)
{
    FILE *ready;

    for (size_t i = 0; daemon_listen_text(d, i); i++)
        LOG_INFO("clients: %s%s, upstream \"%s\" at %s",
                 scheme_of(daemon_listen_text(d, i), config), daemon_listen_text(d, i),
                 config->upstreams.items[0].name, config->upstreams.items[0].url);
    LOG_INFO("admin: http://%s (/metrics, /healthz, /readyz, /api/v1/...)", daemon_admin_text(d));
    /* For scripts: one line, once everything is served; not among the request records. */
    ready = strcmp(config->log_file, "-") == 0 ? stderr : stdout;
    fprintf(ready, "ready listen=%s admin=%s\n", daemon_listen_text(d, 0), daemon_admin_text(d));
    fflush(ready);
}

static int serve(struct config *config, const struct config_args *args)
{
    struct daemon *d;
    struct err err = {0};
    int signal_fd;

    signals_block();
    nofile_raise();
    log_level_set(config->log_level);
    signal_fd = signals_open();
    if (signal_fd < 0)
        err_set(&err, signal_fd, "could not wait for signals: %s", err_str(signal_fd));
    if (signal_fd < 0 || log_start(&err) < 0 || daemon_start(config, &d, &err) < 0) {
        log_stop();
        fprintf(stderr, "inferometer: %s\n", err.text);
        if (err.hint[0])
            fprintf(stderr, "hint: %s\n", err.hint);
        return 1;
    }
    announce(d, config);
    attend(d, args, signal_fd);
    drain(d, daemon_config(d)->drain_timeout_ns);
    daemon_stop(d);
    LOG_INFO("stopped");
    log_stop();
    close(signal_fd);
    return 0;
}

static void help_print(FILE *to)
{
    fputs("usage: inferometer serve [-c FILE] [--upstream URL] [OPTIONS]\n\n"
          "Runs the gateway in front of an engine and measures every request.\n\n",
          to);
    config_args_help(to);
    fputs("\nsignals: INT and TERM drain and stop, a second one stops at once; HUP reads the\n"
          "configuration again and opens the log file anew.\n\n"
          "examples:\n"
          "  inferometer serve --upstream http://127.0.0.1:8000\n"
          "  inferometer serve -c inferometer.yaml --log requests.jsonl\n",
          to);
}

int serve_main(int argc, char **argv)
{
    struct config_args args = {0};
    struct err_list errors;
    struct config *config = NULL;
    struct err err = {0};
    int r;

    if (config_args_parse(argc, argv, &args, &err) < 0)
        return flag_complain("serve", &err);
    if (args.is_help) {
        help_print(stdout);
        return 0;
    }
    err_list_init(&errors);
    if (config_args_load(&args, &config, &errors) < 0) {
        err_list_print(&errors, stderr);
        return 2;
    }
    r = serve(config, &args);
    config_unref(config);
    return r;
}
