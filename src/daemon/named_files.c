/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/named_files.h"

#include <errno.h>
#include <glob.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"

void named_files_init(struct file_mistakes *m)
{
    err_list_init(&m->list);
    m->path[0] = '\0';
}

int named_files_tell(struct file_mistakes *m, const char *path, int error, struct err *reterr)
{
    struct err_list *errs = &m->list;
    const struct err_item *first = &errs->items[0];
    if (errs->n == 0)
        return err_set(reterr, error, "%s: %s", path, err_str(error));
    (void)span_copy(span_cstr(path), m->path, sizeof(m->path));
    for (size_t i = 0; i < errs->n; i++)
        errs->items[i].where = m->path;
    err_set(reterr, error, "%s:%d:%d: %s", path, first->line, first->column, first->err.text);
    if (errs->n + errs->n_dropped > 1)
        err_hint(reterr, "%zu mistakes in that file", errs->n + errs->n_dropped);
    else
        err_hint(reterr, "%s", first->err.hint);
    return error;
}

int named_files_one(const char *path, size_t max, named_files_take take, void *ctx,
                    struct err *reterr)
{
    static const char where[] = "; it is looked for in the working directory";
    struct buf text;
    buf_init(&text, max);
    int r = file_read(path, max, &text);
    if (r < 0) {
        err_set(reterr, r, "could not read %s: %s%s", path,
                r == -EMSGSIZE ? "it is too large" : err_str(r),
                r == -ENOENT && path[0] != '/' ? where : "");
        err_hint(reterr,
                 "name a file that this program may read, or take it out of the configuration");
    } else {
        r = take(ctx, path, buf_span(&text));
    }
    buf_done(&text);
    return r;
}

static bool is_pattern(const char *path)
{
    return strpbrk(path, "*?[") != NULL;
}

int named_files_each(const char *path, const char *what, size_t max, named_files_take take,
                     void *ctx, struct err *reterr)
{
    glob_t found = {0};
    if (!is_pattern(path))
        return named_files_one(path, max, take, ctx, reterr);
    int e = glob(path, GLOB_ERR, NULL, &found);
    int r = 0;
    if (e != 0 && e != GLOB_NOMATCH)
        r = err_set(reterr, e == GLOB_NOSPACE ? -ENOMEM : -EACCES, "could not look for %s \"%s\"",
                    what, path);
    else if (e == GLOB_NOMATCH)
        LOG_WARN("no %s are called \"%s\"", what, path);
    for (size_t i = 0; r == 0 && i < found.gl_pathc; i++)
        r = named_files_one(found.gl_pathv[i], max, take, ctx, reterr);
    globfree(&found);
    return r;
}
