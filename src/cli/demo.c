/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/demo.c - the whole thing on loopback: a simulated engine, the gateway, a light load, and a
 * live table. With --upstream URL only the gateway and the table, in front of a real engine.
 *
 * Simulator and load run as children of this same program, so that what they do can be seen (and
 * killed) apart; they end with it.
 */
#include "cli/demo.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/flag.h"
#include "cli/live_table.h"
#include "cli/signals.h"
#include "daemon/config_args.h"
#include "daemon/daemon.h"

enum { ARGS_MAX = 16, LINE_MAX_BYTES = 256, PLAIN_EVERY_S = 5 };

struct demo {
    const char *upstream; /* NULL: the simulator */
    const char *listen, *admin;
    char sim_url[LINE_MAX_BYTES];
    char data_dir[LINE_MAX_BYTES]; /* "": nothing is kept */
    pid_t sim, load;
};

static void help_print(FILE *to)
{
    (void)fputs(
        "usage: inferometer demo [--upstream URL] [--listen ADDR:PORT] [--admin ADDR:PORT]\n\n"
        "Starts a simulated engine, the gateway in front of it and a light load, all on loopback,\n"
        "and shows a live table. Ctrl-C stops everything, and what was kept meanwhile for\n"
        "`inferometer query` goes with it.\n\n"
        "  --upstream URL      measure this engine instead; no simulator, no load\n"
        "  --listen ADDR:PORT  where clients connect (default 127.0.0.1:8400)\n"
        "  --admin ADDR:PORT   metrics and API (default 127.0.0.1:8401)\n\n"
        "examples:\n"
        "  inferometer demo\n"
        "  inferometer demo --upstream http://127.0.0.1:8000\n",
        to);
}

/* --- children --- */

/* Runs this program with args as a child; *ret_out (may be NULL) reads its standard output. */
static pid_t child_start(const char *const *args, int *ret_out)
{
    int out[2] = {-1, -1};
    pid_t parent = getpid();
    pid_t pid;

    if (ret_out && pipe(out) < 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        sigset_t none;
        char *argv[ARGS_MAX] = {0};

        for (size_t i = 0; i < ARGS_MAX - 1 && args[i]; i++)
            argv[i] = mem_strdup(args[i]);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
            _exit(1);
        if (ret_out) {
            dup2(out[1], STDOUT_FILENO);
            close(out[0]);
            close(out[1]);
        }
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execv("/proc/self/exe", argv);
        _exit(127);
    }
    if (ret_out) {
        close(out[1]);
        *ret_out = out[0];
    }
    return pid;
}

static void child_stop(pid_t pid)
{
    if (pid <= 0)
        return;
    kill(pid, SIGTERM);
    waitpid(pid, NULL, 0);
}

/* The simulator's first line says where it listens. */
static int sim_start(struct demo *d)
{
    static const char *const args[] = {"inferometer", "sim",       "--listen",
                                       "127.0.0.1:0", "--ttft-ms", "180",
                                       "--itl-ms",    "12",        NULL};
    char line[LINE_MAX_BYTES] = "";
    char *at;
    FILE *in;
    int fd;

    d->sim = child_start(args, &fd);
    if (d->sim < 0)
        return -errno;
    in = fdopen(fd, "r");
    if (!in || !fgets(line, sizeof(line), in) || !(at = strstr(line, "127.0.0.1:")))
        return -EIO;
    at[strcspn(at, " \r\n")] = '\0';
    (void)snprintf(d->sim_url, sizeof(d->sim_url), "http://%.200s", at);
    /* The pipe stays open: the simulator may go on printing into it. */
    return 0;
}

static int load_start(struct demo *d, const char *listen)
{
    char url[LINE_MAX_BYTES];
    const char *args[] = {"inferometer", "load", "--url",        url,   "--rate", "8",
                          "--duration",  "24h",  "--max-tokens", "120", "--json", NULL};
    int fd;

    (void)snprintf(url, sizeof(url), "http://%s/v1/chat/completions", listen);
    d->load = child_start(args, &fd); /* its report goes nowhere */
    return d->load < 0 ? -errno : 0;
}

/* --- what is kept while it runs --- */

/* Without one the rest still works. */
static void data_dir_make(struct demo *d)
{
    const char *where = getenv("TMPDIR");

    (void)snprintf(d->data_dir, sizeof(d->data_dir), "%.200s/inferometer-demo-XXXXXX",
                   where && where[0] ? where : "/tmp");
    if (!mkdtemp(d->data_dir)) {
        (void)fprintf(stderr, "inferometer: no history, \"%s\" could not be made: %s\n",
                      d->data_dir, err_str(-errno));
        d->data_dir[0] = '\0';
    }
}

static void data_dir_remove(const struct demo *d)
{
    DIR *dir = d->data_dir[0] ? opendir(d->data_dir) : NULL;
    const struct dirent *e;

    if (!dir)
        return;
    while ((e = readdir(dir)) != NULL)
        (void)unlinkat(dirfd(dir), e->d_name, 0); /* "." and ".." are no files */
    closedir(dir);
    if (rmdir(d->data_dir) < 0)
        (void)fprintf(stderr, "inferometer: \"%s\" is left: %s\n", d->data_dir, err_str(-errno));
}

