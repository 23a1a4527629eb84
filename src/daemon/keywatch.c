/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/keywatch.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

int keywatch_init(struct keywatch *w)
{
    *w = (struct keywatch){0};
    return key_use_new(&w->use);
}

void keywatch_drop(struct keywatch_reading *r)
{
    mem_free(r->path);
    keyring_unref(r->ring);
    *r = (struct keywatch_reading){0};
}

void keywatch_done(struct keywatch *w)
{
    keywatch_drop(&w->now);
    w->use = key_use_free(w->use);
}

static void log_mistakes(const struct err_list *errs)
{
    for (size_t i = 0; i < errs->n; i++) {
        const struct err_item *e = &errs->items[i];
        if (e->line > 0)
            LOG_ERROR("%s:%d:%d: %s; %s", e->where, e->line, e->column, e->err.text, e->err.hint);
        else
            LOG_ERROR("%s: %s; %s", e->where, e->err.text, e->err.hint);
    }
}

/* The first mistake, for who waits for an answer; the others are in the log. */
static void tell(const struct err_list *errs, int code, struct err *reterr)
{
    const struct err_item *e = &errs->items[0];
    size_t n = errs->n + errs->n_dropped;
    if (n > 1)
        (void)err_set(reterr, code, "key file %s has %zu mistakes; the first, in line %d: %s",
                      e->where, n, e->line, e->err.text);
    else if (e->line > 0)
        (void)err_set(reterr, code, "key file %s:%d:%d: %s", e->where, e->line, e->column,
                      e->err.text);
    else
        (void)err_set(reterr, code, "key file %s: %s", e->where, e->err.text);
    err_hint(reterr, "%s", e->err.hint);
}

int keywatch_read(struct keywatch *w, const char *path, struct keywatch_reading *ret,
                  struct err *reterr)
{
    struct keywatch_reading r = {0};
    struct err_list errs;
    if (path[0] == '\0') {
        *ret = r;
        return 0;
    }
    err_list_init(&errs);
    keyfile_look(path, &r.mark);
    r.path = mem_strdup(path);
    int error = r.path ? keyfile_load(path, &r.ring, &errs) : -ENOMEM;
    if (error == 0)
        error = key_use_sync(w->use, r.ring);
    if (error < 0) {
        if (errs.n == 0)
            (void)err_set(reterr, error, "key file %s: %s", path, err_str(error));
        else
            tell(&errs, error, reterr);
        if (errs.n > 1)
            log_mistakes(&errs);
        keywatch_drop(&r);
        return error;
    }
    *ret = r;
    return 0;
}

void keywatch_take(struct keywatch *w, struct keywatch_reading *r)
{
    if (r->ring)
        LOG_INFO("%zu keys in force, from \"%s\"", keyring_n(r->ring), r->path);
    keywatch_drop(&w->now);
    w->now = *r;
    memset(&w->failed, 0, sizeof(w->failed));
    *r = (struct keywatch_reading){0};
}

bool keywatch_look(struct keywatch *w)
{
    struct keywatch_reading r;
    struct keyfile_mark mark;
    struct err e = {0};
    if (!w->now.path)
        return false;
    keyfile_look(w->now.path, &mark);
    if (keyfile_is_same(&mark, &w->now.mark) || keyfile_is_same(&mark, &w->failed))
        return false;
    if (keywatch_read(w, w->now.path, &r, &e) < 0) {
        w->failed = mark;
        LOG_ERROR("the changed keys were refused, those read before stay in force: %s%s%s", e.text,
                  e.hint[0] ? "; " : "", e.hint);
        return false;
    }
    keywatch_take(w, &r);
    return true;
}

void keywatch_again(struct keywatch *w)
{
    memset(&w->now.mark, 0, sizeof(w->now.mark));
}
