/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/keys.c - the subcommand "inferometer key".
 *
 * The key is printed once, alone on standard output, so that it can be put where it belongs without
 * being cut out of something; everything said to people goes to standard error.
 */
#include "cli/keys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/jsonw.h"
#include "base/limits.h"
#include "base/suggest.h"
#include "cli/keys_wish.h"
#include "daemon/config.h"
#include "daemon/keyfile.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, TIME_TEXT_MAX = 32 };

static const char help[] =
    "usage: inferometer key add --tenant NAME [OPTIONS]\n"
    "       inferometer key list [--json]\n"
    "       inferometer key revoke ID\n"
    "\n"
    "Keys that clients show the gateway instead of an engine's own. The file holds no key, only\n"
    "hashes; a running gateway takes changes over within a second or two.\n"
    "\n"
    "  --file FILE          the key file (keys.json)\n"
    "  -c, --config FILE    or the one that \"access.keys\" of this configuration names\n"
    "  --json               print JSON\n"
    "\n"
    "add prints the new key on standard output, this once:\n"
    "  --tenant NAME        whose key it is\n"
    "  --model NAME         a model that it may use, or the beginning of names: \"llama-*\"; may "
    "be\n"
    "                       repeated; without any: all models\n"
    "  --label NAME=VALUE   for its rows and metrics; up to 8\n"
    "  --class CLASS        interactive (default) or batch\n"
    "  --max-inflight N     requests at the same time; 0: no limit\n"
    "  --max-per-minute N   requests a minute; 0: no limit\n"
    "  --expires WHEN       90d, 12h, 2027-01-31, 2027-01-31T12:00:00Z (UTC); without: never\n"
    "  --note TEXT          for those who read the list\n"
    "\n"
    "examples:\n"
    "  inferometer key add --file /etc/inferometer/keys.json --tenant search --expires 90d\n"
    "  inferometer key add --tenant ci --model \"llama-*\" --class batch --max-inflight 4 > "
    "key.txt\n"
    "  inferometer key list\n"
    "  inferometer key revoke k3x9m2ab\n";

static int print_mistakes(const struct err_list *errs)
{
    err_list_print(errs, stderr);
    return EXIT_FAILED;
}

static const char *file_of(const struct keys_wish *w)
{
    return w->file ? w->file : "keys.json";
}

/* --- printing --- */

/* "2027-01-31", or with the time of day; "never" for 0. */
static const char *time_text(int64_t s, bool is_long, char *dst)
{
    struct tm tm;
    time_t t = (time_t)s;
    if (s == 0 || !gmtime_r(&t, &tm) ||
        strftime(dst, TIME_TEXT_MAX, is_long ? "%Y-%m-%dT%H:%M:%SZ" : "%Y-%m-%d", &tm) == 0)
        (void)snprintf(dst, TIME_TEXT_MAX, "%s", s == 0 ? "never" : "?");
    return dst;
}

static void write_time(struct jsonw *w, const char *name, int64_t s)
{
    char text[TIME_TEXT_MAX];
    jsonw_key(w, name);
    if (s == 0)
        jsonw_null(w);
    else
        jsonw_cstr(w, time_text(s, true, text));
}

static void write_key(struct jsonw *w, const struct keyring_key *k)
{
    jsonw_put_cstr(w, "id", k->id);
    jsonw_put_cstr(w, "tenant", k->tenant);
    jsonw_key(w, "models");
    jsonw_begin_array(w);
    for (size_t i = 0; i < k->n_models; i++)
        jsonw_cstr(w, k->models[i]);
    jsonw_end_array(w);
    jsonw_key(w, "labels");
    jsonw_begin_object(w);
    for (size_t i = 0; i < k->n_labels; i++) {
        jsonw_put_cstr(w, k->labels[i].name, k->labels[i].value);
    }
    jsonw_end_object(w);
    jsonw_put_cstr(w, "class", keyring_class_name(k->class));
    jsonw_put_u64(w, "max_inflight", k->max_inflight);
    jsonw_put_u64(w, "max_requests_per_minute", k->max_requests_per_minute);
    write_time(w, "created", k->created_s);
    write_time(w, "expires", k->expires_s);
    jsonw_put_cstr(w, "note", k->note);
}

/* Prints what was written, and a line end. */
static int print_json(const struct jsonw *w, const struct buf *text)
{
    if (jsonw_error(w) < 0 || fwrite(buf_span(text).p, 1, buf_len(text), stdout) != buf_len(text) ||
        putchar('\n') < 0 || fflush(stdout) != 0) {
        (void)fprintf(stderr, "inferometer key: could not print\n");
        return EXIT_FAILED;
    }
    return EXIT_OK;
}

/* --- add --- */

static int print_added(const struct keys_wish *w, struct keyring_key *k, const char *key)
{
    struct jsonw j;
    struct buf text;
    int status;
    if (!w->is_json)
        return puts(key) < 0 || fflush(stdout) != 0 ? EXIT_FAILED : EXIT_OK;
    buf_init(&text, 1 * MIB);
    jsonw_init(&j, &text);
    jsonw_begin_object(&j);
    jsonw_put_cstr(&j, "key", key);
    write_key(&j, k);
    jsonw_end_object(&j);
    status = print_json(&j, &text);
    buf_done(&text);
    return status;
}

static int add(struct keys_wish *w, struct err_list *errs)
{
    char key[KEYRING_KEY_LEN + 1];
    if (keyfile_add(file_of(w), &w->key, key, errs) < 0)
        return print_mistakes(errs);
    (void)span_copy(span_of(key + 4, KEYRING_ID_LEN), w->key.id, sizeof(w->key.id));
    int status = print_added(w, &w->key, key);
    explicit_bzero(key, sizeof(key));
    if (status == EXIT_OK)
        (void)fprintf(stderr,
                      "added key %s for \"%s\" to %s\n"
                      "keep the key now: it is not stored, and cannot be shown again\n",
                      w->key.id, w->key.tenant, file_of(w));
    else
        (void)fprintf(stderr, "key %s was added but could not be printed; revoke it\n", w->key.id);
    return status;
}

