/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/discover_files.c - groups of targets in files.
 */
#include <errno.h>
#include <glob.h>

#include "base/file.h"
#include "base/mem.h"
#include "collect/discover_private.h"

static int take_groups(struct arena *a, struct span path, const struct scrape_group *groups,
                       size_t n_groups, const struct discovered **ret, size_t *ret_n)
{
    struct label pair = {SPAN("__meta_filepath"), path};
    struct discovered *at;
    struct labels meta;
    size_t n = 0;

    for (size_t i = 0; i < n_groups; i++)
        n += groups[i].n;
    at = arena_array(a, n, sizeof(*at));
    if (!at || discover_labels(a, &pair, 1, &meta) < 0)
        return -ENOMEM;
    n = 0;
    for (size_t i = 0; i < n_groups; i++)
        for (size_t k = 0; k < groups[i].n; k++)
            at[n++] = (struct discovered){groups[i].addresses[k], groups[i].labels, meta};
    *ret = at;
    *ret_n = n;
    return 0;
}

/* A text that is another one; what is wrong with it is told, and the groups stay. */
static int read_text(struct discover *d, struct discover_part *p, const char *path,
                     struct buf *text)
{
    struct err_list *errs = mem_alloc(sizeof(*errs));
    struct scrape_group *groups = NULL;
    struct arena a;
    size_t n = 0;

    if (!errs)
        return -ENOMEM;
    err_list_init(errs);
    arena_init(&a, NULL);
    int r = jobfile_groups_read(buf_span(text), path, &a, &groups, &n, errs);
    if (r == 0)
        r = take_groups(&a, p->name, groups, n, &p->at, &p->n);
    if (r == 0) {
        arena_done(&p->arena);
        p->arena = a;
        buf_done(&p->text);
        p->text = *text;
        buf_init(text, SCRAPE_FILE_BYTES_MAX + 1);
    } else {
        arena_done(&a);
    }
    if (r == -EINVAL) {
        discover_say(d, "%s:%d:%d: %s; its targets are as they were", path, errs->items[0].line,
                     errs->items[0].column, errs->items[0].err.text);
        r = 0;
    }
    mem_free(errs);
    return r;
}

static int look_at(struct discover *d, const char *path)
{
    struct discover_part *p = discover_part_of(d, span_cstr(path));
    struct buf text;

    if (!p)
        return -ENOMEM;
    buf_init(&text, SCRAPE_FILE_BYTES_MAX + 1);
    int r = file_read(path, SCRAPE_FILE_BYTES_MAX, &text);
    if (r == 0 && (!span_eq(buf_span(&text), buf_span(&p->text)) || !p->at))
        r = read_text(d, p, path, &text);
    else if (r < 0 && r != -ENOMEM) {
        discover_say(d, "%s: %s; its targets are as they were", path, err_str(r));
        r = 0;
    }
    buf_done(&text);
    return r;
}

int discover_files_look(struct discover *d)
{
    int r = 0;

    for (size_t i = 0; i < d->files->n && r == 0; i++) {
        glob_t found = {.gl_pathc = 0};
        int g = glob(d->files->patterns[i].p, 0, NULL, &found);
        for (size_t k = 0; g == 0 && k < found.gl_pathc && r == 0; k++)
            r = look_at(d, found.gl_pathv[k]);
        if (g == GLOB_NOSPACE)
            r = -ENOMEM;
        globfree(&found);
    }
    return r;
}
