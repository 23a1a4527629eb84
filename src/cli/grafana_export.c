/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/grafana_export.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "cli/dialog.h"
#include "cli/flag.h"
#include "cli/outdir.h"
#include "cli/terminal.h"
#include "grafana/board.h"
#include "series/labels.h"

enum { NAME_MAX_BYTES = 128 };

static const char help[] =
    "usage: inferometer grafana export --out DIR [--labels NAMES] [--source URL]\n"
    "       inferometer grafana export --board NAME [--labels NAMES]\n"
    "\n"
    "Writes dashboards for Grafana (10 or later), and the files by which it finds them: overview,\n"
    "latency by stage, TTFT and TPOT, tokens and cost, scheduling, errors, GPU, pipeline. They ask "
    "a\n"
    "Prometheus (2.42 or later; inferometer prometheus export has what it scrapes), or the "
    "gateway's\n"
    "own admin listener, which answers as a Prometheus does.\n"
    "\n"
    "  --out DIR        dashboards/*.json and provisioning/*/inferometer.yaml go there\n"
    "  --board NAME     one dashboard, to standard output\n"
    "  --labels NAMES   labels of your own that charts can be split by, with commas: tenant,team\n"
    "  --source URL     the data source (default http://127.0.0.1:8401, the admin listener)\n"
    "\n"
    "examples:\n"
    "  inferometer grafana export --out /var/lib/grafana/inferometer --labels tenant\n"
    "  inferometer grafana export --board overview | jq .panels[].title\n"
    "\n"
    "exit status: 0 written, 1 something cannot be written, 2 wrong flags\n";

struct options {
    char out[OUTDIR_PATH_MAX]; /* "": none */
    struct span board, source;
    struct span labels[BOARD_LABELS_MAX];
    size_t n_labels;
};

/* --- the command line --- */

static int read_labels(struct options *o, struct span list, struct err *reterr)
{
    for (o->n_labels = 0; list.n > 0; o->n_labels++) {
        struct span name = span_split(&list, ',');
        if (!labels_is_label_name(name))
            return err_set(reterr, -EINVAL, "--labels: \"%.*s\" is no name of a label",
                           SPAN_ARG(name));
        if (o->n_labels == BOARD_LABELS_MAX)
            return err_set(reterr, -EINVAL, "--labels: more than %d", BOARD_LABELS_MAX);
        o->labels[o->n_labels] = name;
    }
    return 0;
}

static int read_source(struct options *o, struct span url, struct err *reterr)
{
    bool is_http =
        span_starts_with(url, SPAN("http://")) || span_starts_with(url, SPAN("https://"));
    struct span rest = span_from(url, span_find(url, SPAN("://")) + strlen("://"));
    struct span host = span_of(rest.p, span_find_char(rest, '/'));
    if (!is_http || host.n == 0)
        return err_set(reterr, -EINVAL,
                       "--source takes a URL that begins with http:// or https://");
    if (span_find_char(host, '@') < host.n) {
        (void)err_set(reterr, -EINVAL,
                      "--source: user and password would be there for all to read");
        err_hint(reterr,
                 "Grafana keeps them: basicAuthUser, and secureJsonData of the data source");
        return -EINVAL;
    }
    o->source = url;
    return 0;
}

static int read_flag(struct flag *f, void *ctx, struct err *reterr)
{
    struct options *o = ctx;
    struct span value = {0};
    bool is_one =
        flag_is(f, "out") || flag_is(f, "board") || flag_is(f, "labels") || flag_is(f, "source");
    if (!is_one)
        return flag_unknown(f, NULL, "grafana", reterr);
    int r = flag_value(f, NULL, &value, reterr);
    if (r < 0)
        return r;
    if (flag_is(f, "labels"))
        return read_labels(o, value, reterr);
    if (flag_is(f, "board"))
        o->board = value;
    else if (flag_is(f, "source"))
        return read_source(o, value, reterr);
    else if (value.n == 0 || span_copy(value, o->out, sizeof(o->out)) < value.n)
        return err_set(reterr, -EINVAL, "--out takes a directory");
    return 0;
}

static int options_parse(int argc, char **argv, struct options *o, struct err *reterr)
{
    struct span command[1];
    struct dialog_words words = {command, 0, 1, "; the command is export"};
    *o = (struct options){.source = SPAN("http://127.0.0.1:8401")};
    int r = dialog_read_words(argc, argv, &words, read_flag, o, reterr);
    if (r <= 0)
        return r;
    if (words.n != 1 || !span_eq(command[0], SPAN("export")))
        return err_set(reterr, -EINVAL, "the command is export");
    if ((o->out[0] != '\0') == (o->board.n > 0))
        return err_set(reterr, -EINVAL, "either --out DIR or --board NAME");
    return 1;
}

/* --- one to standard output --- */

static int print_board(const struct options *o, struct err *reterr)
{
    const struct board_setup setup = {o->labels, o->n_labels};
    struct buf text;
    size_t i = 0;
    while (i < board_all_n && !span_eq(span_cstr(board_all[i]->name), o->board))
        i++;
    if (i == board_all_n) {
        (void)err_set(reterr, -EINVAL, "there is no dashboard \"%.*s\"", SPAN_ARG(o->board));
        err_hint(reterr, "overview, latency, ttft-tpot, tokens, scheduling, errors, gpu, pipeline");
        return -EINVAL;
    }
    buf_init(&text, MIB);
    int r = board_write(board_all[i], &setup, &text);
    if (r == 0)
        (void)fwrite(buf_span(&text).p, 1, buf_len(&text), stdout);
    else
        (void)err_set(reterr, r, "%s", err_str(r));
    buf_done(&text);
    return r == 0 ? terminal_flush(reterr) : r;
}

/* --- all into a directory --- */

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

static int put_boards(const struct options *o, struct buf *text, struct err *reterr)
{
    const struct board_setup setup = {o->labels, o->n_labels};
    char name[NAME_MAX_BYTES];
    int r = 0;
    for (size_t i = 0; i < board_all_n && r == 0; i++) {
        (void)snprintf(name, sizeof(name), "dashboards/inferometer-%s.json", board_all[i]->name);
        r = put(o, name, board_write(board_all[i], &setup, text), text, reterr);
    }
    return r;
}

static int export_all(const struct options *o, struct err *reterr)
{
    char folder[OUTDIR_PATH_MAX];
    struct buf text;
    buf_init(&text, MIB);
    int r = put_boards(o, &text, reterr);
    if (r == 0)
        r = outdir_path(o->out, "dashboards", folder, reterr);
    if (r == 0)
        r = put(o, "provisioning/dashboards/inferometer.yaml",
                board_write_provider(span_cstr(folder), &text), &text, reterr);
    if (r == 0)
        r = put(o, "provisioning/datasources/inferometer.yaml",
                board_write_source(o->source, &text), &text, reterr);
    buf_done(&text);
    return r;
}

int grafana_export_main(int argc, char **argv)
{
    struct options o;
    struct err err = {0};
    int r = options_parse(argc, argv, &o, &err);
    if (r == 0) {
        (void)fputs(help, stdout);
        return 0;
    }
    if (r < 0)
        return flag_complain("grafana", &err);
    r = o.board.n > 0 ? print_board(&o, &err) : export_all(&o, &err);
    if (r < 0)
        (void)flag_complain("grafana", &err);
    return r == -EINVAL ? 2 : r < 0;
}
