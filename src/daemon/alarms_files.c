/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/alarms_files.c - rule files and the file of routes, read as a whole.
 */
#include <errno.h>
#include <stdio.h>

#include "base/mem.h"
#include "daemon/alarms.h"
#include "daemon/builtin_rules.h"
#include "slo/slo_rules.h"

enum { FILES_MAX = 1000, ROUTES_BYTES_MAX = 1024 * 1024 };

void alarms_files_done(struct alarms_files *f)
{
    for (size_t i = 0; i < f->n_rules; i++)
        rule_file_unref(f->rules[i]);
    mem_free(f->rules);
    alert_file_unref(f->routes);
    *f = (struct alarms_files){0};
}

int alarms_files_copy(const struct alarms_files *from, struct alarms_files *ret)
{
    struct rule_file **rules = mem_zalloc(from->n_rules + 1, sizeof(struct rule_file *));
    if (!rules)
        return -ENOMEM;
    for (size_t i = 0; i < from->n_rules; i++)
        rules[i] = rule_file_ref(from->rules[i]);
    *ret = (struct alarms_files){.rules = rules,
                                 .n_rules = from->n_rules,
                                 .n_ours = from->n_ours,
                                 .routes = from->routes ? alert_file_ref(from->routes) : NULL};
    return 0;
}

/* Where files are read into, and what is wrong. */
struct reading {
    struct alarms_files files;
    struct file_mistakes *errs;
    struct err *err;
};

/* --- rules --- */

static int add_text(struct reading *f, struct span text, const char *path)
{
    struct alarms_files *files = &f->files;
    if (files->n_rules == FILES_MAX)
        return err_set(f->err, -E2BIG, "more than %d rule files", FILES_MAX);
    int r = rule_file_read(text, path, &files->rules[files->n_rules], &f->errs->list);
    if (r < 0)
        return named_files_tell(f->errs, path, r, f->err);
    files->n_rules++;
    return 0;
}

static int add_builtin(struct reading *f)
{
    char path[64];
    int r = 0;
    for (size_t i = 0; i < builtin_rules_n && r == 0; i++) {
        const struct builtin_rules *b = &builtin_rules[i];
        (void)snprintf(path, sizeof(path), "builtin:%s", b->name);
        r = add_text(f, span_of(b->text, *b->size), path);
    }
    return r;
}

/* What the objectives of the configuration mean. */
static int add_slos(struct reading *f, const struct config *c)
{
    struct buf text;
    if (!c->slo_set || c->slo_set->n == 0)
        return 0;
    buf_init(&text, SLO_RULES_BYTES_MAX);
    int r = slo_rules_write(c->slo_set->items, c->slo_set->n, &text);
    if (r < 0)
        err_set(f->err, r, "could not write the rules of \"slos\": %s", err_str(r));
    else
        r = add_text(f, buf_span(&text), "builtin:slos.yml");
    buf_done(&text);
    return r;
}

static int add_rules(void *ctx, const char *path, struct span text)
{
    struct reading *f = ctx;
    for (size_t i = 0; i < f->files.n_rules; i++) {
        if (strcmp(f->files.rules[i]->path, path) == 0)
            return 0; /* named by two patterns */
    }
    return add_text(f, text, path);
}

/* --- routes --- */

static int read_routes(void *ctx, const char *path, struct span text)
{
    struct reading *f = ctx;
    int r = alert_file_read(text, path, &f->files.routes, &f->errs->list);
    return r < 0 ? named_files_tell(f->errs, path, r, f->err) : 0;
}

int alarms_read(const struct config *c, struct alarms_files *ret, struct file_mistakes *reterrs,
                struct err *reterr)
{
    struct reading f = {.files.rules = mem_zalloc(FILES_MAX, sizeof(struct rule_file *)),
                        .errs = reterrs,
                        .err = reterr};
    int r = 0;
    named_files_init(reterrs);
    if (!f.files.rules)
        return err_set(reterr, -ENOMEM, "out of memory");
    if (c->rules_builtin)
        r = add_builtin(&f);
    if (r == 0)
        r = add_slos(&f, c);
    f.files.n_ours = f.files.n_rules;
    for (size_t i = 0; r == 0 && i < c->rule_files.n; i++)
        r = named_files_each(c->rule_files.items[i], "rule files", RULE_FILE_BYTES_MAX, add_rules,
                             &f, reterr);
    if (r == 0 && c->alerting_file[0])
        r = named_files_one(c->alerting_file, ROUTES_BYTES_MAX, read_routes, &f, reterr);
    if (r < 0) {
        alarms_files_done(&f.files);
        return r;
    }
    *ret = f.files;
    return 0;
}
