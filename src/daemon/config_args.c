/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config_args.c - flags over the file.
 */
#include "daemon/config_args.h"

#include <errno.h>
#include <string.h>

#include "base/suggest.h"
#include "daemon/config_build.h"
#include "daemon/config_keys.h"

#define FLAG_CONFIG "--config"
#define FLAG_SET    "--set"

const struct config_flag config_args_flags[] = {
    {"-c", FLAG_CONFIG, "FILE", NULL, "read this configuration file; - is standard input"},
    {NULL, "--upstream", "URL", "upstreams", "the inference server, http://HOST:PORT"},
    {NULL, "--listen", "ADDR:PORT", "listen", "where clients connect; may be repeated"},
    {NULL, "--admin", "ADDR:PORT", "admin.listen", "where metrics and the admin API are"},
    {NULL, "--workers", "N", "workers", "threads that move bytes, or auto"},
    {NULL, "--data", "DIR", "data_dir", "what is kept across restarts goes there"},
    {NULL, "--log", "FILE", "log.file", "request log; - is standard output"},
    {NULL, "--log-level", "LEVEL", "log.level", "error, warn, info, or debug"},
    {NULL, FLAG_SET, "KEY=VALUE", NULL, "any key, for example --set timeouts.connect=2s"},
};
const size_t config_args_flags_n = ARRAY_LEN(config_args_flags);

static bool has_short_name(const struct config_flag *f, const char *arg)
{
    return f->short_name && strcmp(f->short_name, arg) == 0;
}

/* The flag that arg is or begins with, and its "=VALUE" if it has one. */
static const struct config_flag *find_flag(const char *arg, const char **ret_value)
{
    struct span rest = span_cstr(arg);
    bool is_long = span_starts_with(rest, SPAN("--"));
    bool has_value = span_find_char(rest, '=') < rest.n;
    struct span name = span_split(&rest, '=');

    for (size_t i = 0; i < config_args_flags_n; i++) {
        const struct config_flag *f = &config_args_flags[i];

        if (is_long ? span_eq(span_cstr(f->name), name) : has_short_name(f, arg)) {
            *ret_value = is_long && has_value ? rest.p : NULL;
            return f;
        }
    }
    return NULL;
}

static int add_item(struct config_args *args, struct config_build_value v, struct err *reterr)
{
    if (args->n == CONFIG_ARGS_MAX)
        return err_set(reterr, -E2BIG, "more than %d flags", CONFIG_ARGS_MAX);
    args->items[args->n++] = v;
    return 0;
}

/* "timeouts.connect=2s" */
static int take_set(struct config_args *args, const char *text, struct err *reterr)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct span value = span_cstr(text);
    struct span path = span_split(&value, '=');
    const struct config_key *key = config_keys_find(path);
    size_t dot = path.n;

    if (path.n == strlen(text)) {
        (void)err_set(reterr, -EINVAL, "--set \"%s\" has no \"=\"", err_list_shown(path, shown));
        err_hint(reterr, "write --set KEY=VALUE, for example --set timeouts.connect=2s");
        return -EINVAL;
    }
    if (key)
        return add_item(args, (struct config_build_value){key, value.p, FLAG_SET, true}, reterr);
    (void)err_set(reterr, -EINVAL, "--set: unknown key \"%s\"", err_list_shown(path, shown));
    while (dot > 0 && path.p[dot - 1] != '.')
        dot--;
    if (reterr && config_keys_is_section(path))
        config_keys_hint(path, SPAN(""), reterr);
    else if (reterr && dot > 0 && config_keys_is_section(span_of(path.p, dot - 1)))
        config_keys_hint(span_of(path.p, dot - 1), span_from(path, dot), reterr);
    else if (reterr)
        config_keys_hint(SPAN(""), path, reterr);
    return -EINVAL;
}

int config_args_take(struct config_args *args, int argc, char *const argv[], int *i,
                     struct err *reterr)
{
    const char *arg = argv[*i];
    const char *value = NULL;
    const struct config_flag *f;
    int r = 0;

    if (strcmp(arg, "-h") == 0 || strcmp(arg, "--help") == 0) {
        args->is_help = true;
        (*i)++;
        return 1;
    }
    f = find_flag(arg, &value);
    if (!f)
        return 0;
    if (!value && *i + 1 >= argc) {
        (void)err_set(reterr, -EINVAL, "%s needs a value", f->name);
        err_hint(reterr, "write %s %s", f->name, f->value);
        return -EINVAL;
    }
    *i += value ? 1 : 2;
    if (!value)
        value = argv[*i - 1];
    if (strcmp(f->name, FLAG_SET) == 0)
        r = take_set(args, value, reterr);
    else if (f->path)
        r = add_item(args,
                     (struct config_build_value){config_keys_find(span_cstr(f->path)), value,
                                                 f->name, false},
                     reterr);
    else
        args->config_path = value;
    return r < 0 ? r : 1;
}

void config_args_hint(const char *flag, struct err *e)
{
    struct span rest = span_cstr(flag);
    struct suggest s;

    suggest_init(&s, span_split(&rest, '='));
    for (size_t i = 0; i < config_args_flags_n; i++)
        suggest_offer(&s, span_cstr(config_args_flags[i].name));
    if (s.best.n > 0)
        err_hint(e, "did you mean %.*s?", SPAN_ARG(s.best));
    else
        err_hint(e, "--help lists the flags");
}

int config_args_parse(int argc, char *const argv[], struct config_args *ret, struct err *reterr)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct config_args args = {0};
    int i = 1;

    while (i < argc) {
        int r = config_args_take(&args, argc, argv, &i, reterr);

        if (r < 0)
            return r;
        if (r > 0)
            continue;
        err_list_shown(span_cstr(argv[i]), shown);
        if (argv[i][0] != '-') {
            (void)err_set(reterr, -EINVAL, "unexpected argument \"%s\"", shown);
            err_hint(reterr, "a configuration file is given with -c FILE");
            return -EINVAL;
        }
        (void)err_set(reterr, -EINVAL, "unknown flag \"%s\"", shown);
        config_args_hint(argv[i], reterr);
        return -EINVAL;
    }
    *ret = args;
    return 0;
}

int config_args_load(const struct config_args *args, struct config **ret, struct err_list *reterrs)
{
    struct config_build b;
    struct config_key_set keys_by_flag = {0};
    int r = config_build_begin(&b, reterrs);

    if (r < 0)
        return err_set(err_list_add(reterrs, "configuration", 0, 0), r, "out of memory");
    if (args->config_path)
        config_build_file(&b, args->config_path);
    for (size_t i = 0; i < args->n && b.result == 0; i++) {
        const struct config_key *key = args->items[i].key;
        size_t number = (size_t)(key - config_keys);
        bool is_append = key->type->is_list && config_key_set_has(&keys_by_flag, number);

        config_build_value(&b, &args->items[i], is_append);
        config_key_set_add(&keys_by_flag, number);
    }
    return config_build_finish(&b, true, ret);
}

void config_args_help(FILE *out)
{
    for (size_t i = 0; i < config_args_flags_n; i++) {
        const struct config_flag *f = &config_args_flags[i];

        (void)fprintf(out, "  %s%s %s %-*s  %s\n", f->short_name ? f->short_name : "  ",
                      f->short_name ? "," : " ", f->name, (int)(22 - strlen(f->name)), f->value,
                      f->help);
    }
}
