/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/serve.c - runs the daemon until a signal ends it.
 *
 *   SIGINT, SIGTERM  drain, then stop; a second one stops at once
 *   SIGHUP           read the configuration again, open the log file anew
 *
 * A service manager is told (daemon/notify.h) when it serves, reloads and stops, and that its loops
 * turn.
 */
#include "cli/serve.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/process.h"
#include "cli/flag.h"
#include "cli/nofile.h"
#include "cli/signals.h"
#include "daemon/config_args.h"
#include "daemon/config_reload.h"
#include "daemon/daemon.h"
#include "daemon/notify.h"

enum { DRAIN_LOOK_MS = 50, STATUS_MAX = 256 };

/* What runs, and who is told of it. */
struct serving {
    struct daemon *d;
    const struct config_args *args;
    struct notify notify;
    mono_t t_beat; /* when the service manager is told next that the loops turn */
    int signal_fd;
};

/* --- reloads --- */

/* What the admin listener is told of an attempt. */
static void answer_reload(struct daemon *d, uint64_t upto,
                          const struct config_reload_report *report)
{
    struct buf json, text;
    struct api_reloaded answer = {.upto = upto, .status = report->is_taken ? 200 : 400};

    buf_init(&json, CONFIG_RELOAD_TEXT_MAX);
    buf_init(&text, CONFIG_RELOAD_TEXT_MAX);
    if (config_reload_to_json(report, &json) < 0 || config_reload_to_text(report, &text) < 0)
        answer.status = 500;
    answer.json = buf_span(&json);
    answer.text = buf_span(&text);
    daemon_answer_reload(d, &answer);
    buf_done(&json);
    buf_done(&text);
}

/* What people see of it in the service manager. */
static const char *status_text(const struct serving *s, char *dst)
{
    (void)snprintf(dst, STATUS_MAX, "clients: %s, admin: %s", daemon_listen_text(s->d, 0),
                   daemon_admin_text(s->d));
    return dst;
}

/* upto: who of the admin listener's is answered; 0: nobody, it was a signal. */
static void reload(struct serving *s, uint64_t upto)
{
    struct config_reload_report report;
    char status[STATUS_MAX];

    notify_reloading(&s->notify);
    daemon_reopen_log(s->d);
    config_reload_try(s->d, s->args, &report);
    config_reload_log(&report);
    if (upto > 0)
        answer_reload(s->d, upto, &report);
    notify_ready(&s->notify, status_text(s, status));
}

/* --- waiting --- */

/* Says that the loops turn, when it is time to. Returns ms until the next time, -1: none. */
static int beat(struct serving *s)
{
    int64_t every_ns = s->notify.watchdog_ns / 2;
    mono_t now = clock_mono();

    if (every_ns == 0)
        return -1;
    if (now.ns >= s->t_beat.ns) {
        if (daemon_beats(s->d))
            notify_alive(&s->notify);
        s->t_beat = mono_add(now, every_ns);
    }
    return (int)(mono_diff(s->t_beat, now) / NS_PER_MS) + 1;
}

/* The next signal, or 0 when something else has happened, or after timeout_ms (-1: no limit). */
static int wait_for(struct serving *s, int timeout_ms)
{
    int beat_ms = beat(s);

    if (timeout_ms < 0 || (beat_ms >= 0 && beat_ms < timeout_ms))
        timeout_ms = beat_ms;
    return signals_wait_or(s->signal_fd, daemon_wake_fd(s->d), timeout_ms);
}

static bool is_stop(int sig)
{
    return sig == SIGINT || sig == SIGTERM;
}

/* Until it is to stop. */
static void attend(struct serving *s)
{
    for (;;) {
        int sig = wait_for(s, -1);
        uint64_t upto;

        if (is_stop(sig) || daemon_successor(s->d) != 0)
            return;
        if (sig == SIGHUP)
            reload(s, 0);
        if (daemon_take_reload(s->d, &upto))
            reload(s, upto);
    }
}

/* --- the end --- */

