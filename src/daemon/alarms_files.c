/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/alarms_files.c - rule files and the file of routes, read as a whole.
 */
#include <errno.h>
#include <glob.h>
#include <stdio.h>

#include "base/file.h"
#include "base/log.h"
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
    struct alarms_mistakes *errs;
    struct err *err;
};

/* --- mistakes --- */

/* Returns error, with the first mistake and the number of them. path goes, the list stays. */
static int tell(struct reading *f, const char *path, int error)
{
    struct err_list *errs = &f->errs->list;
    const struct err_item *first = &errs->items[0];
    if (errs->n == 0)
        return err_set(f->err, error, "%s: %s", path, err_str(error));
    (void)span_copy(span_cstr(path), f->errs->path, sizeof(f->errs->path));
    for (size_t i = 0; i < errs->n; i++)
        errs->items[i].where = f->errs->path;
    err_set(f->err, error, "%s:%d:%d: %s", path, first->line, first->column, first->err.text);
    if (errs->n + errs->n_dropped > 1)
        err_hint(f->err, "%zu mistakes in that file", errs->n + errs->n_dropped);
    else
        err_hint(f->err, "%s", first->err.hint);
    return error;
}

static int file_text(const char *path, size_t max, struct buf *text, struct err *reterr)
{
    static const char where[] = "; it is looked for in the working directory";
    buf_init(text, max);
    int r = file_read(path, max, text);
    if (r < 0) {
        err_set(reterr, r, "could not read %s: %s%s", path,
                r == -EMSGSIZE ? "it is too large" : err_str(r),
                r == -ENOENT && path[0] != '/' ? where : "");
        err_hint(reterr, "name a file that this program may read, or remove it from the list");
    }
    return r;
}

/* --- rules --- */

static int add_text(struct reading *f, struct span text, const char *path)
{
    struct alarms_files *files = &f->files;
    if (files->n_rules == FILES_MAX)
        return err_set(f->err, -E2BIG, "more than %d rule files", FILES_MAX);
    int r = rule_file_read(text, path, &files->rules[files->n_rules], &f->errs->list);
    if (r < 0)
        return tell(f, path, r);
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

static bool is_pattern(const char *path)
{
    return strpbrk(path, "*?[") != NULL;
}

static int add_rules(struct reading *f, const char *path)
{
    for (size_t i = 0; i < f->files.n_rules; i++) {
        if (strcmp(f->files.rules[i]->path, path) == 0)
            return 0; /* named by two patterns */
    }
    struct buf text;
    int r = file_text(path, RULE_FILE_BYTES_MAX, &text, f->err);
    if (r == 0)
        r = add_text(f, buf_span(&text), path);
    buf_done(&text);
    return r;
}

/* A pattern may mean no file; a name has to mean one. */
static int add_pattern(struct reading *f, const char *pattern)
{
    glob_t found = {0};
    if (!is_pattern(pattern))
        return add_rules(f, pattern);
    int e = glob(pattern, GLOB_ERR, NULL, &found);
    int r = 0;
    if (e != 0 && e != GLOB_NOMATCH)
        r = err_set(f->err, e == GLOB_NOSPACE ? -ENOMEM : -EACCES,
                    "could not look for rule files \"%s\"", pattern);
    else if (e == GLOB_NOMATCH)
        LOG_WARN("no rule file is called \"%s\"", pattern);
    for (size_t i = 0; r == 0 && i < found.gl_pathc; i++)
        r = add_rules(f, found.gl_pathv[i]);
    globfree(&found);
    return r;
}

/* --- routes --- */

static int read_routes(struct reading *f, const char *path)
{
    struct buf text;
    int r = file_text(path, ROUTES_BYTES_MAX, &text, f->err);
    if (r == 0) {
        r = alert_file_read(buf_span(&text), path, &f->files.routes, &f->errs->list);
        if (r < 0)
            tell(f, path, r);
    }
    buf_done(&text);
    return r;
}

int alarms_read(const struct config *c, struct alarms_files *ret, struct alarms_mistakes *reterrs,
                struct err *reterr)
{
    struct reading f = {.files.rules = mem_zalloc(FILES_MAX, sizeof(struct rule_file *)),
                        .errs = reterrs,
                        .err = reterr};
    int r = 0;
    err_list_init(&reterrs->list);
    if (!f.files.rules)
        return err_set(reterr, -ENOMEM, "out of memory");
    if (c->rules_builtin)
        r = add_builtin(&f);
    if (r == 0)
        r = add_slos(&f, c);
    f.files.n_ours = f.files.n_rules;
    for (size_t i = 0; r == 0 && i < c->rule_files.n; i++)
        r = add_pattern(&f, c->rule_files.items[i]);
    if (r == 0 && c->alerting_file[0])
        r = read_routes(&f, c->alerting_file);
    if (r < 0) {
        alarms_files_done(&f.files);
        return r;
    }
    *ret = f.files;
    return 0;
}