/* --- the table --- */

static void table_loop(struct daemon *d)
{
    struct live_table *t;
    bool is_terminal = isatty(STDOUT_FILENO);
    int lines = 0;

    if (live_table_new(daemon_metrics(d), &t) < 0)
        return;
    for (unsigned s = 0;; s++) {
        int sig = signals_wait(1000);

        if (sig == SIGINT || sig == SIGTERM)
            break;
        if (live_table_sample(t) < 0)
            continue;
        if (!is_terminal && s % PLAIN_EVERY_S != PLAIN_EVERY_S - 1)
            continue;
        if (is_terminal && lines > 0)
            printf("\033[%dA\033[J", lines);
        lines = live_table_print(t, stdout);
        if (!is_terminal)
            puts("");
    }
    live_table_free(t);
}

static int demo_gateway_start(struct demo *d, struct daemon **ret)
{
    const char *upstream = d->upstream ? d->upstream : d->sim_url;
    const char *const flags[] = {"serve",
                                 "--upstream",
                                 upstream,
                                 "--listen",
                                 d->listen,
                                 "--admin",
                                 d->admin,
                                 "--set",
                                 "workers=1",
                                 "--log",
                                 "",
                                 "--data",
                                 d->data_dir,
                                 "--set",
                                 "history.interval=1s",
                                 "--set",
                                 "requests.spill=1MiB"};
    char *argv[ARRAY_LEN(flags)];
    struct config_args args = {0};
    struct err_list errors;
    struct config *config = NULL;
    struct err err = {0};
    int r;

    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        argv[i] = mem_must(mem_strdup(flags[i]));
    err_list_init(&errors);
    r = config_args_parse((int)ARRAY_LEN(flags), argv, &args, &err);
    if (r == 0 && (r = config_args_load(&args, &config, &errors)) < 0)
        err_list_print(&errors, stderr);
    if (r == 0)
        r = daemon_start(config, ret, &err);
    if (err.text[0])
        flag_complain("demo", &err);
    config_unref(config);
    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        mem_free(argv[i]);
    return r;
}

static void addresses_print(const struct demo *d, const struct daemon *gateway)
{
    printf("engine   %s%s\n"
           "gateway  http://%s/v1   <- point clients here\n"
           "pages    http://%s/   <- look at it\n"
           "metrics  http://%s/metrics\n"
           "in flight http://%s/api/v1/inflight\n"
           "recent   http://%s/api/v1/requests/recent\n"
           "query    inferometer query --url http://%s --start -2m \\\n"
           "         'histogram_quantile(0.9, sum by (le) (rate(llm_ttft_seconds_bucket[30s])))'\n"
           "Ctrl-C stops everything\n\n",
           d->upstream ? d->upstream : d->sim_url, d->upstream ? "" : " (simulated)",
           daemon_listen_text(gateway, 0), daemon_admin_text(gateway), daemon_admin_text(gateway),
           daemon_admin_text(gateway), daemon_admin_text(gateway), daemon_admin_text(gateway));
    (void)fflush(stdout);
}

static int demo_run(struct demo *d)
{
    struct daemon *gateway = NULL;
    int r = 0;

    if (!d->upstream) {
        r = sim_start(d);
        if (r < 0)
            (void)fprintf(stderr, "inferometer: could not start the simulator: %s\n", err_str(r));
    }
    data_dir_make(d);
    if (r == 0)
        r = demo_gateway_start(d, &gateway);
    if (r == 0 && !d->upstream) {
        r = load_start(d, daemon_listen_text(gateway, 0));
        if (r < 0)
            (void)fprintf(stderr, "inferometer: could not start the load: %s\n", err_str(r));
    }
    if (r == 0) {
        addresses_print(d, gateway);
        table_loop(gateway);
    }
    child_stop(d->load);
    daemon_stop(gateway);
    child_stop(d->sim);
    data_dir_remove(d);
    return r < 0 ? 1 : 0;
}

int demo_main(int argc, char **argv)
{
    static const struct option options[] = {
        {"upstream", required_argument, NULL, 'u'},
        {"listen", required_argument, NULL, 'l'},
        {"admin", required_argument, NULL, 'a'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct demo d = {.listen = "127.0.0.1:8400", .admin = "127.0.0.1:8401"};
    int c;

    while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        switch (c) {
        case 'u':
            d.upstream = optarg[0] ? optarg : NULL;
            break;
        case 'l':
            d.listen = optarg;
            break;
        case 'a':
            d.admin = optarg;
            break;
        case 'h':
            help_print(stdout);
            return 0;
        default:
            help_print(stderr);
            return 2;
        }
    }
    if (optind < argc) {
        (void)fprintf(stderr, "inferometer demo: unexpected \"%s\"\n", argv[optind]);
        return 2;
    }
    signals_block();
    return demo_run(&d);
}
