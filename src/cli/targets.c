/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/targets.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/dialog.h"
#include "cli/flag.h"
#include "cli/targets_explain.h"
#include "cli/terminal.h"

struct options {
    struct talk_place at;
    struct span words[1];
    bool is_json, is_whole;
};

static const char help[] =
    "usage: inferometer targets [--signals] [--json] [--url URL]\n"
    "       inferometer targets explain FILE|- [--json]\n"
    "\n"
    "Asks a running gateway what it scrapes and measures beside the traffic: whether each target\n"
    "answers, which engine it is, of which versions, and which signals it does not tell, with the\n"
    "reason. explain does so for a saved page of metrics.\n"
    "\n"
    "  --signals    also those that it tells, and under which names\n"
    "  --json       the gateway's answer as it is\n"
    "  --url URL    the gateway's admin listener (default http://127.0.0.1:8401)\n"
    "\n"
    "examples:\n"
    "  inferometer targets\n"
    "  inferometer targets --json | jq '.targets[] | select(.health == \"down\")'\n"
    "  curl -s http://127.0.0.1:8000/metrics | inferometer targets explain -\n"
    "\n"
    "exit status: 0 all that is there works, 1 something is down or broken, or the gateway does "
    "not\n"
    "answer, 2 wrong flags or words\n";

/* --- the command line --- */

static int read_flag(struct flag *f, void *ctx, struct err *reterr)
{
    struct options *o = ctx;
    struct span url = {0};
    if (flag_is(f, "json"))
        o->is_json = true;
    else if (flag_is(f, "signals"))
        o->is_whole = true;
    else if (flag_is(f, "url")) {
        int r = flag_value(f, NULL, &url, reterr);
        return r < 0 ? r : talk_place_parse(url, &o->at, reterr);
    } else {
        return err_set(reterr, -EINVAL, "there is no flag \"--%.*s\"", SPAN_ARG(f->name));
    }
    return 0;
}

static int options_parse(int argc, char **argv, struct options *o, struct err *reterr)
{
    struct dialog_words words = {o->words, 0, 0, "; the command is explain, or none"};
    *o = (struct options){0};
    int r = talk_place_parse(SPAN("127.0.0.1:8401"), &o->at, reterr);
    return r == 0 ? dialog_read_words(argc, argv, &words, read_flag, o, reterr) : r;
}

/* --- the answer --- */

static const char *text_of(const json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));
    return s ? s : "";
}

static void print_engine(const json_t *e)
{
    const char *since = text_of(e, "since"), *until = text_of(e, "until");
    printf("        %s", text_of(e, "title"));
    if (text_of(e, "edition")[0])
        printf(" (%s)", text_of(e, "edition"));
    if (since[0] && until[0] && strcmp(since, until) != 0)
        printf(", %s to %s", since, until);
    else if (since[0])
        printf(", %s%s", since, until[0] ? "" : " or newer");
    else if (until[0])
        printf(", up to %s", until);
    printf("\n");
}

static void print_signals(const json_t *target)
{
    size_t i, k;
    json_t *signal, *name;
    json_array_foreach(json_object_get(target, "signals"), i, signal)
    {
        printf("        %s: from", text_of(signal, "series"));
        json_array_foreach(json_object_get(signal, "from"), k, name)
        {
            printf("%s %s", k > 0 ? "," : "", json_string_value(name));
        }
        printf("%s%s\n", text_of(signal, "note")[0] ? "; " : "", text_of(signal, "note"));
    }
}

/* What an engine never has is no news but to those who want everything. */
static void print_missing(const json_t *target, bool is_whole)
{
    size_t i;
    json_t *missing;
    json_array_foreach(json_object_get(target, "missing"), i, missing)
    {
        if (is_whole || strcmp(text_of(missing, "cause"), "never") != 0)
            printf("        missing %s: %s\n", text_of(missing, "signal"), text_of(missing, "why"));
    }
}

static void print_mistakes(const json_t *target)
{
    size_t i;
    json_t *m;
    json_int_t n = json_integer_value(json_object_get(target, "n_mistakes"));
    if (n > 0)
        printf("        %lld line%s could not be read\n", (long long)n, n == 1 ? "" : "s");
    json_array_foreach(json_object_get(target, "mistakes"), i, m)
    {
        printf("          line %lld, column %lld: %s\n",
               (long long)json_integer_value(json_object_get(m, "line")),
               (long long)json_integer_value(json_object_get(m, "column")), text_of(m, "text"));
    }
}

static void print_target(const json_t *t, bool is_whole)
{
    size_t i;
    json_t *engine;
    const char *health = text_of(t, "health");
    printf("%-7s %s (job %s)", health, text_of(t, "url"), text_of(t, "job"));
    if (strcmp(health, "up") == 0)
        printf(": %lld samples in %.0f ms\n",
               (long long)json_integer_value(json_object_get(t, "n_samples")),
               json_number_value(json_object_get(t, "took_s")) * 1e3);
    else
        printf("%s%s\n", text_of(t, "words")[0] ? ": " : "", text_of(t, "words"));
    json_array_foreach(json_object_get(t, "engines"), i, engine)
    {
        print_engine(engine);
    }
    if (text_of(t, "remark")[0])
        printf("        %s\n", text_of(t, "remark"));
    if (is_whole)
        print_signals(t);
    print_missing(t, is_whole);
    print_mistakes(t);
}