/* Whoever asked just before gets an answer, too. */
static void refuse_reloads(struct daemon *d)
{
    struct api_reloaded answer = {.status = 503,
                                  .json = SPAN("{\"error\":\"the program is stopping\"}\n"),
                                  .text = SPAN("refused: the program is stopping\n")};

    if (daemon_take_reload(d, &answer.upto))
        daemon_answer_reload(d, &answer);
}

/* For at most that long, or until is_over. False: a second signal came. */
static bool linger(struct serving *s, int64_t timeout_ns, bool (*is_over)(const struct daemon *d))
{
    mono_t until = mono_add(clock_mono(), timeout_ns);

    while (!is_over(s->d) && clock_mono().ns < until.ns) {
        if (is_stop(wait_for(s, DRAIN_LOOK_MS))) {
            LOG_INFO("stopping at once, open requests are cut");
            return false;
        }
        refuse_reloads(s->d);
    }
    return true;
}

static bool is_succeeded(const struct daemon *d)
{
    return daemon_successor(d) != 0;
}

/* Says who is responsible now. */
static void pass_on(struct serving *s)
{
    pid_t pid = daemon_successor(s->d);

    if (pid == 0)
        return;
    LOG_INFO("process %ld serves now", (long)pid);
    notify_main_pid(&s->notify, pid);
}

static void drain(struct serving *s)
{
    const struct config *c = daemon_config(s->d);
    long long delay_s = c->drain_delay_ns / NS_PER_S;
    long long timeout_s = c->drain_timeout_ns / NS_PER_S;

    daemon_leave(s->d);
    if (!is_succeeded(s->d))
        notify_stopping(&s->notify, "stopping, open requests go on");
    if (c->drain_delay_ns > 0 && !is_succeeded(s->d)) {
        LOG_INFO("stopping: not ready any more, new connections are taken for %lld s still; a "
                 "second signal stops at once",
                 delay_s);
        if (!linger(s, c->drain_delay_ns, is_succeeded))
            return;
    }
    pass_on(s);
    LOG_INFO(
        "stopping: no new connections, waiting up to %lld s for open requests; a second signal "
        "stops at once",
        timeout_s);
    daemon_drain(s->d);
    (void)linger(s, c->drain_timeout_ns, daemon_is_drained);
}

/* --- the beginning --- */

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
    (void)fprintf(ready, "ready listen=%s admin=%s\n", daemon_listen_text(d, 0),
                  daemon_admin_text(d));
    (void)fflush(ready);
}

static int start(struct serving *s, struct config *config, struct err *reterr)
{
    int r = s->signal_fd = signals_open();

    if (r < 0)
        return err_set(reterr, r, "could not wait for signals: %s", err_str(r));
    r = log_start(reterr);
    return r < 0 ? r : daemon_start(config, &s->d, reterr);
}

static int serve(struct config *config, const struct config_args *args)
{
    struct serving s = {.args = args};
    struct err err = {0};
    char status[STATUS_MAX];
    int r;

    process_return_freed_memory();
    signals_block();
    nofile_raise();
    log_level_set(config->log_level);
    notify_open(&s.notify);
    r = start(&s, config, &err);
    if (r == 0) {
        process_forget_code_pages();
        announce(s.d, config);
        notify_ready(&s.notify, status_text(&s, status));
        attend(&s);
        drain(&s);
        daemon_stop(s.d);
        LOG_INFO("stopped");
    }
    log_stop();
    if (r < 0)
        (void)fprintf(stderr, "inferometer: %s\n", err.text);
    if (r < 0 && err.hint[0])
        (void)fprintf(stderr, "hint: %s\n", err.hint);
    notify_close(&s.notify);
    if (s.signal_fd >= 0)
        close(s.signal_fd);
    return r < 0 ? 1 : 0;
}

static void help_print(FILE *to)
{
    (void)fputs("usage: inferometer serve [-c FILE] [--upstream URL] [OPTIONS]\n\n"
                "Runs the gateway in front of an engine and measures every request.\n\n",
                to);
    config_args_help(to);
    (void)fputs(
        "\nsignals: INT and TERM drain and stop, a second one stops at once; HUP reads the\n"
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
