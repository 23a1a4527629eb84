/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/main.c - the command table. Each command lives in its own file; argv[0] is its name there.
 */
#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/suggest.h"
#include "cli/alert.h"
#include "cli/config_check.h"
#include "cli/demo.h"
#include "cli/docs.h"
#include "cli/doctor_visit.h"
#include "cli/grafana_export.h"
#include "cli/incident_ask.h"
#include "cli/kept.h"
#include "cli/keys.h"
#include "cli/load.h"
#include "cli/prometheus_export.h"
#include "cli/promql.h"
#include "cli/query.h"
#include "cli/reload.h"
#include "cli/replay.h"
#include "cli/rules_check.h"
#include "cli/serve.h"
#include "cli/sim.h"
#include "cli/slos.h"
#include "cli/targets.h"
#include "cli/top_live.h"
#include "cli/verify.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} commands[] = {
    {"serve", serve_main, "run the gateway"},
    {"reload", reload_main, "have a running gateway read its configuration again"},
    {"query", query_main, "ask a running gateway for its history, in PromQL"},
    {"top", top_live_main, "what passes through a running gateway, live in the terminal"},
    {"requests", kept_main, "ask a running gateway for the requests that it keeps"},
    {"alert", alert_main, "which alerts fire; silences, receivers"},
    {"incident", incident_ask_main, "what went wrong, and what people know of it"},
    {"demo", demo_main, "simulated engine, gateway, light load and a live table on loopback"},
    {"config", config_check_main, "check a configuration file, show the effective values"},
    {"key", keys_main, "add, list and revoke the keys that clients show the gateway"},
    {"sim", sim_main, "run a simulated OpenAI-compatible engine"},
    {"load", load_main, "send load to an endpoint and report latencies"},
    {"replay", replay_main, "measure a recorded stream"},
    {"rules", rules_check_main, "check rule files, run their unit tests, suggest thresholds"},
    {"slo", slos_main,
     "alert rules of SLOs, how soon they page and how often for nothing; reviews"},
    {"targets", targets_main, "what is scraped, what was recognised, what is missing"},
    {"doctor", doctor_visit_main, "why requests to an engine do not work, step by step"},
    {"verify", verify_main, "prove the whole chain: injected latency, figures, alerts"},
    {"grafana", grafana_export_main, "write dashboards for Grafana"},
    {"prometheus", prometheus_export_main,
     "write what a Prometheus and an Alertmanager need to take over"},
    {"promql", promql_main, "run test scripts of PromQL"},
    {"docs", docs_main, "print the reference pages that come from the program's tables"},
};

static void usage_print(FILE *to)
{
    (void)fputs("inferometer " PROJECT_VERSION " - measures LLM inference, request by request\n\n"
                "usage: inferometer COMMAND [OPTIONS]\n\ncommands:\n",
                to);
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        (void)fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].help);
    (void)fputs("\n"
                "  inferometer COMMAND --help   options and examples of one command\n"
                "  inferometer --version\n\n"
                "example: put it in front of an engine on port 8000\n"
                "  inferometer serve --upstream http://127.0.0.1:8000\n",
                to);
}

static void unknown_print(const char *name)
{
    struct suggest s;

    suggest_init(&s, span_cstr(name));
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        suggest_offer(&s, span_cstr(commands[i].name));
    (void)fprintf(stderr, "inferometer: there is no command \"%s\"\n", name);
    if (s.best.n > 0)
        (void)fprintf(stderr, "hint: did you mean \"%.*s\"?\n", SPAN_ARG(s.best));
    else
        usage_print(stderr);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "--help";

    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        usage_print(stdout);
        return argc > 1 ? 0 : 2;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        puts("inferometer " PROJECT_VERSION);
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    unknown_print(name);
    return 2;
}
