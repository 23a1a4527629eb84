/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/rule_test_files.c - the rule files of a unit test: patterns, relative to the test's
 * directory.
 */
#include <errno.h>
#include <glob.h>
#include <stdio.h>

#include "base/file.h"
#include "base/mem.h"
#include "rules/rule_test_private.h"

enum { FILES_MAX = 1000 };

static bool is_known(const struct rule_test *t, const char *path)
{
    for (size_t i = 0; i < t->n_files; i++)
        if (strcmp(t->files[i]->path, path) == 0)
            return true;
    return false;
}

static int grow(struct rule_test *t)
{
    struct rule_file **files = mem_realloc(t->files, (t->n_files + 1) * sizeof(struct rule_file *));

    if (!files)
        return -ENOMEM;
    t->files = files;
    return 0;
}

static int unreadable(const struct rule_test *t, struct place at, const char *path, int why,
                      struct err_list *errs)
{
    struct err *e = err_list_add(errs, t->path, at.line, at.column);

    if (why == -EFBIG)
        (void)err_set(e, why, "could not read \"%s\": it is larger than %d MiB", path,
                      RULE_FILE_BYTES_MAX >> 20);
    else
        (void)err_set(e, why, "could not read \"%s\": %s", path, err_str(why));
    err_hint(e, "rule_files are relative to the directory of the test");
    return -EINVAL;
}

static int read_rule_file(struct rule_test *t, struct place at, const char *found,
                          struct err_list *errs)
{
    /* Mistakes name the path, longer than glob keeps it. */
    const char *path = arena_dup(&t->arena, span_cstr(found)).p;
    struct rule_file *file = NULL;
    struct buf text;
    int r;

    if (!path || grow(t) < 0)
        return -ENOMEM;
    if (is_known(t, path))
        return 0;
    buf_init(&text, (size_t)RULE_FILE_BYTES_MAX + 1);
    r = file_read(path, RULE_FILE_BYTES_MAX, &text);
    if (r == 0)
        r = rule_file_read(buf_span(&text), path, &file, errs);
    else if (r != -ENOMEM)
        r = unreadable(t, at, path, r, errs);
    buf_done(&text);
    if (r < 0)
        return r;
    t->files[t->n_files++] = file;
    for (size_t i = 0; i < file->n; i++)
        t->n_rules += file->groups[i].n;
    return 0;
}

/* The pattern behind the directory of the test. */
static struct span full_pattern(struct rule_test *t, struct span pattern)
{
    const char *slash = strrchr(t->path, '/');
    struct buf b;
    struct span full = {NULL, 0};
    int r = 0;

    while (span_starts_with(pattern, SPAN("./")))
        pattern = span_from(pattern, 2);
    buf_init(&b, pattern.n + strlen(t->path) + 1);
    if (slash && !span_starts_with(pattern, SPAN("/")))
        r = buf_append(&b, span_of(t->path, (size_t)(slash - t->path) + 1));
    if (r == 0)
        r = buf_append(&b, pattern);
    if (r == 0)
        full = arena_dup(&t->arena, buf_span(&b));
    buf_done(&b);
    return full;
}

static void no_match(const struct rule_test_report *report, const struct rule_test_text *pattern)
{
    char shown[ERR_LIST_SHOWN_MAX];
    char text[200];
    int n = snprintf(text, sizeof(text), "no file matches \"%s\"",
                     err_list_shown(pattern->text, shown));

    if (report->on_remark)
        report->on_remark(report->ctx, pattern->at.line, pattern->at.column,
                          span_of(text, (size_t)n));
}

static int too_many(const struct rule_test *t, struct place at, struct err_list *errs)
{
    struct err *e = err_list_add(errs, t->path, at.line, at.column);

    (void)err_set(e, -E2BIG, "more than %d rule files", FILES_MAX);
    err_hint(e, "is this the right pattern?");
    return -EINVAL;
}

/* Mistakes of all files are told: only -ENOMEM ends it. */
static int find(struct rule_test *t, const struct rule_test_text *pattern,
                struct rule_test_report *report, struct err_list *errs)
{
    struct span full = full_pattern(t, pattern->text);
    glob_t found = {.gl_pathc = 0};
    int all = 0;
    int r;

    if (!full.p)
        return -ENOMEM;
    r = glob(full.p, 0, NULL, &found);
    if (r == GLOB_NOSPACE)
        return -ENOMEM;
    if (r != 0 || pattern->text.n == 0) {
        no_match(report, pattern);
    } else if (found.gl_pathc > FILES_MAX - t->n_files) {
        all = too_many(t, pattern->at, errs);
    } else {
        for (size_t i = 0; i < found.gl_pathc && all != -ENOMEM; i++) {
            r = read_rule_file(t, pattern->at, found.gl_pathv[i], errs);
            all = r < 0 ? r : all;
        }
    }
    globfree(&found);
    return all;
}

int rule_test_find_files(struct rule_test *t, struct rule_test_report *report,
                         struct err_list *errs)
{
    int all = 0;

    for (size_t i = 0; i < t->n_patterns && all != -ENOMEM; i++) {
        int r = find(t, &t->patterns[i], report, errs);
        all = r < 0 ? r : all;
    }
    return all;
}
