/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prometheus_export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "cli/dialog.h"
#include "cli/flag.h"
#include "cli/outdir.h"
#include "cli/prometheus_files.h"

enum { NAME_BYTES_MAX = 256 };

static const char help[] =
    "usage: inferometer prometheus export --out DIR [--for 2|3] [--url URL]\n"
    "\n"
    "Asks a running gateway what it does, and writes what a Prometheus and an Alertmanager need "
    "to\n"
    "do the same: prometheus.yml (what to scrape: the gateway's numbers, and by /federate what it\n"
    "scrapes and measures beside the traffic), rules/*.yml (all rules in force, those of SLOs "
    "among\n"
    "them), alertmanager.yml (routes, receivers, inhibition). Secrets are not among it: comments "
    "say\n"
    "where they go, and what Alertmanager does not know.\n"
    "\n"
    "  --out DIR            where the files go\n"
    "  --for 2|3            Prometheus 2.42 and later (default), or 3.x: there classic buckets "
    "are\n"
    "                       kept where native histograms are scraped, too\n"
    "  --target HOST:PORT   where Prometheus reaches the admin listener (default: as in --url)\n"
    "  --alertmanager HOST:PORT\n"
    "                       where alerts go (default 127.0.0.1:9093)\n"
    "  --interval D         of scrapes (default 15s)\n"
    "  --token-file PATH    file with the token that the admin listener wants, on Prometheus'\n"
    "                       machine\n"
    "  --url URL            the gateway's admin listener (default http://127.0.0.1:8401)\n"
    "\n"
    "example:\n"
    "  inferometer prometheus export --out /etc/prometheus/inferometer --target gateway:8401\n"
    "\n"
    "exit status: 0 written, 1 no answer or a file that cannot be written, 2 wrong flags\n";

struct options {
    struct talk_place at;
    struct prometheus_setup setup;
    char out[OUTDIR_PATH_MAX];
    struct buf rule_files; /* as setup.rule_files */
};

/* --- the command line --- */

static int read_version(struct options *o, struct span value, struct err *reterr)
{
    if (!span_eq(value, SPAN("2")) && !span_eq(value, SPAN("3")))
        return err_set(reterr, -EINVAL, "--for is 2 or 3");
    o->setup.version = value.p[0] - '0';
    return 0;
}

static int read_interval(struct options *o, struct flag *f, struct err *reterr)
{
    int64_t ns;
    int r = flag_duration(f, &ns, reterr);
    if (r < 0)
        return r;
    if (ns < NS_PER_S || ns % NS_PER_S != 0)
        return err_set(reterr, -EINVAL, "--interval is whole seconds");
    o->setup.interval_s = ns / NS_PER_S;
    return 0;
}

static int read_flag(struct flag *f, void *ctx, struct err *reterr)
{
    struct options *o = ctx;
    const struct {
        const char *name;
        struct span *to;
    } texts[] = {{"target", &o->setup.target},
                 {"alertmanager", &o->setup.alertmanager},
                 {"token-file", &o->setup.token_file}};
    struct span value;
    if (flag_is(f, "interval"))
        return read_interval(o, f, reterr);
    int r = flag_value(f, NULL, &value, reterr);
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(texts); i++)
        if (flag_is(f, texts[i].name)) {
            *texts[i].to = value;
            return 0;
        }
    if (r < 0)
        return r;
    if (flag_is(f, "for"))
        return read_version(o, value, reterr);
    if (flag_is(f, "url"))
        return talk_place_parse(value, &o->at, reterr);
    if (!flag_is(f, "out"))
        return flag_unknown(f, NULL, "prometheus", reterr);
    if (value.n == 0 || span_copy(value, o->out, sizeof(o->out)) < value.n)
        return err_set(reterr, -EINVAL, "--out takes a directory");
    return 0;
}

static int check(struct options *o, struct err *reterr)
{
    if (o->out[0] == '\0')
        return err_set(reterr, -EINVAL, "--out DIR is missing");
    if (o->setup.target.n > 0)
        return 1;
    o->setup.target = span_cstr(o->at.host);
    if (strncmp(o->at.host, "unix:", 5) == 0 || o->at.prefix[0] != '\0')
        return err_set(reterr, -EINVAL,
                       "--target HOST:PORT is missing: Prometheus cannot ask --url");
    return 1;
}

static int options_parse(int argc, char **argv, struct options *o, struct err *reterr)
{
    struct span command[1];
    struct dialog_words words = {command, 0, 1, "; the command is export"};
    *o = (struct options){
        .setup = {.alertmanager = SPAN("127.0.0.1:9093"), .interval_s = 15, .version = 2}};
    int r = talk_place_parse(SPAN("127.0.0.1:8401"), &o->at, reterr);
    if (r == 0)
        r = dialog_read_words(argc, argv, &words, read_flag, o, reterr);
    if (r <= 0)
        return r;
    if (words.n != 1 || !span_eq(command[0], SPAN("export")))
        return err_set(reterr, -EINVAL, "the command is export");
    return check(o, reterr);
}

/* --- files --- */

/* Writes what was made with result r. */
static int put(const struct options *o, const char *name, int r, struct buf *text,
               struct err *reterr)
{
    if (r < 0)
        return err_set(reterr, r, "%s: %s", name, err_str(r));
    r = outdir_put(o->out, name, buf_span(text), reterr);
    buf_clear(text);
    if (r == 0)
        printf("%s/%s\n", o->out, name);
    return r;
}

struct rule_file {
    struct span path; /* where its groups came from */
    char name[NAME_BYTES_MAX];
};

