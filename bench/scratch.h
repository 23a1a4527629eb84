/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/scratch.h - a directory for one run of a bench, below $TMPDIR, gone afterwards.
 */
#ifndef BENCH_SCRATCH_H
#define BENCH_SCRATCH_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct scratch {
    char path[256];
};

static inline void scratch_make(struct scratch *s)
{
    const char *where = getenv("TMPDIR");
    (void)snprintf(s->path, sizeof(s->path), "%s/inferometer-bench-XXXXXX",
                   where && where[0] ? where : P_tmpdir);
    if (mkdtemp(s->path))
        return;
    perror(s->path);
    exit(1);
}

/* Its files, and itself. */
static inline void scratch_remove(const struct scratch *s)
{
    char path[sizeof(s->path) + 256];
    DIR *d = opendir(s->path);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        (void)snprintf(path, sizeof(path), "%s/%s", s->path, e->d_name);
        if (e->d_name[0] != '.')
            (void)unlink(path);
    }
    if (d)
        closedir(d);
    if (rmdir(s->path) < 0)
        (void)fprintf(stderr, "left behind: %s\n", s->path);
}

#endif
