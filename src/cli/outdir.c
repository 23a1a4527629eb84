/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/outdir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SUFFIX_MAX = 16, DIR_MODE = 0755, FILE_MODE = 0644 };

static int join(const char *dir, const char *name, char dst[OUTDIR_PATH_MAX], struct err *reterr)
{
    int n = snprintf(dst, OUTDIR_PATH_MAX, "%s/%s", dir, name);
    if (n < 0 || n >= OUTDIR_PATH_MAX - SUFFIX_MAX)
        return err_set(reterr, -ENAMETOOLONG, "%s: the path is too long", dir);
    return 0;
}

/* All directories of a path but its last part. */
static int make_dirs(char *path, struct err *reterr)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int r = mkdir(path, DIR_MODE) < 0 ? -errno : 0;
        if (r < 0 && r != -EEXIST)
            return err_set(reterr, r, "%s: %s", path, err_str(r));
        *slash = '/';
    }
    return 0;
}

static int write_all(int fd, struct span text)
{
    while (text.n > 0) {
        ssize_t n = write(fd, text.p, text.n);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0)
            (void)span_take(&text, (size_t)n);
    }
    return 0;
}

static int replace(const char *path, struct span text)
{
    char temporary[OUTDIR_PATH_MAX + SUFFIX_MAX];
    size_t n = span_copy(span_cstr(path), temporary, OUTDIR_PATH_MAX);
    memcpy(temporary + n, ".XXXXXX", sizeof(".XXXXXX"));
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = write_all(fd, text);
    if (r == 0 && fchmod(fd, FILE_MODE) < 0)
        r = -errno;
    if (close(fd) < 0 && r == 0)
        r = -errno;
    if (r == 0 && rename(temporary, path) < 0)
        r = -errno;
    if (r < 0)
        (void)unlink(temporary); /* as it was */
    return r;
}

int outdir_put(const char *dir, const char *name, struct span text, struct err *reterr)
{
    char path[OUTDIR_PATH_MAX];
    int r = join(dir, name, path, reterr);
    if (r == 0)
        r = make_dirs(path, reterr);
    if (r < 0)
        return r;
    r = replace(path, text);
    return r < 0 ? err_set(reterr, r, "%s: %s", path, err_str(r)) : 0;
}

int outdir_path(const char *dir, const char *name, char dst[OUTDIR_PATH_MAX], struct err *reterr)
{
    char real[PATH_MAX];
    if (!realpath(dir, real)) {
        int r = -errno;
        return err_set(reterr, r, "%s: %s", dir, err_str(r));
    }
    return join(real, name, dst, reterr);
}