static void print_source(const json_t *s)
{
    const char *cluster = text_of(s, "cluster");
    printf("%-7s %s%s%s: ", text_of(s, "state"), text_of(s, "name"), cluster[0] ? " " : "",
           cluster);
    if (text_of(s, "words")[0])
        printf("%s\n", text_of(s, "words"));
    else
        printf("%lld samples\n", (long long)json_integer_value(json_object_get(s, "n_samples")));
}

/* What is not as it should be: a job's limit, its discoveries. */
static void print_job(const json_t *j)
{
    size_t i;
    json_t *d;
    if (text_of(j, "words")[0])
        printf("job %s of %s: %s\n", text_of(j, "job"), text_of(j, "file"), text_of(j, "words"));
    json_array_foreach(json_object_get(j, "discoveries"), i, d)
    {
        if (text_of(d, "words")[0])
            printf("job %s of %s: %s\n", text_of(j, "job"), text_of(j, "file"),
                   text_of(d, "words"));
    }
}

static void print_all(const json_t *root, bool is_whole)
{
    const json_t *targets = json_object_get(root, "targets");
    size_t i;
    json_t *one;
    json_array_foreach(targets, i, one)
    {
        print_target(one, is_whole);
    }
    if (json_array_size(targets) == 0)
        printf(
            "nothing is scraped: upstreams[].metrics, scrape.targets and scrape.files say what\n");
    json_array_foreach(json_object_get(root, "jobs"), i, one)
    {
        print_job(one);
    }
    json_array_foreach(json_object_get(root, "sources"), i, one)
    {
        print_source(one);
    }
}

/* --- all of it --- */

static bool has_words(const json_t *j)
{
    size_t i;
    json_t *d;
    json_array_foreach(json_object_get(j, "discoveries"), i, d)
    {
        if (text_of(d, "words")[0])
            return true;
    }
    return text_of(j, "words")[0] != '\0';
}

static bool is_all_well(const json_t *root)
{
    bool is_well = true;
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(root, "targets"), i, one)
    {
        is_well = is_well && strcmp(text_of(one, "health"), "down") != 0;
    }
    json_array_foreach(json_object_get(root, "jobs"), i, one)
    {
        is_well = is_well && !has_words(one);
    }
    json_array_foreach(json_object_get(root, "sources"), i, one)
    {
        const char *state = text_of(one, "state");
        is_well = is_well && strcmp(state, "broken") != 0 && strcmp(state, "hanging") != 0;
    }
    return is_well;
}

/* All texts, as a terminal may have them: there are those of targets and their pages. */
static int tame(json_t *v)
{
    struct buf shown;
    const char *key;
    json_t *one;
    size_t i;
    int r = 0;
    json_object_foreach(v, key, one)
    {
        r = r < 0 ? r : tame(one);
    }
    json_array_foreach(v, i, one)
    {
        r = r < 0 ? r : tame(one);
    }
    if (!json_is_string(v))
        return r;
    buf_init(&shown, TALK_ANSWER_MAX);
    r = terminal_put(span_cstr(json_string_value(v)), &shown);
    if (r == 0 &&
        json_string_setn(v, buf_len(&shown) > 0 ? buf_span(&shown).p : "", buf_len(&shown)) < 0)
        r = -ENOMEM;
    buf_done(&shown);
    return r;
}

static int show(const struct options *o, struct span body, bool *ret_is_well, struct err *reterr)
{
    json_t *root = dialog_load(body);
    int r = 0;
    if (!root)
        return talk_misread(&o->at, 200, "targets", -EBADMSG, reterr);
    *ret_is_well = is_all_well(root);
    if (o->is_json)
        (void)fwrite(body.p, 1, body.n, stdout); /* nobody is left to tell where this fails */
    else if ((r = tame(root)) < 0)
        err_set(reterr, r, "%s", err_str(r));
    else
        print_all(root, o->is_whole);
    json_decref(root);
    return r;
}

static int run(const struct options *o, bool *ret_is_well, struct err *reterr)
{
    const struct talk_question q = {.path = "/api/v1/collected", .method = "GET", .flag = "--url"};
    struct buf body;
    buf_init(&body, TALK_ANSWER_MAX);
    int r = dialog_get(&o->at, q, &body, NULL, reterr);
    if (r == 0)
        r = show(o, buf_span(&body), ret_is_well, reterr);
    buf_done(&body);
    return r;
}

int targets_main(int argc, char **argv)
{
    struct options o;
    struct err err = {0};
    bool is_well = false;
    if (argc > 1 && strcmp(argv[1], "explain") == 0)
        return targets_explain_main(argc, argv);
    int r = options_parse(argc, argv, &o, &err);
    if (r == 0) {
        (void)fputs(help, stdout);
        return 0;
    }
    if (r < 0)
        return flag_complain("targets", &err);
    r = run(&o, &is_well, &err);
    if (r < 0)
        (void)flag_complain("targets", &err);
    return r < 0 || !is_well;
}