/* --- list --- */

static void models_text(const struct keyring_key *k, char *dst, size_t cap)
{
    size_t n = span_copy(k->n_models == 0 ? SPAN("all") : SPAN(""), dst, cap);
    for (size_t i = 0; i < k->n_models; i++) {
        n += span_copy(i > 0 ? SPAN(",") : SPAN(""), dst + n, cap - n);
        n += span_copy(span_cstr(k->models[i]), dst + n, cap - n);
    }
}

static void list_people(const struct keyring *ring, int64_t now_s)
{
    static const char row[] = "%-8s  %-16s  %-11s  %-10s  %-10s  %-24s  %s\n";
    const struct keyring_key *k;
    printf(row, "ID", "TENANT", "CLASS", "CREATED", "EXPIRES", "MODELS", "NOTE");
    for (size_t i = 0; (k = keyring_at(ring, i)) != NULL; i++) {
        char created[TIME_TEXT_MAX], expires[TIME_TEXT_MAX];
        char models[KEYRING_MODELS_MAX * KEYRING_MODEL_MAX];
        bool is_over = k->expires_s != 0 && k->expires_s <= now_s;
        models_text(k, models, sizeof(models));
        printf(row, k->id, k->tenant, keyring_class_name(k->class),
               k->created_s > 0 ? time_text(k->created_s, false, created) : "?",
               is_over ? "expired" : time_text(k->expires_s, false, expires), models, k->note);
    }
}

static int list_json(const struct keyring *ring)
{
    const struct keyring_key *k;
    struct jsonw j;
    struct buf text;
    int status;
    buf_init(&text, LIMIT_KEYFILE_BYTES);
    jsonw_init(&j, &text);
    jsonw_begin_array(&j);
    for (size_t i = 0; (k = keyring_at(ring, i)) != NULL; i++) {
        jsonw_begin_object(&j);
        write_key(&j, k);
        jsonw_end_object(&j);
    }
    jsonw_end_array(&j);
    status = print_json(&j, &text);
    buf_done(&text);
    return status;
}

static int64_t now_seconds(void)
{
    return clock_wall().us / US_PER_S;
}

static int list(struct keys_wish *w, struct err_list *errs)
{
    struct keyring *ring;
    int status = EXIT_OK;
    if (keyfile_load(file_of(w), &ring, errs) < 0)
        return print_mistakes(errs);
    if (w->is_json)
        status = list_json(ring);
    else
        list_people(ring, now_seconds());
    keyring_unref(ring);
    return status;
}

/* --- revoke --- */

static int revoke(struct keys_wish *w, struct err_list *errs)
{
    char tenant[KEYRING_NAME_MAX];
    if (keyfile_remove(file_of(w), w->id, tenant, errs) < 0)
        return print_mistakes(errs);
    printf("revoked key %.*s of \"%s\" in %s\n", SPAN_ARG(w->id), tenant, file_of(w));
    return EXIT_OK;
}

/* --- the command --- */

/* Runs it on the file that is meant; that of a configuration lives as long as that. */
static int run_command(int (*run)(struct keys_wish *w, struct err_list *errs), struct keys_wish *w)
{
    struct err_list errs;
    struct config *config = NULL;
    int status;
    err_list_init(&errs);
    if (w->config && config_load_partial(w->config, &config, &errs) < 0)
        return print_mistakes(&errs);
    if (config && config->access_keys[0] == '\0') {
        struct err *e = err_list_add(&errs, w->config, 0, 0);
        (void)err_set(e, -EINVAL, "\"access.keys\" is not set there");
        err_hint(e, "set it to the key file, or name that with --file");
        status = print_mistakes(&errs);
    } else {
        w->file = config ? config->access_keys : w->file;
        status = run(w, &errs);
    }
    config_unref(config);
    return status;
}

static const struct {
    const char *name;
    enum keys_command command;
    int (*run)(struct keys_wish *w, struct err_list *errs);
} commands[] = {
    {"add", KEYS_ADD, add},
    {"list", KEYS_LIST, list},
    {"revoke", KEYS_REVOKE, revoke},
};

static int no_such_command(const char *name)
{
    struct suggest s;
    struct err e = {0};
    suggest_init(&s, span_cstr(name ? name : ""));
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        suggest_offer(&s, span_cstr(commands[i].name));
    if (name)
        (void)err_set(&e, -EINVAL, "there is no \"key %s\"", name);
    else
        (void)err_set(&e, -EINVAL, "tell what to do: add, list or revoke");
    if (s.best.n > 0)
        err_hint(&e, "did you mean \"%.*s\"?", SPAN_ARG(s.best));
    else
        err_hint(&e, "the commands are add, list and revoke; see --help");
    return flag_complain("key", &e);
}

int keys_main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    if (name && (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)) {
        (void)fputs(help, stdout);
        return EXIT_OK;
    }
    for (size_t i = 0; name && i < ARRAY_LEN(commands); i++) {
        struct keys_wish w;
        struct err e = {0};
        if (strcmp(name, commands[i].name) != 0)
            continue;
        if (keys_wish_parse(commands[i].command, argc - 1, argv + 1, now_seconds(), &w, &e) < 0)
            return flag_complain("key", &e);
        int status = EXIT_OK;
        if (w.is_help)
            (void)fputs(help, stdout);
        else
            status = run_command(commands[i].run, &w);
        keys_wish_done(&w);
        return status;
    }
    return no_such_command(name);
}