/* "rules/NAME.yml" of the last part of a path; a number where others are called so already. */
static void name_of(struct span path, size_t n_same, char dst[NAME_BYTES_MAX])
{
    char number[32] = "";
    size_t n = strlen("rules/");
    while (span_find_char(path, '/') < path.n)
        (void)span_split(&path, '/');
    if (span_ends_with(path, SPAN(".yml")))
        path.n -= strlen(".yml");
    else if (span_ends_with(path, SPAN(".yaml")))
        path.n -= strlen(".yaml");
    if (path.n == 0)
        path = SPAN("rules");
    memcpy(dst, "rules/", n);
    for (size_t i = 0; i < path.n && n + 64 < NAME_BYTES_MAX; i++) {
        char c = path.p[i];
        bool is_plain = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
                        c == '-' || c == '_' || (c == '.' && i > 0);
        dst[n++] = is_plain ? c : '_';
    }
    if (n_same > 0)
        (void)snprintf(number, sizeof(number), "-%zu", n_same + 1);
    (void)snprintf(dst + n, NAME_BYTES_MAX - n, "%s.yml", number);
}

static bool is_taken(const struct rule_file *files, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(files[i].name, name) == 0)
            return true;
    return false;
}

/* The files of the groups, each once and under a name of its own. files: room for all. */
static size_t files_of(const json_t *groups, struct rule_file *files)
{
    size_t n = 0, i;
    json_t *group;
    json_array_foreach(groups, i, group)
    {
        struct span path = dialog_text(group, "file");
        size_t k = 0, n_same = 0;
        while (k < n && !span_eq(files[k].path, path))
            k++;
        if (k < n)
            continue;
        files[n].path = path;
        do
            name_of(path, n_same++, files[n].name);
        while (is_taken(files, n, files[n].name));
        n++;
    }
    return n;
}

static int put_rules(struct options *o, const json_t *groups, struct buf *text, struct err *reterr)
{
    struct rule_file *files = mem_zalloc(json_array_size(groups), sizeof(*files));
    size_t n = files ? files_of(groups, files) : 0;
    int r = files ? 0 : err_set(reterr, -ENOMEM, "%s", err_str(-ENOMEM));
    for (size_t i = 0; i < n && r == 0; i++) {
        r = put(o, files[i].name, prometheus_files_rules(groups, files[i].path, text), text,
                reterr);
        if (r == 0 && buf_printf(&o->rule_files, "%s%s", i > 0 ? ", " : "", files[i].name) < 0)
            r = err_set(reterr, -ENOMEM, "%s", err_str(-ENOMEM));
    }
    mem_free(files);
    return r;
}

/* --- what the gateway says --- */

static int ask(const struct options *o, const char *path, json_t **ret, struct err *reterr)
{
    const struct talk_question q = {.path = path, .method = "GET"};
    struct buf body;
    buf_init(&body, TALK_ANSWER_MAX);
    int r = dialog_get(&o->at, q, &body, NULL, reterr);
    json_t *answer = r == 0 ? dialog_load(buf_span(&body)) : NULL;
    if (r == 0 && !answer)
        r = talk_misread(&o->at, 200, "JSON", -EPROTO, reterr);
    else
        *ret = answer;
    buf_done(&body);
    return r;
}

static int export_rules(struct options *o, struct buf *text, struct err *reterr)
{
    json_t *answer = NULL;
    int r = ask(o, "/api/v1/rules?exclude_alerts=true", &answer, reterr);
    const json_t *groups = json_object_get(json_object_get(answer, "data"), "groups");
    if (r == 0 && json_array_size(groups) > 0)
        r = put_rules(o, groups, text, reterr);
    else if (r == 0)
        (void)fputs("no rules are evaluated there: they need data_dir\n", stderr);
    json_decref(answer);
    return r;
}

static int export_routes(const struct options *o, struct buf *text, struct err *reterr)
{
    json_t *answer = NULL;
    struct err why = {0};
    int r = ask(o, "/api/v2/status", &answer, &why);
    if (r == 0)
        r = put(o, "alertmanager.yml",
                prometheus_files_routes(dialog_text(json_object_get(answer, "config"), "original"),
                                        text),
                text, reterr);
    else if (r == -EREMOTEIO) {
        (void)fputs("no alerts are delivered there: they need data_dir\n", stderr);
        r = 0;
    } else {
        *reterr = why;
    }
    json_decref(answer);
    return r;
}

static int export_all(struct options *o, struct err *reterr)
{
    struct buf text;
    buf_init(&text, 64 * MIB);
    buf_init(&o->rule_files, 64 * MIB);
    int r = export_rules(o, &text, reterr);
    if (r == 0)
        r = export_routes(o, &text, reterr);
    o->setup.rule_files = buf_span(&o->rule_files);
    if (r == 0 && getenv("INFEROMETER_TOKEN") && o->setup.token_file.n == 0)
        (void)fputs("Prometheus shows no token: --token-file names where it finds one\n", stderr);
    if (r == 0)
        r = put(o, "prometheus.yml", prometheus_files_config(&o->setup, &text), &text, reterr);
    buf_done(&o->rule_files);
    buf_done(&text);
    return r;
}

int prometheus_export_main(int argc, char **argv)
{
    struct options o;
    struct err err = {0};
    int r = options_parse(argc, argv, &o, &err);
    if (r == 0) {
        (void)fputs(help, stdout);
        return 0;
    }
    if (r < 0)
        return flag_complain("prometheus", &err);
    r = export_all(&o, &err);
    if (r < 0)
        (void)flag_complain("prometheus", &err);
    return r < 0;
}
