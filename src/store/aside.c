/* SPDX-License-Identifier: Apache-2.0 */
#include "store/aside.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "store/layout.h"
#include "store/retake.h"

enum { TRIES = 5 };

static const char prefix[] = "spill-";

/* --- of who waits --- */

/* Whoever has the directory may look at it before it is locked, and remove it: then once more. */
static int open_own(const char *dir, size_t n_bytes, struct spill **spill)
{
    char path[DAY_PATH_MAX];
    int r = -EAGAIN;
    for (int i = 0; i < TRIES && (r == -EAGAIN || r == -EBUSY); i++) {
        int n = snprintf(path, sizeof(path), "%s/%s%llx-%d", dir, prefix,
                         (unsigned long long)clock_wall().us, (int)getpid());
        r = (size_t)n < sizeof(path) ? spill_open(path, n_bytes, spill, NULL) : -ENAMETOOLONG;
    }
    return r;
}

static int put_all(struct spill *spill, struct blocks *from, struct span layout)
{
    size_t n = 0;
    int r = 0;
    while (n < from->n && r == 0) {
        r = blocks_close(from, from->at[n]);
        if (r == 0) {
            struct day_block b = blocks_view(from->at[n], layout);
            r = spill_put(spill, from->at[n]->day, &b);
        }
        n += r == 0;
    }
    blocks_drop(from, n);
    return r;
}

int aside_put(const char *dir, size_t n_bytes, struct blocks *from, struct spill **spill)
{
    struct buf layout;
    if (from->n == 0)
        return 0;
    buf_init(&layout, LAYOUT_BYTES_MAX);
    int r = layout_write(&layout);
    if (r == 0 && !*spill)
        r = open_own(dir, n_bytes, spill);
    if (r == 0)
        r = put_all(*spill, from, buf_span(&layout));
    buf_done(&layout);
    return r;
}

/* --- of who has the directory --- */

/* The next file whose process has ended. 1; 0: there is none. */
static int open_left(struct aside_left *l, const char *dir)
{
    DIR *d = opendir(dir);
    if (!d)
        return -errno;
    for (struct dirent *e; !l->spill && (e = readdir(d)) != NULL;) {
        if (strncmp(e->d_name, prefix, strlen(prefix)) != 0)
            continue;
        int n = snprintf(l->path, sizeof(l->path), "%s/%s", dir, e->d_name);
        struct err err;
        if ((size_t)n >= sizeof(l->path))
            continue;
        int r = spill_open(l->path, 0, &l->spill, &err);
        if (r < 0 && r != -EBUSY && r != -EAGAIN)
            LOG_ERROR("could not take in rows that another process left: %s", err.text);
    }
    closedir(d);
    return l->spill != NULL;
}

int aside_take_in(struct aside_left *l, const char *dir, struct rows *rows)
{
    int r = l->spill ? 1 : open_left(l, dir);
    if (r == 1)
        r = retake_blocks(l->spill, rows, true, &l->n_given_up);
    if (r != 0 || !l->spill)
        return r;
    if (unlink(l->path) < 0)
        LOG_WARN("could not remove \"%s\": %s", l->path, err_str(-errno));
    aside_left_done(l);
    return 1;
}

void aside_left_done(struct aside_left *l)
{
    l->spill = spill_close(l->spill);
}
